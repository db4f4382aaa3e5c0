r"""Batch files of the Handle System: operations on handles and their values.

This module is the grammar. What an import does with a file: `handle_batch_import`; how one is made:
`handle_batch_export`.

Lines ``INDEX TYPE TTL PERMISSIONS DATA`` follow ``CREATE h``, ``ADD h`` and ``MODIFY h``, up to an empty line
or the next operation (`pyhandle` omits the empty line). ``REMOVE 1,2:h`` and ``DELETE h`` have no further
lines. ``DATA`` is ``UTF8 text``, ``ADMIN index:permissions:handle`` or ``LIST index:handle;…``. ``FILE path``
is refused: an imported file must not read others. ``AUTHENTICATE`` and ``SESSIONSETUP`` are ignored with
their lines, since the acting party is known already: their secrets are neither used, kept nor shown, and none
is written.
Source: Handle.Net technical manual, version 9, chapter 4, "Handle batch file"; the order of permissions is
that of the software.

>>> import io
>>> batch = b"CREATE 10.5/a\n1 URL 86400 1110 UTF8 http://example.org/\n\nREMOVE 3,4:10.5/b\n"
>>> for operation in operations(io.BytesIO(batch)):
...     types = [draft.type for _, draft in operation.values]
...     print(operation.line, operation.act, operation.handle, types, operation.indexes)
1 CREATE 10.5/a ['URL'] ()
4 REMOVE 10.5/b [] (3, 4)
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from idstore.characters import ascii_upper
from idstore.errors import BatchRefused, InvalidData
from idstore.exchange import limits
from idstore.exchange.sources import Readable, Source, opened
from idstore.model.value import Value
from idstore.registry.handle_values import Draft
from idstore.remedies import Remedy
from idstore.schemes import handle_values, value_types

FORMAT: Final = "handle-batch"

_WITH_VALUES: Final = ("CREATE", "ADD", "MODIFY")
_ALONE: Final = ("REMOVE", "DELETE")
_PASSED: Final = ("AUTHENTICATE", "SESSIONSETUP")
_SERVERS: Final = ("HOME", "UNHOME")
_WORDS: Final = (*_WITH_VALUES, *_ALONE, *_PASSED, *_SERVERS)
_TRIMMED: Final = "".join(map(chr, range(0x21)))
"""Characters that do not count at the ends of a line: those of Java's `String.trim`, which the Handle
software uses."""
_SECRETS: Final = {"AUTHENTICATE": 1, "SESSIONSETUP": None}
"""Number of lines that follow the keyword; None: all up to an empty line."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of a batch file.

    line    its first line, from 1.
    values  each with its line.
    """

    line: int
    act: str
    handle: str
    values: tuple[tuple[int, Draft], ...] = ()
    indexes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Flaw:
    """The number of a line that cannot be carried out, and the reason.

    The text is not repeated: it could be a secret.
    """

    line: int
    reason: str


class _PeekedLines:
    """The lines of a file, with one line of lookahead."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._ahead: str | None = None
        self.number = 0

    def next(self) -> str | None:
        """Return the next line without its line end; None at the end of the file."""
        line = self._ahead if self._ahead is not None else self._read()
        self._ahead = None
        if line is not None:
            self.number += 1
        return line

    def put_back(self, line: str) -> None:
        """Return a line to the front."""
        self._ahead = line
        self.number -= 1

    def _read(self) -> str | None:
        raw = self._source.read_line(limits.LINE)
        if not raw:
            return None
        if len(raw) == limits.LINE:
            raise self._source.error(self.number + 1, f"the line is longer than {limits.LINE} bytes")
        try:
            text = raw.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise self._source.error(self.number + 1, f"it is not UTF-8 (byte {error.start + 1})") from error
        return text.removeprefix("\ufeff") if self.number == 0 else text


def operations(file: Readable) -> Iterator["Operation"]:
    """Yield the operations of a file (a path, ``-`` for standard input, or a binary stream), in file order.

    Raises BatchRefused with all flaws, at the end of the file or after too many; ExchangeError: the file
    cannot be read, is not UTF-8, or has a line of a mebibyte or more.
    """
    with opened(file) as source:
        flaws = BatchFlaws(source.name)
        for item in parsed(source):
            if isinstance(item, Operation):
                yield item
            else:
                flaws.add(item)
        flaws.check()


class BatchFlaws:
    """The flaws of a file, at most `idstore.exchange.limits.BAD_LINES`."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found: list[Flaw] = []

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, *found: Flaw) -> None:
        """Add flaws. Raises BatchRefused: there are too many, so the rest of the file is not read."""
        self._found += found
        if len(self._found) > limits.BAD_LINES:
            rest = (
                f"more than {limits.BAD_LINES} lines cannot be carried out; the lines after it were not read"
            )
            self._found[limits.BAD_LINES :] = [Flaw(self._found[-1].line, rest)]
            self.check()

    def check(self) -> None:
        """Raise BatchRefused if there are flaws, naming all."""
        if self._found:
            raise BatchRefused(self._file, sorted({(flaw.line, flaw.reason) for flaw in self._found}))


def parsed(source: Source) -> Iterator[Operation | Flaw]:
    """Yield the operations of a file, and the lines that are none. Raises ExchangeError as `operations`."""
    lines = _PeekedLines(source)
    while (line := lines.next()) is not None:
        word, _, rest = line.strip(_TRIMMED).partition(" ")
        word, rest, number = ascii_upper(word), rest.strip(_TRIMMED), lines.number
        if word in _PASSED:
            _skip(lines, _SECRETS[word])
        elif word in _WITH_VALUES:
            yield from _with_values(lines, number, word, rest)
        elif word in _ALONE:
            yield _alone(number, word, rest)
        elif word in _SERVERS:
            yield Flaw(
                number,
                f"{word} tells a server of the Handle System which prefixes it has;"
                " here, add a namespace for each",
            )
            _skip(lines, None)
        elif word:
            yield Flaw(number, f"it begins with no operation; there are {', '.join(_WORDS)}")


def _skip(lines: _PeekedLines, count: int | None) -> None:
    while count is None or count:
        line = lines.next()
        if line is None or not line.strip(_TRIMMED):
            return
        count = None if count is None else count - 1


def _with_values(lines: _PeekedLines, number: int, act: str, handle: str) -> Iterator[Operation | Flaw]:
    values: list[tuple[int, Draft]] = []
    sound = bool(handle)
    if not handle:
        yield Flaw(number, f"{act} names no handle")
    while (line := lines.next()) is not None and line.strip(_TRIMMED):
        if ascii_upper(line.strip(_TRIMMED).partition(" ")[0]) in _WORDS:
            lines.put_back(line)
            break
        try:
            values.append((lines.number, value_of(line)))
        except InvalidData as error:
            sound = False
            yield Flaw(lines.number, error.message)
    if sound and not values:
        yield Flaw(number, f"{act} is followed by no value")
    elif sound:
        yield Operation(number, act, handle, tuple(values))


def _alone(number: int, act: str, rest: str) -> Operation | Flaw:
    indexes: tuple[int, ...] = ()
    if act == "REMOVE":
        listed, _, rest = rest.partition(":")
        try:
            indexes = tuple(value_types.index_of(index.strip(_TRIMMED)) for index in listed.split(","))
        except InvalidData as error:
            return Flaw(number, f"{error.message}; write REMOVE 1,2:HANDLE")
    handle = rest.strip(_TRIMMED)
    return Operation(number, act, handle, (), indexes) if handle else Flaw(number, f"{act} names no handle")


def value_of(line: str) -> Draft:
    """Read ``INDEX TYPE TTL PERMISSIONS DATA``. Raises InvalidData."""
    parts = re.split(" +", line.strip(_TRIMMED), maxsplit=5)
    if len(parts) < 6:  # noqa: PLR2004 five fields, of which the last has a keyword and its data
        raise InvalidData(
            "it is no value: write INDEX TYPE TTL PERMISSIONS UTF8 TEXT,"
            " as in 1 URL 86400 1110 UTF8 http://example.org/",
            field="value",
        )
    index, type, ttl, permissions, sort, data = parts
    read = _SORTS.get(ascii_upper(sort))
    if ascii_upper(sort) == "FILE":
        raise InvalidData(
            "the data are in a file, and a batch file reads no other here; set a binary value by itself",
            remedy=Remedy.SET_BINARY_VALUE,
            field="data",
        )
    if read is None:
        raise InvalidData(
            "the kind of the data is unknown; there are UTF8, ADMIN and LIST", field="data", value=sort
        )
    text = read(data.strip(_TRIMMED))
    handle_values.stored(type, text)
    return Draft(
        type,
        text,
        value_types.index_of(index),
        value_types.ttl_of(ttl),
        permissions=value_types.permissions_of(permissions),
    )


def _admin(data: str) -> str:
    index, _, rest = data.partition(":")
    rights, _, handle = rest.partition(":")
    return f"{index.strip(_TRIMMED)}:batch={rights.strip(_TRIMMED)}:{handle.strip(_TRIMMED)}"


_SORTS: Final[Mapping[str, Callable[[str], str]]] = {"UTF8": str, "ADMIN": _admin, "LIST": str}


def unwritable(value: Value) -> str | None:
    """Return why a batch file cannot hold a value, None if it can."""
    if isinstance(value.data, bytes):
        return "a batch file holds no bytes"
    if value.is_type(value_types.SECRET):  # it came with an imported log: this registry sets none
        return "secrets are not written"
    if value.until is not None:
        return "its time to live ends at a moment, and a batch file counts seconds"
    if not value.data or not is_preserved(value.data):
        return "a batch file holds no empty text, no line ends, and no spaces at the ends of a text"
    return None


def is_preserved(text: str) -> bool:
    """Return whether a batch file preserves a text."""
    return text == text.strip(_TRIMMED) and "\n" not in text and "\r" not in text


def line_of(value: Value) -> str:
    """Return the line of a value that a batch file can hold."""
    if value.is_type(value_types.ADMIN):
        admin = handle_values.Admin.parse(value.text)
        data = f"ADMIN {admin.who.index}:{admin.batch}:{admin.who.handle}"
    elif value.is_type(value_types.LIST):
        data = f"LIST {value.text};"
    else:
        data = f"UTF8 {value.text}"
    return f"{value.index} {value.type} {value.ttl} {value.permissions} {data}"

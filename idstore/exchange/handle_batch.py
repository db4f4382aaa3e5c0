r"""Batch files of the Handle System: operations on handles and their values, read and written.

``CREATE h``, ``ADD h`` and ``MODIFY h`` stand before lines ``INDEX TYPE TTL PERMISSIONS DATA``, which end with an empty line, or where the
next operation begins (`pyhandle` leaves the empty line out); ``REMOVE 1,2:h`` and ``DELETE h`` stand alone. ``DATA`` is ``UTF8 text``,
``ADMIN index:permissions:handle`` or ``LIST index:handle;…``. ``FILE path`` is refused: a file that somebody hands in reads no others.
``AUTHENTICATE`` and ``SESSIONSETUP`` are passed over with the lines that belong to them, for who acts was settled before: the secrets there
are neither used nor kept nor shown, and none is written.
Source: Handle.Net technical manual, version 9, chapter 4, "Handle batch file"; the order of permissions is that of the software.

>>> import io
>>> for one in operations(io.BytesIO(b"CREATE 10.5/a\n1 URL 86400 1110 UTF8 http://example.org/\n\nREMOVE 3,4:10.5/b\n")):
...     print(one.line, one.act, one.handle, [draft.type for _, draft in one.values], one.indexes)
1 CREATE 10.5/a ['URL'] ()
4 REMOVE 10.5/b [] (3, 4)
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from idstore.errors import BatchRefused, IdstoreError, InvalidData, InvalidIdentifier
from idstore.exchange.sources import Readable, Source, opened
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.value import Value
from idstore.registry import Registry
from idstore.registry.valuing import Draft, When
from idstore.schemes import handle_values, value_types
from idstore.stores.catalogue import Selection

_LONGEST: Final = 1 << 20
"""Bytes of one line: memory stays bounded."""
_WITH_VALUES: Final = ("CREATE", "ADD", "MODIFY")
_ALONE: Final = ("REMOVE", "DELETE")
_PASSED: Final = ("AUTHENTICATE", "SESSIONSETUP")
_SERVERS: Final = ("HOME", "UNHOME")
_WORDS: Final = (*_WITH_VALUES, *_ALONE, *_PASSED, *_SERVERS)
_TRIMMED: Final = "".join(map(chr, range(0x21)))
"""What stands for nothing at the ends of a line: Java's `String.trim`, by which such files are read elsewhere."""
_SECRETS: Final = {"AUTHENTICATE": 1, "SESSIONSETUP": None}
"""How many lines belong to it; None: those up to an empty one."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What a batch file wants done.

    line    where it begins, from 1.
    values  with the line of each.
    """

    line: int
    act: str
    handle: str
    values: tuple[tuple[int, Draft], ...] = ()
    indexes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Flaw:
    """A line that cannot be carried out, and why. The line itself is not repeated: it could be a secret."""

    line: int
    reason: str


class _Lines:
    """The lines of a file, with a look at the next one."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._ahead: str | None = None
        self.number = 0

    def next(self) -> str | None:
        """The next line without its end; None at the end of the file."""
        found = self._ahead if self._ahead is not None else self._read()
        self._ahead = None
        if found is not None:
            self.number += 1
        return found

    def back(self, line: str) -> None:
        """Let a line be the next one again."""
        self._ahead = line
        self.number -= 1

    def _read(self) -> str | None:
        raw = self._source.read_line(_LONGEST)
        if not raw:
            return None
        if len(raw) == _LONGEST:
            raise self._source.error(self.number + 1, f"the line is longer than {_LONGEST} bytes")
        try:
            text = raw.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise self._source.error(self.number + 1, f"it is not UTF-8 (byte {error.start + 1})") from error
        return text.removeprefix("\ufeff") if self.number == 0 else text


def operations(file: Readable) -> Iterator["Operation"]:
    """The operations of a file (a path, ``-`` for standard input, or a binary stream), in file order.

    Raises BatchRefused, with every flaw, when all was read; ExchangeError: it cannot be read, is not UTF-8, has a line beyond a mebibyte.
    """
    flaws: list[Flaw] = []
    with opened(file) as source:
        for one in _parsed(source):
            if isinstance(one, Operation):
                yield one
            else:
                flaws.append(one)
        if flaws:
            raise refusal(source.name, flaws)


def refusal(file: str, flaws: Iterable[Flaw]) -> BatchRefused:
    """The error that names every flaw."""
    return BatchRefused(file, sorted({(flaw.line, flaw.reason) for flaw in flaws}))


def _parsed(source: Source) -> Iterator[Operation | Flaw]:
    lines = _Lines(source)
    while (line := lines.next()) is not None:
        word, _, rest = line.strip(_TRIMMED).partition(" ")
        word, rest, number = word.upper(), rest.strip(_TRIMMED), lines.number
        if word in _PASSED:
            _pass_over(lines, _SECRETS[word])
        elif word in _WITH_VALUES:
            yield from _with_values(lines, number, word, rest)
        elif word in _ALONE:
            yield _alone(number, word, rest)
        elif word in _SERVERS:
            yield Flaw(number, f"{word} tells a server of the Handle System which prefixes it has; here `idstore namespace add` does")
            _pass_over(lines, None)
        elif word:
            yield Flaw(number, f"it begins with no operation; there are {', '.join(_WORDS)}")


def _pass_over(lines: _Lines, count: int | None) -> None:
    while count is None or count:
        line = lines.next()
        if line is None or not line.strip(_TRIMMED):
            return
        count = None if count is None else count - 1


def _with_values(lines: _Lines, number: int, act: str, handle: str) -> Iterator[Operation | Flaw]:
    found: list[tuple[int, Draft]] = []
    flaws: list[Flaw] = [] if handle else [Flaw(number, f"{act} names no handle")]
    while (line := lines.next()) is not None and line.strip(_TRIMMED):
        if line.strip(_TRIMMED).partition(" ")[0].upper() in _WORDS:
            lines.back(line)
            break
        try:
            found.append((lines.number, value_of(line)))
        except InvalidData as error:
            flaws.append(Flaw(lines.number, error.message))
    if not found and not flaws:
        flaws.append(Flaw(number, f"{act} is followed by no value"))
    yield from flaws
    if not flaws:
        yield Operation(number, act, handle, tuple(found))


def _alone(number: int, act: str, rest: str) -> Operation | Flaw:
    indexes: tuple[int, ...] = ()
    if act == "REMOVE":
        listed, _, rest = rest.partition(":")
        try:
            indexes = tuple(value_types.index_of(one.strip(_TRIMMED)) for one in listed.split(","))
        except InvalidData as error:
            return Flaw(number, f"{error.message}; write REMOVE 1,2:HANDLE")
    return Operation(number, act, rest.strip(_TRIMMED), (), indexes) if rest.strip(_TRIMMED) else Flaw(number, f"{act} names no handle")


def value_of(line: str) -> Draft:
    """Read ``INDEX TYPE TTL PERMISSIONS DATA``. Raises InvalidData."""
    parts = re.split(" +", line.strip(_TRIMMED), maxsplit=5)
    if len(parts) < 6:  # noqa: PLR2004 the five fields, the last of which begins with its sort
        raise InvalidData("it is no value: write INDEX TYPE TTL PERMISSIONS UTF8 TEXT, as in 1 URL 86400 1110 UTF8 http://example.org/")
    index, type, ttl, permissions, sort, data = parts
    read = _SORTS.get(sort.upper())
    if sort.upper() == "FILE":
        raise InvalidData("the data are in a file, and a batch file reads no other here; set the value with `idstore handle set --hex`")
    if read is None:
        raise InvalidData("the data are of no sort that is known; there are UTF8, ADMIN and LIST")
    text = read(data.strip(_TRIMMED))
    handle_values.stored(type, text)
    return Draft(type, text, value_types.index_of(index), value_types.ttl_of(ttl), permissions=value_types.permissions_of(permissions))


def _admin(data: str) -> str:
    index, _, rest = data.partition(":")
    rights, _, handle = rest.partition(":")
    return f"{index.strip(_TRIMMED)}:batch={rights.strip(_TRIMMED)}:{handle.strip(_TRIMMED)}"


_SORTS: Final[Mapping[str, Callable[[str], str]]] = {"UTF8": str, "ADMIN": _admin, "LIST": str}


# carrying out


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What was, or would be, done, by handle."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    deleted: tuple[str, ...]


class _DryRun(Exception):
    """Ends a rehearsal."""


def import_batch(registry: Registry, file: Readable, party: Party, namespace: str | None = None, *, dry_run: bool = False) -> BatchReport:
    """Carry out the operations of a batch file, all or none: each as if the party had done it by itself, with its rights.

    namespace  only handles of this one, by name or base.
    Raises BatchRefused, with the line and the reason of every operation that cannot be carried out; ExchangeError (see `operations`);
    UnknownNamespace, NotPermitted, StoreUnavailable. Memory: the handles.
    """
    homes = [known for known in registry.namespaces() if known.valued]
    if namespace is not None:
        homes = [registry.namespace(namespace)]
    done: dict[str, list[str]] = {"CREATE": [], "MODIFY": [], "DELETE": []}
    flaws: list[Flaw] = []
    with opened(file) as source:
        try:
            with registry.store.staging() as staged:
                acting = Registry(staged)
                for one in _parsed(source):
                    flaws += [one] if isinstance(one, Flaw) else _carried_out(acting, one, homes, party, done)
                if flaws or dry_run or not any(done.values()):
                    raise _DryRun  # noqa: TRY301 the staged generation is to be given up
        except _DryRun:
            pass
        if flaws:
            raise refusal(source.name, flaws)
    return BatchReport(*(tuple(dict.fromkeys(done[act])) for act in ("CREATE", "MODIFY", "DELETE")))


def _carried_out(registry: Registry, wanted: Operation, homes: Iterable[Namespace], party: Party, done: dict[str, list[str]]) -> list[Flaw]:
    line, name = wanted.line, wanted.handle
    try:
        home, label = _home(f"hdl:{wanted.handle}", homes)
        name = home.scheme.iri(label, home.context)  # which no namespace's name can be taken for
        match wanted.act:
            case "CREATE":
                registry.register(home.base, name, party)
            case "DELETE":
                registry.release(name, party)
            case "REMOVE":
                registry.unset_values(name, wanted.indexes, party)
        when = When.PRESENT if wanted.act == "MODIFY" else When.ABSENT
        for line, draft in wanted.values:  # noqa: B007 the line that the error is about
            registry.set_value(name, draft, party, when)
    except IdstoreError as error:
        return [Flaw(line, error.message.replace(name, wanted.handle))]  # as the file writes it
    done.get(wanted.act, done["MODIFY"]).append(wanted.handle)
    return []


def _home(name: str, homes: Iterable[Namespace]) -> tuple[Namespace, str]:
    """The namespace that a handle belongs to, and its label there. Raises InvalidIdentifier, InvalidData (no namespace here has its prefix)."""
    refused: InvalidIdentifier | None = None
    for home in homes:
        try:
            return home, home.scheme.label(name, home.context)
        except InvalidIdentifier as error:
            refused = error if error.position or refused is None else refused
    if refused is not None and refused.position:
        raise refused
    prefix = name.removeprefix("hdl:").partition("/")[0]
    raise InvalidData(f"no namespace that is asked here has the prefix {prefix}; add it with `idstore namespace add`", prefix=prefix)


# writing


def write_batch(registry: Registry, party: Party, chosen: Selection = Selection()) -> Iterator[str | Flaw]:
    """A batch file that creates the handles that a party sees, with the values that it may read: its text, piece by piece.

    What such a file cannot say is left out and told as a `Flaw` (of line 0): handles without values, tombstones, and values that are bytes,
    several lines, end at a moment, or begin or end with a space. Raises UnknownNamespace. Memory: the records.
    """
    homes = {known.base for known in registry.namespaces() if known.valued}
    for record in sorted(registry.list(party, chosen, limit=None), key=lambda one: one.iri.value):
        if record.namespace in homes:
            yield from _written(registry, record)


def _written(registry: Registry, record: Record) -> Iterator[str | Flaw]:
    handle = next((form.text for form in registry.forms(record) if form.kind == "handle"), record.iri.value)
    lines = []
    for value in record.values:
        why = _unwritable(value)
        if why is None:
            lines.append(_line(value))
        else:
            yield Flaw(0, f"{handle}: value {value.index} ({value.type}) is left out: {why}")
    if record.stage is Stage.TOMBSTONE:
        yield Flaw(0, f"{handle} is left out: it is a tombstone")
    elif not _stays(handle) or handle == record.iri.value:
        yield Flaw(0, f"{handle!r} is left out: a batch file cannot write it")
    elif lines:
        yield "".join(f"{line}\n" for line in (f"CREATE {handle}", *lines, ""))
    else:
        yield Flaw(0, f"{handle} is left out: it has no value, and a batch file creates none without")


def _unwritable(value: Value) -> str | None:
    if isinstance(value.data, bytes):
        return "a batch file holds no bytes"
    if value.is_type(value_types.SECRET):  # this registry sets none; it came with a log from elsewhere
        return "secrets are not written"
    if value.until is not None:
        return "its time to live ends at a moment, and a batch file counts seconds"
    return (
        None if value.data and _stays(value.data) else "a batch file holds no empty text, no line ends, and no spaces at the ends of a text"
    )


def _stays(text: str) -> bool:
    """Whether a text is read as it was written."""
    return text == text.strip(_TRIMMED) and "\n" not in text and "\r" not in text


def _line(value: Value) -> str:
    if value.is_type(value_types.ADMIN):
        admin = handle_values.Admin.parse(value.text)
        data = f"ADMIN {admin.who.index}:{admin.batch}:{admin.who.handle}"
    elif value.is_type(value_types.LIST):
        data = f"LIST {value.text};"
    else:
        data = f"UTF8 {value.text}"
    return f"{value.index} {value.type} {value.ttl} {value.permissions} {data}"

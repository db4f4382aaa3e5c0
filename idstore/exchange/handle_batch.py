r"""Batch files of the Handle System: operations on handles and their values, read and written.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import IO, Final

from idstore.characters import ascii_upper
from idstore.errors import BatchRefused, IdstoreError, InvalidData, InvalidIdentifier
from idstore.exchange import limits
from idstore.exchange.sources import Readable, Source, opened
from idstore.model import times
from idstore.model.filter import Filter
from idstore.model.names import already_leading
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.value import Value
from idstore.registry import Registry
from idstore.registry.core import DryRunEnded
from idstore.registry.handle_records import MOST_VALUES
from idstore.registry.handle_values import Draft, When
from idstore.registry.requests import Request
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
_ADMIN_INDEX: Final = 100
"""The usual index of the first ``HS_ADMIN`` value."""
_REASON: Final = "DESC"
"""The type of the value that tells why a handle was withdrawn."""
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
        flaws = _Flaws(source.name)
        for item in _parsed(source):
            if isinstance(item, Operation):
                yield item
            else:
                flaws.add(item)
        flaws.check()


class _Flaws:
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


def _parsed(source: Source) -> Iterator[Operation | Flaw]:
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


# import


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The handles that an import, or its dry run, created, changed and deleted.

    created, changed, deleted  their IRIs.
    shared  lines with a URL that other identifiers lead or are bound to, as far as the party sees them.
    """

    created: tuple[str, ...]
    changed: tuple[str, ...]
    deleted: tuple[str, ...]
    shared: tuple[Flaw, ...] = ()


def import_batch(
    registry: Registry, file: Readable, party: Party, namespace: str | None = None, *, dry_run: bool = False
) -> BatchReport:
    """Carry out the operations of a batch file, all or none, with the rights of the party.

    namespace  the only namespace whose handles are accepted, by name or base; by default all.
    Raises BatchRefused, with line and reason of each operation that cannot be carried out; ExchangeError (see
    `operations`); UnknownNamespace, NotPermitted, StoreUnavailable. Memory: the handles.
    """
    homes = [namespace for namespace in registry.namespaces() if namespace.valued]
    if namespace is not None:
        homes = [registry.namespace(namespace)]
    done: dict[str, list[str]] = {"CREATE": [], "MODIFY": [], "DELETE": []}
    shared: list[Flaw] = []
    with opened(file) as source:
        flaws = _Flaws(source.name)
        try:
            with registry.store.bulk() as bulk:
                target = Registry(bulk)
                for item in _parsed(source):
                    flaws.add(
                        *(
                            [item]
                            if isinstance(item, Flaw)
                            else _carry_out(target, item, homes, party, done, shared)
                        )
                    )
                if flaws or dry_run or not any(done.values()):
                    raise DryRunEnded  # noqa: TRY301 the bulk is discarded
        except DryRunEnded:
            pass
        flaws.check()
    created, changed, deleted = (tuple(dict.fromkeys(done[act])) for act in ("CREATE", "MODIFY", "DELETE"))
    return BatchReport(created, changed, deleted, tuple(shared))


def _carry_out(
    registry: Registry,
    operation: Operation,
    homes: Iterable[Namespace],
    party: Party,
    done: dict[str, list[str]],
    shared: list[Flaw],
) -> list[Flaw]:
    line, name = operation.line, operation.handle
    try:
        home, label = _home(f"hdl:{operation.handle}", homes)
        name = home.scheme.iri(label, home.context)  # an IRI cannot be confused with NAMESPACE:label
        match operation.act:
            case "CREATE":
                registry.register(home.base, name, party, Request(force=True))  # as it was issued
            case "DELETE":
                registry.release(name, party)
            case "REMOVE":
                registry.unset_values(name, operation.indexes, party)
        when = When.PRESENT if operation.act == "MODIFY" else When.ABSENT
        values = operation.values
        for part in (values[start : start + MOST_VALUES] for start in range(0, len(values), MOST_VALUES)):
            line = part[0][0]
            result = registry.set_values(name, [draft for _, draft in part], party, when)
            for line, draft in part[: result.number]:
                url = str(draft.data)
                others = registry.bound_to(url, party) if draft.leads else ()
                others = [iri for iri in others if iri != result.handle]
                if others:
                    shared.append(Flaw(line, already_leading(url, others)))
            if result.refusal is not None:
                line = part[result.number][0]
                raise result.refusal
    except IdstoreError as error:
        return [Flaw(line, error.message.replace(name, operation.handle))]  # as the file writes it
    done.get(operation.act, done["MODIFY"]).append(operation.handle)
    return []


def _home(name: str, homes: Iterable[Namespace]) -> tuple[Namespace, str]:
    """Return the namespace of a handle, and its label.

    Raises InvalidIdentifier, InvalidData (no namespace has its prefix).
    """
    refused: InvalidIdentifier | None = None
    for home in homes:
        try:
            return home, home.scheme.label(name, home.context)
        except InvalidIdentifier as error:
            refused = error if error.position or refused is None else refused
    if refused is not None and refused.position:
        raise refused
    prefix = name.removeprefix("hdl:").partition("/")[0]
    raise InvalidData(
        f"no namespace of this import has the prefix {prefix}; add one, or name another",
        prefix=prefix,
        remedy=Remedy.ADD_NAMESPACE,
    )


# export


def export(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    chosen: Filter = Filter(),
    changed_since: datetime | None = None,
) -> None:
    """Write a batch file with the handles that a party sees, and the values that it may read.

    changed_since  the moment of an earlier file: write what brings a handle server from that one up to now.
    Handles without an ``HS_ADMIN`` value get that of their namespace's setting ``admin``.
    Raises UnknownNamespace, InvalidData (restrictions of changes), OSError. Memory: the records.
    """
    for piece in _pieces(registry, party, chosen, changed_since):
        if isinstance(piece, str):
            target.write(piece.encode())


def omissions(
    registry: Registry, party: Party, chosen: Filter = Filter(), changed_since: datetime | None = None
) -> list[str]:
    """Return what `export` leaves out, a sentence each.

    Handles without values, tombstones, values that are secret, bytes or several lines, expire at a moment, or
    begin or end with a space; also which namespaces have handles without an administrator.
    Raises UnknownNamespace, InvalidData.
    """
    pieces = _pieces(registry, party, chosen, changed_since)
    return [piece.reason for piece in pieces if isinstance(piece, Flaw)]


def _pieces(
    registry: Registry, party: Party, chosen: Filter, changed_since: datetime | None
) -> Iterator[str | Flaw]:
    homes = {space.base: space for space in registry.namespaces() if space.valued}
    unadministered = dict[str, None]()
    for before, after in (
        ((None, record) for record in _records(registry, party, chosen))
        if changed_since is None
        else _differences(registry, party, chosen, changed_since)
    ):
        record = after or before
        if record is None or record.namespace not in homes:
            continue
        home, handle = homes[record.namespace], _handle(registry, record)
        old = {} if before is None or not _is_writable(handle) else _lines(before, home)
        if after is None:
            if old:
                yield f"DELETE {handle}\n\n"
        elif not old:
            yield from _creation(handle, after, home, unadministered)
        elif after.stage is Stage.TOMBSTONE:
            yield from _withdrawal(handle, old, after.reason or "")
        else:
            yield from _unwritten(handle, after)
            yield from _modification(handle, old, _lines(after, home))
    for name in unadministered:
        yield Flaw(
            0,
            f"handles of {name} are created without HS_ADMIN, so that nobody can administer them at a handle"
            " server; give the namespace a setting admin, as 200:0.NA/12345",
        )


def _records(registry: Registry, party: Party, chosen: Filter) -> Iterable[Record]:
    return sorted(registry.list(party, chosen, limit=None), key=lambda record: record.iri)


def _differences(
    registry: Registry, party: Party, chosen: Filter, since: datetime
) -> Iterator[tuple[Record | None, Record | None]]:
    """Yield the records that changed: as a file of that moment has them, and as they are.

    A file of that moment has no handle that was a draft of others, or a tombstone. Of a released handle only
    its last owner and administrators see the log.
    """
    if chosen != Filter(namespace=chosen.namespace):
        raise InvalidData(
            "changes are restricted by namespace alone; leave stage, owner and time of creation out",
            field="changed_since",
        )
    sight = registry.store.read(lambda view: registry.core.sight(view, party))
    for change in registry.differences(since, max(since, times.current()), party, chosen.namespace):
        before, after = change.before, change.after
        if before is not None and (
            before.stage is Stage.TOMBSTONE
            or (after is not None and not before.public and not sight.sees(before.private_graph))
        ):
            before = None
        yield before, after


def _creation(
    handle: str, record: Record, home: Namespace, unadministered: dict[str, None]
) -> Iterator[str | Flaw]:
    lines = _lines(record, home)
    yield from _unwritten(handle, record)
    if record.stage is Stage.TOMBSTONE:
        yield Flaw(0, f"{handle} is left out: it is a tombstone")
    elif not _is_writable(handle):
        yield Flaw(0, f"{handle!r} is left out: a batch file cannot write it")
    elif not lines:
        yield Flaw(0, f"{handle} is left out: it has no value, and a batch file creates none without")
    else:
        yield _operation("CREATE", handle, lines.values())
        if not any(map(_names_administrator, lines.values())):
            unadministered[home.name] = None


def _modification(handle: str, old: Mapping[int, str], new: Mapping[int, str]) -> Iterator[str]:
    """Yield the operations that make the values ``new`` of the values ``old``."""
    removed = ",".join(str(index) for index in old if index not in new)
    changed = [line for index, line in new.items() if index in old and old[index] != line]
    added = [line for index, line in new.items() if index not in old]
    if removed:
        yield f"REMOVE {removed}:{handle}\n\n"
    if changed:
        yield _operation("MODIFY", handle, changed)
    if added:
        yield _operation("ADD", handle, added)


def _withdrawal(handle: str, old: Mapping[int, str], reason: str) -> Iterator[str]:
    """Yield the operations that leave a handle its administrators, and the reason of its withdrawal."""
    kept = {index: line for index, line in old.items() if _names_administrator(line)}
    index = min((index for index in old if index not in kept), default=1)
    text = Value(index, _REASON, " ".join(reason.split()))
    return _modification(handle, old, {**kept, index: _line(text)})


def _operation(act: str, handle: str, lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in (f"{act} {handle}", *lines, ""))


def _handle(registry: Registry, record: Record) -> str:
    """Return the handle, or the IRI if it has no written form as a handle."""
    return next((form.text for form in registry.forms(record) if form.kind == "handle"), record.iri)


def _is_writable(handle: str) -> bool:
    """Return whether a batch file can name a handle; an IRI is none."""
    return _is_preserved(handle) and not handle.startswith(handle_values.proxy(""))


def _lines(record: Record, home: Namespace) -> dict[int, str]:
    """Return the lines of the values that a file can hold, by index.

    If none of them is an administrator, that of the namespace is added.
    """
    lines = {value.index: _line(value) for value in record.values if _unwritable(value) is None}
    admin = home.context.settings.get("admin")
    if lines and admin and not any(map(_names_administrator, lines.values())):
        index = next(index for index in count(_ADMIN_INDEX) if record.value(index) is None)
        lines[index] = _line(Value(index, value_types.ADMIN, admin))
    return lines


def _names_administrator(line: str) -> bool:
    return ascii_upper(line.split(" ", 2)[1]) == value_types.ADMIN


def _unwritten(handle: str, record: Record) -> Iterator[Flaw]:
    for value in record.values:
        reason = _unwritable(value)
        if reason is not None:
            yield Flaw(0, f"{handle}: value {value.index} ({value.type}) is left out: {reason}")


def _unwritable(value: Value) -> str | None:
    if isinstance(value.data, bytes):
        return "a batch file holds no bytes"
    if value.is_type(value_types.SECRET):  # it came with an imported log: this registry sets none
        return "secrets are not written"
    if value.until is not None:
        return "its time to live ends at a moment, and a batch file counts seconds"
    if not value.data or not _is_preserved(value.data):
        return "a batch file holds no empty text, no line ends, and no spaces at the ends of a text"
    return None


def _is_preserved(text: str) -> bool:
    """Return whether a batch file preserves a text."""
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

"""The export of batch files of the Handle System: the handles, or what changed since an earlier file."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import count
from typing import IO, Final

from idstore.characters import ascii_upper
from idstore.errors import InvalidData
from idstore.exchange.handle_batch import Flaw, is_preserved, line_of, unwritable
from idstore.model import times
from idstore.model.filter import Filter
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.model.value import Value
from idstore.progress import Meter, Progress, unwatched
from idstore.registry import Registry
from idstore.schemes import handle_values, value_types

_ADMIN_INDEX: Final = 100
"""The usual index of the first ``HS_ADMIN`` value."""
_REASON: Final = "DESC"
"""The type of the value that tells why a handle was withdrawn."""


def export(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    chosen: Filter = Filter(),
    changed_since: datetime | None = None,
    *,
    progress: Progress = unwatched,
) -> None:
    """Write a batch file with the handles that a party sees, and the values that it may read.

    changed_since  the moment of an earlier file: write what brings a handle server from that one up to now.
    Handles without an ``HS_ADMIN`` value get that of their namespace's setting ``admin``.
    Raises UnknownNamespace, InvalidData (restrictions of changes), OSError. Memory: flat.
    """
    for piece in _pieces(registry, party, chosen, changed_since, progress):
        if isinstance(piece, str):
            target.write(piece.encode())


def omissions(
    registry: Registry, party: Party, chosen: Filter = Filter(), changed_since: datetime | None = None
) -> list[str]:
    """Return what `export` leaves out, a sentence each.

    Handles without values, tombstones, values that are secret, bytes or several lines, expire at a moment, or
    begin or end with a space; also which namespaces have handles without an administrator, and how many
    drafts, and values that not everyone may read, the file has.
    Raises UnknownNamespace, InvalidData.
    """
    pieces = _pieces(registry, party, chosen, changed_since)
    return [piece.reason for piece in pieces if isinstance(piece, Flaw)]


def _pieces(
    registry: Registry,
    party: Party,
    chosen: Filter,
    changed_since: datetime | None,
    progress: Progress = unwatched,
) -> Iterator[str | Flaw]:
    homes = {space.base: space for space in registry.namespaces() if space.valued}
    unadministered = dict[str, None]()
    drafts = private = 0
    for before, after in (
        _creations(registry, party, chosen, progress)
        if changed_since is None
        else Meter(progress, "changes").over(_differences(registry, party, chosen, changed_since))
    ):
        record = after or before
        if record is None or record.namespace not in homes:
            continue
        drafts += after is not None and not after.public
        private += _private_values(after)
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
    if drafts:
        yield Flaw(
            0,
            f"drafts are in this file ({drafts}), and a handle server shows them to everybody; to leave them"
            " out, choose the published ones (the stage fixated), or an export for publication",
        )

    if private:
        yield Flaw(
            0,
            f"values that not everyone may read are in this file ({private}), with permissions that say so;"
            " keep it from others, or make an export for publication",
        )


def _private_values(record: Record | None) -> int:
    """Return how many values of a handle not everyone may read; a tombstone is written without them."""
    if record is None or record.stage is Stage.TOMBSTONE:
        return 0
    return sum(not value.public for value in record.values)


def _creations(
    registry: Registry, party: Party, chosen: Filter, progress: Progress
) -> Iterator[tuple[None, Record]]:
    with registry.records(party, chosen, progress) as records:
        for record in records:
            yield None, record


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
    return _modification(handle, old, {**kept, index: line_of(text)})


def _operation(act: str, handle: str, lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in (f"{act} {handle}", *lines, ""))


def _handle(registry: Registry, record: Record) -> str:
    """Return the handle, or the IRI if it has no written form as a handle."""
    return next((form.text for form in registry.forms(record) if form.kind == "handle"), record.iri)


def _is_writable(handle: str) -> bool:
    """Return whether a batch file can name a handle; an IRI is none."""
    return is_preserved(handle) and not handle.startswith(handle_values.proxy(""))


def _lines(record: Record, home: Namespace) -> dict[int, str]:
    """Return the lines of the values that a file can hold, by index.

    If none of them is an administrator, that of the namespace is added.
    """
    lines = {value.index: line_of(value) for value in record.values if unwritable(value) is None}
    admin = home.context.settings.get("admin")
    if lines and admin and not any(map(_names_administrator, lines.values())):
        index = next(index for index in count(_ADMIN_INDEX) if record.value(index) is None)
        lines[index] = line_of(Value(index, value_types.ADMIN, admin))
    return lines


def _names_administrator(line: str) -> bool:
    return ascii_upper(line.split(" ", 2)[1]) == value_types.ADMIN


def _unwritten(handle: str, record: Record) -> Iterator[Flaw]:
    for value in record.values:
        reason = unwritable(value)
        if reason is not None:
            yield Flaw(0, f"{handle}: value {value.index} ({value.type}) is left out: {reason}")

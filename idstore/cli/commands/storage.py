"""``idstore storage``: where deliveries go."""

import re
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from idstore.cli.records import Json
    from idstore.model.storage import Storage
    from idstore.registry.storing import Placed

_UNITS: Final = {"": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
_SIZE: Final = re.compile("([0-9]{1,19}) ?([A-Za-z]*)", re.ASCII)

Collection = Annotated[
    str, typer.Argument(metavar="COLLECTION", help="A collection; its file systems are COLLECTION1, COLLECTION2 and so on.")
]


def add(
    call: Call,
    collection: Collection,
    path: Annotated[str, typer.Option(metavar="PATH", help="Where its file systems are mounted: /mnt/pillar")],
    directory_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="When a publisher's directory is closed: bytes, or with kB, MB, GB, TB, KiB and so on.")
    ] = "200GB",
    file_system_limit: Annotated[str, typer.Option(metavar="SIZE", help="When a file system is closed, and read-only.")] = "2TB",
) -> None:
    """Give a collection a storage. Administrators may."""
    limits = {"directory_limit": _bytes(directory_limit), "file_system_limit": _bytes(file_system_limit)}
    _print(call, session.write(call, lambda registry, party: registry.add_storage(collection, path, party, **limits)))


def list_(call: Call, collection: Annotated[str | None, typer.Argument(metavar="COLLECTION", help="Only this one.")] = None) -> None:
    """List storage: file systems and publishers' directories with their bytes, open or closed; closed file systems are read-only."""
    from idstore.errors import NotRegistered

    found = session.read(call, lambda registry, _: registry.storages())
    chosen = [one for one in found if collection in {None, one.name}]
    if collection is not None and not chosen:
        raise NotRegistered(collection, f"no storage {collection!r} here; `idstore storage list` shows them")
    for one in chosen:
        _print(call, one)


def allow(
    call: Call,
    collection: Collection,
    parties: Annotated[
        list[str] | None, typer.Argument(metavar="[USER]...", help="Parties and groups, instead of those named before.")
    ] = None,
) -> None:
    """Say who may place deliveries, beside administrators, who alone may say so."""
    _print(call, session.write(call, lambda registry, party: registry.allow_storage(collection, parties or [], party)))


def place(
    call: Call,
    collection: Annotated[str, typer.Option(metavar="C", help="The collection.")],
    publisher: Annotated[str, typer.Option(metavar="P", help="What the publisher's directories are called: wiley")],
    size: Annotated[str, typer.Option(metavar="BYTES", help="How much it is: bytes, or with kB, MB, GB, TB, KiB and so on.")],
    delivery: Annotated[
        str | None, typer.Option("--delivery", metavar="K", help="A key of yours: the same key gives the same directory again, for ever.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say where it would go.")] = False,
) -> None:
    """Decide into which directory an incoming delivery goes, and print it.

    The open directory of the publisher on the collection's open file system; the next one, where it would hold more than its limit. A file
    system that would hold more than its limit is closed with every directory on it. Administrators may, and who is allowed to.
    """
    many = _bytes(size)
    if dry_run:
        placed = session.read(
            call, lambda registry, party: registry.place(collection, publisher, many, party, delivery=delivery, dry_run=True)
        )
    else:
        placed = session.write(call, lambda registry, party: registry.place(collection, publisher, many, party, delivery=delivery))
    _tell(call, placed)
    call.output.data(placed.path, _placed_json(placed))


def _tell(call: Call, placed: "Placed") -> None:
    """Say what somebody has to do about it."""
    if placed.read_only is not None:
        call.output.say(f"idstore: {placed.read_only} is closed: unmount it, and mount it read-only")
    if placed.new_file_system:
        call.output.say(f"idstore: the file system {placed.file_system} begins")
    if placed.new_directory:
        call.output.say(f"idstore: the directory {placed.path} begins")


def _placed_json(placed: "Placed") -> "Json":
    return {
        "path": placed.path,
        "fileSystem": placed.file_system,
        "publisher": placed.place.publisher,
        "newFileSystem": placed.new_file_system,
        "newDirectory": placed.new_directory,
        "readOnly": placed.read_only,
        "again": placed.again,
    }


def _bytes(text: str) -> int:
    """A number of bytes. Raises a usage error."""
    form = _SIZE.fullmatch(text)
    if form is None or form[2] not in _UNITS:
        raise Misuse(f"{text!r} is no size; write bytes, or 200GB, 2TB, 512MiB")
    return int(form[1]) * _UNITS[form[2]]


def _print(call: Call, known: "Storage") -> None:
    call.output.data("\n".join(_lines(known)), _json(known))


def _lines(known: "Storage") -> "Iterator[str]":
    yield "\t".join(
        (f"{known.path}{known.name}", f"{known.directory_limit}", f"{known.file_system_limit}", ",".join(sorted(known.placers)))
    ).rstrip()
    for number, size in known.file_systems().items():
        yield f"{known.file_system_path(number)}\t{size}\t{'read-only' if known.closed_file_system(number) else 'open'}"
        for place, held in known.sizes:
            if place.file_system == number:
                yield f"{known.directory_path(place)}\t{held}\t{'closed' if known.closed(place) else 'open'}"


def _json(known: "Storage") -> "Json":
    return {
        "collection": known.name,
        "path": known.path,
        "directoryLimit": known.directory_limit,
        "fileSystemLimit": known.file_system_limit,
        "placers": sorted(known.placers),
        "fileSystems": [
            {"path": known.file_system_path(number), "size": size, "readOnly": known.closed_file_system(number)}
            for number, size in known.file_systems().items()
        ],
        "directories": [
            {"path": known.directory_path(place), "publisher": place.publisher, "size": size, "closed": known.closed(place)}
            for place, size in known.sizes
        ],
    }

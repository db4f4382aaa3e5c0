"""``idstore storage``: directories for deliveries."""

import re
from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.termination import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from idstore.documents import Json
    from idstore.model.storage import Storage
    from idstore.registry.storage_plan import Placed

_UNITS: Final = {
    "": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_SIZE: Final = re.compile("([0-9]{1,19}) ?([A-Za-z]*)", re.ASCII)
_ALLOW_AGAIN: Final = "name the right parties instead (idstore storage allow)"

Collection = Annotated[
    str,
    typer.Argument(
        metavar="COLLECTION", help="A collection; its file systems are COLLECTION1, COLLECTION2 and so on."
    ),
]


def add(
    call: Call,
    collection: Collection,
    path: Annotated[
        str,
        typer.Option(metavar="PATH", help="The path under which its file systems are mounted: /mnt/pillar"),
    ],
    directory_limit: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Size at which a publisher's directory is closed: bytes, or with kB, MB, KiB and so on.",
        ),
    ] = "200GB",
    file_system_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="Size at which a file system is closed, and read-only.")
    ] = "2TB",
    present: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIRECTORY[=SIZE]",
            help="A directory that exists already, with its content: ejournals3/wiley6=120GB. Repeatable; "
            "without SIZE it is empty.",
        ),
    ] = None,
) -> None:
    """Add the storage of a collection. For administrators.

    With --present the plan goes on from there: on the last file system, and in the last directory of each
    publisher. Give every directory of the last file system, and the last one of each other publisher.

    Undone by: nothing.
    """
    limits = {"directory_limit": _bytes(directory_limit), "file_system_limit": _bytes(file_system_limit)}
    _print(
        call,
        session.write(
            call,
            lambda registry, party: registry.add_storage(
                collection, path, party, **limits, present=_directories(present or [])
            ),
        ),
    )


def list_(
    call: Call,
    collection: Annotated[
        str | None, typer.Argument(metavar="COLLECTION", help="Only this collection.")
    ] = None,
) -> None:
    """List storage: file systems and publishers' directories with their sizes, open or closed.

    Closed file systems are read-only.
    """
    from idstore.errors import NotRegistered

    storages = session.read(call, lambda registry, _: registry.storages())
    selected = [storage for storage in storages if collection in {None, storage.name}]
    if collection is not None and not selected:
        raise NotRegistered(collection, f"no storage {collection!r} here; `idstore storage list` shows them")
    for storage in selected:
        _print(call, storage)


def allow(
    call: Call,
    collection: Collection,
    parties: Annotated[
        list[str] | None,
        typer.Argument(metavar="[USER]...", help="Parties and groups, which replace the present ones."),
    ] = None,
) -> None:
    """Set who may place deliveries, in addition to administrators. For administrators.

    Undone by: storage allow with the earlier parties.
    """
    allowed = parties or []
    storage, unseen = session.write(
        call,
        lambda registry, party: (
            registry.allow_storage(collection, allowed, party),
            arguments.unseen_parties(registry, allowed, party),
        ),
    )
    _print(call, storage)
    arguments.warn_of_unseen(call, unseen, _ALLOW_AGAIN)


def place(
    call: Call,
    collection: Annotated[str, typer.Option(metavar="C", help="The collection.")],
    publisher: Annotated[
        str, typer.Option(metavar="P", help="The name of the publisher's directories: wiley")
    ],
    size: Annotated[
        str,
        typer.Option(
            metavar="BYTES", help="The size of the delivery: bytes, or with kB, MB, GB, TB, KiB and so on."
        ),
    ],
    delivery: Annotated[
        str | None,
        typer.Option(
            "--delivery",
            metavar="K",
            help="A key of your own: the same key always returns the same directory.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the directory without placing the delivery.")
    ] = False,
) -> None:
    """Choose the directory for an incoming delivery, and print it.

    It is the open directory of the publisher on the collection's open file system, or the next one if it
    would exceed its limit. A file system that would exceed its limit is closed with every directory on it.
    For administrators and the parties of storage allow.

    Undone by: nothing.
    """
    number = _bytes(size)
    if dry_run:
        placed = session.read(
            call,
            lambda registry, party: registry.place(
                collection, publisher, number, party, delivery=delivery, dry_run=True
            ),
        )
    else:
        placed = session.write(
            call,
            lambda registry, party: registry.place(collection, publisher, number, party, delivery=delivery),
        )
    _print_changes(call, placed)
    call.output.data(placed.path, _placed_json(placed))


def _print_changes(call: Call, placed: "Placed") -> None:
    """Print the file systems and directories that were opened or closed."""
    if placed.read_only is not None:
        call.output.info(f"idstore: {placed.read_only} is closed; remount it read-only")
    if placed.new_file_system:
        call.output.info(f"idstore: {placed.file_system} is a new file system")
    if placed.new_directory:
        call.output.info(f"idstore: {placed.path} is a new directory")


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


def _directories(texts: "Iterable[str]") -> dict[str, int]:
    """Return directories with their sizes. Raises UsageError."""
    sizes: dict[str, int] = {}
    for text in texts:
        directory, _, size = text.partition("=")
        if directory in sizes:
            raise UsageError(f"--present names {directory} twice")
        sizes[directory] = _bytes(size or "0")
    return sizes


def _bytes(text: str) -> int:
    """Return a size in bytes. Raises UsageError."""
    match = _SIZE.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        raise UsageError(f"{text!r} is not a size; write bytes, or 200GB, 2TB, 512MiB")
    return int(match[1]) * _UNITS[match[2]]


def _print(call: Call, storage: "Storage") -> None:
    call.output.data("\n".join(_lines(storage)), _json(storage))


def _lines(storage: "Storage") -> "Iterator[str]":
    yield "\t".join(
        (
            f"{storage.path}{storage.name}",
            f"{storage.directory_limit}",
            f"{storage.file_system_limit}",
            ",".join(sorted(storage.placers)),
        )
    ).rstrip()
    read_only, closed = storage.closed_file_systems(), storage.closed_directories()
    for number, size in storage.file_systems().items():
        status = "read-only" if number in read_only else "open"
        yield f"{storage.file_system_path(number)}\t{size}\t{status}"
        for place, held in storage.sizes:
            if place.file_system == number:
                status = "closed" if place in closed else "open"
                yield f"{storage.directory_path(place)}\t{held}\t{status}"


def _json(storage: "Storage") -> "Json":
    read_only, closed = storage.closed_file_systems(), storage.closed_directories()
    return {
        "collection": storage.name,
        "path": storage.path,
        "directoryLimit": storage.directory_limit,
        "fileSystemLimit": storage.file_system_limit,
        "placers": sorted(storage.placers),
        "fileSystems": [
            {
                "path": storage.file_system_path(number),
                "size": size,
                "readOnly": number in read_only,
            }
            for number, size in storage.file_systems().items()
        ],
        "directories": [
            {
                "path": storage.directory_path(place),
                "publisher": place.publisher,
                "size": size,
                "closed": place in closed,
            }
            for place, size in storage.sizes
        ],
    }

"""``idstore backup`` and ``restore``: copies of a registry, and a registry of a copy."""

from typing import Annotated

import typer

from idstore.cli import session
from idstore.cli.call import Call

Directory = Annotated[str, typer.Argument(metavar="DIR", help="A folder that is empty or not there.")]
Backup = Annotated[str, typer.Argument(metavar="DIR", help="A folder that backup made; it stays as it is.")]


def backup(call: Call, directory: Directory) -> None:
    """Copy the whole registry as it is now; others go on meanwhile. Administrators may.

    The copy is a store itself, which every reading command can read with --store.
    """
    session.read(call, lambda registry, party: registry.backup(directory, party))
    call.output.data(directory, {"backup": directory})


def restore(call: Call, directory: Backup) -> None:
    """Make the store (--store) of a backup; its folder must be empty or not there.

    It is the same registry as of the backup. What the original issued afterwards it does not know: never use both.
    """
    from idstore.registry import opening

    place = session.folder(call)
    opening.restore(directory, place, wait=call.wait)
    call.output.data(str(place), {"store": str(place)})

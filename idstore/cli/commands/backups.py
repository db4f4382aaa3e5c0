"""``idstore backup`` and ``restore``."""

from typing import Annotated

import typer

from idstore.cli import session
from idstore.cli.call import Call, at_home
from idstore.cli.output_files import check_outside_stores

Directory = Annotated[str, typer.Argument(metavar="DIR", help="A folder that is empty or does not exist.")]
Backup = Annotated[str, typer.Argument(metavar="DIR", help="The folder of a backup; it stays unchanged.")]


def backup(call: Call, directory: Directory) -> None:
    """Copy the whole registry in its current state, while others use it. For administrators.

    The copy is itself a store, which commands can read with --store.
    """
    directory = at_home(directory)
    check_outside_stores(directory)
    session.read(call, lambda registry, party: registry.backup(directory, party), detached=True)
    call.output.data(directory, {"backup": directory})


def restore(call: Call, directory: Backup) -> None:
    """Create the store (--store) from a backup; its folder must be empty or not exist.

    The store has the state of the backup. It does not know identifiers that the original issued afterwards:
    never use both.
    """
    from idstore import opening

    path = session.folder(call)
    check_outside_stores(path)
    with session.store_option_hint(path):
        opening.restore(at_home(directory), path, wait=call.wait)
    call.output.data(str(path), {"store": str(path)})

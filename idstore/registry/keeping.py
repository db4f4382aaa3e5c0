"""Keeping a registry: copies of it for the day on which the disk is gone."""

from os import PathLike
from pathlib import Path
from typing import Protocol, runtime_checkable

from idstore.errors import StoreUnavailable
from idstore.model.party import Party
from idstore.registry.core import Core


@runtime_checkable
class Copying(Protocol):
    """What a store offers beside `idstore.stores.Store` if it can be copied while it is in use."""

    def backup(self, folder: Path) -> None:
        """Make a copy of the newest durable state, a store itself, in a folder that is empty or not there. Raises StoreUnavailable."""


class Keeping(Core):
    """Making copies."""

    def backup(self, folder: str | PathLike[str], party: Party) -> None:
        """Copy the whole registry as it is now into a folder that is empty or not there; others go on meanwhile.

        The copy is a store itself: it can be read where it is, and `idstore.registry.opening.restore` makes a store of it elsewhere. It is
        there when it is whole and on disk, and not before. Only administrators may.
        Raises NotPermitted, StoreUnavailable (nothing is there then).
        Cost: a moment and the size of the catalogue; on another disk that of the engine as well.
        """
        self.only_administrators(party)
        if not isinstance(self.store, Copying):
            raise StoreUnavailable("this kind of store cannot be copied by idstore; use what its engine offers for that")
        self.store.backup(Path(folder))

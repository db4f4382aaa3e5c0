"""The parts of a registry that an allocation needs, without importing the other use cases."""

from types import TracebackType
from typing import Self

from idstore import arguments
from idstore.model.namespace import Namespace
from idstore.model.record import Record
from idstore.registry.allocation import Allocations
from idstore.registry.core import Core
from idstore.registry.lists import Lists
from idstore.registry.log import Log
from idstore.stores.contract import Store


@arguments.checked
class Allocator(Lists, Allocations, Log):
    """Mint and register; find the identifiers bound to a URI; read the comments on an identifier."""

    def __init__(self, store: Store) -> None:
        super().__init__(Core(store))

    def close(self) -> None:
        """Close the store. Acknowledged changes remain."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def home(self, record: Record) -> Namespace:
        """Return the namespace of a record that came from this registry."""
        return self.core.home(record.namespace)

"""The conformance kit for stores: the testable promises of `idstore.stores.contract`.

Each part is a separate module; `StoreTests` combines them.
"""

from idstore.testing.stores.acts import ActTests
from idstore.testing.stores.bulk import BulkTests
from idstore.testing.stores.claims import ClaimTests
from idstore.testing.stores.durability import DurabilityTests
from idstore.testing.stores.loading import LoadingTests
from idstore.testing.stores.refusals import RefusalTests
from idstore.testing.stores.snapshots import SnapshotTests
from idstore.testing.stores.visibility import VisibilityTests
from idstore.testing.stores.waiting import NotBeforeTests

__all__ = ["StoreTests"]


class StoreTests(
    ActTests,
    RefusalTests,
    ClaimTests,
    DurabilityTests,
    VisibilityTests,
    NotBeforeTests,
    BulkTests,
    LoadingTests,
    SnapshotTests,
):
    """Requirements on every store.

    opener  opens the store in a folder, and creates it if there is none. A function at the top level of a
            module, so that child processes can import it. If another process has the store, it waits some
            seconds.

    Override `open_copy` if a backup is opened differently from the store.
    """

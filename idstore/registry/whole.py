"""All use cases together."""

from idstore.registry.authority import Vouching
from idstore.registry.citing import Citing
from idstore.registry.enrolling import Enrolling
from idstore.registry.exporting import Exporting
from idstore.registry.feeding import Feeding
from idstore.registry.following import Following
from idstore.registry.graphs import Graphing
from idstore.registry.keeping import Keeping
from idstore.registry.lifecycle import Living
from idstore.registry.loading import Loading
from idstore.registry.merging import Merging
from idstore.registry.parties import Governing
from idstore.registry.past import Past
from idstore.registry.querying import Querying
from idstore.registry.relating import Relating
from idstore.registry.replacing import Replacing
from idstore.registry.storing import Storing
from idstore.registry.touching import Touching
from idstore.registry.verifying import Verifying
from idstore.registry.versions import Versioning


class Registry(
    Enrolling,
    Loading,
    Replacing,
    Relating,
    Versioning,
    Citing,
    Vouching,
    Living,
    Governing,
    Storing,
    Verifying,
    Exporting,
    Following,
    Feeding,
    Merging,
    Past,
    Graphing,
    Querying,
    Keeping,
    Touching,
):
    """A registry over a store: mint, bind, fixate, resolve and the rest, each for an authenticated party.

    Knows no terminal and no HTTP. One object may be shared by many threads.
    """

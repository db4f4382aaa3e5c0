"""All use cases together."""

from idstore.registry.adopting import Adopting
from idstore.registry.exporting import Exporting
from idstore.registry.feeding import Feeding
from idstore.registry.following import Following
from idstore.registry.graphs import Graphing
from idstore.registry.keeping import Keeping
from idstore.registry.lifecycle import Living
from idstore.registry.merging import Merging
from idstore.registry.parties import Governing
from idstore.registry.past import Past
from idstore.registry.querying import Querying
from idstore.registry.resolving import Resolving
from idstore.registry.stating import Stating
from idstore.registry.verifying import Verifying


class Registry(
    Adopting, Stating, Resolving, Living, Governing, Verifying, Exporting, Following, Feeding, Merging, Past, Graphing, Querying, Keeping
):
    """A registry over a store: mint, bind, fixate, resolve and the rest, each for an authenticated party.

    Knows no terminal and no HTTP. One object may be shared by many threads.
    """

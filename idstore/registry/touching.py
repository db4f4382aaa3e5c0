"""What changed since a moment: the nodes that a check has to look at again."""

from typing import Final

from pyoxigraph import NamedNode

from idstore.model.party import Party
from idstore.registry.core import Core
from idstore.stores import View
from idstore.stores.catalogue import Selection
from idstore.vocabulary import CLAIMS, IDS

_MOST: Final = 5000
"""Events after which looking at all is quicker."""


class Touching(Core):
    """Finding what changed."""

    def touched(self, view: View, since: int) -> set[NamedNode] | None:
        """Identifiers that changed behind a sequence number, and whatever speaks of one: events, bindings, other records.

        None if that cannot be told so: a namespace or a party changed, of which everything speaks, or too much did.
        """
        rows = view.catalogue.events(Selection(None), after=since, limit=_MOST + 1)
        if len(rows) > _MOST:
            return None
        about = {quad.object for row in rows for quad in view.quads(NamedNode(row.iri), IDS.about)}
        found: set[NamedNode] = set()
        for one in about:
            if not isinstance(one, NamedNode) or not self._is_identifier(view, one):
                return None
            found.add(one)
            for quad in view.quads(None, None, one):
                if quad.graph_name != CLAIMS and isinstance(quad.subject, NamedNode):
                    found.add(quad.subject)
        return found

    def _is_identifier(self, view: View, about: NamedNode) -> bool:
        """Whether something began as an identifier; it may be released since."""
        if about.value in self._facts(view).by_base:
            return False
        events = (quad.subject for quad in view.quads(None, IDS.about, about))
        return any(any(view.quads(event, IDS.inNamespace)) for event in events if isinstance(event, NamedNode))

    def keep_checked(self, sequence: int, shapes: int, party: Party) -> None:
        """Take note that everything up to an event was found to keep the shapes that the number stands for.

        Only administrators may. Raises NotPermitted, StoreUnavailable.
        """
        self.only_administrators(party, acting=True)
        with self.store.turn(), self.store.reading() as view:
            view.catalogue.keep_checked(sequence, shapes)

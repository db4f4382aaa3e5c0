"""The checkpoint of validation: the last event at which the shapes held, and the changes since."""

import json
from typing import Any, Final

from pyoxigraph import NamedNode

from idstore.errors import InvalidData
from idstore.model.listing import Selection
from idstore.model.party import Party
from idstore.registry.core import Part
from idstore.stores.contract import Transaction, View
from idstore.vocabulary import IDS

_MOST: Final = 5000
"""Events beyond which a full validation is faster."""
_CHECKED: Final = "checked"
"""Key of the note that holds the checkpoint."""


class Checkpoint(Part):
    """The state that validation recorded, and the nodes to validate again."""

    def touched(self, view: View, since: int) -> set[NamedNode] | None:
        """Return the identifiers that changed after a sequence number, and the nodes that refer to them.

        Those are events, bindings and other records. Returns None if a full validation is needed: a namespace
        or party changed, to which everything refers, or too many events follow.
        """
        rows = view.catalogue.events(Selection(None), after=since, limit=_MOST + 1)
        if len(rows) > _MOST:
            return None
        about = {quad.object for row in rows for quad in view.quads(NamedNode(row.iri), IDS.about)}
        nodes: set[NamedNode] = set()
        for subject in about:
            if not isinstance(subject, NamedNode) or not self._is_identifier(view, subject):
                return None
            nodes.add(subject)
            for quad in view.quads(None, None, subject):
                if isinstance(quad.subject, NamedNode):
                    nodes.add(quad.subject)
        return nodes

    def _is_identifier(self, view: View, about: NamedNode) -> bool:
        """Return whether a node is an identifier, or was one before its release."""
        if about.value in self.core.facts(view).by_base:
            return False
        events = (quad.subject for quad in view.quads(None, IDS.about, about))
        return any(
            any(view.quads(event, IDS.withNamespace)) for event in events if isinstance(event, NamedNode)
        )

    def keep_checked(self, sequence: int, shapes: str, party: Party) -> None:
        """Record that all data up to an event conforms to the shapes.

        shapes  text that stands for the shapes.
        Only administrators may. Raises NotPermitted, InvalidData (no such event), StoreUnavailable.
        """
        text = json.dumps({"shapes": shapes, "sequence": sequence})
        self.core.only_administrators(party, acting=True)

        def act(transaction: Transaction) -> None:
            last = transaction.catalogue.sequence
            if sequence > last:  # the changes up to there would never be checked
                raise InvalidData(
                    f"no event has the number {sequence} yet, the last is {last}; give the one that the check"
                    " returned",
                    sequence=sequence,
                    last=last,
                )
            transaction.note(_CHECKED, text)

        self.core.act(party, act)


def checked(view: View, shapes: str) -> int | None:
    """Return the last event at which the data conformed to the shapes of that text; None if unknown."""
    text = view.catalogue.note(_CHECKED)
    noted: dict[str, Any] = {} if text is None else json.loads(text)
    return noted["sequence"] if noted.get("shapes") == shapes else None

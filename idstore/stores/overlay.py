"""The overlay: enlisted changes of a batch on top of the engine's state."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from idstore.model.change import Change
from idstore.model.terms import Term

_Subject: TypeAlias = NamedNode | BlankNode | Triple
_Value: TypeAlias = NamedNode | BlankNode | Literal | Triple


class Overlay:
    """Changes in order. Later changes override earlier ones, and all override the engine.

    The index is built at the first read: acts that only allocate read nothing that other acts enlisted.
    """

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._indexed = 0
        self._present: dict[Quad, bool] = {}
        self._by_subject: dict[_Subject, dict[Quad, bool]] = {}
        self._by_value: dict[_Value, dict[Quad, bool]] = {}

    def add(self, change: Change) -> None:
        """Add a change on top."""
        self.changes.append(change)

    def drop(self, length: int) -> None:
        """Remove all changes but the first ``length``."""
        del self.changes[length:]
        if self._indexed > length:
            self._indexed = 0
            self._present, self._by_subject, self._by_value = {}, {}, {}

    def matching(
        self,
        subject: NamedNode | None,
        predicate: NamedNode | None,
        value: Term | None,
        graph: NamedNode | None,
    ) -> Mapping[Quad, bool]:
        """Return the matching quads, each with whether it is present. The engine knows all others.

        Cost without subject and value: all quads of the overlay.
        """
        if len(self.changes) > self._indexed:
            self._index()
        if not self._present:
            return self._present
        if subject is not None:
            some = self._by_subject.get(subject, {})
        else:
            some = self._present if value is None else self._by_value.get(value, {})
        return {
            quad: present
            for quad, present in some.items()
            if (predicate is None or quad.predicate == predicate)
            and (value is None or quad.object == value)
            and (graph is None or quad.graph_name == graph)
        }

    def graphs(self) -> set[NamedNode]:
        """Return the graphs of the added quads."""
        self.matching(None, None, None, None)
        return {
            quad.graph_name
            for quad, present in self._present.items()
            if present and isinstance(quad.graph_name, NamedNode)
        }

    def _index(self) -> None:
        for change in self.changes[self._indexed :]:
            removed, added = (
                ((quad, False) for quad in change.remove),
                ((quad, True) for quad in change.quads()),
            )
            for quad, present in chain(removed, added):
                self._present[quad] = present
                self._by_subject.setdefault(quad.subject, {})[quad] = present
                self._by_value.setdefault(quad.object, {})[quad] = present
        self._indexed = len(self.changes)


def laid_over(overlay: Mapping[Quad, bool], matches: Iterator[Quad]) -> Iterator[Quad]:
    """Apply an overlay to the engine's matches."""
    if not overlay:
        return matches
    return chain(
        (quad for quad in matches if quad not in overlay),
        [quad for quad, present in overlay.items() if present],
    )

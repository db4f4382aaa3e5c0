"""What turns have given out, ahead of what is applied: sequence numbers, claims, labels of each series, and the changes themselves."""

from collections.abc import Iterable, Sequence
from itertools import count

from pyoxigraph import NamedNode

from idstore.model.change import Change
from idstore.stores.applying import Durable
from idstore.stores.catalogue import Catalogue
from idstore.stores.committing import Enlisted, EnlistedUnit
from idstore.stores.journal import write
from idstore.stores.pending import Pending
from idstore.stores.turns import concerns_registry


class Given:
    """Changed by whoever has the turn, but for claims, which are let go of when they are applied.

    sequence, token, at  of the last event; zeros where there is none.
    registry_sequence    of the last event that concerns namespaces and parties, as far as it is known not to be applied.
    registry_version     of the view that has everything; see `idstore.stores.View`.
    pending              the changes.
    """

    def __init__(self, last: tuple[int, int, int]) -> None:
        self.sequence, self.token, self.at = last
        self.registry_sequence = 0
        self.registry_version = 0
        self.pending = Pending()
        self._versions = count(1)
        self._claims: dict[NamedNode, NamedNode] = {}
        self._issued: dict[str, dict[str, tuple[int, int]]] = {}

    def next_version(self) -> int:
        """The number of a view that no other has."""
        return next(self._versions)

    def holder(self, claimed: NamedNode) -> NamedNode | None:
        """Who holds a label or request key by a change that may not be applied yet."""
        return self._claims.get(claimed)

    def series(self, base: str) -> dict[str, tuple[int, int]] | None:
        """Labels issued in each series of a namespace, and the highest; None where they are not counted yet."""
        return self._issued.get(base)

    def counted(self, base: str, catalogue: Catalogue) -> dict[str, tuple[int, int]]:
        """The same; a namespace that is not counted yet begins with what the catalogue says, which must lack nothing then."""
        if base not in self._issued:
            self._issued[base] = catalogue.series(base)
        return self._issued[base]

    def note(self, change: Change, catalogue: Catalogue, *, issued: bool = True) -> None:
        """Take note of a change's claims, and, with ``issued``, of the labels that it issues, which the catalogue lacks."""
        self._claims.update(change.claims)
        for base, series, number in change.issued if issued else ():
            known = self.counted(base, catalogue)
            many, highest = known.get(series, (0, 0))
            known[series] = (many + 1, max(highest, number))

    def number(self, changes: Sequence[Change], catalogue: Catalogue) -> EnlistedUnit:
        """Number the changes of a turn."""
        concerned = any(map(concerns_registry, changes))
        if concerned:
            self.registry_version = self.next_version()
        unit = []
        for change in changes:
            self.sequence += len(change.events)
            unit.append(Enlisted(Durable(self.sequence, change, self.registry_version), write(change, self.sequence)))
            last = change.events[-1][0]
            if last.at >= self.at:
                self.at, self.token = last.at, last.token
            self.note(change, catalogue)
            self.pending.note(self.sequence, change)
        if concerned:
            self.registry_sequence = self.sequence
        return tuple(unit)

    def applied(self, sequence: int) -> None:
        """The engine has everything up to this number."""
        self.let_go(self.pending.let_go(sequence))

    def let_go(self, changes: Iterable[Change]) -> None:
        """Keep the claims no more that the engine has, or that never came true."""
        for change in changes:
            for claimed, _ in change.claims:
                self._claims.pop(claimed, None)

    def begin_after(self, last: tuple[int, int, int], registry_version: int) -> None:
        """Begin anew after the last event that is applied, in the view of that number."""
        self._issued.clear()
        self.pending.clear()
        self.sequence, self.token, self.at = last
        self.registry_sequence = min(self.registry_sequence, self.sequence)
        self.registry_version = registry_version

"""Endpoint projection: keeps a SPARQL endpoint of another engine in step with the public change feed.

The graph `POSITION` at the endpoint holds the number and the event of the last change that was sent, and the
namespaces that are projected. They are written after the changes. A change that is sent again alters nothing,
so that the next run continues after an interruption. The feed must still have that event under that number.
(`stores.projection` is another thing: engine and catalogue.)
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple
from pyoxigraph import parse as parse_rdf

from idstore.errors import InvalidData, StageConflict
from idstore.exchange.changes import ChangePage
from idstore.exchange.sparql_endpoint import RemoteEndpoint
from idstore.registry.visibility import is_private
from idstore.vocabulary import DCTERMS, IDS, OWL, PROV, PUBLIC_LOG, REGISTRY_GRAPH, SPACE, STORAGE_GRAPH, XSD

POSITION: Final = NamedNode(f"{SPACE}graph/position")
_FIXED: Final = (REGISTRY_GRAPH, STORAGE_GRAPH, PUBLIC_LOG)
"""Public graphs beside those of namespaces."""
_BATCH: Final = 1000
"""Quads of an update, about."""
_REDACTION: Final = "Redaction"
_DIGEST_BITS: Final = 128
"""Bits of the digest of a graph."""


@dataclass(frozen=True, slots=True)
class GraphDifference:
    """A graph that differs: the number of its triples here, and at the endpoint."""

    graph: str
    here: int
    there: int


@dataclass(frozen=True, slots=True, order=True)
class _Position:
    """The last change that an endpoint has.

    number  its number; 0: the endpoint has none.
    event   IRI of its event; empty: there is none, or the endpoint does not tell.
    """

    number: int = 0
    event: str = ""


class EndpointProjection:
    """Brings an endpoint up to the newest change, compares it, and repairs it.

    changes     returns the changes after a number: see `idstore.exchange.changes.public_changes`.
    event_at    returns the IRI of the public event of a number; None: there is none.
    namespaces  bases of the namespaces whose records are projected; empty: everything that is public.
    """

    def __init__(
        self,
        endpoint: RemoteEndpoint,
        changes: Callable[[int], ChangePage],
        event_at: Callable[[int], str | None],
        namespaces: Sequence[str] = (),
    ) -> None:
        self._endpoint, self._changes, self._event_at = endpoint, changes, event_at
        self._namespaces = tuple(sorted(namespaces))
        self.is_redacted = False

    def bring_up(self) -> int:
        """Send the changes that the endpoint lacks. Returns the number of the last one.

        Afterwards ``is_redacted`` tells whether a text was redacted meanwhile: then compare.
        Raises StageConflict (the position is not one of this store and these namespaces), and as
        `RemoteEndpoint.rows`.
        """
        position = self._position()
        page = self._page(position)
        store = self._begin(page.store) if position is None else self._checked(page.store)
        position = position or _Position()
        self._check_event(position)
        removed, added = dict[Quad, None](), dict[Quad, None]()
        while page.changes:
            for change in page.changes:
                self.is_redacted |= change.event.kind.value.endswith(_REDACTION)
                _merge(self._quads(change.removed), removed, added)
                _merge(self._quads(change.added), added, removed)
                position = _Position(change.number, change.event.iri)
                if len(removed) + len(added) >= _BATCH:
                    self._send(store, position, removed, added)
            page = self._page(position)
            self._check_event(position)
        self._send(store, position, removed, added)
        return position.number

    def compare(self, quads: Iterable[Quad]) -> list[GraphDifference]:
        """Return the graphs whose triples differ from these public quads, by count and digest.

        Literals count as equal that have the same value, as engines may rewrite them. Memory: flat.
        Raises InvalidData: the endpoint leaves triples out of its answers.
        """
        here = dict[NamedNode, _GraphDigest]()
        for quad in self._chosen(quads):
            assert isinstance(quad.graph_name, NamedNode)
            here.setdefault(quad.graph_name, _GraphDigest()).add(quad.triple)
        differences = []
        for graph in sorted({*here, *self._graphs_there()}, key=lambda one: one.value):
            expected, there = here.get(graph, _GraphDigest()), _GraphDigest()
            for triple in self._endpoint.triples(graph):
                there.add(triple)
            self._check_whole(graph, there.count)
            if expected != there:
                differences.append(GraphDifference(graph.value, expected.count, there.count))
        return differences

    def repair(self, differences: Sequence[GraphDifference], quads: Iterable[Quad], page: ChangePage) -> None:
        """Make these graphs equal to public quads. Meanwhile, the graphs are not whole at the endpoint.

        page  a page after the last change that the quads contain.
        """
        position = _Position(page.last, self._event_at(page.last) or "")
        wanted = {one.graph for one in differences}
        self._endpoint.update(f"CLEAR SILENT GRAPH {POSITION}")
        for graph in sorted(wanted):
            self._endpoint.update(f"CLEAR SILENT GRAPH {NamedNode(graph)}")
        added = dict[Quad, None]()
        for quad in self._chosen(quads):
            if isinstance(quad.graph_name, NamedNode) and quad.graph_name.value in wanted:
                added[quad] = None
                if len(added) >= _BATCH:
                    self._endpoint.update(_data("INSERT", added))
                    added.clear()
        if added:
            self._endpoint.update(_data("INSERT", added))
        self._begin(page.store)
        self._send(page.store, position, {}, {})

    def _page(self, position: _Position | None) -> ChangePage:
        number = position.number if position else 0
        try:
            return self._changes(number)
        except InvalidData as error:
            raise _diverged(number) from error

    def _check_event(self, position: _Position) -> None:
        """Raise StageConflict: the store has another event under the number of the position."""
        if position.number and self._event_at(position.number) != position.event:
            raise _diverged(position.number)

    def _position(self) -> _Position | None:
        """Return the last change that the endpoint has; None: it has no position."""
        rows = self._endpoint.rows(
            f"SELECT ?number ?event WHERE {{ GRAPH {POSITION} {{ ?store {OWL.versionInfo} ?number"
            f" OPTIONAL {{ ?store {PROV.wasGeneratedBy} ?event }} }} }}"
        )
        return min((_Position(int(row["number"]), row.get("event", "")) for row in rows), default=None)

    def _checked(self, store: str) -> str:
        """Return the store. Raises StageConflict: the position is of another one, or of other namespaces."""
        rows = self._endpoint.rows(
            f"SELECT ?store ?base WHERE {{ GRAPH {POSITION} {{ ?store {OWL.versionInfo} ?number"
            f" OPTIONAL {{ ?store {DCTERMS.subject} ?base }} }} }}"
        )
        if {row["store"] for row in rows} != {store}:
            raise StageConflict(
                "the endpoint follows another store; give each store an endpoint of its own, or repair this"
                " one"
            )
        bases = tuple(sorted({row["base"] for row in rows if "base" in row}))
        if bases != self._namespaces:
            raise StageConflict(
                f"the endpoint is for {', '.join(bases) or 'everything'}; name the same namespaces, or repair"
                " it"
            )
        return store

    def _begin(self, store: str) -> str:
        """Write the chosen namespaces into the graph of the position. Return the store."""
        subject = NamedNode(store)
        quads = [Quad(subject, DCTERMS.subject, NamedNode(base), POSITION) for base in self._namespaces]
        if quads:
            self._endpoint.update(_data("INSERT", quads))
        return store

    def _send(
        self, store: str, position: _Position, removed: dict[Quad, None], added: dict[Quad, None]
    ) -> None:
        """Send changes and the position in one request, and forget them."""
        subject = NamedNode(store)
        last = [Quad(subject, OWL.versionInfo, Literal(position.number), POSITION)]
        if position.event:
            last.append(Quad(subject, PROV.wasGeneratedBy, NamedNode(position.event), POSITION))
        steps = [
            *([_data("DELETE", removed)] if removed else []),
            *([_data("INSERT", added)] if added else []),
            f"DELETE WHERE {{ GRAPH {POSITION} {{ {subject} {OWL.versionInfo} ?number }} }}",
            f"DELETE WHERE {{ GRAPH {POSITION} {{ {subject} {PROV.wasGeneratedBy} ?event }} }}",
            _data("INSERT", last),
        ]
        self._endpoint.update(" ;\n".join(steps))
        removed.clear()
        added.clear()

    def _quads(self, lines: Sequence[str]) -> Iterator[Quad]:
        return self._chosen(parse_rdf("\n".join(lines), format=RdfFormat.N_QUADS))

    def _chosen(self, quads: Iterable[Quad]) -> Iterator[Quad]:
        """Yield the quads that are projected, none of a graph that has readers of its own."""
        for quad in quads:
            graph = quad.graph_name
            assert isinstance(graph, NamedNode)
            if is_private(graph):
                continue
            if quad.predicate != IDS.partial and (not self._namespaces or graph.value in self._namespaces):
                yield quad

    def _graphs_there(self) -> Iterator[NamedNode]:
        """Yield the graphs at the endpoint that a registry made; others are none of its business."""
        records = self._endpoint.rows(
            f"SELECT DISTINCT ?graph WHERE {{ GRAPH ?graph {{ ?record {IDS.inNamespace} ?graph }} }}"
        )
        graphs = {*_FIXED, *(NamedNode(row["graph"]) for row in records)}
        yield from (one for one in graphs if not self._namespaces or one.value in self._namespaces)

    def _check_whole(self, graph: NamedNode, count: int) -> None:
        [row] = self._endpoint.rows(f"SELECT (COUNT(*) AS ?count) WHERE {{ GRAPH {graph} {{ ?s ?p ?o }} }}")
        if int(row["count"]) != count:
            raise InvalidData(
                f"the endpoint answered {count} of {row['count']} triples of {graph}; raise the limit of its"
                " answers"
            )


def _diverged(number: int) -> StageConflict:
    return StageConflict(
        f"the endpoint has changes up to number {number}, and that one is not in this store: the store was"
        " restored from an older backup, or the endpoint follows another one; compare and repair the endpoint"
    )


class _GraphDigest:
    """Number and digest of the triples of a graph, in any order: the sum of their hashes."""

    def __init__(self) -> None:
        self.count, self._sum = 0, 0

    def add(self, triple: Triple) -> None:
        text = f"{triple.subject} {triple.predicate} {_value(triple.object)}"
        hashed = hashlib.blake2b(text.encode(), digest_size=_DIGEST_BITS // 8).digest()
        self.count += 1
        self._sum = (self._sum + int.from_bytes(hashed)) % (1 << _DIGEST_BITS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _GraphDigest) and (self.count, self._sum) == (other.count, other._sum)

    def __hash__(self) -> int:
        return hash((self.count, self._sum))


def _value(term: object) -> object:
    """Return a term as all engines would write it: the same for literals of the same value."""
    if not isinstance(term, Literal):
        return term
    if term.language is not None:
        return Literal(term.value, language=term.language.lower())
    text = term.value
    if term.datatype == XSD.dateTime and "." in text:
        rest = text.rstrip("Z").rstrip("0").rstrip(".")
        return Literal(rest + "Z" * text.endswith("Z"), datatype=XSD.dateTime)
    if term.datatype == XSD.integer:
        return Literal(str(int(text)), datatype=XSD.integer)
    if term.datatype == XSD.boolean:
        return Literal({"1": "true", "0": "false"}.get(text, text), datatype=XSD.boolean)
    return term


def _merge(quads: Iterable[Quad], into: dict[Quad, None], other: dict[Quad, None]) -> None:
    """Take quads into one side of a batch; the last change of a quad counts.

    What changes twice is sent nevertheless: the endpoint may have a part of a batch that was interrupted.
    """
    for quad in quads:
        other.pop(quad, None)
        into[quad] = None


def _data(kind: str, quads: Iterable[Quad]) -> str:
    """Return an ``INSERT DATA`` or ``DELETE DATA``; pyoxigraph writes the terms, as N-Triples."""
    graphs = dict[str, list[str]]()
    for quad in quads:
        graphs.setdefault(str(quad.graph_name), []).append(f"{quad.triple} .")
    blocks = (f"GRAPH {graph} {{\n" + "\n".join(triples) + "\n}" for graph, triples in graphs.items())
    return f"{kind} DATA {{\n" + "\n".join(blocks) + "\n}"

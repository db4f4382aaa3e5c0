"""The triples of a registry in an order that depends on nothing but its state."""

from collections import defaultdict, deque
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import lru_cache, partial
from heapq import merge
from itertools import islice
from typing import Final

from pyoxigraph import NamedNode, Quad, RdfFormat, parse

from idstore.errors import UnknownScheme
from idstore.frozen import dataclass
from idstore.model.namespace import TRUE
from idstore.model.party import Party
from idstore.model.record import Record, reserved
from idstore.progress import Meter, Progress, unwatched
from idstore.registry.core import Core, Sight
from idstore.stores import View
from idstore.stores.blocks import block
from idstore.stores.catalogue import Selection
from idstore.stores.scans import anything
from idstore.vocabulary import IDS, PUBLIC_LOG, RDF, REGISTRY_GRAPH, STORAGE_GRAPH, access_list, closed_party

_TYPE: Final = f" {RDF.type} "
_HOME: Final = str(IDS.inNamespace)
_PORTION: Final = 200
"""Subjects that are read at once, at most."""
_FIRST: Final = 8
"""Subjects that are read first, by the thread that asks; how many are read at once then depends on how much is said of them."""
_LARGE: Final = 1 << 20
"""Characters that a portion should not have more of: some of them are in memory at a time."""
_READERS: Final = 3
"""Threads that read: as many as one can make a document of what they read."""
_AHEAD: Final = 2 * _READERS
"""Portions that are read before they are asked for."""
_LINES: Final = 1000
"""Quads that are parsed at once."""


@dataclass(frozen=True, slots=True)
class Extract:
    """What to export; without restrictions, by an administrator, it is everything and can be read back without loss.

    since  only identifiers created at this moment (milliseconds since 1970) or later.
    """

    namespace: str | None = None
    stage: str | None = None
    since: int | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self == Extract()

    def chooses(self, record: Record) -> bool:
        """Whether stage and moment of a record are among those wanted."""
        return self.stage in (None, record.stage) and record.created >= (self.since or 0)


class Exporting(Core):
    """Reading everything out."""

    @block
    def quads(self, party: Party, extract: Extract = Extract(), progress: Progress = unwatched) -> Iterator[Iterator[Quad]]:
        """What the party may see, subjects together, in an order that only the state decides; the present state while the block runs.

        A partial extract says so by ``ids:partial``. Memory: flat, but for namespaces, parties and the grants of fixated identifiers.
        Raises UnknownNamespace.
        """
        with self.spelled(party, extract, progress) as found:
            yield read(found)

    @block
    def spelled(self, party: Party, extract: Extract = Extract(), progress: Progress = unwatched) -> Iterator[Iterator[str]]:
        """As `quads`, each as its text in N-Quads, but for the dot, which costs half as much."""
        with self.store.reading() as view:
            sight = self.sight(view, party)
            made = self._whole(view, sight, party, progress) if extract.whole else self._part(view, sight, extract, party, progress)
            with closing(made) as found:
                yield found

    @block
    def records(self, party: Party, extract: Extract = Extract(), progress: Progress = unwatched) -> Iterator[Iterator[Record]]:
        """The records that the party may see, as much of each as it may see, by IRI; the present state while the block runs.

        Memory: flat. Raises UnknownNamespace.
        """
        with self.store.reading() as view:
            base = None if extract.namespace is None else self._namespace(view, extract.namespace).base
            meter = self._meter(view, party, progress, base)
            yield self._records(view, self.sight(view, party), extract, base, meter)

    def _meter(self, view: View, party: Party, progress: Progress, base: str | None = None) -> Meter:
        """Tells of the identifiers that the party sees."""
        seen = 0
        with suppress(LookupError):  # counters that are wrong keep nothing from being read out
            seen = sum(many for of, _, _, many in view.catalogue.tallies(self.audiences(view, party)) if base in (None, of))
        return Meter(progress, "identifiers", seen)

    def _records(self, view: View, sight: Sight, extract: Extract, base: str | None, meter: Meter) -> Iterator[Record]:
        public = [view.catalogue.sorted_identifiers(namespace=one) for one in self._facts(view).by_base if base in (None, one)]
        seen = [graph for graph in view.graphs() if access_list(graph) is not None and sight.sees(graph)]
        iris = merge(*public, *(view.catalogue.sorted_identifiers(audience=graph.value) for graph in seen))
        records = (self._load(view, NamedNode(iri), sight) for iri in iris)
        for record in meter.over(one for one in records if base in (None, one.namespace)):
            if extract.chooses(record):
                yield record

    def _whole(self, view: View, sight: Sight, party: Party, progress: Progress) -> Generator[str, None, None]:
        if not sight.everything:
            yield _partial()
        yield from _sorted(map(str, view.quads(None, None, None, REGISTRY_GRAPH)))
        yield from _sorted(map(str, view.quads(None, None, None, STORAGE_GRAPH)))
        reading, meter = partial(_records, view, self._unvalued(view)), self._meter(view, party, progress)
        for base in sorted(self._facts(view).by_base):
            yield from _ahead(reading, NamedNode(base), meter.over(view.catalogue.sorted_identifiers(namespace=base)))
        for graph in sorted(filter(sight.sees, view.graphs()), key=lambda one: one.value):
            if access_list(graph) is not None or closed_party(graph) is not None:
                yield from _ahead(reading, graph, meter.over(view.catalogue.sorted_identifiers(audience=graph.value)))
                yield from _sorted(map(str, _left(view, graph)))
                yield from _events(view, graph)
        yield from _events(view, PUBLIC_LOG, Meter(progress, "public events", view.catalogue.publication))

    def _part(self, view: View, sight: Sight, extract: Extract, party: Party, progress: Progress) -> Generator[str, None, None]:
        yield _partial()
        base = None
        if extract.namespace is not None:
            namespace = self._namespace(view, extract.namespace)
            base = namespace.base
            yield from _sorted(map(str, namespace.quads()))
        unvalued = self._unvalued(view)
        chosen = Selection(self.audiences(view, party), namespace=base, stage=extract.stage, since=extract.since)
        iris = sorted(view.catalogue.identifiers(chosen, None))
        for iri in Meter(progress, "identifiers", len(iris)).over(iris):
            yield from self._one(view, NamedNode(iri), sight, unvalued)

    def _one(self, view: View, iri: NamedNode, sight: Sight, unvalued: Container[str]) -> Iterator[str]:
        """A record, its bindings and its events."""
        graphs = {quad.graph_name for quad in (*view.quads(iri), *view.quads(None, IDS.valueOf, iri))}
        for graph in sorted((graph for graph in graphs if isinstance(graph, NamedNode) and sight.sees(graph)), key=lambda one: one.value):
            yield from _records(view, unvalued, graph, [iri])
        for event, graph in self._history(view, iri, sight):
            yield from _sorted(map(str, event.quads(graph)))

    def _unvalued(self, view: View) -> frozenset[str]:
        """The bases of namespaces whose identifiers have no typed values, as the engine spells them."""
        found = []
        for base, namespace in self._facts(view).by_base.items():
            with suppress(UnknownScheme):
                found += [] if namespace.valued else [str(NamedNode(base))]
        return frozenset(found)


def read(spelled: Iterator[str]) -> Iterator[Quad]:
    """The quads that were spelled."""
    while some := list(islice(spelled, _LINES)):
        yield from parse("".join([f"{text} .\n" for text in some]), format=RdfFormat.N_QUADS, lenient=True)


def _ahead(reading: Callable[[NamedNode, list[NamedNode]], list[str]], graph: NamedNode, iris: Iterator[str]) -> Iterator[str]:
    """What ``reading`` gives for a graph and subjects, portion by portion in their order: by threads that are ahead of whoever asks."""
    first = [NamedNode(iri) for iri in islice(iris, _FIRST)]
    if not first:
        return
    texts = reading(graph, first)
    many = _next(len(first), texts)
    yield from texts
    if len(first) < _FIRST:
        return
    pool = ThreadPoolExecutor(_READERS, "idstore-read")
    under_way: deque[Callable[[], list[str]]] = deque()
    try:
        portion = [NamedNode(iri) for iri in islice(iris, many)]
        while portion or under_way:
            if portion:
                work = partial(reading, graph, portion)
                under_way.append(_begun(pool, work) if len(portion) > 1 else work)  # one is read by `quads`, which stay in their thread
                portion = [NamedNode(iri) for iri in islice(iris, many)]
            if not portion or len(under_way) > _AHEAD:
                texts = under_way.popleft()()
                many = _next(many, texts)
                yield from texts
    finally:
        pool.shutdown(cancel_futures=True)


def _next(many: int, texts: list[str]) -> int:
    """How many subjects to read at once, after so many gave these texts."""
    return max(1, min(_PORTION, 4 * many, many * _LARGE // (sum(map(len, texts)) + 1)))


def _begun(pool: ThreadPoolExecutor, work: Callable[[], list[str]]) -> Callable[[], list[str]]:
    """What gives the outcome of some work, which is begun."""
    try:
        return pool.submit(work).result
    except RuntimeError:  # the main thread has ended, and no thread may be begun any more
        return work


def _records(view: View, unvalued: Container[str], graph: NamedNode, iris: Sequence[NamedNode]) -> list[str]:
    """Records, each with its bindings and its values, as far as they are kept in ``graph``.

    unvalued  namespaces whose identifiers have no values.
    """
    told = _by_subject(_told(view, graph, iris))
    bound = [
        iri for iri in iris if not all(_is_own(_predicate(text)) for text in told[str(iri)])
    ]  # each binding is there as a plain triple as well
    valued = [iri for iri in iris if not any(_predicate(text) == _HOME and _value(text) in unvalued for text in told[str(iri)])]
    beside = (_leading(view, RDF.subject, graph, bound), _leading(view, IDS.valueOf, graph, valued))
    return [text for iri in iris for part in (told, *beside) for text in part[str(iri)]]


def _leading(view: View, through: NamedNode, graph: NamedNode, iris: Sequence[NamedNode]) -> defaultdict[str, list[str]]:
    """By subject: what is said of the nodes that lead to it."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for _, texts in sorted(_by_subject(_told(view, graph, iris, through)).items()) if iris else ():
        for text in texts:
            if _predicate(text) == str(through):
                found[_value(text)] += texts
    return found


def _told(view: View, graph: NamedNode, iris: Sequence[NamedNode], through: NamedNode | None = None) -> Iterable[str]:
    """`View.spelled`, or the same by `View.quads` where that takes less time: of one."""
    if len(iris) > 1:
        return view.spelled(iris, graph, through)
    subjects = iris if through is None else [quad.subject for iri in iris for quad in view.quads(None, through, iri, graph)]
    return [str(quad) for subject in subjects if isinstance(subject, NamedNode) for quad in view.quads(subject, None, None, graph)]


def _events(view: View, graph: NamedNode, meter: Meter | None = None) -> Iterator[str]:
    events = view.catalogue.ordered_events(graph.value)
    return _ahead(partial(_each, view), graph, meter.over(events) if meter else events)


def _each(view: View, graph: NamedNode, iris: Sequence[NamedNode]) -> list[str]:
    """What is said of each, in their order."""
    told = _by_subject(_told(view, graph, iris))
    return [text for iri in iris for text in told[str(iri)]]


def _left(view: View, graph: NamedNode) -> Iterator[Quad]:
    """What is kept in the graph of identifiers whose records are elsewhere, and suspensions."""

    def elsewhere(node: object) -> bool:
        """Whether what is said of it is neither among the graph's records nor among its events, which say who is granted what as well."""
        assert isinstance(node, NamedNode)
        return not any(anything(view.quads(node, predicate, None, graph)) for predicate in (IDS.stage, IDS.about))

    for predicate in (IDS.grantee, IDS.bindGrantee, IDS.offeredTo, IDS.suspended):
        yield from (quad for quad in view.quads(None, predicate, None, graph) if elsewhere(quad.subject))
    for quad in view.quads(None, IDS.valueOf, None, graph):
        if elsewhere(quad.object):
            assert isinstance(quad.subject, NamedNode)
            yield from view.quads(quad.subject, None, None, graph)


def _by_subject(texts: Iterable[str]) -> defaultdict[str, list[str]]:
    """Put in order, and apart by subject."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for text in _sorted(texts):
        found[text[: text.index(" ")]].append(text)
    return found


def _sorted(texts: Iterable[str]) -> list[str]:
    """Sorted by subject, its class first, then by predicate and object."""
    return sorted(texts, key=_order)


def _order(text: str) -> str:
    return text.replace(_TYPE, " ! ", 1)


def _predicate(text: str) -> str:
    return text.split(" ", 2)[1]


def _value(text: str) -> str:
    return text.split(" ", 2)[2].rpartition(" ")[0]


@lru_cache(maxsize=1024)
def _is_own(predicate: str) -> bool:
    """Whether it says something of the record itself, and is no binding's."""
    return reserved(NamedNode(predicate[1:-1]))


def _partial() -> str:
    return str(Quad(REGISTRY_GRAPH, IDS.partial, TRUE, REGISTRY_GRAPH))

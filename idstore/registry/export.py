"""Export of a registry's triples in an order determined by its state alone."""

from collections import defaultdict, deque
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import lru_cache, partial
from heapq import merge
from itertools import islice
from typing import Final

from pyoxigraph import NamedNode, Quad, RdfFormat, parse

from idstore.errors import UnknownScheme
from idstore.model.filter import Filter
from idstore.model.listing import Selection
from idstore.model.namespace import TRUE, Namespace
from idstore.model.party import NOBODY, Party, description, node
from idstore.model.record import Record, reserved
from idstore.model.terms import iri_of
from idstore.progress import Meter, Progress, unwatched
from idstore.registry.core import Part, read_event
from idstore.registry.visibility import EVERYONE, Sight, any_quad, graph_of, is_private
from idstore.stores.contract import View
from idstore.vocabulary import (
    IDS,
    PUBLIC_LOG,
    RDF,
    REGISTRY_GRAPH,
    SPACE,
    STORAGE_GRAPH,
    access_list,
    party_name,
)

_TYPE: Final = f" {RDF.type} "
_HOME: Final = str(IDS.inNamespace)
_PARTY: Final = f"<{SPACE}party/"
_ADMINISTRATIVE: Final = (IDS.allocator, IDS.perMinute, IDS.offeredTo)
"""Properties of a namespace that a publication leaves out: who may allocate, and how fast."""
_PORTION: Final = 200
"""Most subjects read at once."""
_FIRST: Final = 8
"""Subjects that the calling thread reads first. Their size decides how many are read at once afterwards."""
_LARGE: Final = 1 << 20
"""Characters that a portion should not exceed: several portions are in memory at a time."""
_READERS: Final = 3
"""Reader threads: as many as one consumer can serialise for."""
_AHEAD: Final = 2 * _READERS
"""Portions read ahead."""
_LINES: Final = 1000
"""Quads parsed at once."""


class Export(Part):
    """Export of the whole registry or of an filter."""

    @contextmanager
    def quads(
        self, party: Party, filter: Filter = Filter(), progress: Progress = unwatched
    ) -> Iterator[Iterator[Quad]]:
        """Yield the quads that the party may see at the start of the block, grouped by subject.

        The order is determined by the state alone. A partial extract is marked by ``ids:partial``. It holds
        also the namespaces and parties that it names, with their events, so that it can be imported.
        Memory: flat, except for namespaces, parties and the grants of fixated identifiers.
        Raises UnknownNamespace, InvalidData (a restriction that exports do not have).
        """
        with self.nquads(party, filter, progress) as lines:
            yield read(lines)

    @contextmanager
    def nquads(
        self, party: Party, filter: Filter = Filter(), progress: Progress = unwatched
    ) -> Iterator[Iterator[str]]:
        """As `quads`, but as lines of N-Quads without the final dot, at half the cost."""
        filter.check_export()
        with self.store.snapshot() as view:
            sight = self.core.sight(view, party)
            generator = (
                self._complete(view, sight, party, progress)
                if filter == Filter()
                else self._extracted(view, sight, filter, party, progress)
            )
            with closing(generator) as lines:
                yield lines

    @contextmanager
    def publication(
        self, filter: Filter = Filter(), progress: Progress = unwatched
    ) -> Iterator[Iterator[str]]:
        """Yield what an anonymous caller sees of namespaces and identifiers, as `nquads`, without events.

        So it holds no comments, no grant lists and no values that are not public. Of the parties that own or
        bind it has the names. It is marked by ``ids:partial``, conforms to the shapes, and cannot be
        imported, for lack of events.
        Memory: flat, unless the filter restricts more than the namespace.
        Raises UnknownNamespace, InvalidData (a restriction that exports do not have, or drafts).
        """
        filter.check_publication()
        with (
            self.store.snapshot() as view,
            closing(self._published(view, filter, progress)) as lines,
        ):
            yield lines

    @contextmanager
    def records(
        self, party: Party, filter: Filter = Filter(), progress: Progress = unwatched
    ) -> Iterator[Iterator[Record]]:
        """Yield the visible parts of the records that the party may see at the start of the block, by IRI.

        Memory: flat. Raises as `quads`.
        """
        filter.check_export()
        with self.store.snapshot() as view:
            base = None if filter.namespace is None else self.core.namespace(view, filter.namespace).base
            meter = self._meter(view, party, progress, base)
            yield self._records(view, self.core.sight(view, party), filter, base, meter)

    def _meter(self, view: View, party: Party, progress: Progress, base: str | None = None) -> Meter:
        """Return a meter over the identifiers that the party sees."""
        seen = 0
        with suppress(LookupError):  # wrong counters do not prevent an export
            seen = sum(
                count
                for namespace, _, _, count in view.catalogue.tallies(self.core.audiences(view, party))
                if base in (None, namespace)
            )
        return Meter(progress, "identifiers", seen)

    def _records(
        self, view: View, sight: Sight, filter: Filter, base: str | None, meter: Meter
    ) -> Iterator[Record]:
        public = [
            view.catalogue.sorted_identifiers(namespace=namespace)
            for namespace in self.core.facts(view).by_base
            if base in (None, namespace)
        ]
        seen = [graph for graph in view.graphs() if access_list(graph) is not None and sight.sees(graph)]
        iris = merge(*public, *(view.catalogue.sorted_identifiers(audience=graph.value) for graph in seen))
        records = (self.core.load(view, NamedNode(iri), sight) for iri in iris)
        for record in meter.over(record for record in records if base in (None, record.namespace)):
            if _chooses(filter, record):
                yield record

    def _complete(
        self, view: View, sight: Sight, party: Party, progress: Progress
    ) -> Generator[str, None, None]:
        if not sight.everything:
            yield _partial()
        yield from _sorted(map(str, view.quads(None, None, None, REGISTRY_GRAPH)))
        yield from _sorted(map(str, view.quads(None, None, None, STORAGE_GRAPH)))
        reading, meter = partial(_records, view, self._unvalued(view)), self._meter(view, party, progress)
        for base in sorted(self.core.facts(view).by_base):
            yield from _read_ahead(
                reading, NamedNode(base), meter.over(view.catalogue.sorted_identifiers(namespace=base))
            )
        for graph in sorted(filter(sight.sees, view.graphs()), key=lambda one: one.value):
            if is_private(graph):
                yield from _read_ahead(
                    reading, graph, meter.over(view.catalogue.sorted_identifiers(audience=graph.value))
                )
                yield from _sorted(map(str, _remainder(view, graph)))
                yield from _events(view, graph)
        yield from _events(view, PUBLIC_LOG, Meter(progress, "public events", view.catalogue.publication))

    def _extracted(
        self, view: View, sight: Sight, filter: Filter, party: Party, progress: Progress
    ) -> Generator[str, None, None]:
        yield _partial()
        unvalued = self._unvalued(view)
        selection = self.core.selection(view, party, filter)
        named: set[str] = set()
        for needed in self._needed_namespaces(view, selection):
            yield from _naming(named, _sorted(map(str, needed.quads())))
            yield from _naming(named, self._events_about(view, needed.iri, sight))
        iris = sorted(view.catalogue.identifiers(selection, None))
        for iri in Meter(progress, "identifiers", len(iris)).over(iris):
            yield from _naming(named, self._record_and_events(view, NamedNode(iri), sight, unvalued))
        yield from self._parties(view, named, sight)

    def _published(self, view: View, filter: Filter, progress: Progress) -> Generator[str, None, None]:
        yield _partial()
        selection = self.core.selection(view, NOBODY, filter)
        named: set[str] = set()
        known = self.core.facts(view).by_base
        namespaces = (
            (known[base] for base in sorted(known))
            if filter == Filter()
            else self._needed_namespaces(view, selection)
        )
        for needed in namespaces:
            quads = (quad for quad in needed.quads() if quad.predicate not in _ADMINISTRATIVE)
            yield from _naming(named, _sorted(map(str, quads)))
        reading = partial(_records, view, self._unvalued(view))
        meter = self._meter(view, NOBODY, progress, selection.namespace)
        for base in sorted(known):
            if selection.namespace in (None, base):
                iris = (
                    view.catalogue.sorted_identifiers(namespace=base)
                    if replace(filter, namespace=None) == Filter()
                    else iter(sorted(view.catalogue.identifiers(replace(selection, namespace=base), None)))
                )
                yield from _naming(named, _read_ahead(reading, NamedNode(base), meter.over(iris)))
        for iri in sorted(named):
            seen = (quad for quad in view.quads(NamedNode(iri)) if EVERYONE.sees(graph_of(quad)))
            described = (quad for quad in seen if quad.predicate == IDS.name or quad.object == IDS.Party)
            yield from _sorted(map(str, described))

    def _needed_namespaces(self, view: View, selection: Selection) -> Iterator[Namespace]:
        """Yield the namespaces of the selected identifiers, and those that these refer to, by base."""
        known = self.core.facts(view).by_base
        waiting = [
            base
            for base in known
            if base == selection.namespace
            or (
                selection.namespace is None
                and view.catalogue.identifiers(replace(selection, namespace=base), 1)
            )
        ]
        needed: dict[str, Namespace] = {}
        while waiting:
            base = waiting.pop()
            if base not in needed:
                needed[base] = known[base]
                values = (quad.object for quad in known[base].quads())
                waiting += [iri.value for iri in values if isinstance(iri, NamedNode) and iri.value in known]
        return (needed[base] for base in sorted(needed))

    def _parties(self, view: View, named: set[str], sight: Sight) -> Iterator[str]:
        """Yield the descriptions of the named parties, and of those that these name.

        Their events are among them: an import takes no party without.
        """
        begun = view.quads(None, RDF.type, IDS.Initialization, PUBLIC_LOG)
        firsts = [read_event(view, iri_of(quad.subject), PUBLIC_LOG) for quad in begun]
        done: set[str] = set()
        while waiting := sorted(named - done):
            for iri in waiting:
                party = NamedNode(iri)
                seen = (quad for quad in view.quads(party) if sight.sees(graph_of(quad)))
                lines = _sorted(str(quad) for quad in seen if quad.predicate != IDS.suspended)
                events = [event for event in firsts if node(event.by) == party]
                events += [
                    event for event, graph in self.core.history(view, party, sight) if graph == PUBLIC_LOG
                ]
                lines += [line for event in events for line in _sorted(map(str, event.quads(PUBLIC_LOG)))]
                yield from _naming(named, lines)
            done.update(waiting)

    def _events_about(self, view: View, about: NamedNode, sight: Sight) -> Iterator[str]:
        for event, graph in self.core.history(view, about, sight):
            yield from _sorted(map(str, event.quads(graph)))

    def _record_and_events(
        self, view: View, iri: NamedNode, sight: Sight, unvalued: Container[str]
    ) -> Iterator[str]:
        """Yield a record with its bindings and events."""
        graphs = {quad.graph_name for quad in (*view.quads(iri), *view.quads(None, IDS.valueOf, iri))}
        for graph in sorted(
            (graph for graph in graphs if isinstance(graph, NamedNode) and sight.sees(graph)),
            key=lambda one: one.value,
        ):
            yield from _records(view, unvalued, graph, [iri])
        yield from self._events_about(view, iri, sight)

    def _unvalued(self, view: View) -> frozenset[str]:
        """Return the bases of namespaces without typed values, as the engine writes them."""
        bases: list[str] = []
        for base, namespace in self.core.facts(view).by_base.items():
            with suppress(UnknownScheme):
                bases += [] if namespace.valued else [str(NamedNode(base))]
        return frozenset(bases)


def _chooses(filter: Filter, record: Record) -> bool:
    """Return whether a filter includes the record's stage, owner and time of creation."""
    return (
        filter.stage in (None, record.stage)
        and filter.party in (None, record.owner)
        and filter.is_within(record.created)
    )


def _naming(named: set[str], lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines, and add the parties that are their objects to ``named``."""
    for line in lines:
        value = _value(line)
        if value.startswith(_PARTY):
            named.add(value[1:-1])
        yield line


def read(nquads: Iterator[str]) -> Iterator[Quad]:
    """Parse the lines that `Registry.nquads` yields."""
    while lines := list(islice(nquads, _LINES)):
        yield from parse("".join([f"{text} .\n" for text in lines]), format=RdfFormat.N_QUADS, lenient=True)


def _read_ahead(
    reading: Callable[[NamedNode, list[NamedNode]], list[str]], graph: NamedNode, iris: Iterator[str]
) -> Iterator[str]:
    """Yield what ``reading`` returns for a graph and its subjects, in order; threads read ahead."""
    first = [NamedNode(iri) for iri in islice(iris, _FIRST)]
    if not first:
        return
    texts = reading(graph, first)
    size = _portion_size(len(first), texts)
    yield from texts
    if len(first) < _FIRST:
        return
    pool = ThreadPoolExecutor(_READERS, "idstore-read")
    pending: deque[Callable[[], list[str]]] = deque()
    try:
        portion = [NamedNode(iri) for iri in islice(iris, size)]
        while portion or pending:
            if portion:
                work = partial(reading, graph, portion)
                pending.append(
                    _submit(pool, work) if len(portion) > 1 else work
                )  # a single subject is read by `quads`, which are bound to their thread
                portion = [NamedNode(iri) for iri in islice(iris, size)]
            if not portion or len(pending) > _AHEAD:
                texts = pending.popleft()()
                size = _portion_size(size, texts)
                yield from texts
    finally:
        pool.shutdown(cancel_futures=True)


def _portion_size(size: int, texts: list[str]) -> int:
    """Return how many subjects to read next, after a portion of ``size`` subjects gave these texts."""
    return max(1, min(_PORTION, 4 * size, size * _LARGE // (sum(map(len, texts)) + 1)))


def _submit(pool: ThreadPoolExecutor, work: Callable[[], list[str]]) -> Callable[[], list[str]]:
    """Start the work in a thread, and return the function that waits for its result."""
    try:
        return pool.submit(work).result
    except RuntimeError:  # the main thread has ended, and no thread can be started
        return work


def _records(view: View, unvalued: Container[str], graph: NamedNode, iris: Sequence[NamedNode]) -> list[str]:
    """Return the lines of records, each with its bindings and values, as far as ``graph`` holds them.

    unvalued  namespaces whose identifiers have no values.
    """
    lines = _by_subject(_nquads(view, graph, iris))
    bound = [
        iri for iri in iris if not all(_is_own(_predicate(text)) for text in lines[str(iri)])
    ]  # each binding is stored as a plain triple as well
    valued = [
        iri
        for iri in iris
        if not any(_predicate(text) == _HOME and _value(text) in unvalued for text in lines[str(iri)])
    ]
    referrers = (_referrers(view, RDF.subject, graph, bound), _referrers(view, IDS.valueOf, graph, valued))
    return [text for iri in iris for part in (lines, *referrers) for text in part[str(iri)]]


def _referrers(
    view: View, through: NamedNode, graph: NamedNode, iris: Sequence[NamedNode]
) -> defaultdict[str, list[str]]:
    """Return the lines of the nodes that refer to each subject by the predicate ``through``."""
    by_object: defaultdict[str, list[str]] = defaultdict(list)
    for _, texts in sorted(_by_subject(_nquads(view, graph, iris, through)).items()) if iris else ():
        for text in texts:
            if _predicate(text) == str(through):
                by_object[_value(text)] += texts
    return by_object


def _nquads(
    view: View, graph: NamedNode, iris: Sequence[NamedNode], through: NamedNode | None = None
) -> Iterable[str]:
    """As `View.nquads`; a single subject is read by `View.quads`, which is faster for one."""
    if len(iris) > 1:
        return view.nquads(iris, graph, through)
    subjects = (
        iris
        if through is None
        else [quad.subject for iri in iris for quad in view.quads(None, through, iri, graph)]
    )
    return [
        str(quad)
        for subject in subjects
        if isinstance(subject, NamedNode)
        for quad in view.quads(subject, None, None, graph)
    ]


def _events(view: View, graph: NamedNode, meter: Meter | None = None) -> Iterator[str]:
    events = view.catalogue.ordered_events(graph.value)
    return _read_ahead(partial(_in_order, view), graph, meter.over(events) if meter else events)


def _in_order(view: View, graph: NamedNode, iris: Sequence[NamedNode]) -> list[str]:
    """Return the lines of the subjects, in the order of ``iris``."""
    lines = _by_subject(_nquads(view, graph, iris))
    return [text for iri in iris for text in lines[str(iri)]]


def _remainder(view: View, graph: NamedNode) -> Iterator[Quad]:
    """Yield what the graph holds of identifiers whose records are in other graphs, and of parties."""

    def recorded_elsewhere(node: object) -> bool:
        """Return whether the graph holds neither the node's record nor its event.

        Events name grantees too.
        """
        assert isinstance(node, NamedNode)
        return not any(
            any_quad(view.quads(node, predicate, None, graph)) for predicate in (IDS.stage, IDS.about)
        )

    for predicate in (IDS.grantee, IDS.bindGrantee, IDS.offeredTo, IDS.suspended):
        yield from (
            quad for quad in view.quads(None, predicate, None, graph) if recorded_elsewhere(quad.subject)
        )
    for quad in view.quads(None, RDF.type, IDS.Party, graph):
        assert isinstance(quad.subject, NamedNode)
        yield from description(party_name(quad.subject), graph)
    for quad in view.quads(None, IDS.valueOf, None, graph):
        if recorded_elsewhere(quad.object):
            assert isinstance(quad.subject, NamedNode)
            yield from view.quads(quad.subject, None, None, graph)


def _by_subject(texts: Iterable[str]) -> defaultdict[str, list[str]]:
    """Sort the lines, and group them by subject."""
    groups: defaultdict[str, list[str]] = defaultdict(list)
    for text in _sorted(texts):
        groups[text[: text.index(" ")]].append(text)
    return groups


def _sorted(texts: Iterable[str]) -> list[str]:
    """Sort the lines by subject, its class first, then by predicate and object."""
    return sorted(texts, key=_order)


def _order(text: str) -> str:
    return text.replace(_TYPE, " ! ", 1)


def _predicate(text: str) -> str:
    return text.split(" ", 2)[1]


def _value(text: str) -> str:
    return text.split(" ", 2)[2].rpartition(" ")[0]


@lru_cache(maxsize=1024)
def _is_own(predicate: str) -> bool:
    """Return whether a predicate describes the record itself and is not a binding."""
    return reserved(NamedNode(predicate[1:-1]))


def _partial() -> str:
    return str(Quad(REGISTRY_GRAPH, IDS.partial, TRUE, REGISTRY_GRAPH))

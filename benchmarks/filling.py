"""Filled stores to measure: the same content as from a registry's users, made faster."""

import itertools
import random
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, serialize

import idstore
from idstore.exchange import rdf
from idstore.model import times
from idstore.model.event import Event
from idstore.model.namespace import Namespace
from idstore.model.terms import Term, integer
from idstore.registry import Registry
from idstore.schemes import Context, pilin
from idstore.vocabulary import EVENTS, IDS, PUBLIC_LOG, RDF, SKOS

ADMINISTRATOR = idstore.Party("alice")
OWNERS = tuple(idstore.Party(f"owner-{number}") for number in range(8))
NAMESPACE, HANDLES = "rdl", "pilin"
PUBLISHED = 0.02
"""Share of identifiers that are fixated and bound."""
_PER_MILLISECOND = 1000
_HANDLES_FROM = 1_200_000_000_000
"""Millisecond in 2008 of the first handle's label."""


@dataclass(slots=True)
class Bench:
    """Settings and folders that the rows share.

    folder  folder of the filled stores, on the disk to measure.
    sizes   sizes of the stores, in identifiers.
    run     folder of all other files.
    quick   do the minimum that runs every row; the figures are meaningless then.
    """

    folder: Path
    sizes: tuple[int, ...]
    run: Path
    quick: bool = False
    _serial: int = field(default=0)

    def path(self, kind: str) -> Path:
        """Return an unused path."""
        self._serial += 1
        return self.run / f"{kind}-{self._serial}"

    def amount(self, usual: int) -> int:
        """Return the number of repetitions: ``usual``, or few in a quick run."""
        return max(2, usual // 50) if self.quick else usual

    @property
    def rounds(self) -> int:
        """Rounds of alternating measurements."""
        return 1 if self.quick else 7

    def store(self, size: int, namespace: str = NAMESPACE) -> Path:
        """Return the store of this size, filled on first use and reused in later runs. Do not change it.

        namespace  the one with the identifiers; those of `HANDLES` are all published.
        """
        place = self.folder / f"{'store' if namespace == NAMESPACE else namespace}-{size}"
        done = place.with_suffix(".filled")
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            _fill(place, size, self.run, namespace)
            done.touch()
        return place

    def copy(self, size: int, namespace: str = NAMESPACE) -> Path:
        """Return a copy of the store of this size for changes; `discard` it afterwards.

        The copy shares the engine's tables with the store, as every backup does.
        """
        copy = self.path("copy")
        with idstore.open(self.store(size, namespace), mode="shared") as registry:
            registry.backup(copy, ADMINISTRATOR)
        return copy


def discard(place: Path) -> None:
    """Remove a store."""
    shutil.rmtree(place)


def open_registry(place: Path) -> Registry:
    """Open a registry, and add the namespaces that the rows use."""
    registry = idstore.open(place, administrator=ADMINISTRATOR)
    existing = {namespace.name for namespace in registry.namespaces()}
    if NAMESPACE not in existing:
        registry.add_namespace(NAMESPACE, "http://rdl.example.org/data#", "rdswip", ADMINISTRATOR)
        registry.add_namespace(HANDLES, "102.100.272", "pilin", ADMINISTRATOR)
    return registry


def request(number: int) -> idstore.Request:
    """Return the request for the identifier with this number."""
    return idstore.Request(name=f"thing {number}", lang="en", target=target(number))


def target(number: int) -> str:
    """Return the target of the identifier with this number."""
    return f"http://example.org/thing/{number}"


def _fill(place: Path, size: int, run: Path, name: str) -> None:
    """Make a store by importing a log in a registry's own form; the log is then removed."""
    log = run / f"log-{size}.nt"
    with log.open("wb") as file:
        triples = (quad.triple for quad in _log(size, run / "origin", name))
        serialize(triples, file, format=RdfFormat.N_TRIPLES)
    with idstore.open(place, administrator=ADMINISTRATOR) as registry:
        rdf.import_registry(registry, [log], ADMINISTRATOR)
    log.unlink()


def _log(size: int, origin: Path, name: str) -> Iterator[Quad]:
    """Yield the events of a registry with ``size`` identifiers, a thousand in each millisecond, all past."""
    with open_registry(origin) as registry:
        with registry.quads(ADMINISTRATOR) as quads:
            for quad in quads:
                if quad.subject.value.startswith(EVENTS):  # type: ignore[union-attr]
                    yield quad
        (namespace,) = (space for space in registry.namespaces() if space.name == name)
        store, at = registry.store.origin, times.milliseconds(namespace.created) + 1
    shutil.rmtree(origin)
    labels, end = _labels(namespace), at + size // _PER_MILLISECOND + 1
    for number in range(size):
        owner, label, token = OWNERS[number % len(OWNERS)].name, next(labels), secrets.randbits(62)
        iri = NamedNode(namespace.scheme.iri(label, namespace.context))
        index = ((IDS.index, integer(1)),) if namespace.valued else ()
        arguments: tuple[tuple[NamedNode, Term], ...] = (
            (IDS.inNamespace, namespace.iri),
            (SKOS.notation, Literal(label)),
            (IDS.type, namespace.identifier_class),
            *request(number).arguments(),
            *index,
        )
        events = [Event(store, token, IDS.Mint, iri.value, owner, at + number // _PER_MILLISECOND, arguments)]
        bound = number % round(1 / PUBLISHED) == 0
        if bound or name == HANDLES:
            events.append(Event(store, token + 1, IDS.Fixation, iri.value, owner, end))
        if bound:
            same = NamedNode(f"http://example.org/same/{owner}/{number}")
            binding = (
                (RDF.predicate, SKOS.exactMatch),
                (RDF.object, same),
                (SKOS.note, Literal("the same thing")),
            )
            events.append(Event(store, token + 2, IDS.Bind, iri.value, owner, end, binding))
        for event in events:
            yield from event.quads(PUBLIC_LOG)


def _labels(namespace: Namespace) -> Iterator[str]:
    """Yield distinct labels: drawn by the scheme, or of one millisecond after the other."""
    if namespace.name == HANDLES:
        yield from map(pilin.encode, itertools.count(_HANDLES_FROM))
    drawn: set[str] = set()
    while True:
        label = next(namespace.scheme.candidates(_Empty(namespace.context)))
        if label not in drawn:
            drawn.add(label)
            yield label


@dataclass(slots=True)
class _Empty:
    """An allocation in an empty namespace, for a scheme."""

    context: Context
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        return times.now()

    def now(self) -> int:
        return times.now()

    def wait_until(self, moment: int) -> None:
        raise AssertionError(f"a scheme waits for {moment} in an empty namespace")

    def issued(self, series: str) -> int:  # noqa: ARG002 the same for every series
        return 0

    def highest(self, series: str) -> int:  # noqa: ARG002 the same for every series
        return 0


def handles(size: int, number: int) -> list[str]:
    """Return random handles of a filled store of handles, without its prefix."""
    return [pilin.encode(_HANDLES_FROM + place) for place in random.choices(range(size), k=number)]


def picked(registry: Registry, size: int, number: int) -> list[tuple[str, str, idstore.Party]]:
    """Return IRI, label and owner of random identifiers of a filled store."""
    identifiers = []
    for place in random.choices(range(size), k=number):
        owner = OWNERS[place % len(OWNERS)]
        iri = registry.bound_to(target(place), owner)[0]
        identifiers.append((iri, iri.rpartition("#")[2], owner))
    return identifiers

"""Stores to measure: as a registry's users would have filled them, only faster."""

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
from idstore.registry import Registry
from idstore.schemes import Context
from idstore.vocabulary import EVENTS, IDS, PREFIXES, PUBLIC_LOG, RDF, SKOS

ADMINISTRATOR = idstore.Party("alice")
OWNERS = tuple(idstore.Party(f"owner-{number}") for number in range(8))
NAMESPACE = "rdl"
PUBLISHED = 0.02
"""Share of identifiers that are fixated and bound."""


@dataclass(slots=True)
class Bench:
    """What the rows share.

    folder  where filled stores are made, on the disk to be measured.
    sizes   of the stores, in identifiers.
    run     where everything else goes.
    quick   as little as shows that everything runs; the figures mean nothing then.
    """

    folder: Path
    sizes: tuple[int, ...]
    run: Path
    quick: bool = False
    _serial: int = field(default=0)

    def path(self, kind: str) -> Path:
        """A path where nothing is yet."""
        self._serial += 1
        return self.run / f"{kind}-{self._serial}"

    def amount(self, usual: int) -> int:
        """How much of something to do."""
        return max(2, usual // 50) if self.quick else usual

    @property
    def rounds(self) -> int:
        """How often to take turns."""
        return 1 if self.quick else 7

    def store(self, size: int) -> Path:
        """The store of that size, filled when first asked for, and in later runs in the same folder used again."""
        place = self.folder / f"store-{size}"
        done = place.with_suffix(".filled")
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            _fill(place, size, self.run)
            done.touch()
        return place


def begun(place: Path, **options: str) -> Registry:
    """A registry with the namespaces that the rows use."""
    registry = idstore.open(place, administrator=ADMINISTRATOR, **options)
    known = {namespace.name for namespace in registry.namespaces()}
    if NAMESPACE not in known:
        registry.add_namespace(NAMESPACE, "http://rdl.example.org/data#", "rdswip", ADMINISTRATOR)
        registry.add_namespace("pilin", "102.100.272", "pilin", ADMINISTRATOR)
    return registry


def request(number: int) -> idstore.Request:
    """What comes with the identifier of that number."""
    return idstore.Request(name=f"thing {number}", lang="en", target=target(number))


def target(number: int) -> str:
    """The URI that the identifier of that number leads to."""
    return f"http://example.org/thing/{number}"


def _fill(place: Path, size: int, run: Path) -> None:
    """Make a store by importing a log as a registry would have written it; the log is removed."""
    log = run / f"log-{size}.ttl"
    with log.open("wb") as file:
        serialize((quad.triple for quad in _log(size, run / "origin")), file, format=RdfFormat.TURTLE, prefixes=PREFIXES)
    with idstore.open(place, administrator=ADMINISTRATOR, durability="process") as registry:
        rdf.import_registry(registry, [log], ADMINISTRATOR)
    log.unlink()


def _log(size: int, origin: Path) -> Iterator[Quad]:
    """The events of a registry that has made so many identifiers, one in each millisecond up to now."""
    with begun(origin, durability="process") as registry:
        with registry.quads(ADMINISTRATOR) as quads:
            yield from (quad for quad in quads if quad.subject.value.startswith(EVENTS))  # type: ignore[union-attr]
        (namespace,) = (one for one in registry.namespaces() if one.name == NAMESPACE)
        store, at = registry.store.origin, namespace.created + 1
    shutil.rmtree(origin)
    labels = _labels(namespace)
    for number in range(size):
        owner, label, token = OWNERS[number % len(OWNERS)].name, next(labels), secrets.randbits(62)
        iri = NamedNode(namespace.scheme.iri(label, namespace.context))
        said = (
            (IDS.inNamespace, namespace.iri),
            (SKOS.notation, Literal(label)),
            (IDS.type, namespace.identifier_class),
            *request(number).arguments(),
        )
        made = [Event(store, token, IDS.Mint, iri, owner, at + number, said)]
        if number % round(1 / PUBLISHED) == 0:
            same = NamedNode(f"http://example.org/same/{owner}/{number}")
            bound = ((RDF.predicate, SKOS.exactMatch), (RDF.object, same), (SKOS.note, Literal("the same thing")))
            made.append(Event(store, token + 1, IDS.Fixation, iri, owner, at + size))
            made.append(Event(store, token + 2, IDS.Bind, iri, owner, at + size, bound))
        for event in made:
            yield from event.quads(PUBLIC_LOG)


def _labels(namespace: Namespace) -> Iterator[str]:
    """Labels as the scheme draws them, each once."""
    drawn: set[str] = set()
    while True:
        label = next(namespace.scheme.candidates(_Empty(namespace.context)))
        if label not in drawn:
            drawn.add(label)
            yield label


@dataclass(frozen=True, slots=True)
class _Empty:
    """A namespace in which nothing was issued, as a scheme sees it."""

    context: Context
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        return times.now()

    def now(self) -> int:
        return times.now()

    def wait_until(self, moment: int) -> None:
        raise AssertionError(f"nothing was issued, so there is nothing to wait for: {moment}")

    def issued(self, series: str) -> int:  # noqa: ARG002 the same for each
        return 0

    def highest(self, series: str) -> int:  # noqa: ARG002 the same for each
        return 0


def picked(registry: Registry, size: int, number: int) -> list[tuple[str, str, idstore.Party]]:
    """IRI, label and owner of identifiers picked at random from all that a store was filled with."""
    found = []
    for place in random.choices(range(size), k=number):
        owner = OWNERS[place % len(OWNERS)]
        iri = registry.bound_to(target(place), owner)[0]
        found.append((iri, iri.rpartition("#")[2], owner))
    return found

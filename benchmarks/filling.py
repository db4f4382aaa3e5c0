"""Stores to measure: as a registry's users would have filled them, only faster."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import idstore
from idstore.registry import Registry

ADMINISTRATOR = idstore.Party("alice")
OWNERS = tuple(idstore.Party(f"owner-{number}") for number in range(8))
NAMESPACE = "rdl"
PUBLISHED = 0.02
"""Share of identifiers that are fixated and bound."""
_BATCH = 200


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
            with begun(place, durability="process") as registry:
                _fill(registry, size)
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


def _fill(registry: Registry, size: int) -> None:
    with ThreadPoolExecutor(len(OWNERS)) as pool:
        parts = [pool.submit(partial(_mint, registry, owner, range(place, size, len(OWNERS)))) for place, owner in enumerate(OWNERS)]
        for part in parts:
            part.result()
    for owner in OWNERS:
        chosen = registry.list(owner, idstore.Selection(owner=owner.name), limit=int(size * PUBLISHED / len(OWNERS)) or 1)
        named = [record.iri.value for record in chosen]
        for start in range(0, len(named), _BATCH):
            registry.fixate(named[start : start + _BATCH], owner)
        for place, iri in enumerate(named):
            registry.bind(iri, idstore.Statement(f"http://example.org/same/{owner.name}/{place}", note="the same thing"), owner)


def _mint(registry: Registry, owner: idstore.Party, numbers: range) -> None:
    for number in numbers:
        registry.mint(NAMESPACE, owner, request(number))


def picked(registry: Registry, size: int, number: int) -> list[tuple[str, str, idstore.Party]]:
    """IRI, label and owner of identifiers picked at random from all that a store was filled with."""
    found = []
    for place in random.choices(range(size), k=number):
        owner = OWNERS[place % len(OWNERS)]
        iri = registry.bound_to(target(place), owner)[0]
        found.append((iri, iri.rpartition("#")[2], owner))
    return found

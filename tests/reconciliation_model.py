"""A plain model of reconciliation: repeated searches through lists, to test the real one against."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

SKOS = "http://www.w3.org/2004/02/skos/core#"
SAME = "http://www.w3.org/2002/07/owl#sameAs"
WIKIDATA = "http://www.wikidata.org/entity/"
REPLACES = "http://purl.org/dc/terms/replaces"
IDENTITY = (SKOS + "exactMatch", SKOS + "closeMatch", SAME)
EQUIVALENCE = (SKOS + "exactMatch", SAME)

Key = tuple[str, str, str]
Found = dict[str, list[object]]


@dataclass
class Side:
    """The statements of a side.

    links     statements, each with its confidence.
    stages    identifier → stage, for those that the side holds; ``released`` for those that it gave up.
    facts     statements about identifiers: identifier, property, value.
    bases     the bases of its namespaces.
    registry  whether the side lists all identifiers.
    sources   target → the list that the side names for it.
    """

    links: list[tuple[str, str, str, float]] = field(default_factory=list)
    stages: dict[str, str] = field(default_factory=dict)
    facts: set[tuple[str, str, str]] = field(default_factory=set)
    bases: set[str] = field(default_factory=set)
    registry: bool = False
    sources: dict[str, str] = field(default_factory=dict)


def compare(sides: list[Side]) -> Found:
    """Return all findings: kind → subject, with the key that distinguishes findings of the kind."""
    keys = {link[:3] for side in sides for link in side.links}
    bases = {base for side in sides for base in side.bases}
    named = {(end, side.sources.get(end)) for side in sides for _, _, end, _ in side.links}
    kinds = Kinds(bases, {(end, source) for end, source in named if source})
    identical = {(one, other) for one, relation, other in keys if relation in IDENTITY}
    found: dict[str, list[object]] = {
        "different-statements": different(sides),
        "different-relations": related(sides, keys),
        "several-targets": crowded(identical, kinds),
        "claimed-twice": claimed(sides, identical, kinds),
        "circle": circles(identical),
        "chain": chains(identical),
        "joined": [one for one in hanging(sides, kinds) if one[1]],
        "cluster": [members for members, twins in hanging(sides, kinds) if not twins and len(members) > 2],
        "released": astray(sides, keys, bases, "released"),
        "superseded": astray(sides, keys, bases, "superseded"),
        "unknown": astray(sides, keys, bases, "unknown"),
        "lacking": lacking(sides, keys),
    }
    return {kind: sorted(some, key=repr) for kind, some in found.items() if some}


def kind_of(text: str, bases: Collection[str]) -> str:
    for base in sorted(bases, key=len, reverse=True):
        if text.startswith(base):
            return base
    if text.startswith(WIKIDATA):
        return text.rstrip("0123456789")
    return text[: max(text.rfind("/"), text.rfind("#")) + 1]


@dataclass
class Kinds:
    """The kinds of ends: by their IRIs, and by the lists that tables name for them."""

    bases: Collection[str]
    sources: set[tuple[str, str]]

    def of(self, text: str) -> set[str]:
        own = kind_of(text, self.bases)
        return {f"list {source}" for end, source in self.sources if end == text} | ({own} - {text})

    def groups(self, ends: Collection[str], alike: Collection[str] = ()) -> set[frozenset[str]]:
        """Return the ends that share a kind, directly or through others, where there are several.

        alike  ends that belong together, also of different kinds.
        """
        edges = {(one, other) for one in ends for other in ends if self.of(one) & self.of(other)}
        edges |= {(one, other) for one in alike for other in alike}
        return {group for one in ends if len(group := frozenset(reached(one, edges))) > 1}


def different(sides: list[Side]) -> list[object]:
    made: list[object] = []
    for about in {one for side in sides for one, _, _ in side.facts} | {
        one for side in sides for one in side.stages
    }:
        for name in {name for side in sides for one, name, _ in side.facts if one == about}:
            said = [
                {value for one, other, value in side.facts if (one, other) == (about, name)} for side in sides
            ]
            if len({frozenset(values) for values in said if values}) > 1:
                made.append((about, name))
        if len({side.stages[about] for side in sides if about in side.stages}) > 1:
            made.append((about, "stage"))
    return made


def related(sides: list[Side], keys: set[Key]) -> list[object]:
    made: list[object] = []
    for pair in {(one, other) for one, _, other in keys}:
        said = [{link[1] for link in side.links if (link[0], link[2]) == pair} for side in sides]
        if len({frozenset(relations) for relations in said if relations}) > 1:
            made.append(pair)
    return made


def crowded(pairs: set[tuple[str, str]], kinds: Kinds) -> list[object]:
    made: list[object] = []
    for one in {one for one, _ in pairs}:
        groups = kinds.groups({other for first, other in pairs if first == one})
        made += [(one, tuple(sorted(members))) for members in groups]
    return made


def claimed(sides: list[Side], identical: set[tuple[str, str]], kinds: Kinds) -> list[object]:
    """Find targets with several identifiers: of one kind, or that identify it."""
    goals = {(one, value) for side in sides for one, name, value in side.facts if name == "target"}
    made: list[object] = []
    for target in {target for _, target in identical | goals}:
        leads = {one for one, other in goals if other == target}
        groups = kinds.groups({one for one, other in identical | goals if other == target}, leads)
        made += [(target, tuple(sorted(members))) for members in groups]
    return made


def leading(pairs: set[tuple[str, str]]) -> set[tuple[str, str]]:
    return {(one, other) for one, other in pairs if one == other or (other, one) not in pairs}


def reached(start: str, edges: set[tuple[str, str]]) -> set[str]:
    """Return all nodes reachable in one step or more."""
    there: set[str] = set()
    while more := {other for one, other in edges if one in there | {start}} - there:
        there |= more
    return there


def circles(pairs: set[tuple[str, str]]) -> list[object]:
    edges = leading(pairs)
    nodes = {node for edge in edges for node in edge}
    rounds = {
        frozenset({one} | {other for other in reached(one, edges) if one in reached(other, edges)})
        for one in nodes
        if one in reached(one, edges)
    }
    return [tuple(sorted(edge for edge in edges if set(edge) <= members)) for members in rounds]


def chains(pairs: set[tuple[str, str]]) -> list[object]:
    edges = leading(pairs)
    made: list[object] = []
    for start in {one for one, _ in edges} - {other for _, other in edges}:
        there = reached(start, edges)
        links = tuple(
            sorted(
                edge for edge in edges if edge[0] in there or (edge[0] == start and reached(edge[1], edges))
            )
        )
        if any(one != start for one, _ in links):
            made.append((start, links))
    return made


def hanging(sides: list[Side], kinds: Kinds) -> list[tuple[tuple[str, ...], tuple[object, ...]]]:
    """Return each cluster by its members, with the link that joins each pair of one namespace.

    Links are added in descending order of strength.
    """
    said: dict[Key, list[tuple[int, float]]] = {}
    for number, side in enumerate(sides):
        for one, relation, other, confidence in side.links:
            if relation in EQUIVALENCE:
                said.setdefault((one, relation, other), []).append((number, confidence))
    order = sorted(
        said,
        key=lambda key: (
            -max(share for _, share in said[key]),
            -len({number for number, _ in said[key]}),
            key[0],
            key[2],
            key[1],
        ),
    )
    made: list[tuple[tuple[str, ...], tuple[object, ...]]] = []
    for members in clusters(order):
        groups = kinds.groups(members)
        twins = [
            pair for pair in combinations(sorted(members), 2) if any(group >= {*pair} for group in groups)
        ]
        made.append((tuple(sorted(members)), tuple(sorted((meeting(pair, order), pair) for pair in twins))))
    return made


def clusters(order: Iterable[Key]) -> set[frozenset[str]]:
    both = {(one, other) for one, _, other in order} | {(other, one) for one, _, other in order}
    return {frozenset(reached(one, both)) for one, _ in both}


def meeting(pair: tuple[str, str], order: list[Key]) -> Key:
    for number in range(1, len(order) + 1):
        if any(set(pair) <= members for members in clusters(order[:number])):
            return order[number - 1]
    raise AssertionError(pair)


def astray(sides: list[Side], keys: set[Key], bases: Collection[str], kind: str) -> list[object]:
    stages: Mapping[str, set[str]] = {
        one: {side.stages[one] for side in sides if one in side.stages}
        for side in sides
        for one in side.stages
    }
    gone = {one for one, found in stages.items() if found & {"released", "tombstone"}}
    replaced = {
        one for side in sides for one, name, value in side.facts if name == "replaced by" and value != one
    }
    made: list[object] = []
    for end in {end for one, _, other in keys for end in (one, other)}:
        links = {key for key in keys if end in (key[0], key[2])}
        if kind == "superseded":
            links = {key for key in links if key[1:] != (REPLACES, end)}
            sought = end in replaced - gone
        elif kind == "unknown":
            base = kind_of(end, bases)
            sought = base in bases and end != base and end not in stages
        else:
            sought = end in gone
        if sought and links:
            made.append((end, tuple(sorted(links))))
    return made


def lacking(sides: list[Side], keys: set[Key]) -> list[object]:
    made: list[object] = []
    registries = [number for number, side in enumerate(sides) if side.registry]
    for one in {one for side in sides for one in side.stages if side.stages[one] != "released"}:
        missing = tuple(
            number for number in registries if sides[number].stages.get(one, "released") == "released"
        )
        if missing:
            made.append((one, missing))
    for key in keys:
        missing = tuple(
            number for number, side in enumerate(sides) if key not in {link[:3] for link in side.links}
        )
        if missing:
            made.append((key, missing))
    return made

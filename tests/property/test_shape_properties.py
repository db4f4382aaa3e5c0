"""Compiled shapes find what pySHACL finds, on random shapes and random data."""

from collections.abc import Callable, Sequence
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Triple
from pyshacl_agreement import compiled, expected

from idstore.validation.graph import SH, SHACL, Term
from idstore.validation.shapes import Shapes
from idstore.vocabulary import RDF, RDFS, XSD

RDF_SPACE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
FIRST, REST, NIL = (NamedNode(RDF_SPACE + name) for name in ("first", "rest", "nil"))
PREDICATES = [NamedNode(f"urn:{name}") for name in "pqr"]
CLASSES = [NamedNode(f"urn:{name}") for name in "ABC"]
NODES = [NamedNode(f"urn:{name}") for name in "abcdefg"]
BLANKS = [BlankNode("y"), BlankNode("z")]
LITERALS = [
    *map(Literal, ("x", "xyz", "")),
    *(Literal(text, language=tag) for text, tag in (("x", "en"), ("y", "en"), ("z", "de"), ("w", "en-gb"))),
    *map(Literal, (1, 5)),
    Literal("1.5", datatype=XSD.decimal),
    Literal(True),  # noqa: FBT003
    Literal("2026-01-01T00:00:00Z", datatype=XSD.dateTime),
    Literal("foo", datatype=XSD.integer),
    Literal("bar", datatype=XSD.dateTime),
]
CONSTANTS: list[NamedNode | Literal] = [*NODES, *LITERALS]
DATATYPES = [
    XSD.string,
    XSD.boolean,
    XSD.integer,
    XSD.dateTime,
    XSD.decimal,
    NamedNode(RDF_SPACE + "langString"),
]
NODE_KINDS = ["IRI", "Literal", "BlankNode", "IRIOrLiteral", "BlankNodeOrIRI", "BlankNodeOrLiteral"]
NESTING = ["not", "node", "and", "or", "xone", "property"]
SIMPLE = [
    "class",
    "datatype",
    "nodeKind",
    "minLength",
    "maxLength",
    "pattern",
    "languageIn",
    "hasValue",
    "in",
    "disjoint",
    "equals",
    "closed",
]
COUNTING = ["minCount", "maxCount", "uniqueLang", "qualifiedMinCount", "qualifiedMaxCount"]


class Maker:
    """Draws random shapes and data.

    It leaves out comparisons of incomparable values, where pySHACL differs from the text of SHACL.
    """

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.made: list[Triple] = []
        self.nodes: list[NamedNode | BlankNode] = [*NODES, *(BLANKS if self.rng.random() < 0.3 else [])]
        self.names = 0

    def data(self) -> list[Triple]:
        found = {
            Triple(node, RDF.type, kind) for node in self.nodes for kind in CLASSES if self.rng.random() < 0.3
        }
        for node in self.nodes:
            for predicate in PREDICATES:
                found.update(
                    Triple(node, predicate, self.term()) for _ in range(self.rng.choice((0, 1, 1, 2, 3)))
                )
        if self.rng.random() < 0.5:
            found.add(Triple(CLASSES[1], RDFS.subClassOf, CLASSES[0]))
        return sorted(found, key=str)

    def term(self) -> NamedNode | BlankNode | Literal:
        return self.rng.choice(self.nodes) if self.rng.random() < 0.5 else self.rng.choice(LITERALS)

    def constant(self) -> NamedNode | Literal:
        return self.rng.choice(CONSTANTS)

    def blank(self) -> BlankNode:
        self.names += 1
        return BlankNode(f"n{self.names}")

    def say(self, node: NamedNode | BlankNode, name: str, value: Term) -> None:
        self.made.append(Triple(node, NamedNode(SHACL + name), value))

    def listed(self, members: Sequence[Term]) -> NamedNode | BlankNode:
        if not members:
            return NIL
        node = self.blank()
        self.made += [Triple(node, FIRST, members[0]), Triple(node, REST, self.listed(members[1:]))]
        return node

    def path(self, depth: int = 0) -> NamedNode | BlankNode:
        draw = self.rng.random()
        if draw < 0.6 or depth > 1:
            return self.rng.choice(PREDICATES)
        if draw < 0.8:
            return self.listed([self.path(depth + 1) for _ in range(self.rng.choice((2, 2, 3)))])
        node = self.blank()
        if draw < 0.9:
            self.say(node, "inversePath", self.rng.choice(PREDICATES))
        elif draw < 0.95:
            self.say(node, "oneOrMorePath", self.rng.choice(PREDICATES))
        else:
            self.say(node, "alternativePath", self.listed([self.path(depth + 1), self.path(depth + 1)]))
        return node

    def shape(self, depth: int, *, of_path: bool) -> NamedNode:
        self.names += 1
        node = NamedNode(f"urn:shape{self.names}")
        self.made.append(Triple(node, RDF.type, SH.PropertyShape if of_path else SH.NodeShape))
        if of_path:
            self.say(node, "path", self.path())
        kinds = [*SIMPLE, *(NESTING if depth else ()), *(COUNTING if of_path else ())]
        for kind in self.rng.sample(kinds, self.rng.choice((1, 1, 2, 2, 3))):
            self.constrain(node, kind, depth)
        if self.rng.random() < 0.05:
            self.say(node, "deactivated", Literal(True))  # noqa: FBT003
        return node

    def constrain(self, node: NamedNode, kind: str, depth: int) -> None:
        if kind.startswith("qualified"):
            if any(
                triple.subject == node and triple.predicate == SH.qualifiedValueShape for triple in self.made
            ):
                return
            self.say(node, "qualifiedValueShape", self.shape(0, of_path=False))
        if kind == "closed":
            self.say(
                node, "ignoredProperties", self.listed([RDF.type, *PREDICATES[: self.rng.choice((0, 1))]])
            )
        self.say(node, kind, self.parameter(kind, depth))

    def parameter(self, kind: str, depth: int) -> Term:
        choose = self.rng.choice
        draws: dict[str, Callable[[], Term]] = {
            "class": lambda: choose(CLASSES),
            "datatype": lambda: choose(DATATYPES),
            "nodeKind": lambda: NamedNode(SHACL + choose(NODE_KINDS)),
            "pattern": lambda: Literal(choose(("^x", "^urn:[a-c]$", "[0-9]", "y"))),
            "languageIn": lambda: self.listed([Literal(tag) for tag in choose((("en",), ("en", "de")))]),
            "hasValue": self.constant,
            "in": lambda: self.listed(list({self.constant(): None for _ in range(choose((1, 3, 8)))})),
            "disjoint": lambda: choose(PREDICATES),
            "equals": lambda: choose(PREDICATES),
            "closed": lambda: Literal(True),  # noqa: FBT003
            "uniqueLang": lambda: Literal(True),  # noqa: FBT003
            "property": lambda: self.shape(depth - 1, of_path=True),
            "node": lambda: self.shape(depth - 1, of_path=False),
            "not": lambda: self.shape(depth - 1, of_path=choose((True, False))),
        }
        if kind in {"and", "or", "xone"}:
            return self.listed(
                [self.shape(depth - 1, of_path=choose((True, True, False))) for _ in range(choose((1, 2, 3)))]
            )
        return (
            draws[kind]()
            if kind in draws
            else Literal(choose((1, 3, 5) if "Length" in kind else (0, 1, 1, 2)))
        )

    def shapes(self) -> Shapes:
        node = self.shape(2, of_path=self.rng.random() < 0.5)
        for _ in range(self.rng.choice((1, 1, 2))):
            kind = self.rng.choice(
                ("targetClass", "targetClass", "targetSubjectsOf", "targetObjectsOf", "targetNode")
            )
            self.say(node, kind, self.target(kind))
        return Shapes(tuple(dict.fromkeys(self.made)))

    def target(self, kind: str) -> Term:
        if kind == "targetNode":
            return self.constant()
        return self.rng.choice(CLASSES if kind == "targetClass" else PREDICATES)


def agree(seed: int) -> None:
    maker = Maker(seed)
    data, wanted = maker.data(), maker.shapes()
    theirs = expected(data, wanted)
    for at_once in (1, 3, None):
        assert compiled(data, wanted, at_once=at_once) == theirs


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_compiled_shapes_agree_with_pyshacl(seed: int) -> None:
    agree(seed)

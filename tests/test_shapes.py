"""Each scheme's shape file is the rendering of its rules, and agrees with its code."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest
from pyoxigraph import Literal, NamedNode, Quad, QuerySolutions, RdfFormat, Store, Triple, parse, serialize
from rdflib import Graph
from rdflib.compare import isomorphic
from scheme_shape_agreement import disagreements, near_misses

from idstore.resources import folder
from idstore.schemes import Context, Scheme, installed, shapes
from idstore.schemes._numbers import find_violation
from idstore.schemes.pilin import ALPHABET
from idstore.testing import obeys

TEXTS = 6_000


class Example(NamedTuple):
    """A base, non-default settings, letters for near misses, and a generator of mostly valid labels."""

    scheme: str
    base: str
    settings: dict[str, str]
    letters: str
    valid: Callable[[random.Random], str]


def rdswip(rng: random.Random, *, longest: int = 12) -> str:
    while True:
        number = str(rng.randrange(10**8, 10 ** rng.randrange(9, longest + 1)))
        if find_violation(number, 2, 3) is None or rng.random() < 0.2:
            return "R" + number


def find_pattern(rng: random.Random) -> str:
    """Often one of the patterns, at any place."""
    half = "".join(rng.choices("0123456789", k=rng.randrange(2, 6)))
    start = rng.randrange(10)
    steps = "".join(str((start + step) % 10) for step in range(5))
    mirrored = half + half[::-1], half[:-1] + half[::-1]
    inner = rng.choice(
        (half * 2, *mirrored, steps, steps[::-1], half[:2] * 3, "112233", rdswip(rng, longest=10)[1:])
    )
    return "R" + rng.choice(("", "7", "48")) + inner + rng.choice(("", "", "1", "95"))


def pilin(rng: random.Random) -> str:
    return "".join(rng.choices(ALPHABET, k=9))


def handle(rng: random.Random) -> str:
    return "".join(
        rng.choices("abcXYZ019 -_.;()/:<>#?%[]{}|\\^`\"'&+@~éß中я\u0301\u200b\u00ad", k=rng.randrange(1, 12))
    )


def puid(rng: random.Random) -> str:
    kind, value = (
        rng.choice(("fmt", "chr", "cmp", "hdw", "sfw", "lan")),
        rng.choice((str(rng.randrange(3000)), "a1", "z")),
    )
    return f"{rng.choice(('', 'x-'))}{kind}/{value}"


def article(rng: random.Random) -> str:
    issn = "".join(rng.choices("0123456789", k=7)) + rng.choice("0123456789x")
    volume = rng.choice(("04", "238", "none", "xvi", "267-268"))
    issue = rng.choice(("0010", "3-4", "complete", "none", "supplement_1", "spring"))
    page, letters = (
        rng.choice(("1", "e153", "nfp", "10:1", "s1")),
        "".join(rng.choices("abcxyz0129βя中", k=rng.randrange(1, 13))),
    )
    tail = rng.choice(("", "", "_1", "_12", "_old1", "_1_old2"))
    below = rng.choice(
        ("", "", "/1303399314628", "/pdf_fulltext/1303399300907", "/xml_fulltext/130339930294")
    )
    return f"{issn}/v{volume}i{issue}/{page}_{letters}{tail}{below}"


DEFAULT = [
    Example("rdswip", "http://rdl.example.org/data#", {}, "R0123456789", rdswip),
    Example("pilin", "102.100.272", {}, ALPHABET + "AEIOU", pilin),
    Example("handle", "12345", {}, "ab/.%#😀\0", handle),
    Example("puid", "info:pronom/", {}, "fmtx-/0189", puid),
    Example("scholars-portal", "http://journals.example.org/", {}, "/vi_0123x-oldpf", article),
]
OTHERS = [
    Example(
        "rdswip",
        "http://rdl.example.org/data#",
        {"digits": "5", "refuse_patterns": "true"},
        "0123456789",
        find_pattern,
    ),
    Example(
        "rdswip",
        "http://rdl.example.org/data#",
        {"digits": "8", "max_run": "1", "max_count": "2"},
        "0123456789",
        rdswip,
    ),
    Example("handle", "12345", {"bmp_only": "false"}, "a😀\0", handle),
    Example("puid", "http://example.org/puid/", {"types": "lan|fmt"}, "fmtx-/0189", puid),
]


def names(example: Example) -> str:
    return "-".join((example.scheme, *example.settings))


def rendered(triples: list[Triple]) -> Graph:
    text = serialize(triples, format=RdfFormat.N_TRIPLES)
    assert text is not None
    return Graph().parse(data=text, format="nt")


def shapes_of(scheme: Scheme, context: Context) -> Graph:
    return rendered([*shapes.scheme_shape(scheme), *shapes.namespace_shape(scheme, context)])


def file(name: str) -> str:
    return (folder("shapes") / f"{name}.ttl").read_text(encoding="utf-8")


@pytest.mark.parametrize("example", DEFAULT, ids=names)
def test_the_file_is_the_rendering_at_default_settings(example: Example) -> None:
    scheme = installed()[example.scheme]
    assert isomorphic(
        Graph().parse(data=file(example.scheme), format="turtle"), rendered(shapes.scheme_shape(scheme))
    )


@pytest.mark.parametrize("example", OTHERS, ids=names)
def test_other_settings_have_a_shape_of_their_own(example: Example) -> None:
    scheme = installed()[example.scheme]
    context = scheme.context(example.base, example.settings)
    own = shapes.namespace_shape(scheme, context)
    assert {triple.subject for triple in own}.isdisjoint(
        quad.subject for quad in parse(file(scheme.name), RdfFormat.TURTLE)
    )
    assert [triple.object for triple in own if "#target" in triple.predicate.value] == [
        NamedNode(context.base)
    ]


@pytest.mark.parametrize(
    ("scheme", "base", "settings"),
    [
        ("puid", "http://example.org/puid/", {"authority": "own"}),
        ("pilin", "102.100.272", {"cite_as": "PILIN"}),
        ("handle", "12345", {"suffix": "pilin", "alias": "102.100.272"}),
        ("scholars-portal", "http://journals.example.org/", {"no_issue": "none"}),
    ],
)
def test_settings_that_say_nothing_of_labels_leave_the_scheme_s_shape(
    scheme: str, base: str, settings: dict[str, str]
) -> None:
    code = installed()[scheme]
    assert shapes.own_shape(code, code.context(base, settings)) is None
    assert shapes.namespace_shape(code, code.context(base, settings)) == []


@pytest.mark.parametrize("many", [TEXTS // 12, pytest.param(TEXTS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("example", DEFAULT, ids=names)
def test_code_and_shape_agree(example: Example, many: int) -> None:
    scheme, rng = installed()[example.scheme], random.Random(example.scheme)
    texts = near_misses(rng, lambda: example.valid(rng), example.letters, many)
    graph = Graph().parse(data=file(example.scheme), format="turtle")
    differing, accepted = disagreements(scheme, scheme.context(example.base, {}), graph, texts)
    assert differing == []
    assert many // 10 < accepted < many * 9 // 10


@pytest.mark.parametrize(
    "example", [pytest.param(OTHERS[0], marks=pytest.mark.slow), *OTHERS[1:]], ids=names
)  # many long patterns
def test_code_and_rendered_shape_agree(example: Example) -> None:
    scheme, rng = installed()[example.scheme], random.Random(names(example))
    context = scheme.context(example.base, example.settings)
    texts = near_misses(rng, lambda: example.valid(rng), example.letters, TEXTS // 10)
    differing, accepted = disagreements(scheme, context, shapes_of(scheme, context), texts)
    assert differing == []
    assert TEXTS // 200 < accepted < TEXTS // 10


@pytest.mark.parametrize("example", [*DEFAULT, *OTHERS], ids=names)
def test_rules_mean_the_same_to_python_and_to_sparql(example: Example) -> None:
    scheme, rng = installed()[example.scheme], random.Random(names(example))
    rules = scheme.rules(scheme.context(example.base, example.settings).settings)
    texts = near_misses(rng, lambda: example.valid(rng), example.letters, TEXTS // 10)
    store, predicate = Store(), NamedNode("urn:example:text")
    store.extend(
        Quad(NamedNode(f"urn:example:{number}"), predicate, Literal(text))
        for number, text in enumerate(texts)
    )
    obeying = set(texts)
    for rule in rules:
        every = " && ".join(f"REGEX(?text, {Literal(pattern)})" for pattern in rule.patterns)
        found = store.query(f"SELECT ?text {{ ?node {predicate} ?text FILTER({every}) }}")
        assert isinstance(found, QuerySolutions)
        matching = {row["text"].value for row in found}
        obeying = obeying - matching if rule.forbidden else obeying & matching
    binding = [replace(rule, advisory=False) for rule in rules]
    assert obeying == {text for text in texts if obeys(text, binding)}

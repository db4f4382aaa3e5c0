"""The time of a call grows with the length of a text in it, and not with the square of the length.

Other threads stand still while a regular expression is matched, so that one such text would stop a server.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from itertools import product
from typing import Final, TypeAlias

import pytest

import idstore
from idstore import Party, Registry, Statement
from idstore.errors import IdstoreError
from idstore.exchange import metadata
from idstore.model.filter import Filter
from idstore.registry.handle_values import Draft
from idstore.registry.requests import Request

ADA: Final = Party("ada")
LONG: Final = 60_000
"""Bytes of UTF-8 of a long text, near the limit of texts."""
SHORT: Final = LONG // 4
FACTOR: Final = 8
"""Time of a long text in times of a short one: 4 if it grows with the length, 16 with the square."""
FORGIVEN: Final = 0.2
"""Seconds of processor time that any call may take."""
UNITS: Final = (
    "+", " ", "x ", "<b>", "(", "[", "a:", "/", "vol ", "%41", "\u00a0", "1-", ".", "&", '"', "0", "a,", "#",
    "\u200b", "\u0315\u0301", "no. ", "?utm_a=", "1 suppl ", "a.", "-", "; ", "doi ", "&#9", "\n",
)  # fmt: skip
"""Texts whose repetitions an expression can split in many ways."""
AROUND: Final = (("", ""), ("http://a", "b"), ("1", "\u00e9"))
"""What stands before and after the repetitions: they are looked at in the middle, too."""
ARTICLE: Final = {"issn": "0305-4179", "volume": "31", "issue": "4", "page": "530", "title": "A burn"}
OWN, OTHER = "h:own", "http://example.org/x"

Call: TypeAlias = Callable[[Registry, str], object]


def _read(name: str) -> Call:
    return lambda registry, text: getattr(registry, name)(text, ADA)


def _register(namespace: str, before: str = "") -> Call:
    return lambda registry, text: registry.register(namespace, before + text, ADA)


def _mint(field: str) -> Call:
    return lambda registry, text: registry.mint_once("rdl", ADA, Request(**{field: text}))  # type: ignore[arg-type]


def _metadata(field: str) -> Call:
    return lambda registry, text: registry.mint("sp", ADA, Request(metadata={**ARTICLE, field: text}))


def _derive(field: str) -> Call:
    return lambda registry, text: registry.derive("sp", {**ARTICLE, field: text})


def _bind(field: str) -> Call:
    return lambda registry, text: registry.bind(OWN, Statement(**{"target": OTHER, field: text}), ADA)  # type: ignore[arg-type]


def _namespace(scheme: str, **settings: str) -> Call:
    return lambda registry, text: registry.add_namespace(
        "new",
        settings.get("base", text),
        scheme,
        ADA,
        {name: text for name in settings if name != "base"},
    )


def _setting(name: str) -> Call:
    return lambda registry, text: registry.set_namespace("rdl", {name: text}, ADA)


def _article(field: str) -> Call:
    def read(_: Registry, text: str) -> None:
        record = {"type": "article-journal", "ISSN": "0305-4179", "page": "530", field: f"{text}x"}
        list(metadata.read(BytesIO(json.dumps(record).encode())))

    return read


CALLS: Final[dict[str, Call]] = {
    **{
        name: _read(name)
        for name in (
            "bound_to",
            "list_bound",
            "identify",
            "show",
            "resolve",
            "citation",
            "cite",
            "file_name",
            "authority",
            "remarks",
            "versions",
            "parts",
            "values",
            "query",
        )
    },
    "identify, a handle": lambda registry, text: registry.identify(f"10.1000/{text}y", ADA),
    "list, doi": lambda registry, text: registry.list(ADA, Filter(doi=text)),
    "list, namespace": lambda registry, text: registry.list(ADA, Filter(namespace=text)),
    "log, id": lambda registry, text: list(registry.log(ADA, Filter(id=text))),
    **{f"register, {name}": _register(name) for name in ("h", "own", "sp", "rdl", "pilin")},
    "register, h, hdl": _register("h", "hdl:10.1000/"),
    "register, target": lambda registry, text: registry.register("h", "q", ADA, Request(target=text)),
    **{f"mint, {name}": _mint(name) for name in ("name", "lang", "comment", "target", "request_key")},
    "mint, metadata, doi": _metadata("doi"),
    **{f"derive, {name}": _derive(name) for name in (*ARTICLE, "subtitle", "doi")},
    "derive, a field": lambda registry, text: registry.derive("sp", {**ARTICLE, text: "x"}),
    **{f"bind, {name}": _bind(name) for name in ("target", "relation", "note", "author", "justification")},
    "bind, relation of a known host": lambda registry, text: registry.bind(
        OWN, Statement(OTHER, f"http://www.w3.org/{text}/x"), ADA
    ),
    "name": lambda registry, text: registry.name(OWN, text, ADA),
    "name, lang": lambda registry, text: registry.name(OWN, "x", ADA, text),
    "comment": lambda registry, text: registry.comment(OWN, text, ADA),
    "target": lambda registry, text: registry.target(OWN, text, ADA),
    "deprecate": lambda registry, text: registry.deprecate(OWN, text, ADA),
    "vet": lambda registry, text: registry.vet(OWN, ADA, text),
    "version": lambda registry, text: registry.add_version(OWN, text, ADA),
    "set_value, type": lambda registry, text: registry.set_value(OWN, Draft(text, "x", 9), ADA),
    "set_value, data": lambda registry, text: registry.set_value(OWN, Draft("URL", text, 9), ADA),
    "set_value, locations": lambda registry, text: registry.set_value(OWN, Draft("10320/LOC", text, 9), ADA),
    "add_namespace, name": lambda registry, text: registry.add_namespace(text, "http://x.org/", "puid", ADA),
    **{
        f"add_namespace, {scheme}": _namespace(scheme)
        for scheme in ("rdswip", "puid", "handle", "scholars-portal", "pilin")
    },
    "add_namespace, template": _namespace("handle", base="10.77", template=""),
    "add_namespace, alias": _namespace("handle", base="10.77", alias=""),
    **{f"set_namespace, {name}": _setting(name) for name in ("policy", "licence", "contact", "publisher")},
    "set_namespace, mail": lambda registry, text: registry.set_namespace(
        "rdl", {"contact": f"a@{text}:"}, ADA
    ),
    "add_type": lambda registry, text: registry.add_type("rdl", text, "x", ADA),
    "add_party": lambda registry, text: registry.add_party(Party(text), ADA),
    "add_storage": lambda registry, text: registry.add_storage("new", text, ADA),
    "place": lambda registry, text: registry.place("storage", text, 5, ADA),
    **{
        f"a file of articles, {field}": _article(field)
        for field in ("note", "supplement-number", "issue", "DOI", "title")
    },
    "a file of no articles": lambda _, text: list(metadata.read(BytesIO(text.encode()))),
}
"""Operation and argument, or what is read → the call with a text."""
SEVERAL: Final = (
    ("bound_to", (" ", "\u00a0")),
    ("identify, a handle", ("<b>",)),
    ("register, h", ("\u00a0", "0")),
    ("mint, target", (" ", "\u200b")),
    ("bind, relation of a known host", ("/", "0")),
    ("derive, issn", (" ",)),
    ("derive, volume", ("vol ", "0", "\u0315\u0301")),
    ("derive, doi", ("<b>", "?utm_a=", "+")),
    ("set_namespace, mail", (".",)),
    ("a file of articles, note", ("\n",)),
    ("a file of articles, supplement-number", (".",)),
    ("a file of no articles", ("; ",)),
)
"""Arguments and repetitions that each run of the tests looks at."""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with idstore.open(tmp_path_factory.mktemp("long") / "store", administrator=ADA) as made:
        made.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ADA)
        made.add_namespace("h", "10.1000", "handle", ADA)
        made.add_namespace("own", "http://formats.example.org/", "puid", ADA)
        made.add_namespace("sp", "http://journals.example.org/", "scholars-portal", ADA)
        made.add_namespace("pilin", "102.100.99", "pilin", ADA)
        made.add_storage("storage", "/mnt/storage/", ADA)
        made.register("h", "own", ADA)
        yield made


def _seconds(call: Call, registry: Registry, unit: str, around: tuple[str, str], size: int) -> float:
    """Return the time that the threads of this process take: the load of the machine does not count."""
    text = around[0] + unit * (size // len(unit.encode())) + around[1]
    begun = time.process_time()
    with suppress(IdstoreError):
        call(registry, text)
    return time.process_time() - begun


def _check(registry: Registry, name: str, units: Sequence[str]) -> None:
    for unit, frame in product(units, AROUND):
        for _ in range(3):  # other threads, as of the engine, work now and then
            long = _seconds(CALLS[name], registry, unit, frame, LONG)
            if long <= FORGIVEN:
                break
            short = _seconds(CALLS[name], registry, unit, frame, SHORT)
            if long <= FACTOR * short:
                break
        else:
            pytest.fail(f"{name} takes {short:.2f} s and {long:.2f} s with {frame[0]}{unit}…{frame[1]}")


@pytest.mark.parametrize(("name", "units"), SEVERAL)
def test_the_time_grows_with_the_length(registry: Registry, name: str, units: tuple[str, ...]) -> None:
    _check(registry, name, units)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_the_time_grows_with_the_length_of_each_argument(registry: Registry, name: str) -> None:
    _check(registry, name, UNITS)


@pytest.mark.parametrize("field", ["title", "doi"])
def test_a_reference_of_many_digits_is_no_character(registry: Registry, field: str) -> None:
    derived = registry.derive("sp", {**ARTICLE, field: f"&#{'9' * 5000};"})
    assert derived.label.startswith("03054179/v31i0004/530_")

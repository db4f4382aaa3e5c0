"""Targets in several written forms: bindings, targets, lists, warnings and verdicts of imports."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import AmbiguousIdentifier, InvalidData, NotRegistered
from idstore.registry.handle_values import Draft
from idstore.registry.imports.enroll import Listed
from idstore.registry.mappings import Proposal

ALICE, BOB, CAROL = Party("alice"), Party("bob"), Party("carol")
FORMS = (
    "https://hdl.handle.net/10.5072/ABC",
    "http://hdl.handle.net/10.5072/ABC",
    "https://doi.org/10.5072/abc",
    "http://dx.doi.org/10.5072/ABC",
    "doi:10.5072/AbC",
    "hdl:10.5072/ABC",
    "info:hdl/10.5072/ABC",
    "info:doi/10.5072/ABC",
    "https://doi.org/10.5072/%41BC",
    "hdl:10.9999/ABC",
)
ARTICLE = FORMS[0]


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as made:
        made.add_namespace("h", "20.500.1", "handle", ALICE)
        yield made


def add_articles(registry: Registry) -> None:
    registry.add_namespace("d", "10.5072", "handle", ALICE, {"alias": "10.9999"})


def bind_all(registry: Registry) -> list[str]:
    iris = []
    for number, form in enumerate(FORMS):
        iris.append(registry.register("h", f"x{number}", BOB).iri)
        if number % 2:
            registry.bind(iris[-1], Statement(form), BOB)
        else:
            registry.target(iris[-1], form, BOB)
    return sorted(iris)


def test_identifiers_are_listed_by_any_form_of_what_they_are_bound_to(registry: Registry) -> None:
    iris = bind_all(registry)
    assert len(registry.bound_to("doi:10.5072/abc", BOB)) == len(iris) - 1  # the alias is not known yet
    add_articles(registry)  # after the bindings
    for text in (*FORMS, "10.5072/abc", "d:ABC"):
        assert list(registry.bound_to(text, BOB)) == iris
        assert sorted(record.iri for record in registry.list_bound(text, BOB)) == iris
    assert list(registry.bound_to("doi:10.5072/abcd", BOB)) == []
    first = registry.show(iris[0], BOB).target
    assert first is not None and first == FORMS[0]  # what was given is kept
    assert {record.bindings[0].target for record in registry.list(BOB) if record.bindings} == {*FORMS[1::2]}


def test_what_is_bound_no_longer_is_not_listed(registry: Registry) -> None:
    iri = registry.register("h", "x", BOB).iri
    registry.target(iri, FORMS[2], BOB)
    registry.target(iri, "http://example.org/", BOB)
    registry.set_value(iri, Draft("URL", FORMS[3], 7), BOB)
    assert list(registry.bound_to(FORMS[4], BOB)) == []  # the target is the first URL
    registry.unset_values(iri, [1], BOB)
    assert list(registry.bound_to(FORMS[4], BOB)) == [iri]


def test_hidden_identifiers_are_neither_listed_nor_warned_of(registry: Registry) -> None:
    add_articles(registry)
    registry.register("d", "ABC", BOB)
    draft = registry.register("h", "draft", BOB, Request(target="doi:10.5072/abc")).iri
    public = registry.register("h", "public", BOB).iri
    registry.fixate([public], BOB)
    for party, expected in ((BOB, [draft]), (ALICE, [draft]), (CAROL, [])):
        assert list(registry.bound_to("10.5072/abc", party)) == expected
    registry.bind(public, Statement(FORMS[2]), CAROL)
    assert list(registry.bound_to("d:abc", CAROL)) == [public]
    registry.fixate([draft], BOB)
    assert list(registry.bound_to(ARTICLE, CAROL)) == [draft, public]


def test_a_binding_in_another_form_is_known_and_unbound(registry: Registry) -> None:
    iri = registry.register("h", "x", BOB).iri
    registry.bind(iri, Statement("doi:10.5072/abc"), BOB)
    registry.bind(iri, Statement("hdl:10.9999/abc"), BOB)  # another name, until there is the alias
    assert registry.bind(iri, Statement("http://dx.doi.org/10.5072/ABC"), BOB) is None
    add_articles(registry)
    assert registry.bind(iri, Statement("hdl:10.9999/Abc"), BOB) is None
    registry.unbind(iri, Statement(ARTICLE), BOB)
    assert registry.show(iri, BOB).bindings == ()
    with pytest.raises(NotRegistered):
        registry.unbind(iri, Statement(ARTICLE), BOB)


@pytest.mark.parametrize(
    "form", ["https://hdl.handle.net/20.500.1/x", "hdl:20.500.1/x", "info:hdl/20.500.1/x"]
)
def test_nothing_leads_or_is_bound_to_itself_in_any_form(registry: Registry, form: str) -> None:
    with pytest.raises(InvalidData, match="itself"):
        registry.register("h", "x", BOB, Request(target=form))
    registry.register("h", "x", BOB)
    for act in (
        lambda: registry.bind("h:x", Statement(form), BOB),
        lambda: registry.target("h:x", form, BOB),
        lambda: registry.set_value("h:x", Draft("URL", form), BOB),
    ):
        with pytest.raises(InvalidData, match="itself"):
            act()


def test_mappings_are_judged_by_the_key_of_their_target(registry: Registry) -> None:
    add_articles(registry)
    for label in ("x", "y"):
        registry.register("h", label, BOB)

    def verdicts(*proposed: tuple[str, str]) -> list[str]:
        proposals = [
            Proposal(line, "bind", id, Statement(target)) for line, (id, target) in enumerate(proposed)
        ]
        return [outcome.verdict for outcome in registry.state(proposals, BOB)]

    assert verdicts(("h:x", FORMS[2])) == ["new"]
    assert verdicts(*(("h:x", form) for form in FORMS)) == ["known"] * len(FORMS)
    assert verdicts(("h:y", FORMS[4]), ("h:x", "doi:10.5072/other")) == ["contradictory"] * 2
    undone = [Proposal(1, "unbind", "h:y", Statement(form)) for form in (FORMS[0], FORMS[5])]
    assert [outcome.verdict for outcome in registry.state(undone, BOB)] == ["new", "known"]


def test_a_bare_text_of_several_namespaces_is_ambiguous(registry: Registry) -> None:
    for name in ("a", "b"):
        registry.add_namespace(name, f"http://{name}.example.org/", "puid", ALICE)
        registry.register(name, "fmt/18", ALICE)
    bound = registry.register("h", "x", ALICE).iri
    registry.bind(bound, Statement("http://b.example.org/fmt/19"), ALICE)
    with pytest.raises(AmbiguousIdentifier):
        registry.bound_to("fmt/18", ALICE)
    with pytest.raises(NotRegistered):
        registry.bound_to("fmt/19", ALICE)
    registry.register("b", "fmt/19", ALICE)
    assert list(registry.bound_to("fmt/19", ALICE)) == [bound]


def test_a_bare_name_of_a_namespace_is_a_target(registry: Registry) -> None:
    add_articles(registry)
    registry.add_namespace("pronom", "info:pronom/", "puid", ALICE)
    registry.register("h", "x", BOB)
    for text, iri in (
        ("fmt/18", "info:pronom/fmt/18"),
        ("10.5072/Ab", "https://hdl.handle.net/10.5072/Ab"),
        ("pronom:fmt/19", "info:pronom/fmt/19"),
    ):
        registry.bind("h:x", Statement(text), BOB)
        assert iri in {binding.target for binding in registry.show("h:x", BOB).bindings}
        assert registry.bind("h:x", Statement(iri), BOB) is None
        registry.target("h:x", text, BOB)
        registry.unbind("h:x", Statement(text), BOB)
    assert registry.show("h:x", BOB).bindings == ()
    registry.add_namespace("own", "http://formats.example.org/", "puid", ALICE)
    with pytest.raises(InvalidData, match="several namespaces"):
        registry.bind("h:x", Statement("fmt/18"), BOB)
    with pytest.raises(InvalidData, match="not an absolute IRI"):
        registry.bind("h:x", Statement("nothing"), BOB)


@pytest.mark.parametrize(
    ("label", "form"),
    [
        ("d:ABC", "https://doi.org:443/10.5072/ABC"),
        ("d:ABC", "HTTPS://HDL.HANDLE.NET/10.5072/ABC"),
        ("d:ABC", "http://dx.doi.org:80/10.5072/abc"),
        ("p:fmt/18", "http://www.nationalarchives.gov.uk:80/PRONOM/fmt/18"),
        ("r:R3732211754", "http://RDL.Example.org:80/data#R3732211754"),
        ("r:R3732211754", "HTTP://rdl.example.org/data#R3732211754"),
    ],
)
def test_an_address_in_unusual_form_is_read(registry: Registry, label: str, form: str) -> None:
    add_articles(registry)
    registry.add_namespace("p", "info:pronom/", "puid", ALICE, {"authority": "own"})
    registry.add_namespace("r", "http://rdl.example.org/data#", "rdswip", ALICE)
    registry.enrol(label.partition(":")[0], [Listed(line=1, id=label)], ALICE, "published")
    iri = registry.show(label, ALICE).iri
    assert registry.show(form, ALICE).iri == iri
    other = registry.register("h", "other", ALICE, Request(target=form)).iri
    assert list(registry.bound_to(label, ALICE)) == [other]


def test_another_port_is_another_address(registry: Registry) -> None:
    add_articles(registry)
    registry.register("d", "ABC", ALICE)
    with pytest.raises(NotRegistered):
        registry.show("https://doi.org:8443/10.5072/ABC", ALICE)

"""Following handles as a proxy server does: aliases, locations, templates, what follows a registered one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry
from idstore.errors import IdstoreError, InvalidData, NotRegistered
from idstore.model.party import NOBODY
from idstore.registry.handle_values import Draft
from idstore.registry.redirects import Redirect, Redirects
from idstore.registry.resolution import ResolutionOptions

ALICE, BOB = Party("alice"), Party("bob")
MANUAL = """<namespace><template delimiter="@"><foreach>
  <if value="type" test="equals" expression="URL">
    <if value="extension" test="matches" expression="box\\(([^,]*),([^,]*),([^,]*),([^,]*)\\)" parameter="x">
      <value data="${data}?wh=${x[4]}&amp;ww=${x[3]}&amp;wy=${x[2]}&amp;wx=${x[1]}"/>
    </if>
    <else><value data="${data}?${x}" /></else>
  </if>
  <else><value /></else>
</foreach></template></namespace>"""
"""Handle.Net technical manual, version 9, chapter 11.2."""
WHOLE_PREFIX = '<namespace><template delimiter="/"><value type="URL" data="http://e.example/${extension}"/></template></namespace>'


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("h", "1234", "handle", ALICE)
        yield registry


def put(registry: Registry, label: str, *values: tuple[str, str], party: Party = ALICE) -> None:
    iri = registry.register("h", label, party).iri
    for type, data in values:
        registry.set_value(iri, Draft(type, data), party)


def follow(registry: Registry, handle: str, party: Party = ALICE, **options: object) -> Redirect:
    return Redirects(registry.core).redirect(f"hdl:{handle}", party, ResolutionOptions(**options))  # type: ignore[arg-type]


def target(
    registry: Registry, handle: str, party: Party = ALICE, **options: object
) -> tuple[str | None, str]:
    found = follow(registry, handle, party, **options)
    return found.resolution.target, found.rest


def refusal(registry: Registry, handle: str, party: Party) -> str:
    with pytest.raises(IdstoreError) as caught:
        follow(registry, handle, party)
    return f"{type(caught.value).__name__}: {caught.value.message.replace(handle, 'H')}"


def test_values_are_chosen_by_type_and_index(registry: Registry) -> None:
    put(registry, "a", ("URL", "http://e.example/1"), ("EMAIL", "a@e.example"), ("URL", "http://e.example/3"))
    assert target(registry, "1234/a") == ("http://e.example/1", "")
    assert target(registry, "1234/a", indexes=(3,)) == ("http://e.example/3", "")
    assert target(registry, "1234/a", types=("EMAIL",)) == (None, "")
    assert [value.index for value in follow(registry, "1234/a", types=("url",)).resolution.values] == [1, 3]
    with pytest.raises(NotRegistered, match="no value of type DESC"):
        follow(registry, "1234/a", types=("DESC",))


def test_a_handle_without_a_target_is_found(registry: Registry) -> None:
    put(registry, "a", ("EMAIL", "a@e.example"))
    assert target(registry, "1234/a") == (None, "")


def test_a_template_of_the_manual_makes_values(registry: Registry) -> None:
    registry.set_namespace("h", {"template": MANUAL}, ALICE)
    put(registry, "abc", ("URL", "http://example.org/data/abc"), ("EMAIL", "contact@example.org"))
    found = follow(registry, "1234/abc@box(10,20,30,40)")
    assert [(value.index, value.type, value.data) for value in found.resolution.answer.values] == [
        (1, "URL", "http://example.org/data/abc?wh=40&ww=30&wy=20&wx=10"),
        (2, "EMAIL", "contact@example.org"),
    ]
    assert found.resolution.target == "http://example.org/data/abc?wh=40&ww=30&wy=20&wx=10"
    assert target(registry, "1234/abc@t=1") == ("http://example.org/data/abc?t=1", "")
    assert target(registry, "1234/abc") == ("http://example.org/data/abc", "")


def test_a_template_of_the_base_takes_precedence(registry: Registry) -> None:
    registry.set_namespace("h", {"template": MANUAL}, ALICE)
    own = (
        '<namespace><template><value type="URL" data="http://o.example/${extension}"/></template></namespace>'
    )
    put(registry, "own", ("HS_NAMESPACE", own))
    assert target(registry, "1234/own@x") == ("http://o.example/x", "")
    put(registry, "ref", ("HS_NAMESPACE", '<namespace><template ref="1:1234/own"/></namespace>'))
    assert target(registry, "1234/ref@x") == ("http://o.example/x", "")
    put(registry, "loop", ("HS_NAMESPACE", '<namespace><template ref="1:1234/loop"/></namespace>'))
    with pytest.raises(NotRegistered):
        follow(registry, "1234/loop@x")


def test_a_whole_prefix_can_be_made_from_a_template(registry: Registry) -> None:
    registry.set_namespace("h", {"template": WHOLE_PREFIX}, ALICE)
    put(registry, "stored", ("URL", "http://s.example/"))
    assert target(registry, "1234/any/thing") == ("http://e.example/any/thing", "")
    assert target(registry, "1234/stored") == ("http://s.example/", "")


def test_a_template_can_refuse(registry: Registry) -> None:
    text = '<namespace><template delimiter="@"><notfound/></template></namespace>'
    registry.set_namespace("h", {"template": text}, ALICE)
    put(registry, "a", ("URL", "http://e.example/"))
    with pytest.raises(NotRegistered):
        follow(registry, "1234/a@b")


def test_an_expression_that_would_take_for_ever_does_not(registry: Registry) -> None:
    slow = '<if test="matches" expression="(a+)+b"><value type="URL" data="http://e.example/"/></if>'
    registry.set_namespace(
        "h", {"template": f'<namespace><template delimiter="@">{slow}</template></namespace>'}, ALICE
    )
    put(registry, "a")
    assert target(registry, f"1234/a@{'a' * 5000}") == (None, "")


@pytest.mark.parametrize(
    "text",
    [
        "<namespace/>",
        '<namespace><template delimiter="@">',
        "<namespace><template><value/></template></namespace>",
        '<!DOCTYPE n [<!ENTITY a "a">]><namespace><template delimiter="@"/></namespace>',
    ],
)
def test_templates_that_are_none_are_refused(registry: Registry, text: str) -> None:
    with pytest.raises(InvalidData, match="template"):
        registry.set_namespace("h", {"template": text}, ALICE)


def test_the_rest_of_a_handle_passes_through(registry: Registry) -> None:
    put(registry, "x98765", ("URL", "http://e.example/"))
    with pytest.raises(NotRegistered):
        follow(registry, "1234/x98765/study1")
    registry.set_namespace("h", {"pass_through": "true"}, ALICE)
    rest = "/study92/location18/day96.xlsx"
    assert target(registry, f"1234/x98765{rest}") == ("http://e.example/", rest)  # EZID's example
    put(registry, "x98765/study92", ("URL", "http://s.example/"))
    assert target(registry, f"1234/x98765{rest}") == ("http://s.example/", "/location18/day96.xlsx")
    assert target(registry, "1234/x98765#preview.png") == ("http://e.example/", "#preview.png")
    assert target(registry, "1234/x98765?a=b@c") == ("http://e.example/", "?a=b@c")
    for absent in ("1234/x987654", "1234/other/study92", "1234//x98765", "9999/x98765/a"):
        with pytest.raises(NotRegistered):
            follow(registry, absent)


def test_the_rest_passes_through_in_pilin_namespaces(registry: Registry) -> None:
    registry.add_namespace("p", "102.100.272", "pilin", ALICE, {"pass_through": "true"})
    iri = registry.mint("p", ALICE).iri
    registry.target(iri, "http://e.example/", ALICE)
    label = registry.show(iri, ALICE).label
    assert target(registry, f"102.100.272/{label.lower()}/a") == ("http://e.example/", "/a")


def test_drafts_of_others_are_as_absent(registry: Registry) -> None:
    template = MANUAL.replace("@", "!")
    registry.set_namespace("h", {"pass_through": "true", "template": template}, ALICE)
    put(registry, "draft", ("URL", "http://secret.example/"), party=BOB)
    put(registry, "secret", ("HS_NAMESPACE", WHOLE_PREFIX), party=BOB)
    for label in ("draft", "absent"):
        put(registry, f"to-{label}", ("HS_ALIAS", f"1234/{label}"))
        put(
            registry,
            f"ref-{label}",
            ("HS_NAMESPACE", f'<namespace><template ref="1:1234/{label}"/></namespace>'),
        )
    registry.fixate(
        [f"hdl:1234/{kind}-{label}" for kind in ("to", "ref") for label in ("draft", "absent")], ALICE
    )
    for form in ("1234/{}", "1234/{}/rest", "1234/{}@rest", "1234/{}!rest", "1234/{}?a", "1234/ref-{}!rest"):
        answers = {
            refusal(registry, form.format(label), NOBODY).replace(label, "L") for label in ("draft", "absent")
        }
        assert len(answers) == 1, form
    for label in ("draft", "absent"):
        found = target(registry, f"1234/to-{label}/rest", NOBODY)
        assert found == (f"https://hdl.handle.net/1234/{label}", "/rest")


def test_a_base_that_is_a_tombstone_stays_one(registry: Registry) -> None:
    registry.set_namespace("h", {"pass_through": "true", "template": MANUAL}, ALICE)
    put(registry, "a", ("URL", "http://e.example/"))
    registry.fixate(["hdl:1234/a"], ALICE)
    registry.revoke("hdl:1234/a", "wrong", ALICE)
    for handle in ("1234/a/b", "1234/a@b"):
        assert follow(registry, handle, NOBODY).resolution.buried

"""Typed values of handles: codecs, published vectors, setting and unsetting, resolution, read rights."""

import io
import itertools
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode
from tables import VECTORS, rows

import idstore
from idstore import Filter, Party, Registry, Request
from idstore.errors import (
    AlreadyRegistered,
    BatchRefused,
    IdstoreError,
    InvalidData,
    NotPermitted,
    NotRegistered,
    StageConflict,
)
from idstore.exchange import rdf
from idstore.exchange.handle_batch_import import import_batch
from idstore.model import times
from idstore.model.value import DATA_LIMIT, TOTAL_LIMIT, Value, first_url
from idstore.registry.handle_values import Draft, When
from idstore.registry.resolution import ALIASES, ResolutionOptions
from idstore.schemes import handle_values, locations, value_types
from idstore.schemes.handle_values import Admin, Reference, handle_in, references, stored
from idstore.schemes.value_types import permissions_byte, permissions_of
from idstore.vocabulary import IDS

ROOT, ALICE, BOB, EVE = (Party(name) for name in ("root", "alice", "bob", "eve"))
H = "https://hdl.handle.net/10.5555/h"
LOCATIONS = """<locations>
  <location id="0" href="http://uk.example.com/" country="gb" weight="0" />
  <location id="1" href="http://www1.example.com/" weight="1" />
  <location id="2" href="http://www2.example.com/" weight="1" />
</locations>"""


# codecs


@pytest.mark.parametrize("row", rows(VECTORS / "handle.permissions.tsv"), ids=lambda row: row["source"])
def test_published_permissions(row: dict[str, str]) -> None:
    if row["json"]:
        admin = Admin.parse(f"200:json={row['json']}:0.NA/1")
        assert (admin.batch, f"{admin.mask:04X}", " ".join(admin.rights)) == (
            row["batch"],
            row["mask"],
            row["names"],
        )
        assert Admin.parse(f"200:batch={row['batch']}:0.NA/1") == admin
    else:
        assert f"{permissions_byte(row['text']):02X}" == row["mask"]
        assert permissions_of(row["names"].replace(" ", ",")) == row["text"]


@given(
    st.integers(0, 2**12 - 1),
    st.integers(0, value_types.HIGHEST),
    st.text(st.characters(blacklist_categories=["C", "Zl", "Zp"]), min_size=1),
)
def test_administrators_survive_every_form(mask: int, index: int, suffix: str) -> None:
    admin = Admin(Reference(index, f"0.NA/{suffix}"), mask)
    if suffix == suffix.strip():
        assert Admin.parse(str(admin)) == admin
        assert Admin.parse(f"{index}:batch={admin.batch}:0.NA/{suffix}") == admin
        assert Admin.parse(f"{index}:json={admin.json}:0.NA/{suffix}") == admin
    assert Admin.decoded(admin.encoded()) == Admin.decoded(admin.encoded() + b"\0\0") == admin


@pytest.mark.parametrize(
    "text",
    [
        "",
        "200",
        "200:all",
        "x:all:0.NA/1",
        "-1:all:0.NA/1",
        "200:json=0111:0.NA/1",
        "200:batch=011111110012:0.NA/1",
        "200:fly:0.NA/1",
        "200:all:1",
    ],
)
def test_malformed_texts_of_an_administrator_are_refused(text: str) -> None:
    with pytest.raises(InvalidData):
        Admin.parse(text)


@pytest.mark.parametrize(
    "data", [b"", b"\x07\xf3", b"\x07\xf3\0\0\0\x03abc\0\0\0\1", b"\x07\xf3\xff\xff\xff\xff0.NA/1\0\0\0\1"]
)
def test_malformed_bytes_of_an_administrator_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidData):
        Admin.decoded(data)


@pytest.mark.parametrize(
    ("type", "data"),
    [
        ("HS_SECKEY", "password"),
        ("hs_seckey", "password"),
        ("HS_SECKEY.1", "password"),
        ("HS_ALIAS", "nonsense"),
        ("HS_ALIAS", "https://example.org/"),
        ("HS_VLIST", ""),
        ("HS_VLIST", "300"),
        ("10320/loc", "<locations/>"),
        ("10320/LOC", "<locations"),
        ("10320/loc", '<!DOCTYPE l [<!ENTITY a "a">]><l><location href="http://x.example/"/></l>'),
        ("10320/loc", '<locations><location weight="1"/></locations>'),
        ("10320/loc", '<locations><location href="http://x.example/" weight="NaN"/></locations>'),
        ("DESC", "a\0b"),
        ("DESC", "\ud800"),
        ("", "x"),
        ("two words", "x"),
        ("URL", b"\xff"),
    ],
)
def test_data_that_do_not_fit_the_type_are_refused(type: str, data: str | bytes) -> None:
    with pytest.raises(InvalidData) as caught:
        stored(type, data)
    assert "password" not in str(caught.value)


def test_predefined_types_are_kept_in_one_form() -> None:
    assert stored("hs_alias", "hdl:10.5555/%3C") == "10.5555/%3C"
    assert stored("HS_ALIAS", "https://doi.org/10.5555/%253C") == "10.5555/%3C"
    assert stored("HS_VLIST", "300:10.50/USR1; 300:10.50/USR2;") == "300:10.50/USR1;300:10.50/USR2"
    assert (
        stored("HS_ADMIN", Admin.parse("200:all:0.NA/1").encoded())
        == f"200:{','.join(handle_values.RIGHTS)}:0.NA/1"
    )
    assert stored("10320/loc", LOCATIONS) == LOCATIONS
    assert stored("BLOB", b"\xff") == b"\xff"
    assert [str(one) for one in references("0:1/a;2147483647:1/b")] == ["0:1/a", "2147483647:1/b"]
    assert handle_in("0.NA/10.5") == "0.NA/10.5"


# locations


@pytest.mark.parametrize(
    ("asked", "draw", "chosen"),
    [
        (locations.Client(locatt=("id:1",)), 0.0, "http://www1.example.com/"),  # the manual's two examples
        (locations.Client(locatt=("id:0",)), 0.0, "http://uk.example.com/"),
        (locations.Client(country="GB"), 0.9, "http://uk.example.com/"),
        (locations.Client(country="fr"), 0.0, "http://www1.example.com/"),
        (locations.Client(locatt=("id:9",)), 0.99, "http://www2.example.com/"),
        (locations.Client(locatt=("country",)), 0.5, "http://uk.example.com/"),
        (locations.Client(), 0.49, "http://www1.example.com/"),
        (locations.Client(), 0.5, "http://www2.example.com/"),
    ],
)
def test_a_location_is_chosen(asked: locations.Client, draw: float, chosen: str) -> None:
    assert locations.choose(locations.parse(LOCATIONS), asked, lambda: draw)["href"] == chosen


@pytest.mark.parametrize(
    ("attributes", "places", "asked", "chosen"),
    [
        ("", 'addresses="192.0.2.0/24, 2001:db8::/32"|', locations.Client(address="192.0.2.7"), 0),
        ("", 'addresses="192.0.2.0/24, 2001:db8::/32"|', locations.Client(address="2001:db8::1"), 0),
        ("", 'weight="0" addresses="nonsense"|', locations.Client(address="192.0.2.7"), 1),
        ("", 'score="1"|score="2.5"|', locations.Client(), 1),
        ('chooseby="weighted"', 'score="1" weight="0"|', locations.Client(), 1),
        ('chooseby="weighted,locatt"', 'id="a" weight="0"|', locations.Client(locatt=("id:a",)), 1),
        ('chooseby="locatt,weighted"', 'id="a" weight="0"|', locations.Client(locatt=("id:a",)), 0),
        (
            'choose_by="country" chooseby="locatt"',
            'id="1" country="gb"|id="2" country="de"',
            locations.Client(("id:1",), "de"),
            1,
        ),
        ("", 'weight="0"|weight="0"', locations.Client(), 0),
    ],
)
def test_methods_of_choice(attributes: str, places: str, asked: locations.Client, chosen: int) -> None:
    inside = "".join(
        f'<location href="http://{number}.example/" {said}/>' for number, said in enumerate(places.split("|"))
    )
    found = locations.parse(f"<locations {attributes}>{inside}</locations>")
    assert locations.choose(found, asked, lambda: 0.1)["href"] == f"http://{chosen}.example/"


def test_a_malformed_address_of_a_requester_is_refused() -> None:
    with pytest.raises(InvalidData, match="not an IP address"):
        locations.choose(locations.parse(LOCATIONS), locations.Client(address="home"), lambda: 0.0)


# in a registry


@pytest.fixture
def registry(tmp_path: object) -> Iterator[Registry]:
    with idstore.open(f"{tmp_path}/store", administrator=ROOT) as registry:
        registry.add_namespace("h", "10.5555", "handle", ROOT)
        registry.add_namespace("p", "102.100.272", "pilin", ROOT)
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
        registry.register("h", "h", ALICE)
        yield registry


def put(
    registry: Registry,
    type: str,
    data: str | bytes,
    index: int | None = None,
    permissions: str = "1110",
    handle: str = H,
) -> None:
    registry.set_value(handle, Draft(type, data, index, permissions=permissions), ALICE)


def listed(registry: Registry, party: Party = ALICE) -> list[tuple[int, str, str]]:
    return [(one.index, one.type, one.text) for one in registry.values(H, party)]


def sound(registry: Registry) -> None:
    assert [str(one) for one in registry.verify(ROOT)] == []


def test_values_are_set_replaced_and_unset(registry: Registry) -> None:
    put(registry, "EMAIL", "a@example.org")
    put(registry, "DESC", "one\ntwo", 7)
    put(registry, "X.Y", b"\x00\xff", 2147483647)
    put(registry, "email", "b@example.org", 1)
    assert listed(registry) == [
        (1, "email", "b@example.org"),
        (7, "DESC", "one\ntwo"),
        (2147483647, "X.Y", "00FF"),
    ]
    registry.unset_values(H, [7, 1, 7], ALICE)
    assert listed(registry) == [(2147483647, "X.Y", "00FF")]
    assert [one.data for one in registry.values(H, ALICE, ["X."])] == [b"\x00\xff"]
    sound(registry)


def test_the_first_url_and_the_target_are_the_same_value(registry: Registry) -> None:
    def target() -> str | None:
        found = registry.show(H, ALICE).target
        return found and found

    registry.target(H, "http://example.org/a", ALICE)
    assert listed(registry) == [(1, "URL", "http://example.org/a")]
    put(registry, "URL.1", "http://example.org/sub", 5)
    put(registry, "URL", "http://example.org/b", 9)
    assert target() == "http://example.org/a"
    registry.target(H, "http://example.org/c", ALICE)
    assert listed(registry)[0] == (1, "URL", "http://example.org/c")
    put(registry, "DESC", "no URL any more", 1)
    assert target() == "http://example.org/b"
    registry.unset_values(H, [9], ALICE)
    assert target() == "http://example.org/sub"
    registry.target(H, "http://example.org/d", ALICE)
    assert (target(), listed(registry)[1]) == ("http://example.org/d", (2, "URL", "http://example.org/d"))
    registry.target(H, None, ALICE)
    assert (target(), listed(registry)) == (None, [(1, "DESC", "no URL any more")])
    sound(registry)


def test_a_url_that_not_everyone_may_read_is_no_target(registry: Registry) -> None:
    put(registry, "URL", "http://example.org/secret", 1, "1100")
    assert registry.show(H, ALICE).target is None
    registry.target(H, "http://example.org/a", ALICE)
    assert listed(registry) == [(1, "URL", "http://example.org/secret"), (2, "URL", "http://example.org/a")]
    sound(registry)


@pytest.mark.parametrize("name", ["h", "p"])
def test_a_target_that_is_minted_is_a_value(registry: Registry, name: str) -> None:
    made = registry.mint(name, ALICE, Request(target="http://example.org/"))
    assert [(one.index, one.type, one.data) for one in registry.values(made.iri, ALICE)] == [
        (1, "URL", "http://example.org/")
    ]
    sound(registry)


def test_only_handles_have_values(registry: Registry) -> None:
    made = registry.mint("rdl", ALICE, Request(target="http://example.org/")).iri
    for act in (
        lambda: registry.values(made, ALICE),
        lambda: put(registry, "URL", "http://a.example/", handle=made),
    ):
        with pytest.raises(InvalidData, match="is not a handle"):
            act()


def test_refusals(registry: Registry) -> None:
    put(registry, "DESC", "x", 1)
    with pytest.raises(AlreadyRegistered):
        registry.set_value(H, Draft("DESC", "y", 1), ALICE, When.ABSENT)
    acts: list[Callable[[], object]] = [
        lambda: registry.set_value(H, Draft("DESC", "y", 2), ALICE, When.PRESENT),
        lambda: registry.unset_values(H, [1, 2], ALICE),
        lambda: registry.set_value(H, Draft("DESC", "y", 1), EVE),
    ]
    for act in acts:
        with pytest.raises(NotRegistered):
            act()
    for fields in ({"index": 0}, {"index": 2**31}, {"index": -1}, {"ttl": -1}, {"permissions": "111"}):
        with pytest.raises(InvalidData):
            registry.set_value(H, Draft("DESC", "y", **fields), ALICE)
    for data in ("no iri", "", "/path"):
        with pytest.raises(InvalidData):
            put(registry, "URL", data)
    registry.grant(H, BOB, ALICE, bind=True)
    with pytest.raises(NotPermitted):
        registry.set_value(H, Draft("DESC", "y", 1), BOB)
    registry.fixate([H], ALICE)
    with pytest.raises(NotPermitted):
        registry.unset_values(H, [1], EVE)
    registry.revoke(H, "abuse", ROOT)
    with pytest.raises(StageConflict):
        put(registry, "DESC", "y")
    assert listed(registry) == [(1, "DESC", "x")]


SECRET = "sesame"


def everything(registry: Registry, party: Party) -> str:
    """Return the output of every read function for a party."""
    target = io.BytesIO()
    rdf.export(registry, target, party, "nquads")
    part = io.BytesIO()
    rdf.export(registry, part, party, "nquads", Filter(namespace="h"))
    with registry.query("SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }", party, "tsv") as answer:
        asked = answer.read().decode()
    texts = [
        target.getvalue().decode(),
        part.getvalue().decode(),
        asked,
        repr(list(registry.log(party))),
        repr(registry.published()),
    ]
    try:
        texts += [
            repr(registry.show(H, party)),
            repr(registry.values(H, party)),
            repr(list(registry.log(party, Filter(id=H)))),
        ]
        texts.append(repr(registry.resolve(H, party, ResolutionOptions(types=("SECRET",)))))
    except IdstoreError as error:
        texts.append(error.message)
    return "\n".join(texts)


def test_only_owner_and_administrators_see_a_value_without_public_read(registry: Registry) -> None:
    put(registry, "SECRET", SECRET, 7, "1100")
    put(registry, "DESC", "for all", 8)
    registry.grant(H, BOB, ALICE)
    assert SECRET not in everything(registry, BOB)
    assert "for all" in everything(registry, BOB)
    assert "for all" not in everything(registry, EVE)
    for _ in registry.fixate([H], ALICE):
        for party, sees in ((ALICE, True), (ROOT, True), (BOB, False), (EVE, False)):
            assert (SECRET in everything(registry, party)) == sees, party.name
    put(registry, "SECRET", "other", 7, "1100")
    registry.unset_values(H, [7], ALICE)
    for party, sees in ((ALICE, True), (EVE, False)):
        assert (SECRET in everything(registry, party)) == sees, "the log keeps it for those who saw it"
    sound(registry)


def test_private_values_are_transferred_with_the_handle(registry: Registry) -> None:
    put(registry, "SECRET", SECRET, 7, "0000")
    registry.fixate([H], ALICE)
    registry.transfer(H, BOB, ALICE)
    assert SECRET not in everything(registry, BOB)
    registry.transfer(H, BOB, BOB)
    assert SECRET in everything(registry, BOB)
    assert SECRET not in everything(registry, ALICE)
    sound(registry)


def test_values_of_a_released_handle_stay_visible_to_its_owner_alone(registry: Registry) -> None:
    put(registry, "SECRET", SECRET, 7, "1100")
    put(registry, "DESC", "draft", 8)
    registry.grant(H, BOB, ALICE)
    registry.release(H, ALICE)
    assert {SECRET, "draft"} <= set(everything(registry, ALICE).replace('"', " ").split())
    assert not {SECRET, "draft"} & set(everything(registry, BOB).replace('"', " ").split())
    sound(registry)


def test_the_public_log_shows_that_a_public_value_became_private(registry: Registry) -> None:
    put(registry, "URL", "http://example.org/a", 1)
    registry.fixate([H], ALICE)
    put(registry, "URL", "http://example.org/b", 1, "1100")
    assert [entry.event.act for entry in registry.published() if entry.event.about == H][-2:] == [
        "Fixation",
        "ValueUnsetting",
    ]
    assert registry.show(H, EVE).target is None
    put(registry, "URL", "http://example.org/c", 1)
    assert registry.resolve(H, EVE).target == "http://example.org/c"
    sound(registry)


@given(st.permutations([(1, "URL"), (2, "url"), (3, "URL.1"), (4, "EMAIL"), (5, "URL")]), st.integers(0, 31))
def test_the_first_url_does_not_depend_on_the_order(order: list[tuple[int, str]], hidden: int) -> None:
    made = [
        Value(
            index, type, f"http://{index}.example/", permissions="1100" if hidden >> index - 1 & 1 else "1110"
        )
        for index, type in order
    ]
    exact = sorted(one.index for one in made if one.public and one.type.upper() == "URL")
    url = first_url(made)
    expected = exact or [3] * (not hidden >> 2 & 1)
    assert (url and url.index) == (expected[0] if expected else None)


def test_the_values_of_a_handle_have_a_limited_size(registry: Registry, tmp_path: Path) -> None:
    one, most = "x" * DATA_LIMIT, TOTAL_LIMIT // DATA_LIMIT
    large = [Draft("DESC", one, index) for index in range(1, most + 2)]
    for draft in large[:most]:
        registry.set_value("h:h", draft, ALICE)
    with pytest.raises(InvalidData, match=rf"more than the {TOTAL_LIMIT} allowed; remove some"):
        registry.set_value("h:h", large[-1], ALICE)
    drafts = [Draft("DESC", "", 1), *large[most:], Draft("DESC", "y", 99)]
    assert registry.set_values("h:h", drafts, ALICE).number == 2
    drafts = [Draft("DESC", one[1:], most + 1), Draft("DESC", "y", 99)]
    assert registry.set_values("h:h", drafts, ALICE).number == 2
    for label in ("h", "new"):
        with pytest.raises(InvalidData):
            registry.put_handle("h", label, large, ALICE)
    with pytest.raises(NotRegistered):
        registry.show("h:new", ALICE)

    registry.put_handle("h", "larger", large, ROOT)
    for party in (ROOT, ALICE):
        registry.transfer("h:larger", ALICE, party)
    registry.set_value("h:larger", Draft("DESC", one[1:], 1), ALICE)
    with pytest.raises(InvalidData):
        registry.set_value("h:larger", Draft("DESC", one, 1), ALICE)
    assert len(registry.values("h:larger", ALICE)) == most + 1
    target = tmp_path / "all.nq"
    with target.open("wb") as file:
        rdf.export(registry, file, ROOT, "nquads")
    with idstore.open(tmp_path / "other", administrator=ROOT) as other:
        rdf.import_registry(other, [target], ROOT, "nquads")
        assert len(other.values("h:larger", ALICE)) == most + 1


def test_a_handle_has_a_limited_number_of_values(registry: Registry, tmp_path: Path) -> None:
    """Small values too make each act on the handle long, for which all others wait."""
    drafts = [Draft("DESC", "", index) for index in range(1, 502)]
    registry.set_values("h:h", drafts[:500], ALICE)
    registry.set_value("h:h", Draft("DESC", "another", 1), ALICE)
    with pytest.raises(InvalidData, match="501 values, more than the 500 allowed"):
        registry.set_value("h:h", drafts[500], ALICE)
    several = registry.set_values("h:h", [Draft("DESC", "new", 1), drafts[500]], ALICE)
    assert (several.number, several.refusal is not None) == (1, True)
    batch = tmp_path / "many.batch"
    lines = [f"{draft.index} DESC 86400 1110 UTF8 x" for draft in drafts]
    batch.write_text("\n".join(["CREATE 10.5555/many", *lines, ""]), encoding="utf-8")
    with pytest.raises(BatchRefused, match=r"line 502: .* 501 values, more than the 500 allowed"):
        import_batch(registry, batch, ALICE)
    import_batch(registry, batch, ROOT)
    assert len(registry.values("hdl:10.5555/many", ROOT)) == 501


# resolution


def test_values_are_resolved_by_type_and_index(registry: Registry) -> None:
    for index, (type, data) in enumerate(
        [("URL", "http://a.example/"), ("EMAIL", "a@b.example"), ("URL.1", "http://b.example/"), ("X", "x")],
        1,
    ):
        put(registry, type, data, index)

    def found(*types: str, indexes: tuple[int, ...] = ()) -> list[int]:
        return [one.index for one in registry.resolve(H, ALICE, ResolutionOptions(types, indexes)).values]

    assert [found("url"), found("URL."), found("EMAIL", indexes=(1,)), found(indexes=(4, 9))] == [
        [1],
        [1, 3],
        [1, 2],
        [4],
    ]
    for asked in (ResolutionOptions(("NONE",)), ResolutionOptions(indexes=(9,))):
        with pytest.raises(NotRegistered, match="has no value"):
            registry.resolve(H, ALICE, asked)


def chain(registry: Registry, *labels: str) -> None:
    for label, following in itertools.pairwise(labels):
        registry.register("h", label, ALICE)
        put(registry, "HS_ALIAS", f"10.5555/{following}", handle=f"hdl:10.5555/{label}")


def test_aliases_are_followed(registry: Registry) -> None:
    registry.target(H, "http://example.org/", ALICE)
    chain(registry, "a", "b", "h")
    found = registry.resolve("hdl:10.5555/a", ALICE)
    assert (found.target, [one.rpartition("/")[2] for one in found.path]) == (
        "http://example.org/",
        ["a", "b", "h"],
    )
    assert (
        registry.resolve("hdl:10.5555/a", ALICE, ResolutionOptions(("URL",))).values[0].data
        == "http://example.org/"
    )
    assert (
        registry.resolve("hdl:10.5555/a", ALICE, ResolutionOptions(("HS_ALIAS",))).values[0].data
        == "10.5555/b"
    )
    assert (
        registry.resolve("hdl:10.5555/a", ALICE, ResolutionOptions(("HS_ALIAS",), aliases=False))
        .values[0]
        .data
        == "10.5555/b"
    )
    with pytest.raises(NotRegistered, match="no target"):
        registry.resolve("hdl:10.5555/a", ALICE, ResolutionOptions(aliases=False))


def test_cycles_and_long_chains_of_aliases_are_errors(registry: Registry) -> None:
    registry.register("h", "a", BOB)
    registry.set_value("hdl:10.5555/a", Draft("HS_ALIAS", "10.5555/b"), BOB)
    chain(registry, "b", "c", "a")  # which she does not see
    registry.grant("hdl:10.5555/a", ALICE, BOB)
    with pytest.raises(NotRegistered, match=r"form a cycle: .*/a → .*/b → .*/c → .*/a;"):
        registry.resolve("hdl:10.5555/a", ALICE)
    registry.target(H, "http://example.org/", ALICE)
    labels = [f"n{number}" for number in range(ALIASES + 1)]
    chain(registry, *labels, "h")
    assert registry.resolve("hdl:10.5555/n1", ALICE).target == "http://example.org/"
    with pytest.raises(NotRegistered, match="longer than 20"):
        registry.resolve("hdl:10.5555/n0", ALICE)


def test_a_handle_is_no_alias_of_itself(registry: Registry) -> None:
    chain(registry, "a", "b", "c", "d")
    for label, following in (("a", "a"), ("c", "a"), ("b", "a"), ("c", "C")):
        with pytest.raises(InvalidData, match=rf"alias of itself \(.*/{label} → .*/{label}\)"):
            put(registry, "HS_ALIAS", f"10.5555/{following}", handle=f"hdl:10.5555/{label}")
    put(
        registry, "HS_ALIAS", "10.5555/a", permissions="1100", handle="hdl:10.5555/c"
    )  # which leads no reader anywhere
    put(registry, "HS_ALIAS", "10.5555/h", 1, handle="hdl:10.5555/b")


def test_an_alias_does_not_distinguish_a_hidden_target_from_an_absent_one(registry: Registry) -> None:
    registry.register("h", "draft", BOB)
    chain(registry, "a", "draft")
    chain(registry, "b", "nobody")
    answers = [registry.resolve(f"hdl:10.5555/{label}", ALICE).target for label in ("a", "b")]
    assert answers == ["https://hdl.handle.net/10.5555/draft", "https://hdl.handle.net/10.5555/nobody"]
    refusals = []
    for label, other in (("a", "draft"), ("b", "nobody")):
        with pytest.raises(NotRegistered) as caught:
            registry.resolve(f"hdl:10.5555/{label}", ALICE, ResolutionOptions(("URL",)))
        refusals.append(caught.value.message.replace(f"10.5555/{label}", "A").replace(other, "B"))
    assert refusals[0] == refusals[1]


def test_an_alias_of_a_handle_elsewhere_leads_to_the_proxy(registry: Registry) -> None:
    chain(registry, "a", "x")
    put(registry, "HS_ALIAS", "20.1000/a b#", 1, handle="hdl:10.5555/a")
    assert registry.resolve("hdl:10.5555/a", ALICE).target == "https://hdl.handle.net/20.1000/a%20b%23"


def test_locations_take_precedence_over_urls(registry: Registry) -> None:
    registry.target(H, "http://example.org/", ALICE)
    put(registry, "10320/loc", LOCATIONS)
    asked = ResolutionOptions(location=locations.Client(locatt=("id:1",)))
    assert registry.resolve(H, ALICE, asked).target == "http://www1.example.com/"
    assert (
        registry.resolve(H, ALICE, ResolutionOptions(draw=lambda: 0.9)).target == "http://www2.example.com/"
    )
    assert registry.resolve(H, ALICE).target in ("http://www1.example.com/", "http://www2.example.com/")
    assert registry.show(H, ALICE).target is not None


def test_prefixes_are_derived_from_handle_prefixes_alone(registry: Registry) -> None:
    registry.add_namespace("sp", "http://journals.example.org/12345/", "scholars-portal", ROOT)
    with pytest.raises(InvalidData, match="not registered here"):
        registry.add_namespace("derived", "12345.1", "handle", ROOT, {"parent": "12345"})
    registry.add_namespace("primary", "12345", "handle", ROOT)
    registry.add_party(ALICE, ROOT, "administrator")
    with pytest.raises(NotPermitted, match="only the owner of primary"):
        registry.add_namespace("derived", "12345.1", "handle", ALICE, {"parent": "12345"})
    assert (
        dict(registry.add_namespace("derived", "12345.1", "handle", ROOT, {"parent": "hdl:12345"}).settings)[
            "parent"
        ]
        == "12345"
    )


def test_an_expiry_time_must_be_representable(registry: Registry) -> None:
    registry.set_value(H, Draft("DESC", "a", 9, until=datetime.max.replace(tzinfo=UTC)), ALICE)
    behind = datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))
    with pytest.raises(InvalidData, match="years 1 to 9999"):
        registry.set_value(H, Draft("DESC", "a", 9, until=behind), ALICE)


def test_values_survive_export_and_import(registry: Registry, tmp_path: object) -> None:
    put(registry, "SECRET", SECRET, 7, "1100")
    put(registry, "BLOB", b"\x00\xff", 8)
    registry.set_value(
        H, Draft("DESC", ' spaces, "quotes" and\nlines ', 9, until=times.of(1_800_000_000_000)), ALICE
    )
    put(registry, "EMPTY", "", 10)
    registry.grant(H, BOB, ALICE)
    registry.fixate([H], ALICE)
    for format in ("nquads", "jsonld"):
        out = io.BytesIO()
        rdf.export(registry, out, ROOT, format)
        path = Path(f"{tmp_path}/{format}")
        path.write_bytes(out.getvalue())
        with idstore.open(f"{tmp_path}/{format}.store", administrator=ROOT) as other:
            rdf.import_registry(other, [path], ROOT, format)
            again = io.BytesIO()
            rdf.export(other, again, ROOT, format)
            assert other.values(H, ALICE) == registry.values(H, ALICE)
            sound(other)
        assert again.getvalue() == out.getvalue()


# exports and imports


def test_an_extract_for_the_owner_has_private_values(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("h", "10.5555", "handle", ALICE)
        for label, granted, fixated in itertools.product("ab", (False, True), (False, True)):
            iri = registry.register("h", f"{label}{granted:d}{fixated:d}", ALICE).iri
            if granted:
                registry.grant(iri, BOB, ALICE)
            registry.set_value(iri, Draft("DESC", "for me", 7, permissions="1100"), ALICE)
            registry.set_value(iri, Draft("DESC", "for all", 8), ALICE)
            if fixated:
                registry.fixate([iri], ALICE)

        def kept(party: Party, filter: Filter) -> set[str]:
            with registry.quads(party, filter) as quads:
                return {
                    quad.subject.value
                    for quad in quads
                    if quad.predicate == IDS.valueOf and isinstance(quad.subject, NamedNode)
                }

        assert len(kept(ALICE, Filter(namespace="h"))) == 16
        assert kept(ALICE, Filter(namespace="h")) == kept(ALICE, Filter())
        assert {iri.rpartition("#")[2] for iri in kept(BOB, Filter(namespace="h"))} == {"8"}


def test_values_of_other_identifiers_are_not_imported(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "there", administrator=ALICE) as registry:
        registry.add_namespace("h", "10.5555", "handle", ALICE)
        registry.add_namespace("formats", "http://formats.example.org/", "puid", ALICE, {"authority": "own"})
        other = registry.mint("formats", ALICE, Request(metadata={"type": "fmt"})).iri
        handle = registry.register("h", "x", ALICE).iri
        registry.set_value(handle, Draft("DESC", "hello", 7), ALICE)
        told = io.BytesIO()
        rdf.export(registry, told, ALICE, "nquads")
    lines = told.getvalue().decode().splitlines(keepends=True)
    act = next(line.split()[0] for line in lines if IDS.ValueSetting.value in line)
    forged = tmp_path / "forged.nq"
    forged.write_text(
        "".join(
            line.replace(handle, other) if line.startswith((act, f"<{handle}#7")) else line for line in lines
        )
    )
    with idstore.open(tmp_path / "here", administrator=ALICE) as registry:
        with pytest.raises(
            InvalidData, match=r"has typed values, but identifiers of the scheme puid have none"
        ):
            rdf.import_registry(registry, [forged], ALICE)
        assert registry.counts(ALICE).total == 0

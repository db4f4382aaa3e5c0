"""A registry over HTTP stands where one in a folder does: for nobody, and for functions of the library."""

import inspect
import io

import pytest
from serving import Server, wait_until

import idstore
from idstore import (
    NOBODY,
    ChangeRow,
    LocalOnly,
    NotRegistered,
    Party,
    Request,
    RequestRow,
    RequestTooLarge,
    SignInRequired,
    StoreClosed,
    StoreUnavailable,
    UnknownNamespace,
)
from idstore.model.party import SIGNED_IN
from idstore.registry.log import LogPosition
from idstore.remote import connect_folder

ALICE, BOB = Party("alice"), Party("bob")


def test_nobody_sees_and_does_nothing_over_a_connection_with_a_token(server: Server, alice: str) -> None:
    with idstore.connect(server.address, token=alice) as far:
        draft = far.mint("rdl", ALICE, Request(name="secret of alice"))
        with pytest.raises(NotRegistered):
            far.show(draft.iri, NOBODY)
        assert draft.iri not in {record.iri for record in far.list(NOBODY, limit=None)}
        assert draft.iri not in {entry.event.about for entry in far.log(NOBODY)}
        assert not far.administers(NOBODY)
        with pytest.raises(SignInRequired):
            far.mint("rdl", NOBODY)
        exported = io.BytesIO()
        idstore.export(far, exported, NOBODY, format="nquads")
        assert draft.iri.encode() not in exported.getvalue()
        assert far.show(draft.iri, SIGNED_IN).owner == "alice"


def test_functions_of_the_library_take_a_registry_over_a_connection(server: Server, alice: str) -> None:
    with idstore.connect(server.address, token=alice) as far:
        iri = far.mint("rdl", ALICE, Request(name="valve of functions")).iri
        exported = io.BytesIO()
        idstore.export(far, exported, ALICE, format="nquads")
        assert iri.encode() in exported.getvalue()
        made = idstore.new_token(far, ALICE, acts=["bind"])
        assert made.id in {token.id for token in idstore.list_tokens(far, ALICE)}
        idstore.revoke_token(far, made.id, ALICE)
        assert idstore.digest(far, ALICE).sha256 == far.digest(ALICE).sha256
        assert idstore.public_changes(far, limit=1).store.startswith("urn:uuid:")


def test_the_log_goes_on_after_a_draft(server: Server) -> None:
    position = LogPosition()
    with connect_folder(server.store) as far:
        while far.news(ALICE, position=position):
            pass
        for name in ("first", "second"):
            draft = far.mint("rdl", ALICE, Request(name=name)).iri
            assert draft in {entry.event.about for entry in far.news(ALICE, position=position)}
            assert position.shown
        assert far.news(ALICE, position=position) == []


@pytest.mark.parametrize("shown", ["x", "-1", "9" * 5000])
def test_a_position_without_events_is_refused(server: Server, shown: str) -> None:
    reply = server.ask("POST", "/api/v1/news", {"follows": True, "shown": [shown]})
    assert (reply.status, reply.json["field"]) == (422, "shown")


def test_a_closed_connection_does_nothing(server: Server, alice: str) -> None:
    far = idstore.connect(server.address, token=alice)
    far.close()
    for ask in (far.namespaces, lambda: far.mint("rdl", ALICE), lambda: far.list(ALICE)):
        with pytest.raises(StoreClosed):
            ask()


def test_signatures_are_those_of_the_library() -> None:
    far = idstore.connect("http://127.0.0.1:9/")
    for name in ("mint", "list", "grant"):
        near = inspect.signature(getattr(idstore.Registry, name)).parameters
        assert [*inspect.signature(getattr(far, name)).parameters] == [*near][1:]


def test_only_administrators_send_tables_that_all_others_wait_for(
    server: Server, alice: str, bob: str
) -> None:
    rows = [RequestRow(line, Request(name="valve")) for line in range(501)]
    with idstore.connect(server.address, token=bob) as far:
        minted = far.mint_many("h", rows[:500], BOB)
        assert {one.verdict for one in minted} == {"new"}
        changes = [ChangeRow(one.line, "name", one.id, names={"de": "Ventil"}) for one in minted]
        assert {one.verdict for one in far.change_many(changes, BOB)} == {"new"}
        for dry_run in (False, True):
            with pytest.raises(RequestTooLarge, match=r"at most 500 rows, .* this one has 501") as caught:
                far.mint_many("h", rows, BOB, dry_run=dry_run)
            assert (caught.value.field, caught.value.fields["limit"]) == ("rows", 500)
        with pytest.raises(RequestTooLarge, match=r"at most 500 rows, .* this one has 501"):
            far.change_many([*changes, changes[0]], BOB)
        with pytest.raises(RequestTooLarge, match="at most 500 ids"):
            far.fixate([minted[0].id] * 501, BOB)
        with pytest.raises(RequestTooLarge, match="at most 500 ids"):
            far.shared_targets([minted[0].id] * 501, BOB, 1)
    with idstore.connect(server.address, token=alice) as far:
        assert {one.verdict for one in far.mint_many("h", rows, ALICE)} == {"new"}


def test_a_query_takes_no_arguments_that_are_not_sent(server: Server, alice: str) -> None:
    sent = {"self", "text", "party", "format", "timeout", "rows"}
    with idstore.connect(server.address, token=alice) as far:
        with far.query("ASK {}", ALICE, timeout=5, rows=1) as answer:
            assert answer.kind == "truth"
        for name, parameter in inspect.signature(idstore.Registry.query).parameters.items():
            if name in sent:
                continue
            with pytest.raises(LocalOnly, match=rf"a query takes {name} .* leave it out") as caught:
                far.query("ASK {}", ALICE, **{name: parameter.default})
            assert caught.value.field == name


def test_the_namespace_of_a_record_is_as_it_was_changed_last(server: Server, alice: str) -> None:
    with idstore.connect(server.address, token=alice) as far:
        far.add_namespace("changing", "http://changing.example.org/data#", "rdswip", ALICE)
        record = far.mint("changing", ALICE)
        assert not far.home(record).frozen
        far.freeze("changing", ALICE)
        assert far.home(record).frozen


@pytest.mark.slow
def test_the_namespace_of_a_record_is_as_others_changed_it_a_while_ago(server: Server, alice: str) -> None:
    with (
        idstore.connect(server.address, token=alice) as far,
        idstore.connect(server.address, token=alice) as other,
    ):
        far.add_namespace("others", "http://others.example.org/data#", "rdswip", ALICE)
        record = far.mint("others", ALICE)
        assert not far.home(record).frozen
        other.freeze("others", ALICE)
        wait_until(lambda: far.home(record).frozen)


@pytest.mark.parametrize("path", ["nope/", "sparql/", "id/"])
def test_an_address_without_the_api_is_told(server: Server, path: str) -> None:
    with (
        idstore.connect(server.address + path) as far,
        pytest.raises(StoreUnavailable, match="no idstore API answers"),
    ):
        far.namespaces()


def test_an_identifier_that_looks_like_an_address_of_the_api_is_not_registered(
    server: Server, alice: str
) -> None:
    base = "https://data.example.org/api/v1/data#"
    with idstore.connect(server.address, token=alice) as far:
        far.add_namespace("apidata", base, "rdswip", ALICE)
        with pytest.raises(NotRegistered):
            far.show(f"{base}R3732211754", ALICE)
        for id in ("", "a/b", "/api/v1/tokens"):
            with pytest.raises(NotRegistered, match="no token"):
                far.revoke_token(id, ALICE)
        with pytest.raises(UnknownNamespace):
            far.mint("", ALICE)

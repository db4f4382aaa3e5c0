"""Tokens that are made, listed and revoked over HTTP."""

import sqlite3
from contextlib import closing

import pytest
from serving import ALICE, BOB, Server

import idstore
from idstore.errors import InvalidData, NotPermitted, NotRegistered, SignInRequired, UnknownNamespace
from idstore.model import times
from idstore.model.party import Party
from idstore.tokens import MOST, Tokens

TOKENS = "/api/v1/tokens"


def test_a_party_makes_lists_and_revokes_its_tokens(server: Server, bob: str) -> None:
    end = times.of(times.now() + times.DAY)
    with idstore.connect(server.address, token=bob) as registry:
        before = {token.id for token in registry.tokens(BOB)}
        made = registry.add_token(BOB, namespaces=["rdl"], acts=["mint", "mint_many"], expires=end)
        [token] = [one for one in registry.tokens(BOB) if one.id not in before]
        assert (made.party, token.party) == ("bob", "bob")
        assert (token.namespaces, token.acts, token.expires) == (("rdl",), ("mint", "mint_many"), end)
        with idstore.connect(server.address, token=made.token) as limited:
            assert limited.mint("rdl", BOB).owner == "bob"
            for more in (
                idstore.Request(fixate=True),
                idstore.Request(bindings=[idstore.Statement("http://x.example.org/")]),
            ):
                with pytest.raises(NotPermitted, match=r"the token does not permit (fixate|bind);"):
                    limited.mint("rdl", BOB, more)
                with pytest.raises(NotPermitted, match=r"the token does not permit (fixate|bind);"):
                    limited.mint_many("rdl", [idstore.RequestRow(2, more)], BOB)
            with pytest.raises(NotPermitted):
                limited.release("rdl:R1234567890", BOB)
        registry.revoke_token(token.id, BOB)
        with idstore.connect(server.address, token=made.token) as late, pytest.raises(SignInRequired):
            late.mint("rdl", BOB)


def test_who_may_do_an_act_may_do_it_to_several(server: Server, alice: str) -> None:
    rows = [idstore.RequestRow(2, idstore.Request())]
    labelled = [idstore.RequestRow(2, idstore.Request(), "label-of-a-token")]
    with idstore.connect(server.address, token=alice) as registry:
        made = registry.add_token(ALICE, acts=["mint", "deprecate"])
    with idstore.connect(server.address, token=made.token) as limited:
        assert len([*limited.mint_several("h", 2, ALICE)]) == 2
        [minted] = limited.mint_many("h", rows, ALICE)
        with pytest.raises(NotPermitted, match="does not permit register"):
            limited.mint_many("h", labelled, ALICE)
        deprecation = idstore.ChangeRow(2, "deprecate", minted.id, "wrong")
        assert [one.verdict for one in limited.change_many([deprecation], ALICE)] == ["refused"]  # a draft
        with pytest.raises(NotPermitted, match="does not permit target"):
            limited.change_many([idstore.ChangeRow(2, "target", minted.id)], ALICE)


def test_a_token_for_a_namespace_changes_nothing_else(server: Server) -> None:
    token = server.token(ALICE, namespaces=["rdl"])
    for path, sent, status in (
        ("freeze", {"name": "rdl", "frozen": False}, 200),
        ("freeze", {"name": "h", "frozen": False}, 403),
        ("place", {"name": "rdl", "publisher": "alice", "size": 1}, 403),
        ("suspend", {"name": "rdl", "reason": "none"}, 403),
    ):
        reply = server.ask("POST", f"/api/v1/{path}", sent, token=token)
        assert reply.status == status, reply.body


def test_tokens_of_others_are_for_administrators(server: Server, alice: str, bob: str) -> None:
    with idstore.connect(server.address, token=alice) as registry:
        earlier = {one.id for one in registry.tokens(ALICE)}
        made = registry.add_token(ALICE, owner="carol")
        [token] = [one for one in registry.tokens(ALICE) if one.id not in earlier]
    with idstore.connect(server.address, token=bob) as registry:
        assert {one.party for one in registry.tokens(BOB)} == {"bob"}
        with pytest.raises(NotPermitted):
            registry.add_token(BOB, owner="alice")
        with pytest.raises(NotRegistered):
            registry.revoke_token(token.id, BOB)
    with idstore.connect(server.address, token=made.token) as registry:
        assert registry.mint("rdl", idstore.Party("carol")).owner == "carol"
    assert server.ask("DELETE", f"{TOKENS}/{token.id}", token=alice).status == 200
    assert server.ask("DELETE", f"{TOKENS}/{token.id}", token=alice).status == 404


def test_anonymous_requests_have_no_tokens(server: Server) -> None:
    for method, path in (("POST", TOKENS), ("GET", TOKENS), ("DELETE", f"{TOKENS}/00000000")):
        assert server.ask(method, path, {} if method == "POST" else None).status == 401


def test_limits_that_make_no_sense_are_refused(server: Server, bob: str) -> None:
    with idstore.connect(server.address, token=bob) as registry:
        with pytest.raises(InvalidData, match="no act 'fly'"):
            registry.add_token(BOB, acts=["fly"])
        with pytest.raises(InvalidData, match="in the past"):
            registry.add_token(BOB, expires=times.of(1))
        with pytest.raises(UnknownNamespace):
            registry.add_token(BOB, namespaces=["nowhere"])


@pytest.mark.parametrize(
    "limit",
    [{"acts": ["add_token"]}, {"namespaces": ["rdl"]}, {"expires": times.of(times.now() + times.DAY)}],
)
def test_a_token_with_limits_makes_none_without(server: Server, limit: dict[str, object]) -> None:
    reply = server.ask("POST", TOKENS, {}, token=server.token(ALICE, **limit))
    assert (reply.status, reply.json["error"]) == (403, "not-permitted")


def test_suspended_parties_and_groups_get_none(server: Server, alice: str) -> None:
    dave = idstore.Party("dave")
    with idstore.connect(server.address, token=alice) as registry:
        secret = registry.add_token(ALICE, owner="dave").token
        registry.suspend(dave, "abuse", ALICE)
        registry.add_party(idstore.Party("team"), ALICE, kind="group")
        for name in ("dave", "team"):
            with pytest.raises(NotPermitted):
                registry.add_token(ALICE, owner=name)
    with idstore.connect(server.address, token=secret) as registry, pytest.raises(NotPermitted):
        registry.add_token(dave)


def test_the_secret_is_kept_as_a_hash(server: Server, bob: str) -> None:
    secret = server.ask("POST", TOKENS, {}, token=bob).json["token"]
    assert secret not in str(server.ask("GET", TOKENS, token=bob).json)
    with closing(sqlite3.connect(server.store / "tokens.sqlite")) as database:
        assert secret not in str(database.execute("select * from token").fetchall())
    assert not any(secret in line for line in server.lines)


def test_a_party_has_a_limited_number_of_valid_tokens(server: Server) -> None:
    tokens, many = Tokens(server.store), Party("many")
    tokens.add(many, expires=times.of(times.now() - 1))
    secrets = [tokens.add(many).token for _ in range(MOST)]
    refused = server.ask("POST", TOKENS, {}, token=secrets[-1])
    assert (refused.status, refused.json["fields"]["limit"]) == (403, MOST)
    assert f"{MOST} tokens" in refused.json["detail"]
    assert "revoke" in refused.json["detail"]
    assert server.ask("POST", TOKENS, {}, token=server.token(BOB)).status == 201
    [one, *_] = server.ask("GET", TOKENS, token=secrets[0]).json
    assert server.ask("DELETE", f"{TOKENS}/{one['id']}", token=secrets[-1]).status in {200, 204}
    assert server.ask("POST", TOKENS, {}, token=secrets[-1]).status == 201
    tokens.revoke_all("many")


def test_a_secret_instead_of_its_number_is_not_told(server: Server, bob: str) -> None:
    secret = server.ask("POST", TOKENS, {}, token=bob).json["token"]
    reply = server.ask("DELETE", f"{TOKENS}/{secret}", token=bob)
    assert (reply.status, reply.json["field"]) == (422, "id")
    assert "revoke it by its number" in reply.json["detail"]
    assert secret not in server.log_after(f"{TOKENS}/ids_")

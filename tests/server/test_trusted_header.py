"""Signing in by a header from a trusted proxy, and by no other header."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("uvicorn", reason="the extra server is not installed")

from serving import ALICE, BOB, Reply, Server

SECRET: Final = "0123456789abcdef" * 4
TOKENS: Final = "/api/v1/tokens"


def settings(folder: Path, proxies: str) -> Path:
    secret = folder / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    path = folder / "settings.toml"
    path.write_text(
        f'[trusted_header]\nheader = "X-Remote-User"\nproxies = ["{proxies}"]\nsecret_file = "secret"\n'
    )
    return path


@pytest.fixture(scope="module")
def store(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("trusted")
    shutil.copytree(prepared, folder / "s")
    return folder / "s"


@pytest.fixture(scope="module")
def trusting(store: Path) -> Iterator[Server]:
    """Serve behind a proxy on this machine that signs parties in."""
    path = settings(store.parent, "127.0.0.0/8")
    with Server(store, ("--settings", str(path), "--proxy", "127.0.0.1")) as server:
        yield server


def ask(server: Server, *, method: str = "GET", **sent: str) -> Reply:
    """Ask for the tokens of the caller, which needs a sign-in."""
    headers = {name.replace("_", "-"): value for name, value in sent.items()}
    return server.ask(method, TOKENS, {} if method == "POST" else None, headers=headers)


def test_the_proxy_names_the_party(trusting: Server) -> None:
    reply = ask(trusting, X_Remote_User="alice", Idstore_Proxy_Secret=SECRET)
    assert reply.status == 200
    mint = trusting.ask(
        "POST",
        "/api/v1/namespaces/rdl/identifiers",
        {},
        headers={"X-Remote-User": "BOB", "Idstore-Proxy-Secret": SECRET},
    )
    assert mint.json["owner"] == "bob"


def test_the_proxy_is_the_peer_and_not_a_forwarded_address(trusting: Server) -> None:
    far = {"X_Forwarded_For": "198.51.100.1", "X_Forwarded_Proto": "https"}
    assert ask(trusting, X_Remote_User="alice", Idstore_Proxy_Secret=SECRET, **far).status == 200


@pytest.mark.parametrize("secret", [{}, {"Idstore_Proxy_Secret": ""}, {"Idstore_Proxy_Secret": SECRET[:-1]}])
def test_the_header_is_refused_without_the_secret(trusting: Server, secret: dict[str, str]) -> None:
    reply = ask(trusting, X_Remote_User="alice", **secret)
    assert reply.status == 403
    assert SECRET[:-1] not in reply.body.decode()


@pytest.mark.parametrize("name", ["a b", "(null)", "alice,bob", "\xff", "a" * 200, "-"])
def test_what_names_no_party_is_refused(trusting: Server, name: str) -> None:
    assert ask(trusting, X_Remote_User=name, Idstore_Proxy_Secret=SECRET).status == 403


def test_an_empty_header_names_nobody(trusting: Server) -> None:
    assert ask(trusting, X_Remote_User=" ", Idstore_Proxy_Secret=SECRET).status == 401
    token = trusting.token(BOB)
    headers = {"X-Remote-User": "", "Idstore-Proxy-Secret": SECRET}
    assert trusting.ask("GET", TOKENS, token=token, headers=headers).status == 200


def test_a_token_still_signs_in_where_the_proxy_names_nobody(trusting: Server) -> None:
    assert trusting.ask("GET", TOKENS, token=trusting.token(ALICE)).status == 200


def test_scripts_of_other_sites_read_nothing_of_a_party_that_the_proxy_names(trusting: Server) -> None:
    """A proxy may sign a browser in by its network, so that a script needs no credentials."""
    named = {"X-Remote-User": "alice", "Idstore-Proxy-Secret": SECRET, "Origin": "http://other.example.org"}
    for path in ("/api/prefixes", "/sparql", "/resolve"):
        assert "access-control-allow-origin" not in trusting.ask("GET", path, headers=named).headers
    for headers in (named, {"Origin": named["Origin"]}):  # a browser asks whether it may ask
        asked = trusting.ask("OPTIONS", "/api/prefixes", headers=headers)
        assert (asked.status, asked.headers["access-control-allow-origin"]) == (204, "*")


def test_the_header_is_refused_from_other_addresses(prepared: Path, tmp_path: Path) -> None:
    other = tmp_path / "s"
    shutil.copytree(prepared, other)
    path = settings(tmp_path, "192.0.2.0/24")
    far = {"X_Forwarded_For": "192.0.2.1", "X_Forwarded_Proto": "https"}
    with Server(other, ("--settings", str(path), "--proxy", "127.0.0.1")) as server:
        for headers in (far, {}):
            reply = ask(server, X_Remote_User="alice", Idstore_Proxy_Secret=SECRET, **headers)
            assert reply.status == 403


def test_the_header_says_nothing_when_it_is_off(server: Server) -> None:
    assert ask(server, X_Remote_User="alice", Idstore_Proxy_Secret=SECRET).status == 401
    public = server.ask("GET", "/api/v1/identifiers", headers={"X-Remote-User": "alice"})
    assert public.body == server.ask("GET", "/api/v1/identifiers").body


def test_a_request_with_two_sign_ins_is_refused(trusting: Server) -> None:
    reply = ask(
        trusting,
        X_Remote_User="alice",
        Idstore_Proxy_Secret=SECRET,
        Authorization=f"Bearer {trusting.token(BOB)}",
    )
    assert reply.status == 403

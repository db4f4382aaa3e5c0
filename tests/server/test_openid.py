"""Signing in by an OpenID provider: a real one, and one that misbehaves."""

import base64
import http.server
import json
import re
import shutil
import socket
import string
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("uvicorn", reason="the extra server is not installed")
pytest.importorskip("authlib", reason="the extra openid is not installed")

import requests
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey
from serving import ALICE, Reply, Server, wait_until

import idstore
from idstore import Party
from idstore.server.settings import read_settings

SECRET: Final = "0123456789abcdef" * 4
TOKENS: Final = "/api/v1/tokens"
MINT: Final = "/api/v1/namespaces/rdl/identifiers"
CLIENT: Final = "registry"
CLIENTS: Final = count(1)
"""Numbers of clients' addresses: one with many failures is refused."""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """Run a provider with three accounts, and return its address."""
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "oidc_provider_mock", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        address = f"http://127.0.0.1:{port}"

        def answers() -> bool:
            with suppress(requests.ConnectionError):
                return requests.get(f"{address}/.well-known/openid-configuration", timeout=5).ok
            return False

        wait_until(answers)
        for name, groups in {"alice": ["editors"], "bob": ["editors", "readers"], "dave": []}.items():
            claims = {"preferred_username": name.title(), "groups": groups}
            assert requests.put(f"{address}/users/{name}", json=claims, timeout=5).ok
        assert requests.put(
            f"{address}/users/odd", json={"preferred_username": "a b", "groups": ["editors"]}, timeout=5
        )
        yield address
        process.terminate()


def settings(folder: Path, issuer: str, **more: object) -> Path:
    (folder / "secret").write_text(SECRET)
    (folder / "secret").chmod(0o600)
    table = {
        "issuer": issuer,
        "client_id": CLIENT,
        "client_secret_file": "secret",
        "required_group": "editors",
        **more,
    }
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    path = folder / "settings.toml"
    path.write_text(
        "[openid]\n"
        + "\n".join(lines)
        + '\ngroups = { readers = "staff" }\n\n[sessions]\nsecret_file = "secret"\n'
    )
    return path


@pytest.fixture(scope="module")
def served(prepared: Path, tmp_path_factory: pytest.TempPathFactory, provider: str) -> Iterator[Server]:
    place = tmp_path_factory.mktemp("openid")
    shutil.copytree(prepared, place / "s")
    with idstore.open(place / "s") as registry:
        registry.add_party(Party("staff"), ALICE, kind="group")
        draft = registry.mint("rdl", ALICE, idstore.Request(name="for the staff"))
        registry.grant(draft.iri, Party("staff"), ALICE)
    with Server(place / "s", ("--settings", str(settings(place, provider)))) as server:
        yield server


def test_the_documented_settings_are_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text(encoding="utf-8")
    [text] = re.findall(r"```toml\n(\[openid\].*?)```", page, re.DOTALL)
    for name in ("openid-secret", "session-secret"):
        text = text.replace(f"/etc/idstore/{name}", str(tmp_path / name))
        (tmp_path / name).write_text(SECRET)
        (tmp_path / name).chmod(0o600)
    (tmp_path / "settings.toml").write_text(text)
    read = read_settings(tmp_path / "settings.toml")
    assert read.openid is not None
    assert read.openid.audience == "https://ids.example.org"
    assert read.sessions is not None
    assert read.sessions.hours == 8


def begin(server: Server, browser: requests.Session, path: str = "/") -> str:
    """Begin a sign-in, and return the address of the provider."""
    reply = browser.get(f"{server.address}sign-in", params={"next": path}, allow_redirects=False, timeout=20)
    assert reply.status_code == 303, reply.text
    assert reply.headers["cache-control"] == "private, no-store"
    return reply.headers["location"]


def sign_in(server: Server, name: str, path: str = "/id/rdl") -> tuple[requests.Session, requests.Response]:
    """Sign in as a person does in a browser. Returns the browser, and the last answer of the server."""
    browser = requests.Session()
    address = begin(server, browser, path)
    sent = browser.post(address, data={"sub": name}, allow_redirects=False, timeout=20)
    return browser, browser.get(sent.headers["location"], allow_redirects=False, timeout=20)


def test_a_person_signs_in_and_out(served: Server) -> None:
    browser, reply = sign_in(served, "bob", "/id/rdl?format=json")
    assert (reply.status_code, reply.headers["location"]) == (303, "/id/rdl?format=json")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert browser.get(f"{served.address}api/v1/tokens", timeout=20).json() == []
    page = browser.get(f"{served.address}sign-out", timeout=20).text
    assert "Signed in as <b>bob</b>" in page
    [token] = re.findall(r'name="token" value="(\w+)"', page)
    wrong = browser.post(
        f"{served.address}sign-out", data={"token": "0" * 64}, allow_redirects=False, timeout=20
    )
    assert wrong.status_code == 403
    other = served.ask("PUT", "/sign-out", {})
    assert (other.status, other.json["error"]) == (405, "method-not-allowed")
    assert set(other.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
    large = browser.post(f"{served.address}sign-out", data={"token": "0" * 4096}, timeout=20)
    assert large.status_code == 413
    ended = browser.post(
        f"{served.address}sign-out", data={"token": token}, allow_redirects=False, timeout=20
    )
    assert "/oauth2/end_session?" in ended.headers["location"]
    copied = {"Cookie": cookie.partition(";")[0]}
    assert served.ask("GET", TOKENS, headers=copied).status == 401
    assert browser.get(f"{served.address}api/v1/tokens", timeout=20).status_code == 401


def sign_out(server: Server, cookie: str) -> Reply:
    """End the session of a cookie by the form of its page."""
    headers = {"Cookie": f"idstore-session={cookie}"}
    [token] = re.findall(
        r'name="token" value="(\w+)"', server.ask("GET", "/sign-out", headers=headers).body.decode()
    )
    form = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    return server.ask("POST", "/sign-out", f"token={token}".encode(), headers=form)


def spellings(cookie: str) -> list[str]:
    """Return the cookie with other spare bits at the end of its base64, and with characters that it skips."""
    alphabet = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"
    start = alphabet.index(cookie[-1]) & ~3  # of the last character, two bits are spare
    return [*(cookie[:-1] + one for one in alphabet[start : start + 4]), f"{cookie}=", f"{cookie}!!"]


@pytest.mark.parametrize("ended", [0, -1])
def test_a_session_that_has_ended_is_none_in_any_spelling_of_its_cookie(served: Server, ended: int) -> None:
    def statuses(cookies: list[str]) -> set[int]:
        sent = ({"Cookie": f"idstore-session={one}"} for one in cookies)
        return {served.ask("GET", TOKENS, headers=headers).status for headers in sent}

    first, second = (
        spellings(one.value or "")
        for browser in (sign_in(served, "bob")[0], sign_in(served, "bob")[0])
        for one in browser.cookies
        if one.name == "idstore-session"
    )
    assert statuses(first + second) == {200}
    assert sign_out(served, first[ended]).status == 303
    assert (statuses(first), statuses(second)) == ({401}, {200})


def test_a_session_has_the_groups_of_the_provider_and_changes_nothing(served: Server) -> None:
    alice, bob = sign_in(served, "alice")[0], sign_in(served, "bob")[0]
    seen = [
        "for the staff" in one.get(f"{served.address}api/v1/identifiers", timeout=20).text
        for one in (bob, requests)
    ]
    assert seen == [True, False]
    for browser in (alice, bob):
        minted = browser.post(f"{served.address}{MINT[1:]}", json={}, timeout=20)
        assert (minted.status_code, minted.json()["error"]) == (403, "not-permitted")
    query = "registry?registry-op=acquire&registry-base=http%3a%2f%2frdl.example.org%2fdata%23"
    assert bob.get(f"{served.address}{query}", timeout=20).status_code == 401


@pytest.mark.parametrize("name", ["dave", "odd", "stranger"])
def test_who_is_not_in_the_group_or_has_no_canonical_name_is_refused(served: Server, name: str) -> None:
    browser, reply = sign_in(served, name)
    assert reply.status_code == 403
    assert browser.get(f"{served.address}api/v1/tokens", timeout=20).status_code == 401


def test_a_refusal_of_the_provider_is_told(served: Server) -> None:
    browser = requests.Session()
    [state] = parse_qs(urlsplit(begin(served, browser)).query)["state"]
    query = {"state": state, "error": "access_denied<script>"}
    reply = browser.get(f"{served.address}sign-in/callback", params=query, timeout=20)
    assert reply.status_code == 403
    assert "access_denied&lt;script&gt;" in reply.text


def test_a_sign_in_of_another_browser_is_refused(served: Server) -> None:
    """Otherwise an attacker could have somebody else act in the attacker's account."""
    attacker, victim = requests.Session(), requests.Session()
    sent = attacker.post(begin(served, attacker), data={"sub": "bob"}, allow_redirects=False, timeout=20)
    assert victim.get(sent.headers["location"], allow_redirects=False, timeout=20).status_code == 403
    begin(served, victim)
    assert victim.get(sent.headers["location"], allow_redirects=False, timeout=20).status_code == 403
    foreign = {"state": "\u00e9", "code": "x"}
    assert victim.get(f"{served.address}sign-in/callback", params=foreign, timeout=20).status_code == 403
    assert victim.get(f"{served.address}api/v1/tokens", timeout=20).status_code == 401


def test_a_code_is_valid_once(served: Server) -> None:
    browser = requests.Session()
    sent = browser.post(begin(served, browser), data={"sub": "bob"}, allow_redirects=False, timeout=20)
    kept = dict(browser.cookies)
    assert browser.get(sent.headers["location"], allow_redirects=False, timeout=20).status_code == 303
    again = requests.get(sent.headers["location"], cookies=kept, allow_redirects=False, timeout=20)
    assert again.status_code == 403


@pytest.mark.parametrize(
    "path", ["https://evil.example.org/", "//evil.example.org", "/\\evil.example.org", "/\r\nx: y"]
)
def test_nobody_is_sent_elsewhere(served: Server, path: str) -> None:
    _, reply = sign_in(served, "bob", path)
    assert (reply.status_code, reply.headers["location"]) == (303, "/")


def test_a_forged_cookie_is_none(served: Server) -> None:
    browser, _ = sign_in(served, "bob")
    [cookie] = [one for one in browser.cookies if one.name == "idstore-session"]
    assert cookie.value is not None
    for value in (cookie.value[:-2], "x", "", f"{cookie.value}x", "a.b.c"):
        reply = served.ask("GET", TOKENS, headers={"Cookie": f"idstore-session={value}"})
        assert reply.status == 401
    reply = served.ask("GET", TOKENS, headers={"Cookie": f"idstore-session={cookie.value}"})
    assert reply.status == 200
    for other in ('prefs={"a":1}', "a b=c", 'list=["x"]', "na\u00efve=1"):  # of other programs on the host
        reply = served.ask("GET", TOKENS, headers={"Cookie": f"{other}; idstore-session={cookie.value}"})
        assert reply.status == 200
    token = served.token(ALICE)
    both = served.ask("GET", TOKENS, token=token, headers={"Cookie": f"idstore-session={cookie.value}"})
    assert both.json[0]["party"] == "alice"


# bearer tokens, from a provider that does what a test says

KEY: Final = ECKey.generate_key("P-256", {"kid": "one"})
OTHER: Final = ECKey.generate_key("P-256", {"kid": "two"})


class Acting:
    """A provider of this process: its keys, and what it answers instead."""

    def __init__(self) -> None:
        self.keys = [KEY]
        self.answer: Callable[[http.server.BaseHTTPRequestHandler], None] | None = None
        self.asked: list[str] = []
        acting = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                acting.asked.append(self.path)
                if acting.answer is not None:
                    acting.answer(self)
                    return
                document = (
                    {"keys": [one.as_dict(private=False) for one in acting.keys]}
                    if self.path == "/keys"
                    else {
                        "issuer": acting.address,
                        "jwks_uri": f"{acting.address}/keys",
                        "authorization_endpoint": f"{acting.address}/authorize",
                        "token_endpoint": f"{acting.address}/token",
                    }
                )
                reply(self, json.dumps(document).encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def token(self, key: Any = KEY, algorithm: str = "ES256", **claims: object) -> str:
        """Return an access token; None leaves a claim out."""
        usual = {
            "iss": self.address,
            "aud": CLIENT,
            "exp": int(time.time()) + 300,
            "preferred_username": "erin",
            "groups": ["editors"],
        }
        given = {name: value for name, value in {**usual, **claims}.items() if value is not None}
        return jwt.encode(
            {"alg": algorithm, "kid": getattr(key, "kid", None) or "one"}, given, key, algorithms=[algorithm]
        )

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def reply(handler: http.server.BaseHTTPRequestHandler, body: bytes, status: int = 200) -> None:
    handler.send_response(status)
    handler.end_headers()
    with suppress(OSError):
        handler.wfile.write(body)


@contextmanager
def serving(prepared: Path, folder: Path, **more: object) -> Iterator[tuple[Server, Acting]]:
    acting = Acting()
    shutil.copytree(prepared, folder / "s")
    path = settings(folder, acting.address, **more)
    with Server(folder / "s", ("--settings", str(path), "--proxy", "127.0.0.1")) as server:
        yield server, acting
    acting.close()


def ask(server: Server, token: str) -> Reply:
    return server.ask("GET", TOKENS, token=token)


@pytest.fixture(scope="module")
def acted(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Acting]]:
    with serving(prepared, tmp_path_factory.mktemp("bearer")) as both:
        yield both


def test_a_program_acts_by_a_token_of_the_provider(acted: tuple[Server, Acting]) -> None:
    server, acting = acted
    minted = server.ask("POST", MINT, {}, token=acting.token(preferred_username="Erin"))
    assert (minted.status, minted.json["owner"]) == (201, "erin")
    assert server.ask("POST", TOKENS, {}, token=acting.token()).status == 403
    assert ask(server, server.token(ALICE)).status == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://elsewhere.example.org"},
        {"iss": None},
        {"aud": "another"},
        {"aud": None},
        {"exp": 1},
        {"exp": None},
        {"preferred_username": None},
        {"preferred_username": ["alice"]},
        {"preferred_username": "alice,bob"},
        {"groups": []},
        {"groups": "editors"},
        {"nbf": 9_999_999_999},
        {"nonce": "that of a sign-in"},
    ],
)
def test_other_claims_are_no_sign_in(acted: tuple[Server, Acting], claims: dict[str, Any]) -> None:
    server, acting = acted
    far = {"X-Forwarded-For": f"203.0.113.{next(CLIENTS)}", "X-Forwarded-Proto": "https"}
    assert server.ask("GET", TOKENS, token=acting.token(**claims), headers=far).status == 401


def test_a_forged_token_with_deep_json_is_no_sign_in(acted: tuple[Server, Acting]) -> None:
    deep = base64.urlsafe_b64encode(b"[" * 20_000).rstrip(b"=").decode()
    header, _, signature = acted[1].token().split(".")
    for token in (f"{deep}.e30.x", f"{header}.{deep}.{signature}"):
        refused = ask(acted[0], token)
        assert (refused.status, refused.json["error"]) == (401, "sign-in-required")


@pytest.mark.slow
def test_false_signatures_are_no_sign_in(prepared: Path, tmp_path: Path) -> None:
    with serving(prepared, tmp_path) as (server, acting):
        public = json.dumps(KEY.as_dict(private=False))
        header, payload, signature = acting.token().split(".")
        none = "eyJhbGciOiJub25lIn0"
        for token in (
            acting.token(OTHER),
            acting.token(OctKey.import_key(public), "HS256"),
            f"{none}.{payload}.",
            f"{none}.{payload}.{signature}",
            f"{header}.{payload}.{signature[:-4]}AAAA",
            f"{header}.{payload}.AAAA",
            "a.b.c",
        ):
            assert ask(server, token).status == 401
        assert ask(server, acting.token()).status == 200


@pytest.mark.slow
def test_new_keys_are_asked_for_and_not_more_often_than_that(prepared: Path, tmp_path: Path) -> None:
    with serving(prepared, tmp_path) as (server, acting):
        assert ask(server, acting.token()).status == 200
        for _ in range(5):
            assert ask(server, acting.token(OTHER)).status == 401
        assert acting.asked.count("/keys") <= 2


def silent(handler: http.server.BaseHTTPRequestHandler) -> None:
    time.sleep(4)  # longer than the limit of the settings
    reply(handler, b"{}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer",
    [
        lambda handler: reply(handler, b"oops", 500),
        lambda handler: reply(handler, b"<html>"),
        lambda handler: reply(handler, b"[]"),
        lambda handler: reply(handler, b'{"issuer": "https://elsewhere.example.org"}'),
        lambda handler: reply(handler, b'"' + b"x" * (2 << 20) + b'"'),
        lambda handler: reply(handler, b"[" * 100_000),
        silent,
    ],
    ids=["500", "html", "list", "other", "large", "deep", "silent"],
)
def test_a_provider_that_misbehaves_is_no_wrong_sign_in(
    prepared: Path, tmp_path: Path, answer: Callable[[http.server.BaseHTTPRequestHandler], None]
) -> None:
    with serving(prepared, tmp_path, seconds=1.0) as (server, acting):
        token = acting.token()
        acting.answer = answer
        for _ in range(12):  # more than the failures after which an address is refused
            refused = ask(server, token)
            assert (refused.status, refused.json["error"]) == (503, "sign-in-unavailable")
            if answer is silent:
                break
        assert ask(server, server.token(ALICE)).status == 200
        page = server.ask("GET", "/sign-in", headers={"Accept": "text/html"})
        assert page.status == 503
        assert b"does not answer" in page.body
        acting.answer = None
        assert ask(server, token).status == 200
        assert "the provider" in server.log_after("cannot be asked")


def test_a_provider_without_settings_of_sessions_is_refused(prepared: Path, tmp_path: Path) -> None:
    shutil.copytree(prepared, tmp_path / "s")
    (tmp_path / "settings.toml").write_text('[openid]\nissuer = "https://a.example.org"\nclient_id = "x"\n')
    command = [sys.executable, "-m", "idstore", "--store", str(tmp_path / "s"), "serve", "--port", "0"]
    ended = subprocess.run(
        [*command, "--settings", str(tmp_path / "settings.toml")], capture_output=True, text=True, timeout=60
    )
    assert ended.returncode == 3
    assert "[sessions]" in ended.stderr


def test_without_settings_there_is_no_sign_in_page(server: Server) -> None:
    assert server.ask("GET", "/sign-in").status == 404

"""Who a request comes from: credentials, where they are read, and how often they may fail."""

import asyncio
import base64
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("starlette", reason="the extra server is not installed")

from serving import ALICE, BOB, Server

from idstore.errors import (
    IdstoreError,
    InvalidData,
    NotPermitted,
    SignInRequired,
    StoreBusy,
    TooManyAttempts,
)
from idstore.model import times
from idstore.model.party import NOBODY, Party
from idstore.server.sign_in import Caller, SignIn, SocketSignIn, TokenWay, attempts, token_way
from idstore.server.sign_in.attempts import ATTEMPTS, WINDOW, Attempts
from idstore.tokens import TokenReader, Tokens

Headers = list[tuple[str, str]]
Asking = Callable[..., Caller]
NEAR: Final = "127.0.0.1"


def basic(name: str, secret: str) -> Headers:
    return [("authorization", "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode())]


def bearer(secret: str) -> Headers:
    return [("authorization", f"Bearer {secret}")]


class ReadTokens(Tokens):
    """Tokens, and what reads them, which is closed at the end."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.readers = list[TokenReader]()

    def reader(self) -> TokenReader:
        self.readers.append(TokenReader(self))
        return self.readers[-1]


@pytest.fixture
def tokens(tmp_path: Path) -> Iterator[ReadTokens]:
    tokens = ReadTokens(tmp_path)
    yield tokens
    for reader in tokens.readers:
        reader.close()


def asking(tokens: ReadTokens, **how: bool) -> Asking:
    """Return a function that signs in with headers, from an address."""
    return caller_of(SignIn([TokenWay(tokens.reader())], **how))


def caller_of(sign_in: SignIn | SocketSignIn) -> Asking:

    def ask(headers: Headers, address: str = NEAR, scheme: str = "http") -> Caller:
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
        scope = {"type": "http", "scheme": scheme, "client": (address, 1), "headers": raw}
        return asyncio.run(sign_in.caller(scope))

    return ask


def error(act: Callable[[], object]) -> type[IdstoreError]:
    with pytest.raises(IdstoreError) as raised:
        act()
    return type(raised.value)


def test_a_token_signs_in_in_both_ways(tokens: ReadTokens) -> None:
    ask, secret = asking(tokens), tokens.add(BOB).token
    assert ask(bearer(secret)).party == ask(basic("bob", secret)).party == BOB
    assert ask([]).party == NOBODY
    assert error(lambda: ask(basic("alice", secret))) is SignInRequired


@pytest.mark.parametrize("held", [0.2, 9.0])
def test_a_process_that_changes_the_tokens_holds_up_no_other_request(
    tokens: ReadTokens, monkeypatch: pytest.MonkeyPatch, held: float
) -> None:
    monkeypatch.setattr(token_way, "_WAIT", 0.5)
    secret, sign_in = tokens.add(BOB).token, SignIn([TokenWay(tokens.reader())])
    scope = {"type": "http", "scheme": "http", "client": (NEAR, 1)}
    sent = {**scope, "headers": [(b"authorization", f"Bearer {secret}".encode())]}

    async def ask() -> None:
        with closing(sqlite3.connect(tokens.path, isolation_level=None)) as database:
            database.execute("begin exclusive")
            asked = asyncio.create_task(sign_in.caller(sent))
            begin = time.monotonic()
            await asyncio.sleep(0.05)
            assert time.monotonic() - begin < 0.3
            await asyncio.wait([asked], timeout=held)
            database.execute("commit")
            if held > 1:
                with pytest.raises(StoreBusy):
                    await asked
        assert (await sign_in.caller(sent)).party == BOB
        if held < 1:
            assert (await asked).party == BOB

    asyncio.run(ask())


@pytest.mark.parametrize(
    "headers",
    [
        bearer(""),
        bearer("ids_x"),
        basic("bob", "ids_x"),
        basic("bob", ""),
        [("authorization", "")],
        [("authorization", "Basic")],
        [("authorization", "Basic ::::")],
        [("authorization", "Basic /w==")],
        [("authorization", "Digest username=bob")],
        [("authorization", "Bearer \xe9\xff")],
        [*bearer("{secret}"), *bearer("{secret}")],
        [*bearer("ids_x"), *bearer("{secret}")],
    ],
)
def test_other_credentials_are_refused(tokens: ReadTokens, headers: Headers) -> None:
    secret = tokens.add(BOB).token
    sent = [(name, value.replace("{secret}", secret)) for name, value in headers]
    with pytest.raises(SignInRequired) as raised:
        asking(tokens)(sent)
    assert secret not in str(raised.value) and "ids_x" not in str(raised.value)


def test_a_token_ends_when_it_expires_or_is_revoked(tokens: ReadTokens) -> None:
    ask = asking(tokens)
    expired, revoked = tokens.add(BOB, expires=times.of(times.now() - 1)).token, tokens.add(BOB).token
    assert ask(bearer(revoked)).party == BOB
    tokens.revoke(next(token.id for token in tokens.all() if token.expires is None))
    assert error(lambda: ask(bearer(expired))) is error(lambda: ask(bearer(revoked))) is SignInRequired


@pytest.mark.parametrize(
    ("address", "scheme", "insecure", "refused"),
    [
        ("127.0.0.1", "http", False, False),
        ("127.8.8.8", "http", False, False),
        ("::1", "http", False, False),
        ("::ffff:127.0.0.1", "http", False, False),
        ("192.0.2.1", "https", False, False),
        ("192.0.2.1", "http", True, False),
        ("192.0.2.1", "http", False, True),
        ("::ffff:192.0.2.1", "http", False, True),
        ("2001:db8::1", "http", False, True),
        ("localhost", "http", False, True),
        ("", "http", False, True),
    ],
)
def test_credentials_in_the_clear_are_refused(
    tokens: ReadTokens, address: str, scheme: str, *, insecure: bool, refused: bool
) -> None:
    ask, sent = asking(tokens, insecure=insecure), bearer(tokens.add(BOB).token)
    if refused:
        assert error(lambda: ask(sent, address, scheme)) is NotPermitted
    else:
        assert ask(sent, address, scheme).party == BOB


def test_a_request_may_name_only_the_party_of_its_token(tokens: ReadTokens) -> None:
    ask, sent = asking(tokens), bearer(tokens.add(Party("Ξένη")).token)
    assert ask([*sent, ("idstore-user", "%CE%9E%CE%AD%CE%BD%CE%B7")]).party == Party("Ξένη")
    assert error(lambda: ask([*sent, ("idstore-user", "alice")])) is NotPermitted
    assert error(lambda: ask([("idstore-user", "alice")])) is SignInRequired
    assert error(lambda: ask([*sent, ("idstore-user", "alice"), ("idstore-user", "bob")])) is InvalidData


def test_the_socket_believes_its_owner() -> None:
    ask = caller_of(SocketSignIn())
    assert ask([("idstore-user", "%CE%9E%CE%AD%CE%BD%CE%B7")]).party == Party("Ξένη")
    assert ask([]).party == NOBODY
    assert error(lambda: ask([("idstore-user", "a b")])) is InvalidData


# failed sign-ins


def fail(failures: Attempts, address: str, name: str | None = None, times: int = ATTEMPTS) -> None:
    for _ in range(times):
        failures.check(address, name)
        failures.count(address, name)


def test_an_address_that_fails_too_often_is_refused_for_a_while() -> None:
    now = [1000.0]
    failures = Attempts(lambda: now[0])
    fail(failures, NEAR)
    with pytest.raises(TooManyAttempts, match="try again in 60 seconds") as raised:
        failures.check(NEAR, None)
    assert raised.value.fields == {"retry_after": 60}
    assert error(lambda: failures.check(NEAR, "bob")) is TooManyAttempts
    failures.check("192.0.2.1", None)
    now[0] += WINDOW
    fail(failures, NEAR)


def test_a_name_that_fails_too_often_is_refused_where_it_failed() -> None:
    failures = Attempts()
    for number in range(ATTEMPTS):
        fail(failures, f"192.0.2.{number}", "bob", times=1)
    assert error(lambda: failures.check("192.0.2.1", "bob")) is TooManyAttempts
    failures.check("192.0.2.1", "carol")
    failures.check("198.51.100.1", "bob")  # where the party may be itself


def test_a_name_is_one_name_in_every_spelling(tokens: ReadTokens) -> None:
    ask = asking(tokens)
    typed = ("alice", "Alice", "ALICE", "\uff21lice", "\uff41\uff4c\uff49\uff43\uff45")
    for number in range(ATTEMPTS):
        sent = basic(typed[number % len(typed)], f"guess-{number}")
        assert error(lambda: ask(sent, f"192.0.2.{number}", "https")) is SignInRequired
    for name in typed:
        assert error(lambda: ask(basic(name, "another"), "192.0.2.1", "https")) is TooManyAttempts
    assert error(lambda: ask(basic("a lice", "another"), "192.0.2.1", "https")) is SignInRequired


def test_a_network_of_ipv6_is_one_address() -> None:
    failures = Attempts()
    for number in range(ATTEMPTS):
        fail(failures, f"2001:db8::{number}", times=1)
    assert error(lambda: failures.check("2001:db8::ffff", None)) is TooManyAttempts
    failures.check("2001:db8:0:1::1", None)


def test_the_counters_have_bounds_and_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attempts, "_KEPT", 10)
    failures = Attempts()
    for number in range(30):
        fail(failures, f"192.0.2.{number}", "bob-the-builder", times=1)
    assert len(failures._failures) == 10
    assert "bob" not in repr(vars(failures)) and "192.0.2" not in repr(vars(failures))


def test_spoofed_headers_of_a_proxy_evade_no_limit(tmp_path: Path, prepared: Path) -> None:
    pytest.importorskip("uvicorn")
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s") as server:

        def ask(number: int) -> int:
            headers = {"X-Forwarded-For": f"198.51.100.{number}", "X-Forwarded-Proto": "https"}
            return server.ask("GET", "/api/v1/identifiers", token="ids_x", headers=headers).status

        assert [ask(number) for number in range(ATTEMPTS + 1)] == [401] * ATTEMPTS + [429]
        token = server.token(ALICE)  # others behind the same address keep theirs
        assert server.ask("GET", "/api/v1/identifiers", token=token).status == 200
        assert server.ask("GET", "/api/v1/identifiers", basic=f"alice:{token}").status == 200
        assert server.ask("GET", "/api/v1/identifiers", basic=f"bob:{token}").status == 429
        assert ask(0) == 429
    with Server(tmp_path / "s", ("--proxy", "127.0.0.1")) as server:
        token = server.token(ALICE)
        far = {"X-Forwarded-For": "198.51.100.1", "X-Forwarded-Proto": "http"}
        assert server.ask("GET", "/api/v1/identifiers", token=token, headers=far).status == 403
        far["X-Forwarded-Proto"] = "https"
        assert server.ask("GET", "/api/v1/identifiers", token=token, headers=far).status == 200
        assert [ask(number) for number in range(ATTEMPTS + 1)] == [401] * (ATTEMPTS + 1)

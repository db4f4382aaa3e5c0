"""Signing in with a directory: a real ``slapd``, and servers that only look like one."""

import shutil
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("uvicorn", reason="the extra server is not installed")
pytest.importorskip("ldap", reason="the extra ldap is not installed")

from rdswip_clients import DeserialisingClient, StringClient
from serving import ALICE, BOB, Reply, Server, wait_until
from slapd import GROUPS, PASSWORD, PEOPLE, READER, SLAPD, Slapd, certificates

import idstore
from idstore import Party

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path(SLAPD).exists(), reason="slapd is not installed"),
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed"),
]

TOKENS: Final = "/api/v1/tokens"
MINT: Final = "/api/v1/namespaces/rdl/identifiers"
GONE: Final = 8.0
"""Seconds within which a removal from the group has its effect."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with Slapd(tmp_path_factory.mktemp("slapd")) as slapd:
        yield slapd


def settings(folder: Path, url: str, **values: object) -> Path:
    """Write a settings file for a directory."""
    secret = folder / "reader"
    secret.write_text(PASSWORD)
    secret.chmod(0o600)
    table = {
        "url": url,
        "user_base": PEOPLE,
        "group_base": GROUPS,
        "bind_dn": READER,
        "bind_password_file": str(secret),
        **values,
    }
    lines = [
        f"{key} = {str(value).lower() if isinstance(value, bool) else repr(value)}"
        for key, value in table.items()
        if not isinstance(value, dict)
    ]
    groups = "".join(f'"{theirs}" = "{ours}"\n' for theirs, ours in _groups(values).items())
    path = folder / "settings.toml"
    path.write_text("[ldap]\n" + "\n".join(lines) + ("\n[ldap.groups]\n" + groups if groups else "\n"))
    return path


def _groups(values: dict[str, object]) -> dict[str, str]:
    groups = values.get("groups", {})
    assert isinstance(groups, dict)
    return groups


@pytest.fixture(scope="module")
def store(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with a group of its own that may allocate in a namespace."""
    place = tmp_path_factory.mktemp("ldap") / "s"
    shutil.copytree(prepared, place)
    with idstore.open(place) as registry:
        registry.add_party(Party("staff"), ALICE, kind="group")
        registry.add_namespace("staffed", "http://staffed.example.org/data#", "rdswip", ALICE)
        registry.allow("staffed", ["staff"], ALICE)
    return place


@pytest.fixture(scope="module")
def served(store: Path, directory: Slapd) -> Iterator[Server]:
    path = settings(
        store.parent,
        f"ldaps://127.0.0.1:{directory.secure}",
        ca_file=str(directory.folder / "ca.pem"),
        groups={"editors": "staff", f"cn=others,{GROUPS}": "staff", "inner": "nowhere"},
    )
    with Server(store, ("--settings", str(path))) as server:
        yield server


def sign_in(server: Server, name: str, password: str = PASSWORD) -> Reply:
    """Ask for the tokens of the caller, which needs a sign-in."""
    return server.ask("GET", TOKENS, basic=f"{name}:{password}")


def test_members_of_the_group_sign_in(served: Server) -> None:
    minted = served.ask("POST", MINT, {}, basic=f"bob:{PASSWORD}")
    assert (minted.status, minted.json["owner"]) == (201, "bob")
    assert minted.headers["cache-control"] == "private, no-store"


@pytest.mark.parametrize("name", ["alice", "eve"])
def test_members_of_groups_in_the_group_sign_in(served: Server, name: str) -> None:
    assert sign_in(served, name).status == 200


@pytest.mark.parametrize(
    ("name", "password"),
    [("bob", "wrong"), ("bob", PASSWORD.upper()), ("bob", ""), ("dave", PASSWORD), ("mallory", PASSWORD)],
)
def test_others_do_not_sign_in(
    prepared: Path, directory: Slapd, name: str, password: str, tmp_path: Path
) -> None:
    path = settings(tmp_path, f"ldap://127.0.0.1:{directory.plain}")
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s", ("--settings", str(path))) as server:
        reply = sign_in(server, name, password)
        assert (reply.status, reply.json["error"]) == (401, "sign-in-required")
        assert sign_in(server, "carol").status == 200
    log = "".join(server.lines)
    assert PASSWORD not in log
    assert name not in log


def test_one_party_however_its_name_is_typed(served: Server) -> None:
    for name in ("BOB", "Bob", "\uff42ob"):
        assert served.ask("POST", MINT, {}, basic=f"{name}:{PASSWORD}").json["owner"] == "bob"


@pytest.mark.parametrize(
    "name",
    [
        "*",
        "b*",
        "bob)(uid=*",
        "bob)(|(uid=*",
        "*)(uid=*))(|(uid=*",
        "bob\0",
        "bob,ou=people",
        " bob",
        "bob ",
        f"uid=bob,{PEOPLE}",
        "bob\\2a",
        "b" * 5000,
        "bob#",
        "",
        "böb",
        "bob+cn=x",
    ],
)
def test_hostile_names_sign_nobody_in(prepared: Path, directory: Slapd, tmp_path: Path, name: str) -> None:
    path = settings(tmp_path, f"ldap://127.0.0.1:{directory.plain}")
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s", ("--settings", str(path))) as server:
        assert sign_in(server, name).status == 401
        assert sign_in(server, "bob").status == 200


def test_a_token_is_a_password_too_and_goes_to_no_directory(served: Server, directory: Slapd) -> None:
    token = served.token(BOB)
    assert sign_in(served, "bob", token).status == 200
    assert sign_in(served, "bob", f"{token}x").status == 401
    directory.stop()
    try:
        assert sign_in(served, "bob", token).status == 200
        assert sign_in(served, "bob", f"{token}x").status == 401
        assert served.ask("GET", TOKENS, token=token).status == 200
    finally:
        directory.start()


def test_groups_of_the_directory_are_groups_of_the_registry(served: Server) -> None:
    staffed = MINT.replace("rdl", "staffed")
    assert served.ask("POST", staffed, {}, basic=f"alice:{PASSWORD}").status == 201
    assert served.ask("POST", staffed, {}, basic=f"eve:{PASSWORD}").status == 201
    refused = served.ask("POST", staffed, {}, basic=f"carol:{PASSWORD}")
    assert (refused.status, refused.json["error"]) == (403, "not-permitted")
    assert served.ask("POST", staffed, {}, token=served.token(Party("eve"))).status == 403


def test_who_signs_in_elsewhere_makes_no_token(served: Server) -> None:
    refused = served.ask("POST", TOKENS, {}, basic=f"bob:{PASSWORD}")
    assert (refused.status, refused.json["error"]) == (403, "not-permitted")
    assert served.ask("POST", TOKENS, {}, token=served.token(BOB)).status == 201


def test_a_removal_from_the_group_takes_seconds_at_most(served: Server, directory: Slapd) -> None:
    assert sign_in(served, "carol").status == 200
    directory.change("rdswip_registry", "carol", member=False)
    try:
        end = time.monotonic() + GONE
        while sign_in(served, "carol").status == 200:
            assert time.monotonic() < end
            time.sleep(0.2)
    finally:
        directory.change("rdswip_registry", "carol", member=True)


def test_an_entry_with_two_names_is_no_party(served: Server, directory: Slapd) -> None:
    directory.add_user("two", ["frank", "francis"])
    assert sign_in(served, "frank").status == sign_in(served, "francis").status == 401


def test_a_directory_that_is_down_is_no_wrong_password(
    prepared: Path, directory: Slapd, tmp_path: Path
) -> None:
    path = settings(tmp_path, f"ldap://127.0.0.1:{directory.plain}", cached_seconds=0)
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s", ("--settings", str(path))) as server:
        directory.stop()
        try:
            for _ in range(12):  # more than the failures after which an address is refused
                reply = sign_in(server, "bob")
                assert (reply.status, reply.json["error"]) == (503, "sign-in-unavailable")
            assert int(reply.headers["retry-after"]) > 0
            assert server.ask("GET", "/api/v1/identifiers").status == 200
        finally:
            directory.start()
        assert sign_in(server, "bob").status == 200
    log = "".join(server.lines)
    assert f"the directory ldap://127.0.0.1:{directory.plain} cannot be asked" in log
    assert "bob" not in log


def test_the_documented_settings(prepared: Path, directory: Slapd, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "deploy.md").read_text(encoding="utf-8")
    text = page.partition("In `/etc/idstore/settings.toml`:\n\n```toml\n")[2].partition("```")[0]
    for name, content in {"ldap-password": PASSWORD, "proxy-secret": "0123456789abcdef" * 2}.items():
        text = text.replace(f"/etc/idstore/{name}", str(tmp_path / name))
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o600)
    text = text.replace("ldaps://ldap.example.org", f"ldaps://127.0.0.1:{directory.secure}")
    text = text.replace("/etc/ssl/certs/directory.pem", str(directory.folder / "ca.pem"))
    (tmp_path / "settings.toml").write_text(text)
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s", ("--settings", str(tmp_path / "settings.toml"))) as server:
        assert sign_in(server, "eve").status == 200
        headers = {"X-Remote-User": "frank", "Idstore-Proxy-Secret": "0123456789abcdef" * 2}
        assert server.ask("GET", TOKENS, headers=headers).status == 200


def test_start_tls(prepared: Path, directory: Slapd, tmp_path: Path) -> None:
    path = settings(
        tmp_path,
        f"ldap://127.0.0.1:{directory.plain}",
        start_tls=True,
        ca_file=str(directory.folder / "ca.pem"),
    )
    shutil.copytree(prepared, tmp_path / "s")
    with Server(tmp_path / "s", ("--settings", str(path))) as server:
        assert sign_in(server, "bob").status == 200
        assert sign_in(server, "bob", "wrong").status == 401


@pytest.mark.parametrize("way", ["ldaps", "start_tls"])
@pytest.mark.parametrize("wrong", ["authority", "host"])
def test_a_bad_certificate_gets_no_password(prepared: Path, tmp_path: Path, way: str, wrong: str) -> None:
    for name in ("slapd", "other"):
        (tmp_path / name).mkdir()
    certificates(tmp_path / "other")
    host = "127.0.0.1" if wrong == "authority" else "elsewhere.example.org"
    with Slapd(tmp_path / "slapd", host=host) as directory:
        authority = tmp_path / ("other" if wrong == "authority" else "slapd") / "ca.pem"
        address = {
            "ldaps": f"ldaps://127.0.0.1:{directory.secure}",
            "start_tls": f"ldap://127.0.0.1:{directory.plain}",
        }
        path = settings(tmp_path, address[way], ca_file=str(authority), start_tls=way == "start_tls")
        shutil.copytree(prepared, tmp_path / "s")
        with Server(tmp_path / "s", ("--settings", str(path))) as server:
            assert sign_in(server, "bob").status == 503
            log = server.log_after("cannot be asked")
            assert "certificate verify failed" in log or way == "start_tls"


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
def test_a_directory_that_never_answers_holds_up_no_other_request(
    prepared: Path, tmp_path: Path, scheme: str
) -> None:
    shutil.copytree(prepared, tmp_path / "s")
    with socket.create_server(("127.0.0.1", 0), backlog=100) as hole:
        path = settings(tmp_path, f"{scheme}://127.0.0.1:{hole.getsockname()[1]}", seconds=1.5)
        with Server(tmp_path / "s", ("--settings", str(path))) as server, ThreadPoolExecutor(100) as clients:
            begun = time.monotonic()
            waiting = [clients.submit(sign_in, server, f"party{number}") for number in range(100)]
            wait_until(lambda: any(one.done() for one in waiting))
            assert server.ask("GET", TOKENS, token=server.token(BOB)).status == 200
            assert server.ask("GET", "/api/v1/identifiers").status == 200
            replies = [one.result() for one in waiting]
            assert {reply.status for reply in replies} == {503}
            assert time.monotonic() - begun < 15
        assert server.process.returncode == 0


def test_clients_of_the_generator_sign_in_by_the_directory(served: Server) -> None:
    base = "http://rdl.example.org/data#"
    for kind in (StringClient, DeserialisingClient):
        identifier = kind(served.address, "alice", PASSWORD).acquire(base, "ball valve & more")
        assert identifier.startswith(f"{base}R")
        with pytest.raises(OSError, match="401"):
            kind(served.address, "dave", PASSWORD).acquire(base, "not in the group")

"""The files of docs/deploy.md work: nginx in front of a server, systemd's units, the backup."""

import base64
import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from getpass import getuser
from pathlib import Path
from typing import Any, Final

import pytest
from command_lines import NEVER
from serving import ALICE, BOB, Reply, Server, wait_until

import idstore
from idstore.server.sign_in.attempts import ATTEMPTS

PAGE: Final = Path(__file__).parents[2] / "docs" / "deploy.md"
FILES: Final = {
    Path(name).name: text
    for name, text in re.findall(
        r"[Ii]n `(/[^`]+)`[^\n]*:\n\n```\w+\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
}
NGINX, OPENSSL, SYSTEMD = (shutil.which(name) for name in ("nginx", "openssl", "systemd-analyze"))
API: Final = "/ids/api/v1"
MINT: Final = f"{API}/namespaces/rdl/identifiers"
FAR, FARTHER = "127.0.0.2", "127.0.0.3"
"""Addresses of clients."""
LARGE: Final = """SELECT ?d { VALUES ?n { %s } BIND("0123456789abcdef" AS ?a) BIND(CONCAT(?a,?a,?a,?a,?a,?a,?a,?a) AS ?b)
    BIND(CONCAT(?b,?b,?b,?b,?b,?b,?b,?b) AS ?c) BIND(CONCAT(?c,?c,?c,?c,?c,?c,?c,?c,STR(?n)) AS ?d) }"""  # noqa: E501
"""A query whose answer has 8 KiB for each number."""

needs_nginx = pytest.mark.skipif(
    not (NGINX and OPENSSL), reason="nginx or openssl is not installed: apt-get install nginx-light openssl"
)


def replaced(text: str, changes: dict[str, str]) -> str:
    """Return a text with other ports and paths, all of them found in it."""
    for old, new in changes.items():
        assert old in text, f"docs/deploy.md does not say {old}"
        text = text.replace(old, new)
    return text


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@dataclass
class Site:
    """nginx with the configuration of the page, and the server behind it."""

    folder: Path
    server: Server
    port: int
    plain: int
    context: ssl.SSLContext
    alice: str
    bob: str

    def open(self, source: str = "127.0.0.1") -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=30, context=self.context, source_address=(source, 0)
        )

    def ask(
        self,
        method: str,
        path: str,
        sent: Any = None,
        *,
        token: str | None = None,
        source: str = "127.0.0.1",
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """Send a request to nginx and return the answer."""
        sending = {"Content-Type": "application/json", **(headers or {})}
        if token is not None:
            sending["Authorization"] = f"Bearer {token}"
        connection = self.open(source)
        try:
            body = sent if isinstance(sent, bytes) or sent is None else json.dumps(sent)
            connection.request(method, path, body, sending)
            reply = connection.getresponse()
            return Reply(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
        finally:
            connection.close()

    def asked(self, path: str) -> list[dict[str, Any]]:
        """Return what the access log of the server says of a path, once it is complete."""
        end = f"/ids/none/{time.monotonic_ns()}"
        self.ask("GET", end)
        self.server.log_after(end)
        entries = [json.loads(line) for line in "".join(self.server.lines).splitlines()]
        return [entry for entry in entries if entry["path"] == path]


@contextmanager
def running(folder: Path, options: tuple[str, ...] = (), more: str = "") -> Iterator[Site]:
    """Run the server of the store in a folder, and nginx before it.

    options  more options of the server.
    more     more lines for the location of nginx.
    """
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    command = (
        f"{OPENSSL} req -x509 -newkey rsa:2048 -nodes -days 2 -keyout {folder}/key -out {folder}/certificate"
    )
    subprocess.run([*command.split(), *subject], check=True, capture_output=True)
    context = ssl.create_default_context(cafile=folder / "certificate")
    found = re.search(r"idstore serve (.*)", FILES["idstore.service"])
    assert found
    with Server(folder / "s", (*found[1].split(), *options)) as server:
        port, plain = free_port(), free_port()
        _configure(folder, server.port, port, plain, more)
        nginx = subprocess.Popen(
            [str(NGINX), "-p", str(folder), "-c", str(folder / "nginx.conf"), "-e", str(folder / "errors")]
        )
        try:
            tokens = server.token(ALICE), server.token(BOB)
            site = Site(folder, server, port, plain, context, *tokens)
            wait_until(lambda: (folder / "errors").exists() and _answers(port))
            yield site
            site.server.end(signal.SIGTERM)
        finally:
            nginx.send_signal(signal.SIGTERM)
            assert nginx.wait(20) == 0


@pytest.fixture(scope="module")
def site(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(prepared, folder / "s")
    with running(folder) as found:
        yield found


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _configure(folder: Path, behind: int, port: int, plain: int, more: str = "") -> None:
    """Write the configuration of the page with other ports and paths, and what surrounds it.

    more  lines for the location of the server.
    """
    site = replaced(
        FILES["idstore.conf"],
        {
            "/var/cache/nginx/idstore": f"{folder}/cache",
            "127.0.0.1:8155": f"127.0.0.1:{behind}",
            "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
            "server_name ids.example.org": "server_name localhost",
            "/etc/ssl/ids.pem": f"{folder}/certificate",
            "/etc/ssl/ids.key": f"{folder}/key",
            "        proxy_pass http://idstore;": f"        proxy_pass http://idstore;\n{more}",
        },
    )
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    (folder / "nginx.conf").write_text(
        f"user {getuser()};\ndaemon off;\npid {folder}/pid;\nworker_processes 1;\nevents {{}}\nhttp {{\n"
        + "".join(f"{kind}_temp_path {folder}/temporary/{kind};\n" for kind in kinds)
        + f"access_log off;\n{site}\n}}\n",
        encoding="utf-8",
    )
    (folder / "temporary").mkdir()


def mint(site: Site, token: str, **sent: str) -> str:
    reply = site.ask("POST", MINT, sent, token=token)
    assert reply.status == 201, reply.body
    return str(reply.json["id"])


@needs_nginx
@pytest.mark.slow
def test_what_is_the_same_for_everybody_comes_from_the_cache(site: Site) -> None:
    path = f"{API}/openapi.json"
    replies = [site.ask("GET", path, token=token) for token in (site.alice, None, site.bob)]
    assert {reply.status for reply in replies} == {200}
    assert len({reply.body for reply in replies}) == 1
    assert replies[0].json["servers"] == [{"url": "/ids"}]
    assert len(site.asked(path)) == 1


@needs_nginx
@pytest.mark.slow
def test_head_stays_head_so_that_it_mints_nothing(site: Site) -> None:
    path = "/ids/registry?registry-op=acquire&registry-base=http%3a%2f%2frdl.example.org%2fdata%23"
    assert site.ask("GET", path, token=site.alice).status == 200
    assert site.ask("HEAD", path, token=site.alice).status == 405
    assert [entry["status"] for entry in site.asked("/ids/registry")][-2:] == [200, 405]
    cached = f"{API}/openapi.json"
    head, get = (site.ask(method, cached) for method in ("HEAD", "GET"))
    assert (head.status, head.body, get.status) == (200, b"", 200)
    assert get.json["openapi"]


@needs_nginx
@pytest.mark.slow
def test_no_party_gets_what_another_one_asked_for(site: Site) -> None:
    hidden = mint(site, site.alice, name="valve")
    path = f"{API}/identifier?id={hidden.replace('#', '%23')}"
    before = len(site.asked(f"{API}/identifier"))
    callers = [site.alice, None, site.bob, site.alice, None]
    replies = [site.ask("GET", path, token=token) for token in callers]
    assert [reply.status for reply in replies] == [200, 404, 404, 200, 404]
    assert {reply.headers["cache-control"] for reply in replies} == {"private, no-store"}
    assert len(site.asked(f"{API}/identifier")) == before + len(callers)
    lists = [site.ask("GET", f"{API}/identifiers", token=token).body for token in callers]
    assert [hidden.encode() in body for body in lists] == [True, False, False, True, False]
    absent = site.ask("GET", f"{API}/identifier?id={NEVER.replace('#', '%23')}")
    assert absent.headers.keys() == replies[1].headers.keys()


@needs_nginx
@pytest.mark.slow
def test_a_repeated_creation_gives_the_same_identifier(site: Site) -> None:
    key = {"Idempotency-Key": "k-1"}
    first, again, other = (
        site.ask("POST", MINT, {"name": name}, token=site.alice, headers=key) for name in ("x", "x", "y")
    )
    assert (first.status, first.json["id"]) == (201, again.json["id"])
    assert other.status == 409


@needs_nginx
@pytest.mark.slow
def test_long_addresses_and_headers_pass(site: Site) -> None:
    target = f"https://example.org/{'x' * 25_000}"
    for _ in range(2):
        sent = {"id": mint(site, site.alice), "target": target}
        assert site.ask("POST", f"{API}/bind", sent, token=site.alice).status == 200
    page = site.ask("GET", f"{API}/list-bound?text={target}&limit=1", token=site.alice)
    assert page.status == 200 and target.rpartition("/")[2] in page.headers["link"]


@needs_nginx
@pytest.mark.slow
def test_programs_work_below_the_prefix(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(site.folder / "certificate"))
    with idstore.connect(f"https://localhost:{site.port}/ids/", token=site.bob) as registry:
        minted = registry.mint("rdl", BOB).iri
        assert registry.show(minted, BOB).owner == "bob"
    assert site.ask("GET", "/healthz").status == 404
    assert site.ask("GET", "/ids/none").json["error"] == "not-registered"


@needs_nginx
@pytest.mark.slow
def test_plain_http_leads_to_https(site: Site) -> None:
    connection = http.client.HTTPConnection("localhost", site.plain, timeout=20)
    connection.request("GET", "/ids/healthz?x=1")
    reply = connection.getresponse()
    assert (reply.status, reply.headers["Location"]) == (308, "https://localhost/ids/healthz?x=1")
    connection.close()


@needs_nginx
@pytest.mark.slow
def test_refusals_arrive_as_the_server_words_them(site: Site) -> None:
    large = site.ask("POST", MINT, b'{"name": "' + b"x" * (5 << 20) + b'"}', token=site.alice)
    assert (large.status, large.json["error"]) == (413, "request-too-large")
    table = b"x" * (17 << 20)
    for token, status in ((site.bob, 413), ("ids_wrong", 401)):
        refused = site.ask("POST", f"{API}/imports?format=csv", table, token=token)
        assert refused.status == status
    endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p }"
    late = site.ask("POST", f"{API}/query", {"text": endless, "timeout": 0.2}, token=site.alice)
    assert (late.status, late.json["error"]) == (422, "limit-reached")


@needs_nginx
@pytest.mark.slow
def test_failed_sign_ins_are_counted_for_each_client(site: Site) -> None:
    path = f"{API}/identifiers"
    codes = [site.ask("GET", path, token="ids_x", source=FARTHER).status for _ in range(ATTEMPTS + 1)]
    assert codes == [401] * ATTEMPTS + [429]
    spoofed = {"X-Forwarded-For": "203.0.113.9"}
    late = site.ask("GET", path, token="ids_x", source=FARTHER, headers=spoofed)
    assert (late.status, late.json["error"]) == (429, "too-many-attempts")
    assert int(late.headers["retry-after"]) > 0
    assert site.ask("GET", path, token=site.alice, source=FAR).status == 200


@needs_nginx
@pytest.mark.slow
def test_the_access_log_has_the_address_of_the_client(site: Site) -> None:
    path = f"{API}/namespaces"
    for headers in ({}, {"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9"}):
        assert site.ask("GET", path, source=FAR, headers=headers).status == 200
        assert site.asked(path)[-1]["client"] == FAR


@needs_nginx
@pytest.mark.slow
def test_an_answer_goes_on_while_it_is_read(site: Site) -> None:
    """The slow reader reads nothing until the fast one has read everything: the server still sends to it."""
    rows = 4400  # more bytes than the buffers between server and reader take
    text = json.dumps({"text": LARGE % " ".join(map(str, range(rows))), "format": "csv"})
    headers = {"Authorization": f"Bearer {site.alice}", "Content-Type": "application/json"}
    slow, fast = site.open(), site.open()
    slow.connect()
    slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    for connection in (slow, fast):
        connection.request("POST", f"{API}/query", text, headers)
    begun = slow.getresponse()
    whole = fast.getresponse().read()
    assert whole.count(b"\n") == rows + 1
    assert "idstore_active_requests 2.0" in site.server.ask("GET", "/metrics").body.decode()
    assert begun.read() == whole
    slow.close()
    fast.close()


@needs_nginx
@pytest.mark.slow
def test_health_is_public_and_figures_are_not(site: Site) -> None:
    for path in ("/ids/healthz", "/ids/readyz"):
        assert site.ask("GET", path).body == b"ok\n"
        assert site.ask("GET", path).headers["cache-control"] == "no-store"
    assert site.ask("GET", "/ids/metrics", token=site.alice).status == 404
    assert site.server.ask("GET", "/metrics").status == 200


@needs_nginx
@pytest.mark.slow
def test_the_lines_for_a_trusted_header_sign_in_who_has_the_password(prepared: Path, tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    shutil.copytree(prepared, tmp_path / "s")
    secret, users = tmp_path / "secret", tmp_path / "users"
    secret.write_text("0123456789abcdef" * 4)
    secret.chmod(0o600)
    users.write_text("alice:{PLAIN}open sesame\n")
    settings = tmp_path / "settings.toml"
    settings.write_text(
        '[trusted_header]\nheader = "X-Remote-User"\nproxies = ["127.0.0.1"]\nsecret_file = "secret"\n'
    )
    [lines] = re.findall(r"```nginx\n( +auth_basic .*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    more = replaced(lines, {"/etc/nginx/idstore-users": str(users), "…": secret.read_text()})
    with running(tmp_path, ("--settings", str(settings)), more) as site:

        def ask(name: str, password: str, **more: str) -> int:
            basic = base64.b64encode(f"{name}:{password}".encode()).decode()
            headers = {"Authorization": f"Basic {basic}", **more}
            return site.ask("GET", f"{API}/tokens", headers=headers).status

        assert ask("alice", "open sesame") == 200
        assert ask("alice", "not the password") == 401
        assert ask("bob", "open sesame", **{"X-Remote-User": "alice"}) == 401
        assert ask("alice", "open sesame", **{"X-Remote-User": "bob"}) == 200
        assert site.ask("GET", f"{API}/tokens", token=site.alice).status == 401


@needs_nginx
@pytest.mark.slow
def test_a_backup_and_an_upgrade_keep_what_was_issued(site: Site, tmp_path: Path) -> None:
    before = mint(site, site.alice)
    copies = tmp_path / "copies"
    copies.mkdir()
    old = copies / "2026-01-01T030000Z"
    old.mkdir()
    os.utime(old, (0, 0))
    script = tmp_path / "backup"
    places = {"/opt/idstore/bin/idstore": f"{sys.executable} -m idstore", "/var/backups/idstore": str(copies)}
    script.write_text(replaced(FILES["idstore-backup"], places), encoding="utf-8")
    environment = {**os.environ, "IDSTORE_STORE": str(site.server.store), "IDSTORE_USER": "alice"}
    done = subprocess.run(["sh", script], env=environment, capture_output=True, text=True, check=True)
    assert "sound" in done.stdout
    [copy] = copies.iterdir()
    between = mint(site, site.alice)

    assert site.server.end(signal.SIGTERM) == 0
    assert site.ask("GET", "/ids/readyz").status == 502
    options = (*site.server.options, "--port", str(site.server.port))
    site.server = Server(site.server.store, options).__enter__()
    assert site.ask("GET", "/ids/readyz").status == 200
    after = mint(site, site.alice)
    listed = {one["id"] for one in site.ask("GET", f"{API}/identifiers", token=site.alice).json}
    assert {before, between, after} <= listed

    idstore.opening.restore(copy, tmp_path / "restored")
    with idstore.open(tmp_path / "restored") as restored:
        kept = {record.iri for record in restored.list(ALICE, limit=None)}
    assert before in kept
    assert between not in kept


@pytest.mark.skipif(SYSTEMD is None, reason="systemd-analyze is not installed: apt-get install systemd")
@pytest.mark.slow
def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    units = [name for name in FILES if name.endswith((".service", ".timer"))]
    assert len(units) == 3
    for name in units:
        text = re.sub(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", FILES[name])
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [str(SYSTEMD), "verify", "--man=no", *(str(tmp_path / name) for name in units)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    security = [str(SYSTEMD), "security", "--offline=true", "--threshold=25"]
    for name in units[:1]:
        done = subprocess.run([*security, str(tmp_path / name)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout

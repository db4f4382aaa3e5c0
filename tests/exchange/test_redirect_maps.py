"""Redirect maps: nginx and Apache answer from them as `resolve` does; no target changes a configuration."""

import http.client
import io
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

import idstore
from idstore import NoTarget, Party, Registry, Request, Statement
from idstore.errors import InvalidData
from idstore.exchange.exporting import export, omissions
from idstore.exchange.redirect_maps import FORMATS
from idstore.model.filter import Filter
from idstore.model.party import NOBODY
from idstore.registry.handle_values import Draft
from idstore.web_addresses import location

ANN, ROOT = Party("ann"), Party("root")
PAGE = Path(__file__).parents[2] / "docs" / "deploy.md"
CONFIGURATIONS = dict(
    re.findall(
        r"`/etc/(nginx|apache2)/[^`]+/redirects.conf`:\n\n```\w+\n(.*?)```",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL,
    )
)
HOSTILE = {
    "a b": "http://t.example/a?b=c;return%20200;#d",
    "q'\"{}": "http://t.example/q'()*;,!",
    "s;": "http://t.example/$uri$1%12?x=$host&y=$",
    "$uri": "http://t.example/%7Buri%7D%0A%0d;'",
    "back\\slash": "http://[2001:db8::1]:80/",
    "~.*": "http://t.example/%20",
    "Case.x": "http://t.example/upper",
    "case.x": "http://t.example/lower",
    "CASE.X": None,
    "ü/ä?#%": "http://bücher.example/ü%20ä",
    "long" * 200: "http://t.example/" + "long" * 100,
    "LONG" * 200: "http://t.example/LONG",
    "longer": "http://t.example/" + "long" * 1200,
}
"""Labels and targets with characters that mean something in the files."""


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with idstore.open(tmp_path_factory.mktemp("maps") / "store", administrator=ROOT) as registry:
        registry.add_namespace("h", "12345", "handle", ROOT)
        registry.add_namespace("other", "http://other.example.org/12345/", "puid", ROOT)
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ROOT)
        for label, target in HOSTILE.items():
            name = registry.register("h", label, ANN, Request(force=True)).iri
            if target is not None:
                registry.set_value(name, Draft("URL", target), ANN)
            registry.fixate([name], ANN)
        for label in ("new", "old", "matched", "gone", "nowhere", "script", "draft", "alias"):
            registry.register("h", label, ANN)
        for label in ("new", "gone", "draft"):
            registry.set_value(f"h:{label}", Draft("URL", f"http://t.example/{label}"), ANN)
        registry.set_value("h:alias", Draft("HS_ALIAS", "12345/new"), ANN)
        registry.target("h:script", "urn:isbn:0451450523", ANN)
        registry.bind("h:matched", Statement("http://t.example/match"), ANN)
        registry.fixate(
            [f"h:{x}" for x in ("new", "old", "matched", "gone", "nowhere", "script", "alias")], ANN
        )
        registry.register("h", "fmt/1", ANN)
        registry.fixate(["h:fmt/1", registry.mint("other", ANN).iri], ANN)
        registry.supersede("h:old", ["h:new"], ANN)
        registry.supersede("h:gone", ["h:new"], ANN)
        registry.revoke("h:gone", "abuse", ROOT)
        registry.fixate([registry.mint("rdl", ANN, Request(target="http://t.example/rdl")).iri], ANN)
        yield registry


def written(registry: Registry, format: str, filter: Filter, party: Party = ROOT) -> bytes:
    target = io.BytesIO()
    export(registry, target, party, filter, format)
    return target.getvalue()


def expected(registry: Registry, format: str) -> dict[str, str | None]:
    """Return the address of each handle by its path, as a caller without a name resolves it."""
    found = dict[str, str | None]()
    with registry.records(ROOT) as records:
        for record in records:
            if record.namespace.endswith("/12345/"):
                try:
                    target = registry.resolve(record, NOBODY).target
                except (NoTarget, LookupError):
                    target = None
                address = location(target or "")
                path = urlsplit(record.iri).path
                if address is not None and format == "nginx-map":
                    address = None if len(address) > 4000 else address.replace("$", "%24")
                elif address is not None:
                    unfit = "%20" in path or len(path) + len(address) > 1000
                    address = None if unfit else address
                found[path] = address
    return found


@contextmanager
def serving(words: list[str], port: int, environment: dict[str, str] | None = None) -> Iterator[None]:
    """Run a web server in the foreground for the block."""
    with subprocess.Popen(words, env={**os.environ, **(environment or {})}) as process:
        try:
            while process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except ConnectionRefusedError:
                    continue
            yield
        finally:
            process.send_signal(signal.SIGTERM)


def answered(port: int, path: str) -> str | None:
    """Return the address that a server redirects to, None for another answer."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as connection:
        connection.request("GET", quote(path, safe="/%"))
        answer = connection.getresponse()
        assert answer.status in (302, 403, 404)
        assert (answer.status == 302) == (answer.headers["Location"] is not None)
        return answer.headers["Location"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def ask_all(registry: Registry, format: str, port: int) -> None:
    wanted = expected(registry, format)
    assert len({*wanted.values()}) > 10
    assert {path: answered(port, path) for path in wanted} == wanted
    for path in ("/12345/never", "/12345/", "/", "/12345/draft"):
        assert answered(port, path) is None


@pytest.mark.skipif(not shutil.which("nginx"), reason="nginx is not installed: apt-get install nginx-light")
def test_nginx_answers_as_resolve(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "idstore.map").write_bytes(written(registry, "nginx-map", Filter(namespace="h")))
    port = free_port()
    text = CONFIGURATIONS["nginx"].replace("/etc/nginx/idstore.map", f"{tmp_path}/idstore.map")
    text = text.replace("listen 80;", f"listen 127.0.0.1:{port};")
    kept = "".join(
        f"{kind}_temp_path {tmp_path}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {tmp_path}/pid; error_log {tmp_path}/errors;"
        f" events {{}} http {{ access_log off; {kept} {text} }}"
    )
    words = ["nginx", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "errors")]
    tried = subprocess.run([*words, "-t"], capture_output=True, text=True, check=False)
    assert tried.returncode == 0, tried.stderr
    with serving(words, port):
        ask_all(registry, "nginx-map", port)


@pytest.mark.skipif(
    not shutil.which("apache2"), reason="Apache is not installed: apt-get install apache2-bin"
)
def test_apache_answers_as_resolve(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "idstore.map").write_bytes(written(registry, "apache-map", Filter(namespace="h")))
    port, program = free_port(), Path(shutil.which("apache2") or "")
    modules = program.parents[1] / "lib" / "apache2" / "modules"
    text = CONFIGURATIONS["apache2"].replace("/etc/apache2/idstore.map", f"{tmp_path}/idstore.map")
    loaded = [f"LoadModule {name}_module {modules}/mod_{name}.so" for name in ("mpm_event", "authz_core")]
    (tmp_path / "apache.conf").write_text(
        "\n".join(
            [
                *loaded,
                f"LoadModule rewrite_module {modules}/mod_rewrite.so",
                f"ServerRoot {tmp_path}",
                f"PidFile {tmp_path}/pid",
                f"DefaultRuntimeDir {tmp_path}",
                f"ErrorLog {tmp_path}/errors",
                f"DocumentRoot {tmp_path}",
                "ServerName localhost",
                f"Listen 127.0.0.1:{port}",
                text,
            ]
        )
    )
    with serving([str(program), "-X", "-f", str(tmp_path / "apache.conf")], port):
        ask_all(registry, "apache-map", port)


def test_each_line_is_one_redirect(registry: Registry) -> None:
    """Both files keep their form, whatever characters labels and targets have."""
    for line in written(registry, "nginx-map", Filter(namespace="h")).splitlines():
        assert re.fullmatch(rb'"(?:[^"\\]|\\.)+" "[!#%-\[\]-~]+";', line), line
    for line in written(registry, "apache-map", Filter(namespace="h")).splitlines():
        assert re.fullmatch(rb"/[^\s]+ http://[!-~]+", line), line


@pytest.mark.parametrize("format", FORMATS)
def test_a_map_is_the_same_for_everyone_and_tells_what_it_lacks(registry: Registry, format: str) -> None:
    chosen = Filter(namespace="h")
    told = omissions(registry, ROOT, chosen, format)
    assert written(registry, format, chosen) == written(registry, format, chosen, NOBODY)
    assert told == omissions(registry, NOBODY, chosen, format)
    base = "https://hdl.handle.net/12345/"
    assert f"left out: 1 withdrawn, such as {base}gone" in told
    assert f"left out: 3 without a target, such as {base}{quote('CASE.X')}" in told
    assert f"left out: 1 with a target that is no address of the web, such as {base}script" in told
    assert sum("too long" in line for line in told) == 1
    assert not [line for line in told if "draft" in line]
    assert omissions(registry, ROOT, chosen, "turtle") == []


def test_an_iri_without_a_path_of_its_own_has_that_of_a_server(registry: Registry) -> None:
    with registry.records(NOBODY, Filter(namespace="rdl")) as records:
        [record] = records
    line = written(registry, "apache-map", Filter(namespace="rdl")).decode()
    assert line == f"/id/rdl/{record.label} http://t.example/rdl\n"


def test_namespaces_with_the_same_paths_need_a_map_each(registry: Registry) -> None:
    with pytest.raises(InvalidData, match="have the same path, /12345/fmt/1"):
        written(registry, "nginx-map", Filter())
    with pytest.raises(InvalidData, match="holds no drafts"):
        written(registry, "nginx-map", Filter(stage="created"))

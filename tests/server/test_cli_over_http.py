"""The command line over HTTP: how it signs in, what it sends, and servers that end between two requests."""

import json
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from serving import ALICE, Server

from idstore.cli import app

ACTS = re.compile(r".*/(identifiers|batches|registrations|requests|add-version|replace)$")
"""Operations that make an identifier."""
ARTICLE = '{"issn": "1936-0851", "volume": "4", "issue": "10", "page": "%d", "title": "A title"}\n'


@pytest.fixture
def lost_after_the_act(server: Server) -> Iterator[str]:
    """Yield the address of a proxy that forwards the first act, and closes all later connections."""

    class Handler(BaseHTTPRequestHandler):
        """Forwards requests to the server."""

        has_acted = False

        def do_GET(self) -> None:
            """Forward a request, unless an act was forwarded."""
            if Handler.has_acted:
                self.close_connection = True
                return
            Handler.has_acted = self.command == "POST" and ACTS.match(self.path) is not None
            sent = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {"Authorization": self.headers["Authorization"], "Content-Type": "application/json"}
            reply = server.ask(self.command, self.path, sent or None, headers=headers)
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.headers["content-type"])
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        do_POST = do_GET  # noqa: N815 the name that the base class calls

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=[0.02])
        thread.start()
        yield f"http://127.0.0.1:{proxy.server_port}/"
        proxy.shutdown()
        thread.join()


@pytest.fixture
def article(tmp_path: Path) -> str:
    file = tmp_path / "article.json"
    file.write_text(ARTICLE % 6153)
    return str(file)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    ("act", "known"),
    [
        ("mint rdl --comment lost", 1),
        ("register h lost/{form} --comment lost", 1),
        ("register h lost/{form}-ü", 1),
        ("mint own --count 2", 2),
        ("mint sp --metadata {article} --comment lost", 1),
        ("replace {old} --metadata {article}", 1),
        ("version add {work} --number V1.0", 1),
    ],
)
def test_a_new_identifier_is_printed_although_the_server_is_gone_after_the_act(
    server: Server,
    lost_after_the_act: str,
    article: str,
    alice: str,
    act: str,
    known: int,
    form: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("IDSTORE_TOKEN", alice)
    named = {"article": article, "form": form}
    if "{old}" in act:
        app.run(["--store", server.address, "mint", "sp", "--metadata", article])
        named["old"] = capsys.readouterr().out.strip()
    if "{work}" in act:
        app.run(["--store", server.address, "mint", "rdl"])
        named["work"] = capsys.readouterr().out.strip()
        app.run(["--store", server.address, "fixate", named["work"]])
        capsys.readouterr()
    words = act.format(**named).split()
    code = app.run(["--store", lost_after_the_act, *(["--json"] if form == "json" else []), *words])
    out, err = capsys.readouterr()
    printed = [json.loads(line)["id"] for line in out.splitlines()] if form == "json" else out.splitlines()
    assert (code, len(printed)) == (0, known), err
    assert ("could not be read" in err) == (form == "json")
    for iri in printed:
        assert app.run(["--store", server.address, "show", iri]) == 0


def test_derivations_of_any_number_of_articles_are_small_requests(
    prepared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    shutil.copytree(prepared, tmp_path / "store")
    (tmp_path / "articles.json").write_text("".join(ARTICLE % page for page in [*range(1, 61), 1]))
    with Server(tmp_path / "store", limits={"body": 2048}) as served:
        monkeypatch.setenv("IDSTORE_TOKEN", served.token(ALICE))
        words = ["derive", "sp", "--metadata", str(tmp_path / "articles.json"), "--json"]
        code = app.run(["--store", served.address, *words])
    out, err = capsys.readouterr()
    assert (code, [json.loads(line)["collides"] for line in out.splitlines()]) == (
        0,
        [False] * 60 + [True],
    ), err


def test_an_empty_user_names_no_party(
    server: Server, alice: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IDSTORE_TOKEN", alice)
    monkeypatch.setenv("IDSTORE_USER", "")
    assert app.run(["--store", server.address, "mint", "rdl"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("content", ["{}", "{}\n", "{}\r\n# of alice\n", "{}\nids_other\n"])
def test_the_token_is_the_first_line_of_its_file(
    server: Server,
    alice: str,
    content: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "token").write_text(content.format(alice))
    monkeypatch.delenv("IDSTORE_TOKEN", raising=False)
    monkeypatch.delenv("IDSTORE_USER", raising=False)
    monkeypatch.setenv("IDSTORE_TOKEN_FILE", str(tmp_path / "token"))
    assert app.run(["--store", server.address, "mint", "rdl"]) == 0, capsys.readouterr().err


def test_the_server_of_the_store_is_known_by_another_spelling_of_its_address(
    server: Server,
    alice: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """A reconciliation sees the drafts of the signed-in party there."""
    monkeypatch.setenv("IDSTORE_TOKEN", alice)
    monkeypatch.delenv("IDSTORE_USER", raising=False)
    app.run(["--store", server.address, "mint", "rdl", "--target", "http://target.example.org/draft"])
    draft = capsys.readouterr().out.strip()
    table = tmp_path / "theirs.csv"
    table.write_text(f"subject,target\n{draft},http://target.example.org/other\n")
    reports = []
    for address in (server.address, server.address.rstrip("/"), server.address.replace("http:", "HTTP:")):
        assert app.run(["--store", server.address, "reconcile", address, str(table), "--json"]) == 0
        reports.append(capsys.readouterr().out.replace(address, "SERVER"))
    assert draft in reports[0]
    assert reports == reports[:1] * 3

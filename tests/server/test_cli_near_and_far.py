"""The command line on a folder, over the socket of a served folder, and over HTTP: the same everywhere."""

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path

import pytest
from command_lines import Run
from serving import ALICE, BOB, Server

from idstore.cli import app

WAYS = ("folder", "socket", "http")
VARYING = re.compile(
    r"\d+(?=\t\d{4}-\d\d-\d\dT)|\d{4}-\d\d-\d\dT[\d:.]+Z|urn:uuid:[-0-9a-f]+#[0-9a-f]+|urn:uuid:[-0-9a-f]+|R\d{10,}"
    r"|fulltext/\d+|redacted-[0-9a-f]{16}|sha256:[0-9a-f]{64}"
)
"""Times, the most in a minute, names of events and stores, drawn labels, pseudonyms, and digests of these."""
STORY = """
namespace list
--json namespace show h
register h a/b --name valve --lang en --comment first
--json register h a/b
register h a/c --request-key k
register h a/c --request-key k
register h a/d --request-key k
mint rdl --name pump
mint rdl --count 2
mint nowhere
show h:a/b
--json show h:a/b
--user bob show h:a/b
show h:nothing
show rdl:R1
--json show rdl:foo
list --namespace h
--user bob list
target h:a/b http://x.example.org/
name h:a/b Ventil --lang de
bind h:a/b http://y.example.org/ --relation skos:closeMatch --note seen
--json bind h:a/b http://y.example.org/ --relation owl:sameAs
unbind h:a/b http://y.example.org/ --relation owl:sameAs
unbind h:a/b http://z.example.org/
comment h:a/b second --internal
grant h:a/b bob --bind
--user bob show h:a/b
--user bob release h:a/b
handle set h:a/b --type EMAIL a@example.org
--json handle values h:a/b
resolve h:a/b
--json resolve h:a/b
cite h:a/b
fixate h:a/b
--json fixate h:a/b
release h:a/b
vet h:a/b --note good
deprecate h:a/b --reason old --by h:a/c
authority h:a/b
party add staff --group
party join bob staff
--json party list
party show nobody
suspend bob --reason rest
--user bob comment h:a/b third
reinstate bob
--user bob party add carol
revoke h:a/c --reason wrong
log --kind Fixation
--json log --id h:a/b
stats
query "SELECT ?l {?s skos:notation ?l} ORDER BY ?l"
query "SELECT {"
export --format csv --namespace h
export --format sssom --namespace h --title Valves
export --format handle-batch --namespace h
export --format handle-batch --for-publication
export --for-publication --namespace h
export --format nginx-map --namespace h
export --for-publication --stage created
export --format nothing
export --format csv --namespace nowhere
export --format csv --namespace ""
export --title ""
list --namespace ""
list --owner ""
list --stage ""
log --id ""
log --party ""
export --after 1000000
import bindings.csv --dry-run
import bindings.csv
--json import bindings.csv
--user bob import bindings.csv
import bindings.csv --force
import list.txt --namespace h
--json import list.txt --namespace h --dry-run
--user bob import list.txt --namespace h
import list.txt --namespace ""
import list.txt --format ""
import described.ttl --namespace h
import described.ttl
import broken.nq
import missing.nq
import batch.txt --format handle-batch
import refused.txt --format handle-batch
--user bob token add --for alice
--user bob token revoke 00000000
token add --act flying
token add --expires 2001-01-01
token add --namespace nowhere
list --limit 1
list --stage wrong
"""
FURTHER = """
register h a/b --name valve --lang en --comment first
bind h:a/b http://y.example.org/ --relation skos:closeMatch --note seen
target h:a/b http://x.example.org/
handle set h:a/b --index 3 --type EMAIL a@example.org
fixate h:a/b
register h 12345/listed
party add staff --group
party add bob
party join bob staff
check 10.1000/x
check R3732211754 --scheme rdswip
check "R 3" --scheme rdswip
derive sp --metadata articles.json
derive sp --metadata broken.nq
mint sp --metadata articles.json
--json mint sp --metadata articles.json
mint sp --metadata articles.json --request-key k
mint sp --parent sp:19360851/v04i0010/6153_at --kind pdf
replace sp:19360851/v04i0010/6153_at --metadata articles.json
register h a/v1 --name "valve 1" --target http://v1.example.org/
version add h:a/b --number V1.0 --id h:a/v1
version add h:a/b --number one --id h:a/v1
version list h:a/b
--json version list h:a/b
supersede h:a/b --by h:a/v1
undeprecate h:a/b --by h:a/v1
transfer h:a/v1 bob
--user bob transfer h:a/v1 bob
ungrant h:a/v1 alice
handle unset h:a/b 3
handle admin 0FF20000000000
namespace set h description=Valves contact=mailto:a@example.org
namespace set h base=x
namespace allow rdl bob --per-minute 100
namespace freeze rdl
mint rdl
namespace freeze rdl --thaw
namespace type own x-abc --name "a test"
--json namespace add more http://more.example.org/data# --scheme rdswip --set digits=9
namespace list
party leave bob staff
storage add journals --path /mnt/pillar
storage allow journals bob
storage place --collection journals --publisher wiley --size 10GB --delivery k
--user bob storage place --collection journals --publisher wiley --size 10GB --dry-run
storage list
history h:a/b
history --at 2999-01-01 --namespace h
diff 2000-01-01 2999-01-01 --namespace h
diff 2000-01-01 nowhen
stats --days
stats --pace
revoke --party bob --since 2000-01-01 --dry-run --reason wrong
redact first --reason law
--user bob redact first --reason law
redact "no such text" --reason law
redact first --reason law --yes
cite h:a/b --filename
authority h:nothing
query "SELECT ?l {?s skos:notation ?l} ORDER BY ?l" --format json
query "ASK {}" --timeout 20
export --namespace h --digest
--user bob export --namespace own --digest
export --format turtle --digest
validate
--json validate
--user bob validate
validate --changed
validate --changed
--user bob validate --changed
validate described.ttl
validate missing.ttl
shapes
verify
--json verify
--user bob verify
verify --repair-counters
reconcile STORE bindings.csv
--json reconcile STORE bindings.csv
reconcile --accept decisions.csv --summary
--json reconcile --accept decisions.csv --summary
reconcile --accept decisions.csv
links --results results.csv --namespace sp
--user bob release h:a/v1
"""
APART = {
    "init": "makes a folder",
    "backup": "writes into a folder of this machine",
    "restore": "makes a folder",
    "quickstart": "makes a store of its own",
    "serve": "holds the folder",
    "replica": "holds a folder of its own",
    "project": "needs a SPARQL server",
    "token list": "lists the tokens by which the test signs in",
}
"""Commands that the stories leave out, and why."""
FILES = {
    "bindings.csv": "subject,target,action\nh:a/b,http://one.example.org/,bind\nh:none,http://x.example.org/,bind\n",
    "list.txt": "12345/listed\tA listed one\n",
    "described.ttl": '<https://hdl.handle.net/12345/rdf> <http://www.w3.org/2000/01/rdf-schema#label> "pump" .\n',  # noqa: E501
    "broken.nq": "<http://x.example.org/> <",
    "batch.txt": "CREATE 12345/batch\n1 URL 86400 1110 UTF8 http://batch.example.org/\n",
    "articles.json": '{"issn": "1936-0851", "volume": "4", "issue": "10", "page": "6153", "title": "A title"}\n',  # noqa: E501
    "decisions.csv": "subject,target,action\nh:a/v1,http://two.example.org/,bind\n"
    "http://theirs.example.org/1,http://two.example.org/,unbind\n",
    "refused.txt": "CREATE 12345/batch\n1 URL 86400 1110 UTF8 http://batch.example.org/\nDELETE 99999/x\n",
}


@pytest.fixture
def served(prepared: Path, tmp_path: Path) -> Iterator[dict[str, dict[str, str]]]:
    """Yield the environment of each way, by party, on copies of the same store."""
    pytest.importorskip("uvicorn", reason="the extra server is not installed")
    for way in WAYS:
        shutil.copytree(prepared, tmp_path / way)
    with ExitStack() as stack:
        servers = {way: stack.enter_context(Server(tmp_path / way)) for way in WAYS[1:]}
        far = servers["http"]
        tokens = {party.name: far.token(party) for party in (ALICE, BOB)}
        yield {
            "folder": {"IDSTORE_STORE": str(tmp_path / "folder")},
            "socket": {"IDSTORE_STORE": str(tmp_path / "socket")},
            "http": {"IDSTORE_STORE": far.address, **tokens},
        }


def words(line: str) -> tuple[str, list[str]]:
    """Return the acting party and the words of a command line."""
    found = [one or two for one, two in re.findall(r'"([^"]*)"|(\S+)', line)]
    return (found[1], found[2:]) if found[0] == "--user" else ("alice", found)


def test_every_command_is_tried_everywhere_or_has_a_reason() -> None:
    tried = [words(line)[1] for line in (STORY + FURTHER).strip().splitlines() if line]
    for name, entry in chain.from_iterable(section.items() for section in app.COMMANDS.values()):
        for command in [[name]] if isinstance(entry, str) else [[name, one] for one in entry.commands]:
            found = any(
                [word for word in one if word != "--json"][: len(command)] == command for one in tried
            )
            assert found != (" ".join(command) in APART), command


@pytest.mark.parametrize(
    "story", [STORY, pytest.param(FURTHER, marks=pytest.mark.slow)], ids=["first", "further"]
)
def test_commands_print_the_same_everywhere(
    story: str,
    served: dict[str, dict[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    for line in story.strip().splitlines():
        outcomes = {}
        for way, environment in served.items():
            party, command = words(line)
            monkeypatch.setenv("IDSTORE_STORE", environment["IDSTORE_STORE"])
            monkeypatch.setenv("IDSTORE_USER", party)
            monkeypatch.setenv("IDSTORE_TOKEN", environment.get(party, ""))
            code = app.run([environment["IDSTORE_STORE"] if word == "STORE" else word for word in command])
            out, err = (
                VARYING.sub("…", text).replace(environment["IDSTORE_STORE"], "STORE")
                for text in capsys.readouterr()
            )
            outcomes[way] = (code, out, err)
        assert outcomes["socket"] == outcomes["folder"], f"by the socket: {line}"
        assert outcomes["http"] == outcomes["folder"], f"over HTTP: {line}"


def test_what_needs_the_folder_says_so(
    server: Server,
    alice: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("IDSTORE_TOKEN", alice)
    for command in (
        ["init"],
        ["backup", "b"],
        ["restore", "b"],
    ):
        assert app.run(["--store", server.address, *command]) in (2, 6, 3), command
        assert "folder" in capsys.readouterr().err, command


def test_a_store_that_a_server_holds_is_not_made_again(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["--store", str(server.store), "--user", "alice", "init"]) == 8
    assert "a server holds the store" in capsys.readouterr().err


def test_on_a_served_folder_reading_what_a_server_lacks_reads_the_folder(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDSTORE_USER", "alice")
    assert app.run(["--store", str(server.store), "export", "--format", "nquads"]) == 0
    assert "rdl.example.org" in capsys.readouterr().out


def test_another_party_than_the_tokens_is_an_error(
    server: Server, bob: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDSTORE_TOKEN", bob)
    monkeypatch.delenv("IDSTORE_USER", raising=False)
    assert app.run(["--store", server.address, "mint", "rdl"]) == 0
    assert app.run(["--store", server.address, "--user", "alice", "mint", "rdl"]) == 7
    assert "alice is not the party that signed in" in capsys.readouterr().err


@pytest.mark.parametrize("token", ["ids_abc…", "ids_abc\n", "ids abc"])
def test_a_malformed_token_is_no_sign_in(
    server: Server, token: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDSTORE_TOKEN", token)
    assert app.run(["--store", server.address, "list"]) == 7
    error = capsys.readouterr().err
    assert "use a valid token (in IDSTORE_TOKEN)" in error
    assert "abc" not in error


def test_a_server_that_is_gone_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert app.run(["--store", "http://127.0.0.1:9/", "list"]) == 6
    assert "cannot be reached" in capsys.readouterr().err


@pytest.mark.usefixtures("rdl")
def test_tokens_are_printed_once_and_kept_as_hashes(run: Run, store: Path) -> None:
    secret = run("token", "add", "--namespace", "rdl", "--act", "mint", "--expires", "2999-01-01").line
    assert all(secret.encode() not in path.read_bytes() for path in store.rglob("*") if path.is_file())
    assert (store / "tokens.sqlite").stat().st_mode & 0o077 == 0
    [listed] = run("--json", "token", "list").objects
    assert (listed["party"], listed["namespaces"], listed["acts"]) == ("alice", ["rdl"], ["mint"])
    other = run("token", "add", "--for", "bob").line
    assert other != secret
    assert len(run("token", "list").lines) == 2
    assert len(run("token", "list", by="bob").lines) == 1
    run("token", "add", "--for", "alice", by="bob", code=7)
    run("token", "revoke", listed["id"], by="bob", code=4)
    run("token", "revoke", listed["id"])
    run("token", "revoke", listed["id"], code=4)
    run("token", "add", "--act", "flying", code=3)
    run("token", "add", "--namespace", "nowhere", code=4)
    run("token", "add", "--expires", "2001-01-01", code=3)


def test_a_served_store_is_found_and_left(run: Run, rdl: str, store: Path) -> None:
    pytest.importorskip("uvicorn")
    with Server(store) as server:
        assert (store / "server.socket").stat().st_mode & 0o777 == store.stat().st_mode & 0o660
        iri = run("mint", rdl).line
        run("show", iri, by="bob", code=4)
        server.process.kill()
    run("show", iri)
    run("mint", rdl)


@pytest.mark.usefixtures("rdl")
def test_a_large_table_is_for_administrators_or_for_a_folder_without_a_server(
    run: Run, store: Path, tmp_path: Path
) -> None:
    pytest.importorskip("uvicorn")
    table = tmp_path / "table.csv"
    table.write_text("name\n" + 501 * "valve\n", encoding="utf-8")
    with Server(store):
        refused = run("mint", "h", "--from", table, by="bob", code=9).err
        assert "at most 500 rows, unless an administrator sends it, and this one has 501" in refused
        assert run("mint", "h", "--from", table).err.endswith("501 new\n")
    assert run("mint", "h", "--from", table, by="bob").err.endswith("501 new\n")

"""``idstore query`` on the command line."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_lines import Minting, Run
from processes import children, is_busy
from store_files import until
from time_limits import scaled

from idstore.cli import exits
from idstore.cli.commands.query import query
from idstore.queries.example_queries import example_queries
from idstore.vocabulary import MAPPING_PREFIXES

LABELS = "SELECT ?l { ?s rdfs:label ?l } ORDER BY ?l"
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p . ?q ?r ?s }"


def test_a_table_for_people(run: Run, mint: Minting) -> None:
    iri = mint("--name", "valve")
    assert run("query", "SELECT ?s ?stage { ?s rdfs:label 'valve' ; ids:stage ?stage }").lines == [
        f"{'s':<{len(iri)}}  stage",
        f"{'-' * len(iri)}  {'-' * 11}",
        f"{iri}  ids:Created",
    ]
    assert run("query", "ASK {}").line == "true"
    assert run("query", "CONSTRUCT WHERE { ?s rdfs:label ?l }").lines[-1] == f'<{iri}> rdfs:label "valve" .'


@pytest.mark.parametrize(
    ("format", "out"),
    [
        ("csv", "l\r\nvalve\r\n"),
        ("tsv", '?l\n"valve"\n'),
        (
            "json",
            '{"head":{"vars":["l"]},"results":{"bindings":[{"l":{"type":"literal","value":"valve"}}]}}\n',
        ),
    ],
)
def test_formats(run: Run, mint: Minting, format: str, out: str) -> None:
    mint("--name", "valve")
    assert run("query", LABELS, "--format", format).out.replace("\r\n", "\n") == out.replace("\r\n", "\n")


def test_json_is_an_object_on_a_line(run: Run, mint: Minting) -> None:
    mint("--name", "valve")
    assert run("--json", "query", LABELS).object["results"]["bindings"] == [
        {"l": {"type": "literal", "value": "valve"}}
    ]
    assert run("query", "--json", "ASK {}", "--format", "csv").line == "true"


def test_where_the_query_comes_from(run: Run, rdl: str, tmp_path: Path) -> None:
    file = tmp_path / "question.rq"
    file.write_text("\ufeffASK {}  # ü", encoding="utf-8")
    assert run("query", "-f", file).line == "true"
    assert run("query", "--file", "-", stdin="ASK {}").line == "true"
    assert run("query", "-", stdin="ASK {}").line == "true"
    for words in (
        [],
        ["ASK {}", "-f", file],
        ["ASK {}", "--example", "owners"],
        ["-f", file, "--example", "list"],
    ):
        error = run("query", *words, code=exits.USAGE).err
        assert "give either a query, --file FILE or --example NAME" in error
    file.write_bytes(b"ASK {} # \xff")
    assert "not UTF-8 (byte 10)" in run("query", "-f", file, code=exits.INVALID).err
    assert "No such file" in run("query", "-f", tmp_path / "none", code=exits.INVALID).err
    assert rdl


def test_a_query_sees_the_data_of_the_acting_party(run: Run, mint: Minting) -> None:
    mint("--name", "mine", by="bob")
    assert run("query", LABELS, "--format", "csv", by="bob").lines == ["l", "mine"]
    assert run("query", LABELS, "--format", "csv", by="eve").lines == ["l"]


def test_a_truncated_result_gives_a_warning(run: Run, mint: Minting) -> None:
    for name in "abc":
        mint("--name", name)
    cut = run("query", LABELS, "--format", "csv", "--limit", "2")
    assert (cut.lines, cut.err) == (
        ["l", "a", "b"],
        "idstore: warning: only the first 2 are printed; --limit N prints more, --limit 0 all\n",
    )
    assert json.loads(run("--json", "query", LABELS, "--limit", "2").err)["warning"].startswith(
        "only the first 2"
    )
    for enough in ("3", "0"):
        whole = run("query", LABELS, "--format", "csv", "--limit", enough)
        assert (whole.lines, whole.err) == (["l", "a", "b", "c"], "")


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (
            "SELECT * { SERVICE <http://127.0.0.1/> {} }",
            exits.USAGE,
            "idstore: a query sees this registry alone: SERVICE, which asks others, is refused",
        ),
        ("DELETE WHERE { ?s ?p ?o }", exits.USAGE, "idstore: DELETE changes data, and a query only reads"),
        ("SELECT * {\n?s ?p }", exits.USAGE, "idstore: the query cannot be read near line 2, column 8"),
        (
            ENDLESS,
            exits.LIMIT,
            "idstore: the query reached its time limit of 0.3 s; ask for less, or raise the limit",
        ),
    ],
)
def test_refusals_and_limits(run: Run, rdl: str, text: str, code: int, message: str) -> None:
    limits = ["--timeout", "0.3"] if code == exits.LIMIT else []  # others take long on a busy machine
    assert run("query", text, *limits, code=code).err.startswith(message)
    error = json.loads(run("--json", "query", text, *limits, code=code).err)
    assert error["error"] == ("limit-reached" if code == exits.LIMIT else "query-refused")
    assert rdl


def test_a_format_for_another_query_form_is_refused(run: Run, rdl: str) -> None:
    assert "there is no format 'nix'" in run("query", "ASK {}", "--format", "nix", code=exits.USAGE).err
    assert (
        "use turtle, ntriples"
        in run("query", "CONSTRUCT WHERE { ?s ?p ?o }", "--format", "csv", code=exits.USAGE).err
    )
    assert run("query", "ASK {}", "--timeout", "0", code=exits.USAGE).err.startswith(
        "idstore: invalid value for '--timeout': 0 is not a time limit"
    )
    assert rdl


def test_the_help_names_the_prefixes() -> None:
    stated = re.search(r"These prefixes are known: (.*?)\.", str(query.__doc__), re.DOTALL)
    assert stated is not None
    assert sorted(re.findall(r"[\w-]+", stated[1])) == sorted(MAPPING_PREFIXES)


def test_an_example_is_run(run: Run, mint: Minting) -> None:
    iri = mint("--name", "valve", by="bob")
    shown = run("query", "--example", "drafts", "--format", "csv", by="bob")
    assert shown.lines[0] == "created,id,owner,name"
    assert shown.lines[1].endswith(f",{iri},bob,valve")
    assert run("query", "--example", "drafts", "--format", "csv", by="eve").lines == shown.lines[:1]


def test_the_limits_of_a_query_are_those_of_an_example(run: Run, mint: Minting) -> None:
    for name in "ab":
        mint("--name", name)
    cut = run("query", "--example", "drafts", "--limit", "1")
    assert "only the first 1 are printed" in cut.err


def test_the_examples_are_listed(run: Run) -> None:
    examples = example_queries()
    assert run("query", "--example", "list").lines == [
        f"{name}\t{example.title}" for name, example in examples.items()
    ]
    assert [json.loads(line) for line in run("--json", "query", "--example", "list").lines] == [
        {"name": name, "question": example.title} for name, example in examples.items()
    ]


def test_an_unknown_example_is_a_usage_error(run: Run) -> None:
    error = run("query", "--example", "tombstone", code=exits.USAGE).err
    assert "there is no example 'tombstone' (perhaps tombstones?); there are articles-of-journal, " in error
    assert "(perhaps" not in run("query", "--example", "qqqq", code=exits.USAGE).err


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
@pytest.mark.local("the process of the query is one of this machine")
def test_ctrl_c_ends_a_query_at_once(run: Run, rdl: str, store: Path) -> None:
    run("query", "ASK {}")
    command = [sys.executable, "-m", "idstore", "--store", str(store), "--user", "alice", "query", ENDLESS]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        until(lambda: any(map(is_busy, children(process.pid))), "the query begins")
        begun = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
        assert (took := time.monotonic() - begun) < scaled(1), took
    assert (process.returncode, out, err) == (exits.INTERRUPTED, b"", b"idstore: interrupted\n")
    assert run("mint", rdl, "--wait", "0").out


@pytest.mark.parametrize("format", ["ntriples", "turtle"])
def test_an_escaped_name_in_from_prints_nothing_but_the_answer(run: Run, rdl: str, format: str) -> None:
    """The description of the answer goes the way of warnings, which must not disturb it."""
    outcome = run("query", r"CONSTRUCT { ids:x ids:y 1 } FROM ids:z\,b WHERE {}", "--format", format)
    assert "ontology#x>" in outcome.out or "ids:x" in outcome.out
    assert (outcome.err, rdl) == ("", "rdl")

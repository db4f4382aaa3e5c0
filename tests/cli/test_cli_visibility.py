"""A created identifier does not exist for a party that may not see it: in no answer and no exit code."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_lines import NEVER, WIKIDATA, Minting, Run

from idstore.cli.app import NAME, application
from idstore.cli.lazy import LazyGroup

ROOT = Path(__file__).parents[2]
ASKING = {
    "mint": ("mint", "sp", "--parent", "{}", "--kind", "pdf"),
    "show": ("show", "{}"),
    "resolve": ("resolve", "{}"),
    "cite": ("cite", "{}"),
    "target": ("target", "{}", WIKIDATA),
    "name": ("name", "{}", "x"),
    "bind": ("bind", "{}", WIKIDATA),
    "unbind": ("unbind", "{}", WIKIDATA),
    "comment": ("comment", "{}", "x"),
    "vet": ("vet", "{}"),
    "authority": ("authority", "{}"),
    "version add": ("version", "add", "{}", "--number", "1.0"),
    "version list": ("version", "list", "{}"),
    "handle values": ("handle", "values", "{}"),
    "handle set": ("handle", "set", "{}", "DESC", "x"),
    "handle unset": ("handle", "unset", "{}", "1"),
    "fixate": ("fixate", "{}"),
    "release": ("release", "{}"),
    "supersede": ("supersede", "{}", "--by", "{}"),
    "deprecate": ("deprecate", "{}", "--reason", "x"),
    "undeprecate": ("undeprecate", "{}"),
    "transfer": ("transfer", "{}", "carol"),
    "grant": ("grant", "{}", "carol"),
    "ungrant": ("ungrant", "{}", "carol"),
    "revoke": ("revoke", "{}", "--reason", "x"),
    "log": ("--user", "bob", "log", "--id", "{}"),
    "replace": ("replace", "{}", "--metadata", str(ROOT / "examples" / "articles" / "burns.csl.json")),
    "history": ("history", "{}"),
}
"""Every command that takes an identifier, with ``{}`` in its place."""

EVERYTHING = "SELECT * { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } } ORDER BY ?s ?p ?o ?g"


def commands(group: LazyGroup, above: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        if isinstance(command, LazyGroup):
            yield from commands(command, above, f"{path}{name} ")
        else:
            yield path + name, command


def test_every_command_with_an_identifier_is_in_the_table() -> None:
    app = application()
    found = commands(app, app.make_context(NAME, [], resilient_parsing=True))
    taking = {
        name
        for name, command in found
        if any(str(option.metavar or "").startswith("ID") for option in command.params)
    }
    assert taking == ASKING.keys()


@pytest.mark.parametrize("form", ["{}", "rdl:{label}", "{label}"])
@pytest.mark.parametrize("name", ASKING)
def test_a_hidden_identifier_gives_the_answer_of_an_absent_one(
    run: Run, mint: Minting, name: str, form: str
) -> None:
    hidden = mint("--target", WIKIDATA)
    answers = []
    for iri in (hidden, NEVER):
        text = form.format(iri, label=iri.rpartition("#")[2])
        for option in ((), ("--json",)):
            outcome = run(*option, *(word.format(text) for word in ASKING[name]), by="bob", code=4)
            answers.append((outcome.out, outcome.err.replace(text, "ID")))
    assert answers[:2] == answers[2:]
    assert answers[0][0] == ""
    assert json.loads(answers[1][1])["error"] == "not-registered"


def test_lists_counts_and_files_reveal_nothing_hidden(run: Run, mint: Minting) -> None:
    looks = [
        ("list",),
        ("list", "--bound-to", WIKIDATA),
        ("list", "--deprecated"),
        ("stats",),
        ("stats", "--days"),
        ("stats", "--pace"),
        ("log",),
        ("export",),
        ("export", "--for-publication"),
        ("export", "--digest"),
        ("export", "--format", "csv"),
        ("export", "--format", "sssom"),
        ("export", "--format", "jsonld"),
        ("validate",),
        ("query", EVERYTHING),
    ]
    before = [run(*words, by="bob").out for words in looks]
    hidden = mint("--target", WIKIDATA, "--name", "secret")
    run("bind", hidden, WIKIDATA)
    assert [run(*words, by="bob").out for words in looks] == before
    assert run("mint", "rdl", "--target", WIKIDATA, by="bob").err == ""


def test_a_refused_revocation_reveals_nothing_hidden(run: Run, mint: Minting) -> None:
    mint()
    answers = [
        run("revoke", "--party", party, "--since", "2020-01-01", by="bob", code=7).err
        for party in ("alice", "nobody")
    ]
    assert answers[0] == answers[1]

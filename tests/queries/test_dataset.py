"""FROM selects from the graphs that the party sees, and never adds to them."""

import subprocess
import sys

import pytest

from idstore.errors import QueryRefused
from idstore.queries.dataset import dataset
from idstore.vocabulary import PREFIXES

SEEN = ["urn:a", "urn:b", "urn:c"]


@pytest.mark.parametrize(
    ("text", "default", "named"),
    [
        ("SELECT * { ?s ?p ?o }", SEEN, SEEN),
        ("SELECT * { ?s ?p 'from <urn:a>' } # FROM <urn:a>", SEEN, SEEN),
        ("PREFIX from: <urn:from:> SELECT ?from { ?from from:FROM ?x }", SEEN, SEEN),
        ("SELECT * FROM <urn:a> { ?s ?p ?o }", ["urn:a"], []),
        ("SELECT * FROM <urn:a> FROM <urn:hidden> FROM NAMED <urn:b> { ?s ?p ?o }", ["urn:a"], ["urn:b"]),
        ("ASK FROM NAMED <urn:a> FROM NAMED <urn:hidden> { ?s ?p ?o }", [], ["urn:a"]),
        ("DESCRIBE <urn:x> FROM <urn:hidden>", [], []),
        ("PREFIX u: <urn:> CONSTRUCT { ?s ?p ?o } FROM u:c WHERE { ?s ?p ?o }", ["urn:c"], []),
        ("BASE <http://x/> SELECT * FROM <b> FROM <urn:b> { ?s ?p 'from' }", ["urn:b"], []),
        ("SELECT * FROM ids:nix { ?s ?p ?o }", [], []),
        ("SELECT * FROM <urn:a> WHERE { { SELECT * { ?s ?p ?o } } }", ["urn:a"], []),
    ],
)
def test_from_narrows(text: str, default: list[str], named: list[str]) -> None:
    assert dataset(text, SEEN, PREFIXES) == (default, named)


def test_escapes_in_prefixed_names_of_from_are_read() -> None:
    text = r"PREFIX u: <urn:x/> SELECT * FROM u:a\,b\~ FROM NAMED u:\(c\) { ?s ?p ?o }"
    assert dataset(text, ["urn:x/a,b~", "urn:x/(c)"], PREFIXES) == (["urn:x/a,b~"], ["urn:x/(c)"])


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM <urn:a> { ?s ?p ?o LATERAL { ?s ?p ?x } }",
        "SELECT * FROM <urn:a> { ?s ?p",
        "SELECT * FROM nix:a { ?s ?p ?o }",
        "SELECT * # \r FROM <urn:a> \n { ?s ?p ?o }",
    ],
)
def test_an_unsupported_from_is_refused(text: str) -> None:
    with pytest.raises(QueryRefused):
        dataset(text, SEEN, PREFIXES)


def test_a_query_without_from_imports_nothing_slow() -> None:
    code = (
        "import sys; from idstore.queries.dataset import dataset; from idstore.queries import guard\n"
        "text = 'SELECT ?from { ?from ?service \"from a service\" }'\n"
        "guard.check(text, {}); dataset(text, [], {}); print('rdflib' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )

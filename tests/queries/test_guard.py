"""The guard finds SERVICE at every place of a query, and mistakes nothing else for it."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue

from idstore.errors import QueryRefused
from idstore.queries import guard
from idstore.vocabulary import PREFIXES

HARMLESS = (
    "SELECT * { ?s ?p 'service' }",
    'SELECT * { ?s ?p "\\"service <urn:x> {}" }',
    "SELECT * { ?s ?p '''x ' service <urn:x> {} ''' }",
    "SELECT * { ?s ?p ?o } # SERVICE <urn:x> {}",
    "SELECT * { ?s <http://example.org/service/> ?service . $SERVICE ?p _:service }",
    "PREFIX service: <urn:service:> SELECT * { service:a service:service ?o . ?o service:b service:service }",
    "PREFIX se: <urn:se:> SELECT * { se:service a se:SERVICE }",
    "SELECT ?service { ?service ?p 'x'@en }",
    "DESCRIBE <urn:service>",
    "ASK { GRAPH <urn:service> { ?s ?p ?o FILTER(?s < 'service' && ?o > 'service') } }",
    "SELECT (CONCAT('ser', 'vice') AS ?x) {}",
)
HARMFUL = (
    "SELECT * { SERVICE <urn:x> { ?s ?p ?o } }",
    "SELECT * { SERVICE SILENT <urn:x> { ?s ?p ?o } }",
    "SELECT * { sErViCe<urn:x>{} }",
    "SELECT * { ?s ?p ?x SERVICE ?x {} }",
    "SELECT * { ?s ?p ?x . SERVICE?x{} }",
    "ASK { service silent<urn:x>{} }",
    "ASK { SERVICESILENT<urn:x>{} }",
    "ASK { SERVICE:x {} }".replace("ASK", "PREFIX : <urn:> ASK"),
    "PREFIX servicex: <urn:> ASK { SERVICE servicex:a {} }",
    "DESCRIBE ?x { SERVICE <urn:x> { ?x ?p ?o } }",
    "CONSTRUCT { ?s ?p ?o } { SERVICE <urn:x> { ?s ?p ?o } }",
    "SELECT * { { SELECT * { { SERVICE <urn:x> {} } UNION {} } } }",
    "SELECT * { ?s ?p ?o FILTER NOT EXISTS { SERVICE <urn:x> {} } }",
    "SELECT (EXISTS { SERVICE <urn:x> {} } AS ?y) {}",
    "SELECT (IF(EXISTS { SERVICE <urn:x> {} }, 1, 2) AS ?y) {}",
    "SELECT * { BIND(EXISTS { SERVICE <urn:x> {} } AS ?y) }",
    "SELECT (COUNT(*) AS ?n) {} HAVING (EXISTS { SERVICE <urn:x> {} })",
    "SELECT * {} ORDER BY (EXISTS { SERVICE <urn:x> {} })",
    "SELECT (1 AS ?z) {} GROUP BY (EXISTS { SERVICE <urn:x> {} })",
    "SELECT * { ?s ?p ?o LATERAL { SERVICE <urn:x> {} } }",
    "SELECT * { ?s ?p 'service' MINUS { SERVICE <urn:x> {} } }",
    # texts that another parser takes for a comment or a string
    "SELECT * { # \r SERVICE <urn:x> {} \n }",
    "SELECT * { BIND('\\u0027 AS ?a) #' AS ?b) SERVICE <urn:x> {} \n }",
    "SELECT * { BIND(1 AS ?a) FILTER(?a <?b) SERVICE <urn:x> {} FILTER(?c> 1) }",
)


def refusal(text: str) -> QueryRefused | None:
    try:
        guard.check(text, PREFIXES)
    except QueryRefused as error:
        return error
    return None


@pytest.mark.parametrize("text", HARMLESS)
def test_the_letters_of_service_alone_are_accepted(text: str) -> None:
    assert refusal(text) is None


@pytest.mark.parametrize("text", HARMFUL)
def test_service_is_refused(text: str) -> None:
    error = refusal(text)
    assert error is not None
    assert error.fields == {"refused": "SERVICE"}


@pytest.mark.parametrize("text", ["SELECT * { \\u0053ERVICE <urn:x> {} }", "SELECT * { SERVICE }"])
def test_a_query_that_the_engine_cannot_parse_is_refused(text: str) -> None:
    error = refusal(text)
    if "service" in text.casefold():
        assert error is not None
        assert "line" in error.fields
    else:
        assert guard.error_in(text, PREFIXES) is not None


WRAPPINGS = (
    "{ $ }",
    "OPTIONAL { $ }",
    "{ ?a ?b ?c } UNION { $ }",
    "MINUS { $ }",
    "GRAPH ?g { $ }",
    "FILTER EXISTS { $ }",
    "FILTER(1 = 1 || NOT EXISTS { $ })",
    "BIND(EXISTS { $ } AS ?fresh#)",
    "{ SELECT * { $ } }",
    "{ SELECT ?s { ?s ?p ?o } ORDER BY (EXISTS { $ }) LIMIT 1 }",
    "?s ?p 'service' . $ ?s ?p ?o .",
)
GAPS = (" ", "\n", "\t", " # service { \n", "\r\n ")
wrappings = st.lists(st.sampled_from(WRAPPINGS), max_size=4)
gaps = st.sampled_from(GAPS)
harm = st.builds(
    "{}{}{}<urn:service>{}{{ ?x ?y ?z }}".format,
    st.sampled_from(("SERVICE", "service", "Service")),
    gaps,
    st.sampled_from(("", "SILENT ")),
    gaps,
)
harmless = st.builds("GRAPH{}<urn:service>{}{{ ?x ?y 'SERVICE' }}".format, gaps, gaps)


def wrapped(core: str, around: list[str]) -> str:
    for number, wrapping in enumerate(around):
        core = wrapping.replace("$", core).replace("#)", f"{number})")
    return f"SELECT * {{ {core} }}"


@given(core=harm, around=wrappings)
def test_no_wrapping_hides_service(core: str, around: list[str]) -> None:
    error = refusal(wrapped(core, around))
    assert error is not None
    assert error.fields.get("refused") == "SERVICE"


@given(core=harmless, around=wrappings)
def test_no_wrapping_gives_a_false_alarm(core: str, around: list[str]) -> None:
    assert refusal(wrapped(core, around)) is None


@pytest.mark.slow
@given(core=st.one_of(harm, harmless), around=wrappings)
def test_another_parser_agrees(core: str, around: list[str]) -> None:
    text = wrapped(core, around)
    assert ("ServiceGraphPattern" in set(names(parseQuery(text)))) == (refusal(text) is not None)


def names(parsed: object) -> Iterator[str]:
    """Yield the names of all parts of rdflib's parse result."""
    if isinstance(parsed, CompValue):
        yield parsed.name
        for part in parsed.values():
            yield from names(part)
    elif isinstance(parsed, str):
        return
    else:
        try:
            parts = list(parsed)  # type: ignore[call-overload]
        except TypeError:
            return
        for part in parts:
            yield from names(part)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { <urn:a> <urn:b> <urn:c> }",
        "delete where { ?s ?p ?o }",
        "LOAD <http://127.0.0.1/>",
        "CLEAR ALL",
        "DROP SILENT GRAPH <urn:g>",
        "CREATE GRAPH <urn:g>",
        "COPY <urn:g> TO <urn:h>",
        "MOVE <urn:g> TO <urn:h>",
        "ADD <urn:g> TO <urn:h>",
        "WITH <urn:g> DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }",
        "PREFIX a: <urn:a> # INSERT\nBASE <urn:b>\n INSERT { ?s ?p ?o } WHERE { ?s ?p ?o }",
    ],
)
def test_updates_are_refused_by_name(text: str) -> None:
    error = guard.error_in(text, PREFIXES)
    assert error is not None
    refused = guard.malformed(text, error)
    assert "changes data" in refused.message
    assert str(refused.fields["refused"]) in text.upper()


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("SELECT ?s WHERE {\n ?s ?p ?o \n FILTRE(?s) }", 3, ""),
        (
            "SELECT * { ?s nix:a ?o }",
            1,
            ": the prefix nix is not declared; begin with PREFIX nix: and an IRI in <>",
        ),
        ("SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o }", 1, ": a variable is neither grouped nor aggregated"),
        ("SELECT * { <not an iri> ?p ?o }", 1, ": not a full IRI"),
        ("SELECT * { ?s <relative> ?o }", 1, ": not a full IRI"),
        ("", 1, ""),
    ],
)
def test_malformed_queries_are_refused_with_the_place(text: str, line: int, said: str) -> None:
    error = guard.error_in(text, PREFIXES)
    assert error is not None
    refused = guard.malformed(text, error)
    assert refused.fields["line"] == line
    assert (
        refused.message
        == f"the query cannot be read near line {line}, column {refused.fields['column']}{said}"
    )

"""The SPARQL 1.1 Protocol (https://www.w3.org/TR/sparql11-protocol/): the cases of the W3C's test suite.

The tests are written from the text of the recommendation, whose sections they name. They have the names of
the suite's tests. Where these ask a server about graphs that they load from the web, these ask about graphs
of the registry.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from asking import FORM, JSON, QUERY, SPARQL, form, post
from serving import Reply, Server

from idstore import Party

pytest.importorskip("fastapi", reason="the extra server is not installed")

REGISTRY = "https://w3id.org/idstore/graph/registry"
LOG = "https://w3id.org/idstore/graph/log"
NOWHERE = "http://example.org/no-such-graph"
UPDATE = "application/sparql-update"
ROWS = (
    "application/sparql-results+json",
    "application/sparql-results+xml",
    "text/csv",
    "text/tab-separated-values",
)
GRAPHS = ("text/turtle", "application/n-triples", "application/ld+json", "application/rdf+xml")
NAMESPACE = "ASK { ?s a ids:Namespace }"
NAMED = "ASK { GRAPH ?g { ?s a ids:Namespace } }"


def get(server: Server, *pairs: tuple[str, str], accept: str | None = None) -> Reply:
    headers = {} if accept is None else {"Accept": accept}
    return server.ask("GET", f"{SPARQL}?{form(*pairs).decode()}", headers=headers)


def truth(reply: Reply) -> bool:
    assert reply.status == 200, reply.body
    assert reply.headers["content-type"] == JSON
    found: bool = reply.json["boolean"]
    return found


# 2.1.1 query via GET, 2.1.2 query via POST with URL-encoded parameters, 2.1.3 query via POST directly


def test_query_get(server: Server) -> None:
    assert truth(get(server, ("query", "ASK {}")))


def test_query_post_form(server: Server) -> None:
    assert truth(post(server, form(("query", "ASK {}")), FORM))


def test_query_post_direct(server: Server) -> None:
    assert truth(post(server, b"ASK {}", QUERY))
    assert truth(post(server, "ASK { BIND('ü' AS ?x) }".encode(), f"{QUERY}; charset=UTF-8"))


# 2.1.4 specifying an RDF dataset


@dataclass(frozen=True)
class Way:
    """A way to send a query with parameters."""

    send: Callable[[Server, str, list[tuple[str, str]]], Reply]


WAYS = {
    "get": Way(lambda server, text, graphs: get(server, ("query", text), *graphs)),
    "post_form": Way(lambda server, text, graphs: post(server, form(("query", text), *graphs), FORM)),
    "post_direct": Way(
        lambda server, text, graphs: post(server, text.encode(), QUERY, f"?{form(*graphs).decode()}")
    ),
}
DATASETS = [
    # graphs, FROM clauses, whether the default graph has a namespace, whether a named graph has one
    ("default_graph", [("default-graph-uri", REGISTRY)], "", True, False),
    ("other_default_graph", [("default-graph-uri", LOG)], "", False, False),
    ("default_graphs", [("default-graph-uri", LOG), ("default-graph-uri", REGISTRY)], "", True, False),
    ("named_graphs", [("named-graph-uri", REGISTRY), ("named-graph-uri", LOG)], "", False, True),
    ("full", [("default-graph-uri", LOG), ("named-graph-uri", REGISTRY)], "", False, True),
    ("absent_graphs", [("default-graph-uri", NOWHERE), ("named-graph-uri", NOWHERE)], "", False, False),
    # "If different RDF Datasets are specified … the SPARQL service must execute the query using the RDF Dataset  # noqa: E501
    # given in the protocol request."
    (
        "multiple_dataset",
        [("default-graph-uri", LOG)],
        f"FROM <{REGISTRY}> FROM NAMED <{REGISTRY}> ",
        False,
        False,
    ),
    ("no_dataset", [], "", True, True),
    ("dataset_of_the_query", [], f"FROM <{LOG}> FROM NAMED <{REGISTRY}> ", False, True),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("graphs", "clauses", "default", "named"),
    [case[1:] for case in DATASETS],
    ids=[case[0] for case in DATASETS],
)
def test_query_dataset(
    server: Server, way: str, graphs: list[tuple[str, str]], clauses: str, default: bool, named: bool
) -> None:
    for text, expected in ((NAMESPACE, default), (NAMED, named)):
        assert truth(WAYS[way].send(server, text.replace("ASK ", f"ASK {clauses}"), graphs)) is expected


# 2.1.5 accepted response formats, 2.1.6 success responses


@pytest.mark.parametrize("accept", ROWS)
@pytest.mark.parametrize("text", ["SELECT (1 AS ?x) {}", "ASK {}"], ids=["select", "ask"])
def test_query_content_type_of_rows(server: Server, text: str, accept: str) -> None:
    reply = get(server, ("query", text), accept=accept)
    assert (reply.status, reply.headers["content-type"].partition(";")[0]) == (200, accept)


@pytest.mark.parametrize("accept", GRAPHS)
@pytest.mark.parametrize(
    "text", ["DESCRIBE <http://example.org/>", "CONSTRUCT WHERE { ?s ?p ?o }"], ids=["describe", "construct"]
)
def test_query_content_type_of_graphs(server: Server, text: str, accept: str) -> None:
    reply = get(server, ("query", text), accept=accept)
    assert (reply.status, reply.headers["content-type"].partition(";")[0]) == (200, accept)


def test_without_a_header_each_form_has_a_format(server: Server) -> None:
    for text, kind in (("ASK {}", ROWS[0]), ("SELECT * {}", ROWS[0]), ("DESCRIBE <urn:x>", GRAPHS[0])):
        assert get(server, ("query", text)).headers["content-type"].partition(";")[0] == kind


# 2.1.7 failure responses: "400 if the SPARQL query supplied in the request is not a legal sequence of characters"  # noqa: E501


@pytest.mark.parametrize(
    "text", ["ASK {", "INSERT DATA { <urn:a> <urn:b> <urn:c> }", "", "ASK { ?s nix:p ?o }"]
)
def test_bad_query_syntax(server: Server, text: str) -> None:
    for reply in (
        get(server, ("query", text)),
        post(server, form(("query", text)), FORM),
        post(server, text.encode(), QUERY),
    ):
        assert reply.status == 400
        assert reply.json["detail"]


def test_a_malformed_query_is_told_where(server: Server) -> None:
    assert "near line 2, column 8" in get(server, ("query", "SELECT * {\n?s ?p }")).json["detail"]


def test_bad_query_method(server: Server) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        reply = server.ask(method, SPARQL, b"ASK {}", headers={"Content-Type": QUERY})
        assert reply.status == 405
        assert {"GET", "POST"} <= set(reply.headers["allow"].split(", "))


def test_bad_multiple_queries(server: Server) -> None:
    twice = form(("query", "ASK {}"), ("query", "SELECT * {}"))
    assert server.ask("GET", f"{SPARQL}?{twice.decode()}").status == 400
    assert post(server, twice, FORM).status == 400
    for body, kind in ((form(("query", "ASK {}")), FORM), (b"ASK {}", QUERY)):
        assert post(server, body, kind, f"?{form(('query', 'ASK {}')).decode()}").status == 400


def test_bad_query_without_a_query(server: Server) -> None:
    assert get(server, ("default-graph-uri", LOG)).status == 400
    assert post(server, form(("default-graph-uri", LOG)), FORM).status == 400
    assert post(server, b"", FORM).status == 400


def test_bad_query_wrong_media_type(server: Server) -> None:
    for kind in ("text/plain", "application/json", "multipart/form-data; boundary=x"):
        assert post(server, b"ASK {}", kind).status == 415


def test_bad_query_missing_form_type(server: Server) -> None:
    assert post(server, form(("query", "ASK {}")), "").status == 415


def test_bad_query_missing_direct_type(server: Server) -> None:
    assert post(server, b"ASK {}", "").status == 415


def test_bad_query_non_utf8(server: Server) -> None:
    assert post(server, "ASK { BIND('ü' AS ?x) }".encode("latin-1"), QUERY).status == 400
    assert post(server, "ASK {}".encode("utf-16"), f"{QUERY}; charset=UTF-16").status == 415
    assert server.ask("GET", f"{SPARQL}?query=ASK%20%7B%7D%20%23%FC").status == 400
    assert post(server, b"query=ASK%20%7B%7D%20%23%FC", FORM).status == 400


# 2.2 update operation: the service has none


@pytest.mark.parametrize(
    "text", ["CLEAR ALL", "LOAD <http://127.0.0.1/>", "INSERT DATA { <urn:a> <urn:b> <urn:c> }"]
)
def test_updates_are_refused(server: Server, alice: str, text: str) -> None:
    for token in (None, alice):
        for reply in (
            post(server, form(("update", text)), FORM, token=token),
            post(server, text.encode(), UPDATE, token=token),
            post(server, form(("update", text), ("using-graph-uri", LOG)), FORM, token=token),
            server.ask("GET", f"{SPARQL}?{form(('update', text)).decode()}", token=token),
        ):
            assert reply.status == 403
            assert "only reads" in reply.json["detail"]


@pytest.mark.parametrize(
    "name",
    [
        "update_dataset_default_graph",
        "update_dataset_default_graphs",
        "update_dataset_named_graphs",
        "update_dataset_full",
        "update_post_form",
        "update_post_direct",
        "update_base_uri",
        "bad_update_dataset_conflict",
    ],
)
def test_updates_that_succeed(name: str) -> None:
    pytest.skip(f"{name}: the service is read-only, and refuses every update with 403")


# 2.1.7, 4.1: a service may refuse a query


def test_other_services_are_not_asked(server: Server) -> None:
    reply = get(server, ("query", "SELECT * { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }"))
    assert (reply.status, reply.json["fields"]) == (403, {"refused": "SERVICE"})


def test_an_unacceptable_answer(server: Server) -> None:
    assert get(server, ("query", "ASK {}"), accept="image/png").status == 406
    assert get(server, ("query", "ASK {}"), accept="text/turtle").status == 406
    assert get(server, ("query", "DESCRIBE <urn:x>"), accept="text/csv").status == 406


def test_graphs_are_those_of_the_caller(server: Server, bob: str) -> None:
    made = server.ask("POST", "/api/v1/namespaces/rdl/identifiers", {"name": "of bob"}, token=bob).json["id"]
    text, graph = f"ASK {{ <{made}> ?p ?o }}", f"https://w3id.org/idstore/access/{Party('bob').name}"
    for token, expected in ((bob, True), (None, False)):
        for name in ("default-graph-uri", "named-graph-uri"):
            asked = (
                text
                if name.startswith("default")
                else text.replace("{ <", "{ GRAPH ?g { <").replace("o }", "o } }")
            )
            reply = server.ask(
                "GET", f"{SPARQL}?{form(('query', asked), (name, graph)).decode()}", token=token
            )
            assert truth(reply) is expected

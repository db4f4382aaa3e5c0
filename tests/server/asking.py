"""Queries over HTTP, and what is in the store that they are asked of."""

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from serving import Reply, Server

SPARQL = "/sparql"
QUERY = "application/sparql-query"
FORM = "application/x-www-form-urlencoded"
JSON = "application/sparql-results+json"
ENDLESS = (
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p . ?q ?r ?s . ?t ?u ?v }"
)
"""A query that does not end within the time of any test."""


def ask(server: Server, text: str, token: str | None = None, accept: str = JSON, **parameters: str) -> Reply:
    """Ask a query by GET."""
    asked = {"query": text, **parameters}
    return server.ask("GET", SPARQL, query=asked, token=token, headers={"Accept": accept})


def rows(reply: Reply) -> list[dict[str, str]]:
    """Return the values in an answer in JSON."""
    assert reply.status == 200, reply.body
    found: list[dict[str, Any]] = reply.json["results"]["bindings"]
    return [{name: term["value"] for name, term in row.items()} for row in found]


def post(server: Server, body: bytes, kind: str | None, query: str = "", **how: Any) -> Reply:
    """Send a body of a media type."""
    headers = how.pop("headers", {}) | ({} if kind is None else {"Content-Type": kind})
    return server.ask("POST", SPARQL + query, body, headers=headers, **how)


def form(*pairs: tuple[str, str]) -> bytes:
    return urlencode(pairs).encode()


def query_processes(parent: int) -> set[int]:
    """Return the query processes of a server's process."""
    found = set()
    for place in Path("/proc").glob("[0-9]*"):
        try:
            command, status = (place / "cmdline").read_bytes(), (place / "status").read_text()
        except OSError:
            continue
        if b"queries/worker.py" in command and f"PPid:\t{parent}\n" in status:
            found.add(int(place.name))
    return found

"""Addresses and methods that there are not get a problem with a slug."""

import json

import pytest
from serving import Server


@pytest.mark.parametrize(
    ("method", "path", "status", "slug"),
    [
        ("GET", "/queries/nope", 404, "not-registered"),
        ("GET", "/static/none", 404, "not-registered"),
        ("GET", "/api/v1/nope", 404, "not-registered"),
        ("TRACE", "/api/v1/counts", 405, "method-not-allowed"),
        ("DELETE", "/sparql", 405, "method-not-allowed"),
        ("POST", "/queries/nope", 405, "method-not-allowed"),
        ("GET", "/id", 404, "not-registered"),
        ("GET", "/hdl", 404, "not-registered"),
        ("PUT", "/id/rdl/1", 405, "method-not-allowed"),
        ("DELETE", "/hdl/10.1000/1", 405, "method-not-allowed"),
    ],
)
def test_what_there_is_not_gets_a_problem(
    server: Server, method: str, path: str, status: int, slug: str
) -> None:
    reply = server.ask(method, path)
    assert (reply.status, reply.headers["content-type"]) == (status, "application/problem+json")
    problem = json.loads(reply.body)
    assert (problem["status"], problem["error"]) == (status, slug)
    assert problem["detail"] and "field" not in problem

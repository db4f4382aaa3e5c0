"""HEAD gets the head of what GET gets."""

import json
from typing import Final

import pytest
from serving import Server, wait_until

from idstore.operations.declared import OPERATIONS
from idstore.operations.operation import REQUIRED

API: Final = "/api/v1"
GIVEN: Final = {"id": "h:asked", "at": "2026-01-01T00:00:00Z", "name": "h", "namespace": "h"}
"""Values of required parameters."""
OTHERS: Final = [f"{API}/openapi.json", "/metrics", "/healthz", "/readyz", "/nothing", f"{API}/bind"]
OF_THE_MOMENT: Final = {"date", "transfer-encoding", "content-length"}


@pytest.mark.parametrize("name", [one.name for one in OPERATIONS.values() if one.method == "GET"])
def test_each_reading_answers_head(server: Server, alice: str, name: str) -> None:
    server.ask("POST", f"{API}/namespaces/h/registrations", {"label": "asked"}, token=alice)
    operation = OPERATIONS[name]
    required = [one.name for one in operation.parameters if one.default is REQUIRED]
    query = {parameter: GIVEN.get(parameter, "h:asked") for parameter in required}
    asked, got = (
        server.ask(method, API + operation.path, token=alice, query=query) for method in ("HEAD", "GET")
    )
    assert (asked.status, asked.body) == (got.status, b"")
    of_head, of_get = (
        {header: text for header, text in one.headers.items() if header not in OF_THE_MOMENT}
        for one in (asked, got)
    )
    assert of_head == of_get


@pytest.mark.parametrize("path", OTHERS)
def test_other_addresses_answer_head(server: Server, path: str) -> None:
    asked, got = (server.ask(method, path) for method in ("HEAD", "GET"))
    assert (asked.status, asked.body, asked.headers["content-type"]) == (
        got.status,
        b"",
        got.headers["content-type"],
    )


def test_the_length_is_that_of_the_body(server: Server) -> None:
    path = f"{API}/namespaces"
    assert server.ask("HEAD", path).headers["content-length"] == str(len(server.ask("GET", path).body))


def test_the_log_names_the_operation(server: Server) -> None:
    address = f"{API}/identifiers"
    server.ask("HEAD", address, query={"namespace": "h"})

    def logged() -> list[dict[str, object]]:
        lines = [json.loads(line) for line in server.lines if line.startswith("{")]
        return [line for line in lines if line.get("method") == "HEAD" and line["path"] == address]

    wait_until(logged)
    assert (logged()[-1]["operation"], logged()[-1]["bytes"]) == ("list", 0)


def test_a_refused_method_is_told_which_are_allowed(server: Server) -> None:
    assert server.ask("DELETE", f"{API}/identifiers").headers["allow"] == "GET, HEAD"

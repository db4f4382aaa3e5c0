"""The OpenAPI document suits programs that generate clients."""

from collections.abc import Iterator
from typing import Any

import pytest
from serving import Server

from idstore.operations.declared import OPERATIONS

NULL = {"type": "null"}


@pytest.fixture(scope="module")
def described(server: Server) -> dict[str, Any]:
    document: dict[str, Any] = server.ask("GET", "/api/v1/openapi.json").json
    return document


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for methods in document["paths"].values():
        for described in methods.values():
            yield described["operationId"], described


def test_each_body_is_an_object_with_a_name(described: dict[str, Any]) -> None:
    for name, operation in operations(described):
        for kind, content in operation.get("requestBody", {}).get("content", {}).items():
            is_file = kind == "application/octet-stream"
            assert is_file or content["schema"].keys() == {"$ref"}, name


def test_what_may_be_absent_is_not_null(described: dict[str, Any]) -> None:
    for name, operation in operations(described):
        for parameter in operation.get("parameters", ()):
            assert NULL not in parameter["schema"].get("anyOf", ()), (name, parameter["name"])
    bodies = {name: one for name, one in described["components"]["schemas"].items() if name.endswith("Body")}
    nullable = {
        (name, field)
        for name, body in bodies.items()
        for field, schema in body["properties"].items()
        if NULL in schema.get("anyOf", ())
    }
    assert nullable == {("QueryBody", "rows"), ("TargetBody", "uri"), ("NameBody", "name")}
    assert not [
        name for name, body in bodies.items() for one in body["properties"].values() if "default" in one
    ]


def test_parameters_have_keywords_that_generators_know(described: dict[str, Any]) -> None:
    known = {
        "anyOf",
        "default",
        "description",
        "enum",
        "items",
        "maximum",
        "minimum",
        "pattern",
        "title",
        "type",
    }
    found = {
        keyword
        for _, operation in operations(described)
        for parameter in operation.get("parameters", ())
        for keyword in parameter["schema"]
    }
    assert {"minimum", "maximum"} <= found <= known


def test_comments_are_the_result_of_an_operation_of_their_own(
    server: Server, alice: str, described: dict[str, Any]
) -> None:
    id = server.ask("POST", "/api/v1/namespaces/h/identifiers", {"comment": "old"}, token=alice).json["id"]
    assert [
        one["text"] for one in server.ask("GET", "/api/v1/comments", query={"id": id}, token=alice).json
    ] == ["old"]
    record = server.ask("GET", "/api/v1/identifier", query={"id": id}, token=alice).json
    fields = described["components"]["schemas"]["Record"]["properties"]
    assert "comments" not in {*record, *fields}
    assert record.keys() <= fields.keys()


def test_a_row_needs_no_more_than_a_request(server: Server, alice: str, described: dict[str, Any]) -> None:
    assert "required" not in described["components"]["schemas"]["Request"]
    rows = [{"line": 2, "request": {"name": "valve of a row"}}]
    reply = server.ask("POST", "/api/v1/namespaces/h/tables", {"rows": rows}, token=alice)
    assert (reply.status, [row["verdict"] for row in reply.json]) == (200, ["new"]), reply.body


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("bound_to", {"text": "absent"}),
        ("bound_to", {"text": "same"}),
        ("list_bound", {"text": "same"}),
        ("log", {"id": "same"}),
        ("events_since", {"id": "same"}),
        ("news", {"id": "same"}),
        ("show", {"id": "same"}),
    ],
)
def test_a_label_of_several_namespaces_or_of_none_gets_a_documented_answer(
    server: Server, alice: str, described: dict[str, Any], name: str, sent: dict[str, str]
) -> None:
    for prefix in ("10.2000", "10.3000"):
        made = {"name": f"p{prefix[3]}", "base": prefix, "scheme": "handle"}
        server.ask("POST", "/api/v1/namespaces", made, token=alice)
        path = f"/api/v1/namespaces/p{prefix[3]}/registrations"
        reply = server.ask("POST", path, {"label": "same"}, token=alice)
        if reply.status == 201:
            server.ask("POST", "/api/v1/fixate", {"ids": [reply.json["id"]]}, token=alice)
    operation = OPERATIONS[name]
    path = f"/api/v1{operation.path}"
    query = operation.in_query
    reply = server.ask(operation.method, path, None if query else sent, query=sent if query else {})
    assert reply.status == (409 if sent.get("text", sent.get("id")) == "same" else 404), reply.body
    responses = dict(operations(described))[name]["responses"]
    assert str(reply.status) in responses


@pytest.mark.parametrize(
    ("name", "media", "schema"),
    [
        ("export", "text/csv", {"type": "string"}),
        ("export", "application/ld+json", {}),
        (
            "export",
            "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            {"type": "string", "format": "binary"},
        ),
        ("query", "application/sparql-results+json", {}),
        ("query", "text/turtle", {"type": "string"}),
    ],
)
def test_files_are_text_json_or_bytes(
    described: dict[str, Any], name: str, media: str, schema: dict[str, str]
) -> None:
    content = dict(operations(described))[name]["responses"]["200"]["content"]
    assert content[media]["schema"] == schema


def test_names_of_types_are_plain(described: dict[str, Any]) -> None:
    assert all(name.isalpha() and name[0].isupper() for name in described["components"]["schemas"])


def test_a_stream_is_a_text_of_lines(described: dict[str, Any]) -> None:
    streams = {one.name for one in OPERATIONS.values() if one.in_lines}
    for name, operation in operations(described):
        done = operation["responses"].get("200") or operation["responses"]["201"]
        is_stream = "application/x-ndjson" in done.get("content", {})
        assert is_stream == (name in streams)
        if is_stream:
            assert done["content"]["application/x-ndjson"]["schema"]["type"] == "string"


def test_parameters_and_fields_are_explained(described: dict[str, Any]) -> None:
    for name, operation in operations(described):
        for parameter in operation.get("parameters", ()):
            assert parameter.get("description"), (name, parameter["name"])
    for name, schema in described["components"]["schemas"].items():
        if name.endswith("Body"):
            for field, described_field in schema["properties"].items():
                assert described_field.get("description"), (name, field)


def test_choices_are_listed(described: dict[str, Any]) -> None:
    listed = {
        (name, parameter["name"]): parameter["schema"].get("enum")
        for name, operation in operations(described)
        for parameter in operation.get("parameters", ())
    }
    assert listed["list", "stage"] == ["created", "fixated", "tombstone"]
    for name in ("export", "import_file"):
        assert {"csv", "turtle"} <= {*(listed[name, "format"] or ())}
    assert ("list", "kinds") not in listed
    assert ("log", "stage") not in listed

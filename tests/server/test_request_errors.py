"""A request that does not fit is refused with the input, the place and the remedy."""

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from pydantic import ValidationError
from serving import Server

from idstore.operations.declared import OPERATIONS
from idstore.server.request_body import RequestBody
from idstore.server.schema import body_model

JSON = {"Content-Type": "application/json"}
MINT = "namespaces/rdl/identifiers"


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        (MINT, b'{"name": 5}', "name: 5 is not a text; give a text"),
        (MINT, b'{"strict": "perhaps"}', "strict: 'perhaps' is not true or false; give true or false"),
        (MINT, b'{"fixate": null}', "fixate: null is not true or false; give true or false"),
        (MINT, b'{"name": [true, NaN]}', "name: [true, NaN] is not a text; give a text"),
        (MINT, b'{"metadata": {"issn": 1}}', "metadata.issn: 1 is not a text; give a text"),
        (MINT, b'{"metadata": [1]}', "metadata: [1] is not an object; give an object"),
        (
            MINT,
            b"[1]",
            "the body is no JSON object; send one, with the header Content-Type: application/json",
        ),
        (MINT, b'{"name": ', "the body is no JSON (position 9: Expecting value); send a JSON object"),
        ("fixate", b'{"ids": "x"}', "ids: 'x' is not a list; give a list"),
        ("fixate", b'{"ids": ["x", 1]}', "ids.1: 1 is not a text; give a text"),
        ("fixate", b"{}", "ids is missing; give it"),
        (
            "bind",
            b'{"id": "x", "target": "y", "confidence": "sNaN"}',
            "confidence: 'sNaN' is not a finite number",
        ),
        (
            "set-value",
            b'{"id": "x", "type": "URL", "data": {"format": "hex"}}',
            "data.value is missing; give it",
        ),
        (
            "set-value",
            b'{"id": "x", "type": "URL", "data": "", "when": "later"}',
            "when: 'later' is not possible; give 'either', 'absent' or 'present'",
        ),
        (
            "set-value",
            b'{"id": "x", "type": "URL", "data": "", "ttl": -1}',
            "ttl: -1 is out of range; give 0 or more",
        ),
        ("name", b'{"id": "x", "nmae": "y"}', "name is missing; give it"),
        ("release", b'{"id": "x", "nmae": "y"}', "'nmae' is no parameter; there are id"),
        (MINT, b'{"namespace": "rdl"}', "'namespace' is no parameter; there are name, lang, "),
        (
            MINT,
            b'{"bindings": [{"target": "x"}, {"target": "y", "by": "z"}]}',
            "'bindings.1.by' is no parameter; there are target, relation, ",
        ),
        (
            "namespaces/rdl/tables",
            b'{"rows": [{"line": 1, "request": {"nmae": "x"}}]}',
            "'rows.0.request.nmae' is no parameter; there are name, lang, ",
        ),
        (
            "set-value",
            b'{"id": "x", "type": "URL", "data": {"format": "hex", "value": "00", "of": 1}}',
            "'data.of' is no parameter; leave it out",
        ),
    ],
)
def test_a_body_that_does_not_fit(server: Server, alice: str, path: str, body: bytes, detail: str) -> None:
    reply = server.ask("POST", f"/api/v1/{path}", body, token=alice, headers=JSON)
    assert (reply.status, reply.json["error"]) == (422, "invalid-data")
    assert reply.json["detail"].startswith(detail)


@pytest.mark.parametrize(
    ("path", "query", "detail"),
    [
        ("identifiers", {"limit": "many"}, "limit: 'many' is not a whole number; give a whole number"),
        *(
            ("identifiers", {"limit": text}, f"limit: {text!r} is not a whole number")
            for text in ("1_0", "+1", " 1", "1.0", "١")
        ),
        ("identifiers", {"limit": "-1"}, "limit: '-1' is out of range; give 0 or more"),
        ("identifiers", {"limit": "9" * 80}, f"limit: '{'9' * 59}… is "),
        ("identifiers", {"deprecated": "no one"}, "deprecated: 'no one' is not true or false"),
        ("identifier", {}, "id is missing; give it"),
        ("resolve", {"id": "x", "indexes": "a"}, "indexes.0: 'a' is not a whole number"),
    ],
)
def test_a_query_that_does_not_fit(server: Server, path: str, query: dict[str, str], detail: str) -> None:
    reply = server.ask("GET", f"/api/v1/{path}", query=query)
    assert (reply.status, reply.json["error"]) == (422, "invalid-data")
    assert reply.json["detail"].startswith(detail)


LARGE = b'{"rows": [%s]}' % b",".join([b'{"nmae": "x"}'] * (RequestBody.SMALL // 10))
"""It fits no operation: only its reader notices that."""


@pytest.mark.parametrize(
    ("path", "operation"),
    [("namespaces/rdl/tables", "mint_many"), ("namespaces/a/b/c/tables", "mint_many"), (MINT, "mint")],
)
def test_a_large_body_is_not_read_before_the_sign_in(server: Server, path: str, operation: str) -> None:
    reply = server.ask("POST", f"/api/v1/{path}", LARGE, headers=JSON)
    assert (reply.status, reply.json["error"]) == (401, "sign-in-required")
    assert reply.json["detail"] == f"{operation} is for signed-in parties; sign in"
    assert reply.json == server.ask("POST", f"/api/v1/{path}", {"rows": []} if "tables" in path else {}).json
    server.log_after(f'"path": "/api/v1/{path}", "operation": "{operation}", "status": 401')


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "no-such", 404),
        ("DELETE", "namespaces/rdl/tables", 405),
        ("POST", "shared-targets", 422),  # for everyone
        ("POST", "identifier", 405),
    ],
)
def test_other_requests_with_a_large_body_are_answered_as_with_a_small_one(
    server: Server, method: str, path: str, status: int
) -> None:
    large, small = (
        server.ask(method, f"/api/v1/{path}", body, headers=JSON) for body in (LARGE, b'{"x": 1}')
    )
    assert (large.status, large.json["error"]) == (small.status, small.json["error"])
    assert large.status == status


def test_a_large_body_of_a_party_is_read(server: Server, alice: str) -> None:
    reply = server.ask("POST", "/api/v1/namespaces/rdl/tables", LARGE, token=alice, headers=JSON)
    assert (reply.status, reply.json["detail"]) == (422, "rows.0.line is missing; give it")


@pytest.mark.parametrize(("name", "parameter"), [("shared_targets", "ids"), ("mint_many", "rows")])
def test_the_first_wrong_item_of_a_list_ends_the_reading(name: str, parameter: str) -> None:
    operation = OPERATIONS[name]
    model = body_model(operation, [one for one in operation.parameters if one.name == parameter])
    with pytest.raises(ValidationError) as raised:
        model.model_validate({parameter: [1] * 1000})
    assert raised.value.error_count() == 1


def test_pairs_of_an_import_and_files_without_a_format(server: Server, alice: str) -> None:
    pair = server.ask("POST", "/api/v1/imports", b"", token=alice, query={"roles": "subject"})
    assert pair.json["detail"] == "roles.0: 'subject' is no pair; write KEY=VALUE"
    unnamed = server.ask("POST", "/api/v1/imports", b"x", token=alice)
    assert (unnamed.status, unnamed.json["error"]) == (422, "invalid-file")
    assert all(word in unnamed.json["detail"] for word in ("turtle", "csv", "handle-batch", "export.nq"))


def test_the_numbers_of_the_log_are_for_administrators(server: Server, bob: str) -> None:
    reply = server.ask("GET", "/api/v1/log", query={"after": "3"})
    assert "without a sign-in" in reply.json["detail"]
    assert (
        "bob is not one" in server.ask("GET", "/api/v1/log", query={"after": "3"}, token=bob).json["detail"]
    )

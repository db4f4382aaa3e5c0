"""The Handle API of a running server: values, response codes, rights, and what it does not tell."""

import base64
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from handle_server import DRAFTS, LIVE, URL, HandleServer, make, value
from serving import BOB, Reply, Server

from idstore.model.party import Party
from idstore.registry.handle_records import MOST_VALUES

EXAMPLE: list[dict[str, Any]] = [
    value(1, "URL", {"format": "string", "value": "http://www.handle.net/index.html"}),
    value(2, "EMAIL", {"format": "string", "value": "hdladmin@cnri.reston.va.us"}),
    value(
        100,
        "HS_ADMIN",
        {
            "format": "admin",
            "value": {"handle": "0.NA/4263537", "index": 200, "permissions": "011111111111"},
        },
    ),
]
"""The record of 4263537/4000 in the documentation of Handle.Net, version 9 (REST-API.txt)."""


def said(reply: Reply) -> tuple[int, int]:
    """Return the HTTP status and the response code."""
    return reply.status, reply.json["responseCode"]


def basic(user: str, secret: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{secret}".encode()).decode()}


# values


def test_the_published_example(api: HandleServer) -> None:
    created = api.put("4263537/4000", *EXAMPLE)
    assert (created.status, created.json) == (201, {"responseCode": 1, "handle": "4263537/4000"})
    read = api.ask("GET", "4263537/4000").json
    assert (read["responseCode"], read["handle"]) == (1, "4263537/4000")
    for one in read["values"]:
        assert one.pop("ttl") == 86400
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", one.pop("timestamp"))
    assert read["values"] == EXAMPLE


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        ("http://example.org/", {"format": "string", "value": "http://example.org/"}),
        ({"format": "base64", "value": "AAEC"}, {"format": "base64", "value": "AAEC"}),
        ({"format": "hex", "value": "00ff"}, {"format": "base64", "value": "AP8="}),
        ({"format": "string", "value": "é\n☃"}, {"format": "string", "value": "é\n☃"}),
    ],
)
def test_data_come_back_with_their_format(api: HandleServer, sent: object, read: object) -> None:
    assert api.put(f"{LIVE}/data", value(1, "X", sent)).status in (200, 201)
    assert api.ask("GET", f"{LIVE}/data").json["values"][0]["data"] == read


@pytest.mark.parametrize(
    ("permissions", "read"), [("*", "1" * 12), ("11", "000000000011"), ("011111110011", "011111110011")]
)
def test_the_permissions_of_administrators(api: HandleServer, permissions: str, read: str) -> None:
    admin = {"handle": "0.NA/1", "index": 200, "permissions": permissions}
    listed = [{"handle": "1/a", "index": 300}, {"handle": "1/b", "index": "300"}]
    api.put(
        f"{LIVE}/admin",
        value(100, "HS_ADMIN", {"format": "admin", "value": admin}),
        value(200, "HS_VLIST", {"format": "vlist", "value": listed}),
    )
    one, other = (found["data"]["value"] for found in api.ask("GET", f"{LIVE}/admin").json["values"])
    assert one["permissions"] == read
    assert other == [{"handle": "1/a", "index": 300}, {"handle": "1/b", "index": 300}]


def test_times_to_live_and_permissions_of_values(api: HandleServer) -> None:
    api.put(
        f"{LIVE}/life",
        value(1, "A", "a", ttl=60),
        value(2, "B", "b", ttl="2030-01-01T00:00:00Z"),
        value(3, "C", "c", permissions="1100"),
        value(4, "D", "d", permissions="1111", timestamp="2001-01-01T00:00:00Z", references=[]),
    )
    first, second, fourth = api.ask("GET", f"{LIVE}/life").json["values"]
    assert (first["ttl"], second["ttl"]) == (60, "2030-01-01T00:00:00Z")
    assert "permissions" not in first
    assert fourth["permissions"] == "1111"
    assert fourth["timestamp"] > "2026"
    assert [one["index"] for one in api.ask("GET", f"{LIVE}/life", by="bob").json["values"]] == [1, 2, 3, 4]
    public = api.ask("GET", f"{LIVE}/life", by="bob", query=[("publicOnly", "")])
    assert [one["index"] for one in public.json["values"]] == [1, 2, 4]
    assert said(api.ask("GET", f"{LIVE}/life", query=[("index", 3)])) == (200, 200)


@pytest.mark.parametrize(
    ("query", "indexes"),
    [
        ([], [1, 2, 3]),
        ([("index", 2)], [2]),
        ([("index", 1), ("index", 3)], [1, 3]),
        ([("type", "url")], [1]),
        ([("type", "URL.")], [1, 2]),
        ([("type", "EMAIL"), ("index", 1), ("auth", "true"), ("cert", "")], [1, 3]),
        ([("index", 9)], []),
    ],
)
def test_selected_values(api: HandleServer, query: list[tuple[str, object]], indexes: list[int]) -> None:
    api.put(f"{LIVE}/three", URL, value(2, "URL.old", "http://example.org/0"), value(3, "EMAIL", "a@b.org"))
    reply = api.ask("GET", f"{LIVE}/three", query=query)
    assert said(reply) == (200, 1 if indexes else 200)
    assert [one["index"] for one in reply.json["values"]] == indexes


def test_a_record_is_replaced_and_what_stays_keeps_its_time(api: HandleServer) -> None:
    handle = f"{LIVE}/replaced"
    api.put(handle, URL, value(2, "EMAIL", "a@b.org"))
    at = {one["index"]: one["timestamp"] for one in api.ask("GET", handle).json["values"]}
    assert said(api.put(handle, URL, value(3, "DESC", "x"))) == (200, 1)
    read = api.ask("GET", handle).json["values"]
    assert [one["index"] for one in read] == [1, 3]
    assert read[0]["timestamp"] == at[1]
    log = api.server.ask("GET", f"/api/v1/log?id=hdl:{handle}").body.splitlines()
    kinds = [json.loads(line)["event"]["kind"] for line in log]
    assert kinds.count("ValueSetting") == 3
    assert kinds.count("Fixation") == 1


@pytest.mark.parametrize("body", [[URL], {"values": [URL]}, URL, {"handle": f"{LIVE}/FORM", "values": [URL]}])
def test_forms_of_the_body(api: HandleServer, body: object) -> None:
    assert said(api.ask("PUT", f"{LIVE}/form", body, "bob"))[1] == 1
    assert len(api.ask("GET", f"{LIVE}/form").json["values"]) == 1


# values by index


def test_values_are_added_and_replaced_by_index(api: HandleServer) -> None:
    handle = f"{LIVE}/indexes"
    api.put(handle, URL)
    new = value(2, "EMAIL", "a@b.org")
    assert said(api.ask("PUT", handle, [new], "bob", [("index", 2)])) == (201, 1)
    both = [value(1, "URL", "http://example.org/2"), value(2, "EMAIL", "c@d.org")]
    assert said(api.ask("PUT", handle, both, "bob", [("index", 2), ("index", 1)])) == (200, 1)
    assert said(api.ask("PUT", handle, [value(5, "DESC", "x")], "bob", [("index", "various")])) == (201, 1)
    read = {one["index"]: one["data"]["value"] for one in api.ask("GET", handle).json["values"]}
    assert read == {1: "http://example.org/2", 2: "c@d.org", 5: "x"}
    kept = api.ask("PUT", handle, [new], "bob", [("index", 2), ("overwrite", "false")])
    assert said(kept) == (409, 201)
    assert said(api.ask("PUT", handle, [new], "bob", [("index", 2), ("index", 3)])) == (400, 4)
    assert said(api.ask("PUT", f"{LIVE}/absent", [new], "bob", [("index", 2)])) == (404, 100)
    assert said(api.ask("DELETE", handle, by="bob", query=[("index", 5), ("index", 9)])) == (400, 200)
    assert said(api.ask("DELETE", handle, by="bob", query=[("index", 5), ("index", 2)])) == (200, 1)
    assert [one["index"] for one in api.ask("GET", handle).json["values"]] == [1]


# names


@pytest.mark.parametrize("written", ["", "abc-"])
def test_a_new_suffix_is_minted(api: HandleServer, written: str) -> None:
    reply = api.ask("PUT", f"{LIVE}/{written}", [URL], "bob", [("mintNewSuffix", "true")])
    assert said(reply) == (201, 1)
    assert re.fullmatch(rf"{LIVE}/{written}[0-9A-Z]{{9}}", reply.json["handle"])
    assert said(api.ask("GET", reply.json["handle"])) == (200, 1)


def test_a_namespace_that_makes_its_suffixes(api: HandleServer) -> None:
    assert said(api.put("102.100.272/Y35XYS0QH", URL)) == (403, 401)
    minted = api.ask("PUT", "102.100.272/", [URL], "bob", [("mintNewSuffix", "")])
    assert said(minted) == (201, 1)


@pytest.mark.parametrize(
    ("asked", "suffix"),
    [("a%20b%3Fc%23", "a b?c#"), ("caf%C3%A9", "café"), ("a+b", "a+b"), ("a/b/c", "a/b/c"), ("%2525", "%25")],
)
def test_handles_are_decoded_once(api: HandleServer, asked: str, suffix: str) -> None:
    assert api.put(f"{LIVE}/{asked}", URL).json["handle"] == f"{LIVE}/{suffix}"
    assert said(api.ask("GET", f"{LIVE}/{asked}")) == (200, 1)
    listed = api.server.ask("GET", f"/api/handles?prefix={LIVE}").json["handles"]
    assert f"{LIVE}/{suffix}" in listed


@pytest.mark.parametrize(
    ("handle", "expected"),
    [
        ("", (400, 102)),
        (f"{LIVE}/", (400, 102)),
        (f"{LIVE}/%00", (400, 102)),
        (f"{LIVE}/%ff", (400, 102)),
        ("/x", (400, 102)),
        ("99.99/x", (400, 301)),
        ("99.99", (400, 301)),
        ("0.NA/99.99", (400, 301)),
        (f"{LIVE}/none", (404, 100)),
        ("0.na/21.t1", (200, 1)),
    ],
)
def test_names_that_are_asked_for(api: HandleServer, handle: str, expected: tuple[int, int]) -> None:
    assert said(api.ask("GET", handle)) == expected


def test_prefixes_and_parties_have_records(api: HandleServer) -> None:
    admin, listed = api.ask("GET", f"0.NA/{LIVE}").json["values"]
    assert admin["data"] == {
        "format": "admin",
        "value": {"handle": f"0.NA/{LIVE}", "index": 200, "permissions": "100000000001"},
    }
    assert listed["data"]["value"] == [{"handle": f"{LIVE}/alice", "index": 300}]
    assert api.ask("GET", f"{LIVE}/USER01").json["values"][0]["type"] == "DESC"
    for method, handle, expected in (
        ("PUT", f"0.NA/{LIVE}", (403, 401)),
        ("DELETE", f"0.NA/{LIVE}", (403, 401)),
        ("PUT", f"{LIVE}/USER01", (409, 101)),
        ("DELETE", f"{LIVE}/USER01", (403, 401)),
    ):
        assert said(api.ask(method, handle, [URL], "bob")) == expected


def test_a_party_that_was_not_added_has_no_record(api: HandleServer) -> None:
    assert said(api.ask("GET", f"{LIVE}/carol")) == (404, 100)


# lists


def test_lists_have_pages(api: HandleServer) -> None:
    for number in range(3):
        api.put(f"4263537/list{number}", URL)
    everything = api.server.ask("GET", "/api/handles?prefix=4263537").json
    assert {*everything} == {"responseCode", "prefix", "totalCount", "handles"}
    count, handles = int(everything["totalCount"]), everything["handles"]
    assert len(handles) == count >= 3
    pages = [
        api.server.ask("GET", f"/api/handles?prefix=0.NA/4263537&page={page}&pageSize=2").json
        for page in range(count // 2 + 1)
    ]
    assert [handle for page in pages for handle in page["handles"]] == handles
    assert (pages[1]["page"], pages[1]["pageSize"], pages[1]["totalCount"]) == (1, 2, str(count))
    counted = api.server.ask("GET", "/api/handles?prefix=4263537&page=0&pageSize=0").json
    assert (counted["totalCount"], counted["handles"]) == (str(count), [])
    assert api.server.ask("GET", "/api/handles?prefix=4263537&page=-1&pageSize=2").json["handles"] == handles
    api.ask("DELETE", "4263537/list0", by="bob")
    assert "4263537/list0" not in api.server.ask("GET", "/api/handles?prefix=4263537").json["handles"]


def test_prefixes(api: HandleServer) -> None:
    assert api.server.ask("GET", "/api/prefixes").json == {
        "responseCode": 1,
        "totalCount": "4",
        "prefixes": ["0.NA/102.100.272", f"0.NA/{DRAFTS}", f"0.NA/{LIVE}", "0.NA/4263537"],
    }


# publication, and what others learn


def test_creation_publishes_where_the_namespace_says_so(api: HandleServer) -> None:
    api.put(f"{LIVE}/stage", URL)
    api.put(f"{DRAFTS}/stage", URL)
    stages = [
        api.server.ask("GET", f"/api/v1/identifier?id=hdl:{prefix}/stage", token=api.tokens["bob"]).json[
            "stage"
        ]
        for prefix in (LIVE, DRAFTS)
    ]
    assert stages == ["fixated", "created"]


def test_a_refused_value_leaves_nothing(api: HandleServer) -> None:
    assert said(api.put(f"{LIVE}/refused", URL, value(2, "URL", "no IRI"))) == (400, 202)
    assert said(api.ask("GET", f"{LIVE}/refused")) == (404, 100)
    assert said(api.put(f"{LIVE}/refused", URL)) == (201, 1)


def test_a_deleted_handle_is_never_given_again(api: HandleServer) -> None:
    for prefix in (LIVE, DRAFTS):
        handle = f"{prefix}/deleted"
        assert said(api.put(handle, URL)) == (201, 1)
        assert said(api.ask("DELETE", handle, by="bob")) == (200, 1)
        assert said(api.ask("GET", handle)) == (404, 100)
        assert said(api.ask("DELETE", handle, by="bob")) == (404, 100)
        assert said(api.ask("DELETE", handle, by="bob", query=[("index", 1)])) == (404, 100)
        for by in ("bob", "carol", "alice"):
            for overwrite in ("true", "false"):
                assert said(api.put(handle, URL, by=by, overwrite=overwrite)) == (409, 101)
    buried = api.server.ask("GET", f"/api/v1/identifier?id=hdl:{LIVE}/deleted").json
    assert (buried["stage"], buried["reason"]) == ("tombstone", "deleted by its owner")


@pytest.mark.parametrize(
    ("method", "query"),
    [
        ("GET", []),
        ("GET", [("index", 1)]),
        ("DELETE", []),
        ("DELETE", [("index", 1)]),
        ("PUT", [("index", "various")]),
        ("PUT", [("index", 1), ("overwrite", "false")]),
    ],
)
@pytest.mark.parametrize("by", [None, "carol", "USER01"])
def test_drafts_of_others_are_answered_as_what_is_not_there(
    api: HandleServer, method: str, query: list[tuple[str, object]], by: str | None
) -> None:
    api.put(f"{DRAFTS}/there1", URL)
    there, never = (
        api.ask(method, f"{DRAFTS}/{label}", [URL] if method == "PUT" else None, by, query)
        for label in ("there1", "never1")
    )
    assert there.body.replace(b"there1", b"LABEL") == never.body.replace(b"never1", b"LABEL")
    assert {**there.headers, "date": ""} == {**never.headers, "date": ""}
    assert there.status == never.status
    assert there.status == 404 or by is None
    assert said(api.ask("GET", f"{DRAFTS}/there1", by="bob")) == (200, 1)


@pytest.mark.parametrize("overwrite", ["true", "false"])
def test_a_taken_label_says_what_registering_it_says(api: HandleServer, overwrite: str) -> None:
    """A hidden draft and a released one are answered alike, and as by the JSON API."""
    api.put(f"{DRAFTS}/hidden", URL)
    api.put(f"{DRAFTS}/former", URL)
    api.ask("DELETE", f"{DRAFTS}/former", by="bob")
    hidden, former = (
        api.put(f"{DRAFTS}/{one}", URL, by="carol", overwrite=overwrite) for one in ("hidden", "former")
    )
    assert said(hidden) == (409, 101)
    assert hidden.body.replace(b"hidden", b"former") == former.body
    registered = api.server.ask(
        "POST", "/api/v1/namespaces/drafts/registrations", {"label": "hidden"}, token=api.tokens["carol"]
    )
    assert registered.json["detail"] == hidden.json["message"]


def test_lists_and_counts_have_no_drafts_of_others(api: HandleServer) -> None:
    api.put(f"{DRAFTS}/secret", URL)
    path = f"/api/handles?prefix={DRAFTS}"
    assert f"{DRAFTS}/secret" in api.server.ask("GET", path, token=api.tokens["bob"]).json["handles"]
    for token in (None, api.tokens["carol"]):
        reply = api.server.ask("GET", path, token=token).json
        assert (reply["handles"], reply["totalCount"]) == ([], "0")


# rights and sign-in


def test_only_the_owner_changes_a_handle(api: HandleServer) -> None:
    handle = f"{LIVE}/owned"
    api.put(handle, URL)
    for by, expected in (("carol", (403, 401)), (None, (401, 402))):
        assert said(api.ask("PUT", handle, [URL], by)) == expected
        assert said(api.ask("PUT", handle, [URL], by, [("index", 1)])) == expected
        assert said(api.ask("DELETE", handle, by=by)) == expected
        assert said(api.ask("DELETE", handle, by=by, query=[("index", 1)])) == expected
    assert said(api.ask("PUT", handle, [URL], "carol", [("overwrite", "false")])) == (409, 101)
    assert "www-authenticate" in api.ask("DELETE", handle).headers


@pytest.mark.parametrize(
    ("user", "party"),
    [
        ("300%3A21.T1/bob", "bob"),
        ("300%3a21.t1%2Fbob", "bob"),
        ("300%3A12345/bob", "bob"),
        ("0%3A21.T1/bob", "bob"),
        ("200%3A0.NA/21.T1", "alice"),
        ("300:21.T1/bob", "bob"),
        ("300:0.NA/12345", "alice"),
        ("bob", "bob"),
    ],
)
def test_names_by_which_a_party_signs_in(api: HandleServer, user: str, party: str) -> None:
    headers = basic(user, api.tokens[party])
    handle = f"{LIVE}/by-{abs(hash(user))}"
    assert said(api.ask("PUT", handle, [URL], headers=headers)) == (201, 1)
    owner = api.server.ask("GET", f"/api/v1/identifier?id=hdl:{handle}").json["owner"]
    assert owner == party


def test_other_names_do_not_sign_in(tmp_path: Path) -> None:
    """A server answers few wrong names from one address."""
    make(tmp_path / "store")
    with Server(tmp_path / "store", ("--prefix", "/registry")) as server:
        token = server.token(BOB)
        for path in ("/registry/api", "/api"):
            headers = basic("300%3A21.T1/bob", token)
            assert said(server.ask("GET", f"{path}/handles/0.NA/{LIVE}", headers=headers)) == (200, 1)
        for user, secret in (
            ("300%3A21.T1/carol", token),
            ("300%3A99.99/bob", token),
            ("300%3A0.NA/99.99", token),
            ("300%3A21.T1/bob", ""),
            ("300:21.T1/carol", token),
            ("300", token),
            ("300%3A21.T1/%FF", token),
            ("21.T1/bob", token),
        ):
            reply = server.ask("GET", f"/api/handles/{LIVE}/x", headers=basic(user, secret))
            assert said(reply) == (401, 402)
        for _ in range(9):
            reply = server.ask("GET", f"/api/handles/{LIVE}/x", headers=basic("300%3A21.T1/x", "wrong"))
        assert said(reply) == (403, 403)
        assert int(reply.headers["retry-after"]) > 0


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_other_methods_of_sign_in_are_not_supported(api: HandleServer, method: str) -> None:
    for header in ('Handle clientCert="true"', 'Handle sessionId="x", id="300:21.T1/bob", type="HS_SECKEY"'):
        reply = api.ask(method, f"{LIVE}/x", headers={"Authorization": header})
        assert said(reply) == (501, 5)
    for path in ("/api/sessions", "/api/sessions/this"):
        assert said(api.server.ask("POST", path)) == (501, 5)


def test_the_limits_of_a_token_hold_here(api: HandleServer) -> None:
    def put(prefix: str, **limits: Any) -> tuple[int, int]:
        token = api.server.token(Party("bob"), **limits)
        return said(api.server.ask("PUT", f"/api/handles/{prefix}/limited", [URL], token=token))

    assert put(LIVE, namespaces=["drafts"]) == (403, 401)
    assert put(LIVE, acts=["mint"]) == (403, 401)
    assert put(LIVE, namespaces=["live"], acts=["put_handle"]) == (201, 1)


# requests that are wrong


@pytest.mark.parametrize(
    ("body", "expected", "named"),
    [
        (b"{", (400, 4), "not JSON"),
        (b"\xff\xfe", (400, 4), "not JSON"),
        (b"[" * 100_000, (400, 4), "nested too deeply"),
        (b"9" * 100_000, (400, 4), "not JSON"),
        ("text", (400, 4), "no value of a handle"),
        ([], (400, 4), "no value"),
        ({}, (400, 4), "no values"),
        ({"values": [URL], "other": 1}, (400, 4), "'other'"),
        ({"handle": f"{LIVE}/else", "values": [URL]}, (400, 4), "about the handle"),
        ([1], (400, 202), "value 1"),
        ([URL, {"index": 2, "type": "X"}], (400, 202), "value 2 of the body: the field data"),
        ([value(0, "X", "x")], (400, 202), "index"),
        ([value(-1, "X", "x")], (400, 202), "index"),
        ([value(2**31, "X", "x")], (400, 202), "index"),
        ([value(1.5, "X", "x")], (400, 202), "index"),
        ([{**URL, "index": True}], (400, 202), "index"),
        ([URL, URL], (409, 201), "twice"),
        ([value(1, "", "x")], (400, 202), "type"),
        ([{**URL, "type": 5}], (400, 202), "type"),
        ([value(1, "\ud800", "x")], (400, 202), "type"),
        ([value(1, "X", "\ud800")], (400, 202), "U+D800"),
        ([value(1, "X", "\0")], (400, 202), "U+0000"),
        ([value(1, "X", 5)], (400, 202), "data"),
        ([value(1, "X", {"format": "site", "value": {}})], (400, 202), "'site'"),
        ([value(1, "X", {"format": [], "value": {}})], (400, 202), "format"),
        ([value(1, "X", {"format": "base64", "value": "?"})], (400, 202), "base64"),
        ([value(1, "X", {"format": "hex", "value": "0"})], (400, 202), "hexadecimal"),
        ([value(1, "X", {"format": "string", "value": 5})], (400, 202), "not a text"),
        (
            [value(1, "X", {"format": "admin", "value": {"handle": "1/a", "index": 1}})],
            (400, 202),
            "HS_ADMIN",
        ),
        ([value(1, "HS_ADMIN", {"format": "admin", "value": {}})], (400, 202), "administrator"),
        (
            [value(1, "HS_VLIST", {"format": "vlist", "value": [{"handle": "a;1:b", "index": 1}]})],
            (400, 202),
            ";",
        ),
        ([value(1, "HS_SECKEY", "secret")], (400, 202), "secret key"),
        ([value(1, "URL", "no address")], (400, 202), "value 1: "),
        ([value(1, "X", "x", ttl=-1)], (400, 202), "time to live"),
        ([value(1, "X", "x", ttl="soon")], (400, 202), "date or time"),
        ([value(1, "X", "x", permissions="111")], (400, 202), "permissions"),
        ([value(1, "X", "x", permissions=1110)], (400, 202), "permissions"),
        ([value(1, "X", "x", permision="1100")], (400, 202), "'permision'"),
        ([value(1, "X", "x", references=[{"handle": "1/a", "index": 1}])], (400, 202), "references"),
        ([value(1, "X", "x" * (1 << 20) + "x")], (400, 202), "1048576"),
        ([value(index, "X", "x") for index in range(1, 202)], (400, 202), "at most 200"),
    ],
)
def test_bodies_that_are_wrong(
    api: HandleServer, body: object, expected: tuple[int, int], named: str
) -> None:
    reply = api.ask("PUT", f"{LIVE}/wrong", body, "bob")
    assert said(reply) == expected, reply.body[:300]
    assert named in reply.json["message"], reply.json["message"][:300]
    assert len(reply.body) < 1000 or len(json.dumps(str(body))) > 100_000
    assert said(api.ask("GET", f"{LIVE}/wrong")) == (404, 100)


def test_a_body_that_is_too_large(api: HandleServer) -> None:
    assert said(api.ask("PUT", f"{LIVE}/large", b" " * (5 << 20), "bob")) == (413, 4)


def test_values_that_are_too_many_are_not_read(api: HandleServer) -> None:
    many = [URL, *[{"index": "none"}] * MOST_VALUES]
    reply = api.put(f"{LIVE}/many", *many)
    assert (said(reply), f"{MOST_VALUES + 1} values" in reply.json["message"]) == ((400, 202), True)
    fewer = [value(index, "DESC", "x") for index in range(1, MOST_VALUES + 1)]
    assert said(api.put(f"{LIVE}/many", *fewer)) == (201, 1)


def test_the_body_must_be_declared_as_json(api: HandleServer) -> None:
    for kind, expected in (("text/plain", (400, 4)), ("application/json; charset=utf-8", (201, 1))):
        reply = api.ask("PUT", f"{LIVE}/declared", [URL], "bob", headers={"Content-Type": kind})
        assert said(reply) == expected


@pytest.mark.parametrize(
    ("method", "query"),
    [
        ("GET", [("index", "x")]),
        ("GET", [("publicOnly", "maybe")]),
        ("GET", [("pretty", "true"), ("pretty", "false")]),
        ("PUT", [("indx", 1)]),
        ("DELETE", [("indx", 1)]),
        ("DELETE", [("index", "various")]),
        ("PUT", [("overwrite", "perhaps")]),
        ("PUT", [("mintNewSuffix", "true"), ("index", 1)]),
    ],
)
def test_parameters_that_are_wrong(api: HandleServer, method: str, query: list[tuple[str, object]]) -> None:
    body = [URL] if method == "PUT" else None
    assert said(api.ask(method, f"{LIVE}/parameters", body, "bob", query)) == (400, 4)


@pytest.mark.parametrize("query", ["", "?prefix=21.T1&page=x", "?prefix=21.T1&page=0&pageSize=1000001"])
def test_lists_that_are_wrong(api: HandleServer, query: str) -> None:
    assert said(api.server.ask("GET", f"/api/handles{query}")) == (400, 4)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", f"/api/handles/{LIVE}/x", (405, 4)),
        ("PATCH", f"/api/handles/{LIVE}/x", (405, 4)),
        ("PUT", "/api/prefixes", (405, 4)),
        ("DELETE", "/api/handles", (405, 4)),
        ("PROPFIND", f"/api/handles/{LIVE}/x", (501, 4)),
        ("GET", "/api/prefixes/x", (404, 4)),
        ("GET", f"/api/handles/{LIVE}/x?callback=f", (501, 5)),
    ],
)
def test_what_the_api_does_not_have(
    api: HandleServer, method: str, path: str, expected: tuple[int, int]
) -> None:
    reply = api.server.ask(method, path, token=api.tokens["bob"])
    assert said(reply) == expected
    assert ("allow" in reply.headers) is (expected[0] == 405)


def test_each_error_has_a_response_code() -> None:
    from test_errors import family

    from idstore.errors import IdstoreError, OutcomeUnknown, Overloaded, SignInUnavailable, StoreUnavailable
    from idstore.server.handles.answers import CODES, STATUSES, Code, refusal
    from idstore.server.problems import failure

    assert {*STATUSES} == {*Code}
    assert all(kind in family() for kind in CODES)
    for error, status, code in (
        (failure(RuntimeError("secret")), 500, 2),
        (OutcomeUnknown("who knows"), 500, 2),
        (Overloaded("later"), 503, 3),
        (StoreUnavailable("no disk"), 503, 3),
        (SignInUnavailable("no directory"), 503, 3),
        (IdstoreError("other"), 500, 2),
    ):
        reply = refusal(error)
        assert (reply.status_code, json.loads(bytes(reply.body))["responseCode"]) == (status, code)
        assert b"secret" not in bytes(reply.body)
        assert ("retry-after" in reply.headers) is (code == 3)


# other sites, caches


def test_scripts_of_every_site_may_read_and_not_write(api: HandleServer) -> None:
    api.put(f"{LIVE}/cors", URL)
    for status, handle in ((200, f"{LIVE}/cors"), (404, f"{LIVE}/nothing")):
        reply = api.ask("GET", handle, headers={"Origin": "http://other.example.org"})
        assert (reply.status, reply.headers["access-control-allow-origin"]) == (status, "*")
        assert "access-control-allow-credentials" not in reply.headers
        assert reply.headers["cache-control"] == "private, no-store"
    asked = api.ask("OPTIONS", f"{LIVE}/cors", headers={"Access-Control-Request-Method": "PUT"})
    assert (asked.status, asked.headers["access-control-allow-methods"]) == (204, "GET, HEAD")
    assert "access-control-allow-headers" not in asked.headers
    assert "access-control-allow-origin" not in api.put(f"{LIVE}/cors", URL).headers
    for handle in (f"{LIVE}/cors", f"{LIVE}/nothing"):
        known = api.ask("GET", handle, by="bob").headers
        assert "access-control-allow-origin" not in known
        assert known["cross-origin-resource-policy"] == "same-origin"


def test_head_and_pretty(api: HandleServer) -> None:
    api.put(f"{LIVE}/pretty", URL)
    assert (api.ask("HEAD", f"{LIVE}/pretty").status, api.ask("HEAD", f"{LIVE}/none").status) == (200, 404)
    assert b"\n  " in api.ask("GET", f"{LIVE}/pretty", query=[("pretty", "")]).body


# at the same time


def test_of_creations_at_the_same_time_one_succeeds(api: HandleServer) -> None:
    def create(number: int) -> tuple[int, int]:
        by = ("bob", "carol", "USER01")[number % 3]
        return said(api.put(f"{LIVE}/race", value(1, "DESC", str(number)), by=by, overwrite="false"))

    with ThreadPoolExecutor(12) as threads:
        outcomes = sorted(threads.map(create, range(12)))
    assert outcomes == [(201, 1)] + [(409, 101)] * 11


def test_a_repeated_request_changes_nothing(api: HandleServer) -> None:
    assert said(api.put(f"{LIVE}/again", URL)) == (201, 1)
    before = len(api.server.ask("GET", f"/api/v1/log?id=hdl:{LIVE}/again").body)
    assert said(api.put(f"{LIVE}/again", URL)) == (200, 1)
    assert len(api.server.ask("GET", f"/api/v1/log?id=hdl:{LIVE}/again").body) == before


def test_the_access_log_names_the_route(api: HandleServer) -> None:
    api.ask("GET", f"{LIVE}/logged")
    line = next(one for one in api.server.log_after(f"{LIVE}/logged").splitlines() if f"{LIVE}/logged" in one)
    assert json.loads(line)["operation"] == "handle"

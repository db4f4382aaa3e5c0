"""The RDS/WIP interface: its clients, its operations, its answers, and what it refuses."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import pytest

pytest.importorskip("fastapi", reason="the extra server is not installed")

from command_lines import RDL
from lxml import etree  # type: ignore[import-untyped]
from rdswip_clients import NAMESPACE, DeserialisingClient, LaterClient, StringClient, encoded
from serving import ALICE, Reply, Server

from idstore.server import rdswip
from idstore.server.rdswip.operations import OPERATIONS
from idstore.server.rdswip.parameters import PARAMETERS, Parameters

FOLDER: Final = Path(rdswip.__file__).parent
SCHEMAS: Final = {name: etree.XMLSchema(file=str(FOLDER / name)) for name in ("registry.xsd", "response.xsd")}
FORM: Final = re.compile(re.escape(RDL) + r"R[1-9]\d{9}")
HOSTILE: Final = (
    "<registry-id> & </registry-id> ]]> <!-- \"'\r\n\t\x01\x0b\x1f\ufffe\ud7ff\U0001f600 <![CDATA[ &amp;"
)
"""What XML cannot hold, or holds only with care."""


def ask(server: Server, token: str | None, *, method: str = "GET", **parameters: str) -> Reply:
    """Ask for an operation; an answer must fit its schema, and a failure is never a success."""
    query = {f"registry-{name}": value for name, value in parameters.items()}
    basic = None if token is None else f"alice:{token}"
    return checked(server.ask(method, "/registry", query=query, basic=basic))


def checked(reply: Reply) -> Reply:
    assert reply.headers["cache-control"] == "private, no-store"
    if reply.body:
        root = etree.fromstring(reply.body)
        schema = SCHEMAS["response.xsd" if root.tag.endswith("}response") else "registry.xsd"]
        schema.assertValid(root)
        failed = root.find(f"{{{NAMESPACE}}}error") is not None
        assert failed == (not 200 <= reply.status < 300)
    return reply


def elements(reply: Reply) -> list[tuple[str, str]]:
    return [
        (one.tag.removeprefix(f"{{{NAMESPACE}}}"), one.text or "") for one in etree.fromstring(reply.body)
    ]


def acquired(server: Server, token: str, comment: str = "") -> str:
    reply = ask(server, token, op="acquire", base=RDL, comment=comment)
    return dict(elements(reply))["registry-id"]


def comments(server: Server, token: str, id: str) -> list[str]:
    found = server.ask("GET", "/api/v1/comments", token=token, query={"id": id}).json
    return [one["text"] for one in found]


def minted(server: Server, token: str) -> int:
    """Return how many identifiers there are."""
    found = server.ask("GET", "/api/v1/counts", token=token).json
    return sum(count for *_, count in found["tallies"])


# the clients


@pytest.mark.parametrize("kind", [StringClient, DeserialisingClient, LaterClient])
@pytest.mark.parametrize(
    "comment", ["Ball valve", "a+b & c=d?#%41 é 中 \U0001f600", "http://x.example.org/?a=b", ""]
)
def test_each_known_client_gets_an_identifier_with_its_comment(
    server: Server, alice: str, kind: type[StringClient | DeserialisingClient | LaterClient], comment: str
) -> None:
    id = kind(server.address, "alice", alice).acquire(RDL, comment)
    assert FORM.fullmatch(id)
    assert comments(server, alice, id) == ([comment] if comment else [])


@pytest.mark.parametrize("service", ["", "/registry", "/services/idgen"])
def test_the_later_service_has_each_of_its_addresses(server: Server, alice: str, service: str) -> None:
    client = LaterClient(server.address, "alice", alice)
    assert FORM.fullmatch(client.acquire(RDL, "x", service))
    checked(server.ask("GET", f"{service}/acquireId/params?uri={quote(RDL)}", basic=f"alice:{alice}"))


def test_clients_fail_where_there_is_no_identifier(server: Server, alice: str) -> None:
    for kind in (StringClient, DeserialisingClient, LaterClient):
        with pytest.raises(OSError, match="401"):
            kind(server.address, "alice", "wrong").acquire(RDL, "x")
        with pytest.raises(OSError, match="404"):
            kind(server.address, "alice", alice).acquire("http://nowhere.example.org/data#", "x")


def test_the_answer_is_literally_what_clients_search_for(server: Server, alice: str) -> None:
    reply = ask(server, alice, op="acquire", base=RDL)
    id = dict(elements(reply))["registry-id"]
    text = f'<result xmlns="http://ns.ids-adi.org/registry/schema#"><registry-id>{id}</registry-id></result>'
    assert reply.body == text.encode()
    assert reply.headers["content-type"] == "application/xml; charset=utf-8"


def test_the_first_address_of_the_service_works(server: Server, alice: str) -> None:
    query = {"registry-op": "acquire", "registry-base": RDL}
    assert checked(server.ask("GET", "/servlets/registry", query=query, token=alice)).status == 200


@pytest.mark.parametrize("operation", ["acquire", "info", "list", "fixate", "ui", "nothing", ""])
def test_the_first_request_without_credentials_is_challenged(server: Server, operation: str) -> None:
    reply = ask(server, None, op=operation, base=RDL, id=f"{RDL}R3732211754")
    assert reply.status == 401
    assert reply.headers["www-authenticate"] == 'Basic realm="idstore", charset="UTF-8"'
    assert checked(server.ask("GET", f"/registry?registry-op={operation}&registry-x=%ff")).status == 401


def test_a_wrong_secret_is_challenged_again_in_the_same_form(server: Server) -> None:
    reply = ask(server, "ids_wrong", op="acquire", base=RDL)
    assert (reply.status, reply.headers["www-authenticate"][:6]) == (401, "Basic ")


# reading a query


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ("NAMEhttps://h/registry?registry-op=acquire", "NAME", "NAME"),
        ("NAME/https://h/registry?registry-op=acquire", "NAME", "NAME"),
        ("https://h/registry?registry-op=acquire", "", None),
        ("http://a/?bhttps://h/registry?registry-op=acquire", "http://a/?b", "http://a/?b"),
        ("NAME", "NAME", "NAME"),
        ("first", "second", "first"),
        ("NAME and more", "NAME", "NAME and more"),
        ("NAMEhttps://h/registry", "NAME", "NAMEhttps://h/registry"),
    ],
)
def test_a_value_that_stands_twice_is_read_as_its_sender_meant_it(
    first: str, second: str, value: str | None
) -> None:
    query = urlencode([("registry-comment", first), ("registry-op", "x"), ("registry-comment", second)])
    assert Parameters.parse(query.encode()).get("registry-comment") == value


def test_an_address_that_arrives_twice_mints_once(server: Server, alice: str) -> None:
    before = minted(server, alice)
    StringClient(server.address, "alice", alice).acquire(RDL, "twice")
    assert minted(server, alice) == before + 1


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("registry-op=acquire", "registry-base"),
        ("registry-op=acquire&registry-base=", "registry-base"),
        (f"registry-op=acquire&registry-base={RDL.removesuffix('#')}", "%23"),
        ("registry-op=acquire&registry-base=%ff%23", "UTF-8"),
        ("registry-op=acquire&registry-coment=x", "registry-coment"),
        ("registry-op=fixate", "registry-id"),
        ("registry-op=fixate&registry-id=R3732211754", "%23"),
        (f"registry-op=bind&registry-id={encoded(RDL)}R3732211754", "registry-target"),
        (f"registry-op=comment&registry-id={encoded(RDL)}R3732211754", "registry-comment"),
        ("registry-op=mint", "acquire"),
        ("", "registry-op"),
    ],
)
def test_a_malformed_request_is_refused_with_the_reason(
    server: Server, alice: str, query: str, place: str
) -> None:
    reply = checked(server.ask("GET", f"/registry?{query}", token=alice))
    assert reply.status == 422
    assert place in dict(elements(reply))["error"]


def test_texts_that_are_hostile_to_xml_come_back_well_formed(server: Server, alice: str) -> None:
    id = acquired(server, alice, HOSTILE)
    assert comments(server, alice, id) == [HOSTILE]
    found = dict(elements(ask(server, alice, op="info", id=id)))
    assert found["comment"] == re.sub("[\x01\x0b\x1f\ufffe]", "\ufffd", HOSTILE)
    assert ask(server, alice, op="info", id=id).body.count(b"<registry-id>") == 1
    refused = ask(server, alice, op=HOSTILE)
    assert refused.status == 422
    assert b"<registry-id>" not in refused.body


# the operations


def test_an_identifier_lives_through_all_operations(server: Server, alice: str, bob: str) -> None:
    target = "http://a.example.org/?x=1&y=2"
    id = acquired(server, alice, "gate valve")
    for operation in (
        "bind",
        "bind",
        "unbind",
        "bind",
    ):  # a binding that is there is bound again without harm
        assert elements(ask(server, alice, op=operation, id=id, target=target)) == [("registry-id", id)]
    assert elements(ask(server, alice, op="comment", id=id, comment="second")) == [("registry-id", id)]
    info = elements(ask(server, alice, op="info", id=id))
    assert [name for name, _ in info] == [
        "registry-id", "stage", "registeredOn", "registeredBy", "grantRightsTo", "comment", "comment", "boundTo",  # noqa: E501
    ]  # fmt: skip
    assert ("stage", "created") in info
    assert ("boundTo", target) in info
    assert [text for name, text in info if name == "comment"] == ["gate valve", "second"]
    assert elements(ask(server, alice, op="fixate", id=id)) == [("registry-id", id)]
    assert ask(server, alice, op="fixate", id=id).status == 409
    assert ask(server, alice, op="release", id=id).status == 409
    seen = elements(as_bob(server, bob, op="info", id=id))
    assert ("stage", "fixated") in seen
    assert seen[-1] == ("fixatedBy", "alice")
    assert as_bob(server, bob, op="bind", id=id, target="http://b.example.org/").status == 200
    assert (
        as_bob(server, bob, op="unbind", id=id, target=target).status == 403
    )  # by the owner and its maker alone
    assert as_bob(server, bob, op="comment", id=id, comment="x").status == 403


def as_bob(server: Server, bob: str, **parameters: str) -> Reply:
    query = {f"registry-{name}": value for name, value in parameters.items()}
    return checked(server.ask("GET", "/registry", query=query, basic=f"bob:{bob}"))


def test_a_released_identifier_is_gone_and_never_free(server: Server, alice: str) -> None:
    id = acquired(server, alice)
    assert elements(ask(server, alice, op="release", id=id)) == [("registry-id", id)]
    assert ask(server, alice, op="info", id=id).status == 404
    assert ask(server, alice, op="release", id=id).status == 404


def test_a_hidden_identifier_answers_as_an_absent_one(server: Server, alice: str, bob: str) -> None:
    hidden, absent = acquired(server, alice, "secret"), f"{RDL}R3732211754"
    for operation in ("info", "bind", "unbind", "release", "fixate", "comment", "ui"):
        replies = [
            server.ask(
                "GET",
                "/registry",
                query={
                    "registry-op": operation,
                    "registry-id": id,
                    "registry-target": "http://x.example.org/",
                    "registry-comment": "x",
                },
                token=bob,
            )
            for id in (hidden, absent)
        ]
        first, second = (
            (one.status, {**one.headers, "date": ""}, one.body.replace(id.encode(), b"ID"))
            for one, id in zip(replies, (hidden, absent), strict=True)
        )
        assert first == second
        assert first[0] == 404


def test_administrators_add_bases_and_every_party_lists_them(server: Server, alice: str, bob: str) -> None:
    base = "http://tpl.example.org/data#"
    assert as_bob(server, bob, op="add-base", base=base).status == 403
    assert elements(ask(server, alice, op="add-base", base=base, comment="Templates")) == [
        ("registry-base", base)
    ]
    assert ask(server, alice, op="add-base", base=base).status == 409
    listed = elements(as_bob(server, bob, op="list"))
    assert [("registry-base", base), ("registry-base", RDL)] == sorted(listed, reverse=True)
    space = server.ask("GET", "/api/v1/namespace", token=bob, query={"name": base}).json
    assert (space["name"], space["scheme"], space["description"]) == (
        "tpl.example.org-data",
        "rdswip",
        "Templates",
    )
    other = ask(server, alice, op="add-base", base="http://ex.example.org/data#", name="examples")
    assert other.status == 200
    for name in ("examples", base):  # a frozen namespace is none to allocate against
        server.ask("POST", "/api/v1/freeze", {"name": name}, token=alice)
    assert elements(as_bob(server, bob, op="list")) == [("registry-base", RDL)]


def test_a_token_with_limits_does_no_more_here(server: Server) -> None:
    limited = server.token(ALICE, acts=["comment"])
    assert ask(server, limited, op="acquire", base=RDL).status == 403
    elsewhere = server.token(ALICE, namespaces=["own"])
    assert ask(server, elsewhere, op="acquire", base=RDL).status == 403


def test_a_base_is_added_with_its_comment_or_not_at_all(server: Server, alice: str) -> None:
    base = "http://parts.example.org/data#"
    limited = server.token(ALICE, acts=["add_namespace"])
    refused = ask(server, limited, op="add-base", base=base, comment="Parts")
    assert refused.status == 403
    assert b"set_namespace" in refused.body
    assert ("registry-base", base) not in elements(ask(server, alice, op="list"))
    assert ask(server, limited, op="add-base", base=base).status == 200
    server.ask("POST", "/api/v1/freeze", {"name": base}, token=alice)  # other tests count the bases


def test_a_suspended_party_gets_no_identifier(server: Server, alice: str) -> None:
    eve = server.token(type(ALICE)("eve"))
    client = DeserialisingClient(server.address, "eve", eve)
    assert FORM.fullmatch(client.acquire(RDL, "x"))
    server.ask("POST", "/api/v1/suspend", {"name": "eve", "reason": "abuse"}, token=alice)
    with pytest.raises(OSError, match="403"):
        client.acquire(RDL, "x")


# what changes nothing

ACQUIRE: Final = {"registry-op": "acquire", "registry-base": RDL}
BROWSER: Final = {"User-Agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0", "Accept-Language": "en"}


def changing(server: Server, alice: str, headers: dict[str, str], path: str = "/registry") -> Reply:
    query = ACQUIRE if path == "/registry" else {"uri": RDL}
    headers = {name: value.replace("{own}", server.address.rstrip("/")) for name, value in headers.items()}
    return checked(server.ask("GET", path, query=query, headers=headers, basic=f"alice:{alice}"))


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": ""},
        {"Origin": "https://evil.example.org"},
        {"Origin": "null"},
        {"Origin": "{own}.evil.example.org"},
        {"Origin": "https://127.0.0.1"},
        {"Referer": "https://evil.example.org/page"},
        {"Referer": "http://127.0.0.1:1/"},
        {"Referer": "about:blank"},
        {"Referer": "http://[::1/"},
        {"Referer": "{own}@evil.example.org/"},
        {"Sec-Fetch-Site": "none", "Referer": "https://evil.example.org/"},
        {"Sec-Fetch-Site": "same-origin", "Referer": "{own}/id/rdl/R3732211754"},
        {"Sec-Purpose": "prefetch"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"Purpose": "prefetch", "Sec-Fetch-Site": "none"},
        {"X-Moz": "prefetch"},
        {"X-Purpose": "preview"},
        BROWSER,
    ],
)
@pytest.mark.parametrize("path", ["/registry", "/acquireId/param"])
def test_a_request_that_a_page_may_have_caused_changes_nothing(
    server: Server, alice: str, headers: dict[str, str], path: str
) -> None:
    before = minted(server, alice)
    assert changing(server, alice, headers, path).status == 403
    assert minted(server, alice) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "none"},
        {"Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-origin", "Referer": "{own}/registry?registry-op=ui"},
        {"Origin": "{own}"},
        {"Referer": "{own}/registry?registry-op=ui"},
        {**BROWSER, "Referer": "{own}/"},
        {"User-Agent": "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.2; .NET CLR 1.0.3705;)"},
    ],
)
def test_a_deliberate_request_is_carried_out(server: Server, alice: str, headers: dict[str, str]) -> None:
    assert changing(server, alice, headers).status == 200


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE"])
@pytest.mark.parametrize(
    "path", ["/registry", "/servlets/registry", "/acquireId/param", "/services/idgen/acquireId/param"]
)
def test_other_methods_change_nothing(server: Server, alice: str, method: str, path: str) -> None:
    before = minted(server, alice)
    reply = checked(server.ask(method, path, query={**ACQUIRE, "uri": RDL}, token=alice))
    assert reply.status == 405
    assert "GET" in reply.headers["allow"]
    assert method == "HEAD" or b'code="method-not-allowed"' in reply.body
    assert minted(server, alice) == before


def test_head_answers_what_only_reads(server: Server, alice: str) -> None:
    reply = ask(server, alice, method="HEAD", op="list")
    assert (reply.status, reply.body) == (200, b"")


def test_an_unknown_address_is_refused_in_xml(server: Server, alice: str) -> None:
    for path in ("/registry/nothing", "/acquireId", "/services/idgen/"):
        assert checked(server.ask("GET", path, token=alice)).status == 404


def test_the_schemas_are_served_to_everyone(server: Server) -> None:
    for name in SCHEMAS:
        reply = server.ask("GET", f"/registry/{name}")
        assert (reply.status, reply.headers["content-type"]) == (200, "application/xml")
        assert reply.body == (FOLDER / name).read_bytes()


# the domains


def test_the_domains_are_data_too(server: Server, alice: str, bob: str) -> None:
    particulars = {"description": "Classes", "policy": "https://example.org/policy"}
    server.ask("POST", "/api/v1/set-namespace", {"name": "rdl", "changes": particulars}, token=alice)
    found = server.ask("GET", "/RdsWipDomains", query={"format": "json"}).json["domains"]
    (domain,) = (one for one in found if one["base"] == RDL)
    assert particulars.items() <= domain.items()
    assert "mayAllocate" not in domain
    assert {one["base"][-1] for one in found} == {"#"}  # no handles, PUIDs or articles
    turtle = server.ask("GET", "/RdsWipDomains", headers={"Accept": "text/turtle, text/html;q=0.5"})
    assert turtle.headers["content-type"] == "text/turtle; charset=utf-8"
    assert b'dcterms:description "Classes"' in turtle.body
    page = server.ask(
        "GET", "/RdsWipDomains", headers={"Accept": "text/html,application/xml;q=0.9,*/*;q=0.8"}
    )
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["vary"] == turtle.headers["vary"] == "Accept"
    assert b'<a href="https://example.org/policy">' in page.body
    assert checked(server.ask("GET", "/RdsWipDomains", query={"format": "csv"})).status == 422
    image = checked(server.ask("GET", "/RdsWipDomains", headers={"Accept": "image/png"}))
    assert (image.status, b'code="not-acceptable"' in image.body) == (406, True)
    try:
        server.ask("POST", "/api/v1/allow", {"name": "rdl", "parties": ["carol"]}, token=alice)
        answers = [
            server.ask("GET", "/RdsWipDomains?format=json", token=token).json["domains"]
            for token in (alice, bob)
        ]
        may = [{one["base"]: one["mayAllocate"] for one in answer}[RDL] for answer in answers]
        assert may == [True, False]
        assert as_bob(server, bob, op="acquire", base=RDL).status == 403
    finally:
        server.ask("POST", "/api/v1/allow", {"name": "rdl", "parties": []}, token=alice)


def test_a_form_that_is_sent_twice_mints_once(server: Server, alice: str) -> None:
    form = urlencode({**ACQUIRE, "registry-comment": "by the page", "registry-key": "page-1"}).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    before = minted(server, alice)
    pages = [server.ask("POST", "/registry", form, headers=headers, token=alice) for _ in range(2)]
    ids = {tuple(FORM.findall(page.body.decode())) for page in pages}
    assert [page.status for page in pages] == [200, 200]
    assert len(ids) == 1
    assert minted(server, alice) == before + 1
    hostile = server.ask("POST", "/registry", form, headers={**headers, "Origin": "null"}, token=alice)
    assert hostile.status == 403


@pytest.mark.parametrize(
    ("body", "status", "limit"),
    [(b"registry-comment=" + b"x" * (1 << 16), 413, "65536"), (b"a&" * 10_001, 422, "10000")],
)
def test_a_form_is_small(server: Server, alice: str, body: bytes, status: int, limit: str) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    reply = checked(server.ask("POST", "/registry", body, headers=headers, token=alice))
    assert reply.status == status
    assert limit in dict(elements(reply))["error"]


# the documentation

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "interfaces.md"


def test_the_documented_requests_work(server: Server, alice: str) -> None:
    section = DOCUMENT.read_text(encoding="utf-8").partition("\n## RDS/WIP\n")[2].partition("\n## ")[0]
    requests = [line for line in section.splitlines() if line.startswith("curl ")]
    shown = next(line for line in section.splitlines() if line.startswith("<result "))
    assert len(requests) == 3
    printed = [
        subprocess.run(
            [
                *shlex.split(
                    line.replace("https://HOST/", server.address).replace("NAME:TOKEN", f"alice:{alice}")
                ),
                "--silent",
                "--show-error",
                "--fail",
            ],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for line in requests
    ]
    assert FORM.sub("ID", printed[0]) == FORM.sub("ID", shown)
    assert {f"`{name}`" for name in OPERATIONS} <= {*section.split()}
    for name in PARAMETERS:
        assert f"`{name}`" in section

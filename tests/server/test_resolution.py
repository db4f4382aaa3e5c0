"""Resolution: addresses, redirects, formats and headers, with a real server."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

import pytest
from pyoxigraph import RdfFormat, parse
from resolving import Site
from serving import ALICE, Reply, Server
from tables import rows

import idstore
from idstore import Statement
from idstore.registry.imports.enroll import Listed
from idstore.server.resolution.namespace_page import MOST
from idstore.server.resolution.record_page import ITEMS
from idstore.vocabulary import IDS, VOID

BROWSER: Final = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
RDF: Final = {
    "text/turtle": RdfFormat.TURTLE,
    "application/n-triples": RdfFormat.N_TRIPLES,
    "application/rdf+xml": RdfFormat.RDF_XML,
    "application/ld+json": RdfFormat.JSON_LD,
}
MEDIA: Final = [*RDF, "application/json", "application/linkset", "application/linkset+json", "text/plain"]


def triples(reply: Reply, media_type: str) -> set[tuple[str, str, str]]:
    return {
        (str(one.subject), str(one.predicate), str(one.object))
        for one in parse(reply.body, format=RDF[media_type])
    }


def linked(reply: Reply) -> dict[str, list[str]]:
    """Return the targets of a header Link by relation."""
    found: dict[str, list[str]] = {}
    for target, relation in re.findall(r'<([^>]*)>; rel="([^"]+)"', reply.headers["link"]):
        found.setdefault(relation, []).append(target)
    return found


# addresses


@pytest.mark.parametrize(
    ("address", "target"),
    [(row["address"], row["target"]) for row in rows(Path(__file__).with_name("addresses.tsv"))],
)
def test_a_published_address_leads_to_the_target(resolving: Site, address: str, target: str) -> None:
    reply = resolving.get(address, BROWSER)
    assert (reply.status, reply.headers["location"]) == (
        302 if address.startswith(("/hdl/", "/handle/")) else 303,
        target,
    )


@pytest.mark.parametrize(
    "address",
    [
        "/hdl/102.100.272",
        "/hdl/102.100.272/BH93VNQH",  # printed with 8 characters in PILIN's version control policy
        "/hdl/102.100.272/XYZZY",
        "/hdl/%FF",
        "/pronom/FMT/18",
        "/pronom/fmt",
        "/pronom/lan/1",
        "/details/1936-0851/v04i0010/6153_dsognooinira.xml",
        "/id/rdl/R1234567890",
        "/id/rdl/1",
        "/id/nothing/1",
        "/resolve?id=http://elsewhere.example.org/",
        "/resolve?id=nothing",
    ],
)
def test_what_is_not_registered_is_not_found(resolving: Site, address: str) -> None:
    page = resolving.get(address, BROWSER)
    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    problem = resolving.get(address, "text/turtle")
    assert (problem.status, problem.headers["content-type"]) == (404, "application/problem+json")
    assert problem.json["error"] in ("not-registered", "invalid-identifier", "unknown-namespace")
    for reply in (page, problem):
        assert reply.headers["cache-control"] == "private, no-store"
        assert reply.headers["vary"] == "Accept"


@pytest.mark.parametrize(
    "address", ["/resolve?id=", "/resolve?id=a&id=b", "/details.xqy", "/details.xqy?uri="]
)
def test_an_address_without_an_identifier_is_refused(resolving: Site, address: str) -> None:
    assert resolving.get(address, "application/json").status == 400


@pytest.mark.parametrize("address", ["/hdl", "/hdl/", "/id", "/pronom/", "/details"])
def test_an_address_of_nothing_is_not_found(resolving: Site, address: str) -> None:
    reply = resolving.get(address)
    assert (reply.status, reply.headers["content-type"]) == (404, "application/problem+json")


def test_a_bare_label_of_several_namespaces_names_them(resolving: Site) -> None:
    reply = resolving.get("/resolve?id=doc", "application/json")
    assert reply.status == 300
    assert reply.json["fields"]["candidates"] == [
        "https://hdl.handle.net/10.1000/doc",
        "https://hdl.handle.net/10.1045/doc",
    ]
    page = resolving.get("/resolve?id=doc", BROWSER)
    assert b"/resolve?id=https%3A//hdl.handle.net/10.1045/doc" in page.body


# targets


@pytest.mark.parametrize("accept", [None, "*/*", BROWSER, "text/html", "text/*;q=0.5"])
def test_a_browser_is_sent_to_the_target(resolving: Site, accept: str | None) -> None:
    for method in ("GET", "HEAD"):
        reply = resolving.get(resolving.at("led"), accept, method=method)
        assert (reply.status, reply.headers["location"]) == (303, "http://example.org/valve")
        assert reply.headers["cache-control"] == "no-cache"
        assert reply.headers["vary"] == "Accept"
        assert reply.body == b""


@pytest.mark.parametrize(("name", "target"), [("mailto", "mailto:"), ("script", "javascript:")])
def test_a_browser_is_sent_nowhere_but_to_the_web(resolving: Site, name: str, target: str) -> None:
    reply = resolving.get(resolving.at(name), BROWSER)
    assert (reply.status, "location" in reply.headers) == (200, False)
    assert target.encode() in reply.body
    assert f'href="{target}'.encode() not in reply.body


def test_an_address_outside_the_registry_is_never_a_target(resolving: Site) -> None:
    for text in ("http://evil.example.org/", "//evil.example.org", "https:evil.example.org"):
        reply = resolving.get(f"/resolve?id={text}")
        assert (reply.status, "location" in reply.headers) == (404, False)


@pytest.mark.parametrize("asked", ["?noredirect", "?noredirect=", "?format=html"])
def test_the_record_is_shown_on_request(resolving: Site, asked: str) -> None:
    reply = resolving.get(resolving.at("led") + asked, BROWSER)
    assert reply.status == 200
    assert b"ball valve" in reply.body


def test_a_superseded_identifier_leads_to_its_successor_and_says_so(resolving: Site) -> None:
    reply = resolving.get(resolving.at("superseded"))
    assert (reply.status, reply.headers["location"]) == (303, "http://example.org/newer")
    assert linked(reply)["successor-version"] == [resolving.ids["newer"]]
    page = resolving.get(resolving.at("superseded") + "?noredirect")
    assert b"Superseded" in page.body
    assert resolving.ids["newer"].encode() in page.body


def test_a_superseded_identifier_with_two_successors_shows_both(resolving: Site) -> None:
    reply = resolving.get(resolving.at("split"))
    assert reply.status == 200
    successors = {resolving.ids["newer"], resolving.ids["newest"]}
    assert {*linked(reply)["successor-version"]} == successors
    assert all(one.encode() in reply.body for one in successors)


def test_a_deprecated_identifier_still_leads_to_its_target(resolving: Site) -> None:
    reply = resolving.get(resolving.at("deprecated"))
    assert (reply.status, reply.headers["location"]) == (303, "http://example.org/old")
    assert linked(reply)["successor-version"] == [resolving.ids["newer"]]
    assert b"there is a better one" in resolving.get(resolving.at("deprecated") + "?noredirect").body


@pytest.mark.parametrize("accept", [BROWSER, *RDF, "application/json", "text/plain"])
def test_a_tombstone_is_gone_with_its_reason(resolving: Site, accept: str) -> None:
    for method in ("GET", "HEAD"):
        reply = resolving.get(resolving.at("buried"), accept, method=method)
        assert (reply.status, "location" in reply.headers, "etag" in reply.headers) == (410, False, False)
        assert (b"it was advertising" in reply.body) == (method == "GET")


def test_the_page_of_a_tombstone_does_not_link_to_its_target(resolving: Site) -> None:
    page = resolving.get(resolving.at("buried"), BROWSER).body
    assert b"http://example.org/more-abuse" in page
    assert b'href="http://example.org/' not in page


# formats


def test_the_formats_of_rdf_hold_the_same(resolving: Site) -> None:
    iri = f"<{resolving.ids['led']}>"
    found = [triples(resolving.get(resolving.at("led"), media), media) for media in RDF]
    assert all(one == found[0] for one in found)
    assert (iri, str(IDS.target), "<http://example.org/valve>") in found[0]
    assert len([one for one in found[0] if one[2] == str(IDS.Binding)]) == 2


def test_a_record_is_what_an_export_has_of_it(resolving: Site) -> None:
    text = f"DESCRIBE <{resolving.ids['led']}>"
    sent = {"text": text, "format": "ntriples"}
    exported = resolving.server.ask("POST", "/api/v1/query", sent)
    described = {line for line in exported.body.decode().splitlines() if line.startswith("<http")}
    record = resolving.get(resolving.at("led"), "application/n-triples").body.decode().splitlines()
    assert described == {line for line in record if line.startswith("<http")}


def test_a_party_sees_in_rdf_what_it_may_see(resolving: Site) -> None:
    media = "application/n-triples"
    reply = resolving.get(resolving.at("draft"), media, token=resolving.carol)
    assert (reply.status, reply.headers["cache-control"]) == (200, "private, no-store")
    assert b"a draft" in reply.body
    granted = resolving.server.ask(
        "POST", "/api/v1/grant", {"id": resolving.ids["draft"], "grantee": "dan"}, token=resolving.carol
    )
    assert granted.status == 200
    assert b"party/dan" in resolving.get(resolving.at("draft"), media, token=resolving.carol).body
    assert resolving.get(resolving.at("draft"), media).status == 404


def test_json_is_that_of_the_command_line(resolving: Site) -> None:
    found = resolving.get(resolving.at("led"), "application/json").json
    assert (found["id"], found["target"]) == (resolving.ids["led"], "http://example.org/valve")
    assert [one["text"] for one in found["comments"]] == ["in use since 1999"]  # the other one is internal


@pytest.mark.parametrize("media", MEDIA)
def test_an_answer_has_the_format_asked_for(resolving: Site, media: str) -> None:
    for method in ("GET", "HEAD"):
        reply = resolving.get(resolving.at("led"), f"{media}, text/html;q=0.5", method=method)
        assert reply.status == 200
        assert reply.headers["content-type"].partition(";")[0] == media
        assert (reply.headers["vary"], reply.headers["cache-control"]) == ("Accept", "no-cache")
        assert bool(reply.body) == (method == "GET")


def test_an_unknown_format_is_not_acceptable_and_the_known_ones_are_listed(resolving: Site) -> None:
    for accept in ("image/png", "text/html;q=0", "application/pdf, image/*;q=0.5", "nonsense"):
        reply = resolving.get(resolving.at("led"), accept)
        assert (reply.status, reply.json["error"]) == (406, "not-acceptable")
        assert all(one in reply.body.decode() for one in ("text/html", *MEDIA))
    assert resolving.get(resolving.at("led") + "?format=word", "text/turtle").status == 422


@pytest.mark.parametrize("asked", ["?info", "??"])
def test_inflections_give_the_record_in_plain_text(resolving: Site, asked: str) -> None:
    reply = resolving.get(resolving.at("led") + asked, BROWSER)
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    assert reply.body.decode().splitlines()[:5] == [
        "erc:",
        "who: The RDL group",
        "what: ball valve",
        f"when: {resolving.get(resolving.at('led'), 'application/json').json['created'][:10].replace('-', '')}",  # noqa: E501
        f"where: {resolving.ids['led']}",
    ]
    assert "what: permanent" in reply.body.decode().partition("erc-support:")[2]


def test_plain_text_has_no_lines_that_a_name_made(resolving: Site) -> None:
    text = resolving.get(resolving.at("hostile") + "?info").body.decode()
    assert "\u202e" not in text
    assert "%E2%80%AE" in text


# links


def test_links_say_how_to_cite_and_where_the_formats_are(resolving: Site) -> None:
    for accept in (BROWSER, "text/turtle", "application/linkset"):
        found = linked(resolving.get(resolving.at("led"), accept))
        assert found["cite-as"] == [resolving.ids["led"]]
        assert found["license"] == ["https://creativecommons.org/publicdomain/zero/1.0/"]
        for target in found["describedby"] + found["linkset"]:
            assert resolving.get(resolving.at("led") + target, BROWSER).status == 200


def test_links_of_an_asked_for_identifier_keep_it(resolving: Site) -> None:
    asked = "/resolve?id=hdl:10.1000/%C3%BCber"
    for target in linked(resolving.get(asked))["describedby"]:
        assert "über" in resolving.get(f"/resolve{target}").body.decode()


@pytest.mark.parametrize(
    ("path", "name", "said"),
    [
        ("/id/rdl", "label", "ball valve"),
        ("/details.xqy", "uri", "03054179/v31i0004/530_apcbttsfhh"),
    ],
)
def test_links_keep_the_parameter_that_names_the_identifier(
    resolving: Site, path: str, name: str, said: str
) -> None:
    label = resolving.ids["led"].partition("#")[2]
    asked = {"label": label, "uri": "/03054179/v31i0004/530_apcbttsfhh"}[name]
    here = f"{path}?{urlencode({name: asked})}"
    found = linked(resolving.get(f"{here}&noredirect", BROWSER))
    for target in found["describedby"]:
        assert said in resolving.get(f"{path}{target}").body.decode()
    [context] = resolving.get(f"{path}{found['linkset'][0]}").json["linkset"]
    assert context["anchor"] == f"{resolving.server.address.rstrip('/')}{here}"


def test_an_identifier_that_is_no_address_is_cited_by_one(resolving: Site) -> None:
    found = linked(resolving.get("/pronom/fmt/18"))
    assert found["cite-as"] == ["http://www.nationalarchives.gov.uk/PRONOM/fmt/18"]


def test_a_set_of_links_is_self_contained(resolving: Site) -> None:
    here = f"{resolving.server.address.rstrip('/')}{resolving.at('led')}"
    [context] = resolving.get(here, "application/linkset+json").json["linkset"]
    assert context["anchor"] == here
    assert context["cite-as"] == [{"href": resolving.ids["led"]}]
    assert {"href": f"{here}?format=turtle", "type": "text/turtle"} in context["describedby"]
    text = resolving.get(resolving.at("led"), "application/linkset").body.decode()
    entries = text.rstrip("\n").split(",\n")
    assert all(re.fullmatch(r'<https?://[^>]+>(; [a-z]+="[^"]+")+', one) for one in entries)
    assert len(entries) == sum(len(targets) for name, targets in context.items() if name != "anchor")


def test_a_false_host_writes_no_link_of_its_own(resolving: Site) -> None:
    reply = resolving.get(resolving.at("led"), "application/linkset", Host='a>; rel="cite-as", <b')
    assert reply.status in (200, 400)
    assert reply.body.decode().count('rel="cite-as"') <= 1


# caches


def test_a_client_that_has_the_record_gets_no_other(resolving: Site) -> None:
    for media in (*MEDIA, "text/html"):
        path = f"{resolving.at('led')}?noredirect"
        first = resolving.get(path, media)
        tag = first.headers["etag"]
        assert re.fullmatch('"[0-9a-f]{32}"', tag)
        assert resolving.get(path, media).body == first.body
        for known in (tag, f'"other", {tag}', f"W/{tag}", "*"):
            for method in ("GET", "HEAD"):
                reply = resolving.get(path, media, If_None_Match=known, method=method)
                assert (reply.status, reply.body) == (304, b"")
                assert reply.headers["etag"] == tag
                assert (reply.headers["vary"], reply.headers["cache-control"]) == ("Accept", "no-cache")
        assert resolving.get(path, media, If_None_Match='"other"').status == 200


def test_formats_have_different_tags(resolving: Site) -> None:
    tags = [resolving.get(resolving.at("led"), media).headers["etag"] for media in MEDIA]
    assert len({*tags}) == len(tags)


def test_only_what_everyone_sees_may_be_kept(resolving: Site) -> None:
    for path in (resolving.at("led"), resolving.at("led") + "?noredirect", "/id/rdl"):
        assert resolving.get(path).headers["cache-control"] == "no-cache"
        known = resolving.get(path, token=resolving.carol)
        assert known.headers["cache-control"] == "private, no-store"
        assert "access-control-allow-origin" not in known.headers
    assert resolving.get(resolving.at("draft"), token=resolving.carol).headers["cache-control"] == (
        "private, no-store"
    )


def test_a_change_changes_the_tag(resolving: Site) -> None:
    token = resolving.server.token(ALICE)
    path = resolving.at("newest")
    first = resolving.get(path, "text/turtle").headers["etag"]
    sent = {"id": resolving.ids["newest"], "name": "another name", "lang": "en"}
    assert resolving.server.ask("POST", "/api/v1/name", sent, token=token).status == 200
    assert resolving.get(path, "text/turtle", If_None_Match=first).status == 200


# other sites


def test_scripts_of_other_sites_may_read_what_is_public(resolving: Site) -> None:
    for path in (resolving.at("led"), resolving.at("led") + "?format=json", "/id/rdl/R1", "/id/rdl"):
        reply = resolving.get(path, Origin="https://other.example.org")
        assert reply.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in reply.headers
    preflight = resolving.get(resolving.at("led"), method="OPTIONS", Origin="https://other.example.org")
    assert (preflight.status, preflight.headers["access-control-allow-methods"]) == (204, "GET, HEAD")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
def test_no_other_method_is_there(resolving: Site, method: str) -> None:
    reply = resolving.get(resolving.at("led"), method=method)
    assert reply.status == 405
    assert {*reply.headers["allow"].split(", ")} == {"GET", "HEAD", "OPTIONS"}


# bases whose host is ours


def test_the_document_of_a_base_holds_its_identifiers(resolving: Site) -> None:
    for media in RDF:
        reply = resolving.get("/data", media, Host="rdl.example.org")
        found = triples(reply, media)
        assert (f"<{resolving.ids['led']}>", str(IDS.target), "<http://example.org/valve>") in found
        assert not [one for one in found if resolving.ids["draft"] in str(one)]
    private = resolving.get("/data", "text/turtle", Host="rdl.example.org", token=resolving.carol)
    assert resolving.ids["draft"].encode() in private.body or b"a draft" in private.body
    assert private.headers["cache-control"] == "private, no-store"


@pytest.mark.parametrize("host", ["rdl.example.org", "RDL.example.org", "rdl.example.org:80"])
def test_a_base_is_served_at_its_own_address(resolving: Site, host: str) -> None:
    reply = resolving.get("/data", BROWSER, Host=host)
    assert (reply.status, b'action="/id/rdl"' in reply.body) == (200, True)


def test_a_base_is_served_nowhere_else(resolving: Site) -> None:
    assert resolving.get("/data", BROWSER).status == 404
    assert resolving.get("/data", BROWSER, Host="other.example.org").status == 404
    assert resolving.get("/nothing", BROWSER, Host="rdl.example.org").status == 404


def test_the_server_s_own_addresses_come_first_at_each_host(resolving: Site) -> None:
    for path in ("/healthz", "/api/v1/openapi.json", "/static/style.css", "/id/rdl"):
        assert resolving.get(path, Host="rdl.example.org").status == 200


def test_an_identifier_below_a_base_is_its_own_address(resolving: Site) -> None:
    path = "/19360851/v04i0010/6153_dsognooinira"
    reply = resolving.get(path, BROWSER, Host="journals.example.org")
    assert (reply.status, reply.headers["location"]) == (303, "https://journals.scholarsportal.info/")
    assert resolving.get(path, "text/turtle", Host="journals.example.org").status == 200
    assert resolving.get("/", BROWSER, Host="journals.example.org").status == 200


def test_a_label_of_a_namespace_is_found(resolving: Site) -> None:
    label = resolving.ids["led"].partition("#")[2]
    reply = resolving.get(f"/id/rdl?label={label}")
    assert (reply.status, reply.headers["location"]) == (303, "http://example.org/valve")
    assert resolving.get("/id/rdl?label=").status == 400
    assert resolving.get("/id/nothing", "application/json").status == 404
    assert (
        json.loads(resolving.get("/id/h", "application/json").body)["base"]
        == "https://hdl.handle.net/10.1000/"
    )


# large and published elsewhere


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a namespace with more identifiers than its document holds, below a path."""
    store = tmp_path_factory.mktemp("l") / "store"
    with idstore.open(store, administrator=ALICE) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        listed = [Listed(line=number, id=f"n{number:03}") for number in range(1, MOST + 2)]
        listed[1] = replace(listed[1], leads_to="http://example.org/")
        others = [Statement(f"http://other.example.org/{number}") for number in range(ITEMS + 1)]
        listed += [Listed(line=len(listed), id="n001", statement=other) for other in others]
        registry.enrol("h", listed, ALICE, "published")
    with Server(store, ("--prefix", "/ids")) as serving:
        yield serving


def test_the_data_of_a_namespace_are_bounded_and_say_so(large: Server) -> None:
    found = large.ask("GET", "/ids/id/h", headers={"Accept": "text/turtle"})
    media = "text/turtle"
    stated = triples(found, media)
    assert len([one for one in stated if one[1] == str(IDS.stage)]) == MOST
    assert any(one[1] == str(IDS.partial) for one in stated)
    [lookup] = {one[2][1:-1] for one in stated if one[1] == str(VOID.uriLookupEndpoint)}
    assert lookup == f"{large.address}resolve?id="
    asked = lookup + quote("https://hdl.handle.net/10.1000/n001", safe="")
    one = large.ask("GET", asked.removeprefix(f"http://127.0.0.1:{large.port}"), headers={"Accept": media})
    assert (one.status, b"n001" in one.body) == (200, True)


def test_a_long_record_is_shown_in_part_and_given_whole(large: Server) -> None:
    page = large.ask("GET", "/ids/hdl/10.1000/n001?format=html")
    assert page.body.count(b'<li><a href="http://other.example.org/') == ITEMS
    assert b"more bindings" in page.body
    whole = large.ask("GET", "/ids/hdl/10.1000/n001", headers={"Accept": "application/json"})
    assert len(whole.json["bindings"]) == ITEMS + 1


def test_addresses_below_a_path_work_with_and_without_it(large: Server) -> None:
    for prefix in ("", "/ids"):
        reply = large.ask("GET", f"{prefix}/hdl/10.1000/n002")
        assert (reply.status, reply.headers["location"]) == (302, "http://example.org/")
        page = large.ask("GET", f"{prefix}/hdl/10.1000/n002?noredirect")
        assert b'href="/ids/static/style.css"' in page.body
        assert b'href="/ids/id/h"' in page.body
        links = large.ask("GET", f"{prefix}/id/h/n002", headers={"Accept": "application/linkset+json"})
        assert links.json["linkset"][0]["anchor"] == f"{large.address}id/h/n002"
    home = large.ask("GET", "/ids/")
    assert (home.status, b'action="/ids/resolve"' in home.body) == (200, True)

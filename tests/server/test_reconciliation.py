"""The reconciliation service: requests as OpenRefine sends them, and what they may find."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from curies import load_extended_prefix_map, load_jsonld_context
from serving import ALICE, BOB, Reply, Server

pytest.importorskip("uvicorn", reason="the extra server is not installed")

import idstore

FORM = {"Content-Type": "application/x-www-form-urlencoded; charset=UTF-8"}
BASE = "http://valves.example.org/data#"


@pytest.fixture(scope="module")
def known() -> dict[str, str]:
    return {}


@pytest.fixture(scope="module")
def served(
    prepared: Path, tmp_path_factory: pytest.TempPathFactory, known: dict[str, str]
) -> Iterator[Server]:
    """Serve two namespaces with published identifiers and drafts of the same names.

    A third namespace does not allow reconciliation.
    """
    place = tmp_path_factory.mktemp("reconciling")
    shutil.copytree(prepared, place / "s")
    with idstore.open(place / "s") as registry:
        registry.add_namespace("valves", BASE, "rdswip", ALICE)
        registry.add_namespace("pumps", "http://pumps.example.org/data#", "rdswip", ALICE)
        for key, namespace, name, lang in (
            ("ball", "valves", "Ball valve", "en"),
            ("twin", "valves", "Twin", "en"),
            ("other twin", "valves", "Twin", "und"),
            ("french", "valves", "vanne", "fr"),
            ("pump", "pumps", "Ball valve", "en"),
            ("elsewhere", "rdl", "Secretly named", "en"),
        ):
            record = registry.mint(namespace, ALICE, idstore.Request(name=name, lang=lang))
            registry.fixate([record.iri], ALICE)
            known[key] = record.iri
        draft = registry.mint("valves", ALICE, idstore.Request(name="Draft valve", lang="en"))
        known["draft"] = draft.iri
        gone = registry.mint("valves", ALICE, idstore.Request(name="Abusive", lang="en"))
        registry.fixate([gone.iri], ALICE)
        registry.deprecate(gone.iri, "old", ALICE)
        known["old"] = gone.iri
        withdrawn = registry.mint("valves", ALICE, idstore.Request(name="Phishing", lang="en"))
        registry.fixate([withdrawn.iri], ALICE)
        registry.revoke(withdrawn.iri, "it led to a false bank", ALICE)
        known["withdrawn"] = withdrawn.iri
    settings = place / "settings.toml"
    settings.write_text('[reconciliation]\nnamespaces = ["valves", "pumps"]\n')
    with Server(place / "s", ("--settings", str(settings))) as server:
        yield server


def ask(server: Server, queries: Any, path: str = "/reconcile", **more: Any) -> Reply:
    text = queries if isinstance(queries, str) else json.dumps(queries)
    return server.ask("POST", path, urlencode({"queries": text}).encode(), headers=FORM, **more)


def found(server: Server, query: Any, path: str = "/reconcile") -> list[Any]:
    reply = ask(server, {"q0": query if isinstance(query, dict) else {"query": query}}, path)
    assert reply.status == 200, reply.body
    results: list[Any] = reply.json["q0"]["result"]
    return results


def test_the_manifest_is_that_of_version_0_2(served: Server) -> None:
    reply = served.ask("GET", "/reconcile", headers={"Origin": "http://127.0.0.1:3333"})
    assert reply.headers["access-control-allow-origin"] == "*"
    manifest = reply.json
    assert manifest["versions"] == ["0.2"]
    assert manifest.keys() >= {"name", "identifierSpace", "schemaSpace"}
    assert {one["id"] for one in manifest["defaultTypes"]} == {"valves", "pumps"}
    assert "{{id}}" in manifest["view"]["url"]
    assert served.ask("GET", "/reconcile/valves").json["name"].endswith("valves")


def test_the_view_of_a_candidate_is_its_page(served: Server, known: dict[str, str]) -> None:
    url = served.ask("GET", "/reconcile").json["view"]["url"]
    path = url.replace("{{id}}", known["ball"].replace("#", "%23")).partition(f":{served.port}")[2]
    reply = served.ask("GET", path, headers={"Accept": "text/html"})
    assert reply.status == 200
    assert b"Ball valve" in reply.body


def test_a_batch_of_openrefine(served: Server, known: dict[str, str]) -> None:
    reply = ask(
        served,
        {
            "q0": {"query": "Ball valve", "type": "valves", "limit": 3, "type_strict": "should"},
            "q1": {"query": " Twin ", "limit": 3},
            "q2": {"query": "ball"},
            "q3": {"query": "vanne"},
            "q4": {"query": known["ball"], "properties": [{"pid": "P1", "v": "x"}]},
        },
    )
    results = {key: value["result"] for key, value in reply.json.items()}
    [candidate] = results["q0"]
    assert candidate["id"] == known["ball"]
    assert (candidate["name"], candidate["match"], candidate["score"]) == ("Ball valve", True, 90)
    assert candidate["type"] == [{"id": "valves", "name": "valves"}]
    assert {one["id"] for one in results["q1"]} == {known["twin"], known["other twin"]}
    assert not any(one["match"] for one in results["q1"])
    assert results["q2"] == results["q3"] == []
    assert [(one["id"], one["score"], one["match"]) for one in results["q4"]] == [(known["ball"], 100, True)]


def test_queries_come_by_get_too(served: Server, known: dict[str, str]) -> None:
    reply = served.ask("GET", "/reconcile", query={"queries": json.dumps({"q": {"query": "Ball valve"}})})
    assert {one["id"] for one in reply.json["q"]["result"]} == {known["ball"], known["pump"]}


def test_a_namespace_has_a_service_of_its_own(served: Server, known: dict[str, str]) -> None:
    assert [one["id"] for one in found(served, "Ball valve", "/reconcile/pumps")] == [known["pump"]]
    assert served.ask("GET", "/reconcile/rdl").status == 404
    assert served.ask("GET", "/reconcile/nowhere").status == 404


@pytest.mark.parametrize("form", ["iri", "named", "label"])
def test_written_forms_are_found(served: Server, known: dict[str, str], form: str) -> None:
    label = known["ball"].partition("#")[2]
    text = {"iri": known["ball"], "named": f"valves:{label}", "label": label}[form]
    assert [one["id"] for one in found(served, text)] == [known["ball"]]


def test_a_deprecated_identifier_says_so(served: Server, known: dict[str, str]) -> None:
    [candidate] = found(served, "Abusive")
    assert candidate["id"] == known["old"]
    assert candidate["description"].endswith("deprecated")
    assert candidate["match"] is False  # a person decides


def test_a_withdrawn_identifier_is_not_found(served: Server, known: dict[str, str]) -> None:
    assert found(served, "Phishing") == found(served, known["withdrawn"]) == []


def test_only_what_is_published_is_found_by_any_party(served: Server, known: dict[str, str]) -> None:
    queries = {"a": {"query": "Draft valve"}, "b": {"query": known["draft"]}, "c": {"query": "R9999999999"}}
    anonymous = ask(served, queries)
    assert [one["result"] for one in anonymous.json.values()] == [[], [], []]
    for party in (ALICE, BOB):
        assert ask(served, queries, token=served.token(party)).body == anonymous.body


def test_a_namespace_that_does_not_allow_it_has_no_search(served: Server, known: dict[str, str]) -> None:
    assert found(served, "Secretly named") == []
    assert found(served, known["elsewhere"]) == []
    assert found(served, {"query": "Ball valve", "type": "rdl"}) == []


def test_without_settings_nothing_is_found(server: Server) -> None:
    assert server.ask("GET", "/reconcile").json["defaultTypes"] == []
    assert found(server, "valve") == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[]",
        "[" * 100_000,
        '{"q": "text"}',
        '{"q": {"query": 1}}',
        '{"q": {"query": "x", "limit": "3"}}',
        '{"q": {"query": "x", "limit": 0}}',
        '{"q": {"query": "x", "type": {"id": 1}}}',
        json.dumps({f"q{number}": {"query": "x"} for number in range(201)}),
    ],
)
def test_wrong_queries_are_named(served: Server, text: str) -> None:
    reply = ask(served, text)
    assert (reply.status, reply.headers["content-type"]) == (422, "application/problem+json")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (r'{"q": {"query": "valve \ud800"}}', "q"),
        (r'{"q": {"query": "valve", "type": "\udfff"}}', "q"),
        (r'{"q": {"query": "valve", "type": ["valves", "\udfff"]}}', "q"),
        (r'{"\ud800": {"query": "valve"}}', "queries"),
        (r'{"\ud800": {}}', "queries"),
    ],
)
def test_halves_of_characters_are_refused(served: Server, text: str, place: str) -> None:
    reply = ask(served, text)
    assert (reply.status, reply.json["fields"]) == (422, {"field": place})
    assert "is not UTF-8 text (position" in reply.json["detail"]


@pytest.mark.parametrize(
    "text",
    ["x" * 100_000, "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "\0", "?q", '"', "\u202e"],
)
def test_odd_texts_find_nothing(served: Server, text: str) -> None:
    assert found(served, text) == []


def test_other_bodies_and_jsonp_are_refused(served: Server) -> None:
    assert served.ask("POST", "/reconcile", {"queries": {}}).status == 422
    assert served.ask("POST", "/reconcile", b"queries=%FF", headers=FORM).status == 422
    assert served.ask("GET", "/reconcile", query={"callback": "f"}).status == 422
    reply = served.ask("DELETE", "/reconcile")
    assert (reply.status, reply.json["error"]) == (405, "method-not-allowed")
    assert set(reply.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}


def test_a_form_has_room_for_all_queries_and_no_more(served: Server, known: dict[str, str]) -> None:
    texts = [f"{'阀' * 400} {number}" for number in range(199)]
    reply = ask(served, {f"q{number}": {"query": text} for number, text in enumerate([*texts, "Ball valve"])})
    assert {one["id"] for one in reply.json["q199"]["result"]} == {known["ball"], known["pump"]}
    large = ask(served, "x" * (1 << 20))
    assert (large.status, large.json["error"]) == (413, "request-too-large")
    for place, method, path, body in (
        ("the form", "POST", "/reconcile", b"a&" * 10_001),
        ("the address", "GET", f"/reconcile?{'a&' * 10_001}", None),
    ):
        many = served.ask(method, path, body, headers=FORM)
        assert (many.status, many.json["fields"]) == (422, {"field": place})


def test_prefix_maps_are_read_by_their_packages(served: Server) -> None:
    converter = load_extended_prefix_map(served.ask("GET", "/prefixes/curies.json").json)
    assert converter.expand("valves:R1") == f"{BASE}R1"
    context = load_jsonld_context(served.ask("GET", "/prefixes/context.jsonld").json)
    assert context.compress(f"{BASE}R1") == "valves:R1"
    record = served.ask("GET", "/prefixes/bioregistry.json").json["valves"]
    bioregistry = pytest.importorskip("bioregistry", reason="the extra examples is not installed")
    assert bioregistry.Resource(**record).get_uri_prefix() == BASE

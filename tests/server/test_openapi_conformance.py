"""A server answers as its OpenAPI document says, to callers of every kind: no failure, no other answer."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from command_lines import NEVER
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from serving import ALICE, BOB, Server

import idstore
from idstore.operations.declared import OPERATIONS

schemathesis = pytest.importorskip("schemathesis", reason="the extra dev is not installed")

EXAMPLES: Final = 8
"""Requests for each operation and kind of data: three callers share them."""
CHECKS: Final = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
MOMENTS: Final = ("2026-01-01", "2999-11-20T11:17:35.12Z")
URIS: Final = ("http://www.wikidata.org/entity/Q1", "https://doi.org/10.1045/april2006-paskin")
ARTICLE: Final = {"issn": "1936-0851", "volume": "4", "issue": "10", "page": "6153", "title": "A title"}
QUERIES: Final = (
    "SELECT * { ?s ?p ?o } LIMIT 9",
    "ASK {}",
    "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
    "SELECT",
)


@dataclass(frozen=True, slots=True)
class Served:
    """A server, its description, tokens of callers, and values that mean something to it."""

    server: Server
    schema: Any
    tokens: dict[str, str | None]
    values: dict[str, tuple[Any, ...]]


@pytest.fixture(scope="module")
def served(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("described") / "store"
    shutil.copytree(prepared, folder)
    with idstore.open(folder) as registry:
        ids = _fill(registry)
    with Server(folder) as server:
        schema = schemathesis.openapi.from_dict(
            _without_tuples(server.ask("GET", "/api/v1/openapi.json").json)
        )
        tokens = {"anonymous": None, "alice": server.token(ALICE), "bob": server.token(BOB)}
        yield Served(server, schema, tokens, _values(ids))


def _without_tuples(schema: Any) -> Any:
    """Return a description without the types of the items of tuples.

    schemathesis 4 misreads them in components.
    """
    if isinstance(schema, dict):
        return {name: _without_tuples(part) for name, part in schema.items() if name != "prefixItems"}
    return [_without_tuples(part) for part in schema] if isinstance(schema, list) else schema


def _fill(registry: idstore.Registry) -> tuple[str, ...]:
    """Make an identifier of each stage, a party and a group.

    Returns identifiers, and one text that is none.
    """
    draft, theirs, public, gone = (
        registry.mint("rdl", party, idstore.Request(name="valve", target=URIS[0])).iri
        for party in (ALICE, BOB, ALICE, ALICE)
    )
    registry.fixate([public, gone], ALICE)
    registry.revoke(gone, "wrong", ALICE)
    registry.bind(public, idstore.Statement(URIS[1], note="the same"), ALICE)
    handle = registry.register("h", "a/b", ALICE, idstore.Request(target=URIS[0])).iri
    article = registry.mint("sp", ALICE, idstore.Request(metadata=ARTICLE)).iri
    registry.add_party(idstore.Party("carol"), ALICE)
    registry.add_party(idstore.Party("staff"), ALICE, kind="group")
    return draft, theirs, public, gone, handle, article, "rdl:R1", NEVER


def _values(ids: tuple[str, ...]) -> dict[str, tuple[Any, ...]]:
    """Return values by the names of parameters."""
    names = ("carol", "staff", "bob", "nobody.yet")
    namespaces = ("rdl", "h", "own", "sp", "none")
    return {
        **dict.fromkeys(("id", "work", "text"), (*ids, *QUERIES)),
        **dict.fromkeys(("ids", "texts", "successors"), (list(ids[:1]), list(ids[2:4]), [])),
        **dict.fromkeys(("namespace", "name"), (*namespaces, *names)),
        **dict.fromkeys(("grantee", "group", "of", "owner", "party", "receiver"), names),
        **dict.fromkeys(("since", "until", "moment", "at"), MOMENTS),
        **dict.fromkeys(("uri", "target"), (*URIS, "rdl:R1", "wd:Q1")),
        **dict.fromkeys(("count", "limit", "most", "rows", "index"), (0, 1, 3)),
        "base": ("http://new.example.org/data#", "10.1001"),
        "changes": ({"licence": "https://creativecommons.org/publicdomain/zero/1.0/"}, {"digits": "9"}),
        "data": ("http://example.org/", {"format": "hex", "value": "00FF"}),
        "format": ("csv", "json", "turtle", "table", "none"),
        "label": ("a/c", "fmt/18", "R7081857972"),
        "lang": ("en", "und", "no language"),
        "metadata": (ARTICLE, {"type": "fmt"}, {}),
        "permissions": ("1110", "1100", "9"),
        "relation": ("http://www.w3.org/2004/02/skos/core#exactMatch", "skos:closeMatch"),
        "requestKey": ("k1", "k2"),
        "scheme": ("rdswip", "handle", "puid", "none"),
        "stage": ("created", "fixated", "tombstone", "none"),
        "timeout": (30,),
    }


@st.composite
def requests(draw: st.DrawFn, operation: Any, values: dict[str, tuple[Any, ...]], mode: Any) -> Any:
    """Draw a request, half of its arguments from the values."""
    case = draw(operation.as_strategy(mode))
    for arguments in (case.path_parameters, case.query, case.body):
        if isinstance(arguments, dict):
            for name in sorted(arguments.keys() & values.keys()):
                if draw(st.booleans()):
                    arguments[name] = draw(st.sampled_from(values[name]))
    return case


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_answers_as_it_is_described(served: Served, name: str, mode: str) -> None:
    operation = served.schema.find_operation_by_id(name)
    kind = schemathesis.GenerationMode(mode)
    checks = [getattr(schemathesis.checks, check) for check in CHECKS]
    if mode == "negative" and not [*operation.iter_parameters()] and not operation.body:
        return

    @seed(0)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(
        case=requests(operation, served.values, kind),
        caller=st.sampled_from(sorted(served.tokens)),
    )
    def ask(case: Any, caller: str) -> None:
        token = served.tokens[caller]
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        response = case.call(base_url=f"http://127.0.0.1:{served.server.port}", headers=headers)
        case.validate_response(response, checks=checks)

    try:
        ask()
    except Unsatisfiable:
        if mode == "positive":
            raise
        pytest.skip("every request fits the description")

"""Arguments of a wrong kind are refused by name, before anything is stored."""

import inspect
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import IO, Any, get_args, get_origin, get_type_hints

import pytest

import idstore
from idstore import (
    Filter,
    IdstoreError,
    ImportChoices,
    InvalidData,
    InvalidIdentifier,
    Party,
    Registry,
    Request,
    Statement,
)
from idstore.operations.declared import OPERATIONS
from idstore.registry.batch_mint import RequestRow
from idstore.registry.change_rows import ChangeRow
from idstore.registry.handle_values import Draft
from idstore.registry.resolution import ResolutionOptions

ALICE = Party("alice")
NOTHING = object()
"""What no parameter takes."""
SAMPLES: dict[Any, Any] = {
    Party: ALICE,
    Request: Request(),
    Statement: Statement("https://example.org/"),
    Filter: Filter(),
    datetime: datetime(2026, 1, 1, tzinfo=UTC),
    Draft: Draft("URL", "https://example.org/"),
    Path: Path("list.txt"),
    str: "h:x",
    int: 1,
    float: 1.0,
    bool: False,
}
"""Type → an argument of it."""


def sample(kind: Any) -> Any:
    if get_origin(kind) in (Mapping, dict):
        return {}
    if isinstance(get_origin(kind), type) and issubclass(get_origin(kind), Iterable):
        return []
    kinds = (kind, *get_args(kind))
    return next((SAMPLES[one] for one in kinds if one in SAMPLES), None)


def provocations() -> Iterator[Any]:
    """Yield each operation with each of its parameters that is not just any object."""
    for name, operation in OPERATIONS.items():
        for parameter in [*inspect.signature(operation.run).parameters][1:]:
            if parameter not in (operation.download, "others"):
                yield pytest.param(operation.run, parameter, id=f"{name}-{parameter}")


@pytest.mark.parametrize(("function", "parameter"), [*provocations()])
def test_an_argument_of_another_kind_is_refused_near_and_far(
    registry: Registry, function: Callable[..., Any], parameter: str
) -> None:
    """The client refuses it before it asks the server; no server is there."""
    stated = [*inspect.signature(function).parameters.values()][1:]
    kinds = get_type_hints(inspect.unwrap(function), {**function.__globals__, **vars(idstore)})
    given = {one.name: sample(kinds[one.name]) for one in stated if one.default is one.empty}
    operation = next(one for one in OPERATIONS.values() if one.run is function)
    given |= {name: BytesIO() for name in given if name == operation.download}
    before = [*registry.log(ALICE)]
    messages = set()
    far = () if operation.name == "news" else (idstore.connect("http://127.0.0.1:9/"),)
    for here in (registry, *far):
        call = function if here is registry else getattr(here, operation.name)
        first = (registry,) if here is registry else ()
        with pytest.raises(InvalidData, match=f"^{parameter} is <object object at .*; give ") as refused:
            call(*first, **given | {parameter: NOTHING})
        assert (refused.value.field, refused.value.value) == (parameter, None)
        messages.add(refused.value.message)
    assert len(messages) == 1 and [*registry.log(ALICE)] == before


@pytest.mark.parametrize(
    ("kind", "required"),
    [
        (Party, {"name": "alice"}),
        (Request, {}),
        (Statement, {"target": "https://example.org/"}),
        (Filter, {}),
        (ImportChoices, {}),
        (ResolutionOptions, {}),
        (Draft, {"type": "URL", "data": "https://example.org/"}),
        (RequestRow, {"line": 1, "request": Request()}),
        (ChangeRow, {"line": 1, "act": "target", "id": "h:x"}),
    ],
)
def test_a_field_of_another_kind_is_refused(kind: type, required: dict[str, Any]) -> None:
    for field in fields(kind):
        with pytest.raises(InvalidData) as refused:
            kind(**required | {field.name: NOTHING})
        assert refused.value.field == field.name


@pytest.mark.parametrize(
    ("act", "field", "value"),
    [
        (lambda registry: registry.list(ALICE, limit="x"), "limit", "x"),
        (lambda registry: registry.list(ALICE, limit=True), "limit", True),
        (lambda registry: registry.show(5, ALICE), "id", 5),
        (lambda registry: registry.register("h", None, ALICE), "label", None),
        (lambda registry: registry.mint("h", "alice"), "party", "alice"),
        (lambda registry: registry.allow("h", ["alice", 5], ALICE), "parties", None),
        (lambda _: Request(fixate="yes"), "fixate", "yes"),  # type: ignore[arg-type]
        (lambda registry: registry.mint("h", ALICE, Request(metadata={"vol": 7})), "vol", 7),  # type: ignore[dict-item]
        (lambda registry: registry.values("h:x", ALICE, indexes=[-1]), "indexes", -1),
        (lambda registry: registry.show("rdl:foo", ALICE), "id", "rdl:foo"),
        (lambda registry: registry.register("h", "", ALICE), "label", ""),
        (lambda registry: registry.fixate(["h:x", "h:nope"], ALICE), "ids", "h:nope"),
        (lambda registry: registry.supersede("h:x", ["h:nope"], ALICE), "successors", "h:nope"),
        (lambda registry: registry.redact_text("not there", "why", ALICE), "text", "not there"),
        (lambda registry: registry.redact_party("nobody", "why", ALICE), "name", "nobody"),
        (lambda registry: registry.redact_party("no name", "why", ALICE), "name", "no name"),
        (lambda registry: registry.set_namespace("nope", {}, ALICE), "name", "nope"),
        (lambda registry: registry.set_namespace("h", {"nope": "1"}, ALICE), "changes", "nope"),
        (lambda registry: registry.add_namespace("i", "12345", "handle", ALICE), "base", "12345"),
        (
            lambda registry: registry.add_namespace("i", "12346", "handle", ALICE, {"nope": "1"}),
            "settings",
            "nope",
        ),
        (lambda registry: registry.suspend(Party("staff"), "why", ALICE), "name", "staff"),
        (lambda registry: registry.join(ALICE, Party("nope"), ALICE), "group", "nope"),
        (lambda registry: registry.transfer("h:x", Party("staff"), ALICE), "receiver", "staff"),
        (lambda registry: registry.grant("h:x", ALICE, ALICE), "grantee", "alice"),
        (lambda registry: registry.ungrant("h:x", Party("bob"), ALICE), "grantee", "bob"),
        (lambda registry: registry.fullness("nope", ALICE), "name", "nope"),
        (lambda registry: registry.comment("h:x", " ", ALICE), "remark", " "),
        (lambda registry: registry.keep_checked(-1, "", ALICE), "sequence", -1),
        (
            lambda registry: registry.mint("rdl", ALICE, Request(names={"french": "x"})),
            "names",
            "french",
        ),
        (
            lambda registry: registry.bind("h:x", Statement("wd:Q1", "skos:exactmatch"), ALICE),
            "relation",
            "skos:exactmatch",
        ),
        (
            lambda registry: registry.bind("h:x", Statement("wd:Q1", confidence=Decimal(2)), ALICE),
            "confidence",
            "2",
        ),
        (lambda _: Filter(without_name="french"), "without_name", "french"),
        (lambda registry: idstore.new_token(registry, ALICE, namespaces=["nope"]), "namespaces", "nope"),
        (lambda registry: idstore.omissions(registry, ALICE, format="nope"), "format", "nope"),
        (lambda registry: idstore.export(registry, io.StringIO(), ALICE), "target", None),  # type: ignore[arg-type]
        (lambda registry: idstore.export(registry, closed(), ALICE), "target", None),
    ],
)
def test_the_error_has_what_was_given(
    registry: Registry, act: Callable[[Registry], Any], field: str, value: object
) -> None:
    with pytest.raises(IdstoreError) as refused:
        act(registry)
    assert (refused.value.field, refused.value.value) == (field, value)


def test_the_position_is_one_in_the_value_that_was_given(registry: Registry) -> None:
    with pytest.raises(InvalidIdentifier) as refused:
        registry.show("rdl:foo", ALICE)
    assert (refused.value.value, refused.value.position) == ("rdl:foo", 4)
    assert refused.value.fields["position"] == 4


def closed() -> IO[bytes]:
    file = io.BytesIO()
    file.close()
    return file


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with idstore.open(tmp_path_factory.mktemp("a") / "s", administrator=ALICE) as registry:
        registry.add_namespace("h", "12345", "handle", ALICE)
        registry.register("h", "x", ALICE)
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ALICE)
        registry.add_party(Party("staff"), ALICE, "group")
        yield registry


@pytest.mark.parametrize(
    ("act", "field"),
    [
        (lambda registry: registry.allow("h", "alice", ALICE), "parties"),
        (lambda registry: registry.allow_storage("collection", "alice", ALICE), "parties"),
        (lambda registry: registry.fixate("h:x", ALICE), "ids"),
        (lambda registry: registry.unset_values("h:x", "12", ALICE), "indexes"),
        (lambda registry: registry.shared_targets("http://a.example/", ALICE, 1), "ids"),
        (lambda registry: registry.shared_targets([], ALICE, -1), "most"),
        (lambda registry: registry.query("ASK {}", ALICE, rows=-1), "rows"),
        (lambda registry: registry.allow("h", [], ALICE, per_minute=0), "per_minute"),
    ],
)
def test_the_error_names_the_argument(registry: Registry, act: Callable[[Registry], Any], field: str) -> None:
    before = [*registry.log(ALICE)]
    with pytest.raises(InvalidData) as refused:
        act(registry)
    assert refused.value.field == field
    assert [*registry.log(ALICE)] == before

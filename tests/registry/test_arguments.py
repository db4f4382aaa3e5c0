"""Arguments of a wrong kind are refused by name, before anything is stored."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import idstore
from idstore import Filter, ImportChoices, InvalidData, Party, Registry, Request, Statement
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
    ],
)
def test_the_error_has_what_was_given(
    registry: Registry, act: Callable[[Registry], Any], field: str, value: object
) -> None:
    with pytest.raises(InvalidData) as refused:
        act(registry)
    assert (refused.value.field, refused.value.value) == (field, value)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with idstore.open(tmp_path_factory.mktemp("a") / "s", administrator=ALICE) as registry:
        registry.add_namespace("h", "12345", "handle", ALICE)
        registry.register("h", "x", ALICE)
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

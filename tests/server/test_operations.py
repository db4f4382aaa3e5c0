"""Each operation is declared once: routes, client, reference and the methods of `Registry` agree with it."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from serving import ALICE

import idstore
from idstore import Registry, errors
from idstore.errors import IdstoreError, InvalidData, InvalidIdentifier, restored
from idstore.model import times
from idstore.operations.declared import LOCAL, OPERATIONS
from idstore.operations.descriptions import field_texts, parameter_text
from idstore.operations.reference import library_table, reference, result_types
from idstore.operations.wire import dump, load

METHODS = {name for name, _ in inspect.getmembers(Registry, inspect.isfunction) if not name.startswith("_")}
PAGE = Path(__file__).parents[2] / "docs" / "api.md"


def test_each_method_of_a_registry_is_an_operation_or_says_why_not() -> None:
    assert METHODS - {*OPERATIONS} == {*LOCAL}
    assert not {*OPERATIONS} & {*LOCAL}
    assert {name for name in {*OPERATIONS} - METHODS if OPERATIONS[name].function is None} == set()


def test_each_operation_has_one_route_and_no_other_route_exists(tmp_path: Path) -> None:
    pytest.importorskip("fastapi")
    from idstore.server.admission import Figures, ServerLimits
    from idstore.server.allowances import Allowances
    from idstore.server.api import application
    from idstore.server.workers import Workers

    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        paths = application(
            registry, Workers(registry, 60), Figures(), ServerLimits(), Allowances()
        ).openapi()["paths"]
    routes = {
        route["operationId"]: (method.upper(), path.removeprefix("/api/v1"))
        for path, methods in paths.items()
        for method, route in methods.items()
    }
    operations = {one.name: (one.method, one.path) for one in OPERATIONS.values()}
    assert routes == {**operations, "generate": ("POST", "/generate/{namespace}")}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_the_client_has_each_operation(name: str) -> None:
    assert callable(getattr(idstore.connect("http://127.0.0.1:9/"), name))


@pytest.mark.parametrize("name", sorted(LOCAL.keys() - {"close", "home", "load", "refresh"}))
def test_the_client_says_what_needs_the_folder(name: str) -> None:
    with pytest.raises(idstore.IdstoreError, match="this needs the folder"):
        getattr(idstore.connect("http://127.0.0.1:9/"), name)


OF_ALL = (errors.StoreUnavailable, errors.LimitReached, errors.SignInRequired)
"""Errors of every operation."""


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_error_that_a_function_names_is_declared(name: str) -> None:
    operation = OPERATIONS[name]
    raised = " ".join(re.findall(r"Raises.*?(?=\n\n|\Z)", inspect.getdoc(operation.run) or "", re.DOTALL))
    named = [getattr(errors, word, None) for word in re.findall(r"\b[A-Z]\w+", raised)]
    kinds = {one for one in named if isinstance(one, type) and issubclass(one, IdstoreError)}
    assert {one for one in kinds if not issubclass(one, (*operation.errors, *OF_ALL))} == set()


def test_the_reference_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), "python -m idstore.operations.reference"


def test_the_table_of_the_library_is_up_to_date() -> None:
    _, mark, table = (
        (PAGE.parent / "library.md").read_text(encoding="utf-8").partition("<!-- operations -->\n")
    )
    assert mark
    assert table == library_table(), "python -m idstore.operations.reference library"


def test_each_parameter_and_each_field_of_a_result_is_explained() -> None:
    for operation in OPERATIONS.values():
        for parameter in operation.parameters:
            assert parameter_text(operation, parameter), (operation.name, parameter.name)
    for kind in result_types():
        assert all(field_texts(kind).values()), (kind, field_texts(kind))


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS.keys())
def test_names_of_parameters_are_unique(operation: Any) -> None:
    names = [one.name for one in operation.parameters]
    assert len(names) == len({*names})


def test_arguments_survive_the_way_to_the_server() -> None:
    bind, listing = OPERATIONS["bind"], OPERATIONS["list"]
    statement = idstore.Statement("http://x.example.org/", note="seen")
    given = {"id": "rdl:R1", "statement": statement}
    assert bind.arguments(bind.values(given)) == given
    filter = idstore.Filter(party="bob", since=times.of(times.DAY))
    assert listing.values({"filter": filter}) == {"owner": "bob", "since": "1970-01-02T00:00:00.000Z"}
    assert listing.arguments(listing.values({"filter": filter})) == {"filter": filter}


def test_identifiers_in_lists_are_sent_as_texts(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        request = idstore.Request(target="http://x.example.org/")
        first, second = (registry.register("h", label, ALICE, request) for label in "ab")
        [shared] = registry.shared_targets([first], ALICE, 5)
        assert (shared.iri, shared.others) == (first.iri, (second.iri,))
        for name in ("fixate", "shared_targets"):
            assert OPERATIONS[name].values({"ids": [first, second.iri]}) == {"ids": [first.iri, second.iri]}


def test_results_survive_the_way_back(tmp_path: Path) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as registry:
        registry.add_namespace("h", "10.1000", "handle", ALICE)
        request = idstore.Request(name="ventil", lang="de", comment="c", target="http://x.example.org/")
        iri = registry.register("h", "a/b", ALICE, request).iri
        registry.name(iri, "valve", ALICE)
        registry.bind(iri, idstore.Statement("http://y.example.org/", note="n", author="Ann"), ALICE)
        registry.grant(iri, idstore.Party("bob"), ALICE, bind=True)
        results = {
            "show": registry.show(iri, ALICE),
            "resolve": registry.resolve(iri, ALICE),
            "namespaces": registry.namespaces(),
            "parties": registry.parties(ALICE),
            "values": registry.values(iri, ALICE),
            "remarks": registry.remarks(iri, ALICE),
            "authority": registry.authority(iri, ALICE),
            "counts": registry.counts(ALICE),
            "citation": registry.citation(iri, ALICE),
        }
        for name, result in results.items():
            sent = dump(result, registry.home)
            found = load(OPERATIONS[name].result, sent)
            assert type(found) is type(result) or isinstance(result, list | tuple), name
            assert dump(found, registry.home) == sent, name
        assert load(idstore.Record, dump(results["show"], registry.home)) == results["show"]
        events = [entry.event for entry in registry.log(ALICE)]
        assert [load(idstore.Event, dump(event, registry.home)) for event in events] == events


@pytest.mark.parametrize(
    "error", [InvalidIdentifier("fmt/?", "no such character", 4, "puid"), InvalidData("wrong", text="x")]
)
def test_errors_survive_the_way_back(error: IdstoreError) -> None:
    found = restored(error.code, error.message, error.fields)
    assert type(found) is type(error)
    assert (found.message, found.fields, str(found)) == (error.message, error.fields, str(error))


def test_an_unknown_slug_is_still_an_error() -> None:
    assert type(restored("of-tomorrow", "m", {})) is IdstoreError


def test_each_error_has_a_status() -> None:
    problems = pytest.importorskip("idstore.server.problems")
    from test_errors import family

    assert all(400 <= problems.status(kind) < 600 for kind in family())


@pytest.mark.parametrize(
    "url", ["", "ftp://x.example.org/", "http://", "x", "http://x:99999/", "http://x:0/", "http://[::1/"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidData, match="not the address"):
        idstore.connect(url)


@pytest.mark.parametrize("url", ["https://alice:ids_x@x/", "https://x/?token=ids_x", "https://x/#ids_x"])
def test_an_address_with_more_than_a_path_is_refused(url: str) -> None:
    with pytest.raises(InvalidData):
        idstore.connect(url)


def test_a_token_does_not_travel_in_the_clear() -> None:
    with pytest.raises(idstore.IdstoreError, match="plain HTTP"):
        idstore.connect("http://ids.example.org/", token="ids_x")
    idstore.connect("http://ids.example.org/", token="ids_x", insecure=True).close()

"""The error tree: its drawing, its slugs, and its exit codes."""

import copy
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import errors
from idstore.cli.exits import EXIT_CODES, exit_code
from idstore.errors import IdstoreError, InvalidIdentifier

DRAWN = re.compile(r"^(?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+)(?:\s{2,}\S.*)?$")


def family(kind: type[IdstoreError] = IdstoreError) -> Iterator[type[IdstoreError]]:
    """Yield the errors that idstore defines; those of tests and plug-ins do not count."""
    if kind.__module__.partition(".")[0] == "idstore":
        yield kind
    for child in kind.__subclasses__():
        yield from family(child)


def drawn() -> dict[str, str | None]:
    """Return the tree in the module's docstring: each name and its parent's."""
    parents: dict[str, str | None] = {}
    above: dict[int, str] = {}
    for found in filter(None, map(DRAWN.match, (errors.__doc__ or "").splitlines())):
        depth = len(found["branch"]) // 4
        above[depth] = found["name"]
        parents[found["name"]] = above[depth - 1] if depth else None
    return parents


def test_the_drawn_tree_matches_the_classes() -> None:
    real = {
        kind.__name__: next((b.__name__ for b in kind.__bases__ if issubclass(b, IdstoreError)), None)
        for kind in family()
    }
    assert drawn() == real


def test_slugs_are_unique_and_well_formed() -> None:
    slugs = [kind.code for kind in family()]
    assert len(slugs) == len(set(slugs))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", slug) for slug in slugs)
    assert "usage" not in slugs, "the command line's own"


def test_all_errors_are_defined_in_one_file() -> None:
    assert {kind.__module__ for kind in family()} == {"idstore.errors"}


@pytest.mark.parametrize("kind", [*family()], ids=lambda kind: kind.__name__)
def test_each_error_has_an_exit_code(kind: type[IdstoreError]) -> None:
    assert kind in EXIT_CODES
    assert EXIT_CODES[kind] in range(1, 10)


def test_each_exit_code_has_an_error() -> None:
    assert set(EXIT_CODES) == set(family())


def test_an_error_of_a_plug_in_has_its_parents_code() -> None:
    child = type("OfAPlugIn", (errors.StoreBusy,), {})
    assert exit_code(child("busy")) == EXIT_CODES[errors.StoreBusy]


@pytest.mark.parametrize(
    ("kind", "foreign"),
    [
        (errors.InvalidIdentifier, ValueError),
        (errors.InvalidData, ValueError),
        (errors.NotRegistered, LookupError),
        (errors.UnknownScheme, LookupError),
        (errors.NotPermitted, PermissionError),
        (errors.LimitReached, TimeoutError),
        (errors.StoreUnavailable, OSError),
    ],
)
def test_errors_subclass_their_python_families(kind: type[IdstoreError], foreign: type[Exception]) -> None:
    assert issubclass(kind, foreign)


def test_messages_and_fields_are_kept() -> None:
    error = errors.InvalidIdentifier("fmt/?", "no such character", 4, "puid")
    assert str(error) == error.message
    assert error.fields == {"text": "fmt/?", "reason": "no such character", "position": 4, "scheme": "puid"}


def test_an_unreadable_text_gets_the_message_of_a_scheme_in_use(tmp_path: Path) -> None:
    alice = idstore.Party("alice")
    with idstore.open(tmp_path / "store", administrator=alice) as registry:
        registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", alice)
        with pytest.raises(InvalidIdentifier, match="10 or more are needed") as caught:
            registry.show("R1", alice)
        assert (caught.value.scheme, caught.value.position) == ("rdswip", 2)
        registry.add_namespace(
            "longer", "http://longer.example.org/data#", "rdswip", alice, {"profile": "rdlfacade"}
        )
        with pytest.raises(InvalidIdentifier, match="11 or more are needed"):
            registry.show("http://longer.example.org/data#R1", alice)
        with pytest.raises(
            InvalidIdentifier
        ):  # without a fitting scheme in use: the message of the scheme that reads most of the text
            registry.show("fmt", alice)


@pytest.mark.parametrize(
    "error",
    [
        errors.InvalidIdentifier("fmt/?", "no such character", 4, "puid"),
        errors.ExchangeError("a.csv", 3, "no column"),
        errors.BatchRefused("a.batch", [(1, "x"), (2, "y")]),
        errors.AmbiguousIdentifier("fmt/1", ["http://a", "http://b"]),
        errors.UnknownNamespace("x"),
        errors.UnknownValue("10.5072/a", 3),
        errors.StoreBusy("busy", holder=1),
        errors.OutcomeUnknown("unknown"),
    ],
    ids=lambda error: error.code,
)
def test_errors_reach_other_processes_whole(error: IdstoreError) -> None:
    for again in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(again), str(again), again.details()) == (type(error), str(error), error.details())
        assert (again.position, again.reason) == (error.position, error.reason)

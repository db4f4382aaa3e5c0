"""The public names of the package: errors, and the types that operations take and give."""

import dataclasses
import inspect
import typing
from collections.abc import Iterator
from decimal import Decimal
from importlib.metadata import version

import pytest

import idstore
from idstore import errors
from idstore.operations.declared import LOCAL, OPERATIONS


def classes(hint: object) -> Iterator[type]:
    """Yield the classes of the package that a type is made of."""
    for part in typing.get_args(hint):
        yield from classes(part)
    if inspect.isclass(hint) and hint.__module__.startswith("idstore."):
        yield hint


def test_every_error_is_public() -> None:
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.IdstoreError):
            assert getattr(idstore, name) is kind
            assert name in idstore.__all__


def inner(kind: type) -> Iterator[type]:
    """Yield the classes of the package that the fields of a dataclass are made of."""
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind, localns={"Decimal": Decimal})
        for field in dataclasses.fields(kind):
            if not field.name.startswith("_"):
                yield from classes(hints[field.name])


def test_every_type_of_an_operation_is_public() -> None:
    """Also those of what needs the folder of the store, and of the fields of these types."""
    functions = [
        idstore.connect,
        *(
            operation.function or getattr(idstore.Registry, operation.name)
            for operation in OPERATIONS.values()
        ),
        *(getattr(idstore.Registry, name) for name in LOCAL),
    ]
    unread = [
        kind
        for function in functions
        for hint in typing.get_type_hints(function, localns={"Dataset": None}).values()
        for kind in classes(hint)
    ]
    seen = set[type]()
    while unread:
        kind = unread.pop()
        if kind not in seen:
            seen.add(kind)
            unread += inner(kind)
    assert {kind for kind in seen if getattr(idstore, kind.__name__, None) is not kind} == set()


def test_every_operation_is_a_method_or_a_public_function() -> None:
    for operation in OPERATIONS.values():
        if operation.function is not None:
            assert getattr(idstore, operation.function.__name__) is operation.function


AS_TERMS = {
    ("Binding", "node"), ("Binding", "notes"), ("Event", "kind"), ("Event", "arguments"),
    ("ValidationResult", "focus"), ("ValidationResult", "value"),
}  # fmt: skip
"""Fields of results that are RDF terms."""


def test_results_have_texts_and_not_terms() -> None:
    results = {
        kind
        for operation in OPERATIONS.values()
        for kind in classes(
            typing.get_type_hints(operation.function or getattr(idstore.Registry, operation.name))["return"]
        )
    }
    found, unread = set(), list(results)
    while unread:
        kind = unread.pop()
        fields = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
        for name, hint in typing.get_type_hints(kind).items() if fields else ():
            inner = {*classes(hint)} - results
            results |= inner
            unread += inner
            if name in fields and "pyoxigraph" in str(hint):
                found.add((kind.__name__, name))
    assert found == AS_TERMS


def test_the_version_and_unknown_names() -> None:
    assert idstore.__version__ == version("idstore")
    with pytest.raises(AttributeError, match="StoreBussy"):
        _ = idstore.StoreBussy  # type: ignore[attr-defined]
    try:
        raise idstore.StoreBusy("busy", holder=1, wait=1)
    except idstore.StoreUnavailable as error:
        assert error.code == "store-busy"

"""What a text names: namespaces whose names are also what identifiers are written with."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry, Statement
from idstore.errors import AmbiguousIdentifier, InvalidData, InvalidIdentifier, NotRegistered, UnknownNamespace
from idstore.exchange import handle_batch, rdf

ADA = Party("ada")
OURS, THEIRS = "https://hdl.handle.net/10.5/12345/x", "https://hdl.handle.net/12345/x"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ADA, durability="process") as made:
        made.add_namespace("hdl", "10.5", "handle", ADA)
        made.add_namespace("other", "12345", "handle", ADA)
        made.add_namespace("https", "http://rdl.example.org/data#", "rdswip", ADA)
        yield made


def test_a_written_form_is_not_what_a_namespace_of_that_name_has(registry: Registry) -> None:
    theirs = registry.register("other", "x", ADA).iri.value
    assert [registry.identify(text, ADA) for text in ("hdl:12345/x", THEIRS, "other:x")] == [theirs] * 3
    ours = registry.register("hdl", "12345/x", ADA).iri.value
    with pytest.raises(AmbiguousIdentifier) as caught:
        registry.fixate(["hdl:12345/x"], ADA)
    assert caught.value.fields["candidates"] == sorted([OURS, THEIRS]) == sorted([ours, theirs])
    assert [registry.identify(text, ADA) for text in (OURS, "hdl:10.5/12345/x")] == [ours] * 2
    assert registry.identify(THEIRS, ADA) == theirs  # though there is a namespace https


def test_a_namespace_may_be_called_as_its_identifiers_are_written(registry: Registry) -> None:
    own = registry.register("hdl", "own", ADA).iri.value
    assert [registry.identify(text, ADA) for text in ("hdl:own", "hdl:10.5/own", "10.5/own", "HDL:10.5/own")] == [own] * 4


def test_a_name_that_nothing_is_written_with_is_for_its_namespace_alone(registry: Registry) -> None:
    registry.register("hdl", "other:x", ADA)
    named = registry.register("other", "x", ADA).iri.value
    assert registry.identify("other:x", ADA) == named


def test_a_batch_file_speaks_of_whole_handles(registry: Registry) -> None:
    registry.register("hdl", "12345/x", ADA)
    text = "CREATE 12345/x\n3 URL 86400 1110 UTF8 http://example.org/\n"
    handle_batch.import_batch(registry, io.BytesIO(text.encode()), ADA)
    assert [one.text for one in registry.values(THEIRS, ADA)] == ["http://example.org/"]
    assert list(registry.values(OURS, ADA)) == []


def test_a_registry_with_such_a_name_is_taken_in(registry: Registry, tmp_path: Path) -> None:
    out = io.BytesIO()
    rdf.export(registry, out, ADA, "trig")
    (tmp_path / "all.trig").write_bytes(out.getvalue())
    with idstore.open(tmp_path / "copy", administrator=ADA, durability="process") as copy:
        rdf.import_registry(copy, [tmp_path / "all.trig"], ADA)
        assert [one.name for one in copy.namespaces()] == ["hdl", "https", "other"]


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("other:y", "write https://hdl.handle.net/12345/y"),
        ("other:x", "write https://hdl.handle.net/12345/x"),
        ("rdl:R1", "begins with http://rdl.example.org/more#"),
        ("http://", "no host"),
        ("http:///x", "no host"),
        ("http:foo", "no host"),
        ("https://@/", "no host"),
        (THEIRS, "to itself"),
    ],
)
def test_what_nobody_means_as_an_iri_is_no_target(registry: Registry, uri: str, said: str) -> None:
    registry.add_namespace("rdl", "http://rdl.example.org/more#", "rdswip", ADA)
    registry.register("other", "x", ADA)
    with pytest.raises(InvalidData, match=said):
        registry.bind("other:x", Statement(uri), ADA)


@pytest.mark.parametrize(
    "uri",
    ["pkg:npm/foo@1.0", "hdl:10.5/a", "https://example.org/", "tel:1", "other://x/y", "Other:x", "http://[::1]/", "http://ann@b.example/"],
)
def test_an_iri_is_a_target_whatever_namespaces_are_called(registry: Registry, uri: str) -> None:
    registry.add_namespace("tel", "http://rdl.example.org/more#", "rdswip", ADA)
    registry.add_namespace("pkg", "778", "handle", ADA)
    registry.register("other", "x", ADA)
    registry.target("other:x", uri, ADA)
    registry.bind("other:x", Statement(uri), ADA)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("othr:x", "no namespace 'othr' here; did you mean other?"),
        ("nothing:x", "no namespace 'nothing' here; `idstore namespace list` shows them"),
    ],
)
def test_a_namespace_that_is_not_there_is_told(tmp_path: Path, registry: Registry, text: str, said: str) -> None:
    with idstore.open(tmp_path / "own", administrator=ADA, durability="process") as own:
        own.add_namespace("other", "http://own.example.org/", "puid", ADA)
        with pytest.raises(UnknownNamespace) as caught:
            own.show(text, ADA)
        assert caught.value.message == said
    with pytest.raises(NotRegistered) as either:  # it may be a suffix of a handle
        registry.show(text, ADA)
    assert isinstance(either.value, UnknownNamespace) == ("did you mean" in said)
    iri = registry.register("other", text, ADA).iri
    assert registry.show(text, ADA).iri == iri


@pytest.mark.parametrize(("text", "kind"), [("urn:isbn:1", InvalidIdentifier), ("DOI:10.7/x", NotRegistered), ("a b:c", InvalidIdentifier)])
def test_other_forms_name_no_namespace(tmp_path: Path, text: str, kind: type[Exception]) -> None:
    with idstore.open(tmp_path / "own", administrator=ADA, durability="process") as own, pytest.raises(kind) as caught:
        own.show(text, ADA)
    assert not isinstance(caught.value, UnknownNamespace)

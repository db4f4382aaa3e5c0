"""Bases of namespaces: a base in another written form is the same base."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry, errors
from idstore.exchange import rdf
from idstore.validation.registries import check_file

ADA, BOB = Party("ada"), Party("bob")
REGISTERED = {
    "doi": ("10.5072", "handle"),
    "h": ("12345", "handle"),
    "pronom": ("info:pronom/", "puid"),
    "purl": ("http://purl.org/x/", "puid"),
    "rdl": ("http://rdl.example.org/data#", "rdswip"),
    "ark": ("ark:/12345/", "puid"),
}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ADA) as opened:
        for name, (base, scheme) in REGISTERED.items():
            opened.add_namespace(name, base, scheme, ADA)
        yield opened


def exported(folder: Path, base: str, scheme: str) -> Path:
    """Return the export of a registry with one namespace."""
    with idstore.open(folder / "there", administrator=BOB) as there:
        there.add_namespace("other", base, scheme, BOB)
        with (folder / "there.nq").open("wb") as file:
            rdf.export(there, file, BOB, "nquads")
    return folder / "there.nq"


@pytest.mark.parametrize(
    ("base", "scheme", "name"),
    [
        ("https://doi.org/10.5072/", "puid", "doi"),
        ("https://doi.org/10.5072/fmt/", "puid", "doi"),
        ("https://doi.org:443/10.5072/", "puid", "doi"),
        ("https://doi.org/", "scholars-portal", "doi"),
        ("https://dx.doi.org/12345/", "puid", "h"),
        ("http://hdl.handle.net/12345/", "scholars-portal", "h"),
        ("HTTPS://HDL.handle.net/%312345/", "puid", "h"),
        ("info:hdl/12345/", "puid", "h"),
        ("https://www.nationalarchives.gov.uk/PRONOM/", "puid", "pronom"),
        ("https://pronom.nationalarchives.gov.uk/x-fmt/", "puid", "pronom"),
        ("https://purl.org/x/", "puid", "purl"),
        ("HTTPS://PURL.ORG:443/x/sub/", "puid", "purl"),
        ("http://rdl.example.org:80/data#", "rdswip", "rdl"),
        ("HTTP://RDL.example.org/", "puid", None),
        ("ark:12345/", "puid", "ark"),
        ("https://n2t.net/ark:/12345/", "puid", "ark"),
        ("ark:/", "puid", "ark"),
        ("https://purl.org/y/", "puid", None),
        ("https://rdl.example.org/data#", "rdswip", None),
        ("https://doi.org/10.5072/data#", "rdswip", None),
        ("http://w3id.org/idstore/x/", "puid", "idstore"),
        ("URN:UUID:x/", "puid", "idstore"),
    ],
)
def test_a_base_in_another_form_is_taken(
    registry: Registry, base: str, scheme: str, name: str | None
) -> None:
    before = registry.namespaces()
    if name is None:
        registry.add_namespace("other", base, scheme, ADA)
        return
    with pytest.raises(
        (errors.AlreadyRegistered, errors.InvalidData), match=rf"\b{name}\b.*; choose another"
    ):
        registry.add_namespace("other", base, scheme, ADA)
    assert registry.namespaces() == before


def test_an_import_takes_over_no_published_name(registry: Registry, tmp_path: Path) -> None:
    iri = registry.register("doi", "fmt/1", ADA).iri
    registry.fixate([iri], ADA)
    file = exported(tmp_path, "https://doi.org/10.5072/", "puid")
    assert str(check_file(file)) == "conforms"
    with pytest.raises(errors.ExchangeError, match=r"https://doi\.org/10\.5072/ belongs to namespace doi"):
        rdf.import_registry(registry, [file], ADA)
    assert registry.identify("https://doi.org/10.5072/fmt/1", BOB) == iri
    assert [space.name for space in registry.namespaces()] == sorted(REGISTERED)


def test_an_alias_in_another_form_is_taken(registry: Registry) -> None:
    registry.add_namespace("other", "https://doi.org/10.9999/", "puid", ADA)
    with pytest.raises(errors.AlreadyRegistered, match="belongs to namespace other"):
        registry.set_namespace("doi", {"alias": "10.9999"}, ADA)

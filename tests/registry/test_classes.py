"""Every identifier has the class of its scheme under all settings of its namespace."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path

import pyshacl
import pytest
from pyoxigraph import NamedNode
from rdflib import RDF, SKOS, Graph, Literal, URIRef

import idstore
from idstore import Party, Registry
from idstore.exchange import rdf
from idstore.resources import folder
from idstore.validation.registries import check
from idstore.vocabulary import IDS

ROOT = Party("root")


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ROOT) as registry:
        yield registry


def exported(registry: Registry) -> Graph:
    target = BytesIO()
    rdf.export(registry, target, ROOT, "turtle")
    return Graph().parse(data=target.getvalue(), format="turtle")


@pytest.mark.parametrize(
    ("base", "scheme", "settings", "label", "expected"),
    [
        ("102.100.272", "pilin", {"cite_as": "PILIN"}, None, IDS.PilinHandle),
        ("12345", "handle", {"bmp_only": "false"}, "\U0001f600", IDS.Handle),
        ("info:pronom/", "puid", {"authority": "own"}, "fmt/1", IDS.Puid),
        ("http://example.org/puid/", "puid", {"types": "lan|fmt", "authority": "own"}, "lan/1", IDS.Puid),
        (
            "http://rdl.example.org/data#",
            "rdswip",
            {"digits": "11", "max_run": "4"},
            None,
            IDS.RdsWipIdentifier,
        ),
    ],
)
def test_settings_leave_the_class(
    registry: Registry,
    base: str,
    scheme: str,
    settings: Mapping[str, str],
    label: str | None,
    expected: NamedNode,
) -> None:
    registry.add_namespace("own", base, scheme, ROOT, settings)
    record = registry.mint("own", ROOT) if label is None else registry.register("own", label, ROOT)
    assert record.type == expected.value
    assert check(registry, ROOT).conforms
    assert list(exported(registry).subjects(RDF.type, URIRef(expected.value))) == [URIRef(record.iri)]


@pytest.mark.parametrize("settings", [{"authority": "own"}, {"types": "lan|fmt", "authority": "own"}])
def test_the_shape_file_alone_finds_what_is_no_label(registry: Registry, settings: Mapping[str, str]) -> None:
    registry.add_namespace("own", "http://example.org/puid/", "puid", ROOT, settings)
    node = URIRef(registry.register("own", "fmt/1", ROOT).iri)
    data = exported(registry)
    shapes = Graph().parse(data=(folder("shapes") / "puid.ttl").read_text(encoding="utf-8"), format="turtle")
    assert pyshacl.validate(data, shacl_graph=shapes, inplace=True)[0]
    data.set((node, SKOS.notation, Literal("LAN one!")))
    assert not pyshacl.validate(data, shacl_graph=shapes, inplace=True)[0]

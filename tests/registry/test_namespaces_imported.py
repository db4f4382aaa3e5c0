"""An import checks each namespace that it brings by the rules of `namespace add`."""

import io
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry, errors
from idstore.exchange import rdf
from idstore.validation.registries import check_file

ADA = Party("ada")
PREFIX = "https://hdl.handle.net/20.500.1/"


def export(registry: Registry) -> str:
    out = io.BytesIO()
    rdf.export(registry, out, ADA, "nquads")
    return out.getvalue().decode()


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the export of a registry with three namespaces."""
    with idstore.open(tmp_path_factory.mktemp("there") / "store", administrator=ADA) as there:
        there.add_namespace("hh", PREFIX, "handle", ADA, {"alias": "777"})
        there.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ADA)
        there.add_namespace("puid", "http://formats.example.org/", "puid", ADA)
        there.fixate([there.register("hh", "x", ADA).iri], ADA)
        return export(there)


@pytest.mark.parametrize(
    ("old", "new", "namespace", "reason"),
    [
        (
            PREFIX,
            "https://hdl.handle.net/0.NA/",
            "hh",
            "the prefix 0.NA belongs to the Global Handle Registry",
        ),
        (PREFIX, "https://example.org/20.500.1/", "hh", "the address is not one of a handle"),
        (PREFIX, "http://hdl.handle.net/20.500.1/", "hh", f"the base must be {PREFIX}"),
        (PREFIX, "https://doi.org/20.500.1/", "hh", "a DOI name begins with 10."),
        (PREFIX, "https://hdl.handle.net/20.500.1/y/", "hh", "the text continues after the prefix"),
        ('"hh"', '"h h"', "h h", "'h h' is not a namespace's name"),
        ('setting#alias> "777"', 'setting#alias> "777 777"', "hh", "alias='777 777' must be '777'"),
        ('setting#suffix> "pilin"', 'setting#suffix> "x"', "hh", "suffix='x' must be one of pilin, uuid"),
        ('setting#bmp_only> "true"', 'setting#bmp_only> "yes"', "hh", "bmp_only='yes' must be one of true"),
        ('setting#case_sensitive> "true"', 'setting#case_sensitive> "perhaps"', "hh", "must be one of true"),
        ('setting#digits> "10"', 'setting#digits> "ten"', "rdl", "digits='ten' must be a whole number"),
        ('setting#types> "chr', 'setting#types> "CHR', "puid", "the type 'CHR' in the setting types"),
        ('setting#suffix> "pilin"', 'setting#sufix> "pilin"', "hh", "there is no setting 'sufix'"),
    ],
)
def test_a_namespace_that_cannot_be_added_cannot_be_imported(
    tmp_path: Path, text: str, old: str, new: str, namespace: str, reason: str
) -> None:
    edited = text.replace(old, new).replace(f"with-{old}", f"with-{new}")
    assert edited != text
    file = tmp_path / "edited.nq"
    file.write_text(edited, encoding="utf-8")
    with idstore.open(tmp_path / "here", administrator=ADA) as here:
        before = export(here)
        with pytest.raises(errors.ExchangeError) as caught:
            rdf.import_registry(here, [file], ADA)
        assert f"the namespace {namespace!r} (" in caught.value.message
        assert reason in caught.value.message
        assert export(here) == before
    assert reason in str(check_file(file))

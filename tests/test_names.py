"""One name in several written forms is one name: comparison keys, with and without namespaces."""

from itertools import combinations

import pytest

from idstore.model import times
from idstore.model.names import Names, sketch
from idstore.model.namespace import Namespace
from idstore.schemes import scheme, well_known


def namespace(base: str, scheme_name: str, **settings: str) -> Namespace:
    context = scheme(scheme_name).context(base, settings)
    return Namespace(
        context.base, "n", scheme_name, tuple(sorted(context.settings.items())), "alice", times.of(0)
    )


NAMESPACES = (
    namespace("10.5072", "handle", alias="10.9999"),
    namespace("20.500.1", "handle"),
    namespace("20.500.2", "handle", case_sensitive="false"),
    namespace("102.100.272", "pilin", proxy="http://r.example.org/id/", alias="102.100.273"),
    namespace("info:pronom/", "puid"),
    namespace("http://formats.example.org/", "puid"),
    namespace("http://rdl.example.org/data#", "rdswip"),
    namespace("http://purl.org/rdl#", "rdswip"),
    namespace("http://journals.example.org/", "scholars-portal"),
)
NAMES = Names(NAMESPACES)

REGISTERED = {
    "https://hdl.handle.net/10.5072/ABC": (
        "http://hdl.handle.net/10.5072/ABC",
        "HTTPS://HDL.HANDLE.NET/10.5072/ABC",
        "https://doi.org/10.5072/abc",
        "http://dx.doi.org/10.5072/AbC",
        "https://www.doi.org/10.5072/ABC",
        "doi:10.5072/ABC",
        "DOI:10.5072/aBC",
        "hdl:10.5072/ABC",
        "hdl:/10.5072/ABC",
        "info:hdl/10.5072/ABC",
        "info:doi/10.5072/ABC",
        "https://doi.org/10.5072/%41BC",
        "https://hdl.handle.net/10.5072%2FABC",
        "hdl:10.9999/abc",
        "https://hdl.handle.net/10.9999/%61bc",
    ),
    "https://hdl.handle.net/20.500.1/a": ("hdl:20.500.1/a", "info:hdl/20.500.1/a"),
    "https://hdl.handle.net/20.500.1/A": ("hdl:20.500.1/A",),
    "https://hdl.handle.net/20.500.2/straße": ("hdl:20.500.2/STRAßE",),
    "https://hdl.handle.net/20.500.2/É": (),  # only ASCII letters are folded
    "https://hdl.handle.net/20.500.2/é": (),
    "https://hdl.handle.net/102.100.272/Y35XYS0QH": (
        "hdl:102.100.272/y35xys0qh",
        "http://resolver.net.au/hdl/102.100.272/Y35XYS0QH",
        "http://r.example.org/id/102.100.272/y35xys0qh",
        "https://r.example.org/id/102.100.272/Y35XYS0QH",
        "http://r.example.org/id/102.100.273/Y35XYS0QH",
        "hdl:102.100.273/Y35XYS0QH",
    ),
    "info:pronom/fmt/18": (
        "INFO:pronom/fmt/18",
        "http://www.nationalarchives.gov.uk/PRONOM/fmt/18",
        "https://www.nationalarchives.gov.uk/pronom/fmt/18",
        "http://nationalarchives.gov.uk/pronom/fmt/18",
        "https://pronom.nationalarchives.gov.uk/fmt/18",
        "http://pronom.nationalarchives.gov.uk/fmt/18",
    ),
    "info:pronom/x-fmt/18": ("https://pronom.nationalarchives.gov.uk/x-fmt/18",),
    "http://formats.example.org/fmt/18": (),
    "http://rdl.example.org/data#R3732211754": ("http://rdl.example.org:80/data#R3732211754",),
    "http://purl.org/rdl#R3732211754": ("https://purl.org/rdl#R3732211754",),
    "http://journals.example.org/03054179/v31i0004/530_apcbt": (
        "http://journals2.scholarsportal.info/details.xqy?uri=/03054179/v31i0004/530_apcbt.xml",
        "https://journals.scholarsportal.info/details/03054179/v31i0004/530_apcbt.xml",
    ),
}
FOREIGN = {
    "doi:10.1000/Ab": (
        "https://doi.org/10.1000/AB",
        "http://hdl.handle.net/10.1000/ab",
        "info:doi/10.1000/aB",
        "https://doi.org:443/10.1000/ab",
        "http://DOI.org:80/10.1000/ab",
    ),
    "https://doi.org:80/10.1000/ab": (),
    "hdl:12345/A": ("https://hdl.handle.net/12345/A",),
    "hdl:12345/a": ("info:hdl/12345/a",),
    "ark:12025/654xz321": (
        "ark:/12025/654xz321",
        "ARK:/12025/654-xz-321",
        "https://n2t.net/ark:/12025/654xz321",
        "http://archive.example.org/ark:12025/654xz321/",
        "https://n2t.net:443/ark:12025/654xz321?info",
        "ark:12025/654xz321??",
    ),
    "ark:12025/654%C3%A9": ("ark:/12025/6-54%c3%a9",),
    "ark:12025/654XZ321": (),
    "http://www.wikidata.org/entity/Q42": ("https://www.wikidata.org/entity/Q42",),
    "http://purl.org/dc/terms/title": ("https://purl.org/dc/terms/title",),
    "https://orcid.org/0000-0002-1825-0097": ("http://ORCID.org/0000-0002-1825-0097",),
    "urn:isbn:045145052X": ("URN:ISBN:045145052X", "urn:isbn:0-451-45052-x"),
    "urn:nbn:de:101:1-a": ("URN:NBN:DE:101:1-A", "http://nbn-resolving.org/urn:nbn:de:101:1-a"),
    "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6": ("urn:UUID:F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",),
    "urn:example:a%2Fb": ("urn:example:a%2fb",),
    "urn:example:A%2Fb": (),
    "http://example.org/a": ("http://example.org:80/a",),
    "https://example.org/a": (),
    "http://example.org/A": (),
    "https://doi.org/10.1000/ab?locatt=mode:legacy": (),
    "doi:11.1000/a": (),
}


@pytest.mark.parametrize("name", [*REGISTERED, *FOREIGN])
def test_all_written_forms_of_a_name_have_its_key(name: str) -> None:
    for form in (REGISTERED | FOREIGN)[name]:
        assert NAMES.key(form) == NAMES.key(name)
        assert NAMES.same(form, name)
        assert NAMES.kind(form) == NAMES.kind(name)
        assert sketch(form) in NAMES.sketches(name)
        assert sketch(name) in NAMES.sketches(form)
    assert NAMES.key(NAMES.key(name)) == NAMES.key(name)


def test_different_names_have_different_keys() -> None:
    for one, other in combinations([*REGISTERED, *FOREIGN], 2):
        assert not NAMES.same(one, other)


def test_the_key_of_a_registered_name_is_the_iri_of_its_comparison_key() -> None:
    assert NAMES.key("doi:10.5072/abc") == NAMESPACES[0].key_iri("ABC")
    assert NAMES.kind("doi:10.5072/abc") == NAMESPACES[0].base


@pytest.mark.parametrize("name", FOREIGN)
def test_names_without_a_namespace_compare_by_the_rule_of_their_scheme(name: str) -> None:
    for form in FOREIGN[name]:
        assert well_known.key(form) == well_known.key(name)
    assert well_known.key(well_known.key(name)) == well_known.key(name)


def test_an_address_that_namespaces_share_tells_none_of_them() -> None:
    two = Names([NAMESPACES[-1], namespace("http://other.example.org/", "scholars-portal")])
    label = "03054179/v31i0004/530_apcbt"
    public = f"https://journals.scholarsportal.info/details/{label}.xml"
    assert not two.same(public, f"http://journals.example.org/{label}")
    assert two.same(public, f"http://journals2.scholarsportal.info/details.xqy?uri=/{label}.xml")


def test_a_namespace_whose_scheme_is_not_installed_has_no_names() -> None:
    missing = Namespace("http://x.example.org/", "x", "missing", (), "alice", times.of(0))
    assert Names([missing]).key("http://x.example.org/1") == "http://x.example.org/1"

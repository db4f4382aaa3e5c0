"""The built-in schemes pass the conformance kit for plug-ins, in each kind of context."""

from typing import ClassVar

import pytest

from idstore.errors import UnknownScheme
from idstore.schemes import handle, installed, pilin, puid, rdswip, scheme, scholars_portal
from idstore.testing import SchemeTests

ARTICLE = {
    "issn": "0305-4179",
    "volume": "31",
    "issue": "4",
    "page": "530-531",
    "title": "A possible chemical burn to the scalp",
}


class TestRdsWip(SchemeTests):
    scheme = rdswip.SCHEME
    context = rdswip.SCHEME.context("http://rdl.example.org/data#", {})
    valid = ("R3732211754", "R1234567890", "R16893283050", "R" + "0123456789"[::-1] * 3)
    same = (("R3732211754", "http://rdl.example.org/data#R3732211754"),)
    invalid = (
        "",
        "R",
        "3732211754",
        "r3732211754",
        "R0732211754",
        "R373221175",
        "R373221175x",
        "R3732211754\n",
        " R3732211754",
        "R\u0663732211754",
        "R1112345678",
        "R1212121345",
        "R" + "0123456789"[::-1] * 3 + "1",
        "http://rdl.example.org/data#",
        "http://rdl.example.org/data#R373221175",
        "http://other.example.org/data#R3732211754",
        "http://rdl.example.org/data#%523732211754",
    )


class TestRdsWipWithoutPatterns(SchemeTests):
    scheme = rdswip.SCHEME
    context = rdswip.SCHEME.context(
        "http://rdl.example.org/data#", {"profile": "rdlfacade", "refuse_patterns": "true"}
    )
    valid = ("R12211013635", "R21210571481")
    invalid = (
        "R3732211754",
        "R12345098361",
        "R54321098361",
        "R90123746281",
        "R38383855440",
        "R11223304567",
        "R12034543021",
    )


class TestPilin(SchemeTests):
    scheme = pilin.SCHEME
    context = pilin.SCHEME.context("102.100.272", {})
    valid = ("Y35XYS0QH", "0N8J991QH", "000000000", "ZZZZZZZZZ")
    same = (
        ("Y35XYS0QH", "y35xys0qh"),
        ("hdl:102.100.272/Y35XYS0QH", "http://resolver.net.au/hdl/102.100.272/y35xyS0QH"),
    )
    invalid = (
        "",
        "BS47MFQH",
        "Y35XYS0QHH",
        "Y35XYS0Q",
        "Y35XYS0QO",
        "Y35XYS0QH\n",
        "Y35XYS0Q\u017f",
        "102.100.272/",
        "102.100.271/Y35XYS0QH",
        "hdl:102.100.271/Y35XYS0QH",
        "hdl:102.100.272",
        "https://hdl.handle.net/102.100.272/Y35XYS0QH?noredirect",
        "http://example.org/102.100.272/Y35XYS0QH",
    )


class TestHandle(SchemeTests):
    scheme = handle.SCHEME
    context = handle.SCHEME.context("hdl:12345", {})
    valid = (
        *("a", "A", "a/b//", " a ", "%3C", "#?%", ".", "..", "a/./b"),
        *("12345/a", "hdl:12345/a", "67890/a", "https://example.org/"),
        *("é", "\u200b\u202e", "\ue000", "\ufffd", "a\n", "a\x85", "a\ufffe", "\u0378"),
    )
    same = (("a", "hdl:12345/a"), ("<", "https://hdl.handle.net/12345/%3C"))
    invalid = (
        "",
        "12345/",
        "a\0",
        "a\ud800",
        "a😀",
        "hdl:67890/a",
        "hdl:12345",
        "hdl:1..2/a",
        "doi:12345/a",
        "info:pronom/fmt/18",
        "https://example.org/12345/a",
        "https://hdl.handle.net/12345/a?b",
        "https://hdl.handle.net/12345/a#b",
        "https://hdl.handle.net/12345/%C3",
        "https://hdl.handle.net/12345/100%",
    )


class TestHandleWithoutCase(SchemeTests):
    scheme = handle.SCHEME
    context = handle.SCHEME.context("hdl:12345", {"case_sensitive": "false"})
    valid = ("a", "A", "é", "É")
    invalid = ("", "12345/")
    same = (("report-a", "REPORT-A"), ("é-a", "hdl:12345/é-A"))


class TestDoi(SchemeTests):
    scheme = handle.SCHEME
    context = handle.SCHEME.context("https://doi.org/10.1002", {"suffix": "uuid", "bmp_only": "false"})
    valid = ("(SICI)1096-8644(199601)99:1<135::AID-AJPA8>3.0.CO;2-#", "abc", "😀", "%20", "\U0001ffff")
    same = (("abc", "ABC"), ("doi:10.1002/abc", "https://doi.org/10.1002/Abc"))
    invalid = (
        "10.1002/",
        "doi:10.1003/abc",
        "info:doi/10.1003/abc",
        "https://dx.doi.org/10.1002/",
        "a\0",
    )


class TestPuid(SchemeTests):
    scheme = puid.SCHEME
    context = puid.SCHEME.context("info:pronom/", {"reserved": "x-fmt/90000-99999"})
    valid = ("fmt/18", "x-fmt/263", "chr/1", "sfw/a1b2", "fmt/" + "9" * 5000)
    invalid = (
        "",
        "fmt",
        "fmt/",
        "/18",
        "fmt/18/",
        "fmt/18\n",
        "Fmt/18",
        "fmt/1-8",
        "x-/18",
        "x-x-fmt/18",
        "lan/1",
        "info:pronom/",
        "info:other/fmt/18",
        "http://www.nationalarchives.gov.uk/PRONOM/FMT/18",
        "http://www.example.org/PRONOM/fmt/18",
    )
    metadata: ClassVar = {"type": "x-fmt"}
    same = (("fmt/18", "http://www.nationalarchives.gov.uk/PRONOM/fmt/18"), ("fmt/18", "INFO:pronom/fmt/18"))


class TestOwnPuid(SchemeTests):
    scheme = puid.SCHEME
    context = puid.SCHEME.context("http://formats.example.org/puid#", {"types": "lan|fmt"})
    valid = ("fmt/18", "x-lan/1")
    invalid = ("chr/1", "info:pronom/fmt/18", "http://formats.example.org/puid/fmt/18")


class TestScholarsPortal(SchemeTests):
    scheme = scholars_portal.SCHEME
    context = scholars_portal.SCHEME.context("http://journals.example.org/", {})
    valid = (
        "19360851/v04i0010/6153_dsognooinira",
        "1755098x/vnonei3-4/nfp_nt",
        "00160032/v238i0003/224_br_1_old2",
        "00928674/v137i0002/308_aceldcgibrem/pdf_fulltext/1303399300907",
        "00928674/v137i0002/308_aceldcgibrem/1303399302709",
        "0006808x/v22i0259/307_雜",
        "02697653/vxvii0001/10:1_44k",
    )
    invalid = (
        "",
        "/",
        "1936085/v04i0010/6153_d",
        "19360851",
        "19360851/v04i0010",
        "19360851/v04/6153_d",
        "19360851/04i0010/6153_d",
        "19360851/v04i0010/6153",
        "19360851/v04i0010/_d",
        "19360851/v04i0010/6153_",
        "19360851/v04i0010/6153_dsognooiniraa",
        "19360851/v04i0010/6153_D",
        "19360851/v04i0010/6153_d_0",
        "19360851/v04i0010/6153_d_old",
        "19360851/v04i0010/6153_d\n",
        "19360851/v04i0010/6153_d/pdf_fulltext",
        "19360851/v04i0010/6153_d/13033993009071",
        "19360851/v04i0010/6153_d/jpg_fulltext/1303399300907",
        "//19360851/v04i0010/6153_d",
        "http://journals.scholarsportal.info/browse/toc",
        "http://example.org/19360851/v04i0010/6153_d",
    )
    metadata = ARTICLE
    same = (
        ("19360851/v04i0010/6153_dsognooinira", "/19360851/v04i0010/6153_dsognooinira.xml"),
        (
            "19360851/v04i0010/6153_dsognooinira",
            "http://journals2.scholarsportal.info/details.xqy?uri=/19360851/v04i0010/6153_dsognooinira.xml",
        ),
    )


class TestBelowAnArticle(TestScholarsPortal):
    context = scholars_portal.SCHEME.context(
        "https://journals.scholarsportal.info/details/", {"no_issue": "none"}
    )
    metadata: ClassVar = {"parent": "/00928674/v137i0002/308_aceldcgibrem", "kind": "pdf"}


def test_the_built_in_schemes_are_found() -> None:
    assert {"handle", "pilin", "puid", "rdswip", "scholars-portal"} <= set(installed())
    assert scheme("puid") is puid.SCHEME


def test_an_unknown_scheme_is_reported_with_the_installed_ones() -> None:
    with pytest.raises(UnknownScheme, match="rdswip") as caught:
        scheme("ark")
    assert caught.value.fields["scheme"] == "ark"

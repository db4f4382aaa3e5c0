"""Scholars Portal: derived labels, extensions of the policy, addresses, identifiers below articles."""

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest
from tables import VECTORS, rows

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.schemes import Deriving, scholars_portal
from idstore.schemes.scholars_portal import SCHEME, ScholarsPortal
from idstore.testing import SimulatedAllocation

CONTEXT = SCHEME.context("http://journals.example.org/", {})
BURNS = {
    "issn": "0305-4179",
    "volume": "31",
    "issue": "4",
    "page": "530-531",
    "title": "A possible chemical burn to the scalp",
}
FIELDS = ("issn", "volume", "issue", "page", "title")


def derived(**metadata: str) -> str:
    return ScholarsPortal().derive({**BURNS, **metadata}, CONTEXT).label


def beyond(**metadata: str) -> str:
    return "; ".join(ScholarsPortal().derive({**BURNS, **metadata}, CONTEXT).extensions)


@pytest.mark.parametrize("row", rows(VECTORS / "scholars-portal.derived.tsv"), ids=lambda row: row["label"])
def test_published_labels_are_derived(row: dict[str, str]) -> None:
    context = SCHEME.context("http://journals.example.org/", {"no_issue": row["no_issue"]})
    answer = ScholarsPortal().derive({name: row[name] for name in FIELDS}, context)
    assert answer.label == row["label"]
    if row["source"].startswith("URI and File Naming Policy"):
        assert answer.extensions == ()


@pytest.mark.parametrize("no_issue", ["complete", "none"])
def test_labels_without_issue_are_read_in_both_forms(no_issue: str) -> None:
    context = SCHEME.context("http://journals.example.org/", {"no_issue": no_issue})
    for label in ("09265805/v124icomplete/nfp_abcdwacopc", "26419874/v2019inone/1648_ranamsbodrl"):
        assert SCHEME.label(f"/{label}", context) == label
    for stated in ("icomplete", "inone"):
        answer = ScholarsPortal().derive({**BURNS, "issue": stated}, context)
        assert answer.label == f"03054179/v31{stated}/530_apcbtts"
        assert answer.doubts == ()


@pytest.mark.parametrize(
    ("step", "written"),
    [
        ("v31i4", "v31i0004"),
        ("v3i0004", "v03i0004"),
        *((f"v31i{issue}", "v31i3-4") for issue in ("0003-4", "03-04", "3-04", "003-0004")),
        ("v31i00-01-2", "v31i0-1-2"),
        ("v3i03-4", "v03i3-4"),
    ],
)
def test_numbers_without_the_policy_s_padding_are_refused(step: str, written: str) -> None:
    with pytest.raises(InvalidIdentifier, match=f"it is written {written}"):
        SCHEME.label(f"/03054179/{step}/530_x", CONTEXT)


@pytest.mark.parametrize(
    ("volume", "issue"), [("3i", "4"), ("3!", "4"), ("007", "004"), ("xii", "Spring"), ("2", "2i"), ("0", "")]
)
def test_derived_labels_are_labels(volume: str, issue: str) -> None:
    label = derived(volume=volume, issue=issue)
    assert SCHEME.label(label, CONTEXT) == label


@pytest.mark.parametrize(
    "issue", ["3-4", "0-1", "10-11-12", "s03-04", "03-04a", "03.04", "-03", "03-", "03--04", "2019i03-04"]
)
def test_issues_that_are_no_padded_numbers_are_read(issue: str) -> None:
    label = f"03054179/v31i{issue}/530_x"
    assert SCHEME.label(label, CONTEXT) == label


@pytest.mark.parametrize(
    ("printed", "written"),
    [("04-05", "4-5"), ("0003/4", "3-4"), ("Nos. 09\u201310", "9-10"), ("04-05?", "4-5"), ("00-01", "0-1")],
)
def test_combined_issues_lose_their_padding_with_a_warning(printed: str, written: str) -> None:
    answer = ScholarsPortal().derive({**BURNS, "issue": printed}, CONTEXT)
    assert f"v31i{written}/" in answer.label
    assert SCHEME.label(answer.label, CONTEXT) == answer.label
    assert f"the issue {printed!r} is written {written!r}: combined issues are not padded" in answer.doubts
    assert bool(answer.irregular) == ("?" in printed)


def test_the_policy_s_address_is_a_written_form() -> None:
    label = "03054179/v31i0004/530_apcbttsfhh"
    forms = [form.text for form in SCHEME.written_forms(label, CONTEXT)]
    assert f"http://journals2.scholarsportal.info/details.xqy?uri=/{label}.xml" in forms


def test_an_article_has_addresses_under_its_own_base() -> None:
    label = "03054179/v31i0004/530_apcbttsfhh"
    forms = {form.kind: form.text for form in SCHEME.written_forms(label, CONTEXT)}
    own = [f"{CONTEXT.base}details/{label}.xml", f"{CONTEXT.base}details.xqy?uri=/{label}.xml"]
    assert [forms["own-web"], forms["own-details"]] == own
    for text in (*own, own[1].replace("=/", "=%2F"), f"{own[1]}&school=toronto", f"{own[0]}#abstract"):
        assert SCHEME.label(text, CONTEXT) == label
    there = SCHEME.context("http://journals.scholarsportal.info/", {})
    kinds = {form.kind for form in SCHEME.written_forms(label, there)}
    assert kinds == forms.keys() - {"own-web", "own-details"}


def test_the_scheme_derives() -> None:
    assert isinstance(SCHEME, Deriving)


@pytest.mark.parametrize(
    ("title", "letters"),
    [
        ("One two three four five six seven eight nine ten eleven", "ottffssente"),
        ("One two three four five six seven eight nine ten eleven twelve", "ottffssentet"),
        ("One two three four five six seven eight nine ten eleven twelve Xiii", "ottffsentetx"),
        ("Honeybees (Apis mellifera) at 44K", "hma4"),
        ("Section 28a\u2014The long dash", "s2tld"),
        ("The years 1966\u20132007 well-known", "ty1w"),
        ("Élan Ångström Über İstanbul βeta Δelta Жук 中文", "eauiβδж中"),
        ("\u2460 \u00bd \u2776 a", "11a"),
        ("Growth of<i> E. coli</i> on Cu<sub>2</sub>O", "goecoc"),
        ("Tom &amp; Jerry &lt;i&gt;again&lt;/i&gt;", "tja"),
        ("An infant&lt;subtitle&gt;Treatment&lt;/subtitle&gt;", "ait"),
        ("R(s)<1/2 and z < 4", "raz4"),
        ("\u201cQuoted\u201d [words] only", "o"),
        ("??? ...", "nt"),
        ("", "nt"),
    ],
)
def test_hashes(title: str, letters: str) -> None:
    assert derived(title=title) == f"03054179/v31i0004/530_{letters}"


@pytest.mark.parametrize(
    ("field", "printed", "written"),
    [
        ("volume", "4", "v04i"),
        ("volume", "2019", "v2019i"),
        ("volume", "XV", "vxvi"),
        ("volume", "267-268", "v267-268i"),
        ("volume", "", "vnonei"),
        ("issue", "119", "i0119/"),
        ("issue", "10228", "i10228/"),
        ("issue", "3-4", "i3-4/"),
        ("issue", "5/6", "i5-6/"),
        ("issue", "3\u20134", "i3-4/"),
        ("issue", "3 - 4", "i3-4/"),
        ("issue", "3 & 4", "i3-4/"),
        ("issue", "1+2", "i1-2/"),
        ("issue", "\u0663", "i0003/"),
        ("volume", "\u2163", "vivi"),
        ("volume", "\uff17", "v07i"),
        ("volume", "12\u201313", "v12-13i"),
        ("volume", "4\u200b", "v04i"),
        ("volume", "\ufeff4\x00", "v04i"),
        ("issue", "1\u00ad1", "i0011/"),
        ("page", "\u200e530", "/530_"),
        ("title", "\u200bDeterministic \u200fSurface\u00ad", "_ds"),
        ("issue", "S 01", "is-01/"),
        ("issue", "Part 2, No. 4A", "ipart-2,-no.-4a/"),
        ("issue", "Supplement_1", "isupplement_1/"),
        ("issue", "", "icomplete/"),
        ("page", "E943-952", "/e943_"),
        ("page", "57\u201388", "/57_"),
        ("page", "1-3, 10-12", "/1_"),
        ("page", "5+", "/5_"),
        ("page", "\u2163\u2013\u2165", "/iv_"),
        ("page", "i-20", "/i_"),
        ("page", "Back Page", "/back-page_"),
        ("page", "10:1", "/10:1_"),
        ("page", "503???510", "/503_"),
        ("page", "a_b", "/ab_"),
        ("page", "-", "/nfp_"),
        ("page", "", "/nfp_"),
        ("volume", "Vol. 3", "v03i"),
        ("volume", "v3", "v03i"),
        ("volume", "Volume: 12", "v12i"),
        ("volume", "Bd. 12", "v12i"),
        ("volume", "[3].", "v03i"),
        ("volume", "004", "v04i"),
        ("volume", "N/A", "vnonei"),
        ("issue", "No. 4", "i0004/"),
        ("issue", "no4", "i0004/"),
        ("issue", "(No. 4)", "i0004/"),
        ("issue", "N° 4", "i0004/"),
        ("issue", "№ 4", "i0004/"),
        ("issue", "#4", "i0004/"),
        ("issue", "00004", "i0004/"),
        ("issue", "Nos. 3-4", "i3-4/"),
        ("issue", "n/a", "icomplete/"),
        *(
            ("issue", text, "icomplete/")
            for text in ("n.a.", "N.A.", "n. a.", "(n.a.)", "No. n.a.", "n. a.-n. a.")
        ),
        *(("volume", text, "vnonei") for text in ("n.a.", "N.A.", "n. a.", "t.b.a.")),
        ("issue", "n. 4", "i0004/"),
        ("issue", "n. a4", "ia4/"),
        ("issue", "No.", "icomplete/"),
        ("page", "pp. 12-15", "/12_"),
        ("page", "p. 12-p. 15", "/12_"),
        ("page", "pg. 530-531", "/530_"),
        ("page", "pp12–15", "/12_"),
        ("page", "pages xii–xv", "/xii_"),
        ("page", "[12]-15", "/12_"),
        ("page", "12 ff.", "/12_"),
        ("page", "P12-P15", "/p12_"),
        ("page", "e1001", "/e1001_"),
        ("page", "123.e1-123.e5", "/123.e1_"),
        ("page", "n/a-n/a", "/nfp_"),
        ("page", "N/A – N/A", "/nfp_"),
        ("page", "no-no", "/nfp_"),
        ("page", "[n. pag.]", "/nfp_"),
        ("issn", "0033-295X", "0033295x/"),
        ("issn", "0033295x", "0033295x/"),
    ],
)
def test_fields(field: str, printed: str, written: str) -> None:
    assert written in derived(**{field: printed})


@pytest.mark.parametrize("text", ["12", "012", "12.0", "012.00", "(12.0)", "\u0661\u0662.0"])
@pytest.mark.parametrize(("field", "written"), [("volume", "/v12i"), ("issue", "i0012/")])
def test_a_number_in_several_writings_is_one(field: str, written: str, text: str) -> None:
    assert written in derived(**{field: text})


@pytest.mark.parametrize(
    ("page", "written"),
    [("5", "/5_"), ("5.0", "/5_"), ("5.0-9.0", "/5_"), ("0012", "/0012_"), ("0012-15", "/0012_")],
)
def test_a_page_is_one_number_with_its_zeros_in_front(page: str, written: str) -> None:
    assert written in derived(page=page)
    zeros = "begins with 0, which is kept: without it the label is another one"
    assert (zeros in beyond(page=page)) == page.startswith("0")


def test_absent_fields_equal_empty_ones() -> None:
    answer = ScholarsPortal().derive({"issn": "0305-4179"}, CONTEXT)
    assert answer.label == "03054179/vnoneicomplete/nfp_nt"
    assert answer.extensions == (
        "no volume: none",
        "no issue: complete",
        "no first page: nfp",
        "no title with a word that counts: nt",
    )


def test_the_placeholder_of_a_missing_issue_is_a_setting() -> None:
    other = SCHEME.context("http://journals.example.org/", {"no_issue": "none"})
    assert ScholarsPortal().derive({**BURNS, "issue": ""}, other).label.startswith("03054179/v31inone/")
    with pytest.raises(InvalidData, match="complete, none"):
        SCHEME.context("http://journals.example.org/", {"no_issue": "zero"})


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({}, ""),
        ({"issn": "0033-295X"}, "the ISSN's X is written in lower case"),
        ({"issn": "0305-4178"}, "the ISSN 0305-4178 is used although its check digit is wrong"),
        ({"issue": "3-4"}, "the issue '3-4' is no number and not padded"),
        ({"issue": "S1"}, "the issue 'S1' is not a number; it is written 's1'"),
        ({"volume": "Vol. 3"}, "the volume 'Vol. 3' is written '03'"),
        ({"page": "n/a-n/a"}, "no first page, because 'n/a-n/a' says so: nfp"),
        ({"page": "E1"}, "the page 'E1' is written 'e1'"),
        ({"title": "<b>A</b>"}, "markup in the title does not count"),
        (
            {"title": "A \u2014 (x)"},
            "words that begin with neither letter nor digit do not count; a long dash divides words",
        ),
        ({"title": "Été"}, "letters beyond ASCII stand without their accents"),
    ],
)
def test_extensions_of_the_policy_are_reported(metadata: dict[str, str], told: str) -> None:
    assert beyond(**metadata) == told


@pytest.mark.parametrize(
    ("field", "text", "irregular"),
    [
        *(("volume", text, False) for text in ("3", "Vol. 3", "12-13", "n/a", "")),
        *(("volume", text, True) for text in ("XIV", "3½", "4.10", "31 (4)", "Volta")),
        *(("issue", text, False) for text in ("4", "No. 4", "3/4", "03/04", "Nos. 3-4", "null")),
        *(("issue", text, True) for text in ("S1", "Spring", "4A", "ahead-of-print", "Part 2, No. 4A")),
        *(("page", text, False) for text in ("1-3, 10-12", "pp. 12-15", "S12", "xii", "12:1", "9TR9", "n/a")),
        *(("page", text, False) for text in ("0", "5.0", "e0012", "S012", "10")),
        *(("page", text, True) for text in ("0012", "0012-0015", "pp. 07", "00", "012.e1", "012.0")),
        *((field, text, False) for field in ("volume", "issue") for text in ("12.0", "012", "012.00", "00")),
        *(("page", text, True) for text in ("15 p.", "Back Page", "Article 12", "12/13", "前言")),
        ("issn", "0305-4178", True),
        ("issn", "0305-4179, 1936-0851", False),
        ("doi", "n/a", True),
    ],
)
def test_a_field_without_a_known_form_is_irregular(field: str, text: str, irregular: bool) -> None:
    answer = ScholarsPortal().derive({**BURNS, field: text}, CONTEXT)
    assert bool(answer.irregular) == irregular
    assert set(answer.irregular) <= set(answer.doubts) <= set(answer.extensions)


@pytest.mark.parametrize(
    "issn", ["", " ", "0305", "0305-417", "0305-41799", "O305-4179", "03X5-4179", "\u0660305-4179"]
)
def test_malformed_issns_are_refused(issn: str) -> None:
    with pytest.raises(InvalidData, match="issn") as caught:
        derived(issn=issn)
    assert caught.value.fields["field"] == "issn"


def test_fields_are_text() -> None:
    with pytest.raises(InvalidData, match="in quotes") as caught:
        derived(volume=31)  # type: ignore[arg-type]
    assert caught.value.fields["field"] == "volume"


def test_collisions_are_numbered_from_one() -> None:
    review = {"issn": "0016-0032", "volume": "238", "issue": "3", "page": "224-224", "title": "Book Review"}
    tried = islice(SCHEME.candidates(SimulatedAllocation(CONTEXT, review)), 3)
    assert list(tried) == [f"00160032/v238i0003/224_br{tail}" for tail in ("", "_1", "_2")]


def test_replaced_copies_are_old() -> None:
    old = ScholarsPortal().old_copies("03921921/v30i0119/1_tmotu", CONTEXT)
    assert list(islice(old, 2)) == ["03921921/v30i0119/1_tmotu_old1", "03921921/v30i0119/1_tmotu_old2"]
    assert (
        next(ScholarsPortal().old_copies("00160032/v238i0003/224_br_1", CONTEXT))
        == "00160032/v238i0003/224_br_1_old1"
    )
    for tail, what in (("/1303399302709", "a file or an event"), ("_old1", "an old copy")):
        with pytest.raises(InvalidData, match=f"is {what} of an article"):
            ScholarsPortal().old_copies(f"03921921/v30i0119/1_tmotu{tail}", CONTEXT)


@pytest.mark.parametrize(
    ("issn", "used"),
    [
        ("1936-0851, 1936-086X", "19360851"),
        ("1936086X;1936-0851", "1936086x"),
        ("1936-0851 1936-086X", "19360851"),
        ("0305-4179", ""),
        ("0305-4179, 03054179", ""),
    ],
)
def test_two_issns_are_reported(issn: str, used: str) -> None:
    answer = ScholarsPortal().derive({**BURNS, "issn": issn}, CONTEXT)
    assert answer.label.startswith(used or "03054179")
    assert [doubt.endswith("the first is used") for doubt in answer.doubts] == [True] * bool(used)
    assert set(answer.doubts) <= set(answer.extensions)


@pytest.mark.parametrize(
    ("title", "letters"),
    [
        ("The case n<p and p>n in regression", "tcnapir"),
        ("Is p <i or i> q, and x<b or b>y", "ipoiqaxob"),
        ("Lists of Vector<Thing> and such", "lovas"),
        ("Gold<xref ref-type='fn' rid='f1'>1</xref> and silver", "gas"),
        ('Gold<jats:fn id="a"><jats:p>See below</jats:p></jats:fn>and silver', "gas"),
        ("Gold&lt;xref rid=&quot;a&quot;&gt;1&lt;/xref&gt; and silver", "gas"),
        ('May 2012 <emph type="ital">Archives</emph> Web Quiz', "m2awq"),
        ("Gold <xref>one and silver", "goas"),
        ("Gold <xref/>one and silver", "goas"),
        ("<ce:italic>Gold</ce:italic> <FONT SIZE=2>and</FONT><br/>silver", "gas"),
    ],
)
def test_markup_is_recognised_by_its_form(title: str, letters: str) -> None:
    assert derived(title=title).endswith(f"_{letters}")


def test_a_title_of_many_open_tags_is_read_in_linear_time() -> None:
    assert derived(title="<fn>" * 100_000 + "<i " * 100_000 + " Gold").endswith("g")


def test_subtitles_are_part_of_the_title() -> None:
    assert derived(title="Good Use of a \u2018Bad\u2019 Metaphor", subtitle="Entropy as Disorder").endswith(
        "_guoamead"
    )
    assert beyond(subtitle="of Burns") == "the subtitle counts as part of the title"


@pytest.mark.parametrize(
    ("doi", "same"),
    [
        ("10.1016/S0016-0032(44)90001-X", "10.1016/s0016-0032(44)90001-x"),
        ("https://doi.org/10.1/A", "10.1/a"),
        ("DOI: 10.1/A", "10.1/a"),
        ("http://dx.doi.org/10.1/a", "10.1/a"),
        ("https://www.doi.org/10.1/a", "10.1/a"),
        ("hdl:10.1/a", "10.1/a"),
        ("https://doi.org/ 10.1/a", "10.1/a"),
        ("info:doi/10.1/a%23", "10.1/a#"),
        ("doi:10.1/a%23", "10.1/a%23"),
        (
            "10.1002/(SICI)1096-8644(199601)99:1<135::AID-AJPA8>3.0.CO;2-#",
            "10.1002/(sici)1096-8644(199601)99:1<135::aid-ajpa8>3.0.co;2-#",
        ),
        (
            "https://doi.org/10.1002/(SICI)1096-8644(199601)99:1%3C135::AID-AJPA8%3E3.0.CO;2-%23",
            "10.1002/(sici)1096-8644(199601)99:1<135::aid-ajpa8>3.0.co;2-#",
        ),
        ("https://doi.org/10.1/a?b#c%d", "10.1/a?b#c%d"),
        ("10.1234/\u00c9A", "10.1234/\u00c9a"),
        ("10.1234/\u00e9a", "10.1234/\u00e9a"),
        ("", None),
        ("none", None),
        ("10.1234", None),
        ("10.1/a b", None),
        ("hdl:11.1/a", None),
        ("https://example.org/10.1/a", None),
    ],
)
def test_articles_are_the_same_by_their_doi(doi: str, same: str | None) -> None:
    assert ScholarsPortal().same({"doi": doi}) == same


def test_a_malformed_doi_is_reported() -> None:
    answer = ScholarsPortal().derive({**BURNS, "doi": "foo"}, CONTEXT)
    assert answer.doubts == ("the field doi is 'foo', which is no DOI: the article will not be known by it",)
    assert all(not ScholarsPortal().derive({**BURNS, "doi": doi}, CONTEXT).doubts for doi in ("", "10.1/a"))


@pytest.mark.parametrize(
    ("kind", "below"), [("pdf", "pdf_fulltext/"), ("xml", "xml_fulltext/"), ("file", ""), ("event", "")]
)
def test_files_and_events_are_below_their_article(kind: str, below: str) -> None:
    article = "00928674/v137i0002/308_aceldcgibrem"
    allocation = SimulatedAllocation(
        CONTEXT, {"parent": f"/{article}", "kind": kind}, clock=1_303_399_300_907
    )
    first, second = islice(SCHEME.candidates(allocation), 2)
    assert (first, second) == (f"{article}/{below}1303399300907", f"{article}/{below}1303399300908")


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"kind": "jpg"}, "kind"),
        ({}, "kind"),
        ({"kind": "pdf", "parent": "/00928674/v137i0002/308_aceldcgibrem/1303399302709"}, "parent"),
    ],
)
def test_other_things_are_not_below_an_article(metadata: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidData) as caught:
        next(
            SCHEME.candidates(
                SimulatedAllocation(CONTEXT, {"parent": "/00928674/v137i0002/308_aceldcgibrem", **metadata})
            )
        )
    assert caught.value.fields["field"] == field


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "/{}",
        "/{}.xml",
        "http://journals.example.org/{}",
        "http://journals.example.org/{}.xml",
        "http://journals.scholarsportal.info/details/{}.xml",
        "https://journals.scholarsportal.info/pdf/{}.xml",
        "http://journals2.scholarsportal.info/details.xqy?uri=/{}.xml",
        "http://journals1.scholarsportal.info/details.xqy?uri=/{}.xml&school=toronto",
        "http://journals.scholarsportal.info/ris?uri=/{}.xml",
        "http://resolver.scholarsportal.info/resolve/{}",
        "http://resolver.scholarsportal.info/resolve/{}.xml#abstract",
        "http://journals1.scholarsportal.info.proxy.example.edu/details/{}.xml",
        "https://journals-scholarsportal-info.proxy.example.edu/details/{}.xml",
        "HTTP://Journals.ScholarsPortal.info/details/{}.xml",
    ],
)
def test_written_forms(text: str) -> None:
    label = "03054179/v31i0004/530_apcbttsfhh"
    assert SCHEME.label(text.format(label), CONTEXT) == label
    if "example.org" not in text:
        assert str(scholars_portal.parse(text.format(label))) == label


def test_addresses_may_be_encoded() -> None:
    text = (
        "http://journals2.scholarsportal.info/details.xqy?uri=%2F0006808x%2Fv22i0259%2F307_%E9%9B%9C.xml&x=1"
    )
    assert SCHEME.label(text, CONTEXT) == "0006808x/v22i0259/307_\u96dc"


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("1936085x/04i0010/6153_d", 9),
        ("193608x1/v04i0010/6153_d", 6),
        ("1936-0851/v04i0010/6153_d", 4),
        ("19360851", 8),
        ("/19360851/v04i0010", 18),
        ("19360851/v04/6153_d", 12),
        ("19360851/V04i0010/6153_d", 9),
        ("19360851/v04i0010/_d", 18),
        ("19360851/v04i0010/6153", 22),
        ("19360851/v04i0010/6153_D", 23),
        ("19360851/v04i0010/6153_d_x", 25),
        ("19360851/v04i0010/6153_d_old0", 28),
        ("19360851/v04i0010/6153_dsognooiniraa", 35),
        ("19360851/v04i0010/6153_d\n", 24),
        ("19360851/v04i0010/6153_d/jpg_fulltext/1303399300907", 25),
        ("19360851/v04i0010/6153_d/13033993009", 36),
        ("19360851/v04i0010/6153_d/pdf_fulltext", 37),
        ("19360851/v04i0010/6153_d/pdf_fulltext/", 38),
        ("19360851/v04i0010/6153_d/xml_fullpage/1", 33),
        ("19360851/v04i0010/6153_d/", 25),
        ("19360851/v04i0010/6153_d/13033993009071", 38),
        ("http://journals.example.org/19360851/v04i0010/6153_D", 51),
        ("http://journals.scholarsportal.info/details/19360851/v04i0010/6153_D.xml", 67),
        ("http://journals.scholarsportal.info/browse/toc", 0),
        ("http://example.org/19360851/v04i0010/6153_d", 0),
    ],
)
def test_errors_state_the_position(text: str, position: int) -> None:
    with pytest.raises(InvalidIdentifier) as caught:
        SCHEME.label(text, CONTEXT)
    assert caught.value.position == position


@pytest.mark.parametrize(
    "base", ["http://journals.example.org", "http://journals.example.org/#", "/", "journals/"]
)
def test_bases_that_are_refused(base: str) -> None:
    with pytest.raises(InvalidData, match=r"http://journals\.example\.org/"):
        SCHEME.context(base, {})


@pytest.mark.realdata
def test_real_uris_are_derived_from_their_metadata(real_data: Path) -> None:
    differing = {}
    for row in rows(real_data / "sp_real_uris.tsv"):
        context = SCHEME.context(
            "http://journals.example.org/", {"no_issue": "none" if "inone/" in row["uri"] else "complete"}
        )
        metadata = {**{name: row[name] for name in FIELDS if name in row}, "page": row["first_page"]}
        tried = islice(SCHEME.candidates(SimulatedAllocation(context, metadata)), 2)
        label = SCHEME.label(row["uri"], context)
        if label.removesuffix("_old1") not in tried:
            differing[row["uri"]] = ScholarsPortal().derive(metadata, context).label
    assert differing == {
        "/09267220/v26i3-4/205_guoam": "09267220/v26i3-4/205_guoamead"
    }  # the source omitted the subtitle


@pytest.mark.realdata
def test_real_metadata_give_labels(real_data: Path) -> None:
    refused = []
    with gzip.open(real_data / "articles.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            article = json.loads(line)
            try:
                label = (
                    ScholarsPortal()
                    .derive({name: article[name] for name in FIELDS if name in article}, CONTEXT)
                    .label
                )
            except InvalidData as error:
                refused.append(error.fields["field"])
            else:
                assert SCHEME.label(SCHEME.iri(label, CONTEXT), CONTEXT) == label
    assert refused == ["issn"] * 102


@pytest.mark.parametrize(
    ("title", "read"),
    [
        ('<hi rend="italic">E. coli</hi> growth', "ecg"),
        ('Study <img src="x.gif" alt="a"/> of x', "sox"),
        ('<InlineEquation ID="I1">x</InlineEquation> of y', "xoy"),
        ("<div>Foo bar</div>", "fb"),
        ("<a href=foo?x=1>Link</a> b", "lb"),
        ("n<p and p>n in regression", "napir"),
    ],
)
def test_markup_of_any_kind_is_ignored(title: str, read: str) -> None:
    assert derived(title=title).rpartition("_")[2] == read

"""Articles in a registry: identified by DOI, replaced by copies, with files and events, in bulk."""

import io
import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyoxigraph import Quad

import idstore
from idstore import Filter, Party, Request, Statement, errors
from idstore.exchange import metadata, rdf
from idstore.model.record import Stage
from idstore.registry import Registry
from idstore.registry.batch_mint import MintOutcome, RequestRow
from idstore.registry.imports.enroll import Listed
from idstore.validation import registries

ADA, BOB, CAROL, DAN = Party("ada"), Party("bob"), Party("carol"), Party("dan")
BASE = "http://journals.example.org/"
UNICORN = {
    "issn": "0392-1921",
    "volume": "30",
    "issue": "119",
    "page": "1-23",
    "title": "The Myth of the Unicorn",
    "doi": "10.1177/X",
}
LABEL = "03921921/v30i0119/1_tmotu"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ADA) as made:
        made.add_namespace("sp", BASE, "scholars-portal", ADA)
        made.add_namespace("h", "10.1000", "handle", ADA)
        yield made
        assert list(made.verify(ADA)) == []
        assert str(registries.check(made, ADA)) == "conforms"
        followed(made)
        exported_and_imported(made, tmp_path)


def followed(registry: Registry) -> None:
    """Check that a replay of the whole feed gives the present state."""
    found: set[Quad] = set()
    for step in registry.steps(ADA):
        found.difference_update(step.removed)
        found.update(step.added)
    with registry.quads(ADA) as quads:
        assert sorted(map(str, quads)) == sorted(map(str, found))  # each once


def exported_and_imported(registry: Registry, folder: Path) -> None:
    """Check that another registry that imports the export writes the same export."""
    folder.mkdir(exist_ok=True)
    first, second = io.BytesIO(), io.BytesIO()
    rdf.export(registry, first, ADA, "trig")
    (folder / "all.trig").write_bytes(first.getvalue())
    with idstore.open(folder / "copy", administrator=ADA) as copy:
        rdf.import_registry(copy, [folder / "all.trig"], ADA)
        rdf.export(copy, second, ADA, "trig")
        assert list(copy.verify(ADA)) == []
    assert first.getvalue() == second.getvalue()


def mint(registry: Registry, by: Party = ADA, **changes: str) -> str:
    return registry.mint("sp", by, Request(metadata={**UNICORN, **changes})).iri


# the same article again


@pytest.mark.parametrize(
    ("changed", "label", "told"),
    [
        ({"title": "nan"}, "03921921/v30i0119/1_nt", "says that there is none"),
        ({"title": "None"}, "03921921/v30i0119/1_n", ""),
        ({"page": "12-May"}, "03921921/v30i0119/12_tmotu", "is a date"),
        ({"page": "2024-05-12"}, "03921921/v30i0119/2024_tmotu", "is a date"),
        ({"issue": "3/4/2024"}, "03921921/v30i3-4-2024/1_tmotu", "is a date"),
        ({"issue": "3/4"}, "03921921/v30i3-4/1_tmotu", ""),
        ({"issue": "#REF!"}, "03921921/v30iref/1_tmotu", "an error of a spreadsheet"),
        ({"doi": "10.1177/X."}, LABEL, "ends as if something stood behind it"),
        ({"doi": "10.1177/X</ext-link>"}, LABEL, "ends as if something stood behind it"),
        ({"doi": "nan"}, LABEL, "is no DOI"),
        ({"subtitle": "NULL"}, LABEL, ""),
    ],
)
def test_what_a_spreadsheet_made_of_metadata_is_told(
    registry: Registry, changed: dict[str, str], label: str, told: str
) -> None:
    article = {**UNICORN, **changed}
    derived = registry.derive("sp", article)
    assert derived.label == label
    assert told in "; ".join(derived.doubts)
    assert bool(derived.doubts) == bool(told)
    row = RequestRow(2, Request(metadata=article))
    [outcome] = registry.mint_many("sp", [row], ADA, dry_run=True)
    assert outcome.warning == "; ".join(derived.doubts)


def test_the_same_doi_gives_the_same_identifier(registry: Registry) -> None:
    first = mint(registry)
    assert mint(registry, doi="https://doi.org/10.1177/x", title="The Myth of the Unicorn: a Reload") == first
    assert mint(registry, doi="10.1177/y") == f"{first}_1"
    assert mint(registry, doi="") == f"{first}_2" and mint(registry, doi="") == f"{first}_3"


def test_an_explicit_key_takes_precedence_over_the_doi(registry: Registry) -> None:
    first = registry.mint("sp", ADA, Request(metadata=UNICORN, request_key="k"))
    assert registry.mint("sp", ADA, Request(metadata=UNICORN, request_key="k")) == first
    assert mint(registry) == f"{first.iri}_1"


def test_the_doi_of_a_hidden_article_is_taken_and_reveals_nothing_else(registry: Registry) -> None:
    mine = mint(registry, BOB)
    gone = mint(registry, BOB, doi="10.1/gone")
    registry.release(gone, BOB)
    messages = []
    for doi in (UNICORN["doi"], "10.1/gone"):
        with pytest.raises(errors.AlreadyRegistered) as caught:
            mint(registry, CAROL, doi=doi)
        messages.append(caught.value.message.replace(doi.lower(), "DOI"))
        assert mine not in caught.value.message
    assert messages[0] == messages[1]
    registry.fixate([mine], BOB)
    assert mint(registry, CAROL) == mine


# replacement


@pytest.mark.parametrize("published", [False, True])
def test_old_copies_are_numbered_and_share_the_stage_of_their_article(
    registry: Registry, published: bool
) -> None:
    article = mint(registry, BOB)
    registry.name(article, "unicorn", BOB, "en")
    registry.target(article, "http://example.org/pdf", BOB)
    if published:
        registry.fixate([article], BOB)
    before = registry.show(article, BOB)
    first, second = (registry.replace(article, UNICORN, ADA, "http://example.org/pdf").old for _ in range(2))
    assert [one.label for one in (first, second)] == [f"{LABEL}_old1", f"{LABEL}_old2"]
    assert registry.show(article, BOB) == before
    for one in (first, second):
        assert registry.show(one.iri, BOB) == one
        assert (one.owner, one.stage, one.names) == (
            "bob",
            Stage.FIXATED if published else Stage.CREATED,
            (("en", "unicorn"), ("und", "The Myth of the Unicorn")),
        )
        assert one.deprecated and one.successors == (before.iri,)
        assert registry.resolve(one.iri, BOB).target == "http://example.org/pdf"
        with pytest.raises(errors.InvalidData, match="an old copy of an article"):
            registry.replace(one.iri, UNICORN, ADA)
        if published:
            assert registry.show(one.iri, CAROL) == one
        else:
            with pytest.raises(errors.NotRegistered):
                registry.show(one.iri, CAROL)
    acts = [entry.event.act for entry in registry.log(BOB, Filter(id=article))]
    assert acts[-4:] == ["Replacement", "Targeting"] * 2
    assert mint(registry, BOB) == article


def test_target_files_and_events_move_to_the_old_copy_and_bindings_stay(registry: Registry) -> None:
    article = mint(registry, BOB)
    registry.target(article, "http://example.org/old.pdf", BOB)
    registry.fixate([article], BOB)
    pdf, event = child(registry, article, BOB), child(registry, article, CAROL, "event")
    registry.fixate([pdf], BOB)
    registry.bind(article, Statement("http://example.org/review"), CAROL)
    result = registry.replace(article, UNICORN, ADA)
    old, bound = result.old.iri, registry.show(article, DAN).bindings
    assert [(binding.target, binding.by) for binding in bound] == [("http://example.org/review", "carol")]
    assert (set(result.moved), result.bindings) == ({pdf, event}, bound)
    assert (registry.show(pdf, DAN).below, registry.show(event, CAROL).below) == (old, old)
    found = registry.resolve(article, DAN)
    assert (found.target, [copy.iri for copy in found.copies]) == (None, [article, old])
    assert registry.resolve(old, DAN).target == "http://example.org/old.pdf"
    registry.target(article, "http://example.org/new.pdf", BOB)
    found = registry.resolve(article, DAN)
    assert (found.target, found.copies) == ("http://example.org/new.pdf", ())
    newer = child(registry, article, BOB)
    again = registry.replace(article, UNICORN, ADA, "http://example.org/third.pdf")
    assert registry.resolve(again.old.iri, DAN).target == "http://example.org/new.pdf"
    assert registry.resolve(article, DAN).target == "http://example.org/third.pdf"
    assert registry.show(newer, BOB).below == again.old.iri
    assert registry.show(pdf, DAN).below == old


def test_a_binding_that_stood_in_for_the_target_leads_to_the_old_copy(registry: Registry) -> None:
    article = mint(registry, BOB)
    registry.bind(article, Statement("http://example.org/old.pdf"), BOB)
    registry.fixate([article], BOB)
    old = registry.replace(article, UNICORN, ADA).old.iri
    assert registry.resolve(old, DAN).target == "http://example.org/old.pdf"
    assert registry.resolve(article, DAN).target is None


def test_a_new_doi_belongs_to_the_article_from_then_on(registry: Registry, tmp_path: Path) -> None:
    article = mint(registry, doi="")
    registry.fixate([article], ADA)
    registry.replace(article, {**UNICORN, "doi": "10.5555/NEW"}, ADA)
    for doi in ("10.5555/new", "https://doi.org/10.5555/New"):
        assert mint(registry, BOB, doi=doi) == article
    with pytest.raises(errors.InvalidData, match="describe another article"):
        registry.replace(mint(registry, doi="10.5555/other"), {**UNICORN, "doi": "10.5555/new"}, ADA)
    exported_and_imported(registry, tmp_path / "elsewhere")
    with idstore.open(tmp_path / "elsewhere" / "copy") as copy:
        assert mint(copy, BOB, doi="10.5555/new") == article


def test_imported_old_copies_and_files_get_their_relations(registry: Registry) -> None:
    article = f"{BASE}{LABEL}"
    lines = [f"{LABEL}_old1", f"{LABEL}/pdf_fulltext/1303399300907", LABEL, f"{LABEL}_old1/1303399314628"]
    registry.enrol("sp", [Listed(number, label) for number, label in enumerate(lines)], ADA, "a list")
    old, pdf, whole, event = (registry.show(f"{BASE}{label}", DAN) for label in lines)
    assert (list(old.successors), old.deprecated) == ([article], True)
    assert (pdf.below, pdf.kind) == (whole.iri, "pdf")
    assert (event.below, event.kind) == (old.iri, None)
    assert (whole.below, whole.successors) == (None, ())
    assert [copy.iri for copy in registry.resolve(article, DAN).copies] == [whole.iri, old.iri]
    draft = mint(registry, BOB, volume="7").removeprefix(BASE)
    [refused] = registry.enrol("sp", [Listed(1, f"{draft}_old1")], ADA, "a list")
    assert (refused.verdict, "which is not published" in refused.reason) == ("refused", True)


def test_a_grant_list_passes_to_the_old_copy_and_no_further(registry: Registry) -> None:
    article = mint(registry, BOB)
    registry.grant(article, CAROL, BOB)
    registry.grant(article, ADA, BOB, bind=True)
    old = registry.replace(article, UNICORN, ADA).old
    assert old.grants == (("ada", True), ("carol", False))
    assert registry.show(old.iri, CAROL).label == old.label
    with pytest.raises(
        errors.StageConflict, match="which is not published; fixate that first, or both at once"
    ):
        registry.fixate([old.iri], BOB)
    registry.fixate([old.iri, article], BOB)
    assert registry.show(old.iri, DAN).grants == ()


def test_an_old_copy_stays_hidden_when_its_article_is_published(registry: Registry) -> None:
    article = mint(registry, BOB)
    old = registry.replace(article, UNICORN, ADA).old
    registry.fixate([article], BOB)
    seen = io.BytesIO()
    rdf.export(registry, seen, CAROL, "nquads")
    assert b"_old1" not in seen.getvalue() and LABEL.encode() in seen.getvalue()
    assert old.iri not in str([entry.event for entry in registry.log(CAROL)])


def test_only_the_namespace_s_owner_replaces(registry: Registry) -> None:
    article = mint(registry, BOB)
    with pytest.raises(errors.NotPermitted, match="only the owner of namespace sp, ada"):
        registry.replace(article, UNICORN, BOB)
    with pytest.raises(errors.NotRegistered):
        registry.replace(article, UNICORN, CAROL)
    registry.freeze("sp", ADA)
    with pytest.raises(errors.StageConflict, match="frozen"):
        registry.replace(article, UNICORN, ADA)
    registry.freeze("sp", ADA, frozen=False)
    registry.fixate([article], BOB)
    registry.revoke(article, "abuse", ADA)
    with pytest.raises(errors.StageConflict, match="tombstone"):
        registry.replace(article, UNICORN, ADA)


def test_the_metadata_must_be_of_the_article(registry: Registry) -> None:
    article, other = mint(registry), mint(registry, doi="10.1177/y")
    assert other == f"{article}_1"
    assert (
        registry.replace(article, {**UNICORN, "title": "Another Title"}, ADA).old.label == f"{LABEL}_old1"
    )  # its DOI tells
    assert registry.replace(other, {**UNICORN, "doi": ""}, ADA).old.label == f"{LABEL}_1_old1"
    for said, why in (
        ({"doi": "10.1177/y"}, "their key, such as the DOI, belongs to another one"),
        ({"doi": "10.1/z", "title": "Another"}, "they give "),
    ):
        with pytest.raises(errors.InvalidData, match=f"describe another article than .*: {why}"):
            registry.replace(article, {**UNICORN, **said}, ADA)
    handle = registry.register("h", "a", ADA).iri
    with pytest.raises(errors.InvalidData, match="h has no replacements"):
        registry.replace(handle, UNICORN, ADA)


# files and events below an article


def child(registry: Registry, parent: str, by: Party, kind: str = "pdf") -> str:
    return registry.mint("sp", by, Request(metadata={"parent": parent, "kind": kind})).iri


def test_an_identifier_below_an_article_states_its_kind_and_article(registry: Registry) -> None:
    article = mint(registry)
    for kind, path in (("pdf", "pdf_fulltext/"), ("xml", "xml_fulltext/"), ("file", ""), ("event", "")):
        found = registry.show(child(registry, article, ADA, kind), ADA)
        assert (found.kind, found.below and found.below) == (kind, article)
        assert found.label.removeprefix(f"{LABEL}/{path}").isdigit()
    with pytest.raises(errors.InvalidData, match="no kind 'jpg'"):
        child(registry, article, ADA, "jpg")
    with pytest.raises(errors.InvalidData, match="is not an article"):
        child(registry, found.iri, ADA)
    with pytest.raises(errors.InvalidData, match="nothing in h is part of article"):
        registry.mint("h", ADA, Request(metadata={"parent": article, "kind": "pdf"}))


def test_a_party_that_sees_an_article_sees_the_identifiers_below_it(registry: Registry) -> None:
    article = mint(registry, BOB)
    with pytest.raises(errors.NotRegistered):
        child(registry, article, CAROL)
    registry.grant(article, CAROL, BOB)
    below = child(registry, article, CAROL)
    assert registry.show(below, BOB).owner == "carol"
    with pytest.raises(errors.NotRegistered):
        registry.show(below, DAN)
    with pytest.raises(errors.StageConflict, match="which dan may not see; grant that first"):
        registry.grant(below, DAN, CAROL)
    with pytest.raises(errors.StageConflict, match="which dan may not see"):
        registry.transfer(below, DAN, CAROL)
    with pytest.raises(errors.StageConflict, match="which is not published"):
        registry.fixate([below], CAROL)
    registry.grant(article, DAN, BOB)
    registry.grant(below, DAN, CAROL)
    registry.fixate([article], BOB)
    registry.fixate([below], CAROL)
    assert registry.show(below, Party("eve")).below == registry.show(article, BOB).iri


@pytest.mark.parametrize("published", [False, True], ids=["drafts", "published"])
def test_quads_contain_initial_grant_lists_once(registry: Registry, published: bool) -> None:
    article = mint(registry)
    registry.grant(article, CAROL, ADA, bind=True)
    registry.grant(article, DAN, ADA)
    below = child(registry, article, CAROL, "event")
    old = registry.replace(article, UNICORN, ADA).old
    if published:
        registry.fixate([article], ADA)
        registry.fixate([old.iri], ADA)
        registry.fixate([below], CAROL)
    for party in (ADA, CAROL, DAN):
        with registry.quads(party) as quads:
            listed = list(quads)
        assert len(listed) == len(set(listed))


@pytest.mark.parametrize("fate", ["hidden", "granted", "released"])
def test_an_identifier_below_reveals_nothing_of_an_article_no_longer_visible(
    registry: Registry, fate: str
) -> None:
    article = mint(registry, BOB)
    registry.grant(article, CAROL, BOB)
    below = child(registry, article, CAROL)
    registry.transfer(below, BOB, CAROL)
    registry.ungrant(article, CAROL, BOB)
    if fate == "granted":
        registry.grant(article, DAN, BOB)
    if fate == "released":
        registry.release(article, BOB)
    for act in (registry.grant, registry.transfer):
        for other in (ADA, BOB, DAN):
            with pytest.raises(errors.StageConflict) as caught:
                act(below, other, CAROL)
            assert (
                caught.value.message
                == f"{below} names {article}, which carol may not see; only a party that sees both may show"
                " the first"
            )
            assert caught.value.fields == {"id": below, "party": "carol"}
    registry.ungrant(below, BOB, CAROL)
    assert registry.show(below, CAROL).owner == "carol"


def test_an_old_copy_is_visible_only_with_its_replacement(registry: Registry) -> None:
    article = mint(registry)
    old = registry.replace(article, UNICORN, ADA).old.iri
    for act in (registry.grant, registry.transfer):
        with pytest.raises(
            errors.StageConflict, match=f"{old} names {article}, which carol may not see; grant that first"
        ):
            act(old, CAROL, ADA)
    registry.grant(article, CAROL, ADA)
    registry.grant(old, CAROL, ADA)
    assert list(registry.show(old, CAROL).successors) == [article]


def test_a_grant_below_a_published_article_needs_no_grant_of_the_article(registry: Registry) -> None:
    article = mint(registry, BOB)
    registry.grant(article, CAROL, BOB)
    below = child(registry, article, CAROL)
    registry.ungrant(article, CAROL, BOB)
    registry.fixate([article], BOB)
    registry.grant(below, DAN, CAROL)
    assert registry.show(below, DAN).owner == "carol"


def test_an_identifier_below_a_published_article_begins_private(registry: Registry) -> None:
    article = mint(registry, BOB)
    registry.fixate([article], BOB)
    below = child(registry, article, CAROL)
    with pytest.raises(errors.NotRegistered):
        registry.show(below, BOB)


def test_identifiers_minted_within_a_millisecond_are_distinct(registry: Registry) -> None:
    article = mint(registry)
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda number: child(registry, article, ADA, ("file", "event")[number % 2]), range(200))
        )
    assert len(set(found)) == 200


def _children(path: str) -> list[str]:
    article = f"{BASE}{LABEL}"
    found = []
    for _ in range(15):
        with idstore.open(path, wait=60) as registry:
            found += [child(registry, article, ADA, kind) for kind in ("event", "file")]
    return found


def test_two_processes_never_mint_the_same_identifier(registry: Registry, tmp_path: Path) -> None:
    mint(registry)
    registry.close()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        one, other = pool.map(_children, [str(tmp_path / "store")] * 2)
    assert len({*one, *other}) == 60
    registry.__init__(idstore.open(tmp_path / "store").store)  # type: ignore[misc]


# many


@pytest.mark.slow
def test_thousands_are_loaded_in_order_and_a_second_load_gives_the_same(registry: Registry) -> None:
    loaded = [
        Request(metadata={**UNICORN, "page": str(number // 3), "doi": f"10.1/{number}"})
        for number in range(1400)
    ]
    loaded[700:700] = [loaded[3], Request(metadata={"volume": "1"}), errors.InvalidData("unreadable")]  # type: ignore[list-item]
    first = list(registry.load("sp", ADA, loaded))
    assert [one.fresh for one in first] == [True] * 700 + [False] * 3 + [True] * 700
    assert [str(one.error) for one in first if one.record is None] == [
        "the metadata have no issn, and the label begins with it; add the field issn",
        "unreadable",
    ]
    assert first[700].record == first[3].record
    labels = [one.record.label for one in first if one.fresh and one.record]
    assert labels[:4] == [
        f"03921921/v30i0119/{tail}" for tail in ("0_tmotu", "0_tmotu_1", "0_tmotu_2", "1_tmotu")
    ]
    again = list(registry.load("sp", ADA, loaded))
    assert not any(one.fresh for one in again)
    assert [one.record for one in again] == [one.record for one in first]


@pytest.mark.slow
def test_an_error_during_a_load_keeps_complete_batches(registry: Registry) -> None:
    def requests() -> Iterator[Request]:
        for number in range(1200):
            if number == 1100:
                raise OSError("the disk went away")
            yield Request(metadata={**UNICORN, "page": str(number), "doi": f"10.1/{number}"})

    given: list[MintOutcome] = []
    with pytest.raises(OSError, match="went away"):
        given.extend(one for one in registry.load("sp", ADA, requests()))
    kept = [one.iri for one in registry.list(ADA, limit=None)]
    assert len(kept) == 1000
    registry.freeze("sp", ADA)
    with pytest.raises(errors.StageConflict):
        list(registry.load("sp", ADA, [Request(metadata={**UNICORN, "doi": "10.1/new"})]))


def test_a_limit_per_minute_applies_to_loads(registry: Registry) -> None:
    registry.allow("sp", ["ada"], ADA, per_minute=3)
    found = registry.load(
        "sp", ADA, [Request(metadata={**UNICORN, "doi": f"10.1/{number}"}) for number in range(5)]
    )
    assert [next(found).fresh for _ in range(3)] == [True] * 3
    with pytest.raises(errors.NotPermitted, match="within a minute"):
        next(found)


def test_an_extract_of_identifiers_below_an_article_is_complete(registry: Registry) -> None:
    article = mint(registry)
    below = child(registry, article, ADA)
    seen = io.BytesIO()
    rdf.export(registry, seen, ADA, "nquads", Filter(namespace="sp"))
    assert below.encode() in seen.getvalue()


# real data


@pytest.mark.slow
@pytest.mark.realdata
def test_every_real_article_gets_an_identifier_of_its_own(tmp_path: Path, real_data: Path) -> None:
    """This includes every collision group, in the order of arrival; a second load gives the same."""
    lines = [entry.fields() for entry in metadata.entries(real_data / "articles.jsonl.gz")]
    requests = [
        Request(metadata={**fields, "key": str(number)}, request_key=str(number))
        for number, fields in enumerate(lines)
    ]
    with idstore.open(tmp_path / "store", administrator=ADA) as registry:
        registry.add_namespace("sp", BASE, "scholars-portal", ADA)
        first = list(registry.load("sp", ADA, requests))
        assert sum(one.fresh for one in first) == sum("issn" in fields for fields in lines)
        by_label: dict[str, list[str]] = {}
        for fields, one in zip(lines, first, strict=True):
            if one.record is not None:
                by_label.setdefault(registry.derive("sp", fields).label, []).append(one.record.label)
        assert all(
            labels == [label, *(f"{label}_{n}" for n in range(1, len(labels)))]
            for label, labels in by_label.items()
        )
        assert [one.record for one in registry.load("sp", ADA, requests)] == [one.record for one in first]


@pytest.mark.realdata
def test_every_real_collision_group_collides(real_data: Path, tmp_path: Path) -> None:
    import gzip

    groups: dict[str, set[str]] = {}
    with (
        idstore.open(tmp_path / "store", administrator=ADA) as registry,
        gzip.open(real_data / "articles.jsonl.gz", "rt", encoding="utf-8") as lines,
    ):
        registry.add_namespace("sp", BASE, "scholars-portal", ADA)
        for line in lines:
            article = json.loads(line)
            if "collision_group" in article and "issn" in article:
                fields = next(metadata.entries(io.BytesIO(line.encode()))).fields()
                groups.setdefault(str(article["collision_group"]), set()).add(
                    registry.derive("sp", fields).label
                )
    assert groups
    apart = {group: labels for group, labels in groups.items() if len(labels) > 1}
    assert apart == {}


def test_nobody_chooses_what_is_derived(registry: Registry) -> None:
    with pytest.raises(
        errors.NotPermitted, match="derives them from an article's metadata; mint one from metadata"
    ):
        registry.register("sp", "19360851/v04i0010/6153_dsognooinira", ADA)

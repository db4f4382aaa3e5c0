"""Lookup of texts in namespaces whose names are also prefixes of written forms."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Quad

import idstore
from idstore import Party, Registry, Statement
from idstore.errors import (
    AmbiguousIdentifier,
    InvalidData,
    InvalidIdentifier,
    NotRegistered,
    UnknownNamespace,
)
from idstore.exchange import handle_batch_import, rdf
from idstore.model import times
from idstore.model.change import Claim
from idstore.model.namespace import Namespace, settings_of
from idstore.model.party import NOBODY
from idstore.registry.imports.enroll import Listed
from idstore.registry.namespace_index import NamespaceIndex
from idstore.schemes import scheme
from idstore.stores.views import EngineView

ADA = Party("ada")
SEE_ALSO = "http://www.w3.org/2000/01/rdf-schema#seeAlso"
OURS, THEIRS = "https://hdl.handle.net/10.5/12345/x", "https://hdl.handle.net/12345/x"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ADA) as made:
        made.add_namespace("hdl", "10.5", "handle", ADA)
        made.add_namespace("other", "12345", "handle", ADA)
        made.add_namespace("https", "http://rdl.example.org/data#", "rdswip", ADA)
        yield made


def test_a_written_form_is_not_read_as_a_namespace_of_that_name(registry: Registry) -> None:
    theirs = registry.register("other", "x", ADA).iri
    assert [registry.identify(text, ADA) for text in ("hdl:12345/x", THEIRS, "other:x")] == [theirs] * 3
    ours = registry.register("hdl", "10.5/12345/x", ADA).iri
    with pytest.raises(AmbiguousIdentifier) as caught:
        registry.fixate(["hdl:12345/x"], ADA)
    assert caught.value.fields["candidates"] == sorted([OURS, THEIRS]) == sorted([ours, theirs])
    assert caught.value.message.endswith(f"; write {OURS} or other:x")
    for form in ("other:x", OURS):
        assert registry.identify(form, ADA) in (OURS, THEIRS)
    assert [registry.identify(text, ADA) for text in (OURS, "hdl:10.5/12345/x")] == [ours] * 2
    assert registry.identify(THEIRS, ADA) == theirs  # although there is a namespace https


def test_a_namespace_may_have_the_name_of_its_written_form(registry: Registry) -> None:
    own = registry.register("hdl", "own", ADA).iri
    assert [
        registry.identify(text, ADA) for text in ("hdl:own", "hdl:10.5/own", "10.5/own", "HDL:10.5/own")
    ] == [own] * 4


def test_a_name_that_is_no_written_form_means_its_namespace_alone(registry: Registry) -> None:
    registry.register("hdl", "other:x", ADA)
    named = registry.register("other", "x", ADA).iri
    assert registry.identify("other:x", ADA) == named


def test_a_new_label_may_come_with_the_name_of_its_namespace(registry: Registry) -> None:
    iri = registry.register("other", "other:valve", ADA).iri
    assert iri == registry.identify("other:valve", ADA) == "https://hdl.handle.net/12345/valve"
    assert registry.register("other", "12345/other:valve", ADA).iri.endswith("/other:valve")


@pytest.mark.parametrize("form", ["{}/y", "hdl:{}/y", "https://doi.org/{}/y", "info:hdl/{}/y"])
def test_a_binding_within_the_namespace_locates_nothing_in_any_form(registry: Registry, form: str) -> None:
    registry.add_namespace("doi", "10.5072", "handle", ADA)
    registry.register("doi", "x", ADA)
    registry.register("doi", "y", ADA)
    registry.bind("https://hdl.handle.net/10.5072/x", Statement(form.format("10.5072")), ADA)
    with pytest.raises(NotRegistered, match="no target"):
        registry.resolve("https://hdl.handle.net/10.5072/x", ADA)


def test_a_batch_file_names_whole_handles(registry: Registry) -> None:
    registry.register("hdl", "10.5/12345/x", ADA)
    text = "CREATE 12345/x\n3 URL 86400 1110 UTF8 http://example.org/\n"
    handle_batch_import.import_batch(registry, io.BytesIO(text.encode()), ADA)
    assert [one.text for one in registry.values(THEIRS, ADA)] == ["http://example.org/"]
    assert list(registry.values(OURS, ADA)) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("12345/x", "it is the identifier 12345/x of namespace other; name that namespace, or write"),
        ("66A/x", "of namespace aliased"),
        ("doi.org/10.5/x", "it is the identifier hdl:10.5/x of namespace hdl"),
        ("hdl.handle.net/12345/x", "it is the identifier hdl:12345/x of namespace other"),
        ("10.1045/x", "it looks like hdl:10.1045/x of another registry"),
        ("20.500.12345/x", "it looks like hdl:20.500.12345/x of another registry"),
        ("0.NA/12345", "it looks like hdl:0.NA/12345 of another registry"),
        ("dx.doi.org/10.1045/x%20y", "it looks like hdl:10.1045/x y of another registry"),
        ("dx.doi.org:80/10.1045/x", "it looks like hdl:10.1045/x of another registry"),
        ("//doi.org/10.1045/x", "it looks like hdl:10.1045/x of another registry"),
        ("doi.org/2027/x", "it looks like https://doi.org/2027/x of another registry"),
        ("hdl.handle.net/xyz", "it looks like https://hdl.handle.net/xyz of another registry"),
        ("DOI 10.1045/x", "it looks like hdl:10.1045/x of another registry"),
        ("urn:doi:10.1045/x", "it looks like hdl:10.1045/x of another registry"),
        ("10.1045%2Fx", "it looks like hdl:10.1045/x of another registry"),
        (" 10.1045/x", "it looks like hdl:10.1045/x of another registry"),
        ("handle.net/10.1045/x", "it looks like hdl:10.1045/x of another registry"),
        ("www.handle.net:80/12345/x", "it is the identifier hdl:12345/x of namespace other"),
        ("Handle.net/about", "it looks like https://Handle.net/about of another registry"),
        ("10./x", "it looks like hdl:10./x of another registry"),
        ("10..1045/x", "it looks like hdl:10..1045/x of another registry"),
        ("0./x", "it looks like hdl:0./x of another registry"),
        ("20.500./x", "it looks like hdl:20.500./x of another registry"),
    ],
)
def test_a_bare_handle_of_elsewhere_is_no_label(registry: Registry, text: str, said: str) -> None:
    registry.add_namespace("aliased", "555", "handle", ADA, {"alias": "66a"})
    registry.add_namespace("h", "777", "handle", ADA)
    with pytest.raises(InvalidIdentifier) as caught:
        registry.register("h", text, ADA)
    assert said in caught.value.message
    assert f"write 777/{text.strip()} if it is a label here" in caught.value.message
    assert registry.register("h", f"777/{text.strip()}", ADA).label == text.strip()
    registry.register("h", "666/x", ADA)  # no namespace has that prefix


def test_a_label_hides_no_handle_of_another_namespace(registry: Registry) -> None:
    label = registry.register("hdl", "10.5/12345/x", ADA).iri
    with pytest.raises(NotRegistered):
        registry.identify("12345/x", ADA)
    whole = registry.register("other", "x", ADA).iri
    assert registry.identify("12345/x", ADA) == whole
    assert registry.identify("10.5/12345/x", ADA) == registry.identify(label, ADA) == label


def test_a_list_is_routed_by_prefix(registry: Registry) -> None:
    registry.add_namespace("formats", "http://formats.example.org/", "puid", ADA)
    registry.add_namespace("pilin", "102.100.272", "pilin", ADA)
    registry.add_namespace("facade", "http://facade.example.org/data#", "rdswip", ADA, {"max_count": "4"})
    lines = {
        "10.5/a": "hdl",
        "12345/a": "other",
        "https://doi.org/10.5/b": "hdl",
        "other:b": "other",
        "fmt/1": "formats",
        "Y35XYS0QH": "pilin",
        "102.100.272/W35XYS0QH": "pilin",
        "R1121557148": "facade",
    }
    listed = [Listed(number, text) for number, text in enumerate(lines, 1)]
    outcomes = registry.enrol(None, listed, ADA, "mixed.txt")
    assert [outcome.verdict for outcome in outcomes] == ["new"] * len(lines)
    homes = {namespace.base: namespace.name for namespace in registry.namespaces()}
    assert [homes[registry.show(outcome.id, ADA).namespace] for outcome in outcomes] == [*lines.values()]
    assert {outcome.verdict for outcome in registry.enrol(None, listed, ADA, "mixed.txt")} == {"known"}


def test_a_known_identifier_in_another_spelling_is_known_by_its_own_iri(registry: Registry) -> None:
    registry.add_namespace("doi", "10.5072", "handle", ADA)
    registry.add_namespace("folded", "777", "handle", ADA, {"case_sensitive": "false"})
    first = registry.register("doi", "ABC", ADA).iri
    second = registry.register("folded", "ABC", ADA).iri
    listed = [Listed(1, "doi:10.5072/aBC", "hello"), Listed(2, "777/abc"), Listed(3, "777/aBc", "hello")]
    outcomes = registry.enrol(None, listed, ADA, "list.txt", force=True)
    assert [(outcome.verdict, outcome.id, outcome.reason) for outcome in outcomes] == [
        ("known", first, "its name 'hello' is new"),
        ("known", second, ""),
        ("known", second, "its name 'hello' is new"),
    ]
    assert registry.show(first, ADA).names == registry.show(second, ADA).names != ()
    again = registry.enrol(None, listed, ADA, "list.txt", force=True)
    assert [(outcome.verdict, outcome.reason) for outcome in again] == [("known", "")] * 3


def test_what_a_list_adds_to_a_known_identifier_is_told_and_to_a_new_one_it_is_part_of_it(
    registry: Registry,
) -> None:
    registry.register("hdl", "10.5/a", ADA)
    lines = [
        Listed(
            number,
            text,
            name,
            lang,
            leads_to=target,
            statement=Statement(f"http://y.example/{lang}", SEE_ALSO),
        )
        for number, (text, name, lang, target) in enumerate(
            [
                ("10.5/a", "pump", "en", "http://x.example/a"),
                ("10.5/b", "valve", "en", "http://x.example/b"),
                ("10.5/b", "Ventil", "de", None),
                ("10.5/b", "Ventil", "de", None),
            ]
        )
    ]
    outcomes = registry.enrol(None, lines, ADA, "list.txt", force=True)
    assert [(outcome.verdict, outcome.reason) for outcome in outcomes] == [
        ("known", "its name 'pump' is new; its target http://x.example/a is new; its binding is new"),
        ("new", ""),
        ("new", ""),
        ("known", ""),
    ]


def test_lines_of_no_namespace_are_reported_and_nothing_is_imported(registry: Registry) -> None:
    listed = [Listed(1, "12345/a"), Listed(2, "99999/a"), Listed(3, "word"), Listed(4, "othr:a")]
    good, *bad = registry.enrol(None, listed, ADA, "mixed.txt")
    assert good.verdict == "new"
    assert [outcome.verdict for outcome in bad] == ["refused", "malformed", "refused"]
    assert bad[0].reason == "'99999/a' belongs to no namespace here; add one, or remove the line"
    assert "did you mean other?" in bad[2].reason
    assert registry.list(ADA) == []
    [outcome] = registry.enrol("hdl", [Listed(1, "12345/a")], ADA, "one.txt")
    assert outcome.verdict == "malformed"
    assert "of namespace other" in outcome.reason


def test_the_namespaces_of_a_whole_name_are_found_without_trying_all() -> None:
    code = scheme("handle")
    spaces = [
        Namespace(context.base, f"n{number}", "handle", settings_of(context.settings), "ada", times.of(0))
        for number in range(500)
        for context in [code.context(f"1000.{number}", {"alias": f"2000.{number}"})]
    ]
    index = NamespaceIndex(spaces)
    forms = ("https://hdl.handle.net/1000.7/a", "hdl:1000.7/a", "1000.7/a", "info:hdl/2000.7/a", "2000.7/a")
    assert [index.candidates(text) for text in forms] == [[spaces[7]]] * len(forms)
    assert index.candidates("https://doi.org/10.1/a") == index.candidates("http://example.org/a") == []
    assert index.candidates("3000/a") == spaces  # it may be a label
    assert index.candidates("3000/a", whole=True) == []


@pytest.fixture
def many(registry: Registry) -> Registry:
    """Return a registry with 30 namespaces of each of two schemes; one in ten ignores case."""
    for number in range(30):
        settings = {"case_sensitive": "false"} if number % 10 == 9 else {}
        registry.add_namespace(f"h{number}", f"3000{number}", "handle", ADA, settings)
        registry.add_namespace(f"f{number}", f"http://f{number}.example.org/", "puid", ADA)
    return registry


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return a list that collects the quads and claims that are asked for from now on."""
    asked: list[object] = []
    quads, claim = EngineView.quads, EngineView.claim

    def ask_quads(view: EngineView, *pattern: NamedNode | None) -> Iterator[Quad]:
        found = list(quads(view, *pattern))
        asked.extend(["quads", *("quad" for _ in found)])
        return iter(found)

    def ask_claim(view: EngineView, key: NamedNode) -> Claim | None:
        asked.append("claim")
        return claim(view, key)

    monkeypatch.setattr(EngineView, "quads", ask_quads)
    monkeypatch.setattr(EngineView, "claim", ask_claim)
    return asked


@pytest.mark.parametrize("party", [ADA, Party("ben"), NOBODY])
def test_a_bare_label_means_what_it_means_in_each_namespace(many: Registry, party: Party) -> None:
    public = [many.register(name, "fmt/1", ADA).iri for name in ("f3", "h4")]
    public.append(many.register("h9", "FMT/1", ADA).iri)
    alone = many.register("f5", "fmt/2", ADA).iri
    many.fixate([*public, alone], ADA)
    draft = many.register("f6", "fmt/2", ADA).iri
    released = many.register("h6", "fmt/3", ADA).iri
    many.release(released, ADA)
    with pytest.raises(AmbiguousIdentifier) as caught:
        many.identify("fmt/1", party)
    assert caught.value.fields["candidates"] == sorted(public)
    if party is ADA:
        with pytest.raises(AmbiguousIdentifier) as caught:
            many.identify("fmt/2", party)
        assert caught.value.fields["candidates"] == sorted([alone, draft])
    else:
        assert many.identify("fmt/2", party) == alone
    many.revoke(alone, "wrong", ADA)
    assert party is ADA or many.show("fmt/2", party).iri == alone
    for text in ("fmt/3", "fmt/4", "Fmt/2", "word"):
        with pytest.raises(NotRegistered):
            many.identify(text, party)
    with pytest.raises(NotRegistered):
        many.identify("FMT/2", party)


@pytest.mark.parametrize("party", [Party("ben"), NOBODY])
def test_a_lookup_of_a_bare_label_reads_nothing_of_hidden_identifiers(
    many: Registry, read: list[object], party: Party
) -> None:
    many.register("f1", "fmt/2", ADA)
    for number in range(8):
        many.register(f"h{number}", "fmt/1", ADA)
        many.register(f"f{number}", "fmt/1", ADA)
    counts = []
    for text in ("fmt/1", "fmt/1", "fmt/2", "fmt/3"):
        read.clear()
        with pytest.raises(NotRegistered):
            many.identify(text, party)
        counts.append((read.count("claim"), read.count("quads")))
    assert len({*counts[1:]}) == 1


def test_a_bare_label_finds_the_drafts_that_a_party_sees(many: Registry) -> None:
    ben, eve = Party("ben"), Party("eve")
    own = many.register("f1", "fmt/7", ben).iri
    granted = many.register("h2", "word", ADA).iri
    many.grant(granted, ben, ADA)
    assert (many.identify("fmt/7", ben), many.identify("word", ben)) == (own, granted)
    for text in ("fmt/7", "word"):
        with pytest.raises(NotRegistered):
            many.identify(text, eve)
    many.ungrant(granted, ben, ADA)
    with pytest.raises(NotRegistered):
        many.identify("word", ben)
    for number in range(120):  # more lists than are asked one by one
        draft = many.register("h3", f"d{number}", ADA)
        many.grant(draft, Party(f"p{number}"), ADA)
        many.grant(draft, ben, ADA)
    assert many.identify("fmt/7", ben) == own
    assert many.show("d7", ben).label == "d7"


@pytest.mark.parametrize("party", [ADA, Party("ben"), NOBODY])
def test_a_lookup_of_a_bare_label_does_not_try_each_namespace(
    many: Registry, read: list[object], party: Party
) -> None:
    iri = many.register("f1", "fmt/1", ADA).iri
    many.fixate([iri], ADA)
    many.identify("fmt/1", party)
    read.clear()
    assert many.identify("fmt/1", party) == iri
    assert read.count("claim") <= 8  # four namespaces of handles and one of PUIDs, and those of the fixture
    assert read.count("quads") <= 20


def test_a_registry_with_such_a_namespace_is_imported(registry: Registry, tmp_path: Path) -> None:
    out = io.BytesIO()
    rdf.export(registry, out, ADA, "trig")
    (tmp_path / "all.trig").write_bytes(out.getvalue())
    with idstore.open(tmp_path / "copy", administrator=ADA) as copy:
        rdf.import_registry(copy, [tmp_path / "all.trig"], ADA)
        assert [one.name for one in copy.namespaces()] == ["hdl", "https", "other"]


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("other:x", "to itself"),
        ("other://x/y", "neither a registered URI scheme nor a known prefix"),
        ("Other:x", "neither a registered URI scheme nor a known prefix"),
        ("rdl:R1", "begin with http://rdl.example.org/more#"),
        ("http://", "no host"),
        ("http:///x", "no host"),
        ("http:foo", "no host"),
        ("https://@/", "no host"),
        (THEIRS, "to itself"),
    ],
)
def test_itself_an_unknown_prefix_or_an_iri_without_a_host_is_no_target(
    registry: Registry, uri: str, said: str
) -> None:
    registry.add_namespace("rdl", "http://rdl.example.org/more#", "rdswip", ADA)
    registry.register("other", "x", ADA)
    with pytest.raises(InvalidData, match=said):
        registry.bind("other:x", Statement(uri), ADA)


@pytest.mark.parametrize(
    "uri",
    [
        "pkg:npm/foo@1.0",
        "hdl:10.5/a",
        "https://example.org/",
        "tel:1",
        "http://[::1]/",
        "http://ann@b.example/",
    ],
)
def test_an_iri_is_a_target_with_any_names_of_namespaces(registry: Registry, uri: str) -> None:
    registry.add_namespace("tel", "http://rdl.example.org/more#", "rdswip", ADA)
    registry.add_namespace("pkg", "778", "handle", ADA)
    registry.register("other", "x", ADA)
    registry.target("other:x", uri, ADA)
    registry.bind("other:x", Statement(uri), ADA)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("othr:x", "no namespace 'othr' here; did you mean other?"),
        ("nothing:x", "no namespace 'nothing' here; list the namespaces for their names"),
    ],
)
def test_an_unknown_namespace_is_reported(tmp_path: Path, registry: Registry, text: str, said: str) -> None:
    with idstore.open(tmp_path / "own", administrator=ADA) as own:
        own.add_namespace("other", "http://own.example.org/", "puid", ADA)
        with pytest.raises(UnknownNamespace) as caught:
            own.show(text, ADA)
        assert caught.value.message == said
    with pytest.raises(NotRegistered) as either:  # it may be a suffix of a handle
        registry.show(text, ADA)
    assert isinstance(either.value, UnknownNamespace) == ("did you mean" in said)
    iri = registry.register("other", text, ADA).iri
    assert registry.show(text, ADA).iri == iri


@pytest.mark.parametrize(
    ("text", "kind"),
    [("urn:isbn:1", InvalidIdentifier), ("DOI:10.7/x", NotRegistered), ("a b:c", InvalidIdentifier)],
)
def test_other_forms_name_no_namespace(tmp_path: Path, text: str, kind: type[Exception]) -> None:
    with idstore.open(tmp_path / "own", administrator=ADA) as own, pytest.raises(kind) as caught:
        own.show(text, ADA)
    assert not isinstance(caught.value, UnknownNamespace)

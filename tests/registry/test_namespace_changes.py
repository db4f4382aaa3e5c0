"""Changes of namespaces: settings that change no identifier, and what a namespace says of itself."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest

import idstore
from idstore import Party, Registry, Request, Statement
from idstore.errors import AlreadyRegistered, ExchangeError, IdstoreError, InvalidData, NotPermitted
from idstore.exchange import description, rdf, table_export
from idstore.model.filter import Filter

ADA, BOB = Party("ada"), Party("bob")
ZERO = "https://creativecommons.org/publicdomain/zero/1.0/"


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ADA) as made:
        made.add_namespace("h", "12345", "handle", ADA)
        made.add_namespace("p", "102.100.272", "pilin", ADA)
        yield made


def test_particulars_are_stored_and_taken_away(registry: Registry) -> None:
    said = {
        "description": "Valves",
        "contact": "curator@example.org",
        "policy": "Never reused.",
        "licence": ZERO,
        "publisher": "Example Ltd",
    }
    changed = registry.set_namespace("h", said, ADA)
    assert dict(changed.particulars) == {**said, "contact": "mailto:curator@example.org"}
    assert registry.namespace("h") == changed
    assert registry.set_namespace("h", said, ADA) == changed
    without = registry.set_namespace("h", {"policy": "", "publisher": "https://example.org/us"}, ADA)
    assert "policy" not in dict(without.particulars)
    kinds = [entry.event.act for entry in registry.log(ADA) if entry.event.about == changed.base]
    assert kinds == ["NamespaceAddition", "NamespaceChange", "NamespaceChange"]
    assert list(registry.verify(ADA)) == []


def test_settings_that_change_no_identifier_can_be_set(registry: Registry) -> None:
    doc = registry.register("h", "doc", ADA).iri
    registry.set_namespace("h", {"alias": "10.5072"}, ADA)
    assert registry.identify("https://doi.org/10.5072/doc", ADA) == doc
    registry.set_namespace("h", {"alias": "10.5072 66666"}, ADA)
    assert registry.identify("66666/doc", ADA) == registry.identify("10.5072/doc", ADA) == doc
    made = registry.mint("p", ADA)
    registry.set_namespace("p", {"cite_as": "PILIN", "proxy": "http://id.example.org/"}, ADA)
    forms = [form.text for form in registry.cite(made.iri, ADA)]
    assert {f"PILIN/{made.label}", f"http://id.example.org/102.100.272/{made.label}"} <= {*forms}
    registry.set_namespace("p", {"proxy": "", "cite_as": ""}, ADA)
    assert dict(registry.namespace("p").settings)["proxy"] == "http://resolver.net.au/hdl/"


@pytest.mark.parametrize(
    ("changes", "kind", "said"),
    [
        (
            {"case_sensitive": "false"},
            InvalidData,
            "case_sensitive of h cannot be changed, because it decides",
        ),
        ({"parent": "1"}, InvalidData, "because the owner of the parent prefix agreed to it"),
        ({"base": "6"}, InvalidData, "because all its identifiers begin with it"),
        ({"owner": "bob"}, InvalidData, "transfer the namespace instead"),
        (
            {"colour": "red"},
            InvalidData,
            "what can be set is alias, pass_through, template, publish, admin, description",
        ),
        ({"licence": "free"}, InvalidData, "the licence 'free' is no address"),
        ({"contact": "Ada"}, InvalidData, "the contact 'Ada' is no address"),
        ({"alias": "102.100.272"}, AlreadyRegistered, "belongs to namespace p"),
        ({"alias": "777"}, InvalidData, "alias 66666 of h cannot be taken away"),
    ],
)
def test_what_may_not_change_is_refused_with_the_reason(
    registry: Registry, changes: dict[str, str], kind: type[IdstoreError], said: str
) -> None:
    registry.register("h", "doc", ADA)
    if changes.get("alias") == "777":
        registry.set_namespace("h", {"alias": "66666"}, ADA)
    before = registry.namespace("h")
    with pytest.raises(kind) as caught:
        registry.set_namespace("h", {"description": "new", **changes}, ADA)
    assert said in caught.value.message
    assert registry.namespace("h") == before


def test_reserved_ranges_change_as_long_as_no_issued_label_leaves(registry: Registry) -> None:
    registry.add_namespace("pronom", "info:pronom/", "puid", ADA, {"reserved": "x-fmt/90-99"})
    issued = registry.register("pronom", "x-fmt/95", BOB).iri
    registry.release(issued, BOB)
    assert dict(registry.set_namespace("pronom", {"reserved": "x-fmt/95-99"}, ADA).settings)["reserved"]
    for narrower in ("", "x-fmt/96-99", "x-fmt/90-94"):
        with pytest.raises(InvalidData, match="cannot leave out labels that were issued here"):
            registry.set_namespace("pronom", {"reserved": narrower}, ADA)
    wider = registry.set_namespace("pronom", {"reserved": "x-fmt/95-99 x-sfw/1-9"}, ADA)
    assert dict(wider.settings)["reserved"] == "x-fmt/95-99 x-sfw/1-9"
    assert registry.mint("pronom", BOB, Request(metadata={"type": "x-sfw"})).label == "x-sfw/1"
    with pytest.raises(InvalidData, match="is no range of a provisional type"):
        registry.set_namespace("pronom", {"reserved": "fmt/1-2"}, ADA)
    with pytest.raises(InvalidData, match="authority of pronom cannot be changed"):
        registry.set_namespace("pronom", {"authority": "own"}, ADA)
    assert list(registry.verify(ADA)) == []


def test_registries_with_different_changeable_settings_are_merged(registry: Registry, tmp_path: Path) -> None:
    registry.add_namespace("pronom", "info:pronom/", "puid", ADA, {"reserved": "x-fmt/90-99"})
    registry.add_namespace("s", "http://resolver.example.org/", "scholars-portal", ADA)
    with idstore.open(tmp_path / "there", administrator=BOB) as there:
        there.add_namespace("h", "12345", "handle", BOB, {"alias": "10.5072"})
        there.add_namespace("pronom", "info:pronom/", "puid", BOB, {"reserved": "x-fmt/80-89"})
        there.fixate([there.register("h", "doc", BOB).iri], BOB)
        with (tmp_path / "there.nq").open("wb") as file:
            rdf.export(there, file, BOB, "nquads")
    settings = [registry.namespace(name).settings for name in ("h", "pronom")]
    assert rdf.import_registry(registry, [tmp_path / "there.nq"], ADA).identifiers == 1
    assert [registry.namespace(name).settings for name in ("h", "pronom")] == settings


def test_registries_whose_labels_differ_are_not_merged(registry: Registry, tmp_path: Path) -> None:
    with idstore.open(tmp_path / "there", administrator=BOB) as there:
        there.add_namespace("h", "12345", "handle", BOB, {"case_sensitive": "false"})
        with (tmp_path / "there.nq").open("wb") as file:
            rdf.export(there, file, BOB, "nquads")
    with pytest.raises(ExchangeError, match=r"decide about labels; import a list of its identifiers instead"):
        rdf.import_registry(registry, [tmp_path / "there.nq"], ADA)


def test_only_the_owner_changes_a_namespace(registry: Registry) -> None:
    with pytest.raises(NotPermitted):
        registry.set_namespace("h", {"licence": ZERO}, BOB)


def test_changes_survive_an_export(registry: Registry, tmp_path: Path) -> None:
    registry.set_namespace("h", {"licence": ZERO, "alias": "66666", "publisher": "Example Ltd"}, ADA)
    out = io.BytesIO()
    rdf.export(registry, out, ADA, "trig")
    assert f"dcterms:license <{ZERO}>".encode() in out.getvalue()
    (tmp_path / "all.trig").write_bytes(out.getvalue())
    with idstore.open(tmp_path / "copy", administrator=ADA) as copy:
        rdf.import_registry(copy, [tmp_path / "all.trig"], ADA)
        assert copy.namespace("h") == registry.namespace("h")


def test_licence_and_publisher_stand_in_descriptions_and_mappings(registry: Registry) -> None:
    registry.set_namespace("h", {"licence": ZERO, "publisher": "Example Ltd"}, ADA)

    def described() -> tuple[str, str]:
        about, mapped = io.BytesIO(), io.BytesIO()
        description.describe(registry, about)
        table_export.export_sssom(registry, mapped, ADA)
        return about.getvalue().decode(), mapped.getvalue().decode()

    about, mapped = described()
    part = about[about.index("<https://hdl.handle.net/12345/> a void:Dataset") :]
    assert f"dcterms:license <{ZERO}>" in part
    assert 'dcterms:publisher "Example Ltd"' in part
    assert "unspecified" in mapped  # not every namespace states it
    own = io.BytesIO()
    table_export.export_sssom(registry, own, ADA, Filter(namespace="h"))
    assert f'#license: "{ZERO}"' in own.getvalue().decode()
    registry.set_namespace("p", {"licence": ZERO}, ADA)
    about, mapped = described()
    assert about.count(f"dcterms:license <{ZERO}>") == 3
    assert f'#license: "{ZERO}"' in mapped


def test_settings_that_decide_about_labels_change_before_the_first_identifier(registry: Registry) -> None:
    registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ADA)
    changed = registry.set_namespace("rdl", {"profile": "rdlfacade"}, ADA)
    assert changed.context.settings == {
        "digits": "11",
        "max_run": "2",
        "max_count": "4",
        "refuse_patterns": "false",
    }
    registry.set_namespace("rdl", {"digits": "12"}, ADA)
    draft = registry.mint("rdl", BOB)
    assert len(draft.label) == 13
    registry.release(draft, BOB)  # its label is never issued again, by whatever rule
    for changes in ({"digits": "10"}, {"profile": "rdlfacade"}):
        with pytest.raises(InvalidData, match="because it decides which labels there are"):
            registry.set_namespace("rdl", changes, ADA)
    assert list(registry.verify(ADA)) == []


@pytest.mark.parametrize("change", [{"digits": "12"}, {"profile": "rdlfacade"}, {"reserved": "x-fmt/90-99"}])
def test_an_owner_learns_nothing_of_hidden_identifiers_from_a_setting(
    registry: Registry, change: dict[str, str]
) -> None:
    scheme = "puid" if "reserved" in change else "rdswip"

    def draft(name: str) -> None:
        if scheme == "puid":
            registry.register(name, "x-fmt/3", ADA)
        else:
            registry.mint(name, ADA)

    errors = []
    for name, drafts in (("used", True), ("unused", False)):
        end = "" if scheme == "puid" else "data#"
        registry.add_namespace(name, f"http://{name}.example.org/{end}", scheme, ADA)
        registry.transfer_namespace(name, BOB, ADA)
        registry.transfer_namespace(name, BOB, BOB)
        if drafts:
            draft(name)
        with pytest.raises(NotPermitted, match="depends on hidden identifiers") as caught:
            registry.set_namespace(name, change, BOB)
        errors.append(caught.value.message.replace(name, "NAME"))
        registry.set_namespace(name, {"description": "of Bob"}, BOB)
    assert errors[0] == errors[1]


def exported(registry: Registry, file: Path) -> Path:
    with file.open("wb") as target:
        rdf.export(registry, target, ADA, "nquads")
    return file


def test_registries_with_other_rules_are_not_merged(registry: Registry, tmp_path: Path) -> None:
    """The rules are those that the settings have now, not those of the beginning."""
    with idstore.open(tmp_path / "other", administrator=ADA) as other:
        other.add_namespace("h", "12345", "handle", ADA)
        unchanged = exported(other, tmp_path / "unchanged.nq")
        other.set_namespace("h", {"case_sensitive": "false"}, ADA)
        other.register("h", "Doc", ADA)
        changed = exported(other, tmp_path / "changed.nq")
    rdf.import_registry(registry, [unchanged], ADA)
    with pytest.raises(ExchangeError, match="a merge requires the same scheme"):
        rdf.import_registry(registry, [changed], ADA)
    registry.set_namespace("h", {"case_sensitive": "false"}, ADA)
    rdf.import_registry(registry, [changed], ADA)
    with pytest.raises(ExchangeError, match="a merge requires the same scheme"):
        rdf.import_registry(registry, [unchanged], ADA)
    assert list(registry.verify(ADA)) == []


def test_a_copy_that_went_another_way_does_not_change_the_rules(registry: Registry, tmp_path: Path) -> None:
    registry.backup(tmp_path / "copy", ADA)
    with idstore.open(tmp_path / "copy") as copy:
        copy.set_namespace("h", {"case_sensitive": "false"}, ADA)
        copy.set_namespace("p", {"cite_as": "PILIN"}, ADA)
        file = exported(copy, tmp_path / "copy.nq")
    registry.register("h", "Doc", ADA)
    with pytest.raises(ExchangeError, match="labels were issued here"):
        rdf.import_registry(registry, [file], ADA, own_history=True)
    assert registry.namespace("h").context.settings["case_sensitive"] == "true"


def test_who_may_bind_is_the_owner_s_decision(registry: Registry) -> None:
    eve, group = Party("eve"), Party("staff")
    registry.add_party(BOB, ADA)
    one = registry.register("h", "one", ADA, Request(fixate=True))
    target = Statement("http://example.org/1")
    registry.bind(one, target, eve)
    registry.set_namespace("h", {"bind": "known"}, ADA)
    with pytest.raises(NotPermitted, match="eve was not") as refused:
        registry.bind(one, Statement("http://example.org/2"), eve)
    assert refused.value.remedy == "add-party"
    registry.bind(one, Statement("http://example.org/2"), BOB)
    registry.unbind(one, target, eve)  # what a party said it takes back

    registry.set_namespace("h", {"bind": "allocators"}, ADA)
    registry.add_party(group, ADA, "group")
    registry.join(eve, group, ADA)
    registry.bind(one, Statement("http://example.org/3"), eve)  # all may allocate
    registry.allow("h", ["staff"], ADA)
    registry.bind(one, Statement("http://example.org/4"), eve)
    with pytest.raises(NotPermitted, match="those that may allocate"):
        registry.bind(one, Statement("http://example.org/5"), BOB)
    registry.bind(one, Statement("http://example.org/6"), ADA)

    registry.set_namespace("h", {"bind": "anyone"}, ADA)
    registry.bind(one, Statement("http://example.org/7"), Party("zoe"))
    assert "bind" not in dict(registry.namespace("h").particulars)
    assert list(registry.verify(ADA)) == []
    for wrong in ("everybody", "Known"):
        with pytest.raises(InvalidData, match="anyone, known, allocators"):
            registry.set_namespace("h", {"bind": wrong}, ADA)


def test_identifiers_for_everybody_to_bind_are_not_for_allocators_alone(registry: Registry) -> None:
    registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", ADA)
    with pytest.raises(InvalidData, match="is not for rdl"):
        registry.set_namespace("rdl", {"bind": "allocators"}, ADA)
    assert dict(registry.set_namespace("rdl", {"bind": "known"}, ADA).particulars) == {"bind": "known"}

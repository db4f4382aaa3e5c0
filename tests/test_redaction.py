"""A redacted text or name is in no file of the store; everything else is as before, and verify agrees."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_lines import Run
from serving import wait_until
from store_files import contents

import idstore
from idstore import errors
from idstore.exchange import rdf
from idstore.model.event import PSEUDONYM
from idstore.model.filter import Filter
from idstore.model.party import Party
from idstore.registry import Registry
from idstore.registry.bindings import Statement
from idstore.registry.requests import Request
from idstore.stores.reader import ReadOnlyStore
from idstore.stores.snapshots import Use
from idstore.stores.store import DirectoryStore
from idstore.vocabulary import RDF

ALICE, BOB, CAROL = Party("alice"), Party("bobthebuilder"), Party("carol")
SECRET = "Jürgen Müller, Haupstr. 5, lives here"
ADDRESS = "juergen.mueller@mail.example.org"


def traces(folder: Path, *texts: str) -> set[str]:
    """Return the files of a folder that contain a text, in UTF-8 or percent-encoded."""
    from urllib.parse import quote

    forms = {form.encode() for text in texts for form in (text, quote(text), quote(text, safe=""))}
    return {
        str(path.relative_to(folder))
        for path, content in contents(folder)
        if any(form in content for form in forms)
    }


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with idstore.open(tmp_path / "store", administrator=ALICE) as opened:
        opened.add_namespace("h", "10.1000", "handle", ALICE)
        yield opened


def filled(registry: Registry) -> str:
    """Return a public identifier with the texts in a name, comment, note, target, binding and reason."""
    public = registry.register("h", "public", ALICE, Request(name=f"by {SECRET}", target=f"mailto:{ADDRESS}"))
    iri = public.iri
    registry.comment(iri, f"ask {SECRET} or {ADDRESS}", ALICE)
    registry.bind(iri, Statement(f"http://example.org/?who={ADDRESS}", note=SECRET), ALICE)
    registry.bind(iri, Statement("http://example.org/9", author=SECRET), ALICE)
    registry.fixate([iri], ALICE)
    registry.name(iri, "another", ALICE)
    registry.deprecate(iri, SECRET, ALICE)
    return iri


def is_sound(registry: Registry) -> bool:
    return not list(registry.verify(ALICE))


def test_a_text_is_gone_from_every_file_and_everything_else_stays(registry: Registry, tmp_path: Path) -> None:
    iri = filled(registry)
    draft = registry.register("h", "draft", BOB, Request(comment=f"draft about {SECRET}")).iri
    assert isinstance(registry.store, DirectoryStore)
    registry.store.snapshot().close()
    registry.store.publish().release()
    before = registry.show(iri, ALICE)
    assert traces(tmp_path, SECRET) and traces(tmp_path, ADDRESS)
    result = registry.redact_text(SECRET, "he asked for it", ALICE)
    assert PSEUDONYM.fullmatch(result.pseudonym)
    assert len(result.events) == 6 and {kind for _, kind in result.events} >= {
        "Comment",
        "Bind",
        "Deprecation",
    }
    address = registry.redact_text(ADDRESS, "he asked for it", ALICE).pseudonym
    assert not traces(tmp_path, SECRET, ADDRESS)
    after = registry.show(iri, ALICE)
    assert after.reason == result.pseudonym
    assert after.target is not None and after.target == f"mailto:{address}"
    assert {binding.target for binding in after.bindings} == {
        "http://example.org/9",
        f"http://example.org/?who={address}",
    }
    assert (after.label, after.owner, after.created) == (before.label, before.owner, before.created)
    [begun] = [entry.event for entry in registry.log(BOB, Filter(id=draft))]
    assert begun.text(RDF.value) == f"draft about {result.pseudonym}"
    assert is_sound(registry)
    assert registry.mint("h", ALICE).iri
    registry.close()
    assert not traces(tmp_path, SECRET, ADDRESS)
    with idstore.open(tmp_path / "store") as again:
        assert is_sound(again)
        assert not traces(tmp_path, SECRET, ADDRESS)


def test_a_guess_of_a_redacted_text_cannot_be_tested(registry: Registry, tmp_path: Path) -> None:
    asked = Request(name=f"by {SECRET}", request_key="once")
    other = Request(name="harmless", request_key="twice")
    iri = registry.register("h", "public", ALICE, asked).iri
    kept = registry.register("h", "other", ALICE, other).iri
    registry.fixate([iri, kept], ALICE)
    digests = {
        request.request_key: request.digest(label) for request, label in ((asked, "public"), (other, "other"))
    }
    assert all(traces(tmp_path, digest) for digest in digests.values())
    pseudonym = registry.redact_text(SECRET, "he asked for it", ALICE).pseudonym
    registry.close()
    assert not traces(tmp_path, digests["once"])
    with idstore.open(tmp_path / "store") as again:
        assert is_sound(again)
        assert again.register("h", "other", ALICE, other).iri == kept
        for request in (asked, Request(name=f"by {pseudonym}", request_key="once")):
            with pytest.raises(errors.RequestConflict, match=r"used for .*public with other arguments"):
                again.register("h", "public", ALICE, request)


def test_a_name_is_replaced_in_ownership_access_lists_and_log(registry: Registry, tmp_path: Path) -> None:
    mine = registry.register("h", "b", BOB, Request(comment="hm")).iri
    registry.grant(mine, CAROL, BOB)
    other = registry.register("h", "c", CAROL).iri
    registry.grant(other, BOB, CAROL)
    registry.fixate([registry.register("h", "d", BOB).iri], BOB)
    registry.suspend(BOB, "abuse", ALICE)
    count = len(registry.list(ALICE))
    result = registry.redact_party(BOB.name, "asked", ALICE)
    assert not traces(tmp_path, BOB.name)
    pseudonym = Party(result.pseudonym)
    assert registry.show(mine, CAROL).owner == pseudonym.name
    assert registry.show(other, pseudonym).owner == "carol"
    with pytest.raises(errors.NotRegistered):
        registry.show(mine, BOB)
    assert len(registry.list(ALICE)) == count
    with pytest.raises(errors.NotPermitted, match="suspended"):
        registry.register("h", "e", pseudonym)
    assert is_sound(registry)
    assert registry.register("h", "e", BOB).owner == BOB.name
    assert is_sound(registry)


PARTICULARS = {
    "description": f"kept by {SECRET}",
    "contact": ADDRESS,
    "policy": f"ask {SECRET}",
    "licence": f"https://example.org/{ADDRESS}/licence",
    "publisher": SECRET,
}


@pytest.mark.parametrize("linked", [False, True], ids=["publisher's name", "publisher's address"])
def test_what_a_namespace_says_of_itself_is_redacted(
    registry: Registry, tmp_path: Path, *, linked: bool
) -> None:
    said = {**PARTICULARS, **({"publisher": f"https://example.org/{ADDRESS}"} if linked else {})}
    registry.set_namespace("h", said, ALICE)
    registry.set_namespace("h", {"description": f"{SECRET} again", "policy": ""}, ALICE)
    name, address = (registry.redact_text(text, "asked", ALICE).pseudonym for text in (SECRET, ADDRESS))
    assert not traces(tmp_path, SECRET, ADDRESS)
    assert dict(registry.namespace("h").particulars) == {
        "description": f"{name} again",
        "contact": f"mailto:{address}",
        "licence": f"https://example.org/{address}/licence",
        "publisher": f"https://example.org/{address}" if linked else name,
    }
    assert is_sound(registry)
    registry.set_namespace("h", {"publisher": "somebody else", "licence": ""}, ALICE)
    file = tmp_path / "export.nq"
    with file.open("wb") as target:
        rdf.export(registry, target, ALICE, "nquads")
    assert not traces(tmp_path, SECRET, ADDRESS)
    with idstore.open(tmp_path / "copy", administrator=ALICE) as copy:
        rdf.import_registry(copy, [file], ALICE)
        assert copy.namespace("h") == registry.namespace("h")


def test_a_whole_address_of_a_namespace_is_redacted(registry: Registry, tmp_path: Path) -> None:
    contact = "https://people.example.org/juergen"
    registry.set_namespace("h", {"contact": contact, "publisher": contact, "description": contact}, ALICE)
    registry.redact_text(contact, "asked", ALICE)
    assert not traces(tmp_path, contact)
    assert is_sound(registry)
    kept = "https://hdl.handle.net/10.1000/juergen"
    registry.set_namespace("h", {"contact": kept, "description": "of juergen"}, ALICE)
    registry.redact_text("juergen", "asked", ALICE)
    assert dict(registry.namespace("h").particulars)["contact"] == kept, "an identifier stays"
    assert is_sound(registry)


def test_who_may_redact_and_what(registry: Registry) -> None:
    iri = filled(registry)
    size = registry.store.read(lambda view: view.catalogue.sequence)
    with pytest.raises(errors.NotPermitted, match="only administrators"):
        registry.redact_text(SECRET, "because", BOB)
    with pytest.raises(errors.NotPermitted, match="own name"):
        registry.redact_party("alice", "because", ALICE)
    with pytest.raises(errors.InvalidData, match="reason contains"):
        registry.redact_text(SECRET, f"because of {SECRET}", ALICE)
    for text in ("a", "redacted"):
        with pytest.raises(errors.InvalidData, match="give more of it"):
            registry.redact_text(text, "because", ALICE)
    for absent in ("nowhere to be found", "10.1000", "handle"):  # the last two are settings and names
        with pytest.raises(errors.NotRegistered, match="no text"):
            registry.redact_text(absent, "because", ALICE)
    with pytest.raises(errors.NotRegistered, match="no party"):
        registry.redact_party("nobody", "because", ALICE)
    assert registry.redact_text(SECRET, "because", ALICE, dry_run=True).events
    registry.comment(iri, "this is public", ALICE)
    size += 1
    assert registry.redact_text("public", "because", ALICE, dry_run=True).kept == (iri,)
    assert registry.store.read(lambda view: view.catalogue.sequence) == size
    assert registry.show(iri, ALICE).reason == SECRET


def test_the_log_names_the_redaction_and_an_export_can_be_taken_in(
    registry: Registry, tmp_path: Path
) -> None:
    filled(registry)
    former, later = tmp_path / "former.nq", tmp_path / "later.nq"
    for path in (former, later):
        with path.open("wb") as target:
            rdf.export(registry, target, ALICE, "nquads")
        if path == former:
            result = registry.redact_text(SECRET, "he asked for it", ALICE)
    [entry] = [entry.event for entry in registry.log(Party("anybody")) if entry.event.act == "Redaction"]
    assert (entry.by, entry.token) == ("alice", int(result.pseudonym[-16:], 16))
    with idstore.open(tmp_path / "copy", administrator=ALICE) as copy:
        rdf.import_registry(copy, [later], ALICE)
        assert is_sound(copy)
    # a former export holds the text, and does not bring it back
    assert rdf.import_registry(registry, [former], ALICE).events == 0
    assert not traces(tmp_path / "store", SECRET)
    # a registry with the former events takes in later ones
    with idstore.open(tmp_path / "replica", administrator=ALICE) as replica:
        rdf.import_registry(replica, [former], ALICE)
        rdf.import_registry(replica, [later], ALICE, own_history=True)
        assert is_sound(replica)


KILL = """
import os, signal, sys
import idstore
from idstore.model.party import Party
from idstore.stores import redaction, writer
def die(*_): os.kill(os.getpid(), signal.SIGKILL)
with idstore.open(sys.argv[1]) as registry:
    if sys.argv[2] == "before":
        writer.Writer.switch = die
    else:
        redaction.finish = die
    registry.redact_text({secret!r}, "because", Party("alice"))
"""


@pytest.mark.parametrize("way", ["snapshot", "publish"])
def test_a_snapshot_in_use_goes_when_it_is_released(registry: Registry, tmp_path: Path, way: str) -> None:
    filled(registry)
    store = registry.store
    assert isinstance(store, DirectoryStore)
    used = store.snapshot() if way == "snapshot" else store.publish()
    registry.redact_text(SECRET, "because", ALICE)
    assert {Path(place).parts[:2] for place in traces(tmp_path, SECRET)} == {("store", "snapshots")}
    [mark] = (tmp_path / "store").glob("generation-*/redaction")
    if isinstance(used, Use):
        used.release()
    else:
        used.close()
    wait_until(lambda: not traces(tmp_path, SECRET))
    registry.close()
    with idstore.open(tmp_path / "store"):
        assert not mark.exists()


def test_a_reader_in_another_process_keeps_a_snapshot_until_it_ends(
    registry: Registry, tmp_path: Path
) -> None:
    filled(registry)
    with ReadOnlyStore(tmp_path / "store"):  # the snapshot is that of the publisher, too
        registry.redact_text(SECRET, "because", ALICE)
        assert traces(tmp_path, SECRET)
    wait_until(lambda: not traces(tmp_path, SECRET))


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_leaves_the_store_before_or_after_it(tmp_path: Path, moment: str) -> None:
    with idstore.open(tmp_path / "store", administrator=ALICE) as opened:
        opened.add_namespace("h", "10.1000", "handle", ALICE)
        iri = filled(opened)
    script = KILL.format(secret=SECRET)
    child = subprocess.run([sys.executable, "-c", script, tmp_path / "store", moment], check=False)
    assert child.returncode == -signal.SIGKILL
    with idstore.open(tmp_path / "store") as registry:
        assert (registry.show(iri, ALICE).reason == SECRET) == (moment == "before")
        assert is_sound(registry)
        assert bool(traces(tmp_path / "store", SECRET)) == (moment == "before")


@pytest.mark.usefixtures("rdl")
def test_the_command_lists_first_and_redacts_on_yes(run: Run, store: Path) -> None:
    iri = run("register", "h", "doc", "--comment", SECRET).line
    told = run("redact", SECRET, "--reason", "asked").out
    assert "would be replaced in 1 events; --yes does it" in told and "Registration" in told
    assert traces(store, SECRET)
    assert (
        "replaced in 1 events by redacted-"
        in run("redact", "-", "--reason", "asked", "--yes", stdin=f"{SECRET}\n").out
    )
    assert not traces(store, SECRET)
    run("show", iri)
    assert run("verify").line == "sound"
    assert "no text" in run("redact", SECRET, "--reason", "asked", "--yes", code=4).err
    run("redact", SECRET, "--party", "alice", "--reason", "asked", code=2)


@pytest.mark.usefixtures("rdl")
def test_the_tokens_of_a_redacted_party_are_gone(run: Run, store: Path) -> None:
    run("register", "h", "doc", by="jane-doe")
    kept = run("token", "add").line
    run("token", "add", "--for", "jane-doe")
    run("redact", "--party", "jane-doe", "--reason", "asked")
    assert "jane-doe" in run("token", "list").out
    run("redact", "--party", "jane-doe", "--reason", "asked", "--yes")
    assert "jane-doe" not in run("token", "list").out and kept
    assert len(run("token", "list").lines) == 1
    assert not traces(store, "jane-doe")

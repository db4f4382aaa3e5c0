"""A store agrees with a reference model of sets and dictionaries after any acts."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode
from store_openers import open_directory

from idstore.errors import AlreadyRegistered
from idstore.model.change import Claim
from idstore.progress import unwatched
from idstore.stores.contract import Store, Transaction, View
from idstore.testing.stores.changes import BASE, EVERYTHING, SERIES, comment, key, mint, proceed, quad, thing
from idstore.testing.stores.rehearsal import rehearsed
from idstore.vocabulary import IDS, RDF, RDFS

NAMES = tuple("abcd")


class Refusal(Exception):
    """An error that an act raises on purpose."""


@dataclass
class Model:
    """The expected content of a store.

    quads     names and texts.
    claims    holder and digest by name.
    stages    stages of identifiers by name; None for a released one.
    events    kind of each event, and the name that it is about, in order.
    numbers   numbers of the issued labels.
    """

    quads: set[tuple[str, str]] = field(default_factory=set)
    claims: dict[str, tuple[str, str]] = field(default_factory=dict)
    stages: dict[str, str | None] = field(default_factory=dict)
    events: list[tuple[str, str]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)

    def claim(self, name: str, holder: str, digest: str) -> None:
        if name in self.claims:
            raise AlreadyRegistered(name)
        self.claims[name] = (holder, digest)

    def expected(self) -> dict[str, Any]:
        """Return the value of `observed` for a store that agrees."""
        listed = {name: stage for name, stage in self.stages.items() if stage is not None}
        public = [
            event for event in self.events if event[0] == "Comment" or listed.get(event[1]) == "fixated"
        ]
        return {
            "quads": self.quads,
            "claims": self.claims,
            "stages": listed,
            "tallies": Counter(listed.values()),
            "counts": (len(listed), len(self.events)),
            "events": self.events,
            "published": Counter(public),
            "series": {SERIES: (len(self.numbers), max(self.numbers))} if self.numbers else {},
            "notes": self.notes,
        }


def text(term: object) -> str:
    """Return the text of a term; of an IRI the part after the base."""
    assert isinstance(term, NamedNode | Literal)
    return term.value.removeprefix(BASE).rpartition("#")[2]


def observed(view: View) -> dict[str, Any]:
    """Return the content of a view in the form of the model."""
    catalogue = view.catalogue
    rows, published = catalogue.events(EVERYTHING), catalogue.published(0, 1000)
    assert [row.sequence for row in rows] == list(range(1, catalogue.sequence + 1))
    assert [row.publication for row in published] == list(range(1, catalogue.publication + 1))
    about = {text(item.subject): text(item.object) for item in view.quads(None, IDS.about)}
    kinds = {text(item.subject): text(item.object) for item in view.quads(None, RDF.type)}
    listed = {text(NamedNode(iri)): catalogue.listed(iri) for iri in catalogue.sorted_identifiers()}
    claims = {name: view.claim(key(name)) for name in NAMES}

    def kind_and_subject(event: str) -> tuple[str, str]:
        name = text(NamedNode(event))
        return kinds[name], about[name]

    return {
        "quads": {(text(item.subject), text(item.object)) for item in view.quads(None, RDFS.label)},
        "claims": {
            name: (text(claim.holder), claim.digest) for name, claim in claims.items() if claim is not None
        },
        "stages": {name: listing.stage for name, listing in listed.items() if listing is not None},
        "tallies": Counter({stage: count for _, _, stage, count in catalogue.tallies(None)}),
        "counts": catalogue.counts(),
        "events": [kind_and_subject(row.iri) for row in rows],
        "published": Counter(kind_and_subject(row.iri) for row in published),
        "series": dict(catalogue.series(BASE)),
        "notes": {name: note for name in NAMES if (note := catalogue.note(name)) is not None},
    }


Step: TypeAlias = Callable[[Transaction, Model], None]
"""Makes the same change to a store and to a model, or raises the same error for both."""


def say(name: str, said: str) -> Step:
    """Add a quad, or remove it if it is there."""

    def step(transaction: Transaction, model: Model) -> None:
        there = quad(name, said) in transaction.quads(thing(name))
        assert there == ((name, said) in model.quads)
        model.quads ^= {(name, said)}
        model.events.append(("Comment", "talk"))
        changed = [quad(name, said)]
        comment(transaction, "talk", add=[] if there else changed, remove=changed if there else [])

    return step


def claim(name: str, holder: str, digest: str) -> Step:
    """Claim a name."""

    def step(transaction: Transaction, model: Model) -> None:
        comment(transaction, "talk", claims=[Claim(key(name), thing(holder), digest)])
        model.claim(name, holder, digest)
        model.events.append(("Comment", "talk"))

    return step


def begin(name: str, number: int) -> Step:
    """Begin an identifier, which claims its name."""

    def step(transaction: Transaction, model: Model) -> None:
        mint(transaction, name, number)
        model.claim(name, name, "")
        model.stages[name] = "created"
        model.numbers.append(number)
        model.events.append(("Mint", name))

    return step


def end(name: str, *, fixated: bool) -> Step:
    """Fixate or release an identifier, if its stage allows it."""

    def step(transaction: Transaction, model: Model) -> None:
        listing = transaction.catalogue.listed(thing(name).value)
        assert (None if listing is None else listing.stage) == model.stages.get(name)
        if listing is None or listing.stage != "created":
            raise Refusal
        proceed(transaction, IDS.Fixation if fixated else IDS.Release, name)
        model.stages[name] = "fixated" if fixated else None
        model.events.append(("Fixation" if fixated else "Release", name))

    return step


def note(name: str, said: str) -> Step:
    """Keep a note."""

    def step(transaction: Transaction, model: Model) -> None:
        transaction.note(name, said)
        model.notes[name] = said

    return step


def refuse() -> Step:
    """Raise an error."""

    def step(transaction: Transaction, model: Model) -> None:  # noqa: ARG001 every step has the same form
        raise Refusal

    return step


names, texts = st.sampled_from(NAMES), st.sampled_from(("1", "2", ""))
steps = st.one_of(
    st.builds(say, names, texts),
    st.builds(claim, names, names, texts),
    st.builds(begin, names, st.integers(0, 9)),
    st.builds(lambda name, fixated: end(name, fixated=fixated), names, st.booleans()),
    st.builds(note, names, texts),
    st.builds(refuse),
)
acts = st.lists(steps, max_size=4)
"""Acts of several steps."""


@dataclass(frozen=True)
class Write:
    """A separate act."""

    steps: list[Step]


@dataclass(frozen=True)
class Bulk:
    """Acts of a bulk, and whether its block ends without an error."""

    acts: list[list[Step]]
    ends: bool


@dataclass(frozen=True)
class Reopen:
    """Close the store and open it again."""


operations = st.lists(
    st.one_of(
        st.builds(Write, acts),
        st.builds(Write, acts),
        st.builds(Bulk, st.lists(acts, max_size=3), st.booleans()),
        st.just(Reopen()),
    ),
    min_size=1,
    max_size=12,
)


def write(store: Store, model: Model, chosen: list[Step]) -> Model:
    """Run steps as one act. Returns the model after it, the old one if the act failed."""

    def act(transaction: Transaction) -> Model:
        after = deepcopy(model)
        for step in chosen:
            step(transaction, after)
            assert observed(transaction) == after.expected()
        return after

    with suppress(AlreadyRegistered, Refusal):
        return rehearsed(store, act)
    return model


def prepare(store: Store, model: Model, change: Bulk) -> Model:
    """Run acts in a bulk. Returns the model after it."""
    after = model
    try:
        with store.bulk() as bulk:
            for chosen in change.acts:
                after = write(bulk, after, chosen)
                assert bulk.read(observed) == after.expected()
                assert store.read(observed) == model.expected()
            if not change.ends:
                raise Refusal  # noqa: TRY301 the error must leave the block
    except Refusal:
        return model
    return after


def check(opener: Callable[[Path], Store], folder: Path, chosen: list[Write | Bulk | Reopen]) -> None:
    """Apply the same changes to a store and a model, and compare the two after each one."""
    store, model = opener(folder), Model()
    try:
        for operation in chosen:
            match operation:
                case Write():
                    model = write(store, model, operation.steps)
                case Bulk():
                    model = prepare(store, model, operation)
                case Reopen():
                    store.close()
                    store = opener(folder)
            assert store.read(observed) == model.expected()
        with store.snapshot() as snapshot:
            assert observed(snapshot) == model.expected()
            assert {text(item.key).rpartition("/")[2] for item in snapshot.claims()} == set(model.claims)
            assert list(snapshot.faults(unwatched)) == []
    finally:
        store.close()


@pytest.fixture(scope="module")
def quick_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    memory = Path("/dev/shm")
    return memory if memory.is_dir() else tmp_path_factory.mktemp("stores")


@settings(max_examples=25)
@given(chosen=operations)
def test_store_agrees_with_the_model(quick_folder: Path, chosen: list[Write | Bulk | Reopen]) -> None:
    with TemporaryDirectory(dir=quick_folder) as folder:
        check(open_directory, Path(folder) / "store", chosen)

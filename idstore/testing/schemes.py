"""The conformance kit for schemes: see `idstore.testing`."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar

import pytest
from pyoxigraph import NamedNode

from idstore.errors import InvalidData, InvalidIdentifier, NamespaceExhausted
from idstore.schemes import Context, Rule, Scheme, shapes

_DRAWS = 5


@dataclass(slots=True)
class SimulatedAllocation:
    """An allocation with a simulated clock: see `idstore.schemes.Allocation`.

    metadata  data from which labels are derived.
    clock     milliseconds since 1970; `wait_until` advances it.
    counts    number of labels issued, by series.
    marks     highest number issued, by series.
    waited    milliseconds since the request.
    """

    context: Context
    metadata: Mapping[str, str] = field(default_factory=dict)
    clock: int = 1_800_000_000_000
    counts: Mapping[str, int] = field(default_factory=dict)
    marks: Mapping[str, int] = field(default_factory=dict)
    waited: int = 0

    @property
    def asked(self) -> int:
        """Time of the request."""
        return self.clock - self.waited

    def now(self) -> int:
        """Return the time of the clock."""
        return self.clock

    def wait_until(self, moment: int) -> None:
        """Advance the clock to ``moment``; it never goes back."""
        self.clock = max(self.clock, moment)

    def issued(self, series: str) -> int:
        """Return the count from ``counts``."""
        return self.counts.get(series, 0)

    def highest(self, series: str) -> int:
        """Return the number from ``marks``."""
        return self.marks.get(series, 0)


def obeys(label: str, rules: Sequence[Rule]) -> bool:
    """Whether a label breaks no rule, as a SHACL engine with Python's regular expressions decides it.

    Advisory rules do not count.
    """
    return bool(label) and all(
        all(re.search(pattern, label) for pattern in rule.patterns) is not rule.forbidden
        for rule in rules
        if not rule.advisory
    )


class SchemeTests:
    """Requirements on every scheme.

    scheme    the scheme.
    context   one of its contexts.
    valid     canonical labels of that context, including ones that alone look like another written form.
    invalid   texts that are not identifiers of that context.
    metadata  data from which a label can be minted, if the scheme needs any.
    mints     whether the context mints.
    same      pairs of different texts that are one name in that context, such as two spellings.
    full      the highest number of a full series, by series, if the scheme counts up to a largest number:
              see `SimulatedAllocation.marks`. The mint must count in this series. A series that follows the
              time belongs to the time of the simulated clock. None: the scheme has no largest number.
    """

    scheme: ClassVar[Scheme]
    context: ClassVar[Context]
    valid: ClassVar[Sequence[str]]
    invalid: ClassVar[Sequence[str]]
    metadata: ClassVar[Mapping[str, str]] = {}
    mints: ClassVar[bool] = True
    same: ClassVar[Sequence[tuple[str, str]]] = ()
    full: ClassVar[Mapping[str, int] | None] = None

    def _each(self, check: Callable[[str], None]) -> None:
        assert self.valid, "give some valid labels"
        for label in self.valid:
            check(label)

    def test_fulfils_the_protocol(self) -> None:
        """It has every member, a name that is easy to type, and the IRI of a class."""
        assert isinstance(self.scheme, Scheme)
        assert re.fullmatch("[a-z][a-z0-9-]*", self.scheme.name)
        assert self.scheme.title
        NamedNode(self.scheme.identifier_class)

    def test_contexts_are_stored_as_they_are(self) -> None:
        """A context's base and settings give the same context again, with every setting."""
        again = self.scheme.context(self.context.base, self.context.settings)
        assert (again.base, dict(again.settings)) == (self.context.base, dict(self.context.settings))
        assert set(again.settings) == set(self.scheme.defaults)
        NamedNode(again.base)

    def test_unknown_settings_are_refused_by_name(self) -> None:
        """The error names the unknown setting and the known ones."""
        with pytest.raises(InvalidData) as caught:
            self.scheme.context(self.context.base, {"no_such_setting": "1"})
        assert all(name in caught.value.message for name in ("no_such_setting", *self.scheme.defaults))

    def test_parsing_what_was_parsed_changes_nothing(self) -> None:
        """The canonical form is parsed as itself; equal names have equal hashes."""
        name = self.scheme.parse(self.scheme.example)
        again = self.scheme.parse(str(name))
        assert again == name
        assert str(again) == str(name)
        assert hash(again) == hash(name)

    def test_labels_obey_the_rules(self) -> None:
        """Labels that the scheme's code accepts conform to the scheme's shape."""
        rules = self.scheme.rules(self.context.settings)

        def check(label: str) -> None:
            assert obeys(label, rules), label

        self._each(check)

    def test_iris_belong_to_the_base(self) -> None:
        """An identifier's IRI is absolute, begins with the base, and is parsed as its label."""

        def check(label: str) -> None:
            iri = self.scheme.iri(label, self.context)
            NamedNode(iri)
            assert iri.startswith(self.context.base)
            assert iri != self.context.base
            assert self.scheme.label(iri, self.context) == label

        self._each(check)

    def test_written_forms_are_read_back(self) -> None:
        """Each written form is parsed as the label, and the full IRI is one of them."""

        def check(label: str) -> None:
            forms = self.scheme.written_forms(label, self.context)
            assert self.scheme.iri(label, self.context) in [form.text for form in forms]
            assert [self.scheme.label(form.text, self.context) for form in forms] == [label] * len(forms)
            assert len({form.text for form in forms}) == len(forms)

        self._each(check)

    def test_keys_stay(self) -> None:
        """The key of a key is the key itself. A label belongs to a series with a number of 0 or more."""

        def check(label: str) -> None:
            key = self.scheme.key(label, self.context)
            assert self.scheme.key(key, self.context) == key
            NamedNode(self.scheme.iri(key, self.context))
            assert self.scheme.series(label, self.context)[1] >= 0

        self._each(check)

    def test_spellings_of_one_name_share_a_claim(self) -> None:
        """Both texts of a pair in ``same`` are valid and have the same key.

        The registry claims the IRI of the key, so that it issues only one of them.
        """
        for pair in self.same:
            assert pair[0] != pair[1], "give different texts"
            labels = [self.scheme.label(text, self.context) for text in pair]
            keys = [self.scheme.key(label, self.context) for label in labels]
            assert keys[0] == keys[1], pair
            claims = [self.scheme.iri(key, self.context) for key in keys]
            assert claims[0] == claims[1], pair

    def test_invalid_texts_are_refused_with_the_position(self) -> None:
        """The error carries the text, a reason, the scheme's name and a position from 0 to the text's end."""
        assert self.invalid, "give some invalid texts"
        for text in self.invalid:
            with pytest.raises(InvalidIdentifier) as caught:
                self.scheme.label(text, self.context)
            assert (caught.value.text, caught.value.scheme) == (text, self.scheme.name)
            assert caught.value.reason
            assert 0 <= caught.value.position <= len(text)

    def test_minted_labels_conform(self) -> None:
        """Minted labels can be parsed, obey the rules, and are not offered twice in a row."""
        if not self.mints:
            return
        rules = self.scheme.rules(self.context.settings)
        drawn = list(islice(self.scheme.candidates(SimulatedAllocation(self.context, self.metadata)), _DRAWS))
        assert len(set(drawn)) == _DRAWS
        for label in drawn:
            assert self.scheme.label(self.scheme.iri(label, self.context), self.context) == label
            assert obeys(label, rules), label

    def test_a_full_series_is_exhausted(self) -> None:
        """A mint offers the last label of a series, and raises NamespaceExhausted once that is issued."""
        if self.full is None:
            return
        last = {series: mark - 1 for series, mark in self.full.items()}
        drawn = self.scheme.candidates(SimulatedAllocation(self.context, self.metadata, marks=last))
        label = next(iter(drawn))
        assert self.scheme.label(label, self.context) == label
        with pytest.raises(NamespaceExhausted):
            next(iter(drawn))
        with pytest.raises(NamespaceExhausted):
            next(
                iter(
                    self.scheme.candidates(SimulatedAllocation(self.context, self.metadata, marks=self.full))
                )
            )

    def test_shapes_are_named(self) -> None:
        """Each shape of the scheme and of the namespace has a name, a message and a severity."""
        own = shapes.namespace_shape(self.scheme, self.context)
        predicates_by_shape: dict[str, set[str]] = {}
        for triple in (*shapes.scheme_shape(self.scheme), *own):
            if not isinstance(triple.subject, NamedNode):
                continue  # lists and paths have no names
            assert triple.subject.value.startswith(shapes.SHAPES)
            predicates_by_shape.setdefault(triple.subject.value, set()).add(
                triple.predicate.value.rpartition("#")[2]
            )
        assert all(
            {"type", "name", "message", "severity"} <= predicates
            for predicates in predicates_by_shape.values()
        )

"""Frozen values behave as those that the standard library makes of the same class."""

import copy
import dataclasses
import pickle
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, astuple, fields, is_dataclass, replace
from functools import total_ordering
from itertools import product
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idstore import frozen

SOURCE = '''
@dataclass(frozen=True, slots=True, order=True)
class Point:
    """Two numbers, and what does not count."""

    x: int
    y: int = 0
    seen: list = field(default_factory=list, compare=False, repr=False)

    @property
    def sum(self):
        return self.x + self.y


@dataclass(frozen=True, slots=True)
class Word:
    """One field, and a check."""

    text: str

    def __post_init__(self):
        if not self.text:
            raise ValueError("empty")


@dataclass(frozen=True, slots=True)
class Folded:
    """With methods of its own."""

    text: str
    note: str = ""

    def __eq__(self, other):
        return isinstance(other, Folded) and self.text.lower() == other.text.lower()

    def __hash__(self):
        return hash(self.text.lower())

    def __repr__(self):
        return self.text


@dataclass(frozen=True, slots=True, eq=False)
class Thing:
    """Equal to itself alone."""

    name: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """No fields."""
'''
NUMBERS = st.integers(-2, 2)


def module(name: str, of: Any) -> ModuleType:
    made = ModuleType(name)
    made.__dict__.update(dataclass=of.dataclass, field=of.field, replace=of.replace, total_ordering=total_ordering)
    exec(SOURCE, made.__dict__)
    return made


OURS, THEIRS = module("frozen_ours", frozen), module("frozen_theirs", dataclasses)
BOTH = (OURS, THEIRS)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pickles name the modules of their classes."""
    for made in BOTH:
        monkeypatch.setitem(sys.modules, made.__name__, made)


def outcome(act: Callable[[Any], object], made: Any) -> object:
    """What comes of an act, or the error, in words that name no module."""
    try:
        return act(made)
    except Exception as error:  # noqa: BLE001 both must fail alike
        return type(error), str(error)


ACTS: list[Callable[[Any], object]] = [
    lambda m: repr([m.Point(1), m.Point(1, y=2), m.Word("a"), m.Folded("A"), m.Nothing()]),
    lambda m: (m.Point(1) == m.Point(1, 0, [3]), m.Point(1) == m.Point(2), m.Point(1) != m.Word("a"), m.Point(1) == 1),
    lambda m: (hash(m.Point(1, 2)), hash(m.Word("a")), hash(m.Folded("A")), hash(m.Nothing())),
    lambda m: (m.Folded("A", "x") == m.Folded("a"), m.Thing("a") == m.Thing("a"), m.Nothing() == m.Nothing()),
    lambda m: len({m.Thing("a"), m.Thing("a")}),
    lambda m: m.Point(1) < 3,
    lambda m: m.Word("a") < m.Word("b"),
    lambda m: m.Point(),
    lambda m: m.Point(1, 2, [], 4),
    lambda m: m.Word(""),
    lambda m: setattr(m.Point(1), "x", 2),
    lambda m: delattr(m.Point(1), "x"),
    lambda m: m.Point(1).__dict__,
    lambda m: (m.Point.__match_args__, m.Point.__slots__, m.Point.__name__, m.Point.__qualname__, m.Point.__doc__),
    lambda m: [(one.name, one.compare, one.repr) for one in fields(m.Point)],
    lambda m: (astuple(m.Point(1, 2)), repr(replace(m.Point(1), y=5)), replace(m.Folded("a"), note="n").note),
    lambda m: replace(m.Word("a"), text=""),
    lambda m: (repr(m.replace(m.Point(1, 2, [3]), y=5)), m.replace(m.Point(1, 2, [3]), y=5).seen, m.replace(m.Nothing()) == m.Nothing()),
    lambda m: m.replace(m.Word("a"), text=""),
    lambda m: [(is_dataclass(kind), is_dataclass(kind("a"))) for kind in (m.Word, m.Thing)],
    lambda m: [(one.name, one.type, one.default, one.default_factory) for one in fields(m.Folded("a")) if one.default_factory is not list],
    lambda m: [repr(copy.copy(m.Point(1, 2))), repr(copy.deepcopy(m.Point(1, 2))), copy.copy(m.Point(1, 2, [7])).seen],
    lambda m: pickle.loads(pickle.dumps(m.Point(1, 2, [3]))).seen,
    lambda m: pickle.loads(pickle.dumps(m.Word("a"))) == m.Word("a"),
    lambda m: m.Point(1).seen is m.Point(1).seen,
]


@pytest.mark.parametrize("act", ACTS)
def test_the_same_comes_of_it(act: Callable[[Any], object]) -> None:
    ours, theirs = (outcome(act, made) for made in BOTH)
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert isinstance(ours, tuple)
        assert ours[0] is theirs[0], ours
    else:
        assert ours == theirs


@given(NUMBERS, NUMBERS, NUMBERS, NUMBERS)
def test_they_compare_alike(a: int, b: int, c: int, d: int) -> None:
    compared = [
        [one < other, one <= other, one > other, one >= other, one == other, hash(one) == hash(other)]
        for made in BOTH
        for one, other in product([made.Point(a, b), made.Point(c)], [made.Point(c, d), made.Point(a)])
    ]
    assert compared[:4] == compared[4:]


def test_what_the_standard_library_asks_for_is_made_once() -> None:
    made = module("frozen_once", frozen).Point
    assert getattr(made, "__dataclass_fields__") is getattr(made, "__dataclass_fields__")  # noqa: B009 no type checker knows it
    assert getattr(made, "__dataclass_params__") is getattr(made, "__dataclass_params__")  # noqa: B009


def test_no_field_is_assigned_or_deleted() -> None:
    point = OURS.Point(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    assert point.x == 1


@pytest.mark.parametrize("made", BOTH)
def test_others_can_derive_from_it(made: Any) -> None:
    derived = dataclasses.make_dataclass("Derived", [("z", int, 3)], bases=(made.Point,), frozen=True, slots=True)
    one = derived(1, 2, [], 4)
    assert (one.x, one.y, one.z, one.sum) == (1, 2, 4, 3)
    assert one == derived(1, 2, [5], 4) != made.Point(1, 2)
    with pytest.raises(FrozenInstanceError):
        one.z = 5

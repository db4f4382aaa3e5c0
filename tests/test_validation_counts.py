"""Counts that avoid joins: they may leave an unfounded doubt, but never remove a founded one."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad

from idstore.validation.counts import Count, Doubt, Lack, Repetition, refuted
from idstore.validation.source import StoreSource, in_memory

P, Q, R = (NamedNode(f"urn:{name}") for name in "pqr")
GRAPHS = NamedNode("urn:one"), NamedNode("urn:two")
NODES = [NamedNode(f"urn:{number}") for number in range(4)]
LACKS = [Lack("?this", f"?this {one} ?x", f"?this {other} ?y") for one in (P, Q, R) for other in (P, Q, R)]
REPETITIONS = [Repetition("?this", f"?this {one} ?x") for one in (P, Q, R)]


class Asked(list[str]):
    """A callable that queries a source and records the queries."""

    def __init__(self, source: StoreSource) -> None:
        super().__init__()
        self._source = source

    def __call__(self, queries: Sequence[str]) -> dict[str, Count]:
        self += queries
        return {query: self._count(query) for query in queries}

    def _count(self, query: str) -> Count:
        ((rows, nodes),) = self._source.rows(query)
        assert isinstance(rows, Literal) and isinstance(nodes, Literal)
        return int(rows.value), int(nodes.value)


quads = st.builds(
    Quad, st.sampled_from(NODES), st.sampled_from((P, Q, R)), st.sampled_from(NODES), st.sampled_from(GRAPHS)
)


def founded(doubt: Doubt, data: set[Quad]) -> bool:
    """Return whether nodes of the doubt exist, by a scan of the quads."""
    if isinstance(doubt, Repetition):
        subjects = [quad.subject for quad in data if str(quad.predicate) in doubt.pattern]
        return len(subjects) > len(set(subjects))
    having, wanted = (
        {quad.subject for quad in data if str(quad.predicate) in text}
        for text in (doubt.having, doubt.wanted)
    )
    return not having <= wanted


@given(st.sets(quads), st.lists(st.sampled_from([*LACKS, *REPETITIONS]), unique=True))
def test_a_doubt_is_settled_if_and_only_if_it_is_unfounded(data: set[Quad], doubts: list[Doubt]) -> None:
    assert refuted(doubts, Asked(in_memory(data))) == {doubt for doubt in doubts if not founded(doubt, data)}


def test_a_missing_value_does_not_offset_a_repeated_one() -> None:
    none, twice = NODES[:2]
    data = [Quad(none, P, none), Quad(twice, P, none), Quad(twice, Q, none), Quad(twice, Q, twice)]
    assert (
        refuted(
            [Lack("?this", f"?this {P} ?x", f"?this {Q} ?y"), Repetition("?this", f"?this {Q} ?y")],
            Asked(in_memory(data)),
        )
        == set()
    )


def test_each_pattern_is_counted_once() -> None:
    asked = Asked(in_memory([Quad(node, predicate, node) for node in NODES for predicate in (P, Q, R)]))
    doubts = [Lack("?this", f"?this {one} ?x", f"?this {R} ?y") for one in (P, Q)] + [
        Repetition("?this", f"?this {R} ?y")
    ]
    assert refuted(doubts, asked) == set(doubts)
    assert len(asked) == 2  # those that have R, and these with all that should be among them

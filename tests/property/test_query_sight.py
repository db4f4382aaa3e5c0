"""No query reveals to a party more than the graphs that the party may see.

There are two oracles. Every text in a random history is a unique word, and a plain model says who may read
it. Each query must give the same answer as on a store that holds a copy of the visible graphs alone.
"""

import pyoxigraph
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode
from query_histories import (
    ESCAPES,
    MARK,
    OWNERS,
    READERS,
    Act,
    History,
    answer_lines,
    collecting_here,
    histories,
    reduced,
    registry_of,
)

from idstore import Party
from idstore.vocabulary import closed_graph


@collecting_here()
def escape(built: History, party: str, places: dict[str, str]) -> None:
    """Run every query as a party, and check that it reads only what it may read."""
    seen, looked = built.read_by(party), []

    def look(whole: pyoxigraph.Store, graphs: list[str]) -> None:
        alone = reduced(whole, graphs)
        for attempt in ESCAPES:
            text = attempt
            for name, value in places.items():
                text = text.replace(f"${name}", value)
            lines = answer_lines(whole, text, graphs)
            assert lines == answer_lines(alone, text, graphs), f"{party}: {text}"
            assert not [word for word in built.words() - seen if word in "\n".join(lines)], f"{party}: {text}"
        everything = "\n".join(answer_lines(whole, ESCAPES[0], graphs))
        assert {word for word in built.words() if word in everything} == seen
        assert MARK not in graphs
        assert len(list(whole.quads_for_pattern(None, None, None, NamedNode(MARK)))) > 0, (
            "there is something to hide"
        )
        looked.append(party)

    built.runner.look = look
    built.registry.query("ASK {}", Party(party)).close()
    assert looked == [party]


@pytest.mark.parametrize("examples", [2, pytest.param(8, marks=pytest.mark.slow)])
def test_no_query_reads_beyond_the_visible_graphs(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(histories, st.integers(0, 9), st.data())
    def attempt(history: tuple[list[str], list[Act]], number: int, data: st.DataObject) -> None:
        with registry_of(*history) as built:
            places = {
                "graph": data.draw(st.sampled_from(sorted(built.graphs))),
                "closed": closed_graph(data.draw(st.sampled_from(OWNERS))).value,
                "mark": MARK,
                "thing": built.things[number % len(built.things)].iri,
            }
            for party in READERS:
                escape(built, party, places)

    attempt()

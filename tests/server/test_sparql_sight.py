"""No query over HTTP reveals more than the graphs of its caller: see `property/test_query_sight.py`."""

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph
import pytest
from asking import SPARQL, form
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
    registry_in,
)
from serving import Server

from idstore import Party
from idstore.model.party import NOBODY
from idstore.queries.limits import SelectedGraphs
from idstore.vocabulary import closed_graph

pytest.importorskip("fastapi", reason="the extra server is not installed")

FEW, CALLERS = ("alice", "bob", ""), (*READERS, "")
"""The last one is anonymous."""


@dataclass(frozen=True)
class Attempt:
    """A query of a caller, and the only answer that tells nothing more than it may know.

    graphs  the graphs that the request selects.
    """

    caller: str
    text: str
    graphs: SelectedGraphs | None
    answer: list[str]

    def ask(self, server: Server, token: str | None) -> list[str]:
        """Return the lines of the server's answer."""
        pairs = [("query", self.text)]
        if self.graphs is not None:
            pairs += [("default-graph-uri", graph) for graph in self.graphs.default]
            pairs += [("named-graph-uri", graph) for graph in self.graphs.named]
        triples = self.text.startswith(("CONSTRUCT", "DESCRIBE"))
        accept = "application/n-triples" if triples else "text/tab-separated-values"
        reply = server.ask(
            "GET", f"{SPARQL}?{form(*pairs).decode()}", token=token, headers={"Accept": accept}
        )
        assert reply.status == 200, reply.body
        return sorted(reply.body.decode().splitlines())


def party(caller: str) -> Party:
    return Party(caller) if caller else NOBODY


@collecting_here()
def attempts(built: History, caller: str, places: dict[str, str]) -> list[Attempt]:
    """Return every attempt of a caller, with the answer of a store that holds the visible graphs alone."""
    found: list[Attempt] = []
    selected = SelectedGraphs((places["graph"],), (places["closed"], places["mark"], places["graph"]))

    def placed(text: str) -> str:
        return re.sub(r"\$(\w+)", lambda name: places[name[1]], text)

    def look(whole: pyoxigraph.Store, graphs: list[str]) -> None:
        alone = reduced(whole, graphs)
        within = selected.within([*map(NamedNode, graphs)])
        for text in map(placed, ESCAPES):
            found.append(Attempt(caller, text, None, answer_lines(alone, text, graphs)))
            found.append(Attempt(caller, text, selected, answer_lines(alone, text, graphs, within)))

    built.runner.look = look
    built.registry.query("ASK {}", party(caller)).close()
    return found


@pytest.mark.parametrize(
    ("examples", "callers"), [(1, FEW), pytest.param(6, CALLERS, marks=pytest.mark.slow)], ids=["few", "all"]
)
def test_no_query_over_http_reads_beyond_the_visible_graphs(examples: int, callers: Sequence[str]) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(histories, st.integers(0, 9), st.data())
    def attempt(history: tuple[list[str], list[Act]], number: int, data: st.DataObject) -> None:
        with tempfile.TemporaryDirectory(prefix="idstore-") as folder:
            store = Path(folder) / "store"
            with registry_in(store, *history) as built:
                places = {
                    "graph": data.draw(st.sampled_from(sorted(built.graphs))),
                    "closed": closed_graph(data.draw(st.sampled_from(OWNERS))).value,
                    "mark": MARK,
                    "thing": built.things[number % len(built.things)].iri,
                }
                planned = [one for caller in callers for one in attempts(built, caller, places)]
                hidden = {caller: built.words() - built.read_by(caller) for caller in callers}
            with Server(store, reads_log=False) as server:
                tokens = {caller: server.token(party(caller)) if caller else None for caller in callers}
                for one in planned:
                    lines = one.ask(server, tokens[one.caller])
                    assert lines == one.answer, f"{one.caller}: {one.text}"
                    assert not [word for word in hidden[one.caller] if word in "\n".join(lines)]

    attempt()

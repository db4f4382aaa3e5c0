"""SPARQL queries by parties who are trusted with no more than what they may see."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode

from idstore.errors import InvalidData, QueryRefused
from idstore.model.party import Party
from idstore.queries import formats
from idstore.queries.limits import LEAST_MEMORY, LONGEST, MEMORY, ROWS, SECONDS
from idstore.registry.core import Core
from idstore.stores.blocks import block
from idstore.vocabulary import PREFIXES

if TYPE_CHECKING:
    from idstore.queries.process import Answer


class Querying(Core):
    """SPARQL."""

    def query(
        self, text: str, party: Party, format: str | None = None, *, timeout: float = SECONDS, rows: int | None = ROWS, memory: int = MEMORY
    ) -> "Answer":
        """Answer a query from what the party sees: its default graph, and its named graphs, are all the graphs that the party sees.

        text     SPARQL 1.1, to read. The prefixes of `idstore.vocabulary.PREFIXES` need no declaration.
        format   one of `idstore.queries.formats.FORMATS`; None: a table, or Turtle for triples.
        timeout  seconds until the query is ended.
        rows     how many rows or triples to give at most; None for all. The answer says when there are more.
        memory   bytes that it may use, `LEAST_MEMORY` at least.

        It runs in a process of its own, on the state of this moment, and keeps nobody waiting meanwhile. The answer is to be closed.
        Raises QueryRefused (malformed, an update, SERVICE, a format that cannot hold the answer), LimitReached, StoreUnavailable.
        Cost: 40 ms, some 20 µs for each graph that the party sees, a snapshot for each new state, and what the query costs.
        """
        with self.query_prepared(text, party, format, timeout=timeout, rows=rows, memory=memory) as run:
            return run()

    @block
    def query_prepared(
        self, text: str, party: Party, format: str | None = None, *, timeout: float = SECONDS, rows: int | None = ROWS, memory: int = MEMORY
    ) -> Iterator[Callable[[], "Answer"]]:
        """What runs a query on the state of this moment, also after this registry was closed: see `query`."""
        from idstore.queries.process import Job, run

        _check(text, format, timeout, memory)
        with self.seen(party) as (engine, graphs):
            yield partial(run, Job(str(engine), text, [graph.value for graph in graphs], PREFIXES, format, rows, timeout, memory))

    @block
    def seen(self, party: Party) -> Iterator[tuple[Path, list[NamedNode]]]:
        """An engine with the state of this moment, which nothing changes while the block runs, and the graphs in it that the party sees."""
        with ExitStack() as held:
            with self.store.reading() as view:
                graphs = self._graphs(view, self.sight(view, party))
                engine = held.enter_context(self.store.snapshot())
            yield engine, graphs


def _check(text: str, format: str | None, timeout: float, memory: int) -> None:
    formats.check(format)
    if memory < LEAST_MEMORY:
        raise InvalidData(f"a query needs {LEAST_MEMORY >> 20} MB at least, whatever it asks; {memory} bytes are not enough", memory=memory)
    if not 0 < timeout < LONGEST:
        raise InvalidData(f"{timeout:g} is no time limit; give seconds, more than 0 and less than {LONGEST:g}", timeout=timeout)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise QueryRefused(f"the query is no text: a lone surrogate at position {error.start}", position=error.start) from error

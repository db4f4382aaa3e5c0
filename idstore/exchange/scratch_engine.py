"""Scratch triplestores: grouping the triples of several files by subject, and canonical forms of terms."""

from collections.abc import Generator, Iterable
from functools import lru_cache
from pathlib import Path

from pyoxigraph import Quad, RdfFormat, Store, Triple

from idstore import forks
from idstore.errors import engine_error


class ScratchEngine:
    """A triplestore in ``folder`` that collects the triples of several files, grouped by subject.

    It stays in memory where a forked process has no engine threads. Raises OSError, RuntimeError.
    """

    def __init__(self, folder: Path) -> None:
        if forks.lacks_engine_threads():
            self._store = Store()
        else:
            forks.engine_opened()
            self._store = Store(str(folder))
            forks.register(self)

    def load(self, triples: Iterable[Triple]) -> None:
        """Add triples. Raises OSError, and any error of the iterator."""
        self._store.bulk_extend(Quad(triple.subject, triple.predicate, triple.object) for triple in triples)

    def change(self, triple: Triple, *, appears: bool) -> None:
        """Add a triple, or remove it. Raises OSError."""
        quad = Quad(triple.subject, triple.predicate, triple.object)
        (self._store.add if appears else self._store.remove)(quad)

    def triples(self) -> Generator[Triple, None, None]:
        """Yield every triple once, grouped by subject.

        Close the generator in its reading thread. Raises StoreUnavailable.
        """
        try:
            for quad in self._store.quads_for_pattern(None, None, None, None):
                yield quad.triple
        except (OSError, RuntimeError) as error:
            raise engine_error(error) from error


@lru_cache(maxsize=4096)
def canonical(triple: str) -> str:
    """Return a triple as N-Triples, with its values in the form that the engine stores.

    Raises SyntaxError.
    """
    store = Store()
    store.load(input=f"{triple} .", format=RdfFormat.N_TRIPLES)
    (quad,) = store
    return f"{quad.triple} ."

"""Turtle and TriG that can be compared line by line: what changes in a registry changes the lines that say so, and no others.

Of an identifier, a namespace or a party each triple has a line of its own. A binding's statement, and an event, never change: each is
one line.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from typing import Final

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from idstore.vocabulary import EVENTS, PREFIXES, RDF, XSD

_LOCAL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""Names behind a prefix that need no escapes in any version of Turtle."""
_BARE: Final = {
    XSD.boolean: re.compile("true|false"),
    XSD.integer: re.compile(r"[+-]?[0-9]+"),
    XSD.decimal: re.compile(r"[+-]?[0-9]*\.[0-9]+"),
}
"""Literals that stand without quotes."""
_SPACES: Final = tuple(PREFIXES.values())
_NEXT: Final = " ;\n\t"


def lines(quads: Iterable[Quad], *, graphs: bool) -> Iterator[str]:
    """A document of these quads, which come with subjects together; with ``graphs`` it is TriG, else Turtle. Memory: one subject's."""
    for prefix, space in PREFIXES.items():
        yield f"@prefix {prefix}: <{space}> .\n"
    if not graphs:
        yield from _subjects(quads)
        return
    for graph, inside in groupby(quads, lambda quad: quad.graph_name):
        yield f"{_node(graph)} {{\n"
        yield from _subjects(inside)
        yield "}\n"


def _subjects(quads: Iterable[Quad]) -> Iterator[str]:
    for subject, own in groupby(quads, lambda quad: quad.subject):
        said = [f"{_verb(quad.predicate)} {_object(quad.object)}" for quad in own]
        name = _node(subject)
        if name.startswith(f"<{EVENTS}"):
            yield f"{name} {' ; '.join(said)} .\n"
        else:
            space = " " if said[0].startswith("a ") else "\n\t"  # a class stays; anything else gets a line of its own
            yield f"{name}{space}{_NEXT.join(said)} ;\n\t.\n"


def _object(term: NamedNode | Literal | BlankNode | Triple) -> str:
    return _literal(term) if isinstance(term, Literal) else _node(term)


def _literal(literal: Literal) -> str:
    text, kind = str(literal), literal.datatype
    if kind == XSD.string or literal.language is not None:
        return text
    bare = _BARE.get(kind)
    if bare is not None and bare.fullmatch(literal.value):
        return literal.value
    return f"{text.rpartition('^^')[0]}^^{_node(kind)}"


@lru_cache(maxsize=1024)
def _verb(predicate: NamedNode) -> str:
    return "a" if predicate == RDF.type else _node(predicate)


def _node(term: object) -> str:
    if isinstance(term, NamedNode) and term.value.startswith(_SPACES):
        return _short(term)
    return str(term)


@lru_cache(maxsize=1024)
def _short(term: NamedNode) -> str:
    """With a prefix, where what is behind it can be written so."""
    for prefix, space in PREFIXES.items():
        if term.value.startswith(space) and _LOCAL.fullmatch(term.value, len(space)):
            return f"{prefix}:{term.value[len(space) :]}"
    return str(term)

"""Turtle and TriG for line-by-line comparison: a change in a registry changes only the lines that state it.

Each triple of an identifier, a namespace or a party has its own line. Bindings and events never change: each
takes one line.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from idstore.vocabulary import EVENTS, PREFIXES, RDF, XSD

_LOCAL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""Local names that need no escapes in any version of Turtle."""
_BARE: Final = {
    str(XSD.boolean): re.compile(r'"(true|false)"'),
    str(XSD.integer): re.compile(r'"([+-]?[0-9]+)"'),
    str(XSD.decimal): re.compile(r'"([+-]?[0-9]*\.[0-9]+)"'),
}
"""Literals without quotes."""
_SPACES: Final = tuple(f"<{space}" for space in PREFIXES.values())
_HEAD: Final = 20
_HEADS: Final = frozenset(space[:_HEAD] for space in _SPACES)
"""First characters of IRIs that may have a prefix: a cheap test first, since few have one."""
_ONE_LINE: Final = f"<{EVENTS}"
_NEXT: Final = " ;\n\t"


def lines(quads: Iterable[str], *, graphs: bool) -> Iterator[str]:
    """Yield a document of these quads: TriG with ``graphs``, else Turtle.

    quads  N-Quads without the dot, as pyoxigraph spells them: all in named graphs, grouped by graph and
           subject.

    Memory: one subject.
    """
    for prefix, space in PREFIXES.items():
        yield f"@prefix {prefix}: <{space}> .\n"
    graph = subject = ""
    facts: list[str] = []
    for quad in quads:
        next_subject, predicate, rest = quad.split(" ", 2)
        value, _, next_graph = rest.rpartition(" ")
        if next_subject != subject or (graphs and next_graph != graph):
            yield _block(subject, facts)
            if graphs and next_graph != graph:
                yield f"{'}' if graph else ''}\n{_node(next_graph)} {{\n".lstrip()
            graph, subject, facts = next_graph, next_subject, []
        verb = _verb(predicate)
        if value[:_HEAD] in _HEADS:
            value = _node(value)
        elif value[0] == '"' and value[-1] == ">":
            value = _typed(value)
        facts.append(f"{verb} {value}")
    yield _block(subject, facts)
    yield "}\n" if graph and graphs else ""


def _block(subject: str, facts: list[str]) -> str:
    """Return the triples of one subject as text; empty without triples."""
    if not facts:
        return ""
    if subject.startswith(_ONE_LINE):
        return f"{subject} {' ; '.join(facts)} .\n"
    space = (
        " " if facts[0].startswith("a ") else "\n\t"
    )  # a class follows the subject, other triples have their own lines
    return f"{_node(subject)}{space}{_NEXT.join(facts)} ;\n\t.\n"


def _typed(text: str) -> str:
    """Return a literal with its datatype, in its short form if it has one."""
    value, _, datatype = text.rpartition("^^")
    bare = _BARE.get(datatype)
    match = bare and bare.fullmatch(value)
    return match[1] if match else f"{value}^^{_node(datatype)}"


@lru_cache(maxsize=1024)
def _verb(predicate: str) -> str:
    return "a" if predicate == str(RDF.type) else _node(predicate)


def _node(iri: str) -> str:
    return _short(iri) if iri.startswith(_SPACES) else iri


@lru_cache(maxsize=1024)
def _short(iri: str) -> str:
    """Return an IRI with a prefix, if its local name needs no escapes; else the IRI as it is."""
    for prefix, space in PREFIXES.items():
        rest = iri[1:-1].removeprefix(space)
        if len(rest) < len(iri) - 2 and _LOCAL.fullmatch(rest):
            return f"{prefix}:{rest}"
    return iri

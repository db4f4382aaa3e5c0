"""Turtle and TriG that can be compared line by line: what changes in a registry changes the lines that say so, and no others.

Of an identifier, a namespace or a party each triple has a line of its own. A binding's statement, and an event, never change: each is
one line.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from idstore.vocabulary import EVENTS, PREFIXES, RDF, XSD

_LOCAL: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
"""Names behind a prefix that need no escapes in any version of Turtle."""
_BARE: Final = {
    str(XSD.boolean): re.compile(r'"(true|false)"'),
    str(XSD.integer): re.compile(r'"([+-]?[0-9]+)"'),
    str(XSD.decimal): re.compile(r'"([+-]?[0-9]*\.[0-9]+)"'),
}
"""Literals that stand without quotes."""
_SPACES: Final = tuple(f"<{space}" for space in PREFIXES.values())
_HEAD: Final = 20
_HEADS: Final = frozenset(space[:_HEAD] for space in _SPACES)
"""How the IRIs begin that may have a prefix: looked at first, since few have."""
_ONE_LINE: Final = f"<{EVENTS}"
_NEXT: Final = " ;\n\t"


def lines(quads: Iterable[str], *, graphs: bool) -> Iterator[str]:
    """A document of these quads, all in named graphs and subjects together; with ``graphs`` it is TriG, else Turtle.

    quads  as pyoxigraph spells them: N-Quads without the dot.

    Memory: one subject's.
    """
    for prefix, space in PREFIXES.items():
        yield f"@prefix {prefix}: <{space}> .\n"
    graph = subject = ""
    facts: list[str] = []
    for quad in quads:
        this, predicate, rest = quad.split(" ", 2)
        value, _, home = rest.rpartition(" ")
        if this != subject or (graphs and home != graph):
            yield _block(subject, facts)
            if graphs and home != graph:
                yield f"{'}' if graph else ''}\n{_node(home)} {{\n".lstrip()
            graph, subject, facts = home, this, []
        verb = _verb(predicate)
        if value[:_HEAD] in _HEADS:
            value = _node(value)
        elif value[0] == '"' and value[-1] == ">":
            value = _typed(value)
        facts.append(f"{verb} {value}")
    yield _block(subject, facts)
    yield "}\n" if graph and graphs else ""


def _block(subject: str, facts: list[str]) -> str:
    """What is said of one subject; nothing where nothing is."""
    if not facts:
        return ""
    if subject.startswith(_ONE_LINE):
        return f"{subject} {' ; '.join(facts)} .\n"
    space = " " if facts[0].startswith("a ") else "\n\t"  # a class stays; anything else gets a line of its own
    return f"{_node(subject)}{space}{_NEXT.join(facts)} ;\n\t.\n"


def _typed(text: str) -> str:
    """A literal with a datatype."""
    value, _, kind = text.rpartition("^^")
    bare = _BARE.get(kind)
    found = bare and bare.fullmatch(value)
    return found[1] if found else f"{value}^^{_node(kind)}"


@lru_cache(maxsize=1024)
def _verb(predicate: str) -> str:
    return "a" if predicate == str(RDF.type) else _node(predicate)


def _node(iri: str) -> str:
    return _short(iri) if iri.startswith(_SPACES) else iri


@lru_cache(maxsize=1024)
def _short(iri: str) -> str:
    """With a prefix, where what is behind it can be written so."""
    for prefix, space in PREFIXES.items():
        rest = iri[1:-1].removeprefix(space)
        if len(rest) < len(iri) - 2 and _LOCAL.fullmatch(rest):
            return f"{prefix}:{rest}"
    return iri

"""Two statements of one grammar: a scheme's code and its SHACL shape."""

import random
from collections.abc import Callable, Iterable, Sequence

import pyshacl
from rdflib import RDF, SH, SKOS, Graph, Literal, URIRef

from idstore.errors import InvalidIdentifier
from idstore.schemes import Context, Scheme

ODD = "\n\r\t\0\x1f\x7f\x85\x9f  -_./%#?:;\u017f\u0131\u212a\u0663\uff10éß中\u200b\u2028\ue000\ufdd0\ufffe\uffff😀\U0001ffff"
"""Characters at the edges of the grammars."""


def is_label(scheme: Scheme, context: Context, text: str) -> bool:
    """Whether the code takes ``text`` for a canonical label. The full IRI is asked: no text is a written form of something else there."""
    try:
        return scheme.label(scheme.iri(text, context), context) == text
    except InvalidIdentifier:
        return False


def conforming(shapes: Graph, target: str, texts: Sequence[str]) -> list[bool]:
    """Whether each text conforms to the shapes as the label of something of the class ``target``."""
    data = Graph()
    for number, text in enumerate(texts):
        node = URIRef(f"urn:example:{number}")
        data.add((node, RDF.type, URIRef(target)))
        data.add((node, SKOS.notation, Literal(text)))
    _, report, _ = pyshacl.validate(data, shacl_graph=shapes, inplace=True)
    assert isinstance(report, Graph)
    refused = {str(node) for node in report.objects(None, SH.focusNode)}
    return [f"urn:example:{number}" not in refused for number in range(len(texts))]


def near_misses(rng: random.Random, valid: Callable[[], str], letters: str, count: int) -> list[str]:
    """So many texts: valid ones, and valid ones with one to three changes."""
    made: dict[str, None] = {}
    while len(made) < count:
        text = valid()
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            text = _changed(rng, text, letters + ODD if rng.random() < 0.3 else letters)
        if text:
            made[text] = None
    return list(made)


def _changed(rng: random.Random, text: str, letters: str) -> str:
    place = rng.randrange(len(text) + 1)
    kind = rng.randrange(5)
    if kind == 0:
        return text[:place] + text[place + 1 :]
    if kind == 1:
        return text[:place] + rng.choice(letters) + text[place:]
    if kind == 2:
        return text[:place] + rng.choice(letters) + text[place + 1 :]
    if kind == 3:
        return text[:place] + text[place : place + 3].swapcase() + text[place + 3 :]
    return text + rng.choice(("\n", text[-1:], rng.choice(letters)))


def disagreements(scheme: Scheme, context: Context, shapes: Graph, target: str, texts: Iterable[str]) -> tuple[list[str], int]:
    """The texts on which code and shape disagree, and how many both accept."""
    asked = list(texts)
    shape = conforming(shapes, target, asked)
    code = [is_label(scheme, context, text) for text in asked]
    return [text for text, one, other in zip(asked, shape, code, strict=True) if one != other], sum(code)

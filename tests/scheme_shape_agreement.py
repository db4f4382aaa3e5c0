"""Comparison of a scheme's code with its SHACL shape: two statements of one grammar."""

import random
from collections.abc import Callable, Iterable, Sequence

import pyshacl
from rdflib import DCTERMS, RDF, SH, SKOS, Graph, Literal, URIRef

from idstore.errors import InvalidIdentifier
from idstore.schemes import Context, Scheme
from idstore.schemes.shapes import own_shape
from idstore.vocabulary import IDS

ODD = (
    "\n\r\t\0\x1f\x7f\x85\x9f  -_./%#?:;"
    "\u017f\u0131\u212a\u0663\uff10éß中\u200b\u2028\ue000\ufdd0\ufffe\uffff😀\U0001ffff"
)
"""Characters at the edges of the grammars."""


def is_label(scheme: Scheme, context: Context, text: str) -> bool:
    """Return whether the code accepts ``text`` as a canonical label.

    The check parses the full IRI, because another written form of a label is never part of an IRI.
    """
    try:
        return scheme.label(scheme.iri(text, context), context) == text
    except InvalidIdentifier:
        return False


def conforming(scheme: Scheme, context: Context, shapes: Graph, texts: Sequence[str]) -> list[bool]:
    """Return for each text whether it conforms to the shapes as a label of the namespace."""
    data, own = Graph(), own_shape(scheme, context)
    if own is not None:
        data.add((URIRef(context.base), DCTERMS.conformsTo, URIRef(own.value)))
    for number, text in enumerate(texts):
        node = URIRef(f"urn:example:{number}")
        data.add((node, RDF.type, URIRef(scheme.identifier_class)))
        data.add((node, URIRef(IDS.inNamespace.value), URIRef(context.base)))
        data.add((node, SKOS.notation, Literal(text)))
    _, report, _ = pyshacl.validate(data, shacl_graph=shapes, inplace=True)
    assert isinstance(report, Graph)
    violations = list(report.subjects(SH.resultSeverity, SH.Violation))
    refused = {str(node) for result in violations for node in report.objects(result, SH.focusNode)}
    return [f"urn:example:{number}" not in refused for number in range(len(texts))]


def near_misses(rng: random.Random, valid: Callable[[], str], letters: str, count: int) -> list[str]:
    """Return ``count`` texts: valid ones, and valid ones with one to three changes."""
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


def disagreements(
    scheme: Scheme, context: Context, shapes: Graph, texts: Iterable[str]
) -> tuple[list[str], int]:
    """Return the texts on which code and shape disagree, and the number that both accept."""
    asked = list(texts)
    shape = conforming(scheme, context, shapes, asked)
    code = [is_label(scheme, context, text) for text in asked]
    return [text for text, one, other in zip(asked, shape, code, strict=True) if one != other], sum(code)

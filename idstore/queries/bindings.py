"""Terms for variables of a query, as they are handed to the query process."""

from collections.abc import Mapping
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode

Value: TypeAlias = NamedNode | Literal


def document(value: Value) -> dict[str, str]:
    """Return a term as a JSON object."""
    if isinstance(value, NamedNode):
        return {"iri": value.value}
    if value.language:
        return {"text": value.value, "language": value.language}
    return {"text": value.value, "datatype": value.datatype.value}


def term(given: Mapping[str, str]) -> Value:
    """Return the term of a JSON object."""
    if "iri" in given:
        return NamedNode(given["iri"])
    if "language" in given:
        return Literal(given["text"], language=given["language"])
    return Literal(given["text"], datatype=NamedNode(given["datatype"]))

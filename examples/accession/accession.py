"""Accession numbers of a museum: the year, a full stop, and a number that is counted within the year.

A scheme of one's own for idstore, whole. What each member has to do stands in `idstore.schemes.Scheme`.

>>> SCHEME.parse("2026.17")
'2026.17'
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import count
from types import MappingProxyType

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.schemes import Allocation, Context, Rule, Scheme, WrittenForm

PARTS = (re.compile("[12][0-9]{3}"), re.compile(r"\."), re.compile("[1-9][0-9]{0,5}"))


class Accessions:
    """See `Scheme`."""

    name = "accession"
    title = "Accession numbers of a museum"
    identifier_class = "http://museum.example.org/ontology#AccessionNumber"
    defaults: Mapping[str, str] = MappingProxyType({})
    chosen = False
    bulk = True
    example = "2026.17"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`."""
        for name in settings:
            raise InvalidData(f"there is no setting {name!r}; this scheme has none", setting=name)
        if not re.fullmatch(r"https?://[^\s<>]+/", base):
            raise InvalidData(f"the base {base} must be an http IRI that ends in /, as http://museum.example.org/object/", base=base)
        return Context(base, {})

    def parse(self, text: str) -> str:
        """See `Scheme`."""
        return self._read(text, 0)

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`."""
        return self._read(text, len(context.base) if text.startswith(context.base) else 0)

    def _read(self, text: str, start: int) -> str:
        """The label behind ``start``. Raises InvalidIdentifier, with the position of what does not fit."""
        position = start
        for part in PARTS:
            found = part.match(text, position)
            if found is None:
                raise self._refused(text, position)
            position = found.end()
        if position < len(text):
            raise self._refused(text, position)
        return text[start:]

    def _refused(self, text: str, position: int) -> InvalidIdentifier:
        return InvalidIdentifier(text, "an accession number is a year, a full stop and a number, as 2026.17", position, self.name)

    def iri(self, label: str, context: Context) -> str:
        """See `Scheme`."""
        return context.base + label

    def key(self, label: str, context: Context) -> str:
        """See `Scheme`."""
        return label

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`."""
        return WrittenForm("uri", self.iri(label, context)), WrittenForm("bare", label)

    def series(self, label: str, context: Context) -> tuple[str, int]:
        """See `Scheme`."""
        year, _, number = label.partition(".")
        return year, int(number)

    def provisional(self, label: str, context: Context) -> bool:
        """See `Scheme`."""
        return False

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:
        """See `Scheme`."""
        message = "An accession number is a year, a full stop and a number."
        return (
            Rule("form", "Form", message, (r"^[12][0-9][0-9][0-9]\.[1-9][0-9]*$",)),
            Rule("length", "Length", message, (r"[^0-9.]|\.[0-9]{7}",), forbidden=True),
        )

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`."""
        year = str(datetime.fromtimestamp(allocation.now() / 1000, UTC).year)
        return (f"{year}.{number}" for number in count(allocation.highest(year) + 1))


SCHEME: Scheme = Accessions()

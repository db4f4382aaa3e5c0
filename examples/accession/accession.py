"""Accession numbers of a museum: its code, the year, and a number counted within the year: ``MVH.2026.17``.

A complete plug-in scheme for idstore. `idstore.schemes.Scheme` documents each member. The code is a setting
of the namespace. It is read in upper and lower case, and stored in upper case.

>>> SCHEME.parse("m.2026.17")
'M.2026.17'
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from idstore.errors import InvalidData, InvalidIdentifier, NamespaceExhausted
from idstore.schemes import Allocation, Context, Rule, Scheme, WrittenForm
from idstore.schemes.settings import with_defaults

CODE = re.compile("[A-Za-z]{1,8}")
YEAR, NUMBER, POINT = re.compile("[12][0-9]{3}"), re.compile("[1-9][0-9]{0,5}"), re.compile(r"\.")
LARGEST = 999_999
"""The largest number of a year: the one with the most digits that ``NUMBER`` allows."""


class Accessions:
    """See `Scheme`.

    Setting: ``code``, the letters before the year.
    """

    name = "accession"
    title = "Accession numbers of a museum"
    identifier_class = "http://museum.example.org/ontology#AccessionNumber"
    defaults: Mapping[str, str] = MappingProxyType({"code": "M"})
    chosen = False
    bulk = True
    example = "M.2026.17"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`."""
        full = with_defaults(self.defaults, settings)
        if not CODE.fullmatch(full["code"]):
            reason = f"the setting code={full['code']!r} must be one to eight letters from A to Z, as MVH"
            raise InvalidData(reason, setting="code", value=full["code"])
        full["code"] = full["code"].upper()
        if not re.fullmatch(r"https?://[^\s<>]+/", base):
            example = "http://museum.example.org/object/"
            raise InvalidData(f"the base {base} must be an http IRI that ends in /, as {example}", base=base)
        return Context(base, full)

    def parse(self, text: str) -> str:
        """See `Scheme`."""
        return self._read(text, 0, self.defaults["code"])

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`: the code in upper case."""
        start = len(context.base) if text.startswith(context.base) else 0
        return self._read(text, start, context.settings["code"])

    def _read(self, text: str, start: int, code: str) -> str:
        """Return the label from ``start`` on. Raises InvalidIdentifier, with the position of the mismatch."""
        position = start
        for part in (re.compile(code, re.IGNORECASE | re.ASCII), POINT, YEAR, POINT, NUMBER):
            match = part.match(text, position)
            if match is None:
                raise self._refused(text, position, code)
            position = match.end()
        if position < len(text):
            raise self._refused(text, position, code)
        return text[start:].upper()

    def _refused(self, text: str, position: int, code: str) -> InvalidIdentifier:
        reason = f"an accession number is {code}, a year and a number, as {code}.2026.17"
        return InvalidIdentifier(text, reason, position, self.name)

    def iri(self, label: str, context: Context) -> str:
        """See `Scheme`."""
        return context.base + label

    def key(self, label: str, context: Context) -> str:
        """See `Scheme`: labels have one spelling."""
        return label

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`."""
        return WrittenForm("uri", self.iri(label, context)), WrittenForm("bare", label)

    def series(self, label: str, context: Context) -> tuple[str, int]:
        """See `Scheme`: each year is a series."""
        _, year, number = label.split(".")
        return year, int(number)

    def provisional(self, label: str, context: Context) -> bool:
        """See `Scheme`."""
        return False

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:
        """See `Scheme`."""
        code = settings["code"]
        message = f"An accession number is {code}, a year and a number, with full stops between them."
        return (
            Rule("form", "Form", message, (rf"^{code}\.[12][0-9][0-9][0-9]\.[1-9][0-9]*$",)),
            Rule("length", "Length", message, (r"[^A-Z0-9.]|\.[0-9]{7}",), forbidden=True),
        )

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`: the next numbers of the year."""
        year = str(datetime.fromtimestamp(allocation.now() / 1000, UTC).year)
        for number in range(allocation.highest(year) + 1, LARGEST + 1):
            yield f"{allocation.context.settings['code']}.{year}.{number}"
        raise NamespaceExhausted(f"the numbers of {year} are used up; the largest is {LARGEST}", year=year)


SCHEME: Scheme = Accessions()

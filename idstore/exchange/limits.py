"""Limits of what a file may hold: hostile or odd input ends with an error, a line and bounded memory.

They are far above real data. Texts that a registry stores have their own limits, in `idstore.model.terms`.
"""

from typing import Final

from idstore.errors import RequestTooLarge

LINE: Final = 1 << 20
"""Bytes of a line of a table, list or batch file, of a BibTeX entry, or of a JSON object."""
METADATA: Final = 1 << 22
"""Bytes of the metadata of an SSSOM file."""
WORKBOOK: Final = 1 << 29
"""Bytes of the unpacked parts of a workbook, together."""
ARTICLE: Final = 1 << 26
"""Bytes of an article in JATS XML."""
PATCH_ROW: Final = 1 << 26
"""Characters of a row of an RDF Patch."""
RDF_TERM: Final = 1 << 24
"""Bytes of a term in an RDF file; the parser sets it."""
JSON_DEPTH: Final = 100
"""Depth of nested objects and arrays in JSON-LD; the parser's memory grows with its square."""
BAD_LINES: Final = 10_000
"""Malformed and refused lines of a table or list that are reported; a file with more is refused at once."""
BIBTEX_TEXT: Final = 1 << 16
"""Characters of a text that BibTeX's ``#`` joins; joined strings can double with every line."""
BIBTEX_DEPTH: Final = 12
"""Depth of braces in a field of a BibTeX entry, which really has up to five; the time to read formulas with
macros can double with every level."""
BIBTEX_WAITING: Final = 10_000
"""Entries that wait for a later one from which they take fields, and those between."""
BIBTEX_STRINGS: Final = 1 << 22
"""Characters of all strings that a BibTeX file defines."""
XML_ITEM: Final = 1 << 20
"""Bytes of a tag or comment, and characters of a format, in a DROID file; bytes of a PRONOM report."""
XML_DEPTH: Final = 64
"""Depth of nested elements in a DROID file, which really have seven, and in RDF/XML."""
RDFXML_HEAD: Final = 1 << 14
"""Bytes before the first description of RDF/XML, without comments, and characters that an entity stands for:
each description is parsed with them."""
PRONOM_ARCHIVE: Final = 1 << 28
"""Bytes of an archive of PRONOM reports."""
PRONOM_REPORTS: Final = 100_000
"""Reports in an archive; PRONOM has 2,500 formats."""


def too_many(what: str, most: int, number: int, field: str) -> RequestTooLarge:
    """Return the error for more items than a server takes from a party that is no administrator.

    what  the items, such as rows.
    """
    return RequestTooLarge(
        f"a request has at most {most} {what}, unless an administrator sends it, and this one has"
        f" {number}; divide them, or use the folder of the store while no server has it",
        field=field,
        limit=most,
    )

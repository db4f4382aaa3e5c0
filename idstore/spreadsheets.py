"""Cells of CSV files that a spreadsheet would run as formulas.

An apostrophe before such a cell makes it a text. Reading takes one apostrophe away, so that every text comes
back as it was.

>>> guarded("=1+1"), guarded("'=1+1"), guarded("it's")
("'=1+1", "''=1+1", "it's")
>>> plain("'=1+1"), plain("''=1+1"), plain("'tis")
('=1+1', "'=1+1", "'tis")

A cell in quotes, or in a formula that only makes it a text, is mostly a mark that an export left.

>>> unmarked('"c1"'), unmarked('="c1"'), unmarked("\u201cc1\u201d"), unmarked('say "c1"')
('c1', 'c1', 'c1', None)
"""

import re
from typing import Final

_RUN: Final = re.compile("'*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]")
"""The beginning of a cell that is a formula, or that would be one without its apostrophes."""

_QUOTES: Final = {
    '"': '"',
    "'": "'",
    "\u201c": "\u201d",
    "\u201e": "\u201c\u201d",
    "\u00ab": "\u00bb",
    "\u2018": "\u2019",
}
"""Opening quotes, each with the closing ones."""


def guarded(cell: str) -> str:
    """Return a cell that no spreadsheet runs."""
    return f"'{cell}" if _RUN.match(cell) else cell


def plain(cell: str) -> str:
    """Return the text of a cell that was written by `guarded`."""
    return cell[1:] if cell.startswith("'") and _RUN.match(cell) else cell


def unmarked(cell: str) -> str | None:
    """Return the text inside the quotes, or the formula, around a whole cell; None without them."""
    text = cell.strip()
    quoted = text.removeprefix("=")
    if not quoted[1:] or quoted[-1] not in _QUOTES.get(quoted[0], ""):
        return None
    inner = quoted[1:-1]
    return None if quoted[0] in inner or quoted[-1] in inner else inner


def mark(column: str, cell: str) -> str | None:
    """Return what is wrong with a cell in quotes, or in a formula that makes it a text; None: nothing.

    column  what the cell holds, in words.
    """
    text = unmarked(cell)
    if text is None:
        return None
    return f"the {column} is {cell}, in quotes that would be part of it; write {text}, or insist"

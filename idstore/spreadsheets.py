"""Cells of CSV files that a spreadsheet would run as formulas.

An apostrophe before such a cell makes it a text. Reading takes one apostrophe away, so that every text comes
back as it was.

>>> guarded("=1+1"), guarded("'=1+1"), guarded("it's")
("'=1+1", "''=1+1", "it's")
>>> plain("'=1+1"), plain("''=1+1"), plain("'tis")
('=1+1', "'=1+1", "'tis")
"""

import re
from typing import Final

_RUN: Final = re.compile("'*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]")
"""The beginning of a cell that is a formula, or that would be one without its apostrophes."""


def guarded(cell: str) -> str:
    """Return a cell that no spreadsheet runs."""
    return f"'{cell}" if _RUN.match(cell) else cell


def plain(cell: str) -> str:
    """Return the text of a cell that was written by `guarded`."""
    return cell[1:] if cell.startswith("'") and _RUN.match(cell) else cell

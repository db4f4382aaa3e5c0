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

A link of a spreadsheet stands for its address, an error for nothing.

>>> linked('=HYPERLINK("https://example.org/a", "a")'), is_result("=A1+1"), is_result("#N/A")
('https://example.org/a', True, True)
"""

import re
from typing import Final

_RUN: Final = re.compile("'*[=+@\t\r\n\uff1d\uff0b\uff0d\uff20-]")
"""The beginning of a cell that is a formula, or that would be one without its apostrophes."""

_CLOSING: Final = '"\u201c\u201d\u201e'
QUOTES: Final = {
    **dict.fromkeys('"\u201c\u201e', _CLOSING),
    **dict(zip("'\u00ab\u2018\u2039\u300c\u300e", "'\u00bb\u2019\u203a\u300d\u300f", strict=True)),
}
"""Opening quotes, each with those that close it."""
_LINK: Final = re.compile(r"""=\s*HYPERLINK\(\s*"([^"]+)"\s*(?:[,;].*)?\)""", re.IGNORECASE | re.DOTALL)
_ERROR: Final = re.compile(r"#(?:N/A|REF!|VALUE!|NAME\?|NULL!|NUM!|DIV/0!)", re.IGNORECASE)
_FORMULA: Final = re.compile(
    r"=\s*(?:[A-Z][A-Z.]*\(.*\)|\$?[A-Z]{1,3}\$?[0-9]+\b.*)", re.IGNORECASE | re.DOTALL
)
_MARKS: Final = frozenset([*QUOTES, "=", "#"])
"""The first characters of cells with a mark."""
_NOTHING: Final = frozenset(["nan", "<na>", "nat", "n/a"])
"""Cells without a value, as tables write them, in lower case."""
_NOTHING_OR_WORDS: Final = _NOTHING | {"na", "none", "null", "nil"}
"""Those, and words that a title can be."""


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
    if not quoted[1:] or quoted[-1] not in QUOTES.get(quoted[0], ""):
        return None
    inner = quoted[1:-1]
    return None if quoted[0] in inner or quoted[-1] in inner else inner


def linked(cell: str) -> str | None:
    """Return the address of a formula that makes a link; None for any other cell."""
    link = _LINK.fullmatch(cell.strip())
    return None if link is None else link[1]


def is_error(cell: str) -> bool:
    """Whether a cell is an error of a spreadsheet, such as ``#N/A``."""
    return _ERROR.fullmatch(cell.strip()) is not None


def is_result(cell: str) -> bool:
    """Whether a cell is a formula or an error, where its value was meant."""
    return is_error(cell) or _FORMULA.fullmatch(cell.strip()) is not None


def says_nothing(text: str, *, is_title: bool = False) -> bool:
    """Whether a text is a word for nothing, as tables write it; a title may be ``None`` and ``NA``.

    >>> [says_nothing(text, is_title=True) for text in ("nan", "<NA>", "#REF!", "None", "")]
    [True, True, True, False, False]
    """
    nothing = _NOTHING if is_title else _NOTHING_OR_WORDS
    return text.casefold() in nothing or is_error(text)


def mark(column: str, cell: str) -> str | None:
    """Return what is wrong with a cell that has a mark of a spreadsheet; None: nothing.

    Marks are quotes around a cell, a formula and an error.
    column  what the cell holds, in words.
    """
    if cell.lstrip()[:1] not in _MARKS:
        return None
    text = unmarked(cell)
    if text is not None:
        return f"the {column} is {cell}, in quotes that would be part of it; write {text}, or insist"
    if is_result(cell):
        kind = "an error" if is_error(cell) else "a formula"
        return (
            f"the {column} is {cell}, {kind} of a spreadsheet; write {linked(cell) or 'its value'}, or insist"
        )
    return None

"""Volume, issue and first page of an article: from the forms that metadata state to steps of a label.

Known forms are a number, numbers joined by a dash, slash, plus or ampersand, and a page with letters
(``e12``, ``S12``, ``xii``, ``12.e1``), each also in brackets and after its word (``Vol. 3``, ``No. 4``,
``pp. 12-15``) or with the zeros of a decimal fraction (``12.0``); and the words for a missing one
(``n/a``). The supplement of a numbered issue is written in one way (``4-suppl-2``), and reported. Any other
text is kept as far as a label can hold it, and reported.
"""

import re
import unicodedata
from typing import Final

from idstore import spreadsheets
from idstore.characters import EXAMINED

FIELD: Final = "-a-z0-9.,:()"
"""Characters of volume, issue and page, for a character class; volume and issue may also have ``_``."""

_AROUND: Final = " \t.,;:"
"""Characters at the ends of a field that are not part of a number."""
_JOIN: Final = "\\s*[-/+&\u2010-\u2015\u2044\u2212]+\\s*"
_JOINING: Final = re.compile("[-\\s/+&\u2010-\u2015\u2044\u2212]+")
_BETWEEN_PAGES: Final = re.compile("[-\u2010-\u2015\u2212,;?+&]")
_FOLLOWING: Final = re.compile(r"(?<=[0-9])\s*ff", re.IGNORECASE)
"""The mark of the pages that follow the first, at the end of a page."""

_LEADING_NUMBER: Final = re.compile("^(?>0*([0-9]+))(?=i|$)")
_NUMBERS: Final = re.compile(f"[0-9]+(?:{_JOIN}[0-9]+)*")
_COMBINED: Final = re.compile("[0-9]+(?:-[0-9]+)+")
_PADDING: Final = re.compile("(?<![0-9])0+(?=[0-9])")
_WHOLE: Final = re.compile(r"([0-9]+)\.0+")
"""A whole number as programs write it that know no others: 12.0."""
_LEADING_ZERO: Final = re.compile("0+[0-9]")
_SUPPLEMENT: Final = re.compile(
    rf"(?P<of>{_NUMBERS.pattern})[\W_]*(?:suppl?ements?|suppl?|sup)[\W_]*+(?P<number>[0-9]*)[\W_]*",
    re.IGNORECASE,
)
_FIRST_PAGE: Final = re.compile(
    r"[a-z]{0,5}[0-9]+(?:[.:][a-z]{0,3}[0-9]+|[a-z]{1,3}[0-9]+)*[a-z]{0,3}|[ivxlcdm]+", re.IGNORECASE
)

_WORDS: Final = {
    "volume": ("volumes?|vols?|v|bde?|band|jahrgang|jg|tomes?|tomo", "t"),
    "issue": ("issues?|iss|numbers?|num|nos?|nrs?|n[\u00ba\u00b0]|\u2116|#|hefte?|fasc", "n|h"),
    "page": ("pages?|pp|pgs?|pag|seiten?", "p"),
}
"""Words before a number: those that may touch it, and those that an article's own lettering could mean."""
_WRAPPED: Final = {
    name: re.compile(
        rf"[\[(](?P<enclosed>[^][()]*)[\])]|(?:(?:{words})(?:[.:]\s*|\s+|(?=[0-9(\[]))"
        rf"|(?:{letters})(?:[.:]\s*|\s+))(?P<named>.+)",
        re.IGNORECASE | re.DOTALL,
    )
    for name, (words, letters) in _WORDS.items()
}
_MISSING: Final = frozenset(
    [
        "",
        "na",
        "nan",
        "nat",
        "nana",
        "blank",
        "nil",
        "none",
        "null",
        "no",
        "nfp",
        "np",
        "npag",
        "sn",
        "missing",
        "unknown",
        "undefined",
        "unspecified",
        "unpaged",
        "unpaginated",
        "notapplicable",
        "notassigned",
        "notavailable",
        "notgiven",
        "notknown",
        "notpaginated",
        "notspecified",
        "noissue",
        "nonumber",
        "nopage",
        "nopages",
        "nopagination",
        "novolume",
        "tba",
        "tbd",
        "tobeannounced",
        "tobedetermined",
    ]
)
"""Texts that name no number, in lower case, without spaces and punctuation."""


_MONTH: Final = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|m\u00e4r|mai|okt|dez"
_DATE: Final = re.compile(
    r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[T ].*)?|[0-9]{1,2}([/.])[0-9]{1,2}\1[0-9]{2,4}"
    rf"|[0-9]{{1,2}}[-. ](?:{_MONTH})[a-z]*\.?(?:[- ][0-9]{{2,4}})?",
    re.IGNORECASE,
)
"""A date, as a spreadsheet makes of ``5-12`` and ``3/4``."""


def _tell_of_spreadsheets(text: str, name: str, irregular: list[str]) -> None:
    """Append what a spreadsheet seems to have made of a volume, an issue or a page."""
    if spreadsheets.is_error(text):
        irregular.append(f"the {name} {text!r} is an error of a spreadsheet")
    elif _DATE.fullmatch(text.strip()):
        irregular.append(f"the {name} {text!r} is a date, as spreadsheets make of two numbers")


def numbered(
    text: str,
    name: str,
    width: int,
    missing: str,
    notes: list[str],
    doubts: list[str],
    irregular: list[str],
) -> str:
    """Return volume or issue: a number padded with zeros; joined numbers as printed, of issues not padded.

    notes, doubts, irregular  what goes beyond the policy, what a person should check, and what has no known
                              form, is appended as a sentence.
    """
    _tell_of_spreadsheets(text, name, irregular)
    bare = _whole(_digits(_unwrapped(text, name)))
    if _all_say_none(bare):
        notes.append(_told_missing(text, f"no {name}", missing))
        return missing
    printed = _written(_supplement(bare), FIELD + "_")
    written = unpadded(printed)
    if written != printed:
        doubts.append(f"the {name} {text!r} is written {written!r}: combined {name}s are not padded")
    if not _NUMBERS.fullmatch(bare):
        # what a reader of the label takes for a number is padded as one
        written = _LEADING_NUMBER.sub(lambda match: match[1].zfill(width), written)
        irregular.append(f"the {name} {text!r} is not a number; it is written {written or missing!r}")
        return written or missing
    if not bare.isdecimal():
        if written == printed:
            _note_change(text, name, written, notes)
        notes.append(f"the {name} {text!r} is no number and not padded")
        return written
    number = bare.lstrip("0") or "0"
    padded = number.zfill(width)
    if number != text:
        _note_change(text, name, padded, notes)
    return padded


def _supplement(text: str) -> str:
    """Return the supplement of a numbered issue as it is written in labels, and any other text as it is.

    >>> [_supplement(text) for text in ("4 Suppl. 02", "12(Supplement)", "3/4 Suppl A", "suppl_1", "S1")]
    ['4-suppl-2', '12-suppl', '3/4 Suppl A', 'suppl_1', 'S1']
    """
    found = _SUPPLEMENT.fullmatch(text)
    if found is None:
        return text
    issue, number = (_PADDING.sub("", found[group]) for group in ("of", "number"))
    return "-".join(filter(None, (issue, "suppl", number)))


def unpadded(text: str) -> str:
    """Return the numbers of combined volumes or issues without zeros before them, any other text as it is.

    >>> [unpadded(text) for text in ("03-04", "0003-10-0", "0003", "s03-04")]
    ['3-4', '3-10-0', '0003', 's03-04']
    """
    return _PADDING.sub("", text) if _COMBINED.fullmatch(text) else text


_REWRITTEN: Final = re.compile(
    rf"(?:[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]+|[0-9]{{1,3}}(?:,[0-9]{{3}})+)(?:{_JOIN}.*)?\Z", re.DOTALL
)
"""A number as a spreadsheet rewrites it, alone or with the last page."""
_DASHES: Final = re.compile("[-\u2010-\u2015\u2212]+")
_FIRST_RANGE: Final = re.compile("[^,;+&]*")


def first_page(text: str, notes: list[str], irregular: list[str]) -> str:
    """Return the first page of a page or range; arguments as for `numbered`.

    Zeros in front of it are kept, since no rule strips them, and reported.
    """
    _tell_of_spreadsheets(text, "page", irregular)
    first = _BETWEEN_PAGES.split(_unwrapped(text, "page"), maxsplit=1)[0]
    printed = _FOLLOWING.sub("", _digits(_unwrapped(first, "page")))
    bare = _whole(printed)
    if _says_none(bare):
        told = irregular if re.search("[0-9]", text) else notes
        told.append(_told_missing(text, "no first page", "nfp"))
        return "nfp"
    written = _written(bare, FIELD)
    first_range = _FIRST_RANGE.match(text)
    dashes = _DASHES.findall(first_range[0]) if first_range else []
    if not _FIRST_PAGE.fullmatch(bare) or _REWRITTEN.match(text.strip()) or len(dashes) > 1:
        irregular.append(f"the page {text!r} is not a page number; it is written {written or 'nfp'!r}")
        return written or "nfp"
    if _LEADING_ZERO.match(written):
        irregular.append(
            f"the page {text!r} begins with 0, which is kept: without it the label is another one"
        )
    elif bare != printed or not text.startswith(written):
        _note_change(text, "page", written, notes)
    return written


def plain(letter: str) -> str:
    """Return a character in lower case without accents, always as one character.

    >>> "".join(map(plain, "ÉŞḤй한中ßİ"))
    'eshи한中ßi'
    """
    parts = unicodedata.normalize("NFKD", letter)
    kept = "".join(part for part in parts if not unicodedata.combining(part)) or letter
    return unicodedata.normalize("NFC", kept)[0].lower()[0]


def _unwrapped(text: str, name: str) -> str:
    """Return a field without brackets around it and without the word before it.

    Words for a missing number stay whole: the ``n.`` of ``n.a.`` is no word before a number.

    >>> [_unwrapped(text, "issue") for text in ("No. 4", "(No. 4)", "n/a", "No. n.a.", "Spring")]
    ['4', '4', 'n/a', 'n.a', 'Spring']

    A text longer than `characters.EXAMINED` only loses the signs around it.
    """
    text = text.strip(_AROUND)
    while len(text) <= EXAMINED and not _all_say_none(text) and (wrapped := _WRAPPED[name].fullmatch(text)):
        text = (wrapped["enclosed"] or wrapped["named"] or "").strip(_AROUND)
    return text


def _all_say_none(text: str) -> bool:
    """Return whether each part of a range names no number."""
    return all(map(_says_none, _BETWEEN_PAGES.split(text)))


def _says_none(text: str) -> bool:
    return re.sub(r"[\W_]+", "", text.casefold()) in _MISSING


def _told_missing(text: str, what: str, written: str) -> str:
    return f"{what}: {written}" if not text else f"{what}, because {text!r} says so: {written}"


def _note_change(text: str, name: str, written: str, notes: list[str]) -> None:
    if written != text:
        notes.append(f"the {name} {text!r} is written {written!r}")


def _written(text: str, allowed: str) -> str:
    """Return a field in lower case, without accents and without characters that a label cannot have.

    Every character that joins numbers becomes ``-``, because 3\u20134 is not 34.
    """
    # letter by letter: long runs of accents take time with the square of their length, and are left out
    spelled = _digits("".join(unicodedata.normalize("NFKC", letter) for letter in text))
    return re.sub(f"[^{allowed}]", "", _JOINING.sub("-", "".join(map(plain, spelled))))


def _whole(text: str) -> str:
    """Return a whole number without its decimal places, and any other text as it is.

    >>> [_whole(text) for text in ("12.0", "012.00", "4.10", "1.0.0")]
    ['12', '012', '4.10', '1.0.0']
    """
    number = _WHOLE.fullmatch(text)
    return number[1] if number else text


def _digits(text: str) -> str:
    """Return a text with ASCII digits for those of other scripts."""
    return "".join(str(unicodedata.decimal(letter, letter)) for letter in text)

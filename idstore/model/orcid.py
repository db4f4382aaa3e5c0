"""ORCID iDs of people: form and check digit (ISO 7064, MOD 11-2).

Source: https://support.orcid.org/hc/en-us/articles/360006897674, Structure of the ORCID Identifier.
"""

import re
from typing import Final

from idstore.errors import InvalidData
from idstore.remedies import Remedy

_DASH: Final = "[-\u2010-\u2015\u2212]"
_WRITTEN: Final = re.compile(
    rf"\s*(?P<said>https?://(?:www\.)?orcid\.org/|orcid\.org/|orcid:\s*|orcid\s+)?"
    rf"(?P<digits>[0-9]{{4}}{_DASH}?[0-9]{{4}}{_DASH}?[0-9]{{4}}{_DASH}?[0-9]{{3}}[0-9Xx])/?\s*",
    re.IGNORECASE,
)
_WITHIN: Final = re.compile(rf"(?<![0-9])(?:[0-9]{{4}}{_DASH}){{3}}(?P<last>[0-9]{{3}}[0-9Xx]?)(?![0-9])")
"""Digits within a longer text, perhaps one too few."""
_LAST: Final = 4
"""Digits of the last part."""
_MEANT: Final = re.compile(r"\s*(?:https?://(?:www\.)?orcid\.org/|orcid\.org/|orcid:)", re.IGNORECASE)


def normal(text: str) -> str:
    """Return an ORCID iD in its https form, and any other text as it is.

    Raises InvalidData: it looks like one, and its form or check digit is wrong.

    >>> normal("orcid:0000-0002-1825-0097"), normal("Ada Lovelace")
    ('https://orcid.org/0000-0002-1825-0097', 'Ada Lovelace')
    """
    written = _WRITTEN.fullmatch(text)
    if written is None:
        within = _WITHIN.search(text)
        if within is not None and len(within["last"]) == _LAST and _is_valid(_bare(within[0])):
            return text
        if within is not None or _MEANT.match(text):
            raise InvalidData(
                f"{text!r} is no ORCID iD; write one as https://orcid.org/0000-0002-1825-0097, or insist",
                field="author",
                text=text,
                remedy=Remedy.INSIST,
            )
        return text
    digits = _bare(written["digits"])
    if not _is_valid(digits):
        raise InvalidData(
            f"{text!r} is no ORCID iD, because its check digit is wrong; look for a misspelling, or insist",
            field="author",
            text=text,
            remedy=Remedy.INSIST,
        )
    return "https://orcid.org/" + "-".join(digits[start : start + 4] for start in range(0, 16, 4))


def _bare(digits: str) -> str:
    return re.sub(_DASH, "", digits).upper()


def _is_valid(digits: str) -> bool:
    """Return whether the check digit is right."""
    total = 0
    for digit in digits[:-1]:
        total = (total + int(digit)) * 2
    return digits[-1] == "0123456789X"[(12 - total % 11) % 11]

"""Identifiers with something around them, as people write and copy them: quotes, links, words, marks of HTML.

What stands around an identifier is seldom meant as a part of its label, which is for ever.
"""

import html
import re
import string
import unicodedata
from typing import Final

from idstore import characters, spreadsheets

_OPENING: Final = "\"'`<{\u00ab\u2018\u201c\u201e\u2039\u300c\u300e"
"""Opening signs that are no part of a label; other ones can be, unless they enclose a whole identifier."""
_CLOSING: Final = {
    **dict(zip("`*<([{\uff08\uff1c", "`*>)]}\uff09\uff1e", strict=True)),
    **spreadsheets.QUOTES,
}
"""Opening sign → those that close it."""
_WORDS: Final = "ur[iln]|doi|hdl|handle"
_WORD_BEFORE: Final = re.compile(rf"(?:{_WORDS})(?:\s*[:=]\s*|\s+)(.+)", re.IGNORECASE | re.ASCII | re.DOTALL)
_WORD_AFTER: Final = re.compile(
    rf"(?<=.)\s(?:\((?:{_WORDS})\)|\[(?:{_WORDS})\])\Z", re.IGNORECASE | re.ASCII | re.DOTALL
)
_LINK: Final = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)|\\(?:url|href|doi)\{([^{}]+)\}(?:\{[^{}]*\})?")
"""A link of Markdown or TeX."""
_TAG: Final = (
    "</[a-z][a-z0-9]*\\s*>|<(?:a|b|br|cite|code|div|em|i|li|p|span|strong|su[bp]|td|u)(?:[\\s/][^<>]*)?>"
)
_FIRST_TAGS: Final = re.compile(rf"(?:{_TAG})*+", re.IGNORECASE | re.ASCII)
_LAST_TAG: Final = re.compile(_TAG, re.IGNORECASE | re.ASCII)
_IN_HTML: Final = re.compile("&(?:lt|gt|quot|apos|#[0-9]+|#x[0-9a-f]+);", re.IGNORECASE)
_SOLIDUS: Final = re.compile(r"[/\\\u2044\u2215\u29f8]")
"""What people write where the first solidus of a handle or an address stands."""
_FIRST_SOLIDI: Final = re.compile(rf"(?:\s*+{_SOLIDUS.pattern}\s*+)*+")
_AFTER: Final = re.compile(
    r"([\"'`>(\[{\u00ab\u00bb\u2018\u2019\u201c\u201d\u203a,;]"
    r"|&(?:gt|quot|lt|apos|nbsp);|</?[a-z]+>|%(?:0[9AD]|2[02]|E2%80%8B))\Z",
    re.IGNORECASE,
)
"""What stands behind an address in a text, and seldom belongs to it."""
_AND_ANOTHER: Final = re.compile(r"[^?#]*?([;,|]|(?<!\s)\s)\s*+(?:https?|ftp)://", re.IGNORECASE)
"""An address behind another one, not in its query. Each run of white space is read once."""
_BRACKETS: Final = ("()", "[]", "{}")
_MARKS: Final = "\"'`|\\*\u00ab\u00b4\u00bb\u2018\u2019\u201c\u201d\u201e\u2039\u203a\ufffd "
"""Signs that stand around identifiers in texts, and that labels seldom begin or end with."""
_LIST_SIGN: Final = re.compile(r"(?:[-*\u2013\u2022]|[0-9]+[.)])\s+")
_DOUBTS: Final = (
    (re.compile(r"[\s,;|](?:10\.[0-9]{4,9}|https?:/)/"), "holds a second identifier after {}"),
    (re.compile(r"\A(?:\[.*\]|\(.*\)|\{.*\}|\[[^\]]*\]\(.*\))\Z", re.DOTALL), "is in brackets: {}"),
    (re.compile(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+\Z"), "is a moment, as spreadsheets write it: {}"),
    (re.compile(r"\A(?:true|false)\Z", re.IGNORECASE), "is a truth value, as spreadsheets write it: {}"),
    (
        re.compile(r"\A[0-9](?:[.,][0-9]+)?E[+-]?[0-9]+\Z"),
        "is a rounded number, as spreadsheets write it: {}",
    ),
    (re.compile(r"\Ahttps?:?//?"), "begins with {}, as an address does"),
    (re.compile(r"\s"), "has a space"),
    (re.compile("\ufffd"), "has U+FFFD, which stands for characters that were lost"),
    (re.compile("%[0-9A-Fa-f]{2}"), "has {}, as addresses write a character"),
)
"""What a label seldom has → what to say of it."""
_SENTENCE: Final = re.compile(r"[.,;:!?\u2026\u3001\u3002]\Z")


def unwrapped(text: str) -> str:
    """Return the identifier in a text with something around it, as people write it; else the text.

    >>> unwrapped("<https://doi.org/10.1045/a>"), unwrapped("(URL: 10.1045/a)"), unwrapped("(a) b")
    ('https://doi.org/10.1045/a', '10.1045/a', '(a) b')
    >>> unwrapped("[x](https://doi.org/10.1045/a)"), unwrapped("&lt;10.1045/a&gt;"), unwrapped("<a")
    ('https://doi.org/10.1045/a', '10.1045/a', 'a')
    >>> unwrapped("10.1045/a [DOI]"), unwrapped("10.1045/a</a>"), unwrapped('=HYPERLINK("10.1045/a";"a")')
    ('10.1045/a', '10.1045/a', '10.1045/a')

    A text longer than `characters.EXAMINED` is only stripped of white space.
    """
    if len(text) > characters.EXAMINED:
        return text.strip() or text
    before = ""
    while text != before:
        before, text = text, _once_unwrapped(html.unescape(text) if _IN_HTML.search(text) else text)
    return text


def _once_unwrapped(text: str) -> str:
    stripped = text.strip()
    linked = spreadsheets.linked(stripped)
    if linked is None and stripped.startswith("="):
        linked = spreadsheets.unmarked(stripped)
    if linked is not None:
        return linked
    for pattern in (_LINK, _WORD_BEFORE):
        match = pattern.fullmatch(stripped)
        if match is not None:
            return str(next(filter(None, match.groups())))
    word_after = _WORD_AFTER.search(stripped)
    if word_after is not None:
        return stripped[: word_after.start()].rstrip(string.whitespace)
    untagged = _untagged(stripped)
    if untagged not in ("", stripped):
        return untagged
    first, last, inner = stripped[:1], stripped[-1:], stripped[1:-1]
    if inner and last in _CLOSING.get(first, "") and not {first, last} & {*inner.strip(first + last)}:
        return inner
    if first == "<" and ">" not in stripped:
        return stripped[1:]
    if last == ">" and "<" not in stripped:
        return stripped[:-1]
    return stripped if stripped != text and stripped else text


def _untagged(text: str) -> str:
    """Return a text without the tags that it begins and ends with."""
    text = _FIRST_TAGS.sub("", text, count=1)
    end = len(text)
    while end and _LAST_TAG.fullmatch(text, start := max(text.rfind("<", 0, end), 0), end):
        end = start
    return text[:end]


def usual_signs(text: str) -> str:
    r"""Return a text as a keyboard writes it: no wide letters, and its first solidus where one was meant.

    >>> usual_signs("\uff11\uff10.1045\uff0fa"), usual_signs("10.1045 / a / b"), usual_signs(r"/10.1045\a")
    ('10.1045/a', '10.1045/a / b', '10.1045/a')

    A text longer than `characters.EXAMINED` is returned as it is.
    """
    if len(text) > characters.EXAMINED:
        return text
    text = _FIRST_SOLIDI.sub("", unicodedata.normalize("NFKC", text), count=1)
    before, *after = _SOLIDUS.split(text, maxsplit=1)
    return f"{before.rstrip()}/{after[0].lstrip()}" if after else text


def without_marks(label: str) -> str:
    """Return a label without the sign of a list before it, and without quotes and the like at its ends.

    >>> without_marks("'10.1045/a"), without_marks("1. 10.1045/a"), without_marks("- 10.1045/a |")
    ('10.1045/a', '10.1045/a', '10.1045/a')

    A label longer than `characters.EXAMINED` is returned as it is.
    """
    return label if len(label) > characters.EXAMINED else _LIST_SIGN.sub("", label.strip()).strip(_MARKS)


def is_odd(label: str) -> bool:
    """Whether a label begins or ends as no label does, so that what `unwrapped` leaves was meant."""
    return label[:1] in _OPENING or label[-1:] == ">" or _WORD_AFTER.search(label) is not None


def doubt(label: str) -> str:
    """Return what to warn of: a label that may be no label, or more than one; empty if there is nothing."""
    if _SENTENCE.search(label):
        return f"its label ends in {label[-1]!r}, as a sentence does"
    if label[:1] in _MARKS or label[-1:] in _MARKS:
        sign = label[0] if label[0] in _MARKS else label[-1]
        return f"its label begins or ends with {sign!r}, as what stands around an identifier"
    if ends_unopened(label):
        return f"its label ends in {label[-1]!r}, which it does not open"
    for pattern, words in _DOUBTS:
        found = pattern.search(label)
        if found is not None:
            return f"its label {words.format(repr(found[0]))}"
    return missing("label", label)


def spoilt(address: str) -> str:
    """Return why an address cannot be meant as it is, in words; empty if it can.

    >>> spoilt("http://example.org/a&gt;"), spoilt("http://example.org/a; http://example.org/b")
    ("it ends in '&gt;'", "it holds a second address after ';'")
    >>> spoilt("http://example.org/a)"), spoilt("http://example.org/a_(b)")
    ("it ends in ')', which it does not open", '')
    """
    another = _AND_ANOTHER.match(address)
    if another is not None:
        return f"it holds a second address after {another[1]!r}"
    after = _AFTER.search(address)
    if after is not None:
        return f"it ends in {after[1]!r}"
    if "&amp;" in address:
        return "it has '&amp;', as HTML writes &"
    closed = ends_unopened(address)
    return f"it ends in {closed!r}, which it does not open" if closed else ""


def ends_unopened(text: str) -> str:
    """Return the bracket in which a text ends, unless it was opened before; empty if there is none.

    >>> ends_unopened("a)"), ends_unopened("a(b)")
    (')', '')
    """
    pairs = ((begin, end) for begin, end in _BRACKETS if text.endswith(end))
    return next((end for begin, end in pairs if text.count(end) > text.count(begin)), "")


def doubt_of_address(text: str) -> str:
    """Return what to warn of: signs around an address that are left out, or that may be no part of it."""
    if characters.dropped(text):
        return characters.dropped(text)
    sign = _SENTENCE.search(text.strip())
    return "" if sign is None else f"{text.strip()} ends in {sign[0]!r}, as a sentence does"


def missing(what: str, text: str) -> str:
    """Return what to warn of: a text that is a table's word for nothing; empty if there is nothing."""
    return (
        f"its {what} is {text!r}, as tables write a missing value" if spreadsheets.says_nothing(text) else ""
    )

"""From an article's metadata to its Scholars Portal label: the policy, and what real labels add to it.

What is marked as an extension was read off real URIs, or had to be decided where neither policy nor practice says anything.
"""

import html
import re
import unicodedata
from collections.abc import Collection, Mapping
from string import ascii_lowercase, ascii_uppercase
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.schemes import Derived
from idstore.schemes._handles import check_characters, divided, unwrapped

FIELD: Final = "-a-z0-9.,:()"
"""Characters of volume, issue and page, as the inside of a character class; volume and issue may have ``_`` as well."""

LETTER: Final = (
    "a-z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u167f\u1681-\u180d\u180f-\u1fff\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\uffdc\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
"""Characters of an article hash: a to z, digits, and beyond ASCII what XML 1.0 lets a name begin with, without spaces."""

HASHED_WORDS: Final = 12

_LOWER: Final = str.maketrans(ascii_uppercase, ascii_lowercase)
_FORM: Final = re.compile(r"(\S*[:/])\s+")
_BARE: Final = re.compile("%(?![0-9A-Fa-f]{2})|[?#]")
"""What an address should write percent-encoded where it belongs to a DOI."""
_BETWEEN_ISSNS: Final = re.compile(r"\s*[,;|]\s*|\s+(?=[0-9]{4}-?[0-9]{3}[0-9Xx](?:\s|[,;|]|$))")
_ISSN: Final = re.compile(r"([0-9]{4})[-\u2010-\u2013 ]?([0-9]{3}[0-9Xx])")
_MARKUP: Final = re.compile(
    "a|abbr|abbrev|alternatives|annotation|b|big|bold|br|break|chem-struct|cite|code|del|dfn|em|email|emph|emphasis|ext-link|fn|font|formula|i|inf|inline|"
    "inline-(?:formula|graphic)|ins|it|ital|italic|kbd|label|li|maligngroup|malignmark|math|menclose|merror|mfenced|mfrac|mi|milestone-(?:end|start)|"
    "mmultiscripts|mn|mo|monospace|mover|mpadded|mphantom|mprescripts|mroot|mrow|ms|mspace|msqrt|mstyle|msub|msubsup|msup|mtable|mtd|mtext|"
    "mtr|munder|munderover|named-content|nobr|none|overline|p|private-char|q|related-article|roman|rom|ruby|s|samp|sans-serif|sc|scp|semantics|"
    "small|smallcaps|span|strike|strong|styled-content|sub|subscript|subtitle|sup|superscript|tex|tex-math|textual-form|title|trans-title|tt|u|underline|uri|var|wbr|xref",
    re.IGNORECASE,
)
"""Elements in titles: those of JATS, of HTML and of MathML, and what publishers use instead."""
_TAG: Final = re.compile(r"<(/?)([A-Za-z][\w:.-]*)((?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+))*)\s*(/?)>")
"""What may be a tag: end, name, attributes, whether it is empty. A title may as well compare with ``<`` and ``>``."""
_APART: Final = frozenset({"fn", "xref"})
"""Elements that are no words of a title: what they hold does not count."""
_DIVIDING: Final = frozenset({*_APART, "br", "break", "p", "subtitle", "title"})
_ENTITY: Final = re.compile("&#?[0-9A-Za-z]+;")
_BETWEEN_WORDS: Final = re.compile("[\\s\u2014]+")
_BETWEEN_PAGES: Final = re.compile("[-\u2010-\u2015\u2212,;?+&]")
_UNSEEN: Final = frozenset({"Cc", "Cf"})
"""Categories of characters that are not seen."""
_JOINING: Final = re.compile("[-\\s/+&\u2010-\u2015\u2044\u2212]+")
_HASHED: Final = re.compile(f"[{LETTER}]")


def derive(metadata: Mapping[str, str], no_issue: str) -> Derived:
    """The label of an article, without looking at collisions.

    metadata   ``issn`` (several: the first is used), ``volume``, ``issue``, ``page`` (as printed, ranges too), ``title``, ``subtitle``
               and ``doi``; absent or empty where the source has none.
    no_issue   what stands for a missing issue: ``complete`` or ``none``.

    Raises InvalidData, naming the field.

    >>> burns = {"issn": "0305-4179", "volume": "31", "issue": "4", "page": "530-531"}
    >>> derive({**burns, "title": "A possible chemical burn to the scalp following hair highlights"}, "complete")
    Derived(label='03054179/v31i0004/530_apcbttsfhh', extensions=(), doubts=())
    """
    notes: list[str] = []
    doubts: list[str] = []
    fields = {name: _visible(metadata, name, notes) for name in ("issn", "volume", "issue", "page", "title", "subtitle")}
    issn = _issn(_chosen(fields["issn"], doubts), notes, doubts)
    volume = _numbered(fields["volume"], "volume", 2, "none", notes)
    issue = _numbered(fields["issue"], "issue", 4, no_issue, notes)
    if doi(metadata) is None and _text(metadata, "doi"):
        doubts.append(f"the field doi is {_text(metadata, 'doi')!r}, which is no DOI: the article will not be known by it")
    title = f"{fields['title']} {fields['subtitle']}".strip()
    if fields["subtitle"]:
        notes.append("the subtitle counts as part of the title")
    label = f"{issn}/v{volume}i{issue}/{_page(fields['page'], notes)}_{_hash(title, notes)}"
    return Derived(label, (*notes, *doubts), tuple(doubts))


def doi(metadata: Mapping[str, str]) -> str | None:
    """The DOI in the one form that all its written forms have in common; None where there is none, or what is said is none.

    >>> doi({"doi": "https://doi.org/10.1016/S0016-0032(44)90001-X"})
    '10.1016/s0016-0032(44)90001-x'
    """
    text = _FORM.sub(r"\1", _text(metadata, "doi"), count=1)
    if "://" in text or text[:5].lower() == "info:":
        text = _BARE.sub(lambda found: f"%{ord(found.group()):02X}", text)
    try:
        excerpt, _ = unwrapped(text, "handle")
        prefix, suffix = divided(excerpt)
        check_characters(suffix, bmp_only=False)
    except InvalidIdentifier:
        return None
    known = prefix.startswith("10.") and suffix.text and not re.search(r"\s", excerpt.text)
    return excerpt.text.translate(_LOWER) if known else None


def _chosen(text: str, doubts: list[str]) -> str:
    """The ISSN to use of those in a text: the first."""
    several = dict.fromkeys(one.replace("-", "").lower() for one in _BETWEEN_ISSNS.split(text))
    first = _BETWEEN_ISSNS.split(text)[0]
    if len(several) > 1:
        doubts.append(f"of the ISSNs {', '.join(_BETWEEN_ISSNS.split(text))} the first is used")
    return first


def _text(metadata: Mapping[str, str], name: str) -> str:
    value: object = metadata.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidData(f"the field {name} is {value!r}; write it as text, in quotes", field=name, value=value)
    return value.strip()


def _visible(metadata: Mapping[str, str], name: str, notes: list[str]) -> str:
    """A field without what is not seen in it, as a soft hyphen or a space of no width: the article is the same."""
    text = _text(metadata, name)
    if text.isprintable():
        return text
    seen = "".join(letter for letter in text if letter.isspace() or unicodedata.category(letter) not in _UNSEEN).strip()
    if seen != text:
        notes.append(f"characters of the {name} that are not seen do not count")
    return seen


def _issn(text: str, notes: list[str], doubts: list[str]) -> str:
    if not text:
        raise InvalidData("the metadata have no issn, and the label begins with it; add the field issn", field="issn")
    form = _ISSN.fullmatch(text)
    if form is None:
        raise InvalidData(f"the field issn is {text!r}; write an ISSN as 1936-0851 or 0033-295X", field="issn", value=text)
    issn = (form[1] + form[2]).lower()
    if issn.endswith("x"):
        notes.append("the ISSN's X is written in lower case")
    if sum(weight * (10 if digit == "x" else int(digit)) for weight, digit in zip(range(8, 0, -1), issn, strict=True)) % 11:
        doubts.append(f"the ISSN {text} is used although its check digit is wrong")
    return issn


def _numbered(text: str, name: str, width: int, missing: str, notes: list[str]) -> str:
    """Volume or issue: numbers padded with zeros, anything else as printed."""
    written = _field(text, name, FIELD + "_", notes)
    if _spelled(text) == written and written.isdigit():
        return written.zfill(width)
    if not written:
        notes.append(f"no {name}: {missing}")
        return missing
    notes.append(f"the {name} {text!r} is no number and not padded")
    return written


def _page(text: str, notes: list[str]) -> str:
    written = _field(_BETWEEN_PAGES.split(text, maxsplit=1)[0].strip(), "page", FIELD, notes)
    if not written:
        notes.append("no first page: nfp")
    return written or "nfp"


def _field(text: str, name: str, allowed: str, notes: list[str]) -> str:
    """A field in lower case, accents folded, without what cannot stand in a label.

    Whatever joins numbers is a ``-``, for 3\u20134 is not 34.
    """
    written = _JOINING.sub("-", "".join(map(_plain, _spelled(text))))
    written = re.sub(f"[^{allowed}]", "", written)
    if written != text:
        notes.append(f"the {name} {text!r} is written {written!r}")
    return written


def _spelled(text: str) -> str:
    """A field with the digits of other scripts, and numbers that are one character (\u2163), written as ASCII writes them."""
    return "".join(str(unicodedata.decimal(letter, letter)) for letter in unicodedata.normalize("NFKC", text))


def _hash(title: str, notes: list[str]) -> str:
    """First letters of a title's words; of twelve words or more, those of the first six and the last six."""
    words = [word for word in _BETWEEN_WORDS.split(_unmarked(title, notes)) if word]
    initials = [letter for word in words if word[0].isalnum() and _HASHED.match(letter := _plain(word[0]))]
    if len(initials) < len(words):
        notes.append("words that begin with neither letter nor digit do not count")
    if any(word[0].isalnum() and not word[0].isascii() for word in words):
        notes.append("letters beyond ASCII stand without their accents")
    if "\u2014" in title:
        notes.append("a long dash divides words")
    if len(initials) >= HASHED_WORDS:
        initials = initials[: HASHED_WORDS // 2] + initials[-HASHED_WORDS // 2 :]
    if not initials:
        notes.append("no title with a word that counts: nt")
    return "".join(initials) or "nt"


def _unmarked(title: str, notes: list[str]) -> str:
    """A title without markup. Marks inside words (italics, subscripts) leave no space behind, those between parts of a title one space.

    >>> _unmarked("Cu<sub>2</sub>O &amp; <i>E. coli</i>&lt;subtitle&gt;R(s)<1/2", [])
    'Cu2O & E. coli R(s)<1/2'
    """
    bare = _untagged(_ENTITY.sub(lambda entity: html.unescape(entity.group()), _untagged(title)))
    if bare != title:
        notes.append("markup in the title does not count")
    return bare


def _untagged(text: str) -> str:
    """A text without tags, and without what `_APART` holds, if it ends.

    >>> _untagged('n<p and p>n of <jats:i>A</jats:i><xref rid="f1">1</xref>, <fn>B')
    'n<p and p>n of A ,  B'
    """
    found = [*_TAG.finditer(text)]
    ends = {tag[2]: tag.start() for tag in found if tag[1]}
    begun = {tag[2] for tag in found if not tag[1]}
    tags = [tag for tag in found if _is_markup(tag, begun & ends.keys())]
    kept, place, within = [], 0, ""
    for tag in tags:
        if not within:
            kept += [text[place : tag.start()], " " if _local(tag) in _DIVIDING else ""]
            opened = _local(tag) in _APART and not tag[1] and not tag[4] and ends.get(tag[2], 0) > tag.start()
            within = tag[2] if opened else ""
        elif tag[1] and tag[2] == within:
            within = ""
        place = tag.end()
    return "".join([*kept, text[place:]])


def _is_markup(tag: re.Match[str], paired: Collection[str]) -> bool:
    """Whether it is a tag: known, with a prefix or attributes, empty, or one of two that belong together."""
    return bool(":" in tag[2] or tag[3] or tag[4] or tag[2] in paired or _MARKUP.fullmatch(tag[2]))


def _local(tag: re.Match[str]) -> str:
    return tag[2].rpartition(":")[2].lower()


def _plain(letter: str) -> str:
    """A character in lower case and without accents, one character still.

    >>> "".join(map(_plain, "ÉŞḤй한中ßİ"))
    'eshи한中ßi'
    """
    parts = unicodedata.normalize("NFKD", letter)
    kept = "".join(part for part in parts if not unicodedata.combining(part)) or letter
    return unicodedata.normalize("NFC", kept)[0].lower()[0]

"""Derivation of Scholars Portal labels from the metadata of articles, by the policy and by observed practice.

Rules marked as extensions follow observed URIs, or fill a gap of both policy and practice.
"""

import html
import re
import unicodedata
from collections.abc import Collection, Mapping
from typing import Final

from idstore import spreadsheets, wrapped
from idstore.characters import ascii_lower, printable
from idstore.errors import InvalidData, InvalidIdentifier
from idstore.schemes import Derived
from idstore.schemes._handles import check_characters, split_handle, untracked, unwrap
from idstore.schemes._numbering import first_page, numbered, plain
from idstore.schemes.article_fields import FIELDS, FORMULA, PLACE, check_names

LETTER: Final = (
    "a-z0-9\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u167f\u1681-\u180d"
    "\u180f-\u1fff\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\uffdc"
    "\U00010000-\U0001fffd\U00020000-\U0002fffd\U00030000-\U0003fffd"
)
"""Characters of an article hash, for a character class: a to z, digits, and the non-ASCII characters that may
begin a name in XML 1.0, without spaces."""

HASHED_WORDS: Final = 12

_NO_ISSUE: Final = {"icomplete": "complete", "inone": "none"}
"""The two steps of a label without an issue; metadata may state which of them an article has."""

_WITHOUT_PROTOCOL: Final = re.compile(r"\A(?:(?:dx\.|www\.)?doi\.org/)", re.IGNORECASE)
"""The beginning of an address as it is copied from a page."""
_ESCAPED_FORM: Final = re.compile(r"\A(?:doi:)?(?=10\.[0-9.]+%2F)", re.IGNORECASE)
"""The beginning of a DOI whose every character is written as in an address, the first solidus too."""
_FORM: Final = re.compile(r"(?<=[:/])\s+")
_BARE: Final = re.compile("%(?![0-9A-Fa-f]{2})|[?#]")
"""Characters of a DOI that an address must percent-encode."""
_QUERY: Final = re.compile(r"\?(?=[^?#]*=)")
"""The beginning of a query; a lone ``?`` can belong to a DOI."""
_FRAGMENT: Final = re.compile(r"#[A-Za-z][\w-]*$")
"""What an address says of a place in a page; another ``#`` can belong to a DOI."""
_BETWEEN_ISSNS: Final = re.compile(
    r"[,;|]\s*|(?<!\s)\s++(?:[,;|]\s*|(?=[0-9]{4}-?[0-9]{3}[0-9Xx](?:\s|[,;|]|$)))"
)
_ISSN: Final = re.compile(r"([0-9]{4})[-\u2010-\u2013 ]?([0-9]{3}[0-9Xx])")
_MARKUP: Final = re.compile(
    "a|abbr|abbrev|alternatives|annotation|b|big|bold|br|break|chem-struct|cite|code|del|dfn|em|email|"
    "emph|emphasis|ext-link|fn|font|formula|i|inf|inline|inline-(?:formula|graphic)|ins|it|ital|italic|"
    "kbd|label|li|maligngroup|malignmark|math|menclose|merror|mfenced|mfrac|mi|milestone-(?:end|start)|"
    "mmultiscripts|mn|mo|monospace|mover|mpadded|mphantom|mprescripts|mroot|mrow|ms|mspace|msqrt|mstyle|"
    "msub|msubsup|msup|mtable|mtd|mtext|mtr|munder|munderover|named-content|nobr|none|overline|p|"
    "private-char|q|related-article|roman|rom|ruby|s|samp|sans-serif|sc|scp|semantics|small|smallcaps|"
    "span|strike|strong|styled-content|sub|subscript|subtitle|sup|superscript|tex|tex-math|textual-form|"
    "title|trans-title|tt|u|underline|uri|var|wbr|xref",
    re.IGNORECASE,
)
"""Elements in titles: those of JATS, HTML and MathML, and publishers' own."""
_TAG: Final = re.compile(
    r"<(/?)([A-Za-z][\w:.-]*)((?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>]+))*)\s*(/?)>"
)
"""A possible tag. Groups: end, name, attributes, empty element. A title may also use ``<`` and ``>`` to
compare."""
_APART: Final = frozenset({"fn", "xref"})
"""Elements whose content is not part of the title."""
_DIVIDING: Final = frozenset({*_APART, "br", "break", "p", "subtitle", "title"})
_DASH: Final = re.compile("[\u2010-\u2015\u2212\u00ad]")
"""Signs that programs write instead of a hyphen."""
_ENDING: Final = re.compile("[.,;:!/|+\"'*>\u00b4\u2019\u201d\u00bb\u2026]\\Z")
"""Signs with which a sentence goes on behind a DOI."""
_AS_IN_ADDRESS: Final = re.compile("[?&][A-Za-z_]+=|#[A-Za-z]|%[0-9A-Fa-f]{2}|\ufffd")
"""What an address has behind a DOI, and a character that was lost."""
_ENCLOSED: Final = re.compile(
    '\\[[^\\[\\]]*\\]\\.?|["\'\u00ab\u2018\u201c\u201e][^"\u00ab\u00bb\u201c\u201d]*["\'\u00bb\u2019\u201c\u201d]\\.?|=.*',
    re.DOTALL,
)
"""A title in brackets or quotes, or after an equals sign, without which other sources write it. Its first
word does not count."""
_WITHIN: Final = re.compile("(?<=[0-9])[^0-9\\s](?=[0-9])")
_ENTITY: Final = re.compile("&#?[0-9A-Za-z]{1,32};")
_FORMULA: Final = re.compile(
    r"(?<!\\)\$(?=\S)[^$]*(?<=\S)\$(?![0-9])|\\[(\[]|\\[A-Za-z]+|\\[\"'`^~=.]|\{[^{}]*\}"
    r"|<(?:[\w-]+:)?(?:math|tex-math|inline-formula)\b"
)
"""TeX, or a formula in MathML, in a title. Two prices are no formula."""
_CHARACTER_REFERENCE: Final = re.compile("&(?:lt|gt|amp|quot|apos|#[0-9]{1,32}|#[xX][0-9A-Fa-f]{1,32});")
"""Of HTML: no DOI has one, and some sources write characters of a DOI so."""
_BETWEEN_WORDS: Final = re.compile("[\\s\u2014]+")
_UNSEEN: Final = frozenset({"Cc", "Cf"})
"""Unicode categories of invisible characters."""
_HASHED: Final = re.compile(f"[{LETTER}]")


def derive(metadata: Mapping[str, str], no_issue: str) -> Derived:
    """Return the label of an article, before any resolution of collisions.

    metadata   ``issn`` (of several the first counts), ``volume``, ``issue``, ``page`` (as printed, ranges
               too),
               ``title``, ``subtitle`` and ``doi``; absent or empty if the source has none.
    no_issue   replacement for a missing issue: ``complete`` or ``none``, unless the issue of the metadata is
               ``icomplete`` or ``inone``.

    Raises InvalidData, which names the field.

    >>> burns = {"issn": "0305-4179", "volume": "31", "issue": "4", "page": "530-531"}
    >>> title = "A possible chemical burn to the scalp following hair highlights"
    >>> derive({**burns, "title": title}, "complete")
    Derived(label='03054179/v31i0004/530_apcbttsfhh', extensions=(), doubts=(), irregular=())
    """
    check_names(metadata)
    notes: list[str] = []
    doubts: list[str] = []
    irregular = [
        f"the key {name!r} is not known, and ignored" for name in metadata if name not in (*FIELDS, *PLACE)
    ]
    fields = {
        name: _visible(metadata, name, notes)
        for name in ("issn", "volume", "issue", "page", "title", "subtitle")
    }
    irregular += [
        f"the {name} {_text(metadata, name)!r} has a sign between digits that is not seen"
        for name in ("volume", "issue", "page")
        if any(unicodedata.category(sign) in _UNSEEN for sign in _WITHIN.findall(_text(metadata, name)))
    ]
    for name in ("title", "subtitle"):
        if spreadsheets.says_nothing(fields[name], is_title=name == "title"):
            told = notes if name == "subtitle" else irregular
            told.append(f"the {name} {fields[name]!r} says that there is none")
            fields[name] = ""
    issn = _issn(_first_issn(fields["issn"], doubts), notes, irregular)
    volume = numbered(fields["volume"], "volume", 2, "none", notes, doubts, irregular)
    stated = _NO_ISSUE.get(fields["issue"].lower())
    issue = stated or numbered(fields["issue"], "issue", 4, no_issue, notes, doubts, irregular)
    page = first_page(fields["page"], notes, irregular)
    _doubt_doi(metadata, doubts, irregular)
    if fields["subtitle"] and _ends_with(fields["title"], fields["subtitle"]):
        notes.append("the subtitle stands in the title already, and counts once")
        fields["subtitle"] = ""
    if _ENCLOSED.fullmatch(fields["title"]):
        irregular.append(
            f"the title stands within {fields['title'][0]!r}, so that its first word does not count"
        )
    title = f"{fields['title']} {fields['subtitle']}".strip()
    if _FORMULA.search(title):
        irregular.append(FORMULA)
    unknown = [entity for entity in _ENTITY.findall(title) if html.unescape(entity) == entity]
    if unknown:
        irregular.append(f"the title has {unknown[0]}, which is not known; write the character")
    if "\ufffd" in title:
        irregular.append("the title has U+FFFD, which stands for letters that were lost on the way")
    if fields["subtitle"]:
        notes.append("the subtitle counts as part of the title")
    label = f"{issn}/v{volume}i{issue}/{page}_{_hash(title, notes)}"
    return Derived(label, (*notes, *doubts, *irregular), (*doubts, *irregular), tuple(irregular))


def _ends_with(title: str, subtitle: str) -> bool:
    """Whether a title ends with its subtitle, in any case and with any full stop."""
    return title.casefold().rstrip(" .").endswith((f" {subtitle.casefold()}".rstrip(" ."),))


def doi(metadata: Mapping[str, str]) -> str | None:
    """Return the DOI in canonical form; None if the metadata have none or an invalid one.

    Invisible characters, what people write around an identifier, and a query that only tells where a link was
    found, are no part of it.

    >>> doi({"doi": "https://doi.org/10.1016/S0016-0032(44)90001-X?utm_source=mail"})
    '10.1016/s0016-0032(44)90001-x'
    """
    text = _CHARACTER_REFERENCE.sub(lambda mark: html.unescape(mark[0]), _text(metadata, "doi"))
    text = untracked(_FORM.sub("", wrapped.unwrapped(_seen(text)), count=1))
    text = _ESCAPED_FORM.sub("https://doi.org/", text)
    text = _WITHOUT_PROTOCOL.sub(r"https://\g<0>", text)
    if "://" in text or text[:5].lower() == "info:":
        if _QUERY.search(text) or _FRAGMENT.search(text):
            return None
        text = _BARE.sub(lambda match: f"%{ord(match.group()):02X}", text)
    try:
        excerpt, _ = unwrap(text, "handle")
        prefix, suffix = split_handle(excerpt)
        check_characters(suffix, bmp_only=False)
    except InvalidIdentifier:
        return None
    valid = prefix.startswith("10.") and suffix.text and not re.search(r"\s", excerpt.text)
    return ascii_lower(excerpt.text) if valid else None


def _doubt_doi(metadata: Mapping[str, str], doubts: list[str], irregular: list[str]) -> None:
    """Add what is doubtful about the DOI."""
    written = _text(metadata, "doi")
    if not written:
        return
    known, shown = doi(metadata), printable(written)
    if known is None:
        irregular.append(
            f"the field doi is {written!r}, which is no DOI: the article will not be known by it"
        )
        known = written
    if _seen(written) != written:
        doubts.append(f"characters of the doi {shown} that are not seen do not count")
    if _CHARACTER_REFERENCE.search(written):
        doubts.append(f"the doi {shown} is written in HTML; its characters count")
    if (
        _ENDING.search(known)
        or _AS_IN_ADDRESS.search(known)
        or ("<" in known and "::" not in known)
        or wrapped.ends_unopened(known)
    ):
        irregular.append(f"the doi {shown} ends as if something stood behind it; all of it counts")
    if "\\" in known or not unicodedata.is_normalized("NFC", known) or _DASH.search(known):
        irregular.append(
            f"the doi {shown} has a backslash, a long dash or a letter in two parts, which other sources"
            " write otherwise; all of it counts"
        )


def _first_issn(text: str, doubts: list[str]) -> str:
    """Return the first ISSN of a text."""
    several = dict.fromkeys(part.replace("-", "").lower() for part in _BETWEEN_ISSNS.split(text))
    first = _BETWEEN_ISSNS.split(text)[0]
    if len(several) > 1:
        doubts.append(f"of the ISSNs {', '.join(_BETWEEN_ISSNS.split(text))} the first is used")
    return first


def _text(metadata: Mapping[str, str], name: str) -> str:
    value: object = metadata.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidData(
            f"the field {name} is {value!r}; write it as text, in quotes", field=name, value=value
        )
    return value.strip()


def _visible(metadata: Mapping[str, str], name: str, notes: list[str]) -> str:
    """Return a field without invisible characters, such as soft hyphens and zero-width spaces."""
    text = _text(metadata, name)
    if text.isprintable():
        return text
    visible = _seen(text)
    if visible != text:
        notes.append(f"characters of the {name} that are not seen do not count")
    return visible


def _seen(text: str) -> str:
    """Return a text without invisible characters, and without white space around it."""
    return "".join(
        letter for letter in text if letter.isspace() or unicodedata.category(letter) not in _UNSEEN
    ).strip()


def _issn(text: str, notes: list[str], irregular: list[str]) -> str:
    if not text:
        raise InvalidData(
            "the metadata have no issn, and the label begins with it; add the field issn", field="issn"
        )
    form = _ISSN.fullmatch(text)
    if form is None:
        raise InvalidData(
            f"the field issn is {text!r}; write an ISSN as 1936-0851 or 0033-295X", field="issn", value=text
        )
    issn = (form[1] + form[2]).lower()
    if issn.endswith("x"):
        notes.append("the ISSN's X is written in lower case")
    if (
        sum(
            weight * (10 if digit == "x" else int(digit))
            for weight, digit in zip(range(8, 0, -1), issn, strict=True)
        )
        % 11
    ):
        irregular.append(f"the ISSN {text} is used although its check digit is wrong")
    return issn


def _hash(title: str, notes: list[str]) -> str:
    """Return the initials of a title's words: the first six and the last six of twelve or more."""
    words = [word for word in _BETWEEN_WORDS.split(_unmarked(title, notes)) if word]
    initials = [letter for word in words if word[0].isalnum() and _HASHED.match(letter := plain(word[0]))]
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
    """Return a title without markup. An element between parts of a title becomes a space, others leave none.

    >>> _unmarked("Cu<sub>2</sub>O &amp; <i>E. coli</i>&lt;subtitle&gt;R(s)<1/2", [])
    'Cu2O & E. coli R(s)<1/2'
    """
    bare = _untagged(_ENTITY.sub(lambda entity: html.unescape(entity.group()), _untagged(title)))
    if bare != title:
        notes.append("markup in the title does not count")
    return bare


def _untagged(text: str) -> str:
    """Return a text without tags, and without the content of closed elements of `_APART`.

    >>> _untagged('n<p and p>n of <jats:i>A</jats:i><xref rid="f1">1</xref>, <fn>B')
    'n<p and p>n of A ,  B'
    """
    candidates = [*_TAG.finditer(text)]
    ends = {tag[2]: tag.start() for tag in candidates if tag[1]}
    starts = {tag[2] for tag in candidates if not tag[1]}
    tags = [tag for tag in candidates if _is_markup(tag, starts & ends.keys())]
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
    """Whether a match is a tag: known, with prefix or attributes, empty, or one of a pair."""
    return bool(":" in tag[2] or tag[3] or tag[4] or tag[2] in paired or _MARKUP.fullmatch(tag[2]))


def _local(tag: re.Match[str]) -> str:
    return tag[2].rpartition(":")[2].lower()

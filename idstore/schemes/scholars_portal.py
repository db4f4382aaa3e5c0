"""Scholars Portal URIs: names of journal articles, derived from their place of publication and their title.

``ISSN/vVOLUMEiISSUE/PAGE_HASH``, where the hash consists of the initials of the title's words; ``_1``,
``_2``, ... resolve collisions, ``_old1``, ... mark replaced copies. Files and events are named below their
article, by the milliseconds since 1970.
Source: Scholars Portal URI and File Naming Policy, version 0.3, 2011-09-20.

>>> str(parse("/00160032/v238i0003/224_br_1"))
'00160032/v238i0003/224_br_1'
>>> parse("http://journals2.scholarsportal.info/details.xqy?uri=/03054179/v31i0004/530_apcbt.xml").article
'530_apcbt'
>>> parse("/00928674/v137i0002/308_aceldcgibrem/pdf_fulltext/1303399300907").below
'pdf_fulltext/1303399300907'
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from types import MappingProxyType
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.remedies import Remedy
from idstore.schemes import Allocation, Context, Derived, LabelRelations, Rule, Scheme, WrittenForm
from idstore.schemes import _articles as articles
from idstore.schemes._articles import HASHED_WORDS, LETTER
from idstore.schemes._base import SchemeBase, moments
from idstore.schemes._numbering import FIELD, unpadded
from idstore.schemes._text import Excerpt, check_base
from idstore.schemes.settings import choice, with_defaults
from idstore.vocabulary import IDS

NAME: Final = "scholars-portal"
KINDS: Final[Mapping[str, str]] = {"pdf": "pdf_fulltext/", "xml": "xml_fulltext/", "file": "", "event": ""}
"""Kinds of identifiers below an article, each with the prefix of its time."""

_ADDRESS: Final = re.compile(r"https?://(?=[^/?#]*scholarsportal[.-]info)[^/?#]*+/", re.IGNORECASE | re.ASCII)
_ISSN_STEP: Final = re.compile(
    "(?<=[/=])[0-9]{7}[0-9x](?=/|%2F)|(?<=%2F)[0-9]{7}[0-9x](?=/|%2F)", re.IGNORECASE | re.ASCII
)
_WEB: Final = "https://journals.scholarsportal.info/details/"
_OWN_ADDRESS: Final = re.compile(r"details(?:/|\.xqy\?uri=(?:/|%2F))", re.IGNORECASE)
"""The beginning of an article's addresses under the base of its namespace."""
_POLICY_WEB: Final = "http://journals2.scholarsportal.info/details.xqy?uri=/"

_ISSN: Final = "[0-9]{7}[0-9x]"
_SIGN: Final = "a-hj-z.,:()_"
_OTHER: Final = f"-{_SIGN}"
"""Characters of volume and issue that are neither digits nor i, for a character class.

`_SIGN` is without ``-``.
"""
_VOLUME: Final = f"([0-9]{{2}}|[1-9][0-9]{{2,}}|(i|[0-9]*[{_OTHER}])[{_OTHER}0-9]*)"
_UNPADDED: Final = "(0|[1-9][0-9]*)"
_COMBINED: Final = f"{_UNPADDED}(-{_UNPADDED})+"
_NO_NUMBERS: Final = f"[-0-9]*[{_SIGN}i][{_OTHER}0-9i]*|-[-0-9]*|[0-9]+(-[0-9]+)*-(-[-0-9]*)?"
"""An issue that is neither a number nor combined numbers: another character, or a ``-`` that joins none."""
_NUMBER: Final = f"([0-9]{{4}}|[1-9][0-9]{{4,}}|{_COMBINED}|{_NO_NUMBERS})"
_ISSUE: Final = f"v{_VOLUME}i{_NUMBER}"
"""Numbers have no other padding than the policy's, and numbers of combined issues have none, so that an
article has one label. The issue begins at the first i after the volume's first character, so that no engine
must try each i."""
_ANY_ISSUE: Final = re.compile(f"v([{_OTHER}0-9i][{_OTHER}0-9]*)i([{_OTHER}0-9i]+)")
"""Volume and issue with any padding."""
_VOLUME_WIDTH: Final = 2
_ISSUE_WIDTH: Final = 4

_ARTICLE: Final = f"[{FIELD}]+_[{LETTER}]{{1,{HASHED_WORDS}}}(_[1-9][0-9]*)?(_old[1-9][0-9]*)?"
_ARTICLE_FORM: Final = re.compile(
    f"(?P<derived>[^/]+/[^/]+/[{FIELD}]+_[{LETTER}]{{1,{HASHED_WORDS}}})(_[1-9][0-9]*)?"
    "(?P<old>_old[1-9][0-9]*)?"
)
_BELOW: Final = "((pdf|xml)_fulltext/)?[0-9]{12,13}"

_BELOW_BEGUN: Final = "|".join(
    f"{kind}_fulltext/"[:length] for length in range(len("pdf_fulltext/"), 0, -1) for kind in ("pdf", "xml")
)

_STEPS: Final = tuple(
    (re.compile(whole), re.compile(beginning), what)
    for whole, beginning, what in (
        (_ISSN, "[0-9]{7}[0-9x]|[0-9]*", "an ISSN: eight digits, of which the last may be x"),
        (_ISSUE, f"(v[{FIELD}_]*)?", "the volume after a v and the issue after an i, in lower case"),
        (
            _ARTICLE,
            (
                f"([{FIELD}]+(_([{LETTER}]{{1,{HASHED_WORDS}}}(_[1-9][0-9]*)?"
                "(_(o(l(d([1-9][0-9]*)?)?)?)?)?)?)?)?"
            ),
            (
                f"first page, '_', up to {HASHED_WORDS} first letters in lower case,"
                " then _1 for a collision and _old1 for a replaced copy"
            ),
        ),
        (
            _BELOW,
            f"(pdf|xml)_fulltext/[0-9]{{0,13}}|[0-9]{{1,13}}|{_BELOW_BEGUN}",
            "a time of 12 or 13 digits, for full texts after pdf_fulltext/ or xml_fulltext/",
        ),
    )
)
"""For each step of a label: its pattern, a pattern for beginnings of such a step, and its description."""


@dataclass(frozen=True, slots=True, order=True)
class ArticleIdentifier:
    """The steps of a label.

    issn     eight characters, without a hyphen.
    issue    volume and issue.
    article  page, hash and their suffixes.
    below    name of a file or event of the article; empty for the article itself.
    """

    issn: str
    issue: str
    article: str
    below: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.issn, self.issue, self.article, self.below)))


def parse(text: str) -> ArticleIdentifier:
    """Read a label, with optional initial ``/`` and final ``.xml``, or a public address.

    Raises InvalidIdentifier.
    """
    return _identifier(_excerpt(text, ""))


def written_key(text: str) -> str | None:
    """Return the comparison key of an article in a public address, as an IRI; None for other texts."""
    try:
        return f"{_WEB}{parse(text)}" if _ADDRESS.match(text) else None
    except InvalidIdentifier:
        return None


class ScholarsPortal(SchemeBase):
    """See `Scheme`, `Deriving`, `Hosted`.

    Setting: ``no_issue``, replacement of a missing issue (``complete`` or ``none``).
    """

    name = NAME
    title = "Scholars Portal URIs of journal articles"
    identifier_class = IDS.ArticleIdentifier.value
    defaults: Mapping[str, str] = MappingProxyType({"no_issue": "complete"})
    adjustable = ("no_issue",)
    chosen = False
    kinds = KINDS
    example = "/19360851/v04i0010/6153_dsognooinira"

    def context(self, base: str, settings: Mapping[str, str]) -> Context:
        """See `Scheme`."""
        check_base(base, "/", "http://journals.example.org/")
        full = with_defaults(self.defaults, settings)
        full["no_issue"] = choice(full, "no_issue", "complete", "none")
        return Context(base, full)

    def parse(self, text: str) -> ArticleIdentifier:
        """See `Scheme`."""
        return parse(text)

    def label(self, text: str, context: Context) -> str:
        """See `Scheme`."""
        return str(_identifier(_excerpt(text, context.base)))

    def uniform(self, context: Context) -> bool:  # noqa: ARG002 - the same for all namespaces
        """See `Uniform`."""
        return True

    def written_forms(self, label: str, context: Context) -> tuple[WrittenForm, ...]:
        """See `Scheme`."""
        forms = (
            WrittenForm("uri", self.iri(label, context)),
            WrittenForm("policy", f"/{label}"),
            WrittenForm("bare", label),
        )
        if parse(label).below:
            return forms
        own = (
            ()
            if _ADDRESS.match(context.base)
            else (
                WrittenForm("own-web", f"{context.base}details/{label}.xml"),
                WrittenForm("own-details", f"{context.base}details.xqy?uri=/{label}.xml"),
            )
        )
        web = WrittenForm("web", f"{_WEB}{label}.xml"), WrittenForm("details", f"{_POLICY_WEB}{label}.xml")
        return *forms, *own, *web

    def hosted_bases(self, context: Context) -> tuple[str, ...]:  # noqa: ARG002 - the same for all namespaces
        """See `Hosted`: the public web site."""
        return (_WEB,)

    def rules(self, settings: Mapping[str, str]) -> tuple[Rule, ...]:  # noqa: ARG002 - settings do not matter
        """See `Scheme`."""
        form = f"^{_ISSN}/{_ISSUE}/{_ARTICLE}(/{_BELOW})?$"
        message = (
            "A label is ISSN/vVOLUMEiISSUE/PAGE_HASH, in lower case, with numbers of volume and issue padded"
            " to two and four digits, those of combined issues (3-4) not padded, and what follows an"
            " article's label is a file or an event of it."
        )
        characters = "A label has only lower-case letters, digits and - . , : ( ) _ /."
        return (
            Rule(
                "characters",
                "Characters",
                characters,
                (f"[^{FIELD}_/{LETTER}]",),
                forbidden=True,
                fixed=True,
            ),
            Rule("form", "Form", message, (form,), fixed=True),
        )

    def derive(self, metadata: Mapping[str, str], context: Context) -> Derived:
        """See `Deriving`."""
        return articles.derive(metadata, context.settings["no_issue"])

    def same(self, metadata: Mapping[str, str]) -> str | None:
        """See `Deriving`: the DOI."""
        return articles.doi(metadata)

    def original(self, label: str) -> str:
        """See `Deriving`: without ``_1``, ``_2``, ...

        Raises InvalidData for an old copy, a file or an event.
        """
        form = _ARTICLE_FORM.fullmatch(label)
        if form is None or form["old"]:
            what = "an old copy" if form else "a file or an event"
            raise InvalidData(f"{label} is {what} of an article; replace the article itself", label=label)
        return form["derived"]

    def old_copies(self, label: str, context: Context) -> Iterator[str]:  # noqa: ARG002 - for other schemes
        """See `Deriving`: ``_old1``, ``_old2``, ...

        after the label of an article. Raises InvalidData otherwise.
        """
        self.original(label)
        return (f"{label}_old{number}" for number in count(1))

    def relations(self, label: str) -> LabelRelations:
        """See `Deriving`.

        >>> ScholarsPortal().relations("03921921/v30i0119/1_tmotu_old1").replaced_by
        '03921921/v30i0119/1_tmotu'
        """
        below = parse(label).below
        if below:
            kinds = (kind for kind, beginning in KINDS.items() if beginning and below.startswith(beginning))
            return LabelRelations(below=label.removesuffix(f"/{below}"), kind=next(kinds, None))
        form = _ARTICLE_FORM.fullmatch(label)
        old = form["old"] if form else None
        return LabelRelations(replaced_by=label.removesuffix(old) if old else None)

    def candidates(self, allocation: Allocation) -> Iterator[str]:
        """See `Scheme`: the derived label, then ``_1``, ``_2``, ... after it.

        With ``parent`` (an article) and ``kind`` (one of KINDS) in the metadata: labels below the article.
        """
        if "parent" in allocation.metadata:
            yield from self._below(allocation)
        if not allocation.metadata:
            raise InvalidData(
                "these identifiers are derived from the metadata of an article; provide the metadata",
                field="issn",
                remedy=Remedy.GIVE_METADATA,
            )
        label = self.derive(allocation.metadata, allocation.context).label
        yield label
        for number in count(1):
            yield f"{label}_{number}"

    def _below(self, allocation: Allocation) -> Iterator[str]:
        kind = allocation.metadata.get("kind", "")
        if kind not in KINDS:
            reason = f"there is no kind {kind!r} below an article; use {', '.join(KINDS)}"
            raise InvalidData(reason, field="kind", value=kind)
        parent = self.label(allocation.metadata["parent"], allocation.context)
        if parse(parent).below:
            raise InvalidData(
                f"{parent} is not an article; use the article that it belongs to",
                field="parent",
                value=parent,
            )
        for moment in moments(allocation):
            yield f"{parent}/{KINDS[kind]}{moment:012}"


def _excerpt(text: str, base: str) -> Excerpt:
    """Return the label in a written form.

    Raises InvalidIdentifier for an address outside both the base and Scholars Portal.
    """
    address = _ADDRESS.match(text)
    step = _ISSN_STEP.search(text, address.end() - 1) if address else None
    if step is not None:
        tail = re.search("[?&#]", text[step.start() :])
        excerpt = Excerpt.decoded(text, step.start(), NAME, step.start() + tail.start() if tail else None)
    elif base and text.startswith(base):
        own = _OWN_ADDRESS.match(text, len(base))
        tail = re.search("[?&#]", text[own.end() :]) if own else None
        end = own.end() + tail.start() if own and tail else None
        excerpt = Excerpt.decoded(text, own.end() if own else len(base), NAME, end)
    elif "://" in text:
        raise InvalidIdentifier(
            text,
            f"it is not an article's address at Scholars Portal{f', nor under {base}' if base else ''}",
            0,
            NAME,
        )
    else:
        start = 1 if text.startswith("/") else 0
        excerpt = Excerpt(text, text[start:], start, NAME)
    return excerpt.before(len(excerpt.text) - len(".xml")) if excerpt.text.endswith(".xml") else excerpt


def _identifier(excerpt: Excerpt) -> ArticleIdentifier:
    """Return the steps of a label. Raises InvalidIdentifier."""
    steps = excerpt.text.split("/", 3)
    place = 0
    for step, (whole, beginning, what) in zip(steps, _STEPS, strict=False):
        if not whole.fullmatch(step):
            _check_padding(excerpt, step, place)
            prefix = beginning.match(step)
            fits = prefix.end() if prefix else 0
            trouble = f"{step[fits]!r} cannot stand here" if fits < len(step) else "the step ends too soon"
            raise excerpt.error(f"{trouble}; it is {what}", place + fits)
        place += len(step) + 1
    if len(steps) < len(_STEPS) - 1:
        raise excerpt.error(
            f"it ends too soon; '/' must follow and {_STEPS[len(steps)][2]}", len(excerpt.text)
        )
    return ArticleIdentifier(*steps)


def _check_padding(excerpt: Excerpt, step: str, place: int) -> None:
    """Raise InvalidIdentifier if a step is volume and issue with other padding than the policy's."""
    match = _ANY_ISSUE.fullmatch(step)
    if match is None:
        return
    volume, issue = _padded(match[1], _VOLUME_WIDTH), unpadded(_padded(match[2], _ISSUE_WIDTH))
    wrong = 1 if volume != match[1] else 2
    raise excerpt.error(
        "a volume's number is padded to two digits and an issue's to four, no further, and those of combined"
        f" issues are not padded; it is written v{volume}i{issue}",
        place + match.start(wrong),
    )


def _padded(text: str, width: int) -> str:
    return (text.lstrip("0") or "0").zfill(width) if text.isdigit() else text


SCHEME: Final[Scheme] = ScholarsPortal()

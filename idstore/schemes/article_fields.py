"""Names of the metadata fields of an article, and other words for them.

A field under another name would silently give another identifier, so these names are refused: one that
differs from a field only in case (``Issn``), and, if that field is absent, another word for it (``vol``,
``pages``) or a misspelling (``volum``).
"""

import re
from collections.abc import Mapping
from typing import Final

from idstore.errors import InvalidData

FIELDS: Final = ("issn", "volume", "issue", "page", "title", "subtitle", "doi", "key", "type")
"""``issn`` may list several, the one to use first. ``key`` is the caller's own key for the article. ``type``
selects the type of identifier in a scheme that has several (``x-fmt``)."""
PLACE: Final = ("parent", "kind")
"""Fields that say below which identifier another one is, and what it is there."""
FORMULA: Final = "the title has TeX or a formula, whose words differ from source to source"
"""What is doubtful about such a title."""

_WORDS: Final[Mapping[str, str]] = {
    "vol": "volume",
    "no": "issue",
    "nr": "issue",
    "num": "issue",
    "number": "issue",
    "pp": "page",
    "pages": "page",
    "firstpage": "page",
    "startpage": "page",
    "fpage": "page",
    "spage": "page",
    "articletitle": "title",
    "titel": "title",
    "volum": "volume",
    "eissn": "issn",
    "pissn": "issn",
    "issnonline": "issn",
    "issnprint": "issn",
    "onlineissn": "issn",
    "printissn": "issn",
    "volumenumber": "volume",
    "volumeno": "volume",
    "issuenumber": "issue",
    "issueno": "issue",
    "pagenumber": "page",
    "pagerange": "page",
    "pagestart": "page",
    "startingpage": "page",
    "beginningpage": "page",
    "doilink": "doi",
    "doiurl": "doi",
    **{field: field for field in FIELDS},
}
"""Other words and spellings for fields, in lower case without separators."""


UNUSED_NUMBERING: Final = frozenset(
    {"supplement", "suppl", "part", "articlenumber", "articleno", "eid", "series", "elocationid"}
)
"""Names, in lower case without separators, of what numbers an article and is no part of its label."""


def bare(name: str) -> str:
    """Return a name in lower case, without separators."""
    return re.sub(r"[\s_-]", "", name.lower())


def meant(name: str) -> str | None:
    """Return the field that a name stands for; None if it is no other word for one."""
    return _WORDS.get(bare(name))


def check_names(metadata: Mapping[str, object]) -> None:
    """Raise InvalidData for a name that stands in the place of a field."""
    for key in metadata.keys() - set(FIELDS):
        field = meant(key)
        if field is None:
            continue
        if key.strip().lower() == field or (metadata.get(field) is None and metadata[key] not in (None, "")):
            raise InvalidData(
                f"the key {key!r} is not known; write {field!r}", field=key, value=metadata[key]
            )

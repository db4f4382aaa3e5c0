"""Columns that may deny mappings: names that resemble ``predicate_modifier`` of SSSOM.

If such a column is passed over, the rows that it denies are bound as true.

>>> [resembles_modifier(name) for name in ("predicateModifier", "modifer", "modified", "predicate_id")]
[True, True, False, False]
"""

import re
import unicodedata
from difflib import get_close_matches
from typing import Final

MODIFIER: Final = "predicate_modifier"

_WORD: Final = "modifier"
_JOINED: Final = MODIFIER.replace("_", "")
_CODIFIER: Final = "codifier"
"""Another word that is similar; others, such as ``modified``, do not end as ``modifier`` does."""
_SIMILARITY: Final = 0.85
"""The least similarity (`difflib.SequenceMatcher.ratio`) of a misspelling: about two letters differ."""
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN_WORDS: Final = re.compile(r"[\W_]+")


def resembles_modifier(name: str) -> bool:
    """Return whether a name is, or misspells, ``predicate_modifier``, or has a word ``modifier``.

    Case, accents, invisible characters and the separators of words do not count.
    """
    words = _words(name)
    joined = "".join(words)
    return _WORD in joined or _is_similar(joined, _JOINED) or any(map(_misspells_word, words))


def _misspells_word(word: str) -> bool:
    return word.endswith(("r", "rs")) and word != _CODIFIER and _is_similar(word, _WORD)


def _is_similar(text: str, name: str) -> bool:
    return bool(get_close_matches(text, [name], 1, _SIMILARITY))


def _words(name: str) -> list[str]:
    r"""Return the words of a name, folded.

    >>> _words("Last-Modifié\u200bBy user_ID")
    ['last', 'modifie', 'by', 'user', 'id']
    """
    shown = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    parts = unicodedata.normalize("NFKD", shown)
    bare = "".join(part for part in parts if not unicodedata.combining(part))
    return [word for word in _BETWEEN_WORDS.split(_CAMEL.sub(" ", bare).casefold()) if word]

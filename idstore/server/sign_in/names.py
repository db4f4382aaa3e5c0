"""The names of parties that sign in elsewhere: one name for a party, however it is typed."""

import unicodedata
from typing import Final

from idstore.errors import InvalidData
from idstore.model.party import Party

_LONGEST: Final = 128


def canonical(text: str) -> str | None:
    r"""Return the party's name that a typed name stands for, None if none can be meant.

    It is in lower case and in Unicode's form NFKC, so that each way of typing a name gives the same party.

    >>> canonical("Alice"), canonical("\uff21lice"), canonical("alice "), canonical("alice)(uid=*")
    ('alice', 'alice', None, None)
    """
    if len(text) > _LONGEST:
        return None
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).lower())
    try:
        return Party(folded).name
    except InvalidData:
        return None

"""ORCID iDs as people write them; the check digit is that of ISO 7064, MOD 11-2.

Source of the valid one: https://orcid.org/0000-0002-1825-0097, ORCID's own example.
"""

import pytest

from idstore.errors import InvalidData
from idstore.model.orcid import normal

VALID = "https://orcid.org/0000-0002-1825-0097"


@pytest.mark.parametrize(
    "text", ["0000-0002-1825-0097", "0000\u20130002\u20131825\u20130097", "ORCID 0000-0002-1825-0097", VALID]
)
def test_an_orcid_id_has_one_form(text: str) -> None:
    assert normal(text) == VALID


@pytest.mark.parametrize(
    "text",
    [
        "0000-0002-1825-009", "0000-0002-1825-0098", "0000\u20130002\u20131825\u20130098",
        "orcid 0000-0002-1825-0098", "Jane Doe 0000-0002-1825-0098", "Jane Doe (0000-0002-1825-009)",
    ],
)  # fmt: skip
def test_a_misspelt_one_is_refused_wherever_it_stands(text: str) -> None:
    with pytest.raises(InvalidData, match="is no ORCID iD"):
        normal(text)


@pytest.mark.parametrize("text", ["Jane Doe (0000-0002-1825-0097)", "Ada Lovelace", "Ada, +49 30 1234-5678"])
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert normal(text) == text

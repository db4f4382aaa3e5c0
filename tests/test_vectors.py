"""Published examples, and the answer of each scheme."""

import pytest
from tables import VECTORS, rows

from idstore.errors import InvalidIdentifier
from idstore.schemes import installed


def vectors() -> list[tuple[str, str, str]]:
    return [
        (name, row["text"], row["expected"]) for name in installed() for row in rows(VECTORS / f"{name}.tsv")
    ]


def test_every_vector_has_a_source() -> None:
    assert all(row["source"] for path in VECTORS.glob("*.tsv") for row in rows(path))


@pytest.mark.parametrize(("scheme", "text", "expected"), vectors())
def test_published_example(scheme: str, text: str, expected: str) -> None:
    try:
        answer = str(installed()[scheme].parse(text))
    except InvalidIdentifier as error:
        answer = error.code
    assert answer == expected

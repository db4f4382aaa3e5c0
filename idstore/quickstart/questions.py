"""Three questions to a registry, in SPARQL."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from idstore.model.party import Party
from idstore.quickstart import Story, Told

VISITOR: Final = Party("visitor")
"""Who asks: somebody who sees what is public."""
_SHOWN: Final = 4

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question: the file in ``idstore/queries`` that asks it, what its rows are, and one of them in words."""

    file: str
    rows: str
    words: Callable[[Row], str]


def ask(story: Story) -> Told:
    """Ask the questions, and tell the first answers."""
    figures: dict[str, int] = {}
    lines: list[str] = []
    for question in QUESTIONS:
        text = files("idstore.queries").joinpath(question.file).read_text(encoding="utf-8")
        rows = _rows(story, text)
        figures[question.rows] = len(rows)
        lines.append(text.partition("\n")[0].removeprefix("# "))
        lines += [f"  {question.words(row)}" for row in rows[:_SHOWN]]
    return Told(figures, lines)


def _rows(story: Story, text: str) -> list[Row]:
    with story.registry.query(text, VISITOR, "json") as answer:
        found = json.load(answer.stream)["results"]["bindings"]
    return [{name: term["value"] for name, term in row.items()} for row in found]


def _claimed(row: Row) -> str:
    return f"{row['entry']} by {row['claims']}: {row['names']}"


def _shared(row: Row) -> str:
    return f"{row['mediaType'].rpartition('media-types/')[2]} by {row['formats']} formats, from {row['first']} to {row['last']}"


def _allocated(row: Row) -> str:
    return f"{row['day']} {row['party']}: {row['allocated']} in {row['namespace']}"


QUESTIONS: Final = (
    Question("claimed-twice.rq", "entries claimed twice", _claimed),
    Question("shared-media-types.rq", "shared media types", _shared),
    Question("allocations.rq", "allocators by day and namespace", _allocated),
)
"""The questions."""

"""Three SPARQL queries to a registry."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from idstore.model.party import Party
from idstore.quickstart import StepResult, Story

VISITOR: Final = Party("visitor")
"""The party of the queries, which sees only public data."""
_SHOWN: Final = 4

Row = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its file in ``idstore/queries``, a name for its rows, and a description of a row."""

    file: str
    rows: str
    words: Callable[[Row], str]


def ask(story: Story) -> StepResult:
    """Run the queries; the lines hold the first rows of each answer."""
    figures: dict[str, int] = {}
    lines: list[str] = []
    for question in QUESTIONS:
        text = files("idstore.queries").joinpath(question.file).read_text(encoding="utf-8")
        rows = _rows(story, text)
        figures[question.rows] = len(rows)
        lines.append(text.partition("\n")[0].removeprefix("# "))
        lines += [f"  {question.words(row)}" for row in rows[:_SHOWN]]
    return StepResult(figures, lines)


def _rows(story: Story, text: str) -> list[Row]:
    with story.registry.query(text, VISITOR, "json") as answer:
        rows = json.load(answer.stream)["results"]["bindings"]
    return [{name: term["value"] for name, term in row.items()} for row in rows]


def _claimed(row: Row) -> str:
    return f"{row['entry']} by {row['claims']}: {row['names']}"


def _shared(row: Row) -> str:
    name = row["mediaType"].rpartition("media-types/")[2]
    return f"{name} by {row['formats']} formats, from {row['first']} to {row['last']}"


def _allocated(row: Row) -> str:
    return f"{row['day']} {row['party']}: {row['allocated']} in {row['namespace']}"


QUESTIONS: Final = (
    Question("claimed-twice.rq", "entries claimed twice", _claimed),
    Question("shared-media-types.rq", "shared media types", _shared),
    Question("allocations.rq", "allocators by day and namespace", _allocated),
)
"""The questions."""

"""Decisions of a curator in words, for people who were not there."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from html import escape
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Final

from idstore.errors import AmbiguousIdentifier, ExchangeError, InvalidData, InvalidIdentifier, NotRegistered
from idstore.exchange import mappings
from idstore.exchange.bad_lines import Malformed
from idstore.exchange.mapping_rows import MappingRow
from idstore.reconciliation.labels import Label, fitted, labelled, short

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry

TITLES: Final[Mapping[str, str]] = {
    "removed": "Links removed",
    "changed": "Links changed",
    "added": "Links added",
    "kept": "Links kept",
}
"""Outcome of a decision → heading, in the order of a summary."""
HEADING: Final = "What was decided"
_NOTE: Final = 80
"""Most characters of a note in a summary in text."""
SHOWN: Final = 10
"""Decisions of each outcome that a summary in text lists."""
_UNKNOWN: Final = (NotRegistered, AmbiguousIdentifier, InvalidIdentifier, InvalidData)
"""Errors of a look-up that only tell that an end is no identifier of the registry, or hidden."""
_OUTCOMES: Final = {"keep": "kept", "unbind": "removed", "bind": "added", "": "added"}


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about a link.

    outcome  a key of `TITLES`.
    before   of a changed link the relation that it had.
    note     why, in words; empty if the file does not say it.
    """

    outcome: str
    subject: str
    relation: str
    target: str
    before: str = ""
    note: str = ""


@dataclass(slots=True)
class Summary:
    """The decisions of a file.

    decisions  in the order of the file.
    authors    who decided, as far as the file says.
    names      the names of identifiers and targets that the file or a registry gives.
    malformed  lines that cannot be read.
    """

    decisions: list[Decision] = field(default_factory=list)
    authors: dict[str, None] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    malformed: list[Malformed] = field(default_factory=list)

    @property
    def heading(self) -> str:
        """Who decided, and the number of decisions of each outcome, in words."""
        counts = Counter(decision.outcome for decision in self.decisions)
        numbers = ", ".join(f"{counts[outcome]} {outcome}" for outcome in TITLES if outcome in counts)
        by = f" by {', '.join(self.authors)}" if self.authors else ""
        return f"{HEADING}{by}: {numbers or 'nothing'}"

    def grouped(self, most: int | None = None) -> Iterator[tuple[str, list[Decision], int]]:
        """Yield the heading of each outcome, its first decisions, and the number of the others."""
        for outcome, title in TITLES.items():
            group = [decision for decision in self.decisions if decision.outcome == outcome]
            if group:
                yield title, group[:most], len(group[most:]) if most is not None else 0

    def name(self, iri: str) -> str:
        """Return the name of an identifier or target; empty if none is known."""
        return self.names.get(iri, "")

    def look_up(self, registry: "Registry", party: "Party", most: int | None, language: str) -> None:
        """Add the names, as the party sees them, of identifiers that the file does not name.

        most      the number of decisions of each outcome that are shown; None: all.
        language  the language of names, where there are some in it.
        Cost: one look-up for each.
        """
        shown = [decision for _, decisions, _ in self.grouped(most) for decision in decisions]
        for iri in dict.fromkeys(end for one in shown for end in (one.subject, one.target)):
            if iri not in self.names:
                try:
                    record = registry.show(iri, party)
                except _UNKNOWN:
                    continue
                names = dict(record.names)
                self.names[iri] = names.get(language.lower(), next(iter(names.values()), ""))


def read(file: Path, format: str) -> Summary:
    """Read a file of decisions: a table of mappings with a column ``action``.

    To remove a link and to add another one between the same ends, in any order, is one: to change it.
    Raises ExchangeError: it is no such table.
    """
    summary = Summary()
    single: dict[tuple[str, str], int] = {}
    with mappings.read(file, format) as reading:
        if "action" not in reading.columns:
            raise ExchangeError(str(file), 1, "it has no column action, so that it decides nothing")
        for row in reading.rows:
            if isinstance(row, Malformed):
                summary.malformed.append(row)
            elif row.denial is not None or row.action not in _OUTCOMES:
                reason = row.denial or f"{row.action!r} is not an action; write bind, unbind or keep"
                summary.malformed.append(Malformed(row.line, reason))
            else:
                _add(summary, row, single)
    return summary


def _add(summary: Summary, row: MappingRow, single: dict[tuple[str, str], int]) -> None:
    """Add the decision of a row. ``single`` has the places of links without counterpart so far, by ends."""
    ends = (row.subject, row.target)
    summary.authors |= dict.fromkeys(row.authors)
    summary.names |= {iri: name for iri, name in zip(ends, (row.name, row.target_name), strict=True) if name}
    decision = Decision(_OUTCOMES[row.action], row.subject, row.relation, row.target, note=row.note)
    place = single.get(ends, len(summary.decisions))
    pair = {one.outcome: one for one in (*summary.decisions[place : place + 1], decision)}
    if pair.keys() == {"removed", "added"}:
        del single[ends]
        before, added = pair["removed"], pair["added"]
        notes = dict.fromkeys(filter(None, (before.note, added.note)))
        summary.decisions[place] = replace(
            added, outcome="changed", before=before.relation, note="; ".join(notes)
        )
        return
    if decision.outcome in ("removed", "added"):
        single[ends] = len(summary.decisions)
    summary.decisions.append(decision)


def lines(summary: Summary) -> Iterator[str]:
    """Yield the summary as lines that are safe to print; see `labels.fitted`."""
    return fitted(partial(_lines, summary), summary.name)


def _lines(summary: Summary, label: Label) -> Iterable[str]:
    yield summary.heading
    for title, decisions, more in summary.grouped(SHOWN):
        yield title
        for decision in decisions:
            why = f": {shorten(decision.note, _NOTE, placeholder='…')}" if decision.note else ""
            yield f"  {_sentence(decision, label)}{why}"
        if more:
            yield f"  and {more} more; --json lists all"


def _sentence(decision: Decision, label: Label) -> str:
    instead = f", instead of {short(decision.before)}" if decision.before else ""
    return f"{label(decision.subject)} {short(decision.relation)} {label(decision.target)}{instead}"


def json(summary: Summary) -> Sequence[Mapping[str, object]]:
    """Return each decision as an object, without empty fields."""
    fields = (
        {
            "decided": decision.outcome,
            "id": decision.subject,
            "relation": decision.relation,
            "before": decision.before,
            "note": decision.note,
            "target": decision.target,
            "names": {
                iri: name for iri in (decision.subject, decision.target) if (name := summary.name(iri))
            },
            "authors": [*summary.authors],
        }
        for decision in summary.decisions
    )
    return [{key: value for key, value in one.items() if value} for one in fields]


def page(summary: Summary) -> str:
    """Return the whole summary as an HTML page without scripts, which loads nothing."""
    label = partial(labelled, summary.name)
    sections = []
    for title, decisions, _ in summary.grouped():
        items = "\n".join(f"<li>{_item(decision, label)}</li>" for decision in decisions)
        sections.append(f"<h2>{title}</h2>\n<ul>\n{items}\n</ul>")
    body = "\n".join(sections)
    return f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{HEADING}</title>
<style>:root {{ color-scheme: light dark; }} body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 60rem;
margin: 1rem auto; padding: 0 1rem; overflow-wrap: anywhere; }}</style>
<h1>{escape(summary.heading)}</h1>
{body}
</html>
"""


def _item(decision: Decision, label: Label) -> str:
    """Return a decision in HTML."""
    why = f"<br>{escape(decision.note)}" if decision.note else ""
    return f"{escape(_sentence(decision, label))}{why}"

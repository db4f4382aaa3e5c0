"""The rows of a table of mappings, and the changes that they propose."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Final, NamedTuple

from idstore.errors import InvalidData
from idstore.exchange.bad_lines import Malformed
from idstore.registry.bindings import Statement
from idstore.registry.mappings import Proposal, proposal
from idstore.vocabulary import MAPPING_PREFIXES

KEEP: Final = "keep"
"""The action of a row that changes nothing."""
NO_TERM: Final = MAPPING_PREFIXES["sssom"] + "NoTermFound"
"""Placeholder of SSSOM for an end that was searched for and not found."""
DENIAL: Final = "it denies the mapping (predicate_modifier Not), which is no binding"


class MappingRow(NamedTuple):
    """One valid row.

    subject, target  IRIs; texts as written where no rule makes an IRI of them.
    kind             the source or scheme of the target; empty if the file names none.
    subject_kind     the source of the subject, likewise.
    authors          authors of the mapping: IRIs or names.
    action           the decision about the mapping, in a file of decisions.
    negated          whether the row denies the mapping.
    force            whether doubtful IRIs are taken: see `idstore.registry.bindings.Statement`.
    doubt            what to warn of in a cell that is not used for a binding; empty: nothing.
    """

    line: int
    subject: str
    relation: str
    target: str
    note: str = ""
    confidence: Decimal | None = None
    justification: str = ""
    authors: tuple[str, ...] = ()
    name: str = ""
    target_name: str = ""
    kind: str = ""
    subject_kind: str = ""
    action: str = ""
    negated: bool = False
    force: bool = False
    doubt: str = ""

    @property
    def unfound(self) -> bool:
        """Whether one of the ends is the placeholder ``sssom:NoTermFound``."""
        return NO_TERM in (self.subject, self.target)

    @property
    def denial(self) -> str | None:
        """The reason why the row is no binding; None if it is one."""
        if self.negated:
            return DENIAL
        if self.unfound:
            return "it says that nothing was found (sssom:NoTermFound), which is no binding"
        return None


def proposals(rows: Iterable[MappingRow | Malformed], malformed: list[Malformed]) -> Iterator[Proposal]:
    """Yield the change that each row proposes: its ``action``, by default to bind; ``keep`` proposes none.

    malformed  the list to which malformed rows are appended: also one that keeps what an earlier one unbinds,
               or the other way round.
    """
    decided: dict[tuple[str, str, str], tuple[int, str]] = {}
    for row in rows:
        if isinstance(row, Malformed):
            malformed.append(row)
        elif (denial := row.denial or _opposite(row, decided)) is not None:
            malformed.append(Malformed(row.line, denial))
        elif row.action != KEEP:
            try:
                made = proposal(row.line, row.action, row.subject, statement(row), row.kind)
                yield replace(made, doubt=row.doubt) if row.doubt else made
            except InvalidData as error:
                malformed.append(Malformed(row.line, error.message))


def _opposite(row: MappingRow, decided: dict[tuple[str, str, str], tuple[int, str]]) -> str | None:
    """Return what is wrong with a row that keeps what another one unbinds, or the other way round."""
    if row.action not in (KEEP, "unbind"):
        return None
    line, action = decided.setdefault((row.subject, row.relation, row.target), (row.line, row.action))
    if action == row.action:
        return None
    return f"line {line} says {action} of the same statement; decide, and leave one of the two out"


def statement(row: MappingRow) -> Statement:
    """Return the binding that a mapping states. Raises InvalidData: it denies one, or has several authors."""
    if row.denial is not None:
        raise InvalidData(row.denial, field="predicate_modifier")
    authors = ", ".join(row.authors)
    if len(row.authors) > 1 and ":" in authors:
        raise InvalidData(
            f"author_id names several authors ({authors}), and a binding has one; leave one there",
            field="author_id",
            value=authors,
        )
    return Statement(
        row.target,
        row.relation,
        row.note or None,
        row.confidence,
        row.justification or None,
        authors or None,
        row.force,
    )

"""Rows of a side that is a table of mappings."""

from collections.abc import Callable, Sequence

from idstore.errors import InvalidIdentifier
from idstore.exchange import mappings
from idstore.model.namespace import Namespace
from idstore.reconciliation.workspace import Workspace


def read(workspace: Workspace, number: int, name: str, format: str, columns: mappings.Columns, spaces: Sequence[Namespace]) -> None:
    """Take a table in.

    spaces  namespaces of registries among the sides: a text that names an identifier of one of them, and of no other, is read as such.
    Raises ExchangeError: it cannot be read as a table. What is wrong with single rows is kept with them.
    """
    number_of, word = workspace.numbering.number, workspace.numbering.word
    named = _reader_of_names(spaces)
    with mappings.read(name, format, columns) as reading:
        subjects, targets = reading.found["subject"], reading.found["target"]
        for row in reading.rows:
            if isinstance(row, mappings.Malformed):
                workspace.refuse(number, row.line, row.reason)
                continue
            if row.unfound:  # there is nothing to compare
                continue
            subject, target = named(row.subject), named(row.target)
            ends = number_of(subject, subjects), word(row.relation), number_of(target, row.kind or targets, row.kind)
            if row.name:
                workspace.add_fact(number, ends[0], "name", row.name)
            if row.negated:
                workspace.add_denial(number, ends, row.line)
                continue
            share = None if row.confidence is None else float(row.confidence)
            said = (row.note or None, share, row.justification or None, ", ".join(row.authors) or None)
            workspace.add_link(number, ends, (None, None, *said, row.line))


def _reader_of_names(spaces: Sequence[Namespace]) -> Callable[[str], str]:
    """What makes the IRI of a text that names an identifier of a registered namespace; other texts stay as they are."""

    def read(text: str) -> str:
        if "://" in text:
            return text
        found = set()
        for space in spaces:
            try:
                space.scheme.parse(text)
                found.add(space.scheme.iri(space.scheme.label(text, space.context), space.context))
            except InvalidIdentifier:
                continue
        return found.pop() if len(found) == 1 else text

    return read

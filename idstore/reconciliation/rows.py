"""Rows of a side that is a table of mappings."""

from collections.abc import Sequence

from idstore.errors import InvalidIdentifier
from idstore.exchange import mappings
from idstore.model.namespace import Namespace, begins_a_form
from idstore.reconciliation.workspace import Workspace
from idstore.registry.naming import as_it_stands


def read(workspace: Workspace, number: int, name: str, format: str, columns: mappings.Columns, names: "Names") -> None:
    """Take a table in. Raises ExchangeError: it cannot be read as a table. What is wrong with single rows is kept with them."""
    number_of, word = workspace.numbering.number, workspace.numbering.word
    with mappings.read(name, format, columns) as reading:
        subjects, targets = reading.found["subject"], reading.found["target"]
        for row in reading.rows:
            if isinstance(row, mappings.Malformed):
                workspace.refuse(number, row.line, row.reason)
                continue
            if row.unfound:  # there is nothing to compare
                continue
            subject, target = names.of_subject(row.subject), names.of_target(row.target)
            ends = number_of(subject, subjects), word(row.relation), number_of(target, row.kind or targets, row.kind)
            if row.name:
                workspace.add_fact(number, ends[0], "name", row.name)
            if row.negated:
                workspace.add_denial(number, ends, row.line)
                continue
            share = None if row.confidence is None else float(row.confidence)
            said = (row.note or None, share, row.justification or None, ", ".join(row.authors) or None)
            workspace.add_link(number, ends, (None, None, *said, row.line))


class Names:
    """What texts of tables name: identifiers of the registries among the sides, which must have been taken in.

    spaces  the namespaces of those registries.
    """

    def __init__(self, workspace: Workspace, spaces: Sequence[Namespace]) -> None:
        self._workspace = workspace
        self._spaces = spaces
        self._by_key: dict[str, dict[str, str]] = {}  # of each namespace that was looked through, what is not written as its key is

    def of_subject(self, text: str) -> str:
        """The IRI of the identifier that a text names, in any form in which a registry reads it; other texts, and doubtful ones, stay as they are.

        Cost: some 5 µs for each namespace, unless a registry writes it so; and where a namespace does not hold what it reads, once a
        look at all that it holds.
        """
        if self._workspace.numbering.knows(text):
            return text
        found = {self._as_held(space, label) for space, label in self._readings(text)}
        if len(found) > 1:
            found = {iri for iri in found if self._workspace.holds(iri)}
        return found.pop() if len(found) == 1 else text

    def of_target(self, text: str) -> str:
        """The same; but an IRI stands as it is, as those that identifiers are bound to do in registries."""
        return text if "://" in text else self.of_subject(text)

    def _readings(self, text: str) -> list[tuple[Namespace, str]]:
        """Every namespace that can read the text, with the label that it reads; ``NAMESPACE:label`` as `idstore.registry.naming` does."""
        name, colon, rest = text.partition(":")
        named = as_it_stands(rest, (space for space in self._spaces if space.name == name)) if colon else []
        if named and not begins_a_form(name):
            return named
        return named + as_it_stands(text, (space for space in self._spaces if _is_whole(text, space)))

    def _as_held(self, space: Namespace, label: str) -> str:
        """The IRI of a label; where what is held is another spelling that is the same name, that one."""
        scheme, context, holds = space.scheme, space.context, self._workspace.holds
        key = scheme.key(label, context)
        spelled = [scheme.iri(one, context) for one in (label, key)]
        held = next(filter(holds, spelled), None)
        if held is None and space.base not in self._by_key:
            every = ((iri, one) for iri in self._workspace.held(space.base) for _, one in as_it_stands(iri, [space]))
            self._by_key[space.base] = {keyed: iri for iri, one in every if (keyed := scheme.key(one, context)) != one}
        return held or self._by_key[space.base].get(key, spelled[0])


def _is_whole(text: str, space: Namespace) -> bool:
    """Whether a text is more than a bare label, which a table may use for something else."""
    try:
        space.scheme.parse(text)
    except InvalidIdentifier:
        return False
    return True

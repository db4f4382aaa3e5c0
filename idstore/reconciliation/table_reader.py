"""Reader of a side that is a table of mappings."""

from collections.abc import Sequence

from idstore.exchange import mappings
from idstore.exchange.bad_lines import Malformed
from idstore.exchange.columns import Columns
from idstore.model.closed_vocabularies import correction
from idstore.model.names import Names
from idstore.model.namespace import Namespace, is_form_prefix
from idstore.reconciliation.relations import TARGET
from idstore.reconciliation.workspace import CAPTION, Workspace
from idstore.registry.namespace_index import NamespaceIndex, readings_in


def read(
    workspace: Workspace,
    number: int,
    name: str,
    format: str,
    columns: Columns,
    names: "NameResolver",
) -> int:
    """Read a table into the workspace; return how many rows map a text without identifier.

    The errors of single rows are stored in the workspace. Raises ExchangeError: it cannot be read as a table.
    """
    number_of, word = workspace.terms.number, workspace.terms.word
    with mappings.read(name, format, columns) as reading:
        subjects, targets = reading.columns["subject"], reading.columns["target"]
        for row in reading.rows:
            if isinstance(row, Malformed):
                workspace.refuse(number, row.line, row.reason)
                continue
            if row.unfound:  # there is nothing to compare
                continue
            meant = correction(row.relation)
            if meant is not None:
                reason = f"the vocabulary of {row.relation} has no such term; {meant} is probably meant"
                workspace.refuse(number, row.line, reason)
                continue
            subject, target = names.of_subject(row.subject), names.of_target(row.target)
            ends = (
                number_of(subject, subjects, row.subject_kind),
                word(row.relation),
                number_of(target, targets, row.kind),
            )
            if row.name:
                workspace.add_fact(number, ends[0], "name", row.name)
            if row.target_name:
                workspace.add_fact(number, ends[2], CAPTION, row.target_name)
            if row.negated:
                workspace.add_denial(number, ends, row.line)
                continue
            if row.relation == TARGET:
                workspace.add_target(number, ends, target, row.line)
                continue
            share = None if row.confidence is None else float(row.confidence)
            metadata = (row.note or None, share, row.justification or None, ", ".join(row.authors) or None)
            workspace.add_link(number, ends, (None, None, *metadata, row.line))
        return reading.literals


class NameResolver:
    """A resolver of texts in tables to identifiers of the registries, which must have been read before.

    spaces  the namespaces of those registries.
    names   the comparison of their names.
    """

    def __init__(self, workspace: Workspace, spaces: Sequence[Namespace], names: Names) -> None:
        self._workspace = workspace
        self._index = NamespaceIndex(spaces)
        self._by_name: dict[str, list[Namespace]] = {}
        for space in spaces:
            self._by_name.setdefault(space.name, []).append(space)
        self._names = names

    def of_subject(self, text: str) -> str:
        """Return the IRI of the identifier that a text names, in any form that a registry reads.

        IRIs, whose forms the workspace compares, other texts, and ambiguous ones are returned as they are.
        """
        if self._workspace.terms.knows(text):
            return text
        form = self._names.form(text)
        if form is not None:
            return form
        candidates = {space.scheme.iri(label, space.context) for space, label in self._readings(text)}
        if len(candidates) > 1:
            candidates = {iri for iri in candidates if self._workspace.holds(iri)}
        return candidates.pop() if len(candidates) == 1 else text

    def of_target(self, text: str) -> str:
        """Resolve a target like a subject, but leave IRIs as they are: the workspace compares them."""
        return text if "://" in text else self.of_subject(text)

    def _readings(self, text: str) -> list[tuple[Namespace, str]]:
        """Return the namespaces that can read a text, each with its label.

        ``NAMESPACE:label`` is read as `idstore.registry.lookup` does.
        """
        name, colon, rest = text.partition(":")
        named = list(readings_in(self._by_name.get(name, ()), rest)) if colon else []
        if named and not is_form_prefix(name):
            return named
        return named + self._index.readings(text, whole=True)

"""Resolution of text to identifiers of this registry."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Final

from pyoxigraph import Literal, NamedNode

from idstore.errors import (
    AmbiguousIdentifier,
    IdstoreError,
    InvalidIdentifier,
    NotRegistered,
    UnknownNamespace,
    UnknownScheme,
    clearest,
)
from idstore.model.namespace import Namespace, is_form_prefix, is_name
from idstore.model.party import Party
from idstore.model.record import Identifier, Record, written
from idstore.model.terms import Term, integer
from idstore.model.value import first_url, free_index
from idstore.registry.core import Part
from idstore.registry.namespace_index import LabelGroup, named_readings
from idstore.registry.request_keys import deriving, key_node
from idstore.registry.visibility import Sight
from idstore.schemes import installed, value_types
from idstore.stores.contract import View
from idstore.vocabulary import IDS, PUBLIC_LOG, SKOS

_HOST: Final = re.compile("[a-z][a-z0-9+.-]*://[^/]*", re.IGNORECASE | re.ASCII)
"""The beginning of a web address."""


_DOI: Final = "10."
"""Beginning of the prefixes of DOIs."""


def host_end(text: str) -> int:
    """Return where the host of a web address ends; 0 for another text."""
    host = _HOST.match(text)
    return host.end() if host else 0


def label_node(namespace: Namespace, label: str) -> NamedNode:
    """Return the claim node of a label, derived from its comparison key."""
    return NamedNode(namespace.key_iri(label))


def target_index(namespace: Namespace, record: Record | None = None) -> list[tuple[NamedNode, Term]]:
    """Return the extra arguments of an event that sets a target.

    In a scheme with values that is the index of the URL value.
    """
    if not namespace.valued:
        return []
    values = () if record is None else record.values
    url = first_url(value for value in values if value.is_type(value_types.URL))
    return [(IDS.index, integer(free_index(values) if url is None else url.index))]


def visible_holder(view: View, namespace: Namespace, claim_node: NamedNode, sight: Sight) -> NamedNode | None:
    """Return the identifier that holds a label or request key, if it is visible.

    A hidden draft, a released and a never issued identifier take the same steps: three lookups, two with a
    result. The response time therefore reveals as little as the answer.
    """
    claim, home = view.claim(claim_node), namespace.iri
    holder = None if claim is None else claim.holder
    pattern = (home, IDS.owner) if holder is None else (holder, IDS.stage)
    seen = [
        sight.sees(quad.graph_name) for quad in view.quads(*pattern) if isinstance(quad.graph_name, NamedNode)
    ]
    visible = any(seen)
    if holder is not None and visible:
        return holder
    any(sight.sees(home) for _ in view.quads(holder if holder is not None and seen else home, IDS.scheme))
    return None


class Lookup(Part):
    """Lookup of identifiers in any written form."""

    def identify(self, id: Identifier, party: Party) -> str:
        """Return the IRI of an identifier, given as IRI, as ``NAMESPACE:label``, or in another form.

        Raises NotRegistered (also when the party may not see it), AmbiguousIdentifier, InvalidIdentifier (no
        scheme reads it).
        """
        return self.store.read(
            lambda view: self._identify_for(view, id, self.core.sight(view, party), reading=True).value
        )

    def show(self, id: Identifier, party: Party) -> Record:
        """Return the part of a record that the party may see. Raises as `identify`."""
        return self.store.read(lambda view: self._named(view, id, self.core.sight(view, party)))

    def _named(self, view: View, id: Identifier, sight: Sight) -> Record:
        """Return the part of the record that ``sight`` allows. Raises as `identify`."""
        return self.core.load(view, self._identify_for(view, id, sight, reading=True), sight)

    def _identify(self, view: View, id: Identifier, party: Party) -> NamedNode:
        return self._identify_for(view, id, self.core.sight(view, party))

    def _identify_for(self, view: View, id: Identifier, sight: Sight, *, reading: bool = False) -> NamedNode:
        """Return the IRI of an identifier.

        reading  whether this is no act, which reads the graphs of a sight only one by one.
        """
        text = written(id)
        graphs: Sequence[NamedNode] | None = () if sight.everything or sight.public else None
        if reading and graphs is None and ":" not in text:
            graphs = self.core.private_graphs(view, sight)
        groups, readings = self._grouped_readings(view, text, graphs)
        if not groups and not readings:
            article = next(iter(self._articles(view, text, sight)), None) if reading else None
            if article is not None:
                return article
            raise self._unreadable(view, text)
        readings += self._visible_readings(view, groups, sight, graphs or ())
        by_name = self.core.facts(view).by_name
        holders: dict[NamedNode, str] = {}  # with a text that names it alone
        for namespace, label in readings:
            holder = visible_holder(view, namespace, label_node(namespace, label), sight)
            if holder is not None:
                named = by_name.get(namespace.name) is namespace and not is_form_prefix(namespace.name)
                holders[holder] = f"{namespace.name}:{label}" if named else holder.value
        if not holders and reading:  # only now: a registered handle is meant before an article with that DOI
            holders = {iri: iri.value for iri in self._articles(view, text, sight)}
        if not holders:
            raise self._misspelt(view, text) or NotRegistered(text)
        if len(holders) > 1:
            candidates = sorted(iri.value for iri in holders)
            raise AmbiguousIdentifier(text, candidates, [holders[NamedNode(iri)] for iri in candidates])
        return next(iter(holders))

    def _articles(self, view: View, doi: str, sight: Sight) -> list[NamedNode]:
        """Return the articles with a DOI that ``sight`` allows, by namespace; none for another text.

        A hidden article takes the same steps as an absent one: see `visible_holder`.
        """
        if _DOI not in doi:
            return []
        found = []
        for namespace in self.core.facts(view).by_base.values():
            with suppress(UnknownScheme):
                code = deriving(namespace.scheme_name)
                same = None if code is None else code.same({"doi": doi})
                if same is not None:
                    node = key_node("", namespace.base, same)
                    found.append(visible_holder(view, namespace, node, sight))
        return [iri for iri in found if iri is not None]

    def _grouped_readings(
        self, view: View, text: str, graphs: Sequence[NamedNode] | None
    ) -> tuple[list[LabelGroup], list[tuple[Namespace, str]]]:
        """Return the readings of a text: groups of namespaces whose visible identifiers are found at once.

        graphs  the restricted graphs in which to look for them; None: there are no groups, and each reading
                takes the same steps, so that the time does not depend on hidden identifiers.
        """
        if ":" in text or graphs is None:
            return [], self._readings(view, text)
        return self.core.facts(view).index.grouped(text)

    def _visible_readings(
        self, view: View, groups: Iterable[LabelGroup], sight: Sight, graphs: Iterable[NamedNode]
    ) -> Iterator[tuple[Namespace, str]]:
        """Yield those readings of groups whose identifiers are registered and not hidden.

        Those of the public come from the public log, and the others from the restricted graphs that the party
        sees, so that the time does not depend on hidden identifiers.
        """
        index = self.core.facts(view).index
        for group in groups:
            label, found = Literal(group.label), list[object]()
            if sight.everything:
                found = [quad.subject for quad in view.quads(None, SKOS.notation, label)]
            else:
                events = [quad.subject for quad in view.quads(None, IDS.withLabel, label, PUBLIC_LOG)]
                found = [
                    quad.object
                    for event in events
                    if isinstance(event, NamedNode)
                    for quad in view.quads(event, IDS.about)
                ]
                found += [
                    quad.subject for graph in graphs for quad in view.quads(None, SKOS.notation, label, graph)
                ]
            for iri in found:
                home = index.home(iri.value) if isinstance(iri, NamedNode) else None
                if home is not None and home.base in group.bases:
                    yield home, group.label

    def _readings(self, view: View, text: str, *, whole: bool = False) -> "list[tuple[Namespace, str]]":
        """Return every namespace that can read the text, with the label it reads.

        whole  only if the text is more than a bare label.
        """
        facts = self.core.facts(view)
        return named_readings(text, facts.by_name, facts.index, whole=whole)

    def _unreadable(self, view: View, text: str) -> IdstoreError:
        """Return the error for text that no namespace reads: of another registry, or not an identifier."""
        text = text.strip()
        misspelt = self._misspelt(view, text)
        if misspelt is not None:
            return misspelt
        refusals, partial = [], []
        start = host_end(text)
        for namespace in self.core.facts(view).index.candidates(text):
            with suppress(UnknownScheme):
                try:
                    namespace.scheme.label(text, namespace.context)
                except InvalidIdentifier as error:
                    if text.startswith(namespace.base):
                        return error
                    partial += [error] if error.position > start else []
        for scheme in installed().values():
            try:
                scheme.parse(text)
            except InvalidIdentifier as error:
                refusals.append(error)
            else:
                return NotRegistered(text)
        name = _name_in(text)
        if name:
            return UnknownNamespace(name)
        if start and not partial:  # an address elsewhere; the grammars of all schemes break at its beginning
            return NotRegistered(text)
        spaces = self.core.facts(view).by_base.values()
        return clearest(partial or refusals, {namespace.scheme_name for namespace in spaces})

    def _misspelt(self, view: View, text: str) -> UnknownNamespace | None:
        """Return the error for ``NAME:label`` if no namespace has that name, but one has a similar name."""
        name, names = _name_in(text), self.core.facts(view).by_name
        if not name or name in names:
            return None
        from difflib import get_close_matches

        similar = get_close_matches(name, names, 1)
        return UnknownNamespace(name, similar[0]) if similar else None


def _name_in(text: str) -> str:
    """Return the namespace name that a text seems to begin with, or an empty text."""
    name, _, label = text.partition(":")
    return name if label and not label.startswith("/") and is_name(name) and not is_form_prefix(name) else ""

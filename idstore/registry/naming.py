"""From the texts that people write to identifiers of this registry."""

from collections.abc import Iterable
from contextlib import suppress

from pyoxigraph import NamedNode

from idstore.errors import AmbiguousIdentifier, InvalidIdentifier, NotRegistered, UnknownNamespace, UnknownScheme, clearest
from idstore.model.namespace import Namespace, begins_a_form, is_name
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.model.terms import Term
from idstore.model.value import first_url, free_index, integer
from idstore.registry.core import Core, Sight
from idstore.schemes import installed, value_types
from idstore.stores import View
from idstore.vocabulary import IDS


def label_node(namespace: Namespace, label: str) -> NamedNode:
    """The node that stands for a label among the claims: made from its comparison key."""
    scheme, context = namespace.scheme, namespace.context
    return NamedNode(scheme.iri(scheme.key(label, context), context))


def target_index(namespace: Namespace, record: Record | None = None) -> list[tuple[NamedNode, Term]]:
    """What an event that says where an identifier leads adds, if values say so in its scheme: the index of the URL value."""
    if not namespace.valued:
        return []
    values = () if record is None else record.values
    url = first_url(value for value in values if value.is_type(value_types.URL))
    return [(IDS.index, integer(free_index(values) if url is None else url.index))]


class Naming(Core):
    """Reading identifiers in any written form."""

    def identify(self, text: str, party: Party) -> str:
        """The IRI of the identifier that ``text`` names: full IRI, ``NAMESPACE:label``, or any written form of its scheme.

        Raises NotRegistered (also when the party may not see it), AmbiguousIdentifier, InvalidIdentifier (no scheme reads it).
        """
        with self.store.reading() as view:
            return self._identify(view, text, party).value

    def show(self, text: str, party: Party) -> Record:
        """The record of an identifier, as much of it as the party may see. Raises as `identify`."""
        with self.store.reading() as view:
            return self._named(view, text, self.sight(view, party))

    def _named(self, view: View, text: str, sight: Sight) -> Record:
        """The record that ``text`` names, as much of it as ``sight`` allows. Raises as `identify`."""
        return self._load(view, self._identify_for(view, text, sight), sight)

    def _identify(self, view: View, text: str, party: Party) -> NamedNode:
        return self._identify_for(view, text, self.sight(view, party))

    def _identify_for(self, view: View, text: str, sight: Sight) -> NamedNode:
        read = list(self._readings(view, text))
        if not read:
            raise self._unreadable(view, text)
        held = (self._visible(view, namespace, label_node(namespace, label), sight) for namespace, label in read)
        found = {holder for holder in held if holder is not None}
        if not found:
            raise self._misspelt(view, text) or NotRegistered(text)
        if len(found) > 1:
            raise AmbiguousIdentifier(text, sorted(iri.value for iri in found))
        return found.pop()

    def _readings(self, view: View, text: str) -> "list[tuple[Namespace, str]]":
        """Every namespace that can read the text, with the label it reads.

        ``NAMESPACE:label`` is for that namespace alone to read, unless other identifiers are written with the same word (``hdl:…``).
        """
        facts = self._facts(view)
        name, colon, rest = text.partition(":")
        if not colon or name not in facts.by_name:
            return as_it_stands(text, facts.by_base.values())
        namespace, doubtful = facts.by_name[name], begins_a_form(name)
        try:
            named = [(namespace, namespace.scheme.label(rest, namespace.context))]
        except InvalidIdentifier:
            if not doubtful and not any(text.startswith(base) for base in facts.by_base):
                raise
            return as_it_stands(text, facts.by_base.values())
        return named + (as_it_stands(text, facts.by_base.values()) if doubtful else [])

    def _visible(self, view: View, namespace: Namespace, claimed: NamedNode, sight: Sight) -> NamedNode | None:
        """Who holds a label or request key, if that may be seen.

        A hidden draft, what was released and what was never issued take as many steps: three questions, two of them answered. So time tells as
        little as the answer.
        """
        holder = view.holder(claimed)
        asked = (namespace.iri, IDS.owner) if holder is None else (holder, IDS.stage)
        seen = [sight.sees(quad.graph_name) for quad in view.quads(*asked) if isinstance(quad.graph_name, NamedNode)]
        if holder is not None and any(seen):
            return holder
        any(sight.sees(namespace.iri) for _ in view.quads(holder if holder is not None and seen else namespace.iri, IDS.scheme))
        return None

    def _unreadable(self, view: View, text: str) -> Exception:
        """Why no namespace reads the text: not ours to hold, or no identifier at all."""
        misspelt = self._misspelt(view, text)
        if misspelt is not None:
            return misspelt
        refusals, begun = [], []
        for namespace in self._facts(view).by_base.values():
            with suppress(UnknownScheme):
                try:
                    namespace.scheme.label(text, namespace.context)
                except InvalidIdentifier as error:
                    if text.startswith(namespace.base):
                        return error
                    begun += [error] if error.position else []
        for scheme in installed().values():
            try:
                scheme.parse(text)
            except InvalidIdentifier as error:
                refusals.append(error)
            else:
                return NotRegistered(text)
        name = _name_in(text)
        return UnknownNamespace(name) if name else clearest(begun or refusals)

    def _misspelt(self, view: View, text: str) -> UnknownNamespace | None:
        """What is wrong with ``NAME:label`` where no namespace has that name, and one has almost that name."""
        name, names = _name_in(text), self._facts(view).by_name
        if not name or name in names:
            return None
        from difflib import get_close_matches

        meant = get_close_matches(name, names, 1)
        return UnknownNamespace(name, meant[0]) if meant else None


def _name_in(text: str) -> str:
    """What seems to be a namespace's name in a text, because nothing else is written so."""
    name, _, label = text.partition(":")
    return name if label and not label.startswith("/") and is_name(name) and not begins_a_form(name) else ""


def as_it_stands(text: str, namespaces: Iterable[Namespace]) -> list[tuple[Namespace, str]]:
    """The namespaces that read all of a text, each with the label it reads."""
    read = []
    for namespace in namespaces:
        try:
            read.append((namespace, namespace.scheme.label(text, namespace.context)))
        except InvalidIdentifier:
            continue
        except UnknownScheme:  # its package is not installed; the others are none the worse for it
            if text.startswith(namespace.base):
                raise
    return read

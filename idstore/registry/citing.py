"""How identifiers are cited, and how files of what they identify are named.

Sources: PILIN, Citation of Handles Policy; PILIN Filename Policy.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from pyoxigraph import NamedNode

from idstore.errors import InvalidData, NotRegistered
from idstore.frozen import dataclass
from idstore.model import terms
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.registry.core import Sight
from idstore.registry.resolving import Resolving
from idstore.schemes import WrittenForm
from idstore.stores import View

_REFUSED: Final = re.compile("[^A-Za-z0-9_-]+")
_LONGEST: Final = 200
"""Characters of a title's words in a file's name: file systems take 255, and a version and an ending follow."""


@dataclass(frozen=True, slots=True)
class Citation:
    """What to write when one cites an identifier.

    forms         every form of the identifier itself.
    latest        address by which to cite the latest version of the work, where the identifier is that of a work, or of a version of one that
                  the party sees.
    this_version  address by which to cite the version that the identifier is of, or that it leads to now.
    """

    forms: Sequence[WrittenForm]
    latest: str | None = None
    this_version: str | None = None


class Citing(Resolving):
    """Citing identifiers."""

    def citation(self, text: str, party: Party) -> Citation:
        """How to cite an identifier. Raises as `show`."""
        with self.store.reading() as view:
            sight = self.sight(view, party)
            record = self._named(view, text, sight)
            forms = self._forms(view, record)
            newest = self._newest(view, record)
            if record.work is not None:
                return Citation(forms, self._latest(view, record.work, sight), _address(forms))
            return Citation(forms) if newest is None else Citation(forms, _address(forms), _address(self._forms(view, newest)))

    def _latest(self, view: View, work: NamedNode, sight: Sight) -> str | None:
        """The address of a work; None where it may not be seen, as where another registry alone has it: registries were merged."""
        try:
            return _address(self._forms(view, self._load(view, work, sight)))
        except NotRegistered:
            return None

    def cite(self, text: str, party: Party) -> Sequence[WrittenForm]:
        """Every form in which to write an identifier. Raises as `show`."""
        return self.citation(text, party).forms

    def forms(self, record: Record) -> Sequence[WrittenForm]:
        """Every form in which to write the identifier of a record."""
        with self.store.reading() as view:
            return self._forms(view, record)

    def _forms(self, view: View, record: Record) -> Sequence[WrittenForm]:
        namespace = self._namespace(view, record.namespace)
        return namespace.scheme.written_forms(record.label, namespace.context)

    def file_name(self, text: str, party: Party, lang: str | None = None) -> str:
        """A name for a file of what an identifier identifies, without an ending: its name and version. Raises as `show`, and InvalidData."""
        record = self.show(text, party)
        names = dict(record.names)
        wanted = terms.UNDETERMINED if lang is None else terms.language(lang)
        title = names.get(wanted) or (next(iter(names.values()), None) if lang is None else None)
        if title is None:
            which = "no name" if lang is None else f"no name in {lang!r}"
            raise InvalidData(f"{record.iri.value} has {which} to make a file's from; its owner can give it one with `idstore name`")
        made = file_name(title, record.version)
        if not made:
            raise InvalidData(f"the name {title!r} has no letter or digit that a file's name may have; give another with `idstore name`")
        return made


def file_name(title: str, version: str | None = None) -> str:
    """The words of a title in letters, digits, underscores and dashes; behind them a version without full stops.

    >>> file_name("Citation of Handles: Policy", "V1.1"), file_name("Über = Ünïts/2")
    ('Citation_of_Handles_Policy-v1_1', 'Uber_Units_2')
    """
    plain = "".join(one for one in unicodedata.normalize("NFKD", title) if not unicodedata.combining(one))
    words = _REFUSED.sub("_", plain).strip("_-")
    if len(words) > _LONGEST:  # whole words, if there are any
        words = (words[: _LONGEST + 1].rpartition("_")[0] or words[:_LONGEST]).rstrip("_-")
    return f"{words}-{_REFUSED.sub('_', version).lower()}" if words and version else words


def _address(forms: Sequence[WrittenForm]) -> str:
    """The form that a browser follows: the resolver's address, else the IRI."""
    return next((form.text for form in forms if form.kind == "proxy"), forms[0].text)

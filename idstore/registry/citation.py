"""Citable forms of identifiers, and names for files of the things that they identify.

Sources: PILIN, Citation of Handles Policy; PILIN Filename Policy.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from pyoxigraph import NamedNode

from idstore.characters import EXAMINED
from idstore.errors import InvalidData, NotRegistered
from idstore.model import terms
from idstore.model.namespace import is_form_prefix
from idstore.model.party import Party
from idstore.model.record import Identifier, Record, Stage
from idstore.registry.resolution import Resolver
from idstore.registry.visibility import Sight
from idstore.remedies import Remedy
from idstore.schemes import WrittenForm
from idstore.stores.contract import View

_LETTERS: Final = str.maketrans(
    {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L"}
    | {"đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "\u0131": "i"}
)
"""Latin letters that are no other letter with an accent."""
_REFUSED: Final = re.compile("[^A-Za-z0-9_-]+")
_LONGEST: Final = 200
"""Characters of a title in a file name: file systems allow 255, and a version and an extension follow."""


@dataclass(frozen=True, slots=True)
class Citation:
    """The text by which to cite an identifier.

    forms         every form of the identifier itself, its short form ``NAMESPACE:label`` last.
    iri           the identifier.
    address       what a browser follows: the resolver's address, else the identifier.
    name          its name, empty if it has none.
    date          when it was published; of a draft, when it was created.
    state         ``draft``, ``published``, ``deprecated`` or ``withdrawn``.
    latest        address of the latest version of the work; set if the identifier is a work's, or that of a
                  version of a work that the party sees.
    this_version  address of the version that the identifier stands for or currently leads to.
    """

    forms: Sequence[WrittenForm]
    iri: str
    address: str
    name: str
    date: datetime
    state: str
    latest: str | None = None
    this_version: str | None = None


class Citations(Resolver):
    """Citation of identifiers."""

    def citation(self, id: Identifier, party: Party) -> Citation:
        """Return how to cite an identifier. Raises as `show`."""

        def question(view: View) -> Citation:
            sight = self.core.sight(view, party)
            record = self._named(view, id, sight)
            forms = self._forms(view, record)
            latest = this = None
            if record.work is not None:
                latest, this = self._latest(view, NamedNode(record.work), sight), _address(forms)
            elif (newest := self._newest(view, record)) is not None:
                latest, this = _address(forms), _address(self._forms(view, newest))
            name = self.core.namespace(view, record.namespace).name
            short = [] if is_form_prefix(name) else [WrittenForm("short", f"{name}:{record.label}")]
            return Citation(
                [*forms, *short],
                record.iri,
                _address(forms),
                record.names[0][1] if record.names else "",
                record.fixated or record.created,
                _state(record),
                latest,
                this,
            )

        return self.store.read(question)

    def _latest(self, view: View, work: NamedNode, sight: Sight) -> str | None:
        """Return the address of a work; None if it is hidden, or absent because registries were merged."""
        try:
            return _address(self._forms(view, self.core.load(view, work, sight)))
        except NotRegistered:
            return None

    def cite(self, id: Identifier, party: Party) -> Sequence[WrittenForm]:
        """Return every form in which to write an identifier. Raises as `show`."""
        return self.citation(id, party).forms

    def forms(self, record: Record) -> Sequence[WrittenForm]:
        """Return every form in which to write the identifier of a record."""
        return self.store.read(lambda view: self._forms(view, record))

    def _forms(self, view: View, record: Record) -> Sequence[WrittenForm]:
        namespace = self.core.namespace(view, record.namespace)
        return namespace.scheme.written_forms(record.label, namespace.context)

    def file_name(self, id: Identifier, party: Party, lang: str | None = None) -> str:
        """Return a file name without extension for what an identifier names: its name and version.

        Raises as `show`; also InvalidData.
        """
        record = self.show(id, party)
        names = dict(record.names)
        wanted = terms.UNDETERMINED if lang is None else terms.language(lang)
        title = names.get(wanted) or (next(iter(names.values()), None) if lang is None else None)
        if title is None:
            which = "no name" if lang is None else f"no name in {lang!r}"
            raise InvalidData(
                f"{record.iri} has {which} for a file name; ask its owner to name it",
                remedy=Remedy.SET_NAME,
                field="lang",
                value=lang,
            )
        result = file_name(title, record.version)
        if not result:
            raise InvalidData(
                f"the name {title!r} has no letter or digit that is allowed in a file name; use another name",
                remedy=Remedy.SET_NAME,
                field="name",
                value=title,
            )
        return result


def file_name(title: str, version: str | None = None) -> str:
    """Return the words of a title in letters, digits, underscores and dashes, then a version without dots.

    >>> file_name("Citation of Handles: Policy", "V1.1"), file_name("Über = Ünïts/2")
    ('Citation_of_Handles_Policy-v1_1', 'Uber_Units_2')
    >>> file_name("Straße nach Ærø")
    'Strasse_nach_AEro'
    """
    parts = unicodedata.normalize("NFKD", title[:EXAMINED].translate(_LETTERS))
    plain = "".join(char for char in parts if not unicodedata.combining(char))
    words = _REFUSED.sub("_", plain).strip("_-")
    if len(words) > _LONGEST:  # whole words, if there are any
        words = (words[: _LONGEST + 1].rpartition("_")[0] or words[:_LONGEST]).rstrip("_-")
    return f"{words}-{_REFUSED.sub('_', version).lower()}" if words and version else words


def _state(record: Record) -> str:
    if record.stage is Stage.TOMBSTONE:
        return "withdrawn"
    if record.stage is Stage.CREATED:
        return "draft"
    return "deprecated" if record.deprecated else "published"


def _address(forms: Sequence[WrittenForm]) -> str:
    """Return the form that a browser follows: the resolver's address, else the IRI."""
    return next((form.text for form in forms if form.kind == "proxy"), forms[0].text)

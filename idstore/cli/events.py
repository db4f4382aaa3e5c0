"""Events as lines of text and as JSON."""

from typing import TYPE_CHECKING, Final

from pyoxigraph import NamedNode

from idstore.cli.call import Call
from idstore.cli.records import key_values
from idstore.documents import event_json, namespace_json
from idstore.model import times
from idstore.model.namespace import Namespace
from idstore.vocabulary import SPACE, party_name

if TYPE_CHECKING:
    from idstore.model.event import Event

_PARTIES: Final = SPACE + "party/"


def event_line(event: "Event") -> str:
    """Return time, party, kind, subject and arguments, separated by tabs."""
    record = event_json(event)
    arguments = {
        key: value for key, value in record.items() if key not in ("event", "kind", "about", "by", "at")
    }
    return "\t".join((times.iso(event.at), event.by, event.act, about(event), key_values(arguments)))


def about(event: "Event") -> str:
    """Return the subject of an event for people: the name of a party, the IRI of anything else."""
    return party_name(NamedNode(event.about)) if event.about.startswith(_PARTIES) else event.about


def print_changes(call: Call, *changes: "Event | Namespace | None") -> None:
    """With ``--json`` print the events of an act, or the namespace that it changed."""
    if call.output.json:
        for change in changes:
            if change is not None:
                call.output.data(
                    "", namespace_json(change) if isinstance(change, Namespace) else event_json(change)
                )

"""The arguments of events have terms of their own, so that no query about records meets events."""

import pytest
from pyoxigraph import NamedNode, Quad
from small_registry import sound

from idstore import vocabulary
from idstore.model import event
from idstore.vocabulary import ARGUMENTS, DCTERMS, EVENTS, IDS, PROV, RDF, argument_property, argument_term

HEAD = {RDF.type, IDS.about, PROV.wasAssociatedWith, PROV.endedAtTime, DCTERMS.isPartOf}


def is_event(quad: Quad) -> bool:
    return (
        isinstance(quad.subject, NamedNode)
        and quad.subject.value.startswith(EVENTS)
        and "#b" not in quad.subject.value
    )


def test_events_and_records_share_no_property_but_their_class() -> None:
    quads = sound()
    of_events = {quad.predicate for quad in quads if is_event(quad)}
    of_records = {quad.predicate for quad in quads if not is_event(quad)}
    assert of_events & of_records == {RDF.type}
    assert of_events - HEAD >= set(ARGUMENTS.values())


def test_a_binding_is_no_activity() -> None:
    (by, at) = (PROV.wasAttributedTo, PROV.generatedAtTime)
    binding = {quad.predicate for quad in sound() if "#b" in str(quad.subject)}
    assert {by, at} <= binding
    assert not binding & {PROV.wasAssociatedWith, PROV.endedAtTime}


@pytest.mark.parametrize("name", [*ARGUMENTS, vocabulary.setting_term("digits"), IDS.party], ids=str)
def test_an_argument_has_one_term(name: NamedNode) -> None:
    assert argument_property(argument_term(name)) == name


def test_a_property_of_records_is_no_argument() -> None:
    quads = [quad for quad in sound() if is_event(quad) and quad.object == IDS.Mint]
    subject = quads[0].subject
    own = [quad for quad in sound() if quad.subject == subject]
    assert isinstance(subject, NamedNode)
    assert event.parse(subject, own).text(IDS.inNamespace) is not None
    with pytest.raises(ValueError, match="property of records"):
        event.parse(subject, [*own, Quad(subject, IDS.target, subject)])

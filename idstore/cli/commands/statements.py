"""``idstore target``, ``name``, ``bind``, ``unbind``, ``comment`` and ``vet``: what is said of an identifier."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from idstore.cli import arguments, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse

if TYPE_CHECKING:
    from idstore.model.event import Event
    from idstore.model.namespace import Namespace
    from idstore.model.party import Party
    from idstore.registry import Registry

EXACT: Final = "skos:exactMatch"


def target(
    call: Call,
    id: arguments.Id,
    uri: Annotated[str | None, typer.Argument(metavar="URI", help="An absolute IRI.")] = None,
    unset: Annotated[bool, typer.Option("--unset", help="Let it lead nowhere of its own any more.")] = False,
) -> None:
    """Say what an identifier leads to. Its owner may."""
    from idstore.cli.events import done

    if unset == (uri is not None):
        raise Misuse("give the URI, or --unset")

    def act(registry: "Registry", party: "Party") -> "tuple[Event, list[str]]":
        others = [] if uri is None else registry.bound_to(uri, party)
        made = registry.target(id, uri, party)
        return made, [iri for iri in others if iri != made.about.value]

    made, others = session.write(call, act)
    if others:
        call.output.warn(f"{uri} is identified already by {', '.join(others)}")
    done(call, made)


def name(
    call: Call,
    id: arguments.Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The name.")],
    lang: Annotated[str | None, typer.Option(metavar="L", help="Its language: en, pt-br.")] = None,
) -> None:
    """Give an identifier a name. Its owner may.

    It takes the place of the one it had in that language.
    """
    from idstore.cli.events import done
    from idstore.model.terms import UNDETERMINED

    done(call, session.write(call, lambda registry, party: registry.name(id, text, party, lang or UNDETERMINED)))


def bind(
    call: Call,
    id: arguments.Id,
    uri: arguments.Uri,
    relation: arguments.Relation = EXACT,
    note: Annotated[str | None, typer.Option(metavar="T", help="A remark on the binding.")] = None,
    confidence: Annotated[str | None, typer.Option(metavar="C", help="How sure it is, from 0 to 1.")] = None,
    justification: Annotated[
        str | None, typer.Option(metavar="IRI", help="How it was found: an IRI, or in short semapv:ManualMappingCuration.")
    ] = None,
    author: Annotated[str | None, typer.Option(metavar="A", help="Who found it, if not you: an ORCID's IRI, or a name.")] = None,
) -> None:
    """Associate an identifier with another URI.

    Binding again changes nothing. While it is created, its owner may, and parties with grant --bind; once it is fixated every party may.
    """
    from idstore.cli.events import done
    from idstore.registry.bindings import Statement

    statement = Statement(
        uri,
        arguments.relation_iri(relation),
        note,
        None if confidence is None else arguments.confidence(confidence),
        None if justification is None else arguments.relation_iri(justification),
        author,
    )
    made = session.write(call, lambda registry, party: registry.bind(id, statement, party))
    if made is None:
        call.output.warn("you have bound it already; nothing was changed")
    done(call, made)


def unbind(call: Call, id: arguments.Id, uri: arguments.Uri, relation: arguments.Relation = EXACT) -> None:
    """Take a binding back.

    Your own, or any of an identifier that you own. The log keeps both acts.
    """
    from idstore.cli.events import done
    from idstore.registry.bindings import Statement

    statement = Statement(uri, arguments.relation_iri(relation))
    done(call, session.write(call, lambda registry, party: registry.unbind(id, statement, party)))


def comment(
    call: Call,
    about: arguments.IdOrNamespace,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The comment.")],
    internal: Annotated[bool, typer.Option("--internal", help="Keep it with the grant list also after fixation.")] = False,
) -> None:
    """Comment on an identifier or a namespace.

    On an identifier its grant list may, on a namespace its owner.
    """
    from idstore.cli.events import done

    def act(registry: "Registry", party: "Party") -> "Event | Namespace":
        if not arguments.is_namespace(registry, about):
            return registry.comment(about, text, party, internal=internal)
        if internal:
            raise Misuse("a comment on a namespace is for everyone; leave --internal out")
        registry.comment_namespace(about, text, party)
        return registry.namespace(about)

    done(call, session.write(call, act))


def vet(
    call: Call,
    id: arguments.Id,
    note: Annotated[str | None, typer.Option(metavar="T", help="What you compared, or with what.")] = None,
) -> None:
    """Say that you looked an identifier over, and what is said of it, and found them right.

    Whoever sees it may. idstore authority tells who did, and whether it was changed since.
    """
    from idstore.cli.events import done

    done(call, session.write(call, lambda registry, party: registry.vet(id, party, note)))

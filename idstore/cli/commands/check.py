"""``idstore check``: whether a text is an identifier, and of which scheme."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Protocol, runtime_checkable

import typer

from idstore import schemes
from idstore.cli import exits, inputs, session
from idstore.cli.call import Call
from idstore.cli.ending import Misuse
from idstore.cli.output import Output
from idstore.errors import InvalidIdentifier, StoreUnavailable, UnknownScheme, clearest
from idstore.frozen import dataclass
from idstore.schemes import Name, Scheme, Typed

if TYPE_CHECKING:
    from idstore.model.namespace import Namespace
    from idstore.schemes.advice import Advice


def check(
    call: Call,
    texts: Annotated[list[str], typer.Argument(metavar="TEXT...", help="Texts to check; - reads them from standard input, one a line.")],
    scheme: Annotated[str | None, typer.Option(metavar="S", help="Ask this scheme only, and print the canonical form alone.")] = None,
    advice: Annotated[bool, typer.Option("--advice", help="Tell also how far it follows PILIN's guidelines on labels.")] = False,
) -> int:
    """Tell whether texts are identifiers, and of which scheme.

    Prints the canonical form of each. Without --scheme there is a line for each scheme that fits: the canonical form, a tab, the
    scheme's name; first those of the namespaces that are registered in the store, if there is one, with the namespace's name as well;
    then the schemes, the one that takes fewest other texts first; then the namespaces in which a text that is a whole handle could be a
    suffix. Last the moment when it was made, where it tells that.
    Exit code 3 if a text fits none.
    """
    asked = [schemes.scheme(scheme)] if scheme else list(schemes.installed().values())
    spaces = [] if scheme else _namespaces(call)
    fits = [_check(text, spaces, asked, call.output, alone=scheme is not None, advice=advice) for text in inputs.texts(texts)]
    return exits.DONE if all(fits) else exits.INVALID


def _namespaces(call: Call) -> "Sequence[Namespace]":
    """The namespaces of the store; none if there is none."""
    try:
        session.folder(call)
        return session.read(call, lambda registry, _: registry.namespaces()) if session.exists(call) else []
    except (StoreUnavailable, Misuse) as error:
        call.output.warn(f"no registered namespace was asked: {error.message}")
        return []


def _check(text: str, spaces: "Sequence[Namespace]", asked: Iterable[Scheme], output: Output, *, alone: bool, advice: bool) -> bool:
    """Print what namespaces and schemes make of a text. Whether it fits one of them."""
    refusals: list[InvalidIdentifier] = []
    named = [namespace for namespace in spaces if _names(text, namespace)]
    if not text.startswith(tuple(namespace.base for namespace in named)):
        named = named[:1]  # of several of that name the first is called by it
    fits = _in_namespaces(text, named or spaces, refusals, named=bool(named))
    covered = {fit.scheme for fit in fits if not fit.bare}
    for scheme in asked:
        if scheme.name not in covered:
            try:
                fits.append(_Fit.of(scheme.parse(text), scheme.name))
            except InvalidIdentifier as error:
                refusals.append(error)
    if len(fits) > 1:
        fits.sort(key=lambda fit: (fit.bare, fit.namespace is None, _breadth(fit.scheme)))
    for fit in fits:
        told = fit.advice() if advice else []
        lines = [fit.canonical if alone else fit.line(), *(_advice_line(one) for one in told)]
        others = [*dict.fromkeys(other.scheme for other in fits if other is not fit)]
        said = {"advice": [{"rule": one.rule, "guideline": one.guideline, "follows": one.follows, "why": one.why} for one in told]}
        output.data("\n".join(lines), fit.json(text) | ({"alternatives": others} if others else {}) | (said if advice else {}))
    if not fits:
        _explain(refusals[: len(named)] or refusals, output)
    return bool(fits)


def _names(text: str, namespace: "Namespace") -> bool:
    """Whether a text begins with a namespace's base, or with its name where nothing else is written so."""
    from idstore.model.namespace import begins_a_form

    return text.startswith(namespace.base) or (text.startswith(f"{namespace.name}:") and not begins_a_form(namespace.name))


@cache
def _breadth(name: str) -> int:
    """How many schemes' examples a scheme reads: what reads those of others says less of a text."""
    found = schemes.installed()
    return sum(_reads(found[name], other.example) for other in found.values())


def _reads(scheme: Scheme, text: str) -> bool:
    try:
        scheme.parse(text)
    except InvalidIdentifier:
        return False
    return True


@runtime_checkable
class Dated(Protocol):
    """What a scheme's ``parse`` gives if the identifier tells when it was made."""

    @property
    def made(self) -> datetime:
        """The moment, in UTC."""


@dataclass(frozen=True, slots=True)
class _Fit:
    """What a text is, in a scheme and perhaps in one of its namespaces.

    bare  whether all of a text that is an identifier by itself is but the label there, as 10.1045/a is under the prefix 12345.
    """

    canonical: str
    scheme: str
    namespace: str | None = None
    made: str | None = None
    label: str = ""
    settings: Mapping[str, str] | None = None
    bare: bool = False

    def advice(self) -> "Sequence[Advice]":
        from idstore.schemes.advice import advise

        return advise(self.label, schemes.scheme(self.scheme), self.settings)

    @classmethod
    def of(cls, name: Name, scheme: str, namespace: str | None = None) -> "_Fit":
        made = f"{name.made:%Y-%m-%dT%H:%M:%S}.{name.made.microsecond // 1000:03}Z" if isinstance(name, Dated) else None
        return cls(str(name), scheme, namespace, made, getattr(name, "suffix", None) or str(name).rpartition("#")[2])

    def line(self) -> str:
        return "\t".join(filter(None, (self.canonical, self.scheme, self.namespace, self.made and f"made {self.made}")))

    def json(self, text: str) -> dict[str, object]:
        said = {"text": text, "scheme": self.scheme, "canonical": self.canonical, "namespace": self.namespace, "made": self.made}
        return {key: value for key, value in said.items() if value is not None}


def _in_namespaces(text: str, spaces: "Iterable[Namespace]", refusals: list[InvalidIdentifier], *, named: bool) -> list[_Fit]:
    """What a text is in these namespaces.

    named  whether it names them, by ``NAME:`` or by their base. Where parties choose labels freely almost every text could be one, as the
           suffix of a handle: there, what names no namespace must be an identifier of the scheme as it stands.
    """
    fits = []
    for namespace in spaces:
        try:
            scheme, context = namespace.scheme, namespace.context
        except UnknownScheme:  # its package is not installed
            if named:
                raise
            continue
        try:
            label = scheme.label(text.removeprefix(f"{namespace.name}:") if _names(text, namespace) else text, context)
            whole = _whole(scheme, text, label) if not named and scheme.chosen and not isinstance(scheme, Typed) else None
        except InvalidIdentifier as error:
            refusals.append(error)
        else:
            fit = _registered(scheme, scheme.iri(label, context), namespace.name)
            fits.append(replace(fit, label=label, settings=context.settings, bare=whole == label))
    return fits


def _whole(scheme: Scheme, text: str, label: str) -> str | None:
    """A text as an identifier by itself, or None if only the settings of the namespace allow it. Raises InvalidIdentifier: it is but a label."""
    try:
        return str(scheme.parse(text))
    except InvalidIdentifier:
        if label == text:
            raise
        return None


def _registered(scheme: Scheme, iri: str, namespace: str) -> _Fit:
    """The canonical form in a registered namespace: the IRI, where only the namespace's own settings allow it."""
    try:
        return _Fit.of(scheme.parse(iri), scheme.name, namespace)
    except InvalidIdentifier:
        return _Fit(iri, scheme.name, namespace)


def _advice_line(one: "Advice") -> str:
    return f"  {one.rule} {one.guideline}: {'yes' if one.follows else 'no'}{one.why and f', {one.why}'}"


def _explain(refusals: list[InvalidIdentifier], output: Output) -> None:
    """Say why no scheme takes a text: in the words of the one that could read most of it."""
    furthest = clearest(refusals)
    every = [{"scheme": refusal.scheme, "reason": refusal.reason, "position": refusal.position} for refusal in refusals]
    message = furthest.message if len(every) == 1 else f"no scheme fits: {furthest.message}"
    output.failure(furthest.code, message, {**furthest.fields, "refusals": every})

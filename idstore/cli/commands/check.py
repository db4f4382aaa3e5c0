"""``idstore check``: recognise identifiers and their schemes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Protocol, runtime_checkable

import typer

from idstore import schemes
from idstore.cli import exits, inputs, session
from idstore.cli.call import Call
from idstore.cli.output import Output
from idstore.cli.termination import UsageError
from idstore.errors import InvalidIdentifier, StoreUnavailable, UnknownScheme, clearest
from idstore.schemes import Name, Scheme

if TYPE_CHECKING:
    from idstore.model.namespace import Namespace
    from idstore.registry.namespace_index import NamespaceIndex
    from idstore.schemes.advice import Advice


def check(
    call: Call,
    texts: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT...", help="Texts to check; - reads them from standard input, one a line."
        ),
    ],
    scheme: Annotated[
        str | None,
        typer.Option(metavar="S", help="Try this scheme only, and print only the canonical form."),
    ] = None,
    advice: Annotated[
        bool, typer.Option("--advice", help="Check also PILIN's guidelines on labels.")
    ] = False,
) -> int:
    """Check whether texts are identifiers, and of which scheme.

    Prints the canonical form of each. Without --scheme there is one line for each scheme that fits, with the
    canonical form and the scheme's name, separated by tabs. First come the schemes whose namespaces in the
    store read the text, with the names of these namespaces; then the others, the most specific first. If an
    identifier tells when it was made, that time is the last column. The exit code is 3 if a text fits no
    scheme.
    """
    tried = [schemes.scheme(scheme)] if scheme else list(schemes.installed().values())
    from idstore.registry.namespace_index import NamespaceIndex

    namespaces = [] if scheme else _namespaces(call)
    index = NamespaceIndex(namespaces)
    results = [
        _check(text, namespaces, index, tried, call.output, alone=scheme is not None, advice=advice)
        for text in inputs.texts(texts)
    ]
    return exits.DONE if all(results) else exits.INVALID


def _namespaces(call: Call) -> "Sequence[Namespace]":
    """Return the namespaces of the store, none if it does not exist or cannot be read."""
    try:
        return session.read(call, lambda registry, _: registry.namespaces()) if session.exists(call) else []
    except (StoreUnavailable, UsageError) as error:
        call.output.warn(f"the namespaces of the store were not tried: {error.message}")
        return []


def _check(
    text: str,
    namespaces: "Sequence[Namespace]",
    index: "NamespaceIndex",
    tried: Iterable[Scheme],
    output: Output,
    *,
    alone: bool,
    advice: bool,
) -> bool:
    """Print the matches of a text, or why there are none. Return whether there is a match.

    alone  print only the canonical form.
    """
    refusals: list[InvalidIdentifier] = []
    named = [namespace for namespace in namespaces if _starts_with(text, namespace)]
    if not text.startswith(tuple(namespace.base for namespace in named)):
        named = named[:1]  # several namespaces may have that name: it stands for the first
    spaces = named or index.candidates(text, whole=True)
    matches = _by_scheme(text, _namespace_matches(text, spaces, refusals, named=bool(named)))
    covered = {match.scheme for match in matches}
    for scheme in tried:
        if scheme.name not in covered:
            try:
                matches.append(_Match.of(scheme.parse(text), scheme.name))
            except InvalidIdentifier as error:
                refusals.append(error)
    if len(matches) > 1:
        matches.sort(key=lambda match: (not match.namespaces, _breadth(match.scheme)))
    for match in matches:
        items = match.advice() if advice else []
        lines = [match.canonical if alone else match.line(), *(_advice_line(item) for item in items)]
        others = [other.scheme for other in matches if other is not match]
        record = match.json(text)
        if others:
            record["alternatives"] = others
        if advice:
            record["advice"] = [
                {"rule": item.rule, "guideline": item.guideline, "follows": item.follows, "why": item.why}
                for item in items
            ]
        output.data("\n".join(lines), record)
    if not matches:
        registered = {namespace.scheme_name for namespace in namespaces}
        _print_refusal(refusals[: len(named)] or refusals, registered, output)
    return bool(matches)


def _starts_with(text: str, namespace: "Namespace") -> bool:
    """Return whether a text begins with a namespace's base, or with its name where no scheme's form does."""
    from idstore.model.namespace import is_form_prefix

    return text.startswith(namespace.base) or (
        text.startswith(f"{namespace.name}:") and not is_form_prefix(namespace.name)
    )


@cache
def _breadth(name: str) -> int:
    """Return the number of schemes whose example a scheme accepts: the fewer, the more specific it is."""
    installed = schemes.installed()
    return sum(_accepts(installed[name], other.example) for other in installed.values())


def _accepts(scheme: Scheme, text: str) -> bool:
    try:
        scheme.parse(text)
    except InvalidIdentifier:
        return False
    return True


@runtime_checkable
class Dated(Protocol):
    """A parsed identifier that tells when it was made."""

    @property
    def made(self) -> datetime:
        """Time of creation, in UTC."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A text as an identifier of a scheme, and of the namespaces that read it, if there are any."""

    canonical: str
    scheme: str
    namespaces: tuple[str, ...] = ()
    made: str | None = None
    label: str = ""
    settings: Mapping[str, str] | None = None

    def advice(self) -> "Sequence[Advice]":
        from idstore.schemes.advice import advise

        return advise(self.label, schemes.scheme(self.scheme), self.settings)

    @classmethod
    def of(cls, name: Name, scheme: str, *namespaces: str) -> "_Match":
        made = (
            f"{name.made:%Y-%m-%dT%H:%M:%S}.{name.made.microsecond // 1000:03}Z"
            if isinstance(name, Dated)
            else None
        )
        return cls(
            str(name), scheme, namespaces, made, getattr(name, "suffix", None) or str(name).rpartition("#")[2]
        )

    def line(self) -> str:
        return "\t".join(
            filter(
                None,
                (self.canonical, self.scheme, ",".join(self.namespaces), self.made and f"made {self.made}"),
            )
        )

    def json(self, text: str) -> dict[str, object]:
        fields = {
            "text": text,
            "scheme": self.scheme,
            "canonical": self.canonical,
            "namespace": self.namespaces[0] if len(self.namespaces) == 1 else None,
            "namespaces": [*self.namespaces] if len(self.namespaces) > 1 else None,
            "made": self.made,
        }
        return {key: value for key, value in fields.items() if value is not None}


def _namespace_matches(
    text: str, namespaces: "Iterable[Namespace]", refusals: list[InvalidIdentifier], *, named: bool
) -> list[_Match]:
    """Return the matches of a text in namespaces.

    named  whether the text names them, by ``NAME:`` or by their base.
    """
    matches = []
    for namespace in namespaces:
        try:
            scheme, context = namespace.scheme, namespace.context
        except UnknownScheme:  # its package is not installed
            if named:
                raise
            continue
        try:
            label = scheme.label(
                text.removeprefix(f"{namespace.name}:") if _starts_with(text, namespace) else text, context
            )
            if isinstance(scheme, schemes.Restricting):
                scheme.check_new(label, context)
        except InvalidIdentifier as error:
            refusals.append(error)
        else:
            match = _registered(scheme, scheme.iri(label, context), namespace.name)
            matches.append(replace(match, label=label, settings=context.settings))
    return matches


def _by_scheme(text: str, matches: Iterable[_Match]) -> list[_Match]:
    """Return one match for each scheme: of a text that several namespaces read, as the scheme reads it."""
    result: dict[str, _Match] = {}
    for match in matches:
        first = result.get(match.scheme)
        if first is None:
            result[match.scheme] = match
            continue
        names = (*first.namespaces, *match.namespaces)
        try:
            result[match.scheme] = _Match.of(schemes.scheme(match.scheme).parse(text), match.scheme, *names)
        except InvalidIdentifier:  # only their settings allow it
            result[match.scheme] = replace(first, namespaces=names)
    return list(result.values())


def _registered(scheme: Scheme, iri: str, namespace: str) -> _Match:
    """Return the match in a registered namespace.

    Its canonical form is the IRI if only the namespace's settings allow it.
    """
    try:
        return _Match.of(scheme.parse(iri), scheme.name, namespace)
    except InvalidIdentifier:
        return _Match(iri, scheme.name, (namespace,))


def _advice_line(item: "Advice") -> str:
    return f"  {item.rule} {item.guideline}: {'yes' if item.follows else 'no'}{item.why and f', {item.why}'}"


def _print_refusal(refusals: list[InvalidIdentifier], registered: Collection[str], output: Output) -> None:
    """Print why no scheme accepts a text: the reason of the scheme that could read most of it.

    registered  the schemes of the store's namespaces, which count first.
    The JSON object lists each scheme once, also if several of its namespaces were tried.
    """
    from idstore.registry.lookup import host_end

    furthest = clearest(refusals, registered)
    by_scheme: dict[str, list[InvalidIdentifier]] = {}
    for refusal in refusals:
        by_scheme.setdefault(refusal.scheme, []).append(refusal)
    reasons = [
        {"scheme": refusal.scheme, "reason": refusal.reason, "position": refusal.position}
        for refusal in map(clearest, by_scheme.values())
    ]
    message = furthest.message if len(reasons) == 1 else f"no scheme fits: {furthest.message}"
    if registered and len(reasons) > 1 and furthest.position < host_end(furthest.text):
        message = f"no registered namespace and no scheme fits the address {furthest.text!r}"
    output.error(furthest.code, message, {**furthest.details(), "refusals": reasons})

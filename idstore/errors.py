"""Every error that idstore raises on purpose.

IdstoreError
├── InvalidIdentifier     the text is not an identifier of that scheme (carries the position of the first offending character)
├── InvalidData           input that is not an identifier is malformed: a setting, an IRI, a date, an article's metadata
│   ├── ExchangeError     a file to import is malformed (carries file, line and reason; nothing was written)
│   │   └── BatchRefused  lines of a batch file cannot be carried out (carries all of them)
│   ├── MalformedShapes   a shapes graph breaks the rules of SHACL
│   └── UnsupportedShapes  a shape uses a part of SHACL that is not compiled
├── UnknownScheme         no scheme of that name is installed
├── AmbiguousIdentifier   the text names several identifiers of this registry (carries them)
├── QueryRefused          the query could do harm or cannot be parsed
├── NotRegistered         well formed, but this registry does not hold it, or not for this party to see
│   ├── UnknownNamespace  no namespace of that name
│   └── UnknownParty      no party of that name
├── AlreadyRegistered     the identifier, base or name is taken (under the namespace's comparison rule)
├── StageConflict         not allowed in the identifier's stage: releasing what is fixated, fixating twice
├── RequestConflict       a request key was used before with other arguments, or its identifier is gone
├── NamespaceExhausted    no free identifier is left under the scheme's rules
├── NotPermitted          the party may see it but not do this (what it may not see is NotRegistered)
├── ShapeViolation        data breaks a SHACL shape (carries the report)
├── IntegrityError        what is stored contradicts the log (carries the findings)
├── LimitReached          a query ran out of time or memory
└── StoreUnavailable      the store cannot be opened, read or written
    ├── StoreBusy         another process holds the store
    └── StoreDamaged      what its files hold is not what was written there
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar


class IdstoreError(Exception):
    """The family's root. ``code`` is a stable slug; ``fields`` are the values that the message was made from."""

    code: ClassVar[str] = "error"

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message)
        self.message = message
        self.fields: Mapping[str, object] = fields


class InvalidIdentifier(IdstoreError, ValueError):
    """The text is not an identifier of the scheme.

    text      what was given.
    reason    what is wrong, without the text.
    position  index, from 0, of the first character that breaks the grammar; the length of the text when it ends too soon.
    scheme    the scheme that refused it.
    """

    code = "invalid-identifier"

    def __init__(self, text: str, reason: str, position: int, scheme: str) -> None:
        super().__init__(
            f"{text!r} is not a valid {scheme} identifier: {reason} (at position {position})",
            text=text,
            reason=reason,
            position=position,
            scheme=scheme,
        )
        self.text = text
        self.reason = reason
        self.position = position
        self.scheme = scheme


def clearest(refusals: Sequence[InvalidIdentifier]) -> InvalidIdentifier:
    """The refusal that says most of a text which no scheme reads: the one that read furthest, but not one that only missed something at its end."""
    return max(refusals, key=lambda refusal: (refusal.position < len(refusal.text), refusal.position))


class InvalidData(IdstoreError, ValueError):
    """Input other than an identifier is malformed."""

    code = "invalid-data"


class ExchangeError(InvalidData):
    """A file to read is malformed; nothing was written.

    file, line  where; line counts from 1 and is None where the format has no lines.
    outcome     what the caller did in consequence.
    """

    code = "invalid-file"

    def __init__(self, file: str, line: int | None, reason: str, outcome: str = "nothing was imported") -> None:
        place = file if line is None else f"{file}, line {line}"
        reason = " ".join(reason.splitlines())  # what a file says may hold line breaks, and an error is one line
        self.file, self.line, self.reason = file, line, reason
        super().__init__(f"{place}: {reason}; {outcome}", file=file, line=line, reason=reason)


class BatchRefused(ExchangeError):
    """Lines of a batch file cannot be carried out; nothing was done.

    flaws  every such line with its reason, by line.
    """

    code = "batch-refused"

    def __init__(self, file: str, flaws: Sequence[tuple[int, str]]) -> None:
        first, *more = flaws
        beside = f" (and {len(more)} more: line {', '.join(str(line) for line, _ in more)})" if more else ""
        super().__init__(file, first[0], first[1] + beside)
        self.file = file
        self.flaws = tuple(flaws)


class MalformedShapes(InvalidData):
    """A shapes graph breaks the rules of SHACL."""

    code = "malformed-shapes"


class UnsupportedShapes(InvalidData):
    """A shape uses a part of SHACL that is not compiled."""

    code = "unsupported-shapes"


class UnknownScheme(IdstoreError, LookupError):
    """No scheme of that name is installed."""

    code = "unknown-scheme"


class AmbiguousIdentifier(IdstoreError, LookupError):
    """The text is a written form of several identifiers."""

    code = "ambiguous"

    def __init__(self, text: str, candidates: Sequence[str]) -> None:
        super().__init__(
            f"{text!r} names several identifiers: {', '.join(candidates)}; write one of them in full",
            text=text,
            candidates=list(candidates),
        )


class QueryRefused(IdstoreError, ValueError):
    """The query cannot be parsed, changes data, or reaches out of the store."""

    code = "query-refused"


class NotRegistered(IdstoreError, LookupError):
    """This registry holds no such identifier, or none that this party may see: the two are told apart by nothing."""

    code = "not-registered"

    def __init__(self, text: str, message: str | None = None) -> None:
        super().__init__(message or f"{text!r} is not registered here; `idstore list` shows what you may see", text=text)


class UnknownNamespace(NotRegistered):
    """No namespace of that name or base."""

    code = "unknown-namespace"

    def __init__(self, text: str, meant: str | None = None) -> None:
        remedy = "`idstore namespace list` shows them" if meant is None else f"did you mean {meant}?"
        super().__init__(text, f"no namespace {text!r} here; {remedy}")


class UnknownParty(NotRegistered):
    """No party of that name."""

    code = "unknown-party"

    def __init__(self, text: str) -> None:
        super().__init__(text, f"no party {text!r} here; an administrator can add it with `idstore party add`")


class AlreadyRegistered(IdstoreError):
    """The identifier, base or name is taken."""

    code = "taken"


class StageConflict(IdstoreError):
    """The identifier's stage does not allow the act."""

    code = "wrong-stage"


class RequestConflict(IdstoreError):
    """A request key came back with other arguments, or after its identifier was released."""

    code = "request-key"


class NamespaceExhausted(IdstoreError):
    """No free identifier is left under the scheme's rules."""

    code = "exhausted"


class NotPermitted(IdstoreError, PermissionError):
    """The party may see the thing but not do this with it."""

    code = "not-permitted"


class ShapeViolation(IdstoreError, ValueError):
    """Data breaks a SHACL shape."""

    code = "shape-violation"


class IntegrityError(IdstoreError):
    """What is stored contradicts the event log."""

    code = "integrity"


class LimitReached(IdstoreError, TimeoutError):
    """A query ran out of its time or memory."""

    code = "limit-reached"


class StoreUnavailable(IdstoreError, OSError):
    """The store cannot be opened, read or written."""

    code = "store-unavailable"


class StoreDamaged(StoreUnavailable):
    """What the store's files hold is not what was written there."""

    code = "store-damaged"


class StoreBusy(StoreUnavailable):
    """Another process holds the store, and the wait ran out."""

    code = "store-busy"

"""Every error that idstore raises on purpose.

IdstoreError
├── InvalidIdentifier     the text is not an identifier of that scheme (carries the first wrong position)
├── InvalidData           other input is malformed: a setting, an IRI, a date, an article's metadata
│   ├── ExchangeError     a file to import is malformed, nothing was written (carries file, line, reason)
│   │   └── BatchRefused  lines of a batch file cannot be executed (carries all of them)
│   ├── MalformedShapes   a shapes graph breaks the rules of SHACL
│   ├── UnsupportedShapes  a shape uses a part of SHACL that is not compiled
│   ├── UnsupportedMedia  a request has a body of a media type that a server does not read
│   └── NotAcceptable     a request accepts no media type that a server can answer in
├── UnknownScheme         no scheme of that name is installed
├── AmbiguousIdentifier   the text names several identifiers of this registry (carries them)
├── QueryRefused          the query could do harm or cannot be parsed
├── NotRegistered         well formed, but not in this registry, or not visible to this party
│   ├── UnknownNamespace  no namespace of that name
│   ├── UnknownParty      no party of that name
│   ├── NoTarget          the identifier is registered, and leads nowhere
│   └── UnknownValue      the handle has no value with that index
├── AlreadyRegistered     the identifier, base or name is taken (under the namespace's comparison rule)
├── ImportConflict        a file contradicts what is registered here; nothing was imported
├── StageConflict         the stage does not allow the act: releasing a fixated identifier, fixating twice
├── RequestConflict       a request key was used with other arguments, or its identifier was released
├── NamespaceExhausted    no free identifier is left under the scheme's rules
├── NotPermitted          the party may see it, but not do this (for invisible ones: NotRegistered)
│   ├── ReplicaReadOnly   a change in a replica, which takes its changes from elsewhere
│   ├── SignInRequired    a server needs valid credentials for this
│   └── TooManyAttempts   too many failed sign-ins from one address
├── SignInUnavailable     whether credentials are valid cannot be found out at the moment
├── ShapeViolation        data breaks a SHACL shape (carries the report)
├── IntegrityError        stored data contradicts the log (carries the findings)
├── LimitReached          a query exceeded its time or memory limit
│   ├── RequestTooLarge   a request is larger than a server accepts
│   └── TooManyQueries    a caller has too many queries that are not answered yet
├── LocalOnly             the act needs the store's folder, and the registry is reached through a server
└── StoreUnavailable      the store cannot be opened, read or written
    ├── StoreReadOnly     a change in a registry that was opened for reading only
    ├── StoreClosed       the registry was closed
    ├── StoreForked       the registry was opened by the process that this one was forked from
    ├── StoreBusy         another process holds the store (carries its number)
    │   └── Overloaded    a server has too much to do at the moment
    ├── OutcomeUnknown    the outcome of a change cannot be determined
    └── StoreDamaged      the contents of its files differ from the data written
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, ClassVar, Final

from idstore.disk_errors import cause_and_remedy, unnumbered
from idstore.remedies import Remedy

_LONGEST: Final = 10_000
"""Characters of a message, and of a text among its fields: an input can have a thousand times as many."""


def _cut(text: str) -> str:
    """Return a text without its middle if it is very long: the remedy stands at the end of a message."""
    half = _LONGEST // 2
    return text if len(text) <= _LONGEST else f"{text[:half]} […] {text[-half:]}"


_CIRCUMSTANCES: Final = frozenset(
    {"candidates", "column", "extra", "file", "flaws", "holder", "limit", "line", "meant", "memory"}
    | {"position", "reason", "refused", "retry_after", "seconds", "size", "triple", "wait"}
)
"""Fields of errors that tell of no argument."""


class IdstoreError(Exception):
    """Root of the error family.

    code      a stable slug.
    message   what is wrong, where, and what to do.
    fields    the values used in the message.
    field     the argument, column or setting that is at fault; None if none is.
    value     what the caller gave there; None if nothing.
    reason    what is wrong, without the place if the error knows it alone.
    position  index, from 0, of the first wrong character of the value, where there is one.
    remedy    what to do, where it is one act: the message says it in words.
    """

    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, remedy: Remedy | None = None, **fields: object) -> None:
        message = _cut(message)
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.fields: Mapping[str, object] = {
            name: _cut(value) if isinstance(value, str) else value for name, value in fields.items()
        }
        self.field = self._argument()
        self.value: object = self.fields.get(
            "value", self.fields.get(self.field or "", self.fields.get("text"))
        )
        self.reason = str(self.fields.get("reason", message))
        position = self.fields.get("position")
        self.position = position if isinstance(position, int) else None

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes a copy, also in another process."""
        return _copied, (type(self), self.args, vars(self))

    def details(self) -> dict[str, object]:
        """Return the fields, with ``field`` and ``value`` if an argument is at fault, and with ``remedy``."""
        named = {} if self.field is None else {"field": self.field, "value": self.value}
        remedy = {} if self.remedy is None else {"remedy": self.remedy.value}
        return {**self.fields, **named, **remedy}

    def _argument(self) -> str | None:
        named = self.fields.get("field")
        if named is not None:
            return str(named)
        return next((name for name in self.fields if name not in _CIRCUMSTANCES), None)


def _copied(
    kind: type[IdstoreError], arguments: tuple[object, ...], state: dict[str, object]
) -> IdstoreError:
    """Return an error without a call of its class, whose parameters the message has taken up."""
    error = kind.__new__(kind, *arguments)
    error.args = arguments
    vars(error).update(state)
    return error


class InvalidIdentifier(IdstoreError, ValueError):
    """The text is not an identifier of the scheme.

    text      the input.
    reason    what is wrong, without the text.
    position  index, from 0, of the first character that breaks the grammar; the length of the text if it ends
              too soon.
    scheme    name of the scheme that refused the text.
    """

    code = "invalid-identifier"
    position: int

    def __init__(
        self, text: str, reason: str, position: int, scheme: str, *, remedy: Remedy | None = None
    ) -> None:
        super().__init__(
            f"{text!r} is not a valid {scheme} identifier: {reason} (at position {position})",
            remedy=remedy,
            text=text,
            reason=reason,
            position=position,
            scheme=scheme,
        )
        self.text = text
        self.scheme = scheme


def clearest(
    refusals: Sequence[InvalidIdentifier], registered: Container[str] = frozenset()
) -> InvalidIdentifier:
    """Return the most helpful refusal of a text that no scheme accepts.

    This is the refusal with the highest position. Refusals at the end of the text (too short) come last.

    registered  names of the schemes of a registry's namespaces; other schemes count only without these.
    """
    near = [refusal for refusal in refusals if refusal.scheme in registered]
    return max(near or refusals, key=lambda refusal: (refusal.position < len(refusal.text), refusal.position))


class InvalidData(IdstoreError, ValueError):
    """Input other than an identifier is malformed."""

    code = "invalid-data"


class ExchangeError(InvalidData):
    """An input file is malformed; nothing was written.

    file, line  location; line counts from 1 and is None if the format has no lines.
    outcome     consequence for the caller's task.
    """

    code = "invalid-file"

    def __init__(
        self,
        file: str,
        line: int | None,
        reason: str,
        outcome: str = "nothing was imported",
        *,
        remedy: Remedy | None = None,
    ) -> None:
        place = file if line is None else f"{file}, line {line}"
        # text from a file may contain line breaks; an error message is one line
        reason = " ".join(reason.splitlines())
        self.file, self.line = file, line
        super().__init__(f"{place}: {reason}; {outcome}", file=file, line=line, reason=reason, remedy=remedy)


class BatchRefused(ExchangeError):
    """Lines of a batch file cannot be executed; nothing was changed.

    flaws  all these lines with their reasons, by line number.
    """

    code = "batch-refused"

    def __init__(self, file: str, flaws: Sequence[tuple[int, str]]) -> None:
        first, *more = flaws
        beside = f" (and {len(more)} more: line {', '.join(str(line) for line, _ in more)})" if more else ""
        super().__init__(file, first[0], first[1] + beside)
        self.file = file
        self.flaws = tuple(flaws)
        self.fields = {**self.fields, "flaws": [list(flaw) for flaw in flaws]}


class MalformedShapes(InvalidData):
    """A shapes graph breaks the rules of SHACL."""

    code = "malformed-shapes"


class UnsupportedShapes(InvalidData):
    """A shape uses a part of SHACL that is not compiled."""

    code = "unsupported-shapes"


class UnsupportedMedia(InvalidData):
    """A request has a body of a media type that a server does not read."""

    code = "unsupported-media"


class NotAcceptable(InvalidData):
    """A request accepts no media type that a server can answer in."""

    code = "not-acceptable"


class UnknownScheme(IdstoreError, LookupError):
    """No scheme of that name is installed."""

    code = "unknown-scheme"


class AmbiguousIdentifier(IdstoreError, LookupError):
    """The text is a written form of several identifiers.

    candidates  their IRIs.
    forms       for each of them a text that names it alone, such as ``NAMESPACE:label``.
    """

    code = "ambiguous"

    def __init__(self, text: str, candidates: Sequence[str], forms: Sequence[str] = ()) -> None:
        super().__init__(
            f"{text!r} names several identifiers: {', '.join(candidates)}; write"
            f" {' or '.join(forms or ['one of them in full'])}",
            text=text,
            field="id",
            candidates=list(candidates),
        )


class QueryRefused(IdstoreError, ValueError):
    """The query cannot be parsed, changes data, or reaches out of the store."""

    code = "query-refused"

    def _argument(self) -> str:
        return super()._argument() or "text"


class NotRegistered(IdstoreError, LookupError):
    """The registry holds no such identifier, or none that the party may see.

    The error does not distinguish the two.
    """

    code = "not-registered"
    _named: ClassVar[str] = "id"

    def __init__(self, text: str, message: str | None = None, *, remedy: Remedy | None = None) -> None:
        super().__init__(
            message or f"{text!r} is not registered here; list the identifiers that you may see",
            text=text,
            field=self._named,
            remedy=Remedy.LIST_IDENTIFIERS if message is None else remedy,
        )


class NoTarget(NotRegistered):
    """The identifier is registered and leads nowhere: no target, no successor, no binding in its place."""

    code = "no-target"


class UnknownNamespace(NotRegistered):
    """No namespace of that name or base."""

    code = "unknown-namespace"
    _named = "namespace"

    def __init__(self, text: str, meant: str | None = None) -> None:
        missing = f"no namespace {text!r} here"
        if meant is None:
            super().__init__(
                text, f"{missing}; list the namespaces for their names", remedy=Remedy.LIST_NAMESPACES
            )
        else:
            super().__init__(text, f"{missing}; did you mean {meant}?")


class UnknownParty(NotRegistered):
    """No party of that name."""

    code = "unknown-party"
    _named = "party"

    def __init__(self, text: str) -> None:
        super().__init__(
            text, f"no party {text!r} here; an administrator can add it", remedy=Remedy.ADD_PARTY
        )


class UnknownValue(NotRegistered):
    """The handle has no value with that index."""

    code = "unknown-value"

    def __init__(self, text: str, index: int) -> None:
        super().__init__(
            text,
            f"{text} has no value {index}; use the index of an existing value",
            remedy=Remedy.LIST_VALUES,
        )
        self.field, self.value = "index", index


class AlreadyRegistered(IdstoreError):
    """The identifier, base or name is taken."""

    code = "taken"


class ImportConflict(IdstoreError):
    """A file to import contradicts what is registered here; nothing was imported."""

    code = "import-conflict"


class StageConflict(IdstoreError):
    """The identifier's stage does not allow the act."""

    code = "wrong-stage"


class RequestConflict(IdstoreError):
    """A request key was reused with other arguments, or after its identifier was released."""

    code = "request-key"


class NamespaceExhausted(IdstoreError):
    """No free identifier is left under the scheme's rules."""

    code = "exhausted"


class NotPermitted(IdstoreError, PermissionError):
    """The party may see the resource, but not perform this act on it."""

    code = "not-permitted"


class ReplicaReadOnly(NotPermitted):
    """A replica changes by what it follows alone."""

    code = "replica"


class SignInRequired(NotPermitted):
    """A server needs valid credentials for this act."""

    code = "sign-in-required"


class TooManyAttempts(NotPermitted):
    """An address failed to sign in too often; it is refused for a while."""

    code = "too-many-attempts"


class SignInUnavailable(IdstoreError):
    """Whether credentials are valid cannot be told at the moment: the system that knows does not answer."""

    code = "sign-in-unavailable"


class ShapeViolation(IdstoreError, ValueError):
    """Data breaks a SHACL shape."""

    code = "shape-violation"


class IntegrityError(IdstoreError):
    """Stored data contradicts the event log."""

    code = "integrity"


class LimitReached(IdstoreError, TimeoutError):
    """A query exceeded its time or memory limit."""

    code = "limit-reached"


class RequestTooLarge(LimitReached):
    """A request is larger than a server accepts."""

    code = "request-too-large"


class TooManyQueries(LimitReached):
    """A caller has too many queries that are not answered yet."""

    code = "too-many-queries"


class LocalOnly(IdstoreError):
    """The act needs the folder of the store, and the registry is reached through a server."""

    code = "local-only"


class StoreUnavailable(IdstoreError, OSError):
    """The store cannot be opened, read or written."""

    code = "store-unavailable"


class StoreDamaged(StoreUnavailable):
    """The contents of the store's files differ from the data written, or a file is missing."""

    code = "store-damaged"

    def __init__(self, message: str, **fields: object) -> None:
        super().__init__(message, remedy=Remedy.RESTORE_BACKUP, **fields)


class StoreReadOnly(StoreUnavailable):
    """The registry was opened for reading only."""

    code = "read-only"

    def __init__(self, message: str = "the store was opened for reading only; open it for writing") -> None:
        super().__init__(message)


class StoreClosed(StoreUnavailable):
    """The registry was closed."""

    code = "closed"

    def __init__(self, message: str = "the store was closed; open it again") -> None:
        super().__init__(message)


class StoreForked(StoreUnavailable):
    """The registry was opened by the process that this one was forked from."""

    code = "forked"

    def __init__(
        self,
        message: str = "the store was opened by the process that this one was forked from; use it there, or"
        " open it in a newly started process (`spawn` in multiprocessing)",
    ) -> None:
        super().__init__(message)


class StoreBusy(StoreUnavailable):
    """Another process holds the store, and the waiting time has passed.

    holder  its number; None if it is not known, and for readers, which can be several.
    """

    code = "store-busy"

    @property
    def holder(self) -> int | None:
        """The number of the process that holds the store, None if it is not known."""
        holder = self.fields.get("holder")
        return holder if isinstance(holder, int) else None


class Overloaded(StoreBusy):
    """A server has too much to do at the moment; nothing was done."""

    code = "overloaded"


class OutcomeUnknown(StoreUnavailable):
    """The outcome of a change cannot be determined.

    Repeat it with the same request key, or check the store.
    """

    code = "outcome-unknown"


def engine_error(error: OSError | RuntimeError) -> StoreUnavailable:
    """Convert an engine error: OSError for an unreadable file, RuntimeError for a wrong checksum."""
    if isinstance(error, StoreUnavailable):
        return error
    if isinstance(error, OSError):
        why, remedy = cause_and_remedy(error)
        return StoreUnavailable(f"the store cannot be read: {why}; {remedy}")
    return StoreDamaged(f"the store is damaged: {unnumbered(error)}; keep its files, and restore a backup")


def restored(
    code: str, message: str, fields: Mapping[str, object], remedy: str | None = None
) -> IdstoreError:
    """Return the error that a server reported: of the class with that code, else the root class.

    A remedy that this version does not know is left out.
    """
    kinds: list[type[IdstoreError]] = [IdstoreError]
    for kind in kinds:
        kinds += kind.__subclasses__()
        if kind.code == code:
            break
    else:
        kind = IdstoreError
    error = kind.__new__(kind)
    known = next((one for one in Remedy if one == remedy), None)
    IdstoreError.__init__(error, message, remedy=known, **fields)
    for name, value in fields.items():
        setattr(error, name, value)
    return error

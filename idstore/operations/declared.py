"""The operations of a registry, and the methods of `Registry` that are none, each with the reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from idstore import arguments
from idstore.errors import (
    AlreadyRegistered,
    AmbiguousIdentifier,
    ExchangeError,
    IdstoreError,
    ImportConflict,
    InvalidData,
    InvalidIdentifier,
    LimitReached,
    NamespaceExhausted,
    NotPermitted,
    NotRegistered,
    QueryRefused,
    RequestConflict,
    StageConflict,
    UnknownNamespace,
    UnknownParty,
    UnknownScheme,
)
from idstore.exchange.changes import public_changes
from idstore.exchange.description import describe
from idstore.exchange.digest import digest
from idstore.exchange.exporting import MEDIA_TYPES, export, omissions
from idstore.exchange.importing import FORMATS as IMPORTED
from idstore.exchange.importing import import_file, packed
from idstore.model.event import split
from idstore.model.filter import LISTED, NOT_EXPORTED, OF_LISTS, Filter
from idstore.model.party import Party
from idstore.operations.operation import ApiOperation, Rights
from idstore.progress import never
from idstore.queries.formats import FORMATS
from idstore.queries.limits import ROWS, SECONDS
from idstore.registry import Registry
from idstore.registry.lists import position
from idstore.registry.log import LogEntry, LogPosition, feed_position
from idstore.registry.parties import KINDS as PARTY_KINDS
from idstore.stores.contract import Answer
from idstore.tokens import NewToken, add_token, list_tokens, redact_party, revoke_token
from idstore.validation.registries import check, check_changed

ALL, PARTY, ADMINISTRATOR = Rights.EVERYONE, Rights.PARTY, Rights.ADMINISTRATOR

_Errors = tuple[type[IdstoreError], ...]
_FOUND: Final[_Errors] = (NotRegistered, AmbiguousIdentifier, InvalidIdentifier)
_NAMED: Final[_Errors] = (UnknownNamespace, InvalidData)
_ACT: Final[_Errors] = (*_FOUND, NotPermitted, StageConflict, InvalidData)
_NEW: Final[_Errors] = (
    *_NAMED,
    InvalidIdentifier,
    NotPermitted,
    AlreadyRegistered,
    NamespaceExhausted,
    RequestConflict,
)
_ITEMS: Final = 500
"""Rows, identifiers, names or bindings of one request: all other acts wait for its one act, up to 2 ms for
each.
"""
_IN_ROWS: Final = 2500
"""Names, bindings or successors in all rows of one request, up to 1 ms for each."""
_OF_REQUEST: Final = {"names": _ITEMS, "bindings": _ITEMS}
_LISTS: Final[Mapping[str, Any]] = {
    "names": {"party": "owner"},
    "unused": ("id", "kinds"),
    "choices": {"stage": LISTED},
    "position": position,
}
_OF_LOG: Final = ("party", "since", "until", "id", "kinds")
"""Restrictions of events: those that do not pass are read too."""
_EXPORTS: Final[Mapping[str, Any]] = {
    "names": {"party": "owner"},
    "unused": NOT_EXPORTED,
    "choices": {"stage": LISTED},
}
_DIGITS: Final = 19
"""Digits of the token of an event, which has 62 bits: JSON writes it as text, since readers round numbers."""


@dataclass(frozen=True, slots=True)
class NewsPage:
    """The next entries of a log, and the position after them.

    entries  the events, oldest first.
    last, publication, shown  the position, for the next request.
    """

    entries: list[LogEntry]
    last: str | None
    publication: int | None
    shown: list[str]


@arguments.checks
def news_page(
    registry: Registry,
    party: Party,
    filter: Filter = Filter(),
    follows: bool = False,  # noqa: FBT002 a parameter of the operation
    last: str | None = None,
    publication: int | None = None,
    shown: Sequence[str] = (),
    cancelled: Callable[[], bool] = never,
) -> NewsPage:
    """Return the next events that the party may see, and the position after them: see `Log.news`.

    follows      whether events that become public later are wanted too.
    last, publication, shown  the position: what the answer before returned; none of them at first.
    """
    if last is not None and not _names_event(last):
        raise InvalidData(f"{last!r} is no position in a log; give the last one that was returned", text=last)
    for text in shown:
        if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
            raise InvalidData(
                f"shown holds {text!r}, which is no event; give what the answer before returned",
                field="shown",
                value=text,
            )
    position = LogPosition(follows, last, publication, {int(text) for text in shown})
    entries = registry.news(party, filter, position, cancelled)
    return NewsPage(
        entries, position.last, position.publication, [str(event) for event in sorted(position.shown)]
    )


def _names_event(text: str) -> bool:
    try:
        split(text)
    except ValueError:
        return False
    return True


@arguments.checks
def query_text(
    registry: Registry,
    text: str,
    party: Party,
    format: str | None = None,
    timeout: float = SECONDS,
    rows: int | None = ROWS,
    cancelled: Callable[[], bool] = never,
) -> Answer:
    """Answer a SPARQL query over the graphs that the party sees: see `Queries.query`.

    text     the query.
    format   None: ``table`` for rows, ``turtle`` for triples.
    timeout  seconds.
    rows     how many rows or triples at most; a longer answer is cut there, and says so.
    """
    return registry.query(text, party, format, timeout=timeout, rows=rows, cancelled=cancelled)


@arguments.checks
def new_token(
    registry: Registry,
    party: Party,
    owner: str | None = None,
    namespaces: Sequence[str] = (),
    acts: Sequence[str] = (),
    expires: datetime | None = None,
) -> NewToken:
    """Make a token, and return its secret this once: see `idstore.tokens.add_token`. Checks the acts."""
    known = sorted(name for name, operation in OPERATIONS.items() if operation.writes)
    for act in acts:
        if act not in known:
            raise InvalidData(f"no act {act!r}; there are {', '.join(known)}", act=act)
    return add_token(registry, party, owner, namespaces, acts, expires)


def _read(name: str, errors: _Errors = (), **more: object) -> ApiOperation:
    return ApiOperation(name, ALL, errors, **more)  # type: ignore[arg-type]


def _act(name: str, errors: _Errors = _ACT, **more: object) -> ApiOperation:
    return ApiOperation(name, PARTY, errors, writes=True, **more)  # type: ignore[arg-type]


def _administer(name: str, errors: _Errors, **more: object) -> ApiOperation:
    return ApiOperation(name, ADMINISTRATOR, (NotPermitted, *errors), writes=True, **more)  # type: ignore[arg-type]


OPERATIONS: Final[Mapping[str, ApiOperation]] = {
    operation.name: operation
    for operation in (
        # new identifiers
        _act("mint", _NEW, creates=True, route="/namespaces/{namespace}/identifiers", most=_OF_REQUEST),
        _act("mint_once", _NEW, creates=True, route="/namespaces/{namespace}/requests", most=_OF_REQUEST),
        _act("mint_several", _NEW, route="/namespaces/{namespace}/batches", most=_OF_REQUEST),
        _act(
            "mint_many",
            _NEW,
            route="/namespaces/{namespace}/tables",
            most={"rows": _ITEMS, "rows.request.names": _IN_ROWS, "rows.request.bindings": _IN_ROWS},
        ),
        _act(
            "register",
            _NEW,
            creates=True,
            route="/namespaces/{namespace}/registrations",
            most=_OF_REQUEST,
        ),
        _act("add_version", (*_ACT, *_NEW), creates=True, most=_OF_REQUEST),
        _act("replace", (*_ACT, UnknownNamespace)),
        # look-up
        _read("identify", _FOUND),
        _read("show", _FOUND, route="/identifier"),
        _read("remarks", _FOUND, route="/comments"),
        _read(
            "list",
            _NAMED,
            route="/identifiers",
            scanning=("deprecated", "withoutName", "released"),
            **_LISTS,
        ),
        _read("list_bound", (*_NAMED, *_FOUND), scanning=("text",), **_LISTS),
        _read("bound_to", (*_FOUND, InvalidData)),
        _read("shared_targets", (InvalidData,), verb="POST", most={"ids": _ITEMS}),
        _read("resolve", (*_FOUND, InvalidData)),
        _read("citation", _FOUND),
        _read("cite", _FOUND),
        _read("file_name", (*_FOUND, InvalidData)),
        _read("authority", _FOUND),
        _read("versions", _FOUND),
        _read("parts", _FOUND),
        _read("values", (*_FOUND, InvalidData)),
        _read("handles", _NAMED, scanning=("start",)),
        _read("at", (*_FOUND, InvalidData)),
        _read("all_at", _NAMED),
        _read("differences", _NAMED),
        _read("check_deriving", _NAMED),
        _read("derive", (*_NAMED, InvalidIdentifier), verb="POST"),
        _read("counts"),
        # statements
        _act("target", names={"target": "uri"}),
        _act("name"),
        _act("bind"),
        _act("unbind"),
        _act("comment"),
        _act("vet"),
        _act("set_value", (*_ACT, AlreadyRegistered)),
        _act("unset_values", most={"indexes": _ITEMS}),
        _act("put_handle", (*_ACT, *_NEW), creates=True),
        _act("delete_handle"),
        # lifecycle
        _act("fixate", most={"ids": _ITEMS}),
        _act("release"),
        _act("undeprecate", most={"successors": _ITEMS}),
        _act("deprecate", most={"successors": _ITEMS}),
        _act("supersede", most={"successors": _ITEMS}),
        _act("transfer"),
        _act("grant"),
        _act(
            "change_many",
            _ACT,
            most={"rows": _ITEMS, "rows.names": _IN_ROWS, "rows.successors": _IN_ROWS},
        ),
        _act("ungrant"),
        _administer("revoke", (*_FOUND, StageConflict, InvalidData)),
        _administer("revoke_all", (StageConflict, InvalidData)),
        _administer("redact_text", (NotRegistered, InvalidData)),
        _administer("redact_party", (NotRegistered, InvalidData), function=redact_party),
        # namespaces
        _read("namespaces"),
        _read("namespace", (UnknownNamespace,)),
        _read("derived", (UnknownNamespace,)),
        _read("fullness", (UnknownNamespace,)),
        _administer(
            "add_namespace",
            (AlreadyRegistered, UnknownScheme, StageConflict, InvalidData),
            creates=True,
            route="/namespaces",
        ),
        _act("allow", (*_NAMED, NotPermitted), namespace="name", most={"parties": _ITEMS}),
        _act("freeze", (*_NAMED, NotPermitted), namespace="name"),
        _act("set_namespace", (*_NAMED, NotPermitted, StageConflict, AlreadyRegistered), namespace="name"),
        _act("add_type", (*_NAMED, NotPermitted, AlreadyRegistered), namespace="name"),
        _act("transfer_namespace", (*_NAMED, NotPermitted, StageConflict), namespace="name"),
        _act("comment_namespace", (*_NAMED, NotPermitted), namespace="name"),
        # parties
        _read("parties"),
        _read("administers"),
        ApiOperation("is_stranger", ADMINISTRATOR, (NotPermitted, InvalidData)),
        ApiOperation("only_administrators", ADMINISTRATOR, (NotPermitted,)),
        _administer(
            "add_party",
            (AlreadyRegistered, InvalidData),
            creates=True,
            route="/parties",
            choices={"kind": PARTY_KINDS},
        ),
        _administer("join", (UnknownParty, StageConflict, InvalidData)),
        _administer("leave", (UnknownParty, StageConflict, InvalidData)),
        _administer("suspend", (StageConflict, InvalidData)),
        _administer("reinstate", (StageConflict, InvalidData)),
        # the log, the figures, queries
        _read("log", (*_FOUND, InvalidData, NotPermitted), unused=OF_LISTS),
        _read(
            "news",
            (*_FOUND, InvalidData),
            verb="POST",
            function=news_page,
            unused=OF_LISTS,
            scanning=_OF_LOG,
        ),
        _read("published", position=feed_position),
        _read(
            "events_since",
            (*_FOUND, InvalidData, NotPermitted),
            capped=True,
            unused=OF_LISTS,
            scanning=_OF_LOG,
        ),
        _read("changes", (InvalidData,), function=public_changes),
        ApiOperation("pace", PARTY, scanning=("since",)),
        _read(
            "query",
            (QueryRefused, LimitReached),
            verb="POST",
            function=query_text,
            choices={"format": FORMATS},
        ),
        _read(
            "export",
            _NAMED,
            function=export,
            download="target",
            media=MEDIA_TYPES,
            **{**_EXPORTS, "choices": {"format": MEDIA_TYPES, "stage": LISTED}},
        ),
        _read(
            "export_omissions",
            _NAMED,
            function=omissions,
            **{**_EXPORTS, "choices": {"format": MEDIA_TYPES, "stage": LISTED}},
        ),
        _read("describe", _NAMED, function=describe, download="target", media={"": "text/turtle"}),
        _read("digest", _NAMED, function=digest, **_EXPORTS),
        _act(
            "import_file",
            (*_NAMED, NotPermitted, ExchangeError, ImportConflict, AlreadyRegistered),
            route="/imports",
            function=import_file,
            upload="file",
            pack=packed,
            near=("others", "metadata"),
            choices={"format": IMPORTED},
        ),
        # checks
        ApiOperation("validate", PARTY, function=check),
        ApiOperation("validate_changed", ADMINISTRATOR, (NotPermitted,), function=check_changed),
        _administer("keep_checked", ()),
        ApiOperation("verify", ADMINISTRATOR, (NotPermitted,)),
        _administer("repair_counters", ()),
        ApiOperation("counters", ADMINISTRATOR, (NotPermitted,)),
        # tokens
        _act(
            "add_token",
            (*_NAMED, NotPermitted),
            creates=True,
            names={"owner": "party"},
            route="/tokens",
            function=new_token,
        ),
        ApiOperation("tokens", PARTY, route="/tokens", function=list_tokens),
        _act(
            "revoke_token",
            (NotRegistered, InvalidData),
            verb="DELETE",
            names={"token": "id"},
            route="/tokens/{id}",
            function=revoke_token,
        ),
        # storage
        _read("storages"),
        _administer("add_storage", (AlreadyRegistered, InvalidData), creates=True),
        _administer("allow_storage", (NotRegistered, InvalidData)),
        _act("place", (NotRegistered, NotPermitted, InvalidData, AlreadyRegistered)),
    )
}
"""Name → operation. Routes, OpenAPI, client and reference come from it."""

LOCAL: Final[Mapping[str, str]] = {
    "adopt": "a part of `import_file`",
    "as_graph": "an object of rdflib lives in one process",
    "backup": "it writes to a folder of the server's machine",
    "close": "it ends the process's own access",
    "enrol": "a part of `import_file`",
    "forms": "its argument is a record of this process; `cite` asks by identifier",
    "home": "a client answers from the namespaces it has read",
    "initialize": "a served registry is initialised",
    "load": "a client calls `mint_once` for each request",
    "matching": "patterns of triples are asked by SPARQL",
    "nquads": "a part of `export`",
    "pristine": "it tells whether a local store can be filled",
    "publish": "a part of `import_file`",
    "publication": "a part of `export`",
    "quads": "a part of `export`",
    "records": "a part of `export`",
    "refresh": "each answer of a server is of its newest state",
    "relate": "a part of `import_file`",
    "set_values": "a part of `import_file` for a batch file; `put_handle` sets several values at once",
    "state": "a part of `import_file` for a table of bindings",
    "steps": "a part of `changes`, and of `export` with the format rdf-patch",
    "visible": "it gives a snapshot of this process",
    "visible_graphs": "graphs are asked by SPARQL",
}
"""Methods of `Registry` that are no operations → the reason."""

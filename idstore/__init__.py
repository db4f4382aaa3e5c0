"""idstore: a registry of persistent identifiers, kept as triples.

>>> import tempfile, idstore
>>> alice = idstore.Party("alice")
>>> with tempfile.TemporaryDirectory() as folder, idstore.open(folder, administrator=alice) as registry:
...     namespace = registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", alice)
...     record = registry.mint("rdl", alice, idstore.Request(name="valve"))
...     record.stage.value
'created'
"""

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from idstore.errors import AlreadyRegistered as AlreadyRegistered
    from idstore.errors import AmbiguousIdentifier as AmbiguousIdentifier
    from idstore.errors import BatchRefused as BatchRefused
    from idstore.errors import ExchangeError as ExchangeError
    from idstore.errors import IdstoreError as IdstoreError
    from idstore.errors import ImportConflict as ImportConflict
    from idstore.errors import IntegrityError as IntegrityError
    from idstore.errors import InvalidData as InvalidData
    from idstore.errors import InvalidIdentifier as InvalidIdentifier
    from idstore.errors import LimitReached as LimitReached
    from idstore.errors import LocalOnly as LocalOnly
    from idstore.errors import MalformedShapes as MalformedShapes
    from idstore.errors import NamespaceExhausted as NamespaceExhausted
    from idstore.errors import NotAcceptable as NotAcceptable
    from idstore.errors import NoTarget as NoTarget
    from idstore.errors import NotPermitted as NotPermitted
    from idstore.errors import NotRegistered as NotRegistered
    from idstore.errors import OutcomeUnknown as OutcomeUnknown
    from idstore.errors import Overloaded as Overloaded
    from idstore.errors import QueryRefused as QueryRefused
    from idstore.errors import ReplicaReadOnly as ReplicaReadOnly
    from idstore.errors import RequestConflict as RequestConflict
    from idstore.errors import RequestTooLarge as RequestTooLarge
    from idstore.errors import ShapeViolation as ShapeViolation
    from idstore.errors import SignInRequired as SignInRequired
    from idstore.errors import SignInUnavailable as SignInUnavailable
    from idstore.errors import StageConflict as StageConflict
    from idstore.errors import StoreBusy as StoreBusy
    from idstore.errors import StoreClosed as StoreClosed
    from idstore.errors import StoreDamaged as StoreDamaged
    from idstore.errors import StoreForked as StoreForked
    from idstore.errors import StoreReadOnly as StoreReadOnly
    from idstore.errors import StoreUnavailable as StoreUnavailable
    from idstore.errors import TooManyAttempts as TooManyAttempts
    from idstore.errors import TooManyQueries as TooManyQueries
    from idstore.errors import UnknownNamespace as UnknownNamespace
    from idstore.errors import UnknownParty as UnknownParty
    from idstore.errors import UnknownScheme as UnknownScheme
    from idstore.errors import UnknownValue as UnknownValue
    from idstore.errors import UnsupportedMedia as UnsupportedMedia
    from idstore.errors import UnsupportedShapes as UnsupportedShapes
    from idstore.exchange.bad_lines import Malformed as Malformed
    from idstore.exchange.changes import ChangePage as ChangePage
    from idstore.exchange.changes import PublicChange as PublicChange
    from idstore.exchange.changes import public_changes as public_changes
    from idstore.exchange.columns import Columns as Columns
    from idstore.exchange.comparison import ChangedField as ChangedField
    from idstore.exchange.comparison import ChangedFields as ChangedFields
    from idstore.exchange.comparison import LeftOut as LeftOut
    from idstore.exchange.description import describe as describe
    from idstore.exchange.digest import Digest as Digest
    from idstore.exchange.digest import digest as digest
    from idstore.exchange.effects import Effect as Effect
    from idstore.exchange.event_intake import ImportReport as ImportReport
    from idstore.exchange.exporting import export as export
    from idstore.exchange.exporting import omissions as omissions
    from idstore.exchange.handle_batch import Flaw as Flaw
    from idstore.exchange.handle_batch_import import BatchReport as BatchReport
    from idstore.exchange.importing import ImportChoices as ImportChoices
    from idstore.exchange.importing import Imported as Imported
    from idstore.exchange.importing import TableReport as TableReport
    from idstore.exchange.importing import import_file as import_file
    from idstore.model.binding import Binding as Binding
    from idstore.model.event import Event as Event
    from idstore.model.filter import Filter as Filter
    from idstore.model.namespace import Namespace as Namespace
    from idstore.model.party import NOBODY as NOBODY
    from idstore.model.party import Party as Party
    from idstore.model.party import PartyFacts as PartyFacts
    from idstore.model.record import Record as Record
    from idstore.model.record import Stage as Stage
    from idstore.model.storage import Place as Place
    from idstore.model.storage import Storage as Storage
    from idstore.model.value import Value as Value
    from idstore.opening import open as open
    from idstore.opening import restore as restore
    from idstore.operations.declared import NewsPage as NewsPage
    from idstore.operations.declared import new_token as new_token
    from idstore.operations.declared import news_page as news_page
    from idstore.operations.declared import query_text as query_text
    from idstore.registry import Registry as Registry
    from idstore.registry.authority import Authority as Authority
    from idstore.registry.authority import Tenure as Tenure
    from idstore.registry.authority import Vetting as Vetting
    from idstore.registry.batch_mint import MintOutcome as MintOutcome
    from idstore.registry.batch_mint import RequestRow as RequestRow
    from idstore.registry.bindings import SharedTarget as SharedTarget
    from idstore.registry.bindings import Statement as Statement
    from idstore.registry.change_rows import ChangeRow as ChangeRow
    from idstore.registry.citation import Citation as Citation
    from idstore.registry.feed import FeedStep as FeedStep
    from idstore.registry.findings import VerificationFinding as VerificationFinding
    from idstore.registry.handle_records import HandleRange as HandleRange
    from idstore.registry.handle_values import Draft as Draft
    from idstore.registry.handle_values import ValuesSet as ValuesSet
    from idstore.registry.handle_values import When as When
    from idstore.registry.history import Difference as Difference
    from idstore.registry.imports.adopt import Adoption as Adoption
    from idstore.registry.imports.adopt import Published as Published
    from idstore.registry.imports.adopt import Renaming as Renaming
    from idstore.registry.imports.enroll import Listed as Listed
    from idstore.registry.imports.merge import Divergence as Divergence
    from idstore.registry.imports.relate import Related as Related
    from idstore.registry.imports.relate import Stated as Stated
    from idstore.registry.lists import Fullness as Fullness
    from idstore.registry.lists import IdentifierCounts as IdentifierCounts
    from idstore.registry.lists import Pace as Pace
    from idstore.registry.log import EventPage as EventPage
    from idstore.registry.log import LogEntry as LogEntry
    from idstore.registry.log import LogPosition as LogPosition
    from idstore.registry.log import Remark as Remark
    from idstore.registry.mappings import LineOutcome as LineOutcome
    from idstore.registry.mappings import Proposal as Proposal
    from idstore.registry.redaction import Redacted as Redacted
    from idstore.registry.replacement import Replaced as Replaced
    from idstore.registry.requests import Request as Request
    from idstore.registry.resolution import Derivation as Derivation
    from idstore.registry.resolution import Resolution as Resolution
    from idstore.registry.resolution import ResolutionOptions as ResolutionOptions
    from idstore.registry.resolution import Superseded as Superseded
    from idstore.registry.storage_plan import Placed as Placed
    from idstore.remedies import Remedy as Remedy
    from idstore.remote import RemoteRegistry as RemoteRegistry
    from idstore.remote import connect as connect
    from idstore.schemes import Context as Context
    from idstore.schemes import LabelType as LabelType
    from idstore.schemes import Scheme as Scheme
    from idstore.schemes import WrittenForm as WrittenForm
    from idstore.schemes.locations import Client as Client
    from idstore.stores.contract import Answer as Answer
    from idstore.stores.contract import GraphSelection as GraphSelection
    from idstore.stores.contract import Snapshot as Snapshot
    from idstore.stores.contract import StoreCounters as StoreCounters
    from idstore.tokens import NewToken as NewToken
    from idstore.tokens import Token as Token
    from idstore.tokens import list_tokens as list_tokens
    from idstore.tokens import redact_party as redact_party
    from idstore.tokens import revoke_token as revoke_token
    from idstore.validation.registries import IncrementalReport as IncrementalReport
    from idstore.validation.registries import check as check
    from idstore.validation.registries import check_changed as check_changed
    from idstore.validation.report import ValidationReport as ValidationReport
    from idstore.validation.report import ValidationResult as ValidationResult

    __version__: str

_MODULES: Final = {
    "Adoption": "idstore.registry.imports.adopt",
    "AlreadyRegistered": "idstore.errors",
    "AmbiguousIdentifier": "idstore.errors",
    "Answer": "idstore.stores.contract",
    "Authority": "idstore.registry.authority",
    "BatchRefused": "idstore.errors",
    "BatchReport": "idstore.exchange.handle_batch_import",
    "Binding": "idstore.model.binding",
    "ChangePage": "idstore.exchange.changes",
    "ChangeRow": "idstore.registry.change_rows",
    "ChangedField": "idstore.exchange.comparison",
    "ChangedFields": "idstore.exchange.comparison",
    "Citation": "idstore.registry.citation",
    "Client": "idstore.schemes.locations",
    "Columns": "idstore.exchange.columns",
    "Context": "idstore.schemes",
    "Derivation": "idstore.registry.resolution",
    "Difference": "idstore.registry.history",
    "Digest": "idstore.exchange.digest",
    "Divergence": "idstore.registry.imports.merge",
    "Draft": "idstore.registry.handle_values",
    "Effect": "idstore.exchange.effects",
    "Event": "idstore.model.event",
    "EventPage": "idstore.registry.log",
    "ExchangeError": "idstore.errors",
    "FeedStep": "idstore.registry.feed",
    "Filter": "idstore.model.filter",
    "Flaw": "idstore.exchange.handle_batch",
    "Fullness": "idstore.registry.lists",
    "GraphSelection": "idstore.stores.contract",
    "HandleRange": "idstore.registry.handle_records",
    "IdentifierCounts": "idstore.registry.lists",
    "IdstoreError": "idstore.errors",
    "ImportChoices": "idstore.exchange.importing",
    "ImportConflict": "idstore.errors",
    "ImportReport": "idstore.exchange.event_intake",
    "Imported": "idstore.exchange.importing",
    "IncrementalReport": "idstore.validation.registries",
    "IntegrityError": "idstore.errors",
    "InvalidData": "idstore.errors",
    "InvalidIdentifier": "idstore.errors",
    "LabelType": "idstore.schemes",
    "LeftOut": "idstore.exchange.comparison",
    "LimitReached": "idstore.errors",
    "LineOutcome": "idstore.registry.mappings",
    "Listed": "idstore.registry.imports.enroll",
    "LocalOnly": "idstore.errors",
    "LogEntry": "idstore.registry.log",
    "LogPosition": "idstore.registry.log",
    "Malformed": "idstore.exchange.bad_lines",
    "MalformedShapes": "idstore.errors",
    "MintOutcome": "idstore.registry.batch_mint",
    "NOBODY": "idstore.model.party",
    "Namespace": "idstore.model.namespace",
    "NamespaceExhausted": "idstore.errors",
    "NewToken": "idstore.tokens",
    "NewsPage": "idstore.operations.declared",
    "NoTarget": "idstore.errors",
    "NotAcceptable": "idstore.errors",
    "NotPermitted": "idstore.errors",
    "NotRegistered": "idstore.errors",
    "OutcomeUnknown": "idstore.errors",
    "Overloaded": "idstore.errors",
    "Pace": "idstore.registry.lists",
    "Party": "idstore.model.party",
    "PartyFacts": "idstore.model.party",
    "Place": "idstore.model.storage",
    "Placed": "idstore.registry.storage_plan",
    "Proposal": "idstore.registry.mappings",
    "PublicChange": "idstore.exchange.changes",
    "Published": "idstore.registry.imports.adopt",
    "QueryRefused": "idstore.errors",
    "Record": "idstore.model.record",
    "Redacted": "idstore.registry.redaction",
    "Registry": "idstore.registry",
    "Related": "idstore.registry.imports.relate",
    "Remark": "idstore.registry.log",
    "Remedy": "idstore.remedies",
    "RemoteRegistry": "idstore.remote",
    "Renaming": "idstore.registry.imports.adopt",
    "Replaced": "idstore.registry.replacement",
    "ReplicaReadOnly": "idstore.errors",
    "Request": "idstore.registry.requests",
    "RequestConflict": "idstore.errors",
    "RequestRow": "idstore.registry.batch_mint",
    "RequestTooLarge": "idstore.errors",
    "Resolution": "idstore.registry.resolution",
    "ResolutionOptions": "idstore.registry.resolution",
    "Scheme": "idstore.schemes",
    "ShapeViolation": "idstore.errors",
    "SharedTarget": "idstore.registry.bindings",
    "SignInRequired": "idstore.errors",
    "SignInUnavailable": "idstore.errors",
    "Snapshot": "idstore.stores.contract",
    "Stage": "idstore.model.record",
    "StageConflict": "idstore.errors",
    "Stated": "idstore.registry.imports.relate",
    "Statement": "idstore.registry.bindings",
    "Storage": "idstore.model.storage",
    "StoreBusy": "idstore.errors",
    "StoreClosed": "idstore.errors",
    "StoreCounters": "idstore.stores.contract",
    "StoreDamaged": "idstore.errors",
    "StoreForked": "idstore.errors",
    "StoreReadOnly": "idstore.errors",
    "StoreUnavailable": "idstore.errors",
    "Superseded": "idstore.registry.resolution",
    "TableReport": "idstore.exchange.importing",
    "Tenure": "idstore.registry.authority",
    "Token": "idstore.tokens",
    "TooManyAttempts": "idstore.errors",
    "TooManyQueries": "idstore.errors",
    "UnknownNamespace": "idstore.errors",
    "UnknownParty": "idstore.errors",
    "UnknownScheme": "idstore.errors",
    "UnknownValue": "idstore.errors",
    "UnsupportedMedia": "idstore.errors",
    "UnsupportedShapes": "idstore.errors",
    "ValidationReport": "idstore.validation.report",
    "ValidationResult": "idstore.validation.report",
    "Value": "idstore.model.value",
    "ValuesSet": "idstore.registry.handle_values",
    "VerificationFinding": "idstore.registry.findings",
    "Vetting": "idstore.registry.authority",
    "When": "idstore.registry.handle_values",
    "WrittenForm": "idstore.schemes",
    "check": "idstore.validation.registries",
    "check_changed": "idstore.validation.registries",
    "connect": "idstore.remote",
    "describe": "idstore.exchange.description",
    "digest": "idstore.exchange.digest",
    "export": "idstore.exchange.exporting",
    "import_file": "idstore.exchange.importing",
    "list_tokens": "idstore.tokens",
    "new_token": "idstore.operations.declared",
    "news_page": "idstore.operations.declared",
    "omissions": "idstore.exchange.exporting",
    "open": "idstore.opening",
    "public_changes": "idstore.exchange.changes",
    "query_text": "idstore.operations.declared",
    "redact_party": "idstore.tokens",
    "restore": "idstore.opening",
    "revoke_token": "idstore.tokens",
}
"""Public name → its module: errors, functions, and the types of parameters and results of all operations."""

__all__ = [*_MODULES]  # noqa: PLE0604 the keys are strings

logging.getLogger(__name__).addHandler(logging.NullHandler())


if not TYPE_CHECKING:  # so that type checkers find a misspelt name

    def __getattr__(name: str) -> Any:
        """Import a public name at its first use: every command imports the package, and few use these."""
        if name == "__version__":
            from importlib.metadata import version

            return version("idstore")
        if name not in _MODULES:
            raise AttributeError(f"module 'idstore' has no attribute {name!r}")
        return getattr(import_module(_MODULES[name]), name)

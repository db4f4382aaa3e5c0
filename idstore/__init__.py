"""idstore: a registry of persistent identifiers, kept as triples.

>>> import tempfile, idstore
>>> alice = idstore.Party("alice")
>>> with tempfile.TemporaryDirectory() as folder, idstore.open(folder, administrator=alice) as registry:
...     namespace = registry.add_namespace("rdl", "http://rdl.example.org/data#", "rdswip", alice)
...     record = registry.mint("rdl", alice, idstore.Request(name="valve"))
...     record.stage.value
'created'
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idstore.errors import IdstoreError as IdstoreError
    from idstore.model.event import Event as Event
    from idstore.model.filter import Filter as Filter
    from idstore.model.namespace import Namespace as Namespace
    from idstore.model.party import Party as Party
    from idstore.model.record import Record as Record
    from idstore.model.record import Stage as Stage
    from idstore.opening import open as open
    from idstore.registry import Registry as Registry
    from idstore.registry.bindings import Statement as Statement
    from idstore.registry.requests import Request as Request
    from idstore.remote import connect as connect

_MODULES = {
    "Event": "idstore.model.event",
    "Filter": "idstore.model.filter",
    "IdstoreError": "idstore.errors",
    "Namespace": "idstore.model.namespace",
    "Party": "idstore.model.party",
    "Record": "idstore.model.record",
    "Registry": "idstore.registry",
    "Request": "idstore.registry.requests",
    "Stage": "idstore.model.record",
    "Statement": "idstore.registry.bindings",
    "connect": "idstore.remote",
    "open": "idstore.opening",
}

__all__ = [*_MODULES]  # noqa: PLE0604 the keys are strings


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: every command imports the package, and few use these names."""
    if name not in _MODULES:
        raise AttributeError(f"module 'idstore' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)

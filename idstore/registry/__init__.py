"""The use cases of a registry and their rules: one module for each group of acts; `Registry` joins them.

No module here reads or writes files, prints, or knows HTTP. Of `idstore.stores` they import the contract
alone.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idstore.registry.registry import Registry as Registry


def __getattr__(name: str) -> Any:
    """Import `Registry` on first use, because a command that only allocates does not need it."""
    if name != "Registry":
        raise AttributeError(f"module 'idstore.registry' has no attribute {name!r}")
    from idstore.registry.registry import Registry

    return Registry

"""The use cases of a registry of persistent identifiers, and their rules."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idstore.registry.whole import Registry as Registry


def __getattr__(name: str) -> Any:
    """Import the whole of them when it is first used: whoever only allocates starts sooner."""
    if name != "Registry":
        raise AttributeError(f"module 'idstore.registry' has no attribute {name!r}")
    from idstore.registry.whole import Registry

    return Registry

"""Common defaults of schemes."""

from collections.abc import Iterator
from typing import Final

from idstore.errors import InvalidData
from idstore.remedies import Remedy
from idstore.schemes import Allocation, Context
from idstore.schemes._text import encode


class SchemeBase:
    """Defaults: labels are their own comparison keys, allow bulk allocation, form one series, and persist."""

    bulk = True

    def iri(self, label: str, context: Context) -> str:
        """See `Scheme`."""
        return context.base + encode(label)

    def key(self, label: str, context: Context) -> str:  # noqa: ARG002 - other schemes need the context
        """See `Scheme`."""
        return label

    def series(self, label: str, context: Context) -> tuple[str, int]:  # noqa: ARG002
        """See `Scheme`."""
        return "", 0

    def provisional(self, label: str, context: Context) -> bool:  # noqa: ARG002
        """See `Scheme`."""
        return False


NO_MAPPING: Final = ", because a label that depends on others would be an unrecorded mapping"
"""The reason why labels are not derived from data, in schemes where that is a principle."""


def refuse_metadata(allocation: Allocation, *allowed: str, principle: str = "") -> None:
    """Raise InvalidData if the metadata have fields to derive a label from.

    For schemes that derive no labels.

    allowed    fields with another purpose.
    principle  reason to add to the message.
    """
    fields = [name for name in allocation.metadata if name not in allowed]
    if fields:
        base = allocation.context.base
        reason = f"labels under {base} are not derived from metadata (here: {', '.join(fields)}){principle}"
        raise InvalidData(
            f"{reason}; mint without metadata and relate identifiers by bindings",
            base=base,
            remedy=Remedy.BIND,
        )


def moments(allocation: Allocation, latest: int | None = None) -> Iterator[int]:
    """Yield milliseconds since 1970 that the clock has reached: those since the request, then later ones.

    Milliseconds that pass while requests wait for each other are thus not lost.

    latest  the highest time that has a label, if known: the free times after it come first. Earlier times may
            also be
            free, but after a long wait most are not, and each requires a lookup.
    """
    first = allocation.asked
    while True:
        now = allocation.now()
        first = min(first, now)  # the clock may have been set back
        free = first if latest is None else max(first, latest + 1)
        yield from range(free, now + 1)
        yield from range(first, min(free, now + 1))
        first = now + 1
        allocation.wait_until(first)

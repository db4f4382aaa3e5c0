"""What most schemes answer alike."""

from collections.abc import Iterator
from typing import Final

from idstore.errors import InvalidData
from idstore.schemes import Allocation, Context
from idstore.schemes._text import encode


class SchemeBase:
    """Labels that compare as they are written, may be taken in batches, are counted together and are meant to last."""

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


UNMAPPED: Final = ": one that continues others would be a map that nobody wrote down"
"""Why identifiers follow from nothing, where it is a principle."""


def unguided(allocation: Allocation, *known: str, principle: str = "") -> None:
    """Raise InvalidData if a label is asked for that follows from something: for schemes whose labels follow from nothing.

    known  fields that say something else.
    """
    asked = [name for name in allocation.metadata if name not in known]
    if asked:
        base = allocation.context.base
        reason = f"no identifier under {base} follows from anything ({', '.join(asked)}){principle}"
        raise InvalidData(f"{reason}; mint without, and say with `idstore bind` how identifiers are related", base=base)


def moments(allocation: Allocation) -> Iterator[int]:
    """Milliseconds since 1970 that the clock has reached: those since a label was asked for, then, as they come, later ones.

    So those that pass while many wait for each other are not lost.
    """
    next_one = allocation.asked
    while True:
        now = allocation.now()
        yield from range(min(next_one, now), now + 1)  # the clock may have been set back
        next_one = now + 1
        allocation.wait_until(next_one)

"""What most schemes answer alike."""

from collections.abc import Iterator

from idstore.schemes import Allocation, Context
from idstore.schemes._text import encode


class SchemeBase:
    """Labels that compare as they are written, are counted together and are meant to last."""

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


def moments(allocation: Allocation) -> Iterator[int]:
    """Milliseconds since 1970 that the clock has reached: the present one, then, as long as they are asked for, later ones."""
    while True:
        moment = allocation.now()
        yield moment
        allocation.wait_until(moment + 1)

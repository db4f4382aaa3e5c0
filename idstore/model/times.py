"""Times: milliseconds since 1970-01-01T00:00Z internally, ISO 8601 in UTC externally."""

import time
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from pyoxigraph import Literal

from idstore.errors import InvalidData
from idstore.vocabulary import XSD

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000
"""Milliseconds in a day."""
_FIRST, _LAST = (
    (date.min.toordinal() - date(1970, 1, 1).toordinal()) * DAY,
    (date.max.toordinal() - date(1970, 1, 1).toordinal() + 1) * DAY - 1,
)
"""The first and the last time that ISO 8601 can write: an offset can lead out of the years 1 to 9999."""


def now() -> int:
    """Return the current time."""
    return time.time_ns() // 1_000_000


def checked(moment: int) -> int:
    """Return a time unchanged. Raises InvalidData: it is not a number of milliseconds, such as a datetime."""
    if not isinstance(moment, int):
        raise InvalidData(
            f"{moment!r} is no moment; give milliseconds since 1970, as int(when.timestamp() * 1000)",
            moment=str(moment),
        )
    return moment


def iso(moment: int) -> str:
    """Return a time in ISO 8601, always with milliseconds.

    >>> iso(0)
    '1970-01-01T00:00:00.000Z'
    """
    number, rest = divmod(moment, DAY)
    seconds, thousandths = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{day_text(number)}T{hour:02}:{minute:02}:{second:02}.{thousandths:03}Z"


@lru_cache(maxsize=256)
def literal(moment: int) -> Literal:
    """Return the xsd:dateTime literal in its canonical form, which engines do not rewrite."""
    return Literal(lexical(moment), datatype=XSD.dateTime)


def lexical(moment: int) -> str:
    """Return the canonical lexical form of xsd:dateTime, without trailing zeros.

    >>> lexical(1500)
    '1970-01-01T00:00:01.5Z'
    """
    return iso(moment)[:-1].rstrip("0").rstrip(".") + "Z"


def writable(moment: int, text: str = "") -> int:
    """Return the time unchanged.

    Raises InvalidData, with the original text if any, outside the years 1 to 9999.
    """
    if not _FIRST <= moment <= _LAST:
        subject = f"{text!r} is, in UTC," if text else f"{moment} milliseconds since 1970 are"
        raise InvalidData(
            f"{subject} not within the years 1 to 9999; use a time within them",
            field="moment",
            text=text or str(moment),
        )
    return moment


def parse(text: str) -> int:
    """Read a date or time in ISO 8601. Defaults: offset UTC, time midnight.

    Raises InvalidData.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidData(
            f"{text!r} is not a date or time; write 2026-11-20 or 2026-11-20T11:17:35Z",
            field="moment",
            text=text,
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return writable((moment - _EPOCH) // timedelta(milliseconds=1), text)


def day(moment: int) -> int:
    """Return the number of days since 1970-01-01 (UTC)."""
    return moment // DAY


@lru_cache(maxsize=256)
def day_text(number: int) -> str:
    """Return the date of a day number.

    >>> day_text(0)
    '1970-01-01'
    """
    return (date(1970, 1, 1) + timedelta(days=number)).isoformat()

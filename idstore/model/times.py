"""Times: datetimes in UTC with milliseconds, ISO 8601 in texts, and milliseconds since 1970 in the store."""

import time
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from pyoxigraph import Literal

from idstore.errors import InvalidData
from idstore.vocabulary import XSD

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000
"""Milliseconds in a day."""


def now() -> int:
    """Return the current time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def current() -> datetime:
    """Return the current time."""
    return of(now())


def of(milliseconds: int) -> datetime:
    """Return the time so many milliseconds after 1970. Raises InvalidData outside the years 1 to 9999.

    >>> of(1500)
    datetime.datetime(1970, 1, 1, 0, 0, 1, 500000, tzinfo=datetime.timezone.utc)
    """
    try:
        return _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        raise _outside(f"{milliseconds} milliseconds since 1970 are", str(milliseconds)) from None


def milliseconds(moment: datetime) -> int:
    """Return the milliseconds since 1970; parts of one do not count.

    >>> milliseconds(of(1500))
    1500
    """
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def checked(moment: object, name: str = "moment") -> datetime:
    """Return a time in UTC, without parts of a millisecond.

    name  the argument that it is.
    Raises InvalidData: it is no `datetime`, has no time zone, or is outside the years 1 to 9999 in UTC.
    """
    if not isinstance(moment, datetime) or moment.utcoffset() is None:
        raise InvalidData(
            f"{moment!r} is no moment; give a datetime with its time zone, as datetime.now(UTC)",
            field=name,
            value=str(moment),
        )
    try:
        return of(milliseconds(moment.astimezone(UTC)))
    except OverflowError:
        raise _outside(f"{str(moment)!r} is, in UTC,", str(moment)) from None


def iso(moment: datetime) -> str:
    """Return a time in ISO 8601, always with milliseconds.

    >>> iso(of(0))
    '1970-01-01T00:00:00.000Z'
    """
    return f"{moment.replace(tzinfo=None).isoformat(timespec='milliseconds')}Z"


@lru_cache(maxsize=256)
def literal(moment: datetime) -> Literal:
    """Return the xsd:dateTime literal in its canonical form, which engines do not rewrite."""
    return Literal(lexical(moment), datatype=XSD.dateTime)


def lexical(moment: datetime) -> str:
    """Return the canonical lexical form of xsd:dateTime, without trailing zeros.

    >>> lexical(of(1500))
    '1970-01-01T00:00:01.5Z'
    """
    return iso(moment)[:-1].rstrip("0").rstrip(".") + "Z"


def parse(text: str) -> datetime:
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
    return checked(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _outside(subject: str, text: str) -> InvalidData:
    return InvalidData(
        f"{subject} not within the years 1 to 9999; use a time within them", field="moment", text=text
    )


def day(milliseconds: int) -> int:
    """Return the number of days since 1970-01-01 (UTC)."""
    return milliseconds // DAY


@lru_cache(maxsize=256)
def day_text(number: int) -> str:
    """Return the date of a day number.

    >>> day_text(0)
    '1970-01-01'
    """
    return (date(1970, 1, 1) + timedelta(days=number)).isoformat()

"""Moments: whole milliseconds since 1970-01-01T00:00Z inside, ISO 8601 in UTC outside."""

import time
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

from pyoxigraph import Literal

from idstore.errors import InvalidData
from idstore.vocabulary import XSD

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000
"""Milliseconds of a day."""
_FIRST, _LAST = (
    (date.min.toordinal() - date(1970, 1, 1).toordinal()) * DAY,
    (date.max.toordinal() - date(1970, 1, 1).toordinal() + 1) * DAY - 1,
)
"""The moments that can be written: an offset may lead out of the years 1 to 9999."""


def now() -> int:
    """The clock."""
    return time.time_ns() // 1_000_000


def iso(moment: int) -> str:
    """``2026-11-20T11:17:35.120Z``: always with milliseconds.

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
    """The xsd:dateTime in the canonical lexical form, which engines keep as it is."""
    return Literal(lexical(moment), datatype=XSD.dateTime)


def lexical(moment: int) -> str:
    """The canonical lexical form of xsd:dateTime: without zeros at the end.

    >>> lexical(1500)
    '1970-01-01T00:00:01.5Z'
    """
    return iso(moment)[:-1].rstrip("0").rstrip(".") + "Z"


def writable(moment: int, text: str = "") -> int:
    """The same moment, which somebody may have given as a text. Raises InvalidData: it is in no year that can be written."""
    if not _FIRST <= moment <= _LAST:
        said = f"{text!r} is, in UTC," if text else f"{moment} milliseconds since 1970 are"
        raise InvalidData(f"{said} not within the years 1 to 9999; give a moment that is", text=text or str(moment))
    return moment


def parse(text: str) -> int:
    """Read an ISO 8601 date or time; without an offset it is UTC, without a time midnight.

    Raises InvalidData.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidData(f"{text!r} is not a date or time; write 2026-11-20 or 2026-11-20T11:17:35Z", text=text) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return writable((moment - _EPOCH) // timedelta(milliseconds=1), text)


def day(moment: int) -> int:
    """The day since 1970-01-01 (UTC)."""
    return moment // DAY


@lru_cache(maxsize=256)
def day_text(number: int) -> str:
    """The date of a day number.

    >>> day_text(0)
    '1970-01-01'
    """
    return (date(1970, 1, 1) + timedelta(days=number)).isoformat()

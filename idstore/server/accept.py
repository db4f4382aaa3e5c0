"""The header ``Accept``: which media types a client prefers (RFC 9110, section 12.5.1)."""

from functools import lru_cache
from typing import Final

from mimeparse import MimeTypeParseException, parse_media_range, quality_parsed
from starlette.datastructures import Headers

_RANGES: Final = 100
"""Ranges that count; those behind them are overlooked. Browsers and libraries for RDF send fewer than 30."""
_LONGEST: Final = 200
"""Characters of a range that counts."""


def preferred(headers: Headers, offered: tuple[str, ...]) -> str | None:
    """Return the media type that a client prefers, of equally preferred ones the first.

    None: it accepts none.
    """
    rated = qualities(headers, offered)
    best = max(rated)
    return offered[rated.index(best)] if best > 0 else None


def qualities(headers: Headers, offered: tuple[str, ...]) -> tuple[float, ...]:
    """Return the quality of each media type for a client, from 0 (not acceptable) to 1.

    Without the header everything is acceptable. A malformed range is ignored, and so are too many.
    """
    header = ",".join(headers.getlist("accept"))
    if len(header) > _LONGEST:
        header = ",".join(one for one in header.split(",", _RANGES)[:_RANGES] if len(one) <= _LONGEST)
    return _qualities(header, offered)


@lru_cache(maxsize=256)
def _qualities(header: str, offered: tuple[str, ...]) -> tuple[float, ...]:
    """Return the qualities that a header gives; browsers send few different ones.

    >>> _qualities("application/rdf+xml;q=0.5, text/turtle, */*;q=0.1", ("text/turtle", "image/png"))
    (1.0, 0.1)
    >>> _qualities("", ("text/html",)), _qualities("oops, text/turtle;q=0.7", ("text/turtle",))
    ((1.0,), (0.7,))
    """
    if not header.strip():
        return (1.0,) * len(offered)
    ranges = []
    for piece in header.lower().split(","):
        try:
            ranges += [parse_media_range(piece)] if piece.strip() else []
        except MimeTypeParseException:
            continue
    return tuple(float(quality_parsed(kind, ranges)) for kind in offered)

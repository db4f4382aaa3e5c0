"""How far a query may go unless said otherwise."""

from typing import Final

SECONDS: Final = 30.0
"""Wall-clock time that it may take."""
LONGEST: Final = 1e6
"""Seconds, before which a limit must lie: clocks of systems do not count on for ever."""
ROWS: Final = 100_000
"""Rows or triples that are given."""
MEMORY: Final = 2 << 30
"""Bytes that it may use."""
LEAST_MEMORY: Final = 256 << 20
"""Bytes without which the engine cannot be opened."""

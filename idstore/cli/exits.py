"""Exit codes: the one table.

0 done · 1 failed unexpectedly · 2 usage · 3 invalid identifier or data · 4 not found · 5 shapes or invariants broken ·
6 store busy or unavailable · 7 not permitted · 8 conflict · 9 limit reached · 130 interrupted · 141 the reader of our output went away ·
143 terminated
"""

from typing import Final

from idstore import errors

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
INVALID: Final = 3
NOT_FOUND: Final = 4
BROKEN: Final = 5
UNAVAILABLE: Final = 6
NOT_PERMITTED: Final = 7
CONFLICT: Final = 8
LIMIT: Final = 9
INTERRUPTED: Final = 130
"""128 + SIGINT, as shells report it."""
PIPE_CLOSED: Final = 141
"""128 + SIGPIPE: ``idstore list | head`` ends as other tools do."""
TERMINATED: Final = 143
"""128 + SIGTERM, as of a process that it ends at once."""

EXIT_CODES: Final[dict[type[errors.IdstoreError], int]] = {
    errors.IdstoreError: FAILED,
    errors.InvalidIdentifier: INVALID,
    errors.InvalidData: INVALID,
    errors.ExchangeError: INVALID,
    errors.BatchRefused: INVALID,
    errors.MalformedShapes: INVALID,
    errors.UnsupportedShapes: INVALID,
    errors.UnknownScheme: USAGE,
    errors.AmbiguousIdentifier: USAGE,
    errors.QueryRefused: USAGE,
    errors.NotRegistered: NOT_FOUND,
    errors.UnknownNamespace: NOT_FOUND,
    errors.UnknownParty: NOT_FOUND,
    errors.AlreadyRegistered: CONFLICT,
    errors.StageConflict: CONFLICT,
    errors.RequestConflict: CONFLICT,
    errors.NamespaceExhausted: CONFLICT,
    errors.NotPermitted: NOT_PERMITTED,
    errors.ShapeViolation: BROKEN,
    errors.IntegrityError: BROKEN,
    errors.LimitReached: LIMIT,
    errors.StoreUnavailable: UNAVAILABLE,
    errors.StoreDamaged: UNAVAILABLE,
    errors.StoreBusy: UNAVAILABLE,
}


def exit_code(error: errors.IdstoreError) -> int:
    """The exit code of an error; one that a plug-in added has its parent's."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)

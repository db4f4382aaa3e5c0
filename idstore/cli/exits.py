"""Exit codes, and the table from errors to exit codes.

0 done · 1 failed unexpectedly · 2 usage · 3 invalid identifier or data · 4 not found · 5 shapes or invariants
broken · 6 store busy or unavailable, or outcome unknown · 7 not permitted · 8 conflict · 9 limit reached ·
130 interrupted · 141 the reader of the output closed it · 143 terminated
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
"""128 + SIGTERM, as shells report it."""

EXIT_CODES: Final[dict[type[errors.IdstoreError], int]] = {
    errors.IdstoreError: FAILED,
    errors.InvalidIdentifier: INVALID,
    errors.InvalidData: INVALID,
    errors.ExchangeError: INVALID,
    errors.BatchRefused: INVALID,
    errors.MalformedShapes: INVALID,
    errors.UnsupportedShapes: INVALID,
    errors.UnsupportedMedia: INVALID,
    errors.NotAcceptable: INVALID,
    errors.UnknownScheme: USAGE,
    errors.AmbiguousIdentifier: USAGE,
    errors.QueryRefused: USAGE,
    errors.NotRegistered: NOT_FOUND,
    errors.UnknownNamespace: NOT_FOUND,
    errors.UnknownParty: NOT_FOUND,
    errors.UnknownValue: NOT_FOUND,
    errors.NoTarget: NOT_FOUND,
    errors.AlreadyRegistered: CONFLICT,
    errors.ImportConflict: CONFLICT,
    errors.StageConflict: CONFLICT,
    errors.RequestConflict: CONFLICT,
    errors.NamespaceExhausted: CONFLICT,
    errors.NotPermitted: NOT_PERMITTED,
    errors.ShapeViolation: BROKEN,
    errors.IntegrityError: BROKEN,
    errors.ReplicaReadOnly: NOT_PERMITTED,
    errors.SignInRequired: NOT_PERMITTED,
    errors.TooManyAttempts: NOT_PERMITTED,
    errors.SignInUnavailable: UNAVAILABLE,
    errors.LimitReached: LIMIT,
    errors.RequestTooLarge: LIMIT,
    errors.TooManyQueries: LIMIT,
    errors.LocalOnly: USAGE,
    errors.StoreUnavailable: UNAVAILABLE,
    errors.OutcomeUnknown: UNAVAILABLE,
    errors.StoreDamaged: UNAVAILABLE,
    errors.StoreReadOnly: UNAVAILABLE,
    errors.StoreClosed: UNAVAILABLE,
    errors.StoreForked: UNAVAILABLE,
    errors.StoreBusy: UNAVAILABLE,
    errors.Overloaded: UNAVAILABLE,
}


def exit_code(error: errors.IdstoreError) -> int:
    """Return the exit code of an error; an error class of a plug-in has that of its base class."""
    return next(EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES)

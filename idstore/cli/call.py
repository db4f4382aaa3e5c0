"""How a command was called, whatever it is: the store, who acts, and where its words go."""

import os

from idstore.cli.ending import Misuse
from idstore.cli.output import Output
from idstore.frozen import dataclass, field, replace

STORE = "IDSTORE_STORE"
USER = "IDSTORE_USER"
COMPLETE = "_IDSTORE_COMPLETE"
"""Set by a shell that asks what could come next."""
WAIT = 10.0
"""Seconds to wait for a busy store."""


@dataclass(frozen=True, slots=True)
class Call:
    """How a command was called, beside its own parameters."""

    given_store: str | None = None
    given_user: str | None = None
    wait: float = WAIT
    output: Output = field(default_factory=Output)

    @property
    def store(self) -> str:
        """Directory or address of the store: as given, from the environment, or the user's own. Raises a usage error: an empty one was given."""
        if self.given_store == "":
            raise Misuse("--store is empty; name a directory, or leave it out")
        return self.given_store or os.environ.get(STORE) or _own_store()

    @property
    def user(self) -> str:
        """The acting party: as given, from the environment, or the login name. Raises a usage error: an empty one was given, or there is none."""
        if self.given_user == "":
            raise Misuse("--user is empty; say who acts, or leave it out")
        return self.given_user or os.environ.get(USER) or _login_name()

    def with_options(self, store: str | None, user: str | None, wait: float | None, output: Output) -> "Call":
        """This call, with what was given closer to the end of the command line."""
        return replace(
            self,
            given_store=self.given_store if store is None else store,
            given_user=self.given_user if user is None else user,
            wait=self.wait if wait is None else wait,
            output=Output(json=self.output.json or output.json, quiet=self.output.quiet or output.quiet),
        )


def _own_store() -> str:
    from platformdirs import user_data_path

    try:
        return str(user_data_path("idstore", appauthor=False))
    except RuntimeError as error:  # a user without a home folder, as in a container
        raise Misuse("you have no home folder for a store of your own; name one with --store, or in IDSTORE_STORE") from error


def _login_name() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError, ImportError):  # a container may run under a number that has no name
        raise Misuse(f"this account has no login name; say who you are with --user NAME or {USER}") from None

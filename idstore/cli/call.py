"""The context that every command gets: store, acting party and output."""

import os
from dataclasses import dataclass, field, replace
from pathlib import Path

from idstore.cli.output import Output
from idstore.cli.termination import UsageError

STORE = "IDSTORE_STORE"
USER = "IDSTORE_USER"
TOKEN = "IDSTORE_TOKEN"  # noqa: S105 the name of a variable
TOKEN_FILE = "IDSTORE_TOKEN_FILE"  # noqa: S105 the same
COMPLETE = "_IDSTORE_COMPLETE"
"""Environment variable that a shell sets to ask for completions."""
WAIT = 10.0
"""Seconds to wait for a busy store."""


@dataclass(frozen=True, slots=True)
class Call:
    """The shared options of one command line.

    store_option  the value of ``--store``, or None.
    user_option   the value of ``--user``, or None.
    wait          seconds to wait for a busy store.
    signs_in      whether to send the token to a server; otherwise the call sees what is public.
    """

    store_option: str | None = None
    user_option: str | None = None
    wait: float = WAIT
    signs_in: bool = True
    output: Output = field(default_factory=Output)

    @property
    def store(self) -> str:
        """Directory or address of the store: from the option, the environment, or the user's data folder.

        A home folder at its beginning (``~``) is written out: a shell leaves it in a quoted text, or after
        ``--store=``.
        Raises UsageError: the option is empty, or there is no such home folder.
        """
        if self.store_option == "":
            raise UsageError("--store is empty; name a directory, or leave it out")
        store = self.store_option or os.environ.get(STORE) or _default_store()
        return at_home(store)

    @property
    def user(self) -> str:
        """Name of the acting party: from the option, the environment, or the login name.

        Raises UsageError: the option is empty, or the account has no login name.
        """
        if self.user_option == "":
            raise UsageError("--user is empty; name the acting party, or leave it out")
        return self.user_option or os.environ.get(USER) or _login_name()

    @property
    def names_user(self) -> bool:
        """Whether the option or the environment names the acting party."""
        return self.user_option is not None or bool(os.environ.get(USER))

    @property
    def token(self) -> str | None:
        """The token for a server: from the environment, or the first line of the file that it names.

        Raises UsageError: the file cannot be read.
        """
        if not self.signs_in:
            return None
        file = os.environ.get(TOKEN_FILE)
        if TOKEN in os.environ or not file:
            return os.environ.get(TOKEN) or None
        try:
            text = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the token in {file} ({TOKEN_FILE}) cannot be read: {error}") from None
        return text.partition("\n")[0].strip() or None

    def with_options(self, store: str | None, user: str | None, wait: float | None, output: Output) -> "Call":
        """Return a copy in which the options that stand later on the command line take precedence."""
        return replace(
            self,
            store_option=self.store_option if store is None else store,
            user_option=self.user_option if user is None else user,
            wait=self.wait if wait is None else wait,
            output=Output(json=self.output.json or output.json, quiet=self.output.quiet or output.quiet),
        )


def at_home(path: str) -> str:
    """Return a path; a home folder that it begins with (``~``) is expanded. Raises UsageError."""
    try:
        return str(Path(path).expanduser()) if path.startswith("~") else path
    except RuntimeError as error:
        raise UsageError(f"there is no home folder for {path!r}; write its full path, or ./{path}") from error


def _default_store() -> str:
    from platformdirs import user_data_path

    try:
        return str(user_data_path("idstore", appauthor=False))
    except RuntimeError as error:  # a user without a home folder, as in a container
        raise UsageError(
            f"this account has no home folder for a default store; name a store with --store, or in {STORE}"
        ) from error


def _login_name() -> str:
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError, ImportError):  # a container may run under a user id without a name
        raise UsageError(
            f"this account has no login name; name the acting party with --user NAME, or in {USER}"
        ) from None

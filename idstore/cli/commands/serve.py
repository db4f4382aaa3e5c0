"""``idstore serve``: the registry over HTTP."""

import ipaddress
import os
import re
import select
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from idstore.cli import session
from idstore.cli.call import Call
from idstore.cli.termination import UsageError

PORT: Final = 8155
_PATH: Final = r"(/(?!\.\.?(/|$))[A-Za-z0-9._~-]+)*"
"""A prefix: segments that need no encoding, and lead nowhere else."""
Host = Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")]
Port = Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="The port; 0: a free one.")]
Prefix = Annotated[
    str, typer.Option(metavar="PATH", help="The path below which a reverse proxy has the server: /ids.")
]
Proxies = Annotated[
    list[str] | None,
    typer.Option(
        "--proxy",
        metavar="ADDRESS",
        help="Trust X-Forwarded-For and X-Forwarded-Proto of the reverse proxy at this address or network,"
        " such as 127.0.0.1. Repeatable.",
    ),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        help="A TOML file with further settings, such as other ways to sign in.",
    ),
]


def serve(
    call: Call,
    host: Host = "127.0.0.1",
    port: Port = PORT,
    prefix: Prefix = "",
    proxies: Proxies = None,
    settings: SettingsFile = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure",
            help="Accept tokens over plain HTTP from other machines; others on the way can read them.",
        ),
    ] = False,
) -> None:
    """Serve the store over HTTP until SIGTERM or Ctrl-C.

    The server holds the store. On the same folder, other commands reach it through the socket server.socket,
    which those who may write in the folder can open. Elsewhere --store takes the server's address, and
    IDSTORE_TOKEN a token. Each request is a line of JSON on standard error.
    """
    run(call, host, port, prefix, proxies, settings, insecure=insecure)


def run(
    call: Call,
    host: str,
    port: int,
    prefix: str,
    proxies: list[str] | None,
    settings: Path | None,
    *,
    insecure: bool = False,
    source: str = "",
) -> None:
    """Serve the store of a command; with ``source`` as a replica of the server at that address."""
    try:
        from idstore.server import run
        from idstore.server.settings import Settings, read_settings
    except ImportError as error:
        raise UsageError(
            f"a server needs more packages ({error.name}): pip install 'idstore[server]'"
        ) from None

    path = session.folder(call)
    if not re.fullmatch(_PATH, prefix):
        raise UsageError(f"{prefix!r} is no path of plain letters and digits; write it as /ids")
    for proxy in proxies or []:
        _check_proxy(proxy)
    read = Settings() if settings is None else read_settings(settings)
    with session.store_option_hint(path):
        run.serve(
            path,
            host,
            port,
            prefix=prefix,
            proxies=proxies or [],
            insecure=insecure,
            wait=call.wait,
            settings=read,
            source=source,
            log=(lambda _: None) if call.output.quiet else _log,
            ready=lambda address: call.output.info(f"idstore: serving {path} at {address}"),
            waits=lambda: call.output.info(
                f"idstore: another server holds {path}; waiting {call.wait:g} seconds at most for its end"
            ),
        )


def _log(lines: str) -> None:
    """Write lines on standard error, past its buffer: at its end, a process would wait for that."""
    rest, target = memoryview(lines.encode()), sys.stderr.fileno()
    while rest:
        try:
            rest = rest[os.write(target, rest) :]
        except BlockingIOError:  # another process may have made it non-blocking
            select.select([], [target], [])


def _check_proxy(text: str) -> None:
    """Raise UsageError for a text that is no address and no network."""
    try:
        ipaddress.ip_network(text)
    except ValueError as error:
        raise UsageError(f"--proxy {text}: {error}; write 127.0.0.1 or 10.0.0.0/8") from None

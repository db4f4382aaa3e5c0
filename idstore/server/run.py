"""A server process: it holds the store, and listens on an address and on a socket in the store's folder."""

import asyncio
import json
import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn

from idstore import opening, permissions
from idstore.errors import StoreUnavailable
from idstore.model import times
from idstore.queries.pool import QueryPool
from idstore.registry import Registry
from idstore.replication import Replication
from idstore.server.access_log import AccessLog
from idstore.server.admission import Admission, Figures, ServerLimits
from idstore.server.api import UPLOADS
from idstore.server.changes import Stopping
from idstore.server.connections import protocol
from idstore.server.settings import Settings
from idstore.server.sign_in import SignIn, SocketSignIn, TokenWay
from idstore.server.sign_in.directory_way import DirectoryWay
from idstore.server.sign_in.trusted_header import TrustedHeaderWay
from idstore.server.sign_in.ways import Way
from idstore.server.site import site
from idstore.store_socket import SOCKET, is_served, socket_address
from idstore.tokens import TokenReader, Tokens

if TYPE_CHECKING:
    from idstore.server.sign_in_pages import OpenIdParts

GRACE: Final = 10
"""Seconds in which requests may end after the server was asked to stop."""


_ACCEPTED: Final = 16
"""Connections of one socket that are accepted before those that are open are heard again.

The event loop accepts one for each descriptor of a listening socket: with a single one, the last of many new
clients would wait until all others had been answered as often as there are new ones.
"""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


class _Listener(uvicorn.Server):
    """A server on one socket, by several descriptors; `serve` handles the signals of all."""

    async def listen(self, listening: socket.socket) -> None:
        """Serve until it should exit."""
        with ExitStack() as stack:
            copies = [stack.enter_context(listening.dup()) for _ in range(_ACCEPTED - 1)]
            await self.serve([listening, *copies])

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(
    folder: Path,
    host: str,
    port: int,
    *,
    prefix: str = "",
    proxies: Sequence[str] = (),
    insecure: bool = False,
    wait: float = 10.0,
    limits: ServerLimits = ServerLimits(),
    settings: Settings = Settings(),
    source: str = "",
    log: Callable[[str], None],
    ready: Callable[[str], None],
    waits: Callable[[], None] = lambda: None,
) -> None:
    """Serve the store in a folder until SIGTERM or SIGINT; then finish what was begun.

    source   address of the server that the store is a replica of; empty: it is none.
    proxies  addresses and networks whose ``X-Forwarded-For`` and ``X-Forwarded-Proto`` are believed.
    log      writes whole lines of the access log, and of failures: JSON objects; it may block.
    ready    gets the address, once connections are accepted.
    waits    is called before the wait for another server that holds the store.
    Raises StoreUnavailable, StoreBusy.
    """
    listening = _tcp_socket(host, port)
    if is_served(folder):
        waits()
    with (
        _kept_signals(),
        listening,
        QueryPool() as queries,
        _opened(folder, wait, queries, source) as registry,
        _folder_socket(folder) as local,
        AccessLog(log).running() as lines,
        _logged_failures(lines.add),
        _followed(registry, folder, source) as replication,
        closing(TokenReader(Tokens(folder))) as tokens,
    ):
        figures = Figures(lambda: lines.dropped)
        if replication is not None:
            figures.watch(
                "idstore_replica_behind", "Changes that the replica lacks.", lambda: replication.behind
            )
            figures.watch(
                "idstore_replica_silence_seconds",
                "Seconds since the source answered.",
                lambda: replication.silence,
            )
        stopping = Stopping()
        openid = _openid(settings)
        ways = _ways(settings, tokens, openid)
        served = site(registry, figures, limits, settings, stopping, [] if openid is None else [openid.pages])

        def admission(sign_in: SignIn | SocketSignIn, prefix: str) -> Admission:
            return Admission(
                served, sign_in, figures, limits, lines.add, prefix, UPLOADS, served.refuse, served.prepare
            )

        admissions = [
            (listening, admission(SignIn(ways, insecure=insecure), prefix)),
            (local, admission(SocketSignIn(), "")),
        ]
        listeners = [
            (_Listener(_config(admission, limits, proxies if one is listening else ())), one)
            for one, admission in admissions
        ]
        name, number = listening.getsockname()[:2]
        address = f"http://{f'[{name}]' if ':' in name else name}:{number}{prefix}/"
        with asyncio.Runner(loop_factory=listeners[0][0].config.get_loop_factory()) as runner:
            runner.run(_run(listeners, stopping, lambda: ready(address)))


@contextmanager
def _opened(folder: Path, wait: float, queries: QueryPool, source: str) -> Iterator[Registry]:
    """Open the registry that is served. In a replica no party acts."""
    if not source:
        with opening.open(folder, wait=wait, runner=queries) as registry:
            yield registry
        return
    with opening.open_replica(folder, source, wait=wait, runner=queries) as registry:
        registry.core.source = source
        yield registry


@contextmanager
def _followed(registry: Registry, folder: Path, source: str) -> Iterator[Replication | None]:
    """Follow the source of a replica until the end of the block; None: the store is no replica."""
    if not source:
        yield None
        return
    writable = Registry(registry.store)  # no source is set in it, so that the replication may write
    with Replication(writable, folder, source) as replication:
        if replication.is_empty:
            replication.bring_up()
        with replication.following(lambda: os.kill(os.getpid(), signal.SIGTERM)):
            yield replication


def _openid(settings: Settings) -> "OpenIdParts | None":
    """Return the sign-in by a provider, if the settings have one. Its packages take time to import."""
    if settings.openid is None:
        return None
    from idstore.server.sign_in_pages import openid_parts

    return openid_parts(settings.openid, settings.sessions)


def _ways(settings: Settings, tokens: TokenReader, openid: "OpenIdParts | None") -> list[Way]:
    """Return the ways to sign in, in the order in which they are asked."""
    return [
        *([] if settings.trusted_header is None else [TrustedHeaderWay(settings.trusted_header)]),
        TokenWay(tokens),
        *([] if settings.ldap is None else [DirectoryWay(settings.ldap)]),
        *([] if openid is None else openid.ways),
    ]


def _config(admission: Admission, limits: ServerLimits, proxies: Sequence[str]) -> uvicorn.Config:
    return uvicorn.Config(
        admission,
        http=protocol(limits.sending, limits.lingering, limits.connections),
        proxy_headers=bool(proxies),
        forwarded_allow_ips=[*proxies],
        lifespan="off",
        ws="none",
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        timeout_keep_alive=limits.idle,  # type: ignore[arg-type] # parts of a second too
        timeout_graceful_shutdown=GRACE,
    )


async def _run(
    listeners: list[tuple[_Listener, socket.socket]], stopping: Stopping, ready: Callable[[], None]
) -> None:
    """Serve until a signal; a second signal does not wait for the requests."""
    serving = asyncio.gather(*(listener.listen(one) for listener, one in listeners))

    def stop() -> None:
        if any(listener.should_exit for listener, _ in listeners):
            serving.cancel()
        stopping.has_begun = True
        for listener, _ in listeners:
            listener.should_exit = True

    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        signal.signal(number, lambda _, __: loop.call_soon_threadsafe(stop))
    ready()
    with suppress(asyncio.CancelledError):
        await serving
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # until the store is closed


@contextmanager
def _kept_signals() -> Iterator[None]:
    """Restore the handlers of signals at the end."""
    previous = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def _logged_failures(log: Callable[[str], None]) -> Iterator[None]:
    """Write what libraries report as a line each, with ``level`` in place of the status of a request."""
    handler = _Failures(log)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


class _Failures(logging.Handler):
    def __init__(self, log: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
            return  # an answer that was not taken until the server ended
        entry = {
            "time": times.iso(times.current()),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["trace"] = logging.Formatter().formatException(record.exc_info)
        self._log(json.dumps(entry))


def _tcp_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises StoreUnavailable: the address cannot be used."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=2048)
        # connections inherit it: otherwise a body waits 40 ms for the acknowledgement of its headers
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror)
        raise StoreUnavailable(
            f"the server cannot listen on {host}:{port}: {reason}; choose another address",
            host=host,
            port=port,
        ) from error
    return listening


@contextmanager
def _folder_socket(folder: Path) -> Iterator[socket.socket]:
    """Listen on the socket in a store's folder, for those who may write there. The store must be held."""
    path = folder / SOCKET
    path.unlink(missing_ok=True)  # of a server that was killed
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as local:
        mask = os.umask(0o177)
        try:
            with socket_address(folder) as name:
                local.bind(name)
        except OSError as error:
            raise StoreUnavailable(
                f"{path} cannot be made: {error}; use a store with a shorter path", path=str(path)
            ) from error
        finally:
            os.umask(mask)
        permissions.conform(path)
        local.listen(1024)
        try:
            yield local
        finally:
            with suppress(OSError):
                path.unlink()

"""Link check: requests to targets, and a file of dated results, so that an interrupted check can resume.

A host gets one request at a time, with a pause between two, by HEAD if it supports that; ``Retry-After`` is
respected. Addresses of the local network are skipped by default, since any user may bind one as a target.
"""

import ipaddress
import socket
import urllib.error
import urllib.request
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from email.message import Message
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage
from itertools import groupby
from pathlib import Path
from queue import Queue
from threading import Event
from typing import IO, Final
from urllib.parse import quote, urlsplit, urlunsplit

from idstore.errors import ExchangeError, InvalidData
from idstore.model import times
from idstore.web_addresses import address_parts

HEADER: Final = ("target", "at", "outcome", "status", "location", "detail")
AGENT: Final = "idstore (checks links of a registry of persistent identifiers)"
_HOSTS: Final = 8
"""Hosts that are checked in parallel."""
_LONGEST_WAIT: Final = 60.0
"""Longest pause in seconds that ``Retry-After`` can ask for."""
_NOT_BY_HEAD: Final = {
    HTTPStatus.METHOD_NOT_ALLOWED,
    HTTPStatus.NOT_IMPLEMENTED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
}
_LATER: Final = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_WEB: Final = ("http", "https")
_ASCII: Final = "".join(map(chr, range(128)))
NAMELESS: Final = "names cannot be found out now"
"""Detail of a result whose cause may be this machine's network."""
_NO_HOST: Final = "there is no such host"
_UNSURE: Final = {"unsure", "passed over"}
"""Outcomes that another check may change: the host asked for a later request, or the address was skipped."""


@dataclass(frozen=True, slots=True)
class Politeness:
    """Limits on the requests to a host.

    delay    seconds between two requests.
    timeout  seconds to wait for a response.
    private  whether addresses of the local network are checked as well.
    """

    delay: float = 1.0
    timeout: float = 10.0
    private: bool = False


@dataclass(frozen=True, slots=True)
class LinkResult:
    """The result of checking one target.

    at        time of the request.
    outcome   ``answers``; ``moved``: another address answers; ``broken``: no response, or an error status;
              ``unsure``: the host asks for a later or an authenticated request, or host names cannot be
              resolved now; ``passed over``: no web address, or one of the local network.
    status    the HTTP status, 0 without a response.
    location  the final address after redirects, if it differs.
    """

    target: str
    at: datetime
    outcome: str
    status: int = 0
    location: str = ""
    detail: str = ""

    def row(self) -> tuple[str, ...]:
        """Return the cells of the result's row."""
        detail = " ".join(self.detail.split())
        return (self.target, times.iso(self.at), self.outcome, str(self.status or ""), self.location, detail)


def check(target: str, politeness: Politeness = Politeness()) -> LinkResult:
    """Check one target. Raises nothing: errors become results."""
    at = times.current()
    try:
        parts = urlsplit(target)
        if parts.scheme not in _WEB or not parts.hostname:
            return LinkResult(target, at, "passed over", detail="no web address")
        if not politeness.private and _is_local(parts.hostname):
            return LinkResult(target, at, "passed over", detail="an address of the local network")
        status, location, headers = _request(target, "HEAD", politeness)
        if status in _NOT_BY_HEAD:
            status, location, headers = _request(target, "GET", politeness)
    except (OSError, HTTPException, ValueError) as error:
        detail = _error_text(error)
        return LinkResult(target, at, "unsure" if detail == NAMELESS else "broken", detail=detail)
    elsewhere = location if location.rstrip("/") != _sendable(target).rstrip("/") else ""
    return LinkResult(target, at, _outcome(status, elsewhere), status, elsewhere, _detail(status, headers))


def _error_text(error: Exception) -> str:
    """Return the cause of an error, in words."""
    cause = getattr(error, "reason", "") or error
    if isinstance(cause, socket.gaierror):
        return NAMELESS if cause.errno == socket.EAI_AGAIN else _NO_HOST
    return str(getattr(cause, "strerror", None) or cause) or type(cause).__name__


def _outcome(status: int, elsewhere: str) -> str:
    if status < HTTPStatus.MULTIPLE_CHOICES:
        return "moved" if elsewhere else "answers"
    if status in _LATER or status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return "unsure"
    return "broken"


def _detail(status: int, headers: "Message[str, str]") -> str:
    if status in _LATER:
        return headers.get("Retry-After", "")
    followed = not HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
    return "" if followed else "a redirection in a circle, or to no web address"


def _request(target: str, method: str, politeness: Politeness) -> tuple[int, str, "Message[str, str]"]:
    headers = {"User-Agent": AGENT, "Accept": "*/*"}
    url = _sendable(target)
    request = urllib.request.Request(url, method=method, headers=headers)  # noqa: S310 http(s): see `check`
    opener = urllib.request.build_opener(_Redirects(politeness))
    try:
        with opener.open(request, timeout=politeness.timeout) as response:
            return response.status, response.url, response.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.url or target, error.headers


def _sendable(target: str) -> str:
    """Return the URL for a request: no user name, the host in Punycode, other non-ASCII characters encoded.

    Raises UnicodeError: the host cannot be encoded.
    """
    parts = urlsplit(target)
    host = parts.netloc.rpartition("@")[2]
    if target.isascii() and host == parts.netloc:
        return target
    return urlunsplit(
        (
            parts.scheme,
            host if host.isascii() else host.encode("idna").decode(),
            *(quote(part, safe=_ASCII) for part in parts[2:]),
        )
    )


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects to web addresses only, and to the local network only if that is allowed."""

    def __init__(self, politeness: Politeness) -> None:
        self._manners = politeness

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        parts = urlsplit(newurl)
        if parts.scheme not in _WEB or (not self._manners.private and _is_local(parts.hostname or "")):
            raise ValueError(f"it leads to {newurl}, which is not asked")
        request = super().redirect_request(req, fp, code, msg, headers, _sendable(newurl))
        if request is not None:
            request.method = req.get_method()
        return request


def _is_local(host: str) -> bool:
    """Return whether any address of a host is not global. Raises OSError: the host has none."""
    addresses = {entry[4][0] for entry in socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)}
    return any(not ipaddress.ip_address(str(address).partition("%")[0]).is_global for address in addresses)


def check_all(targets: Iterable[str], politeness: Politeness = Politeness()) -> Iterator[LinkResult]:
    """Check each target once, several hosts in parallel; yield the results as they arrive.

    Memory: the targets.

    A host counts as missing only after another host name has answered: without a network no name resolves.
    """
    held: list[LinkResult] = []
    with closing(_results(targets, politeness)) as results:
        resolves = False
        for result in results:
            resolves = resolves or (result.status > 0 and _is_name(_host(result.target)))
            if resolves:
                yield from held
                held.clear()
            if resolves or result.detail != _NO_HOST:
                yield result
            else:
                held.append(result)
    yield from (replace(result, outcome="unsure", detail=NAMELESS) for result in held)


def _is_name(host: str) -> bool:
    """Return whether a host is a name that needs a name server, not an address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host != "localhost"
    return False


def _results(targets: Iterable[str], politeness: Politeness) -> Generator[LinkResult]:
    """Check each target once; missing hosts are reported as such at once."""
    ordered = sorted({*targets}, key=lambda target: (_host(target), target))
    hosts = sorted(([*group] for _, group in groupby(ordered, key=_host)), key=len, reverse=True)
    results: Queue[LinkResult | None] = Queue()
    stop = Event()
    with ThreadPoolExecutor(_HOSTS) as pool:
        for host in hosts:
            pool.submit(_check_host, host, politeness, results, stop)
        try:
            for _ in hosts:
                yield from iter(results.get, None)
        finally:
            stop.set()


def _host(target: str) -> str:
    """Return the host of a target, without its port."""
    return address_parts(target).hostname or ""


def _check_host(
    targets: Sequence[str], politeness: Politeness, results: "Queue[LinkResult | None]", stop: Event
) -> None:
    pause = 0.0
    try:
        for target in targets:
            if stop.wait(pause):
                return
            result = check(target, politeness)
            results.put(result)
            pause = politeness.delay
            if result.detail.isdecimal():
                pause = max(pause, min(_LONGEST_WAIT, float(result.detail)))
    finally:
        results.put(None)


# results


def read(path: Path) -> Mapping[str, tuple[str, ...]]:
    """Return the newest row of each target in a file of results; empty if the file does not exist yet.

    Raises ExchangeError: the path is no file of results, or no regular file, as a device without an end.
    """
    try:
        if not path.exists():
            if path.parent.is_dir():
                return {}
            raise _no_results(path, None, f"there is no folder {path.parent}; make it first")
        if not path.is_file():
            raise _no_results(path, None, "it is no regular file, which alone can keep results; name one")
        with path.open(encoding="utf-8", newline="\n") as lines:
            head = "\t".join(HEADER)
            if lines.readline(len(head) + 2).rstrip("\r\n") not in ("", head):
                raise _no_results(
                    path, 1, f"it is no file of results; the first line has to be {' '.join(HEADER)}"
                )
            rows = (tuple(line.rstrip("\r\n").split("\t")) for line in lines)
            return {row[0]: row for row in rows if len(row) == len(HEADER)}  # the last row may be cut off
    except UnicodeDecodeError as error:
        raise _no_results(path, None, "it is no file of results: it is not UTF-8; name another") from error
    except OSError as error:
        raise _no_results(path, None, f"it cannot be read: {error.strerror}; name another") from error


def _no_results(path: Path, line: int | None, reason: str) -> ExchangeError:
    return ExchangeError(str(path), line, reason, "nothing was asked")


def is_fresh(row: tuple[str, ...] | None, since: datetime) -> bool:
    """Return whether a row is conclusive and no older than ``since``."""
    if row is None or row[HEADER.index("outcome")] in _UNSURE:
        return False
    try:
        return times.parse(row[HEADER.index("at")]) >= since
    except InvalidData:
        return False


def write(path: Path, results: Iterable[LinkResult]) -> Iterator[LinkResult]:
    """Append the results to a file, each as it arrives, and yield them.

    Raises ExchangeError (not writable), OSError.
    """
    has_content = path.exists() and path.stat().st_size > 0
    try:
        opened = path.open("ab")
    except OSError as error:
        raise _no_results(path, None, f"it cannot be written: {error.strerror}; name another") from error
    with opened as file:
        if not has_content:
            file.write(("\t".join(HEADER) + "\n").encode())
        elif not _ends_with_newline(path):
            file.write(b"\n")
        for result in results:
            file.write(("\t".join(result.row()) + "\n").encode())
            file.flush()
            yield result


def _ends_with_newline(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) == b"\n"

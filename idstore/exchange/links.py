"""Whether targets answer: asked politely, and kept as dated rows, so that a check can be taken up where it stopped.

A host is asked one thing at a time, with a pause between two questions, by HEAD where it understands that; what it says about how long to
wait is heeded. Addresses of the local network are not asked unless that is wanted, for anybody may name one as a target.
"""

import ipaddress
import socket
import urllib.error
import urllib.request
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
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

HEADER: Final = ("target", "at", "outcome", "status", "location", "detail")
AGENT: Final = "idstore (checks links of a registry of persistent identifiers)"
_HOSTS: Final = 8
"""Hosts that are asked at the same time."""
_LONGEST_WAIT: Final = 60.0
"""Seconds that a host may have us wait; one that wants more is asked another time."""
_NOT_BY_HEAD: Final = {HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED, HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND}
_LATER: Final = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}
_WEB: Final = ("http", "https")
_ASCII: Final = "".join(map(chr, range(128)))
NAMELESS: Final = "names cannot be found out now"
"""The detail of an answer where the fault may be this machine's."""
_NO_HOST: Final = "there is no such host"
_UNSURE: Final = {"unsure", "passed over"}
"""Outcomes that another question can change: of a host that wants to be asked later, of an address that was not to be asked then."""


@dataclass(frozen=True, slots=True)
class Manners:
    """How hosts are treated.

    delay    seconds between two questions to one host.
    timeout  seconds to wait for an answer.
    private  whether addresses of the local network are asked as well.
    """

    delay: float = 1.0
    timeout: float = 10.0
    private: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a question.

    at        when it was put, milliseconds since 1970.
    outcome   ``answers``, ``moved`` (it answers elsewhere), ``broken`` (it does not answer, or says that nothing is there), ``unsure``
              (it wants to be asked later, or by somebody it knows, or names cannot be found out now), ``passed over`` (no web address, or
              one of the local network).
    status    the HTTP status, 0 where there was none.
    location  where it led to, if elsewhere.
    """

    target: str
    at: int
    outcome: str
    status: int = 0
    location: str = ""
    detail: str = ""

    def row(self) -> tuple[str, ...]:
        """The cells of its row."""
        return (self.target, times.iso(self.at), self.outcome, str(self.status or ""), self.location, " ".join(self.detail.split()))


def check(target: str, manners: Manners = Manners()) -> Answer:
    """Ask for one target. Raises nothing: what goes wrong is the answer."""
    at = times.now()
    try:
        parts = urlsplit(target)
        if parts.scheme not in _WEB or not parts.hostname:
            return Answer(target, at, "passed over", detail="no web address")
        if not manners.private and _is_local(parts.hostname):
            return Answer(target, at, "passed over", detail="an address of the local network")
        status, location, headers = _ask(target, "HEAD", manners)
        if status in _NOT_BY_HEAD:
            status, location, headers = _ask(target, "GET", manners)
    except (OSError, HTTPException, ValueError) as error:
        detail = _trouble(error)
        return Answer(target, at, "unsure" if detail == NAMELESS else "broken", detail=detail)
    elsewhere = location if location.rstrip("/") != _sendable(target).rstrip("/") else ""
    return Answer(target, at, _outcome(status, elsewhere), status, elsewhere, _detail(status, headers))


def _trouble(error: Exception) -> str:
    """What went wrong, in words."""
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


def _ask(target: str, method: str, manners: Manners) -> tuple[int, str, "Message[str, str]"]:
    request = urllib.request.Request(_sendable(target), method=method, headers={"User-Agent": AGENT, "Accept": "*/*"})  # noqa: S310 http and https only: see `check`
    opener = urllib.request.build_opener(_Redirects(manners))
    try:
        with opener.open(request, timeout=manners.timeout) as answer:
            return answer.status, answer.url, answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.url or target, error.headers


def _sendable(target: str) -> str:
    """The address as a request can carry it: no user's name, an IRI's host in Punycode, what else is no ASCII percent-encoded.

    Raises UnicodeError: the host.
    """
    parts = urlsplit(target)
    host = parts.netloc.rpartition("@")[2]
    if target.isascii() and host == parts.netloc:
        return target
    return urlunsplit(
        (parts.scheme, host if host.isascii() else host.encode("idna").decode(), *(quote(part, safe=_ASCII) for part in parts[2:]))
    )


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows to the web only, and to the local network only where that may be asked."""

    def __init__(self, manners: Manners) -> None:
        self._manners = manners

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        parts = urlsplit(newurl)
        if parts.scheme not in _WEB or (not self._manners.private and _is_local(parts.hostname or "")):
            raise ValueError(f"it leads to {newurl}, which is not asked")
        made = super().redirect_request(req, fp, code, msg, headers, _sendable(newurl))
        if made is not None:
            made.method = req.get_method()
        return made


def _is_local(host: str) -> bool:
    """Whether a host is in the local network: any of its addresses is not one of the world's. Raises OSError: it has none."""
    found = {entry[4][0] for entry in socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP)}
    return any(not ipaddress.ip_address(str(address).partition("%")[0]).is_global for address in found)


def check_all(targets: Iterable[str], manners: Manners = Manners()) -> Iterator[Answer]:
    """Ask for many, each once, several hosts at a time; the answers come as they are given. Memory: the targets.

    That there is no such host is believed once another that has a name answers: without a network none does.
    """
    held: list[Answer] = []
    with closing(_answers(targets, manners)) as answers:
        named = False
        for answer in answers:
            named = named or (answer.status > 0 and _is_name(_host(answer.target)))
            if named:
                yield from held
                held.clear()
            if named or answer.detail != _NO_HOST:
                yield answer
            else:
                held.append(answer)
    yield from (replace(answer, outcome="unsure", detail=NAMELESS) for answer in held)


def _is_name(host: str) -> bool:
    """Whether a host is found by its name, of which others are asked."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host != "localhost"
    return False


def _answers(targets: Iterable[str], manners: Manners) -> Generator[Answer]:
    """As `check_all`, whatever is said of names."""
    ordered = sorted({*targets}, key=lambda target: (_host(target), target))
    hosts = sorted(([*group] for _, group in groupby(ordered, key=_host)), key=len, reverse=True)
    answers: Queue[Answer | None] = Queue()
    stop = Event()
    with ThreadPoolExecutor(_HOSTS) as pool:
        for host in hosts:
            pool.submit(_ask_host, host, manners, answers, stop)
        try:
            for _ in hosts:
                yield from iter(answers.get, None)
        finally:
            stop.set()


def _host(target: str) -> str:
    """Which host is asked, whatever its port."""
    try:
        return urlsplit(target).hostname or ""
    except ValueError:  # it names none, and is told to be broken
        return ""


def _ask_host(targets: Sequence[str], manners: Manners, answers: "Queue[Answer | None]", stop: Event) -> None:
    pause = 0.0
    try:
        for target in targets:
            if stop.wait(pause):
                return
            answer = check(target, manners)
            answers.put(answer)
            pause = max(manners.delay, min(_LONGEST_WAIT, float(answer.detail))) if answer.detail.isdecimal() else manners.delay
    finally:
        answers.put(None)


# results


def read(path: Path) -> Mapping[str, tuple[str, ...]]:
    """The newest row of each target in a file of results, an empty one if there is none yet.

    Raises ExchangeError: no file of results, or nothing that could be one, as a device that has no end.
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
                raise _no_results(path, 1, f"it is no file of results; the first line has to be {' '.join(HEADER)}")
            rows = (tuple(line.rstrip("\r\n").split("\t")) for line in lines)
            return {row[0]: row for row in rows if len(row) == len(HEADER)}  # the last one may be cut off
    except UnicodeDecodeError as error:
        raise _no_results(path, None, "it is no file of results: it is not UTF-8; name another") from error
    except OSError as error:
        raise _no_results(path, None, f"it cannot be read: {error.strerror}; name another") from error


def _no_results(path: Path, line: int | None, reason: str) -> ExchangeError:
    return ExchangeError(str(path), line, reason, "nothing was asked")


def is_fresh(row: tuple[str, ...] | None, since: int) -> bool:
    """Whether a row tells what is to be known: it is no older than ``since`` (milliseconds since 1970), and sure."""
    if row is None or row[HEADER.index("outcome")] in _UNSURE:
        return False
    try:
        return times.parse(row[HEADER.index("at")]) >= since
    except InvalidData:
        return False


def write(path: Path, answers: Iterable[Answer]) -> Iterator[Answer]:
    """Add the answers to a file of results, each as it comes, and hand them on. Raises ExchangeError: it may not be written; OSError."""
    begun = path.exists() and path.stat().st_size > 0
    try:
        opened = path.open("ab")
    except OSError as error:
        raise _no_results(path, None, f"it cannot be written: {error.strerror}; name another") from error
    with opened as target:
        if not begun:
            target.write(("\t".join(HEADER) + "\n").encode())
        elif not _ends_whole(path):
            target.write(b"\n")
        for answer in answers:
            target.write(("\t".join(answer.row()) + "\n").encode())
            target.flush()
            yield answer


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as there:
        there.seek(-1, 2)
        return there.read(1) == b"\n"

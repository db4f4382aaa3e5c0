r"""Redirect maps of nginx and Apache: the path of each published identifier, and where it leads.

The path is that of the IRI, percent-decoded, as both servers compare it. An IRI with a fragment, or none of
the web, has the path that a server of idstore gives it: ``/id/NAMESPACE/LABEL``. Identifiers that lead to no
address of the web are left out: above all those that were withdrawn.

A line of nginx is ``"PATH" "ADDRESS";``, for a ``map``. There a dollar sign begins a variable, and nothing
escapes it: it is written as ``%24``. nginx compares paths without ASCII case; paths that differ in it alone
are regular expressions, which it compares exactly. A line of Apache is ``PATH ADDRESS``, for a ``RewriteMap``
of the type ``txt``.
Sources: https://nginx.org/en/docs/http/ngx_http_map_module.html; nginx 1.26, ``ngx_conf_read_token``; Apache
HTTP Server 2.4, "RewriteMap" and ``lookup_map_txtfile``.
"""

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import IO, Final
from urllib.parse import unquote_to_bytes

from idstore.errors import InvalidData, NoTarget, NotRegistered
from idstore.model.filter import Filter
from idstore.model.namespace import Namespace
from idstore.model.party import NOBODY
from idstore.model.record import Record, Stage
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.registry.resolution import ResolutionOptions
from idstore.web_addresses import address_parts, location

NGINX: Final = "nginx-map"
APACHE: Final = "apache-map"
FORMATS: Final = (NGINX, APACHE)

_IN_MEMORY: Final = 1 << 20
"""Bytes of lines in memory; more go to a temporary file."""
_OPTIONS: Final = ResolutionOptions(draw=lambda: 0.0)
"""Of several locations, the same one each time."""
_NGINX_WORD: Final = 4000
"""Bytes of a word that nginx reads at most, about; a longer one makes it refuse its configuration."""
_NGINX_PATH: Final = 980
"""Bytes of a path at most: as a regular expression, it has four times as many."""
_APACHE_LINE: Final = 1022
"""Bytes of a line that Apache reads at most; it takes the rest of a longer one for another line."""
_ESCAPED: Final = {b"\\": rb"\\", b'"': rb"\"", b"\n": rb"\n", b"\r": rb"\r", b"\t": rb"\t"}
_UNPLAIN: Final = re.compile(rb"[^A-Za-z0-9/_-]")

WITHDRAWN: Final = "withdrawn"
NOWHERE: Final = "without a target"
NOT_WEB: Final = "with a target that is no address of the web"
UNWRITABLE: Final = "too long, or with a character that the file cannot hold"


def export(
    registry: Registry,
    target: IO[bytes],
    format: str,
    filter: Filter = Filter(),
    *,
    progress: Progress = unwatched,
) -> None:
    """Write where the published identifiers lead, as an anonymous caller resolves them.

    The same state gives the same bytes.
    Raises UnknownNamespace, InvalidData (restrictions, or two identifiers with the same path), OSError.
    Cost: each identifier is resolved. Memory: the paths.
    """
    write = _nginx_line if format == NGINX else _apache_line
    with tempfile.SpooledTemporaryFile(_IN_MEMORY, "w+", encoding="utf-8", newline="\n") as held:
        holders = dict[bytes, str]()
        for record, path, address in _redirects(registry, filter, progress):
            if path in holders:
                raise _shared(path, holders[path], record.namespace)
            holders[path] = record.namespace
            if address:
                held.write(json.dumps([path.decode("latin-1"), address]) + "\n")
        folded = Counter(path.lower() for path in holders)
        held.seek(0)
        for line in held:
            path, address = json.loads(line)
            key = path.encode("latin-1")
            target.write(write(key, address, exact=folded[key.lower()] > 1))


def omissions(registry: Registry, format: str, filter: Filter = Filter()) -> list[str]:
    """Return what `export` leaves out, a sentence for each reason. Raises as `export`."""
    write = _nginx_line if format == NGINX else _apache_line
    counts, firsts = Counter[str](), dict[str, str]()
    for record, path, address in _redirects(registry, filter):
        reason = None
        if record.stage is Stage.TOMBSTONE:
            reason = WITHDRAWN
        elif address is None:
            reason = NOWHERE
        elif not address:
            reason = NOT_WEB
        elif not write(path, address, exact=False):
            reason = UNWRITABLE
        if reason is not None:
            counts[reason] += 1
            firsts.setdefault(reason, record.iri)
    return [f"left out: {count} {reason}, such as {firsts[reason]}" for reason, count in counts.items()]


def _redirects(
    registry: Registry, filter: Filter, progress: Progress = unwatched
) -> Iterator[tuple[Record, bytes, str | None]]:
    """Yield each published identifier with its path and its address.

    The address is None if the identifier has no target, and empty if the target is no address of the web.
    """
    filter.check_publication()
    spaces = {space.base: space for space in registry.namespaces()}
    chosen = [*spaces.values()] if filter.namespace is None else [registry.namespace(filter.namespace)]
    beginnings = {space.base: _beginning(space) for space in chosen}
    with registry.records(NOBODY, filter, progress) as records:
        for record in records:
            label = unquote_to_bytes(record.iri[len(record.namespace) :])
            target = None if record.stage is Stage.TOMBSTONE else _target(registry, record)
            address = None if target is None else location(target) or ""
            yield record, beginnings[record.namespace] + label, address


def _target(registry: Registry, record: Record) -> str | None:
    try:
        return registry.resolve(record, NOBODY, _OPTIONS).target
    except (NoTarget, NotRegistered, InvalidData):
        return None


def _beginning(space: Namespace) -> bytes:
    """Return what the paths of a namespace begin with."""
    address = address_parts(space.base)
    if address.scheme in ("http", "https") and not re.search("[?#]", space.base):
        return unquote_to_bytes(address.path) or b"/"
    return f"/id/{space.name}/".encode()


def _shared(path: bytes, base: str, other: str) -> InvalidData:
    shown = path.decode(errors="replace")
    return InvalidData(
        f"identifiers of {base} and {other} have the same path, {shown}; write a map for each namespace",
        field="namespace",
    )


def _nginx_line(path: bytes, address: str, *, exact: bool) -> bytes:
    """Return a line, empty if nginx cannot have it.

    exact  whether other identifiers have the path in another case.
    """
    key = (
        b"~^" + _UNPLAIN.sub(lambda match: b"\\x%02x" % match[0][0], path) + rb"\z"
        if exact
        else re.sub(rb'[\\"\n\r\t]', lambda match: _ESCAPED[match[0]], path)
    )
    value = address.replace("$", "%24").encode()
    if len(path) > _NGINX_PATH or len(value) > _NGINX_WORD or b"\0" in path:
        return b""
    return b'"%b" "%b";\n' % (key, value)


def _apache_line(path: bytes, address: str, *, exact: bool) -> bytes:  # noqa: ARG001 it always is
    """Return a line, empty if Apache cannot have it."""
    line = b"%b %b\n" % (path, address.encode())
    return b"" if len(line) > _APACHE_LINE or re.search(rb"[\x00-\x20\x7f]", path) else line

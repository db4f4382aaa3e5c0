"""Parsing RDF files into batches of N-Triples.

Where there is a second processor, a child process parses a large file while this process takes the batches
in.
"""

import json
import os
import struct
import subprocess
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Final, NoReturn, TypeAlias, cast

from pyoxigraph import NamedNode, Quad, RdfFormat, Triple, serialize

from idstore.errors import ExchangeError
from idstore.exchange import rdf_input
from idstore.exchange.sources import skip_mark
from idstore.progress import Progress
from idstore.vocabulary import hides

HIDDEN: Final = NamedNode("urn:x-hidden")
"""Marks a subject with triples in a restricted graph: N-Triples have no graphs."""
_QUADS: Final = 20_000
"""Quads in one batch: serialising them singly costs several times as much."""
_LARGE: Final = 1 << 23
"""Bytes from which a child process pays: it takes 0.1 s to start, and parses 20 MB a second."""
_FRAME: Final = struct.Struct(">qq")
"""Header of each batch in the pipe: its end position in the file, and its length. A negative position
announces an error."""
_START: Final = (
    "import json, sys; sys.path[:], *file = json.loads(sys.argv[1]);"
    " from idstore.exchange.rdf_parser import serve; serve(*file)"
)

File: TypeAlias = tuple[Path, RdfFormat, str]
"""A path, its format, and the name of the format."""
Batch: TypeAlias = tuple[int, bytes]
"""Its end position in the file, and the triples as N-Triples."""


def ntriples_batches(files: Iterable[File], progress: Progress) -> Generator[bytes, None, None]:
    """Yield the triples of the files as N-Triples, batch by batch. Raises ExchangeError."""
    total = done = 0
    several = (os.cpu_count() or 1) > 1
    for file in files:
        with _readable(file):
            total += file[0].stat().st_size
        progress("reading", done, total)
        in_child = several and total - done >= _LARGE
        for position, text in parse_in_subprocess(file) if in_child else parse_here(file):
            progress("reading", done + position, total)
            yield text
        done = total


def parse_here(file: File) -> Iterator[Batch]:
    """Parse a file in this process. Raises ExchangeError."""
    path, format, name = file
    with _readable(file), path.open("rb") as stream:
        skip_mark(stream)
        quads = rdf_input.quads(
            stream, format, lambda line, reason: ExchangeError(str(path), line, f"not valid {name}: {reason}")
        )
        for text in ntriples(
            hidden_marked(quads) if format.supports_datasets else cast("Iterable[Triple]", quads)
        ):
            yield stream.tell(), text


@contextmanager
def _readable(file: File) -> Iterator[None]:
    """Translate errors of reading. Raises ExchangeError."""
    path, *_ = file
    try:
        yield
    except ExchangeError:
        raise
    except (OSError, ValueError) as error:
        raise ExchangeError(
            str(path), None, f"it cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error


def hidden_marked(quads: Iterable[Quad]) -> Iterator[Triple]:
    """Yield the triples of the quads, and a mark (`HIDDEN`) for each quad in a restricted graph."""
    for quad in quads:
        yield quad.triple
        if hides(quad.graph_name):
            yield Triple(quad.subject, HIDDEN, HIDDEN)


def ntriples(triples: Iterable[Triple]) -> Iterator[bytes]:
    """Serialise triples as N-Triples, batch by batch."""
    remaining = iter(triples)
    while text := serialize(islice(remaining, _QUADS), format=RdfFormat.N_TRIPLES):
        yield text


def parse_in_subprocess(file: File) -> Iterator[Batch]:
    """Parse a file in a child process, which ends with this iterator or with this process.

    Raises ExchangeError.
    """
    path, format, name = file
    job = json.dumps([sys.path, str(path), format.media_type, name])
    with (
        _readable(file),
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, job],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # this process answers Ctrl-C
        ) as process,
    ):
        assert process.stdout is not None
        try:
            while batch := _receive(process.stdout, path):
                yield batch
        finally:
            process.kill()


def _receive(pipe: IO[bytes], path: Path) -> Batch | None:
    """Return the next batch, or None at the end. Raises ExchangeError."""
    head = pipe.read(_FRAME.size)
    position, length = _FRAME.unpack(head) if len(head) == _FRAME.size else (0, -1)
    text = pipe.read(length) if length > 0 else b""
    if len(text) != length:
        raise ExchangeError(str(path), None, "it cannot be read: the process that parses it has ended")
    if position < 0:
        raise ExchangeError(*json.loads(text))
    return (position, text) if text else None


def serve(path: str, media_type: str, name: str) -> NoReturn:
    """Run as the child process: write the batches of a file, or its error, to standard output."""
    format = RdfFormat.from_media_type(media_type)
    assert format is not None
    with suppress(BrokenPipeError):  # the parent process has ended
        try:
            for position, text in parse_here((Path(path), format, name)):
                _send(position, text)
            _send(0, b"")
        except ExchangeError as error:
            _send(
                -1, json.dumps([error.fields["file"], error.fields["line"], error.fields["reason"]]).encode()
            )
    os._exit(0)  # there is nothing to clean up


def _send(position: int, text: bytes) -> None:
    sys.stdout.buffer.write(_FRAME.pack(position, len(text)) + text)
    sys.stdout.buffer.flush()

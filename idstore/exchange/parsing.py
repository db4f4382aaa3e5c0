"""What files say, as N-Triples: a large one is parsed by a process of its own where there is a second processor, while this one takes it in."""

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

from pyoxigraph import NamedNode, Quad, RdfFormat, Triple, parse, serialize

from idstore.errors import ExchangeError
from idstore.exchange.sources import skip_mark
from idstore.progress import Progress
from idstore.vocabulary import hides

HIDDEN: Final = NamedNode("urn:x-hidden")
"""Says in N-Triples, which have no graphs, of what is in one that is not for everybody."""
_QUADS: Final = 20_000
"""Quads that are written at once: one by one they would cost several times as much."""
_LARGE: Final = 1 << 23
"""Bytes from which a process of its own pays: it takes 0.1 s to start, and parses 20 MB a second."""
_FRAME: Final = struct.Struct(">qq")
"""What stands before each portion in the pipe: where in the file it ends, and its length. A negative place: it says what is wrong."""
_START: Final = "import json, sys; sys.path[:], *file = json.loads(sys.argv[1]); from idstore.exchange.parsing import serve; serve(*file)"

File: TypeAlias = tuple[Path, RdfFormat, str]
"""A file, its format, and what the format is called."""
Portion: TypeAlias = tuple[int, bytes]
"""Where in the file it ends, and the triples."""


def portions(files: Iterable[File], progress: Progress) -> Generator[bytes, None, None]:
    """What files say, so much at once. Raises ExchangeError."""
    total = done = 0
    several = (os.cpu_count() or 1) > 1
    for file in files:
        with _readable(file):
            total += file[0].stat().st_size
        progress("reading", done, total)
        for place, text in parsed_apart(file) if several and total - done >= _LARGE else parsed(file):
            progress("reading", done + place, total)
            yield text
        done = total


def parsed(file: File) -> Iterator[Portion]:
    """What a file says, parsed here. Raises ExchangeError."""
    path, format, _ = file
    with _readable(file), path.open("rb") as opened:
        skip_mark(opened)
        quads = parse(opened, format=format)
        for text in written(marked(quads) if format.supports_datasets else cast("Iterable[Triple]", quads)):
            yield opened.tell(), text


@contextmanager
def _readable(file: File) -> Iterator[None]:
    """Raises ExchangeError for what a file raises that cannot be read."""
    path, _, name = file
    try:
        yield
    except ExchangeError:
        raise
    except SyntaxError as error:
        raise ExchangeError(str(path), error.lineno, f"not valid {name}: {error.msg}") from error
    except (OSError, ValueError) as error:
        raise ExchangeError(str(path), None, f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def marked(quads: Iterable[Quad]) -> Iterator[Triple]:
    """Triples, and which subjects are spoken of in a graph that is not for everybody."""
    for quad in quads:
        yield quad.triple
        if hides(quad.graph_name):
            yield Triple(quad.subject, HIDDEN, HIDDEN)


def written(triples: Iterable[Triple]) -> Iterator[bytes]:
    """Triples as N-Triples, so many at once."""
    ahead = iter(triples)
    while text := serialize(islice(ahead, _QUADS), format=RdfFormat.N_TRIPLES):
        yield text


def parsed_apart(file: File) -> Iterator[Portion]:
    """What a file says, parsed by another process, which ends with the reading, or when this one ends. Raises ExchangeError."""
    path, format, name = file
    job = json.dumps([sys.path, str(path), format.media_type, name])
    with (
        _readable(file),
        subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _START, job],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for this one to answer
        ) as process,
    ):
        assert process.stdout is not None
        try:
            while portion := _received(process.stdout, path):
                yield portion
        finally:
            process.kill()


def _received(pipe: IO[bytes], path: Path) -> Portion | None:
    """The next portion; None if there is none. Raises ExchangeError."""
    head = pipe.read(_FRAME.size)
    place, length = _FRAME.unpack(head) if len(head) == _FRAME.size else (0, -1)
    text = pipe.read(length) if length > 0 else b""
    if len(text) != length:
        raise ExchangeError(str(path), None, "cannot be read: the process that parses it has ended")
    if place < 0:
        raise ExchangeError(*json.loads(text))
    return (place, text) if text else None


def serve(path: str, media_type: str, name: str) -> NoReturn:
    """Be the other process: write the portions of a file, or what is wrong with it, to standard output."""
    format = RdfFormat.from_media_type(media_type)
    assert format is not None
    with suppress(BrokenPipeError):  # whoever asked has ended
        try:
            for place, text in parsed((Path(path), format, name)):
                _send(place, text)
            _send(0, b"")
        except ExchangeError as error:
            _send(-1, json.dumps([error.fields["file"], error.fields["line"], error.fields["reason"]]).encode())
    os._exit(0)  # nothing is left to be put in order


def _send(place: int, text: bytes) -> None:
    sys.stdout.buffer.write(_FRAME.pack(place, len(text)) + text)
    sys.stdout.buffer.flush()

"""Files that a separate process parses: same triples, same refusals, and no process or file left."""

import os
import random
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat
from random_histories import ROOT, begun, exported

import idstore
from idstore import Registry, Request
from idstore.errors import ExchangeError
from idstore.exchange import rdf, rdf_parser

WAITS = """
import subprocess, sys
from pathlib import Path
from pyoxigraph import RdfFormat
from idstore.exchange.rdf_parser import parse_in_subprocess

class Told(subprocess.Popen):
    def __init__(self, *args, **settings):
        super().__init__(*args, **settings)
        print(self.pid, flush=True)

subprocess.Popen = Told
for portion in parse_in_subprocess((Path(sys.argv[1]), RdfFormat.N_TRIPLES, "ntriples")):
    sys.stdin.read()
"""
FLAWED = {
    "malformed": b'<http://a.example.org/> <http://b.example.org/> "c" .\n\n<http://a.example.org/> <c> .\n',
    "not UTF-8": b'<http://a.example.org/> <http://b.example.org/> "\xff" .\n',
    "cut off": b'<http://a.example.org/> <http://b.example.org/> "c',
}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with begun(tmp_path / "store") as registry:
        made = registry.mint("rdl", ROOT, Request('line\nbreak\u2028, \x85 and \\ "quote"', "en"))
        registry.fixate([made.iri], ROOT)
        registry.mint("rdl", ROOT, Request("only for us"))
        yield registry


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is parsed by a process of its own."""
    monkeypatch.setattr(rdf_parser, "_LARGE", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)


@pytest.mark.parametrize("format", list(rdf.FORMATS))
def test_another_process_says_the_same(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str
) -> None:
    monkeypatch.setattr(rdf_parser, "_QUADS", 7)  # here: the other process has larger portions
    file = (exported(registry, ROOT, tmp_path / "all", format), rdf.FORMATS[format], format)
    here, there = (
        b"".join(text for _, text in read(file))
        for read in (rdf_parser.parse_here, rdf_parser.parse_in_subprocess)
    )
    assert here == there


@pytest.mark.parametrize("flaw", FLAWED)
def test_a_separate_process_refuses_files_for_the_same_reason(tmp_path: Path, flaw: str) -> None:
    path = tmp_path / "flawed.ttl"
    path.write_bytes(FLAWED[flaw])
    refusals = []
    for read in (rdf_parser.parse_here, rdf_parser.parse_in_subprocess):
        with pytest.raises(ExchangeError) as refused:
            list(read((path, RdfFormat.TURTLE, "turtle")))
        refusals.append((str(refused.value), refused.value.fields))
    assert refusals[0] == refusals[1]


def test_an_unreadable_file_gives_the_same_error_in_a_separate_process(tmp_path: Path) -> None:
    refusals = []
    for path in (tmp_path, tmp_path / "missing.ttl"):
        for read in (rdf_parser.parse_here, rdf_parser.parse_in_subprocess):
            with pytest.raises(ExchangeError) as refused:
                list(read((path, RdfFormat.TURTLE, "turtle")))
            refusals.append(str(refused.value))
    assert refusals[0] == refusals[1] and refusals[2] == refusals[3] and "No such file" in refusals[2]


def test_a_parser_that_ends_early_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    path = tmp_path / "empty.ttl"
    path.touch()
    with pytest.raises(ExchangeError, match="the process that parses it has ended"):
        list(rdf_parser.parse_in_subprocess((path, RdfFormat.TURTLE, "turtle")))


def test_a_parser_ends_with_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "large.nt"
    path.write_bytes(b"<http://a.example.org/> <http://b.example.org/> <http://c.example.org/> .\n" * 60_000)
    with subprocess.Popen(
        [sys.executable, "-c", WAITS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as asking:
        assert asking.stdout is not None
        other = os.pidfd_open(int(asking.stdout.readline()))
        asking.kill()
    ended, _, _ = select.select([other], [], [], 60)
    os.close(other)
    assert ended


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("scattered", [False, True])
def test_an_import_by_separate_parsers_gives_the_same_registry(
    registry: Registry, tmp_path: Path, scattered: bool
) -> None:
    path = exported(registry, ROOT, tmp_path / "all", "nquads")
    if scattered:
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        random.Random(1).shuffle(lines)
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        rdf.import_registry(copy, [path], ROOT, "nquads")
        one, other = (
            exported(each, ROOT, tmp_path / name, "trig").read_bytes()
            for each, name in ((registry, "one"), (copy, "other"))
        )
        assert one == other


@pytest.mark.usefixtures("apart")
def test_a_single_processor_parses_in_process(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    path = exported(registry, ROOT, tmp_path / "all", "turtle")
    with idstore.open(tmp_path / "copy", administrator=ROOT) as copy:
        assert rdf.import_registry(copy, [path], ROOT, "turtle").identifiers == 2

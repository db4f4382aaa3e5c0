"""External texts, mutated: each is read, or refused with a documented error of one line."""

import importlib.util
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
from fuzz_targets import ADMINISTRATOR, TARGETS, taker
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

HERE = Path(__file__).parent
SECONDS = 3
"""Seconds of coverage-guided fuzzing for each target."""
DEAR = {"turtle", "trig", "ntriples", "nquads", "jsonld", "pronom"}
"""Targets that read into a store."""
WORDS = [
    b"\0",
    b"\xff",
    b"\r",
    b"\xef\xbb\xbf",
    b"&a;",
    b"<",
    b'"',
    b"%2F",
    b"%",
    b"/",
    b":",
    b"\xf0\x9f\x98\x80",
    b"\xed\xa0\x80",
    b"@en",
    b"{" * 300,
]


def bent(seed: bytes, chance: random.Random) -> bytes:
    """Return a text after some random mutations."""
    data = bytearray(seed)
    for _ in range(chance.randint(1, 4)):
        place, length = chance.randint(0, len(data)), chance.choice((0, 1, 1, 5, 40))
        put = chance.choice(
            (
                b"",
                chance.choice(WORDS),
                chance.randbytes(chance.randint(1, 3)),
                bytes(data[place : place + length]) * 2,
            )
        )
        data[place : place + length] = put
    return bytes(data)


@pytest.mark.parametrize("name", list(TARGETS))
def test_seeds_and_their_mutations_raise_only_documented_errors(name: str) -> None:
    target, chance = TARGETS[name](), random.Random(20261121)
    assert sum(map(target, target.seeds)), "no seed is read at all"
    for _ in range(40 if name in DEAR else 1000):
        target(bent(chance.choice(target.seeds), chance))


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in DEAR])
def test_random_bytes_raise_only_documented_errors(name: str) -> None:
    target = TARGETS[name]()

    @settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.binary(max_size=500) | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
    def read(data: bytes) -> None:
        target(data)

    read()


def test_no_dry_run_stored_anything() -> None:
    for name in ("nquads", "pronom"):
        target, chance = TARGETS[name](), random.Random(7)
        for _ in range(10):
            target(bent(target.seeds[0], chance))
    assert taker().list(ADMINISTRATOR) == []
    assert list(taker().verify(ADMINISTRATOR)) == []


@pytest.mark.slow
def test_coverage_guided_fuzzing_finds_no_defect(tmp_path: Path) -> None:
    if importlib.util.find_spec("atheris") is None:
        pytest.skip(
            "atheris is not installed: it has no wheel for this Python, or the extra `fuzz` was left out"
        )
    done = subprocess.run(
        [sys.executable, str(HERE / "fuzzer.py"), str(SECONDS), str(tmp_path), *TARGETS],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=len(TARGETS) * (SECONDS * 5 + 20) + 60,
        env={
            **os.environ,
            "TMPDIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, sys.path)]),
        },
        check=False,
    )
    for name in TARGETS:
        log = tmp_path / f"{name}.log"
        output = log.read_text(encoding="utf-8", errors="replace") if log.exists() else done.stderr
        broken = [
            f"{path.name}: {path.read_bytes()[:300]!r}"
            for path in (tmp_path / name).glob("[clo]*-*")
            if path.is_file()
        ]
        assert not broken, f"{name}: {broken}\n{output[-3000:]}"
        ran = re.search(r"Done (\d+) runs", output)
        assert ran and int(ran[1]) > len(TARGETS[name]().seeds), f"{name}: {output[-2000:]}"
        print(name, ran[0])
    assert done.returncode == 0, done.stderr[-3000:]

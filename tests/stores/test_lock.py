"""Whoever waits for the store gets it."""

import itertools
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from idstore.errors import StoreBusy
from idstore.stores.lock import DirectoryLock

TAKER = """
import os, sys, time
from pathlib import Path
from idstore.stores.lock import DirectoryLock
folder, shared, times = Path(sys.argv[1]), sys.argv[2] == "shared", int(sys.argv[3])
print(flush=True)
sys.stdin.readline()
log = os.open(folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for _ in range(times):
    lock = DirectoryLock(folder / "lock")
    lock.acquire(shared=shared, wait=120)
    os.write(log, f"{sys.argv[4]} +\\n".encode())
    time.sleep(0.002)  # what is done with it
    os.write(log, f"{sys.argv[4]} -\\n".encode())
    lock.release()
"""
TIMES = 40


def contend(folder: Path, kinds: list[str]) -> list[list[str]]:
    """Who took the lock and gave it up, in this order; each as often as the others, without a pause, all begun together."""
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", TAKER, str(folder), kind, str(TIMES), str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, kind in enumerate(kinds)
    ]
    for taker in takers:
        assert taker.stdout is not None
        taker.stdout.readline()
    for taker in takers:
        assert taker.stdin is not None
        taker.stdin.write("\n")
        taker.stdin.flush()
    for taker in takers:
        taker.communicate(timeout=300)
    assert [taker.returncode for taker in takers] == [0] * len(takers)
    return [line.split() for line in (folder / "log").read_text().splitlines()]


@pytest.mark.parametrize("kinds", [["exclusive"] * 8, ["exclusive"] * 2 + ["shared"] * 6], ids=["writers", "readers and writers"])
def test_nobody_is_passed_over(tmp_path: Path, kinds: list[str]) -> None:
    log = contend(tmp_path, kinds)
    taken = [int(name) for name, what in log if what == "+"]
    assert Counter(taken) == dict.fromkeys(range(len(kinds)), TIMES)
    for number in range(len(kinds)):
        turns = [-1, *(place for place, name in enumerate(taken) if name == number)]
        longest = max(later - earlier for earlier, later in itertools.pairwise(turns))
        assert longest < TIMES * len(kinds) // 3, f"{kinds[number]} {number} was passed over {longest} times"


def test_a_writer_is_alone(tmp_path: Path) -> None:
    inside: set[str] = set()
    kinds = ["exclusive"] * 2 + ["shared"] * 2
    for name, what in contend(tmp_path, kinds):
        if what == "+":
            assert not any(kinds[int(other)] == "exclusive" for other in inside)
            assert not inside or kinds[int(name)] == "shared"
            inside.add(name)
        else:
            inside.remove(name)
    assert not inside


def test_the_lock_is_free_when_its_process_is_gone(tmp_path: Path) -> None:
    code = "import os, sys; from pathlib import Path; from idstore.stores.lock import DirectoryLock\n"
    code += "DirectoryLock(Path(sys.argv[1])).acquire(shared=False, wait=0); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "lock")], check=False).returncode == 9
    assert holder(tmp_path / "lock", shared=True) == "another process"  # not the one that was killed
    lock = DirectoryLock(tmp_path / "lock")
    lock.acquire(shared=False, wait=0)
    lock.release()


def test_who_waits_in_vain_is_told_who_holds_it(tmp_path: Path) -> None:
    assert holder(tmp_path / "lock", shared=False) == f"process {os.getpid()}"
    assert holder(tmp_path / "lock", shared=True) == "a reading process"


def holder(path: Path, *, shared: bool) -> str:
    """Who a writer is told has the lock, while it is held."""
    held = DirectoryLock(path)
    held.acquire(shared=shared, wait=0)
    try:
        with pytest.raises(StoreBusy) as caught:
            DirectoryLock(path).acquire(shared=False, wait=0)
    finally:
        held.release()
    return str(caught.value.fields["holder"])


def test_who_waits_while_the_folder_is_exchanged_gets_the_lock_of_the_new_one(tmp_path: Path) -> None:
    """Not that of the folder that was moved away: somebody else has the new one."""
    folder, order = tmp_path / "store", list[str]()
    folder.mkdir()
    holder, waiter, other = (DirectoryLock(folder / "lock") for _ in range(3))
    holder.acquire(shared=False, wait=0)

    def wait() -> None:
        waiter.acquire(shared=False, wait=60)
        order.append("waiter")

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    while not any(one.name == "idstore-lock" for one in threading.enumerate()):
        pass
    folder.rename(tmp_path / "old")
    folder.mkdir()
    other.acquire(shared=False, wait=0)
    holder.release()
    thread.join(1)
    order.append("other")
    other.release()
    thread.join(60)
    assert order == ["other", "waiter"]

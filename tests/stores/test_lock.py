"""The lock of a store's folder: every waiting process gets it."""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_files import PATIENCE, until

from idstore.errors import StoreBusy, StoreUnavailable
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
    os.write(log, f"{sys.argv[4]} ?\\n".encode())
    lock = DirectoryLock(folder / "lock")
    lock.acquire(shared=shared, wait=120)
    os.write(log, f"{sys.argv[4]} +\\n".encode())
    time.sleep(0.002)  # work under the lock
    os.write(log, f"{sys.argv[4]} -\\n".encode())
    lock.release()
"""
TIMES = 40


def contend(folder: Path, kinds: list[str]) -> list[list[str]]:
    """Let processes compete for the lock, and return who asked for it (?), took it (+) and released it (-).

    All begin together, and each takes the lock equally often, without a pause.
    """
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


@pytest.mark.parametrize(
    "kinds", [["exclusive"] * 8, ["exclusive"] * 2 + ["shared"] * 6], ids=["writers", "readers and writers"]
)
def test_no_process_waits_for_the_lock_much_longer_than_others(tmp_path: Path, kinds: list[str]) -> None:
    log = contend(tmp_path, kinds)
    assert Counter(int(name) for name, what in log if what == "+") == dict.fromkeys(range(len(kinds)), TIMES)
    for number, kind in enumerate(kinds):
        longest = max(passed_over(log, f"{number}"))
        assert longest < TIMES * len(kinds) // 3, f"{kind} {number} was passed over {longest} times"


def passed_over(log: list[list[str]], name: str) -> Iterator[int]:
    """Yield how many others took the lock in each wait of a process."""
    others = 0
    for other, what in log:
        if other == name and what == "?":
            others = 0
        elif other == name and what == "+":
            yield others
        elif what == "+":
            others += 1


def test_only_one_process_writes(tmp_path: Path) -> None:
    inside: set[str] = set()
    kinds = ["exclusive"] * 2 + ["shared"] * 2
    for name, what in contend(tmp_path, kinds):
        if what == "+":
            assert not any(kinds[int(other)] == "exclusive" for other in inside)
            assert not inside or kinds[int(name)] == "shared"
            inside.add(name)
        elif what == "-":
            inside.remove(name)
    assert not inside


def test_the_lock_is_free_after_its_process_ended(tmp_path: Path) -> None:
    code = "import os, sys; from pathlib import Path; from idstore.stores.lock import DirectoryLock\n"
    code += "DirectoryLock(Path(sys.argv[1])).acquire(shared=False, wait=0); os._exit(9)"
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path / "lock")], check=False).returncode == 9
    assert holder(tmp_path / "lock", shared=True) is None  # not the one that was killed
    lock = DirectoryLock(tmp_path / "lock")
    lock.acquire(shared=False, wait=0)
    lock.release()


def test_a_process_whose_wait_runs_out_learns_the_holder(tmp_path: Path) -> None:
    assert holder(tmp_path / "lock", shared=False) == os.getpid()
    assert holder(tmp_path / "lock", shared=True) is None


def holder(path: Path, *, shared: bool) -> object:
    """Return the holder that the error of a waiting writer names, while the lock is held."""
    held = DirectoryLock(path)
    held.acquire(shared=shared, wait=0)
    try:
        with pytest.raises(StoreBusy) as caught:
            DirectoryLock(path).acquire(shared=False, wait=0)
    finally:
        held.release()
    return caught.value.fields["holder"]


def test_a_wait_during_which_the_folder_is_exchanged_takes_the_lock_of_the_new_folder(tmp_path: Path) -> None:
    """It does not take the lock of the folder that was moved away: another process has the new folder."""
    folder, new, order = tmp_path / "store", tmp_path / "new", list[str]()
    folder.mkdir()
    new.mkdir()
    holder, waiter, other = (DirectoryLock(one / "lock") for one in (folder, folder, new))
    holder.acquire(shared=False, wait=0)
    other.acquire(shared=False, wait=0)

    def wait() -> None:
        waiter.acquire(shared=False, wait=PATIENCE)
        order.append("waiter")

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    until(lambda: any(one.name == "idstore-lock" for one in threading.enumerate()), "a thread that waits")
    folder.rename(tmp_path / "old")
    new.rename(folder)
    holder.release()
    thread.join(0.5)
    order.append("other")
    other.release()
    thread.join(PATIENCE)
    assert order == ["other", "waiter"]


def test_a_wait_that_ran_out_does_not_take_the_lock_later(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first, second, third = DirectoryLock(path), DirectoryLock(path), DirectoryLock(path)
    earlier = threading.enumerate()
    first.acquire(shared=False, wait=0)
    for shared in (True, False):
        with pytest.raises(StoreBusy):
            second.acquire(shared=shared, wait=0.05)
    first.release()
    until(
        lambda: (
            not any(
                thread.name == "idstore-lock" for thread in threading.enumerate() if thread not in earlier
            )
        ),
        "no thread waits any more",
    )
    third.acquire(shared=False, wait=0)
    third.release()


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_removed_lock_file_is_reported(tmp_path: Path, how: str) -> None:
    path = tmp_path / "store" / "lock"
    path.parent.mkdir()
    lock = DirectoryLock(path)
    lock.acquire(shared=False, wait=0)
    lock.check()
    if how == "moved":
        path.parent.rename(tmp_path / "moved")
    else:
        path.unlink()
    if how == "replaced":
        path.touch()
    with pytest.raises(StoreUnavailable, match="moved, removed or replaced"):
        lock.check()
    lock.release()


ENDING = """
import os, sys, threading
from pathlib import Path
from idstore.forks import LockHandle
from idstore.stores.lock import DirectoryLock
folder = Path(sys.argv[1])
held = DirectoryLock(folder / "lock")
held.acquire(shared=True, wait=0)
os.mkfifo(folder / "never-open")
stuck = threading.Thread(target=LockHandle, args=(folder / "never-open",), daemon=True)
stuck.start()
while sys._current_frames()[stuck.ident].f_code is not LockHandle.__init__.__code__:
    continue
print("ends")
"""


def test_a_process_ends_while_another_of_its_threads_opens_a_lock(tmp_path: Path) -> None:
    """The interpreter ends such a thread in the middle, and collects the locks afterwards."""
    done = subprocess.run(
        [sys.executable, "-c", ENDING, str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")

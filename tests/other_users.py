"""Programs that run as other users of the machine, who may be unable to read the package."""

import atexit
import json
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path

_FORKING = """
import importlib, json, os, pathlib, pkgutil, random, sys, tempfile, traceback, uuid
import idstore
for module in pkgutil.walk_packages(idstore.__path__, "idstore."):
    if module.name != "idstore.__main__" and not module.name.startswith("idstore.testing"):
        importlib.import_module(module.name)
idstore.schemes.installed()
for line in sys.stdin:
    asked = json.loads(line)
    process = os.fork()
    if not process:
        for number in (1, 2):
            os.dup2(os.open(asked["output"], os.O_WRONLY | os.O_APPEND), number)
        try:
            sys.argv[1:] = asked["words"]
            if asked["umask"] is not None:
                os.umask(asked["umask"])
            if asked["user"] is not None:
                os.setgroups(asked["groups"])
                os.setresgid(*[asked["user"]] * 3)
                os.setresuid(*[asked["user"]] * 3)
            exec(asked["program"])
            sys.stdout.flush()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""
_LOCK = threading.Lock()


def run_as(
    user: int | None, program: str, *words: object, groups: tuple[int, ...] = (), umask: int | None = None
) -> str:
    """Run a program in a process of its own, and return its output. Fails if the program fails.

    user  None: the one of this process.
    The whole package is imported already, and so are the modules ``json``, ``os``, ``pathlib`` and ``sys``.
    """
    with tempfile.NamedTemporaryFile() as output, _LOCK:
        asked = {
            "user": user,
            "program": program,
            "words": [*map(str, words)],
            "groups": groups,
            "umask": umask,
            "output": output.name,
        }
        forking = _forking()
        assert forking.stdin is not None and forking.stdout is not None
        forking.stdin.write(f"{json.dumps(asked)}\n")
        forking.stdin.flush()
        status = forking.stdout.readline()
        written = Path(output.name).read_text()
    assert status == "0\n", f"{status}{written}"
    return written


@cache
def _forking() -> "subprocess.Popen[str]":
    """Return the process that imports the package once, and forks for each program: that takes a tenth."""
    process = subprocess.Popen(
        [sys.executable, "-c", _FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.communicate)
    return process

"""Time limits that scale with the load of the machine."""

import subprocess
import sys
import time


def scaled(seconds: float) -> float:
    """Return ``seconds`` plus three times the current start time of an interpreter with the package.

    The start takes 0.2 s on an idle machine.
    """
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import idstore"], check=True)
    return seconds + 3 * (time.monotonic() - begun)

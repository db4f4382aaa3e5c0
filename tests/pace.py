"""How long something may take on a machine that is busy with other things."""

import subprocess
import sys
import time


def allowing(seconds: float) -> float:
    """So many seconds, and three times what it takes at this moment to start an interpreter with the package: 0.2 s where nothing else runs."""
    begun = time.monotonic()
    subprocess.run([sys.executable, "-c", "import idstore"], check=True)
    return seconds + 3 * (time.monotonic() - begun)

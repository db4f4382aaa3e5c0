"""How messages tell of files, and of what the system says of them."""

import re
from typing import Final

_NUMBERED: Final = r"(/generation-|/snapshots/(?=\d+-))\d+(?:-\d+)?(?=/(?:engine|catalogue|base-|draft|broken)|[\s:;,]|$)"
"""A generation or a snapshot, by what is in it: a folder above the store may be called alike."""


def unnumbered(told: object) -> str:
    """What is told of a file of a store, without the numbers of its generation and of its snapshot: they say how much has happened."""
    return re.sub(_NUMBERED, r"\1…", f"{told}")


def remedy(error: Exception) -> str:
    """What to do about an error in opening files."""
    full = "No space left" in f"{error}" or "disk is full" in f"{error}"
    return "free some space, and try again" if full else "check the disk, and the folder's permissions"

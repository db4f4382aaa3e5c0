"""How messages tell of files, and of what the system says of them."""

import re


def unnumbered(told: object) -> str:
    """What is told of a file of a store, without the numbers of its generation and of its snapshot: they say how much has happened."""
    return re.sub(r"(/generation-|/snapshots/)[0-9]+(-[0-9]+)?\b", r"\1…", f"{told}")


def remedy(error: Exception) -> str:
    """What to do about an error in opening files."""
    full = "No space left" in f"{error}" or "disk is full" in f"{error}"
    return "free some space, and try again" if full else "check the disk, and the folder's permissions"

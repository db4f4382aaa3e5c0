"""What the installed packages announce in the entry-point group ``idstore.schemes``, found without reading anything else of them.

`importlib.metadata` finds the same, but importing it takes longer than all else that a scheme needs. So it is asked only where packages
are installed in another way than as folders.
"""

import os
import re
import sys
from collections.abc import Iterator

GROUP = "idstore.schemes"
_INFO = (".dist-info", ".egg-info")
_FILE = "entry_points.txt"


def announced() -> list[tuple[str, str]]:
    """Names of schemes with the place of each, ``module:object``, sorted. Nothing of them is imported."""
    return sorted(_listed() if _has_only_folders() else _asked_for())


def _asked_for() -> Iterator[tuple[str, str]]:
    from importlib.metadata import entry_points

    return ((point.name, point.value) for point in entry_points(group=GROUP))


def _has_only_folders() -> bool:
    """Whether packages come from folders alone: no archive or egg is on the path, and nobody else finds packages."""
    finders = {getattr(finder, "__name__", "") for finder in sys.meta_path if getattr(finder, "find_distributions", None)}
    return finders <= {"PathFinder"} and not any(os.path.isfile(place) or place.lower().endswith(".egg") for place in sys.path)  # noqa: PTH113 much faster than a Path for each


def _listed() -> Iterator[tuple[str, str]]:
    """Pairs from every package; of several of one name the first on the path counts, as for an import."""
    seen = set()
    for folder in map(_place, sys.path):
        for entry in _entries(folder):
            if not entry.lower().endswith(_INFO):
                continue
            name = re.sub(r"[-_.]+", "_", entry.lower().rpartition(".")[0].partition("-")[0])
            if name not in seen:
                seen.add(name)
                yield from _pairs(f"{folder}/{entry}/{_FILE}")


def _place(entry: str) -> str:
    return entry or "."


def _entries(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 much faster than a Path for each
    except OSError:
        return []


def _pairs(file: str) -> Iterator[tuple[str, str]]:
    """The pairs that a file of entry points has in our group."""
    try:
        with open(file, encoding="utf-8") as stream:  # noqa: PTH123 much faster than a Path for each
            text = stream.read()
    except OSError:
        return
    inside = False
    for line in map(str.strip, text.split("\n") if GROUP in text else ()):
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield name.strip(), value.strip()

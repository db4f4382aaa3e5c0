"""The package bioregistry, imported without a trace in the home folder, which need not exist."""

import os
import sys
from importlib import import_module
from types import ModuleType
from typing import Final

_PLACES: Final = ("PYSTOW_HOME", "PYSTOW_CONFIG_HOME")
"""Variables that name the folders which the package makes for downloads; its own data need none."""


def load() -> ModuleType:
    """Import the package. Raises ImportError: it is not installed. Cost: half a second."""
    if "bioregistry" in sys.modules:
        return import_module("bioregistry")
    from idstore import scratch

    with scratch.folder() as folder:
        places = {name: str(folder) for name in _PLACES if name not in os.environ}
        if not os.access(os.path.expanduser("~"), os.W_OK):  # noqa: PTH111 Path.home() fails without one
            places["HOME"] = str(folder)
        before = {name: os.environ.get(name) for name in places}
        os.environ.update(places)
        try:
            return import_module("bioregistry")
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

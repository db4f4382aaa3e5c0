"""Locations of the Turtle files shipped with the package."""

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def folder(name: str) -> Traversable:
    """Return the folder of shipped Turtle files: inside the wheel, or beside the package in a checkout.

    name    ``shapes`` or ``ontology``.
    """
    packed = files("idstore") / "_data" / name
    return packed if packed.is_dir() else Path(__file__).parents[1] / name

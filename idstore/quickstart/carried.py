"""Real data from packages: publications of PRONOM from opf-fido, registries of identifiers from bioregistry.

The extra ``examples`` installs the packages; call `require` first.
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

from idstore import bioregistry_package
from idstore.errors import InvalidData
from idstore.exchange import pronom_reports

IANA: Final = "https://www.iana.org/assignments/media-types/"
"""Base of the IRIs of registered media types."""
UTI: Final = "http://uti.example.org/"
"""Base for Apple's uniform type identifiers, which have no URIs of their own; the domain is a reserved
one."""
METAREGISTRY: Final = "https://bioregistry.io/metaregistry/"
"""Base of Bioregistry's IRIs for entries of registries without web pages."""

_UNREGISTERED: Final = re.compile(r"x[.-]|[^/]*/x[.-]", re.IGNORECASE | re.ASCII)
_TYPE_IDENTIFIER: Final = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")


@dataclass(frozen=True, slots=True)
class CarriedReport:
    """PRONOM's report on a format.

    types        URIs of its registered media types and of its UTIs.
    passed_over  texts that give no such URI.
    """

    puid: str
    types: tuple[str, ...]
    passed_over: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Prefix:
    """A registry of identifiers with its prefix in Bioregistry, and its entries in other registries."""

    prefix: str
    name: str
    entries: tuple[str, ...]

    @property
    def page(self) -> str:
        """Bioregistry's page about the registry."""
        return f"https://bioregistry.io/{self.prefix}"


def require() -> None:
    """Raise InvalidData if a package is missing."""
    for module, package in (("fido", "opf-fido"), ("bioregistry", "bioregistry")):
        if find_spec(module) is None:
            raise InvalidData(
                f"the data come from packages, and {package} is not installed;"
                " run `pip install 'idstore[examples]'`",
                package=package,
            )


@contextmanager
def signature_file() -> Iterator[Path]:
    """Provide the DROID signature file of opf-fido during the block."""
    with as_file(_fido("DROID_SignatureFile-v")) as path:
        yield path


def reports() -> Iterator[CarriedReport]:
    """Yield PRONOM's report on each format of that file."""
    with as_file(_fido("pronom-xml-v")) as path:
        entries = pronom_reports.read(path)
    yield from map(_report, entries)


def prefixes() -> list[Prefix]:
    """Return the prefixes of Bioregistry, sorted. Cost: half a second for the import of the package."""
    manager = bioregistry_package.load().manager
    registries = manager.metaregistry
    return [
        Prefix(
            prefix,
            resource.get_name() or prefix,
            tuple(
                registries[other].get_provider_url(entry) or f"{METAREGISTRY}{other}/{entry}"
                for other, entry in sorted(resource.get_mappings().items())
            ),
        )
        for prefix, resource in sorted(manager.registry.items())
    ]


def _fido(beginning: str) -> Traversable:
    """Return a file of opf-fido by the beginning of its name."""
    return next(file for file in (files("fido") / "conf").iterdir() if file.name.startswith(beginning))


def _report(entry: pronom_reports.PronomReport) -> CarriedReport:
    media = {text: text.partition(";")[0].rstrip() for kind, text in entry.identifiers if kind == "MIME"}
    types = {text: IANA + media for text, media in media.items() if not _UNREGISTERED.match(media)}
    identifiers = [text for kind, text in entry.identifiers if kind == "Apple Uniform Type Identifier"]
    types |= {text: UTI + text for text in identifiers if _TYPE_IDENTIFIER.fullmatch(text)}
    return CarriedReport(
        entry.puid,
        tuple(dict.fromkeys(types.values())),
        tuple(text for text in (*media, *identifiers) if text not in types),
    )

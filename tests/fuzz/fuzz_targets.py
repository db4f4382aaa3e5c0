"""Every reader of external text, as functions of bytes that raise only documented errors.

A target is a pair: seed texts and their reader. An exception other than idstore's own errors is a defect.
"""

import io
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from urllib.parse import unquote

import idstore
import idstore.opening
from idstore import Party, Registry
from idstore.errors import ExchangeError, IdstoreError, InvalidData, InvalidIdentifier, QueryRefused
from idstore.exchange import bad_lines, droid, mapping_rows, mappings, metadata, pronom
from idstore.exchange.rdf import FORMATS, export, import_registry
from idstore.queries import guard
from idstore.schemes import Scheme, installed
from idstore.vocabulary import PREFIXES

VECTORS = Path(__file__).parents[1] / "vectors"
FORMS = ("hdl:", "doi:", "info:", "urn:", "http:", "https:")
ADMINISTRATOR = Party("alice")


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, its seed texts, and the errors with which it may refuse a text."""

    read: Callable[[bytes], object]
    seeds: Sequence[bytes]
    errors: tuple[type[IdstoreError], ...]

    def __call__(self, data: bytes) -> bool:
        """Return whether the text was read; False if it was refused properly.

        Raises every undocumented exception.
        """
        try:
            self.read(data)
        except self.errors as error:
            assert type(error).__module__ == "idstore.errors"
            assert error.message and "\n" not in error.message, f"not one line: {error.message!r}"
            error.message.encode()
            return False
        return True


def _identifier(scheme: Scheme) -> Target:
    def read(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        canonical = str(scheme.parse(text))
        if (
            not unquote(canonical).casefold().startswith(FORMS)
        ):  # a handle may look like a written form of another
            assert scheme.parse(canonical) == scheme.parse(text), (
                f"{text!r} and its canonical form {canonical!r} are not the same"
            )

    lines = (VECTORS / f"{scheme.name}.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return Target(read, [line.partition("\t")[0].encode() for line in lines], (InvalidIdentifier,))


FORMAT = (
    b'<FileFormat ID="637" Name="PDF" PUID="fmt/18" Version="1.4" '
    b'MIMEType="application/pdf"><Extension>pdf</Extension></FileFormat>'
)
SIGNATURES = [
    b'<?xml version="1.0" encoding="UTF-8"?><FFSignatureFile Version="122" '
    b'DateCreated="2026-01-01" xmlns="http://x.org">'
    b"<InternalSignatureCollection/><FileFormatCollection>"
    + FORMAT
    + b"</FileFormatCollection></FFSignatureFile>",
    b"<SignatureFile><FFSignatureFile><FileFormatCollection>"
    + FORMAT
    + b"</FileFormatCollection></FFSignatureFile></SignatureFile>",
    b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><FFSignatureFile>&b;</FFSignatureFile>',
    b'<!DOCTYPE x SYSTEM "file:///etc/hostname"><FFSignatureFile/>',
]


def _signatures(data: bytes) -> None:
    with droid.signatures(io.BytesIO(data)) as file:
        list(file)


def _metadata(data: bytes) -> None:
    list(metadata.entries(io.BytesIO(data)))


METADATA = [b'{"issn": "19360851", "volume": 4}\n{"doi": "10.1/x"}\n', b'{\n "title": "\\u00e4"\n}']
MAPPINGS = {
    "sssom": (
        b"#curie_map:\n#  wd: http://www.wikidata.org/entity/\n"
        b"subject_id\tpredicate_id\tobject_id\tconfidence\n"
        b"wd:Q1\tskos:exactMatch\twd:Q2\t0.9\n"
    ),
    "csv": b'subject_id,object_id,comment\nhttp://x.org/1,http://x.org/2,"a, ""b"""\n',
    "tsv": b"subject_id\tobject_id\nhttp://x.org/1\thttp://x.org/2\n",
}


BROKEN = [b'"b\n2",c\n1,2\n', b'a\tb\n"1\n']


def _mappings(format: str, data: bytes) -> None:
    with mappings.read(io.BytesIO(data), format) as reading:
        broken: list[bad_lines.Malformed] = []
        list(mapping_rows.proposals(reading.rows, broken))


QUERIES = [
    b"SELECT ?s WHERE { ?s ?p ?o FILTER(?o > 3) } LIMIT 10",
    b"PREFIX x: <http://x.org/> CONSTRUCT { ?s x:p ?o } WHERE { GRAPH ?g { ?s x:p 'a'@en } }",
    b"SELECT * { SERVICE SILENT <http://x.org/> { ?s ?p ?o } }",
    b"ASK { ?s ?p '''SERVICE''' } # service\r\n",
    b"DELETE WHERE { ?s ?p ?o }",
]


def _query(data: bytes) -> None:
    guard.check(data.decode("utf-8", "replace"), PREFIXES)


@cache
def scratch() -> Path:
    """Return a folder for this process, in memory if the system has room there."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="idstore-fuzz-", dir=memory if memory.is_dir() else None))


def _made(name: str) -> Registry:
    return idstore.open(scratch() / name, administrator=ADMINISTRATOR)


@cache
def _source() -> dict[str, bytes]:
    """Return a small registry in each format."""
    with _made("source") as registry:
        registry.add_namespace("names", "20.500.1", "handle", ADMINISTRATOR)
        kept = registry.register("names", "a", ADMINISTRATOR).iri
        registry.fixate([kept], ADMINISTRATOR)
        registry.register("names", "b", ADMINISTRATOR)
        written = {}
        for format in FORMATS:
            target = io.BytesIO()
            export(registry, target, ADMINISTRATOR, format)
            written[format] = target.getvalue()
    return written


@cache
def taker() -> Registry:
    registry = _made("taker")
    registry.add_namespace("formats", "info:pronom/", "puid", ADMINISTRATOR)
    return registry


def _rdf(format: str) -> Target:
    def read(data: bytes) -> None:
        path = scratch() / "given"
        path.write_bytes(data)
        import_registry(taker(), [path], ADMINISTRATOR, format, dry_run=True)

    return Target(read, [_source()[format]], (ExchangeError, InvalidData))


def _formats(data: bytes) -> None:
    with droid.signatures(io.BytesIO(data)) as file:
        pronom.import_formats(taker(), file, ADMINISTRATOR, dry_run=True)


def _targets() -> dict[str, Callable[[], Target]]:
    return {
        **{name: partial(_identifier, scheme) for name, scheme in installed().items()},
        **{name: partial(_rdf, name) for name in FORMATS},
        "signatures": partial(Target, _signatures, SIGNATURES, (ExchangeError,)),
        "pronom": partial(Target, _formats, SIGNATURES, (ExchangeError, InvalidData)),
        "metadata": partial(Target, _metadata, METADATA, (InvalidData,)),
        **{
            name: partial(Target, partial(_mappings, name), [seed, *BROKEN], (ExchangeError,))
            for name, seed in MAPPINGS.items()
        },
        "query": partial(Target, _query, QUERIES, (QueryRefused,)),
    }


TARGETS = _targets()
"""Factories of targets by name."""

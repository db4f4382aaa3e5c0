"""Export of identifiers as tables: SSSOM/TSV of their bindings, and CSV of their names and bindings."""

import csv
import io
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import IO, Final

from pyoxigraph import NamedNode

from idstore import spreadsheets
from idstore.exchange.curies import Curies
from idstore.model import particulars, times
from idstore.model.binding import UNSPECIFIED, Binding
from idstore.model.filter import Filter
from idstore.model.namespace import shared
from idstore.model.party import Party, node
from idstore.model.record import Record
from idstore.model.terms import UNDETERMINED, iri
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.vocabulary import DCTERMS, MAPPING_PREFIXES, PAV, SKOS, SSSOM, store_name

FORMATS: Final = ("sssom", "csv")
UNLICENSED: Final = "https://w3id.org/sssom/license/unspecified"
"""The licence in SSSOM for mappings without a stated licence."""

_IN_MEMORY: Final = 1 << 20
"""Bytes of a body in memory; a longer one goes to a temporary file."""
_PUBLISHER: Final = "ext_publisher"
"""The extension slot of a mapping set's publisher."""
_IRI_TYPE: Final = MAPPING_PREFIXES["linkml"] + "Uriorcurie"
"""The type of an extension slot whose value is an IRI; a slot without a type has a text."""
_BREAKS: Final = re.compile(r"[\t\r\n]+")
_SSSOM: Final = (
    "subject_id", "subject_label", "predicate_id", "object_id", "mapping_justification", "author_id",
    "author_label", "creator_id", "mapping_date", "confidence", "comment",
)  # fmt: skip
_CSV: Final = (
    "identifier", "namespace", "stage", "owner", "created", "fixated", "version", "leads_to", "name", "lang",
    "relation", "target", "note", "confidence", "justification", "author", "by", "at",
)  # fmt: skip


def export_csv(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    filter: Filter = Filter(),
    *,
    progress: Progress = unwatched,
) -> None:
    """Write names and bindings of the identifiers that the party may see, as RFC 4180 with line feeds.

    Cells that a spreadsheet would run are guarded: see `idstore.spreadsheets`.

    The number of an identifier's rows is that of its names or of its bindings, the larger one, and at least
    one. Each row has at most one name and one binding. The same state gives the same bytes.
    Raises UnknownNamespace, OSError. Memory: flat.
    """
    names = {namespace.base: namespace.name for namespace in registry.namespaces()}
    with registry.records(party, filter, progress) as records:
        rows = (row for record in records for row in _rows(record, names[record.namespace]))
        _write(target, ",", _CSV, (list(map(spreadsheets.guarded, row)) for row in rows))


def _rows(record: Record, namespace: str) -> Iterator[Sequence[str]]:
    head = [record.iri, namespace, record.stage.value, record.owner, times.iso(record.created)]
    head += [
        "" if record.fixated is None else times.iso(record.fixated),
        record.version or "",
        record.target or "",
    ]
    pairs = list(zip_longest(record.names, _by_key(record)))
    for name, binding in pairs or [(None, None)]:
        lang, text = name or ("", "")
        yield [
            *head,
            text,
            "" if lang == UNDETERMINED else lang,
            *(_binding_cells(binding) if binding else [""] * 8),
        ]


def _binding_cells(binding: Binding) -> list[str]:
    properties = (SKOS.note, SSSOM.confidence, SSSOM.mapping_justification, PAV.authoredBy)
    values = [binding.annotation(name) or "" for name in properties]
    return [binding.relation, binding.target, *values, binding.by, times.iso(binding.at)]


def export_sssom(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    filter: Filter = Filter(),
    *,
    title: str | None = None,
    licence: str | None = None,
    progress: Progress = unwatched,
) -> None:
    """Write the bindings of the identifiers that the party may see, as a mapping set.

    The same state gives the same bytes.

    licence  IRI of the licence of the mappings; None: the one that all their namespaces state.
    The publisher that all their namespaces state is in the extension slot ``ext_publisher``.
    Raises InvalidData (no IRI), UnknownNamespace, OSError.
    Memory: flat but for the prefixes, one for each namespace of the targets.
    """
    if licence is not None:
        iri(licence, "IRI of a licence")
    namespaces = registry.namespaces()
    spaces = [(namespace.name, namespace.base) for namespace in namespaces]
    chosen = namespaces if filter.namespace is None else [registry.namespace(filter.namespace)]
    licence = licence or shared(chosen, "licence")
    publisher = shared(chosen, "publisher")
    curies = Curies([*MAPPING_PREFIXES.items(), ("party", node("").value), *spaces])
    with (
        tempfile.SpooledTemporaryFile(_IN_MEMORY) as body,
        registry.records(party, filter, progress) as records,
    ):
        rows = (_mapping(record, binding, curies) for record in records for binding in _by_key(record))
        _write(body, "\t", _SSSOM, rows)
        set_id = store_name(registry.store.origin)
        head = {"mapping_set_id": set_id, "mapping_set_title": title, "license": licence or UNLICENSED}
        target.writelines(
            f"#{key}: {json.dumps(value)}\n".encode() for key, value in head.items() if value is not None
        )
        if publisher is not None:
            target.writelines(_publisher(publisher, curies))
        target.write(b"#curie_map:\n" if curies.used else b"#curie_map: {}\n")
        prefixes = sorted(curies.used.items())
        target.writelines(f"#  {_key(prefix)}: {json.dumps(space)}\n".encode() for prefix, space in prefixes)
        body.seek(0)
        shutil.copyfileobj(body, target)


def _publisher(publisher: str, curies: Curies) -> Iterator[bytes]:
    """Yield the header lines that state the publisher of a mapping set.

    SSSOM has no slot for a publisher, so that an extension slot states ``dcterms:publisher``.
    """
    yield b"#extension_definitions:\n"
    yield f"#  - slot_name: {_PUBLISHER}\n".encode()
    yield f"#    property: {json.dumps(curies.short(DCTERMS.publisher.value))}\n".encode()
    if isinstance(particulars.term("publisher", publisher), NamedNode):
        yield f"#    type_hint: {json.dumps(curies.short(_IRI_TYPE))}\n".encode()
    yield f"#{_PUBLISHER}: {json.dumps(publisher)}\n".encode()


def _key(prefix: str) -> str:
    """Return a prefix as a YAML key, quoted if YAML reads it as no text: ``no``, ``on``, ``null``."""
    import yaml

    return prefix if yaml.safe_load(prefix) == prefix else json.dumps(prefix)


def _by_key(record: Record) -> list[Binding]:
    return sorted(record.bindings, key=lambda binding: binding.key)


def _mapping(record: Record, binding: Binding, curies: Curies) -> Sequence[str]:
    names = dict(record.names)
    author, justification = (
        binding.annotation(PAV.authoredBy) or "",
        binding.annotation(SSSOM.mapping_justification),
    )
    is_iri = ":" in author
    return [
        curies.short(record.iri, record.namespace),
        names.get(UNDETERMINED) or next(iter(names.values()), ""),
        curies.short(binding.relation),
        curies.short(binding.target),
        curies.short(justification or UNSPECIFIED),
        curies.short(author) if is_iri else "",
        "" if is_iri else author.replace("\\", r"\\").replace("|", r"\|"),
        curies.short(node(binding.by).value),
        times.iso(binding.at)[:10],
        binding.annotation(SSSOM.confidence) or "",
        binding.note or "",
    ]


def write_rows(
    target: IO[bytes],
    format: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    divider: str = ",",
) -> None:
    """Write rows of any texts: as csv with guarded cells, or as tsv, whose cells lose tabs and line ends."""
    if format == "csv":
        _write(target, divider, header, (list(map(spreadsheets.guarded, row)) for row in rows))
        return
    lines = (
        "\t".join(" ".join(cell.split()) if _BREAKS.search(cell) else cell for cell in row)
        for row in [header, *rows]
    )
    target.writelines(f"{line}\n".encode() for line in lines)


def _write(target: IO[bytes], delimiter: str, header: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    text = io.TextIOWrapper(target, encoding="utf-8", newline="")
    writer = csv.writer(_LineFeeds(text), delimiter=delimiter)
    writer.writerow(header)
    writer.writerows(rows)
    text.detach()


class _LineFeeds:
    """A text stream that ends rows with a line feed.

    Before Python 3.13, a csv writer with this line terminator does not quote a carriage return within a text.
    """

    def __init__(self, text: IO[str]) -> None:
        self._text = text

    def write(self, row: str) -> int:
        """Write a row that ends with CR LF, as RFC 4180 requires."""
        return self._text.write(row.removesuffix("\r\n") + "\n")

"""Identifiers as tables: SSSOM/TSV of what they are bound to, and CSV of what they are called and bound to."""

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import IO, Final

from idstore.exchange.curies import Curies
from idstore.model import times
from idstore.model.binding import Binding
from idstore.model.party import Party, node
from idstore.model.record import Record
from idstore.model.terms import UNDETERMINED, iri
from idstore.progress import Progress, unwatched
from idstore.registry import Registry
from idstore.registry.exporting import Extract
from idstore.vocabulary import MAPPING_PREFIXES, PAV, SKOS, SSSOM, store_name

FORMATS: Final = ("sssom", "csv")
UNLICENSED: Final = "https://w3id.org/sssom/license/unspecified"
"""What SSSOM calls mappings whose licence nobody named."""

_IN_MEMORY: Final = 1 << 20
"""Bytes of a body that are held in memory before they go to a temporary file."""
_UNSPECIFIED: Final = MAPPING_PREFIXES["semapv"] + "UnspecifiedMatching"
_SSSOM: Final = (
    "subject_id", "subject_label", "predicate_id", "object_id", "mapping_justification", "author_id", "author_label", "creator_id",
    "mapping_date", "confidence", "comment",
)  # fmt: skip
_CSV: Final = (
    "identifier", "namespace", "stage", "owner", "created", "fixated", "version", "leads_to", "name", "lang", "relation", "target", "note",
    "confidence", "justification", "author", "by", "at",
)  # fmt: skip


def export_csv(
    registry: Registry, target: IO[bytes], party: Party, extract: Extract = Extract(), *, progress: Progress = unwatched
) -> None:
    """Write names and bindings of what the party may see, RFC 4180 with line feeds: the same state gives the same bytes.

    An identifier has as many rows as it has names or bindings, whichever is more, and at least one; each row tells one of either.
    Raises UnknownNamespace, OSError. Memory: flat.
    """
    names = {namespace.base: namespace.name for namespace in registry.namespaces()}
    with registry.records(party, extract, progress) as records:
        _write(target, ",", _CSV, (row for record in records for row in _rows(record, names[record.namespace])))


def _rows(record: Record, namespace: str) -> Iterator[Sequence[str]]:
    head = [record.iri.value, namespace, record.stage.value, record.owner, times.iso(record.created)]
    head += [
        "" if record.fixated is None else times.iso(record.fixated),
        record.version or "",
        record.target.value if record.target else "",
    ]
    pairs = list(zip_longest(record.names, _by_key(record)))
    for name, binding in pairs or [(None, None)]:
        lang, text = name or ("", "")
        yield [*head, text, "" if lang == UNDETERMINED else lang, *(_said(binding) if binding else [""] * 8)]


def _said(binding: Binding) -> list[str]:
    said = [binding.said(one) or "" for one in (SKOS.note, SSSOM.confidence, SSSOM.mapping_justification, PAV.authoredBy)]
    return [binding.relation.value, binding.target.value, *said, binding.by, times.iso(binding.at)]


def export_sssom(
    registry: Registry,
    target: IO[bytes],
    party: Party,
    extract: Extract = Extract(),
    *,
    title: str | None = None,
    licence: str | None = None,
    progress: Progress = unwatched,
) -> None:
    """Write what the identifiers that the party may see are bound to, as a mapping set: the same state gives the same bytes.

    licence  IRI of the licence that the mappings are under.
    Raises InvalidData (no IRI), UnknownNamespace, OSError. Memory: flat but for the prefixes, one for each beginning that targets have in common.
    """
    if licence is not None:
        iri(licence, "IRI of a licence")
    spaces = [(namespace.name, namespace.base) for namespace in registry.namespaces()]
    curies = Curies([*MAPPING_PREFIXES.items(), ("party", node("").value), *spaces])
    with tempfile.SpooledTemporaryFile(_IN_MEMORY) as body, registry.records(party, extract, progress) as records:
        _write(body, "\t", _SSSOM, (_mapping(record, one, curies) for record in records for one in _by_key(record)))
        head = {"mapping_set_id": store_name(registry.store.origin), "mapping_set_title": title, "license": licence or UNLICENSED}
        target.writelines(f"#{key}: {json.dumps(value)}\n".encode() for key, value in head.items() if value is not None)
        target.write(b"#curie_map:\n" if curies.used else b"#curie_map: {}\n")
        target.writelines(f"#  {_key(prefix)}: {json.dumps(space)}\n".encode() for prefix, space in sorted(curies.used.items()))
        body.seek(0)
        shutil.copyfileobj(body, target)


def _key(prefix: str) -> str:
    """A prefix as a key in YAML, quoted where a reader would take ``no``, ``on`` or ``null`` for something else than a text."""
    import yaml

    return prefix if yaml.safe_load(prefix) == prefix else json.dumps(prefix)


def _by_key(record: Record) -> list[Binding]:
    return sorted(record.bindings, key=lambda one: one.key)


def _mapping(record: Record, binding: Binding, curies: Curies) -> Sequence[str]:
    names = dict(record.names)
    author, justification = binding.said(PAV.authoredBy) or "", binding.said(SSSOM.mapping_justification)
    person = ":" in author
    return [
        curies.short(record.iri.value, record.namespace),
        names.get(UNDETERMINED) or next(iter(names.values()), ""),
        curies.short(binding.relation.value),
        curies.short(binding.target.value),
        curies.short(justification or _UNSPECIFIED),
        curies.short(author) if person else "",
        "" if person else author.replace("\\", r"\\").replace("|", r"\|"),
        curies.short(node(binding.by).value),
        times.iso(binding.at)[:10],
        binding.said(SSSOM.confidence) or "",
        binding.note or "",
    ]


def _write(target: IO[bytes], delimiter: str, header: Sequence[str], rows: Iterator[Sequence[str]]) -> None:
    text = io.TextIOWrapper(target, encoding="utf-8", newline="")
    writer = csv.writer(_Lines(text), delimiter=delimiter)
    writer.writerow(header)
    writer.writerows(rows)
    text.detach()


class _Lines:
    """Ends lines with a line feed. A writer that is told to do so itself leaves a carriage return within a text unquoted before Python 3.13."""

    def __init__(self, text: IO[str]) -> None:
        self._text = text

    def write(self, row: str) -> int:
        """Write a row that ends as RFC 4180 has it."""
        return self._text.write(row.removesuffix("\r\n") + "\n")

"""The steps of the demonstration, from an empty registry to a validated one."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.resources import files
from itertools import cycle
from typing import Final, TypeVar

from idstore.exchange import droid, metadata, pronom, rdf
from idstore.model.filter import Filter
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.quickstart import StepResult, Story, StoryStep, carried
from idstore.quickstart.questions import VISITOR, ask
from idstore.registry.bindings import Statement
from idstore.registry.requests import Request
from idstore.validation.registries import check

T = TypeVar("T")
R = TypeVar("R")

BROADER: Final = "http://www.w3.org/2004/02/skos/core#broadMatch"
"""Relation of a format to its media types and UTIs; each covers many formats."""
ARCHIVIST: Final = Party("archivist")
LIBRARIAN: Final = Party("librarian")
CURATORS: Final = tuple(Party(name) for name in ("ada", "ben", "cho", "dan", "eva", "fay", "gus", "hal"))
"""Concurrent users, so that commits share the waits for the disk."""

_NAMESPACES: Final = (
    ("pronom", "info:pronom/", "puid"),
    ("registries", "http://rdl.example.org/data#", "rdswip"),
    ("pilin", "102.100.272", "pilin"),
    ("articles", "http://journals.example.org/", "scholars-portal"),
)
_SHOWN: Final = 4


def _add_namespaces(story: Story) -> StepResult:
    namespaces = [
        story.registry.add_namespace(name, base, scheme, story.party) for name, base, scheme in _NAMESPACES
    ]
    return StepResult(
        {"namespaces": len(namespaces)},
        [f"{namespace.name:<11} {namespace.scheme_name:<16} {namespace.base}" for namespace in namespaces],
    )


def _import_formats(story: Story) -> StepResult:
    with carried.signature_file() as path, droid.signatures(path) as signatures:
        report = pronom.import_formats(story.registry, signatures, story.party)
    provisional = sum("/x-" in iri for iri in report.new)
    some = [story.registry.show(text, VISITOR) for text in ("fmt/18", "x-fmt/111")]
    return StepResult(
        {"formats": len(report.new), "of them provisional": provisional}, [_line(record) for record in some]
    )


def _bind_formats(story: Story) -> StepResult:
    reports = [report for report in carried.reports() if report.types or report.passed_over]
    pairs = [(report.puid, uri) for report in reports for uri in report.types]

    def bind(pair: tuple[str, str], _: Party) -> None:
        story.registry.bind(f"pronom:{pair[0]}", Statement(pair[1], BROADER), ARCHIVIST)

    list(_at_once(story, pairs, bind))
    types = sum(uri.startswith(carried.IANA) for _, uri in pairs)
    lines = [
        f"fmt/18 is bound to {binding.target}" for binding in story.registry.show("fmt/18", VISITOR).bindings
    ]
    passed = sum(len(report.passed_over) for report in reports)
    lines.append(f"{passed} were passed over: unregistered media types (x-…), and texts that are not UTIs")
    return StepResult({"bindings to media types": types, "bindings to UTIs": len(pairs) - types}, lines)


def _mint_prefixes(story: Story) -> StepResult:
    prefixes = carried.prefixes()

    def mint(prefix: carried.Prefix, curator: Party) -> Record:
        request = Request(name=prefix.name, comment=f"Bioregistry prefix {prefix.prefix}", target=prefix.page)
        record = story.registry.mint("registries", curator, request)
        for entry in prefix.entries:
            story.registry.bind(record.iri, Statement(entry), curator)
        return record

    records = dict(_at_once(story, prefixes, mint))
    bound = sum(len(prefix.entries) for prefix in prefixes)
    some = [records[prefix] for prefix in prefixes if prefix.prefix in ("chebi", "doi", "orcid")]
    lines = [_line(story.registry.show(record.iri, story.party)) for record in some]
    return StepResult({"identifiers": len(records), "bindings": bound}, lines)


def _mint_handles(story: Story) -> StepResult:
    content = files("idstore.quickstart").joinpath("documents.jsonl").read_text(encoding="utf-8")
    documents = [json.loads(line) for line in content.splitlines()]
    records = [story.registry.mint("pilin", LIBRARIAN, Request(**document)) for document in documents]
    return StepResult({"handles": len(records)}, [_line(record) for record in records[:_SHOWN]])


def _mint_articles(story: Story) -> StepResult:
    with files("idstore.quickstart").joinpath("articles.jsonl").open("rb") as stream:
        articles = [*metadata.read(stream)]
    records = [
        story.registry.mint("articles", LIBRARIAN, Request(name=article["title"], metadata=article))
        for article in articles
    ]
    collided = sum(
        story.registry.derive("articles", article).label != record.label
        for article, record in zip(articles, records, strict=True)
    )
    below = {"parent": records[-1].iri, "kind": "pdf"}
    records.append(story.registry.mint("articles", LIBRARIAN, Request(metadata=below)))
    return StepResult(
        {"identifiers": len(records), "of them after a collision": collided},
        [f"/{record.label}" for record in records],
    )


def _fixate(story: Story) -> StepResult:
    before = story.registry.counts(VISITOR).total
    owners = (*CURATORS, LIBRARIAN)
    for done, owner in enumerate(owners):
        story.progress(done, len(owners))
        own = story.registry.list(owner, Filter(party=owner.name, stage=Stage.CREATED), limit=None)
        story.registry.fixate([record.iri for record in own], owner)
    after = story.registry.counts(VISITOR).total
    return StepResult(
        {"fixated": after - before}, [f"a visitor saw {before} identifiers, and now sees all {after}"]
    )


def _export(story: Story) -> StepResult:
    with story.export.open("xb") as target:
        rdf.export(story.registry, target, story.party)
    size = story.export.stat().st_size
    return StepResult({"megabytes of Turtle": round(size / 1_000_000)}, [str(story.export)])


def _validate(story: Story) -> StepResult:
    findings = check(story.registry, story.party).results
    return StepResult(
        {"breaches": len(findings)}, [str(finding) for finding in findings[:_SHOWN]], broken=bool(findings)
    )


def _at_once(story: Story, items: Sequence[T], act: Callable[[T, Party], R]) -> Iterator[tuple[T, R]]:
    """Process the items as eight concurrent users; yield each result as soon as it is available."""
    with ThreadPoolExecutor(len(CURATORS)) as pool:
        running = {
            pool.submit(act, item, curator): item
            for item, curator in zip(items, cycle(CURATORS), strict=False)
        }
        try:
            for done, future in enumerate(as_completed(running)):
                story.progress(done, len(items))
                yield running[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _line(record: Record) -> str:
    """Return a description of an identifier in one line."""
    name = "; ".join(text for _, text in record.names)
    version = f" {record.version}" if record.version else ""
    bound = f" ({len(record.bindings)} bindings)" if record.bindings else ""
    return f"{record.iri}  {name}{version}{bound}"


STEPS: Final[Sequence[StoryStep]] = (
    StoryStep(
        "Add namespaces",
        "A namespace is a base with a scheme; the registry holds four kinds of identifiers.",
        "idstore namespace add pronom info:pronom/ --scheme puid",
        _add_namespaces,
    ),
    StoryStep(
        "Import PRONOM's file formats",
        "They are published elsewhere, so the import records them as fixated; x- ones are provisional.",
        "idstore import DROID_SignatureFile.xml",
        _import_formats,
    ),
    StoryStep(
        "Bind formats to media types and UTIs",
        "Any signed-in party may bind a fixated identifier to other URIs; here an archivist does.",
        "idstore bind fmt/18 https://www.iana.org/assignments/media-types/application/pdf",
        _bind_formats,
    ),
    StoryStep(
        "Mint an RDS/WIP identifier for each registry prefix, and bind it",
        (
            "Eight curators mint one identifier at a time, each durable before the answer;"
            " bindings lead to Wikidata, FAIRsharing, MIRIAM and others."
        ),
        "idstore mint registries --name 'Chemical Entities of Biological Interest'",
        _mint_prefixes,
    ),
    StoryStep(
        "Mint PILIN handles",
        "Nine symbols encode a time: one handle a millisecond.",
        (
            "idstore mint pilin --name 'PILIN Glossary'"
            " --target http://pilin.net.au/Project_Documents/Glossary.htm"
        ),
        _mint_handles,
    ),
    StoryStep(
        "Derive Scholars Portal URIs",
        "The articles of the policy itself: two book reviews on one page collide, and the second gets _1.",
        "idstore mint articles --metadata articles.jsonl",
        _mint_articles,
    ),
    StoryStep(
        "Fixate",
        "Until now only the owners saw the identifiers. Now everyone does, and they are permanent.",
        (
            "idstore list --user ada --owner ada --stage created --limit 0"
            " | cut -f 1 | idstore fixate --user ada -"
        ),
        _fixate,
    ),
    StoryStep(
        "Ask",
        "Three questions in SPARQL.",
        "idstore query -f claimed-twice.rq",
        ask,
    ),
    StoryStep(
        "Export",
        "The whole content with the log, in an order that depends on the state alone.",
        "idstore export -o registry.ttl",
        _export,
    ),
    StoryStep(
        "Validate",
        "Check the content against the SHACL shapes of the registry and of the four schemes.",
        "idstore validate",
        _validate,
    ),
)
"""The steps in order."""

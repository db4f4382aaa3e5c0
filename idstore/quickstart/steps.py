"""The steps of the story, from an empty registry to one that is validated."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.resources import files
from itertools import cycle
from typing import Final, TypeVar

from idstore.exchange import droid, metadata, pronom, rdf
from idstore.model.party import Party
from idstore.model.record import Record, Stage
from idstore.quickstart import Step, Story, Told, carried
from idstore.quickstart.questions import VISITOR, ask
from idstore.registry.bindings import Statement
from idstore.registry.requests import Request
from idstore.stores.catalogue import Selection
from idstore.validation.registries import check

T = TypeVar("T")
R = TypeVar("R")

BROADER: Final = "http://www.w3.org/2004/02/skos/core#broadMatch"
"""How a format is related to its media types and UTIs: each of them stands for many formats."""
ARCHIVIST: Final = Party("archivist")
LIBRARIAN: Final = Party("librarian")
CURATORS: Final = tuple(Party(name) for name in ("ada", "ben", "cho", "dan", "eva", "fay", "gus", "hal"))
"""As many people work at once, so that the waits for the disk are shared."""

_NAMESPACES: Final = (
    ("pronom", "info:pronom/", "puid"),
    ("registries", "http://rdl.example.org/data#", "rdswip"),
    ("pilin", "102.100.272", "pilin"),
    ("articles", "http://journals.example.org/", "scholars-portal"),
)
_SHOWN: Final = 4


def _add_namespaces(story: Story) -> Told:
    made = [story.registry.add_namespace(name, base, scheme, story.party) for name, base, scheme in _NAMESPACES]
    return Told({"namespaces": len(made)}, [f"{one.name:<11} {one.scheme_name:<16} {one.base}" for one in made])


def _import_formats(story: Story) -> Told:
    with carried.signature_file() as path, droid.signatures(path) as signatures:
        report = pronom.import_formats(story.registry, signatures, story.party)
    provisional = sum("/x-" in iri for iri in report.new)
    some = [story.registry.show(text, VISITOR) for text in ("fmt/18", "x-fmt/111")]
    return Told({"formats": len(report.new), "of them provisional": provisional}, [_line(record) for record in some])


def _bind_formats(story: Story) -> Told:
    reports = [report for report in carried.reports() if report.types or report.passed_over]
    pairs = [(report.puid, uri) for report in reports for uri in report.types]

    def bind(pair: tuple[str, str], _: Party) -> None:
        story.registry.bind(f"pronom:{pair[0]}", Statement(pair[1], BROADER), ARCHIVIST)

    list(_at_once(story, pairs, bind))
    types = sum(uri.startswith(carried.IANA) for _, uri in pairs)
    lines = [f"fmt/18 is bound to {binding.target.value}" for binding in story.registry.show("fmt/18", VISITOR).bindings]
    passed = sum(len(report.passed_over) for report in reports)
    lines.append(f"{passed} were passed over: media types that nobody registered (x-…), and what is no UTI")
    return Told({"bindings to media types": types, "bindings to UTIs": len(pairs) - types}, lines)


def _mint_prefixes(story: Story) -> Told:
    prefixes = carried.prefixes()

    def mint(prefix: carried.Prefix, curator: Party) -> Record:
        request = Request(name=prefix.name, comment=f"Bioregistry prefix {prefix.prefix}", target=prefix.page)
        record = story.registry.mint("registries", curator, request)
        for entry in prefix.entries:
            story.registry.bind(record.iri.value, Statement(entry), curator)
        return record

    made = dict(_at_once(story, prefixes, mint))
    bound = sum(len(prefix.entries) for prefix in prefixes)
    some = [made[prefix] for prefix in prefixes if prefix.prefix in ("chebi", "doi", "orcid")]
    lines = [_line(story.registry.show(record.iri.value, story.party)) for record in some]
    return Told({"identifiers": len(made), "bindings": bound}, lines)


def _mint_handles(story: Story) -> Told:
    content = files("idstore.quickstart").joinpath("documents.jsonl").read_text(encoding="utf-8")
    documents = [json.loads(line) for line in content.splitlines()]
    made = [story.registry.mint("pilin", LIBRARIAN, Request(**document)) for document in documents]
    return Told({"handles": len(made)}, [_line(record) for record in made[:_SHOWN]])


def _mint_articles(story: Story) -> Told:
    with files("idstore.quickstart").joinpath("articles.jsonl").open("rb") as stream:
        articles = [*metadata.read(stream)]
    made = [story.registry.mint("articles", LIBRARIAN, Request(name=one["title"], metadata=one)) for one in articles]
    collided = sum(story.registry.derive("articles", one).label != record.label for one, record in zip(articles, made, strict=True))
    below = {"parent": made[-1].iri.value, "kind": "pdf"}
    made.append(story.registry.mint("articles", LIBRARIAN, Request(metadata=below)))
    return Told({"identifiers": len(made), "of them after a collision": collided}, [f"/{record.label}" for record in made])


def _fixate(story: Story) -> Told:
    before = story.registry.counts(VISITOR).total
    owners = (*CURATORS, LIBRARIAN)
    for done, owner in enumerate(owners):
        story.progress(done, len(owners))
        own = story.registry.list(owner, Selection(owner=owner.name, stage=Stage.CREATED), limit=None)
        story.registry.fixate([record.iri.value for record in own], owner)
    after = story.registry.counts(VISITOR).total
    return Told({"fixated": after - before}, [f"a visitor saw {before} identifiers, and now sees all {after}"])


def _export(story: Story) -> Told:
    with story.export.open("xb") as target:
        rdf.export(story.registry, target, story.party)
    size = story.export.stat().st_size
    return Told({"megabytes of Turtle": round(size / 1_000_000)}, [str(story.export)])


def _validate(story: Story) -> Told:
    found = check(story.registry, story.party).results
    return Told({"breaches": len(found)}, [str(finding) for finding in found[:_SHOWN]], broken=bool(found))


def _at_once(story: Story, items: Sequence[T], act: Callable[[T, Party], R]) -> Iterator[tuple[T, R]]:
    """Have eight people work off the items at once, each act for itself; gives what came of each as soon as it is done."""
    with ThreadPoolExecutor(len(CURATORS)) as pool:
        running = {pool.submit(act, item, curator): item for item, curator in zip(items, cycle(CURATORS), strict=False)}
        try:
            for done, future in enumerate(as_completed(running)):
                story.progress(done, len(items))
                yield running[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _line(record: Record) -> str:
    """An identifier in one line."""
    name = "; ".join(text for _, text in record.names)
    version = f" {record.version}" if record.version else ""
    bound = f" ({len(record.bindings)} bindings)" if record.bindings else ""
    return f"{record.iri.value}  {name}{version}{bound}"


STEPS: Final[Sequence[Step]] = (
    Step(
        "Add namespaces",
        "A namespace is a base with a scheme: four kinds of identifiers live side by side.",
        "idstore namespace add pronom info:pronom/ --scheme puid",
        _add_namespaces,
    ),
    Step(
        "Import PRONOM's file formats",
        "They are published elsewhere, so they come as fixated; the x- ones are provisional.",
        "idstore import DROID_SignatureFile.xml",
        _import_formats,
    ),
    Step(
        "Bind formats to media types and UTIs",
        "What is fixated may be bound to other URIs by anybody; here by an archivist.",
        "idstore bind fmt/18 https://www.iana.org/assignments/media-types/application/pdf",
        _bind_formats,
    ),
    Step(
        "Mint an RDS/WIP identifier for each registry prefix, and bind it",
        "Eight curators, one identifier at a time, each on disk before it is answered; bound to Wikidata, FAIRsharing, MIRIAM and others.",
        "idstore mint registries --name 'Chemical Entities of Biological Interest'",
        _mint_prefixes,
    ),
    Step(
        "Mint PILIN handles",
        "Nine symbols that are a moment: one handle a millisecond.",
        "idstore mint pilin --name 'PILIN Glossary' --target http://pilin.net.au/Project_Documents/Glossary.htm",
        _mint_handles,
    ),
    Step(
        "Derive Scholars Portal URIs",
        "The articles of the policy itself: two book reviews on one page collide, and the second gets _1.",
        "idstore mint articles --metadata articles.jsonl",
        _mint_articles,
    ),
    Step(
        "Fixate",
        "Until now only their owners saw them. From now on everybody does, and they are permanent.",
        "idstore list --user ada --owner ada --stage created --limit 0 | cut -f 1 | idstore fixate --user ada -",
        _fixate,
    ),
    Step(
        "Ask",
        "Three questions in SPARQL.",
        "idstore query -f claimed-twice.rq",
        ask,
    ),
    Step(
        "Export",
        "Everything, the log included, in an order that depends on nothing but the state.",
        "idstore export -o registry.ttl",
        _export,
    ),
    Step(
        "Validate",
        "All of it, against the SHACL shapes of the registry and of the four schemes.",
        "idstore validate",
        _validate,
    ),
)
"""The story."""

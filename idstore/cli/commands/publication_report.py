"""Report on imports of PRONOM's publications."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from idstore.characters import printable
from idstore.cli.output import Output, limited_lines
from idstore.documents import compact_iri

if TYPE_CHECKING:
    from idstore.registry.imports.adopt import Adoption, Renaming
    from idstore.registry.imports.relate import Related


def print_adoption(output: Output, adoption: "Adoption", source: str, *, dry_run: bool) -> None:
    """Print what the list of a publisher changed; ``source`` says what it was.

    A quiet output gets nothing if nothing changed, and otherwise all that is new.
    """
    if output.quiet and not (adoption.new or adoption.renamed):
        return
    complete = dry_run or output.quiet
    renamed = [
        f"{renaming.iri}: {_versioned(renaming.old_name, renaming.old_version)} → "
        f"{_versioned(renaming.name, renaming.version)}"
        for renaming in adoption.renamed
    ]
    register, rename = ("would register", "rename") if dry_run else ("registered", "renamed")
    head = (
        f"{register} {len(adoption.new)} identifiers, {rename} {len(renamed)}; "
        f"{len(adoption.unchanged)} are as they were{_vanished_text(adoption.vanished, source)}"
    )
    lists = {
        "new": adoption.new if complete else (),
        "renamed": renamed,
        _gone(source): adoption.vanished,
        "your draft here, PRONOM's is not taken in": [
            iri for iri in adoption.kept if iri not in adoption.withdrawn
        ],
        "withdrawn here, PRONOM's is not taken in": adoption.withdrawn,
    }
    record = {
        "dryRun": dry_run,
        "new": [*adoption.new],
        "renamed": [*map(_renaming_json, adoption.renamed)],
        "vanished": [*adoption.vanished],
        "kept": [*adoption.kept],
        "unchanged": len(adoption.unchanged),
    }
    output.data(_text(head, lists, complete=complete), record)


def print_relations(output: Output, result: "Related", *, dry_run: bool) -> None:
    """Print what the relations of a publisher changed: see `print_adoption`."""
    if output.quiet and not (result.bound or result.deprecated):
        return
    complete = dry_run or output.quiet
    bind, deprecate = ("would bind", "deprecate") if dry_run else ("bound", "deprecated")
    head = (
        f"{bind} {len(result.bound)} relations, {deprecate} {len(result.deprecated)} identifiers; "
        f"{result.unchanged} relations are as they were{_vanished_text(result.vanished, 'reports')}"
    )
    bound, vanished = (
        [f"{iri} {compact_iri(relation)} {target}" for iri, relation, target in relations]
        for relations in (result.bound, result.vanished)
    )
    deprecated = [
        f"{iri}: {reason}" + (f" → {', '.join(by)}" if by else "") for iri, reason, by in result.deprecated
    ]
    lists = {
        "bound": bound if complete else (),
        "deprecated": deprecated,
        _gone("reports"): vanished,
        "passed over": result.passed,
    }
    output.data(
        _text(head, lists, complete=complete),
        {
            "dryRun": dry_run,
            "bound": [*map(_relation_json, result.bound)],
            "deprecated": [
                {"id": iri, "reason": reason, "supersededBy": [*by]} for iri, reason, by in result.deprecated
            ],
            "vanished": [*map(_relation_json, result.vanished)],
            "passedOver": [*result.passed],
            "unchanged": result.unchanged,
        },
    )


def _text(head: str, lists: Mapping[str, Sequence[str]], *, complete: bool) -> str:
    lines = [head]
    for kind, items in lists.items():
        texts = [printable(item) for item in items]
        lines += [f"{kind}\t{text}" for text in texts] if complete else limited_lines(kind, texts)
    return "\n".join(lines)


def _vanished_text(vanished: Sequence[object], source: str) -> str:
    return f"; {len(vanished)} {_gone(source)}" if vanished else ""


def _gone(source: str) -> str:
    return f"no longer in PRONOM's {source}; kept here"


def _renaming_json(renaming: "Renaming") -> dict[str, object]:
    return {
        "id": renaming.iri,
        "from": renaming.old_name,
        "fromVersion": renaming.old_version,
        "to": renaming.name,
        "toVersion": renaming.version,
    }


def _relation_json(relation: tuple[str, str, str]) -> dict[str, object]:
    iri, predicate, target = relation
    return {"id": iri, "relation": predicate, "target": target}


def _versioned(name: str, version: str | None) -> str:
    return name if version is None else f"{name} {version}"

"""What ``idstore import`` does with identifiers issued elsewhere: what PRONOM publishes, and batch files for handles."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from idstore.cli import exits, session
from idstore.cli.call import Call
from idstore.cli.commands import batch, merging
from idstore.cli.output import one_line
from idstore.cli.records import short

if TYPE_CHECKING:
    from idstore.model.party import Party
    from idstore.registry import Registry
    from idstore.registry.adopting import Adoption, Renaming


def import_signatures(call: Call, file: str, namespace: str | None, dry_run: bool) -> int:
    """Register and rename the PUIDs of a DROID signature file, and say what changed."""
    from idstore.exchange import droid, pronom

    def act(registry: "Registry", party: "Party") -> "Adoption":
        with droid.signatures(file) as signatures:
            return pronom.import_formats(registry, signatures, party, namespace, dry_run=dry_run, warn=call.output.warn)

    return _report(call, session.write(call, act, dry=dry_run), "file", dry_run)


def _report(call: Call, found: "Adoption", source: str, dry_run: bool) -> int:
    renamed = [f"{one.iri}: {_called(one.old_name, one.old_version)} → {_called(one.name, one.version)}" for one in found.renamed]
    head = (
        f"{'would register' if dry_run else 'registered'} {len(found.new)} identifiers, {'rename' if dry_run else 'renamed'} {len(renamed)}; "
        f"{len(found.unchanged)} are as they were{_gone(found.vanished, source)}"
    )
    lists = {"new": found.new if dry_run else (), "renamed": renamed, "vanished": found.vanished, "kept": found.kept}
    said = {"new": [*found.new], "renamed": [*map(_renaming, found.renamed)], "vanished": [*found.vanished], "kept": [*found.kept]}
    call.output.data(_text(head, lists, whole=dry_run), {"dryRun": dry_run, **said, "unchanged": len(found.unchanged)})
    return exits.DONE


def import_reports(call: Call, file: str, namespace: str | None, dry_run: bool) -> int:
    """Bind PUIDs to each other and deprecate them as PRONOM's reports say, and say what changed."""
    from idstore.exchange import pronom, reports

    note = f"PRONOM reports, {Path(file).name}"
    found = session.write(
        call,
        lambda registry, party: pronom.import_relations(registry, reports.read(file), party, note, namespace, dry_run=dry_run),
        dry=dry_run,
    )
    head = (
        f"{'would bind' if dry_run else 'bound'} {len(found.bound)} relations, {'deprecate' if dry_run else 'deprecated'} {len(found.deprecated)} identifiers; "
        f"{found.unchanged} relations are as they were{_gone(found.vanished, 'reports')}"
    )
    bound, vanished = ([f"{iri} {short(relation)} {target}" for iri, relation, target in one] for one in (found.bound, found.vanished))
    deprecated = [f"{iri}: {reason}" + (f" → {', '.join(by)}" if by else "") for iri, reason, by in found.deprecated]
    lists = {"bound": bound if dry_run else (), "deprecated": deprecated, "vanished": vanished, "passed over": found.passed}
    call.output.data(
        _text(head, lists, whole=dry_run),
        {
            "dryRun": dry_run,
            "bound": [*map(_triple, found.bound)],
            "deprecated": [{"id": iri, "reason": reason, "supersededBy": [*by]} for iri, reason, by in found.deprecated],
            "vanished": [*map(_triple, found.vanished)],
            "passedOver": [*found.passed],
            "unchanged": found.unchanged,
        },
    )
    return exits.DONE


def _text(head: str, lists: Mapping[str, Sequence[str]], *, whole: bool) -> str:
    lines = [head]
    for sort, found in lists.items():
        listed = [one_line(one) for one in found]
        lines += [f"{sort}\t{one}" for one in listed] if whole else merging.listed(sort, listed)
    return "\n".join(lines)


def _gone(vanished: Sequence[object], source: str) -> str:
    return f"; {len(vanished)} vanished from the {source} and stay" if vanished else ""


def _renaming(one: "Renaming") -> dict[str, object]:
    return {"id": one.iri, "from": one.old_name, "fromVersion": one.old_version, "to": one.name, "toVersion": one.version}


def _triple(found: tuple[str, str, str]) -> dict[str, object]:
    iri, relation, target = found
    return {"id": iri, "relation": relation, "target": target}


def _called(name: str, version: str | None) -> str:
    return name if version is None else f"{name} {version}"


IMPORTS: Final[Mapping[str, Callable[[Call, str, str | None, bool], int]]] = {
    "droid": import_signatures,
    "pronom": import_reports,
    batch.FORMAT: batch.import_,
}
"""What reads one file of a format: given the file, the namespace, and whether it is a dry run."""

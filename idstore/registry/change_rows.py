"""Many changes of existing identifiers, all or none: the rows of a table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from idstore import arguments, spreadsheets
from idstore.errors import IdstoreError, InvalidData
from idstore.model import terms
from idstore.model.names import already_leading
from idstore.model.party import Party
from idstore.model.record import Record
from idstore.registry import iris
from idstore.registry.bindings import Bindings
from idstore.registry.core import Core, DryRunEnded
from idstore.registry.lifecycle import Lifecycle
from idstore.registry.mappings import LineOutcome, mark_undone, refusal, refused
from idstore.remedies import Remedy

ACTS: Final = ("deprecate", "undeprecate", "supersede", "target", "name", "grant")


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change in a table.

    line        its line, from 1.
    act         ``deprecate``, ``undeprecate``, ``supersede``, ``target``, ``name`` or ``grant``.
    id          the identifier, in any written form.
    reason      of a deprecation.
    successors  of a deprecation or a supersession.
    target      the target.
    names       names by language; ``und``: one without a language. Spaces around one are no change.
    force       whether names are taken that look like marks of a spreadsheet.
    grantee     name of the party or group that may see the identifier.
    bind        whether the grantee may also bind.
    """

    line: int
    act: str
    id: str
    reason: str = ""
    successors: tuple[str, ...] = ()
    target: str | None = None
    grantee: str = ""
    bind: bool = False
    names: Mapping[str, str] = field(default_factory=dict)
    force: bool = False

    def __post_init__(self) -> None:
        """Raise InvalidData: a field is of another kind, or the act is none for tables."""
        arguments.check_fields(self)
        if self.act not in ACTS:
            raise InvalidData(
                f"{self.act!r} is no act of a table; use one of {', '.join(ACTS)}",
                field="act",
                value=self.act,
            )


class ChangeRows(Bindings, Lifecycle):
    """Changes in tables."""

    def change_many(
        self, rows: Sequence[ChangeRow], party: Party, *, dry_run: bool = False
    ) -> list[LineOutcome]:
        """Carry out the changes in one commit: all, or none if any is refused.

        dry_run  only predict the outcomes.
        The verdict is ``new``, ``known`` if it is so already, or ``refused``: then no row is done. The
        warning tells of other identifiers of a target. Rights: those of each act.
        Raises NotPermitted (the party does not act), StoreUnavailable. Cost: as each act, and one commit.
        Memory: the rows.
        """
        self.core.only_acting(party)
        outcomes: list[LineOutcome] = []
        try:
            with self.store.bulk(dry_run=dry_run) as bulk:
                within = ChangeRows(Core(bulk))
                outcomes += [_outcome(within, row, party) for row in rows]
                verdicts = {outcome.verdict for outcome in outcomes}
                if "refused" in verdicts or "new" not in verdicts:
                    raise DryRunEnded  # noqa: TRY301 the bulk has no effect
        except DryRunEnded:
            pass
        return mark_undone(outcomes) if refused(outcomes) else outcomes

    def change(self, row: ChangeRow, party: Party) -> bool:
        """Carry out one change; return False if it is so already. Raises as the act."""
        record = self.show(row.id, party)
        if self._is_so(record, row, party):
            return False
        match row.act:
            case "deprecate":
                self.deprecate(record, row.reason, party, row.successors)
            case "supersede":
                self.supersede(record, row.successors, party)
            case "undeprecate":
                self.undeprecate(record, party)
            case "name":
                for lang, name in _other_names(record, row).items():
                    mark = None if row.force else spreadsheets.mark("name", name)
                    if mark is not None:
                        raise InvalidData(mark, field="names", value=name, remedy=Remedy.INSIST)
                    self.name(record, name, party, lang)
            case "target":
                self.target(record, row.target, party)
            case "grant":
                self.grant(record, Party(row.grantee), party, bind=row.bind)
        return True

    def _is_so(self, record: Record, row: ChangeRow, party: Party) -> bool:
        if row.act == "target":
            if record.target is None or row.target is None:
                return record.target is None and row.target is None
            facts = self.store.read(self.core.facts)
            return facts.names.same(record.target, iris.target(row.target, facts).value)
        if row.act == "undeprecate":
            return not record.deprecated
        if row.act == "name":
            return not _other_names(record, row)
        if row.act == "grant":
            return (row.grantee, row.bind) in record.grants
        successors = {self.identify(one, party) for one in row.successors}
        same = bool(record.deprecated) and successors <= set(record.successors)
        return same and (row.act == "supersede" or record.reason == row.reason)


def _other_names(record: Record, row: ChangeRow) -> dict[str, str]:
    """Return the names of a row that the record has not, by language."""
    known = dict(record.names)
    languages = {lang: terms.language_or_none(lang) for lang in row.names}
    return {
        lang: name
        for lang, name in row.names.items()
        if known.get(languages[lang], "").strip() != name.strip()
    }


def _outcome(registry: ChangeRows, row: ChangeRow, party: Party) -> LineOutcome:
    try:
        fresh = registry.change(row, party)
        iri = registry.identify(row.id, party)
        shared = registry.shared_targets([iri], party, 1) if row.act == "target" else []
    except IdstoreError as error:
        return refusal(row.line, row.id, error)
    warning = "".join(already_leading(one.target, one.others) for one in shared)
    return LineOutcome(row.line, "new" if fresh else "known", iri, warning=warning)

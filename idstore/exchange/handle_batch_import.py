"""The import of batch files of the Handle System: their operations are acts of a party."""

from collections.abc import Iterable
from dataclasses import dataclass

from idstore.errors import IdstoreError, InvalidData, InvalidIdentifier
from idstore.exchange.handle_batch import BatchFlaws, Flaw, Operation, parsed
from idstore.exchange.sources import Readable, opened
from idstore.model.names import ENOUGH, already_leading
from idstore.model.namespace import Namespace
from idstore.model.party import Party
from idstore.progress import Meter, Progress, unwatched
from idstore.registry import Registry
from idstore.registry.core import DryRunEnded
from idstore.registry.handle_records import MOST_VALUES
from idstore.registry.handle_values import When
from idstore.registry.requests import Request
from idstore.remedies import Remedy


@dataclass(frozen=True, slots=True)
class BatchReport:
    """The handles that an import, or its dry run, created, changed and deleted.

    created, changed, deleted  their IRIs.
    shared  lines with a URL that other identifiers lead or are bound to, as far as the party sees them.
    """

    created: tuple[str, ...]
    changed: tuple[str, ...]
    deleted: tuple[str, ...]
    shared: tuple[Flaw, ...] = ()


def import_batch(
    registry: Registry,
    file: Readable,
    party: Party,
    namespace: str | None = None,
    *,
    dry_run: bool = False,
    progress: Progress = unwatched,
) -> BatchReport:
    """Carry out the operations of a batch file, all or none, with the rights of the party.

    namespace  the only namespace whose handles are accepted, by name or base; by default all.
    Raises BatchRefused, with line and reason of each operation that cannot be carried out; ExchangeError (see
    `operations`); UnknownNamespace, NotPermitted, StoreUnavailable. Memory: the handles.
    """
    registry.core.only_acting(party)
    homes = [namespace for namespace in registry.namespaces() if namespace.valued]
    if namespace is not None:
        homes = [registry.namespace(namespace)]
    done: dict[str, list[str]] = {"CREATE": [], "MODIFY": [], "DELETE": []}
    shared: list[Flaw] = []
    with opened(file) as source:
        flaws = BatchFlaws(source.name)
        try:
            with registry.store.bulk(dry_run=dry_run) as bulk:
                target = Registry(bulk)
                for item in Meter(progress, "operations").over(parsed(source)):
                    flaws.add(
                        *(
                            [item]
                            if isinstance(item, Flaw)
                            else _carry_out(target, item, homes, party, done, shared)
                        )
                    )
                if flaws or not any(done.values()):
                    raise DryRunEnded  # noqa: TRY301 the bulk is discarded
        except DryRunEnded:
            pass
        flaws.check()
    created, changed, deleted = (tuple(dict.fromkeys(done[act])) for act in ("CREATE", "MODIFY", "DELETE"))
    return BatchReport(created, changed, deleted, tuple(shared))


def _carry_out(
    registry: Registry,
    operation: Operation,
    homes: Iterable[Namespace],
    party: Party,
    done: dict[str, list[str]],
    shared: list[Flaw],
) -> list[Flaw]:
    line, name = operation.line, operation.handle
    try:
        home, label = _home(f"hdl:{operation.handle}", homes)
        name = home.scheme.iri(label, home.context)  # an IRI cannot be confused with NAMESPACE:label
        match operation.act:
            case "CREATE":
                registry.register(home.base, name, party, Request(force=True))  # as it was issued
            case "DELETE":
                registry.release(name, party)
            case "REMOVE":
                registry.unset_values(name, operation.indexes, party)
        when = When.PRESENT if operation.act == "MODIFY" else When.ABSENT
        values = operation.values
        for part in (values[start : start + MOST_VALUES] for start in range(0, len(values), MOST_VALUES)):
            line = part[0][0]
            result = registry.set_values(name, [draft for _, draft in part], party, when)
            for line, draft in part[: result.number]:
                url = str(draft.data)
                others = registry.bound_to(url, party, ENOUGH) if draft.leads else ()
                others = [iri for iri in others if iri != result.handle]
                if others:
                    shared.append(Flaw(line, already_leading(url, others)))
            if result.refusal is not None:
                line = part[result.number][0]
                raise result.refusal
    except IdstoreError as error:
        return [Flaw(line, error.message.replace(name, operation.handle))]  # as the file writes it
    done.get(operation.act, done["MODIFY"]).append(operation.handle)
    return []


def _home(name: str, homes: Iterable[Namespace]) -> tuple[Namespace, str]:
    """Return the namespace of a handle, and its label.

    Raises InvalidIdentifier, InvalidData (no namespace has its prefix).
    """
    refused: InvalidIdentifier | None = None
    for home in homes:
        try:
            return home, home.scheme.label(name, home.context)
        except InvalidIdentifier as error:
            refused = error if error.position or refused is None else refused
    if refused is not None and refused.position:
        raise refused
    prefix = name.removeprefix("hdl:").partition("/")[0]
    raise InvalidData(
        f"no namespace of this import has the prefix {prefix}; add one, or name another",
        prefix=prefix,
        remedy=Remedy.ADD_NAMESPACE,
    )

"""Minting for each article of a metadata file, and the report on each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from idstore.cli import arguments
from idstore.cli.call import Call
from idstore.errors import IdstoreError, InvalidData

if TYPE_CHECKING:
    from idstore.documents import Json
    from idstore.exchange.articles import ArticleEntry
    from idstore.model.names import Names
    from idstore.model.namespace import Namespace
    from idstore.model.party import Party
    from idstore.model.record import Record
    from idstore.registry import Registry
    from idstore.registry.requests import Request


_COMMANDS: Final = {"--name": "name", "--comment": "comment", "--target": "target"}
"""Option for a new identifier → command that sets the same on an existing one."""


_LISTED: Final = 20
"""Number of ignored keys that a warning lists."""


def with_location(entry: "ArticleEntry", error: IdstoreError) -> InvalidData:
    """Return the error with the file and line of the article that caused it."""
    if error.fields.get("file") == entry.file:
        assert isinstance(error, InvalidData)
        return error
    location = {"file": entry.file, "line": entry.line}
    return InvalidData(
        f"{entry.file}, line {entry.line}: {error.message}",
        remedy=error.remedy,
        **{**error.fields, **location},
    )


def collect_ignored_keys(
    entries: "Iterable[ArticleEntry]", ignored: dict[str, None]
) -> "Iterator[ArticleEntry]":
    """Yield the entries, and add the keys that they ignored to ``ignored``."""
    for entry in entries:
        ignored.update(dict.fromkeys(entry.passed))
        yield entry


def warn_ignored_keys(call: Call, ignored: Sequence[str]) -> None:
    """Warn of ignored keys, if there are any."""
    from idstore.schemes.article_fields import FIELDS

    if ignored:
        more = f" and {len(ignored) - _LISTED} more" if len(ignored) > _LISTED else ""
        call.output.warn(
            f"unknown keys, ignored: {', '.join(ignored[:_LISTED])}{more}; the keys are {', '.join(FIELDS)}"
        )


class ArticleMinter:
    """A run over one metadata file.

    base     the request whose name, comment and target apply to every identifier.
    options  metadata from the command line that apply to every article.
    single   whether the file has one article: its error ends the command.
    """

    def __init__(self, call: Call, base: "Request", options: Mapping[str, str], *, single: bool) -> None:
        self._call = call
        self._base = base
        self._options = options
        self._single = single
        self.minted = self.existing = self.refused = self._unkeyed = 0
        self._not_applied: dict[str, int] = {}
        self._parent: Mapping[str, str] = {}
        self._names: Names

    def run(
        self,
        registry: "Registry",
        party: "Party",
        base: str,
        entries: "Iterable[ArticleEntry]",
        parent: str | None,
    ) -> None:
        """Mint in a namespace, and print each identifier when it is durable.

        Raises the error that ends the run.
        """
        from idstore.cli.records import RecordView, new_record_json
        from idstore.model.names import Names

        self._names = Names(registry.namespaces())
        namespace = registry.namespace(base)
        self._parent = {} if parent is None else {"parent": registry.identify(parent, party)}
        arguments.warn_of_others(
            self._call, self._base.target, arguments.leading_to(registry, self._base.target, party)
        )
        read: list[ArticleEntry] = []
        results = registry.load(base, party, self._requests(entries, read))
        for result, entry in zip(results, _consume(read), strict=False):
            if result.record is None:
                assert result.error is not None
                self._refuse(entry, result.error)
                continue
            record, output = result.record, self._call.output
            has_comment = self._base.comment is not None
            if result.fresh:
                document = new_record_json(output, registry, party, record, remarks=has_comment)
            else:
                remarks = registry.remarks(record.iri, party) if has_comment or output.json else ()
                self._note_not_applied(record, [remark.text for remark in remarks])
                document = RecordView(record, namespace, remarks).json() if output.json else {}
            self._print(record, namespace, document, entry, fresh=result.fresh)

    def _requests(
        self, entries: "Iterable[ArticleEntry]", read: "list[ArticleEntry]"
    ) -> "Iterator[Request | InvalidData]":
        for entry in entries:
            read.append(entry)
            try:
                metadata = {**entry.fields(strict=self._base.strict), **self._options, **self._parent}
            except InvalidData as error:
                yield error
            else:
                yield replace(self._base, metadata=metadata)

    def _refuse(self, entry: "ArticleEntry", error: IdstoreError) -> None:
        self.refused += 1
        located = with_location(entry, error)
        if self._single:
            raise located if isinstance(error, InvalidData) else error
        code = located.code if isinstance(error, InvalidData) else error.code
        self._call.output.error(code, located.message, located.details())
        print()

    def _print(
        self,
        record: "Record",
        namespace: "Namespace",
        document: "Json",
        entry: "ArticleEntry",
        *,
        fresh: bool,
    ) -> None:
        """Print the identifier, after warnings on doubtful metadata that it was derived from."""
        from idstore.registry.requests import same_as
        from idstore.schemes import Deriving

        self.minted += fresh
        self.existing += not fresh
        scheme = namespace.scheme
        if fresh and isinstance(scheme, Deriving):
            metadata = {**entry.fields(), **self._options, **self._parent}
            self._unkeyed += not metadata.get("key") and same_as(namespace, metadata) is None
        if fresh and record.below is None and isinstance(scheme, Deriving):
            derived = scheme.derive(entry.fields(), namespace.context)
            for doubt in (*entry.doubts, *derived.doubts):
                self._call.output.warn(f"{record.iri}: {doubt}")
        self._call.output.new_identifier(record.iri, document)

    def _note_not_applied(self, record: "Record", remarks: Sequence[str]) -> None:
        """Count the options that do not apply to an existing identifier and differ from its values."""
        base = self._base
        present = {
            "--name": base.name is None or (base.lang.lower(), base.name) in record.names,
            "--comment": base.comment is None or base.comment in remarks,
            "--target": base.target is None
            or (record.target is not None and self._names.same(record.target, base.target)),
        }
        for option in (option for option, is_present in present.items() if not is_present):
            self._not_applied[option] = self._not_applied.get(option, 0) + 1

    def print_summary(self) -> None:
        """Print the numbers of articles by outcome, and a warning on options that were not applied.

        For a single article the summary says only that its identifier existed already.
        """
        if self._not_applied:
            options = ", ".join(
                option if self._single else f"{option} ({count} times)"
                for option, count in self._not_applied.items()
            )
            commands = " or ".join(f"`idstore {_COMMANDS[option]}`" for option in self._not_applied)
            self._call.output.warn(
                "not applied, because existing identifiers stay as they are: "
                f"{options}; set it with {commands}"
            )
        if self._single and self.existing:
            self._call.output.info("idstore: known by its DOI or key; nothing was minted")
        elif not self._single:
            without = "no field key" if self._parent else "no DOI and no field key"
            again = f"; {self._unkeyed} have {without}: a second run mints them again"
            self._call.output.info(
                f"idstore: {self.minted} minted, {self.existing} known by their DOI or key, "
                f"{self.refused} refused; what is minted is kept{again if self._unkeyed else ''}"
            )


def _consume(read: "list[ArticleEntry]") -> "Iterator[ArticleEntry]":
    """Yield the entries in the order in which they were read, and remove each from the list."""
    while True:
        yield read.pop(0)

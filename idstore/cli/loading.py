"""Minting for each article of a file, and telling what became of each."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from idstore.cli.options import Call
from idstore.errors import IdstoreError, InvalidData

if TYPE_CHECKING:
    from idstore.exchange.articles import Entry
    from idstore.model.namespace import Namespace
    from idstore.model.party import Party
    from idstore.model.record import Record
    from idstore.registry import Registry
    from idstore.registry.allocation import Allocating
    from idstore.registry.requests import Request


def placed(entry: "Entry", error: IdstoreError) -> InvalidData:
    """The error with the place of the article that it is about."""
    if error.fields.get("file") == entry.file:
        assert isinstance(error, InvalidData)
        return error
    place = {"file": entry.file, "line": entry.line}
    return InvalidData(f"{entry.file}, line {entry.line}: {error.message}", **{**error.fields, **place})


class Loading:
    """One run over a file.

    base     what is said of every identifier, beside the metadata.
    options  metadata that the command line gives for all.
    single   whether there is one article alone: what is wrong with it ends the command.
    """

    def __init__(self, call: Call, base: "Request", options: Mapping[str, str], *, single: bool) -> None:
        self._call = call
        self._base = base
        self._options = options
        self._single = single
        self.minted = self.known = self.refused = 0

    def run(self, registry: "Registry", party: "Party", where: str, entries: "Iterable[Entry]", parent: str | None) -> None:
        """Mint, and print what is durable. Raises what ends the run."""
        namespace = registry.namespace(where)
        below = {} if parent is None else {"parent": registry.identify(parent, party)}
        bound = [] if self._base.target is None else registry.bound_to(self._base.target, party)
        if bound:
            self._call.output.warn(f"{self._base.target} is identified already by {', '.join(bound)}")
        read: list[Entry] = []
        for one, entry in zip(registry.load(where, party, self._requests(entries, read, below)), _kept(read), strict=False):
            if one.record is None:
                assert one.error is not None
                self._refuse(entry, one.error)
                continue
            self.minted += one.fresh
            self.known += not one.fresh
            self._print(one.record, namespace, entry, fresh=one.fresh)

    def one(self, registry: "Allocating", party: "Party", where: str, entry: "Entry") -> None:
        """Mint for an article alone, and print it. Raises what is wrong with it."""
        [request] = self._requests([entry], [], {})
        if isinstance(request, InvalidData):
            raise request
        try:
            record = registry.mint(where, party, request)
        except InvalidData as error:
            raise placed(entry, error) from error
        self._print(record, registry.home(record), entry, fresh=True)

    def _requests(self, entries: "Iterable[Entry]", read: "list[Entry]", below: Mapping[str, str]) -> "Iterator[Request | InvalidData]":
        for entry in entries:
            read.append(entry)
            try:
                said = {**entry.fields(), **self._options, **below}
            except InvalidData as error:
                yield error
            else:
                key = said.pop("key", None)
                yield replace(self._base, metadata=said, request_key=self._base.request_key or key)

    def _refuse(self, entry: "Entry", error: IdstoreError) -> None:
        self.refused += 1
        told = placed(entry, error)
        if self._single:
            raise told if isinstance(error, InvalidData) else error
        self._call.output.failure(told.code if isinstance(error, InvalidData) else error.code, told.message, told.fields)
        print()

    def _print(self, record: "Record", namespace: "Namespace", entry: "Entry", *, fresh: bool) -> None:
        """The identifier, and what of the metadata that it was derived from somebody should look at."""
        from idstore.cli.records import Described
        from idstore.schemes import Deriving

        scheme = namespace.scheme
        if fresh and record.below is None and isinstance(scheme, Deriving):
            for doubt in scheme.derive(entry.fields(), namespace.context).doubts:
                self._call.output.warn(f"{record.iri.value}: {doubt}")
        self._call.output.data(record.iri.value, Described(record, namespace).json() if self._call.output.json else {})

    def sum_up(self) -> None:
        """Say what was done of several articles."""
        if not self._single:
            self._call.output.say(
                f"idstore: {self.minted} minted, {self.known} known by their DOI or key, {self.refused} refused; what is minted is kept"
            )


def _kept(read: "list[Entry]") -> "Iterator[Entry]":
    """The entries in the order in which they were read, each given up when it was asked for."""
    while True:
        yield read.pop(0)

"""Minting for each article of a file, and telling what became of each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from idstore.cli.call import Call
from idstore.errors import IdstoreError, InvalidData

if TYPE_CHECKING:
    from idstore.cli.records import Described
    from idstore.exchange.articles import Entry
    from idstore.model.party import Party
    from idstore.model.record import Record
    from idstore.registry import Registry
    from idstore.registry.allocation import Allocating
    from idstore.registry.requests import Request


_SET_BY: Final = {"--name": "name", "--comment": "comment", "--target": "target"}
"""What sets it of an identifier that there is already, by the option that sets it of a new one."""


_TOLD: Final = 20
"""How many of the keys that were passed over are named."""


def placed(entry: "Entry", error: IdstoreError) -> InvalidData:
    """The error with the place of the article that it is about."""
    if error.fields.get("file") == entry.file:
        assert isinstance(error, InvalidData)
        return error
    place = {"file": entry.file, "line": entry.line}
    return InvalidData(f"{entry.file}, line {entry.line}: {error.message}", **{**error.fields, **place})


def noting(entries: "Iterable[Entry]", passed: dict[str, None]) -> "Iterator[Entry]":
    """The entries; ``passed`` takes the keys that were passed over."""
    for entry in entries:
        passed.update(dict.fromkeys(entry.passed))
        yield entry


def tell_passed(call: Call, passed: Sequence[str]) -> None:
    """Warn of keys that were passed over, if there are any."""
    from idstore.exchange.articles import FIELDS

    if passed:
        more = f" and {len(passed) - _TOLD} more" if len(passed) > _TOLD else ""
        call.output.warn(f"not known, and passed over: {', '.join(passed[:_TOLD])}{more}; the keys are {', '.join(FIELDS)}")


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
        self._passed_over: dict[str, int] = {}

    def run(self, registry: "Registry", party: "Party", where: str, entries: "Iterable[Entry]", parent: str | None) -> None:
        """Mint, and print what is durable. Raises what ends the run."""
        from idstore.cli.records import Described

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
            remarks = registry.remarks(one.record.iri.value, party) if self._looks(fresh=one.fresh) else ()
            if not one.fresh:
                self._pass_over(one.record, [remark.text for remark in remarks])
            self._print(Described(one.record, namespace, remarks), entry, fresh=one.fresh)

    def one(self, registry: "Allocating", party: "Party", where: str, entry: "Entry") -> None:
        """Mint for an article alone, without a comment, and print it for people. Raises what is wrong with it."""
        from idstore.cli.records import Described

        [request] = self._requests([entry], [], {})
        if isinstance(request, InvalidData):
            raise request
        try:
            record, fresh = registry.mint_once(where, party, request)
        except InvalidData as error:
            raise placed(entry, error) from error
        if not fresh:
            self._pass_over(record, [])
        self._print(Described(record, registry.home(record)), entry, fresh=fresh)

    def _looks(self, *, fresh: bool) -> bool:
        """Whether comments are looked for: what is new and was given none has none."""
        return self._base.comment is not None or (self._call.output.json and not fresh)

    def _requests(self, entries: "Iterable[Entry]", read: "list[Entry]", below: Mapping[str, str]) -> "Iterator[Request | InvalidData]":
        for entry in entries:
            read.append(entry)
            try:
                said = {**entry.fields(), **self._options, **below}
            except InvalidData as error:
                yield error
            else:
                key = said.pop("key", None)
                yield replace(self._base, metadata=said, request_key=key if self._base.request_key is None else self._base.request_key)

    def _refuse(self, entry: "Entry", error: IdstoreError) -> None:
        self.refused += 1
        told = placed(entry, error)
        if self._single:
            raise told if isinstance(error, InvalidData) else error
        self._call.output.failure(told.code if isinstance(error, InvalidData) else error.code, told.message, told.fields)
        print()

    def _print(self, made: "Described", entry: "Entry", *, fresh: bool) -> None:
        """The identifier, and what of the metadata that it was derived from somebody should look at."""
        from idstore.schemes import Deriving

        self.minted += fresh
        self.known += not fresh
        scheme = made.namespace.scheme
        if fresh and made.record.below is None and isinstance(scheme, Deriving):
            for doubt in scheme.derive(entry.fields(), made.namespace.context).doubts:
                self._call.output.warn(f"{made.iri}: {doubt}")
        self._call.output.made(made.iri, made.json() if self._call.output.json else {})

    def _pass_over(self, record: "Record", remarks: Sequence[str]) -> None:
        """Take note of the options that a known identifier does not get: it stays as it is, unless it is that already."""
        base = self._base
        had = {
            "--name": base.name is None or (base.lang.lower(), base.name) in record.names,
            "--comment": base.comment is None or base.comment in remarks,
            "--target": base.target is None or (record.target is not None and record.target.value == base.target),
        }
        for option in (option for option, there in had.items() if not there):
            self._passed_over[option] = self._passed_over.get(option, 0) + 1

    def sum_up(self) -> None:
        """Say what was done of several articles, of one alone only that it was known; and what of the options was not done."""
        if self._passed_over:
            said = ", ".join(option if self._single else f"{option} ({many} times)" for option, many in self._passed_over.items())
            commands = " or ".join(f"`idstore {_SET_BY[option]}`" for option in self._passed_over)
            self._call.output.warn(f"not applied, for what is known stays as it is: {said}; set it with {commands}")
        if self._single and self.known:
            self._call.output.say("idstore: known by its DOI or key; nothing was minted")
        elif not self._single:
            self._call.output.say(
                f"idstore: {self.minted} minted, {self.known} known by their DOI or key, {self.refused} refused; what is minted is kept"
            )


def _kept(read: "list[Entry]") -> "Iterator[Entry]":
    """The entries in the order in which they were read, each given up when it was asked for."""
    while True:
        yield read.pop(0)

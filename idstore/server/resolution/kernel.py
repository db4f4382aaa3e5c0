"""A record as plain text: an electronic resource citation (ERC), in lines of ANVL.

The form that resolvers of ARKs answer to ``?info`` with: who, what, when and where of the thing, and then, as
``erc-support``, the same of the promise that its identifier persists.
Sources: Kunze and Turner, Kernel Metadata and Electronic Resource Citations, draft-kunze-erc; The ARK
Identifier Scheme, draft-kunze-ark, section "Inflections"; A Name-Value Language, draft-kunze-anvl.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from idstore.characters import BIDI, CONTROLS, LINE_ENDS
from idstore.model import times
from idstore.model.namespace import Namespace
from idstore.model.record import Record, Stage

_UNAVAILABLE: Final = "(:unav) not recorded here"
_ENCODED: Final = re.compile(f"[%{CONTROLS}{LINE_ENDS}{BIDI}]")
PROMISES: Final = {
    Stage.CREATED: "a draft: it may still be released, and only those who may see it (grant list) do",
    Stage.FIXATED: "permanent: it is never released and never given to another thing",
    Stage.TOMBSTONE: "withdrawn: it stays taken, and resolves to the reason",
}
"""What a stage means to readers."""


def erc(record: Record, namespace: Namespace) -> str:
    """Return the record as text."""
    return "".join(f"{line}\n" for line in _lines(record, namespace))


def _lines(record: Record, namespace: Namespace) -> Iterator[str]:
    said = dict(namespace.particulars)
    names = "; ".join(text for _, text in record.names)
    yield "erc:"
    yield _line("who", said.get("publisher", _UNAVAILABLE))
    yield _line("what", names or _UNAVAILABLE)
    yield _line("when", _day(record.created))
    yield _line("where", record.iri)
    if record.target is not None:
        yield _line("location", record.target)
    if record.version is not None:
        yield _line("version", record.version)
    yield "erc-support:"
    yield _line("who", record.owner)
    yield _line("what", PROMISES[record.stage])
    yield _line("when", _day(record.created if record.fixated is None else record.fixated))
    yield _line("where", said.get("policy", namespace.base))
    yield _line("stage", record.stage.value)
    if record.provisional:
        yield _line("quality", "provisional")
    if record.deprecated:
        yield _line("deprecated", "yes")
    if record.reason is not None:
        yield _line("reason", record.reason)
    for successor in record.successors:
        yield _line("successor", successor)


def _line(name: str, value: str) -> str:
    """Return a line; characters that would end or turn it are percent-encoded."""
    encoded = _ENCODED.sub(lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode()), value)
    return f"{name}: {encoded}"


def _day(moment: datetime) -> str:
    return times.iso(moment)[:10].replace("-", "")

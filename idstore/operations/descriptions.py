"""What the docstrings say of operations, their parameters and their results, in the words of the HTTP API."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, is_typeddict

from idstore.errors import UnknownNamespace
from idstore.model.party import Party
from idstore.operations.operation import LONGEST_PAGE, ApiOperation, Parameter
from idstore.operations.wire import DOCUMENTS, camel, hints, optional

_ENTRY: Final = re.compile(r"(?P<names>\w+(?:, \w+)*) {2,}(?P<text>\S.*)")
"""A line of a docstring that begins the text on one or several names."""
_WORDS: Final = (
    (re.compile(r"``"), "`"),
    (re.compile(r"\bNone\b"), "null"),
    (re.compile(r"^of (?:a list only|the log only|lists and exports): "), ""),
)
"""Words of Python, and those of the API."""
_USUAL: Final[Mapping[str, str]] = {
    "about": "the identifier, namespace, party or registry.",
    "acting": "whether a suspended administrator is refused too.",
    "acts": "the operations that may change something with it; empty: all.",
    "at": "the moment.",
    "bind": "whether the grantee may also bind.",
    "by": "name of the party.",
    "comment": "a comment, visible to the grant list, and to everyone once the identifier is fixated.",
    "created": "moment of creation.",
    "delivery": "your own key: the same key in the same storage always gives the same directory.",
    "directoryLimit": "bytes of a directory at most.",
    "dryRun": "whether to change nothing, and only say what would change.",
    "expires": "moment from which it is refused; null: never.",
    "fileSystem": "number of the file system.",
    "fileSystemLimit": "bytes of a file system at most.",
    "frozen": "`true` stops the allocation, `false` resumes it.",
    "grantee": "name of a party or group.",
    "group": "name of the group.",
    "id": "the identifier: its IRI, `NAMESPACE:label`, or another written form.",
    "ids": "identifiers, each in any written form.",
    "indexes": "only the values of these indexes.",
    "internal": "whether only the grant list and administrators see it, also after fixation.",
    "iri": "IRI of the identifier.",
    "label": "the identifier within its namespace.",
    "lang": "language of the name, such as `en`; `und`: none.",
    "line": "number of the line.",
    "limit": f"how many items at most; an answer has no more than {LONGEST_PAGE}.",
    "metadata": "what the label derives from, in schemes whose labels do.",
    "moment": "the moment.",
    "most": "how many items at most.",
    "name": "the name.",
    "namespace": "name or base of the namespace.",
    "namespaces": "names or bases of the namespaces that it may change; empty: all.",
    "note": "a note.",
    "of": "name of the party.",
    "owner": "name of the party that owns it.",
    "parties": "names of parties and groups.",
    "party": "name of the party.",
    "path": "the directory in which the file systems are mounted.",
    "present": "directories that exist already, as `ejournals3/wiley6`, with the bytes in each.",
    "publisher": "name of the publisher.",
    "reason": "the reason, for people; it stands in the log.",
    "receiver": "name of the party.",
    "remark": "the comment.",
    "rows": "the rows of the table, each with its line.",
    "scheme": "name of the scheme.",
    "since": "the moment at which the period begins.",
    "size": "bytes.",
    "stage": "`created`, `fixated` or `tombstone`.",
    "successors": "identifiers that replace it, each in any written form.",
    "target": "a URI, in full, as `PREFIX:NAME`, or an identifier of this registry.",
    "text": "the text.",
    "timeout": "seconds.",
    "types": "only the values of these types.",
    "until": "the moment at which the period ends.",
    "uri": "the target: a URI; null removes it.",
    "work": "the identifier of the work, in any written form.",
}
"""Name → what it mostly stands for, where a docstring does not say it."""


def summary(of: Callable[..., Any]) -> str:
    """Return what a function does, in a sentence or two."""
    first = (inspect.getdoc(of) or "").split("\n")[0].partition(": see ")[0]
    return _worded(re.sub(r" Raises .*", "", first).rstrip(".") + ".")


def parameter_text(operation: ApiOperation, parameter: Parameter) -> str:
    """Return what a parameter stands for; empty if nothing is said."""
    of = operation.run
    for step in parameter.path[:-1]:
        of = hints(of)[step]
    usual = _USUAL.get(parameter.name, "")
    if optional(parameter.kind)[0] is Party:
        usual = _USUAL["party"]
    elif parameter.name == "name" and UnknownNamespace in operation.errors:
        usual = _USUAL["namespace"]
    text = entries(of).get(parameter.path[-1], usual)
    most = operation.most.get(parameter.name)
    return text if most is None else f"{text} At most {most}{_within(operation, parameter)}."


def _within(operation: ApiOperation, parameter: Parameter) -> str:
    """Return the limits of the lists within the items of a parameter, in words, and who is exempt."""
    within = [
        f"{most} `{name.rpartition('.')[2]}`"
        for name, most in operation.most.items()
        if name.startswith(f"{parameter.name}.")
    ]
    words = f", with {' and '.join(within)} in all of them" if within else ""
    return f"{words}, unless an administrator sends them"


def field_texts(kind: Any) -> Mapping[str, str]:
    """Return the keys of a result in JSON, each with what it stands for."""
    texts = entries(DOCUMENTS.get(kind, kind))
    names = hints(DOCUMENTS.get(kind, kind))
    return {camel(name): texts.get(name, _USUAL.get(name, "")) for name in names}


def result_text(kind: Any) -> str:
    """Return what a result is, in a sentence or two."""
    return _worded((inspect.getdoc(DOCUMENTS.get(kind, kind)) or "").partition("\n\n")[0].replace("\n", " "))


def has_fields(kind: Any) -> bool:
    """Return whether a result is an object with fields of its own."""
    return (
        isinstance(kind, type)
        and kind is not Party
        and (dataclasses.is_dataclass(kind) or is_typeddict(kind))
    )


@cache
def entries(of: Any) -> Mapping[str, str]:
    """Return the names that a docstring explains, each with its text."""
    entries = dict[str, str]()
    names: list[str] = []
    for line in (inspect.getdoc(of) or "").split("\n"):
        found = _ENTRY.fullmatch(line)
        if found:
            names = found["names"].split(", ")
            entries |= dict.fromkeys(names, found["text"])
        elif names and line.startswith("  "):
            entries |= {name: f"{entries[name]} {line.strip()}" for name in names}
        else:
            names = []
    return {name: _worded(text) for name, text in entries.items()}


def _worded(text: str) -> str:
    for python, words in _WORDS:
        text = python.sub(words, text)
    return text

"""The metadata of an SSSOM mapping set: prefixes, and values that all of its mappings share.

They are YAML, in lines that begin with ``#`` before the table, or in a file of their own.
Source: SSSOM 1.1, https://mapping-commons.github.io/sssom/spec-formats-tsv/ and ``spec-model``.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import yaml

from idstore.characters import ascii_lower
from idstore.errors import ExchangeError, InvalidData
from idstore.exchange import limits
from idstore.exchange.sources import PACKED, STDIN, Readable, opened
from idstore.model import terms
from idstore.vocabulary import MAPPING_PREFIXES

BUILT_IN: Final = {
    name: MAPPING_PREFIXES[name]
    for name in ("linkml", "owl", "rdf", "rdfs", "semapv", "skos", "sssom", "xsd")
}
"""Prefixes that have one meaning in every mapping set."""
PROPAGATED: Final = frozenset(
    {"cardinality_scope", "curation_rule", "curation_rule_text", "mapping_date", "mapping_provider"}
    | {"mapping_tool", "mapping_tool_id", "mapping_tool_version", "predicate_type", "similarity_measure"}
    | {f"{end}_match_field" for end in ("subject", "object")}
    | {f"{end}_preprocessing" for end in ("subject", "object")}
    | {f"{end}_source" for end in ("subject", "object")}
    | {f"{end}_source_version" for end in ("subject", "object")}
    | {f"{end}_type" for end in ("subject", "object")}
)
"""Slots whose value in the metadata is the value of every mapping, unless a mapping has one of its own."""
OF_MAPPINGS: Final = (
    "predicate_modifier",
    "predicate_id",
    "subject_id",
    "object_id",
    "mapping_justification",
    "author_id",
    "author_label",
)
"""Slots that mappings have, and no mapping set."""
PEOPLE: Final = ("creator_id", "reviewer_id")
"""Slots for people who are no authors. They are only checked: a binding has one maker, who acts here."""
LITERAL: Final = frozenset({"rdfs literal", MAPPING_PREFIXES["rdfs"] + "Literal"})
"""The type of an end that is a text without identifier, and the meaning of that type in the schema."""
_NEGATED: Final = frozenset({"not", MAPPING_PREFIXES["sssom"] + "NegatedPredicate"})
"""The one ``predicate_modifier``, in lower case, and its meaning in the schema."""
_ENDINGS: Final = (".sssom.yml", ".sssom.yaml")
"""Endings of the name of a metadata file beside its table."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a mapping set, as far as the mappings need them.

    prefixes  prefix → IRI.
    shared    slot → value of every mapping.
    people    values of the slots `PEOPLE`.
    """

    prefixes: Mapping[str, str] = field(default_factory=dict)
    shared: Mapping[str, str] = field(default_factory=dict)
    people: Sequence[str] = ()


class _Repeated(yaml.MarkedYAMLError):
    """A mapping in YAML has a key twice."""


class _Loader(yaml.BaseLoader):
    """A loader that makes texts only (``no`` is a valid prefix), and refuses a repeated key."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT002 as PyYAML has it
        keys: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in keys:
                raise _Repeated(problem=f"{key.value!r} is declared twice", problem_mark=key.start_mark)
            keys.add(str(key.value))
        return super().construct_mapping(node, deep)


def beside(table: Readable) -> str | None:
    """Return the metadata file beside a table (``x.sssom.yml`` for ``x.sssom.tsv``), if there is one."""
    if not isinstance(table, str | PathLike) or table == STDIN:
        return None
    path = Path(fspath(table))
    name = path.name.removesuffix(PACKED)
    stem = name.removesuffix(Path(name).suffix).removesuffix(".sssom")
    candidates = (path.with_name(stem + ending) for ending in _ENDINGS) if stem else ()
    return next((str(candidate) for candidate in candidates if candidate.is_file()), None)


def read(file: Readable) -> Metadata:
    """Read a metadata file. Raises ExchangeError."""
    with opened(file) as source:
        content = bytearray()
        for chunk in source.chunks():
            content += chunk
            if len(content) > limits.METADATA:
                raise source.error(None, f"the metadata have more than {limits.METADATA} bytes")
        return parse(content.decode("utf-8-sig").splitlines(), source.name)


def parse(lines: Sequence[str], name: str) -> Metadata:
    """Read the lines of a metadata block, the first line of the file ``name`` first. Raises ExchangeError."""
    try:
        metadata = yaml.load("\n".join(lines), _Loader)  # noqa: S506 the loader makes texts only
    except RecursionError as error:
        raise ExchangeError(name, None, "the metadata are nested too deeply") from error
    except _Repeated as error:
        raise ExchangeError(name, _line(error), f"{error.problem}; leave one declaration") from error
    except yaml.YAMLError as error:
        reason = getattr(error, "problem", None) or str(error).partition("\n")[0]
        raise ExchangeError(name, _line(error), f"the metadata are not YAML: {reason}") from error
    if not isinstance(metadata, dict):  # a remark, or nothing
        return Metadata()
    for slot in OF_MAPPINGS:
        if slot in metadata:
            reason = (
                f"{slot} is said of single mappings, and counts for none here; give it a column of the table"
            )
            raise ExchangeError(name, None, reason)
    return Metadata(
        _prefixes(metadata.get("curie_map") or {}, name),
        {slot: _value(slot, metadata[slot], name) for slot in sorted(PROPAGATED & metadata.keys())},
        [_value(slot, metadata[slot], name) for slot in PEOPLE if slot in metadata],
    )


def _line(error: yaml.YAMLError) -> int | None:
    mark = getattr(error, "problem_mark", None)
    return None if mark is None else mark.line + 1


def _prefixes(declared: object, name: str) -> dict[str, str]:
    """Check the ``curie_map``. Raises ExchangeError."""
    if not isinstance(declared, dict) or not all(isinstance(base, str) for base in declared.values()):
        raise ExchangeError(name, None, "the curie_map is no table of prefixes and IRIs")
    for prefix, base in declared.items():
        if BUILT_IN.get(prefix, base) != base:
            reason = f"the prefix {prefix} stands for {BUILT_IN[prefix]} in every mapping set"
            raise ExchangeError(name, None, f"{reason}, and not for {base}; choose another prefix")
        try:
            terms.iri(base + "0")  # a base may end where an IRI cannot
        except InvalidData as error:
            reason = f"the prefix {prefix} stands for {base!r}, which begins no IRI; write the whole one"
            raise ExchangeError(name, None, reason) from error
    return {str(prefix): base for prefix, base in declared.items()}


def _value(slot: str, value: object, name: str) -> str:
    """Return the text of a slot, several values joined. Raises ExchangeError."""
    values = value if isinstance(value, list) else [value]
    texts = [part for part in values if isinstance(part, str)]
    if texts != values:
        raise ExchangeError(name, None, f"the value of {slot} in the metadata is no text; write one")
    return "|".join(texts)


def negates(modifier: str) -> bool:
    """Return whether a ``predicate_modifier``, whose prefix is expanded, denies the mapping.

    Raises InvalidData: SSSOM does not define the modifier.
    """
    if modifier and _NEGATED.isdisjoint((modifier, ascii_lower(modifier))):
        raise InvalidData(
            f"{modifier!r} is no predicate_modifier; write Not, or leave it empty",
            field="predicate_modifier",
            text=modifier,
        )
    return bool(modifier)

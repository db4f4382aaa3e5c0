"""Reading a settings file: tables of TOML become frozen dataclasses, whose fields are the keys."""

import os
import stat
import tomllib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, TypeVar, get_args, get_type_hints

from idstore.errors import InvalidData

T = TypeVar("T")

_LARGEST: Final = 1 << 20
"""Bytes of a file of settings, or of a secret."""
_SHORTEST_SECRET: Final = 32
"""Characters of a secret that the operator makes up, and no other system."""
_BY_OTHERS: Final = stat.S_IWOTH
_SECRET_OF_ROOT: Final = stat.S_IRWXO | stat.S_IWGRP | stat.S_IXGRP
_SECRET: Final = stat.S_IRWXO | stat.S_IRWXG


@dataclass(frozen=True, slots=True)
class Secret:
    """A text that stands in a file of its own, and in no message."""

    value: str = field(repr=False)

    def check_length(self, key: str) -> None:
        """Raise InvalidData for a secret that is short enough to guess; ``key`` names its file."""
        if len(self.value) < _SHORTEST_SECRET:
            raise InvalidData(
                f"{key}: the secret is shorter than {_SHORTEST_SECRET} characters; make one with"
                " openssl rand -hex 32",
                field=key,
            )


def read_tables(path: Path, kind: type[T]) -> T:
    """Return the settings in a file: ``kind`` has a field for each table, None where a table may be missing.

    A key of the kind `Secret` names a file: ``password`` is in the file that ``password_file`` names. Files
    are relative to the folder of the settings.
    Raises InvalidData, with file, table, key and remedy.
    """
    try:
        document = tomllib.loads(_content(path, _BY_OTHERS, f"others can write it; chmod o-w {path}"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidData(f"{path}: not TOML: {error}; correct it", file=str(path)) from error
    known = {one.name: _plain_type(hint) for one, hint in _hints(kind)}
    _check_keys(document, known, f"{path}", "table")
    return kind(**{name: _table(path, name, known[name], content) for name, content in document.items()})


def _table(path: Path, name: str, kind: type[T], content: object) -> T:
    place = f"{path}, [{name}]"
    if not isinstance(content, dict):
        raise InvalidData(f"{place}: a value instead of a table; write [{name}]", file=str(path), key=name)
    hints = {_key(one, hint): (one, hint) for one, hint in _hints(kind)}
    if secrets := {key.removesuffix("_file"): key for key in hints if key.endswith("_file")} & content.keys():
        secret = min(secrets)
        raise InvalidData(
            f"{place} {secret}: a secret does not stand in this file; write it to a file of its own, which"
            f" only the server's account can read, and name that: {secret}_file",
            file=str(path),
            key=secret,
        )
    _check_keys(content, hints, place, "key")
    missing = [key for key, (one, _) in hints.items() if _is_required(one) and key not in content]
    if missing:
        raise InvalidData(f"{place}: {missing[0]} is missing; add it", file=str(path), key=missing[0])
    values = {
        hints[key][0].name: _value(path, f"{place} {key}", hints[key][1], value)
        for key, value in content.items()
    }
    try:
        return kind(**values)
    except InvalidData as error:
        raise InvalidData(
            f"{place} {error.message}", remedy=error.remedy, **{**error.fields, "file": str(path)}
        ) from error


def _value(path: Path, place: str, hint: object, value: object) -> object:
    """Return the value of a key, of the type that its field has."""
    kind = _plain_type(hint)
    if kind is Secret:
        return _secret(path.parent / _of_type(place, str, value), place)
    if kind is Path:
        return path.parent / _of_type(place, str, value)
    if kind is float and type(value) is int:
        return float(value)
    return _of_type(place, kind, value)


def _of_type(place: str, kind: Any, value: object) -> Any:
    """Return a value of TOML. Raises InvalidData: it has another type."""
    name, reads = _TYPES[kind]
    read = reads(value)
    if read is None:
        raise InvalidData(f"{place}: {value!r} is not {name}; write one", key=place)
    return read


def _texts(value: object) -> tuple[str, ...] | None:
    return tuple(value) if isinstance(value, list) and all(type(one) is str for one in value) else None


def _pairs(value: object) -> Mapping[str, str] | None:
    fits = isinstance(value, dict) and all(type(one) is str for one in value.values())
    return types.MappingProxyType(dict(value)) if fits and isinstance(value, dict) else None


def _exactly(kind: type[Any]) -> Callable[[object], Any]:
    return lambda value: value if type(value) is kind else None


_TYPES: Final[Mapping[object, tuple[str, Callable[[object], Any]]]] = {
    str: ('a text in "…"', _exactly(str)),
    int: ("a whole number", _exactly(int)),
    float: ("a number", _exactly(float)),
    bool: ("true or false", _exactly(bool)),
    tuple[str, ...]: ('a list of texts: ["…", "…"]', _texts),
    Mapping[str, str]: ('a table of texts: { name = "…" }', _pairs),
}
"""Type of a field → its name in messages, and a function that returns None for values of other types."""


def _secret(path: Path, place: str) -> Secret:
    """Return the only line of a file that no other account can read. Raises InvalidData."""
    text = _content(path, None, f"other accounts can read it; chmod 600 {path}", f"{place}: ")
    value = text.removesuffix("\n").removesuffix("\r")
    if not value or any(character in value for character in "\n\r\0"):
        raise InvalidData(f"{place}: {path} has not exactly one line; write the secret alone", file=str(path))
    return Secret(value)


def _content(path: Path, forbidden: int | None, remedy: str, place: str = "") -> str:
    """Return the text of a file.

    forbidden  permissions that it may not give; None: those that a secret may not give. As for the keys of
               other servers, the group may read a file that belongs to root.
    Raises InvalidData.
    """
    try:
        with path.open("rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise InvalidData(f"{place}{path} is no file; name a file", file=str(path))
            if forbidden is None:
                forbidden = _SECRET_OF_ROOT if status.st_uid == 0 != os.geteuid() else _SECRET
            if status.st_mode & forbidden:
                raise InvalidData(f"{place}{path}: {remedy}", file=str(path))
            content = stream.read(_LARGEST + 1)
    except OSError as error:
        raise InvalidData(
            f"{place}{path}: {error.strerror}; name a file that this account can read", file=str(path)
        ) from error
    if len(content) > _LARGEST:
        raise InvalidData(f"{place}{path}: longer than {_LARGEST} bytes; name another file", file=str(path))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InvalidData(
            f"{place}{path}: not UTF-8 (byte {error.start + 1}); save it as UTF-8", file=str(path)
        ) from error


def _hints(kind: type[Any]) -> list[tuple[Field[Any], object]]:
    hints = get_type_hints(kind)
    return [(one, hints[one.name]) for one in fields(kind)]


def _key(one: Field[Any], hint: object) -> str:
    return f"{one.name}_file" if _plain_type(hint) is Secret else one.name


def _plain_type(hint: object) -> Any:
    """Return a type without ``None``."""
    if isinstance(hint, types.UnionType):
        return next(one for one in get_args(hint) if one is not types.NoneType)
    return hint


def _is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _check_keys(content: Iterable[str], known: Iterable[str], place: str, word: str) -> None:
    """Raise InvalidData for a key that does not exist."""
    names = sorted(known)
    for key in content:
        if key not in names:
            close = get_close_matches(key, names, 1)
            remedy = f"did you mean {close[0]}?" if close else f"use one of {', '.join(names)}"
            raise InvalidData(f"{place}: no {word} {key!r} here; {remedy}", key=key)

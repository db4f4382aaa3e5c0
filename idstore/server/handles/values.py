"""Values of handles in the JSON of the Handle API."""

import base64
import binascii
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from idstore.characters import ascii_upper
from idstore.errors import InvalidData
from idstore.model import times
from idstore.model.value import Value
from idstore.registry.handle_records import check_number_of_values
from idstore.registry.handle_values import Draft
from idstore.schemes import value_types
from idstore.schemes.handle_values import RIGHTS, Admin, references
from idstore.server.handles.answers import Code, Refusal

_FIELDS: Final = ("index", "type", "data", "ttl", "permissions", "timestamp", "references")
_AROUND: Final = ("handle", "values", "responseCode", "message")


def value_json(value: Value) -> dict[str, Any]:
    """Return a value as the API writes it."""
    written: dict[str, Any] = {
        "index": value.index,
        "type": value.type,
        "data": _data_json(value),
        "ttl": value.ttl if value.until is None else _moment(value.until),
        "timestamp": _moment(value.at),
    }
    if value.permissions != value_types.PERMISSIONS:
        written["permissions"] = value.permissions
    return written


def drafts(body: bytes, handle: str | None) -> list[Draft]:
    """Return the values in the body of a request: an array, one value, or an object with ``values``.

    handle  the handle that the body must be about, if it names one; None: any.
    Raises Refusal, with the number of the value that cannot be read; InvalidData: too many values.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refusal(
            Code.PROTOCOL_ERROR, f"the body is not JSON in UTF-8 ({_reason(error)}); send an array of values"
        ) from error
    if isinstance(content, dict) and ("values" in content or "index" not in content):
        content = _listed(content, handle)
    listed = [content] if isinstance(content, dict) else content
    if not isinstance(listed, list):
        raise Refusal(
            Code.PROTOCOL_ERROR,
            "the body is no value of a handle; send"
            ' {"values": [{"index": 1, "type": "URL", "data": "http://…"}]}',
        )
    if not listed:
        raise Refusal(Code.PROTOCOL_ERROR, "the body has no value; send one, or delete the handle")
    check_number_of_values(len(listed))
    found: dict[int | None, Draft] = {}
    for number, one in enumerate(listed, 1):
        try:
            draft = _draft(one)
        except InvalidData as error:
            raise Refusal(Code.INVALID_VALUE, f"value {number} of the body: {error.message}") from error
        if draft.index in found:
            raise Refusal(
                Code.VALUE_EXISTS,
                f"value {number} of the body: the index {draft.index} stands there twice; use another one",
            )
        found[draft.index] = draft
    return [*found.values()]


def _listed(content: Mapping[str, Any], handle: str | None) -> Any:
    """Return the values in an object that has them. Raises Refusal."""
    unknown = [name for name in content if name not in _AROUND]
    if unknown or "values" not in content:
        what = f"an unknown {unknown[0]!r}" if unknown else "no values"
        raise Refusal(Code.PROTOCOL_ERROR, f'the body has {what}; send {{"values": […]}}')
    named = content.get("handle")
    if (
        handle is not None
        and named is not None
        and not (isinstance(named, str) and ascii_upper(named) == ascii_upper(handle))
    ):
        raise Refusal(
            Code.PROTOCOL_ERROR, f"the body is about the handle {named!r}, and the address about {handle!r}"
        )
    return content["values"]


def _draft(one: Any) -> Draft:
    """Return a value to set. Raises InvalidData."""
    if not isinstance(one, dict):
        raise InvalidData(
            'it is not an object; write {"index": 1, "type": "URL", "data": "http://…"}', field="value"
        )
    for name in one:
        if name not in _FIELDS:
            raise InvalidData(f"there is no field {name!r}; there are {', '.join(_FIELDS)}", field=name)
    for name in ("index", "type", "data"):
        if name not in one:
            raise InvalidData(f"the field {name} is missing; add it", field=name)
    if one.get("references"):
        raise InvalidData(
            "references to other values are not kept here; omit the field references", field="references"
        )
    kind = one["type"]
    if not isinstance(kind, str):
        raise InvalidData(f"the type {kind!r} is not a text; write one, as URL", field="type", value=kind)
    ttl, until = _lifetime(one.get("ttl", value_types.TTL))
    permissions = one.get("permissions", value_types.PERMISSIONS)
    if not isinstance(permissions, str):
        raise InvalidData(
            f"the permissions {permissions!r} are not a text; write four digits, as 1110",
            field="permissions",
            value=permissions,
        )
    data = _data(kind, one["data"])
    index = _index(one["index"])
    return Draft(kind, data, index, ttl, until, value_types.permissions_of(permissions))


def _index(given: object, lowest: int = 1) -> int:
    """Return an index, given as a number or as text. Raises InvalidData."""
    return value_types.index_of("" if isinstance(given, bool) else str(given), lowest)


def _lifetime(given: object) -> tuple[int, datetime | None]:
    """Return a time to live, and the moment that stands in its place. Raises InvalidData."""
    if isinstance(given, str) and not given.isdigit():
        return value_types.TTL, times.parse(given)
    return value_types.ttl_of("" if isinstance(given, bool) else str(given)), None


def _data(kind: str, given: object) -> str | bytes:
    """Return the data of a value. Raises InvalidData."""
    if isinstance(given, str):
        return given
    if not isinstance(given, dict) or {*given} != {"format", "value"}:
        raise InvalidData(
            'the data is neither a text nor {"format": …, "value": …}; write one of them', field="data"
        )
    read = _READERS.get(given["format"]) if isinstance(given["format"], str) else None
    if read is None:
        raise InvalidData(
            f"the format {given['format']!r} of the data is not read here; there are"
            f" {', '.join(_READERS)}: send"
            " others as base64",
            field="format",
            value=given["format"],
        )
    wanted = _TYPES.get(given["format"])
    if wanted is not None and not value_types.is_type(wanted, kind):
        raise InvalidData(
            f"data of the format {given['format']} belong to the type {wanted}, not to {kind!r}",
            field="type",
            value=kind,
        )
    return read(given["value"])


def _string(given: object) -> str:
    if not isinstance(given, str):
        raise InvalidData(
            f"the value of the data is not a text, but {type(given).__name__}; write a text", field="value"
        )
    return given


def _base64(given: object) -> bytes:
    with suppress(binascii.Error, ValueError):
        return base64.b64decode(_string(given), validate=True)
    raise InvalidData("the value of the data is not base64; encode the bytes as RFC 4648 says", field="value")


def _hex(given: object) -> bytes:
    with suppress(binascii.Error, ValueError):
        return binascii.unhexlify(_string(given))
    raise InvalidData(
        "the value of the data is not hexadecimal; write two digits for each byte", field="value"
    )


def _admin(given: object) -> str:
    """Return an administrator in the form of the registry.

    Permissions may be ``*``, or shorter than twelve.
    """
    if not isinstance(given, dict) or not {"handle", "index"} <= {*given}:
        raise InvalidData(
            'an administrator is {"handle": "0.NA/12345", "index": 200, "permissions": "011111110011"}',
            field="data",
        )
    rights = _string(given.get("permissions", ""))
    digits = "1" * len(RIGHTS) if rights == "*" else rights.rjust(len(RIGHTS), "0")
    return str(Admin.parse(f"{_index(given['index'], 0)}:json={digits}:{_string(given['handle'])}"))


def _list(given: object) -> str:
    """Return a list of references in the form of the registry."""
    listed = []
    for one in given if isinstance(given, list) else [None]:
        if not isinstance(one, dict) or not {"handle", "index"} <= {*one} or ";" in _string(one["handle"]):
            raise InvalidData(
                'a list is [{"handle": "12345/alice", "index": 300}], no handle with ";"', field="data"
            )
        listed.append(f"{_index(one['index'], 0)}:{one['handle']}")
    return ";".join(map(str, references(";".join(listed))))


_READERS: Final[Mapping[str, Callable[[object], str | bytes]]] = {
    "string": _string,
    "base64": _base64,
    "hex": _hex,
    "admin": _admin,
    "vlist": _list,
}
_TYPES: Final[Mapping[str, str]] = {"admin": value_types.ADMIN, "vlist": value_types.LIST}
"""Formats of the data of one type."""


def _data_json(value: Value) -> dict[str, Any]:
    if isinstance(value.data, bytes):
        return {"format": "base64", "value": base64.b64encode(value.data).decode()}
    with suppress(InvalidData):  # only imported values can have data of another form
        if value.is_type(value_types.ADMIN):
            admin = Admin.parse(value.data)
            who = {"handle": admin.who.handle, "index": admin.who.index, "permissions": admin.json}
            return {"format": "admin", "value": who}
        if value.is_type(value_types.LIST):
            listed = [{"handle": one.handle, "index": one.index} for one in references(value.data)]
            return {"format": "vlist", "value": listed}
    return {"format": "string", "value": value.data}


def _moment(moment: datetime) -> str:
    """Return a time to the second, as the API writes it."""
    return f"{times.iso(moment)[:-5]}Z"


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)

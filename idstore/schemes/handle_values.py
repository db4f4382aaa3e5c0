"""Typed values of handles: data of the predefined types, and written forms of permissions.

Every value has an index, a type, data, a time to live and four permissions. Types are compared without ASCII
case; ``URL.`` matches the type and its subtypes. The twelve permissions of an administrator have four written
forms, which differ in their order:

>>> admin = Admin.parse("200:json=011111110011:0.NA/21.T1")
>>> admin.json, admin.batch, f"{admin.mask:04X}"
('011111110011', '110011111110', '07F3')
>>> admin == Admin.parse(str(admin)) == Admin.parse("200:batch=110011111110:0.NA/21.T1")
True
>>> admin == Admin.decoded(admin.encoded())
True

Sources: RFC 3651, sections 3.1 and 3.2.1; Handle.Net technical manual, version 9, chapters 4 (batch files)
and 14 (JSON). The manual and its software differ in the order of administrator permissions in a batch file;
this module follows the software.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.schemes import Address
from idstore.schemes._base import SchemeBase
from idstore.schemes._handles import (
    PROXY,
    address,
    ancestor_bases,
    check_characters,
    prefix_of,
    split_handle,
    unwrap,
)
from idstore.schemes._text import encode
from idstore.schemes.settings import choice
from idstore.schemes.value_types import (
    ADMIN,
    ALIAS,
    LIST,
    LOCATIONS,
    NAMESPACE,
    SECRET,
    URL,
    check_type,
    index_of,
    is_type,
)

RIGHTS: Final = (
    "add_handle",
    "delete_handle",
    "add_derived_prefix",
    "delete_derived_prefix",
    "modify_value",
    "remove_value",
    "add_value",
    "modify_admin",
    "remove_admin",
    "add_admin",
    "read_value",
    "list_handles",
)
"""The permissions of an administrator, from the lowest bit to the highest."""
_ALL: Final = (1 << len(RIGHTS)) - 1
AT_ONCE: Final = "at-once"
ON_FIXATE: Final = "on-fixate"


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to a value of a handle, such as ``300:0.NA/12345``; the index 0 matches every value."""

    index: int
    handle: str

    def __str__(self) -> str:
        return f"{self.index}:{self.handle}"

    @classmethod
    def parse(cls, text: str) -> "Reference":
        """Read ``INDEX:HANDLE``. Raises InvalidData."""
        index, colon, handle = text.partition(":")
        if not colon:
            raise InvalidData(
                f"{text!r} is not a reference to a value; write INDEX:HANDLE, as in 300:0.NA/12345", text=text
            )
        return cls(index_of(index.strip(), lowest=0), handle_in(handle.strip()))


@dataclass(frozen=True, slots=True)
class Admin:
    """An administrator of a handle with permissions: the data of an ``HS_ADMIN`` value.

    who   the value with the administrator's key, or the list of administrators.
    mask  the permissions, a bit for each of `RIGHTS`.
    """

    who: Reference
    mask: int

    @property
    def rights(self) -> tuple[str, ...]:
        """The names of the permissions, the lowest bit first."""
        return tuple(name for bit, name in enumerate(RIGHTS) if self.mask >> bit & 1)

    @property
    def json(self) -> str:
        """The permissions as twelve digits, the highest bit first, as in JSON."""
        return f"{self.mask:012b}"

    @property
    def batch(self) -> str:
        """The permissions as twelve digits, the lowest bit first, as in a batch file."""
        return self.json[::-1]

    def __str__(self) -> str:
        return f"{self.who.index}:{','.join(self.rights)}:{self.who.handle}"

    def encoded(self) -> bytes:
        """Return the binary form of the protocol."""
        import struct

        handle = self.who.handle.encode()
        return struct.pack(f">HI{len(handle)}sI", self.mask, len(handle), handle, self.who.index)

    @classmethod
    def decoded(cls, data: bytes) -> "Admin":
        """Read the binary form of the protocol, with or without the two extra bytes of old software.

        Raises InvalidData.
        """
        import struct

        try:
            mask, length = struct.unpack_from(">HI", data)
            handle, index = struct.unpack_from(f">{length}sI", data, 6)
            if len(data) - 10 - length in (0, 2):
                return cls(Reference(index_of(str(index), lowest=0), handle_in(handle.decode())), mask & _ALL)
        except (struct.error, UnicodeDecodeError, OverflowError):
            pass
        raise InvalidData(
            f"these {len(data)} bytes are not an HS_ADMIN value: permissions, length, handle and index",
            type=ADMIN,
        )

    @classmethod
    def parse(cls, text: str) -> "Admin":
        """Read ``INDEX:PERMISSIONS:HANDLE``.

        Permissions are names joined by commas, ``all``, ``json=DIGITS`` or ``batch=DIGITS``. Raises
        InvalidData.
        """
        index, _, rest = text.partition(":")
        rights, colon, handle = rest.partition(":")
        if not colon:
            remedy = "write INDEX:PERMISSIONS:HANDLE, as in 200:add_value,modify_value:0.NA/12345"
            raise InvalidData(f"{text!r} is not an administrator; {remedy}", text=text)
        return cls(Reference.parse(f"{index}:{handle}"), mask_of(rights.strip()))


def mask_of(text: str) -> int:
    """Return the bits of an administrator's permissions: see `Admin.parse`. Raises InvalidData."""
    kind, equals, digits = text.partition("=")
    if equals and kind in ("json", "batch"):
        if len(digits) != len(RIGHTS) or set(digits) - {"0", "1"}:
            raise InvalidData(
                f"{digits!r} must be {len(RIGHTS)} digits 0 or 1, one for each permission", text=text
            )
        return int(digits if kind == "json" else digits[::-1], 2)
    names = {name.strip() for name in text.split(",") if name.strip()}
    unknown = sorted(names - {*RIGHTS, "all"})
    if unknown:
        raise InvalidData(
            f"there is no administrator permission {unknown[0]!r}; there are {', '.join(RIGHTS)}, all",
            text=text,
        )
    return _ALL if "all" in names else sum(1 << bit for bit, name in enumerate(RIGHTS) if name in names)


def handle_in(text: str) -> str:
    """Return the handle in a written form; it may have any prefix. Raises InvalidData."""
    try:
        prefix, suffix = split_handle(unwrap(text, "handle")[0])
        check_characters(suffix, bmp_only=False)
    except InvalidIdentifier as error:
        raise InvalidData(error.message, text=text, position=error.position) from error
    return f"{prefix}/{suffix.text}"


def proxy(handle: str) -> str:
    """Return the address of a handle at the proxy server of the Handle System."""
    return f"{PROXY}{encode(handle)}"


def handle_of(base: str, label: str) -> str:
    """Return a handle without URI scheme or proxy.

    >>> handle_of("https://hdl.handle.net/12345/", "a b")
    '12345/a b'
    """
    return f"{prefix_of(base)}/{label}"


def references(text: str) -> tuple[Reference, ...]:
    """Return the references in the data of an ``HS_VLIST`` value, separated by ``;``. Raises InvalidData."""
    result = tuple(Reference.parse(part.strip()) for part in text.split(";") if part.strip())
    if not result:
        raise InvalidData("a list names at least one value; write INDEX:HANDLE;INDEX:HANDLE", text=text)
    return result


def stored(type: str, data: str | bytes) -> str | bytes:
    """Return the data of a value in stored form, which is canonical for the predefined types.

    Raises InvalidData if the data do not fit the type, or are a secret: the log keeps everything for ever.
    """
    check_type(type)
    if is_type(SECRET, type):
        raise InvalidData(
            "a registry must not hold a secret key, because its log is permanent; keep the key elsewhere",
            type=type,
        )
    if is_type(ADMIN, type):
        return str(Admin.decoded(data) if isinstance(data, bytes) else Admin.parse(data))
    for kind, read in _TEXTS.items():
        if is_type(kind, type):
            return read(_text(type, data))
    return data if isinstance(data, bytes) else _clean(data)


def _text(type: str, data: str | bytes) -> str:
    try:
        return _clean(data if isinstance(data, str) else data.decode())
    except UnicodeDecodeError as error:
        raise InvalidData(
            f"the data of a value of type {type} must be text in UTF-8, and these bytes are not", type=type
        ) from error


def _clean(text: str) -> str:
    invalid = next((place for place, c in enumerate(text) if c == "\0" or "\ud800" <= c <= "\udfff"), None)
    if invalid is not None:
        raise InvalidData(
            f"the data hold U+{ord(text[invalid]):04X} (position {invalid}), which a text cannot hold;"
            " give bytes in hexadecimal",
            position=invalid,
        )
    return text


def _locations(text: str) -> str:
    from idstore.schemes import locations

    locations.parse(text)
    return text


def _template(text: str) -> str:
    """Return the data of an ``HS_NAMESPACE`` value, which may say other things than a template."""
    if "<template" in text:
        from idstore.schemes import templates

        templates.parse(text)
    return text


def _references(text: str) -> str:
    return ";".join(map(str, references(text)))


_TEXTS: Final[Mapping[str, Callable[[str], str]]] = {
    ALIAS: handle_in,
    LIST: _references,
    LOCATIONS: _locations,
    NAMESPACE: _template,
    f"{URL}.": str,
}


def publish_setting(settings: Mapping[str, str]) -> str:
    """Return the setting ``publish``: when handles that the Handle API creates resolve for everyone.

    ``at-once``: their creation publishes them. ``on-fixate``: they are drafts of their owner until it fixates
    them.
    Raises InvalidData.
    """
    return choice(settings, "publish", AT_ONCE, ON_FIXATE)


def admin_setting(settings: Mapping[str, str]) -> str:
    """Return the setting ``admin``: who administers new handles at a handle server, as ``HS_ADMIN`` says it.

    ``INDEX:HANDLE`` has all permissions. Raises InvalidData.
    """
    index, _, rest = settings["admin"].strip().partition(":")
    if not index:
        return ""
    named = "/" in rest.partition(":")[0]  # no name of a permission has a slash
    return str(Admin.parse(f"{index}:all:{rest}" if named else f"{index}:{rest}"))


class Carrying(SchemeBase):
    """Base of schemes whose identifiers are handles with values.

    See `idstore.schemes.Addressed`, `idstore.schemes.Hierarchical`, `idstore.schemes.Valued`.
    """

    def address(self, text: str) -> Address | None:
        """See `Addressed`."""
        return address(text)

    def ancestors(self, base: str) -> tuple[str, ...]:
        """See `Hierarchical`."""
        return ancestor_bases(base)

    def typed(self, type: str, data: str | bytes) -> str | bytes:
        """See `Valued`."""
        return stored(type, data)

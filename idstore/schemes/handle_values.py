"""Typed values of handles: what the predefined types hold, and the ways in which permissions are written.

Every value has an index, a type, data, a time to live and four permissions. Types are compared without ASCII case; ``URL.`` asks for the
type and its subtypes. The twelve permissions of an administrator are written in four ways, which differ in their order:

>>> admin = Admin.parse("200:json=011111110011:0.NA/21.T1")
>>> admin.json, admin.batch, f"{admin.mask:04X}"
('011111110011', '110011111110', '07F3')
>>> Admin.parse(str(admin)) == Admin.parse("200:batch=110011111110:0.NA/21.T1") == Admin.decoded(admin.encoded()) == admin
True

Sources: RFC 3651, sections 3.1 and 3.2.1; Handle.Net technical manual, version 9, chapters 4 (batch files) and 14 (JSON). Where the
manual and the software that goes with it differ, in the order of a batch file's administrator permissions, the software holds.
"""

from collections.abc import Callable, Mapping
from typing import Final

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.frozen import dataclass
from idstore.schemes._base import SchemeBase
from idstore.schemes._handles import PROXY, check_characters, divided, unwrapped
from idstore.schemes._text import encode
from idstore.schemes.value_types import ADMIN, ALIAS, LIST, LOCATIONS, SECRET, URL, check_type, index_of, is_type

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
"""An administrator's permissions; the place of each is its bit, the lowest first."""
_ALL: Final = (1 << len(RIGHTS)) - 1


@dataclass(frozen=True, slots=True)
class Reference:
    """A value of a handle, ``300:0.NA/12345``; the index 0 stands for any."""

    index: int
    handle: str

    def __str__(self) -> str:
        return f"{self.index}:{self.handle}"

    @classmethod
    def parse(cls, text: str) -> "Reference":
        """Read ``INDEX:HANDLE``. Raises InvalidData."""
        index, colon, handle = text.partition(":")
        if not colon:
            raise InvalidData(f"{text!r} is no reference to a value; write INDEX:HANDLE, as in 300:0.NA/12345", text=text)
        return cls(index_of(index.strip(), lowest=0), handle_in(handle.strip()))


@dataclass(frozen=True, slots=True)
class Admin:
    """Who administers a handle, and what he may do: the data of an ``HS_ADMIN`` value.

    who   the value that holds his key, or the list of administrators.
    mask  his permissions, a bit for each of `RIGHTS`.
    """

    who: Reference
    mask: int

    @property
    def rights(self) -> tuple[str, ...]:
        """His permissions by name, the lowest bit first."""
        return tuple(name for bit, name in enumerate(RIGHTS) if self.mask >> bit & 1)

    @property
    def json(self) -> str:
        """Twelve digits as in JSON, the highest bit first."""
        return f"{self.mask:012b}"

    @property
    def batch(self) -> str:
        """Twelve digits as in a batch file, the lowest bit first."""
        return self.json[::-1]

    def __str__(self) -> str:
        return f"{self.who.index}:{','.join(self.rights)}:{self.who.handle}"

    def encoded(self) -> bytes:
        """As the protocol sends it."""
        import struct

        handle = self.who.handle.encode()
        return struct.pack(f">HI{len(handle)}sI", self.mask, len(handle), handle, self.who.index)

    @classmethod
    def decoded(cls, data: bytes) -> "Admin":
        """Read what the protocol sends, also with the two bytes that old software put behind it. Raises InvalidData."""
        import struct

        try:
            mask, length = struct.unpack_from(">HI", data)
            handle, index = struct.unpack_from(f">{length}sI", data, 6)
            if len(data) - 10 - length in (0, 2):
                return cls(Reference(index_of(str(index), lowest=0), handle_in(handle.decode())), mask & _ALL)
        except (struct.error, UnicodeDecodeError, OverflowError):
            pass
        raise InvalidData(f"these {len(data)} bytes are no HS_ADMIN value: permissions, length, handle and index", type=ADMIN)

    @classmethod
    def parse(cls, text: str) -> "Admin":
        """Read ``INDEX:PERMISSIONS:HANDLE``; the permissions are names joined by commas, ``all``, ``json=DIGITS`` or ``batch=DIGITS``.

        Raises InvalidData.
        """
        index, _, rest = text.partition(":")
        rights, colon, handle = rest.partition(":")
        if not colon:
            remedy = "write INDEX:PERMISSIONS:HANDLE, as in 200:add_value,modify_value:0.NA/12345"
            raise InvalidData(f"{text!r} is no administrator; {remedy}", text=text)
        return cls(Reference.parse(f"{index}:{handle}"), mask_of(rights.strip()))


def mask_of(text: str) -> int:
    """The bits of an administrator's permissions: see `Admin.parse`. Raises InvalidData."""
    kind, equals, digits = text.partition("=")
    if equals and kind in ("json", "batch"):
        if len(digits) != len(RIGHTS) or set(digits) - {"0", "1"}:
            raise InvalidData(f"{digits!r} must be {len(RIGHTS)} digits 0 or 1, one for each permission", text=text)
        return int(digits if kind == "json" else digits[::-1], 2)
    names = {name.strip() for name in text.split(",") if name.strip()}
    unknown = sorted(names - {*RIGHTS, "all"})
    if unknown:
        raise InvalidData(f"there is no administrator permission {unknown[0]!r}; there are {', '.join(RIGHTS)}, all", text=text)
    return _ALL if "all" in names else sum(1 << bit for bit, name in enumerate(RIGHTS) if name in names)


def handle_in(text: str) -> str:
    """The handle that a value names, without the form round it; any prefix may stand there. Raises InvalidData."""
    try:
        prefix, suffix = divided(unwrapped(text, "handle")[0])
        check_characters(suffix, bmp_only=False)
    except InvalidIdentifier as error:
        raise InvalidData(error.message, text=text, position=error.position) from error
    return f"{prefix}/{suffix.text}"


def proxy(handle: str) -> str:
    """The address of a handle, of any prefix, at the proxy server of the Handle System."""
    return f"{PROXY}{encode(handle)}"


def references(text: str) -> tuple[Reference, ...]:
    """The data of an ``HS_VLIST`` value: references, each followed by ``;``. Raises InvalidData."""
    found = tuple(Reference.parse(part.strip()) for part in text.split(";") if part.strip())
    if not found:
        raise InvalidData("a list names at least one value; write INDEX:HANDLE;INDEX:HANDLE", text=text)
    return found


def stored(type: str, data: str | bytes) -> str | bytes:
    """The data of a value in the form in which it is kept: text as text, what the predefined types hold in one way of writing.

    Raises InvalidData: not what the type holds, or a secret, which a registry keeps no more than a log that is for ever.
    """
    check_type(type)
    if is_type(SECRET, type):
        raise InvalidData("a secret key does not belong in a registry, whose log is for ever; keep it where it is used", type=type)
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
        raise InvalidData(f"the data of a value of type {type} are text, and these bytes are not UTF-8", type=type) from error


def _clean(text: str) -> str:
    bad = next((place for place, c in enumerate(text) if c == "\0" or "\ud800" <= c <= "\udfff"), None)
    if bad is not None:
        raise InvalidData(
            f"the data hold U+{ord(text[bad]):04X} (position {bad}), which no text can; give bytes in hexadecimal", position=bad
        )
    return text


def _locations(text: str) -> str:
    from idstore.schemes import locations

    locations.parse(text)
    return text


def _references(text: str) -> str:
    return ";".join(map(str, references(text)))


_TEXTS: Final[Mapping[str, Callable[[str], str]]] = {ALIAS: handle_in, LIST: _references, LOCATIONS: _locations, f"{URL}.": str}


class Carrying(SchemeBase):
    """Schemes whose identifiers are handles, and carry values: see `idstore.schemes.Valued`."""

    def typed(self, type: str, data: str | bytes) -> str | bytes:
        """See `Valued`."""
        return stored(type, data)

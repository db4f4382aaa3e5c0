"""Common parsing code of schemes: positions in the original text, percent-encoding, bases."""

import re
from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode

from idstore.errors import InvalidData, InvalidIdentifier

_INVISIBLE: Final = (
    "\u0000- \u007f-\u00a0\u00ad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
)
_OUTSIDE_IRI: Final = (
    "\ud800-\uf8ff\ufdd0-\ufdef\ufff0-\uffff\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0xF0000, 0x10000))
)
_ENCODED: Final = f"""[{_INVISIBLE}"#%<>?\\[\\\\\\]^`{{|}}{_OUTSIDE_IRI}]|(?<![^/])\\.{{1,2}}(?![^/])"""
_ESCAPES: Final = "(?:%[0-9A-Fa-f]{2})+"
_BROKEN: Final = "%(?![0-9A-Fa-f]{2})"


def encode(label: str) -> str:
    r"""Return a label as the last part of an IRI; `Excerpt.decoded` reverses it exactly.

    It percent-encodes ``% " # ? < > { } | \ ^ ` [ ]``, spaces, controls, invisible characters, characters
    that RFC 3987 excludes from a path, and the path segments ``.`` and ``..``, which resolution would remove.
    Letters of all scripts stay.

    >>> encode("10.1002/(SICI)1096-8644(199601)99:1<135::AID-AJPA8>3.0.CO;2-#")
    '10.1002/(SICI)1096-8644(199601)99:1%3C135::AID-AJPA8%3E3.0.CO;2-%23'
    """
    # nothing to encode; the expression takes a millisecond to compile
    if label.isascii() and label.isalnum():
        return label
    return re.sub(_ENCODED, lambda match: "".join(f"%{byte:02X}" for byte in match.group().encode()), label)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a written form that a scheme's grammar covers, with its position in the original text.

    whole    the original text.
    text     the part, percent-decoded if it was encoded.
    start    position of the part in the original text.
    scheme   name of the scheme that reads the text.
    encoded  whether the part is percent-encoded in the original text.
    """

    whole: str
    text: str
    start: int
    scheme: str
    encoded: bool = False

    @classmethod
    def decoded(cls, whole: str, start: int, scheme: str, end: int | None = None) -> "Excerpt":
        """Return ``whole[start:end]``, percent-decoded once.

        Raises InvalidIdentifier if it is not well-formed UTF-8.
        """
        raw = whole[start:end]
        if "%" not in raw:
            return cls(whole, raw, start, scheme)
        broken = re.search(_BROKEN, raw)
        if broken is not None:
            reason = (
                "'%' is not followed by two hexadecimal digits; in an address write %25 for a percent sign"
            )
            raise InvalidIdentifier(whole, reason, start + broken.start(), scheme)
        return cls(
            whole,
            re.sub(_ESCAPES, lambda run: _utf8(run, whole, start, scheme), raw),
            start,
            scheme,
            encoded=True,
        )

    def after(self, count: int) -> "Excerpt":
        """Return the part without its first ``count`` characters."""
        return Excerpt(self.whole, self.text[count:], self.position(count), self.scheme, self.encoded)

    def before(self, count: int) -> "Excerpt":
        """Return the first ``count`` characters of the part."""
        return Excerpt(self.whole, self.text[:count], self.start, self.scheme, self.encoded)

    def position(self, index: int) -> int:
        """Return the position in the original text of the part's character ``index``."""
        if not self.encoded:
            return self.start + index
        place = self.start
        for character in self.text[:index]:
            place += 3 * len(character.encode()) if self.whole[place] == "%" else 1
        return place

    def error(self, reason: str, index: int) -> InvalidIdentifier:
        """Return the error for the part's character ``index``."""
        return InvalidIdentifier(self.whole, reason, self.position(index), self.scheme)


def _utf8(run: re.Match[str], whole: str, start: int, scheme: str) -> str:
    try:
        return bytes.fromhex(run.group().replace("%", "")).decode()
    except UnicodeDecodeError as error:
        reason = "the percent-encoded bytes are not UTF-8"
        raise InvalidIdentifier(whole, reason, start + run.start() + 3 * error.start, scheme) from error


def check_base(base: str, endings: str, example: str) -> str:
    """Return a base that is an absolute IRI and ends in one of ``endings``. Raises InvalidData."""
    if not base.endswith(tuple(endings)):
        wanted = " or ".join(f"'{ending}'" for ending in endings)
        raise InvalidData(f"the base {base!r} must end in {wanted}, as in {example}", base=base)
    try:
        NamedNode(base)
    except ValueError as error:
        raise InvalidData(
            f"the base {base!r} is not an absolute IRI ({error}); write one as {example}", base=base
        ) from error
    return base

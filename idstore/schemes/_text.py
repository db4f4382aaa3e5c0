"""What scheme modules share when they read text: positions in what was written, percent-encoding, bases."""

import re
from typing import Final

from pyoxigraph import NamedNode

from idstore.errors import InvalidData, InvalidIdentifier
from idstore.frozen import dataclass

_INVISIBLE: Final = "\u0000- \u007f-\u00a0\u00ad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
_OUTSIDE_IRI: Final = "\ud800-\uf8ff\ufdd0-\ufdef\ufff0-\uffff\U000e0000-\U000e0fff\U000f0000-\U0010ffff" + "".join(
    f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0xF0000, 0x10000)
)
_ENCODED: Final = f"""[{_INVISIBLE}"#%<>?\\[\\\\\\]^`{{|}}{_OUTSIDE_IRI}]|(?<![^/])\\.{{1,2}}(?![^/])"""
_ESCAPES: Final = "(?:%[0-9A-Fa-f]{2})+"
_BROKEN: Final = "%(?![0-9A-Fa-f]{2})"
_UPPER: Final = {ord(letter): ord(letter) - 32 for letter in "abcdefghijklmnopqrstuvwxyz"}


def encode(label: str) -> str:
    r"""Write a label as the last part of an IRI; `Excerpt.decoded` gives exactly the label back.

    Percent-encoded are ``% " # ? < > { } | \ ^ ` [ ]``, spaces, controls, characters that cannot be seen or that RFC 3987 keeps out of a
    path, and the path steps ``.`` and ``..``, which would be folded away. Letters of any script stay.

    >>> encode("10.1002/(SICI)1096-8644(199601)99:1<135::AID-AJPA8>3.0.CO;2-#")
    '10.1002/(SICI)1096-8644(199601)99:1%3C135::AID-AJPA8%3E3.0.CO;2-%23'
    """
    if label.isascii() and label.isalnum():  # nothing to encode; the expression takes a millisecond to compile
        return label
    return re.sub(_ENCODED, lambda found: "".join(f"%{byte:02X}" for byte in found.group().encode()), label)


def ascii_upper(text: str) -> str:
    """Fold the letters a to z, and no others, to upper case.

    >>> ascii_upper("straße")
    'STRAßE'
    """
    return text.translate(_UPPER)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The part of a written form that a scheme's grammar speaks of; it knows where in the whole it stands.

    whole    what was given.
    text     the part, percent-decoded if it was encoded.
    start    where in the whole the part begins.
    scheme   name of the scheme that reads it.
    encoded  whether the part is percent-encoded in the whole.
    """

    whole: str
    text: str
    start: int
    scheme: str
    encoded: bool = False

    @classmethod
    def decoded(cls, whole: str, start: int, scheme: str, end: int | None = None) -> "Excerpt":
        """Percent-decode ``whole[start:end]``, once. Raises InvalidIdentifier where that is not well-formed UTF-8."""
        raw = whole[start:end]
        if "%" not in raw:
            return cls(whole, raw, start, scheme)
        broken = re.search(_BROKEN, raw)
        if broken is not None:
            reason = "'%' is not followed by two hexadecimal digits; in an address a percent sign itself is written %25"
            raise InvalidIdentifier(whole, reason, start + broken.start(), scheme)
        return cls(whole, re.sub(_ESCAPES, lambda run: _utf8(run, whole, start, scheme), raw), start, scheme, encoded=True)

    def after(self, count: int) -> "Excerpt":
        """The part without its first ``count`` characters."""
        return Excerpt(self.whole, self.text[count:], self.position(count), self.scheme, self.encoded)

    def before(self, count: int) -> "Excerpt":
        """The first ``count`` characters of the part."""
        return Excerpt(self.whole, self.text[:count], self.start, self.scheme, self.encoded)

    def position(self, index: int) -> int:
        """Where in the whole the part's character ``index`` stands."""
        if not self.encoded:
            return self.start + index
        place = self.start
        for character in self.text[:index]:
            place += 3 * len(character.encode()) if self.whole[place] == "%" else 1
        return place

    def error(self, reason: str, index: int) -> InvalidIdentifier:
        """The error for a grammar broken at the part's character ``index``."""
        return InvalidIdentifier(self.whole, reason, self.position(index), self.scheme)


def _utf8(run: re.Match[str], whole: str, start: int, scheme: str) -> str:
    try:
        return bytes.fromhex(run.group().replace("%", "")).decode()
    except UnicodeDecodeError as error:
        reason = "the percent-encoded bytes are not UTF-8"
        raise InvalidIdentifier(whole, reason, start + run.start() + 3 * error.start, scheme) from error


def absolute(base: str, endings: str, example: str) -> str:
    """Check the base of a namespace: an absolute IRI that ends in one of the characters ``endings``. Raises InvalidData."""
    if not base.endswith(tuple(endings)):
        wanted = " or ".join(f"'{ending}'" for ending in endings)
        raise InvalidData(f"the base {base!r} must end in {wanted}, as in {example}", base=base)
    try:
        NamedNode(base)
    except ValueError as error:
        raise InvalidData(f"the base {base!r} is not an absolute IRI ({error}); write one as {example}", base=base) from error
    return base

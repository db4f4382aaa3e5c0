"""The parameters of a request, as the known clients send them."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from idstore.errors import InvalidData
from idstore.server.form_parameters import read_parameters

OPERATION: Final = "registry-op"
BASE: Final = "registry-base"
COMMENT: Final = "registry-comment"
ID: Final = "registry-id"
TARGET: Final = "registry-target"
NAME: Final = "registry-name"
KEY: Final = "registry-key"
"""A request key; pages send it, so that a form that is sent twice mints once."""
PARAMETERS: Final = (OPERATION, BASE, COMMENT, ID, TARGET, NAME, KEY)
_ADDRESS: Final = re.compile(r"/?https?://[^?]*\?.*", re.DOTALL | re.IGNORECASE)


class Parameters:
    """The values of a query string or of a form, by name."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        for name in values:
            if name.startswith("registry-") and name not in PARAMETERS:
                raise InvalidData(
                    f"{name!r} is no parameter of this interface; it has {', '.join(PARAMETERS)}", field=name
                )

    @classmethod
    def parse(cls, encoded: bytes, place: str = "the query string") -> "Parameters":
        """Read a query string or a form: escapes of either case, and ``+`` for a space.

        Of a parameter that stands twice, the first value counts. Raises InvalidData: not UTF-8, an unknown
        name, too many.
        """
        return cls(_first_values(read_parameters(encoded, place)))

    def get(self, name: str) -> str | None:
        """Return a value; None if it is absent or blank."""
        value = self._values.get(name, "")
        return value if value.strip() else None

    def required(self, name: str) -> str:
        """Return a value. Raises InvalidData if it is absent or blank."""
        value = self.get(name)
        if value is None:
            raise InvalidData(f"the parameter {name} is missing; give it", field=name)
        return value

    @property
    def base(self) -> str:
        """The base URI. Raises InvalidData."""
        return check_base(self.required(BASE), BASE)

    @property
    def id(self) -> str:
        """The identifier. Raises InvalidData."""
        text = self.required(ID)
        if "#" not in text:
            raise InvalidData(
                f"{text!r} is no whole identifier; give its URI, with # written as %23", field=ID
            )
        return text


def check_base(text: str, name: str) -> str:
    """Return a base URI unchanged. Raises InvalidData unless it ends in ``#``."""
    if not text.endswith("#"):
        raise InvalidData(f"{text!r} is no base URI; it ends in #, which is written as %23", field=name)
    return text


def _first_values(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the first value of each name, as the client meant it.

    A known client appends the address of its request to that address. The first value of the last parameter
    then continues with the second address; the second value of that parameter is the true one.
    """
    values: dict[str, str] = {}
    for name, value in pairs:
        first = values.setdefault(name, value)
        if first != value and first.startswith(value) and _ADDRESS.fullmatch(first, len(value)):
            values[name] = value
    return values

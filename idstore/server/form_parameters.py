"""Parameters in the encoding of forms: query strings, and bodies of forms."""

from typing import Final
from urllib.parse import parse_qsl

from idstore.errors import InvalidData

FORM: Final = "application/x-www-form-urlencoded"
_MOST: Final = 10_000
"""Parameters of a query string or of a form."""

FormParameters = list[tuple[str, str]]


def read_parameters(encoded: bytes, place: str) -> FormParameters:
    """Return the parameters in their order, blank ones included. Raises InvalidData: not UTF-8, or too many.

    place  what is read, for the message.
    Cost: up to 0.4 s for each megabyte of escapes; read large forms in a thread.
    """
    try:
        return parse_qsl(encoded.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST)
    except UnicodeError as error:
        raise InvalidData(f"{place} is not UTF-8 with percent-encoding; encode it so", field=place) from error
    except ValueError as error:
        raise InvalidData(f"{place} has more than {_MOST} parameters; send fewer", field=place) from error

"""Parameters of requests to the Handle API."""

from collections.abc import Collection, Sequence
from urllib.parse import unquote_to_bytes

from starlette.requests import Request

from idstore.errors import InvalidData
from idstore.schemes import value_types
from idstore.server.handles.answers import Code, Refusal

VARIOUS = "various"
_FLAGS = {"": True, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class HandleQuery:
    """The query of a request. Every method raises Refusal for a value that it cannot read.

    pretty  whether the answer is to be indented.
    """

    def __init__(self, request: Request) -> None:
        self._query = request.query_params
        self.pretty = self.flag("pretty")

    def check_known(self, known: Collection[str]) -> None:
        """Refuse other parameters: a misspelt one would change more than was meant."""
        for name in self._query:
            if name not in known:
                raise _wrong(f"there is no parameter {name!r} here; there are {', '.join(known)}")

    def has(self, name: str) -> bool:
        """Return whether a parameter is given."""
        return name in self._query

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return a parameter that is true if it stands without a value."""
        text = self._single(name)
        if text is None:
            return default
        if text.lower() not in _FLAGS:
            raise _wrong(f"the parameter {name}={text!r} is neither true nor false; write {name}=true")
        return _FLAGS[text.lower()]

    def number(self, name: str) -> int | None:
        """Return a whole number, None if it is absent or negative."""
        text = self._single(name)
        digits = (text or "").removeprefix("-")
        is_number = digits.isascii() and digits.isdigit() and len(digits) < 10  # noqa: PLR2004
        if text is not None and not is_number:
            raise _wrong(f"the parameter {name}={text!r} is not a whole number; write {name}=0")
        return None if text is None or text.startswith("-") else int(text)

    def texts(self, name: str) -> Sequence[str]:
        """Return every value of a parameter that may be repeated."""
        return self._query.getlist(name)

    def single(self, name: str) -> str:
        """Return a text that must be there."""
        text = self._single(name)
        if text is None:
            raise _wrong(f"the parameter {name} is missing; add {name}=")
        return text

    def indexes(self) -> list[int]:
        """Return the indexes of ``index``, which may be repeated."""
        try:
            return [value_types.index_of(text) for text in self.texts("index")]
        except InvalidData as error:
            raise _wrong(f"in the query: {error.message}") from error

    def _single(self, name: str) -> str | None:
        found = self._query.getlist(name)
        if len({*found}) > 1:
            raise _wrong(f"the parameter {name} stands there with different values; give it once")
        return found[0] if found else None


def handle_in(request: Request, root: str) -> str:
    """Return the handle in an address below ``root``, percent-decoded once. Raises Refusal."""
    _, found, encoded = request.scope.get("raw_path", b"").partition(root.encode())
    if not found:  # the address writes the part before the handle with percent-encoding
        return str(request.scope["path"]).partition(root)[2]
    try:
        return unquote_to_bytes(encoded).decode()
    except UnicodeDecodeError as error:
        raise Refusal(
            Code.INVALID_HANDLE,
            f"the handle in the address is not UTF-8 (byte {error.start + 1}); encode it as UTF-8, then by"
            " percent signs",
        ) from error


def _wrong(message: str) -> Refusal:
    return Refusal(Code.PROTOCOL_ERROR, message)

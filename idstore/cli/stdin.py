"""Standard input as a temporary file, for input that is read more than once."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from idstore import scratch
from idstore.cli import inputs, output_files
from idstore.cli.termination import UsageError
from idstore.errors import ExchangeError

_LARGEST: Final = 1 << 34
"""Largest standard input in bytes that is copied to disk."""


@contextmanager
def files(names: Sequence[str], suffix: str = "", largest: int = sys.maxsize) -> Iterator[list[Path]]:
    """Return paths for file names, with ``-`` as a temporary file that lasts for the block.

    An ExchangeError of the block names standard input instead of the temporary file.

    suffix   the suffix of the temporary file's name.
    largest  bytes of standard input.

    Raises UsageError: ``-`` occurs twice. Raises InvalidData: standard input is closed, or too long.
    """
    if inputs.STDIN not in names:
        yield [Path(file) for file in names]
        return
    if names.count(inputs.STDIN) > 1:
        raise UsageError("standard input can be read once; give - once")
    with scratch.folder() as folder:
        path = folder / f"standard input{suffix}"
        output_files.write_temporary(inputs.chunks(inputs.STDIN, min(largest, _LARGEST)), path)
        try:
            yield [path if file == inputs.STDIN else Path(file) for file in names]
        except ExchangeError as error:
            _rename(error, str(path))
            raise


def _rename(error: ExchangeError, path: str) -> None:
    """Replace the path of the temporary file by "standard input" in an error's message and fields."""
    name = inputs.name(inputs.STDIN)
    error.message = error.message.replace(path, name)
    error.fields = {
        key: value.replace(path, name) if isinstance(value, str) else value
        for key, value in error.fields.items()
    }
    error.args = (error.message, *error.args[1:])

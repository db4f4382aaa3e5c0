"""Standard input as a file, for what is read more than once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from idstore.cli import inputs, outputs
from idstore.cli.ending import Misuse
from idstore.errors import ExchangeError
from idstore.stores import scratch

_LARGEST: Final = 1 << 34
"""Bytes of standard input that are held on disk; what is larger is a file already, or should be one."""


@contextmanager
def files(given: Sequence[str], suffix: str = "") -> Iterator[list[Path]]:
    """The files; what ``-`` brings is one while the block runs, and what the block raises of it calls it standard input.

    suffix  the ending of that file's name.
    Raises Misuse: ``-`` is there twice. Raises InvalidData: standard input is closed, or too long.
    """
    if inputs.STDIN not in given:
        yield [Path(file) for file in given]
        return
    if given.count(inputs.STDIN) > 1:
        raise Misuse("standard input can be read once; give - once")
    with scratch.folder() as folder:
        place = folder / f"standard input{suffix}"
        outputs.keep(inputs.chunks(inputs.STDIN, _LARGEST), place)
        try:
            yield [place if file == inputs.STDIN else Path(file) for file in given]
        except ExchangeError as error:
            _rename(error, str(place))
            raise


def _rename(error: ExchangeError, place: str) -> None:
    """Call standard input by its name in all that an error says."""
    called = inputs.name(inputs.STDIN)
    error.message = error.message.replace(place, called)
    error.fields = {key: value.replace(place, called) if isinstance(value, str) else value for key, value in error.fields.items()}
    error.args = (error.message, *error.args[1:])

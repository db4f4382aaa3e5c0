"""The example queries of ``idstore query --example``: one file each in ``idstore/queries/examples``.

The first comment of a file is the question that the query answers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from idstore.queries.saved import SavedQuery, saved_query

_FOLDER: Final = Path(__file__).parent / "examples"


def example_queries() -> Mapping[str, SavedQuery]:
    """Return the examples by name, in the order of their names."""
    return {path.stem: saved_query(path) for path in sorted(_FOLDER.glob("*.rq"))}

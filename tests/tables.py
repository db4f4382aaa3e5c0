"""Reader of tab-separated tables: UTF-8, header in the first line, no quoting."""

from pathlib import Path

VECTORS = Path(__file__).parent / "vectors"


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table by column."""
    header, *lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    names = header.split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]

"""Reading tab-separated tables: UTF-8, the first line is the header, nothing is quoted."""

from pathlib import Path

VECTORS = Path(__file__).parent / "vectors"


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table by column."""
    header, *lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    names = header.split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]

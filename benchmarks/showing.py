"""Results as a table, as JSON, and as a plot of cost against size."""

import json
import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from benchmarks.measure import Row

_HEAD = ("row", "size", "measured", "floor", "ratio", "target", "reached")


def table(rows: Sequence[Row], *, markdown: bool = False) -> str:
    """Return the rows as a table in columns, or in Markdown."""
    cells = [_HEAD, *(_cells(row) for row in rows)]
    if markdown:
        lines = ["| " + " | ".join(line) + " |" for line in cells]
        return "\n".join([lines[0], "|---|" + "---:|" * 4 + "---|---|", *lines[1:]])
    widths = [max(len(line[place]) for line in cells) for place in range(len(_HEAD))]
    return "\n".join(
        "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def _cells(row: Row) -> tuple[str, ...]:
    reached = {None: "-", True: "yes", False: "no"}[row.met]
    size = "" if row.size is None else f"{row.size:,}"
    floor = f"{_number(row.floor)} ({row.against})" if row.floor is not None else "-"
    measured = f"{_number(row.measured)} {row.unit}" if row.measured is not None else "not measured"
    return row.name, size, measured, floor, _number(row.ratio), row.target, reached


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 enough digits to compare


def machine() -> dict[str, object]:
    """Describe the machine, its load and the versions."""
    versions = {name: version(name) for name in ("idstore", "pyoxigraph", "pyshacl", "rdflib", "typer")}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "python": platform.python_version(),
        "system": platform.system(),
        "cores": os.cpu_count(),
        "load": load,
        **versions,
    }


def as_json(rows: Iterable[Row], before: dict[str, object]) -> str:
    """Return the rows as JSON, with the state of the machine before the run."""
    return json.dumps(
        {"machine": before, "rows": [asdict(row) for row in rows]}, indent=1, ensure_ascii=False
    )


def growth(rows: Iterable[Row]) -> dict[str, list[tuple[int, float]]]:
    """Return the cost at each size, by row with its unit, for rows measured at more than one size."""
    costs: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        if row.size is not None and row.measured and not row.name.endswith("growth"):
            name, cost = _cost(row)
            costs.setdefault(name, []).append((row.size, cost))
    return {name: sorted(points) for name, points in costs.items() if len(points) > 1}


def _cost(row: Row) -> tuple[str, float]:
    assert row.measured
    cost = {"µs": row.measured / 1000, "quads/s": 1e6 / row.measured, "s": row.measured * 1000}.get(
        row.unit, row.measured
    )
    unit = {"quads/s": "ms for 1,000 quads", "bytes/id": "bytes/id"}.get(row.unit, "ms")
    return f"{row.name.partition(',')[0] if row.unit == 'µs' else row.name}, {unit}", cost


def plot(rows: Iterable[Row], path: Path) -> str:
    """Plot cost against size into a PNG file. Returns the text to print; without matplotlib, the plot."""
    lines = growth(rows)
    try:
        drawing = import_module("matplotlib.figure")
    except ImportError:
        return "matplotlib is not installed; the plot as text:\n" + text_plot(lines)
    figure = drawing.Figure(figsize=(8, 6), layout="constrained")
    axes = figure.add_subplot()
    for place, (name, points) in enumerate(lines.items()):
        axes.plot(*zip(*points, strict=True), marker="osv^D"[place % 5], label=name)
    axes.set(
        xscale="log", yscale="log", xlabel="identifiers in the store", ylabel="cost (unit in the legend)"
    )
    axes.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1, 1))
    axes.grid(visible=True, alpha=0.3)
    figure.savefig(path, dpi=80)
    return f"plotted into {path}"


def text_plot(lines: dict[str, list[tuple[int, float]]]) -> str:
    """Return a line for each row: the cost at each size, and the ratio of the last to the first."""
    text = []
    for name, points in lines.items():
        steps = "  ".join(f"{size:,}: {_number(cost)}" for size, cost in points)
        times = points[-1][1] / points[0][1]
        text.append(f"{name:58} {steps}  x {times:.2f} {'#' * min(40, round(4 * times))}")
    return "\n".join(text)

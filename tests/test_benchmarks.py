import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main, rows
from benchmarks.measure import Row
from benchmarks.showing import growth, table, text_plot


@pytest.mark.slow
def test_every_row_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tmp_path / "rows.json"
    light = [name for name in rows(heavy=False) if name not in ("command", "validate")]
    assert (
        main([*light, "--quick", "--size", "40", "--folder", str(tmp_path / "stores"), "--json", str(found)])
        == 0
    )
    measured = json.loads(found.read_text())["rows"]
    assert all(row["measured"] or row["note"].startswith("not measured: ") for row in measured)
    assert "export to Turtle" in capsys.readouterr().out


def test_cost_is_compared_between_sizes() -> None:
    made = [Row("lookup by IRI, p50", size, "µs", cost) for size, cost in ((1000, 50.0), (10, 25.0))]
    assert growth(made) == {"lookup by IRI, ms": [(10, 0.025), (1000, 0.05)]}
    assert "x 2.00" in text_plot(growth(made))
    assert table(made, markdown=True).splitlines()[2].startswith("| lookup by IRI, p50 | 1,000 | 50 µs | - |")

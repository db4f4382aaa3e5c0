"""`idstore check` finds the scheme of real identifiers among all schemes that fit."""

from collections.abc import Callable
from pathlib import Path

import pytest
from command_lines import Run
from tables import rows

Row = dict[str, str]


@pytest.fixture
def registry(run: Run) -> Run:
    """Return a registry with the namespaces of the identifiers."""
    bases = {
        "pronom": ("info:pronom/", "puid"),
        "rdl": ("http://rdl.rdlfacade.org/data#", "rdswip", "--set", "profile=rdlfacade"),
        "tpl": ("http://tpl.rdlfacade.org/data#", "rdswip", "--set", "profile=rdlfacade"),
        "pilin": ("102.100.272", "pilin"),
        "journals": ("http://journals.scholarsportal.info/", "scholars-portal"),
    }
    for name, (base, scheme, *more) in bases.items():
        run("namespace", "add", name, base, "--scheme", scheme, *more)
    return run


def fits(run: Run, texts: list[str], code: int) -> dict[str, list[str]]:
    """Return the schemes that fit each text, in the order of the answers."""
    outcome = run("check", "-", "--json", stdin="\n".join(texts), code=code)
    found: dict[str, list[str]] = {text: [] for text in texts}
    for one in outcome.objects:
        found[str(one["text"])].append(str(one["scheme"]))
    return found


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("file", "text", "scheme", "known", "first"),
    [
        ("puids.tsv", lambda row: row["puid"], "puid", 1537, 1537),
        ("puids.tsv", lambda row: f"info:pronom/{row['puid']}", "puid", 1537, 1537),
        ("handles.tsv", lambda row: row["pid"], "handle", 10461, 10430),
        ("rdswip_ids.tsv", lambda row: row["base"] + row["id"], "rdswip", 66, 66),
        ("rdswip_ids.tsv", lambda row: row["id"], "rdswip", 66, 66),
        ("pilin_vectors.tsv", lambda row: row["suffix"], "pilin", 40, 40),
        ("pilin_vectors.tsv", lambda row: f"hdl:102.100.272/{row['suffix']}", "pilin", 40, 40),
        ("sp_real_uris.tsv", lambda row: row["uri"], "scholars-portal", 14, 14),
    ],
    ids=[
        "puids",
        "PUID IRIs",
        "handles",
        "RDS/WIP IRIs",
        "RDS/WIP",
        "PILIN",
        "PILIN handles",
        "Scholars Portal",
    ],
)
def test_real_identifiers_are_of_their_own_scheme(
    registry: Run, real_data: Path, file: str, text: Callable[[Row], str], scheme: str, known: int, first: int
) -> None:
    texts = list(dict.fromkeys(text(row) for row in rows(real_data / file)))
    bare_suffixes = file == "pilin_vectors.tsv" and not text({"suffix": "/"}).startswith("hdl")
    with_invisible_characters = file == "handles.tsv"
    found = fits(registry, texts, 3 if bare_suffixes or with_invisible_characters else 0)
    assert sum(scheme in schemes for schemes in found.values()) == known
    assert sum(schemes[:1] == [scheme] for schemes in found.values()) == first


def test_each_fitting_scheme_is_reported(registry: Run) -> None:
    found = registry("check", "102.100.272/Y35XYS0QH", "--json").objects
    assert [(one["scheme"], one.get("namespace"), one["alternatives"]) for one in found] == [
        ("pilin", "pilin", ["handle"]),
        ("handle", None, ["pilin"]),
    ]


def test_one_line_tells_all_namespaces_of_a_scheme(registry: Run) -> None:
    for name, base in (("more", "10.7"), ("other", "10.8")):
        registry("namespace", "add", name, base, "--scheme", "handle")
    registry("namespace", "add", "own", "http://formats.example.org/", "--scheme", "puid")
    assert [line.split("\t") for line in registry("check", "fmt/1").lines] == [
        ["fmt/1", "puid", "own,pronom"],
        ["fmt/1", "handle"],
    ]
    assert [line.split("\t")[1:] for line in registry("check", "a/b", "10.7/b").lines] == [
        ["handle"],
        ["handle", "more"],
    ]
    several = registry("check", "fmt/1", "--json").objects[0]
    assert several["namespaces"] == ["own", "pronom"]
    assert "namespace" not in several


def test_a_registered_namespace_comes_first(run: Run) -> None:
    assert [line.split("\t")[1] for line in run("check", "fmt/18").lines] == ["puid", "handle"]
    run("namespace", "add", "h", "hdl:fmt", "--scheme", "handle")
    assert [line.split("\t")[1:] for line in run("check", "fmt/18").lines] == [["handle", "h"], ["puid"]]


def test_a_whole_handle_is_not_read_as_a_suffix(run: Run) -> None:
    run("namespace", "add", "h", "12345", "--scheme", "handle", "--set", "alias=66666")
    assert run("check", "10.1045/april2006-paskin").line == "10.1045/april2006-paskin\thandle"
    assert run("check", "hdl:10.1045/april2006-paskin").lines == ["10.1045/april2006-paskin\thandle"]
    assert run("check", "12345/a", "66666/a").lines == ["12345/a\thandle\th"] * 2

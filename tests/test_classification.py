"""`idstore check` finds the scheme of identifiers of the real world, among all that fit."""

from collections.abc import Callable
from pathlib import Path

import pytest
from command_lines import Run
from tables import rows

Row = dict[str, str]


@pytest.fixture
def registry(run: Run) -> Run:
    """A registry with the namespaces that the identifiers are from."""
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
    """The schemes that fit each text, in the order of the answers."""
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
        ("handles.tsv", lambda row: row["pid"], "handle", 10465, 10434),
        ("rdswip_ids.tsv", lambda row: row["base"] + row["id"], "rdswip", 66, 66),
        ("rdswip_ids.tsv", lambda row: row["id"], "rdswip", 66, 66),
        ("pilin_vectors.tsv", lambda row: row["suffix"], "pilin", 40, 40),
        ("pilin_vectors.tsv", lambda row: f"hdl:102.100.272/{row['suffix']}", "pilin", 40, 40),
        ("sp_real_uris.tsv", lambda row: row["uri"], "scholars-portal", 14, 14),
    ],
    ids=["puids", "PUID IRIs", "handles", "RDS/WIP IRIs", "RDS/WIP", "PILIN", "PILIN handles", "Scholars Portal"],
)
def test_real_identifiers_are_of_their_own_scheme(
    registry: Run, real_data: Path, file: str, text: Callable[[Row], str], scheme: str, known: int, first: int
) -> None:
    texts = list(dict.fromkeys(text(row) for row in rows(real_data / file)))
    found = fits(registry, texts, 3 if file == "pilin_vectors.tsv" and not text({"suffix": "/"}).startswith("hdl") else 0)
    assert sum(scheme in schemes for schemes in found.values()) == known
    assert sum(schemes[:1] == [scheme] for schemes in found.values()) == first


def test_several_schemes_fit_and_each_is_told(registry: Run) -> None:
    found = registry("check", "102.100.272/Y35XYS0QH", "--json").objects
    assert [(one["scheme"], one.get("namespace"), one["alternatives"]) for one in found] == [
        ("pilin", "pilin", ["handle"]),
        ("handle", None, ["pilin"]),
    ]


def test_each_other_scheme_is_told_once(registry: Run) -> None:
    registry("namespace", "add", "more", "10.7", "--scheme", "handle")
    found = registry("check", "fmt/1", "--json").objects
    assert [len(one["alternatives"]) for one in found] == [len({*one["alternatives"]}) for one in found]
    assert len(found) > len(found[0]["alternatives"]) + 1


def test_a_registered_namespace_comes_first(run: Run) -> None:
    assert [line.split("\t")[1] for line in run("check", "fmt/18").lines] == ["puid", "handle"]
    run("namespace", "add", "h", "hdl:fmt", "--scheme", "handle")
    assert [line.split("\t")[1:] for line in run("check", "fmt/18").lines] == [["handle", "h"], ["puid"]]


def test_a_whole_handle_is_not_taken_for_a_suffix_first(run: Run) -> None:
    run("namespace", "add", "h", "12345", "--scheme", "handle", "--set", "alias=66666")
    assert run("check", "10.1045/april2006-paskin").lines == [
        "10.1045/april2006-paskin\thandle",
        "12345/10.1045/april2006-paskin\thandle\th",
    ]
    assert run("check", "hdl:10.1045/april2006-paskin").lines == ["10.1045/april2006-paskin\thandle"]
    assert run("check", "12345/a", "66666/a").lines == ["12345/a\thandle\th"] * 2

"""Who imports whom: arrows go one way, and each foreign library is met in one place."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import idstore

PACKAGE = Path(idstore.__file__).parent
LAYERS = (
    {"errors", "vocabulary", "resources", "randomness", "frozen", "progress"},
    {"schemes", "model"},
    {"stores"},
    {"queries"},
    {"registry"},
    {"validation", "exchange", "reconciliation"},
    {"quickstart"},
    {"cli", "server", "testing", "__main__", ""},  # "" is idstore itself
)
TERMINAL = {"typer", "click", "rich"}
NOTES = re.compile(r"\b([T]ODO|[F]IXME|[X]XX|[H]ACK)\b")  # bracketed: this file is read as well


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ("idstore", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def nodes(top: ast.AST) -> Iterator[ast.AST]:
    """Every node that is there at run time: not what stands under ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(top):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        yield node
        yield from nodes(node)


def imported(path: Path) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it: modules, or names in modules."""
    for node in nodes(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name}, line {node.lineno}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(path: Path) -> set[str]:
    """The modules of this package that a module imports."""
    names = {name for name in imported(path) if name.partition(".")[0] == "idstore"}
    return {name if name in modules() else name.rpartition(".")[0] for name in names}


def part(module: str) -> str:
    """The package or module directly under ``idstore`` that a module belongs to."""
    return f"{module}.".split(".")[1]


def layer(module: str) -> int:
    return next(number for number, parts in enumerate(LAYERS) if part(module) in parts)


def acyclic(graph: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" ← ".join(error.args[1]))


def test_every_module_has_a_layer() -> None:
    assert {part(name) for name in modules()} <= set().union(*LAYERS)


@pytest.mark.parametrize("module", sorted(modules()))
def test_arrows_go_one_way(module: str) -> None:
    upwards = {other for other in own(modules()[module]) if layer(other) > layer(module)}
    assert not upwards, f"{module} imports what is built on it"


def test_no_module_imports_itself_by_way_of_others() -> None:
    acyclic({module: own(path) - {module} for module, path in modules().items()})


def test_no_package_imports_itself_by_way_of_others() -> None:
    parts: dict[str, set[str]] = {}
    for module, path in modules().items():
        parts.setdefault(part(module), set()).update({part(other) for other in own(path)} - {part(module)})
    acyclic(parts)


def test_the_library_knows_no_terminal() -> None:
    meets = {part(module) for module, path in modules().items() for name in imported(path) if name.partition(".")[0] in TERMINAL}
    assert meets <= {"cli"}


def test_resources_is_a_leaf() -> None:
    assert own(PACKAGE / "resources.py") == set()


def test_one_module_opens_stores_on_disk() -> None:
    """Validation takes a store that is passed in, or makes one in memory; so does the guard of queries, whose process opens snapshots."""
    meets = {module for module, path in modules().items() if "pyoxigraph.Store" in imported(path)}
    assert {part(module) for module in meets} <= {"stores", "validation", "queries"}
    assert len([module for module in meets if part(module) == "stores"]) <= 1
    others = meets - {"idstore.queries.worker"}
    opened = [f"{module}, line {line}" for module in others if part(module) != "stores" for line in openings(modules()[module])]
    assert opened == []


def openings(path: Path) -> Iterator[int]:
    """Lines that open a store with a path: ``Store(…)`` with an argument, or another of its constructors."""
    for node in nodes(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Store" and (node.args or node.keywords):
            yield node.lineno
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Store":
            yield node.lineno


def test_public_names_are_honest() -> None:
    assert sorted(idstore.__all__, key=str.lower) == sorted(set(idstore.__all__), key=str.lower)
    for name in idstore.__all__:
        assert getattr(idstore, name) is not None
    with pytest.raises(AttributeError):
        _ = idstore.no_such_name


def test_type_checkers_see_the_public_names() -> None:
    source = tree(PACKAGE / "__init__.py")
    seen = {alias.asname or alias.name for node in ast.walk(source) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen - {"import_module", "TYPE_CHECKING", "Any"} == set(idstore.__all__)


@pytest.mark.parametrize("folder", ["idstore", "tests", "shapes", "ontology", "examples", "benchmarks"])
def test_nothing_is_left_for_later(folder: str) -> None:
    top = PACKAGE.parent / folder
    texts = [path for path in top.rglob("*") if path.suffix in {".py", ".ttl", ".rq", ".sh"}]
    assert [path.name for path in texts if NOTES.search(path.read_text(encoding="utf-8"))] == []

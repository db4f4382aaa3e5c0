"""Imports between layers go one way, and each foreign library is used in one place."""

import ast
import inspect
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import idstore
from idstore import Registry

PACKAGE = Path(idstore.__file__).parent
LAYERS = (
    {
        "errors",
        "remedies",
        "vocabulary",
        "resources",
        "progress",
        "disk_errors",
        "forks",
        "permissions",
        "scratch",
        "characters",
        "spreadsheets",
        "wrapped",
        "arguments",
        "bioregistry_package",
        "store_socket",
        "web_addresses",
    },
    {"schemes", "model"},
    {"stores"},
    {"queries"},
    {"registry"},
    {"opening"},
    {"documents", "tokens"},
    {"validation", "exchange", "reconciliation"},
    {"operations"},
    {"connection", "remote"},
    {"quickstart", "replication"},
    {"cli", "server", "testing", "__main__", ""},  # "" is idstore itself
)
TERMINAL = {"typer", "click", "rich"}
CONTRACT = "idstore.stores.contract"
"""The module of the stores that the rest of the package may import."""
NOTES = re.compile(
    r"\b([T]ODO|[F]IXME|[X]XX|[H]ACK)\b"
)  # bracketed, because the test reads this file as well


@cache
def modules() -> dict[str, Path]:
    """Return every module of the package by its dotted name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ("idstore", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imported(path: Path) -> Iterator[str]:
    """Yield the dotted names of all imports of a module, those for type checkers included.

    A name is a module, or a name in a module.
    """
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path.name}, line {node.lineno}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(path: Path) -> set[str]:
    """Return the modules of this package that a module imports."""
    names = {name for name in imported(path) if name.partition(".")[0] == "idstore"}
    return {name if name in modules() else name.rpartition(".")[0] for name in names}


def part(module: str) -> str:
    """Return the package or module directly under ``idstore`` that contains a module."""
    return f"{module}.".split(".")[1]


def inner_package(module: str) -> str:
    """Return ``idstore.PACKAGE.PACKAGE`` of a module that such a package contains, else an empty text."""
    name = ".".join(module.split(".")[:3])
    return (
        name if name in modules() and modules()[name].name == "__init__.py" and name.count(".") == 2 else ""
    )


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
def test_imports_between_layers_go_one_way(module: str) -> None:
    upwards = {other for other in own(modules()[module]) if layer(other) > layer(module)}
    assert not upwards, f"{module} imports what is built on it"


def test_modules_have_no_import_cycle() -> None:
    acyclic({module: own(path) - {module} for module, path in modules().items()})


def test_packages_have_no_import_cycle() -> None:
    parts: dict[str, set[str]] = {}
    for module, path in modules().items():
        parts.setdefault(part(module), set()).update({part(other) for other in own(path)} - {part(module)})
    acyclic(parts)


def test_packages_of_one_package_have_no_import_cycle() -> None:
    packages: dict[str, set[str]] = {}
    for module, path in modules().items():
        package = inner_package(module)
        others = {inner_package(other) for other in own(path)} - {package, ""}
        if package:
            packages.setdefault(package, set()).update(others)
    assert packages
    acyclic(packages)


@pytest.mark.parametrize(
    "module", sorted(module for module in modules() if part(module) not in {"stores", "opening"})
)
def test_only_the_contract_of_stores_is_used(module: str) -> None:
    assert {other for other in own(modules()[module]) if part(other) == "stores"} <= {CONTRACT}


def test_a_class_name_is_defined_once() -> None:
    """The contract of the catalogue and its implementation share a name."""
    names = Counter(
        node.name for path in modules().values() for node in tree(path).body if isinstance(node, ast.ClassDef)
    )
    assert {name for name, times in names.items() if times > 1} <= {"Catalogue"}


def test_no_two_parts_of_the_registry_define_the_same_name() -> None:
    """`Registry` inherits all everyday parts, so that their names share one space, private names included."""
    definers = defaultdict[str, set[object]](set)
    for part_class in Registry.__mro__[:-1]:  # without object
        for name, value in vars(part_class).items():
            if not (name.startswith("__") and name.endswith("__")):
                definers[name].add(inspect.unwrap(value) if inspect.isfunction(value) else value)
    assert {name: found for name, found in definers.items() if len(found) > 1} == {}


def test_the_library_imports_no_terminal_library() -> None:
    meets = {
        part(module)
        for module, path in modules().items()
        for name in imported(path)
        if name.partition(".")[0] in TERMINAL
    }
    assert meets <= {"cli"}


def test_resources_imports_no_other_module() -> None:
    assert own(PACKAGE / "resources.py") == set()


def test_one_module_of_the_store_opens_engines() -> None:
    """Other modules receive an engine or use one in memory.

    Exceptions: the process of the query guard opens snapshots, and exchange has temporary engines on disk.
    """
    meets = {module for module, path in modules().items() if "pyoxigraph.Store" in imported(path)}
    assert {part(module) for module in meets} <= {"stores", "validation", "queries", "exchange"}
    assert len([module for module in meets if part(module) == "stores"]) <= 1
    others = meets - {"idstore.queries.worker", "idstore.exchange.scratch_engine"}
    opened = [
        f"{module}, line {line}"
        for module in others
        if part(module) != "stores"
        for line in openings(modules()[module])
    ]
    assert opened == []


def openings(path: Path) -> Iterator[int]:
    """Yield the lines that open a store by path: ``Store(…)`` with an argument, or another constructor."""
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and node.module == "pyoxigraph"
        for alias in node.names
        if alias.name == "Store"
    }
    for node in ast.walk(tree(path)):
        place: ast.expr | None = None
        if isinstance(node, ast.Call) and (node.args or node.keywords):
            place = node.func
        elif isinstance(node, ast.Attribute):
            place = node.value
        if isinstance(place, ast.Name) and place.id in names:
            yield place.lineno


def test_public_names_are_unique_and_present() -> None:
    assert sorted(idstore.__all__) == sorted(set(idstore.__all__))
    for name in idstore.__all__:
        assert getattr(idstore, name) is not None
    with pytest.raises(AttributeError):
        _ = idstore.no_such_name  # type: ignore[attr-defined]


def test_type_checkers_see_the_public_names() -> None:
    source = tree(PACKAGE / "__init__.py")
    seen = {
        alias.asname or alias.name
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen - {"import_module", "TYPE_CHECKING", "Any", "Final", "version"} == set(idstore.__all__)


@pytest.mark.parametrize("folder", ["idstore", "tests", "shapes", "ontology", "examples", "benchmarks"])
def test_no_file_contains_a_note_for_later(folder: str) -> None:
    top = PACKAGE.parent / folder
    texts = [path for path in top.rglob("*") if path.suffix in {".py", ".ttl", ".rq", ".sh"}]
    assert [path.name for path in texts if NOTES.search(path.read_text(encoding="utf-8"))] == []

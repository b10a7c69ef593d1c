"""The import table of the design, what may be imported where, and the sizes of files."""

from __future__ import annotations

import ast
import gc
import importlib
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests import ROOT as PROJECT

ROOT = PROJECT / "kshell"
pytestmark = pytest.mark.xdist_group("source")  # each file is parsed once

# package: what of kshell it may import
TABLE = {
    "entry_kinds": {"registry"},  # for annotations alone
    "registry": {"entry_kinds", "torch_versions"},
    "errors": set(),
    "torch_versions": {"errors"},  # what versions of torch differ in
    "lazy_package": set(),
    "muted": set(),  # Python's warnings
    "values": {"errors", "registry"},
    "parse": {"errors"},
    "store": {"values", "errors", "registry"},
    "checkpoints": {"values", "store", "registry", "errors"},
    "ipc": {"values", "store", "registry", "errors"},
    "lang": {"ipc", "parse", "values", "store", "registry", "errors"},
    "nn": {"errors", "lazy_package"},
    "optim": {"errors", "parallel", "lazy_package"},
    "parallel": {"errors", "torch_versions", "nn", "lazy_package", "muted"},
    "kapi": {"values", "store", "checkpoints", "entry_kinds", "registry", "errors", "torch_versions", "nn", "optim", "parallel",
             "muted"},
    "extend": {"kapi", "entry_kinds", "registry", "errors", "values", "families"},  # of the last, what is asked for by name
    "families": {"extend", "errors", "optim", "parallel", "registry", "lazy_package"},
    "k_api": {"kapi", "families", "registry"},
    "session_job": {"kapi", "errors", "values"},
    "session_prompt": {"kapi", "lang", "registry", "values"},
    "session_port": {"ipc", "lang", "errors", "values"},
    "session_lines": {"lang", "registry", "errors", "values", "parse"},
    "session": {"session_lines", "session_port", "session_job", "session_prompt", "k_api", "lang", "kapi", "registry", "errors", "values"},
    "shell": {"session", "k_api", "entry_kinds", "registry", "parse", "errors", "torch_versions", "values", "attach"},
    "python": {"lazy_package", "session", "registry", "errors", "values", "lang", "kapi"},
    "embedpy": {"python", "lang", "kapi", "registry", "errors", "values"},
    "attach": {"ipc", "values", "errors"},
    "host": {"attach", "shell", "python", "ipc", "kapi", "lang", "parse", "values", "registry", "errors", "torch_versions"},
    "embedding": {"python", "shell", "errors"},
    "notebook": {"python", "shell", "entry_kinds", "registry", "parse", "errors", "values"},
    "kernel": {"python", "notebook", "errors"},
}
# the rooms of a package, and what each may import of the others
ROOMS = {
    "values": {
        "base": set(),
        "session": {"base"},
        "items": {"base", "session"},
        "engine": {"base", "session", "items"},
        "change": {"base", "session", "items", "engine"},
    },
    "kapi": {
        "base": set(),
        "math": {"base"},
        "tensor": {"base", "math"},
        "module": {"base", "math", "tensor"},
        "loss": {"base", "math", "tensor", "module"},
        "blocks": {"base", "module"},
        "optim": {"base", "math", "tensor", "module"},
        "func": {"base", "math", "tensor", "module", "optim"},
        "tables": {"base"},
        "train": {"base", "math", "tensor", "module", "loss", "optim", "func", "tables"},
        "distributed": {"base", "math", "tensor", "module", "optim"},
        "checkpoint": {"base", "math", "tensor", "module", "loss", "optim", "func", "tables", "train", "distributed"},
        "checkpoint_algebra": {"base", "math", "tensor", "module", "optim", "checkpoint"},
        "hub": {"base", "module", "checkpoint"},
        "console": {"base", "math", "tensor", "module", "loss", "optim", "func", "train", "distributed", "checkpoint"},
    },
    "checkpoints": {
        "base": set(),
        "pickles": {"base"},
        "quantized": {"base"},
        "files": {"base", "pickles"},
        "trees": {"base", "pickles", "quantized", "files"},
    },
    "lang": {
        "compiler": set(),
        "tables": set(),
        "console": {"compiler"},
        "verbs": {"compiler", "console", "tables"},
        "qsql": {"compiler", "tables", "verbs"},
        "each": {"compiler", "tables", "verbs"},
        "session": {"compiler", "tables", "console", "verbs", "qsql", "each"},
        "names": {"compiler", "tables", "console", "verbs", "qsql", "each", "session"},
    },
}
FULLEST = 20  # files of a folder; the verbs are one file a topic
# a foreign package and the only packages that may import it
OWNERS = {"pyparsing": {"parse"}, "prompt_toolkit": {"shell"},
          "torch": {"kapi", "families", "nn", "optim", "parallel", "host", "torch_versions"}}
FILES = sorted(ROOT.rglob("*.py"))


def package(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    """The tree of a file. Garbage is not looked for meanwhile, nor in what is kept: that would take longer than the rest."""
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        gc.freeze()
        gc.enable()


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements directly below a node. Imports are among those, and in no expression, which are most of a file."""
    return (child for child in ast.iter_child_nodes(node) if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)))


def walked(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node."""
    left = [node]
    while left:
        left += (found := [*statements(left.pop())])
        yield from found


def imports(path: Path) -> list[tuple[str, bool]]:
    """Modules imported, and whether at the top of the file (not in a function or under TYPE_CHECKING)."""
    tree = parsed(path)
    top = {id(n) for n in tree.body}
    out = []
    for node in walked(tree):
        if isinstance(node, ast.Import):
            out += [(a.name, id(node) in top) for a in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{a.name}" for a in node.names] if node.module == "kshell" else [node.module]
            out += [(n, id(node) in top) for n in names]
    return out


def test_imports_follow_the_table() -> None:
    for path in FILES:
        own = package(path)
        if own in ("__init__", "__main__"):
            continue
        for name, top in imports(path):
            parts = name.split(".")
            if parts[0] == "kshell" and len(parts) > 1 and parts[1] not in ("__version__", own):
                assert parts[1] in TABLE[own], f"{path}: {own} may not import {name}"
            if parts[0] in OWNERS:
                assert own in OWNERS[parts[0]], f"{path}: {own} may not import {name}"
            late = own in ("kapi", "host")
            assert not (parts[0] == "torch" and late and top), f"{path}: {own} imports torch only when it is used"


def test_extensions_need_one_module() -> None:
    """The examples of docs/extending.md import from kshell.extend alone, as kshell's own families do on q's side."""
    text = (ROOT.parent / "docs" / "extending.md").read_text()
    found = re.findall(r"^(?:from|import) (kshell[\w.]*)", text, re.MULTILINE)
    assert len(found) > 3 and set(found) == {"kshell.extend"}
    package = importlib.import_module("kshell.extend")
    assert all(hasattr(package, name) for name in package.__all__)


@pytest.mark.parametrize("package_name", ROOMS)
def test_rooms_follow_their_table(package_name: str) -> None:
    table = ROOMS[package_name]
    known = {module_name(path) for path in FILES}
    found: set[str] = set()
    for path in (ROOT / package_name).rglob("*.py"):
        room, *rest = path.relative_to(ROOT / package_name).with_suffix("").parts
        if not rest:
            assert room == "__init__", f"{path.name} of {package_name} stands in no room"
            continue
        found.add(room)
        for name, _ in own_imports(parsed(path), known):
            _, own, other, *_ = [*name.split("."), "", ""]
            if own == package_name and other != room:
                assert other in table[room], f"{module_name(path)} may not import {name}"
    assert found == set(table)


def test_folders_stay_small() -> None:
    files = Counter(path.parent for path in FILES if path.stem != "__init__")
    assert {str(folder.relative_to(ROOT)) for folder, n in files.items() if n > FULLEST} <= {"lang/verbs"}


NO_ROOMS = {"bench", "docs", "golden", "support", "whole"}  # folders of tests that are named otherwise


def test_folders_of_tests_are_rooms() -> None:
    """A folder of tests is named as the room that it tests and says what it holds; no test stands outside of one."""
    tests = PROJECT / "tests"
    assert not list(tests.glob("test_*.py"))
    for folder in {path.parent for path in tests.rglob("*.py")}:
        name = folder.relative_to(tests)
        text = (folder / "__init__.py").read_text()
        assert ast.get_docstring(ast.parse(text)), f"tests/{name} does not say what it holds"
        if name.parts and name.parts[0] not in NO_ROOMS:
            assert (ROOT / name / "__init__.py").exists(), f"kshell has no room {name}"


def test_no_code_is_loaded_from_data() -> None:
    """No pickle; torch.load only with weights_only=True, numpy.load only with allow_pickle=False."""
    for path in FILES:
        if not re.search(r"\b(load|pickle|shelve|dill|cloudpickle)\b", path.read_text()):
            continue
        for node in ast.walk(parsed(path)):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                names = [a.name for a in node.names] + [getattr(node, "module", "") or ""]
                assert not {"pickle", "shelve", "dill", "cloudpickle"} & set(names), path
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load":
                owner = node.func.value
                given = {k.arg: getattr(k.value, "value", None) for k in node.keywords}
                if isinstance(owner, ast.Name) and owner.id == "torch":
                    assert given.get("weights_only") is True, path
                if isinstance(owner, ast.Name) and owner.id in ("np", "numpy"):
                    assert given.get("allow_pickle") is False, path


def test_files_stay_rooms() -> None:
    assert not [path for path in FILES if len(path.read_text().splitlines()) > 600]


DEFERRED = 31  # names of kshell's own that are imported inside functions; it may only fall


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


def own_imports(node: ast.AST, known: set[str], deferred: bool = False) -> Iterator[tuple[str, bool]]:
    """(module of kshell, inside a function?) of each import below a node but those for types only."""
    for child in statements(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from ((a.name, deferred) for a in child.names if a.name in known)
        elif isinstance(child, ast.ImportFrom) and child.module in known:
            for alias in child.names:
                name = f"{child.module}.{alias.name}"
                yield (name if name in known else child.module), deferred
        inside = deferred or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
        yield from own_imports(child, known, inside)


def test_imports_run_one_way() -> None:
    """No import loop, imports inside functions counted (graphlib raises CycleError and names one); few of those."""
    known = {module_name(path) for path in FILES}
    edges = {module_name(path): list(own_imports(parsed(path), known)) for path in FILES}
    list(TopologicalSorter({name: {to for to, _ in found if to != name} for name, found in edges.items()}).static_order())
    deferred = sum(late for found in edges.values() for _, late in found)
    assert deferred <= DEFERRED


LAZY = ["nn", "nn.blocks", "optim", "parallel", "families.adaptdl", "families.lamb", "families.megatron", "families.mlbench", "families.streamer"]


@pytest.mark.parametrize("name", LAZY)
def test_lazy_packages_list_their_modules(name: str) -> None:
    """What stands under TYPE_CHECKING is what there is, and only what there is can be asked for."""
    package = importlib.import_module(f"kshell.{name}")
    folder = ROOT / name.replace(".", "/")
    tree = ast.parse((folder / "__init__.py").read_text())
    listed = [alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
              and node.module == f"kshell.{name}" for alias in node.names]
    assert listed == sorted({path.stem for path in folder.glob("*.py")} - {"__init__", "api"})
    for module in listed:
        assert getattr(package, module).__name__ == f"kshell.{name}.{module}"
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        _ = package.absent

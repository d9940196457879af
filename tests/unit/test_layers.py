"""Who may import whom: the layers of the design, read off the import statements."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import jaxmigrate_codemods
import pytest

import jaxmigrate

ENGINE = Path(jaxmigrate.__file__ or "").parent
CODEMODS = Path(jaxmigrate_codemods.__file__ or "").parent
ENGINE_FILES = sorted(ENGINE.rglob("*.py"))
CODEMOD_FILES = sorted(CODEMODS.rglob("*.py"))
IO_MODULES = {"io", "os", "pathlib", "shutil", "socket", "subprocess", "tempfile", "fileinput"}


def imported(file: Path, root: Path) -> Iterator[tuple[str, int]]:
    """Every module that a file imports, at its top or inside functions, with the line."""
    package = [root.name, *file.relative_to(root).parent.parts]
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            yield module, node.lineno
            for alias in node.names:
                yield f"{module}.{alias.name}", node.lineno


def named(file: Path, root: Path) -> Iterator[tuple[str, int]]:
    """The same, with modules that are named in strings (`importlib.import_module`)."""
    yield from imported(file, root)
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, node.lineno


def identity(file: Path) -> str:
    """A file's path below its source root."""
    return file.relative_to(ENGINE.parent if ENGINE in file.parents else CODEMODS.parent).as_posix()


def within(module: str, *packages: str) -> bool:
    """Whether a dotted name is one of the packages or lies in one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


def test_the_walk_sees_imports_of_every_form(tmp_path: Path) -> None:
    root = tmp_path / "pkg"
    (root / "sub").mkdir(parents=True)
    file = root / "sub" / "a.py"
    file.write_text(
        "import rich.text as t\nfrom . import b\nfrom ..c import d\n"
        "def f():\n    from click import echo\n"
    )
    assert {name for name, _ in imported(file, root)} == {
        *("rich.text", "pkg.sub", "pkg.sub.b", "pkg.c", "pkg.c.d", "click", "click.echo"),
    }
    assert len(ENGINE_FILES) > 30
    assert len(CODEMOD_FILES) >= 3


@pytest.mark.parametrize("file", CODEMOD_FILES, ids=identity)
def test_a_codemod_imports_the_api_and_libcst_and_nothing_else(file: Path) -> None:
    for module, line in imported(file, CODEMODS):
        allowed = within(module, "jaxmigrate.api", "libcst", *sys.stdlib_module_names)
        assert allowed, f"{identity(file)}:{line} imports {module}"


@pytest.mark.parametrize("file", CODEMOD_FILES, ids=identity)
def test_a_codemod_does_no_input_or_output(file: Path) -> None:
    for module, line in imported(file, CODEMODS):
        assert not within(module, *IO_MODULES), f"{identity(file)}:{line} imports {module}"
    calls = {
        node.func.id
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & {"open", "print", "input", "exec", "eval"}


@pytest.mark.parametrize("file", ENGINE_FILES, ids=identity)
def test_the_registry_alone_names_the_codemods(file: Path) -> None:
    users = [
        (module, line)
        for module, line in named(file, ENGINE)
        if within(module, "jaxmigrate_codemods")
    ]
    assert not users or identity(file) == "jaxmigrate/registry.py", users


@pytest.mark.parametrize("file", ENGINE_FILES, ids=identity)
def test_click_is_for_the_command_line_only(file: Path) -> None:
    if "cli" in file.relative_to(ENGINE).parts:
        return
    assert not [m for m, _ in imported(file, ENGINE) if within(m, "click")]


@pytest.mark.parametrize("file", ENGINE_FILES, ids=identity)
def test_rich_is_for_the_command_line_and_the_output_only(file: Path) -> None:
    if {"cli", "output"} & set(file.relative_to(ENGINE).parts):
        return
    assert not [m for m, _ in imported(file, ENGINE) if within(m, "rich")]


ANALYSIS = [file for file in ENGINE_FILES if "analysis" in file.relative_to(ENGINE).parts]


@pytest.mark.parametrize("file", ANALYSIS, ids=identity)
def test_analysis_knows_neither_libcst_nor_files(file: Path) -> None:
    above = ("sources", "rewriting", "output", "cli", "evidence", "pipeline", "pool", "runner")
    forbidden = ("libcst", *IO_MODULES, *(f"jaxmigrate.{part}" for part in above))
    for module, line in imported(file, ENGINE):
        assert not within(module, *forbidden), f"{identity(file)}:{line} imports {module}"
    opened = [
        node.lineno
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("open", "print", "input")
    ]
    assert not opened


@pytest.mark.parametrize("file", ENGINE_FILES, ids=identity)
def test_nothing_below_the_command_line_imports_it(file: Path) -> None:
    parts = file.relative_to(ENGINE).parts
    if "cli" in parts or parts == ("__main__.py",):
        return
    assert not [m for m, _ in imported(file, ENGINE) if within(m, "jaxmigrate.cli")]


@pytest.mark.parametrize("file", ENGINE_FILES, ids=identity)
def test_a_module_says_what_it_is_for(file: Path) -> None:
    assert ast.get_docstring(ast.parse(file.read_bytes()))


COMPANION = "jaxmigrate/trees.py"
"""The one module that runs where JAX is, in a project's own tests."""


@pytest.mark.parametrize("file", ENGINE_FILES, ids=identity)
def test_nothing_of_jax_is_imported(file: Path) -> None:
    if identity(file) == COMPANION:
        return
    assert not [m for m, _ in imported(file, ENGINE) if within(m, "jax", "jaxlib", "numpy")]


def test_the_companion_needs_jax_and_nothing_else() -> None:
    for module, line in imported(ENGINE / "trees.py", ENGINE):
        assert within(module, "jax", *sys.stdlib_module_names), f"line {line} imports {module}"


@pytest.mark.parametrize("file", [*ENGINE_FILES, *CODEMOD_FILES], ids=identity)
def test_nothing_imports_the_companion(file: Path) -> None:
    root = ENGINE if ENGINE in file.parents else CODEMODS
    assert not [m for m, _ in imported(file, root) if within(m, "jaxmigrate.trees")]


def test_the_api_offers_what_it_lists() -> None:
    import jaxmigrate.api as api

    assert sorted(api.__all__) == sorted(set(api.__all__))
    for name in api.__all__:
        assert hasattr(api, name)

"""The commands around `run`: help, version, `list`, `explain`; and what starting costs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_line import SEARCH_PATH, call, environment, process

from jaxmigrate import __version__
from jaxmigrate.registry import all_codemods


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_has_examples_and_names_every_command(tmp_path: Path, option: str) -> None:
    answer = call(option, cwd=tmp_path)
    assert answer.code == 0
    assert "Examples:" in answer.out
    assert "jaxmigrate run src --write" in answer.out
    for command in ("run", "list", "explain"):
        assert f"\n  {command} " in answer.out


def test_without_a_command_the_help_is_shown_as_it_is_laid_out(tmp_path: Path) -> None:
    answer = call(cwd=tmp_path)
    assert answer.code == 2
    assert "\n  jaxmigrate run src --write" in answer.err.replace("    jaxmigrate", "  jaxmigrate")
    assert not answer.err.startswith("jaxmigrate: ")


def test_help_of_run_has_examples_every_option_and_the_exit_codes(tmp_path: Path) -> None:
    answer = call("run", "--help", cwd=tmp_path)
    assert answer.code == 0
    assert "Examples:" in answer.out
    for option in (
        *("--write", "--patch ", "--patch-dir", "--check", "--select", "--ignore"),
        *("--confidence", "--target-jax", "--exclude", "-j, --jobs", "--allow-dirty"),
        *("-q, --quiet", "-v, --verbose", "--color / --no-color", "--format"),
        "--stdin-filename",
    ):
        assert option in answer.out
    for code in range(5):
        assert f"\n    {code}  " in answer.out or f"\n  {code}  " in answer.out
    assert "130" in answer.out


@pytest.mark.parametrize("command", ["list", "explain"])
def test_every_command_has_help(tmp_path: Path, command: str) -> None:
    answer = call(command, "--help", cwd=tmp_path)
    assert answer.code == 0
    assert f"Usage: jaxmigrate {command}" in answer.out


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    answer = process("--version", cwd=tmp_path)
    assert answer.code == 0
    assert answer.out.strip() == f"jaxmigrate, version {__version__}"
    assert answer.err == ""


def test_list_names_every_codemod_in_order(tmp_path: Path) -> None:
    answer = call("list", cwd=tmp_path)
    assert answer.code == 0
    listed = [line.split()[0] for line in answer.out.splitlines() if " JAX " in line]
    assert listed == [codemod.name for codemod in all_codemods()]
    for codemod in all_codemods():
        assert codemod.summary in answer.out
        assert codemod.needed_from in answer.out


@pytest.mark.parametrize("codemod", all_codemods(), ids=lambda codemod: codemod.name)
def test_explain_says_why_and_shows_every_example(tmp_path: Path, codemod: object) -> None:
    name = getattr(codemod, "name", "")
    answer = call("explain", name, cwd=tmp_path)
    assert answer.code == 0
    assert "**Why.**" in answer.out
    for example in getattr(codemod, "examples", ()):
        assert example.before.rstrip("\n") in answer.out
        if example.after is not None:
            assert example.after.rstrip("\n") in answer.out
        if example.target_jax is not None:
            assert f"--target-jax {example.target_jax}" in answer.out


@pytest.mark.parametrize("codemod", all_codemods(), ids=lambda codemod: codemod.name)
def test_explain_says_with_which_confidence_an_example_holds(
    tmp_path: Path, codemod: object
) -> None:
    answer = call("explain", getattr(codemod, "name", ""), cwd=tmp_path)
    for example in getattr(codemod, "examples", ()):
        if example.confidence.label != "likely":
            assert f"--confidence {example.confidence.label}" in answer.out


def test_explain_in_colour_says_the_same_names(tmp_path: Path) -> None:
    answer = call("explain", "tree-aliases", "--color", cwd=tmp_path)
    assert answer.code == 0
    assert "\x1b[" in answer.out
    assert "tree-aliases" in answer.out


def test_explain_without_colour_has_no_escapes(tmp_path: Path) -> None:
    answer = call("explain", "tree-aliases", "--no-color", cwd=tmp_path)
    assert "\x1b" not in answer.out


LATE = ("libcst", "rich", "packaging", "pathspec")


def loaded(program: str) -> set[str]:
    """The top-level modules that are loaded once `program` has run."""
    show = "; import sys; print(' '.join({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-c", program + show],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize("module", LATE)
def test_importing_the_command_line_loads_nothing_that_can_wait(module: str) -> None:
    assert module not in loaded("import jaxmigrate.cli")


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["run", "--help"]])
def test_help_and_version_load_neither_libcst_nor_rich(arguments: list[str]) -> None:
    program = (
        "import contextlib, jaxmigrate.cli\n"
        f"with contextlib.suppress(SystemExit): jaxmigrate.cli.main({arguments!r})\n"
        "pass"
    )
    assert not loaded(program) & {*LATE, "jaxmigrate_codemods"}


def test_a_run_that_meets_nothing_loads_no_rich(tmp_path: Path) -> None:
    program = (
        f"import contextlib, os, jaxmigrate.cli; os.chdir({str(tmp_path)!r})\n"
        "with contextlib.suppress(SystemExit): jaxmigrate.cli.main(['run'])\n"
        "pass"
    )
    assert "rich" not in loaded(program)


def test_the_search_path_of_these_tests_holds_both_packages() -> None:
    names = {path.name for place in SEARCH_PATH.split(":") for path in Path(place).iterdir()}
    assert {"jaxmigrate", "jaxmigrate_codemods"} <= names


@pytest.mark.parametrize("name", ["rich", "libcst", "pathspec", "ntpath"])
def test_what_is_migrated_is_not_imported_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    source = "import jax\n\nraise SystemExit('imported')\njax.tree_map(f, t)\n"
    (tmp_path / f"{name}.py").write_text(source)
    answer = process("run", "--write", "--color", cwd=tmp_path)
    assert answer.code == 0, answer.err
    assert "jax.tree.map(f, t)" in (tmp_path / f"{name}.py").read_text()

"""`[tool.jaxmigrate]` in pyproject.toml gives the options of `run` their defaults."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import call

SOURCE = """import jax


def step(params, grads):
    kept = {"w": params["w"], "b": None}
    kept = jax.tree.map(lambda p: 2 * p, kept)
    if kept["b"] is None:
        return jax.tree.map(lambda p, g: p - g, params["w"], grads)
    return jax.tree_map(lambda p: p, grads)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "step.py").write_text(SOURCE)
    (tmp_path / "old.py").write_text(SOURCE)
    return tmp_path


def configure(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.jaxmigrate]\n{text}\n")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('select = ["none-prefix"]\nconfidence = "possible"', "is_leaf=lambda x: x is None"),
        ('confidence = "possible"\nstyle = "helper"', "def _"),
        ('sentinel = "()"', '+    kept = {"w": params["w"], "b": ()}'),
        ('target-jax = "0.4.20"', "+    return jax.tree_util.tree_map(lambda p: p, grads)"),
        ('ignore = "none-prefix"\njobs = 1', "+    return jax.tree.map(lambda p: p, grads)"),
    ],
)
def test_a_key_does_what_its_option_does(project: Path, text: str, shown: str) -> None:
    configure(project, text)
    assert shown in call("run", cwd=project).out


def test_files_are_left_out(project: Path) -> None:
    configure(project, 'exclude = ["old.py"]')
    out = call("run", cwd=project).out
    assert "src/step.py" in out
    assert "old.py" not in out


def test_it_holds_for_folders_below(project: Path) -> None:
    configure(project, 'select = "none-prefix"')
    assert "jax.tree_map" not in call("run", "--check", cwd=project / "src").out


def test_the_command_line_goes_before(project: Path) -> None:
    configure(project, 'select = "none-prefix"')
    assert "tree-aliases" in call("run", "--select", "tree-aliases", cwd=project).out


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("colour = true", "has no key colour; keys are select"),
        ("jobs = true", "jobs in [tool.jaxmigrate] must be a number"),
        ("sentinel = 1", "sentinel in [tool.jaxmigrate] must be a text"),
        ("exclude = [1]", "exclude in [tool.jaxmigrate] must be a list of texts"),
        ('confidence = "sure"', "'sure' is not one of"),
        ("select = [", "pyproject.toml cannot be read"),
        ('select = ["nothing"]', "nothing"),
    ],
)
def test_what_is_wrong_is_named(project: Path, text: str, why: str) -> None:
    configure(project, text)
    answer = call("run", cwd=project)
    assert answer.code == 2
    assert why in answer.err


def test_help_needs_no_configuration(project: Path) -> None:
    configure(project, "select = [")
    assert call("run", "--help", cwd=project).code == 0


def test_tables_of_others_do_not_count(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.other]\nselect = "none-prefix"\n')
    assert "tree-aliases" in call("run", cwd=project).out

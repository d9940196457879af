"""A fault in the analysis costs the file it happened in, which is named, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version

from jaxmigrate.analysis.trees import libraries
from jaxmigrate.model import FailureKind, RunResult
from jaxmigrate.runner import Request, run, run_on_text

MAP = """
import jax


def step(grads, path):
    tree = {"w": 1.0, "b": None}
    return jax.tree.map(lambda x, y: x + y, tree, grads)
"""
TROUBLED = MAP + "\n\ndef load(a, b):\n    return jax.tree.map(max, trouble(a), b)\n"


def run_in(folder: Path) -> RunResult:
    return run(Request((folder,), folder, Version("0.10.2"), jobs=1))


@pytest.fixture
def faulty(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("out of luck")

    monkeypatch.setattr(libraries, "external", fail)


@pytest.mark.usefixtures("faulty")
def test_the_file_is_named_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(TROUBLED.replace("trouble(", "print("))
    (tmp_path / "good.py").write_text(MAP)
    bad, good = run_in(tmp_path).files
    assert not bad.changed
    assert bad.failure is not None
    assert bad.failure.kind is FailureKind.CODEMOD
    assert "ZeroDivisionError: out of luck" in bad.failure.message
    assert good.changed


@pytest.mark.usefixtures("faulty")
def test_so_is_standard_input() -> None:
    data = TROUBLED.replace("trouble(", "print(").encode()
    request = Request((), Path(), Version("0.10.2"))
    (only,) = run_on_text(data, "stdin.py", request).files
    assert only.failure is not None
    assert only.after == data


@pytest.mark.parametrize(
    "body",
    [
        "keep = tree.copy\n    keep()",
        "put = items.append\n    put(None)",
        "take = tree.pop\n    take('w')",
        "fill = tree.setdefault\n    fill('x')",
        "change = tree.update\n    change({'w': None})",
    ],
)
def test_a_bound_method_can_be_called_by_another_name(tmp_path: Path, body: str) -> None:
    text = MAP.replace("    return", f"    items = []\n    {body}\n    return")
    (tmp_path / "a.py").write_text(text)
    (only,) = run_in(tmp_path).files
    assert only.failure is None


@pytest.mark.parametrize("operator", ["+", "or", "if x else"])
def test_deep_expressions_beside_a_map_are_no_trouble(tmp_path: Path, operator: str) -> None:
    deep = f" {operator} ".join(["x"] * 400)
    (tmp_path / "a.py").write_text(MAP.replace("    return", f"    deep = {deep}\n    return"))
    (only,) = run_in(tmp_path).files
    assert only.failure is None
    assert only.changed

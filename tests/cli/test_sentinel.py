"""`--sentinel EXPR` on the command line: what it takes, what it refuses, what it writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import call, fill

BUILT = 'import jax\n\ntree = {"w": 1.0, "b": None}\nfull = {"w": 2.0, "b": 3.0}\n'
MAPPED = "both = jax.tree.map(lambda x, y: x + y, tree, full)\n"
ASKED = 'missing = both["b"] is None\n'
PROGRAM = BUILT + MAPPED + ASKED


def test_placeholders_get_a_name(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": PROGRAM})
    answer = call("run", "--write", "--sentinel", "optax.MaskedNode()", cwd=tmp_path)
    assert answer.code == 0, answer.both
    text = (tmp_path / "a.py").read_text()
    assert '"b": optax.MaskedNode()}' in text
    assert "import optax\n" in text
    assert 'missing = isinstance(both["b"], optax.MaskedNode)\n' in text
    assert "x if isinstance(x, optax.MaskedNode) else x + y" in text
    assert "is None" not in text


def test_a_second_run_finds_nothing(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": PROGRAM})
    call("run", "--write", "--sentinel", "optax.MaskedNode()", cwd=tmp_path)
    answer = call("run", "--check", "--sentinel", "optax.MaskedNode()", cwd=tmp_path)
    assert answer.code == 0, answer.both


def test_none_stays_without_the_option(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": PROGRAM})
    answer = call("run", "--format", "json", cwd=tmp_path)
    assert {site["codemod"] for site in answer.file("a.py")["sites"]} == {"none-prefix"}


def test_what_is_consistent_is_not_guarded_against_none_as_well(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": PROGRAM})
    answer = call("run", "--format", "json", "--sentinel", "{}", cwd=tmp_path)
    edited = [site for site in answer.file("a.py")["sites"] if site["action"] == "edit"]
    assert {site["codemod"] for site in edited} == {"sentinel-placeholders"}
    assert len(edited) == 3


def test_a_tree_that_is_held_is_guarded_against_none(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": PROGRAM + "print(both)\n"})
    answer = call("run", "--format", "json", "--sentinel", "()", cwd=tmp_path)
    actions = {(site["codemod"], site["action"]) for site in answer.file("a.py")["sites"]}
    assert ("none-prefix", "edit") in actions
    assert ("sentinel-placeholders", "hold") in actions
    assert "leaves sight at a.py:7: passed to print()" in answer.out


def test_standard_input_is_a_project_of_its_own(tmp_path: Path) -> None:
    answer = call("run", "-", "--sentinel", "()", cwd=tmp_path, stdin=PROGRAM.encode())
    assert answer.code == 0
    assert '"b": ()}' in answer.out


def test_without_the_codemod_the_option_does_nothing(tmp_path: Path) -> None:
    fill(tmp_path, {"a.py": PROGRAM})
    answer = call(
        "run", "--ignore", "sentinel-placeholders", "--sentinel", "()", "--write", cwd=tmp_path
    )
    assert answer.code == 0
    assert '"b": None}' in (tmp_path / "a.py").read_text()


@pytest.mark.parametrize(
    ("expr", "words"),
    [
        ("Skip()", "the project has no class Skip"),
        ("optax.MaskedNode(", "is no Python expression"),
        ("None", "is no empty pytree"),
        ("optax.MaskedNode", "is no empty pytree"),
        ("Skip(1)", "is no empty pytree"),
        ("", "is no Python expression"),
        ("Plain()", "a.py:1 is no empty pytree"),
        ("Full()", "a.py:8 is no empty pytree"),
        ("Twice()", "several of that name: b.py:4, c.py:4"),
    ],
)
def test_what_is_no_sentinel_is_a_usage_error(expr: str, words: str, tmp_path: Path) -> None:
    twice = "from typing import NamedTuple\n\n\nclass Twice(NamedTuple):\n    pass\n"
    classes = (
        "class Plain:\n    pass\n\n\nfrom typing import NamedTuple\n\n\n"
        "class Full(NamedTuple):\n    x: int\n"
    )
    before = fill(tmp_path, {"a.py": classes, "b.py": twice, "c.py": twice, "d.py": PROGRAM})
    answer = call("run", "--write", "--sentinel", expr, cwd=tmp_path)
    assert answer.code == 2
    assert words in answer.err
    assert (before / "d.py").read_text() == PROGRAM


def test_files_outside_the_run_hold_what_they_share(tmp_path: Path) -> None:
    builder = 'def init():\n    return {"w": 1.0, "b": None}\n'
    user = (
        "import jax\nfrom init_ import init\n\n"
        "t = jax.tree.map(lambda x: x, init())\nm = t['b'] is None\n"
    )
    fill(tmp_path, {"pyproject.toml": "", "init_.py": builder, "use.py": user})
    answer = call("run", "use.py", "--format", "json", "--sentinel", "()", cwd=tmp_path)
    (site,) = answer.file("use.py")["sites"]
    assert site["action"] == "hold"
    assert "init_.py is not among the files to be edited" in site["reason"]

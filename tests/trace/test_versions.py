"""Every JAX from 0.4.20 on: the same calls are named, with what 0.4.28 gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.versions import NEWEST_KNOWN
from tests.environments import Unavailable, jax_python, parts
from tests.trace.programs import CALLS, OLD_RULE, REAL_ERRORS
from tests.trace.traced import Answer, plain, trace

VERSIONS = ("0.4.20", "0.4.28", "0.4.30", "0.4.34", "0.6.0", NEWEST_KNOWN)


@pytest.fixture(params=[(version, "") for version in VERSIONS] + [("0.4.20", "3.9")], ids="@".join)
def environment(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """A JAX and its Python; the last one is older than the tables of columns."""
    version, python = request.param
    return version, found(version, python)


def found(version: str, python: str = "") -> Path:
    """The Python of that JAX, or a skipped test."""
    try:
        return jax_python(version, python)
    except Unavailable as error:
        pytest.skip(error.reason)


def traced(python: Path, folder: Path, source: str) -> Answer:
    """What `source` gives as a script."""
    (folder / "program.py").write_text(source, encoding="utf-8")
    return trace([python, "program.py"], folder)


def test_the_same_calls_are_named(environment: tuple[str, Path], tmp_path: Path) -> None:
    version, python = environment
    answer = traced(python, tmp_path, CALLS)
    assert answer.code == 0, answer.err
    named = [(hit.line, hit.count, hit.function, hit.map) for hit in answer.hits]
    assert named == [
        (8, 2, "step", "jax.tree_util.tree_map"),
        (12, 1, "wrapper", "jax.tree_util.tree_map"),
        (18, 1, "<module>", "jax.tree_util.tree_map_with_path"),
        (24, 1, "<module>", "jax.tree_util.tree_map"),
        (25, 1, "<module>", "PyTreeDef.flatten_up_to"),
    ]
    assert {hit.path for hit in answer.hits} == {"program.py"}
    assert {hit.jax for hit in answer.hits} == {version}
    assert {hit.package for hit in answer.hits} == {None}


def test_the_places_in_the_trees_are_named(environment: tuple[str, Path], tmp_path: Path) -> None:
    places = [
        [(place.key_path, place.opposite, place.count) for place in hit.places]
        for hit in traced(environment[1], tmp_path, CALLS).hits
    ]
    assert places == [
        [("['b']", "float", 1), ("['b']", "float32 array", 1)],
        [("", "int", 1)],
        [("[0]", "int", 1), ("[2][0]", "int", 1)],
        [("[0]", "str", 1)],
        [("[1]", "int", 1)],
    ]


def test_columns_count_characters_where_python_has_them(
    environment: tuple[str, Path], tmp_path: Path
) -> None:
    hits = traced(environment[1], tmp_path, CALLS).hits
    spans = [(hit.column, hit.end_line, hit.end_column) for hit in hits]
    if "3.9" in environment[1].parts[-3]:
        assert set(spans) == {(None, None, None)}
        return
    lines = CALLS.splitlines()
    texts = [
        lines[hit.line - 1][hit.column - 1 : hit.end_column - 1]
        for hit in hits
        if hit.column and hit.end_column and hit.end_line == hit.line
    ]
    assert texts == [
        "tree_map(lambda p, g: p - g, params, grads)",
        "jax.tree_util.tree_map(f, *trees)",
        'functools.partial(tree_map, lambda a, b: a)([None], ["x"])',
        "jax.tree_util.tree_structure([0, None]).flatten_up_to([1, 2])",
    ]
    assert spans[2] == (1, 22, 2)


def test_a_run_gives_what_it_gave_on_0_4_28(environment: tuple[str, Path], tmp_path: Path) -> None:
    answer = traced(environment[1], tmp_path, OLD_RULE)
    code, out, err = plain([found("0.4.28"), "program.py"], tmp_path)
    assert (code, err) == (0, "")
    assert answer.code == 0, answer.err
    assert answer.out == out


def test_real_errors_are_those_of_jax(environment: tuple[str, Path], tmp_path: Path) -> None:
    version, python = environment
    old = parts(version) < parts("0.4.34")
    answer = traced(python, tmp_path, REAL_ERRORS.replace("{old}", "True"))
    assert answer.code == 0, answer.err
    assert answer.out == plain([python, "program.py"], tmp_path)[1]
    assert not old or answer.hits == ()


def test_strict_leaves_the_rule_of_jax(environment: tuple[str, Path], tmp_path: Path) -> None:
    version, python = environment
    program = tmp_path / "program.py"
    program.write_text(REAL_ERRORS.replace("{old}", "False"), encoding="utf-8")
    answer = trace([python, program], tmp_path, "--strict")
    assert answer.code == 0, answer.err
    assert answer.out == plain([python, program], tmp_path)[1]
    assert answer.out.endswith("None\nNone\n") == (parts(version) < parts("0.4.34"))
    assert [(hit.line, hit.map.rpartition(".")[2]) for hit in answer.hits] == [
        (16, "tree_map"),
        (16, "tree_map_with_path"),
    ]

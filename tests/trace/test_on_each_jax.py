"""Every JAX from 0.4.20 on: the same calls are named, with what 0.4.28 gives."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from jaxmigrate.versions import NEWEST_KNOWN
from tests.environments import VERSIONS, Unavailable, jax_python, parts
from tests.trace.programs import AT_RANDOM, CALLS, OLD_RULE, REAL_ERRORS
from tests.trace.traced import Answer, plain, trace


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


def test_calls_on_several_lines_end_where_they_end(
    environment: tuple[str, Path], tmp_path: Path
) -> None:
    # where the call begins, Python names the last attribute if that has a line of its own
    source = "import jax\nx = (jax\n  .tree_util\n  .tree_map(\n    max, [None],\n  [2]))\n"
    (hit,) = traced(environment[1], tmp_path, source).hits
    if "3.9" in environment[1].parts[-3]:
        assert hit.line == 2
    else:
        assert (hit.line, hit.column, hit.end_line, hit.end_column) == (4, 4, 6, 7)


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


@pytest.mark.parametrize("program", [OLD_RULE, AT_RANDOM], ids=["chosen", "at random"])
def test_a_run_gives_what_it_gave_on_0_4_28(
    environment: tuple[str, Path], tmp_path: Path, program: str
) -> None:
    answer = traced(environment[1], tmp_path, program)
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


def test_maps_that_jax_makes_for_itself_are_its_own(
    environment: tuple[str, Path], tmp_path: Path
) -> None:
    answer = traced(
        environment[1],
        tmp_path,
        "import jax, jax.numpy as jnp\n"
        "trees = {'a': None, 'b': jnp.ones(3)}, {'a': None, 'b': jnp.ones(3)}\n"
        "print(jax.vmap(lambda x: x['b'], in_axes=({'a': None, 'b': 0},))(trees[0]))\n"
        "print(jax.vmap(lambda x: x, in_axes=None, axis_size=2)(trees[0]))\n"
        "print(jax.jit(lambda x, y: x['b'] + y['b'])(*trees))\n",
    )
    assert answer.code == 0, answer.err
    assert answer.hits == ()


def test_metadata_that_cannot_be_compared_is_not(
    environment: tuple[str, Path], tmp_path: Path
) -> None:
    answer = traced(
        environment[1],
        tmp_path,
        "import jax, numpy\n"
        "class Box:\n    def __init__(self, x, data): self.x, self.data = x, data\n"
        "jax.tree_util.register_pytree_node(\n"
        "    Box, lambda b: ([b.x], b.data), lambda data, x: Box(x[0], data))\n"
        "for n in range(3):\n    data = numpy.arange(3) + n\n"
        "    print(jax.tree_util.tree_map(lambda a, b: b, Box(None, data), Box(n, data)).x)\n",
    )
    assert answer.code == 0, answer.err
    assert answer.out == "None\nNone\nNone\n"
    assert [(hit.line, hit.count) for hit in answer.hits] == [(8, 3)]


def test_a_broadcast_never_had_the_old_rule(tmp_path: Path) -> None:
    source = "import jax\njax.tree.broadcast({'a': None, 'b': 1}, {'a': 2, 'b': [3, 4]})\n"
    answer = traced(found(NEWEST_KNOWN), tmp_path, source)
    assert answer.code == 1
    assert "ValueError: pytree structure error" in answer.err
    assert [(hit.line, hit.map) for hit in answer.hits] == [(2, "jax.tree.broadcast")]


def test_a_jax_that_is_made_otherwise_is_left_alone_and_told_of(tmp_path: Path) -> None:
    (tmp_path / "jax" / "_src").mkdir(parents=True)
    (tmp_path / "jax" / "__init__.py").write_text("from jax._src import tree_util\n")
    (tmp_path / "jax" / "_src" / "tree_util.py").write_text("class PyTreeDef: pass\n")
    (tmp_path / "program.py").write_text("import jax\nprint(jax.tree_util.PyTreeDef)\n")
    answer = trace([sys.executable, "program.py"], tmp_path, "--check")
    assert answer.code == 2
    assert answer.out == "<class 'jax._src.tree_util.PyTreeDef'>\n"
    assert "could not be followed" in answer.err
    assert "Traceback" not in answer.err

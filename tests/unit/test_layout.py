"""What a formatter was content with before a migration, it is content with after it.

Each shape of a call is formatted first, then migrated where its project's settings are found, then
shown to the formatter again. Where the project has a formatter of its own, that one is asked.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.version import Version

from jaxmigrate.model import Confidence
from jaxmigrate.runner import Request, run
from jaxmigrate.versions import NEWEST_KNOWN

pytest.importorskip("ruff")

SHAPES: dict[str, str] = {
    "a short lambda": """
        def update(params, grads):
            return jax.tree.map(lambda p, g: p - g, params, grads)
    """,
    "a line that is nearly full": """
        def update(params, grads):
            new = jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)
            return new
    """,
    "one argument a line": """
        def update(params, grads):
            return jax.tree.map(
                lambda p, g: p - g,
                params,
                grads,
            )
    """,
    "arguments together on a second line": """
        def update(parameters_of_the_model, gradients_of_the_loss, learning_rate):
            return jax.tree_util.tree_map(
                lambda p, g: p - learning_rate * g, parameters_of_the_model, gradients_of_the_loss
            )
    """,
    "a lambda body in parentheses": """
        def update(params, grads):
            return jax.tree.map(
                lambda p, g: (p - g),
                params,
                grads,
            )
    """,
    "a lambda of a call": """
        def update(params, grads):
            return jax.tree.map(lambda p, g: jnp.where(g > 0, p - g, p + g), params, grads)
    """,
    "a lambda that gives a tuple": """
        def update(params, grads, moments, more_moments):
            return jax.tree.map(lambda p, g, m, n: (p, g, m, n), params, grads, moments, more_moments)
    """,
    "a lambda with a default": """
        def update(params, grads, learning_rate):
            return jax.tree.map(lambda p, g, lr=learning_rate: p - lr * g, params, grads)
    """,
    "a named callback": """
        def update(params, grads):
            return jax.tree.map(step, params, grads)
    """,
    "a factory": """
        def update(params, grads, make_step):
            return jax.tree.map(make_step(1e-3, momentum=0.9, nesterov=True), params, grads)
    """,
    "a long partial": """
        def update(params, grads, schedule):
            return jax.tree.map(
                partial(step, learning_rate=schedule(0), momentum=0.9, nesterov=True), params, grads
            )
    """,
    "starred trees": """
        def update(step, trees, first_tree, other_trees):
            one = jax.tree.map(step, *trees)
            return one, jax.tree.map(lambda *xs: sum(xs), first_tree, *other_trees)
    """,
    "with a path": """
        def update(params, grads):
            return jax.tree_util.tree_map_with_path(lambda path, p, g: p - g, params, grads)
    """,
    "a predicate": """
        def update(params, grads):
            return jax.tree.map(
                lambda p, g: p - g, params, grads, is_leaf=lambda n: isinstance(n, tuple)
            )
    """,
    "a predicate that cannot be told": """
        def update(params, grads, is_leaf=None):
            return jax.tree.map(lambda p, g: p - g, params, grads, is_leaf=is_leaf)
    """,
    "a predicate on one line": """
        def update(a, b):
            return jax.tree.map(f, a, b, is_leaf=is_pair)
    """,
    "a nested call": """
        def update(f, params, grads, moments):
            return jax.tree.map(f, jax.tree.map(f, params, grads), moments)
    """,
    "a nested call that is long": """
        def update(params, grads, moments, learning_rate):
            return jax.tree.map(
                lambda p, g: p - learning_rate * g,
                params,
                jax.tree.map(lambda g, m: g + 0.9 * m, grads, moments),
            )
    """,
    "a call in a callback": """
        def update(params, grads):
            return jax.tree.map(lambda p, g: jax.tree.map(lambda x, y: x - y, p, g), params, grads)
    """,
    "an argument of another call": """
        def update(params, grads):
            return jnp.sum(jax.tree.reduce(sum, jax.tree.map(lambda p, g: p * g, params, grads)))
    """,
    "an attribute of the result": """
        def update(params, grads):
            return jax.tree.map(lambda p, g: p - g, params, grads)["encoder"].block.weight
    """,
    "a sum of calls": """
        def update(params, grads):
            return count(jax.tree.map(max, params, grads)) + count(jax.tree.map(min, params, grads))
    """,
    "a tuple of calls": """
        def update(params, grads):
            return jax.tree.map(max, params, grads), jax.tree.map(min, params, grads)
    """,
    "a dictionary of calls": """
        def update(params, grads):
            return {
                "params": jax.tree.map(lambda p, g: p - g, params, grads),
                "moments": jax.tree.map(lambda p, g: p * g, params, grads),
            }
    """,
    "a keyword argument": """
        def update(state, grads):
            return state.replace(params=jax.tree.map(lambda p, g: p - g, state.params, grads))
    """,
    "several targets": """
        def update(self, grads):
            self.params, moments = self.last = jax.tree.map(lambda p, g: p - g, self.params, grads)
            return moments
    """,
    "an annotated target": """
        def update(params, grads):
            new_parameters: dict[str, jax.Array] = jax.tree.map(lambda p, g: p - g, params, grads)
            return new_parameters
    """,
    "an augmented target": """
        def update(total, params, grads):
            total["loss"]["by_parameter"] += jax.tree.map(lambda p, g: p - g, params, grads)
            return total
    """,
    "a comprehension": """
        def update(layers, grads):
            return [jax.tree.map(lambda p, g: p - g, p, g) for p, g in zip(layers, grads)]
    """,
    "headers": """
        def update(params, grads):
            for leaf in jax.tree.leaves(jax.tree.map(lambda p, g: p - g, params, grads)):
                print(leaf)
            with scope(jax.tree.map(lambda p, g: p - g, params, grads)) as inside:
                print(inside)
            while done(jax.tree.map(lambda p, g: p - g, params, grads)):
                pass
            if (out := jax.tree.map(lambda p, g: p - g, params, grads)) is not None:
                return out
            assert jax.tree.map(lambda p, g: p - g, params, grads), "empty"
    """,
    "decorators and defaults": """
        @register(jax.tree.map(max, SHAPES, SIZES))
        def update(params, shapes=jax.tree.map(max, SHAPES, SIZES)):
            return params
    """,
    "a conditional expression": """
        def update(params, grads, frozen):
            return params if frozen else jax.tree.map(lambda p, g: p - g, params, grads)
    """,
    "a comment behind": """
        def update(params, grads):
            new = jax.tree.map(lambda p, g: p - g, params, grads)  # one step downhill
            return new
    """,
    "comments inside": """
        def update(params, grads):
            return jax.tree.map(
                # the step
                lambda p, g: p - g,  # downhill
                params,  # the model's
                grads,
            )
    """,
    "a comment behind the last argument": """
        def update(params, grads):
            return jax.tree.map(
                lambda p, g: p - g,
                params,
                grads,  # of the loss
            )
    """,
    "deeply indented": """
        class Trainer:
            def update(self, grads):
                for _ in range(3):
                    if self.ready:
                        with self.scope:
                            self.params = jax.tree.map(lambda p, g: p - g, self.params, grads)
    """,
    "a method as callback": """
        class Trainer:
            def step(self, p, g):
                return p - g

            def update(self, grads):
                self.params = jax.tree.map(self.step, self.params, grads)
    """,
    "at the top of the module": """
        TOTALS = jax.tree.map(lambda p, g: p + g, FIRST_TABLE, SECOND_TABLE)
    """,
    "awaited and yielded": """
        async def update(params, grads):
            await send(jax.tree.map(lambda p, g: p - g, params, grads))
            yield jax.tree.map(lambda p, g: p - g, params, grads)
    """,
    "a partial": """
        subtract_the_gradients_from = partial(jax.tree_util.tree_map, lambda p, g: p - 0.1 * g)
    """,
    "a subscript": """
        def update(params, grads, table):
            return table[jax.tree.structure(jax.tree.map(lambda p, g: p - g, params, grads))]
    """,
    "a none helper": """
        def _is_none(x):
            return x is None


        def update(params, grads, learning_rate):
            return jax.tree.map(lambda p, g: p - learning_rate * g, params, grads)
    """,
    "an unpacked display": """
        def update(params, grads):
            return [*jax.tree.leaves(jax.tree.map(lambda p, g: p - g, params, grads)), *params]
    """,
    "a lambda as value": """
        subtract = lambda params, grads: jax.tree.map(lambda p, g: p - g, params, grads)  # noqa
    """,
    "a chain of methods": """
        def update(state, grads):
            return state.apply(jax.tree.map(lambda p, g: p - g, state.params, grads)).freeze().done()
    """,
    "a map by hand": """
        def add(first_tree, second_tree):
            leaves, treedef = jax.tree_util.tree_flatten(first_tree)
            others = treedef.flatten_up_to(second_tree)
            return treedef.unflatten([x + y * 2 for x, y in zip(leaves, others, strict=True)])
    """,
    "strings of both quotes": """
        def update(params, grads):
            return {"it's": jax.tree.map(lambda p, g: p - g["w"], params['"a"'], grads["b"])}
    """,
    "wide characters": """
        def update(größe, 重み, 勾配, params):
            return jax.tree.map(lambda p, g: {"説明": p, "勾配の値": g}, params, 勾配["重みの値"])
    """,
}

FALLBACKS: dict[str, str] = {
    "a fallback": """
        def update(f, params, grads):
            try:
                return jax.tree.map(f, params, grads)
            except ValueError as error:
                if "Expected None" in str(error):
                    return jax.tree.map(
                        lambda x, y: None if x is None else f(x, y),
                        params,
                        grads,
                        is_leaf=lambda x: x is None,
                    )
                raise
    """,
    "a fallback that fits a line once it stands alone": """
        def minds_none(x, y):
            return None if x is None else x + y


        def update(first, second_tree):
            try:
                c = jax.tree.map(minds_none, first, second_tree)
            except ValueError as error:
                if "Expected None" in str(error):
                    c = jax.tree.map(
                        minds_none, first, second_tree, is_leaf=lambda node: node is None
                    )
                else:
                    raise
            return c
    """,
    "a fallback with blank lines": """
        def update(f, params, grads):
            try:
                new = jax.tree.map(f, params, grads)
            except ValueError as error:
                if "Expected None" not in str(error):
                    raise

                new = jax.tree.map(
                    lambda x, y: None if x is None else f(x, y),
                    params,
                    grads,
                    is_leaf=lambda x: x is None,
                )

            return new
    """,
}
BODIES: dict[str, str] = {
    "a lambda body over several lines": """
        def update(params, grads, moments, learning_rate, weight_decay, epsilon):
            return jax.tree.map(
                lambda p, g, m: p - learning_rate * (g + weight_decay * p) / (epsilon + m**0.5)
                - 1e-3 * jnp.sign(p),
                params,
                grads,
                moments,
            )
    """,
    "a lambda of a long call": """
        def update(params, grads, learning_rate):
            return jax.tree.map(
                lambda p, g: jnp.where(jnp.isfinite(g), p - learning_rate * g, p + learning_rate * g),
                params,
                grads,
            )
    """,
    "a lambda of a conditional expression": """
        def update(params, grads, mask_of_parameters, default_for_others):
            return jax.tree.map(
                lambda p, g: p - g if mask_of_parameters is None else default_for_others,
                params,
                grads,
            )
    """,
    "a long lambda body": """
        def update(params, grads, moments, learning_rate, weight_decay):
            return jax.tree.map(
                lambda p, g, m: p - learning_rate * (g + weight_decay * p) / (1e-8 + m**0.5),
                params,
                grads,
                moments,
            )
    """,
    "a comment in a lambda body": """
        def update(params, grads):
            return jax.tree.map(
                lambda p, g: (
                    # one step downhill
                    p - g
                ),
                params,
                grads,
            )
    """,
}
HEAD = "from functools import partial\n\nimport jax\nimport jax.numpy as jnp\n\n\n"


@dataclass(frozen=True)
class Project:
    """A project's settings, and the formatter that its code is clean under."""

    files: dict[str, str]
    width: int = 88
    indent: int = 4
    black: bool = False

    def command(self, root: Path, *options: str) -> list[str]:
        """The formatter's command line; its own settings where it reads those of the project."""
        python = [sys.executable, "-m"]
        if self.black:
            return [*python, "black", "--quiet", *options, str(root)]
        own = any("ruff" in name or "ruff" in text for name, text in self.files.items())
        given = [] if own else ["--isolated", f"--config=line-length={self.width}"]
        if not own:
            given.append(f"--config=indent-width={self.indent}")
        return [*python, "ruff", "format", "--no-cache", "--quiet", *given, *options, str(root)]

    def format(self, root: Path) -> None:
        subprocess.run(self.command(root), check=True)

    def complaint(self, root: Path) -> str:
        """What the formatter would change."""
        answer = subprocess.run(
            self.command(root, "--diff"), capture_output=True, text=True, check=False
        )
        return answer.stdout


PROJECTS: dict[str, Project] = {
    "no settings": Project({}),
    "ruff's defaults": Project({"pyproject.toml": "[tool.ruff]\n"}),
    "ruff, 100 columns": Project({"pyproject.toml": "[tool.ruff]\nline-length = 100\n"}, 100),
    "ruff.toml, 79 columns": Project({"ruff.toml": "line-length = 79\n"}, 79),
    "ruff, 2 spaces": Project({"ruff.toml": "line-length = 80\nindent-width = 2\n"}, 80, 2),
    "ruff, single quotes": Project({"ruff.toml": '[format]\nquote-style = "single"\n'}),
    "ruff, tabs": Project({"ruff.toml": '[format]\nindent-style = "tab"\n'}),
    "ruff, no magic commas": Project({"ruff.toml": "[format]\nskip-magic-trailing-comma = true\n"}),
    "black": Project({"pyproject.toml": "[tool.black]\nline-length = 88\n"}, black=True),
    "black, 100 columns": Project(
        {"pyproject.toml": "[tool.black]\nline-length = 100\n"}, 100, black=True
    ),
    "editorconfig": Project(
        {".editorconfig": "[*.py]\nmax_line_length = 100\nindent_size = 4\n"}, 100
    ),
    "pylintrc, 2 spaces": Project(
        {".pylintrc": "[FORMAT]\nmax-line-length=80\nindent-string='  '\n"}, 80, 2
    ),
    "pyproject of several tools": Project(
        {
            "pyproject.toml": "[tool.black]\nline-length = 88\n\n[tool.ruff]\nline-length = 120\n",
            "setup.cfg": "[flake8]\nmax-line-length = 100\n",
        },
        120,
    ),
    "settings above the sources": Project({"pyproject.toml": "[tool.ruff]\nline-length = 100\n"}),
    "setup.cfg": Project({"setup.cfg": "[flake8]\nmax-line-length = 100\n"}, 100),
}


ROOTED = Project(
    {".editorconfig": "root = true\n\n[*.py]\nmax_line_length = 100\nindent_size = 4\n"}, 100
)
RULERS = ("ruff's defaults", "ruff, 2 spaces", "black")
# Black breaks these in other places than ruff does.
RUFF_ONLY = ("a long partial",)


def written(root: Path, project: Project, shapes: dict[str, str]) -> None:
    """Write the project, a file a shape, clean under its formatter."""
    for name, text in project.files.items():
        (root / name).write_text(text)
    folder = root / "src" / "package"
    folder.mkdir(parents=True)
    for name, shape in shapes.items():
        source = HEAD + textwrap.dedent(shape).lstrip("\n")
        (folder / f"{name.replace(' ', '_')}.py").write_text(source, encoding="utf-8")
    project.format(root)
    assert not project.complaint(root)


def migrated(root: Path) -> list[str]:
    """Migrate every file in place; those in which nothing was edited."""
    target = Version(str(NEWEST_KNOWN))
    result = run(Request((root,), root, target, Confidence.POSSIBLE, jobs=1))
    for file in result.files:
        assert file.failure is None, f"{file.path}: {file.failure}"
        (root / file.path).write_bytes(file.after)
    return [file.path for file in result.files if not file.changed]


def stays_clean(root: Path, project: Project, shapes: dict[str, str]) -> None:
    if project.black:
        pytest.importorskip("black")
    written(root, project, shapes)
    assert not migrated(root), "every shape is to be edited"
    complaint = project.complaint(root)
    assert not complaint, complaint


@pytest.mark.parametrize("name", PROJECTS)
def test_what_was_clean_stays_clean(name: str, tmp_path: Path) -> None:
    project = PROJECTS[name]
    left_out = RUFF_ONLY if project.black else ()
    shapes = {shape: text for shape, text in SHAPES.items() if shape not in left_out}
    stays_clean(tmp_path, project, shapes)


BLACK_NESTS = pytest.mark.xfail(strict=True, reason="black breaks nested conditionals elsewhere")


@pytest.mark.xfail(strict=True, reason="black breaks the default of a lambda's parameter")
@pytest.mark.parametrize("shape", RUFF_ONLY)
def test_what_black_breaks_elsewhere(shape: str, tmp_path: Path) -> None:
    stays_clean(tmp_path, PROJECTS["black"], {shape: SHAPES[shape]})


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=BLACK_NESTS) if name.startswith("black") else name
        for name in RULERS
    ],
)
def test_a_body_of_several_lines_is_laid_out_with_its_guard(name: str, tmp_path: Path) -> None:
    stays_clean(tmp_path, PROJECTS[name], BODIES)


@pytest.mark.parametrize("name", RULERS)
def test_a_fallback_that_becomes_a_statement_of_its_own(name: str, tmp_path: Path) -> None:
    stays_clean(tmp_path, PROJECTS[name], {"a fallback": FALLBACKS["a fallback"]})


@pytest.mark.parametrize("shape", [shape for shape in FALLBACKS if shape != "a fallback"])
def test_a_fallback_is_laid_out_where_it_comes_to_stand(shape: str, tmp_path: Path) -> None:
    stays_clean(tmp_path, PROJECTS["ruff's defaults"], {shape: FALLBACKS[shape]})


def test_an_editorconfig_may_begin_with_root(tmp_path: Path) -> None:
    stays_clean(tmp_path, ROOTED, SHAPES)

"""Real packages: every promise of a run that can be checked from outside, file by file."""

from __future__ import annotations

import ast
import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from whole_runs import committed, contents, differing, git, jaxmigrate

from benchmarks.packages import PACKAGES, Package, Unreachable, unpacked

pytestmark = pytest.mark.packages

RETIRED = frozenset(
    (
        *("tree_map", "tree_leaves", "tree_flatten", "tree_unflatten", "tree_structure"),
        *("tree_transpose", "treedef_is_leaf", "tree_all", "tree_reduce", "tree_multimap"),
    )
)


@pytest.fixture(scope="module", params=PACKAGES, ids=str)
def checkout(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    package = request.param
    assert isinstance(package, Package)
    try:
        folder = unpacked(package.name, package.version)
    except Unreachable as error:
        pytest.skip(str(error))
    copy = shutil.copytree(folder, tmp_path_factory.mktemp("packages") / str(package))
    return committed(Path(copy))


@pytest.mark.parametrize("confidence", ["likely", "possible"])
def test_a_run_keeps_its_promises(checkout: Path, tmp_path: Path, confidence: str) -> None:
    git(checkout, "reset", "-q", "--hard")
    original = contents(checkout)
    patch = tmp_path / "all.patch"
    options = ("--confidence", confidence, "--format", "json")

    preview = jaxmigrate(checkout, "run", *options, "--patch", patch)
    report = json.loads(preview.stdout)
    failed = {file["path"]: file["error"] for file in report["files"] if file["status"] == "failed"}
    assert preview.returncode == (3 if failed else 0), (preview.stderr, failed)
    assert all(failed.values())
    assert contents(checkout) == original

    git(checkout, "apply", "--allow-empty", patch)
    patched = contents(checkout)
    git(checkout, "apply", "-R", "--allow-empty", patch)
    assert contents(checkout) == original

    written = jaxmigrate(checkout, "run", *options, "--write")
    assert written.returncode == preview.returncode, written.stderr
    assert contents(checkout) == patched
    changed = {file["path"] for file in report["files"] if file["status"] == "changed"}
    assert differing(original, patched) == changed
    for path in changed:
        compile(patched[path], path, "exec", dont_inherit=True)
    left = [
        f"{path}:{line} {name}"
        for path, data in patched.items()
        if path.endswith(".py") and path not in failed
        for line, name in retired_names(data)
    ]
    assert left == []

    again = jaxmigrate(checkout, "run", *options, "--write", "--allow-dirty")
    assert again.returncode == preview.returncode, again.stderr
    assert json.loads(again.stdout)["summary"]["edited"] == {}
    assert contents(checkout) == patched


def retired_names(source: bytes) -> Iterator[tuple[int, str]]:
    """Every retired tree function that a file names as JAX's, counted without any code of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nodes = list(ast.walk(ast.parse(source)))
    bound = {"jax": "jax"}
    for node in nodes:
        if isinstance(node, ast.Import):
            bound |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and node.module in ("jax", "jax.tree_util"):
            names = {alias.asname or alias.name: alias.name for alias in node.names}
            bound |= {name: f"{node.module}.{old}" for name, old in names.items()}
            yield from (
                (node.lineno, f"{node.module}.{old}")
                for old in names.values()
                if is_retired(f"{node.module}.{old}")
            )
    for node in nodes:
        if isinstance(node, ast.Attribute):
            first, dot, rest = ast.unparse(node).partition(".")
            if is_retired(f"{bound.get(first, first)}{dot}{rest}"):
                yield node.lineno, ast.unparse(node)


def is_retired(name: str) -> bool:
    owner, _, last = name.rpartition(".")
    return (owner == "jax" and last in RETIRED) or name == "jax.tree_util.tree_multimap"


def test_the_count_sees_every_spelling() -> None:
    source = (
        b"import jax as j\nimport jax.tree_util as tu\nfrom jax import tree_util, tree_map as tm\n"
        b"from jax.tree_util import tree_map, tree_multimap\n"
        b"j.tree_leaves, tu.tree_multimap, tree_util.tree_multimap, jax.tree_util.tree_map, jnp.tree_map\n"
    )
    assert sorted(retired_names(source)) == [
        (3, "jax.tree_map"),
        (4, "jax.tree_util.tree_multimap"),
        (5, "j.tree_leaves"),
        (5, "tree_util.tree_multimap"),
        (5, "tu.tree_multimap"),
    ]

"""sentinel-placeholders on its fixtures, and the sentinels it knows in JAX itself."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import types
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from fixture_runner import Case, cases
from hypothesis import given, settings
from hypothesis import strategies as st

from jaxmigrate.analysis.jaxnames import NOT_MAPPED, NOT_MAPPED_TYPE, UNREPLACED_SENTINELS
from jaxmigrate.model import Action
from jaxmigrate.runner import migrate_source

CASES = cases("sentinel-placeholders")
every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_case
def test_what_cannot_be_edited_is_reported(case: Case) -> None:
    sites = case.migrate(case.before).sites
    reported = [site for site in sites if site.action is Action.REPORT]
    assert len(reported) == case.facts.get("reported", 0)
    assert not [site for site in sites if site.action is Action.HOLD]


def migrated(source: str, *select: str) -> str:
    result = migrate_source(textwrap.dedent(source).lstrip("\n"), select=select)
    assert result.failure is None
    return result.after.decode()


@pytest.mark.parametrize(
    ("head", "tree"),
    [
        ("from jax.interpreters import batching", '{"a": 0, "b": batching.not_mapped}'),
        ("from jax.interpreters.batching import not_mapped as nm", "[0, nm]"),
        ("import jax.interpreters.batching as b\nhole = b.not_mapped", '{"a": 0, "b": hole}'),
        ("from jax.interpreters.batching import *", "(0, not_mapped)"),
    ],
)
def test_a_tree_that_holds_the_sentinel_is_guarded_in_the_same_run(head: str, tree: str) -> None:
    source = f"import jax\n{head}\n\nq = jax.tree.map(lambda d, x: x + d, {tree}, xs)\n"
    assert "None if d is None else x + d" in migrated(source)


def test_a_field_that_may_be_the_sentinel_is_optional() -> None:
    after = migrated(
        """
        from typing import NamedTuple

        import jax
        from jax.interpreters.batching import NotMapped


        class Axes(NamedTuple):
            w: int | NotMapped


        def move(axes: Axes, xs):
            return jax.tree.map(lambda d, x: x + d, axes, xs)
        """
    )
    assert "w: int | None" in after
    assert "None if d is None else x + d" in after


def test_a_sentinel_that_was_asked_for_is_no_longer_suspected() -> None:
    after = migrated(
        """
        import jax
        from jax.interpreters import batching


        def move(xs, axes=batching.not_mapped):
            if axes is batching.not_mapped:
                return xs
            return jax.tree.map(lambda d, x: x + d, axes, xs)
        """
    )
    assert "if axes is None:" in after
    assert "is_leaf" not in after


PROGRAM = """
import jax
from jax.interpreters import batching
from jax.interpreters.batching import NotMapped, not_mapped

def rule(d):
    return (
        d is not_mapped, d is not batching.not_mapped, d == not_mapped, d!=not_mapped,
        isinstance(d, NotMapped), not isinstance(d, (int, batching.NotMapped)),
        isinstance(d, NotMapped) == isinstance(0, NotMapped), {NotMapped: 1}.get(type(d)),
    )

def main():
    return [rule(d) for d in (0, 1, not_mapped, None, "", (), 0.5)]
"""


def test_what_is_edited_gives_what_it_gave_where_the_sentinel_was(tmp_path: Path) -> None:
    stub = tmp_path / "jax" / "interpreters"
    stub.mkdir(parents=True)
    (tmp_path / "jax" / "__init__.py").write_text("")
    (stub / "__init__.py").write_text("")
    old = "not_mapped = None\nNotMapped = type(None)\n"
    for words, source in ((old, PROGRAM), ("", migrated(PROGRAM))):
        (stub / "batching.py").write_text(words)
        (tmp_path / "program.py").write_text(source)
        command = [sys.executable, "-B", "-c", "import program; print(program.main())"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        (tmp_path / f"said{bool(words)}").write_text(ran.stdout)
    assert (tmp_path / "saidTrue").read_text() == (tmp_path / "saidFalse").read_text()


SENTINELS = ("not_mapped", "batching.not_mapped", "(not_mapped)")
TYPES = ("NotMapped", "batching.NotMapped")
AXES = ("d", "(d or 0)", "e[0]", "f(d)", "(g := d)", "not_mapped")
TESTS = st.one_of(
    st.builds(
        "{} {} {}".format,
        st.sampled_from(AXES),
        st.sampled_from(["is", "is not", "==", "!="]),
        st.sampled_from(SENTINELS),
    ),
    st.builds("{}=={}".format, st.sampled_from(SENTINELS), st.sampled_from(AXES)),
    st.builds(
        "isinstance({}, {})".format,
        st.sampled_from([*AXES, "d if d else 0", "d or not_mapped", "lambda: d", "d is e"]),
        st.sampled_from([*TYPES, "(int, NotMapped)", "int | NotMapped", "type(not_mapped)"]),
    ),
)
USES = st.recursive(
    st.one_of(TESTS, st.sampled_from([*SENTINELS, "d"]), st.sampled_from(["f(NotMapped)", "e"])),
    lambda inner: st.one_of(
        st.builds("not {}".format, inner),
        st.builds("({}) == ({})".format, inner, inner),
        st.builds("{} and {}".format, TESTS, inner),
        st.builds("1 + {}".format, TESTS.filter(lambda test: test.startswith("isinstance"))),
        st.builds("-{}".format, TESTS.filter(lambda test: test.startswith("isinstance"))),
        st.builds("[{}, {}][0]".format, inner, inner),
        st.builds("({} if {} else {})".format, inner, TESTS, inner),
        st.builds("f(({}), {}) is {}".format, inner, TESTS, st.sampled_from(SENTINELS)),
        st.builds("{{({}): 1}}".format, TESTS),
    ),
    max_leaves=5,
)
HEAD = """from jax.interpreters import batching
from jax.interpreters.batching import NotMapped, moveaxis, not_mapped

batching.primitive_batchers
moveaxis


"""


def said(source: str) -> list[str]:
    """What the function `rule` of a module gives for some axes, its imports put aside."""
    body = "\n".join(line for line in source.splitlines() if not line.startswith("from"))
    batching = types.SimpleNamespace(
        not_mapped=None, NotMapped=type(None), primitive_batchers={}, moveaxis=None
    )
    names = {**vars(batching), "batching": batching, "f": lambda x, *_: x}
    exec(body, names)
    return [repr(_said(names["rule"], d)) for d in (0, 1, None, "", ())]


def _said(rule: Callable[..., object], axis: object) -> object:
    try:
        return rule(axis, [axis])
    except TypeError:
        return TypeError


@given(USES)
@settings(deadline=None, max_examples=200)
def test_a_use_in_any_place_means_what_it_meant(use: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = f"{HEAD}def rule(d, e):\n    return {use}\n"
        after = migrated(before, "sentinel-placeholders")
        assert said(after) == said(before)
    uses = after.partition("def rule")[2]
    assert "not_mapped" not in uses
    assert "NotMapped" not in uses


@pytest.mark.parametrize("name", sorted(NOT_MAPPED | NOT_MAPPED_TYPE))
def test_todays_jax_has_the_sentinel_no_more(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    imported = pytest.importorskip(module)
    if tuple(map(int, pytest.importorskip("jax").__version__.split(".")[:2])) < (0, 10):
        pytest.skip("this JAX has it still")
    with pytest.raises(AttributeError):
        getattr(imported, attribute)


@pytest.mark.parametrize("name", sorted(UNREPLACED_SENTINELS))
def test_what_is_reported_says_what_to_do(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    result = migrate_source(f"from {module} import {attribute}\n")
    (site,) = [site for site in result.sites if site.codemod == "sentinel-placeholders"]
    assert site.action is Action.REPORT
    assert site.reason.startswith(f"{name} ")

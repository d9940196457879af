"""Where hits are found in the source as it is now, and what is said of those that are not."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from jaxmigrate.analysis.aliases import project_aliases
from jaxmigrate.analysis.project import Project
from jaxmigrate.evidence.files import ProjectFiles
from jaxmigrate.evidence.hits import Hit, HitKind, Installed, Place
from jaxmigrate.evidence.logs import hits_in
from jaxmigrate.evidence.matching import Matched, match

ROOT = Path("/work")
LOGS = Path(__file__).resolve().parents[1] / "fixtures" / "logs"

STEP = """import jax


def step(p, g):
    return jax.tree.map(
        lambda x, y: x - y,
        p,
        g,
    )
"""
STEP_HIT = Hit(
    "step.py",
    5,
    function="step",
    text="return jax.tree.map(",
    end_line=9,
    column=12,
    end_column=6,
    places=(Place("['b']", "float32 array"),),
)
NESTED = """import jax


def step(p, g):
    return jax.tree.map(add, jax.tree.map(mul, p, g), g)
"""


def without_columns(hit: Hit) -> Hit:
    """The hit as a log has it."""
    return dataclasses.replace(hit, end_line=None, column=None, end_column=None)


def matched(files: Mapping[str, str], *hits: Hit) -> Matched:
    """What the hits are found to be in a project of these files."""
    project = Project(files, dict(files).get, project_aliases(files.values()))
    return match(hits, project, list(files), ROOT)


def met(files: Mapping[str, str], *hits: Hit) -> dict[tuple[str, int], list[str]]:
    """What is proven: file and line of calls, with the notes."""
    found = matched(files, *hits).met
    return {
        (path, line): [each.note for each in evidence]
        for (path, line, _), evidence in found.items()
    }


def why_not(files: Mapping[str, str], hit: Hit) -> str:
    """Why a hit is found nowhere."""
    answer = matched(files, hit)
    assert answer.met == answer.gone == {}
    (piece,) = answer.leftover.unmatched
    assert (piece.path, piece.line) == (hit.path, hit.line)
    return piece.note


NOTE = "['b'] met float32 array in a run"


def test_a_call_is_found_by_its_span() -> None:
    assert met({"step.py": STEP}, STEP_HIT) == {("step.py", 5): [NOTE]}


def test_columns_are_those_of_characters() -> None:
    line = 's = "é", jax.tree.map(f, p, g), jax.tree.map(f, q, g)'
    hit = Hit("a.py", 2, text=line, end_line=2, column=33, end_column=54)
    found = matched({"a.py": f"import jax\n{line}\n"}, hit).met
    assert list(found) == [("a.py", 2, 33)]  # one byte more than characters, counted from 0


@pytest.mark.parametrize("line", [5, 6, 7, 8, 9])
def test_without_columns_it_is_the_call_that_stands_across_the_line(line: int) -> None:
    text = STEP.splitlines()[line - 1].strip()
    hit = Hit("step.py", line, function="step", text=text)
    assert list(met({"step.py": STEP}, hit)) == [("step.py", 5)]


def test_a_call_is_found_where_its_line_moved_to() -> None:
    now = STEP.replace("import jax\n", "import jax\nimport optax\n\n")
    assert list(met({"step.py": now}, STEP_HIT)) == [("step.py", 7)]


def test_a_call_that_moved_is_looked_for_in_its_own_function() -> None:
    other = STEP.replace("def step", "def other").replace("import jax\n", "")
    now = STEP.replace("import jax\n", f"import jax\n{other}")
    assert list(met({"step.py": now}, STEP_HIT)) == [("step.py", 13)]


def test_a_line_that_reads_the_same_twice_in_its_function_is_not_guessed() -> None:
    line = "    a = jax.tree.map(f, p, g)\n"
    now = f"import jax\n\n\ndef step(p, g):\n    print()\n{line}{line}"
    hit = Hit("step.py", 4, function="step", text=line.strip())
    assert "could be 2 here" in why_not({"step.py": now}, hit)


def test_a_line_that_is_gone_is_not_guessed() -> None:
    now = STEP.replace("return jax.tree.map(", "new = jax.tree.map(")
    why = "it does not stand here any more, and no other line in step reads so"
    assert why_not({"step.py": now}, STEP_HIT) == why


GUARD = "is_leaf=lambda n: n is None"


@pytest.mark.parametrize(
    ("now", "is_mended"),
    [
        ([f"m = jax.tree.map(f, m, g, {GUARD})"], True),
        ([f"m = jax.tree.map(f, m, g, {GUARD})", "v = jax.tree.map(f, v, g)"], True),
        ([f"m = jax.tree.map(f, m, g, {GUARD})", "m = jax.tree.map(f, m, h)"], False),
        ([f"m = jax.tree.map(f, jax.tree.map(k, m, v), g, {GUARD})"], False),
        (["m = jax.tree.map(f, m, h)"], False),
        ([f"v = jax.tree.map(f, m, g, {GUARD})"], False),
        (["m = tm(f, m, g)"], False),
        (["pass"], False),
    ],
)
def test_a_call_that_is_guarded_by_now_is_set_apart_and_no_other(
    now: list[str], is_mended: bool
) -> None:
    text = "import jax\n\n\ndef step(m, v, g, h, tm):\n" + "".join(f"    {line}\n" for line in now)
    for old in ("m = jax.tree.map(f, m, g)", "m = jax.tree_map(f, m, g)"):
        left = matched({"a.py": text}, Hit("a.py", 9, "step", old, "jax.tree.map")).leftover
        assert (bool(left.mended), bool(left.unmatched)) == (is_mended, not is_mended)


def test_a_call_that_is_not_seen_is_never_mended() -> None:
    text = f"import jax\nm = jax.tree.map(f, m, g, {GUARD})\nm = tm(f, m, g)\n"
    hit = Hit("a.py", 2, text="m = tm(f, m, g)", map="jax.tree.map")
    assert "in what is line 3 now, which is not seen" in why_not({"a.py": text}, hit)


def test_one_guard_stands_for_one_call() -> None:
    text = f"import jax\nx = jax.tree.map(f, m, g, {GUARD})\ny = jax.tree.map(f, v, g)\n"
    hits = [Hit("a.py", n, text=f"x = jax.tree.map(f, {t}, g)") for n, t in ((7, "m"), (8, "v"))]
    left = matched({"a.py": text}, *hits, hits[0]).leftover
    assert [piece.line for piece in left.mended] == [7]
    assert [piece.line for piece in left.unmatched] == [8]


def test_lines_that_read_alike_are_mended_once_all_are_guarded() -> None:
    calls = f"    a = jax.tree.map(\n        f, p, g, {GUARD}\n    )\n" * 2
    text = f"import jax\n\n\n\ndef step(p, g):\n{calls}"
    hit = Hit("a.py", 5, "step", "a = jax.tree.map(")
    assert matched({"a.py": text}, hit).leftover.mended
    undone = text[::-1].replace(GUARD[::-1], "", 1)[::-1]
    assert "could be 2 here" in why_not({"a.py": undone}, hit)


def test_a_name_that_is_gone_from_its_function_is_mended() -> None:
    hit = Hit("a.py", 2, "f", "return jax.tree_map(g, t)", "jax.tree_map", HitKind.REMOVED_NAME)
    text = "import jax\ndef f(t):\n    return {}(g, t)\n"
    assert matched({"a.py": text.format("jax.tree.map")}, hit).leftover.mended
    assert "any more" in why_not(
        {"a.py": text.format("jax.tree.map").replace("def f", "def k")}, hit
    )
    assert "any more" in why_not({"a.py": text.format("1 + jax.tree_map")}, hit)


def test_a_function_that_has_another_name_now_is_not_guessed() -> None:
    now = STEP.replace("import jax\n", "import jax\n\n").replace("def step", "def update")
    assert "no other line in step reads so" in why_not({"step.py": now}, STEP_HIT)


def test_without_source_the_function_must_be_the_same() -> None:
    hit = Hit("step.py", 5, function="step")
    assert list(met({"step.py": STEP}, hit)) == [("step.py", 5)]
    renamed = STEP.replace("def step", "def update")
    assert "does not stand on this line" in why_not({"step.py": renamed}, hit)


def test_one_of_two_calls_on_a_line_is_found_by_columns_only() -> None:
    text = "return jax.tree.map(add, jax.tree.map(mul, p, g), g)"
    inner = Hit("a.py", 5, "step", text, end_line=5, column=30, end_column=53)
    assert list(matched({"a.py": NESTED}, inner).met) == [("a.py", 5, 29)]
    why = "a tree map over several trees could be 2 here, and which is not said"
    assert why_not({"a.py": NESTED}, without_columns(inner)) == why


def test_one_of_two_calls_on_a_line_that_moved_is_found_by_its_column() -> None:
    text = "return jax.tree.map(add, jax.tree.map(mul, p, g), g)"
    inner = Hit("a.py", 5, "step", text, end_line=5, column=30, end_column=53)
    assert list(matched({"a.py": f"\n{NESTED}"}, inner).met) == [("a.py", 6, 29)]


def test_a_map_over_one_tree_on_the_same_line_is_none() -> None:
    line = "a = jax.tree.map(f, jax.tree.map(g, p), q)"
    found = matched({"a.py": f"import jax\n{line}\n"}, Hit("a.py", 2, text=line)).met
    assert list(found) == [("a.py", 2, 4)]


def test_a_line_without_a_tree_map_is_none() -> None:
    hit = Hit("step.py", 4, function="step", text="def step(p, g):")
    assert why_not({"step.py": STEP}, hit).endswith("does not stand on this line")


UNSEEN = "a = jax.tree.map(f, self.tm(g, p, q), r)"
UNSEEN_HIT = Hit("a.py", 2, "", UNSEEN, "jax.tree.map", end_line=2, column=21, end_column=37)


def test_a_call_that_is_not_seen_proves_no_other_on_its_line() -> None:
    why = "a run called jax.tree.map here, which is not seen in the source; guard it by hand"
    assert why_not({"a.py": f"import jax\n{UNSEEN}\n"}, UNSEEN_HIT) == why


def test_a_call_that_is_not_seen_is_named_where_its_line_moved_to() -> None:
    line = "a = self.tm(g, p, q)"
    hit = Hit("a.py", 2, "", line, "jax.tree.map")
    assert why_not({"a.py": f"import jax\n\n\n{line}\n"}, hit) == (
        "a run called jax.tree.map in what is line 4 now, which is not seen in the source;"
        " guard it by hand"
    )


def test_a_function_without_codemod_proves_nothing_else_on_its_line() -> None:
    line = "a = jax.tree.map(f, jax.tree.broadcast(p, q), q)"
    hit = Hit("a.py", 2, text=line, map="jax.tree.broadcast")
    why = "jax.tree.broadcast needs a guard, and no codemod writes it"
    assert why_not({"a.py": f"import jax\n{line}\n"}, hit) == why


def test_the_wrapper_of_a_project_is_the_call_that_is_proven() -> None:
    wrapper = "import jax\n\n\ndef tmap(f, *t):\n    return jax.tree_util.tree_map(f, *t)\n"
    hit = Hit("utils.py", 5, "tmap", "return jax.tree_util.tree_map(f, *t)")
    files = {"utils.py": wrapper, "a.py": "from utils import tmap\ntmap(f, a, b)\n"}
    assert list(met(files, hit)) == [("utils.py", 5)]


def test_a_call_by_a_partial_proves_the_partial_too() -> None:
    text = (
        "from functools import partial\nimport jax\nadd = partial(jax.tree.map, plus)\nadd(a, b)\n"
    )
    assert list(met({"a.py": text}, Hit("a.py", 4, text="add(a, b)"))) == [("a.py", 4), ("a.py", 3)]


def test_a_map_written_out_by_hand_is_found() -> None:
    text = "import jax\nleaves, treedef = jax.tree.flatten(a)\nothers = treedef.flatten_up_to(b)\n"
    hit = Hit("a.py", 3, text="others = treedef.flatten_up_to(b)")
    assert list(met({"a.py": text}, hit)) == [("a.py", 3)]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import jax\nx = jax.tree_map(f, t)\n", 2),
        ("from jax import tree_map\n", 1),
        ("from jax.tree_util import tree_multimap as tm\n", 1),
    ],
)
def test_a_name_that_is_gone_is_found_where_it_stands(text: str, line: int) -> None:
    source = text.splitlines()[line - 1]
    hit = Hit("a.py", line, text=source, map="jax.tree_map", kind=HitKind.REMOVED_NAME)
    answer = matched({"a.py": text}, hit)
    assert [position[1] for position in answer.gone] == [line]
    assert answer.met == {}
    assert not answer.leftover.unmatched


def test_a_name_that_is_gone_proves_no_none() -> None:
    text = "import jax\nx = jax.tree_map(f, p, g)\n"
    hit = Hit("a.py", 2, text="x = jax.tree_map(f, p, g)", kind=HitKind.REMOVED_NAME)
    assert matched({"a.py": text}, hit).met == {}


def test_what_several_runs_say_of_a_call_is_said_once() -> None:
    tests = [dataclasses.replace(STEP_HIT, tests=(f"test_{n}.py::test",)) for n in range(3)]
    other = dataclasses.replace(STEP_HIT, places=(Place("", ""),))
    assert met({"step.py": STEP}, *tests, tests[0], other) == {
        ("step.py", 5): [f"{NOTE} (test_0.py::test and 2 more)", "None met a value in a run"]
    }


@pytest.mark.parametrize(
    ("path", "files", "found"),
    [
        ("step.py", ["step.py", "src/step.py"], ["step.py"]),
        ("/work/src/step.py", ["step.py", "src/step.py"], ["src/step.py"]),
        ("/content/project/src/step.py", ["step.py", "src/step.py"], ["src/step.py"]),
        ("~/project/src/step.py", ["step.py", "src/step.py"], ["src/step.py"]),
        ("C:\\u\\src\\step.py", ["step.py", "src/step.py"], ["src/step.py"]),
        ("/content/step.py", ["src/step.py"], ["src/step.py"]),
        ("/content/step.py", ["a/step.py", "b/step.py"], ["a/step.py", "b/step.py"]),
        ("../step.py", ["step.py"], ["step.py"]),
        ("/work/left/out/step.py", ["step.py"], []),
        ("/content/other.py", ["step.py"], []),
        ("/content/mystep.py", ["step.py"], []),
        ("../../etc/passwd", ["step.py"], []),
        ("", ["step.py"], []),
        (
            "/elsewhere/lib/step.py",
            ["/elsewhere/lib/step.py", "step.py"],
            ["/elsewhere/lib/step.py"],
        ),
    ],
)
def test_a_path_means_the_files_whose_paths_end_alike_for_longest(
    path: str, files: list[str], found: list[str]
) -> None:
    assert ProjectFiles(files, ROOT).named(path) == found


def test_a_file_that_could_be_one_of_two_is_not_guessed() -> None:
    hit = dataclasses.replace(STEP_HIT, path="/content/step.py")
    assert why_not({"a/step.py": STEP, "b/step.py": STEP}, hit) == (
        "this may be any of a/step.py, b/step.py"
    )


def test_a_name_alone_does_for_a_file_only_where_the_source_is_shown() -> None:
    hit = dataclasses.replace(STEP_HIT, path="/content/other/step.py")
    assert list(met({"src/step.py": STEP}, hit)) == [("src/step.py", 5)]
    bare = dataclasses.replace(hit, text="")
    assert "only the name is that of src/step.py" in why_not({"src/step.py": STEP}, bare)


def test_what_a_log_lacks_is_told_of_a_call_that_is_not_found() -> None:
    words = (
        "/e/lib/python3.11/site-packages/jax/_src/tree.py:154: DeprecationWarning: In a future release"
        " of JAX, flatten-up-to will no longer consider None to be a tree-prefix of non-None values,"
        " got: 1.0."
    )
    (hit,) = hits_in([words])
    assert why_not({"step.py": STEP}, hit) == (
        "no line outside JAX is named; a warning names but a line near the call: python -W"
        " error::DeprecationWarning, or pytest with the same, makes a traceback of it"
    )
    hit = dataclasses.replace(hit, path="nowhere.py", hint="look there")
    assert why_not({"step.py": STEP}, hit) == "no file of this run has this path; look there"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("nowhere.py", "no file of this run has this path"),
        ("Cell In[3]", "a cell of a notebook: which file it is from is not known"),
        ("/e/lib/python3.10/site-packages/jax/_src/tree_util.py", "no line outside JAX is named"),
        ("/e/lib/python3.10/site-packages/_pytest/python.py", "no line outside JAX is named"),
        ("<string>", "code that was typed in or generated is in no file"),
        ("broken.py", "the file cannot be parsed"),
    ],
)
def test_the_reason_is_told(path: str, why: str) -> None:
    files = {"step.py": STEP, "broken.py": "def f(:\n"}
    assert why in why_not(files, Hit(path, 5, text="return jax.tree.map("))


def test_the_release_that_mended_a_package_is_told() -> None:
    path = "/e/lib/python3.10/site-packages/optax/_src/update.py"
    hit = Hit(path, 42, function="apply_updates", package=Installed("optax", "0.2.2"))
    (found,) = matched({}, hit).leftover.in_packages
    assert found.evidence.note == "None met a value in a run; upgrade to 0.2.4"


@pytest.mark.parametrize(
    ("package", "words"), [(Installed("optax", "0.2.2"), "optax 0.2.2"), (None, "optax")]
)
def test_a_hit_in_a_package_is_a_list_of_its_own(package: Installed | None, words: str) -> None:
    path = "/e/lib/python3.10/site-packages/optax/_src/update.py"
    answer = matched({"update.py": STEP}, Hit(path, 5, package=package, places=STEP_HIT.places))
    assert (answer.met, answer.leftover.unmatched) == ({}, ())
    (found,) = answer.leftover.in_packages
    assert (found.package, found.evidence.path, found.evidence.note) == (words, path, NOTE)


def test_a_package_that_is_the_project_itself_is_matched() -> None:
    path = "/e/lib/python3.10/site-packages/optax/_src/update.py"
    hit = dataclasses.replace(STEP_HIT, path=path, package=Installed("optax", "0.2.2"))
    assert list(met({path: STEP}, hit)) == [(path, 5)]


def test_a_hit_inside_a_comprehension_or_lambda_is_found_by_either_name() -> None:
    text = "import jax\n\n\ndef step(ts):\n    return [jax.tree.map(f, a, b) for a, b in ts]\n"
    for function in ("<listcomp>", "step", "Trainer.step"):
        hit = Hit("a.py", 4, function, "return [jax.tree.map(f, a, b) for a, b in ts]")
        assert list(met({"a.py": text}, hit)) == [("a.py", 5)]


def test_of_many_places_the_first_are_told() -> None:
    places = tuple(Place(f"[{n}]", "float") for n in range(5))
    hit = dataclasses.replace(STEP_HIT, places=places, tests=("test_a.py::test",))
    assert met({"step.py": STEP}, hit) == {
        ("step.py", 5): ["[0] met float, [1] met float and 3 more in a run (test_a.py::test)"]
    }


@pytest.mark.parametrize("seed", range(200))
def test_a_damaged_log_proves_no_other_call(seed: int) -> None:
    chance = random.Random(seed)
    logs = [file.read_bytes().decode().splitlines() for file in sorted(LOGS.glob("*/log.txt"))]
    one, other = chance.choice(logs), chance.choice(logs)
    cut = [line for line in one if chance.random() > 0.1][: chance.randrange(len(one) + 1)]
    hits = hits_in([*cut, *other[chance.randrange(len(other) + 1) :]])
    files = {file.name: file.read_text(encoding="utf-8") for file in LOGS.glob("project/*.py")}
    answer = matched(files, *hits)
    assert {position[:2] for position in answer.met} <= {("update.py", 8), ("update.py", 18)}
    assert {position[:2] for position in answer.gone} <= {("update.py", 30), ("old_import.py", 3)}

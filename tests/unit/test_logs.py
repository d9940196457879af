"""What is read out of logs: those in `tests/fixtures/logs`, printed by real runs, and variations of them."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from jaxmigrate.evidence.hits import Hit, HitKind, Place
from jaxmigrate.evidence.log_lines import cleaned
from jaxmigrate.evidence.logs import hits_in
from jaxmigrate.evidence.places import is_cell, is_machinery, package_of
from jaxmigrate.evidence.reading import read_evidence
from jaxmigrate.evidence.words import notes_of

LOGS = Path(__file__).resolve().parents[1] / "fixtures" / "logs"
CASES = sorted(file.parent for file in LOGS.glob("*/case.toml"))


def read(text: str) -> tuple[Hit, ...]:
    """The hits in a text."""
    return hits_in(text.splitlines(keepends=True))


def log(name: str) -> str:
    """The text of one of the logs."""
    return (LOGS / name / "log.txt").read_bytes().decode()


def told(hit: Hit) -> str:
    """A hit in one line, as `case.toml` has it: place, function, and what evidence says of it."""
    notes = ", ".join(notes_of([hit])).replace(" in a run", "")
    return f"{hit.path}:{hit.line} {hit.function or '?'}: {notes}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_hits_of_a_real_log_are_those_that_its_case_names(case: Path) -> None:
    expected = tomllib.loads((case / "case.toml").read_text(encoding="utf-8"))["hits"]
    assert [told(hit) for hit in read_evidence(case / "log.txt").hits] == expected


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_source_that_a_log_shows_is_that_of_the_line_it_names(case: Path) -> None:
    for hit in read_evidence(case / "log.txt").hits:
        file = LOGS / "project" / Path(hit.path).name
        if hit.text and "site-packages" not in hit.path and file.exists():
            lines = file.read_text(encoding="utf-8").splitlines()
            assert hit.text == lines[hit.line - 1].strip()


def test_there_is_a_log_of_every_kind_of_message() -> None:
    texts = [log(case.name) for case in CASES]
    for words in (
        "DeprecationWarning: In a future release of JAX, flatten-up-to",
        "ValueError: Expected None, got",
        "ValueError: pytree structure error: different types at key path",
        "AttributeError: jax.tree_map was removed in JAX v0.6.0",
        "AttributeError: module 'jax' has no attribute 'tree_map'",
        "ImportError: cannot import name 'tree_map' from 'jax'",
    ):
        assert any(words in text for text in texts), words


def every_line(prefix: str) -> Callable[[str], str]:
    """Puts a prefix before every line."""
    return lambda text: "".join(f"{prefix}{line}" for line in text.splitlines(keepends=True))


def test_the_frame_of_the_recorder_is_none_of_the_programs() -> None:
    frame = (
        '  File "/tmp/jaxmigrate-trace-k2x/recorder.py", line 105, in refusing\n    return f()\n'
    )
    text = log("traceback-0.4.34")
    inner = text.index("ValueError: Expected None")
    assert read(text[:inner] + frame + text[inner:]) == read(text)
    assert is_machinery("C:\\Temp\\jaxmigrate-trace-k2x\\recorder.py")
    assert not is_machinery("/home/u/project/recorder.py")


@pytest.mark.parametrize("name", ["pytest-default", "pytest-xdist"])
def test_a_test_has_the_folder_that_the_summary_names(name: str) -> None:
    text = log(name).replace("FAILED test_", "FAILED tests/test_")
    assert {test.partition("::")[0] for hit in read(text) for test in hit.tests} == {
        "tests/test_update.py"
    }
    other = f"{text}\nFAILED more/test_update.py::test_sgd - ValueError: …\n"
    assert "test_update.py::test_sgd" in [test for hit in read(other) for test in hit.tests]


@pytest.mark.parametrize("name", ["filtered", "filtered-0.4.34"])
def test_a_log_without_jaxs_frames_says_how_to_have_them(name: str) -> None:
    assert {hit.hint for hit in read(log(name))} == {
        "JAX left frames out of this log: set JAX_TRACEBACK_FILTERING=off"
    }
    assert {hit.hint for hit in read(log("not-filtered"))} == {""}


WRAPPINGS = {
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "a progress bar": lambda text: text.replace("Traceback", "\r 10%|#  | 1/10\r\x1b[KTraceback"),
    "rank": every_line("[rank0]: "),
    "torchrun": every_line("[default3]:"),
    "pid": every_line("(pid=12) "),
    "actor": every_line("\x1b[36m(Trainer(rank=1) pid=12, ip=10.0.0.1)\x1b[0m "),
    "worker": every_line("(train_fn pid=12, ip=10.0.0.1) "),
    "GitHub": every_line("2024-06-01T12:00:00.1234567Z "),
    "gh run view --log": every_line("test (3.12)\tRun pytest\t2024-06-01T12:00:00.1234567Z "),
    "group": every_line("  | "),
    "absl": lambda text: f"E0601 12:00:00.000000 140 train.py:10] {text}",
    "no blank lines": lambda text: text.replace("\n\n", "\n"),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("name", ["traceback-0.10.2", "traceback-0.4.34", "removed-0.6.0"])
def test_what_stands_around_a_log_changes_nothing(name: str, wrapping: str) -> None:
    text = log(name)
    assert read(WRAPPINGS[wrapping](text)) == read(text) != ()


def test_what_two_processes_write_at_once_is_told_apart() -> None:
    one, other = log("traceback-0.10.2").splitlines(), log("flatten-up-to").splitlines()
    longest = max(len(one), len(other))
    mixed = ""
    for number in range(longest):
        for process, lines in (("pid=1", one), ("pid=2", other)):
            mixed += f"({process}) {lines[number]}\n" if number < len(lines) else ""
    assert sorted(told(hit) for hit in read(mixed)) == [
        "/home/user/project/update.py:18 moments: None met 0.5",
        "/home/user/project/update.py:8 sgd: ['b'] met float",
    ]


def test_a_failure_that_comes_up_again_is_one_hit() -> None:
    text = log("traceback-0.4.34")
    assert read(text * 3) == read(text)


def test_a_log_that_ends_in_the_middle_of_a_warning_still_tells_its_line() -> None:
    first = log("warnings").splitlines(keepends=True)[0]
    assert read(first) == (Hit("/home/user/project/update.py", 8, places=(Place("", "0.5"),)),)


def test_a_warning_is_not_given_the_source_of_what_follows() -> None:
    first = log("warnings").splitlines(keepends=True)[0]
    assert [hit.text for hit in read(f"{first}step 1 done\n")] == [""]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_mark_at_the_beginning_tells_the_encoding(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "log.txt"
    text = log("traceback-0.6.0")
    file.write_bytes(text.encode(encoding))
    assert read_evidence(file).hits == read(text)


def test_bytes_that_are_not_utf_8_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_bytes(b"\xff loss \xfe\n" + log("traceback-0.6.0").encode())
    assert len(read_evidence(file).hits) == 1


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: Expected None, got 5.\n",
        "step failed: Expected None, got 5.\n",
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\nValueError: no\n',
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n'
        "AttributeError: module 'jax' has no attribute 'linear_util'\n",
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n'
        "ValueError: pytree structure error: different types at key path\n    vmap in_axes['b']\n"
        "At that key path, the prefix pytree vmap in_axes has a subtree of type\n"
        "    <class 'NoneType'>\n"
        "but at the same key path the full pytree has a subtree of different type\n"
        "    <class 'int'>.\n",
        "a.py:3: UserWarning: something else\n",
        "",
    ],
)
def test_other_failures_are_no_hits(text: str) -> None:
    assert read(text) == ()


def test_a_traceback_that_is_cut_off_lends_no_frames_to_the_next_failure() -> None:
    cut = log("traceback-0.4.34").splitlines(keepends=True)[:7]
    text = "".join(cut) + "Traceback (most recent call last):\nValueError: Expected None, got 5.\n"
    assert read(text) == ()


def test_a_source_line_that_reads_like_a_frame_is_source() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n'
        "    update.py:8: in g\nValueError: Expected None, got 5.\n"
    )
    assert [(hit.path, hit.text) for hit in read(text)] == [("a.py", "update.py:8: in g")]


def test_a_frame_without_source_has_no_text() -> None:
    text = (
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\n'
        '  File "b.py", line 4, in g\nValueError: Expected None, got 5.\n'
    )
    assert [(hit.path, hit.function, hit.text) for hit in read(text)] == [("b.py", "g", "")]


@pytest.mark.parametrize(
    ("value", "opposite"),
    [
        ("Traced<ShapedArray(float32[3,2])>with<DynamicJaxprTrace>.", "float32[3,2]"),
        ("Array([1., 2.], dtype=float32).", "Array([1., 2.], dtype=float32)"),
        ("x" * 60 + ".", "x" * 40 + "…"),
    ],
)
def test_the_value_opposite_is_told_in_short(value: str, opposite: str) -> None:
    text = log("traceback-0.4.34").replace("got 0.5.", f"got {value}")
    assert [hit.places for hit in read(text)] == [(Place("", opposite),)]


def test_carets_are_no_source() -> None:
    text = log("flatten-up-to").replace("    others = treedef.flatten_up_to(grads)\n", "")
    assert [(hit.line, hit.text) for hit in read(text)] == [(18, "")]


def test_words_that_look_like_a_place_are_none_without_a_line() -> None:
    assert read("see update.py in sgd\nValueError: Expected None, got 5.\n") == ()


def test_a_message_in_between_does_not_cut_a_traceback_in_two() -> None:
    text = log("traceback-0.6.0")
    between = text.replace(
        '  File "/home/user/env', 'env.py:3: UserWarning: slow\n  File "/home/user/env'
    )
    assert read(between) == read(text)


def test_a_test_whose_file_is_not_in_the_traceback_goes_by_its_name() -> None:
    text = (
        log("pytest-setup").replace("test_errors.py", "conftest.py").replace("ERROR conftest", "")
    )
    assert [hit.tests for hit in read(text)] == [("TestTrained::test_bias",)]


def test_a_name_that_is_gone_is_another_kind_of_hit() -> None:
    (hit,) = read(log("removed-0.6.0"))
    assert (hit.kind, hit.map, hit.places) == (HitKind.REMOVED_NAME, "jax.tree_map", ())


def test_the_fields_that_a_log_cannot_know_are_not_made_up() -> None:
    (hit,) = read(log("traceback-0.10.2"))
    known = dataclasses.replace(
        hit, path="", line=0, function="", text="", places=(), kind=HitKind.NONE_PREFIX
    )
    assert known == Hit("", 0)


def test_a_line_without_end_is_cut() -> None:
    assert cleaned("x" * 1_000_000) == ("", "x" * 4_000)


@pytest.mark.parametrize(
    ("path", "package", "machinery", "cell"),
    [
        ("/e/lib/python3.10/site-packages/optax/_src/update.py", "optax", False, False),
        ("C:\\env\\Lib\\site-packages\\optax\\_src\\update.py", "optax", False, False),
        ("/usr/lib/python3/dist-packages/six.py", "six", False, False),
        ("../env/lib/python3.10/site-packages/jax/_src/tree_util.py", "jax", True, False),
        ("/home/u/jax/jax/_src/tree_util.py", None, True, False),
        ("/usr/lib/python3.12/contextlib.py", None, True, False),
        ("<frozen runpy>", None, True, False),
        ("<string>", None, False, False),
        ("<ipython-input-3-0a1b2c3d>", None, False, True),
        ("/tmp/ipython-input-3-12345.py", None, False, True),
        ("/tmp/ipykernel_12/345.py", None, False, True),
        ("Cell In[3]", None, False, True),
        ("Input In [3]", None, False, True),
        ("/home/u/jax/train.py", None, False, False),
    ],
)
def test_a_path_tells_whose_the_file_is(
    path: str, package: str | None, machinery: bool, cell: bool
) -> None:
    assert (package_of(path), is_machinery(path), is_cell(path)) == (package, machinery, cell)

"""What people read on a terminal and in a pipe.

The whole of it stands in `tests/unit/golden/`, to be read. After a change that is meant, write it
anew with `JAXMIGRATE_UPDATE_GOLDEN=1 pytest tests/unit/test_output.py` and read git's diff of it.
"""

from __future__ import annotations

import dataclasses
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console as RichConsole

from jaxmigrate.model import (
    Action,
    Confidence,
    Evidence,
    Failure,
    FailureKind,
    FileResult,
    RunResult,
    SiteReport,
)
from jaxmigrate.output.emphasis import emphasised
from jaxmigrate.output.folding import Piece, fold, width
from jaxmigrate.output.patch import patch
from jaxmigrate.output.plain import PlainConsole
from jaxmigrate.output.terminal import TerminalConsole
from jaxmigrate.output.text import Mode, is_terminal, make_console, render
from jaxmigrate.output.visible import visible

GOLDEN = Path(__file__).parent / "golden"

BEFORE = '''"""Training."""
import jax

MARKUP = "[/red] [bold]never[/bold] :smile: http://x.y"


def scale(x):
\tif x:\t# a tab, and a form feed below
\t\treturn x

\x0c
def update(params, grads, mask):
    label = "\x1b[31m優化器 \x07 👍 [/red]"  # 日本語の長い注釈がここにあり、折り返しが必要です
    new = jax.tree_map(lambda p, g: p - 0.1 * g, params, grads, is_leaf=lambda x: x is None)
    return jax.tree_map(scale, new)  # [link] :smile:


def unchanged():
    pass


def leaves(t):
\treturn\tjax.tree_leaves(t)  # 🎉 :tada:
'''
AFTER = (
    BEFORE.replace(
        "jax.tree_map(lambda p, g: p - 0.1 * g, params, grads, is_leaf=lambda x: x is None)",
        """jax.tree.map(
        lambda p, g: None if p is None else p - 0.1 * g,
        params,
        grads,
        is_leaf=lambda x: x is None,
    )""",
    )
    .replace("jax.tree_map(scale", "jax.tree.map(scale")
    .replace("jax.tree_leaves", "jax.tree.leaves")
)
EVIDENCE = (
    Evidence("train/state.py", 7, '{"b": None}'),
    Evidence("train/loop.py", 112, "update(params, None, [/red])"),
)
RETIRED = "jax.tree_map was removed in JAX 0.6.0"


def site(
    codemod: str,
    place: tuple[int, int],
    reason: str,
    *,
    action: Action = Action.EDIT,
    confidence: Confidence = Confidence.PROVEN,
    evidence: tuple[Evidence, ...] = (),
    cell: int | None = None,
) -> SiteReport:
    line, column = place
    return SiteReport(
        codemod,
        action,
        confidence,
        reason,
        evidence,
        line,
        column,
        line,
        column + 4,
        cell,
        "before",
        "after",
    )


def held(place: tuple[int, int], confidence: Confidence = Confidence.POSSIBLE) -> SiteReport:
    return site(
        "none-prefix",
        place,
        "no None is seen in t, which comes from callers",
        action=Action.HOLD,
        confidence=confidence,
        evidence=EVIDENCE[:1],
    )


TRAINING = FileResult(
    "train/update.py",
    BEFORE.encode(),
    AFTER.encode(),
    sites=(
        site(
            "none-prefix",
            (14, 11),
            "params may hold None where grads does not, an error since JAX 0.4.35",
            confidence=Confidence.LIKELY,
            evidence=EVIDENCE,
        ),
        site("tree-aliases", (14, 11), RETIRED),
        site("tree-aliases", (15, 12), RETIRED),
        site("tree-aliases", (23, 9), "jax.tree_leaves was removed in JAX 0.6.0"),
        held((8, 4)),
        site(
            "sentinel-placeholders",
            (13, 5),
            "compared with `is`: this [needs] a person",
            action=Action.REPORT,
            confidence=Confidence.LIKELY,
        ),
    ),
)
WINDOWS = FileResult(
    "win/crlf.py",
    b"\xef\xbb\xbfimport jax\r\nx = jax.tree_map(f, t)",
    b"\xef\xbb\xbfimport jax\r\nx = jax.tree.map(f, t)",
    "utf-8-sig",
    (site("tree-aliases", (2, 5), RETIRED),),
)
BROKEN = FileResult(
    "pkg/b.py",
    b"(",
    b"(",
    failure=Failure(FailureKind.SOURCE, "cannot be parsed: '(' was never closed (line 1)"),
)
SAME = FileResult("ok.py", b"", b"")
RUN = RunResult("0.9.0", (SAME, BROKEN, TRAINING, WINDOWS))


def on_terminal(run: RunResult, columns: int, *, color: bool = False, **view: object) -> str:
    stream = io.StringIO()
    console = RichConsole(
        file=stream,
        force_terminal=True,
        width=columns,
        color_system="standard" if color else None,
        no_color=False,
        legacy_windows=False,
    )
    render(run, console=TerminalConsole(console), **view)  # type: ignore[arg-type]
    return stream.getvalue()


def in_pipe(run: RunResult, **view: object) -> str:
    stream = io.StringIO()
    render(run, console=PlainConsole(stream), **view)  # type: ignore[arg-type]
    return stream.getvalue()


def closing(*files: FileResult, **view: object) -> list[str]:
    text = in_pipe(RunResult("0.9.0", files), **view)
    return text.rstrip("\n").rsplit("\n\n")[-1].split("\n")


@pytest.mark.parametrize(
    ("name", "show"),
    [
        ("terminal_80.txt", lambda: on_terminal(RUN, 80)),
        ("terminal_40.txt", lambda: on_terminal(RUN, 40)),
        ("terminal_200_verbose.txt", lambda: on_terminal(RUN, 200, verbosity=1)),
        ("terminal_written.txt", lambda: on_terminal(RUN, 80, mode=Mode.WRITTEN)),
        ("terminal_quiet.txt", lambda: on_terminal(RUN, 80, verbosity=-1)),
        ("piped.txt", lambda: in_pipe(RUN)),
        ("piped_verbose.txt", lambda: in_pipe(RUN, verbosity=1)),
    ],
)
def test_the_output_is_the_golden_file(name: str, show: Callable[[], str]) -> None:
    golden = GOLDEN / name
    if os.environ.get("JAXMIGRATE_UPDATE_GOLDEN"):
        golden.write_bytes(show().encode())
    assert show().encode() == golden.read_bytes()


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_no_row_is_wider_than_the_terminal(columns: int) -> None:
    for row in on_terminal(RUN, columns, verbosity=1).split("\n"):
        assert cell_len(row) <= columns


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_source_cannot_drive_the_terminal(columns: int) -> None:
    text = on_terminal(RUN, columns)
    assert not {char for char in text if ord(char) < 0x20 and char != "\n"}
    assert "␛[31m" in text
    assert "␌" in text


def test_source_is_never_markup() -> None:
    text = on_terminal(RUN, 200)
    assert ":smile:" in text
    assert "[/red]" in text
    assert "this [needs] a person" in text


def test_terminal_and_pipe_say_the_same_words() -> None:
    piped = in_pipe(RUN, verbosity=1).split("\n")
    said = [line for line in piped if line.startswith(("train/update.py:", "error:", "    train/"))]
    assert len(said) >= 8
    shown = on_terminal(RUN, 200, verbosity=1).split("\n")
    assert [line for line in shown if line in said] == said
    assert shown[-4:] == piped[-4:]


def test_piped_output_is_a_patch_for_git_apply(tmp_path: Path) -> None:
    files = [TRAINING, WINDOWS]
    for file in files:
        (tmp_path / file.path).parent.mkdir(exist_ok=True)
        (tmp_path / file.path).write_bytes(file.before)
    apply(piped_bytes(RUN), tmp_path)
    for file in files:
        assert (tmp_path / file.path).read_bytes() == file.after


def test_no_reason_is_taken_for_a_part_of_the_patch(tmp_path: Path) -> None:
    reasons = [
        "x\n--- a/evil.py\n+++ b/evil.py\n@@ -0,0 +1 @@\n+x",
        "@@ -1 +1 @@",
        "diff --git a b",
    ]
    evil = tuple(site(reason, (1, 1), reason) for reason in reasons)
    files = tuple(
        FileResult(path, b"a\n", b"b\n", sites=evil)
        for path in ("--- a/x.py", "@@ -1 +1 @@.py", "diff --git a.py", "\\ No newline.py")
    )
    broken = FileResult("f.py", b"", b"", failure=Failure(FailureKind.SOURCE, reasons[0]))
    for file in files:
        (tmp_path / file.path).parent.mkdir(exist_ok=True)
        (tmp_path / file.path).write_bytes(file.before)
    apply(piped_bytes(RunResult("0.9.0", (*files, broken))), tmp_path)
    for file in files:
        assert (tmp_path / file.path).read_bytes() == b"b\n"
    assert not list(tmp_path.rglob("evil.py"))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.binary(max_size=40), st.binary(max_size=40), st.text(max_size=20)),
        min_size=1,
        max_size=4,
    )
)
def test_any_piped_output_applies(parts: list[tuple[bytes, bytes, str]]) -> None:
    files = tuple(
        FileResult(f"f{number}.py", before, after, sites=(site("x", (1, 1), reason),))
        for number, (before, after, reason) in enumerate(parts)
        if b"\0" not in before + after
    )
    if patch(files):
        with tempfile.TemporaryDirectory() as name:
            for file in files:
                (Path(name) / file.path).write_bytes(file.before)
            apply(piped_bytes(RunResult("0.9.0", files)), Path(name))
            for file in files:
                assert (Path(name) / file.path).read_bytes() == file.after


def test_another_encoding_is_shown_readably_and_named() -> None:
    source = "# coding: latin-1\nx = 'é', jax.tree_map(f, t)\n"
    file = FileResult(
        "latin.py",
        source.encode("latin-1"),
        source.replace("tree_map", "tree.map").encode("latin-1"),
        "iso-8859-1",
    )
    text = in_pipe(RunResult("0.9.0", (file,)))
    assert "+x = 'é', jax.tree.map(f, t)\n" in text
    assert text.startswith("note: latin.py is encoded in iso-8859-1 and shown in UTF-8;")


@pytest.mark.parametrize("color", [None, True, False])
def test_nothing_crashes_where_the_locale_is_ascii(color: bool | None) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", errors="strict")
    odd = FileResult("naïve-\udcff.py", b"\xff\xe9\n", b"\xff\n", sites=(held((1, 1)),))
    render(RunResult("0.9.0", (*RUN.files, odd)), console=make_console(color, stream), verbosity=1)
    stream.flush()
    assert b"params may hold None" in raw.getvalue()


def test_a_pipe_does_not_load_rich() -> None:
    code = (
        "import sys; from jaxmigrate.model import RunResult;"
        "from jaxmigrate.output.text import make_console, render;"
        "render(RunResult('0.9.0', ()), console=make_console(None, sys.stdout));"
        "sys.exit('rich' in sys.modules)"
    )
    environment = {key: value for key, value in os.environ.items() if key != "FORCE_COLOR"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        env={**environment, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout) == (0, b"No files to migrate were found.\n")


@pytest.mark.parametrize(
    ("color", "tty", "environ", "expected"),
    [
        (None, False, {}, False),
        (None, True, {}, True),
        (True, False, {}, True),
        (False, True, {}, True),
        (False, False, {"FORCE_COLOR": "1"}, False),
        (None, False, {"FORCE_COLOR": "1"}, True),
        (None, True, {"FORCE_COLOR": ""}, False),
        (None, True, {"TTY_COMPATIBLE": "0"}, False),
        (None, True, {"NO_COLOR": "1"}, True),
    ],
)
def test_what_counts_as_a_terminal(
    color: bool | None, tty: bool, environ: dict[str, str], expected: bool
) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return tty

    assert is_terminal(color, Stream(), environ) is expected


@pytest.mark.parametrize(
    ("color", "environ", "ansi"),
    [
        (None, {"FORCE_COLOR": "1"}, "\x1b[31m"),
        (True, {"NO_COLOR": "1", "TERM": "dumb"}, "\x1b[31m"),
        (None, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, "\x1b[1m"),
        (False, {}, None),
        (None, {"FORCE_COLOR": "1", "TERM": "dumb"}, None),
    ],
)
def test_colours_follow_the_option_then_the_environment(
    monkeypatch: pytest.MonkeyPatch,
    color: bool | None,
    environ: dict[str, str],
    ansi: str | None,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    render(RunResult("0.9.0", (WINDOWS,)), console=make_console(color, stream))
    text = stream.getvalue()
    assert (ansi in text) if ansi else ("\x1b" not in text)
    assert "31m" not in text or ansi == "\x1b[31m"


def test_what_changed_in_a_line_stands_out() -> None:
    text = on_terminal(RUN, 200, color=True)
    assert "\x1b[7;31mtree_leaves\x1b[0m" in text
    assert "\x1b[7;32mtree.leaves\x1b[0m" in text


def test_lines_with_little_in_common_are_not_marked_word_by_word() -> None:
    old, new = emphasised(["alpha(beta)"], ["while x > 3: y += 4"])
    assert not any(stretch.changed for line in (*old, *new) for stretch in line)


LINE_LISTS = st.lists(st.text(st.characters(exclude_characters="\n"), max_size=12), max_size=5)


@given(LINE_LISTS, LINE_LISTS)
def test_emphasis_loses_no_character(old: list[str], new: list[str]) -> None:
    for given_lines, cut in zip((old, new), emphasised(old, new), strict=True):
        assert ["".join(part.text for part in line) for line in cut] == given_lines


@given(st.lists(st.text(max_size=20), max_size=4), st.integers(2, 30), st.integers(2, 30))
@example(["00000⺀", "0000000000 ", "000"], 20, 2)  # a narrower row behind a break far back
def test_folding_loses_no_character_and_fits(texts: list[str], first: int, rest: int) -> None:
    pieces = [Piece(text, str(number)) for number, text in enumerate(texts)]
    rows = list(fold(pieces, first, rest, " ,("))
    joined = [piece for row in rows for piece in row]
    for number, text in enumerate(texts):
        assert "".join(piece.text for piece in joined if piece.style == str(number)) == text
    for number, row in enumerate(rows):
        assert width("".join(piece.text for piece in row)) <= (rest if number else first)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain é 優 👍", "plain é 優 👍"),
        ("\x1b\r\x0c\x07\0\x7f", "␛␍␌␇␀␡"),
        ("\x85\u2028\u202e\ufeff", "<U+0085><U+2028><U+202E><U+FEFF>"),
        ("\udcff\ud800", "\\xff\\ud800"),
        ("👨\u200d👩", "👨\u200d👩"),
        ("a\xa0b\u3000c", "a\xa0b\u3000c"),
    ],
)
def test_what_would_steer_a_terminal_is_spelled_out(text: str, expected: str) -> None:
    assert visible(text) == expected


def test_a_carriage_return_shows_only_where_not_every_line_has_one() -> None:
    shown = on_terminal(RunResult("0.9.0", (WINDOWS,)), 80)
    assert "1 1   import jax\n" in shown
    assert "␍" not in shown
    mixed = FileResult("a.py", b"a\r\nb\nc\r\n", b"a\r\nb\nd\r\n")
    assert on_terminal(RunResult("0.9.0", (mixed,)), 80).count("␍") == 3


def test_each_reason_stands_above_its_own_hunk() -> None:
    rows = on_terminal(RUN, 200).split("\n")
    reason = rows.index(
        "train/update.py:23:9 tree-aliases (proven): jax.tree_leaves was removed in JAX 0.6.0"
    )
    assert rows[reason - 1] == ""
    assert "def unchanged" in rows[reason - 2]
    assert any("tree_leaves(t)" in row for row in rows[reason + 1 : reason + 6])


def test_a_site_in_a_notebook_names_its_cell() -> None:
    notebook = FileResult("n.ipynb", b"", b"", sites=(site("x", (3, 1), "why", cell=2),))
    written = RunResult("0.9.0", (FileResult("n.ipynb", b"a", b"b", sites=notebook.sites),))
    assert "n.ipynb:cell 3:3:1 x (proven): why\n" in in_pipe(written)


def test_quiet_shows_failures_and_the_summary_only() -> None:
    assert in_pipe(RUN, verbosity=-1) == (
        "error: pkg/b.py: cannot be parsed: '(' was never closed (line 1)\n"
        "\n"
        "2 of 4 files would change: none-prefix 1 edit, tree-aliases 4 edits; 1 held, 1 reported;"
        " 1 file failed.\n"
    )


def test_evidence_of_what_is_held_shows_when_asked_for() -> None:
    run = RunResult("0.9.0", (FileResult("a.py", b"", b"", sites=(held((1, 1)),)),))
    assert "train/state.py:7" not in in_pipe(run)
    assert '    train/state.py:7: {"b": None}\n' in in_pipe(run, verbosity=1)


CHANGED = FileResult("a.py", b"a", b"b", sites=(site("tree-aliases", (1, 1), RETIRED),))
APPLY = "Nothing was written. Apply with --write, or save a patch with --patch FILE."


@pytest.mark.parametrize(
    ("files", "view", "expected"),
    [
        ((), {}, ["No files to migrate were found."]),
        ((SAME,), {}, ["Nothing to edit in 1 file."]),
        ((SAME, SAME), {}, ["Nothing to edit in 2 files."]),
        ((BROKEN,), {}, ["1 file failed."]),
        ((BROKEN, BROKEN, SAME), {}, ["Nothing to edit in 1 file; 2 files failed."]),
        ((CHANGED,), {}, ["1 file would change: tree-aliases 1 edit.", APPLY]),
        ((CHANGED, SAME), {}, ["1 of 2 files would change: tree-aliases 1 edit.", APPLY]),
        (
            (CHANGED, SAME),
            {"mode": Mode.CHECK},
            [
                "1 of 2 files would change: tree-aliases 1 edit.",
                "Nothing was written. Apply with --write.",
            ],
        ),
        (
            (CHANGED, SAME),
            {"mode": Mode.WRITTEN},
            ["1 of 2 files changed: tree-aliases 1 edit.", "Review with git diff."],
        ),
        ((SAME,), {"mode": Mode.WRITTEN}, ["Nothing to edit in 1 file."]),
        (
            (CHANGED, SAME),
            {"mode": Mode.WRITTEN, "in_git": False},
            ["1 of 2 files changed: tree-aliases 1 edit."],
        ),
        (
            (CHANGED, SAME),
            {"mode": Mode.PATCHED, "patch": "my fix.patch"},
            [
                "1 of 2 files would change: tree-aliases 1 edit.",
                "The patch is saved. Apply with: git apply 'my fix.patch'",
            ],
        ),
        (
            (CHANGED, SAME),
            {"mode": Mode.PATCHED_DIR, "patch": "out"},
            [
                "1 of 2 files would change: tree-aliases 1 edit.",
                "The patches are saved in out, one a file. Apply each with git apply.",
            ],
        ),
    ],
)
def test_closing_lines(
    files: tuple[FileResult, ...], view: dict[str, object], expected: list[str]
) -> None:
    assert closing(*files, **view) == expected


@pytest.mark.parametrize(
    ("levels", "threshold", "expected"),
    [
        (
            ["POSSIBLE"],
            "LIKELY",
            "1 held site is only possible: --confidence possible edits it too.",
        ),
        (
            ["POSSIBLE", "POSSIBLE", "PROVEN"],
            "LIKELY",
            "2 held sites are only possible: --confidence possible edits them too.",
        ),
        (
            ["POSSIBLE", "LIKELY"],
            "PROVEN",
            "2 held sites are only likely or possible: --confidence possible edits them too.",
        ),
        (["POSSIBLE", "LIKELY"], "POSSIBLE", "Nothing to edit in 1 file; 2 held."),
    ],
)
def test_how_to_edit_what_was_held(levels: list[str], threshold: str, expected: str) -> None:
    sites = tuple(held((1, 1), Confidence[level]) for level in levels)
    file = FileResult("a.py", b"", b"", sites=sites)
    assert closing(file, threshold=Confidence[threshold])[-1] == expected


def piped_bytes(run: RunResult) -> bytes:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii", newline="\r\n")
    render(run, console=make_console(False, stream))
    return raw.getvalue()


def apply(data: bytes, root: Path) -> None:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CEILING_DIRECTORIES": tempfile.gettempdir(),
    }
    done = subprocess.run(
        ["git", "apply", "-"],
        cwd=root,
        input=data,
        capture_output=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def unknown(line: int, confidence: Confidence, reason: str, action: Action) -> SiteReport:
    return site("none-prefix", (line, 1), reason, action=action, confidence=confidence)


def listed(*sites: SiteReport, **view: object) -> list[str]:
    run = RunResult("0.9.0", (FileResult("a.py", b"", b"", sites=sites),))
    return [line for line in in_pipe(run, **view).split("\n") if line.startswith("a.py")]


@pytest.mark.parametrize("action", [Action.HOLD, Action.REPORT])
def test_of_many_sites_that_are_alike_the_first_few_are_listed(action: Action) -> None:
    sites = [
        unknown(n, Confidence.POSSIBLE, f"nothing is known of t{n}", action) for n in range(40)
    ]
    lines = listed(*sites)
    assert len(lines) == 6
    assert lines[4].endswith("nothing is known of t4")
    assert lines[5].startswith("a.py none-prefix (possible)")
    assert lines[5].endswith("and 35 more like this (-v lists them)")
    assert len(listed(*sites, verbosity=1)) == 40


@pytest.mark.parametrize(("number", "lines"), [(5, 5), (6, 6), (7, 6)])
def test_a_line_is_never_spent_on_leaving_out_one(number: int, lines: int) -> None:
    alike = [unknown(n, Confidence.POSSIBLE, "why", Action.HOLD) for n in range(number)]
    assert len(listed(*alike)) == lines


def test_who_wants_what_is_proven_is_told_only_how_many_are_possible() -> None:
    sites = [
        unknown(0, Confidence.POSSIBLE, "why", Action.HOLD),
        unknown(1, Confidence.LIKELY, "why", Action.HOLD),
        unknown(2, Confidence.POSSIBLE, "why", Action.REPORT),
    ]
    assert len(listed(*sites)) == 3
    assert len(listed(*sites, threshold=Confidence.PROVEN)) == 2
    assert len(listed(*sites, threshold=Confidence.PROVEN, verbosity=1)) == 3
    file = FileResult("a.py", b"", b"", sites=tuple(sites))
    assert closing(file, threshold=Confidence.PROVEN)[0] == (
        "Nothing to edit in 1 file; 2 held, 1 reported."
    )


def test_sites_that_are_sure_enough_are_alike_only_for_the_same_reason() -> None:
    reasons = [unknown(n, Confidence.LIKELY, f"why {n}", Action.REPORT) for n in range(20)]
    assert len(listed(*reasons)) == 20
    assert len(listed(*reasons, threshold=Confidence.PROVEN)) == 6


def test_a_site_that_needs_nothing_is_listed_when_asked_for_and_never_counted() -> None:
    needless = dataclasses.replace(held((1, 1)), needless=True, reason="t holds no None")
    file = FileResult("a.py", b"", b"", sites=(needless,))
    assert closing(file) == ["Nothing to edit in 1 file."]
    assert listed(needless) == []
    (line,) = listed(needless, verbosity=1)
    assert line == "a.py:1:1 none-prefix needs nothing: t holds no None"
    assert closing(dataclasses.replace(file, sites=(needless, held((2, 1)))))[0].endswith("1 held.")


@pytest.mark.parametrize(
    ("evidence", "reason", "below"),
    [
        (Evidence("b.py", 7, "b = None"), "t may hold None: b = None (b.py:7)", ()),
        (Evidence("a.py", 7, "b = None"), "t may hold None: b = None (line 7)", ()),
        (Evidence("a.py", 3, "b = None"), "t may hold None: b = None", ()),
        (Evidence("b.py", 7, "c = 1"), "t may hold None: b = None", ("    b.py:7: c = 1",)),
    ],
)
def test_evidence_that_the_reason_tells_adds_its_place_only(
    evidence: Evidence, reason: str, below: tuple[str, ...]
) -> None:
    other = Evidence("z.py", 9, "passed to f")
    told = site("none-prefix", (3, 1), "t may hold None: b = None", evidence=(evidence, other))
    file = FileResult("a.py", b"a", b"b", sites=(told,))
    lines = in_pipe(RunResult("0.9.0", (file,)), mode=Mode.WRITTEN).split("\n")
    assert lines[0] == f"a.py:3:1 none-prefix (proven): {reason}"
    assert lines[1 : 2 + len(below)] == [*below, "    z.py:9: passed to f"]


def test_a_failure_is_one_line_whatever_it_was_made_from() -> None:
    failure = Failure(FailureKind.CODEMOD, "internal error:\n  Oops\r\n\n  at x\u2028y\n")
    assert failure.message == "internal error: Oops at x y"

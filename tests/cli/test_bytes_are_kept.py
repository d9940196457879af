"""Nothing but the edited places changes: encodings, newlines and blanks come out as they went in."""

from __future__ import annotations

import ast
import codecs
from pathlib import Path

import pytest
from command_line import call, contents, fill, process

LATIN = b"# -*- coding: latin-1 -*-\n"

# (before, after) with an edit of tree-aliases in each
RENAMED = {
    "CRLF": (b"import jax\r\njax.tree_map(f, t)\r\n", b"import jax\r\njax.tree.map(f, t)\r\n"),
    "lone CR": (b"import jax\rjax.tree_map(f, t)\r", b"import jax\rjax.tree.map(f, t)\r"),
    "mixed newlines": (
        b"import jax\r\nx = 1\rjax.tree_map(f, t)\nx = 2\r\n\rjax.tree_leaves(t)\n",
        b"import jax\r\nx = 1\rjax.tree.map(f, t)\nx = 2\r\n\rjax.tree.leaves(t)\n",
    ),
    "byte order mark": (
        codecs.BOM_UTF8 + b"import jax\njax.tree_map(f, t)\n",
        codecs.BOM_UTF8 + b"import jax\njax.tree.map(f, t)\n",
    ),
    "byte order mark and CRLF": (
        codecs.BOM_UTF8 + "import jax\r\n'é'; jax.tree_map(f, t)\r\n".encode(),
        codecs.BOM_UTF8 + "import jax\r\n'é'; jax.tree.map(f, t)\r\n".encode(),
    ),
    "form feeds": (
        b"\x0cimport jax\n\x0c\njax.tree_map(f,\x0c t)\n\x0cx = '\x0c'\n",
        b"\x0cimport jax\n\x0c\njax.tree.map(f,\x0c t)\n\x0cx = '\x0c'\n",
    ),
    "odd line separators": (
        "import jax\nx = '\x0b\x1c\x85\u2028'; jax.tree_map(f, t)  # \u2029\n".encode(),
        "import jax\nx = '\x0b\x1c\x85\u2028'; jax.tree.map(f, t)  # \u2029\n".encode(),
    ),
    "latin-1": (
        LATIN + b"import jax\nx = '\xe9\xff'; jax.tree_map(f, t)  # \xe4\n",
        LATIN + b"import jax\nx = '\xe9\xff'; jax.tree.map(f, t)  # \xe4\n",
    ),
    "latin-1 on the second line": (
        b"#!/usr/bin/python\n" + LATIN + b"import jax\nx = '\xe9'; jax.tree_map(f, t)\n",
        b"#!/usr/bin/python\n" + LATIN + b"import jax\nx = '\xe9'; jax.tree.map(f, t)\n",
    ),
    "cp1252 with CR": (
        b"# coding: cp1252\rimport jax\rx = '\x80'; jax.tree_map(f, t)\r",
        b"# coding: cp1252\rimport jax\rx = '\x80'; jax.tree.map(f, t)\r",
    ),
    "shift-jis": (
        "# coding: shift_jis\nimport jax\nx = '線'; jax.tree_map(f, t)\n".encode("shift_jis"),
        "# coding: shift_jis\nimport jax\nx = '線'; jax.tree.map(f, t)\n".encode("shift_jis"),
    ),
    "no final newline": (b"import jax\njax.tree_map(f, t)", b"import jax\njax.tree.map(f, t)"),
    "one line": (b"import jax; jax.tree_map(f, t)", b"import jax; jax.tree.map(f, t)"),
    "no final newline, CRLF": (
        b"import jax\r\njax.tree_map(f, t)",
        b"import jax\r\njax.tree.map(f, t)",
    ),
    "a final comment": (
        b"import jax\njax.tree_map(f, t)  # end",
        b"import jax\njax.tree.map(f, t)  # end",
    ),
    "blank lines at the end": (
        b"import jax\njax.tree_map(f, t)\n\n  \n\t\n ",
        b"import jax\njax.tree.map(f, t)\n\n  \n\t\n ",
    ),
    "tabs": (
        b"import jax\nif x:\n\tdef f():\n\t\treturn jax.tree_map(f,\tt)\t\n",
        b"import jax\nif x:\n\tdef f():\n\t\treturn jax.tree.map(f,\tt)\t\n",
    ),
    "a backslash at the end of the line": (
        b"import jax\r\nx = 1 + \\\r\n  jax.tree_map(f, t)\r\n",
        b"import jax\r\nx = 1 + \\\r\n  jax.tree.map(f, t)\r\n",
    ),
    "a multi-line string with other newlines": (
        b'import jax\nx = """a\r\nb\rc\n"""; jax.tree_map(f, t)\n',
        b'import jax\nx = """a\r\nb\rc\n"""; jax.tree.map(f, t)\n',
    ),
    "combining and astral characters": (
        "import jax\n'e\u0301\U0001f600'; jax.tree_map(f, t), '\U0001f600', jax.tree_leaves(t)\n".encode(),
        "import jax\n'e\u0301\U0001f600'; jax.tree.map(f, t), '\U0001f600', jax.tree.leaves(t)\n".encode(),
    ),
    "an import in CRLF": (
        b"from jax import jit, tree_map\r\n",
        b"from jax import jit\r\nfrom jax.tree_util import tree_map\r\n",
    ),
    "an import in lone CR": (
        b"from jax import jit, tree_map\rx = 1\r",
        b"from jax import jit\rfrom jax.tree_util import tree_map\rx = 1\r",
    ),
    "an import with tabs": (
        b"def f():\n\tfrom jax import jit, tree_map\n",
        b"def f():\n\tfrom jax import jit\n\tfrom jax.tree_util import tree_map\n",
    ),
    "an import without a final newline": (
        b"import os\nfrom jax import jit, tree_map",
        b"import os\nfrom jax import jit\nfrom jax.tree_util import tree_map",
    ),
    "an import over lines in CRLF": (
        b"from jax import (\r\n    tree_map,  # why\r\n    tree_leaves,\r\n)\r\n",
        b"from jax.tree_util import (\r\n    tree_map,  # why\r\n    tree_leaves,\r\n)\r\n",
    ),
}


@pytest.mark.parametrize("name", RENAMED)
def test_a_renamed_file_differs_in_the_name_only(tmp_path: Path, name: str) -> None:
    before, after = RENAMED[name]
    answer = call("run", "--write", cwd=fill(tmp_path, {"a.py": before}))
    assert answer.code == 0, answer.both
    assert (tmp_path / "a.py").read_bytes() == after


@pytest.mark.parametrize("name", RENAMED)
def test_a_pipe_gives_the_same_bytes_as_a_file(tmp_path: Path, name: str) -> None:
    before, after = RENAMED[name]
    answer = call("run", "-", cwd=tmp_path, stdin=before)
    assert answer.code == 0, answer.both
    assert answer.stdout == after


def test_an_only_line_without_a_newline_can_become_two(tmp_path: Path) -> None:
    answer = call("run", "--write", cwd=fill(tmp_path, {"a.py": b"from jax import jit, tree_map"}))
    assert answer.code == 0, answer.both
    after = (tmp_path / "a.py").read_bytes()
    assert after == b"from jax import jit\nfrom jax.tree_util import tree_map"


CALL = '    return jax.tree.map(\n        f,  # step\n        {"w": a, "b": None},\n        t,\n    )\n'
GUARDS = {
    "LF": ("\n", "", ""),
    "CRLF": ("\r\n", "", ""),
    "lone CR": ("\r", "", ""),
    "byte order mark": ("\n", "\ufeff", ""),
    "form feed": ("\n", "\x0c", "\x0c"),
    "no final newline": ("\n", "", "no newline"),
    "CRLF without a final newline": ("\r\n", "", "no newline"),
}


@pytest.mark.parametrize("name", GUARDS)
def test_a_guarded_call_over_lines_keeps_its_newlines_and_comments(
    tmp_path: Path, name: str
) -> None:
    newline, head, tail = GUARDS[name]
    text = f"{head}import jax\n\n\ndef g(a, t):\n{CALL}"
    text = text.removesuffix("\n") if tail == "no newline" else text + tail
    before = text.replace("\n", newline).encode()
    answer = call("run", "--write", cwd=fill(tmp_path, {"a.py": before}))
    assert answer.code == 0, answer.both
    after = (tmp_path / "a.py").read_bytes().decode()
    bare = after.replace(newline, "")
    assert "\n" not in bare
    assert "\r" not in bare
    assert after.startswith(f"{head}import jax{newline}")
    assert f"# step{newline}" in after
    assert f"is_leaf=lambda x: x is None,{newline}    )" in after
    assert after.endswith(")" if tail == "no newline" else f"){newline}{tail}")
    ast.parse(after.removeprefix("\ufeff"))


def test_both_codemods_edit_one_file_in_another_encoding(tmp_path: Path) -> None:
    before = LATIN.replace(b"\n", b"\r\n") + (
        b"from jax import tree_multimap as tm\r\n\x0c\r\n"
        b"x = '\xe9', tm(lambda p, g: g, [None], t)  # \xe4"
    )
    after = LATIN.replace(b"\n", b"\r\n") + (
        b"from jax.tree_util import tree_map as tm\r\n\x0c\r\n"
        b"x = '\xe9', tm(lambda p, g: None if p is None else g, [None], t, "
        b"is_leaf=lambda x: x is None)  # \xe4"
    )
    answer = call("run", "--write", cwd=fill(tmp_path, {"a.py": before}))
    assert answer.code == 0, answer.both
    written = (tmp_path / "a.py").read_bytes()
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(after))
    assert written.replace(b"\r\n", b"").count(b"\n") == 0
    assert written.endswith(b")  # \xe4")


def test_a_whole_folder_of_odd_files_is_the_same_with_two_processes(tmp_path: Path) -> None:
    folder = fill(tmp_path, {f"m{i:02}.py": pair[0] for i, pair in enumerate(RENAMED.values())})
    answer = process("run", "--write", "-j", "2", cwd=folder)
    assert answer.code == 0, answer.both
    assert list(contents(folder).values()) == [after for _, after in RENAMED.values()]


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600])
def test_the_mode_of_a_file_stays(tmp_path: Path, mode: int) -> None:
    fill(tmp_path, {"a.py": RENAMED["CRLF"][0]})
    (tmp_path / "a.py").chmod(mode)
    call("run", "--write", cwd=tmp_path)
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == mode

"""Files that are named one by one are judged with the rest of their project in view."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LIBRARY = "import jax\n\n\ndef add(a, b):\n    return jax.tree.map(lambda x, y: x + y, a, b)\n"
CALLER = 'from library import add\n\nprint(add({"w": 1, "b": None}, {"w": 1, "b": 2}))\n'


def run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "jaxmigrate", "run", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_named_file_is_edited_for_what_another_file_passes_to_it(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "train.py").write_text(CALLER)
    output = run(tmp_path, "library.py")
    assert "train.py:3" in output
    assert "none-prefix 1 edit" in output


def test_the_other_files_are_not_edited(tmp_path: Path) -> None:
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "train.py").write_text(CALLER + "import jax\njax.tree_map(print, 1)\n")
    run(tmp_path, "library.py", "--write")
    assert "jax.tree_map" in (tmp_path / "train.py").read_text()
    assert "is_leaf" in (tmp_path / "library.py").read_text()

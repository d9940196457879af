"""`# jaxmigrate: skip` leaves alone what it stands at, and says so if there was nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import call, fill, process

HEAD = "import jax\n"

# what is left alone
SKIPPED = {
    "behind the call": "jax.tree_map(f, t)  # jaxmigrate: skip\n",
    "behind other words": "jax.tree_map(f, t)  # why not  # jaxmigrate: skip\n",
    "with words behind it": "jax.tree_map(f, t)  # jaxmigrate: skip, it is measured\n",
    "without blanks": "jax.tree_map(f, t)  #jaxmigrate:skip\n",
    "by the name of the codemod": "jax.tree_map(f, t)  # jaxmigrate: skip=tree-aliases\n",
    "by several names": "jax.tree_map(f, t)  # jaxmigrate: skip=none-prefix,tree-aliases\n",
    "with blanks at the sign": "jax.tree_map(f, t)  # jaxmigrate: skip = tree-aliases\n",
    "on the line above": "# jaxmigrate: skip\njax.tree_map(f, t)\n",
    "by name on the line above": "# jaxmigrate: skip=tree-aliases\njax.tree_map(f, t)\n",
    "indented, on the line above": "if x:\n    # jaxmigrate: skip\n    jax.tree_map(f, t)\n",
    "above the statement": "# jaxmigrate: skip\nx = [\n    1,\n    jax.tree_map(f, t),\n]\n",
    "above the first of its lines": "x = [\n    # jaxmigrate: skip\n    jax.tree_map(f, t),\n]\n",
    "above an import": "# jaxmigrate: skip\nfrom jax import tree_map\n",
    "behind an import": "from jax import tree_map  # jaxmigrate: skip\n",
    "within an import": "from jax import (\n    jit,\n    tree_map,  # jaxmigrate: skip\n)\n",
    "whole file": "# jaxmigrate: skip-file\njax.tree_map(f, t)\n\n\njax.tree_leaves(t)\n",
    "whole file, said at its end": "jax.tree_map(f, t)\n\n\njax.tree_leaves(t)\n# jaxmigrate: skip-file\n",
    "whole file, behind code": "jax.tree_map(f, t)  # jaxmigrate: skip-file\njax.tree_leaves(t)\n",
    "whole file by name": "# jaxmigrate: skip-file=tree-aliases\njax.tree_map(f, t)\n",
}


@pytest.mark.parametrize("name", SKIPPED)
def test_a_comment_leaves_a_site_alone(tmp_path: Path, name: str) -> None:
    source = HEAD + SKIPPED[name]
    answer = call("run", "--write", "--format", "json", cwd=fill(tmp_path, {"a.py": source}))
    assert answer.code == 0
    assert (tmp_path / "a.py").read_text() == source
    assert answer.report["summary"]["reported"] == {}


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
@pytest.mark.parametrize("name", SKIPPED)
def test_a_comment_counts_with_other_newlines_too(tmp_path: Path, name: str, newline: str) -> None:
    source = (HEAD + SKIPPED[name]).replace("\n", newline).encode()
    answer = call("run", "--write", "--format", "json", cwd=fill(tmp_path, {"a.py": source}))
    assert (tmp_path / "a.py").read_bytes() == source
    assert answer.report["summary"]["reported"] == {}


CALL = "jax.tree.map(\n    f,\n    [None],\n    t,\n)\n"


@pytest.mark.parametrize("line", range(5))
@pytest.mark.parametrize("words", ["skip", "skip=none-prefix"])
def test_any_line_of_a_call_will_do(tmp_path: Path, line: int, words: str) -> None:
    lines = CALL.splitlines()
    lines[line] += f"  # jaxmigrate: {words}"
    source = HEAD + "\n".join(lines) + "\n"
    answer = call("run", "--write", "--format", "json", cwd=fill(tmp_path, {"a.py": source}))
    assert (tmp_path / "a.py").read_text() == source
    assert answer.report["summary"]["reported"] == {}


def test_a_named_codemod_is_skipped_and_the_other_is_not(tmp_path: Path) -> None:
    source = HEAD + "jax.tree_map(lambda p, g: g, [None], t)  # jaxmigrate: skip=none-prefix\n"
    call("run", "--write", cwd=fill(tmp_path, {"a.py": source}))
    assert (tmp_path / "a.py").read_text() == source.replace("tree_map", "tree.map")


def test_the_other_way_round_it_is_guarded_under_its_old_name(tmp_path: Path) -> None:
    source = HEAD + "jax.tree_map(lambda p, g: g, [None], t)  # jaxmigrate: skip=tree-aliases\n"
    call("run", "--write", cwd=fill(tmp_path, {"a.py": source}))
    after = (tmp_path / "a.py").read_text()
    assert "jax.tree_map(" in after
    assert "is_leaf=lambda x: x is None" in after


# what is not left alone
NOT_SKIPPED = {
    "in a string": 'x = "# jaxmigrate: skip"; jax.tree_map(f, t)\n',
    "in a string above": '"# jaxmigrate: skip"\njax.tree_map(f, t)\n',
    "in a long string": '"""\n# jaxmigrate: skip-file\n"""\njax.tree_map(f, t)\n',
    "in an f-string": "x = f'# jaxmigrate: skip'; jax.tree_map(f, t)\n",
    "two lines above": "# jaxmigrate: skip\n\njax.tree_map(f, t)\n",
    "behind the line above": "x = 1  # jaxmigrate: skip\njax.tree_map(f, t)\n",
    "on the line below": "jax.tree_map(f, t)\n# jaxmigrate: skip\n",
    "for another codemod": "jax.tree_map(f, t)  # jaxmigrate: skip=none-prefix\n",
    "for a file, another codemod": "# jaxmigrate: skip-file=none-prefix\njax.tree_map(f, t)\n",
    "another word": "jax.tree_map(f, t)  # jaxmigrate: skipper\n",
    "another tool": "jax.tree_map(f, t)  # notjaxmigrate skip\n",
    "without the colon": "jax.tree_map(f, t)  # jaxmigrate skip\n",
}


@pytest.mark.parametrize("name", NOT_SKIPPED)
def test_what_is_no_skip_comment_for_a_site_leaves_nothing_alone(tmp_path: Path, name: str) -> None:
    source = HEAD + NOT_SKIPPED[name]
    call("run", "--write", cwd=fill(tmp_path, {"a.py": source}))
    assert (tmp_path / "a.py").read_text() == source.replace("jax.tree_map", "jax.tree.map")


def test_a_comment_skips_its_own_site_and_not_the_next(tmp_path: Path) -> None:
    source = HEAD + "jax.tree_map(f, t)  # jaxmigrate: skip\njax.tree_map(f, t)\n"
    call("run", "--write", cwd=fill(tmp_path, {"a.py": source}))
    assert (tmp_path / "a.py").read_text() == (
        HEAD + "jax.tree_map(f, t)  # jaxmigrate: skip\njax.tree.map(f, t)\n"
    )


def test_a_comment_above_a_block_does_not_skip_the_block(tmp_path: Path) -> None:
    source = HEAD + "# jaxmigrate: skip\nif x:\n    jax.tree_map(f, t)\n"
    call("run", "--write", cwd=fill(tmp_path, {"a.py": source}))
    assert "jax.tree.map(f, t)" in (tmp_path / "a.py").read_text()


# what suppresses nothing
IDLE = {
    "nothing there": ("x = 1  # jaxmigrate: skip\n", 2, 8),
    "nothing below": ("# jaxmigrate: skip\nx = jax.tree.leaves(t)\n", 2, 1),
    "nothing of that codemod": ("jax.tree_map(f, t)  # jaxmigrate: skip=none-prefix\n", 2, 21),
    "nothing in the file": ("# jaxmigrate: skip-file\nx = jax.tree.leaves(t)\n", 2, 1),
}


@pytest.mark.parametrize("name", IDLE)
def test_a_comment_that_suppresses_nothing_is_reported(tmp_path: Path, name: str) -> None:
    source, line, column = IDLE[name]
    fill(tmp_path, {"a.py": "# tree_map\n" + source, "b.py": "x = 1\n"})
    answer = call("run", "--format", "json", cwd=tmp_path)
    assert answer.code == 0
    (site,) = [s for s in answer.file("a.py")["sites"] if s["action"] == "report"]
    assert (site["line"], site["column"]) == (line, column)
    assert "suppresses nothing" in site["reason"]
    assert site["before"].startswith("# jaxmigrate: skip")
    assert "suppresses nothing" in call("run", cwd=tmp_path).out


def test_an_idle_comment_is_reported_in_a_file_that_mentions_nothing(tmp_path: Path) -> None:
    answer = call(
        "run", "--format", "json", cwd=fill(tmp_path, {"a.py": "x = 1  # jaxmigrate: skip\n"})
    )
    assert [site["action"] for site in answer.file("a.py")["sites"]] == ["report"]


def test_a_comment_that_suppresses_one_of_two_sites_is_not_idle(tmp_path: Path) -> None:
    source = "import jax\nx = jax.tree_map(f, t), jax.tree_leaves(t)  # jaxmigrate: skip\n"
    answer = call("run", "--format", "json", cwd=fill(tmp_path, {"a.py": source}))
    assert answer.file("a.py")["sites"] == []


def test_a_comment_for_a_codemod_that_did_not_run_is_not_called_idle(tmp_path: Path) -> None:
    source = "import jax\njax.tree_map(f, [None], t)  # jaxmigrate: skip=none-prefix\n"
    answer = call(
        *("run", "--select", "tree-aliases", "--format", "json"),
        cwd=fill(tmp_path, {"a.py": source}),
    )
    assert answer.report["summary"]["reported"] == {}


def test_a_comment_that_names_no_codemod_there_is_is_reported(tmp_path: Path) -> None:
    source = "import jax\njax.tree_map(f, t)  # jaxmigrate: skip=tree-alias\n"
    answer = call("run", "--format", "json", cwd=fill(tmp_path, {"a.py": source}))
    assert "report" in [site["action"] for site in answer.file("a.py")["sites"]]


def test_skipping_holds_in_worker_processes(tmp_path: Path) -> None:
    source = HEAD + SKIPPED["behind the call"]
    fill(tmp_path, {"a.py": source, "b.py": source})
    assert process("run", "--check", "-j", "2", cwd=tmp_path).code == 0


def test_an_unknown_name_is_told_and_one_that_did_not_run_is_none(tmp_path: Path) -> None:
    source = "x = 1  # jaxmigrate: skip=tree-alias,none-prefix\n"
    fill(tmp_path, {"a.py": source})
    answer = call("run", "--select", "tree-aliases", "--format", "json", cwd=tmp_path)
    assert [site["reason"] for site in answer.file("a.py")["sites"]] == [
        "no codemod is called tree-alias"
    ]

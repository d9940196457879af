"""Which files a run takes, by which path it shows them, and what it says of those it leaves out."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from jaxmigrate.errors import UsageError
from jaxmigrate.sources.discover import Discovery, discover, run_git

as_a_user = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)


def make(root: Path, *names: str, text: str = "") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def git(directory: Path, *arguments: str) -> None:
    options = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", "-C", directory, *options, *arguments], check=True, capture_output=True)


def checkout(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "-q")
    return directory


def found(root: Path, *paths: str | Path, exclude: Sequence[str] = ()) -> Discovery:
    return discover([Path(path) for path in paths or ["."]], exclude, root)


def names(root: Path, *paths: str | Path, exclude: Sequence[str] = ()) -> list[str]:
    discovery = found(root, *paths, exclude=exclude)
    assert discovery.problems == ()
    return [file.path for file in discovery.files]


@pytest.fixture(params=["plain", "git"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A directory outside git, and one that is a checkout."""
    return checkout(tmp_path / "tree") if request.param == "git" else tmp_path


def test_python_files_are_found_in_order_and_nothing_else(tree: Path) -> None:
    make(
        tree,
        "b.py",
        "a/z.py",
        "a.py",
        "a/deep/er/x.py",
        "a/x.pyc",
        "a/x.py.orig",
        "README.md",
        "py",
    )
    assert names(tree) == ["a.py", "a/deep/er/x.py", "a/z.py", "b.py"]


def test_the_real_path_of_a_file_is_where_it_lies(tree: Path) -> None:
    make(tree, "a/x.py")
    assert found(tree).files[0].real_path == (tree / "a/x.py").resolve()


def test_an_empty_directory_has_no_files_and_no_problems(tree: Path) -> None:
    assert names(tree) == []


@pytest.mark.parametrize("given", ["sub", "./sub/", "sub/deeper/..", "../{name}/sub"])
def test_paths_are_shown_relative_to_the_root_however_they_are_given(
    tree: Path, given: str
) -> None:
    make(tree, "sub/x.py", "other.py", "sub/deeper/y.py")
    assert names(tree, given.format(name=tree.name)) == ["sub/deeper/y.py", "sub/x.py"]


def test_an_absolute_path_within_the_root_is_shown_relative(tree: Path) -> None:
    make(tree, "sub/x.py")
    assert names(tree, tree / "sub") == ["sub/x.py"]


def test_a_file_outside_the_root_is_shown_with_its_absolute_path(tree: Path) -> None:
    make(tree, "here/a.py", "there/b.py")
    outside = (tree / "there/b.py").as_posix()
    assert names(tree / "here", "../there") == [outside]
    assert names(tree / "here", "../there/b.py") == [outside]


def test_a_named_file_is_taken_whatever_it_is_called_or_ignored(tree: Path) -> None:
    make(tree, ".gitignore", text="*.py\n")
    make(tree, "gone.py", "script", "build/x.txt", "skip/me.py")
    given = ["gone.py", "script", "build/x.txt", "skip/me.py"]
    assert names(tree, *given, exclude=["skip/"]) == sorted(given)


def test_ignored_files_are_left_out_at_every_level(tree: Path) -> None:
    make(tree, ".gitignore", text="/top.py\nout/\n*_pb2.py\n!kept_pb2.py\n")
    make(tree, "pkg/.gitignore", text="local.py\n!special_pb2.py\n")
    make(tree, "top.py", "pkg/top.py", "out/a.py", "pkg/out/b.py", "x_pb2.py", "kept_pb2.py")
    make(tree, "pkg/local.py", "local.py", "pkg/special_pb2.py", "pkg/y_pb2.py")
    assert names(tree) == ["kept_pb2.py", "local.py", "pkg/special_pb2.py", "pkg/top.py"]
    assert names(tree, "pkg") == ["pkg/special_pb2.py", "pkg/top.py"]


def test_a_directory_that_is_ignored_but_named_is_searched(tree: Path) -> None:
    make(tree, ".gitignore", text="generated/\n")
    make(tree, "generated/a.py", "generated/sub/b.py", "c.py")
    assert names(tree, "generated") == ["generated/a.py", "generated/sub/b.py"]
    assert names(tree, "generated/sub") == ["generated/sub/b.py"]


def test_excluded_files_are_left_out(tree: Path) -> None:
    make(tree, "a.py", "old/b.py", "pkg/old/c.py", "pkg/d_pb2.py", "docs/e.py", "docs/keep.py")
    exclude = ["/old", "*_pb2.py", "docs/*", "!docs/keep.py"]
    assert names(tree, exclude=exclude) == ["a.py", "docs/keep.py", "pkg/old/c.py"]


def test_exclusions_are_relative_to_the_root_and_not_to_the_path(tree: Path) -> None:
    make(tree, "sub/old/a.py", "sub/b.py")
    assert names(tree, "sub", exclude=["sub/old"]) == ["sub/b.py"]
    assert names(tree, "sub", exclude=["/old"]) == ["sub/b.py", "sub/old/a.py"]


def test_outside_the_root_exclusions_are_relative_to_the_directory_that_is_named(
    tree: Path,
) -> None:
    make(tree, "here/a.py", "there/old/b.py", "there/c.py")
    assert names(tree / "here", "../there", exclude=["/old"]) == [(tree / "there/c.py").as_posix()]


def test_an_exclusion_that_is_no_pattern_is_a_usage_error(tree: Path) -> None:
    with pytest.raises(UsageError, match="--exclude: '!' is not a pattern"):
        found(tree, exclude=["docs/", "!"])


def test_a_path_that_does_not_exist_is_a_problem_and_the_others_are_done(tree: Path) -> None:
    make(tree, "a.py")
    discovery = found(tree, "a.py", "no/such.py", "nowhere")
    assert [file.path for file in discovery.files] == ["a.py"]
    assert discovery.problems == (
        ("no/such.py", "no such file or directory"),
        ("nowhere", "no such file or directory"),
    )


@pytest.mark.parametrize("given", [".", "gone.py"])
def test_a_dangling_link_is_a_problem_that_says_where_it_leads(tree: Path, given: str) -> None:
    make(tree, "a.py")
    (tree / "gone.py").symlink_to("not/there.py")
    assert found(tree, given).problems == (("gone.py", "dangling link to not/there.py"),)


def test_a_dangling_link_that_is_no_python_file_or_is_excluded_is_no_problem(tree: Path) -> None:
    make(tree, "a.py")
    (tree / "data").symlink_to("not/there")
    (tree / "gone.py").symlink_to("not/there.py")
    assert names(tree, exclude=["gone.py"]) == ["a.py"]


def test_links_in_a_circle_are_a_problem(tree: Path) -> None:
    (tree / "a.py").symlink_to("b.py")
    (tree / "b.py").symlink_to("a.py")
    words = "symbolic links that lead in a circle"
    assert found(tree).problems == (("a.py", words), ("b.py", words))


def test_links_to_directories_are_not_followed(tree: Path) -> None:
    make(tree, "pkg/a.py")
    (tree / "pkg/loop").symlink_to("..")
    (tree / "again.py").symlink_to("pkg")
    assert names(tree) == ["pkg/a.py"]


def test_a_directory_with_the_name_of_a_file_is_searched(tree: Path) -> None:
    make(tree, "x.py/y.py")
    assert names(tree) == ["x.py/y.py"]


def test_a_file_is_taken_once_however_often_it_is_reached(tree: Path) -> None:
    make(tree, "pkg/z.py")
    (tree / "a.py").symlink_to("pkg/z.py")
    (tree / "b.py").symlink_to("pkg/z.py")
    assert names(tree, ".", "pkg", "a.py", "pkg/z.py", tree) == ["pkg/z.py"]


def test_two_links_to_one_named_file_are_one_file(tree: Path) -> None:
    make(tree, "real/z.txt")
    (tree / "b.py").symlink_to("real/z.txt")
    (tree / "a.py").symlink_to("real/z.txt")
    assert names(tree) == ["a.py"]


def test_hard_links_stay_two_files(tree: Path) -> None:
    make(tree, "a.py")
    (tree / "b.py").hardlink_to(tree / "a.py")
    assert names(tree) == ["a.py", "b.py"]


def test_a_link_out_of_the_directory_is_a_problem_unless_it_is_named(tree: Path) -> None:
    make(tree, "shared/x.py", "pkg/a.py")
    (tree / "pkg/x.py").symlink_to("../shared/x.py")
    discovery = found(tree, "pkg")
    assert [file.path for file in discovery.files] == ["pkg/a.py"]
    (problem,) = discovery.problems
    assert problem[0] == "pkg/x.py"
    assert problem[1].startswith("a link to ../shared/x.py, outside the directories given")
    assert names(tree, "pkg/x.py") == ["pkg/x.py"]
    assert names(tree, "pkg", "shared") == ["pkg/a.py", "shared/x.py"]


def test_a_directory_reached_through_a_link_is_searched_under_that_name(tree: Path) -> None:
    make(tree, "real/pkg/a.py", "real/b.py")
    (tree / "link").symlink_to("real")
    assert names(tree, "link") == ["link/b.py", "link/pkg/a.py"]
    assert names(tree, "link/pkg") == ["link/pkg/a.py"]
    assert names(tree, "link", "real") == ["real/b.py", "real/pkg/a.py"]
    assert names(tree, "link/pkg/../..") == ["real/b.py", "real/pkg/a.py"]


def test_a_root_that_is_reached_through_a_link_is_still_the_root(tree: Path) -> None:
    make(tree, "real/pkg/a.py")
    (tree / "link").symlink_to("real")
    assert names(tree / "link", tree / "real/pkg") == ["pkg/a.py"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_fifo_is_a_problem(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert found(tmp_path).problems == (("pipe.py", "not a regular file"),)
    assert found(tmp_path, "pipe.py").problems == (("pipe.py", "not a regular file"),)


@as_a_user
def test_an_unreadable_directory_is_a_problem_and_the_others_are_done(tree: Path) -> None:
    make(tree, "a.py", "pkg/locked/b.py")
    (tree / "pkg/locked").chmod(0)
    try:
        for given in (".", "pkg"):
            assert found(tree, given).problems == (("pkg/locked", "permission denied"),)
        assert found(tree, "pkg/locked/b.py").problems == (
            ("pkg/locked/b.py", "permission denied"),
        )
        assert names(tree, exclude=["locked/"]) == ["a.py"]
    finally:
        (tree / "pkg/locked").chmod(0o700)


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX only")
def test_a_name_that_is_not_utf_8_leads_to_its_file(tree: Path) -> None:
    directory = os.fsencode(tree) + b"/d\xff"
    try:
        Path(os.fsdecode(directory)).mkdir()
    except OSError:
        pytest.skip("this file system has no such names")
    Path(os.fsdecode(directory + b"/x\xe9.py")).touch()
    (tree / "gone.py").symlink_to(os.fsdecode(b"n\xff"))
    discovery = found(tree)
    assert [os.fsencode(file.path) for file in discovery.files] == [b"d\xff/x\xe9.py"]
    assert os.fsencode(discovery.files[0].real_path).endswith(b"/d\xff/x\xe9.py")
    assert discovery.problems == (("gone.py", r"dangling link to n\xff"),)


@pytest.mark.parametrize("name", ["a b.py", "'q'.py", "tab\t.py", "new\nline.py", "é.py", "-x.py"])
def test_odd_names_are_names(tree: Path, name: str) -> None:
    make(tree, f"pkg/{name}")
    assert names(tree, "pkg") == [f"pkg/{name}"]


# Outside git


@pytest.mark.parametrize(
    "name",
    [
        *(".git", ".hg", ".svn", ".tox", ".nox", ".venv", ".eggs", "node_modules", "__pycache__"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", "build", "dist", "_build", "x.egg-info"),
    ],
)
def test_a_walk_does_not_enter(tmp_path: Path, name: str) -> None:
    make(tmp_path, "a.py", f"pkg/{name}/b.py")
    assert names(tmp_path) == ["a.py"]
    assert names(tmp_path, f"pkg/{name}") == [f"pkg/{name}/b.py"]


@pytest.mark.parametrize("mark", ["pyvenv.cfg", "conda-meta/history"])
def test_a_walk_does_not_enter_virtual_environments(tmp_path: Path, mark: str) -> None:
    make(tmp_path, "a.py", f"env/{mark}", "env/bin/b.py", "env/lib/site-packages/c.py")
    assert names(tmp_path) == ["a.py"]
    assert names(tmp_path, "env") == ["env/bin/b.py"]
    assert names(tmp_path, "env/lib/site-packages") == ["env/lib/site-packages/c.py"]


def test_site_packages_outside_an_environment_are_searched(tmp_path: Path) -> None:
    make(tmp_path, "site-packages/a.py")
    assert names(tmp_path) == ["site-packages/a.py"]


def test_a_walk_minds_dot_ignore_and_it_prevails(tmp_path: Path) -> None:
    make(tmp_path, ".gitignore", text="a.py\nb.py\n")
    make(tmp_path, ".ignore", text="!b.py\nc.py\n")
    make(tmp_path, "a.py", "b.py", "c.py", "d.py")
    assert names(tmp_path) == ["b.py", "d.py"]


def test_a_bad_line_in_an_ignore_file_spoils_none_of_the_others(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xef\xbb\xbfa.py\r\n!\r\n\xff\r\n")
    make(tmp_path, "a.py", "b.py")
    assert names(tmp_path) == ["b.py"]


def test_a_checkout_below_a_plain_directory_is_left_to_git(tmp_path: Path) -> None:
    repository = checkout(tmp_path / "repos/one")
    make(repository, "build/a.py", "b.py")
    make(tmp_path, "c.py")
    git(repository, "add", ".")
    assert names(tmp_path) == ["c.py", "repos/one/b.py", "repos/one/build/a.py"]


# In git


def test_git_gives_tracked_and_new_files_but_not_ignored_or_deleted_ones(tmp_path: Path) -> None:
    make(checkout(tmp_path), "tracked.py", "deleted.py", "forced.py", "build/tracked.py")
    make(tmp_path, ".gitignore", text="forced.py\nignored.py\n")
    git(tmp_path, "add", "--force", ".")
    make(tmp_path, "new.py", "ignored.py")
    (tmp_path / "deleted.py").unlink()
    assert names(tmp_path) == ["build/tracked.py", "forced.py", "new.py", "tracked.py"]


def test_git_minds_its_own_exclude_file(tmp_path: Path) -> None:
    make(checkout(tmp_path), "a.py", "b.py")
    make(tmp_path, ".git/info/exclude", text="b.py\n")
    assert names(tmp_path) == ["a.py"]


def test_a_directory_below_the_top_gives_only_its_own(tmp_path: Path) -> None:
    make(checkout(tmp_path), "a.py", "sub/b.py", "sub/c/d.py")
    git(tmp_path, "add", ".")
    assert names(tmp_path / "sub") == ["b.py", "c/d.py"]
    assert names(tmp_path / "sub", "c") == ["c/d.py"]


def test_conflicted_files_are_taken_once(tmp_path: Path) -> None:
    make(checkout(tmp_path), "a.py", text="0\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "0")
    git(tmp_path, "checkout", "-qb", "side")
    make(tmp_path, "a.py", text="1\n")
    git(tmp_path, "commit", "-qam", "1")
    git(tmp_path, "checkout", "-q", "-")
    make(tmp_path, "a.py", text="2\n")
    git(tmp_path, "commit", "-qam", "2")
    with pytest.raises(subprocess.CalledProcessError):
        git(tmp_path, "merge", "side")
    assert names(tmp_path) == ["a.py"]


def test_a_tracked_file_that_became_a_directory_is_searched(tmp_path: Path) -> None:
    make(checkout(tmp_path), "x.py")
    git(tmp_path, "add", ".")
    (tmp_path / "x.py").unlink()
    make(tmp_path, "x.py/y.py")
    assert names(tmp_path) == ["x.py/y.py"]


def test_submodules_and_checkouts_inside_are_searched_too(tmp_path: Path) -> None:
    make(checkout(tmp_path / "library"), "lib.py")
    git(tmp_path / "library", "add", ".")
    git(tmp_path / "library", "commit", "-qm", "0")
    top = checkout(tmp_path / "top")
    git(top, "submodule", "--quiet", "add", str(tmp_path / "library"), "vendor/library")
    git(top, "submodule", "--quiet", "add", str(tmp_path / "library"), "vendor/absent")
    git(top, "commit", "-qm", "0")
    git(top, "submodule", "--quiet", "deinit", "--force", "vendor/absent")
    make(checkout(top / "clone"), ".gitignore", text="no.py\n")
    make(top, "a.py", "clone/b.py", "clone/no.py", "vendor/library/new.py")
    expected = ["a.py", "clone/b.py", "vendor/library/lib.py", "vendor/library/new.py"]
    assert names(top) == expected
    assert names(top, "vendor", exclude=["lib.py"]) == ["vendor/library/new.py"]


def test_new_virtual_environments_are_left_out_and_tracked_ones_are_not(tmp_path: Path) -> None:
    make(checkout(tmp_path), "old/pyvenv.cfg", "old/lib/a.py")
    git(tmp_path, "add", ".")
    make(tmp_path, "new/pyvenv.cfg", "new/lib/b.py", "c.py")
    assert names(tmp_path) == ["c.py", "old/lib/a.py"]
    assert names(tmp_path, "new/lib") == ["new/lib/b.py"]


def test_a_checkout_whose_git_does_not_work_is_walked(tmp_path: Path) -> None:
    make(tmp_path, ".git", text="gitdir: /nowhere/at/all\n")
    make(tmp_path, ".gitignore", text="no.py\n")
    make(tmp_path, "a.py", "sub/no.py", "sub/b.py")
    assert names(tmp_path) == ["a.py", "sub/b.py"]
    assert names(tmp_path, "sub") == ["sub/b.py"]


def test_a_checkout_is_walked_where_there_is_no_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(checkout(tmp_path), ".gitignore", text="no.py\n")
    make(tmp_path, "a.py", "sub/no.py", "sub/b.py", "build/c.py")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert names(tmp_path) == ["a.py", "sub/b.py"]
    assert names(tmp_path, "sub") == ["sub/b.py"]


def test_the_variables_of_a_git_hook_lead_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(checkout(tmp_path / "other"), "wrong.py")
    make(checkout(tmp_path / "mine"), "right.py")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other/.git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other/.git/index"))
    assert names(tmp_path / "mine") == ["right.py"]


def test_finding_files_runs_no_program_that_the_checkout_names(tmp_path: Path) -> None:
    make(checkout(tmp_path), "a.py")
    hook = tmp_path / "hook"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(hook))
    assert names(tmp_path) == ["a.py"]
    assert not (tmp_path / "ran").exists()


def test_without_git_on_the_path_it_answers_like_a_command_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = run_git(tmp_path, "status")
    assert answer.returncode == 127
    assert answer.stderr == b"git: no such file or directory"

"""Reading says why it cannot; writing leaves a file whole, old or new; git says what is unsaved."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from jaxmigrate.errors import SourceError, UsageError
from jaxmigrate.sources.discover import FoundFile
from jaxmigrate.sources.read import read
from jaxmigrate.sources.write import ChangedOnDisk, dirty_files, write

as_a_user = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do everything"
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "dir" / "a.py"
    path.parent.mkdir()
    path.write_bytes(b"old\n")
    return path


def refusal(path: Path) -> str:
    with pytest.raises(SourceError) as caught:
        read(FoundFile("a.py", path))
    return str(caught.value)


def git(directory: Path, *arguments: str) -> None:
    options = ["-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run(["git", "-C", directory, *options, *arguments], check=True, capture_output=True)


# Reading


def test_a_file_is_read_as_it_stands(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    source = read(FoundFile("shown/a.py", file))
    assert (source.path, source.real_path) == ("shown/a.py", file)
    assert (source.data, source.text) == (b"\xef\xbb\xbfx = 1\r\n", "x = 1\r\n")
    assert source.encoding == "utf-8-sig"


def test_a_file_that_is_gone_is_said_to_be(file: Path) -> None:
    assert refusal(file.parent / "b.py") == "no such file or directory"


def test_a_dangling_link_says_where_it_leads(file: Path) -> None:
    link = file.parent / "link.py"
    link.symlink_to("nowhere.py")
    assert refusal(link) == "dangling link to nowhere.py"


def test_a_directory_is_said_to_be_one(file: Path) -> None:
    assert refusal(file.parent) == "is a directory"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_fifo_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "not a regular file"


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs sockets in the file system")
def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert refusal(tmp_path / "s") == "not a regular file"


@pytest.mark.skipif(not Path("/dev/null").is_char_device(), reason="needs devices")
def test_a_device_is_refused() -> None:
    assert refusal(Path("/dev/null")) == "not a regular file"


@as_a_user
def test_a_file_that_may_not_be_read_is_said_to_be(file: Path) -> None:
    file.chmod(0)
    assert refusal(file) == "permission denied"


def test_a_file_that_cannot_be_decoded_is_refused(file: Path) -> None:
    file.write_bytes(b"\xe9")
    assert "byte 0xe9 at offset 0, line 1" in refusal(file)


# Writing


def test_a_file_gets_its_new_bytes_and_nothing_is_left_beside_it(file: Path) -> None:
    write(file, b"old\n", b"new\r\n\xff")
    assert file.read_bytes() == b"new\r\n\xff"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o664, 0o4755])
def test_the_mode_stays(file: Path, mode: int) -> None:
    file.chmod(mode)
    write(file, b"old\n", b"new\n")
    assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)
def test_the_owner_stays(file: Path) -> None:
    os.chown(file, 1234, 2345)
    write(file, b"old\n", b"new\n")
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 2345)


def test_a_link_stays_a_link_and_its_target_is_written(file: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(Path("dir/a.py"))
    write(link, b"old\n", b"new\n")
    assert link.readlink() == Path("dir/a.py")
    assert file.read_bytes() == b"new\n"


@pytest.mark.parametrize("after", [b"n", b"a good deal longer\n", b""])
def test_hard_links_stay_one_file(file: Path, after: bytes) -> None:
    other = file.parent / "b.py"
    other.hardlink_to(file)
    write(file, b"old\n", after)
    assert other.read_bytes() == file.read_bytes() == after
    assert file.stat().st_nlink == 2


@pytest.mark.parametrize("linked", [False, True])
def test_a_file_that_changed_since_is_left_alone(file: Path, linked: bool) -> None:
    if linked:
        (file.parent.parent / "b.py").hardlink_to(file)
    with pytest.raises(ChangedOnDisk, match="changed on disk since it was read"):
        write(file, b"older\n", b"new\n")
    assert file.read_bytes() == b"old\n"
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_was_deleted_since_stays_deleted(file: Path) -> None:
    file.unlink()
    with pytest.raises(ChangedOnDisk, match="deleted since it was read"):
        write(file, b"old\n", b"new\n")
    assert list(file.parent.iterdir()) == []


def test_a_change_between_reading_and_replacing_is_noticed(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chmod = Path.chmod

    def meddle(path: Path, mode: int) -> None:
        file.write_bytes(b"somebody's\n")
        chmod(path, mode)

    monkeypatch.setattr(Path, "chmod", meddle)
    with pytest.raises(ChangedOnDisk):
        write(file, b"old\n", b"new\n")
    assert file.read_bytes() == b"somebody's\n"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, OSError(28, "No space left")])
@pytest.mark.parametrize(
    ("step", "linked"), [("fsync", False), ("fsync", True), ("replace", False)]
)
def test_whatever_happens_the_file_is_whole_and_alone(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException | type[BaseException],
    step: str,
    linked: bool,
) -> None:
    if linked:
        (file.parent.parent / "b.py").hardlink_to(file)
    calls = []

    def fail(*_arguments: object) -> None:
        calls.append(step)
        if len(calls) == 1:
            raise error

    monkeypatch.setattr(Path if step == "replace" else os, step, fail)
    with pytest.raises((KeyboardInterrupt, MemoryError, SourceError)) as caught:
        write(file, b"old\n", b"much newer\n")
    assert calls
    if isinstance(error, OSError):
        assert str(caught.value) == "cannot be written: no space left"
    assert file.read_bytes() == b"old\n"
    assert list(file.parent.iterdir()) == [file]


@as_a_user
def test_a_directory_that_is_read_only_is_named_as_the_reason(file: Path) -> None:
    file.parent.chmod(0o500)
    try:
        with pytest.raises(SourceError, match="cannot be written: its directory is read-only"):
            write(file, b"old\n", b"new\n")
    finally:
        file.parent.chmod(0o700)
    assert file.read_bytes() == b"old\n"


@as_a_user
def test_a_read_only_file_is_left_alone(file: Path) -> None:
    file.chmod(0o444)
    with pytest.raises(SourceError, match="cannot be written: it is read-only"):
        write(file, b"old\n", b"new\n")
    assert file.read_bytes() == b"old\n"


def test_a_directory_in_place_of_the_file_is_refused(file: Path) -> None:
    file.unlink()
    file.mkdir()
    with pytest.raises(SourceError, match="is a directory"):
        write(file, b"old\n", b"new\n")


# What git could not give back


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with one file of each sort, named for it."""
    top = tmp_path / "checkout"
    (top / "sub").mkdir(parents=True)
    git(top, "init", "-q")
    (top / ".gitignore").write_text("ignored.py\n")
    for name in ("clean.py", "changed.py", "staged.py", "sub/changed.py", "sub/moved.py"):
        (top / name).write_text(f"{name}\n")
    git(top, "add", ".")
    git(top, "commit", "-qm", "0")
    for name in ("changed.py", "staged.py", "sub/changed.py", "sub/new é.py", "ignored.py"):
        (top / name).write_text("new\n")
    git(top, "add", "staged.py")
    git(top, "mv", "sub/moved.py", "sub/renamed.py")
    return top


def test_changed_staged_renamed_and_new_files_are_dirty(checkout: Path) -> None:
    dirty = ["sub/new é.py", "changed.py", "staged.py", "sub/changed.py", "sub/renamed.py"]
    others = ["clean.py", "ignored.py", ".gitignore"]
    paths = [checkout / name for name in dirty + others]
    assert dirty_files(paths) == [checkout / name for name in dirty]


def test_a_clean_checkout_has_no_dirty_files(checkout: Path) -> None:
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "1")
    assert dirty_files([checkout / "clean.py", checkout / "changed.py"]) == []


def test_every_new_file_in_a_new_directory_is_dirty(checkout: Path) -> None:
    path = checkout / "fresh/deep/a.py"
    path.parent.mkdir(parents=True)
    path.touch()
    assert dirty_files([path]) == [path]


def test_files_outside_any_checkout_are_never_dirty(file: Path) -> None:
    assert dirty_files([file]) == []
    assert dirty_files([]) == []


def test_each_file_is_asked_of_its_own_checkout(checkout: Path, file: Path) -> None:
    inner = checkout / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    for name in ("clean.py", "changed.py"):
        (inner / name).touch()
    git(inner, "add", "clean.py")
    git(inner, "commit", "-qm", "0")
    paths = [inner / "changed.py", inner / "clean.py", checkout / "changed.py", file]
    assert dirty_files(paths) == [inner / "changed.py", checkout / "changed.py"]


def test_a_link_is_as_dirty_as_the_file_it_leads_to(checkout: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(checkout / "changed.py")
    (tmp_path / "way").symlink_to(checkout / "sub")
    paths = [link, tmp_path / "way/changed.py", tmp_path / "way/../clean.py"]
    assert dirty_files(paths) == paths[:2]


def test_relative_paths_are_given_back_as_they_came(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout / "sub")
    paths = [Path("changed.py"), Path("../clean.py")]
    assert dirty_files(paths) == [Path("changed.py")]


def test_what_only_looks_like_a_checkout_is_none(file: Path) -> None:
    (file.parent / ".git").mkdir()
    assert dirty_files([file]) == []


def test_without_git_nobody_can_say_what_is_dirty(
    checkout: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(checkout / "nothing"))
    assert dirty_files([file]) == []
    with pytest.raises(UsageError, match=r"git cannot say what is uncommitted .*--allow-dirty"):
        dirty_files([checkout / "clean.py"])

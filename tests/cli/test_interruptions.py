"""A run that is cut off leaves whole files, and says so without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import RETIRED, call, command, contents, environment, fill, process

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

SITES = "import jax\n" + "jax.tree_map(f, t)\n" * 20
MENDED = SITES.replace("tree_map", "tree.map")
COUNT = 40
ONCE_READY = """
import os, signal, sys
import jaxmigrate.{module} as module
from jaxmigrate.cli import main

plain = module.{function}
calls = 0

def interrupted(*args, **kwargs):
    global calls
    calls += 1
    if calls == {at}:
        os.kill(os.getpid(), signal.SIGINT)
    return plain(*args, **kwargs)

module.{function} = interrupted
main(sys.argv[1:])
"""

AT_START = """
import os, signal, threading
import jaxmigrate.pool as pool
from jaxmigrate.cli import main

if __name__ == "__main__":
    plain = pool._start

    def timed(*args):
        threading.Timer({delay}, os.killpg, (0, signal.SIGINT)).start()
        pool._start = plain
        return plain(*args)

    pool._start = timed
    main(["run", "--quiet", "-j", "2"])
"""


def interrupt(
    folder: Path, module: str, function: str, at: int, *arguments: str
) -> tuple[int, str]:
    """Run, and send SIGINT when `function` is called for the `at`-th time."""
    program = ONCE_READY.format(module=module, function=function, at=at)
    done = subprocess.run(
        [sys.executable, "-c", program, "run", *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("at", [1, 2, 17])
def test_an_interrupt_while_writing_leaves_every_file_whole(tmp_path: Path, at: int) -> None:
    fill(tmp_path, {f"m{i:02}.py": SITES for i in range(COUNT)})
    code, said = interrupt(tmp_path, "sources.write", "write", at, "--write")
    assert code == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    after = contents(tmp_path)
    assert len(after) == COUNT
    assert set(after.values()) <= {SITES.encode(), MENDED.encode()}
    assert list(after.values()).count(MENDED.encode()) in (at - 1, at)


@pytest.mark.parametrize("at", [1, 17])
def test_an_interrupt_while_reading_writes_nothing(tmp_path: Path, at: int) -> None:
    fill(tmp_path, {f"m{i:02}.py": SITES for i in range(COUNT)})
    code, said = interrupt(tmp_path, "runner", "migrate_file", at, "--write", "-j", "1")
    assert code == 130
    assert "Traceback" not in said
    assert set(contents(tmp_path).values()) == {SITES.encode()}


@pytest.mark.xfail(
    strict=False, reason="now and then a worker that is ended while it starts prints its traceback"
)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_control_c_at_any_time_ends_with_130_and_whole_files(tmp_path: Path, jobs: str) -> None:
    fill(tmp_path, {f"m{i:03}.py": SITES for i in range(300)})
    running = subprocess.Popen(
        command("run", "--write", "--quiet", "-j", jobs),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    time.sleep(2)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=120)
    after = contents(tmp_path)
    assert len(after) == 300
    assert set(after.values()) <= {SITES.encode(), MENDED.encode()}
    assert "Traceback" not in out + err
    assert running.returncode in (0, 130)
    if running.returncode == 130:
        assert "interrupted" in err


@pytest.mark.parametrize("arguments", [(), ("--format", "json"), ("--verbose",)])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    fill(tmp_path, {f"m{i:02}.py": SITES for i in range(COUNT)})
    running = subprocess.Popen(
        command("run", *arguments),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdout is not None
    assert running.stderr is not None
    assert running.stdout.readline()
    running.stdout.close()
    said = running.stderr.read().decode()
    running.stderr.close()
    assert running.wait(timeout=120) in (0, -signal.SIGPIPE, 128 + signal.SIGPIPE)
    assert said == ""


def test_a_reader_that_goes_away_is_no_error_for_the_pipe_either(tmp_path: Path) -> None:
    running = subprocess.Popen(
        command("run", "-"),
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdin is not None
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.close()
    running.stdin.write(b"import jax\n" + b"jax.tree_map(f, t)\n" * 300)
    running.stdin.close()
    said = running.stderr.read().decode()
    running.stderr.close()
    running.wait(timeout=300)
    assert "Traceback" not in said
    assert "Exception" not in said


def test_no_temporary_file_is_left_behind(tmp_path: Path) -> None:
    fill(tmp_path, {f"m{i:02}.py": RETIRED for i in range(5)})
    call("run", "--write", cwd=tmp_path)
    assert sorted(contents(tmp_path)) == [f"m{i:02}.py" for i in range(5)]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("run",), 0),
        (("run", "--check"), 1),
        (("run", "bad.py"), 3),
        (("run", "-h"), 0),
        (("list",), 0),
    ],
)
def test_a_reader_that_is_gone_changes_nothing_of_the_exit_code(
    tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    fill(tmp_path, {"a.py": RETIRED})
    if code == 3:
        fill(tmp_path, {"bad.py": "def f(:\n"})
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(
            command(*arguments),
            cwd=tmp_path,
            env=environment(),
            stdout=gone,
            stderr=subprocess.PIPE,
            check=False,
            timeout=120,
        )
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
@pytest.mark.parametrize("arguments", [("run",), ("run", "--format", "json"), ("list",)])
def test_output_that_cannot_be_written_is_said_to_be(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    fill(tmp_path, {"a.py": RETIRED})
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(*arguments),
            cwd=tmp_path,
            env=environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=120,
        )
    assert done.returncode == 2
    assert done.stderr.decode().splitlines() == [
        "jaxmigrate: the output cannot be written: No space left on device"
    ]


def test_all_of_a_large_output_arrives_in_a_pipe(tmp_path: Path) -> None:
    fill(tmp_path, {f"m{i:02}.py": SITES for i in range(COUNT)})
    answer = process("run", cwd=tmp_path)
    assert answer.out.count("+jax.tree.map") == COUNT * 20
    assert "--write" in answer.out.splitlines()[-1]


@pytest.mark.xfail(
    strict=False, reason="now and then a worker that is ended while it starts prints its traceback"
)
@pytest.mark.parametrize("delay", [0.3, 0.5, 0.7, 0.9])
def test_control_c_while_workers_start_prints_one_line(tmp_path: Path, delay: float) -> None:
    fill(tmp_path, {f"m{i:03}.py": SITES for i in range(300)})
    running = subprocess.Popen(
        [sys.executable, "-c", AT_START.format(delay=delay)],
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    out, err = running.communicate(timeout=120)
    assert "Traceback" not in out + err
    assert running.returncode in (0, 130)
    assert len(err.splitlines()) == (1 if running.returncode == 130 else 0)

"""The command and its processes: untouched, all of them seen, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from jaxmigrate.versions import NEWEST_KNOWN
from tests.environments import Unavailable, jax_python
from tests.trace.programs import STATE
from tests.trace.traced import FILE, arguments, end, environment, plain, started, trace

fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals and forks of POSIX")

HIT = "import jax\njax.tree_util.tree_map(lambda a, b: a, [None], [1])\n"
SLEEPER = HIT + "import time\nopen('ready', 'w').close()\ntime.sleep(60)\n"


@pytest.fixture(scope="module")
def python() -> Path:
    """The Python of an environment with the newest JAX."""
    try:
        return jax_python(NEWEST_KNOWN)
    except Unavailable as error:
        pytest.skip(error.reason)


@pytest.fixture
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for temporary files that is empty before and has to be after."""
    return tmp_path_factory.mktemp("temporary")


def write(folder: Path, source: str, name: str = "program.py") -> Path:
    """A program in a folder."""
    (folder / name).write_text(source, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("imports", ["", "import jax, jax.numpy"])
def test_a_program_does_not_see_the_recorder(python: Path, tmp_path: Path, imports: str) -> None:
    write(tmp_path, STATE.format(imports=imports))
    (tmp_path / FILE).touch()  # where the trace will be: the folder is listed
    state: dict[str, Any] = json.loads(plain([python, "program.py", "x"], tmp_path)[1])
    answer = trace([python, "program.py", "x"], tmp_path, "--strict")
    seen = json.loads(answer.out)
    finders = seen["meta_path"]
    waiting = [finder for finder in finders if "sitecustomize._Finder" in finder]
    assert len(waiting) == (0 if imports else 1)
    seen["meta_path"] = [finder for finder in finders if finder not in waiting]
    assert seen == state


@pytest.mark.parametrize(
    "value", ["jax.tree_util.tree_map", "jax.tree.map", "jax.tree_util.tree_map_with_path"]
)
def test_functions_are_what_they_were(python: Path, tmp_path: Path, value: str) -> None:
    write(
        tmp_path,
        f"import inspect, jax, pickle\nf = {value}\n"
        "print(f.__name__, f.__qualname__, f.__module__, inspect.signature(f), f.__doc__)\n"
        "print(inspect.getsource(f), pickle.loads(pickle.dumps(f)) is f)\n"
        "d = jax.tree_util.PyTreeDef.flatten_up_to\n"
        "print(d.__name__, d.__doc__, pickle.loads(pickle.dumps(jax.tree_util.PyTreeDef)))\n",
    )
    assert trace([python, "program.py"], tmp_path).out == plain([python, "program.py"], tmp_path)[1]


def test_the_own_sitecustomize_still_runs(python: Path, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    write(tmp_path / "site", "print('hello from', __name__, __file__)\nX = 1\n", "sitecustomize.py")
    write(tmp_path, "import sitecustomize\nprint(sitecustomize.X)\n" + HIT)
    environ = {"PYTHONPATH": str(tmp_path / "site")}
    answer = trace([python, "program.py"], tmp_path, environ=environ)
    assert answer.out == plain([python, "program.py"], tmp_path, environ)[1]
    assert answer.out.startswith(f"hello from sitecustomize {tmp_path}")
    assert answer.lines == [4]


@pytest.mark.parametrize("raised", ["ValueError('own')", "ImportError('own', name='other')"])
def test_a_broken_sitecustomize_breaks_as_before(python: Path, tmp_path: Path, raised: str) -> None:
    (tmp_path / "site").mkdir()
    write(tmp_path / "site", f"raise {raised}\n", "sitecustomize.py")
    write(tmp_path, HIT)
    environ = {"PYTHONPATH": str(tmp_path / "site")}
    answer = trace([python, "program.py"], tmp_path, environ=environ)
    said = plain([python, "-c", ""], tmp_path, environ)[2]
    assert answer.err.startswith(said)
    assert "own" in said
    assert answer.lines == [2]


def test_a_missing_sitecustomize_is_missing(python: Path, tmp_path: Path) -> None:
    write(tmp_path, "import sitecustomize\n")
    answer = trace([python, "program.py"], tmp_path)
    assert answer.code == 1
    assert "No module named 'sitecustomize'" in answer.err


@pytest.mark.parametrize("code", [0, 1, 3, 77])
def test_the_exit_code_passes_through(tmp_path: Path, code: int) -> None:
    assert trace(["sh", "-c", f"exit {code}"], tmp_path).code == code


def test_a_signal_that_ends_the_command_is_told_as_a_shell_does(tmp_path: Path) -> None:
    assert trace(["sh", "-c", "kill -SEGV $$"], tmp_path).code == 128 + signal.SIGSEGV


def test_a_command_that_is_not_there_is_127(tmp_path: Path) -> None:
    answer = trace(["no-such-command", "x"], tmp_path)
    assert answer.code == 127
    assert answer.err == "jaxmigrate: no-such-command: command not found\n"
    assert not (tmp_path / FILE).exists()


def test_a_command_that_cannot_run_is_126(tmp_path: Path) -> None:
    write(tmp_path, "").chmod(0o644)
    answer = trace(["./program.py"], tmp_path)
    assert answer.code == 126
    assert "cannot be run" in answer.err


def test_standard_streams_are_the_commands(tmp_path: Path) -> None:
    done = subprocess.run(
        arguments(["sh", "-c", "cat; printf '\\377\\r\\n'"]),
        input=b"in\x00",
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"in\x00\xff\r\n"


def test_nothing_is_left_behind_but_the_file(python: Path, tmp_path: Path, temporary: Path) -> None:
    write(tmp_path, HIT)
    answer = trace([python, "program.py"], tmp_path, environ={"TMPDIR": str(temporary)})
    assert answer.lines == [2]
    assert sorted(p.name for p in tmp_path.iterdir()) == [FILE, "program.py"]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_goes_to_the_command_and_the_trace_is_kept(
    python: Path, tmp_path: Path, temporary: Path, number: signal.Signals
) -> None:
    write(tmp_path, SLEEPER)
    process = started([python, "program.py"], tmp_path, environ={"TMPDIR": str(temporary)})
    try:
        wait_for(tmp_path / "ready")
        process.send_signal(number)  # to the trace alone, as `kill` does
        _, err = process.communicate(timeout=60)
    finally:
        end(process)
    assert process.returncode == 128 + number
    assert "program.py:2:1" in err
    assert (tmp_path / FILE).exists()
    assert list(temporary.iterdir()) == []


def test_a_command_may_handle_the_signal(python: Path, tmp_path: Path, temporary: Path) -> None:
    write(tmp_path, f"import signal, sys\nsignal.signal(15, lambda *_: sys.exit(5))\n{SLEEPER}")
    process = started([python, "program.py"], tmp_path, environ={"TMPDIR": str(temporary)})
    try:
        wait_for(tmp_path / "ready")
        process.terminate()
        process.communicate(timeout=60)
    finally:
        end(process)
    assert process.returncode == 5


def test_control_c_reaches_the_command_once(tmp_path: Path, temporary: Path) -> None:
    write(
        tmp_path,
        "import os, signal, sys, time\ncame = []\n"
        "signal.signal(signal.SIGINT, lambda *_: came.append(1))\nopen('ready', 'w').close()\n"
        "while not came:\n    time.sleep(0.05)\ntime.sleep(0.5)\nsys.exit(10 + len(came))\n",
    )
    terminal, theirs = os.openpty()
    process = subprocess.Popen(
        arguments([sys.executable, "program.py"]),
        cwd=tmp_path,
        env=environment({"TMPDIR": str(temporary)}),
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    try:
        wait_for(tmp_path / "ready")
        os.write(terminal, b"\x03")
        assert process.wait(timeout=60) == 11
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
        os.close(theirs)
    assert list(temporary.iterdir()) == []


def test_a_signal_that_is_ignored_stays_so(tmp_path: Path) -> None:
    write(tmp_path, "import signal\nprint(signal.getsignal(signal.SIGINT))\n")
    done = subprocess.run(
        arguments([sys.executable, "program.py"]),
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert done.stdout == "1\n"


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_killed_process_loses_nothing(python: Path, tmp_path: Path) -> None:
    write(
        tmp_path,
        "import jax, os\nfor _ in range(1000):\n"
        "    jax.tree_util.tree_map(lambda a, b: a, [None], [1])\nos.kill(os.getpid(), 9)\n",
    )
    answer = trace([python, "program.py"], tmp_path)
    assert answer.code == 137
    assert [(hit.line, hit.count) for hit in answer.hits] == [(3, 1000)]


def test_a_record_that_was_cut_off_is_left_out(python: Path, tmp_path: Path) -> None:
    write(
        tmp_path,
        "import glob, jax, os\njax.tree.map(lambda a, b: a, [None], [1])\n"
        "os.environ['PYTEST_CURRENT_TEST'] = 'cut off (call)'\n"
        "jax.tree.map(lambda a, b: a, [None], [1])\n"
        "folder = os.environ['PYTHONPATH'].split(os.pathsep)[0]\n"
        "(spool,) = glob.glob(folder + '/*.spool')\n"
        "os.truncate(spool, os.path.getsize(spool) - 5)\nos.kill(os.getpid(), 9)\n",
    )
    answer = trace([python, "program.py"], tmp_path)
    assert [(hit.line, hit.count, hit.tests) for hit in answer.hits] == [(2, 1, ()), (4, 1, ())]


@pytest.mark.parametrize("before", ["", "import jax\n"])
def test_what_cannot_be_written_is_told_to_be_lost(
    python: Path, tmp_path: Path, before: str
) -> None:
    write(
        tmp_path,
        f"{before}import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n{HIT}"
        "print('done')\n",
    )
    answer = trace([python, "program.py"], tmp_path, "--check")
    assert answer.out == "done\n"
    assert "Some calls could not be recorded" in answer.err
    assert answer.code == 2


def test_a_hundred_thousand_hits_are_one_record(python: Path, tmp_path: Path) -> None:
    write(
        tmp_path,
        "import jax\ntree = {'a': None, 'b': [1, None]}\nother = {'a': 1, 'b': [1, None]}\n"
        "for _ in range(100_000):\n    jax.tree.map(lambda a, b: a, tree, other)\n",
    )
    (hit,) = trace([python, "program.py"], tmp_path).hits
    assert (hit.line, hit.count, hit.map) == (5, 100_000, "jax.tree.map")
    assert [(place.key_path, place.count) for place in hit.places] == [("['a']", 100_000)]
    assert (tmp_path / FILE).stat().st_size < 1000


def test_keys_that_are_new_at_every_step_do_not_grow_without_end(
    python: Path, tmp_path: Path
) -> None:
    write(
        tmp_path,
        "import jax, os\nos.environ['PYTEST_CURRENT_TEST'] = 'test (call)'\n"
        "for n in range(1200):\n    jax.tree.map(lambda a, b: a, {n: None}, {n: 1})\n",
    )
    (hit,) = trace([python, "program.py"], tmp_path).hits
    assert (hit.count, len(hit.places), hit.tests) == (1200, 1000, ("test",))


CHILDREN = {
    "subprocess": "import subprocess, sys\nsubprocess.run([sys.executable, 'hit.py'], check=True)\n",
    "os.system": "import os, sys\nos.system(sys.executable + ' hit.py')\n",
    "module": "import subprocess, sys\nsubprocess.run([sys.executable, '-m', 'hit'], check=True)\n",
    "fork": "import hit, os\nif os.fork():\n    os.wait()\nelse:\n    hit.again()\n    os._exit(0)\n",
    "spawn": "import multiprocessing as m, hit\nif __name__ == '__main__':\n"
    "    p = m.get_context('spawn').Process(target=hit.again)\n    p.start()\n    p.join()\n",
    "forkserver": "import multiprocessing as m, hit\nif __name__ == '__main__':\n"
    "    p = m.get_context('forkserver').Process(target=hit.again)\n    p.start()\n    p.join()\n",
    "threads": "import hit, threading\nts = [threading.Thread(target=hit.again) for _ in range(9)]\n"
    "[t.start() for t in ts]\n[t.join() for t in ts]\n",
    "exec": "import os, sys\nos.execv(sys.executable, [sys.executable, 'hit.py'])\n",
    "os._exit": "import hit, os\nos._exit(0)\n",
}
COUNTS = {"fork": 2, "spawn": 3, "forkserver": 3, "threads": 10}
CHILD = f"{HIT}def again():\n    exec(compile(open('hit.py').read(), __file__, 'exec'), {{}})\n"


@pytest.mark.parametrize("way", CHILDREN)
def test_children_are_recorded_too(python: Path, tmp_path: Path, way: str) -> None:
    write(tmp_path, CHILD, "hit.py")
    write(tmp_path, CHILDREN[way])
    answer = trace([python, "program.py"], tmp_path)
    assert answer.code == 0, answer.err
    assert [(hit.path, hit.line) for hit in answer.hits] == [("hit.py", 2)]
    assert answer.hits[0].count == COUNTS.get(way, 1)


def test_two_processes_at_once_are_added_up(python: Path, tmp_path: Path) -> None:
    write(
        tmp_path,
        "import jax\nfor n in range(2000):\n"
        "    jax.tree_util.tree_map(lambda a, b: a, [None, None], [n, 'x'])\n",
    )
    both = f"{python} program.py & {python} program.py & wait"
    (hit,) = trace(["sh", "-c", both], tmp_path).hits
    assert hit.count == 4000
    assert [(p.key_path, p.opposite, p.count) for p in hit.places] == [
        ("[0]", "int", 4000),
        ("[1]", "str", 4000),
    ]


def test_a_program_that_closes_every_file_loses_none_of_its_own(
    python: Path, tmp_path: Path
) -> None:
    source = HIT.replace("\n", "\n", 1) + (
        "import os\nos.closerange(3, 256)\n"
        "files = [open(f'own{n}', 'wb', 0) for n in range(50)]\n"
        "for file in files:\n    file.write(b'own')\n"
        "for _ in range(9):\n    jax.tree_util.tree_map(lambda a, b: a, [None], [1])\n"
    )
    write(tmp_path, source)
    answer = trace([python, "program.py"], tmp_path)
    assert {file.read_bytes() for file in tmp_path.glob("own*")} == {b"own"}
    assert [hit.count for hit in answer.hits] == [1, 9]


def test_a_process_that_lives_on_is_not_waited_for_and_not_harmed(
    python: Path, tmp_path: Path, temporary: Path
) -> None:
    write(
        tmp_path,
        "import jax\nopen('ready', 'w').close()\nn = 0\n"
        "while not __import__('os').path.exists('go'):\n    n += 1\n"
        "    jax.tree_util.tree_map(lambda a, b: a, {n: None}, {n: 1})\nopen('done', 'w').close()\n",
    )
    command = f"{python} program.py >/dev/null 2>&1 & while ! test -e ready; do sleep 0.1; done"
    answer = trace(["sh", "-c", command], tmp_path, environ={"TMPDIR": str(temporary)})
    assert answer.code == 0
    assert list(temporary.iterdir()) == []
    (tmp_path / "go").touch()
    wait_for(tmp_path / "done")
    assert list(temporary.iterdir()) == []

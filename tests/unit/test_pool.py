"""Tasks over processes: all of them are answered, whatever becomes of a worker."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from jaxmigrate.pool import WorkerDied, _no_interrupt, over_processes


def adder(shared: object) -> Callable[[int], int]:
    assert isinstance(shared, int)
    return lambda task: task + shared


def pids(_: object) -> Callable[[int], int]:
    return lambda _task: os.getpid()


def dies_at(shared: object) -> Callable[[int], int]:
    def work(task: int) -> int:
        if task in shared:  # type: ignore[operator]
            os._exit(9)
        return task

    return work


def killed_at_3(_: object) -> Callable[[int], int]:
    def work(task: int) -> int:
        if task == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return task

    return work


def dies_at_birth(_: object) -> Callable[[int], int]:
    os._exit(5)


def big(_: object) -> Callable[[int], bytes]:
    return lambda task: bytes([task]) * 3_000_000


def hears_an_interrupt(_: object) -> Callable[[int], str]:
    def work(_task: int) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        return "alive"

    return work


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_every_task_is_answered_once(jobs: int) -> None:
    found = dict(over_processes(adder, 100, list(range(10)), jobs))
    assert found == {task: task + 100 for task in range(10)}


def test_no_tasks_need_no_process() -> None:
    assert list(over_processes(adder, 1, [], 4)) == []
    assert not multiprocessing.active_children()


def test_the_work_is_done_elsewhere_and_by_several() -> None:
    found = {result for _, result in over_processes(pids, None, list(range(40)), 2)}
    assert os.getpid() not in found
    assert 1 <= len(found) <= 2


@pytest.mark.parametrize("deadly", [{0}, {9}, {3, 4, 5}, set(range(10))])
def test_a_dead_worker_costs_its_task_only(deadly: set[int]) -> None:
    found = dict(over_processes(dies_at, frozenset(deadly), list(range(10)), 2))
    assert set(found) == set(range(10))
    for task, result in found.items():
        if task in deadly:
            assert isinstance(result, WorkerDied)
            assert "9" in result.how
        else:
            assert result == task


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_worker_that_is_killed_is_said_to_be() -> None:
    found = dict(over_processes(killed_at_3, None, list(range(6)), 2))
    assert found.pop(3) == WorkerDied("was ended by SIGKILL")
    assert found == {task: task for task in (0, 1, 2, 4, 5)}


def test_workers_that_never_start_answer_for_every_task() -> None:
    found = dict(over_processes(dies_at_birth, None, list(range(4)), 2))
    assert set(found) == {0, 1, 2, 3}
    assert all(isinstance(result, WorkerDied) for result in found.values())


def test_large_answers_come_through() -> None:
    found = dict(over_processes(big, None, [1, 2, 3], 2))
    assert {task: len(data) for task, data in found.items()} == dict.fromkeys([1, 2, 3], 3_000_000)  # type: ignore[arg-type]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_is_for_the_caller_and_not_for_the_workers() -> None:
    found = dict(over_processes(hears_an_interrupt, None, [1, 2], 2))
    assert found == {1: "alive", 2: "alive"}


def test_no_process_is_left_when_all_is_done_or_nobody_asks_any_more() -> None:
    list(over_processes(adder, 1, [1, 2, 3], 2))
    assert not multiprocessing.active_children()
    asking = over_processes(adder, 1, list(range(50)), 2)
    next(asking)
    asking.close()  # type: ignore[attr-defined]
    assert not multiprocessing.active_children()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_process_that_is_just_started_does_not_hear_an_interrupt() -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGINT); print('alive')"
    with _no_interrupt():
        started = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert started.communicate()[0] == b"alive\n"


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interrupt_while_a_process_starts_comes_afterwards() -> None:
    seen = []

    def start() -> None:
        with _no_interrupt():
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
            seen.append("the process is whole")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert seen

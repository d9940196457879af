"""Files over processes: each worker gets one file at a time, so that a dead worker costs one file."""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Generic, TypeVar

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")

Worker = Callable[[Any], Callable[[TaskT], ResultT]]
"""Makes, in a worker process, the function that does the tasks, from what all of them share."""


@dataclass(frozen=True, slots=True)
class WorkerDied:
    """What comes back for a task whose worker ended without an answer; `how` in words."""

    how: str


@dataclass(slots=True)
class _Running(Generic[TaskT]):
    process: BaseProcess
    connection: Connection
    task: TaskT | None = None


def over_processes(
    make_worker: Worker[TaskT, ResultT], shared: object, tasks: Sequence[TaskT], jobs: int
) -> Iterator[tuple[TaskT, ResultT | WorkerDied]]:
    """Do every task in one of `jobs` processes; gives each task with its result as it is done.

    `make_worker` and `shared` are pickled once for each process, tasks and results one by one. A
    process that dies is replaced. When the caller stops asking, all processes are ended.
    """
    waiting = deque(tasks)
    context = multiprocessing.get_context("spawn")
    running: list[_Running[TaskT]] = []
    try:
        for _ in range(min(jobs, len(tasks))):
            # An interrupt must find the process among those to be ended.
            with _no_interrupt():
                running.append(_start(context, make_worker, shared))
        for worker in running:
            _feed(worker, waiting)
        while busy := [worker for worker in running if worker.task is not None]:
            ready = wait([worker.connection for worker in busy])
            for worker in [worker for worker in busy if worker.connection in ready]:
                task = worker.task
                assert task is not None
                result = _answer(worker)
                if isinstance(result, WorkerDied):
                    running.remove(worker)
                    if waiting:
                        with _no_interrupt():
                            worker = _start(context, make_worker, shared)
                            running.append(worker)
                _feed(worker, waiting)
                yield task, result
    finally:
        for worker in running:
            worker.connection.close()
            worker.process.terminate()
            worker.process.join()


def _start(
    context: multiprocessing.context.SpawnContext,
    make_worker: Worker[TaskT, ResultT],
    shared: object,
) -> _Running[TaskT]:
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, make_worker, shared), daemon=True)
    process.start()
    theirs.close()
    return _Running(process, ours)


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Keep SIGINT waiting meanwhile, and away for good from a process that is started meanwhile.

    Ctrl-C goes to every process on the terminal. A worker that imports what it needs cannot ignore it
    yet, and would die with a traceback; what is blocked where it is started stays blocked in it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _feed(worker: _Running[TaskT], waiting: deque[TaskT]) -> None:
    worker.task = None
    if waiting and not worker.connection.closed:
        worker.task = waiting.popleft()
        with suppress(OSError):  # if it died before its first task, the next read says so
            worker.connection.send(worker.task)


def _answer(worker: _Running[TaskT]) -> Any:
    try:
        return worker.connection.recv()
    except (EOFError, OSError):
        worker.connection.close()
        worker.process.join()
        return WorkerDied(_how(worker.process.exitcode))


def _how(exitcode: int | None) -> str:
    if exitcode is not None and exitcode < 0:
        try:
            return f"was ended by {signal.Signals(-exitcode).name}"
        except ValueError:
            return f"was ended by signal {-exitcode}"
    return f"ended with exit code {exitcode}"


def _serve(connection: Connection, make_worker: Worker[Any, Any], shared: object) -> None:
    """A worker process: answers tasks until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    work = make_worker(shared)
    while True:
        try:
            task = connection.recv()
        except (EOFError, OSError):
            return
        connection.send(work(task))

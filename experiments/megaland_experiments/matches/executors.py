"""Jobs in worker processes. Whatever fails in one, no process is left behind, and finished jobs are kept."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from megaland_env.agent import Agent, make_agent
from megaland_experiments.matches.playing import SECONDS_BETWEEN_REPORTS, AgentError
from megaland_experiments.shared.agent_files import check_policies

Job = TypeVar("Job")
Result = TypeVar("Result")
MOST_WORKERS = 61 if sys.platform == "win32" else 1024
"""Largest number of processes; Windows cannot wait for more than 61."""

Tell = Callable[[float], None]
"""Called in a worker process, at most twice a second, with the amount of its job that is done."""


def run_jobs(
    begin: Callable[..., Callable[[Job, Tell], Result]],
    arguments: tuple[Any, ...],
    jobs: Iterable[Job],
    done: Callable[[Job, Result], None],
    workers: int,
    under_way: Callable[[float], None] | None = None,
) -> None:
    """Do all jobs in worker processes.

    Args:
        begin: called once in each process; returns a function that does a job there, and now and then reports the
            amount of it that is done, in any unit. Like the jobs and their results ``begin`` is sent between processes,
            so it must be a function of a module.
        arguments: the arguments of ``begin``.
        jobs: the jobs; the next one is taken whenever a process is free.
        done: called here with each job and its result, in the order in which they end.
        workers: number of processes.
        under_way: called here about twice a second with the amount of all running jobs that is done.

    Raises:
        AgentError: raised by the first job that failed. No more jobs are begun then; those that run are finished.
        ChildProcessError: a process died.
    """
    # Spawned rather than forked: a fork of a process that has threads, as with PyTorch, may deadlock.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    told = context.SimpleQueue()
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(told, begin, arguments))
    waiting = enumerate(jobs)
    running: dict[Future[Result], tuple[int, Job]] = {}
    parts: dict[int, float] = {}  # the amount of each running job that is done
    failure: AgentError | None = None
    try:
        while True:
            while failure is None and len(running) < workers:
                try:
                    number, job = next(waiting)
                except StopIteration:
                    break
                running[pool.submit(_do, number, job)] = (number, job)
                parts[number] = 0.0
            if not running:
                break
            finished = wait(running, timeout=SECONDS_BETWEEN_REPORTS, return_when=FIRST_COMPLETED).done
            while not told.empty():
                number, part = told.get()
                if number in parts:  # else it has ended
                    parts[number] = part
            for future in finished:
                number, job = running.pop(future)
                del parts[number]
                try:
                    result = future.result()
                except AgentError as error:  # jobs that are running are still finished and kept
                    failure = failure or error
                    continue
                done(job, result)
            if under_way is not None:
                under_way(sum(parts.values()))
    except BaseException as error:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        pool.shutdown(cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            message = "a worker process died; perhaps there was not enough memory for the number of --workers"
            raise ChildProcessError(message) from None
        raise
    pool.shutdown()
    if failure is not None:
        raise failure


def make_agents(agents: Sequence[str | Agent], policies: Mapping[str, str]) -> list[Agent]:
    """Make the agents of a worker process. PyTorch gets one thread there, since the processes share the cores.

    Raises:
        FolderError: a policy is not the one of which ``policies`` has the checksum (``check_policies``).
    """
    made = [make_agent(agent) for agent in agents]
    check_policies(policies, agents)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    return made


_do_mine: Callable[[Any, Tell], Any]
"""The function that does a job in this worker process."""

_told: Any
"""The queue on which this worker process reports the amount of a job that is done."""


def _begin(told: Any, begin: Callable[..., Callable[[Any, Tell], Any]], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at once and silently; the parent reports the interrupt
    threading.Thread(target=_end_with_parent, daemon=True).start()
    global _do_mine, _told
    _told = told
    _do_mine = begin(*arguments)


def _do(number: int, job: Any) -> Any:
    return _do_mine(job, lambda part: _told.put((number, part)))


def _end_with_parent() -> None:
    """End this worker when its parent is killed; it would wait for its next job for ever."""
    parent: Any = multiprocessing.parent_process()
    parent.join()
    os._exit(1)

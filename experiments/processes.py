"""Work divided among processes: whatever goes wrong in one, none is left behind, and what was done is kept."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from experiments.matches import AgentError
from megaland_env.agent import Agent, make_agent

Job = TypeVar("Job")
Result = TypeVar("Result")


def run_jobs(
    begin: Callable[..., Callable[[Job], Result]],
    arguments: tuple[Any, ...],
    jobs: Iterable[Job],
    done: Callable[[Job, Result], None],
    workers: int,
) -> None:
    """Do all jobs in processes of their own.

    Args:
        begin: called once in each process; returns what does a job there. Like the jobs and their results it is sent
            between processes, so it must be a function of a module.
        arguments: its arguments.
        jobs: a job is taken whenever a process is free for it.
        done: called here with each job and its result, as they come.
        workers: how many processes.

    Raises:
        AgentError: of the first job that raised it. No more jobs are begun then, but those that were are done.
        ChildProcessError: a process died.
    """
    # Spawned rather than forked: a copy of a process that has threads, as PyTorch does, may wait for ever.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin, initargs=(begin, arguments))
    waiting = iter(jobs)
    running: dict[Future[Result], Job] = {}
    failure: AgentError | None = None
    try:
        while True:
            while failure is None and len(running) < workers:
                try:
                    job = next(waiting)
                except StopIteration:
                    break
                running[pool.submit(_do, job)] = job
            if not running:
                break
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job = running.pop(future)
                try:
                    result = future.result()
                except AgentError as error:  # what is being played is kept, too
                    failure = failure or error
                    continue
                done(job, result)
    except BaseException as error:
        for process in set(multiprocessing.active_children()) - others:
            process.terminate()
        pool.shutdown(cancel_futures=True)
        if isinstance(error, BrokenProcessPool):
            message = "a worker process died; perhaps there was not memory enough for so many (--workers)"
            raise ChildProcessError(message) from None
        raise
    pool.shutdown()
    if failure is not None:
        raise failure


def make_agents(agents: Sequence[str | Agent]) -> list[Agent]:
    """The agents of a worker process. PyTorch gets one thread there, since the processes share the cores already."""
    made = [make_agent(agent) for agent in agents]
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    return made


_do_mine: Callable[[Any], Any]
"""What a worker process does."""


def _begin(begin: Callable[..., Callable[[Any], Any]], arguments: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # end at once and without a word; the parent says what is to be said
    threading.Thread(target=_end_with_parent, daemon=True).start()
    global _do_mine
    _do_mine = begin(*arguments)


def _do(job: Any) -> Any:
    return _do_mine(job)


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for its next job for ever."""
    parent: Any = multiprocessing.parent_process()
    parent.join()
    os._exit(1)

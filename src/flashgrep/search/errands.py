"""Messages to the pool's workers and their answers, where no walk is involved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flashgrep.errors import Cancelled, IOFailure
from flashgrep.search.crew import DIED, Begin, Crew
from flashgrep.search.pool import Pool
from flashgrep.search.turns import Flag


def run_one(
    pool: Pool,
    message: Any,
    cancelled: Flag,
    begin: Begin | None = None,
    is_short: bool = False,
) -> Any:
    """The answer to one message; the worker is killed where the caller withdraws."""
    return next(run_all(pool, [message], cancelled, begin, is_short))[1]


def run_all(
    pool: Pool,
    messages: Sequence[Any],
    cancelled: Flag,
    begin: Begin | None = None,
    is_short: bool = False,
) -> Iterator[tuple[int, Any]]:
    """The answers to some messages, by as many workers as are to be had, as they come.

    Each comes with the number of its message. Whoever stops reading gives the workers back.
    """
    crew, waiting, deaths = (
        Crew[int](pool, cancelled, is_short),
        list(range(len(messages)))[::-1],
        0,
    )
    try:
        while waiting or crew.tasks:
            if cancelled:
                raise Cancelled("The search was cancelled")
            while crew.overlong and (worker := crew.worker_apart()):
                task = crew.overlong.pop(0)
                if not crew.send(worker, task, messages[task], begin):
                    waiting.append(task)
            while waiting and (not crew or not pool.has_waiters) and (worker := crew.worker()):
                if crew.send(worker, waiting[-1], messages[waiting[-1]], begin):
                    waiting.pop()
            for task, answer in crew.collect():
                if answer is DIED:
                    deaths += 1
                    if deaths > 2 * pool.size:
                        raise IOFailure("The search process died; is there enough memory?")
                    waiting.append(task)
                elif answer[0] == "failed":
                    raise IOFailure(str(answer[1]))
                else:
                    yield task, answer
    finally:
        crew.release()

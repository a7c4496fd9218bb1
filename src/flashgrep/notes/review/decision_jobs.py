"""Decisions on so many suggestions that nobody waits for the answer: a job, which reports progress.

Each note is one transaction, and what is decided stays so: a job that is stopped, by the end of
the server for one, has decided some notes and not the others. The ids of the rest are pending as
they were, and can be sent again. Progress is told after each note, and while one takes long, the
same again: who waits sees that it runs.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from flashgrep import limits
from flashgrep.errors import (
    AccessDenied,
    Cancelled,
    FlashgrepError,
    InvalidParams,
    Unavailable,
)
from flashgrep.notes.access.roles import Principal, Role
from flashgrep.notes.review.decide import Action, Verdict, verdict_of
from flashgrep.notes.review.step import StepResult

PULSE_SECONDS: Final = 0.2
"""After so long without news of a job, its progress is told again."""

log = logging.getLogger(__name__)

Decide = Callable[
    [Sequence[str], Verdict, Principal, str, Callable[[], bool]],
    Iterator[Mapping[str, StepResult]],
]


class State(StrEnum):
    """How far a job is."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is at one moment."""

    id: str
    whose: str
    """The token that began it, and that gets its progress."""
    total: int
    done: int = 0
    """Ids that have an outcome."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many of each status."""
    state: State = State.RUNNING
    message: str = ""
    """Why it stopped or failed."""


class DecisionJobs:
    """The jobs of a knowledge base; for any thread but that of the notes."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._guard = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}
        self._running: Counter[str] = Counter()
        """How many jobs each token has."""
        self._is_closing = threading.Event()
        self._listeners: list[Callable[[Job], None]] = []

    def listen(self, listener: Callable[[Job], None]) -> Callable[[], None]:
        """Call a listener, in any thread, after each step of a job; gives the way to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def start(self, ids: Sequence[str], decided: Verdict | Action, who: Principal, by: str) -> Job:
        """Begin to decide; refused where too many are named, or too many jobs run.

        Who may decide nowhere gets no job: it would take a place, and turns, for nothing.
        """
        if not who.is_anywhere(Role.WRITE):
            raise AccessDenied(f"{by} may decide nothing; deciding needs the role write on a note")
        wanted = list(dict.fromkeys(ids))
        if len(wanted) > limits.DECISIONS_A_JOB:
            raise InvalidParams(
                f"{len(wanted)} ids; decide at most {limits.DECISIONS_A_JOB} suggestions at once"
            )
        verdict = verdict_of(decided)
        verdict.check_ids(wanted)
        job = Job(secrets.token_hex(8), by, len(wanted))
        with self._guard:
            if self._is_closing.is_set() or len(self._threads) >= limits.DECISION_JOBS:
                raise Unavailable(
                    f"{limits.DECISION_JOBS} jobs are deciding already; try again when one is done"
                )
            if self._running[job.whose] >= limits.DECISION_JOBS_EACH:
                raise Unavailable(
                    f"{limits.DECISION_JOBS_EACH} jobs of {by} are deciding already; try again "
                    "when one is done"
                )
            self._running[job.whose] += 1
            thread = threading.Thread(
                target=self._run,
                args=(job, wanted, verdict, who, by),
                name="flashgrep-deciding",
                daemon=True,
            )
            self._threads[job.id] = thread
            thread.start()
        return job

    def close(self) -> None:
        """Stop all jobs, each after the note it is at."""
        self._is_closing.set()
        for thread in list(self._threads.values()):
            thread.join()

    def _run(self, job: Job, ids: list[str], verdict: Verdict, who: Principal, by: str) -> None:
        counts: Counter[str] = Counter()
        last = job
        pulse = _Pulse(job, self._notify)
        try:
            for outcomes in self._decide(ids, verdict, who, by, self._is_closing.is_set):
                counts.update(str(one.status) for one in outcomes.values())
                last = replace(job, done=counts.total(), counts=dict(counts))
                if last.done < last.total:
                    pulse.tell(last)
            last = replace(last, state=State.DONE)
        except (Cancelled, Unavailable) as error:
            last = replace(last, state=State.STOPPED, message=error.message)
        except FlashgrepError as error:
            last = replace(last, state=State.FAILED, message=error.message)
        except Exception:
            log.exception("a job that decides suggestions failed")
            last = replace(last, state=State.FAILED, message="it failed inside; see the log")
        finally:
            pulse.end()
            with self._guard:
                del self._threads[job.id]
                self._running -= Counter([job.whose])
            self._notify(last)

    def _notify(self, job: Job) -> None:
        for listener in list(self._listeners):
            listener(job)


class _Pulse:
    """Tells how far a job is, and tells it again after a while of nothing new."""

    def __init__(self, job: Job, notify: Callable[[Job], None]) -> None:
        self._last = job
        self._notify = notify
        self._guard = threading.Lock()
        self._is_new = threading.Event()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="flashgrep-pulse", daemon=True)
        self._thread.start()

    def tell(self, job: Job) -> None:
        """Tell what is new."""
        with self._guard:
            self._last = job
            self._notify(job)
        self._is_new.set()

    def end(self) -> None:
        """Tell nothing more, from the return on."""
        self._is_over = True
        self._is_new.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over:
            if self._is_new.wait(PULSE_SECONDS):
                self._is_new.clear()
                continue
            with self._guard:
                self._notify(self._last)

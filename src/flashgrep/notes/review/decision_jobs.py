"""Jobs that decide on more suggestions than anybody would wait for, and report their progress.

Each note is one transaction, and decisions stand: a job that is stopped, say because the server
ends, has decided some notes and not the others. The other ids are still pending and can be sent
again. Progress is reported after each note, and repeated while one takes long, so that whoever
waits sees that the job is running. Undoing what a job decided is a job too. The server remembers
the last jobs for as long as it runs.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from flashgrep import limits
from flashgrep.errors import (
    AccessDenied,
    Cancelled,
    FlashgrepError,
    InvalidParams,
    NotFound,
    Unavailable,
)
from flashgrep.notes.access.roles import Principal, Role
from flashgrep.notes.review.step_result import DecisionStatus, StepResult
from flashgrep.notes.review.verdict import Action, Verdict, verdict_of

PULSE_SECONDS: Final = 0.2
"""After so long without news of a job, its progress is reported again."""

log = logging.getLogger(__name__)

Decide = Callable[
    [Sequence[str], Verdict, Principal, str, Callable[[], bool]],
    Iterator[Mapping[str, StepResult]],
]
Work = Callable[[Callable[[], bool]], Iterator[Mapping[str, StepResult]]]
"""What a job does, step by step, until it is told to stop."""


class State(StrEnum):
    """The state of a job."""

    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it is at one moment."""

    id: str
    whose: str
    """The key of the token that began it, and that gets its progress."""
    total: int
    done: int = 0
    """Ids that have an outcome."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """How many of each status."""
    state: State = State.RUNNING
    message: str = ""
    """Why it stopped or failed."""

    def as_json(self) -> dict[str, Any]:
        """As routes and events tell it."""
        return {
            "job": self.id,
            "done": self.done,
            "total": self.total,
            "counts": self.counts,
            "state": self.state,
            "message": self.message,
        }


class DecisionJobs:
    """The jobs of a knowledge base. Any thread may use it, except that of the notes."""

    def __init__(self, decide: Decide) -> None:
        self._decide = decide
        self._guard = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}
        self._running: Counter[str] = Counter()
        """How many jobs each token has."""
        self._is_closing = threading.Event()
        self._listeners: list[Callable[[Job], None]] = []
        self._last: OrderedDict[str, Job] = OrderedDict()
        self._decided: dict[str, list[int]] = {}
        """What each of them has decided, in order."""

    def listen(self, listener: Callable[[Job], None]) -> Callable[[], None]:
        """Call a listener, in any thread, after each step of a job; gives the way to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def start(
        self,
        ids: Sequence[str],
        decided: Verdict | Action,
        who: Principal,
        by: str,
        whose: str = "",
    ) -> Job:
        """Begin to decide; refused if too many are named, or too many jobs are running. `by` is
        logged; `whose` names the job's owner, if different, who gets its progress. Somebody who may
        not decide anywhere gets no job: it would take a place, and turns, for nothing.
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
        return self.begin(
            len(wanted),
            lambda is_cancelled: self._decide(wanted, verdict, who, by, is_cancelled),
            whose or by,
        )

    def begin(self, total: int, work: Work, whose: str) -> Job:
        """Begin some work on so many suggestions."""
        job = Job(secrets.token_hex(8), whose, total)
        with self._guard:
            if self._is_closing.is_set() or len(self._threads) >= limits.DECISION_JOBS:
                raise Unavailable(
                    f"{limits.DECISION_JOBS} jobs are deciding already; try again when one is done"
                )
            if self._running[job.whose] >= limits.DECISION_JOBS_EACH:
                raise Unavailable(
                    f"{limits.DECISION_JOBS_EACH} jobs of yours are deciding already; try again "
                    "when one is done"
                )
            self._running[job.whose] += 1
            thread = threading.Thread(
                target=self._run,
                args=(job, work),
                name="flashgrep-deciding",
                daemon=True,
            )
            self._threads[job.id] = thread
            self._remember(job)
            thread.start()
        return job

    def find(self, name: str, whose: str) -> Job:
        """One's own job as it is now; `NotFound` where it is not remembered."""
        job = self._last.get(name)
        if job is None or job.whose != whose:
            raise NotFound(
                f"there is no job {name[: limits.QUOTED_CHARS]} of yours; what it has decided "
                "is in the list of decisions"
            )
        return job

    def decided_by(self, job: Job) -> list[int]:
        """The decisions that a job has made, in order."""
        with self._guard:
            return list(self._decided.get(job.id, ()))

    def _remember(self, job: Job) -> None:
        self._last[job.id] = job
        self._decided[job.id] = []
        while len(self._last) > limits.DECISION_JOBS_KEPT:
            oldest, _ = self._last.popitem(last=False)
            del self._decided[oldest]

    def close(self) -> None:
        """Stop all jobs, each after the note it is at."""
        self._is_closing.set()
        for thread in list(self._threads.values()):
            thread.join()

    def _run(self, job: Job, work: Work) -> None:
        counts: Counter[str] = Counter()
        last = job
        pulse = _Pulse(job, self._notify)
        try:
            for outcomes in work(self._is_closing.is_set):
                counts.update(str(one.status) for one in outcomes.values())
                last = replace(job, done=counts.total(), counts=dict(counts))
                self._took(last, outcomes)
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
            self._took(last, {})
            self._notify(last)

    def _took(self, job: Job, outcomes: Mapping[str, StepResult]) -> None:
        with self._guard:
            if job.id not in self._last:
                return  # forgotten: many have begun since
            self._last[job.id] = job
            self._decided[job.id] += [
                one.decided.id
                for one in outcomes.values()
                if one.status is DecisionStatus.DONE and one.decided and not one.decided.is_undone
            ]

    def _notify(self, job: Job) -> None:
        for listener in list(self._listeners):
            listener(job)


class _Pulse:
    """Reports a job's progress, and repeats the report if nothing new happens for a while."""

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

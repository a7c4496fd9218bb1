"""Jobs that decide: one transaction a note, told of as they go on, stopped between two notes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue

import pytest

from flashgrep import limits
from flashgrep.errors import (
    AccessDenied,
    Cancelled,
    FlashgrepError,
    InvalidParams,
    Unavailable,
)
from flashgrep.notes.access.roles import Principal, Role, everywhere
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.review.decision_jobs import DecisionJobs, Job, State
from flashgrep.notes.review.review import IDS_A_TURN, DecisionStatus, Query, StepResult
from flashgrep.notes.review.verdict import Action, Verdict
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose

ADMIN = everywhere("ann", Role.ADMIN)


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    Home.create(tmp_path / "kb")
    made = KnowledgeBase(tmp_path / "kb")
    yield made
    made.close()


def suggestions(kb: KnowledgeBase, notes: int, each: int) -> list[str]:
    text = " ".join(f"w{number}." for number in range(each))
    ids: list[str] = []
    for number in range(notes):
        kb.ask(partial(Library.create, path=f"N{number}.md", text=text))
        for word in range(each):
            ids += propose(kb, f"N{number}.md", Edit(f"w{word}.", f"W{word}."), "agent").ids
    return ids


class Heard:
    """What jobs tell, waited for."""

    def __init__(self, jobs: DecisionJobs) -> None:
        self._told: SimpleQueue[Job] = SimpleQueue()
        jobs.listen(self._told.put)

    def until_ended(self) -> list[Job]:
        """What is told, each piece of news once."""
        found: list[Job] = []
        while not found or found[-1].state is State.RUNNING:
            found.append(self.next())
        return list({(one.id, one.done, one.state): one for one in found}.values())

    def until(self, done: int) -> Job:
        """The first that has got so far."""
        while (job := self.next()).done < done:
            pass
        return job

    def next(self) -> Job:
        return self._told.get(timeout=120)


def test_a_job_tells_how_far_it_is_and_decides_note_by_note(kb: KnowledgeBase) -> None:
    ids = suggestions(kb, 3, 4)
    heard = Heard(kb.review.jobs)
    job = kb.review.jobs.start([*ids, "s_none", ids[0]], Action.ACCEPT, ADMIN, "ann/page")
    told = heard.until_ended()
    assert {one.id for one in told} == {job.id}
    assert (job.total, job.whose) == (13, "ann/page")
    assert [one.done for one in told if one.done] == [1, 5, 9, 13]
    assert (told[-1].state, told[-1].counts) == (State.DONE, {"not_found": 1, "done": 12})
    assert kb.review.suggestions(Query(), ADMIN).suggestions == ()
    rows = kb.review.decisions(ADMIN)
    assert len(rows) == 12
    assert {row.by for _, row in rows} == {"ann/page"}
    for note in {row.note for _, row in rows}:
        assert kb.read(note).sequence == 1 + 4 + 1


def test_ids_that_are_pending_nowhere_are_worked_off_in_turns(kb: KnowledgeBase) -> None:
    (known,) = suggestions(kb, 1, 1)
    heard = Heard(kb.review.jobs)
    unknown = [f"s_{number}" for number in range(2 * IDS_A_TURN + 1)]
    kb.review.jobs.start([*unknown, known], Action.ACCEPT, ADMIN, "ann")
    told = heard.until_ended()
    turns = [IDS_A_TURN, 2 * IDS_A_TURN, len(unknown), len(unknown) + 1]
    assert [one.done for one in told if one.done] == turns
    assert told[-1].counts == {"not_found": len(unknown), "done": 1}


class Slow:
    """Decides a note whenever it is let; nothing of it is real but the waiting."""

    def __init__(self) -> None:
        self.turns: SimpleQueue[FlashgrepError | Exception | None] = SimpleQueue()

    def decide(
        self,
        ids: Sequence[str],
        action: Verdict,
        who: Principal,
        by: str,
        is_cancelled: Callable[[], bool],
    ) -> Iterator[Mapping[str, StepResult]]:
        for name in ids:
            failure = self.turns.get(timeout=120)
            if failure is not None:
                raise failure
            if is_cancelled():
                raise Cancelled("stopped between two notes")
            yield {name: StepResult(name, DecisionStatus.DONE, "accepted")}


def test_a_job_is_stopped_between_two_notes_when_the_notes_are_closed() -> None:
    slow = Slow()
    jobs = DecisionJobs(slow.decide)
    heard = Heard(jobs)
    jobs.start(["a", "b", "c"], Action.ACCEPT, ADMIN, "ann")
    slow.turns.put(None)
    first = heard.until(done=1)
    closing = threading.Thread(target=jobs.close)
    closing.start()
    jobs._is_closing.wait(120)
    slow.turns.put(None)
    closing.join(120)
    last = heard.until_ended()[-1]
    assert (first.done, last.done, last.state) == (1, 1, State.STOPPED)
    with pytest.raises(Unavailable):
        jobs.start(["d"], Action.ACCEPT, ADMIN, "ann")


def test_a_job_that_takes_long_over_a_note_tells_again_how_far_it_is() -> None:
    slow = Slow()
    jobs = DecisionJobs(slow.decide)
    heard = Heard(jobs)
    job = jobs.start(["a", "b"], Action.ACCEPT, ADMIN, "ann")
    assert [heard.next(), heard.next()] == [job, job]
    slow.turns.put(None)
    first = heard.until(done=1)
    assert heard.next() == first
    slow.turns.put(None)
    assert heard.until_ended()[-1].state is State.DONE
    jobs.close()
    assert heard._told.empty()


@pytest.mark.parametrize("failure", [FlashgrepError("no room"), ZeroDivisionError()])
def test_a_job_that_fails_says_so_and_leaves_its_place(failure: Exception) -> None:
    slow = Slow()
    jobs = DecisionJobs(slow.decide)
    heard = Heard(jobs)
    for _ in range(limits.DECISION_JOBS + 1):
        slow.turns.put(failure)
        jobs.start(["a"], Action.REJECT, ADMIN, "ann")
        last = heard.until_ended()[-1]
        assert last.state is State.FAILED
        assert last.message
    jobs.close()


def test_too_many_jobs_and_too_many_ids_are_refused() -> None:
    slow = Slow()
    jobs = DecisionJobs(slow.decide)
    heard = Heard(jobs)
    for number in range(limits.DECISION_JOBS):
        jobs.start(["a"], Action.ACCEPT, ADMIN, f"ann{number}")
    with pytest.raises(Unavailable, match="jobs are deciding already"):
        jobs.start(["a"], Action.ACCEPT, ADMIN, "ann")
    for _ in range(limits.DECISION_JOBS):
        slow.turns.put(None)
        heard.until_ended()
    many = [f"s_{number}" for number in range(limits.DECISIONS_A_JOB + 1)]
    with pytest.raises(InvalidParams, match=f"at most {limits.DECISIONS_A_JOB}"):
        jobs.start(many, Action.ACCEPT, ADMIN, "ann")
    jobs.close()


def test_one_token_never_has_all_places() -> None:
    slow = Slow()
    jobs = DecisionJobs(slow.decide)
    heard = Heard(jobs)
    for _ in range(limits.DECISION_JOBS_EACH):
        jobs.start(["a"], Action.ACCEPT, ADMIN, "ann")
    with pytest.raises(Unavailable, match=f"{limits.DECISION_JOBS_EACH} jobs of yours"):
        jobs.start(["a"], Action.ACCEPT, ADMIN, "ann")
    jobs.start(["a"], Action.ACCEPT, ADMIN, "bob")
    for _ in range(limits.DECISION_JOBS_EACH + 1):
        slow.turns.put(None)
        heard.until_ended()
    jobs.start(["a"], Action.ACCEPT, ADMIN, "ann")
    slow.turns.put(None)
    heard.until_ended()
    jobs.close()


def test_who_may_decide_nowhere_gets_no_job() -> None:
    jobs = DecisionJobs(Slow().decide)
    with pytest.raises(AccessDenied, match="rita may decide nothing"):
        jobs.start(["a"], Action.ACCEPT, everywhere("rita", Role.SUGGEST), "rita")
    jobs.close()

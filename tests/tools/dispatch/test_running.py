"""Calls of one caller do not keep those of others waiting."""

from __future__ import annotations

import anyio
import pytest

from flashgrep import limits
from flashgrep.tools.dispatch.toolbox import CallShares

PATIENCE_SECONDS = 120


class Calls:
    """Calls that run until they are told to end."""

    def __init__(self, tasks: anyio.abc.TaskGroup) -> None:
        self._running = CallShares()
        self._tasks = tasks
        self.ends: dict[str, anyio.Event] = {}
        self.begun: list[str] = []

    async def start(self, name: str) -> None:
        """Begin a call; what stands before the dash is its caller."""
        self.ends[name] = anyio.Event()
        self._tasks.start_soon(self._run, name)
        await anyio.wait_all_tasks_blocked()

    async def _run(self, name: str) -> None:
        caller = name.partition("-")[0]
        await self._running.enter(caller)
        try:
            self.begun.append(name)
            await self.ends[name].wait()
        finally:
            self._running.end(caller)

    async def end(self, name: str) -> None:
        self.ends[name].set()
        await anyio.wait_all_tasks_blocked()


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CALLS_AT_ONCE", 3)
    monkeypatch.setattr("flashgrep.tools.dispatch.toolbox.THREADS", 3)


def test_the_first_call_of_a_caller_never_waits_for_those_of_others() -> None:
    async def main() -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as tasks:
                calls = Calls(tasks)
                for caller in "abcd":
                    for number in range(5):
                        await calls.start(f"{caller}-{number}")
                assert len(calls.begun) == 4 + 3
                await calls.start("quiet-0")
                assert calls.begun[-1] == "quiet-0"
                tasks.cancel_scope.cancel()

    anyio.run(main)


def test_a_free_place_is_given_to_the_caller_that_runs_fewest() -> None:
    async def main() -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as tasks:
                calls = Calls(tasks)
                for name in ("a-0", "a-1", "a-2", "b-0", "b-1", "a-3", "b-2", "c-0", "c-1"):
                    await calls.start(name)
                assert calls.begun == ["a-0", "a-1", "a-2", "b-0", "b-1", "c-0"]
                await calls.end("a-0")
                assert calls.begun[-1] == "c-1"
                tasks.cancel_scope.cancel()

    anyio.run(main)


def test_a_call_that_waits_can_be_cancelled_and_takes_no_place() -> None:
    async def main() -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as tasks:
                calls = Calls(tasks)
                for number in range(3):
                    await calls.start(f"a-{number}")
                with anyio.CancelScope() as scope:
                    scope.cancel()
                    await calls._running.enter("a")
                    raise AssertionError("there is no place")
                await calls.start("a-3")
                assert "a-3" not in calls.begun
                await calls.end("a-0")
                assert calls.begun[-1] == "a-3"
                assert calls._running._counts == {"a": 3}
                tasks.cancel_scope.cancel()

    anyio.run(main)

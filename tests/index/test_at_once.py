"""A search for a rare word is made without a thread, and answers what any other does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest

from flashgrep import limits
from flashgrep.app import Application
from flashgrep.index.answer.newest_pages import NewestPages
from flashgrep.tools.dispatch import moments
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.mounts.files import FilesPoint
from tests.index.twins import Twins, haste, twins

CHANCE = Random(3)
WORDS = [f"{CHANCE.choice(['mutex', 'timer', 'page'])}_{at:03}_lock" for at in range(400)]
CALLS = 120


@pytest.fixture(autouse=True)
def calmly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """However busy the machine is, a call is over in a moment."""
    monkeypatch.setattr(moments, "_MOMENT_SECONDS", 600.0)
    monkeypatch.setattr(moments, "_WARM_SECONDS", 600.0)
    with haste():
        yield


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Twins]:
    work = tmp_path / "work"
    work.mkdir()
    for at in range(300):
        held = [WORDS[at], WORDS[at], CHANCE.choice(WORDS), *["common, a block of its own"] * 500]
        (work / f"f{at:03}.c").write_text("\n".join(held), encoding="utf-8")
    with twins(tmp_path) as made:
        made.folded()
        yield made


class Asking:
    """Calls of one server as a transport makes them, and the threads that they ran in."""

    def __init__(self, application: Application, monkeypatch: pytest.MonkeyPatch) -> None:
        self._toolbox = application.toolbox
        self.threads: list[threading.Thread] = []
        real = FilesPoint.answer

        def noted(point: FilesPoint, asked: Any, call: Any) -> Any:
            answer = real(point, asked, call)
            self.threads.append(threading.current_thread())
            return answer

        monkeypatch.setattr(FilesPoint, "answer", noted)

    async def grep(self, **arguments: Any) -> str:
        return (await self._toolbox.call("grep", arguments, Caller("test"))).text

    def here(self) -> bool:
        """Whether the last call that was answered ran on the thread of the event loop."""
        return self.threads[-1] is threading.current_thread()


def test_where_calls_run(pair: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking(pair.indexed, monkeypatch)

    async def ask() -> None:
        found = [await asking.grep(pattern=WORDS[7])]
        assert not asking.here()  # the first one shows that memory is warm
        found.append(await asking.grep(pattern=WORDS[7]))
        assert asking.here()
        assert found[0] == found[1] != "No matches found"
        assert (await asking.grep(pattern="nowhere_at_all")) == "No matches found"
        assert asking.here()
        for arguments in (
            {"pattern": r"page_\d+"},
            {"pattern": WORDS[7], "case_insensitive": True},
            {"pattern": WORDS[7], "multiline": True},
            {"pattern": WORDS[7], "path": "f007.c"},
            {"pattern": WORDS[7], "path": "."},
        ):
            await asking.grep(**arguments)
            assert not asking.here(), arguments
        (Path(pair.indexed.workdir) / "new.c").write_text(WORDS[7], encoding="utf-8")
        assert "new.c" in await asking.grep(pattern=WORDS[7])
        assert not asking.here()  # it is on disk, until it is in a segment

    anyio.run(ask)


def test_a_page_of_files_runs_here_and_what_else_is_common_in_a_thread(
    pair: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = Asking(pair.indexed, monkeypatch)
    common: dict[str, Any] = {"pattern": "a block of its own", "head_limit": 5}
    expected = pair.both("grep", False, common)[1][0]

    async def ask() -> None:
        await asking.grep(pattern=WORDS[7])
        assert await asking.grep(**common) == expected
        assert asking.here()
        for more in (
            {"head_limit": 0},
            {"head_limit": 200},
            {"output_mode": "content"},
            {"output_mode": "count"},
            {"include": "*.c"},
            {"type": "c"},
            {"path": "."},
            {"multiline": True},
            {"pattern": r"(\w+ ){3}o.{0,300}n"},  # may take long
            {"pattern": r"[a-z]{4}"},  # everything is a candidate
        ):
            await asking.grep(**{**common, **more})
            assert not asking.here(), more

    anyio.run(ask)


def test_a_page_that_takes_longer_than_thought_is_finished_in_a_thread(
    pair: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = Asking(pair.indexed, monkeypatch)
    asked: dict[str, Any] = {"pattern": "common, a block.{0,9}own", "head_limit": 40}
    expected = pair.both("grep", False, asked)[1][0]
    matched: list[int] = []
    real = NewestPages._lines_match

    def noted(pages: NewestPages, segment: Any, first: int, past: int) -> bool:
        matched.append(first)
        return real(pages, segment, first, past)

    monkeypatch.setattr(NewestPages, "_lines_match", noted)
    monkeypatch.setattr("flashgrep.index.answer.indexed_search.AT_ONCE_PAGE_BYTES", 40_000)

    async def ask() -> None:
        await asking.grep(pattern=WORDS[7])
        assert await asking.grep(**asked) == expected
        assert not asking.here()
        assert len(matched) == 41  # it goes on where it was left, and nothing is matched again

    anyio.run(ask)


def test_a_call_that_was_answered_in_a_moment_is_recorded_and_others_are_not_tried(
    pair: Twins,
) -> None:
    toolbox, caller = pair.indexed.toolbox, Caller("test")
    rare = {"pattern": WORDS[7]}

    async def ask() -> None:
        assert toolbox.in_a_moment("grep", rare, caller) is None  # nothing has shown that it is one
        expected = await toolbox.call("grep", rare, caller)
        count = len(toolbox.activity.newest())
        assert toolbox.in_a_moment("grep", rare, caller) == expected
        assert len(toolbox.activity.newest()) == count + 1
        for name, arguments in (
            ("view", {"path": "f007.c"}),
            ("none", {}),
            ("grep", {"pattern": "("}),
            ("grep", {}),
        ):
            assert toolbox.in_a_moment(name, arguments, caller) is None
        assert len(toolbox.activity.newest()) == count + 1
        for _ in range(limits.CALLS_AT_ONCE):
            await toolbox.running.enter(caller.key)
        assert toolbox.in_a_moment("grep", rare, caller) is None  # it has its share already

    anyio.run(ask)


def test_what_is_much_is_for_a_thread(pair: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking(pair.indexed, monkeypatch)
    monkeypatch.setattr("flashgrep.index.workspace_index.AT_ONCE_BYTES", 10)

    async def ask() -> None:
        for _ in range(3):
            assert "f007.c" in await asking.grep(pattern=WORDS[7])
            assert not asking.here()

    anyio.run(ask)


def test_one_that_takes_long_sends_the_next_to_a_thread(
    pair: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = Asking(pair.indexed, monkeypatch)

    async def ask() -> None:
        await asking.grep(pattern=WORDS[7])
        monkeypatch.setattr(moments, "_MOMENT_SECONDS", 0.0)
        await asking.grep(pattern=WORDS[8])
        assert asking.here()
        await asking.grep(pattern=WORDS[9])
        assert not asking.here()

    anyio.run(ask)


def test_answers_are_those_of_a_scan(pair: Twins, monkeypatch: pytest.MonkeyPatch) -> None:
    asking = Asking(pair.indexed, monkeypatch)
    modes = ("files_with_matches", "content", "count")
    kinds: list[dict[str, Any]] = [{}, {"head_limit": 1}, {"offset": 1}, {"context": 1}]

    async def ask() -> list[tuple[dict[str, Any], str]]:
        await asking.grep(pattern=WORDS[0])
        asked: list[dict[str, Any]] = []
        for _ in range(CALLS):
            word = CHANCE.choice(WORDS)
            pattern = word[CHANCE.randrange(3) : len(word) - CHANCE.randrange(5)]
            asked.append(
                {
                    "pattern": CHANCE.choice([pattern, pattern, "x" + pattern]),
                    "output_mode": CHANCE.choice(modes),
                    **CHANCE.choice(kinds),
                    **CHANCE.choice([{}, {"include": "*1.c"}]),
                }
            )
        return [(arguments, await asking.grep(**arguments)) for arguments in asked]

    for arguments, answer in anyio.run(ask):
        assert answer == pair.both("grep", False, arguments)[1][0], arguments
    main = threading.current_thread()
    assert sum(thread is main for thread in asking.threads[:CALLS]) > CALLS // 2

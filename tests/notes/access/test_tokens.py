"""Tokens: made, known by their secret alone, revoked, expired; and seen by other processes."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from flashgrep import limits
from flashgrep.errors import Conflict, FlashgrepError, InvalidParams, IOFailure, NotFound
from flashgrep.notes.access import tokens
from flashgrep.notes.access.roles import Grant, Role
from flashgrep.notes.access.tokens import FILE, Tokens
from flashgrep.system.atomic import replace_file

NOW = 1_700_000_000_000


class Clock:
    def __init__(self) -> None:
        self.time = NOW

    def __call__(self) -> int:
        return self.time


def test_a_secret_stands_for_its_name_and_role(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    secret = tokens.make("agent", Role.SUGGEST, "Team")
    found = tokens.principal(secret)
    assert found is not None
    assert (found.name, found.grants) == ("agent", (Grant(Role.SUGGEST, "Team"),))
    assert tokens.principal(secret + "x") is None
    assert tokens.principal("") is None


def test_the_secret_is_nowhere_on_disk(tmp_path: Path) -> None:
    secret = Tokens(tmp_path).make("agent", Role.READ)
    held = (tmp_path / FILE).read_bytes()
    assert secret.encode() not in held
    assert secret.removeprefix("fgkb_").encode() not in held
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_another_process_sees_a_token_come_and_go_at_once(tmp_path: Path) -> None:
    here, there = Tokens(tmp_path), Tokens(tmp_path)
    for turn in range(20):
        secret = there.make(f"t{turn}", Role.WRITE)
        assert here.principal(secret)
        there.revoke(f"t{turn}")
        assert here.principal(secret) is None


def test_a_token_ends_at_its_time(tmp_path: Path) -> None:
    clock = Clock()
    tokens = Tokens(tmp_path, clock)
    secret = tokens.make("brief", Role.READ, expires=NOW + 10)
    clock.time = NOW + 9
    assert tokens.principal(secret)
    clock.time = NOW + 10
    assert tokens.principal(secret) is None
    assert [token.name for token in tokens.listed()] == ["brief"]
    with pytest.raises(InvalidParams, match="expired already"):
        tokens.make("past", Role.READ, expires=NOW)


def test_several_folders_are_several_grants(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    found = tokens.principal(tokens.make("two", Role.WRITE, ["/A/", "B/C"]))
    assert found is not None
    assert found.grants == (Grant(Role.WRITE, "A"), Grant(Role.WRITE, "B/C"))


BAD_NAMES = ["", " ", "a/b", "a\nb", "-x", "_x", "x" * 65, "é", "a ", "Åsa Öst"]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_would_be_no_author_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidParams, match="not a valid token name; use ASCII letters"):
        Tokens(tmp_path).make(name, Role.READ)


@pytest.mark.parametrize("folder", ["..", "A/../B", "A//B", "A\\B", "A%2fB", "A "])
def test_a_folder_that_cannot_be_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(InvalidParams):
        Tokens(tmp_path).make("x", Role.READ, folder)


@pytest.mark.parametrize("folder", ["/", [""], ["Team", "//"], ("kb://",), []])
def test_a_folder_without_a_name_is_not_taken_for_all_notes(
    tmp_path: Path, folder: str | list[str]
) -> None:
    with pytest.raises(InvalidParams, match="out for all notes"):
        Tokens(tmp_path).make("x", Role.READ, folder)
    assert Tokens(tmp_path).listed() == []


def test_a_name_is_given_once_and_an_unknown_one_is_told(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    tokens.make("one", Role.READ)
    with pytest.raises(Conflict, match="one already"):
        tokens.make("one", Role.ADMIN)
    with pytest.raises(NotFound, match="there are: one"):
        tokens.revoke("two")


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"format":1}', b'{"format":1,"tokens":[{}]}'])
def test_a_damaged_file_lets_nobody_in_and_says_so(tmp_path: Path, data: bytes) -> None:
    (tmp_path / FILE).write_bytes(data)
    with pytest.raises(IOFailure, match="damaged"):
        Tokens(tmp_path).principal("x")


def test_a_file_that_others_can_write_is_not_believed(tmp_path: Path) -> None:
    Tokens(tmp_path).make("x", Role.READ)
    (tmp_path / FILE).chmod(0o666)
    with pytest.raises(FlashgrepError, match="written by others"):
        Tokens(tmp_path).principal("x")


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    Tokens(other).make("x", Role.READ)
    os.symlink(other / FILE, tmp_path / FILE)
    with pytest.raises(FlashgrepError):
        Tokens(tmp_path).principal("x")


def test_threads_that_make_tokens_together_lose_none(tmp_path: Path) -> None:
    def make(number: int) -> None:
        Tokens(tmp_path).make(f"t{number}", Role.READ)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(Tokens(tmp_path).listed()) == 20


def test_a_watcher_is_told_when_a_token_is_taken_back(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    secret = tokens.make("x", Role.READ)
    told = threading.Event()
    stop = tokens.watch(told.set)
    tokens.revoke("x")
    assert told.wait(120)
    assert tokens.principal(secret) is None
    stop()


def test_a_watcher_is_told_of_another_process_and_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "TOKEN_LOOK_SECONDS", 0.01)
    clock = Clock()
    tokens = Tokens(tmp_path, clock)
    told = threading.Event()
    stop = tokens.watch(told.set)
    Tokens(tmp_path, clock).make("brief", Role.READ, expires=NOW + 1)
    assert told.wait(120)
    told.clear()
    clock.time = NOW + 1
    assert told.wait(120)
    stop()


def test_a_watcher_is_told_of_a_token_that_came_and_went_between_two_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = Tokens(tmp_path), Tokens(tmp_path)
    with _looking_when_asked(here, monkeypatch) as look:
        secret = there.make("brief", Role.READ)
        assert here.principal(secret)  # a connection is opened with it
        there.revoke("brief")
        assert look() == "told"


def test_a_watcher_is_told_of_a_token_that_was_given_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Tokens(tmp_path)
    here.make("x", Role.READ, "One")
    with _looking_when_asked(here, monkeypatch) as look:
        moved = [replace(one, folders=("Two",)) for one in here.listed()]
        replace_file(tmp_path / FILE, [tokens.encoded(moved)])
        assert look() == "told"


def test_a_watcher_is_told_of_a_damaged_file_once_and_again_when_it_is_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Tokens(tmp_path)
    here.make("x", Role.READ)
    good = (tmp_path / FILE).read_bytes()
    with _looking_when_asked(here, monkeypatch) as look:
        assert look() == "nothing"
        replace_file(tmp_path / FILE, [b"{"])
        assert look() == "told"
        assert look() == "nothing"
        replace_file(tmp_path / FILE, [good])
        assert look() == "told"


def test_a_file_that_is_damaged_from_the_start_is_watched_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE).write_bytes(b"{")
    with _looking_when_asked(Tokens(tmp_path), monkeypatch) as look:
        assert "no token counts until this is mended" in caplog.text
        assert look() == "nothing"
        (tmp_path / FILE).unlink()
        assert look() == "told"


@contextmanager
def _looking_when_asked(
    tokens: Tokens, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], str]]:
    """Watch, with a look only when this asks for one; gives whether the watcher was told."""
    monkeypatch.setattr(limits, "TOKEN_LOOK_SECONDS", 3_600.0)
    done: queue.SimpleQueue[str] = queue.SimpleQueue()
    tokens._watching._wake.clear()  # what this process changed before
    stop = tokens.watch(lambda: done.put("told"))
    standing = tokens._watching._state

    def looked(before: Hashable) -> Hashable:
        now = standing(before)
        if now == before:
            done.put("nothing")
        return now

    monkeypatch.setattr(tokens._watching, "_state", looked)

    def look() -> str:
        tokens._watching.look()
        return done.get(timeout=120)

    yield look
    stop()

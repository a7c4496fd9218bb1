"""Sessions: what they stand for, when they end, and who hears of it."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from flashgrep import limits
from flashgrep.notes.access.roles import Role
from flashgrep.notes.access.tokens import Tokens
from flashgrep.system.login import login_name
from flashgrep.web.sessions import LoginSessions
from flashgrep.web.sign_in_links import SignInLink

OWN = SignInLink(None, 0)
WALL_SECONDS = 60


class Clock:
    """A time of day that a test sets."""

    def __init__(self) -> None:
        self.now = 1_000_000

    def __call__(self) -> int:
        return self.now


def begun(sessions: LoginSessions, link: SignInLink = OWN) -> str:
    secret = sessions.begin(link)
    assert secret is not None
    return secret


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_session_ends_when_its_time_is_over_and_listeners_hear_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_kept: bool
) -> None:
    monkeypatch.setattr(limits, "TOKEN_LOOK_SECONDS", 0.01)
    clock, heard = Clock(), threading.Event()
    sessions = LoginSessions(tmp_path if is_kept else None, "T", now=clock)
    secret = begun(sessions)
    stop = sessions.watch(heard.set)
    try:
        clock.now += limits.SESSION_SECONDS * 1_000 - 1
        admission = sessions.admit(secret)
        assert admission is not None
        assert (admission.shown, admission.opens_files) == (login_name(), True)
        heard.clear()
        clock.now += 1
        assert sessions.admit(secret) is None
        assert sessions.expires(secret) is None
        assert heard.wait(WALL_SECONDS)
    finally:
        stop()


def test_a_session_of_another_process_counts_and_ends_here_too(tmp_path: Path) -> None:
    here, there = LoginSessions(tmp_path, "T"), LoginSessions(tmp_path, "T")
    secret = begun(there)
    assert here.admit(secret) is not None
    there.end(secret)
    assert here.admit(secret) is None


def test_a_session_stands_for_the_token_it_began_with(tmp_path: Path) -> None:
    secret = begun(LoginSessions(tmp_path, "T"))
    assert LoginSessions(tmp_path, "T").admit(secret) is not None
    for other in ("U", None):
        assert LoginSessions(tmp_path, other).admit(secret) is None
    assert LoginSessions(tmp_path, None).begin(OWN) is None


def test_a_session_of_the_notes_has_what_its_token_has_at_the_time(tmp_path: Path) -> None:
    clock = Clock()
    tokens = Tokens(tmp_path, clock)
    sessions = LoginSessions(tmp_path, "T", tokens, clock)
    tokens.make("Ann", Role.READ, "Team", expires=clock.now + 5_000)
    (token,) = tokens.listed()
    link = SignInLink(token.hash, 0)
    secret = begun(sessions, link)
    admission = sessions.admit(secret)
    assert admission is not None
    assert (admission.shown, admission.opens_files) == ("Ann", False)
    assert admission.principal == token.principal
    assert sessions.expires(secret) == clock.now + 5_000
    clock.now += 5_000
    assert sessions.admit(secret) is None
    assert sessions.begin(link) is None
    # A link of the notes is never the server's own, whatever it holds.
    assert sessions.begin(SignInLink("", 0)) is None


def test_of_too_many_sessions_the_oldest_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SESSIONS_KEPT", 3)
    sessions = LoginSessions(tmp_path, "T")
    secrets = [begun(sessions) for _ in range(5)]
    assert [sessions.admit(one) is not None for one in secrets] == [False, False, True, True, True]


def test_many_threads_sign_in_and_out_at_once(tmp_path: Path) -> None:
    sessions = LoginSessions(tmp_path, "T")
    kept: list[str] = []

    def work() -> None:
        for _ in range(5):
            sessions.end(begun(sessions))
            kept.append(begun(sessions))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(kept) == 30
    assert all(sessions.admit(secret) for secret in kept)
    assert all(LoginSessions(tmp_path, "T").admit(secret) for secret in kept)

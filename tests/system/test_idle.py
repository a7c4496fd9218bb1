"""What is not used for a while is let go: once, and not before."""

from __future__ import annotations

import threading
import time

from flashgrep.system.idle import IdleRelease

PATIENCE = 30.0
NEVER = 3_600.0


class Releases:
    """Counts what is let go."""

    def __init__(self) -> None:
        self.count = 0
        self.happened = threading.Event()

    def __call__(self) -> None:
        self.count += 1
        self.happened.set()


def waiting() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "flashgrep-rest"]


def join_all() -> None:
    for thread in waiting():
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_it_is_let_go_once_after_the_last_use_and_again_after_another() -> None:
    releases = Releases()
    rest = IdleRelease(releases, 0.02)
    for expected in (1, 2, 3):
        releases.happened.clear()
        for _ in range(10):
            rest.used()
        assert releases.happened.wait(PATIENCE)
        join_all()  # nobody is left who could do it a second time
        assert releases.count == expected
    rest.close()


def test_what_is_never_used_is_never_let_go() -> None:
    releases = Releases()
    rest = IdleRelease(releases, 0.0)
    assert waiting() == []
    rest.close()
    assert releases.count == 0


def test_it_is_not_let_go_while_it_is_used() -> None:
    releases, seconds = Releases(), 0.1
    rest = IdleRelease(releases, seconds)
    pause = threading.Event()
    begin = before = time.monotonic()
    longest = 0.0  # between two uses: this machine may have been busy elsewhere
    while before < begin + 4 * seconds:
        called = time.monotonic()
        rest.used()
        longest = max(longest, time.monotonic() - before)
        before = called
        pause.wait(seconds / 50)
    assert releases.count == 0 or longest >= seconds
    assert len(waiting()) <= 1
    releases.happened.clear()
    rest.used()
    assert releases.happened.wait(PATIENCE)
    join_all()
    rest.close()


def test_nothing_is_let_go_or_waited_for_once_it_is_closed() -> None:
    releases = Releases()
    rest = IdleRelease(releases, NEVER)
    rest.used()
    assert len(waiting()) == 1
    rest.close()
    join_all()
    rest.used()
    assert waiting() == []
    rest.close()
    assert releases.count == 0


def test_a_use_while_it_is_let_go_counts_anew() -> None:
    began, go_on = threading.Event(), threading.Event()
    releases = Releases()

    def slowly() -> None:
        began.set()
        assert go_on.wait(PATIENCE)
        releases()

    rest = IdleRelease(slowly, 0.02)
    rest.used()
    assert began.wait(PATIENCE)
    rest.used()
    go_on.set()
    join_all()
    assert releases.count == 2
    rest.close()


def test_nothing_is_let_go_after_it_was_closed() -> None:
    """Whoever closes it takes away what would be let go."""
    for _ in range(200):
        releases = Releases()
        rest = IdleRelease(releases, 0.0005)
        rest.used()
        time.sleep(0.0004)  # about when it would happen
        rest.close()
        before = releases.count
        join_all()
        assert releases.count == before

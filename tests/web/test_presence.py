"""Who is there: passed on when it is new, gone with the peer who said so."""

from __future__ import annotations

import pytest

from flashgrep import limits
from flashgrep.web import frames
from flashgrep.web.frames import GONE, Malformed, Present
from flashgrep.web.presence import Presence

ANN, BOB = Present(1, 5, b'{"name":"Ann"}'), Present(2, 1, b'{"name":"Bob"}')


def _data(*told: Present) -> bytes:
    return frames.parse(frames.presence(told)).data


# What was heard of Ann, what is said next, and whether that is news.
SAID = [
    ([], ANN, True),
    ([ANN], ANN, False),
    ([ANN], ANN._replace(clock=4), False),
    ([ANN], ANN._replace(clock=6), True),
    ([ANN], ANN._replace(state=GONE), True),
    ([ANN], ANN._replace(clock=4, state=GONE), False),
    ([], ANN._replace(state=GONE), False),
]


@pytest.mark.parametrize(("heard", "said", "is_news"), SAID)
def test_what_is_newer_is_news(heard: list[Present], said: Present, is_news: bool) -> None:
    presence = Presence()
    presence.take("first", _data(*heard))
    assert presence.take("second", _data(said)) == ([said] if is_news else [])


def test_a_client_goes_with_the_peer_that_brought_its_news_and_not_with_one_that_repeats_it() -> (
    None
):
    presence = Presence()
    presence.take("ann", _data(ANN))
    presence.take("bob", _data(BOB, ANN))
    assert presence.leave("bob") == [BOB._replace(state=GONE)]
    assert list(presence.all()) == [ANN]
    assert presence.leave("ann") == [ANN._replace(state=GONE)]
    assert list(presence.all()) == []


def test_a_peer_speaks_for_a_few_clients_only() -> None:
    presence = Presence()
    many = [Present(client, 1, b"{}") for client in range(100)]
    assert len(presence.take("one", _data(*many))) == limits.PRESENT_CLIENTS_A_PEER


def test_a_presence_beyond_its_ceiling_is_refused() -> None:
    large = Present(1, 1, b"x" * (limits.PRESENCE_BYTES + 1))
    with pytest.raises(Malformed):
        Presence().take("one", _data(large))

"""Who is there: passed on when it is sound and new, gone with the connection that said so."""

from __future__ import annotations

import pytest

from flashgrep.web import protocol
from flashgrep.web.protocol import (
    GONE,
    PRESENCE_BYTES,
    PRESENT_CLIENTS,
    PRESENT_CLIENTS_A_CONNECTION,
    PRESENT_CLIENTS_A_TOKEN,
    Presence,
    Present,
)

ANN, BOB = Present(1, 5, b'{"name":"Ann"}'), Present(2, 1, b'{"name":"Bob"}')


def _data(*told: Present) -> bytes:
    return protocol.parse(protocol.presence(told)).data


# What was heard of Ann, who says what next, and whether that is news.
SAID = [
    ([], "ann", ANN, True),
    ([ANN], "ann", ANN, False),
    ([ANN], "ann", ANN._replace(clock=4), False),
    ([ANN], "ann", ANN._replace(clock=6), True),
    ([ANN], "ann", ANN._replace(state=GONE), True),
    ([ANN], "ann", ANN._replace(clock=4, state=GONE), False),
    ([], "ann", ANN._replace(state=GONE), False),
    # Another connection with the same token: Ann came back before her end was noticed.
    ([ANN], "ann again", ANN._replace(clock=6), True),
    ([ANN], "ann again", ANN._replace(clock=6, state=GONE), True),
    ([ANN], "ann again", ANN._replace(state=GONE), False),
    # Somebody else, who only repeats what they heard, or worse.
    ([ANN], "bob", ANN, False),
    ([ANN], "bob", ANN._replace(clock=2**53 - 1), False),
    ([ANN], "bob", ANN._replace(clock=2**53 - 1, state=GONE), False),
    ([ANN], "bob", ANN._replace(state=GONE), False),
]


@pytest.mark.parametrize(("heard", "who", "said", "is_news"), SAID)
def test_what_is_newer_is_news_from_the_token_whose_client_it_is(
    heard: list[Present], who: str, said: Present, is_news: bool
) -> None:
    presence = Presence()
    speakers = {name: presence.join(name.split()[0]) for name in ("ann", "ann again", "bob")}
    presence.take(speakers["ann"], _data(*heard))
    assert presence.take(speakers[who], _data(said)) == ([said] if is_news else [])


def test_a_client_goes_with_the_peer_that_brought_its_news_and_not_with_one_that_repeats_it() -> (
    None
):
    presence = Presence()
    ann, bob = presence.join("team"), presence.join("team")
    presence.take(ann, _data(ANN))
    presence.take(bob, _data(BOB, ANN))
    assert presence.leave(bob) == [BOB._replace(state=GONE)]
    assert list(presence.all()) == [ANN]
    assert presence.leave(ann) == [ANN._replace(state=GONE)]
    assert list(presence.all()) == []


def test_what_others_repeat_of_one_who_left_does_not_bring_her_back_but_she_may_come_back() -> None:
    presence = Presence()
    ann, bob, eve = presence.join("team"), presence.join("team"), presence.join("eve")
    presence.take(ann, _data(ANN))
    presence.leave(ann)
    newer = ANN._replace(clock=2**53 - 1)
    assert presence.take(bob, _data(ANN)) == []
    assert presence.take(eve, _data(newer)) == []
    assert presence.take(presence.join("eve"), _data(newer)) == []
    assert presence.take(presence.join("team"), _data(ANN)) == [ANN]


def test_a_connection_speaks_for_a_few_clients_only_however_they_come_and_go() -> None:
    presence = Presence()
    one = presence.join("one")
    many = [Present(client, 1, b"{}") for client in range(100)]
    assert len(presence.take(one, _data(*many))) == PRESENT_CLIENTS_A_CONNECTION
    for client in range(PRESENT_CLIENTS_A_CONNECTION):
        assert presence.take(one, _data(Present(client, 2, GONE)))
    assert presence.take(one, _data(Present(100, 1, b"{}"))) == []


def test_the_clients_of_one_token_leave_room_for_others() -> None:
    presence = Presence()
    taken = sum(
        len(presence.take(presence.join("one"), _data(Present(client, 1, b"{}"))))
        for client in range(PRESENT_CLIENTS)
    )
    assert taken == PRESENT_CLIENTS_A_TOKEN
    assert presence.take(presence.join("other"), _data(Present(2**40, 1, b"{}")))


def test_of_the_clients_that_left_a_bounded_number_is_remembered() -> None:
    presence = Presence()
    for client in range(PRESENT_CLIENTS + 1):
        speaker = presence.join("one")
        assert presence.take(speaker, _data(Present(client, 1, b"{}")))
        presence.leave(speaker)
    other = presence.join("other")
    assert presence.take(other, _data(Present(0, 1, b"{}")))  # the oldest is forgotten
    assert presence.take(other, _data(Present(1, 1, b"{}"))) == []


NO_STATE = [
    b"",
    b"not json",
    b'{"name":"Ann"',
    b"{}{}",
    b"NaN",
    b'{"at":Infinity}',
    b"5",
    b'"Ann"',
    b"[]",
    b"true",
    b"\xff\xfe",
    b'{"name":"\xed\xa0\x80"}',
    b"\xef\xbb\xbf{}",
    b'{"name":"a\nb"}',
    b"[" * 10_000,
    b'{"a":' * 100 + b"1" + b"}" * 100,
    b'{"a":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    b'{"n":"' + b"x" * PRESENCE_BYTES + b'"}',
]


@pytest.mark.parametrize("state", NO_STATE, ids=[repr(state[:12]) for state in NO_STATE])
def test_a_state_that_other_clients_could_not_parse_is_dropped_and_the_rest_counts(
    state: bytes,
) -> None:
    presence = Presence()
    assert presence.take(presence.join("x"), _data(Present(7, 1, state), BOB)) == [BOB]
    assert list(presence.all()) == [BOB]


def test_leaving_is_told_in_one_form() -> None:
    presence = Presence()
    ann = presence.join("ann")
    presence.take(ann, _data(ANN))
    gone = ANN._replace(state=GONE)
    assert presence.take(ann, _data(ANN._replace(state=b" null\n"))) == [gone]

"""Messages of the protocol: told and understood, and nothing else taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.errors import IOFailure
from flashgrep.notes.store.database import StorageFull
from flashgrep.web import protocol
from flashgrep.web.protocol import NO_ROOM, Close, FrameKind, Malformed, Message, Present

# What lib0 and y-protocols write, byte by byte.
WRITTEN = [
    (protocol.have(b"\1\2\3"), b"\0\0\3\1\2\3", Message(FrameKind.HAVE, b"\1\2\3")),
    (protocol.lack(b"\0\0"), b"\0\1\2\0\0", Message(FrameKind.LACK, b"\0\0")),
    (
        protocol.update(b"x" * 200),
        b"\0\2\xc8\1" + b"x" * 200,
        Message(FrameKind.UPDATE, b"x" * 200),
    ),
    (
        protocol.presence([Present(300, 1, b"{}")]),
        b"\1\7\1\xac\2\1\2{}",
        Message(FrameKind.PRESENCE, b"\1\xac\2\1\2{}"),
    ),
    (b"\3", b"\3", Message(FrameKind.ASK)),
]


@pytest.mark.parametrize(("made", "written", "message"), WRITTEN)
def test_a_message_is_written_as_yjs_writes_it_and_read_back(
    made: bytes, written: bytes, message: Message
) -> None:
    assert made == written
    assert protocol.parse(made) == message


@pytest.mark.parametrize("frame", [b"\2\0", b"\4", b"\x7fwhatever"])
def test_a_message_of_a_type_we_do_not_know_is_passed_over(frame: bytes) -> None:
    assert protocol.parse(frame).kind is FrameKind.UNKNOWN


@pytest.mark.parametrize(
    "frame",
    [
        b"",  # nothing
        b"\0",  # no step
        b"\0\3\0",  # an unknown step
        b"\0\2\5abc",  # shorter than it says
        b"\0\2\1ab",  # longer than it says
        b"\3\0",  # something behind a question
        b"\xff" * 12,  # a number without an end
        b"\1" + b"\x80" * 7 + b"\x20",  # one that JavaScript cannot count to
    ],
)
def test_a_frame_that_is_no_message_is_refused(frame: bytes) -> None:
    with pytest.raises(Malformed):
        protocol.parse(frame)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_refused(frame: bytes) -> None:
    try:
        message = protocol.parse(frame)
        if message.kind is FrameKind.PRESENCE:
            protocol.parse_presence(message.data)
    except Malformed:
        return


@given(
    st.lists(st.tuples(st.integers(0, 2**53 - 1), st.integers(0, 2**53 - 1), st.binary(max_size=9)))
)
def test_presence_is_read_back(told: list[tuple[int, int, bytes]]) -> None:
    states = [Present(*one) for one in told]
    assert protocol.parse_presence(protocol.parse(protocol.presence(states)).data) == states


def test_a_full_disk_is_said_to_a_peer_without_the_path() -> None:
    refused = protocol.refusal(StorageFull("no room left for /srv/notes/journal.db"))
    assert (refused.code, refused.reason) == (Close.OVERLOADED, NO_ROOM)
    assert len(NO_ROOM.encode()) <= 120  # what a close takes whole
    other = protocol.refusal(IOFailure("/srv/notes/journal.db is damaged"))
    assert (other.code, other.reason) == (Close.FAILED, "the note cannot be read now")

"""Peers write the text; records beside it are the server's, whatever a peer writes there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pycrdt import Map

from flashgrep.notes.document.note import RECORDS, NoteRecords
from flashgrep.notes.suggestions import pending
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose_in
from tests.notes.desk import START, Desk, Peer

FORGED = {"kind": "suggestion", "author": "victim", "time": 1, "asked": ""}


def forge(peer: Peer, name: str, value: Any = FORGED) -> None:
    """Write a record for the seven characters that the peer typed first."""
    client = peer.doc.client_id
    entry = {"made": 1, "anchors": [[client, 0, client, 6]], "value": value}
    peer.doc.get(RECORDS, type=Map)[name] = entry


def send(desk: Desk, peer: Peer, author: str = "ann") -> dict[str, NoteRecords]:
    """What is beside the text afterwards; the peer must have the same."""
    desk.library.receive(peer.note, peer.take(), author, origin=peer)
    peer.doc.apply_update(desk.library.missing(peer.note, peer.doc.get_state()))
    peer.take()
    held = desk.library.records(peer.note)
    assert set(peer.doc.get(RECORDS, type=Map).to_py() or {}) == set(held)
    desk.reopen()
    assert desk.library.records(peer.note) == held
    return held


@pytest.mark.parametrize("name", ["s_0123456789abcdef", "s", "", "w_00"])
def test_a_forged_record_is_the_connections_and_of_now(desk: Desk, name: str) -> None:
    note = desk.library.create("a.md").id
    peer = Peer(desk.library, note)
    peer.type("{++x++}")
    peer.unsent.append(peer.doc.get_update())
    forge(peer, name)
    ((made, beside),) = send(desk, peer).items()
    assert made != name
    assert (beside.value["author"], beside.value["time"]) == ("ann", START)


def test_a_forged_record_of_marks_in_code_is_none(desk: Desk) -> None:
    note = desk.library.create("a.md", "```\n").id
    peer = Peer(desk.library, note)
    peer.unsent.append(peer.type("{++x++}"))
    forge(peer, "s_0123456789abcdef")
    assert send(desk, peer) == {}


def _other_author(beside: Map[Any], name: str) -> None:
    beside[name] = {**beside.to_py()[name], "value": {**FORGED, "kind": "suggestion"}}  # type: ignore[index]


def _other_place(beside: Map[Any], name: str) -> None:
    beside[name] = {**beside.to_py()[name], "anchors": []}  # type: ignore[index]


def _gone(beside: Map[Any], name: str) -> None:
    del beside[name]


def _nested(beside: Map[Any], name: str) -> None:
    beside[name] = Map({"value": Map(FORGED)})


def _again(beside: Map[Any], name: str) -> None:
    _gone(beside, name)
    beside[name] = 1
    _nested(beside, name)


@pytest.mark.parametrize("change", [_other_author, _other_place, _gone, _nested, _again])
def test_the_record_of_a_suggestion_cannot_be_changed_by_a_peer(
    desk: Desk, change: Callable[[Map[Any], str], None]
) -> None:
    note = desk.library.create("a.md", "alpha beta").id
    propose_in(desk.library, "a.md", Edit("beta", "gamma"), "robot", now=lambda: START)
    before = desk.library.records(note)
    peer = Peer(desk.library, note)
    change(peer.doc.get(RECORDS, type=Map), next(iter(before)))
    assert send(desk, peer) == before
    (held,) = pending.recorded(before)
    assert (held.author, held.spans) == ("robot", ((6, 16), (16, 27)))


def test_a_withdrawn_edit_cannot_be_forged(desk: Desk) -> None:
    """By one, an agent's next edit would be taken for made."""
    note = desk.library.create("a.md", "alpha").id
    peer = Peer(desk.library, note)
    forge(peer, pending.withdrawn_id("robot"), {"kind": "withdrawn", "author": "robot"})
    assert send(desk, peer) == {}


def test_a_map_in_a_record_of_an_older_version_is_no_way_in(desk: Desk) -> None:
    note = desk.library.create("a.md", "alpha").id
    live = desk.library.loaded(note)
    live._records["old"] = Map({"value": Map({"kind": "suggestion", "author": "ann"})})
    desk.library.amend(note, lambda *_: None)
    peer = Peer(desk.library, note)
    peer.doc.apply_update(live.whole())
    peer.take()
    peer.doc.get(RECORDS, type=Map)["old"]["value"]["author"] = "victim"
    desk.library.receive(note, peer.take(), "ann")
    assert desk.library.records(note) == {}

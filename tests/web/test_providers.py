"""The real y-websocket provider in Node: it syncs, comes back, and knows when not to."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flashgrep.notes.access.roles import Role
from flashgrep.web import protocol
from flashgrep.web.protocol import Present
from tests.notes.yjs import Node, running_node
from tests.web.served import TOKEN, Served, served


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    with running_node("provider.js") as running:
        yield running


class Provider:
    """One provider in Node."""

    _count = 0

    def __init__(self, node: Node, server: Served, note: str, **params: str) -> None:
        Provider._count += 1
        self._node, self._number = node, Provider._count
        url = f"ws://127.0.0.1:{server.server.http}/kb/ws"
        self.ask("open", url=url, note=note, params={"token": TOKEN, **params})

    def ask(self, op: str, **fields: Any) -> Any:
        answer = self._node.ask(op, peer=self._number, **fields)
        assert "error" not in answer, answer
        return answer

    def wait(self, **what: Any) -> Any:
        return self.ask("wait", **{"for": what})

    def type(self, text: str) -> None:
        self.ask("type", text=text)


def test_two_providers_converge_and_see_each_other(node: Node, tmp_path: Path) -> None:
    with served(tmp_path, {"Deep/Nöte 1.md": "start\n"}) as server:
        one, two = (Provider(node, server, "Deep/Nöte 1.md") for _ in range(2))
        one.wait(synced=True)
        two.wait(synced=True)
        one.ask("present", state={"user": {"name": "Ånn"}})
        assert two.ask("others", count=1)["states"] == [{"user": {"name": "Ånn"}}]
        for number in range(50):
            one.type(f"a{number} ")
            two.type(f"b{number} ")
        for peer in (one, two):
            peer.wait(holds="a49")
            peer.wait(holds="b49")
        text = server.text("Deep/Nöte 1.md")
        assert one.ask("look")["text"] == two.ask("look")["text"] == text
        assert text.count("a17 ") == text.count("b17 ") == text.count("start") == 1
        one.ask("close")
        assert two.ask("others", count=0)["states"] == []
        two.ask("close")


def test_providers_come_back_after_a_crash_with_what_they_typed_meanwhile(
    node: Node, tmp_path: Path
) -> None:
    with served(tmp_path, {"N.md": ""}) as first:
        port = str(first.server.http)
        one, two = Provider(node, first, "N.md"), Provider(node, first, "N.md")
        one.wait(synced=True)
        two.wait(synced=True)
        one.type("before ")
        two.wait(holds="before")
        first.server.process.kill()
        one.wait(synced=False)
        two.wait(synced=False)
        one.type("meanwhile-one ")
        two.type("meanwhile-two ")
    flags = ("--token", TOKEN, "--http-port", port)
    with served(tmp_path, flags=flags) as again:
        for peer in (one, two):
            peer.wait(holds="meanwhile-one")
            peer.wait(holds="meanwhile-two")
        text = one.ask("look")["text"]
        assert text == two.ask("look")["text"] == again.text("N.md")
        assert sorted(text.split()) == ["before", "meanwhile-one", "meanwhile-two"]
        one.ask("close")
        two.ask("close")


FINAL = [({"token": "wrong"}, "N.md", 4401), ({}, "No.md", 4404), ({"epoch": "0"}, "N.md", 4409)]


def test_a_final_code_is_final(node: Node, tmp_path: Path) -> None:
    with served(tmp_path, {"N.md": "text"}) as server:
        for params, note, code in FINAL:
            peer = Provider(node, server, note, **params)
            seen = peer.wait(final=code)
            assert (seen["text"], seen["tries"], seen["wants"]) == ("", 1, False)
            peer.ask("close")


@pytest.mark.timeout(600)
@pytest.mark.skipif(not os.environ.get("FLASHGREP_HEAVY"), reason="takes most of a minute")
def test_a_provider_that_has_nothing_to_say_stays_connected(node: Node, tmp_path: Path) -> None:
    """y-websocket ends a connection on which nothing came for thirty seconds."""
    with served(tmp_path, {"N.md": "text"}) as server:
        peer = Provider(node, server, "N.md")
        peer.ask("present", state=None)
        peer.wait(synced=True)
        threading.Event().wait(45)
        assert peer.ask("look") == {"text": "text", "codes": [], "tries": 1, "wants": True}
        peer.ask("close")


# States that a client would die of, or that no editor expects.
UNSOUND = [
    b"not json",
    b"",
    b"{",
    b'{"at":NaN}',
    b"\xff",
    b"\xef\xbb\xbf{}",
    b"7",
    b"[" * 9_000,
    b'{"deep":' + b"[" * 9_000 + b"]" * 9_000 + b"}",
]


@pytest.mark.thorough
def test_whatever_a_reader_says_of_itself_and_of_others_the_others_editors_live(
    node: Node, tmp_path: Path
) -> None:
    """A token of the role read must not be able to end, rename or hide anybody."""
    chance = Random(int(os.environ.get("FLASHGREP_SEED", "1")))
    with served(tmp_path, {"N.md": "text"}) as server:
        one, two = Provider(node, server, "N.md"), Provider(node, server, "N.md")
        one.wait(synced=True)
        two.wait(synced=True)
        one.ask("present", state={"name": "One"})
        two.ask("others", state={"name": "One"})
        victim = one.ask("own")["client"]
        evil = server.token("reader", Role.READ)
        for number, state in enumerate([*UNSOUND, *_mutants(chance, 200)]):
            with server.live("N.md", evil) as attacker:
                told = [
                    Present(chance.randrange(1, 99), chance.randrange(1, 9), state),
                    Present(victim, 2**53 - 1 - number, chance.choice((state, b"null", b"{}"))),
                ]
                attacker.send(protocol.presence(told))
                if number % 50 == 0:
                    attacker.send(_numbers_beyond_javascript(victim))
                    assert attacker.closed() == 1007
                    continue
                attacker.sync()
                if number % 25 == 0:
                    late = Provider(node, server, "N.md")
                    late.wait(synced=True)
                    late.ask("close")
        assert one.ask("own") == {"client": victim, "state": {"name": "One"}}
        one.ask("present", state={"name": "One", "at": 5})
        assert two.ask("others", state={"name": "One", "at": 5})["states"] == [
            {"name": "One", "at": 5}
        ]
        one.type("!")
        two.wait(holds="text!")
        for peer in (one, two):
            assert peer.ask("look")["tries"] == 1
            peer.ask("close")


def _mutants(chance: Random, count: int) -> Iterator[bytes]:
    """Sound states with a few bytes changed."""
    sound = b'{"user":{"name":"\xc3\x85nn","color":"#f00"},"cursor":{"anchor":[1,2,{}]}}'
    for _ in range(count):
        state = bytearray(sound)
        for _ in range(chance.randrange(4)):
            at = chance.randrange(len(state))
            match chance.randrange(3):
                case 0:
                    state[at] = chance.randrange(256)
                case 1:
                    del state[at:]
                    break
                case _:
                    state[at:at] = chance.randbytes(2)
        yield bytes(state) or b"{}"


def _numbers_beyond_javascript(client: int) -> bytes:
    return protocol.presence([Present(client, 2**53, b"{}")])

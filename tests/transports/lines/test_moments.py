"""Calls that are over in a moment are answered where they are read, and others have their turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import anyio.lowlevel

from flashgrep.tools.dispatch.caller import Caller
from flashgrep.transports.plain import Offer
from tests.transports.clients import tool_call
from tests.transports.lines.plain_session import TOOLBOX, session

CALLS = 100


class Momentary(Offer):
    """Answers calls in a moment, but those that say otherwise."""

    def in_a_moment(self, caller: Caller, params: Mapping[str, Any]) -> dict[str, Any] | None:
        text = params["arguments"]["text"]
        return None if "later" in text else {"content": [{"type": "text", "text": f"here {text}"}]}


def test_each_call_gets_its_own_answer() -> None:
    async def run() -> None:
        texts = [f"{number} later" if number % 3 else f"{number}" for number in range(CALLS)]
        async with session(offer=Momentary(TOOLBOX)) as peer:
            await peer.shake()
            calls = [tool_call("echo", number, text=text) for number, text in enumerate(texts)]
            await peer.send(*calls)
            answers = [await peer.receive() for _ in range(CALLS)]
        told = {answer["id"]: answer["result"]["content"][0]["text"] for answer in answers}
        assert told == {
            number: text if "later" in text else f"here {text}" for number, text in enumerate(texts)
        }

    anyio.run(run)


def test_others_have_their_turn_after_each_call() -> None:
    async def run() -> None:
        turns = 0

        async def turn() -> None:
            nonlocal turns
            while True:
                turns += 1
                await anyio.lowlevel.checkpoint()

        async with session(offer=Momentary(TOOLBOX)) as peer, anyio.create_task_group() as tasks:
            await peer.shake()
            await anyio.lowlevel.checkpoint()
            tasks.start_soon(turn)
            await peer.send(*(tool_call("echo", number, text="") for number in range(CALLS)))
            before = turns
            for _ in range(CALLS):
                await peer.receive()
            assert turns - before >= CALLS
            tasks.cancel_scope.cancel()

    anyio.run(run)

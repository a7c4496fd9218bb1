"""Peers with the real Yjs, in a Node process of their own.

The package is installed beside the script by npm, once; where there is no Node the tests that need
it are skipped.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PEERS = Path(__file__).parent / "peers"


class Node:
    """A running Node; requests and answers are lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._sink, self._source = process.stdin, process.stdout
        self._peers = 0

    def ask(self, op: str, **fields: Any) -> Any:
        self._sink.write(json.dumps({"op": op, **fields}).encode() + b"\n")
        self._sink.flush()
        answer = self._source.readline()
        assert answer, f"Node died of {op}"
        return json.loads(answer)

    def peer(self) -> YjsPeer:
        self._peers += 1
        return YjsPeer(self, self._peers)


class YjsPeer:
    """One Y.Doc."""

    def __init__(self, node: Node, number: int) -> None:
        self._node = node
        self._number = number
        self._ask("new")

    def _ask(self, op: str, **fields: Any) -> Any:
        return self._node.ask(op, peer=self._number, **fields)

    def splice(self, start: int, end: int, text: str) -> list[bytes]:
        """Change the text between two characters; gives the updates that Yjs would send."""
        now = self.text()
        at, remove = _units(now[:start]), _units(now[start:end])
        answer = self._ask("splice", at=at, remove=remove, insert=text)
        return [base64.b64decode(update) for update in answer["updates"]]

    def apply(self, updates: Sequence[bytes]) -> None:
        self._ask("apply", updates=[base64.b64encode(update).decode() for update in updates])

    def state(self) -> bytes:
        return base64.b64decode(self._ask("state")["state"])

    def missing(self, state: bytes) -> bytes:
        answer = self._ask("missing", state=base64.b64encode(state).decode())
        return base64.b64decode(answer["update"])

    def text(self) -> str:
        return str(self._ask("text")["text"])

    def records(self) -> Any:
        return self._ask("records")["records"]


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@contextmanager
def running_node(script: str = "peer.js") -> Iterator[Node]:
    """A Node with Yjs, gone after the block."""
    if shutil.which("node") is None:
        pytest.skip("no node here: real Yjs peers are not tried")
    if not (PEERS / "node_modules" / "y-websocket" / "package.json").exists():
        pytest.skip("the Yjs peers are not installed: npm ci --prefix tests/notes/peers")
    with subprocess.Popen(
        ["node", str(PEERS / script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Node(process)
        finally:
            process.kill()

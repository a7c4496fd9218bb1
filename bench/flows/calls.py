"""The four calls, made to real servers by clients that do next to nothing."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

FILES: Final = 400
_FOLDERS: Final = 10
_LOOK_SECONDS: Final = 0.05
_ROOT: Final = Path(__file__).parents[2]
_HANDSHAKE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "flows", "version": "1"},
}
_PAUSE_SECONDS: Final = 0.4
"""A server that has called nothing for so long has done all that a call asked for …"""
_INDEX_PAUSE_SECONDS: Final = 2.0
"""… but the index rests half a second before it takes in changes, and 1.5 before it ranks."""
_WALL_SECONDS: Final = 300.0
"""No call here takes long; a server that hangs must not hang those who wait for it."""


class Called(NamedTuple):
    """A call of a function of the package."""

    thread: str
    module: str
    function: str
    callers: Sequence[str]
    """The modules of the package on the stack, the nearest first; at the first call only."""
    is_resumed: bool = False
    """Whether the event loop resumes a coroutine here: nobody calls it."""


class _Switch:
    """The recorder of a traced server; see `traced`."""

    def __init__(self, control: socket.socket, answers: TextIO, pause: float) -> None:
        control.settimeout(_WALL_SECONDS)
        self._control = control
        self._answers = answers
        self._pause = pause

    def record(self, call: Callable[[], object]) -> list[Called]:
        """Make a call; what the server ran for it, and for its consequences."""
        self._order("begin")
        call()
        return [Called._make(row) for row in self._order("end")]

    def _order(self, word: str) -> Any:
        self._control.sendall(f"{word} {self._pause}\n".encode())
        return json.loads(self._answers.readline())


@contextmanager
def _server(
    home: Path, *arguments: str, pause: float = _PAUSE_SECONDS
) -> Iterator[tuple[subprocess.Popen[bytes], _Switch]]:
    ours, theirs = socket.socketpair()
    program = (sys.executable, "-m", "bench.flows.traced", str(theirs.fileno()))
    with (
        ours,
        theirs,
        (home / "log").open("wb") as log,
        subprocess.Popen(
            [*program, *arguments, "--state-dir", str(home / "state")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=_ROOT,
            env=_environment(home),
            pass_fds=(theirs.fileno(),),
        ) as process,
    ):
        theirs.close()
        try:
            with ours.makefile("r", encoding="utf-8") as answers:
                yield process, _Switch(ours, answers, pause)
        finally:
            process.kill()


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLASHGREP_")}
    return {**kept, "HOME": str(home)}


class _Stdio:
    """`flashgrep mcp`, after its handshake."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._write, self._read = process.stdin, process.stdout
        self._count = 0
        self._ask("initialize", _HANDSHAKE)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of an answer."""
        return _text(self._ask("tools/call", {"name": tool, "arguments": arguments}))

    def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self._count += 1
        self._send({"jsonrpc": "2.0", "id": self._count, "method": method, "params": params})
        for line in self._read:
            answer = json.loads(line)
            if answer.get("id") == self._count:
                return answer
        raise RuntimeError("the server ended")

    def _send(self, message: Mapping[str, Any]) -> None:
        self._write.write(json.dumps(message).encode() + b"\n")
        self._write.flush()


class _Http:
    """A session of `flashgrep serve`, after its handshake."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        told = _listening(process)
        token = _word(r"^ +token +(\S+) \(", told)
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {token}",
        }
        port = int(_word(r"^ +http +http://\S+:(\d+)/mcp$", told))
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_WALL_SECONDS)
        self._count = 0
        self._ask("initialize", _HANDSHAKE)
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> str:
        """The text of an answer."""
        return _text(self._ask("tools/call", {"name": tool, "arguments": arguments}))

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _ask(self, method: str, params: Mapping[str, Any]) -> Any:
        self._count += 1
        message = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        body = self._post(message)
        events = [line.removeprefix("data: ") for line in body.splitlines() if "data: {" in line]
        return json.loads(events[-1] if events else body)

    def _post(self, message: Mapping[str, Any]) -> str:
        self._connection.request("POST", "/mcp", json.dumps(message), self._headers)
        answer = self._connection.getresponse()
        session = answer.getheader("Mcp-Session-Id")
        if session:
            self._headers["Mcp-Session-Id"] = session
        return answer.read().decode()


def _listening(process: subprocess.Popen[bytes]) -> str:
    told = ""
    assert process.stdout is not None
    for line in process.stdout:
        told += line.decode()
        if line.startswith(b"Ctrl-C"):
            return told
    raise RuntimeError(f"serve ended after: {told}")


def _word(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.MULTILINE)
    if found is None:
        raise RuntimeError(f"nothing matches {pattern} in: {text}")
    return found[1]


def _text(answer: Mapping[str, Any]) -> str:
    result = answer.get("result", {"isError": True})
    if result.get("isError"):
        raise RuntimeError(f"the call failed: {answer}")
    text: str = result["content"][0]["text"]
    return text


def _tree(directory: Path) -> Path:
    """A workspace of 400 files in 10 folders, each with a name that no other has."""
    for number in range(FILES):
        folder = directory / f"part{number % _FOLDERS:02}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"value_{number}_{line} = {line}" for line in range(40)]
        text = "\n".join([f"def first_{number}():", *lines, f"def second_{number}():", "    pass"])
        (folder / f"file{number:03}.py").write_text(f"{text}\n", encoding="utf-8")
    return directory


def _grep(client: _Stdio, name: str) -> None:
    answer = client.call("grep", pattern=rf"def {name}\(\w*\)", output_mode="content")
    if f"def {name}()" not in answer:
        raise RuntimeError(f"grep did not find {name}: {answer}")


@contextmanager
def _searched(home: Path, *flags: str, pause: float) -> Iterator[tuple[_Stdio, _Switch]]:
    """A server that has searched before, with everything built that it builds."""
    arguments = ("mcp", "--workdir", str(_tree(home / "tree")), *flags)
    with _server(home, *arguments, pause=pause) as (process, switch):
        client = _Stdio(process)
        while "--no-index" not in flags and not json.loads(client.call("stats"))["query_ready"]:
            time.sleep(_LOOK_SECONDS)
        for name in ("first_5", "second_6"):
            _grep(client, name)
        yield client, switch


def grep_with_index(home: Path) -> list[Called]:
    """One line of one file is found."""
    with _searched(home, pause=_INDEX_PAUSE_SECONDS) as (client, switch):
        return switch.record(lambda: _grep(client, "second_7"))


def grep_without_index(home: Path) -> list[Called]:
    """The same search, of the disk."""
    with _searched(home, "--no-index", pause=_PAUSE_SECONDS) as (client, switch):
        return switch.record(lambda: _grep(client, "second_7"))


def grep_after_a_change(home: Path) -> list[Called]:
    """The line that is found is a new one; the index takes the file in afterwards."""
    with _searched(home, pause=_INDEX_PAUSE_SECONDS) as (client, switch):
        _change_and_grep(home, client, "third_7")
        return switch.record(lambda: _change_and_grep(home, client, "fourth_7"))


def _change_and_grep(home: Path, client: _Stdio, name: str) -> None:
    (home / "tree/part07/file007.py").write_text(f"def {name}():\n    pass\n", encoding="utf-8")
    _grep(client, name)


def edit_of_a_note(home: Path) -> list[Called]:
    """A second suggestion in a note that was read."""
    flashgrep = (sys.executable, "-m", "flashgrep", "kb")
    notes = home / "notes"
    notes.mkdir()
    for number in range(20):
        text = f"# Note {number}\n\nFirst word.\n\nSecond word.\n\nSee [[Note {number // 2}]].\n"
        (notes / f"Note {number}.md").write_text(text, encoding="utf-8")
    kb = str(home / "kb")
    for words in (["init"], ["import", str(notes)]):
        subprocess.run(
            [*flashgrep, *words, "--kb", kb],
            check=True,
            capture_output=True,
            env=_environment(home),
        )
    (home / "tree").mkdir()
    ports = ("--http-port", "auto", "--tcp-port", "none", "--socket", "none", "--no-index")
    arguments = ("serve", "--workdir", str(home / "tree"), "--kb", kb, *ports)
    with _server(home, *arguments) as (process, switch), closing(_Http(process)) as client:
        path = "kb://Note 7.md"
        client.call("read", file_path=path)

        def edit(old: str, new: str) -> None:
            client.call("edit", file_path=path, old_string=old, new_string=new)

        edit("First", "Other")
        return switch.record(lambda: edit("Second", "Next"))


CALLS: Final[Mapping[str, Callable[[Path], list[Called]]]] = {
    "`grep` over stdio, with the index": grep_with_index,
    "`grep` over stdio, without an index": grep_without_index,
    "a file changes, then `grep` over stdio": grep_after_a_change,
    "`edit` of a note over HTTP": edit_of_a_note,
}


def recordings() -> dict[str, list[Called]]:
    """Make the calls, each to another server, all at the same time."""
    with tempfile.TemporaryDirectory(prefix="flashgrep-flows-") as own:

        def made(number: int, call: Callable[[Path], list[Called]]) -> list[Called]:
            home = Path(own) / str(number)
            home.mkdir()
            return call(home)

        with ThreadPoolExecutor(len(CALLS)) as threads:
            waiting = [threads.submit(made, *item) for item in enumerate(CALLS.values())]
            return dict(zip(CALLS, (each.result() for each in waiting), strict=True))

"""One knowledge base, several processes: one owner, no lost call, no double answer."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest

from flashgrep import limits
from flashgrep.app import Application, build
from flashgrep.errors import RemoteFailure, SettingsError
from flashgrep.notes.access.roles import Role
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.ownership import NoOwner
from flashgrep.settings import Settings
from flashgrep.system.lock import lock, open_lock_file
from flashgrep.tools.dispatch.call import Answer
from flashgrep.transports.daemon.notes_client import OwnerClient
from tests.index.twins import wait_for
from tests.transports.clients import FLASHGREP, PATIENCE_SECONDS, environment, pause, serving
from tests.warm import Warm

NO_PORTS = ("--tcp-port", "none", "--socket", "none")


class Mcp:
    """A `flashgrep mcp` process, spoken to line by line."""

    def __init__(self, workdir: Path, name: str, flags: tuple[str, ...]) -> None:
        home = workdir.parent / "home"
        home.mkdir(exist_ok=True)
        self.process = Warm[bytes](
            [*FLASHGREP, "mcp", "--workdir", str(workdir), *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(home),
        )
        client = {"name": name, "version": "2.1.197"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> Any:
        assert self.process.stdout
        self._send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return json.loads(self.process.stdout.readline())["result"]

    def call(self, name: str, **arguments: Any) -> str:
        told = self.ask("tools/call", name=name, arguments=arguments)
        text: str = told["content"][0]["text"]
        return text

    def end(self, number: int = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(PATIENCE_SECONDS)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class Place:
    """A knowledge base with one note, a workspace, and servers over both."""

    def __init__(self, path: Path, ending: ExitStack) -> None:
        self.kb = path / "kb"
        self.workdir = path / "work"
        self.workdir.mkdir()
        (self.workdir / "file.txt").write_text("a file\n")
        self._ending = ending
        Home.create(self.kb)
        with closing(KnowledgeBase(self.kb)) as notes:
            notes.ask(lambda library: library.create("Note.md", "alpha beta\n", "ann"))

    def mcp(self, name: str = "tests", *flags: str) -> Mcp:
        made = Mcp(self.workdir, name, ("--kb", str(self.kb), "--no-index", *flags))
        self._ending.callback(made.close)
        return made

    def text(self, note: str = "Note.md") -> str:
        """A note as whoever owns it has it."""
        with closing(OwnerClient(self.kb)) as client:
            rows = client.call("kb/list", {})["notes"]
            version = next(row["version"] for row in rows if row["path"] == note)
            text: str = client.call("kb/text", {"note": note, "version": version})["text"]
            return text


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as ending:
        yield Place(tmp_path, ending)


def test_the_owner_keeps_to_the_budget_of_the_one_who_asked(place: Place) -> None:
    text = f"{'x' * 90}\n" * 1_000
    with closing(KnowledgeBase(place.kb)) as notes:
        notes.ask(lambda library: library.create("Long.md", text, "ann"))
    place.mcp("owner", "--max-output-chars", "1000")

    def shown(name: str, *flags: str) -> int:
        return len(place.mcp(name, *flags).call("read", file_path="kb://Long.md"))

    assert 97_000 < shown("claude-code") <= 100_000
    assert 1_500 < shown("claude-code", "--max-output-chars", "2000") <= 2_000


@pytest.mark.thorough
def test_the_owner_keeps_to_the_time_of_the_one_who_asked(place: Place) -> None:
    text = "".join(Random(1).choices("abcd ", k=3_000_000)) + "\n"
    with closing(KnowledgeBase(place.kb)) as notes:
        notes.ask(lambda library: library.create("Long.md", text, "ann"))
    place.mcp("owner").call("read", file_path="kb://Note.md")
    caller = {"key": "k", "author": "a", "token": "", "may_write": True, "notes_only": False}
    asked: dict[str, Any] = {
        "tool": "grep",
        "arguments": {"pattern": ".*[ab]" + 6 * ".{1000}" + "[zq]", "path": "kb://"},
        "caller": {**caller, "principal": "a", "grants": [[Role.SUGGEST, ""]], "seen": []},
        "settings": {"call_seconds": 1},
    }
    with (
        closing(OwnerClient(place.kb)) as client,
        pytest.raises(RemoteFailure, match="stopped after 1 seconds"),
    ):
        client.call("kb/call", asked)
    other = place.mcp("other", "--call-seconds", "1")
    told = other.call("grep", **asked["arguments"])
    # The owner's own word, or on a busy machine that it was not heard in time.
    assert "stopped after 1 seconds" in told or "did not answer within 1 seconds" in told


def test_a_server_that_serves_others_is_read_only_to_its_own(place: Place) -> None:
    reader, other = place.mcp("reader", "--read-only"), place.mcp("other")
    other.call("read", file_path="kb://Note.md")
    edit = {"file_path": "kb://Note.md", "old_string": "alpha", "new_string": "gamma"}
    assert "This server is read-only" in reader.call("edit", **edit)
    other.call("edit", **edit)
    assert place.text() == "{--alpha--}{++gamma++} beta\n"


def test_a_second_server_has_the_owner_answer_and_takes_over_when_it_ends(place: Place) -> None:
    first, second = place.mcp("one"), place.mcp("two")
    assert "alpha beta" in second.call("read", file_path="kb://Note.md")
    assert "a file" in second.call("view", path="file.txt")
    assert "kb://Note.md" in second.call("grep", pattern="alpha", path="kb://")
    assert second.call("glob", pattern="kb://*.md") == "kb://Note.md"
    second.call("edit", file_path="kb://Note.md", old_string="alpha", new_string="gamma")
    assert place.text() == "{--alpha--}{++gamma++} beta\n"
    # Each client has read, or not, for itself, and is named by its own name.
    assert "not been read" in first.call(
        "edit", file_path="kb://Note.md", old_string="beta", new_string="x"
    )
    assert "two" in first.call("read", file_path="kb://Note.md")
    first.end(signal.SIGKILL)
    # What it had read, it has read.
    second.call("edit", file_path="kb://Note.md", old_string="beta", new_string="delta")
    assert place.text() == "{--alpha--}{++gamma++} {--beta--}{++delta++}\n"
    third = place.mcp("three", "--no-workspace")
    assert "gamma delta" in third.call("read", file_path="Note.md")
    assert third.call("glob", pattern="**/*.md") == "Note.md"
    assert third.call("glob", pattern="kb://*.md") == "Note.md"


def test_an_owner_that_ends_in_good_order_leaves_no_socket(place: Place) -> None:
    first, second = place.mcp(), place.mcp()
    second.call("read", file_path="kb://Note.md")
    first.end()
    assert not (place.kb / "kb.sock").exists()
    with pytest.raises(NoOwner):
        OwnerClient(place.kb)
    assert "alpha" in second.call("read", file_path="kb://Note.md")
    assert place.text() == "alpha beta\n"


def test_serve_takes_the_notes_over_from_mcp_and_not_from_another_serve(place: Place) -> None:
    first = place.mcp()
    assert "alpha" in first.call("read", file_path="kb://Note.md")
    flags = ("--kb", str(place.kb), "--no-index", "--http-port", "auto", *NO_PORTS)
    with serving(place.workdir, flags, ports=False) as server:
        assert "alpha" in first.call("read", file_path="kb://Note.md")
        owner = (place.kb / "lock").read_text().strip()
        assert owner == str(server.process.pid)
        with (
            pytest.raises(RuntimeError, match="another flashgrep serve"),
            serving(place.workdir, flags, home=place.workdir.parent / "h2", ports=False),
        ):
            pass
        server.stop()
    assert "alpha" in first.call("read", file_path="kb://Note.md")
    assert (place.kb / "lock").read_text().strip() == str(first.process.pid)


class Busy:
    """Reads and edits a note of its own by one `flashgrep mcp`, until it is stopped."""

    LINES = 2_000

    def __init__(self, server: Mcp, note: str) -> None:
        self.edits = 0
        self.failures: list[str] = []
        self._server = server
        self._path = f"kb://{note}"
        self._stop = threading.Event()
        self._more = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _work(self) -> None:
        while not self._stop.is_set() and not self.failures and self.edits < self.LINES:
            self._call("read", limit=1)
            mark = f"<{self.edits}"
            self._call("edit", old_string=f"{mark}>", new_string=f"{mark} done>")
            self.edits += 1
            self._more.release()

    def _call(self, name: str, **arguments: Any) -> None:
        given = {"file_path": self._path, **arguments}
        told = self._server.ask("tools/call", name=name, arguments=given)
        if told.get("isError"):
            self.failures.append(f"{name}: {told['content'][0]['text']}")

    def wait_for_edits(self, count: int) -> None:
        for _ in range(count):
            assert self._more.acquire(timeout=PATIENCE_SECONDS), self.failures

    def end(self) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()


def test_serve_takes_the_notes_over_from_two_busy_mcp(place: Place) -> None:
    text = "".join(f"<{number}>\n" for number in range(Busy.LINES))
    names = ["One.md", "Two.md"]
    with closing(KnowledgeBase(place.kb)) as notes:
        notes.ask(lambda library: [library.create(name, text, "ann") for name in names])
    flags = ("--kb", str(place.kb), "--no-index", "--http-port", "auto", *NO_PORTS)
    busy = [Busy(place.mcp(name), name) for name in names]
    for one in busy:
        one.wait_for_edits(2)
    with serving(place.workdir, flags, ports=False) as server:
        assert (place.kb / "lock").read_text().strip() == str(server.process.pid)
        for one in busy:
            one.wait_for_edits(2)
            one.end()
        for name, one in zip(names, busy, strict=True):
            assert one.failures == []
            lines = place.text(name).splitlines()
            done = [f"{{--<{number}>--}}{{++<{number} done>++}}" for number in range(one.edits)]
            assert lines == done + text.splitlines()[one.edits :]


def test_an_owner_keeps_the_notes_while_a_call_does_not_end(
    place: Place, application: Callable[[], Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OWNER_SECONDS", 0.2)
    made = application()
    assert made.ownership is not None
    with made.ownership.held() as notes:
        assert notes is not None
        with closing(OwnerClient(place.kb)) as client:
            assert client.call("kb/yield", {}) == {"yields": True}
            assert client.socket.recv(1) == b""  # it hangs up on others first
        assert notes.ask(lambda library: len(library.catalogue.entries())) == 1
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (place.kb / "kb.sock").exists():
            assert time.monotonic() < deadline, "it does not listen again"
            time.sleep(0.01)
        assert made.notes is notes
        assert place.text() == "alpha beta\n"


def test_a_server_leaves_the_notes_to_one_that_waits_for_them(
    place: Place, application: Callable[[], Application]
) -> None:
    descriptor = open_lock_file(place.kb / "wanted")
    try:
        lock(descriptor)
        made = application()
        assert made.ownership is not None
        with made.ownership.held() as notes:
            assert notes is None
    finally:
        os.close(descriptor)
    assert "alpha" in answered(made, "read", file_path="kb://Note.md").text
    assert made.notes is not None


def test_a_server_that_has_closed_does_not_own_the_notes_again(
    place: Place, application: Callable[[], Application]
) -> None:
    made = application()
    assert made.ownership is not None
    made.ownership.close()
    with made.ownership.held() as notes:
        assert notes is None
    with closing(KnowledgeBase(place.kb)):  # they are free
        pass


def test_a_server_without_tools_for_notes_owns_them_for_others(place: Place) -> None:
    owner = place.mcp("owner", "--toolsets", "index")
    assert (place.kb / "lock").read_text().strip() == str(owner.process.pid)
    assert "alpha" in place.mcp("other").call("read", file_path="kb://Note.md")


# ── an owner that ends in the middle of a call ──────────────────────────────────────────────────


@contextmanager
def dying_owner(kb: Path, deaths: int = 1) -> Iterator[list[dict[str, Any]]]:
    """Holds the lock, takes calls, and ends without an answer to the last of them."""
    home = Home(kb)
    home.own()
    asked: list[dict[str, Any]] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(home.socket))
        listener.listen()

        def serve() -> None:
            for turn in range(deaths):
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as lines:
                    asked.append(json.loads(lines.readline()))
                    if turn == deaths - 1:
                        listener.close()
                        home.socket.unlink()
                        home.disown()

        thread = threading.Thread(target=serve)
        thread.start()
        yield asked
        thread.join()


def answered(application: Application, name: str, **arguments: str) -> Answer:
    async def call() -> Answer:
        return await application.toolbox.call(name, arguments, application.callers.get("test"))

    return anyio.run(call)


@pytest.fixture
def application(place: Place) -> Iterator[Callable[[], Application]]:
    with ExitStack() as ending:

        def make() -> Application:
            home = place.workdir.parent / "home"
            made = build(
                Settings(workdir=str(place.workdir), kb=place.kb, no_index=True),
                environment(home),
            )
            ending.callback(made.close)
            return made

        yield make


def test_a_reading_call_is_made_again_when_the_owner_ends(
    place: Place, application: Callable[[], Application]
) -> None:
    with dying_owner(place.kb, deaths=2) as asked:
        made = application()
        answer = answered(made, "read", file_path="kb://Note.md")
    assert "alpha beta" in answer.text
    assert [one["params"]["tool"] for one in asked] == ["read", "read"]


def test_a_changing_call_is_told_as_unknown_when_the_owner_ends(
    place: Place, application: Callable[[], Application]
) -> None:
    edit = {"file_path": "kb://Note.md", "old_string": "alpha", "new_string": "x"}
    with dying_owner(place.kb):
        made = application()
        answer = answered(made, "edit", **edit)
    assert answer.code == "unavailable"
    assert "may be done or not" in answer.text
    assert "not been read" in answered(made, "edit", **edit).text  # and now it is ours


def test_an_owner_that_hung_up_before_the_call_costs_nothing(
    place: Place, application: Callable[[], Application]
) -> None:
    first = place.mcp()
    made = application()
    assert "alpha" in answered(made, "read", file_path="kb://Note.md").text
    first.end(signal.SIGKILL)
    edit = {"file_path": "kb://Note.md", "old_string": "alpha", "new_string": "x"}
    assert answered(made, "edit", **edit).code is None


def test_the_owner_tells_how_far_a_call_is(
    place: Place, application: Callable[[], Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, other = application(), application()
    assert owner.notes is not None
    owner.notes.ask(lambda library: library.create("Other.md", "alpha\n"))
    monkeypatch.setattr(limits, "PROGRESS_SECONDS", -1.0)  # each slice is long enough
    monkeypatch.setattr("flashgrep.notes.reading.NOTES_A_SLICE", 1)
    told: dict[str, list[tuple[float, float | None, str]]] = {"owner": [], "other": []}

    def asked(made: Application, name: str) -> Answer:
        async def progress(done: float, total: float | None, message: str) -> None:
            told[name].append((done, total, message))

        async def call() -> Answer:
            who, arguments = made.callers.get(name), {"pattern": "alpha", "path": "kb://"}
            return await made.toolbox.call("grep", arguments, who, progress)

        return anyio.run(call)

    assert asked(owner, "owner").text == asked(other, "other").text == "kb://Note.md\nkb://Other.md"
    assert other.notes is None
    assert (
        told["other"]
        == told["owner"]
        == [
            (0, 2, "searched 0 notes"),
            (1, 2, "searched 1 notes"),
        ]
    )
    assert "alpha" in answered(other, "read", file_path="kb://Note.md").text


def test_only_calls_about_notes_are_answered_for_others(place: Place) -> None:
    place.mcp()
    caller = {
        "key": "x",
        "author": "x",
        "token": "",
        "may_write": True,
        "notes_only": False,
        "principal": "x",
        "grants": [[2, ""]],
        "seen": [],
    }
    settings = {
        "no_workspace": False,
        "anthropic_compat": False,
        "toolsets": ["files", "kb"],
        "disable_tools": [],
        "max_output_chars": 0,
        "kb_markup": "plain",
    }
    asked = {"tool": "view", "caller": caller, "settings": settings}
    with closing(OwnerClient(place.kb)) as client:
        with pytest.raises(RemoteFailure, match="only calls about notes"):
            client.call("kb/call", {**asked, "arguments": {"path": "file.txt"}})
        told = client.call("kb/call", {**asked, "arguments": {"path": "kb://Note.md"}})
        assert "alpha beta" in told["text"]
        for broken in ({}, {**asked, "arguments": {}, "caller": {}}, {**asked, "settings": 3}):
            with pytest.raises(RemoteFailure, match="kb/call"):
                client.call("kb/call", broken)


def test_an_owner_that_ends_in_good_order_answers_what_it_was_asked(
    place: Place, application: Callable[[], Application], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.limits.SHUTDOWN_SECONDS", PATIENCE_SECONDS)
    owner, other = application(), application()
    ownership = owner.ownership
    assert owner.notes is not None
    assert ownership is not None
    assert "alpha" in answered(other, "read", file_path="kb://Note.md").text
    go_on = threading.Event()
    owner.notes.submit(lambda _: go_on.wait(PATIENCE_SECONDS))
    edit = {"file_path": "kb://Note.md", "old_string": "alpha", "new_string": "gamma"}
    with ThreadPoolExecutor(2) as threads:
        answer = threads.submit(answered, other, "edit", **edit)
        wait_for(lambda: ownership._running == 1, lambda: "the owner was not asked")
        ended = threads.submit(ownership.close)
        wait_for(lambda: not (place.kb / "kb.sock").exists(), lambda: "it does not close")
        go_on.set()
        assert answer.result(PATIENCE_SECONDS).code is None
        ended.result(PATIENCE_SECONDS)
    assert "gamma beta" in answered(other, "read", file_path="kb://Note.md").text


# ── an owner that hangs ─────────────────────────────────────────────────────────────────────────


@pytest.mark.thorough
def test_calls_end_within_their_time_when_the_owner_is_stopped(place: Place) -> None:
    owner, other = place.mcp("owner"), place.mcp("other", "--call-seconds", "1")
    assert "alpha" in other.call("read", file_path="kb://Note.md")
    pause(owner.process.pid)
    pid = owner.process.pid
    edit = {"file_path": "kb://Note.md", "old_string": "alpha", "new_string": "gamma"}
    silent = f"(pid {pid}) did not answer within 1 seconds (--call-seconds). "
    unknown = f"edit may be done or not. Wait until process {pid} answers, or end it; then read"
    assert silent + unknown in other.call("edit", **edit)
    # More than the socket takes: the owner does not even read it.
    long = {**edit, "new_string": "x" * 1_000_000}
    assert silent + unknown in other.call("edit", **long)
    assert f"{silent}Send the call again when" in other.call("read", file_path="kb://Note.md")
    owner.end(signal.SIGKILL)
    other.call("edit", **edit)
    assert place.text() == "{--alpha--}{++gamma++} beta\n"


def test_serve_names_an_owner_that_is_stopped_and_does_not_let_go(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OWNER_SECONDS", 0.2)
    owner = place.mcp("owner")
    pause(owner.process.pid)
    settings = Settings(workdir=str(place.workdir), kb=place.kb, no_index=True)
    with pytest.raises(SettingsError, match=rf"\(pid {owner.process.pid}\) does not answer"):
        build(settings, environment(place.workdir.parent / "home"), keeps_notes=True)


def test_serve_names_an_owner_that_does_not_listen_and_does_not_let_go(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "OWNER_SECONDS", 0.2)
    settings = Settings(workdir=str(place.workdir), kb=place.kb, no_index=True)
    with closing(KnowledgeBase(place.kb)), pytest.raises(SettingsError) as refused:
        build(settings, environment(place.workdir.parent / "home"), keeps_notes=True)
    assert str(refused.value) == (
        f"--kb: {place.kb} is open in another process (pid {os.getpid()}) that does not let go; "
        "end it"
    )


# ── cancelled calls ─────────────────────────────────────────────────────────────────────────────


def test_a_cancelled_edit_does_not_wait_for_an_owner_that_is_busy(
    place: Place, application: Callable[[], Application]
) -> None:
    owner, other = application(), application()
    notes = owner.notes
    assert notes is not None
    assert other.notes is None
    assert answered(other, "read", file_path="kb://Note.md").code is None
    begun, go_on = threading.Event(), threading.Event()

    def long(_: Library) -> None:
        begun.set()
        go_on.wait(120)

    busy = notes.submit(long)
    begun.wait(120)
    edit = {"file_path": "kb://Note.md", "old_string": "alpha", "new_string": "gamma"}

    async def cancelled() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other.toolbox.call, "edit", edit, other.callers.get("test"))
            await anyio.sleep(0.2)  # a moment to reach the owner; cancelled sooner, it holds too
            tasks.cancel_scope.cancel()

    anyio.run(cancelled)
    assert not busy.done()
    go_on.set()
    busy.result(30)


# ── outcomes ────────────────────────────────────────────────────────────────────────────────────


def test_outcomes_are_told_by_the_owner_and_after_it_by_the_next(place: Place) -> None:
    owner = place.mcp("owner")
    owner.call("read", path="kb://Note.md")
    agent = place.mcp("agent")
    for old, new in (("alpha", "ALPHA"), ("beta", "BETA")):
        agent.call("read", path="kb://Note.md")
        agent.call("edit", path="kb://Note.md", old_string=old, new_string=new)
    with closing(OwnerClient(place.kb)) as client:
        rows = {row["old"]: row["id"] for row in client.call("kb/suggestions", {})["suggestions"]}
        client.call("kb/decide", {"ids": [rows["alpha"]], "action": "accept", "by": "ann"})
    decided = "[Decided since your last read]"
    assert decided not in owner.call("read", path="kb://Note.md")
    assert f"{rows['alpha']} accepted by ann" in agent.call("read", path="kb://Note.md")
    assert decided not in agent.call("read", path="kb://Note.md")
    with closing(OwnerClient(place.kb)) as client:
        refused = {"ids": [rows["beta"]], "action": "reject", "by": "ann", "reason": "why"}
        client.call("kb/decide", refused)
    owner.end()
    told = agent.call("read", path="kb://Note.md")
    assert f'{rows["beta"]} rejected by ann: "beta" -> "BETA"; reason: "why"' in told
    assert rows["alpha"] not in told
    assert decided not in agent.call("read", path="kb://Note.md")
    states = json.loads(agent.call("list_my_suggestions"))["suggestions"]
    assert [(row["old"], row["state"]) for row in states] == [
        ("beta", "rejected"),
        ("alpha", "accepted"),
    ]

"""Processes that work for the server: started by exec, asked through pipes, ending with it.

Started by exec and not by fork, a child holds none of the server's locks or connections. It reads
messages on stdin and answers on stdout; one of its threads waits on stdin, so that it ends at once
when the server does, however that happens, even in the middle of a long computation without the
interpreter's lock.

Messages are `marshal` values after a length of four bytes: plain data between two halves of one
program of one version, nothing that could carry code.
"""

from __future__ import annotations

import marshal
import os
import queue
import select
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from flashgrep.errors import FlashgrepError, SettingsError
from flashgrep.system.atomic import write_all

if TYPE_CHECKING:
    from subprocess import Popen

LENGTH: Final = struct.Struct("<I")
_GOODBYE_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.1


class ChildDied(Exception):
    """A process ended in the middle of its work."""


class Child:
    """One process that works for the server, as the server sees it."""

    program: ClassVar[type[Popen[bytes]] | None] = None
    """What starts it, if not `Popen`: the tests have hundreds of them to start."""

    def __init__(self, module: str, inherited: tuple[int, ...] = ()) -> None:
        import subprocess  # the children import this module too, and start nothing

        # -P: the current directory is the user's workspace and must not shadow our modules.
        self._process = (self.program or subprocess.Popen)(
            [sys.executable, "-P", "-X", "utf8", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=True,
            pass_fds=inherited,
            cwd="/",
            umask=0o077,  # what they write is ours: tantivy makes its files by the umask alone
            process_group=0,  # Ctrl-C is for the server, which ends them; they may not be up yet
        )
        assert self._process.stdin is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        self._in = self._process.stdin.fileno()
        self.out = self._process.stdout.fileno()

    @property
    def pid(self) -> int:
        return self._process.pid

    def seconds(self) -> float:
        """The processor time that it has used; 0 once it has ended."""
        try:
            return time.clock_gettime((~self.pid << 3) | 2)  # the kernel's CPUCLOCK_SCHED
        except OSError:
            return 0.0

    def send(self, message: Any) -> None:
        try:
            write_message(self._in, message)
        except OSError as error:
            raise ChildDied from error

    def receive(self) -> Any:
        answer = read_message(self.out)
        if answer is None:
            raise ChildDied
        return answer

    def receive_unless(self, stopped: Callable[[], bool]) -> Any:
        """The next answer, or None once `stopped` says so."""
        while not readable((self.out,), _LOOK_SECONDS):
            if stopped():
                return None
        return self.receive()

    def ending(self) -> str:
        """How a process ended that is known to have died."""
        status = self._waited()
        if status is None:
            return "closed its pipe"
        if status >= 0:
            return f"ended with status {status}"
        return f"was ended by {signal.Signals(-status).name}"

    def kill(self) -> None:
        """End the process without waiting for it; `stop` has to follow."""
        self._process.kill()

    def stop(self, kill: bool = False) -> None:
        """End the process and wait for it."""
        process = self._process
        if kill:
            process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        if self._waited() is None:
            process.kill()
            process.wait()

    def _waited(self) -> int | None:
        """The exit status of a process that is about to end; None where it does not."""
        from subprocess import TimeoutExpired

        try:
            return self._process.wait(_GOODBYE_SECONDS)
        except TimeoutExpired:
            return None


def readable(outs: Iterable[int], seconds: float) -> list[int]:
    """Which of some pipes have something to read, after waiting for one of them."""
    # poll, not select: a server with many clients has descriptors above 1,024.
    poll = select.poll()
    for out in outs:
        poll.register(out, select.POLLIN)
    return [out for out, _ in poll.poll(seconds * 1000)]


PROGRESS: Final = "progress"
"""The first item of a message that comes before the answer."""
DIED: Final = "died"
"""That of the answer for a process that ended instead, with how it did."""


def run_jobs(
    module: str, messages: Iterable[Any], most: int, stopped: Callable[[], bool]
) -> Generator[tuple[int, Any]]:
    """Give each message to one of `most` processes; yields the message's number and the answer.

    Ends early once `stopped` says so.
    """
    waiting = iter(enumerate(messages))
    job = next(waiting, None)
    busy: dict[int, tuple[Child, int]] = {}
    idle: list[Child] = []
    try:
        while (job is not None or busy) and not stopped():
            while job is not None and len(busy) < most:
                child = idle.pop() if idle else Child(module)
                busy[child.out] = (child, job[0])
                with suppress(ChildDied):  # noticed when its answer is read
                    child.send(job[1])
                job = next(waiting, None)
            for out in readable(busy, _LOOK_SECONDS):
                child, number = busy[out]
                try:
                    answer = child.receive()
                except ChildDied:
                    answer = (DIED, child.ending())
                if answer[0] != PROGRESS:
                    del busy[out]
                    idle.append(child)
                if answer[0] == DIED:
                    idle.pop().stop()
                yield number, answer
    finally:
        for child, _ in busy.values():
            child.stop(kill=True)
        for child in idle:
            child.stop()


# ── in the child ────────────────────────────────────────────────────────────────────────────────


def serve(handle: Callable[[Any], Any]) -> None:
    """Answer messages of the pipe until it closes; None sends no answer."""
    serve_telling(lambda message, tell: handle(message))


def serve_telling(handle: Callable[[Any, Callable[[Any], None]], Any]) -> None:
    """The same; the handler can also send messages before its answer."""
    out = os.dup(1)
    os.dup2(2, 1)  # a stray print must not reach the pipe
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()
    while True:
        message = inbox.get()
        try:
            answer = handle(message, partial(write_message, out))
        except (FlashgrepError, SettingsError, OSError, MemoryError) as error:
            answer = ("failed", f"{type(error).__name__}: {error}")
        if answer is not None:
            write_message(out, answer)


def leave_ending_to_the_server() -> None:
    """Continue when a signal is sent to the whole process group: the server gets it too, closes the
    pipe when it ends, and needs no report of our death until then."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)


def _listen(inbox: queue.SimpleQueue[Any]) -> None:
    while (message := read_message(0)) is not None:
        inbox.put(message)
    sys.stderr.flush()
    os._exit(0)


# ── messages ────────────────────────────────────────────────────────────────────────────────────


def read_message(fd: int) -> Any:
    """The next message, or None at the end of the stream."""
    head = _exactly(fd, LENGTH.size)
    body = _exactly(fd, LENGTH.unpack(head)[0]) if head else b""
    return marshal.loads(body) if body else None  # noqa: S302 - our own other half wrote it


def write_message(fd: int, message: Any) -> None:
    """Send a message whole."""
    body = marshal.dumps(message)
    write_all(fd, LENGTH.pack(len(body)) + body)


def _exactly(fd: int, size: int) -> bytes:
    pieces = []
    while size:
        piece = os.read(fd, min(size, 1 << 20))
        if not piece:
            return b""
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)

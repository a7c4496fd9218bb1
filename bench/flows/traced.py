"""`python -m bench.flows.traced FD …`: flashgrep with a switch that records what is called.

FD is a connected socket. `begin SECONDS` on it starts a recording and `end SECONDS` gives it back,
each answered by one line of JSON. Both first wait until the process has been idle for so long: an
answer is written before the last function of its call returns, and a changed file sets a background
thread to work.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dis import get_instructions
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import CO_COROUTINE, CO_OPTIMIZED
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

_LOOK_SECONDS: Final = 0.02
_UNHURRIED: Final = (
    "index.watch.listing.LIST_INLINE_SECONDS",
    "index.answer.everywhere.INDEX_SHARED_SECONDS",
    "index.answer.newest_pages.INDEX_SHARED_SECONDS",
    "index.answer.walk_pages.INDEX_SHARED_SECONDS",
)
"""Limits that hand work to other processes when this one is slow: how busy the machine is must not
decide which way is drawn."""
_SPEC: Final = find_spec("flashgrep")
assert _SPEC is not None
assert _SPEC.origin is not None
PACKAGE: Final = os.path.dirname(_SPEC.origin) + os.sep


_Row = tuple[str, str, str, tuple[str, ...], bool]


class Recorder:
    """Each call of a function of the package, in all threads.

    The code of a module that is being imported, a comprehension or a lambda does not count as a
    function; a coroutine that the event loop resumes is marked. Threads call `note` at the same
    time, so each of its steps is one operation on a set or a list.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.calls = 0
        self._found: list[_Row] = []
        self._seen: set[tuple[str, CodeType]] = set()

    def begin(self) -> None:
        """Forget what was recorded, and record from now on."""
        self._seen, self._found = set(), []
        self.is_on = True

    def end(self) -> list[_Row]:
        """Each call: thread, module, function; when the function is new to its thread, the modules
        of the package on the stack; whether it is a coroutine that is resumed."""
        self.is_on = False
        return self._found

    def note(self, frame: FrameType, event: str, _: Any) -> None:
        """The profiler of every thread."""
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(PACKAGE):
            return
        self.calls += 1
        if not self.is_on or code.co_name.startswith("<") or not code.co_flags & CO_OPTIMIZED:
            return
        thread = threading.current_thread().name
        callers = () if (thread, code) in self._seen else tuple(_callers(frame.f_back))
        self._seen.add((thread, code))
        is_resumed = bool(code.co_flags & CO_COROUTINE) and frame.f_lasti > _start(code)
        self._found.append((thread, _module(code), code.co_qualname, callers, is_resumed))


@cache
def _start(code: CodeType) -> int:
    """Where a coroutine is when it is first run: a later place means that it had waited."""
    return next(step.offset for step in get_instructions(code) if step.opname == "RESUME")


def _module(code: CodeType) -> str:
    return code.co_filename[len(PACKAGE) :].removesuffix(".py").replace(os.sep, ".")


def _callers(frame: FrameType | None) -> Iterator[str]:
    while frame is not None:
        if frame.f_code.co_filename.startswith(PACKAGE):
            yield _module(frame.f_code)
        frame = frame.f_back


def _wait_until_idle(recorder: Recorder, seconds: float) -> None:
    """Until for a while nothing was called, and no thread or child process had anything to do.

    Whether a thread is asleep is asked of the kernel: on a busy machine one that has work may wait
    long for a processor.
    """
    calls, since = recorder.calls, time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(_LOOK_SECONDS)
        if recorder.calls != calls or not _is_asleep():
            calls, since = recorder.calls, time.monotonic()


def _is_asleep() -> bool:
    own = threading.get_native_id()
    tasks = [task for task in Path("/proc/self/task").iterdir() if int(task.name) != own]
    children = [
        Path("/proc") / pid
        for task in Path("/proc/self/task").iterdir()
        for pid in _read(task / "children").split()
    ]
    return all(_state(task) in "SZ" for task in (*tasks, *children))


def _state(task: Path) -> str:
    """One letter, as ps shows it; what has ended meanwhile is asleep."""
    return _read(task / "stat").rpartition(")")[2].strip()[:1] or "S"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _obey(control: socket.socket, recorder: Recorder) -> None:
    with control, control.makefile("r", encoding="utf-8") as orders:
        for order in orders:
            word, seconds = order.split()
            _wait_until_idle(recorder, float(seconds))
            found = recorder.end()
            if word == "begin":
                recorder.begin()
            control.sendall(json.dumps(found).encode() + b"\n")


def _take_time() -> None:
    from flashgrep.search.scan.scanner import INLINE

    object.__setattr__(INLINE, "seconds", 60.0)
    for name in _UNHURRIED:
        module, _, constant = name.rpartition(".")
        loaded = import_module(f"flashgrep.{module}")
        if not hasattr(loaded, constant):
            raise RuntimeError(f"{name} is gone: name what hands work on today, in {__file__}")
        setattr(loaded, constant, 60.0)


def main() -> None:
    """Run `flashgrep` with the remaining arguments, watched by the recorder."""
    control = socket.socket(fileno=int(sys.argv.pop(1)))
    recorder = Recorder()
    threading.Thread(target=_obey, args=(control, recorder), daemon=True).start()
    threading.setprofile(recorder.note)
    sys.setprofile(recorder.note)
    _take_time()
    from flashgrep.cli import main as flashgrep

    flashgrep()


if __name__ == "__main__":
    main()

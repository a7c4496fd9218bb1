"""Python programs that start in milliseconds, because a warm process has their libraries.

    Warm([sys.executable, "-P", "-m", "flashgrep", "mcp"], stdin=PIPE, stdout=PIPE)

A server spends most of its start on importing the MCP SDK. A `Warm` process is a `Popen` like any
other: a child of this process with descriptors, an environment, a directory and an end of its own.
Only it is not executed anew, but forked from a process that has imported the libraries and done
nothing else. That process has flashgrep as well where the program is flashgrep itself; for other
programs it does not, because they may change limits first that flashgrep reads when imported.

What a test says of the start itself (locales, interpreters' flags, signals, imports) needs `Popen`.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, AnyStr

import pytest

from tests.warm_source import LONGEST_REQUEST

_LIBRARIES = (
    *("anyio", "click", "httpx2", "mcp", "mcp.server.lowlevel.server", "mcp.server.stdio"),
    *("mcp.server.streamable_http_manager", "numpy", "pycrdt", "re2", "sqlite3", "starlette"),
    *("starlette.routing", "uvicorn", "websockets", "websockets.server"),
)
_FLASHGREP = (
    *(
        "flashgrep.cli",
        "flashgrep.app",
        "flashgrep.web.routes",
        "flashgrep.web.site",
        "flashgrep.transports.daemon.serve",
    ),
    *("flashgrep.transports.lines.stdio", "flashgrep.transports.daemon.notes_socket"),
    *("flashgrep.transports.lines.join", "flashgrep.transports.daemon.proxy"),
)
_SOURCE = str(Path(__file__).with_name("warm_source.py"))
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
STARTED: dict[int, list[str]] = {}
"""The command lines by process number: the kernel knows that of the warm process only."""
_ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
"""Nothing that the test has set which happens to be the first; and a fork has one thread only."""
_ONE_AT_A_TIME = threading.Lock()


class Warm(subprocess.Popen[AnyStr]):
    """A `Popen` of a Python program: `-m` with a module, `-c` with code, or a file."""

    def _execute_child(self, args: Iterable[str], *rest: Any) -> None:
        executable, preexec, _, inherited, directory, environment, _, _, shell, *others = rest
        *pipes, _, gid, gids, uid, umask, session, group = others
        plain = (executable, preexec, shell, tuple(inherited), gid, gids, uid, umask, group)
        words = list(args)
        if words[0] == str(Path(sys.executable).with_name("flashgrep")):
            words[:1] = [sys.executable, "-P", "-m", "flashgrep"]
        assert plain == (None, None, False, (), None, None, None, -1, -1), "this needs a Popen"
        assert words[0] == sys.executable
        theirs = [pipes[0], pipes[3], pipes[5]]
        with _ONE_AT_A_TIME:
            source = _source(_modules(words))
        self.pid = source.fork(
            {
                "words": words[2:] if words[1] == "-P" else words[1:],
                "directory": os.fspath(directory or os.getcwd()),
                "environment": dict(os.environ if environment is None else environment),
                "parent": os.getpid(),
                "session": session,
            },
            [number if fd == -1 else fd for number, fd in enumerate(theirs)],
        )
        self._child_created = True
        STARTED[self.pid] = words
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


@contextmanager
def warm_subprocesses(module: ModuleType = asyncio.unix_events) -> Iterator[None]:
    """Meanwhile what a module starts is `Warm`: by default what asyncio starts, for any client."""
    with pytest.MonkeyPatch.context() as patch:
        names = {**vars(subprocess), "Popen": Warm}
        patch.setattr(module, "subprocess", SimpleNamespace(**names))
        yield


def _modules(words: list[str]) -> tuple[str, ...]:
    is_flashgrep = words[1:4] == ["-P", "-m", "flashgrep"]
    return _LIBRARIES + _FLASHGREP if is_flashgrep else _LIBRARIES


@cache
def _source(modules: tuple[str, ...]) -> _Source:
    return _Source(modules)


class _Source:
    """The process that others are forked from."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self._wire, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._wire.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST_REQUEST)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", _SOURCE, str(theirs.fileno()), *modules],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                cwd="/",
                env=_ENVIRONMENT,
            )
        atexit.register(self.close)

    def fork(self, request: dict[str, Any], descriptors: list[int]) -> int:
        """The process id of a new child of this process."""
        with _ONE_AT_A_TIME:
            _adopt_orphans(True)
            try:
                socket.send_fds(self._wire, [json.dumps(request).encode()], descriptors)
                answer = self._wire.recv(64)
            finally:
                _adopt_orphans(False)
        assert answer, "the warm process has ended"
        return int(answer)

    def close(self) -> None:
        self._wire.close()
        self._process.wait()


def _adopt_orphans(does: bool) -> None:
    """Whether orphans among our descendants become our children."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, int(does), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")

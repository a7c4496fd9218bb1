"""Python programs that start in milliseconds, because a warm process has their libraries.

    Warm([sys.executable, "-P", "-m", "flashgrep", "mcp"], stdin=PIPE, stdout=PIPE)

A server spends most of its start on importing the MCP SDK. A `Warm` process is a `Popen` like any
other: a child of this process with descriptors, an environment, a directory and an end of its own.
Only it is not executed anew, but forked from a process that has imported the libraries and done
nothing else. That process has flashgrep as well where the program is flashgrep itself, one of the
processes that work for it, or the tiny tools without limits of their own; for other programs it
does not, because they may change limits first that flashgrep reads when imported.

What a test says of the start itself (locales, interpreters' flags, signals, imports) needs `Popen`.
"""

from __future__ import annotations

import asyncio
import atexit
import ctypes
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, AnyStr

import pytest

from tests.warm_source import LIMITS, LONGEST_REQUEST

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
WORKERS = (
    *("flashgrep.index.answer.match", "flashgrep.index.answer.search_worker"),
    *("flashgrep.index.update.builder", "flashgrep.index.update.rank_writer"),
    *("flashgrep.index.watch.listing", "flashgrep.ranking.symbols", "flashgrep.search.scan.worker"),
)
_IMPORTED_LATE = ("flashgrep.index.update.writer", "tantivy", "tree_sitter")
"""What those import once they are at work."""
_SOURCE = str(Path(__file__).with_name("warm_source.py"))
_TINY = str(Path(__file__).with_name("transports") / "program.py")
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
STARTED: dict[int, list[str]] = {}
"""The command lines by process number: the kernel knows that of the warm process only."""
SOURCES: set[int] = set()
"""The processes that others are forked from: started when first needed, by whatever test."""
_ENVIRONMENT = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
"""Nothing that the test has set which happens to be the first; and a fork has one thread only."""
_ONE_AT_A_TIME = threading.Lock()


class Warm(subprocess.Popen[AnyStr]):
    """A `Popen` of a Python program: `-m` with a module, `-c` with code, or a file."""

    def _execute_child(self, args: Iterable[str], *rest: Any) -> None:
        executable, preexec, _, inherited, directory, environment, _, _, shell, *others = rest
        *pipes, _, gid, gids, uid, umask, session, group = others
        plain = (executable, preexec, shell, gid, gids, uid)
        words = list(args)
        if words[0] == str(Path(sys.executable).with_name("flashgrep")):
            words[:1] = [sys.executable, "-P", "-m", "flashgrep"]
        assert plain == (None, None, False, None, None, None), "this needs a Popen"
        assert words[0] == sys.executable
        theirs = [pipes[0], pipes[3], pipes[5]]
        options = words[1:4] if words[1:4] == ["-P", "-X", "utf8"] else words[1:2]
        self.pid = source_of(words, environment).fork(
            {
                "words": words[1 + len(options) :] if options[0] == "-P" else words[1:],
                "inherited": list(inherited),
                "umask": umask,
                "limits": {limit: resource.getrlimit(limit) for limit in LIMITS},
                "group": group,
                "directory": os.fspath(directory or os.getcwd()),
                "environment": dict(os.environ if environment is None else environment),
                "parent": os.getpid(),
                "session": session,
            },
            [number if fd == -1 else fd for number, fd in enumerate(theirs)] + list(inherited),
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


def source_of(words: list[str], environment: Mapping[str, str] | None = None) -> Source:
    """The warm process for a command line; an environment of None is that of this process."""
    with _ONE_AT_A_TIME:
        given = os.environ if environment is None else environment
        return _source(*_modules(words, given), _read_at_import(given))


def _modules(words: list[str], given: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options of the interpreter and what it has imported."""
    if words[1:5] == ["-P", "-X", "utf8", "-m"] and words[5] in WORKERS:
        return ("-P", "-X", "utf8"), WORKERS + _IMPORTED_LATE
    is_tiny = words[1:3] == ["-P", _TINY] and given.get("TINY_LIMITS", "{}") == "{}"
    has_flashgrep = is_tiny or words[1:4] == ["-P", "-m", "flashgrep"]
    return ("-P",), _LIBRARIES + _FLASHGREP if has_flashgrep else _LIBRARIES


def _read_at_import(given: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """What a module that has been imported would not look at again."""
    return tuple((name, given[name]) for name in ("FLASHGREP_NO_OPENAT2",) if name in given)


@cache
def _source(
    options: tuple[str, ...], modules: tuple[str, ...], variables: tuple[tuple[str, str], ...]
) -> Source:
    return Source(options, modules, dict(variables))


class Source:
    """The process that others are forked from."""

    def __init__(
        self, options: tuple[str, ...], modules: tuple[str, ...], variables: dict[str, str]
    ) -> None:
        self._wire, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._wire.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LONGEST_REQUEST)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, *options, _SOURCE, str(theirs.fileno()), *modules],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                cwd="/",
                env={**_ENVIRONMENT, **variables},
            )
        SOURCES.add(self._process.pid)
        atexit.register(self.close)

    @property
    def pid(self) -> int:
        return self._process.pid

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

"""The process that `tests.warm` forks programs from.

python warm_source.py DESCRIPTOR MODULE…

It imports the modules, then forks for every request on the socket. Nothing of the tests is imported
here: a program is to find what it would find in a process of its own.
"""

from __future__ import annotations

import array
import fcntl
import gc
import importlib
import json
import os
import resource
import runpy
import signal
import socket
import sys
import time
from collections.abc import Iterable
from typing import Any

LONGEST_REQUEST = 1024 * 1024
MOST_DESCRIPTORS = 16
LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
"""What a process would have from the one that starts it."""
_ABOVE = 1000
"""No program asks for a descriptor of its own above this."""


def _serve(wire: socket.socket) -> list[str]:
    """Fork for every request. Returns in the child only: with the words of its command line."""
    while True:
        data, ancillary, _, _ = wire.recvmsg(
            LONGEST_REQUEST, socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)
        )
        if not data:
            os._exit(0)
        descriptors = array.array("i")
        for _, _, packed in ancillary:
            descriptors.frombytes(packed)
        request = json.loads(data)
        source, sink = os.pipe()
        between = os.fork()
        if between == 0:
            # This one ends at once, so that its child is an orphan and the tests adopt it.
            if os.fork() == 0:
                wire.close()
                os.close(source)
                return _become(request, descriptors, sink)
            os._exit(0)
        os.close(sink)
        for descriptor in descriptors:
            os.close(descriptor)
        os.waitpid(between, 0)
        wire.send(os.read(source, 64))
        os.close(source)


def _become(request: dict[str, Any], descriptors: Iterable[int], sink: int) -> list[str]:
    # First out of the way: one may have the number that another is to get.
    answer = fcntl.fcntl(sink, fcntl.F_DUPFD_CLOEXEC, _ABOVE)
    os.close(sink)
    held = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for each in descriptors]
    for descriptor in descriptors:
        os.close(descriptor)
    for number, descriptor in zip([0, 1, 2, *request["inherited"]], held, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if request["session"]:
        os.setsid()
    if request["group"] != -1:
        os.setpgid(0, request["group"])
    if request["umask"] != -1:
        os.umask(request["umask"])
    for limit, bounds in request["limits"].items():
        resource.setrlimit(int(limit), bounds)
    os.chdir(request["directory"])
    os.environ.clear()
    os.environ.update(request["environment"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Only now: a `Popen` too comes back when its child has session, group and directory.
    os.write(answer, str(os.getpid()).encode())
    os.close(answer)
    while os.getppid() != request["parent"]:
        time.sleep(0.0005)
    words: list[str] = request["words"]
    return words


def _run(words: list[str]) -> None:
    option, *rest = words
    if option == "-m":
        sys.argv = rest
        if not hasattr(sys.modules.get(rest[0]), "__path__"):
            sys.modules.pop(rest[0], None)  # runpy warns of one that has been imported
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif option == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})  # noqa: S102
    else:
        sys.argv = words
        runpy.run_path(option, run_name="__main__")


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wire = socket.socket(fileno=int(sys.argv[1]))
    gc.disable()
    for name in sys.argv[2:]:
        importlib.import_module(name)
    gc.freeze()  # else a collection in a child copies every page of the libraries
    gc.enable()
    _run(_serve(wire))


if __name__ == "__main__":
    _main()

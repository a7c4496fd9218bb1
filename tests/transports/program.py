"""A server of a few small tools, run as a program: the transports are real, the tools are tiny.

python program.py mcp|serve --http-port auto …
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio

from flashgrep.errors import NotFound
from flashgrep.settings import BY_NAME, Settings, read_settings
from flashgrep.system.state import StateDirectory, state_path
from flashgrep.tools.dispatch.activity import Activity
from flashgrep.tools.dispatch.call import Answer, Call, Image
from flashgrep.tools.dispatch.caller import Callers
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec
from flashgrep.tools.dispatch.toolbox import Toolbox

_TEXT = (Parameter("text", "string", "any text"),)


def _echo(call: Call, arguments: Arguments) -> Answer:
    return Answer(str(arguments.get("text")), structured={"text": arguments.get("text")})


def _put(call: Call, arguments: Arguments) -> Answer:
    return Answer(f"put {arguments.get('text')}")


def _whoami(call: Call, arguments: Arguments) -> Answer:
    return Answer(call.caller.key)


def _noise(call: Call, arguments: Arguments) -> Answer:
    print("stray print")  # noqa: T201 - this is what the test is about
    os.write(1, b"stray write\n")
    return Answer(repr(sys.stdin.readline()))


def _picture(call: Call, arguments: Arguments) -> Answer:
    return Answer("", image=Image(b"\x89PNG", "image/png"))


def _missing(call: Call, arguments: Arguments) -> Answer:
    raise NotFound("Path not found: nowhere")


def _crash(call: Call, arguments: Arguments) -> Answer:
    raise ZeroDivisionError("a secret detail")


def _large(call: Call, arguments: Arguments) -> Answer:
    return Answer("x" * int(arguments.get("text")))


def _witness(path: Path, word: str) -> None:
    """At once: the process may end, and the test look, in the middle of a write."""
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(word, encoding="utf-8")
    draft.replace(path)


def _wait(call: Call, arguments: Arguments) -> Answer:
    """Write STARTED to the file named by `text`, then its end: CANCELLED or SURRENDERED."""
    path = Path(arguments.get("text"))
    _witness(path, "STARTED")
    deadline = time.monotonic() + 120
    while not call.cancelled and time.monotonic() < deadline:
        time.sleep(0.005)
    _witness(path, "CANCELLED" if call.cancelled else "SURRENDERED")
    return Answer("waited")


def _stubborn(call: Call, arguments: Arguments) -> Answer:
    """Write STARTED to the file named by `text`, then look at nothing for ten minutes."""
    _witness(Path(arguments.get("text")), "STARTED")
    threading.Event().wait(600)
    return Answer("too late")


def _slow(call: Call, arguments: Arguments) -> Answer:
    threading.Event().wait(float(arguments.get("text")))
    return Answer("slow answer")


def _count(call: Call, arguments: Arguments) -> Answer:
    for step in range(3):
        call.report(step + 1, 3, f"step {step + 1}")
    return Answer("counted")


TOOLS = (
    ToolSpec("echo", "Echo", "Gives its text back.", _TEXT, _echo, direct=True),
    ToolSpec(
        "put",
        "Put",
        "Pretends to write.",
        _TEXT,
        _put,
        read_only=False,
        direct=True,
        aliases=("put-it",),
    ),
    ToolSpec("whoami", "Who am I", "Names the caller.", (), _whoami),
    ToolSpec("noise", "Noise", "Prints to stdout.", (), _noise),
    ToolSpec("picture", "Picture", "An image.", (), _picture),
    ToolSpec("missing", "Missing", "Fails.", (), _missing),
    ToolSpec("crash", "Crash", "Has a defect.", (), _crash, direct=True),
    ToolSpec("large", "Large", "A long answer.", _TEXT, _large, direct=True),
    ToolSpec("wait", "Wait", "Runs until cancelled.", _TEXT, _wait, direct=True),
    ToolSpec(
        "hold", "Hold", "A write until cancelled.", _TEXT, _wait, read_only=False, direct=True
    ),
    ToolSpec(
        "stubborn", "Stubborn", "A write for ever.", _TEXT, _stubborn, read_only=False, direct=True
    ),
    ToolSpec("slow", "Slow", "Answers after a while.", _TEXT, _slow),
    ToolSpec("count", "Count", "Reports progress.", (), _count),
)


def toolbox(settings: Settings) -> Toolbox:
    """The real toolbox over the tools above."""
    return Toolbox(
        TOOLS, cast(Any, SimpleNamespace(activity=Activity())), settings, "Tools for tests."
    )


def _serve(settings: Settings) -> None:
    from flashgrep.transports.daemon.serve import Serving

    workdir = os.path.realpath(settings.workdir)
    path = state_path(settings.state_dir, os.fsencode(workdir), os.environ)
    state = StateDirectory(path)
    serving = Serving.prepare(toolbox(settings), Callers(), settings, workdir, state)
    for line in serving.told:
        print(line, flush=True)  # noqa: T201 - read by the test
    anyio.run(serving.run)


def read_flags(flags: list[str]) -> Settings:
    """The settings in a list of flags, as the command line spells them."""
    given: dict[str, Any] = {}
    words = iter(flags)
    for flag in words:
        row = BY_NAME[flag.removeprefix("--").replace("-", "_")]
        if row.is_switch:
            given[row.name] = True
        elif row.repeatable:
            given.setdefault(row.name, []).append(next(words))
        else:
            given[row.name] = next(words)
    return read_settings(given, {})


def main() -> None:
    for name, value in json.loads(os.environ.get("TINY_LIMITS", "{}")).items():
        module, _, constant = name.rpartition(".")
        setattr(import_module(f"flashgrep.{module}"), constant, value)
    settings = read_flags(sys.argv[2:])
    if sys.argv[1] == "mcp":
        from flashgrep.transports.lines.stdio import serve_stdio

        box = toolbox(settings)
        anyio.run(lambda: serve_stdio(box, structured=settings.structured))
    else:
        _serve(settings)


if __name__ == "__main__":
    main()
    sys.stderr.flush()
    os._exit(0)

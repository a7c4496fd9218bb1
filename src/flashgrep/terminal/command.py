"""What every terminal command shares: exit statuses, common options, output, a progress bar.

    0  something was found       1  nothing was       2  an error, on stderr

as in ripgrep; a reader that goes away (`| head`) is no error.
"""

from __future__ import annotations

import functools
import gc
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Self

import click

from flashgrep.errors import FlashgrepError, IOFailure, from_os_error
from flashgrep.settings import Settings, read_settings
from flashgrep.workspace.scope import shown_name

FOUND, NOTHING, FAILED = 0, 1, 2
_INTERRUPTED: Final = 128 + signal.SIGINT
_OUTPUT_BYTES: Final = 64 * 1024


class WholeNumber(click.IntRange):
    """A number with a minimum, described in plainer words than click's own."""

    name = "whole number"


class TerminalCommand(click.Command):
    """A command whose function gives its exit status."""

    hints: ClassVar[Mapping[str, str]] = {}
    """Flags a user may expect here, and what there is instead."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            hint = self.hints.get(error.option_name)
            if hint is None:
                raise
            raise click.UsageError(f"{error.option_name} is not supported: {hint}", ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        gc.enable()  # switched off for the start of a server only
        try:
            status = super().invoke(ctx)
            sys.stdout.flush()
        except FlashgrepError as error:
            say(error.message)
            status = FAILED
        except BrokenPipeError:
            _forget_stdout()
            status = FOUND
        except OSError as error:
            say(from_os_error(error, str(error.filename or "stdout")).message)
            status = FAILED
        except KeyboardInterrupt:
            status = _INTERRUPTED
        ctx.exit(status)


def terminal_command(
    name: str, cls: type[TerminalCommand] = TerminalCommand, **more: Any
) -> Callable[[Callable[..., int]], TerminalCommand]:
    """Makes a function a command that explains itself with -h too."""
    return click.command(
        name, cls, context_settings={"help_option_names": ["-h", "--help"]}, **more
    )


@contextmanager
def worded(names: Mapping[str, str]) -> Iterator[None]:
    """In the block, failures begin with what the user typed, not with the name of a parameter."""
    try:
        yield
    except FlashgrepError as error:
        first, space, rest = error.message.partition(" ")
        if first not in names:
            raise
        raise FlashgrepError(f"{names[first]}{space}{rest}") from None


def say(message: str) -> None:
    """Print a message that is not a result."""
    click.echo(f"flashgrep: {message}", err=True)


def _forget_stdout() -> None:
    """Nobody reads: what Python still holds for stdout must not fail again at exit."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.close(nothing)


def common_options(function: Callable[..., int]) -> Callable[..., int]:
    """`--workdir` and `--no-daemon`; every other setting comes from the environment."""

    @click.option("--workdir", metavar="DIR", help="Run as if started in DIR.")
    @click.option("--state-dir", metavar="DIR", help="Where flashgrep keeps its state.")
    @click.option("--no-daemon", is_flag=True, help="Do not ask a running `flashgrep serve`.")
    @functools.wraps(function)
    def wrapped(workdir: str | None, state_dir: str | None, no_daemon: bool, **given: Any) -> int:
        settings = read_settings({"workdir": workdir, "state_dir": state_dir}, os.environ)
        _start_logging(settings)
        return function(settings=settings, use_daemon=not no_daemon, **given)

    return wrapped


def _start_logging(settings: Settings) -> None:
    level = settings.log_level if "log_level" in settings.explicit else "warning"
    logging.basicConfig(level=level.upper(), format="flashgrep: %(message)s", stream=sys.stderr)


class Output:
    """Bytes to stdout, in chunks worth a system call; at a terminal, once a result is complete."""

    def __init__(self) -> None:
        if sys.stdout is None:
            raise IOFailure("stdout is closed")
        self._stream = sys.stdout.buffer
        self._held = bytearray()
        self.is_terminal = self._stream.isatty()
        self.written = 0

    def write(self, data: bytes) -> None:
        self._held += data
        self.written += len(data)
        if len(self._held) >= _OUTPUT_BYTES:
            self.flush()

    def line(self, text: str) -> None:
        """A line of text; what is not Unicode is escaped."""
        self.write(text.encode("utf-8", "backslashreplace") + b"\n")

    def result_ends(self) -> None:
        """Show it now if a person is looking."""
        if self.is_terminal:
            self.flush()

    def flush(self) -> None:
        data, self._held = bytes(self._held), bytearray()
        self._stream.write(data)
        self._stream.flush()

    def path(self, path: bytes) -> bytes:
        """A path as it is printed: raw for programs, escaped where a terminal might obey it."""
        return shown_name(path).encode("utf-8") if self.is_terminal else path


def wants_color(choice: str) -> bool:
    """Whether to colour: `auto` is at a terminal that can, unless NO_COLOR is set."""
    if choice != "auto":
        return choice != "never"
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Output().is_terminal and not plain


def show(answer: Any, as_json: bool, lines: Iterable[str]) -> None:
    """Print an answer as lines of text, or as one line of JSON."""
    import json

    output = Output()
    if as_json:
        lines = [json.dumps(answer, ensure_ascii=False, separators=(",", ":"))]
    for line in lines:
        output.line(line)
    output.flush()


# ── progress bar ─────────────────────────────────────────────────────────────────────────────────
# A progress bar on stderr, where a person is looking; nothing anywhere else.


_WIDTH: Final = 30
_CLEAR: Final = "\r\x1b[K"


class Bar:
    """A progress bar: one line, redrawn in place and erased at the end."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._stream = sys.stderr
        self._is_shown = self._stream.isatty()
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            self._stream.write(_CLEAR)
            self._stream.flush()

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._started

    def show(self, done: float, note: str = "") -> None:
        """Draw it: `done` of 1, and a word on what is going on."""
        if not self._is_shown:
            return
        done = min(1.0, max(0.0, done))
        full = round(done * _WIDTH)
        bar = "█" * full + "░" * (_WIDTH - full)
        line = f"{self._title} {bar} {done:4.0%}  {self.seconds:.0f} s  {note}"
        self._stream.write(_CLEAR + line[: shutil.get_terminal_size().columns - 1])
        self._stream.flush()

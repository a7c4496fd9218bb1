"""The `flashgrep` command: options from the settings table, parts from `app`, nothing else.

The commands for a person at a terminal live in `terminal`, one file each; this group knows their
names and first sentences, and imports one when it is called.
"""

from __future__ import annotations

import gc
import importlib
import json
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from flashgrep import __version__
from flashgrep.errors import SettingsError
from flashgrep.settings import (
    SETTINGS,
    Setting,
    Settings,
    closest_variable,
    read_settings,
    unknown_variables,
)
from flashgrep.terminal.groups import HintingGroup

if TYPE_CHECKING:
    from flashgrep.app import Application
    from flashgrep.transports.daemon.serve import Serving

_SWITCH_SECONDS: Final = 5e-4
"""How long a thread that computes keeps the interpreter while another one waits for it: Python's
5 ms are as long as a whole search, which gives it away with every call into RE2."""

# ── log lines for machines ───────────────────────────────────────────────────────────────────────


class JsonFormatter(logging.Formatter):
    """One JSON object per line: time, level, logger, message, and a traceback if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


# ── the command ──────────────────────────────────────────────────────────────────────────────────


_LOG_TEXT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_EXIT_SETTINGS = 2
_TERMINAL: Final[Mapping[str, str]] = {
    "grep": "Search file contents, with ripgrep's flags.",
    "glob": "Find files and directories by name.",
    "view": "Show a file with line numbers, or a directory.",
    "query": "Find the places that best match some words.",
    "symbol": "Show the definitions of a name, then its uses.",
    "slice": "Print lines of a file.",
    "files": "List the files that a search covers.",
    "index": "Build, show, remove, export or import the index.",
    "stats": "Show the size and state of the index.",
    "open": "Sign in to the pages of the running server, in a browser.",
    "kb": "Knowledge bases: init, import, export, review, history, tokens.",
}
"""The commands of `flashgrep.terminal`: NAME is `NAME_command` in the module of that name."""
_SHARED: Final[Mapping[str, str]] = {
    "stats": "index",
    **dict.fromkeys(("files", "glob", "query", "slice", "symbol", "view"), "commands"),
}
"""Commands in a module of another name."""


class _Commands(HintingGroup):
    """A group that imports a terminal command when it is called, not to list it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_TERMINAL]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _TERMINAL:
            return super().get_command(ctx, cmd_name)
        module = importlib.import_module(f"flashgrep.terminal.{_SHARED.get(cmd_name, cmd_name)}")
        command = getattr(module, f"{cmd_name}_command")
        assert isinstance(command, click.Command)  # noqa: S101 - the table above says so
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, rows in (("Serving", self._served()), ("At the terminal", _TERMINAL)):
            with formatter.section(title):
                formatter.write_dl(list(rows.items()))

    def _served(self) -> dict[str, str]:
        return {name: command.get_short_help_str() for name, command in self.commands.items()}


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="flashgrep")
def cli() -> None:
    """Exact, indexed search and Claude Code's file tools, for agents and at the terminal."""


def _options(serve: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        for row in reversed(SETTINGS):
            if serve or not row.serve_only:
                function = _option(row)(function)
        return function

    return decorate


def _option(row: Setting) -> Callable[[Callable[..., None]], Callable[..., None]]:
    if row.is_switch:
        return click.option(row.flag, row.name, is_flag=True, help=row.described)
    return click.option(
        row.flag, row.name, multiple=row.repeatable, metavar=row.metavar, help=row.described
    )


@cli.command()
@_options(serve=False)
def mcp(**given: Any) -> None:
    """Serve one client on stdin and stdout."""
    settings = _settings(given)
    _serve_through_server(settings)
    from flashgrep.ground import ground_ahead

    ground = ground_ahead(settings, os.environ)  # before all else is imported
    from flashgrep.app import build
    from flashgrep.transports.lines.stdio import serve_stdio

    application = build(settings, ground=ground)
    _settle()
    # The index starts once the handshake is answered: threads share the interpreter.
    begin, structured = application.start_index, settings.structured
    _run(lambda: serve_stdio(application.toolbox, structured=structured, begin=begin))
    _leave(application.close)


def _serve_through_server(settings: Settings) -> None:
    """If a server of this workspace has these settings, connect the client to it, then end."""
    from flashgrep.transports.lines.join import join

    connection = join(settings)
    if connection is None:
        return
    from flashgrep.transports.daemon.proxy import run_proxy

    status = run_proxy(connection)
    if status is not None:
        _leave(lambda: None, status)


@cli.command(short_help="Serve many clients: HTTP, TCP and a unix socket.")
@_options(serve=True)
def serve(**given: Any) -> None:
    """Serve many clients: HTTP, TCP and a unix socket."""
    settings = _settings(given)
    from flashgrep.ground import ground_ahead

    ground = ground_ahead(settings, os.environ)  # before all else is imported
    from flashgrep.app import build
    from flashgrep.system.state import state_root
    from flashgrep.transports.daemon.serve import Serving
    from flashgrep.web.sign_in_links import holder_of, told_of_running

    application = build(settings, keeps_notes=True, ground=ground)
    state = application.state
    serving = Serving.prepare(
        application.toolbox,
        application.callers,
        settings,
        application.workdir,
        state,
        told_of_running(state.path, application.workdir) if state else "",
        lambda port: holder_of(state_root(os.environ), port),
    )
    serving.toolbox_for = application.toolbox_for
    _mount_site(application, serving)
    # To stdout, not through logging: a log file must not learn the token.
    for line in serving.told:
        click.echo(line)
    application.start_index()
    _settle()
    _run(serving.run)
    _leave(application.close)


def _mount_site(application: Application, serving: Serving) -> None:
    """Add the routes for people."""
    from flashgrep.web.parts import SiteParts
    from flashgrep.web.site import mount

    parts = SiteParts(
        settings=application.settings,
        toolbox=application.toolbox,
        services=application.services,
        callers=application.callers,
        state=application.state,
        workdir=application.workdir,
        notes=application.notes,
        address=serving.address,
        http_off=serving.off.get("http", ""),
        secret=serving.secret.token,
    )
    serving.mounted = mount(parts, serving.agents_of(application.workdir))


def _settings(given: dict[str, Any]) -> Settings:
    settings = read_settings(given, os.environ)
    _start_logging(settings)
    for name in unknown_variables(os.environ):
        close = closest_variable(name)
        remedy = f"did you mean {close}?" if close else "see flashgrep serve --help"
        logging.getLogger(__name__).warning("%s is not a setting; %s", name, remedy)
    if settings.skill_file and not os.path.exists(settings.skill_file):
        told = "--skill-file: %s does not exist; bootstrap_skill fails until it does"
        logging.getLogger(__name__).warning(told, settings.skill_file)
    return settings


def _start_logging(settings: Settings) -> None:
    handler = logging.StreamHandler(sys.stderr)
    if settings.log_format == "json":
        handler.setFormatter(JsonFormatter())
    else:
        handler.setFormatter(logging.Formatter(_LOG_TEXT))
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler])
    for chatty in ("mcp", "uvicorn", "asyncio", "sse_starlette"):
        quiet = logging.DEBUG if settings.log_level == "debug" else logging.WARNING
        logging.getLogger(chatty).setLevel(quiet)


def _settle() -> None:
    """Keep what start-up made; from here on only collect what requests make."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.freeze()
    gc.enable()


def _run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    import anyio

    anyio.run(main)


def _leave(close: Callable[[], None], status: int = 0) -> NoReturn:
    """End the process now: a thread that reads for a client that is gone must not delay it."""
    close()
    logging.shutdown()
    sys.stderr.flush()
    os._exit(status)


def main() -> None:
    """Run the command; a bad setting is a message and exit status 2."""
    _ensure_utf8()
    # numpy's algebra, which nothing here uses, would start threads that wait for work by spinning:
    # a core is gone for the 0.1 s in which the first search waits for both.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # The SDK's models are a few hundred thousand objects that live for ever; looking for garbage
    # among them while they are being made only costs start-up time.
    gc.disable()
    try:
        cli(standalone_mode=True)
    except SettingsError as error:
        click.echo(f"flashgrep: {error}", err=True)
        sys.exit(_EXIT_SETTINGS)


def _ensure_utf8() -> None:
    """File names are bytes decoded by the locale; a locale that is not UTF-8 would mangle them."""
    if sys.getfilesystemencoding().lower() == "utf-8" or sys.flags.utf8_mode:
        return
    os.execv(  # noqa: S606 - no shell; the same program again
        sys.executable,
        [sys.executable, "-P", "-X", "utf8", "-m", "flashgrep", *sys.argv[1:]],
    )

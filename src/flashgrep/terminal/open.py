"""flashgrep open: a new sign-in link for the running server, in a browser where there is one."""

from __future__ import annotations

import os
import webbrowser
from collections.abc import Iterator
from pathlib import Path

import click

from flashgrep import limits
from flashgrep.errors import NotFound, Unavailable
from flashgrep.settings import read_settings
from flashgrep.system.state import state_path
from flashgrep.terminal.command import FOUND, Output, say, terminal_command
from flashgrep.web.sign_in_links import SIGN_IN, ServerAddress, SignInLinks, announced

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


@terminal_command("open")
@click.option("--workdir", metavar="DIR", help="The workspace, or a directory in it.")
@click.option("--state-dir", metavar="DIR", help="Where the server keeps its state.")
@click.option("--print", "only_print", is_flag=True, help="Print the link; open no browser.")
def open_command(workdir: str | None, state_dir: str | None, only_print: bool) -> int:
    """Sign in to the pages of the running `flashgrep serve`, with a link that works once.

    If no browser can be opened, the link is printed. Whoever opens it first is signed in as you.
    """
    settings = read_settings({"workdir": workdir, "state_dir": state_dir}, os.environ)
    place, server = _found(settings.workdir, settings.state_dir)
    link = server.url + "/"
    if server.asks:
        link = server.url + SIGN_IN + SignInLinks(place).make(limits.LINK_SECONDS)
    if not only_print and any(os.environ.get(name) for name in _SCREENS) and webbrowser.open(link):
        say(f"opened {server.url}/ in a browser; with --print the link is printed instead")
        return FOUND
    output = Output()
    output.line(f"Open: {link}")
    output.flush()
    return FOUND


def _found(workdir: str, state_dir: str) -> tuple[Path, ServerAddress]:
    """The newest server of the workspace, or of the nearest directory above that has one."""
    directory = os.path.realpath(workdir)
    without: list[ServerAddress] = []
    for place in _places(directory, state_dir):
        for server in (here := announced(place)):
            if server.url:
                return place, server
        without += here
    for server in without:
        raise Unavailable(
            f"the flashgrep serve of {server.workdir} (pid {server.pid}) runs, but its HTTP "
            f"listener is off: {server.off}. Stop it, and start it with --http-port auto"
        )
    raise NotFound(
        f"no flashgrep serve with pages runs for {directory}, or for a directory above it; start "
        "one, or name its directory with --workdir (and --state-dir, if it was given one)"
    )


def _places(directory: str, state_dir: str) -> Iterator[Path]:
    if state_dir:
        yield Path(os.path.abspath(state_dir))
        return
    while True:
        yield state_path("", os.fsencode(directory), os.environ)
        if directory == os.path.dirname(directory):
            return
        directory = os.path.dirname(directory)

"""flashgrep kb token: make, list and take back the tokens that servers ask for."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, Final

import click

from flashgrep.errors import InvalidParams
from flashgrep.notes.access.roles import Role, role_named
from flashgrep.notes.access.token_file import Token
from flashgrep.notes.access.tokens import Tokens, workspaces
from flashgrep.notes.home import Home
from flashgrep.system.clock import milliseconds
from flashgrep.terminal.command import FOUND, NOTHING, Output, print_json, say, terminal_command
from flashgrep.terminal.kb_desk import json_option, kb_option, when

_SPAN: Final = re.compile(r"([1-9][0-9]{0,5})([mhdw])")
_SECONDS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


@click.group("token", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Make, list and take back tokens. A running server sees a change at once."""


@terminal_command("make")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice([role.shown for role in Role]),
    default=Role.SUGGEST.shown,
    show_default=True,
    help="What it allows.",
)
@click.option(
    "--folder", "folders", multiple=True, metavar="FOLDER", help="Only there; repeatable."
)
@click.option("--expires", metavar="SPAN", help="After 30m, 12h, 30d or 8w; never if not given.")
@json_option
@kb_option
def make(
    kb: Path, name: str, role: str, folders: tuple[str, ...], expires: str | None, as_json: bool
) -> int:
    """Make a token called NAME and print its secret, which is shown this once."""
    until = None if expires is None else milliseconds() + _milliseconds(expires)
    secret = _tokens(kb).make(name, role_named(role), folders or "", until)
    output = Output()
    if as_json:
        print_json(output, {"name": name, "token": secret, "expires": until})
    else:
        output.line(secret)
        back = shlex.join(["flashgrep", "kb", "token", "revoke", name, "--kb", str(kb)])
        say(f"keep it: it is not shown again. Take it back with: {back}")
    output.flush()
    return FOUND


@terminal_command("list")
@json_option
@kb_option
def list_tokens(kb: Path, as_json: bool) -> int:
    """List the tokens: name, role, folders, when they expire.

    Secrets are kept nowhere, but for the tokens that serve prints for agents; those say so.
    """
    tokens = _tokens(kb).listed()
    printed = _printed(kb)
    output = Output()
    if as_json:
        told = [{**_told(token), "agents_of": printed.get(token.name)} for token in tokens]
        print_json(output, {"tokens": told})
    else:
        for token in tokens:
            output.line(_row(token, printed.get(token.name)))
    output.flush()
    return FOUND if tokens else NOTHING


@terminal_command("revoke")
@click.argument("name")
@kb_option
def revoke(kb: Path, name: str) -> int:
    """Take a token back: who uses it is refused from now on, and open connections are closed."""
    _tokens(kb).revoke(name)
    say(f"the token {name} is no longer valid")
    return FOUND


def _tokens(kb: Path) -> Tokens:
    return Tokens(Home(kb).path)


def _printed(kb: Path) -> dict[str, str]:
    """The tokens that serve prints, by name, and for which workspace."""
    tokens, found = _tokens(kb), {}
    for secret, workspace in workspaces(kb):
        if token := tokens.find(secret):
            found[token.name] = workspace
    return found


def _milliseconds(span: str) -> int:
    found = _SPAN.fullmatch(span)
    if found is None:
        raise InvalidParams(f"--expires: {span!r} is no span of time; write 30m, 12h, 30d or 8w")
    return int(found[1]) * _SECONDS[found[2]] * 1_000


def _told(token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "role": token.role.shown,
        "folders": list(token.folders),
        "made": token.made,
        "expires": token.expires,
        "expired": token.is_expired(milliseconds()),
    }


def _row(token: Token, workspace: str | None) -> str:
    folders = ", ".join(folder or "everything" for folder in token.folders)
    if token.expires is None:
        until = "never expires"
    else:
        until = f"expire{'d' if token.is_expired(milliseconds()) else 's'} {when(token.expires)}"
    printed = f"\tprinted by serve for the agents of {workspace}" if workspace else ""
    return f"{token.name}\t{token.role.shown}\t{folders}\t{until}{printed}"


for _command in (make, list_tokens, revoke):
    command.add_command(_command)

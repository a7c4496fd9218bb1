"""flashgrep kb token: make, list and revoke the tokens that servers ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import click

from flashgrep import limits
from flashgrep.errors import FlashgrepError, InvalidParams, NotFound
from flashgrep.notes.access.roles import Role, role_named
from flashgrep.notes.access.tokens import Token, Tokens, workspaces
from flashgrep.notes.home import Home
from flashgrep.notes.store.paths import check_named
from flashgrep.system.clock import milliseconds
from flashgrep.system.program import own_line
from flashgrep.terminal.command import FOUND, NOTHING, say, show, terminal_command
from flashgrep.terminal.groups import HintingGroup
from flashgrep.terminal.kb import json_option, kb_option, opened_api, when, without_notes
from flashgrep.web.sign_in_links import link_for, servers

_SPAN: Final = re.compile(r"([1-9][0-9]{0,5})([mhdw])")
_SECONDS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_USUAL: Final = "http://127.0.0.1:7778"
"""Where a server listens that was told nothing else."""


@click.group("token", cls=HintingGroup, context_settings={"help_option_names": ["-h", "--help"]})
def token_command() -> None:
    """Make, list and revoke tokens. A running server sees a change at once."""


@terminal_command("make", short_help="Make a token, or a sign-in link.")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice([role.shown for role in Role]),
    default=Role.SUGGEST.shown,
    show_default=True,
    help="What it allows.",
)
@click.option(
    "--folder", "folders", multiple=True, metavar="FOLDER", help="Only this folder; repeatable."
)
@click.option("--expires", metavar="SPAN", help="After 30m, 12h, 30d or 8w; default never.")
@click.option("--link", "as_link", is_flag=True, help="Print a sign-in link, for a person.")
@json_option
@kb_option
def make(
    kb: Path,
    name: str,
    role: str,
    folders: tuple[str, ...],
    expires: str | None,
    as_link: bool,
    as_json: bool,
) -> int:
    """Make a token called NAME and print its secret, this once.

    With --link, for a person who uses the pages, print a sign-in link that works once instead of
    the secret.
    """
    for folder in folders:
        check_named(folder, "--folder")
    until = None if expires is None else milliseconds() + _milliseconds(expires)
    secret = _tokens(kb).make(name, role_named(role), folders or "", until)
    if as_link:
        status = _show_link(kb, name, as_json)
        if not as_json:
            say(_told_of_role(name, role_named(role), folders))
            _tell_without_notes(kb, folders)
        return status
    told = {"name": name, "token": secret, "link": None, "expires": until}
    show(told, as_json, [secret])
    if not as_json:
        say(_told_of_role(name, role_named(role), folders))
        say(f"keep it: it is not shown again. Revoke it with: {_back(kb, name)}")
        _tell_without_notes(kb, folders)
    return FOUND


def _tell_without_notes(kb: Path, folders: Sequence[str]) -> None:
    """Where a folder has no notes, say so; the token is made, whether or not they can be asked."""
    if not folders:
        return
    with suppress(FlashgrepError), opened_api(kb) as api:
        for folder in without_notes(api, folders):
            say(f"there are no notes in {folder} yet; check the folder's name")


_MAY: Final = {
    Role.READ: "only read; --role suggest also allows commenting and lets agents suggest",
    Role.SUGGEST: "read and comment; an agent with this token may also suggest; "
    "--role write also allows editing and deciding",
    Role.WRITE: "read, comment, suggest, edit and decide",
    Role.ADMIN: "do everything, tokens included",
}


def _told_of_role(name: str, role: Role, folders: Sequence[str]) -> str:
    """What a new token is good for: a person who cannot edit must not have to guess why."""
    where = f" in {', '.join(folders)}" if folders else ""
    may, more, remedy = _MAY[role].partition(";")
    return f"{name} may {may}{where}{more}{remedy}"


@terminal_command("link", short_help="Print another sign-in link.")
@click.argument("name")
@json_option
@kb_option
def link(kb: Path, name: str, as_json: bool) -> int:
    """Print another sign-in link for the person who has the token NAME."""
    return _show_link(kb, name, as_json)


def _show_link(kb: Path, name: str, as_json: bool) -> int:
    tokens = _tokens(kb).listed()
    token = next((one for one in tokens if one.name == name), None)
    if token is None:
        known = ", ".join(one.name for one in tokens) or "none"
        raise NotFound(f"there is no token {name}; there are: {known}")
    if token.is_expired(milliseconds()):
        raise InvalidParams(f"the token {name} has expired; revoke it and make another one")
    running = servers(kb)
    made = link_for(kb, token, running[0].url if running else _USUAL)
    told = {"name": name, "token": None, "link": made, "expires": token.expires}
    show(told, as_json, [f"Open: {made}"])
    if not as_json:
        days = limits.PERSON_LINK_SECONDS // _SECONDS["d"]
        say(
            f"give it to {name}: it works once, within {days} days. Revoke it with: "
            f"{_back(kb, name)}"
        )
    if not running:
        say(f"no server has {kb} open: the link is for one that flashgrep serve starts at {_USUAL}")
    return FOUND


def _back(kb: Path, name: str) -> str:
    return own_line("kb", "token", "revoke", name, "--kb", str(kb))


@terminal_command("list", short_help="List the tokens.")
@json_option
@kb_option
def list_tokens(kb: Path, as_json: bool) -> int:
    """List the tokens: name, role, folders, when they expire, when they were last used.

    A running server records uses once a minute.

    Secrets are not kept, except for the tokens that serve prints for agents; the list marks those.
    """
    tokens, used = _tokens(kb).listed(), _tokens(kb).last_uses()
    printed = _printed(kb)
    objects = [
        {
            **_described(token),
            "last_used": used.get(token.name),
            "agents_of": printed.get(token.name),
        }
        for token in tokens
    ]
    rows = (_token_row(one, used.get(one.name), printed.get(one.name)) for one in tokens)
    show({"tokens": objects}, as_json, rows)
    if not tokens and not as_json:
        make_one = own_line("kb", "token", "make", "NAME", "--kb", str(kb))
        say(f"there are no tokens; make one with: {make_one}")
    return FOUND if tokens else NOTHING


@terminal_command("revoke", short_help="Revoke a token.")
@click.argument("name")
@kb_option
def revoke(kb: Path, name: str) -> int:
    """Revoke a token: servers refuse it from now on and close its open connections."""
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
        raise InvalidParams(f"--expires: {span!r} is not a span of time; write 30m, 12h, 30d or 8w")
    return int(found[1]) * _SECONDS[found[2]] * 1_000


def _described(token: Token) -> dict[str, Any]:
    return {
        "name": token.name,
        "role": token.role.shown,
        "folders": list(token.folders),
        "made": token.made,
        "expires": token.expires,
        "expired": token.is_expired(milliseconds()),
    }


def _token_row(token: Token, used: int | None, workspace: str | None) -> str:
    folders = ", ".join(folder or "everything" for folder in token.folders)
    if token.expires is None:
        until = "never expires"
    else:
        until = f"expire{'d' if token.is_expired(milliseconds()) else 's'} {when(token.expires)}"
    printed = f"\tprinted by serve for the agents of {workspace}" if workspace else ""
    last = "never used" if used is None else f"last used {when(used)}"
    return f"{token.name}\t{token.role.shown}\t{folders}\t{until}\t{last}{printed}"


for _command in (make, link, list_tokens, revoke):
    token_command.add_command(_command)

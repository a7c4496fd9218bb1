"""flashgrep kb import, export, suggestions, decide, undo and token."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from flashgrep import limits
from flashgrep.errors import InvalidParams, NotFound
from flashgrep.notes.access.roles import Role, role_named
from flashgrep.notes.access.tokens import Token, Tokens, workspaces
from flashgrep.notes.administration import NotesApi
from flashgrep.notes.folders.exporting import ExportSummary, export
from flashgrep.notes.folders.vault import Imported, count_files, import_folder
from flashgrep.notes.home import Home
from flashgrep.notes.store.paths import ENDING
from flashgrep.system.clock import milliseconds
from flashgrep.terminal.command import (
    FOUND,
    NOTHING,
    Bar,
    say,
    show,
    terminal_command,
)
from flashgrep.terminal.kb import (
    author_option,
    json_option,
    kb_option,
    opened_api,
    user_name,
    when,
)
from flashgrep.web.sign_in_links import link_for, servers

DECISIONS_A_CALL: Final = 200
"""Of these, how many a terminal asks for at a time: others get turns, and progress is kept."""

_SHOWN_HIDDEN = 5
_SHOWN_LOST = 5


@terminal_command("import")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Let the folder win where both changed.")
@author_option
@json_option
@kb_option
def import_command(kb: Path, folder: Path, force: bool, author: str | None, as_json: bool) -> int:
    """Import a folder of Markdown, an Obsidian vault for one; other files become attachments.

    Importing again changes nothing; a file that changed becomes an edit of its note. What could
    not be imported is listed, with exit status 1. Hidden files are left out.
    """
    total = count_files(folder)
    with opened_api(kb) as api, Bar("importing") as bar:
        done = import_folder(
            api,
            folder,
            author or user_name(),
            force,
            lambda count: bar.show(count / max(total, 1), f"{count:,} files"),
        )
    _tell_import(done, as_json)
    return NOTHING if done.failed else FOUND


def _tell_import(done: Imported, as_json: bool) -> None:
    counts = {**done.fates, "attachments": done.attachments}
    lists = {"failed": done.failed, "attached": done.attached, "hidden": done.hidden}
    suggestions = {"restored": done.restored, "lost": done.lost}
    restored = {"suggestions restored": done.restored} if done.restored else {}
    show({**counts, **lists, **suggestions}, as_json, [_counted({**counts, **restored})])
    if not as_json:
        _tell(done.attached, "kept as an attachment: ")
        _tell(done.failed)
        _tell_lost(done.lost)
        _tell_hidden(done.hidden)


def _tell_lost(lost: Mapping[str, Sequence[str]]) -> None:
    """Suggestions that an export describes and the file no longer has as they were."""
    for path, suggestions in lost.items():
        more = ", …" if len(suggestions) > _SHOWN_LOST else ""
        say(
            f"{path}: not restored, its marks are not in the file as they were exported: "
            f"{', '.join(suggestions[:_SHOWN_LOST])}{more}"
        )


def _tell_hidden(hidden: Sequence[str]) -> None:
    """Each note that is left out is listed; of other hidden files, a few."""
    notes = [path for path in hidden if path.endswith(ENDING)]
    _tell(dict.fromkeys(notes, "left out: its name begins with a dot; rename it to import it"))
    others = [path for path in hidden if not path.endswith(ENDING)]
    if others:
        more = ", …" if len(others) > _SHOWN_HIDDEN else ""
        say(f"{len(others)} hidden names left out: {', '.join(others[:_SHOWN_HIDDEN])}{more}")


@terminal_command("export")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite what is in the way.")
@json_option
@kb_option
def export_command(kb: Path, folder: Path, force: bool, as_json: bool) -> int:
    """Write all notes and attachments into a folder that is new, empty, or an earlier export.

    Nothing is deleted there. What could not be written is listed, with exit status 1.
    """
    with opened_api(kb) as api, Bar("exporting") as bar:
        done = export(
            api, folder, force, lambda at, total: bar.show(at / max(total, 1), f"{at:,} files")
        )
    _tell_export(done, as_json)
    return NOTHING if done.failed else FOUND


def _tell_export(done: ExportSummary, as_json: bool) -> None:
    counts = {"written": done.written, "attachments": done.attachments, "same": done.same}
    show({**counts, "failed": done.failed, "left": done.left}, as_json, [_counted(counts)])
    if not as_json:
        _tell(done.failed)
        _tell(dict.fromkeys(done.left, "its note is not here any more; the file was left"))


def _counted(counts: Mapping[str, int]) -> str:
    """The figures of a run: `2 made, 1 attachment`."""
    names = {1: {"attachments": "attachment", "suggestions restored": "suggestion restored"}}
    return ", ".join(f"{n} {names.get(n, {}).get(name, name)}" for name, n in counts.items())


def _tell(reasons: Mapping[str, str], before: str = "") -> None:
    for path, reason in reasons.items():
        say(f"{path}: {before}{reason}")


# ── suggestions ──────────────────────────────────────────────────────────────────────────────────
# flashgrep kb suggestions, decide and undo: what agents suggest, listed, accepted, rejected.


@terminal_command("suggestions")
@click.option("--note", metavar="NOTE", help="Only those in this note.")
@click.option("--by", "author", metavar="AUTHOR", help="Only this author's, as listed: agent/mcp.")
@click.option("--folder", metavar="FOLDER", help="Only those in notes below this folder.")
@click.option("--older-than", metavar="TIME", help="An age such as 12h or 7d, or a date.")
@click.option("--newer-than", metavar="TIME", help="The same.")
@json_option
@kb_option
def suggestions(kb: Path, as_json: bool, **asked: str | None) -> int:
    """List what is suggested, the oldest first: id, place, time, author, old -> new.

    Exit status 1 when there are none.
    """
    wanted = {name: value for name, value in asked.items() if value is not None}
    with opened_api(kb) as api:
        found = list(_all(api, wanted))
    show({"suggestions": found}, as_json, map(_row, found))
    return FOUND if found else NOTHING


def _all(api: NotesApi, wanted: dict[str, str]) -> Iterator[dict[str, Any]]:
    cursor = None
    while True:
        page = api.call("kb/suggestions", {**wanted, "cursor": cursor})
        yield from page["suggestions"]
        cursor = page["next"]
        if cursor is None:
            return


def _row(one: dict[str, Any]) -> str:
    place, made = f"{one['note']}:{one['line']}", when(one["time"])
    change = f"{shortened(one['old'])} -> {shortened(one['new'])}"
    return f"{one['id']}\t{place}\t{made}\t{one['author']}\t{change}"


def shortened(text: str) -> str:
    """The beginning of a text on one line, with nothing that a terminal obeys."""
    cut = text[: limits.SHORT_DIFF_CHARS]
    quoted = json.dumps(cut, ensure_ascii=False) + ("..." if len(text) > len(cut) else "")
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in quoted)


@terminal_command("decide")
@click.argument("action", type=click.Choice(["accept", "reject"]))
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", metavar="TEXT", help="With reject: why, for the agent to read.")
@click.option("--text", metavar="TEXT", help="With accept and one id: what to take instead.")
@click.option("--expected-old", metavar="TEXT", help="With one id: only if it still replaces this.")
@click.option("--expected-new", metavar="TEXT", help="With one id: only if it still brings this.")
@author_option
@json_option
@kb_option
def decide(
    kb: Path,
    action: str,
    ids: tuple[str, ...],
    author: str | None,
    as_json: bool,
    **words: str | None,
) -> int:
    """Accept or reject suggestions by the ids that `kb suggestions` lists.

    Each line ends with the number of the decision, which `kb undo` takes.

    A suggestion that is nearly right is accepted with another text: --text takes the place of
    what the agent proposed. Somebody may be typing in that proposal: with --expected-new and
    --expected-old nothing is decided where it is no longer the one you saw.

    The first decision on each counts. One that was decided before, or is not there, is
    reported, with exit status 1.
    """
    given = {name: value for name, value in words.items() if value is not None}
    for name in [one for one in given if one != "reason" and len(ids) > 1]:
        option = "--" + name.replace("_", "-")
        raise InvalidParams(f"{option} goes with one id, and {len(ids)} were given")
    seen = {name: given.pop(f"expected_{name}", None) for name in ("old", "new")}
    wanted: dict[str, Any] = {"action": action, "by": author or user_name(), **given}
    if expected := {name: value for name, value in seen.items() if value is not None}:
        wanted["expected"] = expected
    results: list[dict[str, Any]] = []
    with opened_api(kb) as api:
        for at in range(0, len(ids), DECISIONS_A_CALL):
            some = list(ids[at : at + DECISIONS_A_CALL])
            answer = api.call("kb/decide", {"ids": some, **wanted})
            results += answer["results"]
    return _report(results, as_json, "id")


def _report(results: list[dict[str, Any]], as_json: bool, key: str) -> int:
    """Print what was done on stdout and what was not, by its `key`, on stderr; the exit status."""
    done = [one for one in results if one["status"] == "done"]
    failed = [one for one in results if one["status"] != "done"]
    rows = (f"{one['id']}\t{one['message']}\t{one['decision']}" for one in done)
    show({"results": results}, as_json, rows)
    for one in [] if as_json else failed:
        name, message = str(one[key]), str(one["message"])
        say(message if name in message.split() else f"{name}: {message}")
    return NOTHING if failed else FOUND


@terminal_command("undo")
@click.argument("decisions", metavar="NUMBER...", nargs=-1, required=True, type=click.IntRange(1))
@author_option
@json_option
@kb_option
def undo(kb: Path, decisions: tuple[int, ...], author: str | None, as_json: bool) -> int:
    """Undo decisions by the numbers that `kb decide` prints: each suggestion is pending again.

    One that cannot be undone is reported, with exit status 1: it was undone before, is not there,
    or the text around the suggestion is gone.
    """
    by = author or user_name()
    with opened_api(kb) as api:
        results = api.call("kb/undo", {"decisions": list(decisions), "by": by})["results"]
    return _report(results, as_json, "decision")


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────
# flashgrep kb token: make, list and revoke the tokens that servers ask for.


_SPAN: Final = re.compile(r"([1-9][0-9]{0,5})([mhdw])")
_SECONDS: Final = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_USUAL: Final = "http://127.0.0.1:7778"
"""Where a server listens that was told nothing else."""


@click.group("token", context_settings={"help_option_names": ["-h", "--help"]})
def token_command() -> None:
    """Make, list and revoke tokens. A running server sees a change at once."""


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
@click.option("--link", "as_link", is_flag=True, help="For a person: a link to sign in with.")
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
    """Make a token called NAME and print its secret, which is shown this once.

    With --link it is for a person at the pages: a sign-in link that works once is printed instead,
    and the secret nowhere.
    """
    until = None if expires is None else milliseconds() + _milliseconds(expires)
    secret = _tokens(kb).make(name, role_named(role), folders or "", until)
    if as_link:
        return _show_link(kb, name, as_json)
    told = {"name": name, "token": secret, "link": None, "expires": until}
    show(told, as_json, [secret])
    if not as_json:
        say(f"keep it: it is not shown again. Revoke it with: {_back(kb, name)}")
    return FOUND


@terminal_command("link")
@click.argument("name")
@json_option
@kb_option
def link(kb: Path, name: str, as_json: bool) -> int:
    """Print another sign-in link for the person that the token NAME was made for."""
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
    return shlex.join(["flashgrep", "kb", "token", "revoke", name, "--kb", str(kb)])


@terminal_command("list")
@json_option
@kb_option
def list_tokens(kb: Path, as_json: bool) -> int:
    """List the tokens: name, role, folders, when they expire, when they were used last.

    A running server writes down uses once a minute.

    Secrets are kept nowhere, but for the tokens that serve prints for agents; those say so.
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
    return FOUND if tokens else NOTHING


@terminal_command("revoke")
@click.argument("name")
@kb_option
def revoke(kb: Path, name: str) -> int:
    """Revoke a token: it is refused from now on, and its open connections are closed."""
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

"""flashgrep kb: knowledge bases at the terminal; the work is done here, or by their owner."""

from __future__ import annotations

import functools
import importlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.notes.administration import Administration, NotesApi
from flashgrep.notes.home import Owned
from flashgrep.notes.ownership import NoOwner
from flashgrep.system.program import own_command, own_line
from flashgrep.terminal.command import FOUND, NOTHING, Output, say, show, terminal_command
from flashgrep.terminal.groups import HintingGroup
from flashgrep.transports.daemon.notes_client import OwnerClient
from flashgrep.workspace.scope import shown_name

# ── here, or at the owner ────────────────────────────────────────────────────────────────────────
# Where `flashgrep kb` does its work: in this process, or in the one that owns the notes.
#
# The lock decides. Where nobody holds it, the notes are opened here. Where a server does, it
# listens on the knowledge base's socket and is asked there. Another terminal command listens
# nowhere, and ends soon: it is waited for.


_PAUSE_SECONDS: Final = 0.1
_VARIABLE: Final = "FLASHGREP_KB"


def kb_option(function: Callable[..., int]) -> Callable[..., int]:
    """`--kb PATH`, which the environment may give; what else is given must be text."""

    @click.option("--kb", "given", metavar="PATH", help=f"The knowledge base ({_VARIABLE}).")
    @functools.wraps(function)
    def wrapped(given: str | None, **more: Any) -> int:
        _check_text(click.get_current_context().command, more)
        path = given or os.environ.get(_VARIABLE)
        if not path:
            raise click.UsageError(f"name the knowledge base with --kb PATH, or in {_VARIABLE}")
        return function(kb=Path(path).absolute(), **more)

    return wrapped


def _check_text(command: click.Command, given: Mapping[str, Any]) -> None:
    """Refuse arguments that are not UTF-8: neither JSON nor the database can hold them.

    Python has a stray byte as half a surrogate pair. A path may have some: it is no `str` here.
    """
    for parameter in command.params:
        value = given.get(parameter.name or "")
        for text in value if isinstance(value, tuple) else (value,):
            if isinstance(text, str) and not _is_utf8(text):
                is_option = isinstance(parameter, click.Option)
                name = parameter.opts[0] if is_option else parameter.human_readable_name
                shown = shown_name(os.fsencode(text))
                raise InvalidParams(
                    f"{name.removesuffix('...')}: {shown} is not valid text; give it in UTF-8"
                )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


json_option = click.option("--json", "as_json", is_flag=True, help="One JSON object.")


@contextmanager
def opened_api(kb: Path) -> Iterator[NotesApi]:
    """Where calls about these notes go: to this process or to their owner."""
    api, close = _api(kb)
    try:
        yield api
    finally:
        close()


def _api(kb: Path) -> tuple[NotesApi, Callable[[], None]]:
    from flashgrep.notes.knowledge_base import KnowledgeBase

    deadline = time.monotonic() + limits.OWNER_SECONDS
    while True:
        try:
            notes = KnowledgeBase(kb)
            return Administration(notes), notes.close
        except Owned as owned:
            try:
                client = OwnerClient(kb)
                return client, client.close
            except NoOwner:
                if time.monotonic() > deadline:
                    raise owned from None
        time.sleep(_PAUSE_SECONDS)


def without_notes(api: NotesApi, folders: Iterable[str]) -> list[str]:
    """Of some folders, those that have no notes in them, as yet; mostly they are misspelled."""
    return [one for one in folders if not api.call("kb/folder", {"folder": one})["notes"]]


def when(milliseconds: int) -> str:
    """A time as a person reads it."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(milliseconds / 1_000))


def user_name() -> str:
    """Whose changes these are: the name of the user at the terminal."""
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


author_option = click.option(
    "--author",
    metavar="NAME",
    default=None,
    help="Who makes the change; default: your user name.",
)


# ── kb ───────────────────────────────────────────────────────────────────────────────────────────


_ELSEWHERE: Final = {
    "import": "import_command",
    "export": "export_command",
    "suggestions": "suggestions",
    "decide": "decide",
    "undo": "undo",
    "comments": "kb_comments.comments",
    "token": "kb_tokens.token_command",
}
"""Subcommands of `kb_commands`, which imports more, or of the module that is named."""


class _Group(HintingGroup):
    """A group that imports a command when it is called, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module, _, name = _ELSEWHERE[cmd_name].rpartition(".")
        commands = importlib.import_module(f"flashgrep.terminal.{module or 'kb_commands'}")
        found = getattr(commands, name)
        assert isinstance(found, click.Command)  # noqa: S101 - the table above says so
        return found


@click.group("kb", cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def kb_command() -> None:
    """Make a knowledge base, import and export notes, decide on suggestions, hand out tokens.

    All of it works while a server has the knowledge base open: the command asks that server.
    """


@terminal_command("init", short_help="Make an empty knowledge base.")
@kb_option
def init(kb: Path) -> int:
    """Make an empty knowledge base in a directory that is new or empty."""
    from flashgrep.notes.home import Home

    Home.create(kb)
    say(
        f"made {kb}; bring notes in with: {own_line('kb', 'import', 'DIR', '--kb', str(kb))}, "
        f"or begin on the pages of: {own_line('serve', '--kb', str(kb))}"
    )
    return FOUND


@terminal_command("list", short_help="List notes, or the trash.")
@click.option("--trash", is_flag=True, help="Deleted notes.")
@json_option
@kb_option
def list_notes(kb: Path, trash: bool, as_json: bool) -> int:
    """List notes: path, version, time and author of the last change.

    Quarantined notes are listed on stderr, with what to do; exit status 1 if there are no notes.
    """
    with opened_api(kb) as api:
        answer = api.call("kb/list", {"trash": trash})
    notes = answer["notes"]
    show(answer, as_json, map(_row, notes))
    for note in notes:
        if not as_json and "quarantined" in note:
            say(note["quarantined"])
    if not notes and not as_json:
        bring = own_line("kb", "import", "DIR", "--kb", str(kb))
        say("the trash is empty" if trash else f"there are no notes; bring some in with: {bring}")
    return FOUND if notes else NOTHING


def _row(note: dict[str, Any]) -> str:
    if "quarantined" in note:
        return f"{note['path']}\tquarantined"
    gone = f"\tdeleted {when(note['trashed'])}" if "trashed" in note else ""
    return f"{note['path']}\t{note['version']}\t{when(note['time'])}\t{note['author']}{gone}"


@terminal_command("history", short_help="List the versions of a note.")
@click.argument("note")
@click.option("--show", "shown", metavar="VERSION", type=int, help="Print the text of a version.")
@json_option
@kb_option
def history(kb: Path, note: str, shown: int | None, as_json: bool) -> int:
    """List the versions that a note can go back to, newest first."""
    with opened_api(kb) as api:
        if shown is not None:
            output = Output()
            text = api.call("kb/text", {"note": note, "version": shown})["text"]
            output.write(text.encode())
            output.flush()
            return FOUND
        answer = api.call("kb/history", {"note": note})
    rows = answer["versions"]
    show(answer, as_json, (f"{v['version']}\t{when(v['time'])}\t{v['author']}" for v in rows))
    return FOUND if rows else NOTHING


@terminal_command("restore", short_help="Restore a version, or a note from the trash.")
@click.argument("note")
@click.argument("version", type=int, required=False)
@click.option("--salvage", is_flag=True, help="As much of a damaged note as can be trusted.")
@author_option
@kb_option
def restore(kb: Path, note: str, version: int | None, salvage: bool, author: str | None) -> int:
    """Restore a note to VERSION, as one more change, or bring it back from the trash.

    A quarantined note begins anew with that text. Its stored data is set aside, not deleted.
    """
    if version is not None and salvage:
        raise click.UsageError("give a VERSION or --salvage, not both")
    params = {"note": note, "version": version, "salvage": salvage, "by": author or user_name()}
    with opened_api(kb) as api:
        answer = api.call("kb/restore", params)
    say(f"restored {answer['path']}")
    if gone := _gone(answer):
        before = str(answer["before"])
        back = own_line("kb", "restore", answer["path"], before, "--kb", str(kb))
        say(f"{gone}. To get back what was there: {back}")
    return FOUND


def _gone(answer: Mapping[str, Any]) -> str:
    """What was pending before and is not in the restored text; empty for nothing."""
    counts = ((answer["suggestions"], "pending suggestion"), (answer["comments"], "comment"))
    named = [f"{n:,} {word}{'' if n == 1 else 's'}" for n, word in counts if n]
    verb = "is" if answer["suggestions"] + answer["comments"] == 1 else "are"
    return f"{' and '.join(named)} {verb} not in that version, and gone" if named else ""


@terminal_command("backup", short_help="Copy everything to a new directory.")
@click.argument("target", metavar="DIR", type=click.Path(path_type=Path))
@kb_option
def backup(kb: Path, target: Path) -> int:
    """Copy all notes, with their history, into a new directory; a server keeps running.

    The copy is a knowledge base. Tokens are not in it.
    """
    with opened_api(kb) as api:
        api.call("kb/backup", {"target": str(target.absolute())})
    say(f"copied to {target}")
    return FOUND


@terminal_command("check", short_help="Look for damaged notes.")
@json_option
@kb_option
def check(kb: Path, as_json: bool) -> int:
    """Load every note from the database; exit status 1 if anything is damaged."""
    with opened_api(kb) as api:
        answer = api.call("kb/check", {})
    lines = [f"database: {problem}" for problem in answer["problems"]]
    lines += [f"{note['path']}: {note['reason']}" for note in answer["damaged"]]
    total = f"{answer['notes']} notes, {len(answer['damaged'])} damaged"
    show(answer, as_json, [*lines, total])
    if answer["damaged"] and not as_json:
        own = own_command()
        say(f"look at a note with {own} kb history, go back with {own} kb restore")
    return NOTHING if answer["damaged"] or answer["problems"] else FOUND


for _command in (init, list_notes, history, restore, backup, check):
    kb_command.add_command(_command)

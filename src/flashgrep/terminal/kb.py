"""flashgrep kb: knowledge bases at the terminal."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Final

import click

from flashgrep.terminal.command import FOUND, NOTHING, Output, print_json, say, terminal_command
from flashgrep.terminal.kb_desk import (
    author_option,
    json_option,
    kb_option,
    opened_desk,
    user_name,
    when,
)

_ELSEWHERE: Final = {
    "import": ("kb_files", "import_command"),
    "export": ("kb_files", "export_command"),
    "suggestions": ("kb_review", "suggestions"),
    "decide": ("kb_review", "decide"),
    "undo": ("kb_review", "undo"),
    "token": ("kb_tokens", "command"),
}
"""Subcommands with a module of their own."""


class _Group(click.Group):
    """A group that imports what is called, not what is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module, name = _ELSEWHERE[cmd_name]
        found = getattr(importlib.import_module(f"flashgrep.terminal.{module}"), name)
        assert isinstance(found, click.Command)  # noqa: S101 - the table above says so
        return found


@click.group("kb", cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Make a knowledge base, import and export notes, decide on suggestions, hand out tokens.

    All of it works while a server has the knowledge base open: that one is asked to do it.
    """


@terminal_command("init")
@kb_option
def init(kb: Path) -> int:
    """Make an empty knowledge base in a directory that is new or empty."""
    from flashgrep.notes.home import Home

    Home.create(kb)
    say(f"made {kb}; bring notes in with: flashgrep kb import DIR --kb {kb}")
    return FOUND


@terminal_command("list")
@click.option("--trash", is_flag=True, help="Those that were deleted.")
@json_option
@kb_option
def list_notes(kb: Path, trash: bool, as_json: bool) -> int:
    """List notes: path, version, when and by whom it was changed last.

    Quarantined notes are told on stderr, with what to do; exit status 1 where there is no note.
    """
    with opened_desk(kb) as desk:
        answer = desk.call("kb/list", {"trash": trash})
    notes = answer["notes"]
    output = Output()
    if as_json:
        print_json(output, answer)
    else:
        for note in notes:
            output.line(_row(note))
    output.flush()
    for note in notes:
        if not as_json and "quarantined" in note:
            say(note["quarantined"])
    return FOUND if notes else NOTHING


def _row(note: dict[str, Any]) -> str:
    if "quarantined" in note:
        return f"{note['path']}\tquarantined"
    gone = f"\tdeleted {when(note['trashed'])}" if "trashed" in note else ""
    return f"{note['path']}\t{note['version']}\t{when(note['time'])}\t{note['author']}{gone}"


@terminal_command("history")
@click.argument("note")
@click.option("--show", metavar="VERSION", type=int, help="Print the text of a version.")
@json_option
@kb_option
def history(kb: Path, note: str, show: int | None, as_json: bool) -> int:
    """List the versions of a note that it can go back to, the newest first."""
    output = Output()
    with opened_desk(kb) as desk:
        if show is not None:
            text = desk.call("kb/text", {"note": note, "version": show})["text"]
            output.write(text.encode())
            output.flush()
            return FOUND
        answer = desk.call("kb/history", {"note": note})
    if as_json:
        print_json(output, answer)
    else:
        for version in answer["versions"]:
            output.line(f"{version['version']}\t{when(version['time'])}\t{version['author']}")
    output.flush()
    return FOUND if answer["versions"] else NOTHING


@terminal_command("restore")
@click.argument("note")
@click.argument("version", type=int, required=False)
@click.option("--salvage", is_flag=True, help="As much of a damaged note as can be trusted.")
@author_option
@kb_option
def restore(kb: Path, note: str, version: int | None, salvage: bool, author: str | None) -> int:
    """Make a note what it was at VERSION, as one more change; or bring it back from the trash.

    A quarantined note begins anew with that text. What is stored of it is set aside, not deleted.
    """
    if version is not None and salvage:
        raise click.UsageError("give a VERSION or --salvage, not both")
    params = {"note": note, "version": version, "salvage": salvage, "by": author or user_name()}
    with opened_desk(kb) as desk:
        answer = desk.call("kb/restore", params)
    say(f"restored {answer['path']}")
    return FOUND


@terminal_command("backup")
@click.argument("target", type=click.Path(path_type=Path))
@kb_option
def backup(kb: Path, target: Path) -> int:
    """Copy all notes, with their history, into a new directory; a server goes on meanwhile.

    The copy is a knowledge base. Tokens are not in it.
    """
    with opened_desk(kb) as desk:
        desk.call("kb/backup", {"target": str(target.absolute())})
    say(f"copied to {target}")
    return FOUND


@terminal_command("check")
@json_option
@kb_option
def check(kb: Path, as_json: bool) -> int:
    """Load every note from what is stored; exit status 1 where something is damaged."""
    with opened_desk(kb) as desk:
        answer = desk.call("kb/check", {})
    output = Output()
    if as_json:
        print_json(output, answer)
    else:
        for problem in answer["problems"]:
            output.line(f"database: {problem}")
        for note in answer["damaged"]:
            output.line(f"{note['path']}: {note['reason']}")
        output.line(f"{answer['notes']} notes, {len(answer['damaged'])} damaged")
    output.flush()
    if answer["damaged"] and not as_json:
        say("look at a note with flashgrep kb history, go back with flashgrep kb restore")
    return NOTHING if answer["damaged"] or answer["problems"] else FOUND


for _command in (init, list_notes, history, restore, backup, check):
    command.add_command(_command)

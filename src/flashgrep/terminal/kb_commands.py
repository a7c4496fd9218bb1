"""flashgrep kb import, export, suggestions, decide and undo."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.notes.administration import NotesApi
from flashgrep.notes.folders.exporting import ExportSummary, export
from flashgrep.notes.folders.vault import Imported, count_files, import_folder
from flashgrep.notes.store.paths import ENDING, check_named
from flashgrep.terminal.command import (
    FOUND,
    NOTHING,
    Bar,
    WholeNumber,
    say,
    show,
    terminal_command,
    worded,
)
from flashgrep.terminal.kb import (
    author_option,
    json_option,
    kb_option,
    opened_api,
    user_name,
    when,
    without_notes,
)
from flashgrep.workspace.scope import shown_name

DECISIONS_A_CALL: Final = 200
"""How many of these a terminal asks for at a time: others get turns, and progress is kept."""

_TYPED: Final = {
    name: "--" + name.replace("_", "-") for name in ("older_than", "newer_than", "reason", "text")
}

_SHOWN_HIDDEN = 5
_SHOWN_LOST = 5


@terminal_command("import", short_help="Import a directory of Markdown notes.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Let the file win if both changed.")
@author_option
@json_option
@kb_option
def import_command(kb: Path, folder: Path, force: bool, author: str | None, as_json: bool) -> int:
    """Import a directory of Markdown, such as an Obsidian vault; other files become attachments.

    Importing again changes nothing; a changed file becomes an edit of its note. Files that could
    not be imported are listed, with exit status 1. Hidden files are left out.
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
    same = {"attachments same": done.same_attachments} if done.same_attachments else {}
    lists = {"failed": done.failed, "attached": done.attached, "hidden": done.hidden}
    suggestions = {"restored": done.restored, "lost": done.lost}
    restored = {"suggestions restored": done.restored} if done.restored else {}
    told = {**counts, **same, **restored}
    if same and not done.attachments:
        del told["attachments"]  # none is missing
    answer = {**counts, "same_attachments": done.same_attachments, **lists, **suggestions}
    show(answer, as_json, [_counted(told) if any(told.values()) else "nothing to import"])
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
            f"{_shown(path)}: not restored, its marks are not in the file as they were exported: "
            f"{', '.join(suggestions[:_SHOWN_LOST])}{more}"
        )


def _tell_hidden(hidden: Sequence[str]) -> None:
    """Each note that is left out is listed; of other hidden files, a few."""
    notes = [path for path in hidden if path.endswith(ENDING)]
    _tell(dict.fromkeys(notes, "left out: its name begins with a dot; rename it to import it"))
    others = [path for path in hidden if not path.endswith(ENDING)]
    if others:
        more = ", …" if len(others) > _SHOWN_HIDDEN else ""
        names = "name" if len(others) == 1 else "names"
        listed = ", ".join(map(_shown, others[:_SHOWN_HIDDEN]))
        say(f"{len(others)} hidden {names} left out: {listed}{more}")


@terminal_command("export", short_help="Write all notes to a directory.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite what is in the way.")
@json_option
@kb_option
def export_command(kb: Path, folder: Path, force: bool, as_json: bool) -> int:
    """Write all notes and attachments to a directory: new, empty, or exported to before.

    Nothing is deleted there. Files that could not be written are listed, with exit status 1.
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


_ONE: Final = {
    "attachments": "attachment",
    "attachments same": "attachment same",
    "suggestions restored": "suggestion restored",
    "newer": "note newer than its file",
}
"""What a figure is called that is 1…"""
_MANY: Final = {"newer": "notes newer than their files", "conflict": "conflicts"}
"""…and one that is not; both, where it is not called what JSON calls it."""


def _counted(counts: Mapping[str, int]) -> str:
    """The figures of a run: `2 made, 1 attachment`."""
    return ", ".join(
        f"{n} {(_ONE if n == 1 else _MANY).get(name, name)}" for name, n in counts.items()
    )


def _tell(reasons: Mapping[str, str], before: str = "") -> None:
    for path, reason in reasons.items():
        say(f"{_shown(path)}: {before}{reason}")


def _shown(path: str) -> str:
    """The name of a file as a terminal may show it: it may hold anything a file system takes."""
    return shown_name(os.fsencode(path))


# ── suggestions ──────────────────────────────────────────────────────────────────────────────────
# flashgrep kb suggestions, decide and undo: what agents suggest, listed, accepted, rejected.


@terminal_command("suggestions", short_help="List pending suggestions.")
@click.option("--note", metavar="NOTE", help="Only those in this note.")
@click.option(
    "--by", "author", metavar="AUTHOR", help="Only this author's, as listed, such as agent/mcp."
)
@click.option("--folder", metavar="FOLDER", help="Only those in notes below this folder.")
@click.option("--older-than", metavar="TIME", help="An age such as 12h or 7d, or a date.")
@click.option("--newer-than", metavar="TIME", help="The same.")
@json_option
@kb_option
def suggestions(kb: Path, as_json: bool, **asked: str | None) -> int:
    """List pending suggestions, oldest first: id, place, time, author, old -> new.

    Exit status 1 when there are none.
    """
    wanted = {name: value for name, value in asked.items() if value is not None}
    folder = wanted.get("folder")
    if folder is not None:
        check_named(folder, "--folder")
    with worded(_TYPED), opened_api(kb) as api:
        found = list(_all(api, wanted))
        empty = without_notes(api, [folder] if folder and not found and not as_json else [])
    show({"suggestions": found}, as_json, map(_row, found))
    if not found and not as_json:
        say("no pending suggestion matches these filters" if wanted else "nothing is pending")
        for one in empty:
            say(f"there are no notes in {one} yet; check the folder's name")
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


@terminal_command("decide", short_help="Accept or reject suggestions.")
@click.argument("action", type=click.Choice(["accept", "reject"]))
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--reason", metavar="TEXT", help="With reject: why, for the agent to read.")
@click.option("--text", metavar="TEXT", help="With accept and one id: the text to take instead.")
@click.option("--expected-old", metavar="TEXT", help="With one id: only if it still replaces this.")
@click.option("--expected-new", metavar="TEXT", help="With one id: only if it still inserts this.")
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

    Each line ends with the decision's number, which `kb undo` takes.

    To accept a suggestion that is nearly right, give --text to replace what the agent proposed.
    Somebody may be typing in that proposal: with --expected-new and --expected-old nothing is
    decided if it is no longer what you saw.

    The first decision on each counts. Any that was already decided, or does not exist, is reported,
    with exit status 1.
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
    with worded(_TYPED), opened_api(kb) as api:
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


@terminal_command("undo", short_help="Undo decisions.")
@click.argument("decisions", metavar="NUMBER...", nargs=-1, required=True, type=WholeNumber(1))
@author_option
@json_option
@kb_option
def undo(kb: Path, decisions: tuple[int, ...], author: str | None, as_json: bool) -> int:
    """Undo decisions by the numbers that `kb decide` prints: each suggestion is pending again.

    Any that cannot be undone is reported, with exit status 1: it was already undone, does not
    exist, or the text around the suggestion is gone.
    """
    by = author or user_name()
    with opened_api(kb) as api:
        results = api.call("kb/undo", {"decisions": list(decisions), "by": by})["results"]
    return _report(results, as_json, "decision")

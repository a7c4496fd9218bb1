"""flashgrep kb import and export: a folder of Markdown into notes, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from flashgrep.notes.folders.exporting import Exported, export
from flashgrep.notes.folders.vault import Imported, count_files, import_folder
from flashgrep.notes.store.paths import ENDING
from flashgrep.terminal.bar import Bar
from flashgrep.terminal.command import FOUND, NOTHING, Output, print_json, say, terminal_command
from flashgrep.terminal.kb_desk import author_option, json_option, kb_option, opened_desk, user_name

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
    not be taken is told, and the exit status is 1 then. Hidden files are left out.
    """
    total = count_files(folder)
    with opened_desk(kb) as desk, Bar("importing") as bar:
        done = import_folder(
            desk,
            folder,
            author or user_name(),
            force,
            lambda count: bar.show(count / max(total, 1), f"{count:,} files"),
        )
    _tell_import(done, as_json)
    return NOTHING if done.failed else FOUND


def _tell_import(done: Imported, as_json: bool) -> None:
    output = Output()
    counts = {**done.fates, "attachments": done.attachments}
    if as_json:
        lists = {"failed": done.failed, "attached": done.attached, "hidden": done.hidden}
        suggestions = {"restored": done.restored, "lost": done.lost}
        print_json(output, {**counts, **lists, **suggestions})
    else:
        if done.restored:
            counts["suggestions restored"] = done.restored
        output.line(", ".join(f"{count} {name}" for name, count in counts.items()))
        _tell(done.attached, "kept as an attachment: ")
        _tell(done.failed)
        _tell_lost(done.lost)
        _tell_hidden(done.hidden)
    output.flush()


def _tell_lost(lost: Mapping[str, Sequence[str]]) -> None:
    """Suggestions that an export describes and the file no longer has as they were."""
    for path, suggestions in lost.items():
        more = ", …" if len(suggestions) > _SHOWN_LOST else ""
        say(
            f"{path}: not restored, its marks are not in the file as they were exported: "
            f"{', '.join(suggestions[:_SHOWN_LOST])}{more}"
        )


def _tell_hidden(hidden: Sequence[str]) -> None:
    """A note that is left out is told each; of the others, an application's mostly, some are."""
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

    Nothing is deleted there. What could not be written is told, and the exit status is 1 then.
    """
    with opened_desk(kb) as desk, Bar("exporting") as bar:
        done = export(
            desk, folder, force, lambda at, total: bar.show(at / max(total, 1), f"{at:,} files")
        )
    _tell_export(done, as_json)
    return NOTHING if done.failed else FOUND


def _tell_export(done: Exported, as_json: bool) -> None:
    output = Output()
    counts = {"written": done.written, "attachments": done.attachments, "same": done.same}
    if as_json:
        print_json(output, {**counts, "failed": done.failed, "left": done.left})
    else:
        output.line(", ".join(f"{count} {name}" for name, count in counts.items()))
        _tell(done.failed)
        _tell(dict.fromkeys(done.left, "its note is not here any more; the file was left"))
    output.flush()


def _tell(reasons: Mapping[str, str], before: str = "") -> None:
    for path, reason in reasons.items():
        say(f"{path}: {before}{reason}")

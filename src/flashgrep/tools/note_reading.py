"""read and view on notes: lines of a view, then what is suggested."""

from __future__ import annotations

from collections.abc import Callable

from flashgrep.errors import FlashgrepError, InvalidParams
from flashgrep.kb import notepath
from flashgrep.kb.notetexts import Shown
from flashgrep.tools import note_reads, places
from flashgrep.tools.answer import Answer
from flashgrep.tools.arguments import Arguments
from flashgrep.tools.budget import Budget
from flashgrep.tools.note_pending import pending_block
from flashgrep.tools.toolbox import Call
from flashgrep.tools.viewing import read_lines, view_lines

Lines = Callable[[str, Budget], str]


def read_note(call: Call, path: str, arguments: Arguments) -> Answer:
    """Show a note's lines from `offset` on."""
    offset, limit, column = (arguments.get(name) for name in ("offset", "limit", "column"))
    shown = Shown(arguments.get("view") or Shown.ACCEPTED)
    return _note(
        call,
        path,
        shown,
        offset,
        lambda text, room: read_lines([text], offset, limit, column, room),
    )


def view_note(call: Call, given: str, view_range: list[int] | None) -> Answer:
    """Show a note's lines, or those of a range."""
    folder = places.scope_path(call, given)
    if not folder or not folder.endswith(notepath.ENDING):
        raise _no_note(call, given, folder or "")
    first = view_range[0] if view_range else 1
    return _note(
        call,
        folder,
        Shown.ACCEPTED,
        first,
        lambda text, room: view_lines([text], view_range, room),
    )


def _no_note(call: Call, given: str, folder: str) -> FlashgrepError:
    tree = places.tree(call)
    if folder and not tree.below(folder):
        return tree.missing(folder)
    return InvalidParams(
        f"{given} is a folder of notes; view shows one note. List notes with glob, path: {given!r}"
    )


def _note(call: Call, path: str, shown: Shown, first: int, lines: Lines) -> Answer:
    leaf = places.tree(call).find(path)
    reading = places.mounted(call).texts.reading(leaf.note)
    view = reading.view(shown)
    chars = call.settings.max_output_chars
    block = pending_block(reading, view, first, (chars or 2**62) // 2)
    text = lines(view.text, Budget(max(chars - len(block) - 2, 1) if chars else 0))
    note_reads.remember(call.caller, leaf.note, reading.published.data)
    return Answer(f"{text}\n\n{block}" if block else text)

"""The list of pending suggestions that ends a reading of a note."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from flashgrep import limits
from flashgrep.notes.markup import critic
from flashgrep.notes.markup.critic import Mark
from flashgrep.notes.markup.views import MarkupView
from flashgrep.notes.suggestions import pending as pending_suggestions
from flashgrep.notes.texts import NoteReading
from flashgrep.system.clock import milliseconds

HEADING: Final = "[Pending suggestions]"
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60))


@dataclass(frozen=True, slots=True)
class _PendingRow:
    """A suggestion: where it stands in the text, what is known of it, and what it changes."""

    start: int
    named: str
    old: str
    new: str


def pending_block(reading: NoteReading, view: MarkupView, offset: int, room: int) -> str:
    """The suggestions from a line of a view on, as many as there is room for; "" without any.

    Those before that line are counted: whoever reads page by page has seen them.
    """
    rows = sorted(_rows(reading), key=lambda row: row.start)
    if not rows:
        return ""
    numbers = _line_numbers(view, rows)
    first = next((at for at, line in enumerate(numbers) if line >= offset), len(rows))
    shown: list[str] = []
    for row, line in zip(rows[first:], numbers[first:], strict=True):
        text = f"- {row.named}, line {line}: {_short(row.old)} -> {_short(row.new)}"
        room -= len(text) + 1
        if len(shown) == limits.SHOWN_SUGGESTIONS or (room < 0 and shown):
            break
        shown.append(text)
    following = first + len(shown)
    left_out = _left_out(first, numbers[following:])
    return "\n".join([HEADING, *shown, *([left_out] if left_out else [])])


def _left_out(before: int, after: Sequence[int]) -> str:
    """What is not shown, and how to see it."""
    parts = [f"{before} before these lines"] if before else []
    if after:
        parts.append(f"{len(after)} from line {after[0]} on, shown with offset={after[0]}")
    return f"(not shown: {'; '.join(parts)})" if parts else ""


def _rows(reading: NoteReading) -> Iterator[_PendingRow]:
    pending = reading.pending
    now = milliseconds()
    for record in pending.records:
        if extent := pending.extent(record):
            age = _age(now - pending_suggestions.made_at(reading.besides[record.id].value))
            yield _PendingRow(
                extent[0], f"{record.id} by {record.author}{age}", *pending.change(record)
            )
    typed = [mark for mark in pending.reading.marks if pending.owner(mark) is None]
    for marks in critic.suggestions(typed):
        yield _PendingRow(
            marks[0].start, "marks in the text, by nobody known", *_change(reading, marks)
        )


def _change(reading: NoteReading, marks: Sequence[Mark]) -> tuple[str, str]:
    text = reading.pending.reading.text
    old = "".join(text[start:end] for start, end in (mark.old for mark in marks))
    return old, "".join(text[start:end] for start, end in (mark.new for mark in marks))


def _line_numbers(view: MarkupView, rows: Sequence[_PendingRow]) -> list[int]:
    """The line of each row, counted once through the text."""
    numbers, line, at = [], 1, 0
    for row in rows:
        place = view.to_view(row.start)
        line += view.text.count("\n", at, place)
        at = place
        numbers.append(line)
    return numbers


def _age(milliseconds: int) -> str:
    seconds = milliseconds // 1_000
    for unit, length in _UNITS:
        if seconds >= length:
            return f", {seconds // length}{unit} ago"
    return ", just now"


def _short(text: str) -> str:
    cut = text[: limits.SHORT_DIFF_CHARS]
    return json.dumps(cut, ensure_ascii=False) + ("..." if len(text) > len(cut) else "")

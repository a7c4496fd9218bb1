"""The list of decisions at the end of a `read` of a note: what became of the reader's suggestions.

Each is reported once (see `outcomes`), by a `read` that was answered. What does not fit is left to
the next one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from flashgrep import limits
from flashgrep.notes.suggestions.outcomes import News

DECIDED: Final = "[Decided since your last read]"


def decided_block(news: Sequence[News], total: int, room: int, lister: str) -> tuple[str, int]:
    """As much of the first news as there is room for, at least one item, and how many that is.
    `lister` is the tool that lists them all; "" if there is none.
    """
    lines: list[str] = []
    for one in news:
        line = _line(one)
        room -= len(line) + 1
        if room < 0 and lines:
            break
        lines.append(line)
    shown = len(lines)
    if more := total - shown:
        listed = f"; {lister} lists all" if lister else ""
        lines.append(f"({more} more: the next read tells them{listed})")
    return "\n".join([DECIDED, *lines]), shown


def _line(one: News) -> str:
    change = f"{_short(one.old)} -> {_short(one.new)}"
    if one.outcome == "undone":
        return f"- {one.suggestion} decision undone by {one.by}, pending again: {change}"
    said = ""
    if one.reason is not None:
        said = f"; reason: {_quoted(one.reason)}"
    if one.text is not None:
        said = f"; taken as: {_cut(one.text, limits.TOLD_TEXT_CHARS)}"
    return f"- {one.suggestion} {one.outcome} by {one.by}: {change}{said}"


def _short(text: str) -> str:
    return _cut(text, limits.SHORT_DIFF_CHARS)


def _cut(text: str, most: int) -> str:
    return _quoted(text[:most]) + ("..." if len(text) > most else "")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

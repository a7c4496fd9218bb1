"""The part of a file around a change, numbered as view numbers it."""

from __future__ import annotations

from flashgrep import limits
from flashgrep.tools.dispatch.budget import Budget
from flashgrep.tools.format.numbered import Line, shown_line
from flashgrep.workspace.text import display


def snippet(text: str, start: int, end: int, budget: Budget) -> str:
    """The lines of `text` from a little before position `start` to a little after `end`."""
    lines = text.removesuffix("\n").split("\n")
    first = max(0, text.count("\n", 0, start) - limits.SNIPPET_CONTEXT)
    last = text.count("\n", 0, end) + 1 + limits.SNIPPET_CONTEXT
    window = lines[first : min(last, first + limits.SNIPPET_LINES)]
    for number, line in enumerate(window, first + 1):
        if not budget.take(_row(number, line)):
            break
    is_cut = first + len(budget.lines) < min(last, len(lines))
    return budget.text("(the snippet ends here; view the file to see the rest)" if is_cut else "")


def _row(number: int, text: str) -> str:
    return shown_line(Line(number, display(text[: limits.SHOWN_LINE_CHARS]), len(text)))

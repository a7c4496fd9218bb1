"""What the search page asks: matching lines with the places to highlight, and total counts.

The search, its order and its pages are grep's, in content mode; only the answer differs:

    search → {"files": [{"path", "lines": [{"line", "text", "match", "spans", "column"}, …]}, …],
              "shown", "next_offset", "root", "files_looked_at", "index": {"state", "freshness"},
              "skipped": [[path, why], …], "message"}
        spans    pairs of UTF-16 offsets into text; [] on a line of context
        column   only of a line that grep cuts: where in the whole line its first match begins
        shown    matching lines in the answer
        root     what the paths are relative to, as a prefix; "" for the working directory
        message  what grep says after its results, or null
    count  → {"files", "matches", "skipped", "message"}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.search.highlight import Highlighter, column
from flashgrep.tools.dispatch.call import Answer, json_answer
from flashgrep.tools.verbs import grep
from flashgrep.tools.verbs.grep import EMPTY, GrepPage, searched

if TYPE_CHECKING:
    from flashgrep.search.result import Line
    from flashgrep.tools.dispatch.call import Call
    from flashgrep.tools.dispatch.spec import Arguments

_SKIPS_TOLD = 100
_NOT_DRAWN = "matches are not all highlighted: with this pattern it would take too long"


def search(call: Call, arguments: Arguments) -> Answer:
    """A page of matching lines."""
    chars = limits.PAGE_CHARS
    return searched(call, arguments, chars, lambda page: json_answer(_lines(call, page)))


def _lines(call: Call, page: GrepPage) -> dict[str, Any]:
    _, last = page.as_parts(limits.PAGE_CHARS)
    highlighter = Highlighter(page.asked.pattern, call.cancelled)
    files = [{"path": path, "lines": _rows(lines, highlighter)} for path, lines in page.rows]
    said = [_NOT_DRAWN] if highlighter.is_cut else []
    status = call.services.index.status()
    return {
        "files": files,
        "shown": sum(is_match for _, lines in page.rows for _, is_match, _ in lines),
        "next_offset": page.following(),
        "root": page.place.root,
        "files_looked_at": page.result.looked_at,
        "index": {"state": status.state, "freshness": status.freshness},
        **_told(page, [last, *said]),
    }


def _rows(lines: Sequence[Line], highlighter: Highlighter) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for (number, is_match, text), spans in zip(lines, highlighter.spans(lines), strict=True):
        rows.append({"line": number, "text": text, "match": is_match, "spans": spans})
        if is_match and len(text) > limits.MATCH_WINDOW_CHARS:
            begins = column(text)
            if begins is not None:
                rows[-1]["column"] = begins
    return rows


def count(call: Call, arguments: Arguments) -> Answer:
    """How many files match, and how many matching lines they have (in multiline: matches)."""

    def show(page: GrepPage) -> Answer:
        files = page.result.files()
        data = {"files": len(files), "matches": sum(file.count for file in files)}
        return json_answer({**data, **_told(page, page.result.remarks)})

    return searched(call, arguments, 0, show)


def _told(page: GrepPage, said: Sequence[str]) -> dict[str, Any]:
    """What could not be searched, and what else there is to say."""
    place, skipped = page.place, sorted(page.result.skipped)[:_SKIPS_TOLD]
    message = "; ".join(filter(None, said))
    if not page.total:
        message = f"{EMPTY} ({message})" if message else EMPTY
    return {
        "skipped": [[place.label_skipped(path), why] for path, why in skipped],
        "message": message or None,
    }


SEARCH = replace(grep.SPEC, name="search", handler=search)
COUNT = replace(grep.SPEC, name="count", handler=count)

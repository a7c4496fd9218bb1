"""grep: find a regular expression in files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from flashgrep import limits
from flashgrep.search.engine import Question
from flashgrep.search.excerpt import Line, PageRequest
from flashgrep.search.filetypes import globs_of
from flashgrep.search.literals import needs_newline
from flashgrep.search.pattern import PatternSpec
from flashgrep.tools.answer import Answer, json_answer
from flashgrep.tools.budget import Budget
from flashgrep.tools.registry import Parameter, ToolSpec
from flashgrep.workspace import names
from flashgrep.workspace.globs import name_filter
from flashgrep.workspace.scope import Place
from flashgrep.workspace.sniffing import is_text

if TYPE_CHECKING:
    from flashgrep.search.request import Counting, Found
    from flashgrep.search.scan import Search
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.toolbox import Call

EMPTY = "No matches found"
_SKIPS_SHOWN = 3
_AT_ONCE = 4096  # files named before it is known how many of them fit
_ATTEMPTS = 3  # files that change without telling, while they are looked at

DESCRIPTION = """\
Search file contents with a regular expression (RE2 syntax: no look-around, no backreferences).
- Output modes: "files_with_matches" (default; newest file first), "content" (matching lines as \
path:line:text, with context if asked), "count" (path:number).
- Narrow by path (results are then relative to it), by glob on the file name, or by file type. \
.gitignore is respected; .git, \
node_modules and binary files are left out.
- Patterns match within a line; set multiline to let them span lines.
- head_limit and offset page through results.
Always exact: no results means there are none."""


def run(call: Call, arguments: Arguments) -> Answer:
    """Search, order, page, show."""
    query = _Query(call, arguments)
    search = call.services.search
    for _ in range(_ATTEMPTS):
        scan = search.scan(query.question(), call.cancelled, call.report)
        answer = json_answer(query.data(scan)) if call.direct else Answer(query.shown(scan))
        if search.is_current(scan, query.named):
            break
    return answer


class _Query:
    """One call's parameters, read."""

    def __init__(self, call: Call, arguments: Arguments) -> None:
        get = arguments.get
        self.call = call
        path = get("path")
        self.path: str = "." if path is None else path
        self.place: Place = call.services.scope.place(self.path)
        self.pattern = PatternSpec(
            arguments.text("pattern"), get("case_insensitive"), get("multiline")
        )
        self.mode: str = get("output_mode")
        self.only_matching: bool = get("only_matching") and self.mode == "content"
        around = get("context") or 0
        before, after = get("context_before"), get("context_after")
        self.before: int = around if before is None else before
        self.after: int = around if after is None else after
        self.numbers: bool = get("line_numbers")
        self.limit: int = get("head_limit")
        self.offset: int = get("offset")
        self.filters = _filters(get("include"), get("type"))
        self.named: list[str] = []
        """The files the answer shows."""
        self.is_file = call.services.scope.kind(self.place) == "file"

    # ── asking ──────────────────────────────────────────────────────────────────────────────────

    def question(self) -> Question:
        wanted = self.offset + self.limit if self.limit and self.mode == "content" else 0
        if wanted and self.call.direct:
            wanted += 1  # whether there is more is part of that answer
        return Question(self.place, self.pattern, self._counting(), self.filters, wanted)

    def _counting(self) -> Counting:
        if self.mode == "files_with_matches":
            return "files"
        if self.mode == "count":
            return "matches" if self.pattern.multiline else "lines"
        return "matches" if self.only_matching else "lines"

    # ── answering ───────────────────────────────────────────────────────────────────────────────

    def shown(self, scan: Search) -> str:
        self.named.clear()
        found = self._ordered(scan)
        total = sum(file.value for file in found) if self.mode == "content" else len(found)
        if total == 0:
            text = self._nothing()
        elif self.offset >= total:
            text = f"(no more results: offset {self.offset}, {total} in total)"
        elif self.mode == "content":
            text = self._content(scan, found)
        else:
            text = self._files(found)
        return "\n".join(part for part in (text, _skips(scan), *scan.notes) if part)

    def data(self, scan: Search) -> dict[str, Any]:
        """The results as a direct method gives them: rows, without a budget."""
        found = self._ordered(scan)
        if self.mode == "content":
            total = sum(file.value for file in found)
            data: dict[str, Any] = {"matches": self._rows(scan, found)}
            self.named = [name for name, _, _ in self._page(found)]
        else:
            total = len(found)
            page = found[self.offset :][: self.limit or None]
            self.named = [file.shown for file in page]
            labels = [self._label(file.shown) for file in page]
            if self.mode == "count":
                rows = zip(labels, page, strict=True)
                data = {"counts": [{"file_path": path, "count": f.value} for path, f in rows]}
            else:
                data = {"paths": labels}
        following = self.offset + self.limit
        more = bool(self.limit) and following < total
        data |= {"truncated": more, "next_offset": following if more else None}
        if scan.skipped:
            data["skipped"] = [[printable(name), why] for name, why in sorted(scan.skipped)]
        return data

    def _rows(self, scan: Search, found: Sequence[Found]) -> list[dict[str, Any]]:
        around = (0, 0) if self.only_matching else (self.before, self.after)
        request = PageRequest(self._page(found), *around, self.only_matching, 0, 0)
        return [
            {"file_path": self._label(name), "line": number, "is_match": is_match, "text": text}
            for name, lines in self.call.services.search.page(scan, request, self.call.cancelled)
            for number, is_match, text in lines
        ]

    def _budget(self) -> Budget:
        return Budget(self.call.settings.max_output_chars)

    def _nothing(self) -> str:
        if not self.pattern.multiline and needs_newline(self.pattern.source):
            return (
                f"{EMPTY} (the pattern needs a newline, and patterns match within a line; "
                "set multiline: true)"
            )
        if self.is_file and self._is_binary():
            return f"{EMPTY} ({self.place.shown} is a binary file and was not searched)"
        return EMPTY

    def _is_binary(self) -> bool:
        # Silent in a walk, as documented; but who names a file must not take this for "no match".
        fd, _ = self.call.services.scope.open_regular(self.place)
        try:
            return not is_text(os.pread(fd, limits.SNIFF_BYTES, 0))
        finally:
            os.close(fd)

    def _ordered(self, scan: Search) -> Sequence[Found]:
        files = self.mode == "files_with_matches"
        return scan.newest_first() if files else scan.in_walk_order()

    def _label(self, shown: str) -> str:
        """A file as the answer names it: relative to the root, or as the caller named it."""
        return self.path if self.is_file else printable(shown)

    def _labels(self, files: list[Found]) -> list[str]:
        return [self.path] if self.is_file else names.shown_paths([file.shown for file in files])

    def _files(self, found: Sequence[Found]) -> str:
        budget = self._budget()
        page = found[self.offset :]
        if self.limit:
            page = page[: self.limit]
        for at in range(0, len(page), _AT_ONCE):
            files = list(page[at : at + _AT_ONCE])
            labels = self._labels(files)
            if self.mode == "count":
                labels = [f"{name}:{file.value}" for name, file in zip(labels, files, strict=True)]
            taken = budget.take_first(labels)
            self.named += [file.shown for file in files[:taken]]
            if taken < len(files):
                return budget.text(_cut(len(page) - at - taken, "files", self.offset + at + taken))
        return budget.text()

    def _content(self, scan: Search, found: Sequence[Found]) -> str:
        page = self._page(found)
        wanted = sum(last - first for _, first, last in page)
        around = (0, 0) if self.only_matching else (self.before, self.after)
        request = PageRequest(
            page, *around, self.only_matching, self.call.settings.max_output_chars, 0
        )
        budget = self._budget()
        matches, is_cut = self._fill(budget, scan, request)
        if is_cut and not matches:
            # What stands before the first match fills the answer: the match is worth more.
            budget = self._budget()
            matches, _ = self._fill(budget, scan, request._replace(before=0))
        return budget.text(self._missing(wanted - matches, matches, is_cut))

    def _fill(self, budget: Budget, scan: Search, request: PageRequest) -> tuple[int, bool]:
        """Take lines while they fit; how many of them match, and whether one did not fit."""
        matches = 0
        for name, lines in self.call.services.search.page(scan, request, self.call.cancelled):
            self.named.append(name)
            for text, is_match in self._lines(self._label(name), lines, bool(budget.lines)):
                if not budget.take(text):
                    return matches, True
                matches += is_match
        return matches, False

    def _missing(self, missing: int, matches: int, is_cut: bool) -> str:
        """What the page lacks, and how to get it; nothing where it is whole."""
        kind = "matches" if self.only_matching else "matching lines"
        if missing and matches and self.call.settings.max_output_chars:
            return _cut(missing, kind, self.offset + matches)
        if missing:
            return f"({missing:,} {kind} not shown: files changed during the search; search again)"
        return "(output cut: context lines left out; ask for fewer)" if is_cut else ""

    def _page(self, found: Sequence[Found]) -> list[tuple[str, int, int]]:
        """From each file, which of its matches fall on the page."""
        end = self.offset + self.limit if self.limit else None
        page = []
        ends = accumulate(file.value for file in found)
        for file, stop in zip(found, ends, strict=True):
            start = stop - file.value
            first, last = max(self.offset, start), stop if end is None else min(end, stop)
            if first < last:
                page.append((file.shown, first - start, last - start))
        return page

    def _lines(self, name: str, lines: Sequence[Line], follows: bool) -> Iterator[tuple[str, bool]]:
        previous = None
        for number, is_match, text in lines:
            if self.only_matching:
                separated = False
            elif previous is None:
                separated = follows
            else:
                separated = number > previous + 1
            previous = number
            mark = ":" if is_match else "-"
            place = f"{name}{mark}{number}{mark}" if self.numbers else f"{name}{mark}"
            yield ("--\n" if separated else "") + place + text, is_match


def _filters(include: Any, kind: str | None) -> tuple[tuple[str, ...] | str, ...]:
    filters: list[tuple[str, ...] | str] = []
    if kind is not None:
        filters.append(globs_of(kind))
    if include is not None:
        name_filter(include)  # refused here, before anything is searched
        filters.append(include if isinstance(include, str) else tuple(include))
    return tuple(filters)


def printable(shown: str) -> str:
    """A path of the tree as an answer prints it."""
    return names.shown_path(shown)


def _cut(missing: int, kind: str, offset: int) -> str:
    return f"(output cut: {missing:,} more {kind}; next: offset {offset})"


def _skips(scan: Search) -> str:
    """The one line that tells what could not be searched."""
    if not scan.skipped:
        return ""
    shown = "; ".join(
        f"{printable(name)}: {reason}" for name, reason in sorted(scan.skipped)[:_SKIPS_SHOWN]
    )
    more = len(scan.skipped) - _SKIPS_SHOWN
    return f"({len(scan.skipped)} not searched: {shown}{f'; and {more} more' if more > 0 else ''})"


SPEC = ToolSpec(
    name="grep",
    title="Search file contents",
    description=DESCRIPTION,
    handler=run,
    direct=True,
    parameters=(
        Parameter("pattern", "string", "The regular expression to find (RE2)", required=True),
        Parameter(
            "path",
            "string",
            "File or directory to search; the working directory if absent",
            aliases=("file_path",),
        ),
        Parameter(
            "include",
            "string_or_strings",
            'Only files whose name matches this glob, e.g. "*.py", "*.{ts,tsx}"; with a / it is '
            "matched on the path. A list may exclude with !",
            compat="glob",
        ),
        Parameter("type", "string", "Only files of this type: js, py, rust, go, java, …"),
        Parameter(
            "output_mode",
            "string",
            "What to return",
            choices=("content", "files_with_matches", "count"),
            default="files_with_matches",
        ),
        Parameter("case_insensitive", "boolean", "Ignore case", compat="-i", default=False),
        Parameter(
            "line_numbers",
            "boolean",
            "Show line numbers (content only)",
            compat="-n",
            default=True,
        ),
        Parameter(
            "context_before",
            "integer",
            "Lines to show before each match (content only)",
            compat="-B",
            minimum=0,
        ),
        Parameter(
            "context_after",
            "integer",
            "Lines to show after each match (content only)",
            compat="-A",
            minimum=0,
        ),
        Parameter(
            "context",
            "integer",
            "Lines to show before and after each match (content only)",
            compat="-C",
            minimum=0,
        ),
        Parameter(
            "multiline",
            "boolean",
            "Let patterns span lines, and . match newlines",
            default=False,
        ),
        Parameter(
            "head_limit",
            "integer",
            "At most this many results: matching lines (content) or files; 0 = all",
            default=0,
            minimum=0,
        ),
        Parameter(
            "offset",
            "integer",
            "Skip this many results first",
            default=0,
            minimum=0,
        ),
        Parameter(
            "only_matching",
            "boolean",
            "Only the matching parts, each on its own line (content only)",
            compat="-o",
            default=False,
            listed_normal=False,
        ),
    ),
)

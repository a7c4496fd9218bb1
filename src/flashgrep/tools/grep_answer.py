"""The answer of grep: parameters read, what was found ordered, paged and shown.

The same over files and notes; where to look, and how a result is named, is the business of those
who go on from `Query`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from flashgrep.search.excerpt import Line, PageRequest
from flashgrep.search.filetypes import globs_of
from flashgrep.search.literals import needs_newline
from flashgrep.search.pattern import PatternSpec, has_line_anchors
from flashgrep.tools.answer import Answer, json_answer
from flashgrep.tools.budget import Budget
from flashgrep.workspace import names
from flashgrep.workspace.globs import name_filter

if TYPE_CHECKING:
    from flashgrep.search.request import Counting, Found
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.toolbox import Call

EMPTY = "No matches found"
_SKIPS_SHOWN = 3
_AT_ONCE = 4096  # files named before it is known how many of them fit
_ATTEMPTS = 3  # files that change without telling, while they are looked at


class Results(Protocol):
    """A search that has been done, over files or notes."""

    skipped: list[tuple[str, str]]
    notes: list[str]

    def in_walk_order(self) -> Sequence[Found]: ...


Scanned = TypeVar("Scanned", bound=Results)


@dataclass(frozen=True)
class Shown:
    """Results as text, and what has to be said of them."""

    text: str
    cut: str = ""
    """What the page lacks and how to get it; empty where it is whole."""
    continues: bool = False
    """Whether that names the call that goes on."""


class Query(ABC, Generic[Scanned]):
    """One call's parameters, read, and the answer made of what a search found."""

    is_file = False
    """Whether one file, or one note, is named."""
    kind = "file"
    """What is searched."""

    def __init__(self, call: Call, arguments: Arguments) -> None:
        get = arguments.get
        self.call = call
        path = get("path")
        self.path: str = "." if path is None else path
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

    def answer(self) -> Answer:
        """Search, order, page, show."""
        for _ in range(_ATTEMPTS):
            scan = self.search()
            answer = json_answer(self.data(scan)) if self.call.direct else Answer(self.shown(scan))
            if self.is_current(scan):
                break
        return answer

    # ── asking ──────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def search(self) -> Scanned:
        """Look for it."""

    @abstractmethod
    def page(self, scan: Scanned, request: PageRequest) -> list[tuple[str, list[Line]]]:
        """The lines of a page."""

    def is_current(self, scan: Scanned) -> bool:
        """Whether what the answer shows is still what was searched."""
        return True

    def wanted(self) -> int:
        """Matching lines that are enough; 0 = all."""
        if not self.limit or self.mode != "content":
            return 0
        return self.offset + self.limit + 1  # one more tells whether there is more

    def counting(self) -> Counting:
        if self.mode == "files_with_matches":
            return "files"
        if self.mode == "count":
            return "matches" if self.pattern.multiline else "lines"
        return "matches" if self.only_matching else "lines"

    # ── answering ───────────────────────────────────────────────────────────────────────────────

    def shown(self, scan: Scanned) -> str:
        self.named.clear()
        found = self.ordered(scan)
        total = sum(file.value for file in found) if self.mode == "content" else len(found)
        told: list[str] = []
        text = empty = ""
        if total == 0:
            text, empty = EMPTY, self.nothing()
        elif self.offset >= total:
            empty = f"no more results: offset {self.offset}, {total} in total"
        else:
            page = self._content(scan, found) if self.mode == "content" else self._files(found)
            more = "" if page.continues else self._more(total)
            text, told = page.text, [page.cut, more, self._relative()]
        # The order is settled, so that a reader finds the offset first.
        last = "; ".join(filter(None, [*told, self._skips(scan), *scan.notes, empty]))
        return "\n".join(filter(None, [text, f"({last})" if last else ""]))

    def _more(self, total: int) -> str:
        following = self.offset + self.limit
        return f"more; next: offset {following}" if self.limit and following < total else ""

    def _relative(self) -> str:
        root = self.root()
        return f"paths are relative to {root}" if root else ""

    def root(self) -> str:
        """What paths are relative to, as `read` accepts it; "" for the working directory."""
        return ""

    def data(self, scan: Scanned) -> dict[str, Any]:
        """The results as a direct method gives them: rows, without a budget."""
        found = self.ordered(scan)
        if self.mode == "content":
            total = sum(file.value for file in found)
            data: dict[str, Any] = {"matches": self._rows(scan, found)}
            self.named = [name for name, _, _ in self._pages(found)]
        else:
            total = len(found)
            page = found[self.offset :][: self.limit or None]
            self.named = [file.shown for file in page]
            labels = [self.label(file.shown) for file in page]
            if self.mode == "count":
                rows = zip(labels, page, strict=True)
                data = {"counts": [{"file_path": path, "count": f.value} for path, f in rows]}
            else:
                data = {"paths": labels}
        following = self.offset + self.limit
        more = bool(self.limit) and following < total
        data |= {"truncated": more, "next_offset": following if more else None}
        if scan.skipped:
            data["skipped"] = [
                [self.skipped_label(name), why] for name, why in sorted(scan.skipped)
            ]
        if scan.notes:
            data["notes"] = scan.notes
        return data

    def _rows(self, scan: Scanned, found: Sequence[Found]) -> list[dict[str, Any]]:
        around = (0, 0) if self.only_matching else (self.before, self.after)
        request = PageRequest(self._pages(found), *around, self.only_matching, 0, 0)
        return [
            {"file_path": self.label(name), "line": number, "is_match": is_match, "text": text}
            for name, lines in self.page(scan, request)
            for number, is_match, text in lines
        ]

    def _budget(self) -> Budget:
        chars = self.call.settings.max_output_chars
        return Budget(max(chars - len(self._relative()), chars // 2))

    def nothing(self) -> str:
        """Why there may be no match although one was expected; "" where nothing speaks for that."""
        if not self.pattern.multiline and needs_newline(self.pattern.source):
            return (
                "the pattern needs a newline, and patterns match within a line; set multiline: true"
            )
        if self.pattern.multiline and has_line_anchors(self.pattern.source):
            return (
                f"with multiline ^ and $ are the ends of the {self.kind}; begin the pattern with "
                "(?m) to make them the ends of lines"
            )
        return ""

    def ordered(self, scan: Scanned) -> Sequence[Found]:
        """What was found, in the order of the answer."""
        return scan.in_walk_order()

    @abstractmethod
    def label(self, shown: str) -> str:
        """A file as the answer names it."""

    def labels(self, files: list[Found]) -> list[str]:
        """Many at once."""
        return [self.label(file.shown) for file in files]

    def _files(self, found: Sequence[Found]) -> Shown:
        budget = self._budget()
        page = found[self.offset :]
        if self.limit:
            page = page[: self.limit]
        for at in range(0, len(page), _AT_ONCE):
            files = list(page[at : at + _AT_ONCE])
            labels = self.labels(files)
            if self.mode == "count":
                labels = [f"{name}:{file.value}" for name, file in zip(labels, files, strict=True)]
            taken = budget.take_first(labels)
            self.named += [file.shown for file in files[:taken]]
            if taken < len(files):
                missing, following = len(page) - at - taken, self.offset + at + taken
                return Shown(budget.text(), _cut(missing, "files", following), continues=True)
        return Shown(budget.text())

    def _content(self, scan: Scanned, found: Sequence[Found]) -> Shown:
        page = self._pages(found)
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
        return self._page_of(budget, wanted - matches, matches, is_cut)

    def _fill(self, budget: Budget, scan: Scanned, request: PageRequest) -> tuple[int, bool]:
        """Take lines while they fit; how many of them match, and whether one did not fit."""
        matches = 0
        for name, lines in self.page(scan, request):
            self.named.append(name)
            texts = self._lines(self.label(name), lines, bool(budget.lines))
            taken = budget.take_first(texts)
            matches += sum(is_match for _, is_match, _ in lines[:taken])
            if taken < len(texts):
                return matches, True
        return matches, False

    def _page_of(self, budget: Budget, missing: int, matches: int, is_cut: bool) -> Shown:
        text = budget.text()
        kind = "matches" if self.only_matching else "matching lines"
        if missing and matches and self.call.settings.max_output_chars:
            return Shown(text, _cut(missing, kind, self.offset + matches), continues=True)
        if missing:
            told = f"{missing:,} {kind} not shown: files changed during the search; search again"
            return Shown(text, told)
        return Shown(text, "output cut: context lines left out; ask for fewer" if is_cut else "")

    def _pages(self, found: Sequence[Found]) -> list[tuple[str, int, int]]:
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

    def _lines(self, name: str, lines: Sequence[Line], follows: bool) -> list[str]:
        """The lines of a file as the answer has them; `follows` tells that others stand before."""
        texts: list[str] = []
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
            texts.append(("--\n" if separated else "") + place + text)
        return texts

    def _skips(self, scan: Scanned) -> str:
        """What could not be searched."""
        if not scan.skipped:
            return ""
        first = sorted(scan.skipped)[:_SKIPS_SHOWN]
        shown = "; ".join(f"{self.skipped_label(name)}: {reason}" for name, reason in first)
        more = len(scan.skipped) - len(first)
        rest = f"; and {more} more" if more > 0 else ""
        return f"{len(scan.skipped)} not searched: {shown}{rest}"

    def skipped_label(self, shown: str) -> str:
        """What could not be searched, as the answer names it."""
        return printable(shown)


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
    return f"output cut: {missing:,} more {kind}; next: offset {offset}"

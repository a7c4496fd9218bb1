"""grep: find a regular expression in documents.

The same over every mount: a `SearchedTree` says where a result came from and how its paths are
named. A result becomes text for a tool, or rows for a direct method.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from flashgrep.search.pattern import (
    PatternSpec,
    has_angle_escapes,
    has_line_anchors,
    never_empty,
)
from flashgrep.search.result import (
    FoundFile,
    Line,
    Page,
    SearchQuestion,
    counts_of,
    on_page,
)
from flashgrep.tools.dispatch.call import Answer, Budget, json_answer
from flashgrep.tools.dispatch.spec import Arguments, BriefSearch, Parameter, ToolSpec
from flashgrep.workspace.globs import NameFilter, globs_of

if TYPE_CHECKING:
    from flashgrep.mount import SearchedTree
    from flashgrep.search.result import Counting, Filters, Order, SearchResult
    from flashgrep.tools.dispatch.call import Call

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

_ATTEMPTS = 3  # files that change without an event, while they are searched


def run(call: Call, arguments: Arguments) -> Answer:
    """Search, page, and search again where what is shown changed meanwhile."""

    chars = call.output_chars

    def show(page: GrepPage) -> Answer:
        return json_answer(page.as_rows()) if call.direct else Answer(page.as_text(chars))

    return searched(call, arguments, chars, show)


def searched(
    call: Call, arguments: Arguments, chars: int, show: Callable[[GrepPage], Answer]
) -> Answer:
    """What is shown of a search, made again while what is shown changes.

    Within `chars` no more is searched for than may be shown; 0 has no end.
    """
    asked = GrepArguments(arguments)
    target = call.target(arguments.get("path"), "tree")
    place = target.mount.search(target.path, arguments.get("path"), arguments.find("view"))
    for _ in range(_ATTEMPTS):
        question = asked.question(place.order, chars)
        result = place.search(question, call.cancelled, call.report)
        page = GrepPage(asked, result, place, question)
        answer = show(page)
        if not result.stale(page.shown):
            result.answered()
            break
    return answer


EMPTY = "No matches found"
_NO_PARTS = "No matches found but empty ones"
_SKIPS_SHOWN = 3
_BRIEF_FILES = 100
"""A page of more is not tried at once: each file on it is compared with the disk."""
_NAME_CHARS = 24
_LINE_CHARS = 64  # what a name, or a line with its name, takes of a budget: little rather than much
_AT_ONCE = 4096  # files named before it is known how many of them fit


class GrepArguments:
    """One call's parameters, read."""

    def __init__(self, arguments: Arguments) -> None:
        """A type or glob that cannot be is refused here, before anything is searched."""
        get = arguments.get
        self.pattern = PatternSpec(
            arguments.text("pattern"), get("case_insensitive"), get("multiline")
        )
        self.mode: str = get("output_mode")
        self.only_matching = bool(get("only_matching") and self.mode == "content")
        around = [get("context_before"), get("context_after")]
        if self.only_matching:
            around = [0, 0]
        self.before, self.after = (
            (get("context") or 0) if lines is None else lines for lines in around
        )
        self.numbers: bool = get("line_numbers")
        self.limit: int = get("head_limit")
        self.offset: int = get("offset")
        self.filters = _filters(get("include"), get("type"))

    def question(self, order: Order, chars: int) -> SearchQuestion:
        """What has to be searched for the answer, at first: `order` is that of a list of files.

        As much as a budget of so many characters is likely to hold; 0 has no end.
        """
        is_content = self.mode == "content"
        return SearchQuestion(
            pattern=self.pattern,
            counting=self._counting(),
            filters=self.filters,
            wanted=self.wanted(1 + chars // (_LINE_CHARS if is_content else _NAME_CHARS), chars),
            results="matches" if is_content else "files",
            order=order if self.mode == "files_with_matches" else "walk",
            may_be_partial=True,
        )

    def wanted(self, count: int, chars: int) -> int:
        """How many results have to be known to show `count`, if the page asks for so many.

        One more shows whether there is more. 0 = all.
        """
        if not chars:
            return self.offset + self.limit + 1 if self.limit else 0
        return self.offset + (min(count, self.limit) if self.limit else count) + 1

    def _counting(self) -> Counting:
        if self.mode == "files_with_matches":
            return "files"
        if self.mode == "count":
            return "matches" if self.pattern.multiline else "lines"
        return "parts" if self.only_matching else "lines"


def _filters(include: Any, kind: str | None) -> Filters:
    filters: list[tuple[str, ...] | str] = []
    if kind is not None:
        filters.append(globs_of(kind))
    if include is not None:
        NameFilter(include)
        filters.append(include if isinstance(include, str) else tuple(include))
    return tuple(filters)


class GrepPage:
    """The page of a result that one call asks for."""

    def __init__(
        self,
        asked: GrepArguments,
        result: SearchResult,
        place: SearchedTree,
        question: SearchQuestion,
    ) -> None:
        self.shown: list[str] = []
        """The paths in the answer, so that these can be confirmed."""
        self.rows: list[tuple[str, list[Line]]] = []
        """Of content that was made within a budget: the lines it holds, by the file's name."""
        self.asked, self.result, self.place = asked, result, place
        self._order = question.order
        self._take(question.wanted)

    def _take(self, wanted: int) -> None:
        """Begin a page of as many results as were asked for, however many are known."""
        self._wanted = wanted
        self._files = self.result.files(self._order)
        """In the order of the answer."""
        is_content = self.asked.mode == "content"
        self.total = sum(counts_of(self._files)) if is_content else len(self._files)
        """How many results are known, on this page and on others; all, if fewer than wanted."""
        self.shown, self.rows = [], []
        self._cut = ""
        """What the page lacks and how to get it; empty where it is whole."""
        self._continues = False
        """Whether that names the call that continues."""
        self._next = 0
        """Where that call continues."""

    def _is_all_known(self) -> bool:
        """Whether what comes after the results wanted has no part in the answer."""
        asked, wanted = self.asked, self._wanted
        is_page = bool(asked.limit) and asked.offset + asked.limit < wanted
        return not wanted or self.total < wanted or is_page

    @property
    def _limit(self) -> int | None:
        """How many results the page has at most; None for all."""
        if not self._wanted:
            return self.asked.limit or None
        known = self._wanted - 1 - self.asked.offset
        return min(known, self.asked.limit) if self.asked.limit else known

    def _listed(self) -> Sequence[FoundFile]:
        page = self._files[self.asked.offset :]
        return page if self._limit is None else page[: self._limit]

    def _page(self, budget: int) -> Page:
        asked = self.asked
        return Page(
            files=on_page(self._files, asked.offset, self._limit),
            before=asked.before,
            after=asked.after,
            only_matching=asked.only_matching,
            budget=budget,
        )

    def following(self) -> int | None:
        """The offset of the next page; None where there is none."""
        if self._continues:
            return self._next
        following = self.asked.offset + self.asked.limit
        return following if self.asked.limit and following < self.total else None

    # ── rows ────────────────────────────────────────────────────────────────────────────────────

    def as_rows(self) -> dict[str, Any]:
        """The result of a direct method, without a budget."""
        place, result = self.place, self.result
        if self.asked.mode == "content":
            page = self._page(0)
            self.shown = [path for path, _, _ in page.files]
            data: dict[str, Any] = {"matches": self._matches(result.lines(page))}
        else:
            listed = self._listed()
            self.shown = [file.path for file in listed]
            labels = place.label(self.shown)
            if self.asked.mode == "count":
                rows = zip(labels, listed, strict=True)
                data = {"counts": [{"file_path": path, "count": file.count} for path, file in rows]}
            else:
                data = {"paths": labels}
        following = self.following()
        data |= {"truncated": following is not None, "next_offset": following}
        if result.skipped:
            skipped = sorted(result.skipped)
            data["skipped"] = [[place.label_skipped(path), why] for path, why in skipped]
        if result.remarks:
            data["notes"] = result.remarks
        return data

    def _matches(self, lines: list[tuple[str, list[Line]]]) -> list[dict[str, Any]]:
        labels = self.place.label([path for path, _ in lines])
        return [
            {"file_path": label, "line": number, "is_match": is_match, "text": text}
            for label, (_, lines_of_file) in zip(labels, lines, strict=True)
            for number, is_match, text in lines_of_file
        ]

    # ── text ────────────────────────────────────────────────────────────────────────────────────

    def as_text(self, chars: int) -> str:
        """The answer of a tool, within a budget of characters; 0 has no end."""
        text, last = self.as_parts(chars)
        return "\n".join(filter(None, [text, f"({last})" if last else ""]))

    def as_parts(self, chars: int) -> tuple[str, str]:
        """The same in two: the results, and what is said after them.

        Searches on while the results known so far leave room for more.
        """
        parts = self._parts(chars)
        while not self._continues and not self._is_all_known():
            count = 2 * (self._wanted - self.asked.offset)
            wanted = self.asked.wanted(count, chars)
            self.result.reach(wanted)
            self._take(wanted)
            parts = self._parts(chars)
        return parts

    def _parts(self, chars: int) -> tuple[str, str]:
        asked, place, total = self.asked, self.place, self.total
        text, empty, said = "", "", list[str]()
        if total == 0:
            text, parts = EMPTY, ""
            if asked.only_matching and not never_empty(asked.pattern):
                text, parts = (
                    _NO_PARTS,
                    "without -o (only_matching) their lines are shown",
                )
            why = filter(None, [parts, _why_empty(asked.pattern, place.kind)])
            empty = place.why_empty() or "; ".join(why)
        elif asked.offset >= total:
            empty = f"no more results: offset {asked.offset}, {total} in total"
        else:
            relative = f"paths are relative to {place.root}" if place.root else ""
            room = chars and max(chars - len(relative), chars // 2, 1)
            is_content = asked.mode == "content"
            text = self._content(chars, room) if is_content else self._list(Budget(room))
            following = None if self._continues else self.following()
            more = "" if following is None else f"more; next: offset {following}"
            said = [self._cut, more, relative]
        # The order is settled, so that a reader finds the offset first.
        skips = _skips(self.result, place)
        last = "; ".join(filter(None, [*said, skips, *self.result.remarks, empty]))
        return text, last

    def _list(self, budget: Budget) -> str:
        page = self._listed()
        for at in range(0, len(page), _AT_ONCE):
            some = list(page[at : at + _AT_ONCE])
            paths = [file.path for file in some]
            labels = self.place.label(paths)
            if self.asked.mode == "count":
                labels = [f"{name}:{file.count}" for name, file in zip(labels, some, strict=True)]
            taken = budget.take_first(labels)
            self.shown += paths[:taken]
            if taken < len(some):
                self._continue(len(page) - at - taken, "files", at + taken)
                break
        return budget.text()

    def _continue(self, missing: int, kind: str, shown: int) -> None:
        """Say where the next page starts, and how much is left if that was counted."""
        self._next = self.asked.offset + shown
        more = f"output cut: {missing:,} more {kind}" if self._is_all_known() else "output cut"
        self._cut = f"{more}; next: offset {self._next}"
        self._continues = True

    def _content(self, chars: int, room: int) -> str:
        page = self._page(chars)
        wanted = sum(last - first for _, first, last in page.files)
        budget = Budget(room)
        matches, is_cut = self._fill(self.result.lines(page), budget)
        if is_cut and not matches:
            # What precedes the first match fills the answer: the match is worth more.
            budget = Budget(room)
            matches, _ = self._fill(self.result.lines(page._replace(before=0)), budget)
        missing = wanted - matches
        kind = "matches" if self.asked.only_matching else "matching lines"
        if missing and matches and chars:
            self._continue(missing, kind, matches)
        elif missing:
            changed = "files changed during the search; search again"
            self._cut = f"{missing:,} {kind} not shown: {changed}"
        elif is_cut:
            self._cut = "output cut: context lines left out; ask for fewer"
        return budget.text()

    def _fill(self, lines: list[tuple[str, list[Line]]], budget: Budget) -> tuple[int, bool]:
        """Take lines while they fit; how many of them match, and whether one did not fit."""
        matches = 0
        self.rows = []
        labels = self.place.label([path for path, _ in lines])
        for label, (path, lines_of_file) in zip(labels, lines, strict=True):
            self.shown.append(path)
            texts = _lines(self.asked, label, lines_of_file, bool(budget.lines))
            taken = budget.take_first(texts)
            self.rows.append((label, lines_of_file[:taken]))
            matches += sum(is_match for _, is_match, _ in lines_of_file[:taken])
            if taken < len(texts):
                return matches, True
        return matches, False


def _why_empty(pattern: PatternSpec, kind: str) -> str:
    """Why there may be no match although one was expected; "" where nothing suggests that."""
    if not pattern.multiline and pattern.needs_newline:
        return "the pattern needs a newline, and patterns match within a line; set multiline: true"
    if pattern.multiline and has_line_anchors(pattern.source):
        return (
            f"with multiline ^ and $ are the ends of the {kind}; begin the pattern with (?m) to "
            "make them the ends of lines"
        )
    if has_angle_escapes(pattern.source):
        return r"\< and \> are the characters < and >; the border of a word is \b"
    return ""


def _lines(asked: GrepArguments, name: str, lines: Sequence[Line], follows: bool) -> list[str]:
    """The lines of a file as the answer has them; `follows` says that others come before."""
    texts: list[str] = []
    previous = None
    for number, is_match, text in lines:
        if asked.only_matching:
            separated = False
        elif previous is None:
            separated = follows
        else:
            separated = number > previous + 1
        previous = number
        mark = ":" if is_match else "-"
        start = f"{name}{mark}{number}{mark}" if asked.numbers else f"{name}{mark}"
        texts.append(("--\n" if separated else "") + start + text)
    return texts


def _skips(result: SearchResult, place: SearchedTree) -> str:
    """What could not be searched."""
    if not result.skipped:
        return ""
    first = sorted(result.skipped)[:_SKIPS_SHOWN]
    listed = "; ".join(f"{place.label_skipped(path)}: {reason}" for path, reason in first)
    more = len(result.skipped) - len(first)
    rest = f"; and {more} more" if more > 0 else ""
    return f"{len(result.skipped)} not searched: {listed}{rest}"


def _sought(arguments: Arguments) -> BriefSearch | None:
    """A word in the whole tree, or a page of files: a path may lead to a disk that does not answer,
    filters to as many names as there are, and lines with their context take longer to show."""
    get = arguments.get
    spec = PatternSpec(arguments.text("pattern"), get("case_insensitive"), get("multiline"))
    if spec.multiline or get("path") is not None:
        return None
    is_page = get("output_mode") == "files_with_matches" and 0 < get("head_limit") <= _BRIEF_FILES
    if is_page and get("include") is None and get("type") is None:
        return BriefSearch(spec, is_page)
    return BriefSearch(spec, False) if spec.is_plain else None


SPEC = ToolSpec(
    name="grep",
    title="Search file contents",
    description=DESCRIPTION,
    handler=run,
    direct=True,
    sought=_sought,
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
            on_names=True,
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
            "line_numbers", "boolean", "Show line numbers (content only)", compat="-n", default=True
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
            "Let patterns span lines, and . match newlines; ^ and $ then match the ends of the "
            "file, or of lines with (?m)",
            default=False,
        ),
        Parameter(
            "head_limit",
            "integer",
            "At most this many results: matching lines (content) or files; 0 = all",
            default=0,
            minimum=0,
        ),
        Parameter("offset", "integer", "Skip this many results first", default=0, minimum=0),
        Parameter(
            "only_matching",
            "boolean",
            "Only the matching parts, each on its own line; empty ones are left out (content only)",
            compat="-o",
            default=False,
            listed_normal=False,
        ),
    ),
)

"""grep: find a regular expression in documents.

The same over every mount: a `SearchedTree` says where a result came from and how its paths are
named. A result becomes text for a tool, or rows for a direct method; both functions also give the
paths that the answer shows, so that these can be confirmed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flashgrep.search.pattern import PatternSpec, has_line_anchors
from flashgrep.search.result import FoundFile, Line, Page, SearchQuestion, on_page
from flashgrep.tools.dispatch.call import Answer, Budget, json_answer
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec
from flashgrep.workspace.globs import NameFilter, globs_of

if TYPE_CHECKING:
    from flashgrep.mount import SearchedTree
    from flashgrep.search.result import Counting, Filters, SearchResult
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
    asked = GrepArguments.read(arguments)
    target = call.target(arguments.get("path"), "tree")
    searched = target.mount.search(target.path, arguments.get("path"), arguments.find("view"))
    for _ in range(_ATTEMPTS):
        result = searched.search(asked.question(), call.cancelled, call.report)
        if call.direct:
            rows, shown = as_rows(asked, result, searched)
            answer = json_answer(rows)
        else:
            text, shown = as_text(asked, result, searched, call.settings.max_output_chars)
            answer = Answer(text)
        if not result.stale(shown):
            break
    return answer


EMPTY = "No matches found"
_SKIPS_SHOWN = 3
_AT_ONCE = 4096  # files named before it is known how many of them fit


@dataclass(frozen=True)
class GrepArguments:
    """One call's parameters, read."""

    pattern: PatternSpec
    mode: str
    only_matching: bool
    before: int
    after: int
    numbers: bool
    limit: int
    offset: int
    filters: Filters

    @classmethod
    def read(cls, arguments: Arguments) -> GrepArguments:
        """A type or glob that cannot be is refused here, before anything is searched."""
        get = arguments.get
        mode: str = get("output_mode")
        around = get("context") or 0
        before, after = get("context_before"), get("context_after")
        only_matching = bool(get("only_matching") and mode == "content")
        if only_matching:
            before = after = 0
        return cls(
            pattern=PatternSpec(
                arguments.text("pattern"), get("case_insensitive"), get("multiline")
            ),
            mode=mode,
            only_matching=only_matching,
            before=around if before is None else before,
            after=around if after is None else after,
            numbers=get("line_numbers"),
            limit=get("head_limit"),
            offset=get("offset"),
            filters=_filters(get("include"), get("type")),
        )

    def question(self) -> SearchQuestion:
        """What has to be searched for the answer."""
        wanted = 0
        if self.limit and self.mode == "content":
            wanted = self.offset + self.limit + 1  # one more shows whether there is more
        return SearchQuestion(
            pattern=self.pattern,
            counting=self._counting(),
            filters=self.filters,
            wanted=wanted,
            may_be_partial=True,
        )

    def _counting(self) -> Counting:
        if self.mode == "files_with_matches":
            return "files"
        if self.mode == "count":
            return "matches" if self.pattern.multiline else "lines"
        return "matches" if self.only_matching else "lines"

    def found(self, result: SearchResult, place: SearchedTree) -> tuple[Sequence[FoundFile], int]:
        """The files in the order of the answer, and how many results they make."""
        if self.mode == "content":
            files = result.files()
            return files, sum(file.count for file in files)
        files = result.files(place.order if self.mode == "files_with_matches" else "walk")
        return files, len(files)

    def page(self, files: Sequence[FoundFile], budget: int = 0) -> Page:
        """The lines of the answer."""
        on = on_page(files, self.offset, self.limit or None)
        return Page(
            files=on,
            before=self.before,
            after=self.after,
            only_matching=self.only_matching,
            budget=budget,
        )

    def following(self, total: int) -> int | None:
        """The offset of the next page; None where there is none."""
        following = self.offset + self.limit
        return following if self.limit and following < total else None


def _filters(include: Any, kind: str | None) -> Filters:
    filters: list[tuple[str, ...] | str] = []
    if kind is not None:
        filters.append(globs_of(kind))
    if include is not None:
        NameFilter(include)
        filters.append(include if isinstance(include, str) else tuple(include))
    return tuple(filters)


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


def as_rows(
    asked: GrepArguments, result: SearchResult, place: SearchedTree
) -> tuple[dict[str, Any], list[str]]:
    """The result of a direct method, without a budget."""
    files, total = asked.found(result, place)
    if asked.mode == "content":
        page = asked.page(files)
        shown = [path for path, _, _ in page.files]
        data: dict[str, Any] = {"matches": _matches(result.lines(page), place)}
    else:
        listed = files[asked.offset :][: asked.limit or None]
        shown = [file.path for file in listed]
        labels = place.label(shown)
        if asked.mode == "count":
            rows = zip(labels, listed, strict=True)
            data = {"counts": [{"file_path": path, "count": file.count} for path, file in rows]}
        else:
            data = {"paths": labels}
    following = asked.following(total)
    data |= {"truncated": following is not None, "next_offset": following}
    if result.skipped:
        data["skipped"] = [[place.label_skipped(path), why] for path, why in sorted(result.skipped)]
    if result.remarks:
        data["notes"] = result.remarks
    return data, shown


def _matches(lines: list[tuple[str, list[Line]]], place: SearchedTree) -> list[dict[str, Any]]:
    labels = place.label([path for path, _ in lines])
    return [
        {"file_path": label, "line": number, "is_match": is_match, "text": text}
        for label, (_, lines_of_file) in zip(labels, lines, strict=True)
        for number, is_match, text in lines_of_file
    ]


# ── text ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class PageText:
    """A page as text, and what has to be said of it."""

    text: str
    shown: list[str]
    """The paths on it."""
    cut: str = ""
    """What the page lacks and how to get it; empty where it is whole."""
    continues: bool = False
    """Whether that names the call that continues."""


def as_text(
    asked: GrepArguments, result: SearchResult, place: SearchedTree, chars: int
) -> tuple[str, list[str]]:
    """The answer of a tool, within a budget of characters; 0 has no end."""
    files, total = asked.found(result, place)
    page = PageText("", [])
    said: list[str] = []
    empty = ""
    if total == 0:
        page, empty = (
            PageText(EMPTY, []),
            place.why_empty() or _why_empty(asked.pattern, place.kind),
        )
    elif asked.offset >= total:
        empty = f"no more results: offset {asked.offset}, {total} in total"
    else:
        relative = f"paths are relative to {place.root}" if place.root else ""
        room = max(chars - len(relative), chars // 2)
        if asked.mode == "content":
            page = _content(asked, result, place, files, chars, room)
        else:
            page = _listed(asked, place, files, Budget(room))
        following = None if page.continues else asked.following(total)
        more = "" if following is None else f"more; next: offset {following}"
        said = [page.cut, more, relative]
    # The order is settled, so that a reader finds the offset first.
    last = "; ".join(filter(None, [*said, _skips(result, place), *result.remarks, empty]))
    return "\n".join(filter(None, [page.text, f"({last})" if last else ""])), page.shown


def _why_empty(pattern: PatternSpec, kind: str) -> str:
    """Why there may be no match although one was expected; "" where nothing suggests that."""
    if not pattern.multiline and pattern.needs_newline:
        return "the pattern needs a newline, and patterns match within a line; set multiline: true"
    if pattern.multiline and has_line_anchors(pattern.source):
        return (
            f"with multiline ^ and $ are the ends of the {kind}; begin the pattern with (?m) to "
            "make them the ends of lines"
        )
    return ""


def _listed(
    asked: GrepArguments, place: SearchedTree, files: Sequence[FoundFile], budget: Budget
) -> PageText:
    page = files[asked.offset :]
    if asked.limit:
        page = page[: asked.limit]
    shown: list[str] = []
    for at in range(0, len(page), _AT_ONCE):
        some = list(page[at : at + _AT_ONCE])
        paths = [file.path for file in some]
        labels = place.label(paths)
        if asked.mode == "count":
            labels = [f"{name}:{file.count}" for name, file in zip(labels, some, strict=True)]
        taken = budget.take_first(labels)
        shown += paths[:taken]
        if taken < len(some):
            missing, following = len(page) - at - taken, asked.offset + at + taken
            return PageText(
                text=budget.text(),
                shown=shown,
                cut=_cut(missing, "files", following),
                continues=True,
            )
    return PageText(budget.text(), shown)


def _content(
    asked: GrepArguments,
    result: SearchResult,
    place: SearchedTree,
    files: Sequence[FoundFile],
    chars: int,
    room: int,
) -> PageText:
    page = asked.page(files, chars)
    wanted = sum(last - first for _, first, last in page.files)
    budget, shown = Budget(room), list[str]()
    matches, is_cut = _fill(asked, result.lines(page), place, budget, shown)
    if is_cut and not matches:
        # What precedes the first match fills the answer: the match is worth more.
        budget = Budget(room)
        matches, _ = _fill(asked, result.lines(page._replace(before=0)), place, budget, shown)
    text, missing = budget.text(), wanted - matches
    kind = "matches" if asked.only_matching else "matching lines"
    if missing and matches and chars:
        return PageText(
            text=text, shown=shown, cut=_cut(missing, kind, asked.offset + matches), continues=True
        )
    if missing:
        said = f"{missing:,} {kind} not shown: files changed during the search; search again"
        return PageText(text, shown, said)
    cut = "output cut: context lines left out; ask for fewer" if is_cut else ""
    return PageText(text, shown, cut)


def _fill(
    asked: GrepArguments,
    lines: list[tuple[str, list[Line]]],
    place: SearchedTree,
    budget: Budget,
    shown: list[str],
) -> tuple[int, bool]:
    """Take lines while they fit; how many of them match, and whether one did not fit."""
    matches = 0
    labels = place.label([path for path, _ in lines])
    for label, (path, lines_of_file) in zip(labels, lines, strict=True):
        shown.append(path)
        texts = _lines(asked, label, lines_of_file, bool(budget.lines))
        taken = budget.take_first(texts)
        matches += sum(is_match for _, is_match, _ in lines_of_file[:taken])
        if taken < len(texts):
            return matches, True
    return matches, False


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


def _cut(missing: int, kind: str, offset: int) -> str:
    return f"output cut: {missing:,} more {kind}; next: offset {offset}"


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
            "Let patterns span lines, and . match newlines; ^ and $ are then the ends of the file, "
            "those of lines with (?m)",
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
            "Only the matching parts, each on its own line (content only)",
            compat="-o",
            default=False,
            listed_normal=False,
        ),
    ),
)

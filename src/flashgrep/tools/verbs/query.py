"""query: the places in the workspace that best match a few words."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from flashgrep import limits
from flashgrep.errors import Cancelled, InvalidParams
from flashgrep.ranking.commits import heard
from flashgrep.ranking.path_kinds import ANY_KIND, KINDS, is_of_kind, path_weight
from flashgrep.ranking.question import RankedFile, RankedQuestion, any_form
from flashgrep.ranking.rerank import reranked
from flashgrep.search.pattern import PatternSpec, check
from flashgrep.search.result import SearchQuestion
from flashgrep.search.scan.texts import TextSearch
from flashgrep.tools.dispatch.call import (
    Answer,
    json_answer,
    json_room,
    json_text,
    skipped_rows,
)
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec, page_rows
from flashgrep.tools.format.passages import (
    MarkFinder,
    RankedTexts,
    best_passage,
    pattern_finder,
    word_finder,
)
from flashgrep.workspace.find import Finder, FindRequest
from flashgrep.workspace.globs import NameFilter
from flashgrep.workspace.scope import shown_path

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Call
    from flashgrep.tools.dispatch.spec import Arguments
    from flashgrep.workspace.scope import ResolvedPath

_SCANNED_WORDS: Final = 8
"""Words of a query that are searched for where there is no ranked index: each is a scan."""


# ── without a ranked index ───────────────────────────────────────────────────────────────────────


def rank_by_scanning(
    call: Call, question: RankedQuestion, place: ResolvedPath, filters: tuple[tuple[str, ...], ...]
) -> tuple[list[RankedFile], list[tuple[str, str]]]:
    """The files that hold a word of the question, best first; and what could not be searched.

    How rare a word is, is asked of the files that pass the filters: others are not scanned.
    """
    from flashgrep.ranking.scanned import rank_scanned  # here, not above: it loads numpy

    lines: dict[str, dict[str, int]] = {}
    skipped: dict[str, str] = {}
    for word in (*question.compounds, *question.words)[:_SCANNED_WORDS]:
        pattern = PatternSpec(any_form(word), case_insensitive=True)
        asked = SearchQuestion(pattern, "lines", filters)
        result = call.services.search.search(place, asked, call.cancelled, call.report)
        lines[word] = {file.path: file.count for file in result.files()}
        skipped.update(result.skipped)
    texts = RankedTexts(call.services.scope, place.path)
    sizes = _sizes(call, place, filters)
    files = rank_scanned(question, lines, sizes, lambda path: texts.whole(path) or b"")
    return files, sorted(skipped.items())


def _sizes(call: Call, place: ResolvedPath, filters: tuple[tuple[str, ...], ...]) -> dict[str, int]:
    """The size of every file that a search looks at."""
    wanted = FindRequest(follow_symlinks=True)
    finder = Finder(call.services.scope, place.path, wanted, call.cancelled.is_set)
    names = [NameFilter(group) for group in filters]
    return {
        entry.shown: entry.size
        for entry in finder.run().entries
        if all(one.keeps(entry.shown) for one in names)
    }


# ── query ────────────────────────────────────────────────────────────────────────────────────────


DESCRIPTION: Final = """\
Find where something is done from a few words, when you do not know the exact text: "retry failed \
uploads", "parse command line". Words match in any form, also in identifiers (camelCase and \
snake_case parts), file names and names of definitions. Best first, implementations before \
tests, docs, data and built files, one place per file, as JSON: results (file_path, start_line, \
end_line, score, symbol, preview), total, truncated, next_offset. Read on with get_slice.
- mode: "smart" (default), "literal" (exactly this text) or "regex" (RE2), ranked by how much \
of it a file contains. For all matches use grep.
- kind: only "code" or "docs", or "any" (default: all files, code first).
- include and exclude are globs; context adds lines around the preview."""


def run(call: Call, arguments: Arguments) -> Answer:
    """Rank files, then show the best lines of those on the page."""
    return _Query(call, arguments).answer()


class _Query:
    """One call's parameters, read."""

    def __init__(self, call: Call, arguments: Arguments) -> None:
        get = arguments.get
        self.call = call
        self.text = _checked_text(arguments.text("text"), get("mode"))
        self.mode: str = get("mode")
        self.limit: int = get("limit")
        self.offset: int = get("offset")
        self.kind: str = get("kind")
        self.context: int = min(get("context"), limits.QUERY_CONTEXT)
        self.place = call.services.scope.place(".")
        patterns = (tuple(get("include") or ()), tuple(f"!{p}" for p in get("exclude") or ()))
        self.filters = tuple(group for group in patterns if group)
        self._filters = [NameFilter(group) for group in self.filters]
        self.skipped: list[tuple[str, str]] = []
        self._texts = RankedTexts(call.services.scope, self.place.path)

    def keeps(self, path: str) -> bool:
        return all(one.keeps(path) for one in self._filters) and is_of_kind(path, self.kind)

    def answer(self) -> Answer:
        files, find = self._by_words() if self.mode == "smart" else self._by_pattern()
        results, following = self._page(files, find)
        answer: dict[str, Any] = {
            "results": results,
            "total": len(files),
            "truncated": following is not None,
            "next_offset": following,
        }
        return json_answer(answer | skipped_rows(self.skipped))

    # ── ranking ─────────────────────────────────────────────────────────────────────────────────

    def _by_words(self) -> tuple[list[RankedFile], MarkFinder]:
        question = RankedQuestion(self.text)
        if not question.words:
            raise InvalidParams(
                f"text {self.text[:80]!r} holds no word; to find signs, use mode literal, or grep"
            )
        files = self.call.services.index.ranked(self.text, self.keeps, self.call.cancelled.is_set)
        if files is None:
            found, self.skipped = rank_by_scanning(self.call, question, self.place, self.filters)
            files = [file for file in found if is_of_kind(file.path, self.kind)]
        files = reranked(question, files, self._texts.piece)
        history = self.call.services.commits
        if history is not None:
            files = heard(question, files, history.words())
        return files, word_finder(question)

    def _by_pattern(self) -> tuple[list[RankedFile], MarkFinder]:
        source = re.escape(self.text) if self.mode == "literal" else self.text
        pattern = PatternSpec(source, multiline="\n" in self.text)
        check(pattern)
        call = self.call
        asked = SearchQuestion(pattern, "matches" if pattern.multiline else "lines", self.filters)
        result = call.services.search.search(self.place, asked, call.cancelled, call.report)
        self.skipped = result.skipped
        files = [
            RankedFile(file.path, math.log2(1 + file.count) * path_weight(file.path))
            for file in result.files()
            if is_of_kind(file.path, self.kind)
        ]
        files.sort(key=lambda file: -file.score)  # stable: walk order among equals
        search = TextSearch(pattern, call.services.search.pool, call.cancelled)
        return files[: limits.QUERY_FILES], pattern_finder(search)

    # ── showing ─────────────────────────────────────────────────────────────────────────────────

    def _page(self, files: list[RankedFile], find: MarkFinder) -> tuple[list[Any], int | None]:
        left = json_room(self.call.output_chars)
        results: list[Any] = []
        end = min(self.offset + self.limit, len(files))
        for at in range(self.offset, end):
            if self.call.cancelled:
                raise Cancelled("The query was cancelled")
            result = self._result(files[at], find)
            if result is None:
                continue
            if left is not None:
                left -= len(json_text(result)) + 1
                if left < 0 and results:
                    return results, at
            results.append(result)
        return results, end if end < len(files) else None

    def _result(self, file: RankedFile, find: MarkFinder) -> dict[str, Any] | None:
        """A file's best place; None where it is gone, or no text, since it was ranked."""
        text = self._texts.whole(file.path)
        passage = None if text is None else best_passage(text, find, self.context)
        if passage is None:
            return None
        return {
            "file_path": shown_path(file.path),
            "start_line": passage.start_line,
            "end_line": passage.end_line,
            "score": round(file.score, 3),
            "symbol": passage.symbol,
            "preview": passage.preview,
        }


def _checked_text(text: str, mode: str) -> str:
    if not text.strip() and not (text and mode != "smart"):
        raise InvalidParams("text must not be empty; give a few words of what you look for")
    if len(text) > limits.QUERY_CHARS:
        raise InvalidParams(
            f"text has {len(text):,} characters; at most {limits.QUERY_CHARS:,}: a few words do"
        )
    return text


SPEC = ToolSpec(
    name="query",
    title="Find code by words",
    description=DESCRIPTION,
    handler=run,
    toolset="index",
    parameters=(
        Parameter("text", "string", "What to look for: a few words", required=True),
        *page_rows("results", 10),
        Parameter(
            "mode",
            "string",
            "How text is understood",
            choices=("smart", "literal", "regex"),
            default="smart",
        ),
        Parameter(
            "kind", "string", "Which files: code, docs, or any", choices=KINDS, default=ANY_KIND
        ),
        Parameter("include", "strings", 'Only files matching one of these globs, e.g. "*.py"'),
        Parameter("exclude", "strings", "Globs of files to leave out"),
        Parameter(
            "context", "integer", "Lines around each line of the preview", default=0, minimum=0
        ),
    ),
)

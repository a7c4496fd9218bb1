"""query: the places of the workspace that answer a few words best."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from flashgrep import limits
from flashgrep.errors import Cancelled, FlashgrepError, InvalidParams
from flashgrep.ranking.question import (
    RankedFile,
    RankedQuestion,
    any_form,
    frequency,
    path_weight,
    rarity,
)
from flashgrep.ranking.words import parts
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
    Finder,
    best_passage,
    pattern_finder,
    read_text,
    word_finder,
)
from flashgrep.workspace.globs import NameFilter
from flashgrep.workspace.scope import shown_path

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Call
    from flashgrep.tools.dispatch.spec import Arguments
    from flashgrep.workspace.scope import ResolvedPath

_SCANNED_WORDS: Final = 8
"""Words of a query that are searched for where there is no ranked index: each is a scan."""

_SCANNED_FILES: Final = 300
"""Files whose size is looked up for a ranking by scanning."""


# ── without a ranked index ───────────────────────────────────────────────────────────────────────
# Ranks files by searching for each word: for a query where there is no ranked index.
#
# Slower than the index, and the same kind of score: how often a word occurs in a file, against in
# how many files it does, and how large the file is.


_NAME_WEIGHT = 1.0
"""What a word in the path adds, of its rarity."""


def rank_by_scanning(
    call: Call, question: RankedQuestion, place: ResolvedPath, filters: tuple[tuple[str, ...], ...]
) -> tuple[list[RankedFile], list[tuple[str, str]]]:
    """The files that hold a word of the question, best first; and what could not be searched."""
    counts: dict[str, dict[str, int]] = {}
    skipped: dict[str, str] = {}
    for word in (*question.compounds, *question.words)[:_SCANNED_WORDS]:
        pattern = PatternSpec(any_form(word), case_insensitive=True)
        asked = SearchQuestion(pattern, "lines", filters)
        result = call.services.search.search(place, asked, call.cancelled, call.report)
        counts[word] = {file.path: file.count for file in result.files()}
        skipped.update(result.skipped)
    return _ranked(call, place, counts), sorted(skipped.items())


def _ranked(call: Call, place: ResolvedPath, counts: dict[str, dict[str, int]]) -> list[RankedFile]:
    paths = set().union(*counts.values()) if counts else set()
    total = len(paths)
    rarities = {word: rarity(total, len(files)) for word, files in counts.items()}
    rough = {path: _score(path, counts, rarities, 1.0) for path in paths}
    first = sorted(rough, key=lambda path: (-rough[path], path))[:_SCANNED_FILES]
    sizes = {path: _size(call, place, path) for path in first}
    average = max(1.0, sum(sizes.values()) / max(1, len(sizes)))
    for path, size in sizes.items():
        rough[path] = _score(path, counts, rarities, size / average)
    ordered = sorted(rough, key=lambda path: (path not in sizes, -rough[path], path))
    return [RankedFile(path, rough[path]) for path in ordered[: limits.QUERY_FILES]]


def _score(
    path: str, counts: dict[str, dict[str, int]], rarities: dict[str, float], length: float
) -> float:
    names: Sequence[str] = parts(path.encode("utf-8", "surrogateescape"))
    score = 0.0
    for word, files in counts.items():
        named = any(len(name) > 2 and word.startswith(name) for name in names)
        score += rarities[word] * (frequency(files.get(path, 0), length) + _NAME_WEIGHT * named)
    return score * path_weight(path)


def _size(call: Call, place: ResolvedPath, path: str) -> int:
    scope = call.services.scope
    try:
        fd, status = scope.open_regular(scope.follow(place.path + b"/" + os.fsencode(path)))
    except FlashgrepError:
        return 0
    os.close(fd)
    return status.st_size


# ── query ────────────────────────────────────────────────────────────────────────────────────────


DESCRIPTION: Final = """\
Find where something is done, by a few words, when you know no exact text: "retry failed \
uploads", "parse command line". Words match in any form, in identifiers too (camelCase and \
snake_case parts), in file names and in names of definitions. Best first, implementations before \
tests, one place a file, as JSON: results (file_path, start_line, end_line, score, symbol, \
preview), total, truncated, next_offset. Read on with get_slice.
- mode: "smart" (default), "literal" (exactly this text) or "regex" (RE2), ranked by how much a \
file holds of it. For all matches use grep.
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
        self.context: int = min(get("context"), limits.QUERY_CONTEXT)
        self.place = call.services.scope.place(".")
        patterns = (tuple(get("include") or ()), tuple(f"!{p}" for p in get("exclude") or ()))
        self.filters = tuple(group for group in patterns if group)
        self._filters = [NameFilter(group) for group in self.filters]
        self.skipped: list[tuple[str, str]] = []

    def keeps(self, path: str) -> bool:
        return all(one.keeps(path) for one in self._filters)

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

    def _by_words(self) -> tuple[list[RankedFile], Finder]:
        question = RankedQuestion(self.text)
        if not question.words:
            raise InvalidParams(
                f"text {self.text[:80]!r} holds no word; to find signs, use mode literal, or grep"
            )
        files = self.call.services.index.ranked(self.text, self.keeps, self.call.cancelled.is_set)
        if files is None:
            files, self.skipped = rank_by_scanning(self.call, question, self.place, self.filters)
        return files, word_finder(question)

    def _by_pattern(self) -> tuple[list[RankedFile], Finder]:
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
        ]
        files.sort(key=lambda file: -file.score)  # stable: walk order among equals
        search = TextSearch(pattern, call.services.search.pool, call.cancelled)
        return files[: limits.QUERY_FILES], pattern_finder(search)

    # ── showing ─────────────────────────────────────────────────────────────────────────────────

    def _page(self, files: list[RankedFile], find: Finder) -> tuple[list[Any], int | None]:
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

    def _result(self, file: RankedFile, find: Finder) -> dict[str, Any] | None:
        """A file's best place; None where it is gone, or no text, since it was ranked."""
        root = self.place.path.rstrip(b"/")
        text = read_text(self.call.services.scope, root + b"/" + os.fsencode(file.path))
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
        Parameter("include", "strings", 'Only files matching one of these globs, e.g. "*.py"'),
        Parameter("exclude", "strings", "Globs of files to leave out"),
        Parameter(
            "context", "integer", "Lines around each line of the preview", default=0, minimum=0
        ),
    ),
)

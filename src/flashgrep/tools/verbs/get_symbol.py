"""get_symbol: where a name is defined, and every line that names it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from flashgrep import limits
from flashgrep.errors import Cancelled, InvalidParams
from flashgrep.ranking.path_kinds import path_weight
from flashgrep.ranking.symbols import POSSIBLE, NotParsed, Shapes, word_pattern
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import FoundFile, Page, SearchQuestion, counts_of, on_page
from flashgrep.tools.dispatch.call import (
    Answer,
    fitting,
    json_answer,
    json_room,
    json_text,
    skipped_rows,
)
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec, page_rows
from flashgrep.tools.format.passages import read_text
from flashgrep.workspace.scope import shown_path

if TYPE_CHECKING:
    from flashgrep.search.result import SearchResult
    from flashgrep.tools.dispatch.call import Call
    from flashgrep.tools.dispatch.spec import Arguments

DESCRIPTION: Final = """\
Find a symbol by its exact name: where it is defined, and every line of the workspace that names \
it (as a whole word, case-sensitive; complete for any language, comments and text too), as JSON: \
definitions (file_path, line, kind, signature), references (file_path, line, text), total \
references (null if not all were counted), truncated, next_offset. Definitions come from \
parsing (C, C++, C#, Go, Java, JavaScript, TypeScript, Python, Ruby, Rust, PHP, shell) or, \
for other languages, from the shape of lines. limit and offset page through references. If there \
are many definitions, definitions_left_out are not shown; their lines are references too."""

_ROW_CHARS: Final = 34
"""The least that a reference takes of an answer."""

_FIRST_SHARE: Final = 2
_LATER_SHARE: Final = 16
"""What part of an answer definitions take at most: many are not repeated on every page."""

_MORE_BYTES: Final = 256 * 1024
"""Once a definition is known, so much more is parsed for lines that are most likely uses."""


@dataclass(frozen=True)
class Definition:
    """Where a symbol is defined."""

    file_path: str
    line: int
    kind: str
    signature: str


def run(call: Call, arguments: Arguments) -> Answer:
    """Find definitions and references; page the references."""
    name = _checked(arguments.text("symbol_name"))
    offset: int = arguments.get("offset")
    limit: int | None = arguments.get("limit")
    wanted = _wanted(call, offset, limit)
    result = _searched(call, name, wanted)
    files = result.files()
    known = sum(counts_of(files))
    search = _SymbolSearch(call, name)
    search.run(result, files)
    found = [vars(definition) for definition in search.in_order()]
    shown = _shown(call, found, offset)
    answer: dict[str, Any] = {"symbol_name": name, "definitions": shown}
    if len(shown) < len(found):
        answer["definitions_left_out"] = len(found) - len(shown)
    if not search.is_complete:
        answer["definitions_incomplete"] = True
    used = len(json_text(answer))
    references = _references(call, result, files, offset, limit, used)
    following = offset + len(references)
    is_cut = following < known and bool(references)
    answer["references"] = references
    answer["total"] = known if not wanted or known < wanted else None
    answer["truncated"] = is_cut
    answer["next_offset"] = following if is_cut else None
    result.answered()
    return json_answer(answer | skipped_rows(result.skipped))


def _shown(call: Call, found: list[dict[str, Any]], offset: int) -> list[dict[str, Any]]:
    """The definitions that an answer has room for beside references, which name them all."""
    room = json_room(call.output_chars)
    if room is None:
        return found
    return fitting(found, room // (_FIRST_SHARE if not offset else _LATER_SHARE))


def definitions_of(call: Call, name: str) -> list[Definition]:
    """The definitions of a symbol, implementations first."""
    result = _searched(call, _checked(name), limits.SYMBOL_LINES + 1)
    search = _SymbolSearch(call, name)
    search.run(result, result.files())
    return search.in_order()


def _checked(name: str) -> str:
    if not name.strip():
        raise InvalidParams("symbol_name must not be empty")
    if len(name) > limits.SYMBOL_CHARS:
        raise InvalidParams(
            f"symbol_name has {len(name):,} characters; at most {limits.SYMBOL_CHARS:,}"
        )
    if re.search(r"[\n\r\0]", name):
        raise InvalidParams("symbol_name holds a line end or NUL; a name is on one line")
    return name


def _wanted(call: Call, offset: int, limit: int | None) -> int:
    """How many lines have to be known: those that may define it, those of the page and one more.

    0 = all.
    """
    rows = [limit] if limit is not None else []
    rows += [call.output_chars // _ROW_CHARS + 1] if call.output_chars else []
    return max(limits.SYMBOL_LINES, offset + min(rows)) + 1 if rows else 0


def _searched(call: Call, name: str, wanted: int) -> SearchResult:
    place = call.services.scope.place(".")
    asked = SearchQuestion(PatternSpec(word_pattern(name)), "lines", wanted=wanted)
    return call.services.search.search(place, asked, call.cancelled, call.report)


# ── definitions ─────────────────────────────────────────────────────────────────────────────────


class _Candidate(NamedTuple):
    grade: int
    weight: float
    """Of its path, negated: implementations sort first."""
    path: str
    lines: list[int]


class _SymbolSearch:
    """Looks for the definitions of one name among the lines that contain it."""

    def __init__(self, call: Call, name: str) -> None:
        self._call = call
        self._name = name
        self._root = call.services.scope.place(".").path.rstrip(b"/")
        self._parsed = 0
        self.found: list[Definition] = []
        self.is_complete = True

    def in_order(self) -> list[Definition]:
        """Implementations before tests and declarations, else by path and line."""
        return sorted(
            self.found, key=lambda one: (-path_weight(one.file_path), one.file_path, one.line)
        )

    def run(self, result: SearchResult, files: Sequence[FoundFile]) -> None:
        """Parse the files whose lines look like a definition, then some that may hold one."""
        candidates = self._candidates(result, files)
        self._parse([one for one in candidates if one.grade < POSSIBLE], None)
        rest = [one for one in candidates if one.grade == POSSIBLE]
        self._parse(rest, _MORE_BYTES if self.found else None)

    def _candidates(self, result: SearchResult, files: Sequence[FoundFile]) -> list[_Candidate]:
        """The files that could define the name, the likeliest first."""
        shapes = Shapes(self._name)
        self.is_complete = sum(counts_of(files)) <= limits.SYMBOL_LINES
        page = Page(on_page(files, 0, limits.SYMBOL_LINES))
        found: list[_Candidate] = []
        for path, lines in result.lines(page):
            grades = [(shapes.grade(text), number) for number, _, text in lines]
            best = min((grade for grade, _ in grades if grade is not None), default=None)
            if best is not None:
                numbers = [number for grade, number in grades if grade is not None]
                found.append(
                    _Candidate(grade=best, weight=-path_weight(path), path=path, lines=numbers)
                )
        return sorted(found)

    def _parse(self, candidates: Sequence[_Candidate], most_bytes: int | None) -> None:
        for candidate in candidates:
            if self._call.cancelled:
                raise Cancelled("The search was cancelled")
            if self._parsed >= limits.SYMBOL_FILES:
                self.is_complete = False
                return
            full = self._root + b"/" + os.fsencode(candidate.path)
            text = read_text(self._call.services.scope, full)
            if text is None:
                continue
            if most_bytes is not None:
                most_bytes -= len(text)
                if most_bytes < 0:
                    return
            self._parsed += 1
            self._add(candidate.path, text, candidate.lines)

    def _add(self, path: str, text: bytes, lines: list[int]) -> None:
        if len(text) > limits.SYMBOL_FILE_BYTES:
            self.is_complete = False
            return
        parser = self._call.services.symbols
        try:
            found = parser.definitions(path, text, self._name, lines, self._call.cancelled)
        except NotParsed:
            self.is_complete = False
            return
        shown = shown_path(path)
        self.found.extend(Definition(shown, *definition) for definition in found)


# ── references ──────────────────────────────────────────────────────────────────────────────────


def _references(
    call: Call,
    result: SearchResult,
    files: Sequence[FoundFile],
    offset: int,
    limit: int | None,
    used: int,
) -> list[dict[str, Any]]:
    """The lines of the page, as many as the answer has room for."""
    page = Page(on_page(files, offset, limit), budget=call.output_chars)
    rows = (
        {"file_path": shown_path(name), "line": number, "text": text.strip()}
        for name, lines in result.lines(page)
        for number, _, text in lines
    )
    return fitting(rows, json_room(call.output_chars, used))


SPEC = ToolSpec(
    name="get_symbol",
    title="Find a symbol",
    description=DESCRIPTION,
    handler=run,
    toolset="index",
    parameters=(
        Parameter("symbol_name", "string", "The exact name", required=True),
        *page_rows("references"),
    ),
)

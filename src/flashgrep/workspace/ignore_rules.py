"""`.gitignore` rules as git reads them, and fast enough for whole directories at a time.

    parse_rules   the bytes of one rule file → Rules
    Rules         decide() one path; touched() names the few entries of a directory to decide
    IgnoreChain   the rule files from the top down to one directory; split() its entries

Git matches bytes, so the rules become RE2 in Latin-1 mode. RE2 is what keeps a hostile chain of
`**` linear. The definition is `decide_line_by_line`: the last line that matches wins. The fast
form asks RE2 once per directory and rule file, with all names joined by NUL (the one byte no name
holds) whether any line matches any name; only those that are touched are decided one by one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from re2 import _re2

from flashgrep import limits
from flashgrep.workspace.ignore_lines import DIRECTORIES, MANY, IgnoreLine, parse_lines

_IGNORE_RE2_BYTES: Final = 8 * limits.MIB
"""RE2's budget for one union of ignore rules; a union that does not fit is halved."""

_REMEMBERED_RULES: Final = 16
"""Rule files whose rules are kept ready: those above the directories that are searched."""

_BOTH = _re2.RE2.Anchor.ANCHOR_BOTH
_UNANCHORED = _re2.RE2.Anchor.UNANCHORED


# ── many lines in one expression ────────────────────────────────────────────────────────────────


def _compiled(source: str) -> Any | None:
    options = _re2.RE2.Options()
    options.log_errors = False
    options.never_capture = True
    options.encoding = _re2.RE2.Options.Encoding.LATIN1
    options.max_mem = _IGNORE_RE2_BYTES
    expression = _re2.RE2(source.encode(), options)
    return expression if expression.ok() else None


def _whole(expression: Any, subject: bytes) -> bool:
    found: bool = expression.Match(_BOTH, subject, 0, len(subject))[0][0] == 0
    return found


def _unions(lines: Sequence[IgnoreLine], spell: Callable[[Sequence[IgnoreLine]], str]) -> list[Any]:
    """Compile lines into as few expressions as RE2's budget allows."""
    expression = _compiled(spell(lines))
    if expression is not None:
        return [expression]
    if len(lines) == 1:  # one line over the whole budget asks for names of 100,000 bytes and more
        return []
    half = len(lines) // 2
    return _unions(lines[:half], spell) + _unions(lines[half:], spell)


def _alternation(sources: Iterable[str]) -> str:
    """Join sources; sorted, because RE2 shares what neighbours begin with.

    It does not share a leading `*` by itself, and hundreds of `*.x` would each keep a loop alive
    in every state.
    """
    ordered = sorted(set(sources))
    starred = [source.removeprefix(MANY) for source in ordered if source.startswith(MANY)]
    others = [source for source in ordered if not source.startswith(MANY)]
    return "(?:" + "|".join(others + ([f"{MANY}(?:{'|'.join(starred)})"] if starred else [])) + ")"


def _spelled(
    lines: Sequence[IgnoreLine], suffix: Callable[[IgnoreLine], str], on_paths: bool
) -> str:
    names = [line.source + suffix(line) for line in lines if line.on_name]
    paths = [line.source + suffix(line) for line in lines if not line.on_name]
    ways = [(DIRECTORIES if on_paths else "") + _alternation(names)] if names else []
    return "(?:" + "|".join([*ways, *([_alternation(paths)] if paths else [])]) + ")"


def _directory_suffix(line: IgnoreLine) -> str:
    # A slash would be the natural mark, but `x/**` would then match the directory `x/` itself.
    return r"\x00" if line.directory_only else r"\x00?"


def _marked(path: bytes, is_directory: bool) -> bytes:
    """A subject for one decision: a directory ends in the byte that no name holds."""
    return path + b"\0" if is_directory else path


class _Span:
    """Consecutive lines as a tree of halves: the last match is found in a few questions."""

    def __init__(self, lines: Sequence[IgnoreLine], on_paths: bool) -> None:
        self.lines = lines
        self._on_paths = on_paths
        self._expressions: list[Any] | None = None
        self._halves: tuple[_Span, _Span] | None = None
        self.unanimous = len({line.negated for line in lines}) < 2
        """All lines say the same, so that it does not matter which one matched."""

    def matches(self, subject: bytes) -> bool:
        """Whether any line matches a path, marked when it is a directory."""
        if self._expressions is None:
            self._expressions = _unions(
                self.lines, lambda lines: _spelled(lines, _directory_suffix, self._on_paths)
            )
        return any(_whole(expression, subject) for expression in self._expressions)

    def decide(self, subject: bytes) -> bool | None:
        if not self.matches(subject):
            return None
        span = self
        while not span.unanimous:
            earlier, later = span._split()
            span = later if later.matches(subject) else earlier
        return not span.lines[0].negated

    def _split(self) -> tuple[_Span, _Span]:
        if self._halves is None:
            half = len(self.lines) // 2
            earlier, later = self.lines[:half], self.lines[half:]
            self._halves = _Span(earlier, self._on_paths), _Span(later, self._on_paths)
        return self._halves


class _LinesAtDepth:
    """The lines that can match an entry at one depth below their rule file."""

    def __init__(self, lines: Sequence[IgnoreLine]) -> None:
        self.lines = tuple(lines)
        self.on_paths = not all(line.on_name for line in lines)
        self._span = _Span(self.lines, self.on_paths)
        self._joined: list[Any] | None = None

    def decide(self, subject: bytes) -> bool | None:
        return self._span.decide(subject) if self.lines else None

    def touched(self, text: bytes) -> list[int]:
        """Positions among subjects joined as NUL subject NUL subject NUL that any line matches."""
        if not self.lines:
            return []
        if self._joined is None:
            self._joined = _unions(
                self.lines,
                lambda lines: rf"\x00{_spelled(lines, lambda _: '', self.on_paths)}\x00",
            )
        if len(self._joined) == 1:
            return _positions(self._joined[0], text)
        return sorted({at for expression in self._joined for at in _positions(expression, text)})


def _positions(expression: Any, text: bytes) -> list[int]:
    found: list[int] = []
    size = len(text)
    at = index = counted = 0
    while True:
        start, end = expression.Match(_UNANCHORED, text, at, size)[0]
        if start < 0:
            return found
        index += text.count(b"\0", counted, start)
        found.append(index)
        counted = start
        at = end - 1  # the closing NUL opens the next subject


def _joined(names: Sequence[str], prefix: str = "") -> bytes:
    begin = "\0" + prefix
    return os.fsencode(f"{begin}{begin.join(names)}\0")


# ── what others use ─────────────────────────────────────────────────────────────────────────────


class Rules:
    """The rules of one file, about paths relative to its directory."""

    def __init__(self, lines: Sequence[IgnoreLine]) -> None:
        self.lines = tuple(lines)
        paths = [line for line in self.lines if not line.on_name]
        self._depths = {line.depth for line in paths if line.depth is not None}
        crosses = any(line.depth is None for line in paths)
        self.reach = None if crosses else max(self._depths, default=0)
        """From this depth on the path above an entry no longer matters; None: it always does."""
        self._by_depth: dict[int, _LinesAtDepth] = {}

    def __bool__(self) -> bool:
        return bool(self.lines)

    def decide(self, relative: bytes, is_directory: bool) -> bool | None:
        """True: ignored; False: re-included by `!`; None: no rule matches."""
        speakers = self.at_depth(relative.count(b"/"))
        subject = relative if speakers.on_paths else relative.rpartition(b"/")[2]
        return speakers.decide(_marked(subject, is_directory))

    def at_depth(self, depth: int) -> _LinesAtDepth:
        """The rules that can match an entry with this many directories above it."""
        key = depth if depth + 1 in self._depths else -1
        if key not in self._by_depth:
            wanted = (None, depth + 1) if key >= 0 else (None,)
            lines = [line for line in self.lines if line.on_name or line.depth in wanted]
            self._by_depth[key] = _LinesAtDepth(lines)
        return self._by_depth[key]

    @lru_cache(_REMEMBERED_RULES)  # noqa: B019 - few are kept, and each search asks again
    def admitting(self, relative: bytes, is_directory: bool) -> Rules:
        """Drop the rules by which this one path is ignored; those a later `!` beat stay."""
        if self.decide(relative, is_directory) is not True:
            return self
        dropped: set[IgnoreLine] = set()
        for line in reversed(self.lines):
            if _line_matches(line, relative, is_directory):
                if line.negated:
                    break
                dropped.add(line)
        return Rules([line for line in self.lines if line not in dropped])


@lru_cache(_REMEMBERED_RULES)
def parse_rules(data: bytes) -> Rules:
    """Read a rule file; a line that can match nothing is left out, alone.

    Remembered: each search below a directory with rules asks for the same ones, some 50 µs a line.
    """
    return Rules(parse_lines(data))


def decide_line_by_line(rules: Rules, relative: bytes, is_directory: bool) -> bool | None:
    """The definition that `Rules.decide` must equal: the last line that matches wins."""
    for line in reversed(rules.lines):
        if _line_matches(line, relative, is_directory):
            return not line.negated
    return None


def _line_matches(line: IgnoreLine, relative: bytes, is_directory: bool) -> bool:
    if line.directory_only and not is_directory:
        return False
    subject = relative.rpartition(b"/")[2] if line.on_name else relative
    expression = _compiled(line.source)
    return expression is not None and _whole(expression, subject)


@dataclass(frozen=True, slots=True)
class _DirectoryRules:
    """One rule file above a directory, and the way down from it."""

    rules: Rules
    depth: int = 0
    parent: bytes = b""

    def below(self, name: bytes) -> _DirectoryRules:
        reach = self.rules.reach
        if reach is not None and self.depth >= reach:
            return self  # only names count from here on, so the path need not grow
        return _DirectoryRules(self.rules, self.depth + 1, self.parent + name + b"/")

    def decide(self, name: bytes, is_directory: bool) -> bool | None:
        speakers = self.rules.at_depth(self.depth)
        path = self.parent + name if speakers.on_paths else name
        return speakers.decide(_marked(path, is_directory))

    def admitting(self, name: bytes, is_directory: bool) -> _DirectoryRules:
        rules = self.rules.admitting(self.parent + name, is_directory)
        return _DirectoryRules(rules, self.depth, self.parent)

    def touched(self, names: Sequence[str], joined: bytes) -> list[int]:
        speakers = self.rules.at_depth(self.depth)
        if speakers.on_paths and self.parent:
            joined = _joined(names, os.fsdecode(self.parent))
        return speakers.touched(joined)


@dataclass(frozen=True, slots=True)
class IgnoreChain:
    """The rule files that govern one directory's entries, the topmost first.

    Only levels that have rules are kept, so a deep tree with few rule files costs little.
    """

    levels: tuple[_DirectoryRules, ...] = ()

    def child(self, name: bytes) -> IgnoreChain:
        """Descend into a subdirectory; `with_rules` adds its own rules."""
        return IgnoreChain(tuple(level.below(name) for level in self.levels))

    def with_rules(self, rules: Rules | None) -> IgnoreChain:
        """Add the rules of this directory itself."""
        return IgnoreChain((*self.levels, _DirectoryRules(rules))) if rules else self

    def keeps(self, names: Sequence[str], is_directory: Callable[[int], bool]) -> list[bool]:
        """Whether each entry of this directory is kept; ignored ones are False.

        `is_directory` is asked by position, and only for entries that some rule touches.
        """
        kept = [True] * len(names)
        if not self.levels or not names:
            return kept
        joined = _joined(names)
        decided: set[int] = set()
        for level in reversed(self.levels):
            for at in level.touched(names, joined):
                if at not in decided:
                    verdict = level.decide(os.fsencode(names[at]), is_directory(at))
                    if verdict is not None:
                        decided.add(at)
                        kept[at] = not verdict
        return kept

    def admitting(self, name: bytes, is_directory: bool) -> IgnoreChain:
        """Drop the rules that ignore one entry of this directory: it leads to the search root."""
        levels = list(self.levels)
        for at in reversed(range(len(levels))):
            verdict = levels[at].decide(name, is_directory)
            if verdict is False:
                break
            if verdict is True:
                levels[at] = levels[at].admitting(name, is_directory)
                if levels[at].decide(name, is_directory) is False:
                    break
        return IgnoreChain(tuple(levels))

"""The one pattern that -e, -f, -F, -w, -x, -i, -S and -U together mean."""

from __future__ import annotations

import os
import re
import string
import sys
from collections.abc import Sequence

from flashgrep.errors import InvalidPattern
from flashgrep.search.pattern import PatternSpec, check
from flashgrep.workspace.safe_open import open_named

_ESCAPES = re.compile(r"\\(?:[pP]\{[^}]*\}|[pP].|x\{[^}]*\}|.)", re.DOTALL)


def pattern_of(
    sources: Sequence[str],
    *,
    fixed: bool = False,
    word: bool = False,
    whole_line: bool = False,
    ignore_case: bool = False,
    smart_case: bool = False,
    multiline: bool = False,
    dotall: bool = False,
) -> PatternSpec:
    """Join alternatives and flags into a pattern that compiles, or `InvalidPattern`."""
    if smart_case and not ignore_case:
        ignore_case = not any(_has_capital(source, fixed) for source in sources)
    for source in sources:
        if not fixed:
            # One by one, so that an unclosed group is not closed by its neighbour.
            check(PatternSpec(source or "(?:)", ignore_case, multiline))
    spelled = [quoted(source) if fixed else source for source in sources]
    source = spelled[0] if len(spelled) == 1 else "|".join(f"(?:{each})" for each in spelled)
    if multiline:
        # As ripgrep: ^ and $ are a line's ends, and . stays on its line unless asked otherwise.
        source = f"(?m:{source})" if dotall else f"(?m-s:{source})"
    if whole_line:
        source = f"(?m:^)(?:{source})(?m:$)" if multiline else f"^(?:{source})$"
    elif word:
        source = rf"\b(?:{source})\b"
    spec = PatternSpec(source or "(?:)", ignore_case, multiline)
    check(spec)
    return spec


def read_patterns(path: str) -> list[str]:
    """The patterns of -f: one a line; `-` is stdin."""
    found = (sys.stdin.read() if path == "-" else _text(path)).splitlines()
    if not found:
        raise InvalidPattern(f"-f {path}: the file holds no pattern")
    return found


def _text(path: str) -> str:
    with os.fdopen(open_named(path, may_wait=True), encoding="utf-8") as file:
        return file.read()


def quoted(text: str) -> str:
    """A pattern that matches exactly `text`."""
    return "".join(f"\\{c}" if c in string.punctuation else c for c in text)


def _has_capital(source: str, fixed: bool) -> bool:
    literal = source if fixed else _ESCAPES.sub("", source)
    return any(character.isupper() for character in literal)

"""What a pattern means: RE2 syntax, and the definition of a match every fast way is tested against.

The definition is line by line: split the text at `\\n`, drop one trailing `\\r`, test each line
alone. So `\\s` never matches a newline, and `^`, `$`, `\\A`, `\\z` are the line's own ends. With
`multiline` the whole text is one subject, and `.` matches newlines too. A byte that is not valid
UTF-8 matches no character.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from re2 import _re2

from flashgrep import limits
from flashgrep.errors import InvalidPattern

_PARTS: Final = re.compile(
    r"""\\Q.*?(?:\\E|\Z)                                      # quoted
    |   \\.                                                   # escaped
    |   \[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]               # a class
    |   \(\?(?P<flags>[a-zA-Z-]*)[:)]                         # flags
    |   (?P<anchor>[\^$])
    """,
    re.VERBOSE | re.DOTALL,
)
"""What tells an anchor from the same character where it is none."""

UNANCHORED: Final = _re2.RE2.Anchor.UNANCHORED
NO_MATCH: Final = -1
Span = tuple[int, int]
NOTHING: Final[Span] = (NO_MATCH, NO_MATCH)
_TOO_LARGE: Final = "pattern too large"
_SHORT_CHARS: Final = 1_000


@dataclass(frozen=True)
class PatternSpec:
    """A pattern as it was asked for; plain data, so that it can cross to a worker."""

    source: str
    case_insensitive: bool = False
    multiline: bool = False

    @property
    def flagged(self) -> str:
        """The pattern with the flags the parameters stand for."""
        flags = "(?i)" if self.case_insensitive else ""
        return flags + ("(?s)" if self.multiline else "") + self.source


@lru_cache(maxsize=limits.REMEMBERED_PATTERNS)
def compiled(pattern: str, *, never_newline: bool = False) -> Any:
    """An RE2 object; `InvalidPattern` with RE2's own words where it does not compile.

    Remembered, because agents page; it may be used by several threads.
    """
    return _compiled(pattern, never_newline, limits.RE2_BYTES)


def _compiled(pattern: str, never_newline: bool, most_bytes: int) -> Any:
    options = _re2.RE2.Options()
    options.log_errors = False  # RE2 would write to stderr on its own
    options.never_capture = True
    options.never_nl = never_newline
    options.max_mem = most_bytes
    regex = _re2.RE2(pattern.encode("utf-8"), options)
    if regex.ok():
        return regex
    reason = regex.error().decode("utf-8", "replace")
    if reason.startswith(_TOO_LARGE):
        raise InvalidPattern(
            "Invalid regex pattern: it is too large when compiled, over "
            f"{limits.PATTERN_STEPS:,} steps; "
            "use smaller repetition counts ({n,m} writes its part out m times, \\pL has 1,200)"
        )
    raise InvalidPattern(f"Invalid regex pattern: {reason}. The syntax is RE2 (as in Go)")


def check(spec: PatternSpec) -> None:
    """Refuse a pattern that cannot be searched for, with the reason."""
    if not spec.source:
        raise InvalidPattern("pattern must not be empty")
    if len(spec.source) > limits.PATTERN_CHARS:
        raise InvalidPattern(
            f"pattern has {len(spec.source):,} characters; at most {limits.PATTERN_CHARS:,}"
        )
    if uses_single_byte(spec.source):
        raise InvalidPattern(
            "Invalid regex pattern: \\C (any byte) is not supported; use . instead"
        )
    if _can_be_large(spec.source):
        # Compiled for nothing but its size, with so little memory that RE2 gives up early.
        regex = _compiled(spec.flagged, False, limits.PATTERN_CHECK_BYTES)
        if regex.ProgramSize() > limits.PATTERN_STEPS:
            raise InvalidPattern(
                f"Invalid regex pattern: it has {regex.ProgramSize():,} steps when compiled; at "
                f"most {limits.PATTERN_STEPS:,}: use smaller repetition counts"
            )
    compiled(spec.flagged)


def _can_be_large(source: str) -> bool:
    """Whether a pattern may compile to many more steps than it has characters."""
    return "{" in source or "\\p" in source or "\\P" in source or len(source) > _SHORT_CHARS


def uses_single_byte(source: str) -> bool:
    """Whether `\\C` stands in a pattern: it can match half a character, or a newline."""
    at = 0
    while (at := source.find("\\", at)) >= 0:
        escape = source[at + 1 : at + 2]
        if escape == "C":
            return True
        end = source.find("\\E", at + 2) if escape == "Q" else -1
        if escape == "Q" and end < 0:
            return False
        at = end + 2 if escape == "Q" else at + 2
    return False


def has_line_anchors(source: str) -> bool:
    """Whether `^` or `$` stands in a pattern as an anchor, and no `(?m)` makes them line ends."""
    found = False
    for part in _PARTS.finditer(source):
        if part["flags"] is not None and "m" in part["flags"].partition("-")[0]:
            return False
        found = found or part["anchor"] is not None
    return found


def matching_lines(spec: PatternSpec, text: bytes) -> list[int]:
    """The definition: 0-based numbers of the lines that match. Slow, obvious, the oracle."""
    regex = compiled(spec.flagged)
    found = []
    for number, line in enumerate(split_lines(characters_alone(text))):
        if regex.Match(UNANCHORED, line, 0, len(line))[0][0] != NO_MATCH:
            found.append(number)
    return found


def characters_alone(text: bytes) -> bytes:
    """A text with every byte that is not valid UTF-8 replaced by FF, which RE2 never matches."""
    decoded = text.decode("utf-8", "surrogateescape")  # one lone surrogate for each such byte
    invalid = dict.fromkeys(range(0xDC80, 0xDD00), "\udcff")
    return decoded.translate(invalid).encode("utf-8", "surrogateescape")


def split_lines(text: bytes) -> list[bytes]:
    """The lines of a text: cut at `\\n`, one trailing `\\r` dropped, none behind the last."""
    lines = text.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return [line.removesuffix(b"\r") for line in lines]

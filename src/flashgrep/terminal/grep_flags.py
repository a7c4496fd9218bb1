"""The command line of `flashgrep grep`: flags, the files they select, the pattern they mean."""

from __future__ import annotations

import os
import re
import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import click

from flashgrep.errors import InvalidParams, InvalidPattern
from flashgrep.search.pattern import PatternSpec, check
from flashgrep.workspace.globs import NameFilter, globs_of, name_filter
from flashgrep.workspace.safe_open import open_named

# ── the pattern ──────────────────────────────────────────────────────────────────────────────────
# The one pattern that -e, -f, -F, -w, -x, -i, -S and -U together mean.


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


# ── grep flags ───────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Flags:
    """What was asked for."""

    words: tuple[str, ...]
    regexp: tuple[str, ...]
    file: tuple[str, ...]
    fixed_strings: bool
    ignore_case: bool
    case_sensitive: bool
    smart_case: bool
    word_regexp: bool
    line_regexp: bool
    multiline: bool
    multiline_dotall: bool
    after_context: int | None
    before_context: int | None
    context: int | None
    max_count: int | None
    glob: tuple[str, ...]
    kind: tuple[str, ...]
    type_not: tuple[str, ...]
    hidden: bool
    files_with_matches: bool
    count: bool
    count_matches: bool
    only_matching: bool
    quiet: bool
    files: bool
    as_json: bool
    line_number: bool | None
    with_filename: bool | None
    heading: bool | None
    column: bool
    vimgrep: bool
    pretty: bool
    null: bool
    color: str

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Flags:
        """From what click read; words that cannot be are a usage error."""
        flags = cls(**{field.name: given[field.name] for field in fields(cls)})
        if not (flags.words or flags.regexp or flags.file or flags.files):
            raise click.UsageError("no pattern given")
        if flags.as_json and (flags.files_with_matches or flags.count or flags.count_matches):
            raise click.UsageError("--json shows matching lines; it does not go with -l or -c")
        return flags

    @property
    def pattern(self) -> PatternSpec:
        """What is looked for; `InvalidPattern` where it does not compile."""
        named = [*self.regexp, *(line for path in self.file for line in read_patterns(path))]
        return pattern_of(
            named or [self.words[0]],
            fixed=self.fixed_strings,
            word=self.word_regexp,
            whole_line=self.line_regexp,
            ignore_case=self.ignore_case,
            smart_case=self.smart_case and not self.case_sensitive,
            multiline=self.multiline or self.multiline_dotall,
            dotall=self.multiline_dotall,
        )

    @property
    def paths(self) -> tuple[str, ...]:
        """Where to look; none is the working directory."""
        return self.words if self.regexp or self.file or self.files else self.words[1:]

    @property
    def around(self) -> tuple[int, int]:
        """Lines to show before and after a match."""
        both = self.context or 0
        before, after = self.before_context, self.after_context
        return both if before is None else before, both if after is None else after


# ── which files ──────────────────────────────────────────────────────────────────────────────────
# Which files `grep` and `files` look at: -g and -t as ripgrep means them.
#
#     -g '*.py'         a name at any depth
#     -g 'src/**/*.c'   a path below the working directory
#     -g '!tests'       leaves out that name, and, where it is a directory, all below it
#
# An exclusion wins over every inclusion, wherever it stands (in ripgrep the last one given wins).
# Where nothing is relative to the working directory, the one who searches filters; otherwise the
# paths are filtered here, once they are known.


_HIDDEN = ("!.*", "!**/.*/**")


@dataclass(frozen=True)
class Narrowing:
    """The files that are wanted."""

    globs: tuple[str, ...] = ()
    """As `include` takes a list."""
    types: tuple[str, ...] = ()
    """Globs of file types, any of which must match, and those with `!`, none of which may."""

    @classmethod
    def of(
        cls, globs: Sequence[str], types: Sequence[str], types_not: Sequence[str], hidden: bool
    ) -> Narrowing:
        """From the flags; a bad glob or an unknown type is `InvalidParams`."""
        spelled = [each for text in globs for each in _as_include(text)]
        kept = [glob for name in types for glob in globs_of(name)]
        left_out = [f"!{glob}" for name in types_not for glob in globs_of(name)]
        found = cls((*spelled, *(() if hidden else _HIDDEN)), (*kept, *left_out))
        found.filters()  # refused here, before anything is searched
        return found

    def include(self, root_is_workdir: bool) -> dict[str, Any]:
        """The `include` argument of the grep tool, as far as it can do the work."""
        if not self.globs or not self._is_pushed(root_is_workdir):
            return {}
        return {"include": list(self.globs)}

    def rest(self, root_is_workdir: bool) -> list[NameFilter]:
        """What must still be asked of each path, relative to the working directory."""
        return self.filters(with_globs=not self._is_pushed(root_is_workdir))

    def _is_pushed(self, root_is_workdir: bool) -> bool:
        return root_is_workdir or not any("/" in glob for glob in self.globs)

    def filters(self, with_globs: bool = True) -> list[NameFilter]:
        """Everything that must be asked of a path where nobody has asked anything."""
        lists = (self.globs if with_globs else (), self.types)
        return [name_filter(patterns) for patterns in lists if patterns]


def _as_include(text: str) -> list[str]:
    """A glob of -g in the words of `include`."""
    pattern = text.removeprefix("!")
    if not pattern.strip("/"):
        raise InvalidParams(f"-g {text!r} names nothing")
    anchored = "/" in pattern.rstrip("/")
    body = pattern.strip("/")
    if text.startswith("!"):
        below = f"!{body}/**" if anchored else f"!**/{body}/**"
        return [below] if pattern.endswith("/") else [f"!{body}", below]
    return [f"/{body}" if anchored and pattern.startswith("/") else body]

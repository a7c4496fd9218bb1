"""The command line of `flashgrep grep`, read but not judged against any file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import click

from flashgrep.search.pattern import PatternSpec
from flashgrep.terminal.patterns import pattern_of, read_patterns


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

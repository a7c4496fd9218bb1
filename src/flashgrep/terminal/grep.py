"""flashgrep grep: ripgrep's flags, the files they select, the pattern they mean."""

from __future__ import annotations

import os
import re
import string
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import click

from flashgrep.errors import InvalidParams, InvalidPattern
from flashgrep.search.pattern import PatternSpec, check
from flashgrep.settings import Settings
from flashgrep.terminal.command import (
    FOUND,
    TerminalCommand,
    WholeNumber,
    common_options,
    show,
    terminal_command,
)
from flashgrep.terminal.grep_run import Grepping
from flashgrep.terminal.session import opened
from flashgrep.terminal.whole_words import whole_words
from flashgrep.workspace.globs import TYPES, NameFilter, globs_of
from flashgrep.workspace.safe_open import open_named

# ── the pattern ──────────────────────────────────────────────────────────────────────────────────


_ESCAPES = re.compile(r"\\(?:[pP]\{[^}]*\}|[pP].|x\{[^}]*\}|.)", re.DOTALL)


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
    """The flags that were given."""

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
        """Built from what click read; contradictory words are a usage error."""
        flags = cls(**{field.name: given[field.name] for field in fields(cls)})
        if not (flags.words or flags.regexp or flags.file or flags.files):
            raise click.UsageError("no pattern given")
        if flags.as_json and (flags.files_with_matches or flags.count or flags.count_matches):
            raise click.UsageError("--json shows matching lines; it does not go with -l or -c")
        return flags

    @property
    def pattern(self) -> PatternSpec:
        """The one pattern that -e, -f, -F, -w, -x, -i, -S and -U together mean.

        `InvalidPattern` where it does not compile.
        """
        named = [*self.regexp, *(line for path in self.file for line in read_patterns(path))]
        sources, fixed = named or [self.words[0]], self.fixed_strings
        multiline, ignore_case = self.multiline or self.multiline_dotall, self.ignore_case
        if self.smart_case and not self.case_sensitive and not ignore_case:
            ignore_case = not any(_has_capital(source, fixed) for source in sources)
        for source in () if fixed else sources:
            # One by one, so that an unclosed group is not closed by its neighbour.
            check(PatternSpec(source or "(?:)", ignore_case, multiline))
        spelled = [quoted(source) if fixed else source for source in sources]
        if self.word_regexp and not self.line_regexp:
            spelled = [whole_words(each) for each in spelled]
        source = spelled[0] if len(spelled) == 1 else "|".join(f"(?:{each})" for each in spelled)
        if multiline:
            # As ripgrep: ^ and $ are a line's ends, and . stays on its line unless asked otherwise.
            source = f"(?m:{source})" if self.multiline_dotall else f"(?m-s:{source})"
        if self.line_regexp:
            source = f"(?m:^)(?:{source})(?m:$)" if multiline else f"^(?:{source})$"
        spec = PatternSpec(source or "(?:)", ignore_case, multiline)
        check(spec)
        return spec

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
# An exclusion wins over every inclusion, in any order (in ripgrep the last one given wins). Where
# nothing is relative to the working directory, the search itself filters; otherwise the
# paths are filtered here, once they are known.


_HIDDEN = ("!.*", "!**/.*/**")


@dataclass(frozen=True)
class Narrowing:
    """Which files are wanted."""

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
        return [NameFilter(patterns) for patterns in lists if patterns]


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


# ── grep ──────────────────────────────────────────────────────────────────────────────────────────


_SCAN = "the file tools always leave out what .gitignore names; give an ignored PATH to search it"


_DEEP = "directories are searched to any depth without it"


class _Grep(TerminalCommand):
    hints: ClassVar[Mapping[str, str]] = {
        "-v": "flashgrep finds lines, it does not invert; pipe into grep -v",
        "--invert-match": "flashgrep finds lines, it does not invert; pipe into grep -v",
        "-P": "patterns are RE2: no look-around, no backreferences",
        "--pcre2": "patterns are RE2: no look-around, no backreferences",
        "--engine": "patterns are RE2",
        "-u": _SCAN,
        "--unrestricted": _SCAN,
        "--no-ignore": _SCAN,
        "--no-ignore-vcs": _SCAN,
        "-a": "binary files are left out",
        "--text": "binary files are left out",
        "--binary": "binary files are left out",
        "-z": "compressed files are not searched",
        "--search-zip": "compressed files are not searched",
        "-r": f"{_DEEP}; to replace, pipe into sed",
        "--replace": "flashgrep grep only shows; pipe into sed",
        "-R": _DEEP,
        "--recursive": _DEEP,
        "--include": "use -g, as in -g '*.py'",
        "--exclude": "use -g, as in -g '!*.py'",
        "--exclude-dir": "use -g, as in -g '!build/'",
        "-L": "links to files are always followed, links to directories where they lead elsewhere",
        "--follow": "links to files are always followed",
        "-E": "UTF-8 is assumed; UTF-16 and UTF-32 are known by their byte order mark",
        "--encoding": "UTF-8 is assumed; UTF-16 and UTF-32 are known by their byte order mark",
        "--files-without-match": "compare --files with -l",
        "--passthru": "use -C with a large number",
        "--iglob": "globs match letters by case; write -g '*.[hH]'",
        "-d": "use -g, as in -g '/*.py'",
        "--max-depth": "use -g, as in -g '/*.py'",
        "-M": "lines are shown whole; pipe into cut",
        "--max-columns": "lines are shown whole; pipe into cut",
        "--sortr": "results are always in the order of paths",
        "--stats": "--json ends with a summary",
        "-j": "every core is used",
        "--threads": "every core is used",
    }


@terminal_command("grep", cls=_Grep, no_args_is_help=True)
@click.argument("words", nargs=-1, metavar="PATTERN [PATH]...")
@click.option("-e", "--regexp", multiple=True, metavar="PATTERN", help="A pattern; repeatable.")
@click.option("-f", "--file", multiple=True, metavar="FILE", help="Patterns, one per line.")
@click.option("-F", "--fixed-strings", is_flag=True, help="Patterns are plain text.")
@click.option("-i", "--ignore-case", is_flag=True, help="Ignore case.")
@click.option("-s", "--case-sensitive", is_flag=True, help="Match case (the default).")
@click.option("-S", "--smart-case", is_flag=True, help="-i unless the pattern has a capital.")
@click.option("-w", "--word-regexp", is_flag=True, help="Matches are whole words (ASCII).")
@click.option("-x", "--line-regexp", is_flag=True, help="Matches are whole lines.")
@click.option("-U", "--multiline", is_flag=True, help="Matches may span lines.")
@click.option("--multiline-dotall", is_flag=True, help="-U, and . matches line ends.")
@click.option("-A", "--after-context", type=WholeNumber(0), metavar="N", help="Lines after.")
@click.option("-B", "--before-context", type=WholeNumber(0), metavar="N", help="Lines before.")
@click.option("-C", "--context", type=WholeNumber(0), metavar="N", help="Lines around.")
@click.option("-m", "--max-count", type=WholeNumber(1), metavar="N", help="At most N per file.")
@click.option(
    "-g", "--glob", multiple=True, metavar="GLOB", help="Only matching files; ! excludes."
)
@click.option(
    "-t", "--type", "kind", multiple=True, metavar="TYPE", help="Only files of this type."
)
@click.option("-T", "--type-not", multiple=True, metavar="TYPE", help="No files of this type.")
@click.option("--type-list", is_flag=True, help="Show the types.")
@click.option("--hidden/--no-hidden", "-./ ", default=True, help="Dot files too (the default).")
@click.option("-l", "--files-with-matches", is_flag=True, help="Only the paths of files.")
@click.option("-c", "--count", is_flag=True, help="Only each file's number of matching lines.")
@click.option("--count-matches", is_flag=True, help="Only each file's number of matches.")
@click.option("-o", "--only-matching", is_flag=True, help="Only the non-empty matching parts.")
@click.option("-q", "--quiet", is_flag=True, help="Nothing but the exit status.")
@click.option("--files", is_flag=True, help="The files that would be searched.")
@click.option("--json", "as_json", is_flag=True, help="ripgrep's JSON lines.")
@click.option("-n/-N", "--line-number/--no-line-number", default=None, help="Line numbers.")
@click.option("-H/-I", "--with-filename/--no-filename", default=None, help="Paths before lines.")
@click.option("--heading/--no-heading", default=None, help="Paths above lines.")
@click.option("--column", is_flag=True, help="The column of the first match.")
@click.option("--vimgrep", is_flag=True, help="Each match on a line, with its column.")
@click.option("-p", "--pretty", is_flag=True, help="--color always --heading -n.")
@click.option("-0", "--null", is_flag=True, help="A NUL byte after each path.")
@click.option("--sort", type=click.Choice(["path", "none"]), help="Always by path, even with none.")
@click.option("--color", type=click.Choice(["auto", "always", "ansi", "never"]), default="auto")
@common_options
def grep_command(settings: Settings, use_daemon: bool, type_list: bool, **given: Any) -> int:
    """Search PATHs (or the working directory, or piped input) for PATTERN, an RE2 expression.

    Prints what ripgrep prints, sorted by path. Searches hidden files, but not .git, node_modules,
    binary files or what .gitignore names. If a `flashgrep serve` of this directory or one above it
    is running, it answers, from its index.
    """
    if type_list:
        return _show_types(given["as_json"])
    flags = Flags.read(given)
    with opened(settings, use_daemon, above=True) as session:
        narrowing = Narrowing.of(flags.glob, flags.kind, flags.type_not, flags.hidden)
        return Grepping(session, settings, flags, narrowing).run()


def _show_types(as_json: bool) -> int:
    show(TYPES, as_json, (f"{name}: {', '.join(globs)}" for name, globs in TYPES.items()))
    return FOUND

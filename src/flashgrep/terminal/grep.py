"""flashgrep grep: ripgrep's habits over flashgrep's search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import click

from flashgrep.settings import Settings
from flashgrep.terminal.command import (
    FOUND,
    Output,
    TerminalCommand,
    common_options,
    print_json,
    terminal_command,
)
from flashgrep.terminal.grep_flags import Flags
from flashgrep.terminal.grep_run import Grepping
from flashgrep.terminal.session import opened
from flashgrep.workspace.globs import TYPES

_SCAN = "the file tools always leave out what .gitignore names; give an ignored PATH to search it"


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
        "-r": "flashgrep grep only shows; pipe into sed",
        "--replace": "flashgrep grep only shows; pipe into sed",
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
        "--sortr": "results stand in the order of paths",
        "--stats": "--json ends with a summary",
        "-j": "every core is used",
        "--threads": "every core is used",
    }


@terminal_command("grep", cls=_Grep, no_args_is_help=True)
@click.argument("words", nargs=-1, metavar="PATTERN [PATH]...")
@click.option("-e", "--regexp", multiple=True, metavar="PATTERN", help="A pattern; repeatable.")
@click.option("-f", "--file", multiple=True, metavar="FILE", help="Patterns, one a line.")
@click.option("-F", "--fixed-strings", is_flag=True, help="Patterns are plain text.")
@click.option("-i", "--ignore-case", is_flag=True, help="Letters match in either case.")
@click.option("-s", "--case-sensitive", is_flag=True, help="Letters match by case (the default).")
@click.option("-S", "--smart-case", is_flag=True, help="-i unless the pattern has a capital.")
@click.option("-w", "--word-regexp", is_flag=True, help="Matches are whole words (ASCII).")
@click.option("-x", "--line-regexp", is_flag=True, help="Matches are whole lines.")
@click.option("-U", "--multiline", is_flag=True, help="Matches may span lines.")
@click.option("--multiline-dotall", is_flag=True, help="-U, and . matches line ends.")
@click.option("-A", "--after-context", type=click.IntRange(0), metavar="N", help="Lines after.")
@click.option("-B", "--before-context", type=click.IntRange(0), metavar="N", help="Lines before.")
@click.option("-C", "--context", type=click.IntRange(0), metavar="N", help="Lines around.")
@click.option("-m", "--max-count", type=click.IntRange(1), metavar="N", help="At most N a file.")
@click.option("-g", "--glob", multiple=True, metavar="GLOB", help="Only such files; ! excludes.")
@click.option("-t", "--type", "kind", multiple=True, metavar="TYPE", help="Only files of a type.")
@click.option("-T", "--type-not", multiple=True, metavar="TYPE", help="No files of a type.")
@click.option("--type-list", is_flag=True, help="Show the types.")
@click.option("--hidden/--no-hidden", "-./ ", default=True, help="Dot files too (the default).")
@click.option("-l", "--files-with-matches", is_flag=True, help="Only the paths of files.")
@click.option("-c", "--count", is_flag=True, help="Only the number of matching lines a file.")
@click.option("--count-matches", is_flag=True, help="Only the number of matches a file.")
@click.option("-o", "--only-matching", is_flag=True, help="Only the matching parts.")
@click.option("-q", "--quiet", is_flag=True, help="Nothing but the exit status.")
@click.option("--files", is_flag=True, help="The files that would be searched.")
@click.option("--json", "as_json", is_flag=True, help="ripgrep's JSON lines.")
@click.option("-n/-N", "--line-number/--no-line-number", default=None, help="Line numbers.")
@click.option("-H/-I", "--with-filename/--no-filename", default=None, help="Paths before lines.")
@click.option("--heading/--no-heading", default=None, help="Paths above lines.")
@click.option("--column", is_flag=True, help="The column of the first match.")
@click.option("--vimgrep", is_flag=True, help="Each match on a line, with its column.")
@click.option("-p", "--pretty", is_flag=True, help="--color always --heading -n.")
@click.option("-0", "--null", is_flag=True, help="A NUL byte behind each path.")
@click.option("--sort", type=click.Choice(["path", "none"]), help="Always by path.")
@click.option("--color", type=click.Choice(["auto", "always", "ansi", "never"]), default="auto")
@common_options
def grep_command(settings: Settings, use_daemon: bool, type_list: bool, **given: Any) -> int:
    """Search PATHs (or the working directory, or piped input) for PATTERN, an RE2 expression.

    Prints what ripgrep prints, sorted by path. Hidden files are searched; what .gitignore names,
    .git, node_modules and binary files are not. A running `flashgrep serve` of this directory, or
    of one above it, is asked if there is one: it has an index.
    """
    if type_list:
        return _show_types(given["as_json"])
    flags = Flags.read(given)
    with opened(settings, use_daemon, above=True) as session:
        return Grepping(session, settings, flags).run()


def _show_types(as_json: bool) -> int:
    output = Output()
    if as_json:
        print_json(output, TYPES)
    else:
        for name, globs in TYPES.items():
            output.line(f"{name}: {', '.join(globs)}")
    output.flush()
    return FOUND

"""`flashgrep grep` where ripgrep is no measure: our own promises."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from flashgrep import limits
from tests.terminal.console import flashgrep
from tests.transports.clients import FLASHGREP, environment

UNSUPPORTED = ["-v", "-P", "-u", "--no-ignore", "-a", "-z", "-r", "-L", "--passthru", "--stats"]


@pytest.mark.parametrize("flag", UNSUPPORTED)
def test_a_flag_of_ripgrep_that_is_not_here_says_what_is(flag: str) -> None:
    ran = flashgrep("grep", flag, "foo")
    assert ran.status == 2
    assert f"{flag} is not supported: " in ran.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("-rn foo .", "-r is not supported: directories are searched to any depth without it"),
        ("-R foo", "-R is not supported: directories are searched to any depth without it"),
        ("--include=*.py foo", "--include is not supported: use -g, as in -g '*.py'"),
        ("--exclude-dir src foo", "--exclude-dir is not supported: use -g, as in -g '!build/'"),
    ],
)
def test_a_flag_of_grep_says_what_there_is(words: str, told: str) -> None:
    ran = flashgrep("grep", *words.split())
    assert (ran.status, told in ran.err) == (2, True), ran.err


def test_a_flag_inside_others_is_named_too() -> None:
    assert "-v is not supported" in flashgrep("grep", "-nv", "foo").err


@pytest.mark.usefixtures("tree")
def test_a_pattern_that_no_line_can_match_is_told() -> None:
    ran = flashgrep("grep", r"bar\nbaz")
    assert (ran.status, ran.out) == (1, b"")
    assert "the pattern needs a newline, and patterns match within a line; add -U" in ran.err
    assert flashgrep("grep", "-q", r"bar\nbaz").err == ""
    assert flashgrep("grep", "-U", r"bar\nbaz").err == ""
    assert flashgrep("grep", "nothere").err == ""


@pytest.mark.usefixtures("tree")
def test_the_borders_of_words_of_other_engines_are_told() -> None:
    assert r"the border of a word is \b" in flashgrep("grep", r"\<foo\>").err
    assert flashgrep("grep", "-F", "<foo>").err == ""
    assert flashgrep("grep", r"\\<nothere").err == ""


def test_hidden_files_are_searched_unless_not_wanted(tree: Path) -> None:
    assert ".hidden/g.txt" in flashgrep("grep", "-l", "foo").lines
    assert flashgrep("grep", "-l", "--hidden", "foo") == flashgrep("grep", "-l", "foo")
    assert flashgrep("grep", "-l", "-.", "foo") == flashgrep("grep", "-l", "foo")
    assert ".hidden/g.txt" not in flashgrep("grep", "-l", "--no-hidden", "foo").lines


def test_ignored_files_are_left_out_unless_named(tree: Path) -> None:
    assert "ignored.log" not in flashgrep("grep", "-l", "foo").lines
    assert flashgrep("grep", "-l", "foo", "ignored.log").lines == ["ignored.log"]


def test_an_exclusion_wins_wherever_it_stands(tree: Path) -> None:
    assert flashgrep("grep", "-l", "-g", "!tests", "-g", "*.py", "foo").lines == ["src/b.py"]


def test_patterns_come_from_a_file(tree: Path) -> None:
    (tree / "patterns").write_text("bar\nlast\n", encoding="utf-8")
    assert flashgrep("grep", "-f", "patterns", "a.txt").lines == ["foo bar", "last"]
    assert flashgrep("grep", "-f", "/no/such", "a.txt").status == 2


def test_types_are_listed() -> None:
    assert "py: *.py, *.pyi" in flashgrep("grep", "--type-list").lines


def test_no_pattern_is_a_usage_error() -> None:
    assert flashgrep("grep", "-i").status == 2
    assert flashgrep("grep", "--json", "-l", "x").status == 2


def test_a_file_that_cannot_be_searched_is_told_and_the_rest_searched(tree: Path) -> None:
    with (tree / "large.txt").open("wb") as file:
        file.write(b"x" * 1_000)
        file.truncate(limits.MULTILINE_BYTES + 1)
    ran = flashgrep("grep", "-U", "-l", "foo")
    assert ran.status == 2
    assert "large.txt: " in ran.err
    assert "src/b.py" in ran.lines


def test_a_directory_named_by_an_absolute_path_is_shown_so(tree: Path) -> None:
    assert flashgrep("grep", "-l", "foo", f"{tree}/src").lines == [
        f"{tree}/src/b.py",
        f"{tree}/src/c.c",
    ]


def test_another_workdir_is_as_if_started_there(tree: Path, tmp_path: Path) -> None:
    os.chdir(tmp_path)
    assert flashgrep("grep", "--workdir", str(tree), "-l", "foo", "src").lines == [
        "src/b.py",
        "src/c.c",
    ]


def test_a_long_line_is_whole(tree: Path) -> None:
    (tree / "long.txt").write_text("x" * 100_000 + "foo\n", encoding="utf-8")
    assert flashgrep("grep", "foo", "long.txt").out == b"x" * 100_000 + b"foo\n"


def test_utf_16_is_shown_as_utf_8(tree: Path) -> None:
    (tree / "wide.txt").write_bytes("grün\n".encode("utf-16"))
    assert flashgrep("grep", "gr.n", "wide.txt").text == "grün\n"


# ── as a process of its own ─────────────────────────────────────────────────────────────────────


def run(tree: Path, *words: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*FLASHGREP, "grep", *words],
        input=data,
        stdin=subprocess.DEVNULL if data is None else None,
        capture_output=True,
        check=False,
        cwd=tree,
        env=environment(tree.parent),
        timeout=120,
    )


def test_what_is_piped_in_is_searched(tree: Path) -> None:
    assert run(tree, "-n", "foo", data=b"bar\nfoo\n").stdout == b"2:foo\n"
    assert run(tree, "-c", "foo", "-", data=b"foo\nfoo\n").stdout == b"2\n"
    assert run(tree, "foo", data=b"bar\n").returncode == 1


def test_a_reader_that_goes_away_is_no_error(tree: Path) -> None:
    (tree / "many.txt").write_bytes(b"foo\n" * 200_000)
    with subprocess.Popen(
        [*FLASHGREP, "grep", "foo", "many.txt"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tree,
        env=environment(tree.parent),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"foo\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(120) == 0


def test_without_a_stdout_nothing_can_be_said(tree: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *FLASHGREP, "grep", "foo", "a.txt"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        cwd=tree,
        env=environment(tree.parent),
    )
    assert (done.returncode, done.stderr) == (2, b"flashgrep: stdout is closed\n")


def test_a_reader_that_was_never_there_is_none_either(tree: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        done = subprocess.run(
            [*FLASHGREP, "grep", "foo", "a.txt"],
            stdin=subprocess.DEVNULL,
            stdout=nobody,
            stderr=subprocess.PIPE,
            check=False,
            cwd=tree,
            env=environment(tree.parent),
        )
    assert (done.returncode, done.stderr) == (0, b"")


def at_a_terminal(tree: Path, *words: str, **more: str) -> bytes:
    """What the command prints where stdout is a terminal."""
    own, theirs = pty.openpty()
    with subprocess.Popen(
        [*FLASHGREP, *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=tree,
        env={**environment(tree.parent), "TERM": "xterm", **more},
    ) as process:
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(own, 65536):
                shown += piece
        except OSError:  # the other end is gone
            pass
        os.close(own)
        process.wait(120)
    return shown.replace(b"\r\n", b"\n")


def test_a_terminal_gets_headings_numbers_and_colours(tree: Path) -> None:
    shown = at_a_terminal(tree, "grep", "foo", "src")
    assert shown.startswith(
        b"\x1b[0m\x1b[35msrc/b.py\x1b[0m\n\x1b[0m\x1b[32m2\x1b[0m:\x1b[0m\x1b[1m"
    )
    assert b"\n\n\x1b[0m\x1b[35msrc/c.c" in shown


def test_no_color_and_dumb_terminals_are_honoured(tree: Path) -> None:
    assert at_a_terminal(tree, "grep", "foo", "src/b.py", NO_COLOR="1") == b"2:foo\n"
    assert b"\x1b" not in at_a_terminal(tree, "grep", "foo", TERM="dumb")


def test_a_name_cannot_speak_to_the_terminal(tree: Path) -> None:
    (tree / "evil\x1b[31m.txt").write_text("foo\n", encoding="utf-8")
    shown = at_a_terminal(tree, "grep", "-l", "foo", NO_COLOR="1")
    assert b"evil\\x1b[31m.txt" in shown


LAZY = """
import sys
from click.testing import CliRunner
from flashgrep.cli import cli
ran = CliRunner().invoke(cli, {words!r})
assert ran.exit_code == 0, ran.output
heavy = {{"mcp", "uvicorn", "starlette", "pycrdt", "numpy", "asyncio"}} & set(sys.modules)
assert not heavy, heavy
commands = [name for name in sys.modules if name.startswith("flashgrep.terminal.")]
print(*sorted(commands))
"""


@pytest.mark.parametrize(("words", "loaded"), [(["--help"], ""), (["grep", "foo"], "grep")])
def test_a_command_imports_only_what_it_uses(tree: Path, words: list[str], loaded: str) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", LAZY.format(words=words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tree,
        env=environment(tree.parent),
    )
    assert done.returncode == 0, done.stderr
    modules = [name.rpartition(".")[2] for name in done.stdout.split()]
    assert ("grep" in modules) == bool(loaded)
    assert not {"glob", "view", "query", "index"} & set(modules)

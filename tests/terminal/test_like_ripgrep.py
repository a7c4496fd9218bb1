"""`flashgrep grep` beside the real ripgrep: the same bytes, the same exit status.

Files here end lines with a bare newline and hold no binary that is named: flashgrep shows text as
it searched it, without carriage returns, and says of a binary file that it was left out.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.terminal.console import flashgrep, ripgrep

SAME = r"""
foo
-n foo
-N foo
-i FOO
-S foo
-S Foo
-S '\Soo'
-s -i foo
-w foo
-w fo
-x foo
-F 'foo()'
-F 'foo b'
-e foo -e last
-e 'a|b' -e x
-e foo src
'^$'
''
'\bfoo\b.*foo'
'\d'
(?i)FOO
nothere
foo a.txt
foo a.txt gap.txt
-H foo a.txt
foo ./src
foo .
foo src/
foo src tests
foo a.txt src
-I foo
foo nope a.txt
foo nope
foo src/deep/../b.py
-l foo
-l foo a.txt
-l nothere
-c foo
-c foo a.txt
-H -c foo a.txt
-c nothere
--count-matches foo
-c -o foo
--count-matches '^'
--count-matches 'o*' gap.txt
-c -o '\b' gap.txt
-U -c '^' a.txt
-U -c 'o*$' gap.txt
-U --count-matches '^$'
-o foo
-o -n foo
-o -w foo a.txt
--column foo
--vimgrep foo
-q foo
-q nothere
-q foo nope
-q foo a.txt
-m 1 foo
-m 1 -c foo
-m 2 -n foo gap.txt
-A 1 foo
-B 1 foo
-C 1 foo
-C 1 -n foo
-n -C 2 foo gap.txt
-n -A 2 -B 1 foo gap.txt
-n -C 3 -A 0 foo gap.txt
-n -m 1 -C 1 foo gap.txt
-m 1 -A 2 -n foo a.txt
-C 1 -o foo
--heading foo
--heading -n -C 1 foo
--heading -o foo
-p foo
--color always foo
--color always -n -C 1 foo
--color ansi foo
--color always -l foo
--color always -c foo
--color always -o foo
--color always --files
--color never foo
-t py foo
-t py -t c foo
-T py foo
-t py -g '!deep' foo
-t py foo a.txt
-g '*.py' foo
-g '*.py' -g '*.c' foo
-g '*.{py,c}' foo
-g '!*.py' foo
-g '!tests' foo
-g '!src/' foo
-g '!/src' foo
-g '/src/*.py' foo
-g 'src/*.py' foo
-g 'src/*.py' foo src
-g 'src/**' foo src/deep
-g '!src/deep' foo
-g '*.py' foo a.txt
--files
--files src
--files src tests a.txt
--files -g '*.py'
--files -t py
--files -0
-l -0 foo
-0 foo
-U 'bar\nbaz'
-U -n 'bar\nbaz'
-U -o -n 'bar\nbaz'
-U -c 'bar\nbaz'
-U -l 'bar\nbaz'
-U -n -C 1 'bar\nbaz' a.txt
-U --color always -n 'bar\nbaz'
-U '^baz'
-U 'bar.baz'
-U --multiline-dotall 'bar.baz'
-U -x foo
-e '('
-t nosuchtype foo
-g '[' foo
--bogus foo
-A -1 foo
-m x foo
""".strip().splitlines()


@pytest.mark.parametrize("line", SAME)
@pytest.mark.usefixtures("tree")
def test_the_same_bytes_and_status(line: str) -> None:
    words = shlex.split(line)
    ours, theirs = flashgrep("grep", *words), ripgrep(*words)
    assert (ours.status, ours.out) == (theirs.status, theirs.out)
    assert bool(ours.err) == bool(theirs.err)


JSON = r"""
foo
-C 1 foo gap.txt
-m 1 -A 2 foo a.txt
-o foo a.txt
last
-U 'bar\nbaz'
-U 'foo\n'
nothere
foo src/c.c
""".strip().splitlines()


def _comparable(messages: list[Any]) -> list[Any]:
    """Without times, and without what only ripgrep counts: files that do not match."""
    for message in messages:
        message["data"].pop("elapsed_total", None)
        for name in ("elapsed", "bytes_searched", "bytes_printed", "searches"):
            message["data"].get("stats", {}).pop(name, None)
    return messages


@pytest.mark.parametrize("line", JSON)
@pytest.mark.usefixtures("tree")
def test_the_same_json(line: str) -> None:
    words = shlex.split(line)
    ours, theirs = flashgrep("grep", "--json", *words), ripgrep("--json", *words)
    assert ours.status == theirs.status
    assert _comparable(ours.messages) == _comparable(theirs.messages)


PUNCTUATED = r"""
'foo()'
-F 'foo()'
-e '--flag'
-e '--fl\w+'
-F '.x'
-F '@foo' -e '.x'
'[@.]\w'
'[(]\)'
'f[^a]*\)'
'(?i)@FOO'
'(?:@foo|\.x)'
-U '\)\n@'
""".strip().splitlines()


@pytest.mark.parametrize("line", PUNCTUATED)
@pytest.mark.parametrize("shown", ["-n", "-on", "-c"])
def test_words_that_begin_or_end_with_another_character(tree: Path, line: str, shown: str) -> None:
    text = "a foo() b\nfoo()b\n-- --flag\nx--flag=1 --flags\n@foo a@foo .x\na.x .xy\n()\n@foo\n"
    (tree / "words.txt").write_text(text)
    words = ("-w", shown, *shlex.split(line), "words.txt")
    ours, theirs = flashgrep("grep", *words), ripgrep(*words)
    assert (ours.status, ours.text) == (theirs.status, theirs.text)


def test_carriage_returns_are_not_shown(tree: Path) -> None:
    (tree / "dos.txt").write_bytes(b"x\r\nfoo\r\n")
    assert flashgrep("grep", "foo$", "dos.txt").out == b"foo\n"


def test_a_binary_file_that_is_named_is_told_and_not_searched(tree: Path) -> None:
    ran = flashgrep("grep", "foo", "bin.dat")
    assert (ran.status, ran.out) == (1, b"")
    assert "bin.dat: a binary file" in ran.err


def test_a_broken_pattern_is_told_in_words(tree: Path) -> None:
    ran = flashgrep("grep", "(")
    assert (ran.status, ran.out) == (2, b"")
    assert "missing )" in ran.err

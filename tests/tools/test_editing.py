"""str_replace and edit: the texts both clients know, what may match, what must stay."""

from __future__ import annotations

import os
import stat
import sys
import tracemalloc
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from flashgrep.tools.dispatch.caller import Caller
from flashgrep.workspace.occurrences import find, in_file_quotes, near

if TYPE_CHECKING:
    from tests.tools.conftest import Desk

BOTH = pytest.mark.parametrize("tool", ["str_replace", "edit"])


def replace(desk: Desk, tool: str, old: str, new: str, **more: object) -> str:
    """Edit the file `a` after reading it."""
    desk.text("read", path="a")
    return desk.text(tool, path="a", old_str=old, new_str=new, **more)


def refused(desk: Desk, tool: str, code: str, old: str, new: str = "n") -> str:
    desk.text("read", path="a")
    return desk.refused(tool, code, path="a", old_str=old, new_str=new)


@BOTH
def test_a_unique_string_is_replaced_and_shown_in_its_context(desk: Desk, tool: str) -> None:
    file = desk.file("a", "".join(f"line {n}\n" for n in range(1, 21)))
    told = replace(desk, tool, "line 10\n", "ten\nand more\n")
    assert file.read_text().split("\n")[8:12] == ["line 9", "ten", "and more", "line 11"]
    head, *rows = told.split("\n")
    assert head == "The file a has been updated: replaced 1 occurrence at line 10."
    assert rows[0] == "     6\tline 6"
    assert rows[4:7] == ["    10\tten", "    11\tand more", "    12\tline 11"]


def test_an_omitted_new_str_deletes(desk: Desk) -> None:
    file = desk.file("a", "keep drop keep")
    desk.text("str_replace", path="a", old_str=" drop")
    assert file.read_text() == "keep keep"
    desk.text("str_replace", path="a", old_str="keep keep", new_str="")
    assert file.read_bytes() == b""


@BOTH
def test_replace_all_replaces_every_one_and_counts(desk: Desk, tool: str) -> None:
    file = desk.file("a", "x\n" * 15)
    told = replace(desk, tool, "x", "yy", replace_all=True)
    assert "replaced 15 occurrences, lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 5 more." in told
    assert file.read_text() == "yy\n" * 15


@pytest.mark.parametrize("kind", ["alike", "quotes", "mixed line ends"])
def test_a_million_occurrences_take_little_memory(desk: Desk, kind: str) -> None:
    count = 1_000_000 if kind == "alike" else 50_000
    before, old, new, after = {
        "alike": ("a", "a", "bc", "bc"),
        "quotes": ("\u2019", "'", "''", "\u2019\u2019"),
        "mixed line ends": ("a", "a", "b\n", "b\r\n"),
    }[kind]
    start = "x\ny\r\n" if kind == "mixed line ends" else "x\n"
    file = desk.file("a", start + before * count)
    desk.text("read", path="a")
    tracemalloc.start()
    try:
        told = desk.text("edit", path="a", old_str=old, new_str=new, replace_all=True)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    line = start.count("\n") + 1
    assert f"replaced {count} occurrences, lines {line}, {line}" in told
    assert file.read_bytes() == (start + after * count).encode()


def test_a_result_that_is_too_large_is_refused_before_it_is_made(desk: Desk) -> None:
    file = desk.file("a", "a" * 100_000)
    desk.set(max_file_size=200_000)
    desk.text("read", path="a")
    tracemalloc.start()
    try:
        for old in ("a", "\u2019"):
            file.write_text(old * 60_000)
            told = desk.refused(
                "edit", "too_large", path="a", old_str=old, new_str="b" * 5_000, replace_all=True
            )
            assert "The new content of a has 286.1 MB, which exceeds" in told
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()
    assert file.read_text() == "\u2019" * 60_000


def test_a_cancelled_edit_of_many_occurrences_ends_and_writes_nothing(desk: Desk) -> None:
    file = desk.file("a", "\u2019" * 10_000)
    desk.text("read", path="a")
    desk.cancelled.set()
    arguments = {"path": "a", "old_str": "'", "new_str": "x", "replace_all": True}
    assert "nothing was written" in desk.refused("edit", "cancelled", **arguments)
    assert file.read_text() == "\u2019" * 10_000


@BOTH
def test_the_old_and_new_names_of_the_parameters_both_work(desk: Desk, tool: str) -> None:
    file = desk.file("a", "x")
    desk.text("read", path="a")
    desk.text(tool, file_path="a", old_string="x", new_string="y")
    assert file.read_text() == "y"


def test_a_long_replacement_is_shown_in_part(desk: Desk) -> None:
    desk.file("a", "x\n")
    told = replace(desk, "edit", "x", "long " * 390 + "\n" + "line\n" * 500)
    assert told.count("\n") == 61
    assert told.endswith("(the snippet ends here; view the file to see the rest)")
    desk.set(max_output_chars=1_000)
    assert len(replace(desk, "edit", "long " * 390, "y " * 900)) < 3_000


# ── refusals ────────────────────────────────────────────────────────────────────────────────────


@BOTH
@pytest.mark.parametrize("replace_all", [False, True])
def test_a_string_that_is_not_there_is_told_in_both_wordings(
    desk: Desk, tool: str, replace_all: bool
) -> None:
    desk.file("a", "something else\n")
    desk.text("read", path="a")
    told = desk.refused(
        tool, "string_not_found", path="a", old_str="gone", new_str="x", replace_all=replace_all
    )
    word = "old_str" if tool == "str_replace" else "old_string"
    assert told == (f"{word} not found in a. String to replace not found in file.\nString: gone")


@BOTH
def test_a_string_that_stands_twice_is_refused_with_count_and_lines(desk: Desk, tool: str) -> None:
    file = desk.file("a", "x\ny\nx\n")
    word = "old_str" if tool == "str_replace" else "old_string"
    assert refused(desk, tool, "not_unique", "x") == (
        f"{word} is not unique in a (2 occurrences found). Lines: 1, 3. Found 2 matches of the "
        "string to replace, but replace_all is false; it must be unique, or set replace_all."
    )
    assert file.read_text() == "x\ny\nx\n"


def test_overlapping_occurrences_are_not_unique(desk: Desk) -> None:
    desk.file("a", "aaa")
    assert "2 occurrences" in refused(desk, "edit", "not_unique", "aa")


@BOTH
@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("", "x", "{old} must not be empty"),
        ("x", "x", "No changes to make: {old} and {new} are exactly the same."),
        ("x\r\n", "x\n", "No changes to make: {old} and {new} are exactly the same."),
    ],
)
def test_an_edit_that_is_none_is_refused(
    desk: Desk, tool: str, old: str, new: str, text: str
) -> None:
    desk.file("a", "x\n")
    words = ("old_str", "new_str") if tool == "str_replace" else ("old_string", "new_string")
    assert refused(desk, tool, "invalid_params", old, new) == text.format(
        old=words[0], new=words[1]
    )


@BOTH
def test_a_missing_file_is_missing_and_never_unread(desk: Desk, tool: str) -> None:
    desk.file("main.py", "x")
    told = desk.refused(tool, "not_found", path="mian.py", old_str="x", new_str="y")
    assert told.startswith("File does not exist. ")
    assert told.endswith("Did you mean main.py?")


@BOTH
def test_directories_and_large_files_are_refused(desk: Desk, tool: str) -> None:
    desk.set(max_file_size=10, require_view_before_edit="false")
    desk.refused(tool, "invalid_params", path=".", old_str="x", new_str="y")
    file = desk.file("a", "x" + "y" * 10)
    desk.refused(tool, "too_large", path="a", old_str="x", new_str="")
    file.write_text("x" + "y" * 9)
    desk.refused(tool, "too_large", path="a", old_str="x", new_str="longer")
    assert file.read_text() == "x" + "y" * 9


@pytest.mark.parametrize(
    ("text", "old", "hint"),
    [
        ("a\nsay \u201chi\u201d\n", 'say "hi"', "differs only in quotes is at line 2"),
        ("a\n\tif  x:\n", "    if x:", "whitespace is at line 2: the file has a tab"),
        ("a\n\tif  x:\n", "\tif x:", "the file has 2 spaces where the string has a space."),
        ("a\u00a0= 1\n", "a = 1", "has a no-break space where the string has a space."),
        ("one\n  two\n", "one\ntwo", "a line end and 2 spaces where the string has a line end."),
        ("x x(y)\n", "x( y )", "the file has nothing where the string has a space."),
        ("x \ny\n", "x  ", "the file has a space and a line end where the string has 2 spaces."),
        ("a\nHello World\n", "hello world", "differs only in case is at line 2"),
        ("a\n\tSAY  \u2018x\u2019\n", "say 'x'", "whitespace, quotes or case is at line 2"),
        ("a\nb\nc\n", "     2\tb\n     3\tc", "at line 2 without the line numbers"),
        ("a\nfirst line\nother\n", "first line\nsecond", "first line is at line 2"),
        ("a\n", "zzz", ""),
    ],
)
def test_a_near_variant_is_reported_with_its_line(text: str, old: str, hint: str) -> None:
    told = near(text, old)
    assert hint in told
    assert bool(hint) == bool(told)


def steps(work: Callable[[], object]) -> int:
    """How many functions a piece of work calls, those of the interpreter too."""
    calls = [0]

    def count(frame: object, event: str, argument: object) -> None:
        calls[0] += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls[0]


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("a ", "a"),  # its beginning is at each place
        ("a  b\t", "ab"),
        ("x\n\n", "x "),
        ("Ab \u201c", 'a B "'),
        (" \t\n\u2003", "  "),
    ],
)
def test_a_near_variant_costs_in_proportion(text: str, old: str) -> None:
    def cost(times: int) -> int:
        return steps(lambda: near(text * times + "b\n", old * (times // 2) + "b"))

    assert cost(2_000) < 3 * cost(1_000)


def test_whitespace_that_differs_is_described_in_a_few_words() -> None:
    told = near("a" + " \t" * 1_000 + "b", "ab")
    few = "a space and a tab and " * 3
    assert told.endswith(f"the file has {few}more where the string has nothing.")


@pytest.mark.parametrize("verb", ["edit", "str_replace"])
def test_a_string_that_meets_odd_bytes_is_told_which_and_what_to_do(desk: Desk, verb: str) -> None:
    """The string as an editor that knows the encoding shows it, and as a read of ours does."""
    file = desk.file("a", b"x\x80\ncaf\xe9 au lait\n")
    for old in ("caf\u00e9 au lait", "caf\ufffd au lait"):
        told = refused(desk, verb, "string_not_found", old)
        assert "The file is not valid UTF-8 (byte 0xE9 (\u00e9 in Windows-1252) at line 2)." in told
        assert "edit text beside them, or convert the file first" in told
    told = refused(desk, verb, "string_not_found", "\u20ac")
    assert "byte 0x80 (\u20ac in Windows-1252) at line 1" in told
    assert "UTF-8" not in refused(desk, verb, "string_not_found", "plain")
    assert file.read_bytes() == b"x\x80\ncaf\xe9 au lait\n"
    replace(desk, verb, " au lait", " noir")
    assert file.read_bytes() == b"x\x80\ncaf\xe9 noir\n"
    desk.file("a", "caf\u00e9\n")
    assert "UTF-8" not in refused(desk, verb, "string_not_found", "th\u00e9")


def test_a_replacement_character_does_not_match_a_broken_byte(desk: Desk) -> None:
    file = desk.file("a", b"caf\xe9 noir")
    told = refused(desk, "edit", "string_not_found", "caf\ufffd noir")
    assert "U+FFFD" in told
    assert file.read_bytes() == b"caf\xe9 noir"
    file.write_text("caf\ufffd noir")
    replace(desk, "edit", "caf\ufffd noir", "tea")
    assert file.read_text() == "tea"


# ── what may match, what must stay ──────────────────────────────────────────────────────────────


@BOTH
@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\r\ny\r\nz\r\nc\r\n"),
        (b"a\nb\n", "a\r\nb", "x\r\ny", b"x\ny\n"),
        (b"\xef\xbb\xbfone", "one", "two", b"\xef\xbb\xbftwo"),
        (b"\x99 bad, old", "old", "new", b"\x99 bad, new"),
        (
            "\ufeffold\r\n".encode("utf-16-le"),
            "old",
            "n\u00e9w",
            "\ufeffn\u00e9w\r\n".encode("utf-16-le"),
        ),
        (b"a\rb\r\n", "a\rb", "c", b"c\r\n"),
        (b"no end", "end", "end\nat all", b"no end\nat all"),
    ],
)
def test_only_the_bytes_of_the_span_change(
    desk: Desk, tool: str, before: bytes, old: str, new: str, after: bytes
) -> None:
    file = desk.file("a", before)
    replace(desk, tool, old, new)
    assert file.read_bytes() == after


def test_text_put_into_a_file_of_legacy_bytes_is_said_to_be_utf_8(desk: Desk) -> None:
    file = desk.file("a", b"\xe9 old")
    assert "not valid UTF-8" in replace(desk, "edit", "old", "n\u00e9w")
    assert file.read_bytes() == b"\xe9 n\xc3\xa9w"


def test_mode_and_a_links_target_survive_an_edit(desk: Desk) -> None:
    file = desk.file("real/a", "old")
    file.chmod(0o751)
    (desk.root / "a").symlink_to("real/a")
    replace(desk, "edit", "old", "new")
    assert (desk.root / "a").is_symlink()
    assert file.read_text() == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o751


def test_edit_matches_whatever_the_style_of_quotes_and_keeps_the_files(desk: Desk) -> None:
    file = desk.file("a", "He said \u201chello\u201d and it\u2019s fine\n")
    replace(desk, "edit", 'said "hello" and it\'s', 'shouted "hello" and it\'s "so"')
    assert file.read_text() == "He shouted \u201chello\u201d and it\u2019s \u201cso\u201d fine\n"


def test_str_replace_only_reports_the_quotes(desk: Desk) -> None:
    file = desk.file("a", "\u201chello\u201d\n")
    told = refused(desk, "str_replace", "string_not_found", '"hello"')
    assert "differs only in quotes is at line 1" in told
    assert file.read_text() == "\u201chello\u201d\n"


def test_an_exact_match_wins_over_one_by_quotes() -> None:
    assert list(find('\u201cx\u201d "x"', '"x"', fold_quotes=True).spans()) == [(4, 7)]
    assert find("\u201cx\u201d", '"x"', fold_quotes=True).by_quotes


@pytest.mark.parametrize(
    ("found", "old", "new", "expected"),
    [
        ("\u2018a\u2019", "'a'", "'b'", "\u2018b\u2019"),
        ("don\u2019t", "don't", "won't", "won\u2019t"),
        ("\u201ca\u201d", '"a"', '"a" ("b")', "\u201ca\u201d (\u201cb\u201d)"),
        ("'a'", "\u2018a\u2019", "\u2018b\u2019 \u2018c\u2019", "'b' 'c'"),
        ("\u201ca' b", "\"a' b", '"a\' c "d"', "\u201ca' c \u201cd\u201d"),
    ],
)
def test_inserted_quotes_take_the_files_style(
    found: str, old: str, new: str, expected: str
) -> None:
    assert in_file_quotes(found, old, new) == expected


# ── reads ───────────────────────────────────────────────────────────────────────────────────────

UNREAD = (
    "File has not been read yet. Read it first before writing to it. You must read this document "
    'before editing it. Call the read tool with file_path: "a" first.'
)


@pytest.mark.parametrize(
    ("setting", "edit_needs", "str_replace_needs"),
    [("auto", True, False), ("true", True, True), ("false", False, False)],
)
def test_an_unread_file_is_refused_as_the_setting_says(
    desk: Desk, setting: str, edit_needs: bool, str_replace_needs: bool
) -> None:
    desk.set(require_view_before_edit=setting)
    for tool, needs in (("edit", edit_needs), ("str_replace", str_replace_needs)):
        desk.file("a", "old")
        desk.caller = Caller("another")
        if needs:
            assert desk.refused(tool, "not_read", path="a", old_str="old", new_str="n") == UNREAD
        else:
            desk.text(tool, path="a", old_str="old", new_str="n")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("view", {}),
        ("view", {"view_range": [1, 1]}),
        ("read", {"limit": 1}),
        ("read", {"offset": 50}),
        ("create_file", {"content": "one\ntwo\n"}),
        ("write", {"content": "one\ntwo\n"}),
    ],
)
def test_any_part_seen_and_any_file_written_counts_as_read(
    desk: Desk, tool: str, arguments: dict[str, object]
) -> None:
    if tool in ("view", "read"):
        desk.file("a", "one\ntwo\n")
    desk.text(tool, path="a", **arguments)
    told = desk.text("edit", path="a", old_string="two", new_string="2")
    assert "had changed" not in told
    desk.text("edit", path="a", old_string="2", new_string="3")


def test_a_read_under_one_name_counts_under_every_name(desk: Desk) -> None:
    desk.file("a", "old")
    (desk.root / "link").symlink_to("a")
    desk.text("read", file_path="link")
    desk.text("edit", file_path=str(desk.root / "a"), old_string="old", new_string="new")


def test_one_callers_read_is_not_anothers(desk: Desk) -> None:
    desk.file("a", "old")
    desk.text("read", file_path="a")
    desk.caller = Caller("another")
    desk.refused("edit", "not_read", path="a", old_string="old", new_string="new")


@BOTH
def test_a_file_changed_since_it_was_read_is_edited_and_that_is_said(desk: Desk, tool: str) -> None:
    file = desk.file("a", "one\ntwo\n")
    desk.text("read", path="a")
    file.write_text("one\ntwo\nthree\n")
    told = desk.text(tool, path="a", old_str="two", new_str="2")
    assert "The file had changed since it was last read." in told
    assert file.read_text() == "one\n2\nthree\n"
    assert "had changed" not in desk.text(tool, path="a", old_str="2", new_str="two")


def test_a_touched_file_has_not_changed(desk: Desk) -> None:
    file = desk.file("a", "old")
    desk.text("read", path="a")
    os.utime(file, (1, 1))
    assert "had changed" not in desk.text("edit", path="a", old_string="old", new_string="new")


def test_a_string_that_is_gone_because_the_file_changed_is_told_so(desk: Desk) -> None:
    file = desk.file("a", "old")
    desk.text("read", path="a")
    file.write_text("new")
    told = desk.refused("edit", "string_not_found", path="a", old_string="old", new_string="x")
    assert "has changed since it was last read" in told


def test_a_part_of_a_large_file_is_remembered_by_its_identity(desk: Desk) -> None:
    file = desk.file("a", "line\n" * 300_000 + "end\n")
    os.utime(file, (1, 1))
    desk.text("view", path="a", view_range=[1, 2])
    desk.text("edit", path="a", old_string="end", new_string="the end")
    desk.text("view", path="a", view_range=[1, 2])
    with open(file, "a", encoding="utf-8") as appended:
        appended.write("more\n")
    told = desk.text("edit", path="a", old_string="the end", new_string="end")
    assert "had changed" in told


@BOTH
def test_a_binary_file_is_not_edited(desk: Desk, tool: str) -> None:
    data = b"\x89PNG\r\n\x1a\n\x00\x00IHDR"
    file = desk.file("a", data)
    told = refused(desk, tool, "invalid_params", "IHDR")
    assert "is a binary file, and only text can be edited" in told
    assert file.read_bytes() == data

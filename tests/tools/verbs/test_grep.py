"""grep, beyond its requirements: the texts, page edges, budgets, encodings, filters and links.

Own promise. Long because it is mostly tables; each group stands under its own line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep.workspace.walk import REASON
from tests.index.twins import wait_for
from tests.tools.workshop import Workshop, workshop

NOTHING = "No matches found"
NEXT = re.compile(r"\(output cut(?:: ([\d,]+) more ([a-z ]+))?; next: offset (\d+)\)")


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path) as made:
        yield made


def content(shop: Workshop, pattern: str, **arguments: Any) -> list[str]:
    return shop.lines("grep", pattern=pattern, output_mode="content", **arguments)


def found(shop: Workshop, pattern: str = "x", **arguments: Any) -> list[str]:
    """The files a search names, sorted; what they are relative to is the caller's own `path`."""
    lines = shop.lines("grep", pattern=pattern, **arguments)
    if lines[-1].startswith("(paths are relative to "):
        lines.pop()
    return [] if lines == [NOTHING] else sorted(lines)


# ── what the answer says when there is nothing to say ───────────────────────────────────────────


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
def test_nothing_found_is_said_in_every_mode(shop: Workshop, mode: str) -> None:
    shop.file("f.txt", "y\n")
    assert shop.text("grep", pattern="x", output_mode=mode) == NOTHING
    assert shop.text("grep", pattern="x", output_mode=mode, offset=5) == NOTHING
    assert shop.text("grep", pattern="x", output_mode=mode, path="f.txt") == NOTHING


@pytest.mark.parametrize(
    ("mode", "total"), [("content", 6), ("files_with_matches", 3), ("count", 3)]
)
def test_an_offset_past_the_end_says_how_many_there_are(
    shop: Workshop, mode: str, total: int
) -> None:
    shop.files("a", "b", "c", data="x\nx\n")
    told = shop.text("grep", pattern="x", output_mode=mode, offset=total)
    assert told == f"(no more results: offset {total}, {total} in total)"
    assert shop.text("grep", pattern="x", output_mode=mode, offset=total - 1)[0] != "("


@pytest.mark.parametrize(
    ("pattern", "is_told"),
    [
        (r"foo\nbar", True),
        ("foo\nbar", True),
        (r"foo\s*\n", True),
        (r"(a\n|b\n)c", True),
        (r"foo\n?bar", False),
        (r"foo\sbar", False),
        (r"foo[\n]bar", True),
        ("foo.*bar", False),
    ],
)
def test_a_pattern_that_needs_a_newline_is_told_of_multiline(
    shop: Workshop, pattern: str, is_told: bool
) -> None:
    shop.file("f.txt", "foo\nbar\n")
    told = shop.text("grep", pattern=pattern)
    assert told.startswith(NOTHING)
    assert ("multiline" in told) is is_told
    assert "multiline: true" not in shop.text("grep", pattern=pattern, multiline=True)


@pytest.mark.parametrize("pattern", [r"\C", r"a\Cb", r"\\\C", r"\Qa\E\C"])
def test_a_single_byte_escape_is_refused(shop: Workshop, pattern: str) -> None:
    assert r"\C" in shop.refused("grep", "invalid_pattern", pattern=pattern)


@pytest.mark.parametrize(("pattern", "line"), [(r"\\C", r"a\C"), (r"\Q\C\E", r"a\C")])
def test_a_written_backslash_before_a_c_is_no_single_byte_escape(
    shop: Workshop, pattern: str, line: str
) -> None:
    shop.file("f.txt", line + "\n")
    assert content(shop, pattern) == [f"f.txt:1:{line}"]


@pytest.mark.parametrize("pattern", [r"(?=x)", r"(?<!x)y", r"(x)\1", "x{1001}", "*x", "x**y("])
def test_what_re2_does_not_know_is_refused_with_its_words(shop: Workshop, pattern: str) -> None:
    assert "Invalid regex pattern: " in shop.refused("grep", "invalid_pattern", pattern=pattern)


# ── lines ───────────────────────────────────────────────────────────────────────────────────────

LONG: list[tuple[str, str, str]] = [
    # 2,000 characters are shown whole
    ("a" * 1_994 + "needle", "needle", "a" * 1_994 + "needle"),
    # in the middle, at the beginning, at the end
    (
        "a" * 5_000 + "needle" + "b" * 5_000,
        "needle",
        "..." + "a" * 500 + "needle" + "b" * 500 + "... [column 5001, 10006 chars total]",
    ),
    (
        "needle" + "b" * 5_000,
        "needle",
        "needle" + "b" * 500 + "... [column 1, 5006 chars total]",
    ),
    (
        "a" * 5_000 + "needle",
        "needle",
        "..." + "a" * 500 + "needle [column 5001, 5006 chars total]",
    ),
    # just near enough to both ends
    (
        "a" * 500 + "n" * 1_001 + "b" * 500,
        "n+",
        "a" * 500 + "n" * 500 + "..." + "b" * 500 + " [column 501, 2001 chars total]",
    ),
    # the first of several matches
    (
        "a" * 2_000 + "needle" + "b" * 100 + "needle",
        "needle",
        "..." + "a" * 500 + "needle" + "b" * 100 + "needle [column 2001, 2112 chars total]",
    ),
    # characters count, not bytes
    ("ä" * 1_994 + "needle", "needle", "ä" * 1_994 + "needle"),
    (
        "€" * 2_500 + "näedle" + "😀" * 2_500,
        "näedle",
        "..." + "€" * 500 + "näedle" + "😀" * 500 + "... [column 2501, 5006 chars total]",
    ),
    # an empty match
    ("a" * 2_000 + "needle", "^", "a" * 500 + "... [column 1, 2006 chars total]"),
]


@pytest.mark.parametrize(("line", "pattern", "shown"), LONG, ids=range(len(LONG)))
@pytest.mark.parametrize("multiline", [False, True])
def test_a_long_line_is_shown_around_its_first_match(
    shop: Workshop, line: str, pattern: str, shown: str, multiline: bool
) -> None:
    if multiline and pattern == "^":
        pattern = "(?m)^"
    shop.file("f.txt", f"before\n{line}\nafter\n")
    answer = content(shop, pattern, multiline=multiline)
    assert f"f.txt:2:{shown}" in answer


def test_a_long_context_line_is_cut_as_view_cuts_it(shop: Workshop) -> None:
    shop.file("f.txt", "y" * 2_001 + "\nneedle\n" + "z" * 2_000 + "\n")
    assert content(shop, "needle", context=1) == [
        "f.txt-1-" + "y" * 2_000 + "... [truncated, 2001 chars total]",
        "f.txt:2:needle",
        "f.txt-3-" + "z" * 2_000,
    ]


def test_bytes_that_are_no_text_match_no_character(shop: Workshop) -> None:
    shop.file("f.txt", b"a\xffb\na\xc3\xa4b\n")
    assert content(shop, "^a.b$") == ["f.txt:2:aäb"]
    assert content(shop, "a") == ["f.txt:1:a\ufffdb", "f.txt:2:aäb"]


ENCODED: list[tuple[str, bytes]] = [
    ("no mark", "one\nnäedle x\nthree\n".encode()),
    ("no final newline", "one\nnäedle x".encode()),
    ("UTF-8 mark", "\ufeffone\nnäedle x\n".encode()),
    ("UTF-16 little", b"\xff\xfe" + "one\nnäedle x\n".encode("utf-16-le")),
    ("UTF-16 big", b"\xfe\xff" + "one\nnäedle x\n".encode("utf-16-be")),
    ("UTF-16 no final newline", b"\xff\xfe" + "one\nnäedle x".encode("utf-16-le")),
    ("UTF-16 CRLF", b"\xff\xfe" + "one\r\nnäedle x\r\n".encode("utf-16-le")),
    ("UTF-32 little", b"\xff\xfe\0\0" + "one\nnäedle x\n".encode("utf-32-le")),
    ("UTF-32 big", b"\0\0\xfe\xff" + "one\nnäedle x\n".encode("utf-32-be")),
    ("CRLF", "one\r\nnäedle x\r\nthree\r\n".encode()),
    ("CRLF, no final one", "one\r\nnäedle x\r".encode()),
    ("mixed ends", "one\nnäedle x\r\nthree\n".encode()),
]


@pytest.mark.parametrize("data", [row[1] for row in ENCODED], ids=[row[0] for row in ENCODED])
@pytest.mark.parametrize("multiline", [False, True])
def test_every_text_encoding_is_searched_and_shown_alike(
    shop: Workshop, data: bytes, multiline: bool
) -> None:
    shop.file("f.txt", data)
    ends = "(?m)" if multiline else ""
    assert content(shop, f"{ends}^nä.dle x$", multiline=multiline) == ["f.txt:2:näedle x"]
    assert content(shop, f"{ends}^one$", multiline=multiline) == ["f.txt:1:one"]
    counted = shop.text("grep", pattern="näedle", output_mode="count", multiline=multiline)
    assert counted == "f.txt:1"
    assert content(shop, f"{ends}dle x$", only_matching=True, multiline=multiline) == [
        "f.txt:2:dle x"
    ]


@pytest.mark.parametrize("mark", [b"\xfe\xff", b"\xff\xfe"])
def test_a_mark_with_an_odd_byte_announces_nothing(shop: Workshop, mark: bytes) -> None:
    """The sniffing standard wants four bytes to see UTF-16, and takes these three for data."""
    shop.file("odd.txt", mark + b"\x00")
    shop.file("whole.txt", mark + b"\x00a" if mark == b"\xfe\xff" else mark + b"a\x00")
    assert shop.text("grep", pattern="^", output_mode="count", path=".") == "whole.txt:1"


def test_a_carriage_return_alone_ends_no_line(shop: Workshop) -> None:
    shop.file("f.txt", "one\rtwo\nthree\n")
    assert content(shop, "two") == ["f.txt:1:one\rtwo"]
    assert content(shop, "^two") == [NOTHING]


def test_an_empty_file_matches_nothing(shop: Workshop) -> None:
    shop.file("empty.txt", "")
    shop.file("newline.txt", "\n")
    for pattern in ("^", "$", "x*"):
        assert found(shop, pattern) == ["newline.txt"]
        assert content(shop, pattern) == ["newline.txt:1:"]


def test_no_line_stands_behind_the_last_newline(shop: Workshop) -> None:
    shop.file("f.txt", "x\n")
    assert content(shop, "^") == ["f.txt:1:x"]
    assert content(shop, "^$") == [NOTHING]
    assert shop.text("grep", pattern="^", output_mode="count") == "f.txt:1"


def test_the_ends_of_the_text_are_the_line_s_own_without_multiline(shop: Workshop) -> None:
    shop.file("f.txt", "a\nb\n")
    for pattern in (r"\Ab\z", r"^b$", r"(?-m)^b$", r"\Ab"):
        assert content(shop, pattern) == ["f.txt:2:b"]


def test_a_name_with_control_characters_is_escaped_and_can_be_named_so(shop: Workshop) -> None:
    shop.file("a\nb.txt", "x\n")
    shop.file("c\\d.txt", "x\n")
    (shop.root / os.fsdecode(b"e\xff.txt")).write_bytes(b"x\n")
    names = ["a\\nb.txt", "c\\\\d.txt", "e\\xff.txt"]
    assert found(shop) == names
    for name in names:
        assert content(shop, "x", path=name) == [f"{name}:1:x"]


# ── context, pages, separators ──────────────────────────────────────────────────────────────────


def test_touching_contexts_are_one_group(shop: Workshop) -> None:
    shop.file("f.txt", "1\nx\n3\n4\nx\n6\n7\n8\nx\n")
    assert content(shop, "x", context=1) == [
        "f.txt-1-1",
        "f.txt:2:x",
        "f.txt-3-3",
        "f.txt-4-4",
        "f.txt:5:x",
        "f.txt-6-6",
        "--",
        "f.txt-8-8",
        "f.txt:9:x",
    ]


def test_separators_stand_between_files_with_context_too(shop: Workshop) -> None:
    shop.files("a", "b", data="1\nx\n")
    assert content(shop, "x", context=5) == ["a-1-1", "a:2:x", "--", "b-1-1", "b:2:x"]
    assert content(shop, "x", line_numbers=False) == ["a:x", "--", "b:x"]


def test_a_match_outside_the_page_is_shown_as_context(shop: Workshop) -> None:
    shop.file("f.txt", "x1\nx2\nx3\nx4\nx5\n")
    assert content(shop, "x", offset=1, head_limit=2, context=1) == [
        "f.txt-1-x1",
        "f.txt:2:x2",
        "f.txt:3:x3",
        "f.txt-4-x4",
        "(more; next: offset 3)",
    ]


def test_a_page_goes_across_files(shop: Workshop) -> None:
    shop.files("a", "b", "c", data="x1\nx2\n")
    assert content(shop, "x", offset=1, head_limit=4) == [
        "a:2:x2",
        "--",
        "b:1:x1",
        "b:2:x2",
        "--",
        "c:1:x1",
        "(more; next: offset 5)",
    ]


def test_contexts_larger_than_the_file_show_the_file(shop: Workshop) -> None:
    shop.file("f.txt", "1\nx\n3")
    whole = ["f.txt-1-1", "f.txt:2:x", "f.txt-3-3"]
    assert content(shop, "x", context=2**53) == whole
    assert content(shop, "x", context=2**53, multiline=True) == whole


def test_files_of_one_age_are_in_path_order(shop: Workshop) -> None:
    names = ["B", "a/b", "a-b", "a.b", "c"]
    for name in reversed(names):
        shop.file(name, "x\n", modified=1_000)
    shop.file("newer", "x\n", modified=2_000)
    assert shop.lines("grep", pattern="x") == ["newer", *names]
    assert shop.lines("grep", pattern="x", offset=1, head_limit=2)[:-1] == names[:2]


ROWS = st.lists(st.sampled_from(["x", "xx", "y", ""]), max_size=12)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    files=st.lists(ROWS, min_size=1, max_size=3),
    before=st.integers(0, 3),
    after=st.integers(0, 3),
    offset=st.integers(0, 6),
    limit=st.integers(0, 6),
    multiline=st.booleans(),
)
def test_content_equals_its_definition(
    shop: Workshop,
    files: list[list[str]],
    before: int,
    after: int,
    offset: int,
    limit: int,
    multiline: bool,
) -> None:
    """The slow definition: mark the lines of the page, spread the context, print what is marked."""
    for name in os.listdir(shop.root):
        (shop.root / name).unlink()
    for number, rows in enumerate(files):
        shop.file(f"f{number}", "".join(f"{row}\n" for row in rows))
    numbered = [(f, n, row) for f, rows in enumerate(files) for n, row in enumerate(rows)]
    everything = [(f, n) for f, n, row in numbered if "x" in row]
    page = everything[offset : offset + limit] if limit else everything[offset:]
    expected: list[str] = []
    previous = None
    for f, n, row in numbered:
        if not any(f == g and m - before <= n <= m + after for g, m in page):
            continue
        if previous not in (None, (f, n - 1)):
            expected.append("--")
        mark = ":" if (f, n) in page else "-"
        expected.append(f"f{f}{mark}{n + 1}{mark}{row}")
        previous = (f, n)
    if not page:
        past = f"(no more results: offset {offset}, {len(everything)} in total)"
        expected = [past if everything else NOTHING]
    if page and limit and offset + limit < len(everything):
        expected.append(f"(more; next: offset {offset + limit})")
    assert expected == content(
        shop,
        "x",
        context_before=before,
        context_after=after,
        offset=offset,
        head_limit=limit,
        multiline=multiline,
    )


# ── only the matching parts ─────────────────────────────────────────────────────────────────────


def test_only_matching_prints_every_match_on_its_own_line(shop: Workshop) -> None:
    shop.file("a.txt", "fn one(), fn two()\nnothing\nfn three()\n")
    shop.file("b.txt", "fn four()\n")
    every = ["a.txt:1:fn one", "a.txt:1:fn two", "a.txt:3:fn three", "b.txt:1:fn four"]
    assert content(shop, r"fn \w+", only_matching=True) == every
    assert content(shop, r"fn \w+", only_matching=True, context=3) == every
    page = content(shop, r"fn \w+", only_matching=True, offset=1, head_limit=2)
    assert page == [*every[1:3], "(more; next: offset 3)"]
    assert content(shop, r"fn \w+", only_matching=True, line_numbers=False, head_limit=1) == [
        "a.txt:fn one",
        "(more; next: offset 1)",
    ]


def test_only_matching_counts_outside_content_mode_for_nothing(shop: Workshop) -> None:
    shop.file("a.txt", "xx\n")
    assert shop.text("grep", pattern="x", only_matching=True) == "a.txt"
    assert shop.text("grep", pattern="x", only_matching=True, output_mode="count") == "a.txt:1"


def test_only_matching_leaves_empty_matches_out(shop: Workshop) -> None:
    shop.file("a.txt", "axa\nb\n")
    assert content(shop, "x*", only_matching=True) == ["a.txt:1:x"]
    assert content(shop, "x*", only_matching=True, offset=1) == [
        "(no more results: offset 1, 1 in total)"
    ]


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("multiline", [True, False])
def test_empty_matches_are_left_out_alike_in_lines_and_in_multiline(
    tmp_path: Path, indexed: bool, multiline: bool
) -> None:
    with workshop(tmp_path, no_index=not indexed) as shop:
        shop.file("a.txt", "ab\n\nfoo\nb\n")
        if indexed:
            shop.application.start_index()
            index = shop.application.services.index
            wait_for(lambda: index.status().grep_ready, lambda: f"not ready: {index.status()}")
        asked = {"multiline": multiline, "only_matching": True}
        assert content(shop, "a*", **asked) == ["a.txt:1:a"]
        assert content(shop, "o+|b|z*", **asked) == ["a.txt:1:b", "a.txt:3:oo", "a.txt:4:b"]
        assert content(shop, "o+|b|z*", offset=1, head_limit=1, **asked) == [
            "a.txt:3:oo",
            "(more; next: offset 2)",
        ]
        for pattern in ("(?m)$", "z*"):
            assert content(shop, pattern, **asked) == [
                "No matches found but empty ones",
                "(without -o (only_matching) their lines are shown)",
            ]
        assert content(shop, "z+", **asked) == [NOTHING]
        assert len(content(shop, "(?m)$", multiline=multiline)) == 4
        count = shop.text("grep", pattern="(?m)$", multiline=multiline, output_mode="count")
        assert count == "a.txt:4"


# ── multiline ───────────────────────────────────────────────────────────────────────────────────


def test_multiline_marks_every_spanned_line_and_merges_overlaps(shop: Workshop) -> None:
    shop.file("f.txt", "0\na\nb a\nb\n4\n")
    assert content(shop, "a.b", multiline=True) == ["f.txt:2:a", "f.txt:3:b a", "f.txt:4:b"]
    assert shop.text("grep", pattern="a.b", multiline=True, output_mode="count") == "f.txt:2"


def test_multiline_pages_by_lines(shop: Workshop) -> None:
    shop.file("f.txt", "a\nb\nc\na\nb\n")
    lines = ["f.txt:1:a", "f.txt:2:b", "--", "f.txt:4:a", "f.txt:5:b"]
    assert content(shop, "a.b", multiline=True) == lines
    assert content(shop, "a.b", multiline=True, offset=1, head_limit=2)[:-1] == lines[1:4]


def test_multiline_anchors_are_the_text_s_ends(shop: Workshop) -> None:
    shop.file("f.txt", "a\nb\n")
    assert content(shop, "^b", multiline=True)[0] == NOTHING
    assert content(shop, "(?m)^b", multiline=True) == ["f.txt:2:b"]
    assert content(shop, r"a\nb", multiline=True) == ["f.txt:1:a", "f.txt:2:b"]


def test_a_match_that_ends_in_a_newline_does_not_span_the_next_line(shop: Workshop) -> None:
    shop.file("f.txt", "a\nb\n")
    assert content(shop, r"a\n", multiline=True) == ["f.txt:1:a"]


def test_counts_are_lines_but_matches_in_multiline(shop: Workshop) -> None:
    shop.file("f.txt", "x x x\nx\n")
    assert shop.text("grep", pattern="x", output_mode="count") == "f.txt:2"
    assert shop.text("grep", pattern="x", output_mode="count", multiline=True) == "f.txt:4"


def test_a_file_too_large_for_multiline_is_told(shop: Workshop) -> None:
    shop.file("small.txt", "x\n")
    with shop.file("huge.txt", "x\n" * 300).open("r+b") as huge:
        huge.truncate(256 * 1024 * 1024 + 1)
    told = "(1 not searched: huge.txt: over 256 MiB, too large for multiline)"
    assert shop.lines("grep", pattern="x", multiline=True) == ["small.txt", told]
    assert found(shop) == ["huge.txt", "small.txt"]


# ── include and type ────────────────────────────────────────────────────────────────────────────

TREE = ("a.py", "b.ts", "c.tsx", "src/a.py", "src/d.rs", "src/deep/a.py", "lib/a.py", "we,ird.py")
INCLUDES: list[tuple[Any, list[str]]] = [
    ("*.py", ["a.py", "lib/a.py", "src/a.py", "src/deep/a.py", "we,ird.py"]),
    ("*.{ts,tsx}", ["b.ts", "c.tsx"]),
    ("?.{ts,py}", ["a.py", "b.ts", "lib/a.py", "src/a.py", "src/deep/a.py"]),
    ("[!a-b].*", ["c.tsx", "src/d.rs"]),
    ("we,*", ["we,ird.py"]),
    # with a slash, on the path from the search root
    ("src/*.py", ["src/a.py"]),
    ("src/**/*.py", ["src/a.py", "src/deep/a.py"]),
    ("**/deep/**", ["src/deep/a.py"]),
    ("{src,lib}/*", ["lib/a.py", "src/a.py", "src/d.rs"]),
    ("/a.py", ["a.py"]),
    # lists
    (["*.ts", "*.rs"], ["b.ts", "src/d.rs"]),
    (["*.py", "!a.py"], ["we,ird.py"]),
    (["*.py", "!src/**"], ["a.py", "lib/a.py", "we,ird.py"]),
    (["!*.py"], ["b.ts", "c.tsx", "src/d.rs"]),
    ([], sorted(TREE)),
]


@pytest.mark.parametrize(("include", "names"), INCLUDES, ids=[str(row[0]) for row in INCLUDES])
def test_include(shop: Workshop, include: Any, names: list[str]) -> None:
    shop.files(*TREE)
    assert found(shop, include=include) == names


@pytest.mark.parametrize("include", ["[a", "{a,b", "a\\", "", ["*.py", "[a"], "../*.py"])
def test_a_malformed_glob_is_refused(shop: Workshop, include: Any) -> None:
    shop.file("a.py", "x\n")
    assert "glob" in shop.refused("grep", "invalid_params", pattern="x", include=include)


TYPES: list[tuple[str, list[str]]] = [
    ("c", ["a.c", "a.h"]),
    ("cpp", ["a.cc", "a.cpp", "a.cxx", "a.h", "a.hh", "a.hpp", "a.hxx", "a.inl"]),
    ("css", ["a.css", "a.scss"]),
    ("go", ["a.go"]),
    ("html", ["a.htm", "a.html"]),
    ("java", ["a.java"]),
    ("js", ["a.cjs", "a.js", "a.jsx", "a.mjs"]),
    ("json", ["a.json"]),
    ("markdown", ["a.markdown", "a.md", "a.mdx"]),
    ("md", ["a.markdown", "a.md", "a.mdx"]),
    ("py", ["a.py", "a.pyi"]),
    ("python", ["a.py", "a.pyi"]),
    ("rust", ["a.rs"]),
    ("ts", ["a.cts", "a.mts", "a.ts", "a.tsx"]),
    ("typescript", ["a.cts", "a.mts", "a.ts", "a.tsx"]),
    ("yaml", ["a.yaml", "a.yml"]),
]


@pytest.mark.parametrize(("kind", "names"), TYPES, ids=[row[0] for row in TYPES])
def test_type(shop: Workshop, kind: str, names: list[str]) -> None:
    shop.files(*{name for _, row in TYPES for name in row}, "a.other", "a", "py", "js.txt")
    assert found(shop, type=kind) == names


def test_include_and_type_apply_to_a_single_file(shop: Workshop) -> None:
    shop.file("a.py", "x\n")
    assert found(shop, path="a.py", include="*.py", type="py") == ["a.py"]
    assert found(shop, path="a.py", include="*.js") == []
    assert found(shop, path="a.py", type="js") == []
    shop.link("tool.js", "a.py")
    assert found(shop, path="tool.js", include="*.js", type="js") == ["tool.js"]
    assert found(shop, path="tool.js", include="*.py") == []


# ── ignored, denied, links ──────────────────────────────────────────────────────────────────────


def test_an_ignored_path_is_searched_when_it_is_named(shop: Workshop) -> None:
    shop.file(".gitignore", "dist/\n*.log\n")
    shop.files("dist/a.js", "dist/deep/b.js", "dist/c.log", "d.log")
    shop.files(".git/config", "node_modules/m/a.js", "node_modules/m/e.log")
    shop.files("node_modules/m/node_modules/n/a.js")
    assert found(shop) == []
    assert found(shop, path="dist") == ["a.js", "deep/b.js"]
    assert found(shop, path="dist/deep") == ["b.js"]
    assert found(shop, path="d.log") == ["d.log"]
    assert found(shop, path="dist/c.log") == ["dist/c.log"]
    assert found(shop, path=".git") == ["config"]
    assert found(shop, path="node_modules/m") == ["a.js"]
    assert found(shop, path="node_modules") == ["m/a.js"]


def test_ignore_files_above_the_root_count(shop: Workshop) -> None:
    shop.file(".gitignore", "*.log\n/sub/anchored\n")
    shop.files("sub/a.log", "sub/a.txt", "sub/anchored", "sub/deep/anchored")
    assert found(shop, path="sub") == ["a.txt", "deep/anchored"]
    assert found(shop, path="sub/deep") == ["anchored"]


def test_ignore_files_above_a_repository_do_not_count(shop: Workshop) -> None:
    shop.file(".gitignore", "*.log\n")
    shop.files("repo/.git/HEAD", "repo/a.log", "repo/sub/b.log")
    assert found(shop, path="repo") == ["a.log", "sub/b.log"]
    assert found(shop, path="repo/sub") == ["b.log"]


def test_links_to_directories_below_the_root_are_skipped(shop: Workshop) -> None:
    shop.files("z/real/f.txt")
    shop.link("a-link", "z/real")
    shop.link("z/up", "..")
    shop.link("z/again", "real")
    assert found(shop) == ["z/real/f.txt"]
    assert found(shop, path="a-link") == ["f.txt"]


def test_a_directory_outside_is_entered_once_by_the_first_link_in_walk_order(
    shop: Workshop, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "f.txt").write_text("x\n")
    (outside / "deep/g.txt").write_text("x\n")
    shop.link("b/second", outside)
    shop.link("a/z/first", outside)
    shop.link("c-deep", outside / "deep")
    shop.link("z", outside)
    assert found(shop) == ["a/z/first/deep/g.txt", "a/z/first/f.txt"]


def test_a_link_to_a_parent_of_the_root_does_not_repeat_the_root(shop: Workshop) -> None:
    shop.files("sub/f.txt", "sub/deep/g.txt", "other/h.txt")
    shop.link("sub/up", shop.root)
    assert found(shop, path="sub") == ["deep/g.txt", "f.txt", "up/other/h.txt"]


def test_links_to_files_are_searched_under_their_own_names(shop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("x\n")
    shop.files("real.txt")
    shop.link("link.md", "real.txt")
    shop.link("sub/out", tmp_path / "out.txt")
    shop.link("dangling", "nowhere")
    shop.link("loop", "loop")
    assert found(shop) == ["link.md", "real.txt", "sub/out"]
    assert found(shop, type="md") == ["link.md"]


def test_a_link_to_a_large_file_is_searched(shop: Workshop, tmp_path: Path) -> None:
    """Large files go to a worker, which must find the one the link leads to."""
    (tmp_path / "large.bin").write_text("y\n" * 600_000 + "x\n")
    shop.link("sub/link.txt", tmp_path / "large.bin")
    assert found(shop) == ["sub/link.txt"]
    assert content(shop, "x") == ["sub/link.txt:600001:x"]
    assert content(shop, "x", multiline=True) == ["sub/link.txt:600001:x"]


def test_a_link_called_node_modules_is_skipped_too(shop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "store/m").mkdir(parents=True)
    (tmp_path / "store/m/index.js").write_text("x\n")
    shop.link("app/node_modules", tmp_path / "store")
    assert found(shop) == []
    assert found(shop, path="app/node_modules") == ["m/index.js"]


def test_denied_entries_are_left_out_and_refused_by_name(tmp_path: Path) -> None:
    with workshop(tmp_path, deny_dir=("**/secret", "private/**", "**/*.key")) as shop:
        shop.files("a.txt", "secret/s.txt", "sub/secret/t.txt", "private/p.txt", "id.key")
        shop.files(".flashgrep/token")
        shop.link("innocent.txt", "id.key")
        shop.link("innocent", "secret")
        assert found(shop) == ["a.txt"]
        for path in ("secret", "id.key", "private/p.txt", "innocent", ".flashgrep"):
            told = shop.refused("grep", "access_denied", pattern="x", path=path)
            assert path in told


def test_links_out_of_the_allowed_directories_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/f.txt").write_text("x\n")
    with workshop(tmp_path, allow_dir=(str(tmp_path / "work"),)) as shop:
        shop.files("a.txt")
        shop.link("directory", tmp_path / "outside")
        shop.link("file", tmp_path / "outside/f.txt")
        assert found(shop) == ["a.txt"]


def test_pipes_sockets_and_devices_are_no_files(shop: Workshop) -> None:
    os.mkfifo(shop.root / "pipe")
    shop.files("a.txt")
    assert found(shop) == ["a.txt"]
    told = shop.refused("grep", "invalid_params", pattern="x", path="pipe")
    assert "neither a file nor a directory" in told


def test_a_file_that_cannot_be_read_is_told_in_one_last_line(shop: Workshop) -> None:
    shop.files("a.txt")
    shop.link("memory", "/proc/self/mem")
    told = f"(1 not searched: memory: {REASON})"
    assert shop.lines("grep", pattern="x") == ["a.txt", told]
    assert content(shop, "x") == ["a.txt:1:x", told]
    assert shop.lines("grep", pattern="x", output_mode="count") == ["a.txt:1", told]
    assert shop.lines("grep", pattern="nowhere") == [NOTHING, told]
    for number in range(4):
        shop.link(f"memory{number}", "/proc/self/mem")
    last = shop.lines("grep", pattern="x")[-1]
    assert last.startswith("(5 not searched: memory: ")
    assert last.endswith("; and 2 more)")


def test_a_file_that_fails_while_it_is_read_is_told_with_the_reason(shop: Workshop) -> None:
    """Reading /proc/self/mem from its beginning fails for everyone, root included."""
    last = shop.lines("grep", pattern="x", path=f"/proc/{os.getpid()}", include="mem")[-1]
    assert ": mem: input/output error" in last


# ── the budget ──────────────────────────────────────────────────────────────────────────────────


def follow(shop: Workshop, **arguments: Any) -> Iterator[list[str]]:
    """The pages of a search, each without its last line, which names the next one's offset."""
    offset: int | None = 0
    while offset is not None:
        lines = shop.lines("grep", **arguments, offset=offset)
        assert len("\n".join(lines)) <= shop.application.settings.max_output_chars
        cut = NEXT.fullmatch(lines[-1])
        assert cut is None or int(cut[3]) > offset, "no progress"
        offset = int(cut[3]) if cut else None
        yield lines[:-1] if cut else lines


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
@pytest.mark.parametrize("budget", [400, 1_000, 2_500])
def test_following_the_printed_offset_gives_every_result_once(
    tmp_path: Path, mode: str, budget: int
) -> None:
    with workshop(tmp_path, max_output_chars=budget) as shop:
        for number in range(250):
            shop.file(f"d{number % 7}/f{number}.txt", "x one\ny\nx two\n", modified=1_000 + number)
        pages = list(follow(shop, pattern="x", output_mode=mode))
    with workshop(tmp_path, max_output_chars=0) as shop:
        whole = shop.lines("grep", pattern="x", output_mode=mode)
    assert len(pages) > 1
    shown = [line for page in pages for line in page if line != "--"]
    assert shown == [line for line in whole if line != "--"]


@pytest.mark.parametrize("context", [0, 1, 5, 1_000])
@pytest.mark.parametrize("multiline", [False, True])
def test_following_the_printed_offset_works_with_context(
    tmp_path: Path, context: int, multiline: bool
) -> None:
    with workshop(tmp_path, max_output_chars=600) as shop:
        rows = [f"{'match' if number % 5 == 0 else 'line'} {number}" for number in range(1, 101)]
        shop.file("f.txt", "\n".join(rows))
        given = {"output_mode": "content", "context": context, "multiline": multiline}
        pages = list(follow(shop, pattern="match", **given))
    matches = [line for page in pages for line in page if line.startswith("f.txt:")]
    assert matches == [f"f.txt:{number}:match {number}" for number in range(5, 101, 5)]


def test_the_last_line_says_how_much_is_missing_of_the_page_where_that_was_counted(
    tmp_path: Path,
) -> None:
    with workshop(tmp_path, max_output_chars=2_000) as shop:
        shop.file("f.txt", ("x" * 120 + "\n") * 25)
        lines = content(shop, "x")
        cut = NEXT.fullmatch(lines[-1])
        assert cut
        assert cut[2] == "matching lines"
        assert int(cut[1].replace(",", "")) == 25 - (len(lines) - 1)
        lines = content(shop, "x", offset=3, head_limit=20)
        cut = NEXT.fullmatch(lines[-1])
        assert cut
        assert int(cut[1]) == 20 - (len(lines) - 1)
        assert int(cut[3]) == 3 + len(lines) - 1


def test_a_page_cut_by_the_budget_is_not_counted_to_the_end(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=400) as shop:
        shop.file("f.txt", "x\n" * 2_000)
        for asked in ({}, {"head_limit": 1_000}):
            lines = content(shop, "x", **asked)
            assert lines[-1] == f"(output cut; next: offset {len(lines) - 1})"


def test_context_that_does_not_fit_gives_way_to_the_match(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=1_000) as shop:
        shop.file("f.txt", "a long line before\n" * 500 + "x\n" + "a long line after\n" * 500)
        lines = content(shop, "x", context=400)
        assert "f.txt:501:x" in lines
        assert lines[-1].startswith("(output cut: ")
        assert "context" in lines[-1]
        assert "next: offset" not in lines[-1]
        assert len("\n".join(lines)) <= 1_000


def test_a_single_line_over_the_budget_is_shown_all_the_same(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=100) as shop:
        shop.file("f.txt", "x" * 1_500 + "\nx\n")
        first, last = content(shop, "x")
        assert first == "f.txt:1:" + "x" * 1_500
        assert last == "(output cut: 1 more matching lines; next: offset 1)"


def test_context_lost_behind_such_a_line_is_told(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=100) as shop:
        shop.file("f.txt", "x" * 1_500 + "\ny\n")
        last = content(shop, "x", context_after=1)[-1]
        assert last == "(output cut: context lines left out; ask for fewer)"


def test_without_a_budget_everything_is_shown(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=0) as shop:
        shop.file("f.txt", "x" * 100 + "\n")
        shop.file("g.txt", ("x" * 100 + "\n") * 5_000)
        assert len(content(shop, "x")) == 5_002


def test_the_default_budget_is_forty_five_thousand_characters(shop: Workshop) -> None:
    shop.file("f.txt", ("x" * 100 + "\n") * 5_000)
    told = "\n".join(content(shop, "x"))
    assert 44_000 < len(told) <= 45_000
    assert NEXT.search(told)


def test_a_named_binary_file_is_told_to_be_one(shop: Workshop) -> None:
    shop.file("data.bin", b"\x00\x01needle")
    told = shop.text("grep", pattern="needle", path="data.bin")
    assert told == "No matches found\n(data.bin is a binary file and was not searched)"
    assert shop.text("grep", pattern="needle") == "No matches found"


def test_a_file_in_a_directory_right_below_the_root_is_searched(shop: Workshop) -> None:
    told = shop.text("grep", pattern="^root:", path="/etc/passwd", output_mode="count")
    assert told == "/etc/passwd:1"

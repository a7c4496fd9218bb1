"""read: lines from an offset on, long lines by column, notebooks, PDF files."""

from __future__ import annotations

import importlib.util
import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flashgrep.tools.dispatch.call import Budget
from flashgrep.tools.format.numbered import LineStream, read_lines
from flashgrep.tools.verbs.read import page_range

if TYPE_CHECKING:
    from tests.tools.conftest import Desk


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def test_a_file_is_read_with_numbers(desk: Desk) -> None:
    desk.file("a", "one\ntwo\n")
    assert desk.text("read", file_path="a") == "     1\tone\n     2\ttwo"
    assert desk.text("read", path="a", offset=2) == "     2\ttwo"
    assert desk.text("read", path="a", offset="1", limit="1") == "     1\tone"


def test_a_long_file_ends_after_two_thousand_lines_and_says_where_to_go_on(desk: Desk) -> None:
    desk.file("a", lines(5_120))
    rows = desk.text("read", file_path="a").split("\n")
    assert rows[-1] == "[PARTIAL view: lines 1-2000 of 5120. Continue with offset=2001]"
    rows = desk.text("read", file_path="a", offset=4_001).split("\n")
    assert rows[-1] == "  5120\tline 5120"


@pytest.mark.parametrize("total", [1_999, 2_000])
def test_a_file_that_fits_has_nothing_after_it(desk: Desk, total: int) -> None:
    desk.file("a", lines(total))
    assert desk.text("read", file_path="a").endswith(f"\tline {total}")


def test_a_limit_the_caller_chose_is_not_remarked_upon(desk: Desk) -> None:
    desk.file("a", lines(9))
    assert desk.text("read", file_path="a", offset=2, limit=2) == "     2\tline 2\n     3\tline 3"


@pytest.mark.parametrize(
    ("data", "arguments", "told"),
    [
        ("", {}, "Warning: the file exists but its contents are empty."),
        ("a\nb\n", {"offset": 9}, "Warning: offset 9 is past the end; the file has 2 lines."),
        ("abc\n", {"column": 9}, "Warning: column 9 is past the end of line 1 (3 chars)."),
    ],
)
def test_nothing_to_show_is_a_warning_and_no_error(
    desk: Desk, data: str, arguments: dict[str, int], told: str
) -> None:
    desk.file("a", data)
    assert desk.text("read", file_path="a", **arguments) == told


def test_the_offset_zero_is_the_first_line(desk: Desk) -> None:
    desk.file("a", "one\ntwo\n")
    first = desk.text("read", file_path="a", offset=1)
    assert desk.text("read", file_path="a", offset=0) == first


@pytest.mark.parametrize("arguments", [{"limit": 0}, {"column": 0}, {"offset": -5}])
def test_numbers_below_one_are_refused(desk: Desk, arguments: dict[str, int]) -> None:
    desk.file("a", "x")
    desk.refused("read", "invalid_params", file_path="a", **arguments)


def test_a_line_is_not_cut_at_two_thousand_characters(desk: Desk) -> None:
    desk.file("a", "x" * 40_000)
    assert desk.text("read", file_path="a") == "     1\t" + "x" * 40_000


def test_a_line_over_the_budget_is_continued_by_column(desk: Desk) -> None:
    text = "".join(f"{number:05}," for number in range(1_000))
    desk.file("a", f"first\n{text}\nlast\n")
    desk.set(max_output_chars=1_000)
    assert "Continue with offset=2]" in desk.text("read", file_path="a")
    pieces, column = "", 1
    while True:
        answer = desk.text("read", file_path="a", offset=2, column=column)
        assert len(answer) <= 1_000
        row, _, footer = answer.partition("\n")
        pieces += row.partition("\t")[2]
        match = re.search(r"of (\d+)\. Continue with offset=2, column=(\d+)]", footer)
        if match is None:
            break
        assert int(match[1]) == len(text)
        column = int(match[2])
    assert pieces == text
    assert footer == "     3\tlast"


@given(
    st.text("ab\r\n", max_size=60),
    st.integers(1, 8),
    st.integers(0, 12).map(lambda n: n or None),
    st.integers(1, 5),
)
def test_a_stream_of_lines_is_the_text_split(
    text: str, first: int, cap: int | None, cut: int
) -> None:
    """The oracle splits the whole text; the stream gets it in pieces of `cut` characters."""
    chunks = [text[at : at + cut] for at in range(0, len(text), cut)]
    split = text.split("\n")
    ended = [part.removesuffix("\r") for part in split[:-1]]
    whole = ended + ([split[-1]] if split[-1] else [])
    stream = LineStream(chunks, first, cap)
    got = [(line.number, line.text[:cap], line.length) for line in stream]
    wanted = [(n, part[:cap], len(part)) for n, part in enumerate(whole, 1) if n >= first]
    assert got == wanted
    assert stream.total == len(whole)


@given(st.lists(st.text("xyz", max_size=400), max_size=12), st.integers(320, 900))
def test_following_the_continuations_shows_every_character_once(
    rows: list[str], chars: int
) -> None:
    text = "".join(row + "\n" for row in rows)
    offset, column, shown = 1, 1, dict.fromkeys(range(1, len(rows) + 1), "")
    for _ in range(100):
        answer = read_lines([text], offset, None, column, Budget(chars))
        for row in re.findall(r"^ *(\d+)\t(.*)$", answer, re.MULTILINE):
            shown[int(row[0])] += row[1]
        more = re.search(r"Continue with offset=(\d+)(?:, column=(\d+))?]$", answer)
        if more is None:
            break
        offset, column = int(more[1]), int(more[2] or 1)
    assert list(shown.values()) == rows


def test_a_notebook_is_read_as_cells_with_their_outputs(desk: Desk) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "id": "abc",
            "source": "print(1)\n",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"]},
                {
                    "output_type": "execute_result",
                    "data": {"text/plain": "<Figure>", "image/png": "A" * 2048},
                },
                {"output_type": "error", "traceback": ["\x1b[31mValueError\x1b[0m: no"]},
            ],
        },
    ]
    desk.file("a.ipynb", json.dumps({"cells": cells}))
    rows = [row.partition("\t")[2] for row in desk.text("read", file_path="a.ipynb").split("\n")]
    assert rows == [
        "[cell 1: markdown]",
        "# Title",
        "text",
        "[cell 2: code id=abc]",
        "print(1)",
        "[output of cell 2: stream]",
        "1",
        "[output of cell 2: execute_result]",
        "<Figure>",
        "(image/png, 2.0 KB)",
        "[output of cell 2: error]",
        "ValueError: no",
    ]


@pytest.mark.parametrize("data", ["{}", "not json", '{"cells": 5}', '{"cells": ["x"]}'])
def test_a_broken_notebook_is_read_as_text(desk: Desk, data: str) -> None:
    desk.file("a.ipynb", data)
    assert desk.text("read", file_path="a.ipynb") == f"     1\t{data}"


def test_a_pdf_is_read_as_text_where_that_is_installed(desk: Desk) -> None:
    desk.file("a.pdf", b"%PDF-1.4\n%broken\n" + b"\0" * 1_000)
    text = desk.text("read", file_path="a.pdf")
    assert text.startswith("Binary file (1017 bytes). ")
    installed = importlib.util.find_spec("pypdf") is not None
    assert ("flashgrep[pdf]" in text) == (not installed)
    assert desk.text("view", path="a.pdf") == "Binary file (1017 bytes)"


def test_pages_are_for_a_pdf_and_accepted_for_any_file(desk: Desk) -> None:
    desk.file("a", "one\n")
    assert desk.text("read", file_path="a", pages="2-5") == desk.text("read", file_path="a")
    assert [*page_range("3")] == [3]
    assert [*page_range(" 2 - 4 ")] == [2, 3, 4]


@pytest.mark.parametrize("pages", ["0", "5-2", "x", "1,2", "-3"])
def test_pages_that_are_no_range_are_refused(desk: Desk, pages: str) -> None:
    desk.file("a", "one\n")
    told = desk.refused("read", "invalid_params", file_path="a", pages=pages)
    assert told.startswith(f"pages is {pages!r}; give one page")


def test_a_directory_is_refused(desk: Desk) -> None:
    assert "is a directory" in desk.refused("read", "invalid_params", file_path=".")


def test_two_names_of_one_parameter_must_agree(desk: Desk) -> None:
    desk.file("a", "x")
    desk.text("read", path="a", file_path="a")
    told = desk.refused("read", "invalid_params", path="a", file_path="b")
    assert "path" in told
    assert "file_path" in told

"""Whatever an answer may hold, who follows what it says about continuing comes to the end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.tools.workshop import Workshop, workshop, workshop_with_notes

BUDGETS = (1, 2, 7, 8, 9, 60, 299, 301, 310, 330, 700)
TEXT = "ab\r\n\ncaf\u00e9 \u20ac\n\n" + "long " * 80 + "\nlast"
LINES = TEXT.replace("\r", "").split("\n")
NUMBERS = re.compile(r"(\w+)=(\[[^\]]*\]|\d+)")

pytestmark = pytest.mark.parametrize("budget", BUDGETS)


@pytest.fixture
def shop(tmp_path: Path, budget: int) -> Iterator[Workshop]:
    with workshop(tmp_path, no_index=True, max_output_chars=budget) as made:
        made.file("a.txt", TEXT)
        made.files(*(f"dir/f{number}.py" for number in range(3)), data="def word():\n    word()\n")
        yield made


def pages(shop: Workshop, tool: str, **arguments: Any) -> Iterator[list[str]]:
    """The lines of each answer of a tool that numbers them, to the last."""
    more: dict[str, Any] = {}
    for _ in range(len(TEXT) + 1):
        answer = shop.text(tool, path="a.txt", **arguments | more)
        rows, _, footer = answer.partition("\n[PARTIAL view: ")
        yield rows.split("\n")
        if not footer:
            return
        told = NUMBERS.findall(footer.partition("Continue with ")[2])
        more = {name: json.loads(value) for name, value in told}
    pytest.fail(f"{tool} goes on for ever: {answer}")


def test_read_continues_to_the_end(shop: Workshop) -> None:
    found = [""] * len(LINES)
    for rows in pages(shop, "read"):
        for row in rows:
            number, _, text = row.partition("\t")
            found[int(number) - 1] += text
    assert found == LINES


def test_read_of_one_line_ends_with_it(shop: Workshop) -> None:
    read = [row.partition("\t")[2] for rows in pages(shop, "read", limit=1) for row in rows]
    assert "".join(read) == "ab"


def test_view_continues_to_the_end(shop: Workshop) -> None:
    shown = [row.partition("\t")[2] for rows in pages(shop, "view") for row in rows]
    assert shown == LINES


@pytest.mark.parametrize("tool", ["get_slice", "read_code"])
def test_slices_continue_or_name_read(shop: Workshop, tool: str, budget: int) -> None:
    found: list[str] = []
    while len(found) < len(LINES):
        line = {"start_line": len(found) + 1, "end_line": 99}
        answer = shop.call(tool, file_path="a.txt", **line)
        if answer.code is None:
            assert answer.data is not None
            found += answer.data["content"].split("\n")
            continue
        assert f"Read it in parts with read (offset {len(found) + 1} and column)" in answer.text
        found.append(LINES[len(found)])
    assert found == LINES


@pytest.mark.parametrize("mode", ["content", "files_with_matches", "count"])
@pytest.mark.parametrize("path", [".", "dir"])
@pytest.mark.parametrize("only", [False, True])
def test_grep_continues_to_the_end(shop: Workshop, mode: str, path: str, only: bool) -> None:
    wanted = 6 if mode == "content" else 3
    found: list[str] = []
    asked = {"pattern": "word", "output_mode": mode, "only_matching": only, "context": 1}
    for _ in range(wanted):
        *rows, last = [*shop.lines("grep", path=path, offset=len(found), **asked), ""]
        if rows[-1].startswith("("):
            last = rows.pop()
        found += [row for row in rows if not re.match(r"--$|\S+-\d+-", row)]
        if "next: offset" not in last:
            break
        assert f"next: offset {len(found)}" in last
    assert len(found) == wanted


def test_grep_holds_little_where_little_fits(shop: Workshop, budget: int) -> None:
    rows = shop.text("grep", pattern="word", path="dir", output_mode="content").split("\n")
    assert len(rows) <= 2 or budget > 40


def test_glob_continues_to_the_end(shop: Workshop) -> None:
    found: list[str] = []
    while len(found) < 4:
        rows = shop.lines("glob", pattern="**/*", offset=len(found))
        found += [row for row in rows if not row.startswith("(")]
        assert (f"next: offset {len(found)}" in rows[-1]) is (len(found) < 4)
        assert rows[0] in found
    assert len(set(found)) == 4


@pytest.mark.parametrize(
    ("tool", "asked", "rows"),
    [
        ("query", {"text": "word"}, "results"),
        ("get_symbol", {"symbol_name": "word"}, "references"),
        ("list_files", {}, "files"),
    ],
)
def test_lists_in_json_continue_to_the_end(
    shop: Workshop, tool: str, asked: dict[str, Any], rows: str
) -> None:
    offset, found = 0, 0
    while True:
        data = shop.json(tool, offset=offset, **asked)
        assert data[rows]
        found += len(data[rows])
        if data["next_offset"] is None:
            break
        assert data["next_offset"] > offset
        offset = data["next_offset"]
    assert found >= 3


def test_links_of_a_note_continue_to_the_end(tmp_path: Path, budget: int) -> None:
    with workshop_with_notes(tmp_path, no_index=True, max_output_chars=budget) as made:
        made.note("Hub.md", " ".join(f"[[N{number}]]" for number in range(5)))
        offset, found = 0, list[str]()
        while True:
            data = made.json("get_links", file_path="kb://Hub.md", offset=offset)
            found += [row["target"] for row in data["outgoing"]]
            if data["next_offset"] is None:
                break
            offset = data["next_offset"]
        assert len(found) == len(set(found)) == 5

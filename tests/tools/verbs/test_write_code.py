"""write_code: lines replaced by others, byte for byte, and only when the file is as expected."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep.tools.dispatch.caller import content_hash
from tests.tools.workshop import Workshop, workshop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path) as made:
        yield made


CASES = 2_000 if os.environ.get("FLASHGREP_HEAVY") == "1" else 80
SPLICES: list[tuple[bytes, int, int, str, bytes, int]] = [
    # before, start, end, replacement, after, new lines
    (b"a\nb\nc\n", 2, 2, "X", b"a\nX\nc\n", 1),
    (b"a\nb\nc\n", 2, 2, "X\n", b"a\nX\nc\n", 1),  # a newline at the end adds no line
    (b"a\nb\nc\n", 2, 2, "X\n\n", b"a\nX\n\nc\n", 2),
    (b"a\nb\nc\n", 1, 3, "X\nY", b"X\nY\n", 2),
    (b"a\nb\nc\n", 2, 3, "", b"a\n", 0),  # empty deletes
    (b"a\nb\nc\n", 1, 3, "", b"", 0),
    (b"a\nb\nc\n", 2, 2, "\n", b"a\n\nc\n", 1),  # one empty line
    # a last line without a newline keeps it so, unless it is an empty one
    (b"a\nb", 2, 2, "X", b"a\nX", 1),
    (b"a\nb", 2, 2, "X\n", b"a\nX", 1),
    (b"a\nb", 2, 2, "\n", b"a\n\n", 1),
    (b"a\nb", 2, 2, "X\n\n", b"a\nX\n\n", 2),
    (b"a\nb", 1, 1, "X", b"X\nb", 1),
    (b"a", 1, 1, "X\r\nY", b"X\r\nY", 2),
    # line ends follow the file
    (b"a\r\nb\r\n", 2, 2, "X\nY", b"a\r\nX\r\nY\r\n", 2),
    (b"a\nb\n", 2, 2, "X\r\nY\r\n", b"a\nX\nY\n", 2),
    (b"a\r\nb\nc\r\n", 2, 2, "X", b"a\r\nX\nc\r\n", 1),
    (b"a\rb\nc\n", 1, 1, "X", b"X\nc\n", 1),
    # encodings survive, and so does what is no text
    (b"\xef\xbb\xbfa\nb\n", 1, 1, "\u00fc", b"\xef\xbb\xbf\xc3\xbc\nb\n", 1),
    ("\ufeffa\nb\n".encode("utf-16-le"), 2, 2, "ü", "\ufeffa\nü\n".encode("utf-16-le"), 1),
    (b"caf\xe9\nb\n", 2, 2, "X", b"caf\xe9\nX\n", 1),
]


@pytest.mark.parametrize(
    ("before", "start", "end", "replacement", "after", "lines"),
    SPLICES,
)
def test_lines_are_replaced_and_nothing_else(
    shop: Workshop, before: bytes, start: int, end: int, replacement: str, after: bytes, lines: int
) -> None:
    path = shop.file("f", before)
    told = shop.json(
        "write_code", file_path="f", start_line=start, end_line=end, replacement=replacement
    )
    assert path.read_bytes() == after
    assert told == {
        "ok": True,
        "replaced_line_count": end - start + 1,
        "new_line_count": lines,
        "file_hash_before": content_hash(before),
        "file_hash_after": content_hash(after),
    }


@settings(
    max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.text("ab", max_size=2), min_size=1, max_size=8),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
    st.lists(st.text("xy", max_size=2), max_size=4),
    st.data(),
)
def test_a_splice_equals_its_definition(
    shop: Workshop, lines: list[str], ended: bool, end: str, new: list[str], data: Any
) -> None:
    """The definition: a list of lines, a slice of it assigned."""
    ended = ended or not lines[-1]  # a last line that is empty is one only if it is ended
    path = shop.file("f", (end.join(lines) + (end if ended else "")).encode())
    start = data.draw(st.integers(1, len(lines)))
    last = data.draw(st.integers(start, len(lines)))
    shop.json(
        "write_code",
        path="f",
        start_line=start,
        end_line=last,
        replacement="".join(line + "\n" for line in new),
    )
    lines[start - 1 : last] = new
    told = path.read_bytes().decode().replace("\r\n", "\n")
    assert told.removesuffix("\n").split("\n") == (lines or [""])


def test_mode_and_hard_links_survive(shop: Workshop) -> None:
    path = shop.file("run.sh", "#!/bin/sh\necho one\n")
    path.chmod(0o755)
    os.link(path, shop.root / "other.sh")
    shop.json("write_code", path="run.sh", start_line=2, end_line=2, replacement="echo two")
    assert (shop.root / "other.sh").read_text() == "#!/bin/sh\necho two\n"
    assert path.stat().st_mode & 0o777 == 0o755


def test_a_link_is_written_through(shop: Workshop) -> None:
    shop.file("real", "a\n")
    shop.link("link", "real")
    shop.json("write_code", path="link", start_line=1, end_line=1, replacement="b")
    assert (shop.root / "link").is_symlink()
    assert (shop.root / "real").read_text() == "b\n"


# ── preconditions ───────────────────────────────────────────────────────────────────────────────

BEFORE = b"one\r\ntwo\r\nthree\r\n"
HELD: list[dict[str, str]] = [
    {},
    {"expected_file_hash": content_hash(BEFORE)},
    {"expected_start_line_text": "two", "expected_end_line_text": "three"},
    {"expected_start_line_text": "two\n", "expected_end_line_text": "three\r\n"},
]
FAILED: list[tuple[dict[str, str], list[str]]] = [
    ({"expected_file_hash": "0" * 32}, ["expected_file_hash"]),
    ({"expected_file_hash": ""}, ["expected_file_hash"]),
    ({"expected_start_line_text": "Two"}, ["expected_start_line_text"]),
    ({"expected_start_line_text": ""}, ["expected_start_line_text"]),
    (
        {"expected_start_line_text": "two", "expected_end_line_text": "x"},
        ["expected_end_line_text"],
    ),
    (
        {
            "expected_file_hash": "x",
            "expected_start_line_text": "y",
            "expected_end_line_text": "z",
        },
        ["expected_file_hash", "expected_start_line_text", "expected_end_line_text"],
    ),
]


@pytest.mark.parametrize("precondition", HELD)
def test_what_holds_lets_the_write_through(shop: Workshop, precondition: dict[str, str]) -> None:
    path = shop.file("f", BEFORE)
    shop.json(
        "write_code",
        path="f",
        start_line=2,
        end_line=3,
        replacement="2\n3",
        precondition=precondition,
    )
    assert path.read_bytes() == b"one\r\n2\r\n3\r\n"


@pytest.mark.parametrize(("precondition", "fields"), FAILED)
def test_what_does_not_hold_is_told_whole_and_nothing_is_changed(
    shop: Workshop, precondition: dict[str, str], fields: list[str]
) -> None:
    path = shop.file("f", BEFORE)
    identity = path.stat().st_ino
    error = shop.error(
        "write_code",
        "precondition_failed",
        path="f",
        start_line=2,
        end_line=3,
        replacement="x",
        precondition=precondition,
    )
    assert [row["field"] for row in error["mismatches"]] == fields
    for row in error["mismatches"]:
        assert row["expected"] == precondition[row["field"]]
        assert row["field"] in error["message"]
    assert (path.read_bytes(), path.stat().st_ino) == (BEFORE, identity)


def test_the_hash_of_a_read_guards_a_write(shop: Workshop) -> None:
    path = shop.file("f", "a\nb\n")
    held = {"expected_file_hash": shop.json("read_code", path="f")["file_hash"]}
    where: dict[str, Any] = {"path": "f", "start_line": 1, "end_line": 1, "precondition": held}
    path.write_text("a\nB\n")
    shop.error("write_code", "precondition_failed", replacement="x", **where)
    path.write_text("a\nb\n")
    after = shop.json("write_code", replacement="x", **where)["file_hash_after"]
    assert after == shop.json("read_code", path="f")["file_hash"]


# ── refusals ────────────────────────────────────────────────────────────────────────────────────

REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"start_line": 3, "end_line": 3}, "invalid_params", "which has 2 lines"),
    ({"start_line": 1, "end_line": 3}, "invalid_params", "which has 2 lines"),
    ({"path": "f.tx"}, "not_found", "Did you mean"),
    ({"path": "data.bin"}, "invalid_params", "binary"),
    ({"path": "."}, "invalid_params", "directory"),
    ({"path": ".env"}, "access_denied", "denied"),
    ({"path": "empty"}, "invalid_params", "which has 0 lines"),
    ({"replacement": "x" * 3_000}, "too_large", "--max-file-size"),
]


@pytest.mark.parametrize(("given", "code", "told"), REFUSED)
def test_a_write_that_cannot_be_is_refused(
    tmp_path: Path, given: dict[str, Any], code: str, told: str
) -> None:
    good = {"path": "f.txt", "start_line": 1, "end_line": 1, "replacement": "x"}
    with workshop(tmp_path, deny_dir=("**/.env",), max_file_size=2_000) as shop:
        path = shop.file("f.txt", "a\nb\n")
        shop.file("data.bin", b"\0\1\2")
        shop.file("empty", b"")
        shop.file(".env", "a\n")
        assert told in shop.error("write_code", code, **(good | given))["message"]
        assert path.read_text() == "a\nb\n"
        assert (shop.root / ".env").read_text() == "a\n"


def test_a_range_that_ends_before_it_begins_is_refused(shop: Workshop) -> None:
    path = shop.file("f", "a\nb\n")
    given = {"path": "f", "start_line": 2, "end_line": 1, "replacement": "x"}
    assert shop.error("write_code", "invalid_params", **given)["message"] == (
        "start_line 2 is after end_line 1; "
        "lines are counted from 1 and both ends belong to the range"
    )
    assert path.read_text() == "a\nb\n"


def test_no_read_is_needed_and_a_written_file_counts_as_read(shop: Workshop) -> None:
    shop.file("f", "a\nb\n")
    shop.json("write_code", path="f", start_line=1, end_line=1, replacement="x")
    assert shop.call("edit", path="f", old_string="b", new_string="y").code is None
    assert (shop.root / "f").read_text() == "x\ny\n"

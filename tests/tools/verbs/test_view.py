"""view: the required scenarios, and what lies between them."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.tools.conftest import Desk

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100


def lines(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


def numbers(text: str) -> list[int]:
    return [int(row.split("\t")[0]) for row in text.split("\n")]


def test_a_file_is_shown_with_numbers_as_cat_prints_them(desk: Desk) -> None:
    desk.file("a.txt", "one\ntwo\nthree\n")
    assert desk.text("view", path="a.txt") == "     1\tone\n     2\ttwo\n     3\tthree"
    assert desk.text("view", file_path=str(desk.root / "a.txt")).startswith("     1\tone")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"no line end", ["no line end"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\rb\n", ["a\rb"]),
        (b"a\x0bb\x0cc\xc2\x85d\xe2\x80\xa8e\n", ["a\x0bb\x0cc\x85d\u2028e"]),
        (b"\n\n", ["", ""]),
        (b"\xef\xbb\xbfa", ["a"]),
        (b"caf\xe9\n", ["caf\ufffd"]),
        ("\ufeffh\u00e9\r\nx".encode("utf-16-le"), ["h\u00e9", "x"]),
        ("\ufeffh\u00e9\nx".encode("utf-32-be"), ["h\u00e9", "x"]),
    ],
)
def test_a_line_ends_at_a_newline_and_nowhere_else(
    desk: Desk, data: bytes, expected: list[str]
) -> None:
    desk.file("a", data if b"\x0b" not in data else b"#" * 600 + b"\n" + data)
    view_range = [2, 9] if b"\x0b" in data else [1, 9]
    rows = desk.text("view", path="a", view_range=view_range).split("\n")
    if rows[-1].startswith("[Not valid UTF-8: "):
        rows.pop()
    assert [row.partition("\t")[2] for row in rows] == expected


@pytest.mark.parametrize(
    ("total", "view_range", "first", "last"),
    [(100, [10, 20], 10, 20), (42, [10, 100], 10, 42), (42, [42, 42], 42, 42), (3, [1, 1], 1, 1)],
)
def test_a_range_shows_its_lines_and_ends_with_the_file(
    desk: Desk, total: int, view_range: list[int], first: int, last: int
) -> None:
    desk.file("a", lines(total))
    shown = numbers(desk.text("view", path="a", view_range=view_range))
    assert shown == list(range(first, last + 1))


@pytest.mark.parametrize("size", [42, 60_000])
def test_a_range_that_begins_past_the_end_is_refused_with_the_total(desk: Desk, size: int) -> None:
    desk.file("a", lines(size))
    start = size + 1
    told = desk.refused("view", "invalid_params", path="a", view_range=[start, start + 9])
    assert f"start {start} exceeds total lines: the file has {size}" in told


@pytest.mark.parametrize("view_range", [[0, 5], [-1, 5], [5, 4], [1, -1]])
def test_a_range_that_is_none_is_refused_with_the_rule(desk: Desk, view_range: list[int]) -> None:
    desk.file("a", lines(9))
    told = desk.refused("view", "invalid_params", path="a", view_range=view_range)
    assert "1 <= start <= end" in told


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_long_line_is_cut_and_says_how_long_it_is(desk: Desk, end: bytes) -> None:
    desk.file("a", b"x" * 2_000 + end + b"y" * 5_000 + end)
    rows = desk.text("view", path="a").split("\n")
    if end:
        assert rows[0] == "     1\t" + "x" * 2_000
        assert rows[1] == "     2\t" + "y" * 2_000 + "... [truncated, 5000 chars total]"
    else:
        assert rows == ["     1\t" + "x" * 2_000 + "... [truncated, 7000 chars total]"]


def test_a_line_longer_than_every_buffer_is_counted_whole(desk: Desk) -> None:
    desk.file("a", "\u00e9" * 2_000_000 + "\r\nnext\n")
    rows = desk.text("view", path="a", view_range=[1, 2]).split("\n")
    assert rows[0].endswith("... [truncated, 2000000 chars total]")
    assert rows[1] == "     2\tnext"


def test_a_range_of_a_large_file_reads_only_what_it_needs(desk: Desk) -> None:
    desk.file("a", lines(800_000))
    before = _bytes_read()
    desk.text("view", path="a", view_range=[1, 10])
    assert _bytes_read() - before < 2_000_000


def _bytes_read() -> int:
    with open("/proc/self/io", encoding="ascii") as file:
        return int(file.readline().split()[1])


def test_an_empty_file_is_told_from_a_failed_view(desk: Desk) -> None:
    desk.file("a", "")
    assert desk.text("view", path="a") == "Warning: the file exists but its contents are empty."


def test_a_budget_ends_at_a_line_and_says_which_call_continues(desk: Desk) -> None:
    desk.file("a", lines(500))
    desk.set(max_output_chars=1_000)
    text = desk.text("view", path="a")
    *rows, footer = text.split("\n")
    last = numbers("\n".join(rows))[-1]
    assert len(text) <= 1_000
    assert footer == (
        f"[PARTIAL view: lines 1-{last} of 500. Continue with view_range=[{last + 1}, 500]]"
    )
    following = desk.text("view", path="a", view_range=[last + 1, last + 1])
    assert numbers(following) == [last + 1]


@pytest.mark.parametrize(
    ("data", "size"),
    [(b"\x7fELF\0" + b"\0" * 95, "100 bytes"), (b"\0asm" + b"\0" * 2_516_578, "2.4 MB")],
)
def test_a_binary_file_is_named_with_its_size(desk: Desk, data: bytes, size: str) -> None:
    desk.file("a.exe", data)
    assert desk.text("view", path="a.exe") == f"Binary file ({size})"


@pytest.mark.parametrize(
    ("name", "data", "mime_type"),
    [
        ("a.png", PNG, "image/png"),
        ("photo.dat", PNG, "image/png"),
        ("a.jpg", b"\xff\xd8\xff\xe0 rest", "image/jpeg"),
        ("a.svg", b"<svg xmlns='x'/>", "image/svg+xml"),
    ],
)
def test_an_image_is_an_image(desk: Desk, name: str, data: bytes, mime_type: str) -> None:
    desk.file(name, data)
    image = desk("view", path=name).image
    assert image is not None
    assert (image.data, image.mime_type) == (data, mime_type)


def test_lines_of_an_svg_are_shown_to_whoever_asks_for_lines(desk: Desk) -> None:
    desk.file("a.svg", "<svg>\n</svg>\n")
    assert desk.text("view", path="a.svg", view_range=[1, 9]) == "     1\t<svg>\n     2\t</svg>"


@pytest.mark.parametrize(
    ("name", "data"), [("a.png", PNG + b"\0" * 1_000), ("a.txt", b"x" * 1_001)]
)
def test_a_file_over_the_limit_is_refused_with_the_remedy(
    desk: Desk, name: str, data: bytes
) -> None:
    desk.file(name, data)
    desk.set(max_file_size=1_000)
    told = desk.refused("view", "too_large", path=name)
    assert "exceeds the size limit of 1000 bytes" in told
    assert "--max-file-size" in told


def test_a_binary_file_over_the_limit_is_named_all_the_same(desk: Desk) -> None:
    desk.file("a", b"\0" * 5_000)
    desk.set(max_file_size=1_000)
    assert desk.text("view", path="a") == "Binary file (4.9 KB)"


def test_a_huge_sparse_file_is_answered_by_its_head(desk: Desk) -> None:
    with open(desk.root / "a", "wb") as file:
        file.truncate(2**40)
    assert desk.text("view", path="a") == "Binary file (1.0 TB)"


def test_what_is_no_regular_file_is_refused_at_once(desk: Desk) -> None:
    os.mkfifo(desk.root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(desk.root / "socket"))
        for name in ("pipe", "socket", "/dev/zero"):
            desk.refused("view", "invalid_params", path=name)


def test_a_file_of_proc_is_read_though_its_size_says_nothing(desk: Desk) -> None:
    assert "Name:" in desk.text("view", path="/proc/self/status")


# ── directories ─────────────────────────────────────────────────────────────────────────────────


def test_a_directory_is_listed_two_levels_deep(desk: Desk) -> None:
    desk.file("src/main.py", "")
    desk.file("src/deep/deeper/x.py", "")
    desk.file("README.md", "")
    assert desk.text("view", path=".") == "README.md\nsrc/\nsrc/deep/\nsrc/main.py"
    assert desk.text("view", path="src") == "deep/\ndeep/deeper/\nmain.py"


def test_dotfiles_are_listed_and_only_git_and_node_modules_left_out(desk: Desk) -> None:
    for name in (".github/w.yml", ".dockerignore", ".env", ".git/HEAD", "node_modules/a/b"):
        desk.file(name, "")
    desk.file("src/node_modules/x", "")
    desk.file("worktree/.git", "gitdir: elsewhere")
    assert desk.text("view", path=".").split("\n") == [
        ".dockerignore",
        ".env",
        ".github/",
        ".github/w.yml",
        "src/",
        "worktree/",
        "worktree/.git",
    ]


def test_links_are_shown_with_their_target_and_not_entered(desk: Desk) -> None:
    desk.file("real/x", "")
    (desk.root / "link").symlink_to("/usr/local/bin")
    (desk.root / "loop").symlink_to(".")
    (desk.root / "lost").symlink_to("nowhere")
    rows = desk.text("view", path=".").split("\n")
    assert rows == ["link -> /usr/local/bin", "loop -> .", "lost -> nowhere", "real/", "real/x"]


def test_what_is_denied_is_not_listed_and_neither_is_a_link_to_it(desk: Desk) -> None:
    desk.file("secret/key", "")
    desk.file("open/a", "")
    (desk.root / "open/link").symlink_to(desk.root / "secret/key")
    desk.confine(deny=("secret",))
    assert desk.text("view", path=".") == "open/\nopen/a"


def test_names_that_would_break_a_line_are_shown_escaped(desk: Desk) -> None:
    (desk.root / "two\nlines").write_text("")
    with open(os.fsencode(desk.root) + b"/\xff", "wb"):
        pass
    rows = desk.text("view", path=".").split("\n")
    assert rows == ["two\\nlines", "\\xff"]
    for row in rows:
        desk.text("view", path=row)


def test_an_empty_directory_says_so_and_a_range_of_one_is_refused(desk: Desk) -> None:
    assert desk.text("view", path=".") == "(empty directory)"
    desk.refused("view", "invalid_params", path=".", view_range=[1, 2])


def test_a_large_directory_ends_with_the_budget_and_the_count(desk: Desk) -> None:
    for number in range(300):
        desk.file(f"file{number:03}", "")
    desk.set(max_output_chars=1_000)
    text = desk.text("view", path=".")
    assert len(text) <= 1_000
    shown = text.count("\n")
    assert text.split("\n")[-1].startswith(f"[PARTIAL view: {shown} of 300 entries.")


# ── missing ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("tool", ["view", "read"])
@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("src/mian.py", " Did you mean src/main.py?"),
        ("src/MAIN.PY", " Did you mean src/main.py?"),
        ("main.py", " Did you mean src/main.py?"),
        ("no/such/main.py", " Did you mean src/main.py?"),
        ("src/zzz", ""),
        ("src/secret-kye", ""),
    ],
)
def test_a_missing_file_is_told_with_the_place_and_a_near_name(
    desk: Desk, tool: str, asked: str, meant: str
) -> None:
    desk.file("src/main.py", "")
    desk.file("src/secret-key", "")
    desk.confine(deny=("**/secret-key",))
    told = desk.refused(tool, "not_found", path=asked)
    assert told == (
        f"File does not exist. {asked} was not found; the current working directory is "
        f"{desk.root}.{meant}"
    )


def test_a_listing_leaves_no_descriptor_open(desk: Desk) -> None:
    """One a subdirectory would end a server that runs for long."""
    for number in range(20):
        desk.file(f"d/s{number}/f", b"x")
    desk.text("view", path="d")
    before = set(os.listdir("/proc/self/fd"))
    desk.text("view", path="d")
    desk.text("view", path=".")
    assert len(set(os.listdir("/proc/self/fd")) - before) < 5  # others may hold some of their own

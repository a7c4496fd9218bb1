"""The requirements of view, str_replace and create_file: one test for each scenario.

Through a real client on stdio, in the order of the document.
"""

from __future__ import annotations

import base64
from pathlib import Path

import mcp_types as types
import pytest
from tests.e2e.agent import Agent, Workspace
from tests.e2e.scenarios import scenario
from tests.warm import STARTED

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>\n'
MEBIBYTE = 1024 * 1024


def numbered(first: int, last: int) -> list[str]:
    """Lines of `Workspace.numbered` as view prints them."""
    return [f"{number:6}\tline {number}" for number in range(first, last + 1)]


def image(agent: Agent, path: str) -> types.ImageContent:
    """The one image a view of `path` gives."""
    result = agent.call("view", path=path)
    assert not result.is_error, result
    (block,) = result.content
    assert isinstance(block, types.ImageContent), block
    return block


# ── View file contents ──────────────────────────────────────────────────────────────────────────


@scenario("Read entire file")
def test_read_entire_file(normal: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "one\n\ttwo\nthree\n")
    assert normal.text("view", path="f.txt") == "     1\tone\n     2\t\ttwo\n     3\tthree"


@scenario("Read line range")
def test_read_line_range(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 100)
    assert normal.lines("view", path="f.txt", view_range=[10, 20]) == numbered(10, 20)


@scenario("view_range end clamped to file length")
def test_view_range_end_clamped_to_file_length(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 42)
    assert normal.lines("view", path="f.txt", view_range=[10, 100]) == numbered(10, 42)


@scenario("view_range start exceeds file length")
def test_view_range_start_exceeds_file_length(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 42)
    told = normal.refused("view", "invalid_params", path="f.txt", view_range=[100, 200])
    assert "start 100 exceeds total lines" in told
    assert "42" in told


@scenario("Invalid view_range start")
def test_invalid_view_range_start(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 42)
    for invalid in ([0, 5], [-3, 5], [7, 6]):
        told = normal.refused("view", "invalid_params", path="f.txt", view_range=invalid)
        assert str(invalid) in told
        assert "1 <= start <= end" in told


@scenario("Long line truncation")
def test_long_line_truncation(normal: Agent, ws: Workspace) -> None:
    ws.file("app.min.js", "x" * 5_000 + "\n" + "y" * 2_000 + "\n")
    first, second = normal.lines("view", path="app.min.js")
    assert first == "     1\t" + "x" * 2_000 + "... [truncated, 5000 chars total]"
    assert second == "     2\t" + "y" * 2_000


@scenario("Efficient range reading")
def test_efficient_range_reading(normal: Agent, ws: Workspace) -> None:
    """Near the limit of 10 MB, ten lines cost the server less than one megabyte of reading."""
    row = "x" * 99
    ws.file("large.txt", f"{row}\n" * (10 * MEBIBYTE // 100 - 10))
    normal.text("view", path=".")
    costs = []
    for _ in range(10):  # what the server does besides, as loading its index, is counted too
        before = bytes_read(server_process(ws.root))
        lines = normal.lines("view", path="large.txt", view_range=[1, 10])
        assert lines == [f"{number:6}\t{row}" for number in range(1, 11)]
        costs.append(bytes_read(server_process(ws.root)) - before)
    assert min(costs) < MEBIBYTE


def server_process(workdir: Path) -> Path:
    """The /proc directory of our child that serves `workdir` in normal mode."""
    command = ["mcp", "--workdir", str(workdir)]
    (child,) = (number for number, words in STARTED.items() if words[-3:] == command)
    return Path(f"/proc/{child}")


def bytes_read(process: Path) -> int:
    """What a process has read so far, from wherever."""
    (line,) = (row for row in (process / "io").read_text().splitlines() if row[:6] == "rchar:")
    return int(line.split()[1])


# ── View detects binary files ───────────────────────────────────────────────────────────────────


@scenario("Binary file detected")
def test_binary_file_detected(normal: Agent, ws: Workspace) -> None:
    size = int(2.4 * MEBIBYTE)
    ws.file("a.out", b"\x7fELF\x02\x01\x01".ljust(size, b"\0"))
    assert normal.text("view", path="a.out") == "Binary file (2.4 MB)"


# ── View lists directories ──────────────────────────────────────────────────────────────────────


@scenario("Directory listing")
def test_directory_listing(normal: Agent, ws: Workspace) -> None:
    ws.files("", "p/README", "p/src/main.py", "p/src/deep/hidden.py", "p/src/deep/deeper/x.py")
    (ws.root / "p/empty").mkdir()
    assert normal.lines("view", path="p") == [
        "README",
        "empty/",
        "src/",
        "src/deep/",
        "src/main.py",
    ]


@scenario("Dotfiles visible except .git")
def test_dotfiles_visible_except_git(normal: Agent, ws: Workspace) -> None:
    ws.files("", ".github/ci.yml", ".dockerignore", ".env", "src/main.py")
    ws.files("", ".git/HEAD", "node_modules/m/index.js", "src/node_modules/n/index.js")
    assert normal.lines("view", path=".") == [
        ".dockerignore",
        ".env",
        ".github/",
        ".github/ci.yml",
        "src/",
        "src/main.py",
    ]


@scenario("Symlinks indicated in listing")
def test_symlinks_indicated_in_listing(normal: Agent, ws: Workspace) -> None:
    ws.file("a.txt")
    ws.link("link", "/usr/local/bin")
    ws.link("sub/relative", "../a.txt")
    assert normal.lines("view", path=".") == [
        "a.txt",
        "link -> /usr/local/bin",
        "sub/",
        "sub/relative -> ../a.txt",
    ]


# ── Replace unique string in file ───────────────────────────────────────────────────────────────


@scenario("Successful unique replacement")
def test_successful_unique_replacement(normal: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 20, L10="old text")
    told = normal.text("str_replace", path="f.txt", old_str="old text", new_str="new text")
    assert ws.read("f.txt") == "".join(
        f"{'new text' if number == 10 else f'line {number}'}\n" for number in range(1, 21)
    )
    for shown in ("f.txt", "     9\tline 9\n    10\tnew text\n    11\tline 11"):
        assert shown in told


@scenario("String not found")
def test_string_not_found(normal: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "one\n")
    told = normal.refused("str_replace", "string_not_found", path="f.txt", old_str="two")
    assert "old_str not found in f.txt" in told
    assert ws.read("f.txt") == "one\n"


@scenario("Ambiguous match (multiple occurrences, replace_all false)")
@pytest.mark.parametrize("given", [{}, {"replace_all": False}], ids=["omitted", "false"])
def test_ambiguous_match(normal: Agent, ws: Workspace, given: dict[str, bool]) -> None:
    ws.file("f.txt", "one\ntwo one\none\n")
    told = normal.refused(
        "str_replace", "not_unique", path="f.txt", old_str="one", new_str="1", **given
    )
    assert "3 occurrences" in told
    assert "must be unique" in told
    assert ws.read("f.txt") == "one\ntwo one\none\n"


@scenario("Deletion (empty new_str)")
@pytest.mark.parametrize("given", [{}, {"new_str": ""}], ids=["omitted", "empty"])
def test_deletion(normal: Agent, ws: Workspace, given: dict[str, str]) -> None:
    ws.file("f.txt", "one\ntwo\nthree\n")
    normal.text("str_replace", path="f.txt", old_str="two\n", **given)
    assert ws.read("f.txt") == "one\nthree\n"


@scenario("Replace all occurrences")
def test_replace_all_occurrences(normal: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "old and old\n" * 7 + "old\n")
    told = normal.text("str_replace", path="f.txt", old_str="old", new_str="new", replace_all=True)
    assert "15 occurrences" in told
    assert ws.read("f.txt") == "new and new\n" * 7 + "new\n"


@scenario("Replace all with no match")
def test_replace_all_with_no_match(normal: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "one\n")
    told = normal.refused(
        "str_replace", "string_not_found", path="f.txt", old_str="two", replace_all=True
    )
    assert "not found" in told
    assert ws.read("f.txt") == "one\n"


# ── Create or overwrite a file ──────────────────────────────────────────────────────────────────


@scenario("Create new file")
def test_create_new_file(normal: Agent, ws: Workspace) -> None:
    told = normal.text("create_file", path="sub/deep/f.txt", content="one\nzwölf\n")
    assert ws.read("sub/deep/f.txt") == "one\nzwölf\n"
    assert "sub/deep/f.txt" in told
    assert "11 bytes" in told


@scenario("Overwrite existing file")
def test_overwrite_existing_file(normal: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "a much longer content than the new one\n")
    normal.text("create_file", path="f.txt", content="new\n")
    assert ws.read("f.txt") == "new\n"


# ── View returns image files as ImageContent ────────────────────────────────────────────────────


@scenario("PNG file returned as ImageContent")
def test_png_file_returned_as_image_content(normal: Agent, ws: Workspace) -> None:
    ws.file("dot.png", PNG)
    shown = image(normal, "dot.png")
    assert shown.mime_type == "image/png"
    assert base64.b64decode(shown.data, validate=True) == PNG


@scenario("JPEG file returned as ImageContent")
def test_jpeg_file_returned_as_image_content(normal: Agent, ws: Workspace) -> None:
    ws.file("photo.jpg", JPEG)
    shown = image(normal, "photo.jpg")
    assert shown.mime_type == "image/jpeg"
    assert base64.b64decode(shown.data, validate=True) == JPEG


@scenario("Image with wrong extension still detected")
def test_image_with_wrong_extension_still_detected(normal: Agent, ws: Workspace) -> None:
    ws.file("photo.dat", PNG)
    assert image(normal, "photo.dat").mime_type == "image/png"


@scenario("SVG file detected by extension")
def test_svg_file_detected_by_extension(normal: Agent, ws: Workspace) -> None:
    ws.file("logo.svg", SVG)
    shown = image(normal, "logo.svg")
    assert shown.mime_type == "image/svg+xml"
    assert base64.b64decode(shown.data, validate=True) == SVG


@scenario("Image file exceeding size limit")
def test_image_file_exceeding_size_limit(confined: Agent, ws: Workspace) -> None:
    ws.file("large.png", PNG.ljust(64 * 1024 + 1, b"\0"))
    told = confined.refused("view", "too_large", path="large.png")
    assert "exceeds the size limit of 64.0 KB" in told
    ws.file("fits.png", PNG.ljust(64 * 1024, b"\0"))
    assert image(confined, "fits.png").mime_type == "image/png"


@scenario("Unrecognized binary file still shows size message")
@pytest.mark.parametrize(
    ("name", "head"),
    [("setup.exe", b"MZ\x90\x00\x03\x00\x00\x00"), ("module.wasm", b"\x00asm\x01\x00\x00\x00")],
)
def test_unrecognized_binary_file_still_shows_size_message(
    normal: Agent, ws: Workspace, name: str, head: bytes
) -> None:
    ws.file(name, head.ljust(3_072, b"\0"))
    assert normal.text("view", path=name) == "Binary file (3.0 KB)"

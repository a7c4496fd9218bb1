"""The places where an index could answer otherwise than the disk, each by its name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep import limits
from tests.index.twins import Twins, haste, twins


@pytest.fixture(autouse=True)
def quickly() -> Iterator[None]:
    with haste():
        yield


@pytest.fixture
def work(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    return place


def put(place: Path, data: str | bytes) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data.encode() if isinstance(data, str) else data)
    return place


def agree(pair: Twins, expected: str, /, **arguments: object) -> None:
    """Both answer so; at once, and when the changes are folded in."""
    for _ in range(2):
        assert pair.agree("grep", **arguments) == expected
        pair.folded()


# ── text ────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_line_of_the_first_file_begins_a_line(tmp_path: Path, work: Path) -> None:
    put(work / "a", "foo bar\n")
    with twins(tmp_path) as pair:
        for pattern in ("^foo", "^f", r"\bfoo", "^foo bar$", "(?m)^foo", r"\Afoo"):
            agree(pair, "a:1:foo bar", pattern=pattern, output_mode="content")


@pytest.mark.parametrize("pattern", ["x", "needle", "needle|thread", "(?i)needle|x", "^needle$"])
def test_an_empty_workspace_and_one_that_becomes_empty(
    tmp_path: Path, work: Path, pattern: str
) -> None:
    with twins(tmp_path) as pair:
        for mode in ("files_with_matches", "count", "content"):
            agree(pair, "No matches found", pattern=pattern, output_mode=mode)
        put(work / "a", "needle\nx\n")
        agree(pair, "a", pattern=pattern)
        (work / "a").unlink()
        agree(pair, "No matches found", pattern=pattern)


def test_whole_texts_that_are_empty_or_binary(tmp_path: Path, work: Path) -> None:
    put(work / "binary", b"\x00\x01\x02\x03" * 100)
    put(work / "empty", "")
    put(work / "text", "abc\n")
    with twins(tmp_path) as pair:
        for pattern in ("x*", "^", "$", "(?s).*", r"\z"):
            for mode in ("files_with_matches", "count", "content"):
                pair.agree("grep", pattern=pattern, multiline=True, output_mode=mode)


def test_the_newest_file_comes_first_to_the_nanosecond(tmp_path: Path, work: Path) -> None:
    for age in range(5):
        path = put(work / str(age), "x\n")
        os.utime(path, ns=(0, 1_763_250_000_000_000_000 + age))
    with twins(tmp_path) as pair:
        agree(pair, "4\n3\n2\n1\n0", pattern="x")


def test_a_page_says_whether_more_follows(tmp_path: Path, work: Path) -> None:
    for name in "abcde":
        put(work / name, "x\nx\n")
    with twins(tmp_path) as pair:
        for limit, more in ((2, True), (9, True), (10, False)):
            asked = {"pattern": "x", "output_mode": "content", "head_limit": limit}
            indexed, plain = pair.both("grep", True, asked)
            assert indexed == plain
            assert indexed[2]["truncated"] is more


# ── files that are in no segment ────────────────────────────────────────────────────────────────


def test_a_file_too_large_to_be_kept_is_still_found_after_other_changes(
    tmp_path: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "INDEXED_FILE_BYTES", 1_000)
    put(work / "large", "needle\n" + "x\n" * 1_000)
    put(work / "small", "hay\n")
    with twins(tmp_path) as pair:
        agree(pair, "large", pattern="needle")
        for text in ("straw\n", "grass\n"):
            put(work / "small", text)
            agree(pair, "large", pattern="needle")
        put(work / "large", "x\n" * 1_000 + "Needle\n")
        agree(pair, "large:1001:Needle", pattern="Needle", output_mode="content")
        put(work / "large", "needle\n")
        agree(pair, "large", pattern="needle")


def test_a_path_longer_than_the_kernel_takes(tmp_path: Path, work: Path) -> None:
    at = os.open(work, os.O_RDONLY)
    for _ in range(25):
        os.mkdir("d" * 200, dir_fd=at)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below

    def write(text: bytes) -> None:
        file = os.open("f", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=at)
        os.write(file, text)
        os.close(file)

    shown = ("d" * 200 + "/") * 25 + "f"
    try:
        write(b"old\n")
        with twins(tmp_path) as pair:
            agree(pair, shown, pattern="old")
            write(b"new\n")
            agree(pair, shown, pattern="new")
            agree(pair, "No matches found", pattern="old")
    finally:
        os.close(at)


# ── links ───────────────────────────────────────────────────────────────────────────────────────


def test_a_hard_link_made_later_changes_both_names(tmp_path: Path, work: Path) -> None:
    put(work / "a", "old\n")
    put(work / "d" / "c", "old\n")
    with twins(tmp_path) as pair:
        os.link(work / "a", work / "d" / "b")
        with (work / "d" / "b").open("a") as file:
            file.write("new\n")
        agree(pair, "a:1\nd/b:1", pattern="new", output_mode="count")
        with (work / "a").open("a") as file:
            file.write("new\n")
        agree(pair, "a:2\nd/b:2", pattern="new", output_mode="count")


@pytest.mark.parametrize("folds", [False, True])
def test_a_hard_link_in_a_new_directory_changes_both_names(
    tmp_path: Path, work: Path, folds: bool
) -> None:
    put(work / "a", "old\n")
    with twins(tmp_path) as pair:
        (work / "d" / "e").mkdir(parents=True)
        os.link(work / "a", work / "d" / "e" / "b")
        if folds:
            pair.folded()
        with (work / "d" / "e" / "b").open("a") as file:
            file.write("new\n")
        agree(pair, "a:1\nd/e/b:1", pattern="new", output_mode="count")
        (work / "a").unlink()
        with (work / "d" / "e" / "b").open("a") as file:
            file.write("new\n")
        agree(pair, "d/e/b:2", pattern="new", output_mode="count")


def test_a_hard_link_from_outside_changes_what_is_inside(tmp_path: Path, work: Path) -> None:
    put(tmp_path / "outside", "old\n")
    os.link(tmp_path / "outside", work / "inside")
    with twins(tmp_path) as pair:
        put(tmp_path / "outside", "new\n")
        agree(pair, "inside", pattern="new")
        os.link(tmp_path / "outside", work / "second")
        put(tmp_path / "outside", "newer\n")
        agree(pair, "inside:1\nsecond:1", pattern="newer", output_mode="count")


def test_an_ignore_file_with_a_second_name_is_read_when_that_changes(
    tmp_path: Path, work: Path
) -> None:
    put(tmp_path / "rules", "a\n")
    os.link(tmp_path / "rules", work / ".gitignore")
    put(work / "a", "x\n")
    put(work / "b", "x\n")
    with twins(tmp_path) as pair:
        agree(pair, "b", pattern="x")
        put(tmp_path / "rules", "b\n")
        agree(pair, "a", pattern="x")
        put(tmp_path / "rules", "b\n.gitignore\n")
        agree(pair, "a", pattern="x")
        put(tmp_path / "rules", "a\n.gitignore\n")
        agree(pair, "b", pattern="x")


def test_a_link_is_followed_as_the_kernel_follows_it(tmp_path: Path, work: Path) -> None:
    put(work / "other" / "dir" / "k", "x\n")
    put(work / "other" / "y", "AAA\n")
    put(work / "y", "BBB\n")
    for name, text in (
        ("dir", "other/dir"),
        ("over a link", "dir/../y"),
        ("over nothing", "nodir/../y"),
        ("over a file", "y/../y"),
        ("slash", "y/"),
        ("twice", "over a link"),
        ("absolute", str(work / "other" / "y")),
        ("up", "../work/y"),
    ):
        (work / name).symlink_to(text)
    with twins(tmp_path) as pair:
        text = pair.agree("grep", pattern="[AB]{3}", output_mode="content")
        assert "over a link:1:AAA" in text
        assert "over nothing" not in text
        assert "slash" not in text  # y is not a directory
        (work / "dir").unlink()
        (work / "dir").symlink_to("other")
        text = pair.agree("grep", pattern="[AB]{3}", output_mode="content")
        assert "over a link:1:BBB" in text
        pair.folded()
        assert pair.agree("grep", pattern="[AB]{3}", output_mode="content") == text


def test_a_link_laid_anew_shows_what_it_leads_to_now(tmp_path: Path, work: Path) -> None:
    put(work / "a", "AAA\n")
    put(work / "b", "BBB\n")
    (work / "link").symlink_to("a")
    with twins(tmp_path) as pair:
        agree(pair, "a:1\nb:1\nlink:1", pattern="AAA|BBB", output_mode="count")
        for target, expected in (("b", "b\nlink"), ("nothing", "b"), ("b", "b\nlink")):
            (work / "link").unlink()
            (work / "link").symlink_to(target)
            found = pair.agree("grep", pattern="BBB", output_mode="count").replace(":1", "")
            assert found == expected
            pair.folded()
            assert pair.agree("grep", pattern="BBB", output_mode="count").replace(":1", "") == found
        (work / "link").unlink()
        agree(pair, "b", pattern="BBB")


def test_a_link_to_a_directory_that_becomes_another(tmp_path: Path, work: Path) -> None:
    """While it is the tree's own it is skipped; when it leads out it is entered."""
    put(work / "z" / "f", "inside\n")
    put(tmp_path / "outside" / "f", "outside\n")
    (work / "a").symlink_to("z")
    with twins(tmp_path) as pair:
        agree(pair, "z/f:1", pattern="side", output_mode="count")
        (work / "z").rename(work / "y")
        (work / "z").symlink_to(tmp_path / "outside")
        agree(pair, "a/f:1\ny/f:1", pattern="side", output_mode="count")
        (work / "z").unlink()
        (work / "y").rename(work / "z")
        agree(pair, "z/f:1", pattern="side", output_mode="count")


def test_what_is_named_like_our_own_drafts_is_passed_over(tmp_path: Path, work: Path) -> None:
    put(work / "a", "x\n")
    put(work / "b" / ".flashgrep-1", "x\n")
    with twins(tmp_path) as pair:
        (work / ".flashgrep-2").symlink_to("a")
        put(work / ".flashgrep-3", "x\n")
        (work / ".flashgrep-4").mkdir()
        put(work / ".flashgrep-4" / "f", "x\n")
        agree(pair, ".flashgrep-4/f:1\na:1", pattern="x", output_mode="count")
        assert '"total":2' in pair.agree("list_files")


def test_list_files_follows_links_as_grep_does(tmp_path: Path, work: Path) -> None:
    put(work / "d" / "f", "x\n")
    put(tmp_path / "outside" / "g", "x\n")
    os.mkfifo(work / "pipe")
    for name, text in (
        ("nowhere", "nothing"),
        ("to a pipe", "pipe"),
        ("to a file", "d/f"),
        ("to a directory", "d"),
        ("out", str(tmp_path / "outside")),
    ):
        (work / name).symlink_to(text)
    with twins(tmp_path) as pair:
        text = pair.agree("list_files")
        assert '"files":["d/f","out/g","to a file"]' in text


# ── places ──────────────────────────────────────────────────────────────────────────────────────


def test_another_workspace_under_the_same_name(tmp_path: Path) -> None:
    """No watch reports that a parent of the working directory was moved away."""
    top = tmp_path / "top"
    put(top / "work" / "a", "old\n")
    with twins(top, state_dir=str(tmp_path / "state")) as pair:
        agree(pair, "a", pattern="old")
        top.rename(tmp_path / "aside")
        put(top / "work" / "a", "new\n")
        agree(pair, "a", pattern="new")
        agree(pair, "No matches found", pattern="old")


def test_a_repository_that_begins_below_the_workspace(tmp_path: Path, work: Path) -> None:
    put(work / ".gitignore", "a\n")
    put(work / "d" / "a", "x\n")
    put(work / "d" / "b", "x\n")
    below = "(paths are relative to d/)"
    with twins(tmp_path) as pair:
        agree(pair, f"b\n{below}", pattern="x", path="d")
        (work / "d" / ".git").mkdir()
        agree(pair, f"a:1\nb:1\n{below}", pattern="x", path="d", output_mode="count")
        agree(pair, "d/b", pattern="x")
        (work / "d" / ".git").rmdir()
        agree(pair, f"b\n{below}", pattern="x", path="d")


def test_rules_above_the_workspace(tmp_path: Path, work: Path) -> None:
    put(work / "a", "x\n")
    put(work / "b", "x\n")
    with twins(tmp_path) as pair:
        for rules, left in (("a\n", "b"), ("b\n", "a"), ("work\n", "a:1\nb:1")):
            put(tmp_path / ".gitignore", rules)
            pair.ready()
            mode = "count" if ":" in left else "files_with_matches"
            assert pair.agree("grep", pattern="x", output_mode=mode) == left

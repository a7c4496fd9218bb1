"""The one last line of grep: what a page lacks, what its paths are relative to, why it is empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flashgrep.search.pattern import has_line_anchors
from flashgrep.search.scan.scan import DiskSearcher
from tests.tools.workshop import Workshop, workshop, workshop_with_notes

NOTHING = "No matches found"
MODES = ["content", "files_with_matches", "count"]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path) as made:
        yield made


def last(shop: Workshop, pattern: str = "x", **arguments: Any) -> str:
    """The line in parentheses that an answer ends with; empty where there is none."""
    *others, line = shop.lines("grep", pattern=pattern, **arguments)
    assert not any(other.startswith("(") for other in others)
    return line if line.startswith("(") else ""


# ── more behind a limit ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", MODES)
def test_a_page_before_the_last_says_how_to_go_on(shop: Workshop, mode: str) -> None:
    shop.files("a", "b", "c", "d")
    asked: dict[str, Any] = {"output_mode": mode, "head_limit": 2}
    assert last(shop, **asked) == "(more; next: offset 2)"
    assert last(shop, **asked, offset=1) == "(more; next: offset 3)"
    assert last(shop, **asked, offset=2) == ""
    assert last(shop, **asked, offset=3) == ""
    assert last(shop, **asked | {"head_limit": 4}) == ""
    assert last(shop, **asked | {"head_limit": 0}) == ""


@pytest.mark.parametrize("mode", MODES)
def test_a_direct_method_tells_it_in_its_own_fields_only(shop: Workshop, mode: str) -> None:
    shop.files("sub/a", "sub/b", "sub/c")
    told = shop.direct("grep", pattern="x", output_mode=mode, head_limit=2, path="sub")
    assert (told["truncated"], told["next_offset"]) == (True, 2)
    assert "(" not in str([value for value in told.values() if isinstance(value, str | list)])


def test_a_page_looks_for_one_match_beyond_it_and_no_further(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[int] = []
    whole = DiskSearcher.search

    def search(engine: DiskSearcher, where: Any, question: Any, *others: Any, **named: Any) -> Any:
        wanted.append(question.wanted)
        return whole(engine, where, question, *others, **named)

    monkeypatch.setattr(DiskSearcher, "search", search)
    shop.files("a", "b", data="x\n" * 100)
    last(shop, output_mode="content", head_limit=5, offset=7)
    last(shop, output_mode="content")
    shop.direct("grep", pattern="x", output_mode="content")
    assert wanted == [13, 705, 0]  # the page, what the budget may hold, everything


def test_a_cut_page_names_one_offset_only(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=400) as shop:
        shop.file("f.txt", "x\n" * 2_000)
        told = last(shop, output_mode="content", head_limit=1_000)
        assert told.startswith("(output cut; ")
        assert told.count("next: offset") == 1
        assert "more;" not in told


def test_context_that_is_cut_does_not_hide_that_more_follow(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=100) as shop:
        shop.file("f.txt", "x" * 1_500 + "\ny\nx\n")
        told = last(shop, output_mode="content", context_after=1, head_limit=1)
        assert told == ("(output cut: context lines left out; ask for fewer; more; next: offset 1)")


# ── what paths are relative to ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mode", MODES)
def test_paths_below_another_root_say_which(shop: Workshop, mode: str) -> None:
    shop.files("pkg/deep/a", "a")
    root = shop.root
    for path in ("pkg", "pkg/", "./pkg", "pkg/deep/..", str(root / "pkg")):
        told = last(shop, path=path, output_mode=mode)
        assert told == "(paths are relative to pkg/)", path
    assert last(shop, path="pkg/deep", output_mode=mode) == "(paths are relative to pkg/deep/)"
    for path in (".", "", str(root), "pkg/..", "pkg/deep/a", str(root / "a")):
        given = {"path": path} if path else {}
        assert last(shop, **given, output_mode=mode) == "", path


def test_a_root_outside_is_told_in_full(shop: Workshop, tmp_path: Path) -> None:
    outside = tmp_path / "out side"
    outside.mkdir()
    (outside / "a").write_text("x\n")
    for path in (str(outside), "../out side"):
        assert last(shop, path=path) == f"(paths are relative to {outside}/)"


def test_a_link_is_told_as_it_was_named(shop: Workshop, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a").write_text("x\n")
    shop.link("linked", outside)
    assert last(shop, path="linked") == "(paths are relative to linked/)"
    assert shop.text("view", path="linked/a").endswith("x")


def test_an_odd_root_can_be_put_before_a_path_as_it_is_told(shop: Workshop) -> None:
    shop.files("new\nline/a", "back\\slash/a")
    for name in ("new\\nline", "back\\\\slash"):
        assert last(shop, path=name) == f"(paths are relative to {name}/)"
        shop.text("view", path=f"{name}/a")


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_without_paths_has_nothing_they_are_relative_to(
    shop: Workshop, mode: str
) -> None:
    shop.files("pkg/a")
    assert shop.text("grep", pattern="y", path="pkg", output_mode=mode) == NOTHING
    told = last(shop, path="pkg", output_mode=mode, offset=9)
    assert told == "(no more results: offset 9, 1 in total)"


def test_a_long_root_is_within_the_budget(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=2_000) as shop:
        root = "/".join(["d" * 100] * 5)
        shop.files(*(f"{root}/{'f' * 50}{number}" for number in range(100)))
        told = shop.text("grep", pattern="x", path=root)
        assert len(told) <= 2_000
        assert told.endswith(f"; paths are relative to {root}/)")


def test_notes_are_named_in_full_and_relative_to_nothing(tmp_path: Path) -> None:
    with workshop_with_notes(tmp_path) as shop:
        shop.note("Work/a.md", "x\n")
        assert shop.text("grep", pattern="x", path="kb://Work") == "kb://Work/a.md"


# ── several at once ─────────────────────────────────────────────────────────────────────────────


def test_what_is_said_stands_in_one_line_in_a_settled_order(shop: Workshop) -> None:
    shop.files("pkg/a", "pkg/b")
    shop.link("pkg/memory", "/proc/self/mem")
    skip = "1 not searched: memory: made up by the kernel; searched only if given as path"
    assert last(shop, path="pkg", head_limit=1) == (
        f"(more; next: offset 1; paths are relative to pkg/; {skip})"
    )
    assert last(shop, path="pkg", offset=5) == (f"({skip}; no more results: offset 5, 2 in total)")
    needs = "the pattern needs a newline, and patterns match within a line; set multiline: true"
    assert shop.lines("grep", pattern=r"x\nz", path="pkg") == [NOTHING, f"({skip}; {needs})"]


# ── why it is empty ─────────────────────────────────────────────────────────────────────────────

TOLD = (
    "(with multiline ^ and $ are the ends of the file; begin the pattern with (?m) to make them "
    "the ends of lines)"
)


def test_anchors_in_multiline_that_find_nothing_are_explained(shop: Workshop) -> None:
    shop.file("f.txt", "a\nb\nc\n")
    assert shop.lines("grep", pattern="^b$", multiline=True) == [NOTHING, TOLD]
    assert shop.lines("grep", pattern="(?m)^b$", multiline=True) == ["f.txt"]
    assert shop.lines("grep", pattern="(?m)^d$", multiline=True) == [NOTHING]
    assert shop.lines("grep", pattern="^d$") == [NOTHING]
    assert shop.lines("grep", pattern="^a", multiline=True) == ["f.txt"]
    assert shop.lines("grep", pattern="^b", multiline=True, path="f.txt") == [NOTHING, TOLD]


def test_the_borders_of_words_of_other_engines_are_explained(shop: Workshop) -> None:
    shop.file("f.txt", "b <b>\n")
    told = r"(\< and \> are the characters < and >; the border of a word is \b)"
    assert shop.lines("grep", pattern=r"\<c\>") == [NOTHING, told]
    assert shop.lines("grep", pattern=r"\<b\>") == ["f.txt"]
    assert shop.lines("grep", pattern=r"\\<b") == [NOTHING]


def test_in_notes_they_are_the_ends_of_the_note(tmp_path: Path) -> None:
    with workshop_with_notes(tmp_path) as shop:
        shop.note("a.md", "a\nb\n")
        told = shop.lines("grep", pattern="b$", multiline=True, path="kb://")[-1]
        assert told == TOLD.replace("the file", "the note")


@pytest.mark.parametrize(
    ("pattern", "has_them"),
    [
        ("^a", True),
        ("a$", True),
        ("(a|^b)", True),
        ("[a]^", True),
        (r"\\$", True),
        ("(?i)^a", True),
        ("(?i:x)$", True),
        ("(?-m)^a", True),
        (r"\QE\E$", True),
        ("a", False),
        (r"\^a\$", False),
        ("[^a]", False),
        ("[$^]", False),
        ("[]^]", False),
        ("[^]^]", False),
        ("[[:^alpha:]$]", False),
        (r"[\]$]", False),
        (r"\Q^$", False),
        (r"\Q^\Ea", False),
        ("(?m)^a", False),
        ("(?im)^a$", False),
        ("(?m:^a)", False),
        (r"\Aa\z", False),
    ],
)
def test_an_anchor_is_told_from_the_same_character_elsewhere(pattern: str, has_them: bool) -> None:
    assert has_line_anchors(pattern) is has_them

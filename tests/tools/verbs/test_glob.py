"""glob: every parameter, every refusal, the order, the pages, and how little of a tree is opened.

Own promise.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep.workspace.find import Finder, FindRequest
from flashgrep.workspace.globs import NameFilter, compile_glob
from tests.tools.workshop import Workshop, workshop

NOTHING = "No files found"
TREE = (
    "README.md",
    "a.py",
    "b.txt",
    ".hidden.py",
    "src/a.py",
    "src/b.ts",
    "src/deep/a.py",
    "src/deep/deeper/d.tsx",
    "src/.cache/c.py",
    "lib/A.PY",
    "lib/tool.tar.gz",
)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path) as made:
        yield made


def found(shop: Workshop, **arguments: Any) -> list[str]:
    """The paths of a glob, sorted."""
    lines = shop.lines("glob", **arguments)
    return [] if lines == [NOTHING] else sorted(lines)


# ── patterns ────────────────────────────────────────────────────────────────────────────────────

PATTERNS: list[tuple[str, list[str]]] = [
    # without a slash, at any depth
    ("a.py", ["a.py", "src/a.py", "src/deep/a.py"]),
    ("*.{ts,tsx}", ["src/b.ts", "src/deep/deeper/d.tsx"]),
    ("?.txt", ["b.txt"]),
    ("[!ab].*", ["lib/A.PY", "src/.cache/c.py", "src/deep/deeper/d.tsx"]),
    ("*", sorted(TREE)),
    # with a slash, from the root
    ("*/a.py", ["src/a.py"]),
    ("src/*", ["src/a.py", "src/b.ts"]),
    ("src/**/*.py", ["src/.cache/c.py", "src/a.py", "src/deep/a.py"]),
    ("**/a.py", ["a.py", "src/a.py", "src/deep/a.py"]),
    ("**/deep/**", ["src/deep/a.py", "src/deep/deeper/d.tsx"]),
    ("./a.py", ["a.py"]),
    ("/a.py", ["a.py"]),
    ("{src,lib}/*.*", ["lib/A.PY", "lib/tool.tar.gz", "src/a.py", "src/b.ts"]),
    ("nowhere/*", []),
]


@pytest.mark.parametrize(("pattern", "paths"), PATTERNS, ids=[row[0] for row in PATTERNS])
def test_pattern(shop: Workshop, pattern: str, paths: list[str]) -> None:
    shop.files(*TREE)
    assert found(shop, pattern=pattern) == paths


def test_paths_are_relative_to_the_path_given(shop: Workshop) -> None:
    shop.files(*TREE)
    for path in ("src", "src/", str(shop.root / "src"), "lib/../src"):
        assert found(shop, pattern="*.py", path=path) == [".cache/c.py", "a.py", "deep/a.py"]
    assert found(shop, pattern="deep/*", path="src") == ["deep/a.py"]


def test_an_absolute_pattern_below_the_root_is_understood(shop: Workshop) -> None:
    shop.files(*TREE)
    assert found(shop, pattern=f"{shop.root}/src/*.py") == ["src/a.py"]
    assert found(shop, pattern=f"{shop.root}/src/*.py", path="src") == ["a.py"]


@pytest.mark.parametrize("pattern", ["[a", "{a,b", "a\\", "", "../*.py", "src/../a.py", "/", "."])
def test_a_pattern_that_can_match_nothing_is_refused(shop: Workshop, pattern: str) -> None:
    assert "glob" in shop.refused("glob", "invalid_params", pattern=pattern)


def test_names_are_printed_as_read_takes_them(shop: Workshop) -> None:
    shop.files("a\nb.txt", "c\\d.txt", "ü.txt")
    (shop.root / os.fsdecode(b"e\xff.txt")).write_bytes(b"x\n")
    shown = found(shop, pattern="*.txt")
    assert shown == ["a\\nb.txt", "c\\\\d.txt", "e\\xff.txt", "ü.txt"]
    for name in shown:
        assert shop.text("read", file_path=name) == "     1\tx"


# ── narrowing ───────────────────────────────────────────────────────────────────────────────────


def test_extensions_with_or_without_a_dot(shop: Workshop) -> None:
    shop.files(*TREE)
    expected = ["src/b.ts", "src/deep/deeper/d.tsx"]
    assert found(shop, extensions=["ts", ".tsx"]) == expected
    assert found(shop, extensions=["ts", ".tsx"], pattern="*") == expected
    assert found(shop, extensions=["ts", ".tsx"], pattern="src/*") == ["src/b.ts"]
    assert found(shop, extensions=["tar.gz"]) == ["lib/tool.tar.gz"]
    assert found(shop, extensions=["gz"], pattern="*.tar.gz") == ["lib/tool.tar.gz"]
    assert found(shop, extensions=[".tar.gz"], pattern="*.gz") == ["lib/tool.tar.gz"]
    assert found(shop, extensions=["PY"], case_sensitive=False, path="lib") == ["A.PY"]


@pytest.mark.parametrize("extension", ["", ".", "*", "a/b", "{a,b}", "a\0"])
def test_what_is_no_extension_is_refused(shop: Workshop, extension: str) -> None:
    told = shop.refused("glob", "invalid_params", extensions=[extension])
    assert "extensions" in told


def test_directories_on_request(shop: Workshop) -> None:
    shop.files(*TREE)
    assert found(shop, pattern="*", type="directory") == [
        "lib",
        "src",
        "src/.cache",
        "src/deep",
        "src/deep/deeper",
    ]
    assert found(shop, pattern="d*", type="directory") == ["src/deep", "src/deep/deeper"]
    assert found(shop, pattern="d*", type="file") == ["src/deep/deeper/d.tsx"]


def test_exclude_follows_the_rules_of_include(shop: Workshop) -> None:
    shop.files(*TREE)
    assert found(shop, pattern="*.py", exclude=["a.py"]) == [".hidden.py", "src/.cache/c.py"]
    assert found(shop, pattern="*.py", exclude=["src/*.py"]) == [
        ".hidden.py",
        "a.py",
        "src/.cache/c.py",
        "src/deep/a.py",
    ]
    assert found(shop, pattern="*.py", exclude=["src/**", ".*"]) == ["a.py"]
    assert found(shop, pattern="*.py", exclude="src") == [".hidden.py", "a.py"]
    assert found(shop, pattern="*.py", exclude=[]) == found(shop, pattern="*.py")
    assert found(shop, pattern="*.py", exclude=["*.py", "!.hidden.py"]) == [".hidden.py"]
    assert "glob" in shop.refused("glob", "invalid_params", pattern="*", exclude=["[a"])


def test_depth(shop: Workshop) -> None:
    shop.files(*TREE)
    assert found(shop, pattern="*", max_depth=0) == [".hidden.py", "README.md", "a.py", "b.txt"]
    assert found(shop, pattern="*.py", max_depth=1) == [".hidden.py", "a.py", "src/a.py"]
    assert found(shop, pattern="src/**", max_depth=1) == ["src/a.py", "src/b.ts"]
    assert found(shop, pattern="*", max_depth=100) == sorted(TREE)


def test_hidden_entries_are_included_unless_asked(shop: Workshop) -> None:
    shop.files(*TREE)
    assert found(shop, pattern="*.py", include_hidden=False) == [
        "a.py",
        "src/a.py",
        "src/deep/a.py",
    ]
    assert found(shop, pattern="c.py", include_hidden=False) == []
    assert found(shop, pattern="*.py", include_hidden=False, path="src/.cache") == ["c.py"]


def test_case(shop: Workshop) -> None:
    shop.files(*TREE)
    assert found(shop, pattern="A.*") == ["lib/A.PY"]
    every = ["a.py", "lib/A.PY", "src/a.py", "src/deep/a.py"]
    assert found(shop, pattern="A.*", case_sensitive=False) == every
    assert found(shop, pattern="LIB/*.py", case_sensitive=False) == ["lib/A.PY"]


def test_ignored_files_are_left_out_unless_asked(shop: Workshop) -> None:
    shop.file(".gitignore", "*.log\nbuild/\n")
    shop.file("src/.gitignore", "!keep.log\n")
    shop.files("a.log", "build/x.txt", "src/keep.log", "src/b.log", "c.txt")
    everything = ["a.log", "build/x.txt", "c.txt", "src/b.log", "src/keep.log"]
    assert found(shop, pattern="*.{log,txt}") == ["c.txt", "src/keep.log"]
    assert found(shop, pattern="*.{log,txt}", respect_gitignore=False) == everything
    assert found(shop, pattern="*", path="build") == ["x.txt"]
    assert found(shop, pattern="*.log", path="src") == ["keep.log"]


def test_noise_is_entered_only_as_the_path_itself(shop: Workshop) -> None:
    shop.files(".git/config", "node_modules/m/a.js", "sub/node_modules/n/b.js", "c.js")
    shop.files("node_modules/m/node_modules/o/d.js")
    assert found(shop, pattern="*") == ["c.js"]
    assert found(shop, pattern="*", respect_gitignore=False) == ["c.js"]
    assert found(shop, pattern="node_modules/**/*.js") == []
    assert found(shop, pattern="*", type="directory") == ["sub"]
    assert found(shop, pattern="*", path="node_modules") == ["m/a.js"]
    assert found(shop, pattern="*", path=".git") == ["config"]


def test_denied_entries_are_left_out(tmp_path: Path) -> None:
    with workshop(tmp_path, deny_dir=("**/secret", "*.key")) as shop:
        shop.files("a.txt", "secret/s.txt", "sub/secret/t.txt", "id.key", ".flashgrep/token")
        shop.link("innocent.txt", "id.key")
        shop.link("innocent", "secret")
        assert found(shop, pattern="*", respect_gitignore=False) == ["a.txt"]
        assert found(shop, pattern="*", type="directory") == ["sub"]
        assert found(shop, pattern="*", follow_symlinks=True) == ["a.txt"]
        assert shop.refused("glob", "access_denied", pattern="*", path="secret")


# ── links ───────────────────────────────────────────────────────────────────────────────────────


def test_links_are_listed_and_entered_only_on_request(shop: Workshop, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "f.txt").write_text("x")
    (outside / "deep/g.txt").write_text("x")
    shop.files("real/a.txt")
    shop.link("file.txt", "real/a.txt")
    shop.link("dir", outside)
    shop.link("inner", "real")
    shop.link("dangling.txt", "nowhere")
    shop.link("loop.txt", "loop.txt")
    assert found(shop, pattern="*.txt") == ["file.txt", "real/a.txt"]
    assert found(shop, pattern="*", type="directory") == ["dir", "inner", "real"]
    assert found(shop, pattern="*.txt", follow_symlinks=True) == [
        "dir/deep/g.txt",
        "dir/f.txt",
        "file.txt",
        "real/a.txt",
    ]


def test_a_directory_outside_is_entered_once_by_the_first_link_in_walk_order(
    shop: Workshop, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "f.txt").write_text("x")
    (outside / "deep/g.txt").write_text("x")
    shop.link("z", outside)
    shop.link("a/z/first", outside)
    shop.link("b-deep", outside / "deep")
    assert found(shop, pattern="*.txt", follow_symlinks=True) == [
        "a/z/first/deep/g.txt",
        "a/z/first/f.txt",
    ]


def test_a_loop_of_links_ends(shop: Workshop) -> None:
    shop.files("sub/f.txt", "sub/deep/g.txt", "other/h.txt")
    shop.link("sub/up", shop.root)
    shop.link("sub/deep/self", ".")
    assert found(shop, pattern="*.txt", path="sub", follow_symlinks=True) == [
        "deep/g.txt",
        "f.txt",
        "up/other/h.txt",
    ]


def test_a_link_called_node_modules_is_skipped_too(shop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/index.js").write_text("x")
    shop.link("node_modules", tmp_path / "store")
    assert found(shop, pattern="*", follow_symlinks=True) == []
    assert found(shop, pattern="*", type="directory") == []


# ── order and pages ─────────────────────────────────────────────────────────────────────────────


def ordered(shop: Workshop) -> None:
    """Five files in which every order differs, with ties."""
    for name, size, modified in (
        ("b/z.txt", 3, 1_000),
        ("a.txt", 1, 3_000),
        ("a/z.txt", 2, 1_000),
        ("c.txt", 2, 2_000),
        ("a-b.txt", 2, 3_000),
    ):
        shop.file(name, "x" * size, modified)


ORDERS: list[tuple[dict[str, str], list[str]]] = [
    # newest first by default; equal ones in path order
    ({}, ["a-b.txt", "a.txt", "c.txt", "a/z.txt", "b/z.txt"]),
    ({"sort_by": "modified"}, ["a-b.txt", "a.txt", "c.txt", "a/z.txt", "b/z.txt"]),
    (
        {"sort_by": "modified", "sort_order": "asc"},
        ["a/z.txt", "b/z.txt", "c.txt", "a-b.txt", "a.txt"],
    ),
    ({"sort_by": "size"}, ["b/z.txt", "a/z.txt", "a-b.txt", "c.txt", "a.txt"]),
    (
        {"sort_by": "size", "sort_order": "asc"},
        ["a.txt", "a/z.txt", "a-b.txt", "c.txt", "b/z.txt"],
    ),
    ({"sort_by": "name"}, ["a-b.txt", "a.txt", "c.txt", "a/z.txt", "b/z.txt"]),
    (
        {"sort_by": "name", "sort_order": "desc"},
        ["a/z.txt", "b/z.txt", "c.txt", "a.txt", "a-b.txt"],
    ),
    # by path: a directory's content where its name stands
    ({"sort_by": "path"}, ["a/z.txt", "a-b.txt", "a.txt", "b/z.txt", "c.txt"]),
    (
        {"sort_by": "path", "sort_order": "desc"},
        ["c.txt", "b/z.txt", "a.txt", "a-b.txt", "a/z.txt"],
    ),
]


@pytest.mark.parametrize(("order", "paths"), ORDERS, ids=[str(row[0]) for row in ORDERS])
def test_order(shop: Workshop, order: dict[str, str], paths: list[str]) -> None:
    ordered(shop)
    assert shop.lines("glob", pattern="*.txt", **order) == paths


def test_a_hundred_paths_are_shown_and_the_next_offset_is_told(shop: Workshop) -> None:
    shop.files(*(f"{number:04}.txt" for number in range(1_240)))
    lines = shop.lines("glob", pattern="*.txt")
    assert lines[:2] == ["1239.txt", "1238.txt"]
    assert len(lines) == 101
    assert lines[-1] == "(showing 100 of 1,240; next: offset 100)"
    lines = shop.lines("glob", pattern="*.txt", offset=1_100)
    assert lines[-1] == "(showing 100 of 1,240; next: offset 1200)"
    assert len(shop.lines("glob", pattern="*.txt", offset=1_200)) == 40
    assert len(shop.lines("glob", pattern="*.txt", limit=1_240)) == 1_240


@pytest.mark.parametrize("limit", [1, 7, 50, 51])
def test_following_the_offset_gives_every_path_once(shop: Workshop, limit: int) -> None:
    names = [f"d{number % 3}/{number}.txt" for number in range(50)]
    shop.files(*names)
    shown: list[str] = []
    for _ in range(51):
        *paths, last = [*shop.lines("glob", pattern="*.txt", limit=limit, offset=len(shown)), ""]
        cut = re.fullmatch(r"\(showing (\d+) of 50; next: offset (\d+)\)", paths[-1] or last)
        shown += paths[:-1] if cut else paths
        if not cut:
            break
        assert int(cut[2]) == len(shown)
    assert shown == list(reversed(names))


def test_the_budget_cuts_and_tells_the_next_offset(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=400) as shop:
        shop.files(*(f"{number:04}.txt" for number in range(100)))
        told = shop.text("glob", pattern="*.txt")
        lines = told.split("\n")
        shown = len(lines) - 1
        assert 0 < shown < 100
        assert lines[-1] == f"(showing {shown} of 100; next: offset {shown})"
        assert len(told) <= 400


def test_nothing_found_is_said(shop: Workshop) -> None:
    assert shop.text("glob", pattern="*") == NOTHING
    shop.files("a.txt", "b.txt")
    assert shop.text("glob", pattern="*.py", offset=3) == NOTHING
    told = shop.text("glob", pattern="*", offset=2)
    assert told == "(no more results: offset 2, 2 in total)"


# ── refusals ────────────────────────────────────────────────────────────────────────────────────

REFUSED: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["pattern", "extensions"]),
    ({"extensions": []}, ["pattern", "extensions"]),
    ({"pattern": "a/b/*.py", "max_depth": 1}, ["max_depth 1", "'a/b/*.py'"]),
    ({"pattern": "a/b", "max_depth": 0}, ["max_depth 0", "'a/b'"]),
    ({"pattern": ".github/*", "include_hidden": False}, ["include_hidden", "'.github/*'"]),
    ({"pattern": "**/.env", "include_hidden": False}, ["include_hidden", "'**/.env'"]),
    ({"pattern": "{.a,.b}", "include_hidden": False}, ["include_hidden", "'{.a,.b}'"]),
    ({"pattern": "*.py", "extensions": ["ts", "js"]}, ["extensions", "'js'", "'ts'", "'*.py'"]),
    ({"pattern": "*.{py,pyi}", "extensions": ["ts"]}, ["extensions", "'ts'", "'*.{py,pyi}'"]),
    ({"pattern": "*", "sort_order": "asc"}, ["sort_order", "sort_by"]),
    ({"pattern": "*", "limit": 0}, ["limit", "1"]),
    ({"pattern": "*", "limit": -5}, ["limit", "1"]),
    ({"pattern": "*", "offset": -1}, ["offset", "0"]),
    ({"pattern": "*", "max_depth": -1}, ["max_depth", "0"]),
    ({"pattern": "*", "type": "dir"}, ["type", "file", "directory"]),
    ({"pattern": "*", "sort_by": "date"}, ["sort_by", "modified", "name", "path", "size"]),
    ({"pattern": "*", "sort_by": "name", "sort_order": "up"}, ["sort_order", "asc", "desc"]),
]


@pytest.mark.parametrize(("given", "named"), REFUSED, ids=[str(row[0]) for row in REFUSED])
def test_options_that_cannot_both_be_meant_are_refused_by_name(
    shop: Workshop, given: dict[str, Any], named: list[str]
) -> None:
    told = shop.refused("glob", "invalid_params", **given)
    for part in named:
        assert part in told


ACCEPTED: list[dict[str, Any]] = [
    {"pattern": "a/b/*.py", "max_depth": 2},
    {"pattern": "{.a,b}", "include_hidden": False},
    {"pattern": "*.py", "extensions": ["ts", "py"]},
    {"pattern": "*.*", "extensions": ["ts"]},
    {"pattern": "*.PY", "extensions": ["py"], "case_sensitive": False},
    {"pattern": "*", "sort_by": "modified", "sort_order": "asc"},
    {"extensions": ["py"]},
]


@pytest.mark.parametrize("given", ACCEPTED, ids=str)
def test_options_that_leave_something_to_find_are_accepted(
    shop: Workshop, given: dict[str, Any]
) -> None:
    assert shop.text("glob", **given) == NOTHING


def test_a_path_that_is_no_directory_is_refused(shop: Workshop) -> None:
    shop.files("a.txt")
    assert "a.txt" in shop.refused("glob", "invalid_params", pattern="*", path="a.txt")
    assert "nowhere" in shop.refused("glob", "not_found", pattern="*", path="nowhere")


# ── how much is opened ──────────────────────────────────────────────────────────────────────────


def walk(shop: Workshop, pattern: str = "*", **wanted: Any) -> tuple[list[str], int]:
    """What a walk finds, and how many directories it opens."""
    asked = FindRequest(
        compile_glob(pattern, case_sensitive=wanted.get("case_sensitive", True)), **wanted
    )
    finder = Finder(shop.application.services.scope, os.fsencode(shop.root), asked, lambda: False)
    finding = finder.run()
    return sorted(entry.shown for entry in finding.entries), finding.opened


def wide(shop: Workshop) -> None:
    """A root with three branches, each of four directories: thirteen in all; and a link outside."""
    (shop.root.parent / "outside" / "deep").mkdir(parents=True)
    shop.link("link", shop.root.parent / "outside")
    for branch, leaf in itertools.product(("a", "b", ".c"), ("x", "y", "z")):
        shop.file(f"{branch}/{leaf}/f.txt")


OPENED: list[tuple[str, dict[str, Any], int]] = [
    ("*", {}, 13),
    ("*", {"max_depth": 0}, 1),
    ("*", {"max_depth": 1}, 4),
    ("*", {"max_depth": 2}, 13),
    ("*", {"include_hidden": False}, 9),
    ("*", {"follow_symlinks": True}, 15),
    ("*", {"exclude": NameFilter(["a"])}, 9),
    ("*", {"exclude": NameFilter(["a/**", "b/"])}, 5),
    ("*", {"exclude": NameFilter(["x"])}, 10),
    ("*", {"exclude": NameFilter(["*/x"])}, 10),
    ("*", {"exclude": NameFilter(["*.txt"])}, 13),
    # the pattern itself
    ("a/**", {}, 5),
    ("a/x/*", {}, 3),
    ("*/f.txt", {}, 4),
    ("f.txt", {}, 13),
    ("/f.txt", {}, 1),
    ("a/x/f.txt", {"max_depth": 5}, 3),
    ("A/X/*", {"case_sensitive": False}, 3),
]


@pytest.mark.parametrize(
    ("pattern", "wanted", "opened"), OPENED, ids=[f"{row[0]} {list(row[1])}" for row in OPENED]
)
def test_a_walk_opens_no_directory_it_need_not(
    shop: Workshop, pattern: str, wanted: dict[str, Any], opened: int
) -> None:
    wide(shop)
    assert walk(shop, pattern, **wanted)[1] == opened


def test_ignored_and_noisy_directories_are_not_opened(shop: Workshop) -> None:
    wide(shop)
    shop.files("node_modules/m/a.js", ".git/objects/aa/b")
    shop.file(".gitignore", "/a/\nb/y\n")
    assert walk(shop)[1] == 13 - 4 - 1
    assert walk(shop, respect_gitignore=False)[1] == 13


NAMES = st.sampled_from(["a", "b", ".c", "d.py", "e.txt"])
SOME_PATTERNS = st.sampled_from(
    ["*", "**", "*.py", "a/*", "a/**", "*/b/*", "**/b/**", "{a,b}/*", "[ab]", ".c/**", "a/b/d.py"]
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    paths=st.lists(st.lists(NAMES, min_size=1, max_size=3).map("/".join), max_size=8),
    pattern=SOME_PATTERNS,
    exclude=st.lists(SOME_PATTERNS, max_size=2),
    max_depth=st.none() | st.integers(0, 3),
    include_hidden=st.booleans(),
    directories=st.booleans(),
)
def test_pruning_changes_no_answer(
    tmp_path_factory: pytest.TempPathFactory,
    paths: list[str],
    pattern: str,
    exclude: list[str],
    max_depth: int | None,
    include_hidden: bool,
    directories: bool,
) -> None:
    """The slow definition: list everything, then judge each path and every directory above it."""
    with workshop(tmp_path_factory.mktemp("pruning")) as shop:
        for path in paths:
            parents = [shop.root.joinpath(*path.split("/")[:n]) for n in range(path.count("/") + 1)]
            if not (shop.root / path).is_dir() and all(
                p.is_dir() or not p.exists() for p in parents
            ):
                shop.file(path)
        glob = compile_glob(pattern)
        rules = NameFilter(exclude) if exclude else None
        expected = []
        for entry in shop.root.rglob("*"):
            names = entry.relative_to(shop.root).parts
            shown = "/".join(names)
            above = ["/".join(names[:n]) for n in range(1, len(names) + 1)]
            if (
                entry.is_dir() is directories
                and (max_depth is None or len(names) - 1 <= max_depth)
                and (include_hidden or not any(name.startswith(".") for name in names))
                and not (rules and any(rules.keeps(path) for path in above))
                and glob.matches(shown if glob.has_slash else names[-1])
            ):
                expected.append(shown)
        shown_paths, _ = walk(
            shop,
            pattern,
            exclude=rules,
            max_depth=max_depth,
            include_hidden=include_hidden,
            directories=directories,
        )
    assert shown_paths == sorted(expected)


def test_many_globs_are_refused_by_every_tool_that_takes_them(shop: Workshop) -> None:
    many = ["{a,b}" * 800] * 1_000
    for tool, arguments in (
        ("grep", {"pattern": "x", "include": many}),
        ("glob", {"pattern": "*", "exclude": many}),
    ):
        assert "limit is 20,000" in shop.refused(tool, "invalid_params", **arguments)


def test_any_number_of_extensions_is_looked_up_by_the_name(shop: Workshop) -> None:
    shop.files("a.py", "b.tar.gz", "c", "d.")
    extensions = [f"e{number}" for number in range(50_000)]
    assert found(shop, extensions=[*extensions, "tar.gz"]) == ["b.tar.gz"]


def test_an_absolute_pattern_that_finds_nothing_says_where_it_was_matched(shop: Workshop) -> None:
    shop.files("a.py")
    assert shop.text("glob", pattern="/*.py") == "a.py"
    told = shop.text("glob", pattern="/etc/*.conf")
    assert told.startswith(
        f"{NOTHING}\n(the / that '/etc/*.conf' begins with is the searched directory"
    )
    assert "give it as path" in told

"""glob over notes gives what glob over the same paths as files gives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep.notes.store import paths
from tests.tools.test_grep_notes import PREFIX, fill, without_prefix
from tests.tools.workshop import Workshop, workshop_with_notes

CASES = 2_000 if os.environ.get("FLASHGREP_HEAVY") else 25
PATHS = [
    *("a.md", "B.md", "b c.md", "é.md", ".h.md", "a/a.md", "a/b.md", "a/c/d.md", "a/.c/e.md"),
    *("a-b.md", "x/y/z/w.md", "x/y.tar.md"),
]
PATTERNS = [
    *("*", "*.md", "**", "**/*.md", "a/*", "a/**", "/a/*.md", "*/*", "?.md", "[ab]*", "[!a]*.md"),
    *("{a,b}*.md", "a/**/d.md", ".*", "**/c/*", "A.MD", "*.txt", "x/**", "c", "a"),
]
options = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["file", "directory"]),
        "exclude": st.lists(st.sampled_from(["a", "*.md", "a/*", "**/d.md", "x"]), max_size=2),
        "extensions": st.lists(st.sampled_from(["md", ".md", "tar.md", "MD"]), max_size=2),
        "max_depth": st.integers(0, 3),
        "include_hidden": st.booleans(),
        "limit": st.integers(1, 5),
        "offset": st.integers(0, 5),
        "case_sensitive": st.booleans(),
        "follow_symlinks": st.booleans(),
        "respect_gitignore": st.booleans(),
        "sort_order": st.sampled_from(["asc", "desc"]),
    },
)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop_with_notes(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """Hidden notes can be made in it, as older versions let them be; glob still finds those."""
    with (
        pytest.MonkeyPatch.context() as patch,
        workshop_with_notes(tmp_path_factory.mktemp("same"), no_index=True) as made,
    ):
        patch.setattr(paths, "new_fault", lambda _: None)
        yield made


@settings(
    max_examples=CASES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    sizes=st.dictionaries(st.sampled_from(PATHS), st.integers(0, 5), min_size=1),
    pattern=st.sampled_from(PATTERNS),
    folder=st.sampled_from(["", "", "a", "x/y"]),
    sort_by=st.sampled_from(["name", "path", "size"]),
    asked=options,
)
def test_every_option_equals_glob_over_the_exported_files(
    shared: Workshop,
    sizes: dict[str, int],
    pattern: str,
    folder: str,
    sort_by: str,
    asked: dict[str, Any],
) -> None:
    if asked.get("type") == "directory" and sort_by == "size":
        return  # what a directory's size is, the file system says
    fill(shared, {path: "x" * size for path, size in sizes.items()}, "raw")
    files = shared.call("glob", path=folder or ".", pattern=pattern, sort_by=sort_by, **asked)
    found = shared.call("glob", path=PREFIX + folder, pattern=pattern, sort_by=sort_by, **asked)
    assert found.code == files.code
    if files.code is None:
        before = f"{PREFIX}{folder}/" if folder else PREFIX
        assert without_prefix(found.text, before) == files.text
        assert found.data is not None
        assert files.data is not None
        assert found.data["total"] == files.data["total"]


# ── what is notes' own ──────────────────────────────────────────────────────────────────────────


def test_paths_are_full_and_sorted_by_path(shop: Workshop) -> None:
    for path in ("Work/b.md", "Work/a.md", "Work/sub/z.md", "top.md"):
        shop.note(path)
    within = ["kb://Work/a.md", "kb://Work/b.md", "kb://Work/sub/z.md"]
    assert shop.lines("glob", pattern="*", path="kb://") == [*within, "kb://top.md"]
    for asked in (
        {"path": "kb://Work", "pattern": "*"},
        {"path": "kb://Work/", "pattern": "**"},
        {"path": "kb://", "pattern": "Work/**"},
        {"pattern": "kb://Work/**"},
        {"path": "kb://Work", "pattern": "kb://Work/**"},
        {"path": "kb://Work", "extensions": ["md"]},
    ):
        assert shop.lines("glob", **asked) == within, asked
    assert shop.lines("glob", pattern="*", path="kb://", type="directory") == [
        "kb://Work",
        "kb://Work/sub",
    ]


def test_what_was_changed_last_comes_first_if_asked(shop: Workshop) -> None:
    import time

    for path in ("b.md", "a.md", "c.md"):
        shop.note(path, "x\n")
        now = time.time_ns() // 1_000_000
        while time.time_ns() // 1_000_000 == now:
            pass  # another millisecond, so that the order is known
    newest = {"pattern": "*", "path": "kb://", "sort_by": "modified"}
    assert shop.lines("glob", **newest) == ["kb://c.md", "kb://a.md", "kb://b.md"]
    shop.text("read", path="kb://b.md")
    shop.text("edit", path="kb://b.md", old_string="x", new_string="y")
    assert shop.lines("glob", **newest)[0] == "kb://b.md"
    assert shop.lines("glob", **newest, sort_order="asc")[-1] == "kb://b.md"


def test_a_page_says_where_the_next_begins(shop: Workshop) -> None:
    for number in range(7):
        shop.note(f"{number}.md")
    lines = shop.lines("glob", pattern="*", path="kb://", limit=3)
    assert lines[-1] == "(showing 3 of 7; next: offset 3)"
    lines = shop.lines("glob", pattern="*", path="kb://", limit=3, offset=6)
    assert lines == ["kb://6.md"]
    past = shop.text("glob", pattern="*", path="kb://", offset=9)
    assert past == "(no more results: offset 9, 7 in total)"


# ── bad input ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ({"pattern": None}, "invalid_params", "Missing required parameter: pattern (or"),
        ({"pattern": "[a"}, "invalid_params", "[a"),
        (
            {"path": "kb://Work/Plan.md"},
            "invalid_params",
            "is a note; glob searches below a folder",
        ),
        ({"path": "kb://Nowhere"}, "not_found", "Document not found: kb://Nowhere."),
        ({"path": "kb://Work/../x"}, "invalid_params", "the name .."),
        ({"path": "kb:///Work"}, "invalid_params", "begins with a slash"),
        ({"type": "link"}, "invalid_params", "file, directory"),
        ({"exclude": ["{a"]}, "invalid_params", "{a"),
        ({"extensions": ["*"]}, "invalid_params", "is not an extension"),
        ({"extensions": ["txt"], "pattern": "*.md"}, "invalid_params", "exclude each other"),
        ({"max_depth": -1}, "invalid_params", "max_depth is -1"),
        ({"max_depth": 0, "pattern": "Work/*"}, "invalid_params", "max_depth 0"),
        ({"include_hidden": False, "pattern": ".*"}, "invalid_params", "include_hidden is false"),
        ({"include_hidden": "maybe"}, "invalid_params", "include_hidden must be"),
        ({"sort_by": "age"}, "invalid_params", "modified, name, path, size"),
        ({"sort_order": "asc"}, "invalid_params", "sort_order needs sort_by"),
        ({"sort_by": "name", "sort_order": "up"}, "invalid_params", "asc, desc"),
        ({"limit": 0}, "invalid_params", "limit is 0"),
        ({"offset": -1}, "invalid_params", "offset is -1"),
        ({"case_sensitive": 1}, "invalid_params", "case_sensitive must be"),
        ({"follow_symlinks": "x"}, "invalid_params", "follow_symlinks must be"),
        ({"respect_gitignore": []}, "invalid_params", "respect_gitignore must be"),
        ({"view": "raw"}, "invalid_params", "glob has no parameter 'view'"),
    ],
)
def test_a_bad_value_is_refused_by_name(
    shop: Workshop, given: dict[str, Any], code: str, told: str
) -> None:
    shop.note("Work/Plan.md")
    assert told in shop.refused("glob", code, **{"pattern": "*", "path": "kb://", **given})

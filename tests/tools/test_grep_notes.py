"""grep over notes gives what grep over the same texts in files gives."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep.notes.access.roles import Grant, Principal, Role
from flashgrep.notes.markup import critic
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import walk_key
from tests.notes.test_reading import damage
from tests.search.strategies import patterns
from tests.tools.workshop import Workshop, workshop_with_notes

CASES = 1_000 if os.environ.get("FLASHGREP_HEAVY") else 32
PREFIX = "kb://"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop_with_notes(tmp_path) as made:
        yield made


# ── the same as over files ──────────────────────────────────────────────────────────────────────

NAMES = ["a.md", "b c.md", "é.md", "a/a.md", "a/b.md", "a/c/d.md", "a-b.md", "B/x.md"]
PIECES = ["\n", "\n", "a", "b", "A", "ab", "_1", " ", "\t", ".", "é", "αβ", "ſ", "😀", "\u2028"]
MARKS = ["{++", "++}", "{--", "--}", "{==", "==}", "`", "```\n"]
some_text = st.lists(st.sampled_from(PIECES + MARKS), max_size=30).map("".join)
some_notes = st.dictionaries(st.sampled_from(NAMES), some_text, min_size=1, max_size=5)
some_options = st.fixed_dictionaries(
    {},
    optional={
        "context": st.integers(0, 2),
        "context_before": st.integers(0, 2),
        "context_after": st.integers(0, 2),
        "head_limit": st.integers(0, 4),
        "offset": st.integers(0, 4),
        "line_numbers": st.booleans(),
        "only_matching": st.booleans(),
        "include": st.sampled_from(["*.md", "a*", "a/*", "**/d.md", "*.{md,txt}", ["*", "!a.md"]]),
        "type": st.sampled_from(["md", "py"]),
    },
)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with workshop_with_notes(tmp_path_factory.mktemp("same"), no_index=True) as made:
        yield made


def fill(shop: Workshop, notes: dict[str, str], view: str) -> None:
    """Make these notes and no others, and files that hold what the view shows."""

    def make(library: Any) -> None:
        for entry in library.catalogue.entries():
            library.delete(entry.id)
        for path, text in notes.items():
            library.create(path, text)

    shop.notes.ask(make)
    for there in sorted(shop.root.rglob("*"), reverse=True):
        there.rmdir() if there.is_dir() else there.unlink()
    for path, text in notes.items():
        shop.file(path, getattr(critic.read(text), view).text)


def as_of_notes(text: str, folder: str = "") -> str:
    """An answer about files as one about notes words it: paths of notes have no root to tell."""
    relative = f"paths are relative to {folder}/"
    for phrase in (f"\n({relative})", f"; {relative}"):
        text = text.removesuffix(phrase) if phrase[0] == "\n" else text.replace(phrase, "")
    return text.replace("are the ends of the file;", "are the ends of the note;")


def without_prefix(text: str, before: str) -> str:
    return "\n".join(line.removeprefix(before) for line in text.split("\n"))


@settings(
    max_examples=CASES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    notes=some_notes,
    spec=st.booleans().flatmap(patterns),
    mode=st.sampled_from(["content", "count", "files_with_matches"]),
    view=st.sampled_from(["accepted", "base", "raw"]),
    folder=st.sampled_from(["", "", "a", "a/c"]),
    options=some_options,
)
def test_every_mode_equals_grep_over_the_exported_texts(
    shared: Workshop,
    notes: dict[str, str],
    spec: PatternSpec,
    mode: str,
    view: str,
    folder: str,
    options: dict[str, Any],
) -> None:
    fill(shared, notes, view)
    asked = {
        "pattern": spec.source,
        "case_insensitive": spec.case_insensitive,
        "multiline": spec.multiline,
        "output_mode": mode,
        **options,
    }
    if mode == "files_with_matches":  # files come newest first, notes by path
        asked = {**asked, "head_limit": 0, "offset": 0}
    files = shared.call("grep", path=folder or ".", **asked)
    found = shared.call("grep", path=PREFIX + folder, view=view, **asked)
    assert found.code == files.code
    if files.code is not None:
        return
    text = without_prefix(found.text, f"{PREFIX}{folder}/" if folder else PREFIX)
    of_files = as_of_notes(files.text, folder)
    if mode == "files_with_matches":
        lines = of_files.split("\n")
        # Nothing but paths is sorted: an empty answer and what is said of one come as they are.
        said = [line for line in lines if not line.endswith(".md")]
        paths = sorted(set(lines) - set(said), key=walk_key)
        assert text.split("\n") == [*paths, *said]
    else:
        assert text == of_files


@settings(
    max_examples=CASES // 4,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(text=some_text, spec=st.booleans().flatmap(patterns), options=some_options)
def test_one_note_equals_one_file(
    shared: Workshop, text: str, spec: PatternSpec, options: dict[str, Any]
) -> None:
    fill(shared, {"a/b.md": text}, "accepted")
    for mode in ("content", "count", "files_with_matches"):
        asked = {
            "pattern": spec.source,
            "case_insensitive": spec.case_insensitive,
            "multiline": spec.multiline,
            "output_mode": mode,
            **options,
        }
        files = shared.text("grep", path="a/b.md", **asked)
        found = shared.text("grep", path="kb://a/b.md", **asked)
        assert without_prefix(found, PREFIX) == as_of_notes(files)


# ── what is notes' own ──────────────────────────────────────────────────────────────────────────


def test_results_name_notes_in_full_and_by_path(shop: Workshop) -> None:
    for path in ("Work/b.md", "Work/a.md", "Work/a/z.md", "a.md"):
        shop.note(path, "needle\nhay\nneedle\n")
    within = ["kb://Work/a/z.md", "kb://Work/a.md", "kb://Work/b.md"]
    for folder in ("kb://Work", "kb://Work/"):
        assert shop.lines("grep", pattern="needle", path=folder) == within
        counts = shop.lines("grep", pattern="needle", path=folder, output_mode="count")
        assert counts == [f"{path}:2" for path in within]
    assert shop.lines("grep", pattern="needle", path="kb://") == [*within, "kb://a.md"]
    content = shop.lines("grep", pattern="hay", path="kb://", output_mode="content")
    named = [f"{path}:2:hay" for path in (*within, "kb://a.md")]
    assert [line for line in content if line != "--"] == named
    page = {"head_limit": 2, "offset": 1}
    assert shop.lines("grep", pattern="needle", path="kb://", **page) == [
        *within[1:],
        "(more; next: offset 3)",
    ]


def test_what_is_found_can_be_read(shop: Workshop) -> None:
    shop.note("Work/Été 😀.md", "first\n{++needle++}\n")
    found = shop.text("grep", pattern="needle", path="kb://", output_mode="content")
    path, line, text = found.rsplit(":", 2)
    assert shop.lines("read", path=path, offset=int(line), limit=1)[0] == f"     2\t{text}"


@pytest.mark.parametrize(
    ("given", "old", "new"),
    [
        ({}, "No matches found", "kb://a.md:1:say new"),
        ({"view": "accepted"}, "No matches found", "kb://a.md:1:say new"),
        ({"view": "base"}, "kb://a.md:1:say old", "No matches found"),
        (
            {"view": "raw"},
            "kb://a.md:1:say {--old--}{++new++}",
            "kb://a.md:1:say {--old--}{++new++}",
        ),
    ],
)
def test_the_accepted_view_is_searched_unless_another_is_asked_for(
    shop: Workshop, given: dict[str, str], old: str, new: str
) -> None:
    shop.note("a.md", "say old\n")
    assert shop.text("grep", pattern="old", path="kb://", **given) == "kb://a.md"
    propose(shop.notes, "a.md", Edit("old", "new"), "bot")
    content = {"path": "kb://", "output_mode": "content", **given}
    assert shop.text("grep", pattern="old", **content) == old
    assert shop.text("grep", pattern="new", **content) == new


def test_a_search_is_as_fresh_as_the_last_answer(shop: Workshop) -> None:
    shop.note("a.md", "one\n")
    assert shop.text("grep", pattern="one", path="kb://") == "kb://a.md"
    note = shop.note("b.md", "one\n")
    assert shop.text("grep", pattern="one", path="kb://") == "kb://a.md\nkb://b.md"
    shop.notes.ask(lambda library: library.catalogue.move(note, "c.md"))
    assert shop.text("grep", pattern="one", path="kb://") == "kb://a.md\nkb://c.md"
    shop.text("read", path="kb://a.md")
    shop.text("edit", path="kb://a.md", old_string="one", new_string="two")
    assert shop.text("grep", pattern="one", path="kb://") == "kb://c.md"
    shop.notes.ask(lambda library: library.delete(note))
    assert shop.text("grep", pattern="one", path="kb://") == "No matches found"


def test_an_empty_knowledge_base_has_no_matches(shop: Workshop) -> None:
    assert shop.text("grep", pattern="x", path="kb://") == "No matches found"
    assert shop.text("glob", pattern="*", path="kb://") == "No files found"


def test_a_long_answer_says_how_to_go_on(tmp_path: Path) -> None:
    with workshop_with_notes(tmp_path, max_output_chars=2_000) as shop:
        for number in range(100):
            shop.note(f"{number:03}.md", "needle in a haystack\n" * 3)
        seen: list[str] = []
        offset = 0
        while True:
            *lines, last = shop.lines(
                "grep", pattern="needle", path="kb://", output_mode="content", offset=offset
            )
            assert len("\n".join([*lines, last])) <= 2_000
            if not last.startswith("(output cut"):
                seen += [*lines, last]
                break
            seen += lines
            offset = int(last.rpartition("offset ")[2].rstrip(")"))
        found = [line for line in seen if line != "--"]
        assert len(found) == len(set(found)) == 300


def test_a_direct_call_gives_rows(shop: Workshop) -> None:
    shop.note("a.md", "needle\n")
    found = shop.direct("grep", pattern="needle", path="kb://", output_mode="content")
    assert found["matches"] == [
        {"file_path": "kb://a.md", "line": 1, "is_match": True, "text": "needle"}
    ]
    assert shop.direct("grep", pattern="needle", path="kb://")["paths"] == ["kb://a.md"]
    assert shop.direct("glob", pattern="*", path="kb://")["paths"] == ["kb://a.md"]


def test_a_damaged_note_is_told_with_the_next_step(tmp_path: Path) -> None:
    with workshop_with_notes(tmp_path) as shop:
        note = shop.note("Bad.md", "needle\n")
        shop.note("Good.md", "needle\n")
    damage(tmp_path / "kb", note)
    told = "kb://Bad.md: quarantined; see flashgrep kb history, go back with flashgrep kb restore)"
    with workshop_with_notes(tmp_path) as shop:
        for pattern, first in (("needle", "kb://Good.md"), ("nothing", "No matches found")):
            assert shop.lines("grep", pattern=pattern, path="kb://") == [
                first,
                f"(1 not searched: {told}",
            ]
        assert shop.lines("glob", pattern="*", path="kb://") == [
            "kb://Good.md",
            f"(1 not read: {told}",
        ]
        data = shop.direct("grep", pattern="needle", path="kb://")
        assert [row[0] for row in data["skipped"]] == ["kb://Bad.md"]


def test_a_folder_scoped_caller_finds_its_folder_only(shop: Workshop) -> None:
    for path in ("Open/a.md", "Opening/a.md", "Secret/a.md", "a.md"):
        shop.note(path, "needle\n")
    shop.caller.principal = Principal("bot", (Grant(Role.READ, "Open"),))
    for tool in ("grep", "glob"):
        asked = {"pattern": "needle"} if tool == "grep" else {"pattern": "*"}
        assert shop.text(tool, path="kb://", **asked) == "kb://Open/a.md"
        hidden = shop.refused(tool, "not_found", path="kb://Secret", **asked)
        assert hidden == "Document not found: kb://Secret. File does not exist."
    assert shop.text("glob", path="kb://", pattern="*", type="directory") == "kb://Open"


# ── bad input ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ({"pattern": "("}, "invalid_pattern", "("),
        ({"pattern": r"(?=x)"}, "invalid_pattern", "(?="),
        ({"pattern": r"\C"}, "invalid_pattern", r"\C"),
        ({"path": "kb://No"}, "not_found", "Document not found: kb://No."),
        ({"path": "kb://No.md"}, "not_found", "File does not exist."),
        ({"path": "kb://Work/pla.md"}, "not_found", "Did you mean kb://Work/Plan.md?"),
        ({"path": "kb://work"}, "not_found", "Document not found"),
        ({"path": "kb:///"}, "invalid_params", "empty"),
        ({"path": "kb://Work//x"}, "invalid_params", "empty name"),
        ({"path": "kb://../x"}, "invalid_params", "the name .."),
        ({"path": "kb://Work%2fPlan.md"}, "invalid_params", "%2f"),
        ({"path": "kb://a\nb"}, "invalid_params", "control character"),
        ({"include": "[a"}, "invalid_params", "[a"),
        ({"include": "{a"}, "invalid_params", "{a"),
        ({"type": "nonsense"}, "invalid_params", "nonsense"),
        ({"output_mode": "lines"}, "invalid_params", "files_with_matches"),
        ({"view": "pending"}, "invalid_params", "accepted, base, raw"),
        ({"head_limit": -1}, "invalid_params", "head_limit is -1"),
        ({"offset": -1}, "invalid_params", "offset is -1"),
        ({"-C": -1}, "invalid_params", "-C is -1"),
        ({"-C": 1, "context": 2}, "invalid_params", "two names of one parameter"),
        ({"multiline": "perhaps"}, "invalid_params", "multiline must be true or false"),
    ],
)
def test_a_bad_value_is_refused_by_name(
    shop: Workshop, given: dict[str, Any], code: str, told: str
) -> None:
    shop.note("Work/Plan.md", "needle\n")
    assert told in shop.refused("grep", code, **{"pattern": "x", "path": "kb://", **given})


@pytest.mark.parametrize("path", [{}, {"path": "kb://"}])
@pytest.mark.parametrize("include", ["kb://**", "KB://Folder/*.md", ["*", "!kb://Secret/**"]])
def test_a_glob_on_names_does_not_lead_to_the_notes(
    shop: Workshop, include: str | list[str], path: dict[str, str]
) -> None:
    shop.note("Folder/N.md", "x")
    for name in ("include", "glob"):
        told = shop.refused("grep", "invalid_params", **{"pattern": "x", name: include, **path})
        assert 'search the notes with path "kb://"' in told
    hidden = [one.removeprefix("!") for one in ([include] if isinstance(include, str) else include)]
    told = shop.refused("glob", "invalid_params", pattern="*", exclude=hidden, **path)
    assert "exclude 'kb://" in told.replace("KB", "kb")


def test_a_pattern_that_needs_a_newline_is_told(shop: Workshop) -> None:
    shop.note("a.md", "one\ntwo\n")
    assert "multiline: true" in shop.text("grep", pattern=r"one\ntwo", path="kb://")
    assert shop.text("grep", pattern=r"one\ntwo", path="kb://", multiline=True) == "kb://a.md"

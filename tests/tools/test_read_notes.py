"""read and view on notes: the lines of a view, and what is suggested."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep import limits
from flashgrep.notes.access.roles import Grant, Principal, Role
from flashgrep.notes.suggestions.pending import SUGGESTION
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose
from flashgrep.tools.dispatch.caller import note_key
from flashgrep.tools.format.source import Seen, judge
from tests.notes.test_reading import damage
from tests.tools.workshop import Workshop, workshop_with_notes

TEXT = "# Plan\n\nThe quick fox.\nThe end.\n"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop_with_notes(tmp_path) as made:
        yield made


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Workshop]:
    """A server without a workspace."""
    with workshop_with_notes(tmp_path, no_workspace=True) as made:
        yield made


def suggest(shop: Workshop, path: str, old: str, new: str, author: str = "bot") -> str:
    (name,) = propose(shop.notes, path, Edit(old, new), author).ids
    return name


# ── lines ───────────────────────────────────────────────────────────────────────────────────────


def test_a_note_is_read_as_a_file_is(shop: Workshop) -> None:
    shop.note("Work/Plan.md", TEXT)
    shop.file("Plan.md", TEXT)
    assert shop.text("read", path="kb://Work/Plan.md") == shop.text("read", path="Plan.md")
    for given in ({"offset": 2}, {"limit": 1}, {"offset": 3, "limit": 1}, {"offset": 99}):
        of_note = shop.text("read", file_path="kb://Work/Plan.md", **given)
        assert of_note == shop.text("read", path="Plan.md", **given)


def test_without_a_workspace_bare_paths_are_notes(alone: Workshop) -> None:
    alone.note("Work/Plan.md", TEXT)
    alone.file("Plan.md", "a file")
    expected = "     1\t# Plan\n     2\t\n     3\tThe quick fox.\n     4\tThe end."
    assert alone.text("read", file_path="Work/Plan.md") == expected
    assert alone.text("read", file_path="kb://Work/Plan.md") == expected
    message = alone.refused("read", "not_found", file_path="Plan.md")
    assert message == (
        "Document not found: Plan.md. File does not exist. Did you mean Work/Plan.md?"
    )


def test_a_long_note_is_cut_where_a_file_is(tmp_path: Path) -> None:
    text = "".join(f"line {number} {'x' * 40}\n" for number in range(5_000))
    with workshop_with_notes(tmp_path, max_output_chars=20_000) as shop:
        shop.note("Long.md", text)
        shop.file("Long.md", text)
        cut = shop.text("read", path="kb://Long.md")
        assert cut == shop.text("read", path="Long.md")
        assert "[PARTIAL view: lines 1-" in cut
        assert len(cut) <= 20_000


def test_an_empty_note_and_a_place_past_the_end_are_told(shop: Workshop) -> None:
    shop.note("Empty.md")
    shop.note("Short.md", "x\n")
    assert "contents are empty" in shop.text("read", path="kb://Empty.md")
    assert "past the end" in shop.text("read", path="kb://Short.md", offset=7)


def test_view_shows_a_note_too(shop: Workshop) -> None:
    shop.note("Work/Plan.md", TEXT)
    name = suggest(shop, "Work/Plan.md", "quick", "slow")
    shown = shop.text("view", path="kb://Work/Plan.md", view_range=[3, 3])
    assert shown.startswith("     3\tThe slow fox.\n\n[Pending suggestions]\n- " + name)
    assert "glob" in shop.refused("view", "invalid_params", path="kb://Work")
    assert "glob" in shop.refused("view", "invalid_params", path="kb://")


# ── views ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "The slow fox."),
        ({"view": "accepted"}, "The slow fox."),
        ({"view": "base"}, "The quick fox."),
        ({"view": "raw"}, "The {--quick--}{++slow++} fox."),
    ],
)
def test_a_view_is_chosen(shop: Workshop, given: dict[str, str], line: str) -> None:
    shop.note("Plan.md", TEXT)
    suggest(shop, "Plan.md", "quick", "slow")
    assert shop.lines("read", path="kb://Plan.md", **given)[2] == f"     3\t{line}"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("kb://", "is a folder of notes"),
        ("kb://Team", "is a folder of notes"),
        ("kb://nothing", "not found"),
        ("kb://picture.png", "not found"),
    ],
)
def test_what_is_no_note_is_called_a_folder_only_if_it_is_one(
    shop: Workshop, path: str, told: str
) -> None:
    shop.note("Team/Plan.md", "x")
    assert told in shop.call("view", path=path).text


def test_files_have_no_views(shop: Workshop) -> None:
    shop.file("a.txt", "x\n")
    for tool, given in (("read", {"path": "a.txt"}), ("grep", {"pattern": "x"})):
        assert "for notes" in shop.refused(tool, "invalid_params", view="raw", **given)


# ── what is suggested ───────────────────────────────────────────────────────────────────────────


def test_a_reading_ends_with_the_pending_suggestions(shop: Workshop) -> None:
    shop.note("Plan.md", TEXT)
    first = suggest(shop, "Plan.md", "The end.", "Fin.\nReally.", "claude")
    second = suggest(shop, "Plan.md", "quick ", "", "cursor")
    assert shop.lines("read", path="kb://Plan.md")[-4:] == [
        "",
        "[Pending suggestions]",
        f'- {second} by cursor, just now, line 3: "quick " -> ""',
        f'- {first} by claude, just now, line 4: "The end." -> "Fin.\\nReally."',
    ]


def test_without_suggestions_there_is_no_list(shop: Workshop) -> None:
    shop.note("Plan.md", TEXT + "`{++code++}` and {>>a comment<<} and {==light==}\n")
    for view in ("accepted", "base", "raw"):
        assert "[Pending" not in shop.text("read", path="kb://Plan.md", view=view)


def test_marks_that_somebody_typed_are_listed_as_theirs(shop: Workshop) -> None:
    shop.note("Plan.md", "a {--b--}{++c++} d\n")
    *shown, row = shop.lines("read", path="kb://Plan.md")
    assert shown == ["     1\ta c d", "", "[Pending suggestions]"]
    assert re.fullmatch(r'- s_\w+ by somebody, just now, line 1: "b" -> "c"', row)


@pytest.mark.parametrize(
    ("seconds", "age"),
    [(0, "just now"), (50, "just now"), (60, "1m ago"), (7_200, "2h ago"), (200_000, "2d ago")],
)
def test_a_suggestion_has_an_age(shop: Workshop, seconds: int, age: str) -> None:
    import time

    from flashgrep.notes.document.note import Amendment, NoteRecords

    note = shop.note("Plan.md", "a {++b++}\n")
    made = time.time_ns() // 1_000_000 - seconds * 1_000
    value = {"kind": SUGGESTION, "author": "bot", "time": made, "asked": ""}
    change = Amendment(records={"s_1": NoteRecords(value, ((2, 9),))})
    shop.notes.ask(lambda library: library.amend(note, lambda text, besides: change))
    assert f"- s_1 by bot, {age}, line 1:" in shop.text("read", path="kb://Plan.md")


def test_a_long_change_is_shown_short(shop: Workshop) -> None:
    shop.note("Plan.md", "x" * 500 + "\n")
    suggest(shop, "Plan.md", "x" * 500, "y" * 500)
    last = shop.lines("read", path="kb://Plan.md")[-1]
    short = limits.SHORT_DIFF_CHARS
    assert last.endswith(f'"{"x" * short}"... -> "{"y" * short}"...')


def test_many_suggestions_are_paged_with_the_lines(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SHOWN_SUGGESTIONS", 12)
    shop.note("Many.md", "".join(f"word{number:03} here\n" for number in range(30)))
    for number in range(30):
        suggest(shop, "Many.md", f"word{number:03}", f"term{number:03}")
    seen: list[str] = []
    offset, told = 1, ""
    for _ in range(5):
        lines = shop.lines("read", path="kb://Many.md", offset=offset, limit=1)
        listed = [line for line in lines if line.startswith("- s_")]
        assert len(listed) <= limits.SHOWN_SUGGESTIONS
        seen += listed
        told = lines[-1]
        if "shown with offset=" not in told:
            break
        offset = int(told.rpartition("offset=")[2].rstrip(")"))
    assert [f"term{number:03}" in line for number, line in enumerate(seen)] == [True] * 30
    assert told == f"(not shown: {30 - len(listed)} before these lines)"


def test_a_small_budget_keeps_lines_and_suggestions_within_it(tmp_path: Path) -> None:
    with workshop_with_notes(tmp_path, max_output_chars=3_000) as shop:
        shop.note("Many.md", "".join(f"word{number:03} here\n" for number in range(300)))
        for number in range(60):
            suggest(shop, "Many.md", f"word{number:03}", f"term{number:03}")
        text = shop.text("read", path="kb://Many.md")
        assert len(text) <= 3_000
        assert "[PARTIAL view" in text
        assert "(not shown: " in text


# ── who reads ───────────────────────────────────────────────────────────────────────────────────


def test_a_reading_is_remembered_by_the_text_with_its_marks(shop: Workshop) -> None:
    note = shop.note("Plan.md", TEXT)
    assert judge(shop.caller, note_key(note), TEXT.encode()) is Seen.NEVER
    shop.text("grep", pattern="fox", path="kb://")
    assert judge(shop.caller, note_key(note), TEXT.encode()) is Seen.NEVER
    shop.text("read", path="kb://Plan.md", limit=1)
    assert judge(shop.caller, note_key(note), TEXT.encode()) is Seen.SAME
    suggest(shop, "Plan.md", "quick", "slow")
    raw = shop.notes.read(note).data
    assert judge(shop.caller, note_key(note), raw) is Seen.CHANGED


def test_a_folder_scoped_caller_reads_its_folder_only(shop: Workshop) -> None:
    shop.note("Open/a.md", "x\n")
    shop.note("Secret/Plan.md", "x\n")
    shop.caller.principal = Principal("bot", (Grant(Role.SUGGEST, "Open"),))
    assert shop.text("read", path="kb://Open/a.md") == "     1\tx"
    hidden = shop.refused("read", "not_found", path="kb://Secret/Plan.md")
    missing = shop.refused("read", "not_found", path="kb://Secret/Plam.md")
    assert hidden.replace("Plan", "Plam") == missing
    assert "Did you mean" not in hidden


def test_a_damaged_note_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    with workshop_with_notes(tmp_path) as shop:
        note = shop.note("Bad.md", "x\n")
        shop.note("Good.md", "x\n")
    damage(tmp_path / "kb", note)
    with workshop_with_notes(tmp_path) as shop:
        message = shop.refused("read", "unavailable", path="kb://Bad.md")
        assert "quarantined" in message
        assert "flashgrep kb restore" in message
        assert shop.text("read", path="kb://Good.md") == "     1\tx"


# ── bad input ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("path", "code", "told"),
    [
        ("kb://", "invalid_params", "empty"),
        ("kb:///Plan.md", "invalid_params", "begins with a slash"),
        ("kb://a//Plan.md", "invalid_params", "empty name"),
        ("kb://../Plan.md", "invalid_params", "the name .."),
        ("kb://./Plan.md", "invalid_params", "the name ."),
        ("kb://a%2fPlan.md", "invalid_params", "%2f"),
        ("kb://a\\Plan.md", "invalid_params", "backslash"),
        (
            "kb://Plan",
            "invalid_params",
            "does not end with .md; add that. Did you mean kb://Plan.md?",
        ),
        ("kb://Plan.md ", "invalid_params", "does not end with .md"),
        ("kb://Plan..md", "invalid_params", "dot"),
        ("kb://Pl\0an.md", "invalid_params", "control character"),
        ("kb://Pl\u2028an.md", "invalid_params", "line separator"),
        ("kb://" + "x" * 300 + ".md", "invalid_params", "255"),
        ("kb://plan.md", "not_found", "Did you mean kb://Plan.md?"),
        ("kb://Plan.MD.md", "not_found", "File does not exist."),
        ("KB://plan.md", "not_found", "Did you mean kb://Plan.md?"),
    ],
)
def test_a_bad_path_is_refused_with_the_reason(
    shop: Workshop, path: str, code: str, told: str
) -> None:
    shop.note("Plan.md", TEXT)
    assert told in shop.refused("read", code, path=path)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"offset": -1}, "offset is -1"),
        ({"offset": "x"}, "offset must be a whole number"),
        ({"limit": 0}, "limit is 0"),
        ({"limit": 1.5}, "limit must be a whole number"),
        ({"column": 0}, "column is 0"),
        ({"view": "all"}, "accepted, base, raw"),
        ({"view": 1}, "view must be a string"),
        ({"views": "raw"}, "Did you mean 'view'?"),
    ],
)
def test_a_bad_parameter_is_refused_by_name(
    shop: Workshop, given: dict[str, object], told: str
) -> None:
    shop.note("Plan.md", TEXT)
    assert told in shop.refused("read", "invalid_params", path="kb://Plan.md", **given)

"""edit on notes, as a transport calls it: texts, read before edit, roles, what stands there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import anyio
import pytest

from flashgrep.notes.access.roles import Role
from tests.tools.notes_desk import NotesDesk, notes_desk
from tests.tools.workshop import workshop

A = "kb://Folder/A.md"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[NotesDesk]:
    with notes_desk(tmp_path) as made:
        made.note("Folder/A.md", "hello world\nand again\nand again\n")
        yield made


# ── what is done ────────────────────────────────────────────────────────────────────────────────


def test_the_answer_is_one_plain_line_and_the_marks_are_exact(desk: NotesDesk) -> None:
    answer = desk.edit(A, "world", "earth")
    assert answer.code is None
    assert answer.text == (
        "Edited kb://Folder/A.md: replaced 5 characters. "
        "The change is wrapped in CriticMarkup for human review. Line 1."
    )
    assert desk.raw("Folder/A.md") == "hello {--world--}{++earth++}\nand again\nand again\n"


def test_every_occurrence_is_told_with_its_line(desk: NotesDesk) -> None:
    told = desk.edit(A, "again", "anew", replace_all=True).text
    assert told == (
        "Edited kb://Folder/A.md: replaced 10 characters. The change is wrapped in CriticMarkup "
        "for human review. 2 occurrences, lines 2, 3."
    )
    assert desk.raw("Folder/A.md").count("{--again--}{++anew++}") == 2


def test_a_chain_of_edits_leaves_one_suggestion(desk: NotesDesk) -> None:
    desk.edit(A, "world", "world0")
    for number in range(3):
        assert desk.edit(A, f"world{number}", f"world{number + 1}").code is None
    assert desk.raw("Folder/A.md").startswith("hello {--world--}{++world3++}\n")


def test_a_suggestion_that_is_taken_back_leaves_no_mark(desk: NotesDesk) -> None:
    desk.edit(A, "world", "earth")
    assert "withdraws the suggestion that was there" in desk.edit(A, "earth", "world").text
    assert desk.raw("Folder/A.md") == "hello world\nand again\nand again\n"
    assert "is not made twice" in desk.edit(A, "earth", "world").text


def test_a_call_that_is_sent_again_is_not_made_twice(desk: NotesDesk) -> None:
    desk.edit(A, "world", "earth")
    before = desk.raw("Folder/A.md")
    assert "is not made twice" in desk.edit(A, "world", "earth").text
    assert desk.raw("Folder/A.md") == before


def test_line_ends_of_the_call_are_those_of_the_note(desk: NotesDesk) -> None:
    assert desk.edit(A, "world\r\nand", "earth\r\nor\rnot").code is None
    assert desk.raw("Folder/A.md").startswith("hello {--world\nand--}{++earth\nor\nnot++} again\n")


def test_quotes_follow_those_of_the_note(desk: NotesDesk) -> None:
    desk.note("Q.md", "it\u2019s \u201cfine\u201d\n")
    assert desk.edit("kb://Q.md", 'it\'s "fine"', 'it\'s "good"').code is None
    assert "{++it\u2019s \u201cgood\u201d++}" in desk.raw("Q.md")


@pytest.mark.parametrize(
    ("text", "old", "marked"),
    [
        ("```\ncode()\n```\n", "code()", "```\n{--code()--}{++x++}\n```\n"),
        ("---\ntitle: a\n---\n", "title: a", "---\n{--title: a--}{++x++}\n---\n"),
        ("|a|b|\n|-|-|\n|c|d|\n", "c", "|a|b|\n|-|-|\n|{--c--}{++x++}|d|\n"),
        ("日本 😀 é\u2028z\n", "😀 é\u2028", "日本 {--😀 é\u2028--}{++x++}z\n"),
    ],
    ids=["code", "frontmatter", "table", "any script"],
)
def test_code_tables_frontmatter_and_every_script_are_edited_too(
    desk: NotesDesk, text: str, old: str, marked: str
) -> None:
    desk.note("T.md", text)
    assert desk.edit("kb://T.md", old, "x").code is None
    assert desk.raw("T.md") == marked
    assert desk.edit("kb://T.md", "x", "y").code is None
    assert "{++y++}" in desk.raw("T.md")


def test_commentators_metadata_is_written_where_it_is_asked_for(tmp_path: Path) -> None:
    with notes_desk(tmp_path, kb_markup="commentator") as desk:
        desk.note("A.md", "hello world\n")
        desk.edit("kb://A.md", "world", "earth")
        assert desk.raw("A.md").startswith('hello {--{"author":"ann","time":')
        shown = desk.lines("read", path="kb://A.md")
        assert shown[0] == "     1\thello earth"


def test_on_a_server_of_notes_alone_paths_are_bare_in_and_out(tmp_path: Path) -> None:
    with notes_desk(tmp_path, no_workspace=True) as desk:
        desk.note("F/A.md", "hello world\n")
        for path in ("F/A.md", "kb://F/A.md"):
            assert "F/A.md" in desk.edit(path, "world", "earth").text.split(":")[0]
        told = desk.refused("edit", "not_found", file_path="A.md", old_string="a", new_string="b")
        assert told.endswith("Did you mean F/A.md?")


# ── read before edit ────────────────────────────────────────────────────────────────────────────


def test_an_unread_note_is_refused_in_both_wordings(desk: NotesDesk) -> None:
    told = desk.refused("edit", "not_read", path=A, old_string="world", new_string="x")
    assert told == (
        "File has not been read yet. Read it first before writing to it. You must read this "
        'document before editing it. Call the read tool with file_path: "kb://Folder/A.md" first.'
    )


def test_a_missing_note_is_missing_not_unread(desk: NotesDesk) -> None:
    arguments = {"path": "kb://Folder/B.md", "old_string": "a", "new_string": "b"}
    told = desk.refused("edit", "not_found", **arguments)
    assert told.startswith("Document not found: kb://Folder/B.md. File does not exist.")
    assert told.endswith("Did you mean kb://Folder/A.md?")


def test_what_one_caller_read_another_has_not(desk: NotesDesk) -> None:
    desk.text("read", path=A)
    desk.caller = desk.someone("bob")
    desk.refused("edit", "not_read", path=A, old_string="world", new_string="x")


def test_a_search_is_no_reading(desk: NotesDesk) -> None:
    desk.text("grep", pattern="world", path="kb://")
    desk.refused("edit", "not_read", path=A, old_string="world", new_string="x")


@pytest.mark.parametrize("view", ["accepted", "base", "raw"])
def test_a_part_of_it_in_any_view_is(desk: NotesDesk, view: str) -> None:
    desk.text("read", path=A, offset=3, limit=1, view=view)
    desk.text("edit", path=A, old_string="world", new_string="x")


def test_ones_own_edit_counts_as_read(desk: NotesDesk) -> None:
    desk.edit(A, "world", "earth")
    told = desk.text("edit", path=A, old_string="hello", new_string="bye")
    assert "had changed" not in told


def test_a_note_that_moved_is_still_read(desk: NotesDesk) -> None:
    desk.text("read", path=A)
    desk.notes.ask(lambda library: library.catalogue.move(library.find("Folder/A.md").id, "B.md"))
    desk.text("edit", path="kb://B.md", old_string="world", new_string="x")


def test_a_change_since_is_told_and_does_not_matter(desk: NotesDesk) -> None:
    desk.text("read", path=A)
    desk.typed("Folder/A.md", "more\n")
    told = desk.text("edit", path=A, old_string="world", new_string="x")
    assert told.endswith("The document had changed since it was last read.")


def test_where_it_does_matter_the_refusal_tells_it(desk: NotesDesk) -> None:
    desk.text("read", path=A)
    desk.typed("Folder/A.md", "world\n")
    told = desk.refused("edit", "not_unique", path=A, old_string="world", new_string="x")
    assert "(2 occurrences found)." in told
    assert "Lines: 1, 4." in told
    assert told.endswith("has changed since it was last read; read it again.")


def test_without_the_setting_nothing_need_be_read(tmp_path: Path) -> None:
    with notes_desk(tmp_path, require_view_before_edit="false") as desk:
        desk.note("A.md", "hello\n")
        desk.text("edit", path="kb://A.md", old_string="hello", new_string="bye")


# ── refusals ────────────────────────────────────────────────────────────────────────────────────

BAD: list[tuple[str, str, str, str]] = [
    ("", "x", "invalid_params", "old_string must not be empty"),
    ("world", "world", "invalid_params", "No changes to make: old_string and new_string are ex"),
    ("w\r\n", "w\n", "invalid_params", "No changes to make"),
    ("mars", "x", "string_not_found", "old_string not found in kb://Folder/A.md. Make sure it mat"),
    ("mars", "x", "string_not_found", "exactly. String to replace not found in file."),
    ("World", "x", "string_not_found", "String: World"),
    ("and again", "x", "not_unique", "is not unique in kb://Folder/A.md (2 occurrences found)"),
    (
        "and again",
        "x",
        "not_unique",
        "Include more surrounding context to make it unique. Lines: 2",
    ),
    ("and again", "x", "not_unique", "Found 2 matches of the string to replace, but replace_all"),
    ("world", "\ud83d", "invalid_params", "new_string holds a lone surrogate"),
    ("wor\udc00", "x", "invalid_params", "old_string holds a lone surrogate"),
    ("world", "a\0", "invalid_params", "new_string: a note cannot hold U+0000"),
    ("world", "x++}", "invalid_params", "new_string contains ++}"),
    ("world", "{>>x<<}", "invalid_params", "new_string contains {>>"),
    ("world", "x" * 4_200_000, "too_large", "a note has at most 4194304"),
]


@pytest.mark.parametrize(("old", "new", "code", "told"), BAD)
def test_bad_strings_are_refused_and_nothing_changes(
    desk: NotesDesk, old: str, new: str, code: str, told: str
) -> None:
    answer = desk.edit(A, old, new)
    assert answer.code == code, answer.text
    assert told in answer.text
    assert desk.raw("Folder/A.md") == "hello world\nand again\nand again\n"


MARKS: list[tuple[str, str, str, str]] = [
    (
        "see {>>a remark<<} here\n",
        "a remark",
        "invalid_params",
        "only inside a comment, {>>a remark<<} at line 1",
    ),
    ("see {>>a remark<<} here\n", "see  here", "invalid_params", "a comment is inside"),
    ("see {==this==} here\n", "see this", "invalid_params", "overlaps a highlighted text"),
    ("see {++this++} here\n", "see this", "conflict", "overlaps a pending suggestion by somebody"),
    ("see {--this--} here\n", "this", "string_not_found", "deletes, at line 1"),
]


@pytest.mark.parametrize(("text", "old", "code", "told"), MARKS)
def test_other_peoples_marks_are_left_alone(
    desk: NotesDesk, text: str, old: str, code: str, told: str
) -> None:
    desk.note("M.md", text)
    answer = desk.edit("kb://M.md", old, "x")
    assert (answer.code, told in answer.text) == (code, True), answer.text
    assert desk.raw("M.md") == text


def test_overlap_with_somebody_elses_suggestion_names_the_author(desk: NotesDesk) -> None:
    desk.edit(A, "world", "earth")
    desk.caller = desk.someone("bob")
    answer = desk.edit(A, "hello earth", "x")
    assert answer.code == "conflict"
    assert "a pending suggestion by ann at line 1" in answer.text


def test_a_role_below_suggest_reads_and_does_not_edit(desk: NotesDesk) -> None:
    desk.caller = desk.someone("reader", Role.READ)
    answer = desk.edit(A, "world", "x")
    assert answer.code == "access_denied"
    assert "reader may read kb://Folder/A.md, not suggest changes to it" in answer.text


def test_outside_ones_folder_there_is_nothing(desk: NotesDesk) -> None:
    desk.note("Secret/S.md", "hello world\n")
    desk.caller = desk.someone("bob", Role.SUGGEST, "Folder")
    answer = desk.edit("kb://Secret/S.md", "world", "x")
    assert answer.code == "not_found"
    assert "Secret" not in answer.text.partition("File does not exist.")[2]
    assert desk.edit(A, "world", "x").code is None


@pytest.mark.parametrize(
    "path",
    ["kb://", "kb://a//b.md", "kb://../x.md", "kb://a%2fb.md", "kb://a/b", "kb:///a.md", "kb://x."],
)
def test_paths_that_are_none_of_a_note_are_refused(desk: NotesDesk, path: str) -> None:
    told = desk.refused("edit", "invalid_params", path=path, old_string="a", new_string="b")
    assert "is not a valid path of a note" in told


def test_without_a_knowledge_base_a_note_is_told_to_be_unavailable(tmp_path: Path) -> None:
    with workshop(tmp_path) as desk:
        told = desk.refused("edit", "unavailable", path=A, old_string="a", new_string="b")
        assert "flashgrep serve --kb" in told


# ── at the same time ────────────────────────────────────────────────────────────────────────────


def test_edits_of_many_callers_at_once_are_all_made(desk: NotesDesk) -> None:
    words = [f"word{number:02}" for number in range(24)]
    desk.note("Many.md", "\n".join(words) + "\n")
    failed: list[str] = []

    def work(name: str, mine: list[str]) -> None:
        other = NotesDesk(desk.root, desk.application)
        other.caller = other.someone(name)
        for word in mine:
            answer = other.edit("kb://Many.md", word, word.upper())
            if answer.code:
                failed.append(answer.text)

    threads = [Thread(target=work, args=(f"a{n}", words[n::4])) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    expected = "".join(f"{{--{word}--}}{{++{word.upper()}++}}\n" for word in words)
    assert desk.raw("Many.md") == expected


def test_the_note_is_looked_at_again_where_it_is_changed(desk: NotesDesk) -> None:
    """Between the read and the edit the text moves: the marks stand around the right word."""
    desk.text("read", path=A)
    desk.typed("Folder/A.md", "日本\n" * 3, place=0)
    told = desk.text("edit", path=A, old_string="world", new_string="earth")
    assert "review. Line 4." in told
    assert "hello {--world--}{++earth++}\n" in desk.raw("Folder/A.md")


def test_an_edit_that_is_cancelled_while_others_have_the_notes_is_not_made(desk: NotesDesk) -> None:
    desk.call("read", path=A)
    before = desk.raw("Folder/A.md")
    begun, go_on = threading.Event(), threading.Event()

    def long(_: object) -> None:
        begun.set()
        go_on.wait(120)

    busy = desk.notes.submit(long)
    begun.wait(120)
    arguments = {"path": A, "old_string": before.split()[0], "new_string": "x"}

    async def cancelled() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(desk.application.toolbox.call, "edit", arguments, desk.caller)
            await anyio.sleep(0.1)  # a moment to begin to wait; cancelled sooner, it holds too
            tasks.cancel_scope.cancel()

    anyio.run(cancelled)
    assert not busy.done()  # whoever cancelled does not wait for the others
    go_on.set()
    busy.result(30)
    assert desk.raw("Folder/A.md") == before

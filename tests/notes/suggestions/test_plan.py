"""An edit of a note leaves exactly the marks it should, around text that stays; or says why not.

In the tables `⟦…⟧` are the marks of a record of Ann's, `⟪…⟫` of one of Bob's (`marked.note_of`).
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.errors import (
    Conflict,
    FlashgrepError,
    InvalidParams,
    NotUnique,
    StringNotFound,
)
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.markup import critic
from flashgrep.notes.suggestions.pending import digest
from flashgrep.notes.suggestions.plan import Edit, Regions, SuggestionPlan, suggest
from tests.e2e.scenarios import scenario
from tests.notes.marked import carried_out, note_of


def planned(source: str, old: str, new: str, replace_all: bool = False) -> SuggestionPlan:
    """Ann's edit of a note."""
    note = note_of(source)
    return suggest(note.text, note.records, Edit(old, new, replace_all), "ann", "N.md")


def refused(source: str, old: str, new: str, replace_all: bool = False) -> FlashgrepError:
    """Why Ann's edit is not made."""
    with pytest.raises(FlashgrepError) as caught:
        planned(source, old, new, replace_all)
    return caught.value


# ── what an edit leaves ─────────────────────────────────────────────────────────────────────────

PLAIN = [
    ("see old here", "old", "new", "see {--old--}{++new++} here"),
    ("see old here", "old ", "", "see {--old --}here"),
    # at the beginning, at the end, the whole note
    ("old here", "old", "new", "{--old--}{++new++} here"),
    ("see old", "old", "new", "see {--old--}{++new++}"),
    ("old", "old", "new", "{--old--}{++new++}"),
    # whole strings, no diff: the anchor an insertion clings to is in both
    ("one\nthree\n", "one\n", "one\ntwo\n", "{--one\n--}{++one\ntwo\n++}three\n"),
    # over lines, list items, paragraphs
    ("- a\n- b\n- c\n", "- a\n- b", "- b\n- a", "{--- a\n- b--}{++- b\n- a++}\n- c\n"),
    ("one\n\ntwo\n\nx", "one\n\ntwo", "both", "{--one\n\ntwo--}{++both++}\n\nx"),
    # in code, tables and frontmatter too
    ("```\nx = 1\n```\n", "1", "2", "```\nx = {--1--}{++2++}\n```\n"),
    ("`x` y", "x", "z", "`{--x--}{++z++}` y"),
    ("    x = 1\n", "x", "y", "    {--x--}{++y++} = 1\n"),
    ("---\na: 1\n---\n", "a: 1", "a: 2", "---\n{--a: 1--}{++a: 2++}\n---\n"),
    ("| a | b |\n", "| b |", "| c |", "| a {--| b |--}{++| c |++}\n"),
    ("```\nx\n```\n{++y++}", "```\nx", "~~~\nx", "{--```\nx--}{++~~~\nx++}\n```\n{++y++}"),
    # signs that look like delimiters
    ("a {b} c", "b", "d", "a {{--b--}{++d++}} c"),
    ("a - b", "- b", "-", "a {--- b--}{++-++}"),
    ("{+x", "x", "-y", "{+{--x--}{++-y++}"),
    ("`{++` x", "` x", "` y", "`{++{--` x--}{++` y++}"),
    ("a } b", "}", "{", "a {--}--}{++{++} b"),
    # every kind of character
    ("naïve 😀 日本", "😀", "🎉🎉", "naïve {--😀--}{++🎉🎉++} 日本"),
    ("a\u2028b", "a\u2028", "c", "{--a\u2028--}{++c++}b"),
    # beside others' marks, not in them
    ("⟪{--a--}⟫⟪{++b++}⟫c", "c", "d", "{--a--}{++b++}{--c--}{++d++}"),
    ("c{++b++}", "c", "d", "{--c--}{++d++}{++b++}"),
    ("a {==b==}{>>why<<} c", " c", " d", "a {==b==}{>>why<<}{-- c--}{++ d++}"),
    # curly quotes are the note's own
    ("it\u2019s so", "it's", "it's not", "{--it\u2019s--}{++it\u2019s not++} so"),
]


@pytest.mark.parametrize(("source", "old", "new", "after"), PLAIN)
def test_an_edit_of_plain_text_leaves_marks_around_it(
    source: str, old: str, new: str, after: str
) -> None:
    plan = planned(source, old, new)
    assert plan.text == after
    assert all(splice.start == splice.end for splice in plan.splices), "nothing is deleted"
    assert (len(plan.made), plan.changed, plan.dropped) == (1, (), ())


def test_the_text_itself_is_not_retyped() -> None:
    """kb: what a person is typing inside stays inside."""
    plan = planned("hello world", "world", "earth")
    assert plan.splices == (TextSplice(6, 6, "{--"), TextSplice(11, 11, "--}{++earth++}"))


def test_the_record_knows_its_marks_its_author_and_its_edit() -> None:
    plan = planned("see old here", "old", "new")
    (made,) = plan.made
    assert (made.author, made.id, made.asked) == ("ann", "", digest("old", "new"))
    assert [plan.text[a:b] for a, b in made.spans] == ["{--old--}", "{++new++}"]
    assert plan.lines == (1,)


OWN = [
    # one's own pending insertion is edited where it stands
    ("⟦{--alpha--}⟧⟦{++alpha0++}⟧", "alpha0", "alpha1", "{--alpha--}{++alpha1++}"),
    ("⟦{--a--}⟧⟦{++one two++}⟧", "two", "three", "{--a--}{++one three++}"),
    ("⟦{++one two++}⟧ x", "two", "three", "{++one three++} x"),
    ("⟦{~~a~>one two~~}⟧", "two", "three", "{~~a~>one three~~}"),
    # back to what was there
    ("x ⟦{--alpha--}⟧⟦{++beta++}⟧ y", "beta", "alpha", "x alpha y"),
    ("x ⟦{--a b--}⟧ y", "x  y", "x a b y", "x a b y"),
    ("x ⟦{++new ++}⟧y", "new ", "", "x y"),
    ("⟦{~~a~>b~~}⟧", "b", "a", "a"),
    # nothing left to insert
    ("⟦{--a--}⟧⟦{++b++}⟧ c", "b", "", "{--a--} c"),
    # over one's own suggestion and text around it: one suggestion, the base text in one piece
    (
        "The ⟦{--quick--}⟧⟦{++fast++}⟧ fox",
        "fast fox",
        "slow fox",
        "The {--quick fox--}{++slow fox++}",
    ),
    ("The ⟦{--quick--}⟧⟦{++fast++}⟧ fox", "The fast", "A", "{--The quick--}{++A++} fox"),
    ("a ⟦{--b--}⟧⟦{++cd++}⟧ e", "a c", "x", "{--a b--}{++xd++} e"),
    ("a⟦{--b--}⟧c", "ac", "x", "{--abc--}{++x++}"),
    ("⟦a:{--b--}⟧⟦a:{++c++}⟧ ⟦b:{--d--}⟧⟦b:{++e++}⟧", "c e", "f", "{--b d--}{++f++}"),
    ("⟦{--a--}⟧typed⟦{++b++}⟧", "typedb", "c", "{--atyped--}{++c++}"),
    ("⟦{~~a~>b~~}⟧ c", "b c", "d", "{--a c--}{++d++}"),
    # one's own insertion in a comment's neighbourhood
    ("⟦{--a--}⟧{>>why<<}⟦{++bc++}⟧", "b", "x", "{--a--}{>>why<<}{++xc++}"),
]


@pytest.mark.parametrize(("source", "old", "new", "after"), OWN)
def test_an_edit_over_ones_own_suggestion_makes_it_one(
    source: str, old: str, new: str, after: str
) -> None:
    note, plan = note_of(source), planned(source, old, new)
    assert plan.text == after
    assert plan.made == ()
    assert len(plan.changed) + len(plan.dropped) == len(note.records)
    for record in plan.changed:
        assert all(critic.held(plan.text, span) for span in record.spans)


def test_a_merged_suggestion_keeps_the_oldest_id() -> None:
    plan = planned("⟦b:{--b--}⟧⟦b:{++c++}⟧ ⟦a:{--d--}⟧⟦a:{++e++}⟧", "c e", "f")
    assert [record.id for record in plan.changed] == ["b"]
    assert plan.dropped == ("a",)


def test_alpha_becomes_alpha0_and_then_alpha1() -> None:
    """contracts: alpha → alpha0 → alpha1 leaves one suggestion."""
    note = note_of("alpha")
    for old, new in (("alpha", "alpha0"), ("alpha0", "alpha1")):
        plan = suggest(note.text, note.records, Edit(old, new), "ann", "N.md")
        note = carried_out(note, plan)
    assert note.text == "{--alpha--}{++alpha1++}"
    assert plan.splices == (TextSplice(19, 20, "1"),), "only the changed character"
    assert len(note.records) == 1


# ── retried calls ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "chain",
    [
        [("old", "new")],
        [("old", "")],
        [("old", "older")],  # the old string stands in the new one
        [("old", "new"), ("new", "newer")],
        [("old", "new"), ("w x", "y")],
        [("see old", "see old old")],
        [("e\no", "")],  # what is left makes the old string again
    ],
)
def test_a_retried_call_succeeds_without_doubling(chain: list[tuple[str, str]]) -> None:
    note = note_of("see old x here ee\noo")
    for number, (old, new) in enumerate(chain):
        plan = suggest(note.text, note.records, Edit(old, new), "ann", "N.md")
        assert not plan.is_repeated
        note = carried_out(note, plan, f"n{number}")
        again = suggest(note.text, note.records, Edit(old, new), "ann", "N.md")
        assert again.is_repeated
        assert (again.text, again.splices) == (note.text, ())
        assert (again.made, again.changed, again.dropped) == ((), (), ())


def test_a_retried_call_edits_text_that_came_later() -> None:
    plan = planned("⟦{--foo--}⟧ and foo", "foo", "")
    assert plan.text == "{--foo--} and {--foo--}"


def test_a_retried_call_does_not_take_other_quotes_for_the_ones_it_removed() -> None:
    assert planned('⟦{--\u201c--}⟧ and "', "\u201c", "").is_repeated


def test_another_authors_same_suggestion_is_no_retry() -> None:
    assert isinstance(refused("⟪{--a--}⟫⟪{++ab++}⟫", "a", "ab"), Conflict)


def test_a_retried_replace_all_succeeds_without_doubling() -> None:
    note = note_of("a b a")
    edit = Edit("a", "aa", replace_all=True)
    note = carried_out(note, suggest(note.text, note.records, edit, "ann", "N.md"))
    assert note.text == "{--a--}{++aa++} b {--a--}{++aa++}"
    assert suggest(note.text, note.records, edit, "ann", "N.md").is_repeated


# ── replace_all ─────────────────────────────────────────────────────────────────────────────────

EVERY = [
    ("a b a", "a", "c", "{--a--}{++c++} b {--a--}{++c++}"),
    ("aaa", "a", "b", "{--a--}{++b++}{--a--}{++b++}{--a--}{++b++}"),
    ("aaa", "aa", "b", "{--aa--}{++b++}a"),
    ("⟦{--x--}⟧⟦{++a b a++}⟧ a", "a", "c", "{--x--}{++c b c++} {--a--}{++c++}"),
    ("a ⟦{--x--}⟧⟦{++a++}⟧", "a", "x", "{--a--}{++x++} x"),
    ("one", "one", "two", "{--one--}{++two++}"),
]


@pytest.mark.parametrize(("source", "old", "new", "after"), EVERY)
def test_replace_all_suggests_every_occurrence(source: str, old: str, new: str, after: str) -> None:
    assert planned(source, old, new, replace_all=True).text == after


def test_replace_all_is_all_or_nothing() -> None:
    reason = refused("a and ⟪{--x--}⟫⟪{++a++}⟫", "a", "b", replace_all=True)
    assert isinstance(reason, Conflict)
    assert "bob" in reason.message


def test_replace_all_tells_every_line() -> None:
    assert planned("a\nb\na a\n", "a", "c", replace_all=True).lines == (1, 3, 3)


# ── refusals ────────────────────────────────────────────────────────────────────────────────────

REFUSALS = [
    # the strings themselves
    ("a", "", "b", InvalidParams, "old_string must not be empty"),
    ("a", "a", "a", InvalidParams, "No changes to make"),
    ("it\u2019s", "it's", "it\u2019s", InvalidParams, "No changes to make"),
    ("a", "a", "b\r\nc", InvalidParams, "new_string: .*carriage return"),
    ("a", "a\r\n", "b", InvalidParams, "old_string: .*carriage return"),
    ("a", "a", "b\0", InvalidParams, r"new_string: .*U\+0000"),
    ("a", "a\0", "b", InvalidParams, r"old_string: .*U\+0000"),
    ("a", "a", "\ud83d", InvalidParams, r"new_string: .*U\+D83D"),
    ("a", "\udc00", "b", InvalidParams, r"old_string: .*U\+DC00"),
    # delimiters in them
    ("a", "a", "{++b", InvalidParams, r"new_string contains \{\+\+.*without it"),
    ("a", "a", "b--}", InvalidParams, r"new_string contains --\}"),
    ("a", "a", "x <<} y", InvalidParams, r"new_string contains <<\}"),
    ("a {-- b", "{-- b", "c", InvalidParams, r"old_string contains \{--"),
    ("a ++} b", "++} b", "c", InvalidParams, r"old_string contains \+\+\}"),
    # delimiters that they become with the text beside them
    ("{+x", "x", "+y", InvalidParams, r"line 1 would make \{\+\+.* another new_string"),
    ("a\n{x-- keep --}", "x", "", InvalidParams, r"line 2 would make \{--"),
    ("keep ++x}", "x", "", InvalidParams, r"would make \+\+\}"),
    ("⟪{--a--}⟫⟪{++{++}⟫b", "b", "++", InvalidParams, r"would make \{\+\+"),
    # not there
    ("one two", "three", "x", StringNotFound, "old_string not found in N.md. Make sure it"),
    ("one  two", "one two", "x", StringNotFound, "differs only in whitespace is at line 1"),
    ("x\nOne", "one", "x", StringNotFound, "differs only in case is at line 2"),
    ("⟪{--gone--}⟫ b", "gone", "x", StringNotFound, "pending suggestion by bob deletes"),
    ("{--gone--} b", "gone", "x", StringNotFound, "mark somebody typed .* deletes"),
    # there too often
    (
        "a\nb\na",
        "a",
        "x",
        NotUnique,
        r"not unique in N.md \(2 occurrences found\). .* Lines: 1, 3\.",
    ),
    ("aaa", "aa", "x", NotUnique, r"\(2 occurrences found\)"),
    ("a ⟦{++a++}⟧", "a", "x", NotUnique, r"\(2 occurrences found\)"),
    # in somebody's way
    ("x\n⟪{--a--}⟫⟪{++b++}⟫", "b", "c", Conflict, "pending suggestion by bob at line 2"),
    ("x ⟪{--a--}⟫⟪{++b++}⟫ y", "x b y", "c", Conflict, "by bob at line 1"),
    ("x ⟪{--a--}⟫y", "x y", "c", Conflict, "by bob"),
    ("⟦{--a--}⟧⟪{--b--}⟫⟦{++c++}⟧d", "cd", "e", Conflict, "by bob"),
    ("a {++b++}", "b", "c", Conflict, r"a mark somebody typed \(\{\+\+…\) at line 1"),
    ("a {~~b~>c~~}", "c", "d", Conflict, "a mark somebody typed"),
    # comments and highlights
    (
        "x\na {>>see b<<}",
        "see b",
        "c",
        InvalidParams,
        r"only inside a comment, \{>>see b<<\} at line 2 of N.md.* read with view \"raw\"",
    ),
    (
        "x\na{>>why<<}b",
        "ab",
        "c",
        InvalidParams,
        r"a comment .*, \{>>why<<\} at line 2, .* before or after it\. .* view \"raw\"",
    ),
    ("a {==b==} c", "b", "d", InvalidParams, "highlighted text at line 1"),
    ("a {==b==} c", "a b", "d", InvalidParams, "highlighted text at line 1"),
    ("⟦{--a--}⟧{>>why<<}⟦{++b++}⟧", "b", "a", InvalidParams, "a comment is"),
    # what would not read back
    ("a", "a", '{"author":"x"}@@b', InvalidParams, "would not read back"),
    ("⟪{--a-}⟫\n", "-}\n", "", InvalidParams, "would not read back"),  # and mend bob's broken mark
    ("⟦{--a--}⟧⟦{++x+y++}⟧", "y", "+}", InvalidParams, r"would hold \+\+\}"),
]


@pytest.mark.parametrize(("source", "old", "new", "kind", "says"), REFUSALS)
def test_a_refusal_names_the_reason(
    source: str, old: str, new: str, kind: type[FlashgrepError], says: str
) -> None:
    reason = refused(source, old, new)
    assert type(reason) is kind
    assert re.search(says, reason.message, re.DOTALL), reason.message


def test_a_long_string_that_is_missing_is_quoted_in_part() -> None:
    reason = refused("a", "x" * 5_000, "y")
    assert len(reason.message) < limits.QUOTED_CHARS + 200


def test_a_long_comment_is_quoted_in_part() -> None:
    reason = refused("a{>>" + "x" * 5_000 + "<<}b", "ab", "y")
    assert "{>>xxx" in reason.message
    assert len(reason.message) < limits.QUOTED_CHARS + 250


def test_many_occurrences_are_listed_in_part() -> None:
    assert "and 90 more" in refused("a\n" * 100, "a", "b").message


def test_metadata_is_written_where_it_is_asked_for() -> None:
    prefix = '{"author":"ann","time":17}@@'
    plan = suggest("a b", (), Edit("b", "c"), "ann", "N.md", prefix)
    assert plan.text == "a {--" + prefix + "b--}{++" + prefix + "c++}"
    reading = critic.read(plan.text, plan.made[0].spans)
    assert (reading.base.text, reading.accepted.text) == ("a b", "a c")


META = '{"author":"ann","time":17}@@'
OTHER = '{"author":"ann","time":18}@@'
STANDING = [
    # a mark that stands there stays as it began, with metadata or without
    ("⟦{--b--}⟧⟦{++c++}⟧ d", "c d", "e", f"{{--b d--}}{{++{OTHER}e++}}"),
    ("a ⟦{--b--}⟧⟦{++c++}⟧", "a c", "e", f"{{--{OTHER}a b--}}{{++e++}}"),
    (f"⟦{{--{META}b--}}⟧⟦{{++{META}c++}}⟧ d", "c d", "e", f"{{--{META}b d--}}{{++{OTHER}e++}}"),
    (f"a ⟦{{--{META}b--}}⟧⟦{{++{META}c++}}⟧", "a c", "e", f"{{--{OTHER}a b--}}{{++{META}e++}}"),
    # inside one's own insertion nothing but the words changes
    ("⟦{--b--}⟧⟦{++c++}⟧ d", "c", "e", "{--b--}{++e++} d"),
]


@pytest.mark.parametrize(("source", "old", "new", "expected"), STANDING)
def test_a_mark_that_stands_there_gets_no_metadata(
    source: str, old: str, new: str, expected: str
) -> None:
    note = note_of(source)
    plan = suggest(note.text, note.records, Edit(old, new), "ann", "N.md", OTHER)
    assert plan.text == expected


# ── the documents' pitfalls ─────────────────────────────────────────────────────────────────────


@scenario("Pitfall 1: Byte Offset Mismatch Between Content Read and Y.Doc Mutation")
def test_byte_offset_mismatch_between_content_read_and_mutation() -> None:
    """Offsets are code points from the view to the splice; only the document's adapter converts."""
    plan = planned("é😀日本 old é", "old", "new")
    assert plan.splices == (TextSplice(5, 5, "{--"), TextSplice(8, 8, "--}{++new++}"))


@scenario("Pitfall 2: TOCTOU Between Content Read and Y.Doc Edit")
def test_toctou_between_content_read_and_edit() -> None:
    """A plan is made from the text it is applied to; on another text it is made anew or refused."""
    assert planned("more old", "old", "new").text == "more {--old--}{++new++}"
    assert isinstance(refused("more odd", "old", "new"), StringNotFound)


@scenario("Escaping CriticMarkup delimiters in content")
def test_escaping_criticmarkup_delimiters_in_content() -> None:
    assert isinstance(refused("a", "a", "x ++} y"), InvalidParams)


@scenario("Applying edit to CriticMarkup-wrapped text")
def test_applying_edit_to_criticmarkup_wrapped_text() -> None:
    """Only what the accepted view shows is searched: `old` in a deletion is not found."""
    assert isinstance(refused("⟪{--old--}⟫⟪{++new++}⟫", "old", "x"), StringNotFound)


# ── very many occurrences ───────────────────────────────────────────────────────────────────────


def test_more_occurrences_than_a_limit_are_refused_with_their_number() -> None:
    text = "word and more\n" * (limits.REPLACED_OCCURRENCES + 1)
    told = refused(text, "word", "term", replace_all=True)
    assert isinstance(told, InvalidParams)
    assert told.message.startswith(
        f"Found {limits.REPLACED_OCCURRENCES + 1} occurrences of old_string in N.md, and "
        f"replace_all suggests at most {limits.REPLACED_OCCURRENCES} changes at once"
    )


def test_very_many_occurrences_are_refused_before_any_of_them_is_planned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def planned_one(*_: object) -> None:
        raise AssertionError("an occurrence was planned")

    monkeypatch.setattr(Regions, "around", planned_one)
    text = "word x\n" * 54_000
    assert "Found 54000 occurrences" in refused(text, "word", "term", replace_all=True).message


def test_a_replacement_of_many_occurrences_reads_the_note_as_often_as_one_of_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reads: list[int] = []
    read = critic.read

    def counted(*arguments: Any) -> critic.ParsedMarkup:
        reads.append(1)
        return read(*arguments)

    monkeypatch.setattr(critic, "read", counted)
    counts = []
    for count in (10, limits.REPLACED_OCCURRENCES):
        reads.clear()
        plan = planned("word and more\n" * count, "word", "term", replace_all=True)
        assert (len(plan.made), len(plan.splices)) == (count, 2 * count)
        counts.append(len(reads))
    assert counts[0] == counts[1]

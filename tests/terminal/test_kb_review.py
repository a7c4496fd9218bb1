"""flashgrep kb suggestions, decide and undo: on notes opened here, and through their server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from flashgrep import limits
from flashgrep.errors import RemoteFailure
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.transports.daemon.notes_client import OwnerClient
from tests.terminal.console import Ran, flashgrep
from tests.web.served import TOKEN, make, served

NOTES = {"Folder/N.md": "one two three\n", "M.md": "alpha\nbeta\n"}
EDITS = [
    ("Folder/N.md", "two", "zwei", "agent/first"),
    ("M.md", "beta", "", "agent/second"),
    ("M.md", "alpha", "a\x1b[2J\nA\x9b" + "x" * 80, "agent/first"),
]


class Desk:
    """Commands on one knowledge base, and the texts in it."""

    def __init__(self, kb: Path) -> None:
        self._kb = kb

    def run(self, *words: str) -> Ran:
        return flashgrep("kb", *words, "--kb", str(self._kb))

    def text(self, note: str) -> str:
        version = self.run("history", note, "--json").json["versions"][0]["version"]
        return self.run("history", note, "--show", str(version)).text

    def ids(self, *words: str) -> list[str]:
        """In the order of `EDITS`; in the list it is that of time, which may be the same."""
        found = self.run("suggestions", *words, "--json").json["suggestions"]
        olds = [old for _, old, _, _ in EDITS]
        return [one["id"] for one in sorted(found, key=lambda one: olds.index(one["old"]))]


@pytest.fixture(params=["here", "owned"])
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """The same commands with and without a server that has the notes open."""
    made = Desk(tmp_path / "kb")
    if request.param == "here":
        make(tmp_path / "kb", NOTES, EDITS)
        yield made
        return
    with served(tmp_path, NOTES, EDITS):
        yield made


def test_what_is_suggested_is_listed_on_one_line_each(desk: Desk) -> None:
    listed = desk.run("suggestions")
    assert listed.status == 0
    rows = [line.split("\t") for line in listed.lines]
    assert sorted([row[1], row[3], row[4]] for row in rows) == [
        ["Folder/N.md:1", "agent/first", '"two" -> "zwei"'],
        ["M.md:1", "agent/first", '"alpha" -> "a\\u001b[2J\\nA\\u009b' + "x" * 52 + '"...'],
        ["M.md:3", "agent/second", '"beta" -> ""'],
    ]
    found = desk.run("suggestions", "--json").json["suggestions"]
    assert [row[0] for row in rows] == [one["id"] for one in found]
    first = next(one for one in found if one["note"] == "Folder/N.md")
    assert (first["line"], first["old"], first["new"]) == (1, "two", "zwei")
    assert first["context"] == {"before": "one ", "after": " three\n"}


def test_they_are_found_by_note_author_and_age(desk: Desk) -> None:
    first, second, third = desk.ids()
    assert desk.ids("--note", "kb://M.md") == [second, third]
    assert desk.ids("--by", "agent/first") == [first, third]
    assert desk.ids("--newer-than", "1h") == [first, second, third]
    nothing = desk.run("suggestions", "--older-than", "1h")
    assert (nothing.status, nothing.text) == (1, "")
    refused = desk.run("suggestions", "--older-than", "soon")
    assert (refused.status, refused.err[:33]) == (2, "flashgrep: --older-than is 'soon'")
    why = desk.run("decide", "accept", first, "--reason", "x")
    assert why.err.startswith("flashgrep: --reason goes with reject")


def test_a_folder_without_a_name_is_refused_and_one_without_notes_is_told(desk: Desk) -> None:
    (first, *_) = desk.ids()
    assert desk.ids("--folder", "Folder/") == [first]
    for folder in ("", "/"):
        ran = desk.run("suggestions", "--folder", folder)
        assert (ran.status, ran.text) == (2, "")
        assert "leave --folder out for all notes" in ran.err
    nothing = desk.run("suggestions", "--folder", "Foldr")
    assert (nothing.status, "there are no notes in Foldr yet" in nothing.err) == (1, True)
    desk.run("decide", "accept", first)
    assert "no notes" not in desk.run("suggestions", "--folder", "Folder").err


def test_suggestions_of_a_note_that_is_not_there_are_an_error(desk: Desk) -> None:
    missing = desk.run("suggestions", "--note", "Nope.md")
    assert (missing.status, "there is no note Nope.md" in missing.err) == (2, True)


def test_restoring_a_version_says_what_is_gone_and_how_to_get_it_back(desk: Desk) -> None:
    _, _, third = desk.ids()
    desk.run("decide", "reject", third)  # keeps the note as it was
    newest, *_, oldest = desk.run("history", "M.md", "--json").json["versions"]
    (pending,) = desk.ids("--note", "M.md")
    restored = desk.run("restore", "M.md", str(oldest["version"]))
    assert desk.ids("--note", "M.md") == []
    gone, _, back = restored.err.partition(" kb restore ")
    assert "1 pending suggestion is not in that version, and gone. To get back what" in gone
    assert back.startswith(f"M.md {newest['version']} --kb ")
    again = desk.run("restore", *back.split()[:2])
    assert again.err == "flashgrep: restored M.md\n"
    assert desk.ids("--note", "M.md") == [pending]


def test_they_are_accepted_and_rejected_once_and_what_was_not_is_told(desk: Desk) -> None:
    first, second, third = desk.ids()
    accepted = desk.run("decide", "accept", first, second, "--author", "Ann")
    assert accepted.status == 0
    rows = [line.split("\t") for line in accepted.lines]
    assert [row[:2] for row in rows] == [[first, "accepted"], [second, "accepted"]]
    assert len({int(row[2]) for row in rows}) == 2
    assert desk.text("Folder/N.md") == "one zwei three\n"
    rejected = desk.run("decide", "reject", first, third, "nonsense")
    assert (rejected.status, len(rejected.lines)) == (1, 1)
    assert rejected.lines[0].startswith(f"{third}\trejected\t")
    assert f"flashgrep: {first} was accepted by Ann already" in rejected.err
    assert "flashgrep: there is no pending suggestion nonsense" in rejected.err
    assert desk.text("M.md") == "alpha\n\n"
    assert desk.ids() == []
    told = desk.run("decide", "accept", first, "--json")
    assert told.status == 1
    assert told.json["results"][0]["status"] == "already_decided"
    assert told.json["results"][0]["by"] == "Ann"


def test_a_decision_is_undone_by_the_number_that_decide_printed(desk: Desk) -> None:
    first, second, _ = desk.ids()
    before = desk.text("Folder/N.md")
    decided = desk.run("decide", "accept", first, second)
    numbers = [line.split("\t")[2] for line in decided.lines]
    undone = desk.run("undo", *numbers, "--author", "Ann")
    assert undone.status == 0
    assert undone.lines == [
        f"{first}\tpending again\t{numbers[0]}",
        f"{second}\tpending again\t{numbers[1]}",
    ]
    assert desk.text("Folder/N.md") == before
    assert {first, second} <= set(desk.ids())
    again = desk.run("undo", numbers[0], "999")
    assert (again.status, again.text) == (1, "")
    assert f"flashgrep: decision {numbers[0]} was undone already, by Ann" in again.err
    assert "flashgrep: 999: there is no such decision" in again.err
    number = desk.run("decide", "reject", first, "--json").json["results"][0]["decision"]
    told = desk.run("undo", str(number), "999", "--json")
    assert told.status == 1
    done, missing = told.json["results"]
    assert (done["id"], done["status"]) == (first, "done")
    assert (missing["decision"], missing["status"]) == (999, "not_found")


def test_a_reason_is_kept_and_another_text_is_taken(desk: Desk) -> None:
    two, beta, alpha = desk.ids()
    assert desk.ids("--folder", "Folder") == [two]
    taken = desk.run("decide", "accept", two, "--text", "deux")
    assert taken.lines[0].startswith(f"{two}\tedited and accepted\t")
    assert desk.text("Folder/N.md") == "one deux three\n"
    refused = desk.run("decide", "reject", beta, alpha, "--reason", "Greek, please", "--json")
    assert {one["reason"] for one in refused.json["results"]} == {"Greek, please"}
    again = desk.run("decide", "accept", two)
    assert again.status == 1
    assert f"{two} was edited and accepted by " in again.err
    assert desk.run("undo", taken.lines[0].split("\t")[2]).status == 0
    assert desk.text("Folder/N.md") == "one {--two--}{++zwei++} three\n"


def test_words_that_do_not_go_with_the_decision_are_refused(desk: Desk) -> None:
    two, beta, _ = desk.ids()
    for words in (
        ("accept", two, "--reason", "x"),
        ("reject", two, "--text", "x"),
        ("accept", two, beta, "--text", "x"),
        ("accept", two, "--text", "{++x"),
    ):
        assert desk.run("decide", *words).status == 2
    assert set(desk.ids()) >= {two, beta}


def test_a_proposal_that_is_not_the_expected_one_stays_pending(desk: Desk) -> None:
    two, beta, _ = desk.ids()
    for option, message in (("--expected-new", "brings 'zwei'"), ("--expected-old", "replaces 't")):
        other = desk.run("decide", "accept", two, "--text", "deux", option, "dos")
        assert other.status == 1
        assert message in other.err
    assert two in desk.ids()
    assert desk.run("decide", "accept", two, beta, "--expected-new", "zwei").status == 2
    seen = ("--expected-old", "two", "--expected-new", "zwei")
    assert desk.run("decide", "accept", two, "--text", "deux", *seen).status == 0
    assert desk.text("Folder/N.md") == "one deux three\n"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["decide", "accept", "s_0", "\udcff"], "ID"),
        (["decide", "accept", "s_0", "--author", "a\udcff"], "--author"),
        (["suggestions", "--by", "\udcff"], "--by"),
        (["undo", "1", "--author", "\udcff"], "--author"),
        (["history", "\udcff.md"], "NOTE"),
    ],
)
def test_an_argument_that_is_not_text_is_refused_by_name(
    desk: Desk, words: list[str], name: str
) -> None:
    ran = desk.run(*words)
    assert (ran.status, ran.text) == (2, "")
    assert ran.err.startswith(f"flashgrep: {name}: ")
    assert "\\xff" in ran.err
    assert ran.err.endswith("is not valid text; give it in UTF-8\n")
    assert len(desk.ids()) == len(EDITS)


def test_what_cannot_be_decided_is_an_error(desk: Desk) -> None:
    assert desk.run("decide", "accept").status == 2
    assert desk.run("decide", "undo", "x").status == 2
    assert desk.run("undo").status == 2
    assert desk.run("undo", "s_1").status == 2
    assert len(desk.ids()) == 3


def test_more_than_one_page_and_more_than_one_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "LISTED_SUGGESTIONS_MOST", 2)
    monkeypatch.setattr("flashgrep.terminal.kb_commands.DECISIONS_A_CALL", 2)
    make(tmp_path / "kb", NOTES, EDITS)
    desk = Desk(tmp_path / "kb")
    ids = desk.ids()
    assert len(ids) == 3
    lines = desk.run("decide", "accept", *ids).lines
    assert [line.split("\t")[:2] for line in lines] == [[one, "accepted"] for one in ids]


def test_the_owner_refuses_half_a_character_and_answers_the_next_call(tmp_path: Path) -> None:
    with served(tmp_path, NOTES, EDITS) as server, closing(OwnerClient(server.home)) as owner:
        with pytest.raises(RemoteFailure, match="kb/decide: "):
            owner.call("kb/decide", {"ids": ["\udcff"], "action": "accept"})
        assert len(owner.call("kb/suggestions", {})["suggestions"]) == len(EDITS)


def test_pages_hear_of_a_decision_made_at_the_terminal(tmp_path: Path) -> None:
    from tests.web.test_events import events

    with served(tmp_path, NOTES, EDITS) as server, events(server) as stream:
        desk = Desk(tmp_path / "kb")
        (first, *_) = desk.ids()
        assert desk.run("decide", "accept", first, "--author", "Ann").status == 0
        told = stream.until("decided", suggestion=first)
        assert (told["by"], told["action"], told["note"]) == ("Ann", "accept", "Folder/N.md")
        left = server.get("/kb/suggestions", TOKEN).json()["suggestions"]
        assert [one["id"] for one in left if one["id"] == first] == []


def test_a_decision_made_without_a_server_is_there_afterwards(tmp_path: Path) -> None:
    make(tmp_path / "kb", NOTES, EDITS)
    desk = Desk(tmp_path / "kb")
    assert desk.run("decide", "reject", *desk.ids()).status == 0
    kb = KnowledgeBase(tmp_path / "kb")
    try:
        texts = kb.read_all(
            [entry.id for entry in kb.ask(lambda library: library.catalogue.entries())]
        )
        assert {text.text for text in texts.values()} == set(NOTES.values())  # type: ignore[union-attr]
    finally:
        kb.close()

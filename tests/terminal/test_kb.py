"""flashgrep kb at the terminal: notes opened here, and notes that a server has open."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from flashgrep import limits
from flashgrep.errors import SettingsError
from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.notes.access.tokens import Tokens
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.review import Query
from flashgrep.notes.suggestions.plan import Edit
from flashgrep.notes.suggestions.propose import propose
from tests.notes.vault import contents, plant, plant_vault
from tests.terminal.console import Ran, flashgrep
from tests.transports.clients import pause, serving


class Shell:
    """Commands on one knowledge base."""

    def __init__(self, path: Path) -> None:
        self.kb = path / "kb"
        self.vault = path / "vault"
        self.out = path / "out"

    def run(self, *words: str) -> Ran:
        return flashgrep("kb", *words, "--kb", str(self.kb))

    def note(self, text: str = "one\n") -> None:
        plant(self.vault, {"Folder/N.md": text.encode()})
        assert self.run("import", str(self.vault)).status == 0


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.delenv("FLASHGREP_KB", raising=False)
    made = Shell(tmp_path)
    assert made.run("init").status == 0
    return made


@pytest.fixture(params=["here", "owned"])
def either(shell: Shell, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shell]:
    """The same commands with and without a server that owns the notes."""
    if request.param == "here":
        yield shell
        return
    work = tmp_path / "work"
    work.mkdir()
    flags = ("--kb", str(shell.kb), "--no-index", "--tcp-port", "none", "--http-port", "auto")
    with serving(work, flags, ports=False):
        yield shell


def test_one_attachment_is_counted_as_one(shell: Shell) -> None:
    plant(shell.vault, {"a.png": b"\x89PNG"})
    assert shell.run("import", str(shell.vault)).text == "1 attachment\n"


def test_a_note_that_is_newer_than_its_file_is_told_as_such(shell: Shell) -> None:
    plant(shell.vault, {"N.md": b"one\n", "M.md": b"one\n"})
    shell.run("import", str(shell.vault))

    def rewritten(path: str) -> None:
        plant(shell.out, {path: b"two\n"})
        assert shell.run("import", str(shell.out), "--force").status == 0

    rewritten("N.md")
    one = shell.run("import", str(shell.vault))
    assert one.text == "1 same, 1 note newer than its file, 0 attachments\n"
    rewritten("M.md")
    two = shell.run("import", str(shell.vault))
    assert two.text == "2 notes newer than their files, 0 attachments\n"
    assert shell.run("import", str(shell.vault), "--json").json["newer"] == 2


def test_an_empty_folder_is_nothing_to_import(shell: Shell) -> None:
    shell.vault.mkdir(exist_ok=True)
    ran = shell.run("import", str(shell.vault))
    assert (ran.status, ran.text) == (0, "nothing to import\n")


def test_attachments_that_are_there_already_are_counted_as_such(shell: Shell) -> None:
    plant(shell.vault, {"N.md": b"", "a.png": b"\x89PNG"})
    assert shell.run("import", str(shell.vault)).text == "1 created, 1 attachment\n"
    assert shell.run("import", str(shell.vault)).text == "1 same, 1 attachment same\n"
    plant(shell.vault, {"b.png": b"\x89PNG", "c.png": b"\x89PNG"})
    assert (
        shell.run("import", str(shell.vault)).text == "1 same, 2 attachments, 1 attachment same\n"
    )
    assert shell.run("import", str(shell.vault), "--json").json["same_attachments"] == 3


def test_names_of_files_cannot_write_to_the_terminal(shell: Shell) -> None:
    names = ("a\nflashgrep: all is well.md", "b\x1b]0;title\x07.png", "c\u202egpj.md", ".d\n.txt")
    plant(shell.vault, dict.fromkeys(names, b"x"))
    told = shell.run("import", str(shell.vault)).err
    assert len(told.splitlines()) == len(names)
    assert all(line.isprintable() for line in told.splitlines())
    assert "a\\nflashgrep: all is well.md: " in told


def test_a_vault_goes_in_and_comes_out(either: Shell) -> None:
    files = plant_vault(either.vault)
    done = either.run("import", str(either.vault))
    assert done.status == 0
    assert "created" in done.text
    assert "Latin one.md: kept as an attachment: it is not UTF-8" in done.err
    assert "hidden names left out: " in done.err
    again = either.run("import", str(either.vault), "--json").json
    assert again["attachments"] == 0
    assert again.keys() & {"created", "changed", "conflict"} == set()
    assert either.run("export", str(either.out)).status == 0
    assert contents(either.out) == files
    listed = either.run("list", "--json").json["notes"]
    assert len(listed) == len(either.run("list").lines) == again["same"]


def test_a_hidden_note_is_told_with_what_to_do(shell: Shell) -> None:
    plant(shell.vault, {"N.md": b"", ".hidden.md": b"", "Folder/.draft.md": b"", ".app/x.md": b""})
    done = shell.run("import", str(shell.vault))
    assert done.status == 0
    for path in (".hidden.md", "Folder/.draft.md"):
        assert f"{path}: left out: its name begins with a dot; rename it to import it" in done.err
    assert "1 hidden name left out: .app\n" in done.err
    assert shell.run("import", str(shell.vault), "--json").json["hidden"] == [
        ".app",
        ".hidden.md",
        "Folder/.draft.md",
    ]


def test_history_and_restore(either: Shell) -> None:
    either.note("one\n")
    first = either.run("history", "Folder/N.md", "--json").json["versions"][0]["version"]
    assert either.run("history", "kb://Folder/N.md").lines[0].startswith(f"{first}\t")
    assert either.run("history", "Folder/N.md", "--show", str(first)).text == "one\n"
    assert either.run("restore", "Folder/N.md", str(first)).status == 0
    wrong = either.run("restore", "Folder/N.md", "99")
    assert (wrong.status, "Folder/N.md has no version 99" in wrong.err) == (2, True)
    assert either.run("restore", "Folder/N.md").status == 2
    for near in ("Folder/N", "N", "folder/n.md"):
        told = either.run("history", near)
        assert (told.status, "did you mean Folder/N.md?" in told.err) == (2, True)
    missing = either.run("history", "No.md")
    assert (missing.status, "no note No.md" in missing.err) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["list"], "there are no notes; bring some in with: "),
        (["list", "--trash"], "the trash is empty"),
        (["suggestions"], "nothing is pending"),
        (["suggestions", "--by", "agent"], "no pending suggestion matches these filters"),
        (["comments"], "there are no open comments"),
        (["comments", "--resolved"], "there are no resolved comments"),
        (["token", "list"], "there are no tokens; make one with: "),
    ],
    ids=" ".join,
)
def test_a_list_of_nothing_says_so(shell: Shell, words: list[str], told: str) -> None:
    ran = shell.run(*words)
    assert (ran.status, ran.text) == (1, "")
    assert ran.err.startswith(f"flashgrep: {told}")
    assert shell.run(*words, "--json").err == ""


def test_commands_to_paste_are_quoted(tmp_path: Path) -> None:
    kb = tmp_path / "my notes; it's"
    told = [flashgrep("kb", "list", "--kb", str(kb)).err]
    told += [
        flashgrep("kb", *words, "--kb", str(kb)).err
        for words in (
            ["init"],
            ["list"],
            ["token", "list"],
            ["token", "make", "Ann Lee"],
            ["token", "make", "Bob", "--link"],
        )
    ]
    kb.chmod(0o777)
    told.append(flashgrep("kb", "list", "--kb", str(kb)).err)
    assert len(told) == 7
    before = re.compile(r"(?:make one with|notes in with|some in with|it with|run)[: ](.*)")
    for text in told:
        lines = before.findall(text)
        assert lines, text
        for line in lines:
            assert str(kb) in shlex.split(line.partition(", or begin")[0]), text


def test_a_token_is_told_with_what_it_allows(shell: Shell) -> None:
    ann = shell.run("token", "make", "Ann", "--link")
    assert (
        "Ann may read and comment; an agent with this token may also suggest; "
        "--role write also allows editing and deciding" in ann.err
    )
    bob = shell.run("token", "make", "Bob", "--role", "write", "--folder", "Team")
    assert "Bob may read, comment, suggest, edit and decide in Team\n" in bob.err
    assert shell.run("token", "make", "Cy", "--role", "read", "--json").err == ""


def test_a_token_for_a_folder_without_a_name_is_refused(shell: Shell) -> None:
    """As a shell has it whose variable is not set."""
    for folder in ("", "/"):
        ran = shell.run("token", "make", "Bob", "--folder", folder)
        assert (ran.status, ran.text) == (2, "")
        assert "leave --folder out for all notes" in ran.err
    assert shell.run("token", "list").status == 1


def test_a_folder_without_notes_is_told_when_a_token_is_made_for_it(either: Shell) -> None:
    either.note()
    made = either.run("token", "make", "Bob", "--folder", "Folder", "--folder", "Foldr/")
    assert made.status == 0
    assert "there are no notes in Foldr/ yet" in made.err
    assert "no notes in Folder " not in made.err
    linked = either.run("token", "make", "Ann", "--folder", "Fold", "--link")
    assert "there are no notes in Fold yet" in linked.err


def test_a_backup_is_a_knowledge_base(either: Shell, tmp_path: Path) -> None:
    either.note()
    copy = either.run("backup", str(tmp_path / "copy"))
    assert (copy.status, copy.err) == (0, f"flashgrep: copied to {tmp_path}/copy\n")
    copied = flashgrep("kb", "list", "--kb", str(tmp_path / "copy"))
    assert copied.lines[0].startswith("Folder/N.md\t")
    assert not (tmp_path / "copy" / "tokens.json").exists()
    again = either.run("backup", str(tmp_path / "copy"))
    assert (again.status, "already" in again.err) == (2, True)


def test_check_finds_nothing_where_nothing_is(either: Shell) -> None:
    either.note()
    assert either.run("check").lines == ["1 notes, 0 damaged"]
    assert either.run("check", "--json").json == {"notes": 1, "damaged": [], "problems": []}


def test_conflicts_are_told_and_the_status_is_one(either: Shell) -> None:
    either.note("one\n")
    assert either.run("export", str(either.out)).status == 0
    plant(either.vault, {"Folder/N.md": b"two\n"})
    assert either.run("import", str(either.vault), "--author", "bob").status == 0
    plant(either.out, {"Folder/N.md": b"three\n"})
    conflict = either.run("import", str(either.out))
    assert conflict.status == 1
    assert "Folder/N.md: both the file and the note changed" in conflict.err
    refused = either.run("export", str(either.out))
    assert (refused.status, "changed since the last exchange" in refused.err) == (1, True)
    assert either.run("import", str(either.out), "--force").status == 0
    assert either.run("export", str(either.out)).status == 0
    assert (either.out / "Folder/N.md").read_bytes() == b"three\n"


def test_the_trash_is_listed_and_brought_back_from(shell: Shell) -> None:
    shell.note()
    assert shell.run("list", "--trash").status == 1
    with closing(KnowledgeBase(shell.kb)) as notes:
        notes.ask(lambda library: library.delete(library.find("Folder/N.md").id))
    assert shell.run("list").status == 1
    (row,) = shell.run("list", "--trash").lines
    assert row.startswith("Folder/N.md\t")
    assert "deleted" in row
    assert shell.run("restore", "Folder/N.md").status == 0
    assert shell.run("list").lines[0].startswith("Folder/N.md\t")


def test_a_damaged_note_is_told_with_what_to_do_and_salvaged(shell: Shell) -> None:
    shell.note("one\n")
    plant(shell.vault, {"Other.md": b"fine\n"})
    shell.run("import", str(shell.vault))
    plant(shell.vault, {"Folder/N.md": b"one\ntwo\n"})
    shell.run("import", str(shell.vault))
    with closing(sqlite3.connect(shell.kb / "notes.db")) as database:
        (note,) = database.execute("SELECT id FROM notes WHERE path = 'Folder/N.md'").fetchone()
        newest = "SELECT max(sequence) FROM records WHERE note = ?1"
        database.execute(
            f"UPDATE records SET content = x'00' WHERE note = ?1 AND sequence = ({newest})",  # noqa: S608
            (note,),
        )
        database.commit()
    checked = shell.run("check")
    assert checked.status == 1
    assert "2 notes, 1 damaged" in checked.text
    listed = shell.run("list")
    assert "Folder/N.md\tquarantined" in listed.lines
    assert "flashgrep kb restore" in listed.err
    exported = shell.run("export", str(shell.out))
    assert (exported.status, "quarantined" in exported.err) == (1, True)
    assert contents(shell.out) == {"Other.md": b"fine\n"}
    assert shell.run("restore", "Other.md", "--salvage").status == 2
    assert shell.run("restore", "Folder/N.md", "--salvage").status == 0
    assert shell.run("check").status == 0
    assert shell.run("export", str(shell.out)).status == 0
    assert (shell.out / "Folder/N.md").read_bytes() == b"one\n"


def test_a_salvaged_note_has_its_suggestions(shell: Shell) -> None:
    shell.note("one {--two--}{++2++}\n")
    shell.run("import", str(shell.vault), "--author", "ann")
    before = shell.run("suggestions").lines
    plant(shell.vault, {"Folder/N.md": b"one {--two--}{++2++}\nthree\n"})
    shell.run("import", str(shell.vault))
    with closing(sqlite3.connect(shell.kb / "notes.db")) as database:
        newest = "SELECT max(sequence) FROM records"
        database.execute(f"UPDATE records SET content = x'00' WHERE sequence = ({newest})")  # noqa: S608
        database.commit()
    assert shell.run("restore", "Folder/N.md", "--salvage").status == 0
    assert shell.run("suggestions").lines == before
    assert len(before) == 1


# ── tokens ──────────────────────────────────────────────────────────────────────────────────────


def test_a_token_is_shown_once_listed_and_taken_back(shell: Shell) -> None:
    assert shell.run("token", "list").status == 1
    made = shell.run("token", "make", "agent", "--role", "write", "--folder", "A", "--folder", "B")
    secret = made.text.strip()
    found = Tokens(shell.kb).principal(secret)
    assert found is not None
    assert [grant.folder for grant in found.grants] == ["A", "B"]
    shell.run("token", "make", "brief", "--expires", "30d")
    rows = shell.run("token", "list").lines
    assert rows[0] == "agent\twrite\tA, B\tnever expires\tnever used"
    assert rows[1].startswith("brief\tsuggest\teverything\texpires ")
    assert secret not in json.dumps(shell.run("token", "list", "--json").json)
    assert shell.run("token", "revoke", "agent").status == 0
    assert Tokens(shell.kb).principal(secret) is None
    assert shell.run("token", "revoke", "agent").status == 2


@pytest.mark.parametrize(
    "words",
    [
        ("token", "make", "a/b"),
        ("token", "make", "x", "--role", "owner"),
        ("token", "make", "x", "--folder", ".."),
        ("token", "make", "x", "--expires", "soon"),
        ("token", "make", "x", "--expires", "0d"),
        ("import", "/no/such/folder"),
        ("restore", "N.md", "1", "--salvage"),
        ("nothing",),
        ("init",),
    ],
)
def test_what_cannot_be_is_an_error_with_a_reason(shell: Shell, words: tuple[str, ...]) -> None:
    ran = shell.run(*words)
    assert ran.status == 2
    assert ran.err


def test_the_knowledge_base_must_be_named_and_be_one(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "--kb" in flashgrep("kb", "list").err
    missing = flashgrep("kb", "list", "--kb", str(tmp_path / "none"))
    assert (missing.status, "kb init" in missing.err) == (2, True)
    monkeypatch.setenv("FLASHGREP_KB", str(shell.kb))
    assert flashgrep("kb", "list").status == 1


def test_a_directory_with_files_is_to_be_imported_into_a_new_one(tmp_path: Path) -> None:
    """The commands that are named work, one after the other."""
    vault = tmp_path / "my notes"
    plant(vault, {"N.md": b"one\n"})
    refused = [flashgrep("kb", word, "--kb", str(vault)) for word in ("list", "init")]
    assert [ran.status for ran in refused] == [2, 2]
    told = [re.findall("with: (.*), and import this one with: (.*)", ran.err) for ran in refused]
    assert told[0] == told[1]
    made, brought = (shlex.split(line.partition(" kb ")[2]) for line in told[0][0])
    assert flashgrep("kb", *made).status == 0
    assert flashgrep("kb", *brought).text == "1 created, 0 attachments\n"
    assert contents(vault) == {"N.md": b"one\n"}
    again = flashgrep("kb", "list", "--kb", str(vault)).err
    assert "my notes-kb2" in again


@pytest.mark.parametrize("words", [["mcp"], ["serve"], ["kb", "list"], ["kb", "init"]])
def test_a_file_is_called_one(tmp_path: Path, words: list[str]) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    try:
        told = flashgrep(*words, "--kb", str(file)).err
    except SettingsError as error:  # `main` prints it
        told = str(error)
    assert f"{file} is a file; name a directory" in told


def test_a_file_is_no_place_for_an_export(shell: Shell) -> None:
    shell.out.write_bytes(b"mine")
    ran = shell.run("export", str(shell.out))
    assert (ran.status, ran.err) == (2, f"flashgrep: {shell.out} is a file; name a directory\n")
    assert shell.out.read_bytes() == b"mine"


def test_a_command_waits_for_another_that_has_the_notes_open(shell: Shell) -> None:
    shell.note()
    home = Home(shell.kb)
    home.own()
    letting_go = threading.Timer(0.3, home.disown)
    letting_go.start()
    assert shell.run("list").status == 0
    letting_go.join()


def test_commands_say_what_they_do() -> None:
    told = flashgrep("kb", "--help").text
    for name in ("init", "import", "export", "list", "history", "restore", "backup", "check"):
        assert name in told
        assert flashgrep("kb", name, "-h").status == 0
    assert "token" in told
    for help_text in (told, flashgrep("kb", "token", "-h").text, flashgrep("-h").text):
        assert "...\n" not in help_text.replace("COMMAND [ARGS]...", "")
    for name in ("import", "export", "backup"):
        assert "[OPTIONS] DIR" in flashgrep("kb", name, "-h").text


# ── what an export carries ──────────────────────────────────────────────────────────────────────


def suggested(shell: Shell, kb: Path) -> list[tuple[str, str, int, str, str]]:
    """Of each suggestion its id, author, time and texts."""
    notes = KnowledgeBase(kb)
    try:
        listed = notes.review.suggestions(Query(), everywhere("x", Role.ADMIN)).suggestions
        return [(one.id, one.author, one.time, one.old, one.new) for one in listed]
    finally:
        notes.close()


def test_suggestions_go_out_and_come_in_again_with_author_and_time(
    shell: Shell, tmp_path: Path
) -> None:
    shell.note("alpha\n```\ncode\n```\n")
    notes = KnowledgeBase(shell.kb)
    propose(notes, "Folder/N.md", Edit("alpha", "beta"), "robot/agent")
    propose(notes, "Folder/N.md", Edit("code", "KODE"), "other")
    notes.close()
    assert shell.run("export", str(shell.out)).status == 0
    second = Shell(tmp_path / "second")
    second.kb.parent.mkdir()
    assert second.run("init").status == 0
    done = second.run("import", str(shell.out))
    assert (done.status, done.err) == (0, "")
    assert done.text == "1 created, 0 attachments, 2 suggestions restored\n"
    assert suggested(second, second.kb) == suggested(shell, shell.kb)
    assert len(suggested(shell, shell.kb)) == 2
    file = shell.out / "Folder/N.md"
    file.write_text(file.read_text().replace("KODE", "other"))
    third = Shell(tmp_path / "third")
    third.kb.parent.mkdir()
    assert third.run("init").status == 0
    told = third.run("import", str(shell.out))
    (lost,) = [name for name, author, *_ in suggested(shell, shell.kb) if author == "other"]
    assert told.err == (
        "flashgrep: Folder/N.md: not restored, its marks are not in the file as they were "
        f"exported: {lost} by other\n"
    )
    assert third.run("import", str(shell.out), "--json").json["lost"] == {}
    forced = third.run("import", str(shell.out), "--json", "--force").json
    assert (forced["restored"], forced["lost"]) == (0, {})


@pytest.mark.parametrize("count", [5, 6])
def test_of_many_suggestions_that_are_lost_some_are_named(
    shell: Shell, tmp_path: Path, count: int
) -> None:
    words = ["one", "two", "three", "four", "five", "six"][:count]
    shell.note("\n\n".join(words) + "\n")
    notes = KnowledgeBase(shell.kb)
    for word in words:
        propose(notes, "Folder/N.md", Edit(word, word.upper()), word)
    notes.close()
    assert shell.run("export", str(shell.out)).status == 0
    (shell.out / "Folder/N.md").write_text("nothing of it\n")
    second = Shell(tmp_path / "second")
    second.kb.parent.mkdir()
    assert second.run("init").status == 0
    ids = {author: name for name, author, *_ in suggested(shell, shell.kb)}
    named = ", ".join(f"{ids[word]} by {word}" for word in words[:5])
    assert second.run("import", str(shell.out)).err == (
        "flashgrep: Folder/N.md: not restored, its marks are not in the file as they were "
        f"exported: {named}{', …' if count == 6 else ''}\n"
    )


def test_a_conflict_is_called_one_in_the_output_and_in_json(shell: Shell) -> None:
    shell.note("one\n")
    plant(shell.vault, {"Folder/N.md": b"two\n"})
    assert shell.run("import", str(shell.vault)).text == "1 changed, 0 attachments\n"
    other = shell.vault.with_name("other")
    plant(other, {"Folder/N.md": b"three\n"})
    told = shell.run("import", str(other))
    assert (told.status, told.text) == (1, "1 conflict, 0 attachments\n")
    assert "Folder/N.md: both the file and the note changed; --force takes the file" in told.err
    as_json = shell.run("import", str(other), "--json").json
    assert as_json["conflict"] == 1
    assert as_json["failed"].keys() == {"Folder/N.md"}


@pytest.mark.thorough
def test_a_command_names_the_server_that_hangs_with_the_notes(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    flags = ("--kb", str(shell.kb), "--no-index", "--tcp-port", "none", "--http-port", "auto")
    with serving(work, flags, ports=False) as server:
        assert shell.run("list").status == 1  # there is no note, and an answer
        monkeypatch.setattr(limits, "OWNER_SECONDS", 0.2)
        pause(server.process.pid)
        told = shell.run("list")
        server.process.send_signal(signal.SIGCONT)
    assert (told.status, told.text) == (2, "")
    assert told.err == (
        f"flashgrep: the process that owns {shell.kb} (pid {server.process.pid}) does not answer; "
        "wait until it does, or end it\n"
    )

"""Folders become notes and folders again: nothing lost, nothing overwritten unasked."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep.errors import Conflict, FlashgrepError, InvalidParams, NotFound
from flashgrep.notes.administration import Administration
from flashgrep.notes.document.loading import NoteChange
from flashgrep.notes.document.note import Amendment
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.folders.exporting import ExportSummary, export
from flashgrep.notes.folders.importing import ImportedAs
from flashgrep.notes.folders.note_file import NAME
from flashgrep.notes.folders.vault import Imported, import_folder
from flashgrep.notes.history import text_at, versions
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library
from flashgrep.notes.suggestions.pending import recorded
from tests.notes.vault import HIDDEN, contents, plant, plant_vault


class Base:
    """A knowledge base, a folder, and the way between them."""

    def __init__(self, path: Path) -> None:
        Home.create(path / "kb")
        self.notes = KnowledgeBase(path / "kb")
        self.desk = Administration(self.notes)
        self.folder = path / "vault"
        self.folder.mkdir()
        self.out = path / "out"

    def bring(self, *, force: bool = False) -> Imported:
        return import_folder(self.desk, self.folder, "importer", force)

    def export(self, *, force: bool = False) -> ExportSummary:
        return export(self.desk, self.out, force)

    def write(self, path: str, data: bytes | str) -> None:
        plant(self.folder, {path: data if isinstance(data, bytes) else data.encode()})

    def text(self, path: str) -> str:
        return self.notes.read(self.notes.ask(lambda library: library.find(path)).id).text

    def edit(self, path: str, old: str, new: str) -> None:
        """As a person would."""
        entry = self.notes.ask(lambda library: library.find(path))
        now = self.notes.ask(lambda library: library.read(entry.id))
        at = now.text.index(old)
        splice = TextSplice(at, at + len(old), new)
        change = Amendment([splice])
        self.notes.ask(lambda library: library.amend(entry.id, lambda _, __: change, "ann"))

    def create(self, path: str) -> None:
        self.notes.ask(lambda library: library.create(path, "one\n"))

    def paths(self) -> list[str | None]:
        return [entry.path for entry in self.notes.ask(lambda library: library.catalogue.entries())]


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Base]:
    made = Base(tmp_path)
    yield made
    made.notes.close()


# ── there and back ──────────────────────────────────────────────────────────────────────────────


def test_a_vault_comes_back_byte_for_byte(base: Base) -> None:
    files = plant_vault(base.folder)
    done = base.bring()
    assert done.failed == {}
    assert set(done.attached) == {"Latin one.md", "Zero.md"}
    assert done.fates[ImportedAs.CREATED] == sum(path.endswith(".md") for path in files) - 2
    assert base.export().failed == {}
    assert contents(base.out) == files
    assert {path.split("/")[0] for path in done.hidden} == {path.split("/")[0] for path in HIDDEN}


def test_importing_again_changes_nothing(base: Base) -> None:
    files = plant_vault(base.folder)
    base.bring()
    before = base.notes.ask(
        lambda library: [(entry, library.read(entry.id)) for entry in library.catalogue.entries()]
    )
    done = base.bring()
    assert done.failed == {}
    assert done.attachments == 0
    assert set(done.fates) == {ImportedAs.SAME}
    after = base.notes.ask(
        lambda library: [(entry, library.read(entry.id)) for entry in library.catalogue.entries()]
    )
    assert after == before
    assert len(files) > 120


class Meddling:
    """A desk at which somebody deletes a note and moves another while all are being exported."""

    def __init__(self, base: Base) -> None:
        self._base = base
        self.home = base.desk.home

    def call(self, method: str, params: Mapping[str, Any]) -> Any:
        answer = self._base.desk.call(method, params)
        if method == "kb/list":
            entries = {note["path"]: note["id"] for note in answer["notes"]}
            self._base.notes.ask(lambda library: library.delete(entries["Gone.md"]))
            self._base.notes.ask(
                lambda library: library.catalogue.move(entries["Moved.md"], "There.md")
            )
        return answer


def test_notes_deleted_or_moved_during_an_export_are_left_out_or_where_they_went(
    base: Base,
) -> None:
    for name in ("Gone.md", "Moved.md", "Stays.md"):
        base.write(name, name)
    base.bring()
    done = export(Meddling(base), base.out, False)
    assert (done.written, done.failed, done.left) == (2, {}, [])
    assert sorted(path.name for path in base.out.glob("*.md")) == ["Stays.md", "There.md"]


def test_exporting_again_writes_nothing_and_a_new_base_takes_the_export(
    base: Base, tmp_path: Path
) -> None:
    plant_vault(base.folder)
    base.bring()
    base.export()
    again = base.export()
    assert (again.written, again.attachments, again.failed, again.left) == (0, 0, {}, [])
    (tmp_path / "other").mkdir()
    other = Base(tmp_path / "other")
    try:
        done = import_folder(other.desk, base.out, "importer")
        assert done.failed == {}
        assert other.paths() == base.paths()
    finally:
        other.notes.close()


CASES = 500 if os.environ.get("FLASHGREP_HEAVY") == "1" else 12
PIECES = st.text("aé😀\n\r{}+-~\ufeff\x0b \t`", max_size=30).map(str.encode) | st.binary(
    max_size=20
)
NAMES = st.text("aÄé日.- (1)", min_size=1, max_size=6)


@settings(
    max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(NAMES, PIECES, max_size=6))
def test_whatever_is_taken_comes_back(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    base = Base(tmp_path_factory.mktemp("random"))
    try:
        written = {f"x{name}.md": data for name, data in files.items()}
        plant(base.folder, written)
        done = base.bring()
        base.export()
        assert contents(base.out) == {
            path: data for path, data in written.items() if path not in done.failed
        }
        assert not base.bring().attachments
    finally:
        base.notes.close()


# ── changes ─────────────────────────────────────────────────────────────────────────────────────


def test_a_changed_file_is_an_edit_of_what_differs_only(base: Base) -> None:
    base.write("N.md", "one\ntwo\nthree\n")
    base.bring()
    changes: list[NoteChange] = []
    stop = base.notes.ask(lambda library: library.listen(changes.append))
    base.write("N.md", "one\nTWO\nthree\n")
    assert base.bring().fates == {ImportedAs.CHANGED: 1}
    assert base.text("N.md") == "one\nTWO\nthree\n"
    (change,) = changes
    assert change.published.author == "importer"
    assert b"three" not in change.update
    base.notes.ask(lambda _: stop())


def test_an_edited_note_is_newer_than_a_file_that_did_not_change(base: Base) -> None:
    base.write("N.md", "one\n")
    base.bring()
    base.edit("N.md", "one", "ONE")
    done = base.bring()
    assert (done.fates, done.failed) == ({ImportedAs.NEWER: 1}, {})
    assert base.text("N.md") == "ONE\n"


def test_a_conflict_is_told_and_the_note_stays_unless_forced(base: Base) -> None:
    base.write("N.md", "one\ntwo\n")
    base.bring()
    base.edit("N.md", "one", "ONE")
    base.write("N.md", "one\nTWO\n")
    done = base.bring()
    assert done.fates == {ImportedAs.CONFLICT: 1}
    assert "--force" in done.failed["N.md"]
    assert base.text("N.md") == "ONE\ntwo\n"
    assert base.bring(force=True).fates == {ImportedAs.CHANGED: 1}
    assert base.text("N.md") == "one\nTWO\n"
    assert base.bring().fates == {ImportedAs.SAME: 1}


def test_what_a_forced_file_overwrites_stays_in_the_history(base: Base) -> None:
    base.write("N.md", "one\n")
    base.bring()
    base.edit("N.md", "one", "ONE")
    base.edit("N.md", "ONE", "typed a moment ago")
    base.write("N.md", "two\n")
    base.bring(force=True)

    def kept(library: Library) -> list[str]:
        note = library.find("N.md").id
        return [text_at(library, note, one.sequence) for one in versions(library, note)]

    assert base.notes.ask(kept)[:2] == ["two\n", "typed a moment ago\n"]


def test_both_changed_alike_is_no_conflict(base: Base) -> None:
    base.write("N.md", "one\n")
    base.bring()
    base.edit("N.md", "one", "ONE")
    base.write("N.md", "ONE\n")
    assert base.bring().fates == {ImportedAs.SAME: 1}
    base.write("N.md", "ONE!\n")
    assert base.bring().fates == {ImportedAs.CHANGED: 1}


def test_line_ends_alone_are_a_change_of_the_file_and_not_of_the_text(base: Base) -> None:
    base.write("N.md", "one\ntwo\n")
    base.bring()
    version = base.notes.ask(lambda library: library.read(library.find("N.md").id).sequence)
    base.write("N.md", "one\r\ntwo\r\n")
    assert base.bring().fates == {ImportedAs.CHANGED: 1}
    assert base.notes.ask(lambda library: library.read(library.find("N.md").id).sequence) == version
    base.export()
    assert (base.out / "N.md").read_bytes() == b"one\r\ntwo\r\n"


def test_a_moved_or_deleted_note_does_not_come_back_unasked(base: Base) -> None:
    base.write("A.md", "a\n")
    base.write("B.md", "b\n")
    base.bring()
    base.notes.ask(lambda library: library.catalogue.move(library.find("A.md").id, "C.md"))
    base.notes.ask(lambda library: library.delete(library.find("B.md").id))
    done = base.bring()
    assert "C.md now" in done.failed["A.md"]
    assert "trash" in done.failed["B.md"]
    assert base.paths() == ["C.md"]
    base.bring(force=True)
    assert base.paths() == ["A.md", "B.md", "C.md"]


def test_another_note_at_the_path_is_not_overwritten(base: Base) -> None:
    base.notes.ask(lambda library: library.create("N.md", "mine\n"))
    base.write("N.md", "theirs\n")
    assert "another note" in base.bring().failed["N.md"]
    assert base.text("N.md") == "mine\n"


def test_what_is_changed_in_an_export_comes_back_as_an_edit(base: Base) -> None:
    base.notes.ask(lambda library: library.create("N.md", "one\ntwo\n"))
    base.notes.ask(lambda library: library.create("Gone.md", "x\n"))
    base.notes.ask(lambda library: library.create("Stays.md", "x\n"))
    base.export()
    base.notes.ask(lambda library: library.delete(library.find("Gone.md").id))
    base.edit("Stays.md", "x", "y")
    (base.out / "N.md").write_text("one\nTWO\n")
    base.folder = base.out
    done = base.bring()
    assert done.fates == {ImportedAs.CHANGED: 1, ImportedAs.NEWER: 1, ImportedAs.CONFLICT: 1}
    assert list(done.failed) == ["Gone.md"]
    assert base.text("N.md") == "one\nTWO\n"


def test_what_one_folder_brought_is_an_edit_to_another(base: Base, tmp_path: Path) -> None:
    base.write("N.md", "one\n")
    base.bring()
    here, there = base.folder, tmp_path / "there"
    plant(there, {"N.md": b"one\n"})
    base.folder = there
    assert base.bring().fates == {ImportedAs.SAME: 1}
    base.write("N.md", "two\n")
    assert base.bring().fates == {ImportedAs.CHANGED: 1}
    base.folder = here
    assert base.bring().fates == {ImportedAs.NEWER: 1}
    base.write("N.md", "three\n")
    assert base.bring().fates == {ImportedAs.CONFLICT: 1}
    assert base.text("N.md") == "two\n"


def test_an_attachment_that_changed_is_replaced(base: Base) -> None:
    base.write("a.png", b"one")
    assert base.bring().attachments == 1
    base.write("a.png", b"two")
    assert base.bring().attachments == 1
    assert (base.notes.home.attachments / "a.png").read_bytes() == b"two"
    assert base.bring().attachments == 0


def test_a_file_that_becomes_text_becomes_a_note(base: Base) -> None:
    base.write("N.md", b"\xff")
    assert "UTF-8" in base.bring().attached["N.md"]
    base.write("N.md", "text\n")
    assert base.bring().fates == {ImportedAs.CREATED: 1}
    base.export()
    assert contents(base.out) == {"N.md": b"text\n"}
    base.write("N.md", b"\xff")
    assert "there already" in base.bring().failed["N.md"]
    assert base.text("N.md") == "text\n"


# ── marks ───────────────────────────────────────────────────────────────────────────────────────


def test_marks_outside_code_become_suggestions_once(base: Base) -> None:
    base.write(
        "N.md",
        'a {--old--}{++new++} b {++{"author":"Ann","time":1708879304}@@x++} `{++code++}` {>>c<<}\n',
    )
    base.bring()
    note = base.notes.ask(lambda library: library.find("N.md").id)
    besides = base.notes.ask(lambda library: library.records(note))
    found = recorded(besides)
    assert [(one.author, len(one.spans), one.is_comment) for one in found] == [
        ("importer", 2, False),
        ("Ann", 1, False),
        ("importer", 1, True),
    ]
    assert [one.value["time"] for one in besides.values()][1] == 1708879304000
    base.write("N.md", (base.folder / "N.md").read_text() + "{++more++}\n")
    base.bring()
    after = base.notes.ask(lambda library: library.records(note))
    assert len(after) == 4
    assert set(besides) < set(after)


# ── what is not taken ───────────────────────────────────────────────────────────────────────────


def test_links_and_special_files_are_left_out_and_told(base: Base, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    plant(outside, {"Secret.md": b"secret\n"})
    base.write("Real.md", "real\n")
    os.symlink(outside / "Secret.md", base.folder / "File.md")
    os.symlink(outside, base.folder / "Folder")
    os.symlink("Real.md", base.folder / "Inside.md")
    os.mkfifo(base.folder / "Pipe.md")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(base.folder / "sock"))
        done = base.bring()
    assert set(done.failed) == {"File.md", "Folder", "Inside.md", "Pipe.md", "sock"}
    assert base.paths() == ["Real.md"]


def test_names_that_no_note_can_have_are_told(base: Base) -> None:
    names = ["dot..md", "a\\b.md", "a%2fb.md", " lead.md", "line\nend.md", "pic\\ture.png"]
    for name in names:
        base.write(name, "x\n")
    with open(os.fsencode(base.folder) + b"/\xff.md", "wb") as file:
        file.write(b"x")
    base.write("Good.md", "x\n")
    done = base.bring()
    assert len(done.failed) == len(names) + 1
    assert base.paths() == ["Good.md"]


def test_twins_are_told_and_the_first_one_stays(base: Base) -> None:
    base.write("A.md", "large\n")
    base.write("a.md", "small\n")
    base.write(unicodedata.normalize("NFC", "é.png"), "c")
    base.write(unicodedata.normalize("NFD", "é.png"), "d")
    done = base.bring()
    assert "A.md is there already" in done.failed["a.md"]
    assert len(done.failed) == 2
    assert base.paths() == ["A.md"]


def test_a_knowledge_base_inside_the_folder_is_not_imported_into_itself(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    Home.create(folder / "kb")
    plant(folder, {"N.md": b"x\n"})
    notes = KnowledgeBase(folder / "kb")
    try:
        desk = Administration(notes)
        assert set(import_folder(desk, folder, "x").failed) == {"kb"}
        with pytest.raises(InvalidParams, match="itself"):
            import_folder(desk, folder / "kb" / "attachments", "x")
        with pytest.raises(InvalidParams, match="own directory"):
            export(desk, folder / "kb" / "out", force=True)
        with pytest.raises(NotFound, match="is not a directory"):
            import_folder(desk, folder / "N.md", "x")
    finally:
        notes.close()


def test_another_knowledge_base_is_no_folder_of_notes(base: Base, tmp_path: Path) -> None:
    other = tmp_path / "other"
    Home.create(other)
    with pytest.raises(
        InvalidParams, match="is a knowledge base; write it out with flashgrep kb export"
    ):
        import_folder(base.desk, other, "x")
    Home.create(base.folder / "Sub/kb")
    base.write("Sub/N.md", "one\n")
    base.write("Sub/db/notes.db", "mine")
    done = base.bring()
    assert done.failed.keys() == {"Sub/kb"}
    assert "it is a knowledge base" in done.failed["Sub/kb"]
    assert (done.attachments, base.paths()) == (1, ["Sub/N.md"])


# ── export ──────────────────────────────────────────────────────────────────────────────────────


def test_a_folder_with_other_things_is_refused_unless_forced(base: Base) -> None:
    base.notes.ask(lambda library: library.create("N.md", "note\n"))
    plant(base.out, {"N.md": b"other\n", "Mine.md": b"mine\n"})
    with pytest.raises(Conflict, match="--force"):
        base.export()
    assert contents(base.out) == {"N.md": b"other\n", "Mine.md": b"mine\n"}
    base.export(force=True)
    assert contents(base.out) == {"N.md": b"note\n", "Mine.md": b"mine\n"}


def test_a_file_that_was_changed_since_the_export_is_left_and_told(base: Base) -> None:
    for name in ("A.md", "B.md"):
        base.create(name)
    base.export()
    (base.out / "A.md").write_text("changed\n")
    base.edit("A.md", "one", "two")
    base.edit("B.md", "one", "two")
    done = base.export()
    assert "changed since" in done.failed["A.md"]
    assert contents(base.out) == {"A.md": b"changed\n", "B.md": b"two\n"}
    assert base.export(force=True).failed == {}
    assert (base.out / "A.md").read_bytes() == b"two\n"


def test_a_file_that_was_taken_back_is_exported_again(base: Base) -> None:
    base.create("A.md")
    base.export()
    (base.out / "A.md").write_text("changed\n")
    base.folder = base.out
    assert base.bring().fates == {ImportedAs.CHANGED: 1}
    base.edit("A.md", "changed", "once more")
    assert base.export().failed == {}
    assert (base.out / "A.md").read_bytes() == b"once more\n"
    (base.out / "A.md").write_text("changed again\n")
    base.edit("A.md", "once", "twice")
    assert "changed since" in base.export().failed["A.md"]


def test_files_of_notes_that_are_gone_are_left_and_told(base: Base) -> None:
    base.notes.ask(lambda library: library.create("Old/A.md", "one\n"))
    base.export()
    base.notes.ask(lambda library: library.catalogue.move(library.find("Old/A.md").id, "New/A.md"))
    assert base.export().left == ["Old/A.md"]
    assert base.export().left == ["Old/A.md"]
    (base.out / "Old/A.md").unlink()
    assert base.export().left == []


def test_nothing_is_written_through_a_link(base: Base, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    base.notes.ask(lambda library: library.create("Folder/A.md", "x\n"))
    base.notes.ask(lambda library: library.create("B.md", "x\n"))
    base.out.mkdir()
    os.symlink(outside, base.out / "Folder")
    os.symlink(outside / "B.md", base.out / "B.md")
    done = base.export(force=True)
    assert set(done.failed) == {"Folder/A.md"}
    assert list(outside.iterdir()) == []
    assert not (base.out / "B.md").is_symlink()


def test_an_export_that_was_cut_short_is_known_again(base: Base) -> None:
    for number in range(5):
        base.create(f"{number}.md")
    base.export()
    manifest = base.out / NAME
    manifest.write_bytes(manifest.read_bytes()[:-30])  # a torn last line
    base.edit("0.md", "one", "two")
    assert base.export().failed == {}
    assert (base.out / "0.md").read_bytes() == b"two\n"


# ── crashes and full disks ──────────────────────────────────────────────────────────────────────

IMPORT = """
import os, signal, sys
from pathlib import Path
from flashgrep.notes.administration import Administration
from flashgrep.notes.folders import vault
from flashgrep.notes.folders.vault import import_folder
from flashgrep.notes.knowledge_base import KnowledgeBase
vault.IMPORT_BATCH_FILES = 10
def die(count):
    if count >= int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
notes = KnowledgeBase(Path(sys.argv[1]))
import_folder(Administration(notes), Path(sys.argv[2]), "importer", report=die)
"""


@pytest.mark.thorough
def test_an_import_that_is_killed_is_completed_by_the_next(tmp_path: Path) -> None:
    Home.create(tmp_path / "kb")
    files = plant_vault(tmp_path / "vault")
    for deaths in ("10", "60", "140"):
        command = [sys.executable, "-c", IMPORT, str(tmp_path / "kb"), str(tmp_path / "vault")]
        assert subprocess.run([*command, deaths], check=False).returncode == -9
    notes = KnowledgeBase(tmp_path / "kb")
    try:
        desk = Administration(notes)
        assert import_folder(desk, tmp_path / "vault", "importer").failed == {}
        export(desk, tmp_path / "out", force=False)
        assert contents(tmp_path / "out") == files
    finally:
        notes.close()


FULL = """
import resource, signal, sys
from pathlib import Path
from flashgrep.errors import FlashgrepError
from flashgrep.notes.administration import Administration
from flashgrep.notes.folders.vault import import_folder
from flashgrep.notes.knowledge_base import KnowledgeBase
notes = KnowledgeBase(Path(sys.argv[1]))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    import_folder(Administration(notes), Path(sys.argv[2]), "importer")
except FlashgrepError as error:
    print("refused:", error.message)
print("read:", notes.read(notes.ask(lambda library: library.find("First.md").id)).text)
"""


@pytest.mark.thorough
def test_without_room_the_import_is_refused_and_reading_goes_on(base: Base, tmp_path: Path) -> None:
    base.write("First.md", "still there")
    base.bring()
    base.notes.close()
    for number in range(40):
        base.write(f"Large {number}.md", os.urandom(20_000).hex())
    base.write("big.bin", bytes(3_000_000))
    command = [sys.executable, "-c", FULL, str(tmp_path / "kb"), str(base.folder), "400000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "refused:" in done.stdout
    assert "read: still there" in done.stdout
    base.notes = KnowledgeBase(tmp_path / "kb")
    base.desk = Administration(base.notes)
    assert base.bring().failed == {}
    assert len(base.paths()) == 41


def test_a_batch_that_names_nonsense_is_refused(base: Base) -> None:
    files = [{"path": "../x.md", "data": "eA=="}, {"path": "ok.md", "data": "/w=="}]
    told = base.desk.call("kb/take", {"files": files, "by": "ann", "force": False})["outcomes"]
    assert [one["fate"] for one in told] == [ImportedAs.REFUSED, ImportedAs.REFUSED]
    broken: list[dict[str, Any]] = [
        {"files": [{"path": "x.md", "data": "?"}]},
        {"files": [{}]},
        {"fils": []},
    ]
    for params in broken:
        with pytest.raises(FlashgrepError):
            base.desk.call("kb/take", {"by": "ann", "force": False, **params})
    with pytest.raises(InvalidParams, match="no method"):
        base.desk.call("kb/nothing", {})

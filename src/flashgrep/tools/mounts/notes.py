"""The notes as a mount: views of their text to read and search, suggestions instead of edits.

`kb://Folder/Note.md` is a note, `kb://Folder` or `kb://` all notes below; on a server without a
workspace bare paths are notes too. Answers name notes in full, as `read` accepts them. To a
caller, an edit of a note is the edit of a file: the same words, the same refusals. The edit applies
to the accepted view, what `read` shows; the text is kept, and marks around it hold the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from flashgrep import limits
from flashgrep.errors import AccessDenied, FlashgrepError, InvalidParams, Unavailable
from flashgrep.mount import (
    Document,
    DocumentLinks,
    Entries,
    Mount,
    SearchedTree,
    StringEdit,
    Use,
)
from flashgrep.notes.access.roles import Author, Role
from flashgrep.notes.decided_block import decided_block
from flashgrep.notes.document.text import with_lf
from flashgrep.notes.home import owner_of
from flashgrep.notes.knowledge_base import NoteLeaf, NoteTree
from flashgrep.notes.links.scoped import SeenOutgoing, seen_by
from flashgrep.notes.ownership import NoOwner, OwnerGone, OwnerSilent
from flashgrep.notes.reading import (
    QUARANTINED,
    NoteReading,
    NoteSearcher,
    Shown,
    comments_block,
    pending_block,
)
from flashgrep.notes.store import paths
from flashgrep.notes.store.catalogue import CatalogueEntry as Note
from flashgrep.notes.suggestions.propose import Edit as Wish
from flashgrep.notes.suggestions.propose import Markup, Proposed, Words, propose
from flashgrep.tools.dispatch.call import first_few
from flashgrep.tools.dispatch.caller import note_key
from flashgrep.tools.format.source import Seen, judge, not_read, wrote
from flashgrep.tools.mounts.points import NOTES, Asked, MountPoint
from flashgrep.tools.mounts.remote import RemoteNotes
from flashgrep.tools.mounts.wording import INSTEAD
from flashgrep.workspace.find import Chooser, FindRequest, FoundEntry

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase
    from flashgrep.notes.links.parse import Link
    from flashgrep.notes.ownership import Ownership
    from flashgrep.notes.suggestions.outcomes import News
    from flashgrep.tools.dispatch.call import Answer, Call
    from flashgrep.tools.dispatch.spec import ToolSpec

_TRIES: Final = 5
"""How many owners may end in the middle of one reading call."""
_REVIEW: Final = "The change is wrapped in CriticMarkup for human review."


class Notes(Mount[str]):
    """The notes of an open knowledge base, for one call."""

    def __init__(self, notes: KnowledgeBase, call: Call, prefix: str) -> None:
        """`prefix` begins every path in answers."""
        self.notes = notes
        self.tree = NoteTree(notes, call.caller.principal, prefix, call.cancelled.is_set)
        self._call = call
        self._prefix = prefix

    def resolve(self, given: str | None, use: Use) -> str:
        """A note's path, or that of a folder, "" for all notes."""
        if given is None or (use != "document" and given in (NOTES, ".", "./")):
            path = ""
        elif use == "document":
            return self._note_path(_bare(given))
        else:
            path = paths.checked_below(_bare(given).removesuffix("/"))
        if use == "either" and not path.endswith(paths.ENDING):
            raise self._no_note(given or "", path)
        return path

    def _note_path(self, path: str) -> str:
        try:
            return paths.checked(path)
        except InvalidParams as refused:
            if self._is_note(path + paths.ENDING):
                refused.message += f". Did you mean {self.shown(path + paths.ENDING)}?"
            raise

    def _is_note(self, path: str) -> bool:
        try:
            return bool(self.tree.find(paths.checked(path)))
        except FlashgrepError:
            return False

    def _no_note(self, given: str, folder: str) -> FlashgrepError:
        if folder:
            self.tree.below(folder)  # which refuses one that is not there
        return InvalidParams(
            f"{given} is a folder of notes; view shows one note. "
            f"List notes with glob, path: {given!r}"
        )

    def shown(self, path: str) -> str:
        return self._prefix + path

    def is_folder(self, path: str) -> bool:
        """Never where a note is wanted: a folder is refused before."""
        return not path.endswith(paths.ENDING)

    # ── finding ─────────────────────────────────────────────────────────────────────────────────

    def anchors(self, path: str) -> Sequence[str]:
        """A folder's full name is accepted even where answers leave the prefix out."""
        return (NOTES + path, self._prefix + path)

    def list(self, path: str, wanted: FindRequest, by: str) -> Entries:
        leaves = self.tree.below(path)
        if [leaf.path for leaf in leaves] == [path]:
            raise InvalidParams(f"{self.shown(path)} is a note; glob searches below a folder")
        entries, damaged = _entries(self.notes, leaves, path, by)
        found = Chooser(wanted).chosen(_folders(entries) if wanted.directories else entries)
        above = self._prefix + (f"{path}/" if path else "")
        return Entries(
            [entry for entry in found if entry.shown not in damaged],
            [(entry.shown, QUARANTINED) for entry in found if entry.shown in damaged],
            lambda shown: above + shown,
        )

    def search(self, path: str, given: str | None, view: str | None) -> SearchedTree:
        """The notes in a folder, or one note; paths are in full, so they have no root."""
        pool = self._call.services.search.pool
        searcher = NoteSearcher(self.notes, self.tree, pool, Shown(view or Shown.ACCEPTED))
        return SearchedTree(
            partial(searcher.search, path),
            label=lambda paths: [self._prefix + path for path in paths],
            label_skipped=self.shown,
            kind="note",
        )

    # ── documents ───────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def read(self, path: str, view: str | None = None) -> Iterator[NoteDocument]:
        """A note in a view, with the lists of suggestions and comments as its trailer."""
        leaf = self.tree.find(path)
        reading = self.notes.texts.reading(leaf.note)
        shown = Shown(view or Shown.ACCEPTED)
        yield NoteDocument(leaf, self.shown(leaf.path), reading, shown, self._call, self.notes)

    def edit(self, path: str, edit: StringEdit) -> str:
        """Suggest an edit of a note, or refuse with both wordings."""
        call = self._call
        path = self.tree.find(path).path
        shown = self.shown(path)
        self._require_role(path, shown)
        words = Words(edit.word, edit.new_word)
        wish = Wish(with_lf(edit.old), with_lf(edit.new), edit.replace_all, words)
        seen = Seen.NEVER

        def check(entry: Note, text: str) -> None:
            nonlocal seen
            seen = judge(call.caller, note_key(entry.id), text.encode())
            if seen is Seen.NEVER and edit.needs_read:
                raise not_read(shown)

        try:
            proposed = propose(
                self.notes,
                path,
                wish,
                call.caller.author,
                shown=shown,
                markup=Markup(call.settings.kb_markup),
                check=check,
                source=call.caller.source,
                is_cancelled=call.cancelled.is_set,
            )
        except FlashgrepError as error:
            if seen is Seen.CHANGED:
                error.message += "\nThe document has changed since it was last read; read it again."
            raise
        wrote(call.caller, note_key(proposed.published.note), proposed.published.data)
        return _confirmation(shown, wish, proposed, seen is Seen.CHANGED)

    def _require_role(self, path: str, shown: str) -> None:
        caller = self._call.caller
        if not caller.principal.may(Role.SUGGEST, path):
            raise AccessDenied(
                f"{caller.author} may read {shown}, not suggest changes to it; ask for a token "
                "made by: flashgrep kb token make NAME --role suggest"
            )

    def links(self, path: str) -> DocumentLinks:
        """Nothing that the caller may not read is named."""
        path = self.tree.find(path).path
        who, is_cancelled = self._call.caller.principal, self._call.cancelled.is_set
        seen = seen_by(who, self.notes.links, path, is_cancelled)

        def shown(path: str) -> str:
            return path if path in seen.attachments else self.shown(path)

        return DocumentLinks(
            shown=self.shown(path),
            outgoing=[_outgoing(out, shown) for out in seen.outgoing],
            backlinks=[{"source": shown(b.source), **_described(b.link)} for b in seen.backlinks],
            skipped=[[shown(path), why] for path, why in seen.skipped[: limits.LISTED_LINES]],
        )


def notes_of(call: Call) -> Notes:
    """The notes, for the verbs that only notes have."""
    if not isinstance(call.mount, Notes):
        raise Unavailable("this is for notes, and there are none here")
    return call.mount


def _bare(given: str) -> str:
    return given[len(NOTES) :] if given[: len(NOTES)].lower() == NOTES else given


class NotesPoint(MountPoint):
    """Where the notes are mounted: those of this process, or of the one that owns them."""

    prefix = NOTES
    toolset = "kb"
    is_shared = True

    def __init__(self, ownership: Ownership, is_alone: bool) -> None:
        """`is_alone`: there are no files, and answers leave the prefix out."""
        self._ownership = ownership
        self._remote = RemoteNotes(ownership)
        self._shown_prefix = "" if is_alone else NOTES

    def check(self, spec: ToolSpec, given: str) -> None:
        if spec.name in INSTEAD:
            raise InvalidParams(
                f"{spec.name} works on files of the workspace, and {given} is a note; "
                + INSTEAD[spec.name]
            )
        super().check(spec, given)

    def check_glob(self, parameter: str, glob: str) -> None:
        raise InvalidParams(
            f"{parameter} {glob!r} can match nothing: it is matched on names below path; search "
            f'the notes with path "{NOTES}" or "{NOTES}Folder", and write {parameter} without it'
        )

    def answer(self, asked: Asked, call: Call) -> Answer:
        """Answer here where the notes are ours, else by their owner.

        When the owner ends in the middle of a call, one that only reads is made again. Any other
        may have been done or not, and the refusal says so: the same edit sent again is not made
        twice, and the note shows whether it was.
        """
        for _ in range(_TRIES):
            with self._ownership.held() as notes:
                if notes is not None:
                    call.mount = Notes(notes, call, self._shown_prefix)
                    return asked.run(call)
            try:
                return self._remote.answer(asked, call)
            except NoOwner:
                continue  # nothing was asked
            except OwnerGone:
                if not asked.spec.read_only:
                    raise Unavailable(
                        f"the process that owned the notes ended before it answered: {asked.name} "
                        "may be done or not. Read the note; if it is not, send the same call again"
                    ) from None
            except OwnerSilent:
                raise self._silent(asked, call) from None
        raise Unavailable(f"the owners of {self._ownership.home} keep ending; try again")

    def _silent(self, asked: Asked, call: Call) -> Unavailable:
        pid = owner_of(self._ownership.home)
        next_step = (
            f"Send the call again when it answers, or end process {pid}: this server then opens "
            "the notes itself"
            if asked.spec.read_only
            else f"{asked.name} may be done or not. Wait until process {pid} answers, or end it; "
            "then read the note, and if the change is not there, send the same call again"
        )
        return Unavailable(
            f"the process that owns the notes (pid {pid}) did not answer within "
            f"{call.cancelled.seconds} seconds (--call-seconds). {next_step}"
        )


def _entries(
    notes: KnowledgeBase, leaves: Sequence[NoteLeaf], folder: str, by: str
) -> tuple[list[FoundEntry], set[str]]:
    """The notes with what they are sorted by, and the paths of those that are quarantined."""
    sizes: dict[str, int] = {}
    if by == "size":
        texts = notes.texts.all([leaf.note for leaf in leaves], Shown.RAW)
        sizes = {note: len(text) for note, text in texts.items() if isinstance(text, bytes)}
    changed = notes.listing.changed() if by == "modified" else {}
    quarantined = notes.listing.quarantined()
    entries, damaged = [], set()
    for leaf in leaves:
        shown = paths.from_folder(leaf.path, folder)
        entries.append(FoundEntry(shown, sizes.get(leaf.note, 0), changed.get(leaf.note, 0)))
        if leaf.note in quarantined:
            damaged.add(shown)
    return entries, damaged


def _folders(entries: Iterable[FoundEntry]) -> list[FoundEntry]:
    """The folders of some notes; each changed when the last note in it did."""
    found: dict[str, int] = {}
    for entry in entries:
        for folder in paths.folders(entry.shown):
            found[folder] = max(found.get(folder, 0), entry.modified)
    return [FoundEntry(folder, 0, changed) for folder, changed in found.items()]


# ── reading ─────────────────────────────────────────────────────────────────────────────────────


class NoteDocument(Document):
    """A note being read; always text."""

    def __init__(
        self,
        leaf: NoteLeaf,
        shown: str,
        reading: NoteReading,
        view: Shown,
        call: Call,
        notes: KnowledgeBase,
    ) -> None:
        self.shown = shown
        self.name = leaf.path
        self._note = leaf.note
        self._reading = reading
        self._view = reading.view(view)
        self._call = call
        self._notes = notes
        self._told: Sequence[News] = ()

    def whole(self) -> bytes:
        return self._view.text.encode()

    def text_chunks(self, keep_odd: bool = False) -> Iterator[str]:
        yield self._view.text

    def trailer(self, first: int, room: int) -> str:
        decided = self._decided(room // 2)
        room -= len(decided)
        suggested = pending_block(self._reading, self._view, first, room)
        said = comments_block(self._reading, self._view, first, room - len(suggested))
        return "\n\n".join(block for block in (suggested, said, decided) if block)

    def _decided(self, room: int) -> str:
        """What became of the caller's suggestions since it was told last."""
        news, total = self._notes.review.news(self._author, self._note)
        if not news:
            return ""
        lister = "" if self._call.settings.no_workspace else "list_my_suggestions"
        block, shown = decided_block(news, total, room, lister)
        self._told = news[:shown]
        return block

    @property
    def _author(self) -> Author:
        return Author(self._call.caller.author, self._call.caller.source)

    def was_shown(self) -> None:
        # By the text with its marks: a suggestion that came since is a change.
        wrote(self._call.caller, note_key(self._note), self._reading.published.data)
        if told := self._told:
            tell = self._notes.review.tell
            self._call.when_answered(lambda: tell(self._author, self._note, told))


# ── suggesting ──────────────────────────────────────────────────────────────────────────────────


def _confirmation(shown: str, wish: Wish, proposed: Proposed, is_changed: bool) -> str:
    if proposed.is_repeated:
        sentences = [f"{shown} is as it was: this edit was made before and is not made twice."]
    else:
        # The wording of the requirement; what it does not say follows it.
        characters = len(wish.old) * len(proposed.lines)
        sentences = [
            f"Edited {shown}: replaced {characters} character{'' if characters == 1 else 's'}.",
            _REVIEW if proposed.ids else "That withdraws the suggestion that was there.",
            _lines(proposed.lines),
        ]
    if is_changed:
        sentences.append("The document had changed since it was last read.")
    return " ".join(sentences)


def _lines(lines: tuple[int, ...]) -> str:
    if len(lines) == 1:
        return f"Line {lines[0]}."
    return f"{len(lines)} occurrences, lines {first_few(lines, limits.LISTED_LINES)}."


# ── links ───────────────────────────────────────────────────────────────────────────────────────


def _outgoing(out: SeenOutgoing, shown: Callable[[str], str]) -> dict[str, Any]:
    """A link, and those of its possible targets that the caller may see."""
    row = _described(out.link)
    row["resolved"] = bool(out.paths)
    row["path"] = shown(out.paths[0]) if out.paths else None
    if out.is_attachment:
        row["attachment"] = True
    if len(out.paths) > 1:
        row["others"] = [shown(path) for path in out.paths[1 : 1 + limits.LISTED_LINES]]
    return row


def _described(link: Link) -> dict[str, Any]:
    row: dict[str, Any] = {"target": link.target, "line": link.line, "text": link.source}
    row["kind"] = "embed" if link.is_embed else str(link.form)
    if link.anchor:
        row["anchor"] = link.anchor
    if link.pending:
        row["pending"] = str(link.pending)
    return row

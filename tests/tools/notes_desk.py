"""A workshop with notes, and callers of any role."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flashgrep.app import Application
from flashgrep.notes.access.roles import Grant, Principal, Role, everywhere
from flashgrep.notes.document.note import Amendment, NoteRecords
from flashgrep.notes.document.text import TextSplice
from flashgrep.notes.library import Library
from flashgrep.tools.dispatch.call import Answer
from flashgrep.tools.dispatch.caller import Caller
from tests.tools.workshop import Workshop, workshop_with_notes


class NotesDesk(Workshop):
    """Tools called as a transport calls them, by `caller`."""

    def __init__(self, root: Path, application: Application) -> None:
        super().__init__(root, application)
        self.caller = self.someone("ann")

    def someone(self, name: str, role: Role = Role.SUGGEST, *folders: str) -> Caller:
        """A caller by that name, with a role on everything or on some folders."""
        grants = tuple(Grant(role, folder) for folder in folders)
        principal = Principal(name, grants) if folders else everywhere(name, role)
        return Caller(f"test:{name}", author=name, principal=principal)

    def raw(self, path: str) -> str:
        """The text with its marks."""
        return self.notes.ask(lambda library: library.read(library.find(path).id)).text

    def typed(self, path: str, text: str, place: int | None = None) -> None:
        """Somebody types into a note by hand, at its end or at a place."""

        def plan(now: str, _: Mapping[str, NoteRecords]) -> Amendment:
            at = len(now) if place is None else place
            return Amendment([TextSplice(at, at, text)])

        def job(library: Library) -> None:
            library.amend(library.find(path).id, plan, "person")

        self.notes.ask(job)

    def edit(self, path: str, old: str, new: str, **more: Any) -> Answer:
        """Edit as `caller`, who reads the note first."""
        self.call("read", path=path)
        return self.call("edit", path=path, old_string=old, new_string=new, **more)

    def tool_names(self) -> list[str]:
        """What `caller` is shown."""
        return [tool.name for tool in self.application.toolbox.listed(self.caller)]


@contextmanager
def notes_desk(directory: Path, **settings: Any) -> Iterator[NotesDesk]:
    """A desk with a knowledge base in `directory/kb`."""
    with workshop_with_notes(directory, **settings) as made:
        yield NotesDesk(made.root, made.application)

"""Where the notes are mounted, and who answers a call about them: this process or their owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from flashgrep.errors import InvalidParams, Unavailable
from flashgrep.kb.ownership import OwnerGone
from flashgrep.tools.mounts.notes import Notes
from flashgrep.tools.mounts.points import NOTES, Asked, MountPoint
from flashgrep.tools.mounts.remote import RemoteNotes
from flashgrep.tools.mounts.wording import INSTEAD

if TYPE_CHECKING:
    from flashgrep.kb.ownership import Ownership
    from flashgrep.tools.answer import Answer
    from flashgrep.tools.registry import ToolSpec
    from flashgrep.tools.toolbox import Call

_TRIES: Final = 5
"""How many owners may end in the middle of one reading call."""


class NotesPoint(MountPoint):
    """Where the notes are mounted: those of this process, or of the one that owns them."""

    prefix = NOTES
    toolset = "kb"
    is_shared = True

    def __init__(self, ownership: Ownership, is_alone: bool) -> None:
        """`is_alone`: there are no files, and paths are told without the prefix."""
        self._ownership = ownership
        self._remote = RemoteNotes(ownership)
        self._told = "" if is_alone else NOTES

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
        may have been done or not, and that is what its caller is told: the same edit sent again is
        not made twice, the note shows which it is.
        """
        for _ in range(_TRIES):
            with self._ownership.held() as notes:
                if notes is not None:
                    call.mount = Notes(notes, call, self._told)
                    return asked.run(call)
            try:
                return self._remote.answer(asked, call)
            except OwnerGone:
                if not asked.spec.read_only:
                    raise Unavailable(
                        f"the process that owned the notes ended before it answered: {asked.name} "
                        "may be done or not. Read the note; if it is not, send the same call again"
                    ) from None
        raise Unavailable(f"the owners of {self._ownership.home} keep ending; try again")

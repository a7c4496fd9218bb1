"""Paths of notes: `Folder/Note.md`, the same on every file system they may be exported to.

Every path enters the catalogue through `checked_new`; `checked` is for looking up an existing note.
It lets a little more through: older versions made notes with names that no new note may have, and
those stay readable. A path is kept as given; `twin_key` makes equal what a file system may take for
equal, so that no two notes differ only by case or by the Unicode form of a letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from flashgrep import limits
from flashgrep.errors import InvalidParams

ENDING: Final = ".md"
_ESCAPED: Final = re.compile(r"%2f|%5c|%00|%2e%2e", re.IGNORECASE)
_UNSEEN: Final = {"Cc", "Cs", "Zl", "Zp"}
"""Control characters, half characters, line and paragraph separators."""


_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Characters that turn the writing direction or are not seen: by them a name looks like another
one, `txt.exe` like `exe.txt`. Joiners are not among them: emoji and some scripts need those."""


def checked_new(path: str) -> str:
    """The path, if a note can be made or moved there; refused with the reason otherwise."""
    checked(path)
    if reason := new_fault(path):
        raise InvalidParams(f"{_quoted(path)} is not a valid path for a note: {reason}")
    return path


def new_fault(path: str) -> str | None:
    """Why no new note or attachment may have a path, which is otherwise a good one."""
    if found := _INVISIBLE.search(path):
        return (
            f"it holds U+{ord(found[0]):04X}, which is invisible or turns the direction of the "
            "text; remove it"
        )
    for name in path.split("/"):
        if name.startswith("."):
            return f"the name {name!r} begins with a dot, and such names are hidden; rename it"
    return None


def checked(path: str) -> str:
    """The path, if a note can have it; refused with the reason otherwise."""
    if reason := _fault(path):
        raise InvalidParams(f"{_quoted(path)} is not a valid path of a note: {reason}")
    return path


def checked_below(path: str) -> str:
    """The same for what may be a folder: its name need not end as a note's does."""
    is_note = path.endswith(ENDING)
    if reason := _fault(path if is_note or not path else path + "/x" + ENDING):
        raise InvalidParams(f"{_quoted(path)} is not a valid path of a note or folder: {reason}")
    return path


def checked_folder(path: str) -> str:
    """The path, if a folder of notes can be made there; refused with the reason otherwise."""
    if reason := _fault(f"{path}/x{ENDING}" if path else path) or new_fault(path):
        raise InvalidParams(f"{_quoted(path)} is not a valid path for a folder: {reason}")
    return path


def check_named(folder: str, parameter: str = "folder") -> None:
    """Refuse a folder without a name: a variable that a shell did not set must not mean all."""
    if not folder.removeprefix("kb://").strip("/"):
        raise InvalidParams(
            f"{parameter} is {folder!r}, which names no folder; leave {parameter} out for all notes"
        )


def checked_attachment(path: str) -> str:
    """The same as `checked_new` for a file that is not a note, except for how it ends."""
    if reason := _fault(path, is_note=False) or new_fault(path):
        raise InvalidParams(f"{_quoted(path)} is not a valid path of an attachment: {reason}")
    return path


def _quoted(path: str) -> str:
    shown = path[: limits.QUOTED_CHARS].encode("utf-8", "backslashreplace").decode()
    return repr(_INVISIBLE.sub(lambda found: found[0].encode("unicode_escape").decode(), shown))


def _fault(path: str, is_note: bool = True) -> str | None:
    if not path:
        return "it is empty; give one such as Folder/Note.md"
    if path.startswith("/"):
        return "it begins with a slash; paths start at the top of the notes without one"
    if "\\" in path:
        return "it holds a backslash; folders are separated by /"
    if any(unicodedata.category(character) in _UNSEEN for character in path):
        return "it holds a control character, a line separator or half a character; remove it"
    if escaped := _ESCAPED.search(path):
        return f"it holds {escaped[0]}, an escaped separator; write the character itself"
    if len(path.encode()) > limits.NOTE_PATH_BYTES:
        return f"it has more than {limits.NOTE_PATH_BYTES} bytes; choose a shorter one"
    if is_note and not path.endswith(ENDING):
        return f"it does not end with {ENDING}; add that"
    return next((fault for name in path.split("/") if (fault := _name_fault(name))), None)


def _name_fault(name: str) -> str | None:
    if not name:
        return "it holds an empty name (//); write one / between two names"
    if name in (".", ".."):
        return f"it holds the name {name}; write the path from the top of the notes"
    if name == ENDING:
        return f"a note is named something before {ENDING}; give it a name"
    if name != name.strip() or name.endswith("."):
        return f"the name {name!r} begins or ends with a space, or ends with a dot; remove it"
    if name.removesuffix(ENDING).endswith((" ", ".")) and name.endswith(ENDING):
        return f"the name {name!r} has a space or a dot before {ENDING}; remove it"
    if len(name.encode()) > limits.NOTE_NAME_BYTES:
        return f"the name {name[:40]}… has more than {limits.NOTE_NAME_BYTES} bytes; shorten it"
    return None


def twin_key(path: str) -> str:
    """What two paths have in common that some file system takes for one."""
    if path.isascii():
        return path.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFD", path).casefold())
    return unicodedata.normalize("NFC", folded.casefold())


def form_key(path: str) -> str:
    """What two paths have in common that differ by Unicode form alone, as those of a Mac do."""
    return path if path.isascii() else unicodedata.normalize("NFC", path)


def folders(path: str) -> Iterator[str]:
    """The folders of a path, the outermost first."""
    at = path.find("/")
    while at >= 0:
        yield path[:at]
        at = path.find("/", at + 1)


def from_folder(path: str, folder: str) -> str:
    """A path relative to one of its folders; the name alone for one that is named itself."""
    if not folder:
        return path
    rest = path.split("/")[folder.count("/") + 1 :]
    return "/".join(rest) or path.rpartition("/")[2]

"""Changes a file, one change at a time: the edit that `edit` and `str_replace` make.

Within this server a lock per file queues the changes. Another program may get in between the read
and the rename; the last check notices, and the change starts over from a fresh read. So two editors
of different lines both win, and the loser of a race for one line is refused and shown what the file
has now.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from flashgrep import limits
from flashgrep.errors import Cancelled, Conflict, InvalidParams, NotFound, NotUnique, StringNotFound
from flashgrep.mount import StringEdit
from flashgrep.tools.dispatch.call import Budget, first_few
from flashgrep.tools.format import source
from flashgrep.tools.format.numbered import snippet
from flashgrep.tools.format.source import Seen, too_large
from flashgrep.workspace import text as file_text
from flashgrep.workspace.occurrences import Occurrences, find, in_file_quotes, line_of, near
from flashgrep.workspace.safe_open import REGULAR, open_in, read_at_most
from flashgrep.workspace.scope import ResolvedPath
from flashgrep.workspace.text import Edit as Span
from flashgrep.workspace.text import TextFile, decode, is_text, normalised
from flashgrep.workspace.write.replace import ReplaceTarget, TargetChanged, replace_bytes

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Call

EDIT_ATTEMPTS: Final = 100
"""Fresh starts of an edit whose file changed under it: each means another writer got through."""


_STRIPES = tuple(threading.RLock() for _ in range(64))


@dataclass(frozen=True)
class Current:
    """A file as a change finds it."""

    data: bytes
    status: os.stat_result


def change(call: Call, place: ResolvedPath, make: Callable[[Current | None], bytes]) -> None:
    """Replace the file with what `make` makes of it (of None if there is none). `make` refuses by
    raising, and is called again if the file changed meanwhile.
    """

    def attempt() -> None:
        current = current_of(call, place)
        data = make(current)
        status = None if current is None else current.status
        old = None if current is None else current.data
        now = replace(call, place, data, status, lambda target: is_still(target, current), old)
        source.wrote(call.caller, now.path, data)

    _until_settled(place, attempt)


def overwrite(call: Call, place: ResolvedPath, data: bytes) -> bool:
    """Give the file these bytes whatever it holds; whether there was one."""
    existed = False

    def attempt() -> None:
        nonlocal existed
        status = _regular_status(call, place)
        existed = status is not None
        now = replace(call, place, data, status, None)
        source.wrote(call.caller, now.path, data)

    _until_settled(place, attempt)
    return existed


def _until_settled(place: ResolvedPath, attempt: Callable[[], None]) -> None:
    with holding([place]):
        for _ in range(EDIT_ATTEMPTS):
            try:
                return attempt()
            except TargetChanged:
                continue
    raise Conflict(f"{place.shown} keeps changing while it is edited; nothing was written")


@contextmanager
def holding(places: Iterable[ResolvedPath]) -> Iterator[None]:
    """Hold the locks of these files, always taken in the same order."""
    stripes = sorted({hash(place.path) % len(_STRIPES) for place in places})
    with ExitStack() as held:
        for stripe in stripes:
            held.enter_context(_STRIPES[stripe])
        yield


def replace(
    call: Call,
    place: ResolvedPath,
    data: bytes,
    status: os.stat_result | None,
    check: Callable[[ReplaceTarget], bool] | None,
    old: bytes | None = None,
) -> ResolvedPath:
    """Replace one file's `old` bytes, after a last `check`; where it is now."""
    require_size(call, place, len(data))
    parent, place = call.services.scope.open_parent(place, create=status is None)
    try:
        target = ReplaceTarget(
            parent_fd=parent,
            name=os.path.basename(place.path),
            path=place.path,
            recovery_dir=call.services.recovery_dir,
        )
        replace_bytes(target, data, status, check and (lambda: check(target)), old)
    finally:
        os.close(parent)
    return place


def require_size(call: Call, place: ResolvedPath, size: int) -> None:
    """Refuse new content over the size limit."""
    ceiling = call.settings.max_file_size
    if size > ceiling:
        remedy = "Split it into several files"
        raise too_large(f"The new content of {place.shown}", size, ceiling, remedy)


def current_of(call: Call, place: ResolvedPath) -> Current | None:
    """The file as it is; None where there is none."""
    status = _regular_status(call, place)
    if status is None:
        return None
    ceiling = call.settings.max_file_size
    if status.st_size > ceiling:
        raise too_large(place.shown, status.st_size, ceiling)
    fd, status = call.services.scope.open_regular(place)
    try:
        data = read_at_most(fd, ceiling + 1)
    finally:
        os.close(fd)
    if len(data) > ceiling:
        raise too_large(place.shown, len(data), ceiling)
    return Current(data, status)


def _regular_status(call: Call, place: ResolvedPath) -> os.stat_result | None:
    try:
        fd, status = call.services.scope.open_regular(place)
    except NotFound:
        return None
    os.close(fd)
    return status


def is_still(target: ReplaceTarget, current: Current | None) -> bool:
    """The last look: the name still holds the bytes the change was made from."""
    try:
        fd = open_in(target.name, REGULAR, dir_fd=target.parent_fd)
    except FileNotFoundError:
        return current is None
    except OSError:
        return False
    try:
        return current is not None and read_at_most(fd, len(current.data) + 1) == current.data
    finally:
        os.close(fd)


def require_file_name(path: str) -> None:
    """Refuse a path that can only name a directory."""
    if path.endswith("/"):
        raise InvalidParams(f"{path!r} ends in / and names a directory; name a file in it")


# ── editing ──────────────────────────────────────────────────────────────────────────────────────
# The edit of `edit` and `str_replace`: find a string, replace its bytes, confirm what was done.
#
# The two verbs differ in three things, which a `StringEdit` holds: the word for the old string in
# the texts, whether quotes may be folded, and whether an unread file is refused.


def apply_edit(call: Call, place: ResolvedPath, edit: StringEdit) -> str:
    """Edit a file; the text confirms and shows the place. Refusals have both wordings."""
    _check(edit)
    answer = ""

    def make(current: Current | None) -> bytes:
        nonlocal answer
        if current is None:
            raise NotFound(f"{place.shown} does not exist")
        if not is_text(current.data):
            raise InvalidParams(
                f"{place.shown} is a binary file, and only text can be edited. Change it with the "
                "program that makes it"
            )
        seen = source.judge(call.caller, place.path, current.data, current.status)
        if seen is Seen.NEVER and edit.needs_read:
            raise source.not_read(place.shown)
        file, has_changed = decode(current.data), seen is Seen.CHANGED
        found = _found(file, place, edit, has_changed)
        answer = _confirmation(place, edit, file, found, has_changed)
        data = _edited(call, place, file, found, edit)
        if not edit.replace_all:
            start, _, new = next(_spans(file, found, edit))
            budget = Budget(call.settings.max_output_chars)
            answer += "\n" + snippet(decode(data).text, start, start + len(normalised(new)), budget)
        return data

    change(call, place, make)
    return answer.rstrip("\n")


def _check(edit: StringEdit) -> None:
    if not edit.old:
        raise InvalidParams(f"{edit.word} must not be empty")
    if normalised(edit.old) == normalised(edit.new):
        raise InvalidParams(
            f"No changes to make: {edit.word} and {edit.new_word} are exactly the same."
        )


def _found(file: TextFile, place: ResolvedPath, edit: StringEdit, changed: bool) -> Occurrences:
    found = find(file.text, normalised(edit.old), edit.fold_quotes)
    count = found.count
    if not count:
        raise _not_found(file, place, edit, changed)
    if count > 1 and not edit.replace_all:
        raise _not_unique(found, count, place, edit)
    return found


def _edited(
    call: Call, place: ResolvedPath, file: TextFile, found: Occurrences, edit: StringEdit
) -> bytes:
    """The file's bytes with the occurrences replaced. There may be one at every byte, so nothing
    is kept of each; what would be too large is refused before it is made."""
    alike = None if found.by_quotes else file.raw_strings(normalised(edit.old), edit.new)
    if alike is not None:
        require_size(call, place, len(file.data) + found.apart * file.growth(*alike))
        return file.replaced(*alike)
    data, size = bytearray(), 0
    for piece in file.pieces(_spans(file, found, edit)):
        if call.cancelled:
            raise Cancelled("the edit was cancelled; nothing was written")
        size += len(piece)
        if size <= call.settings.max_file_size:
            data += piece
    require_size(call, place, size)
    return bytes(data)


def _spans(file: TextFile, found: Occurrences, edit: StringEdit) -> Iterator[Span]:
    old = normalised(edit.old)
    for start, end in found.spans():
        new = edit.new
        if found.by_quotes:
            new = in_file_quotes(file.text[start:end], old, normalised(new))
        yield start, end, new


# ── texts ───────────────────────────────────────────────────────────────────────────────────────


def _confirmation(
    place: ResolvedPath, edit: StringEdit, file: TextFile, found: Occurrences, has_changed: bool
) -> str:
    count, lines = found.apart, _lines(found)
    what = f"replaced 1 occurrence at line {lines[0]}"
    if edit.replace_all:
        listed = first_few(lines, limits.LISTED_LINES, count)
        what = f"replaced {count} occurrence{'' if count == 1 else 's'}, lines {listed}"
    sentences = [f"The file {place.shown} has been updated: {what}."]
    if has_changed:
        sentences.append("The file had changed since it was last read.")
    if not file.is_valid and not edit.new.isascii():
        sentences.append("The file is not valid UTF-8; the inserted text is.")
    return " ".join(sentences)


def _not_found(
    file: TextFile, place: ResolvedPath, edit: StringEdit, changed: bool
) -> StringNotFound:
    hints = [near(file.text, normalised(edit.old))]
    if not file.is_valid:
        hints.append(_odd(file.text, normalised(edit.old)))
    if changed:
        hints.append("The file has changed since it was last read; read it again.")
    return StringNotFound(
        f"{edit.word} not found in {place.shown}. String to replace not found in file.\n"
        f"String: {limits.shortened(edit.old)}\n{' '.join(filter(None, hints))}".rstrip()
    )


def _odd(text: str, old: str) -> str:
    """How bytes that are not valid UTF-8 may be why a string is not found."""
    found = file_text.ODD.search(text)
    if found is None or old.isascii():
        return ""
    # As an editor that knows the encoding shows it, and as an answer of ours did.
    for shown in (file_text.as_legacy(text), text.translate(file_text.REPLACED)):
        place = shown.find(old)
        if place >= 0:
            found = file_text.ODD.search(text, place, place + len(old)) or found
            break
    line = line_of(text, found.start())
    return (
        f"The file is not valid UTF-8 (byte {file_text.described(found[0])} at line {line}). Such "
        f"bytes are shown as U+FFFD, and {file_text.REMEDY}."
    )


def _not_unique(found: Occurrences, count: int, place: ResolvedPath, edit: StringEdit) -> NotUnique:
    lines = _lines(found)
    more = f" and {count - len(lines)} more" if count > len(lines) > 1 else ""
    return NotUnique(
        f"{edit.word} is not unique in {place.shown} ({count} occurrences found). "
        f"Lines: {', '.join(map(str, lines))}{more}. Found {count} matches of the string to "
        "replace, but replace_all is false; it must be unique, or set replace_all."
    )


def _lines(found: Occurrences) -> list[int]:
    """The lines of the first occurrences."""
    return [line_of(found.text, start) for start, _ in islice(found.spans(), limits.LISTED_LINES)]

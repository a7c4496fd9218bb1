"""Changing a file: one change at a time, each made from the bytes as they are.

Within this server a lock per file queues the changes. Another program may get in between the
read and the rename; the last look notices, and the change begins again from a fresh read. So two
editors of different lines both win, and the loser of a race for one line is told what it finds.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashgrep import limits
from flashgrep.errors import Conflict, InvalidParams, NotFound
from flashgrep.tools.format import reads
from flashgrep.tools.format.source import too_large
from flashgrep.workspace.safe_open import REGULAR, open_in, read_at_most
from flashgrep.workspace.scope import Place
from flashgrep.workspace.write.replace import Moved, Target, replace_bytes

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.toolbox import Call

_STRIPES = tuple(threading.RLock() for _ in range(64))


@dataclass(frozen=True)
class Current:
    """A file as a change finds it."""

    data: bytes
    status: os.stat_result


def change(call: Call, place: Place, make: Callable[[Current | None], bytes]) -> None:
    """Replace the file by what `make` makes of it (of None where there is none).

    `make` refuses by raising, and is asked again when the file changed meanwhile.
    """

    def attempt() -> None:
        current = current_of(call, place)
        data = make(current)
        status = None if current is None else current.status
        old = None if current is None else current.data
        now = replace(call, place, data, status, lambda target: is_still(target, current), old)
        reads.wrote(call.caller, now, data)

    _until_settled(place, attempt)


def overwrite(call: Call, place: Place, data: bytes) -> bool:
    """Give the file these bytes whatever it holds; whether there was one."""
    existed = False

    def attempt() -> None:
        nonlocal existed
        status = _regular_status(call, place)
        existed = status is not None
        now = replace(call, place, data, status, None)
        reads.wrote(call.caller, now, data)

    _until_settled(place, attempt)
    return existed


def _until_settled(place: Place, attempt: Callable[[], None]) -> None:
    with holding([place]):
        for _ in range(limits.EDIT_ATTEMPTS):
            try:
                return attempt()
            except Moved:
                continue
    raise Conflict(f"{place.shown} keeps changing while it is edited; nothing was written")


@contextmanager
def holding(places: Iterable[Place]) -> Iterator[None]:
    """Hold the locks of these files, taken in one order by everyone who takes several."""
    stripes = sorted({hash(place.path) % len(_STRIPES) for place in places})
    with ExitStack() as held:
        for stripe in stripes:
            held.enter_context(_STRIPES[stripe])
        yield


def replace(
    call: Call,
    place: Place,
    data: bytes,
    status: os.stat_result | None,
    check: Callable[[Target], bool] | None,
    old: bytes | None = None,
) -> Place:
    """Replace one file's `old` bytes, `check` being the last look; where it stands now."""
    require_size(call, place, data)
    parent, place = call.services.scope.open_parent(place, create=status is None)
    try:
        name = os.path.basename(place.path)
        target = Target(parent, name, place.path, call.services.recovery_dir)
        replace_bytes(target, data, status, check and (lambda: check(target)), old)
    finally:
        os.close(parent)
    return place


def require_size(call: Call, place: Place, data: bytes) -> None:
    """Refuse new content over the size limit."""
    ceiling = call.settings.max_file_size
    if len(data) > ceiling:
        remedy = "Split it into several files"
        raise too_large(f"The new content of {place.shown}", len(data), ceiling, remedy)


def current_of(call: Call, place: Place) -> Current | None:
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


def _regular_status(call: Call, place: Place) -> os.stat_result | None:
    try:
        fd, status = call.services.scope.open_regular(place)
    except NotFound:
        return None
    os.close(fd)
    return status


def is_still(target: Target, current: Current | None) -> bool:
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

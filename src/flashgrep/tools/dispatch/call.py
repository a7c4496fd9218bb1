"""What a handler takes and returns: a `Call`, and an `Answer` within a budget."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.index.index import Index, NoIndex
from flashgrep.mount import Mount, Target, Use
from flashgrep.ranking.symbols import SymbolParser
from flashgrep.tools.dispatch.activity import Activity
from flashgrep.tools.dispatch.delivery import DELIVERY
from flashgrep.workspace.scope import shown_path

if TYPE_CHECKING:
    from flashgrep.index.git.log import CommitHistory
    from flashgrep.search.scan.scan import DiskSearcher
    from flashgrep.settings import Settings
    from flashgrep.tools.dispatch.caller import Caller
    from flashgrep.workspace.scope import Scope

FOOTER_CHARS: Final = 300
"""Kept free in a budget for the line that says what is missing and which call continues."""


@dataclass
class Services:
    """Everything handlers use beyond the call itself; `app` builds one for a server.

    The reachable files, the records of unfinished writes, search, index, symbol parser, commit
    words, and recent calls. None of them is replaced while the server runs.
    """

    scope: Scope
    recovery_dir: bytes
    search: DiskSearcher
    index: Index = field(default_factory=NoIndex)
    symbols: SymbolParser = field(default_factory=SymbolParser)
    commits: CommitHistory | None = None
    activity: Activity = field(default_factory=Activity)


class Cancellation:
    """A flag that long work checks; setting it twice is harmless."""

    def __init__(self, seconds: int = 0) -> None:
        """With `seconds`, it sets itself after so long; 0 = never."""
        self._is_set = False
        self._actions: list[Callable[[], None]] = []
        self._guard = threading.Lock()
        self.begin(seconds)

    def begin(self, seconds: int) -> None:
        """Count its seconds from now on."""
        self.seconds = seconds
        self._deadline = time.monotonic() + seconds if seconds else math.inf

    def set(self) -> None:
        with self._guard:
            self._is_set = True
            actions, self._actions = self._actions, []
        for action in actions:
            action()

    def then(self, action: Callable[[], None]) -> Callable[[], None]:
        """Run an action on cancellation; returns a function that removes it.

        The end of the call's time does not run it: code that waits has to look at the clock.
        """
        with self._guard:
            if not self._is_set:
                self._actions.append(action)
                return partial(self._forget, action)
        action()
        return lambda: None

    def _forget(self, action: Callable[[], None]) -> None:
        with self._guard:
            if action in self._actions:
                self._actions.remove(action)

    @contextmanager
    def wakes(self, event: threading.Event) -> Iterator[None]:
        """In this block, setting it sets an event too, for code that waits for that."""
        forget = self.then(event.set)
        try:
            yield
        finally:
            forget()

    @property
    def has_expired(self) -> bool:
        """Whether the time of the call is over, and nobody has withdrawn it."""
        return not self._is_set and time.monotonic() > self._deadline

    def is_set(self) -> bool:
        """Whether the call was withdrawn, or its time is over."""
        return self._is_set or time.monotonic() > self._deadline

    __bool__ = is_set


@dataclass
class Call:
    """What a handler knows of the call it serves."""

    caller: Caller
    services: Services
    settings: Settings
    cancelled: Cancellation = field(default_factory=Cancellation)
    report: Callable[[float, float | None, str], None] = lambda done, total, message: None
    direct: bool = False
    """A direct method, not a tool: its answer has no budget."""
    check_path: Callable[[str], object] = lambda path: None
    """Refuses a path of a mount that the verb does not work on; for paths in a list."""
    mount: Mount[Any] = field(init=False, repr=False)
    """What it is about, as its mount point opened it."""
    _answered: list[Callable[[], None]] = field(default_factory=list, repr=False)

    def when_answered(self, action: Callable[[], None]) -> None:
        """Do something, without waiting, once the answer is written: not where the call fails or
        ends before."""
        self._answered.append(action)

    def was_answered(self) -> None:
        """The answer is made; its transport knows when it is written."""
        delivery = DELIVERY.get()
        if delivery is not None:
            delivery.then(self._answered)
            return
        for action in self._answered:
            action()

    def target(self, given: str | None, use: Use) -> Target[Any]:
        """What a path argument names, for a verb that wants to `use` it so."""
        return Target(self.mount, self.mount.resolve(given, use))

    @property
    def output_chars(self) -> int:
        """The budget of its answer; 0 = none."""
        return 0 if self.direct else self.settings.max_output_chars


# ── answer ───────────────────────────────────────────────────────────────────────────────────────


Row = TypeVar("Row")


@dataclass(frozen=True)
class Image:
    """An image for ImageContent: raw bytes and MIME type."""

    data: bytes
    mime_type: str


@dataclass(frozen=True)
class Answer:
    """One tool answer; `code` is None exactly when the call succeeded."""

    text: str
    image: Image | None = None
    code: str | None = None
    structured: Mapping[str, Any] | None = None
    data: Mapping[str, Any] | None = None
    """What a direct method gives as its result; None where the text is all there is."""

    @property
    def failed(self) -> bool:
        return self.code is not None


def refusal(error: FlashgrepError) -> Answer:
    """The answer to a failed call."""
    return Answer(error.message, code=error.code)


def json_answer(data: Mapping[str, Any]) -> Answer:
    """An answer that is an object: as compact JSON for a tool, as itself for a direct method."""
    return Answer(json_text(data), data=data)


def json_refusal(error: FlashgrepError) -> Answer:
    """The answer to a failed call of a tool whose answers are JSON."""
    fault = {"code": error.code, "message": error.message, **error.details}
    return Answer(json_text({"ok": False, "error": fault}), code=error.code)


def json_room(chars: int, used: int = 0) -> int | None:
    """How much of a budget the rows of an answer may take beside `used`; None for any amount."""
    return max(chars - FOOTER_CHARS - used, chars // 2) if chars else None


def fitting(rows: Iterable[Row], room: int | None) -> list[Row]:
    """As many rows as there is room for as JSON, and at least one."""
    if room is None:
        return list(rows)
    taken: list[Row] = []
    for row in rows:
        room -= len(json_text(row)) + 1
        if room < 0 and taken:
            break
        taken.append(row)
    return taken


def first_few(items: Sequence[object], most: int, total: int | None = None) -> str:
    """The first of some items, and how many more there are: `1, 2 and 3 more`."""
    shown = items[:most]
    more = (len(items) if total is None else total) - len(shown)
    return ", ".join(map(str, shown)) + (f" and {more} more" if more else "")


def skipped_rows(skipped: Iterable[tuple[str, str]]) -> dict[str, list[list[str]]]:
    """The field of a JSON answer that lists a few of the files it lacks; none where it is whole."""
    few = sorted(skipped)[: limits.LISTED_LINES]
    return {"skipped": [[shown_path(path), reason] for path, reason in few]} if few else {}


def json_text(data: Any) -> str:
    """Compact JSON, as answers have it."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


# ── budget ───────────────────────────────────────────────────────────────────────────────────────
# The character budget of an answer: filled line by line, never cut inside one.
#
# The room for the line that says what is missing is set aside first, so an answer with it stays
# within the budget too. A first line that is larger than all of it is taken all the same: an answer
# that shows nothing cannot be continued.


class Budget:
    """Collects lines until the next one would not fit; a budget of 0 is unlimited."""

    def __init__(self, chars: int) -> None:
        self.lines: list[str] = []
        self.is_bounded = chars > 0
        self._left = max(chars - FOOTER_CHARS, chars // 2)

    def take(self, line: str) -> bool:
        """Take a line if it fits; False says it was left out and the answer is full."""
        if not self.fits(len(line)) and self.lines:
            return False
        self.lines.append(line)
        self._left -= len(line) + 1
        return True

    def take_first(self, lines: list[str]) -> int:
        """Take as many of the first lines as fit; return their number."""
        if self.is_bounded:
            return next((at for at, line in enumerate(lines) if not self.take(line)), len(lines))
        self.lines += lines
        return len(lines)

    def fits(self, chars: int) -> bool:
        """Whether a line of so many characters fits."""
        return not self.is_bounded or chars + 1 <= self._left

    @property
    def room(self) -> int | None:
        """Characters the next line may have; None where there is no budget."""
        return max(0, self._left - 1) if self.is_bounded else None

    def text(self, footer: str = "") -> str:
        """The answer: the lines taken, then the footer."""
        return "\n".join([*self.lines, footer] if footer else self.lines)

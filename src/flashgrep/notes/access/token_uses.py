"""When each token was last used: known at once in the server, on disk within a minute.

PATH/tokens-used.json   0600, replaced as a whole
    {"format": 1, "used": {name: milliseconds since 1970, …}}

Separate from the file of tokens, which decides who may enter: only people change that one, and
every process reads it again when it changes. A crash loses the last minute of uses and nothing
else. If a name is given to a new token, uses from before that token was made do not count as its
own.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

from flashgrep.errors import FlashgrepError
from flashgrep.system.atomic import is_ours_alone, open_own, replace_file
from flashgrep.system.clock import milliseconds

log = logging.getLogger(__name__)

FILE: Final = "tokens-used.json"
WRITE_SECONDS: Final = 60.0
"""How long a use may be in memory alone."""
_FORMAT: Final = 1
_MOST_BYTES: Final = 4 * 1024 * 1024


class TokenUses:
    """The last use of each token of a knowledge base, for any thread."""

    def __init__(self, home: Path, names: Callable[[], Collection[str]]) -> None:
        """`names` are those of the tokens there are: nothing else is written."""
        self._path = home / FILE
        self._names = names
        self._used: dict[str, int] = {}
        self._guard = threading.Lock()
        self._writing: threading.Timer | None = None

    def note(self, name: str) -> None:
        """A token is used now."""
        self._used[name] = milliseconds()
        if self._writing is None:
            self._write_later()

    def all(self) -> dict[str, int]:
        """When each name was used last, in milliseconds since 1970."""
        used = self._read()
        for name, time in tuple(self._used.items()):
            used[name] = max(time, used.get(name, 0))
        return used

    def last(self, name: str, made: int, used: dict[str, int]) -> int | None:
        """When a token was used last; None for one that never was."""
        time = used.get(name)
        return time if time is not None and time >= made else None

    def close(self) -> None:
        """Write what is in memory alone."""
        with self._guard:
            waiting, self._writing = self._writing, None
        if waiting is not None:
            waiting.cancel()
            self._write()

    def _write_later(self) -> None:
        with self._guard:
            if self._writing is not None:
                return
            self._writing = threading.Timer(WRITE_SECONDS, self._write)
            self._writing.name = "flashgrep-token-uses"
            self._writing.daemon = True
            self._writing.start()

    def _write(self) -> None:
        with self._guard:
            self._writing = None  # what is used from here on is written the next time
        try:
            names = self._names()
            used = {name: time for name, time in sorted(self.all().items()) if name in names}
            data = json.dumps({"format": _FORMAT, "used": used}, indent=1).encode() + b"\n"
            replace_file(self._path, [data])
        except (OSError, FlashgrepError) as error:
            log.warning("when tokens were used last is not kept: %s", error)

    def _read(self) -> dict[str, int]:
        """What the file says; nothing if there is no file, or no valid one."""
        try:
            with open_own(self._path) as file:
                if not is_ours_alone(os.fstat(file.fileno())):
                    return {}
                held: Any = json.loads(file.read(_MOST_BYTES))
            if held["format"] != _FORMAT:
                return {}
            return {str(name): int(time) for name, time in held["used"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}

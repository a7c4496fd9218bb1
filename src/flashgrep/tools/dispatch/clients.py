"""What is known of clients, by the name they give themselves: what they do with long answers.

Claude Code replaces an answer of more than about 50,000 characters by a file and a preview, unless
the tool says in its `_meta` that its answers may be longer. It has read that since version 2.1.91,
and kept to it for answers of many tokens since 2.1.98. It calls itself `claude-code` (seen with
2.1.197; `make claude` shows it).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from flashgrep import limits

LOADED_META: Final[Mapping[str, bool | int]] = {
    "anthropic/alwaysLoad": True,
    "anthropic/maxResultSizeChars": limits.RESULT_SIZE_CHARS,
}
"""What a tool says of itself that a client is to load at once, not only when it looks for it."""

_HONOURS_SIZE: Final[Mapping[str, tuple[int, ...]]] = {"claude-code": (2, 1, 98)}
"""The first version of each client that keeps to `anthropic/maxResultSizeChars`."""

_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", re.ASCII)


def takes_long_answers(client: str, version: str) -> bool:
    """Whether a client shows its model a long answer whole where the tool asks for it."""
    first = _HONOURS_SIZE.get(client)
    found = _VERSION.match(version)
    return first is not None and found is not None and tuple(map(int, found.groups())) >= first

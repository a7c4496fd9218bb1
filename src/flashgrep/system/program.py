"""The name of our own command here, for lines that people copy."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from typing import Final

NAME: Final = "flashgrep"


def own_line(*words: str) -> str:
    """A command of ours as a line that a shell can be given; words may hold anything."""
    return f"{own_command()} {shlex.join(words)}"


def own_command() -> str:
    """`flashgrep` if a shell finds it; otherwise the way this process was started."""
    if shutil.which(NAME):
        return NAME
    started = sys.argv[0]
    if os.path.basename(started) == NAME and os.path.exists(started):
        return shlex.quote(started)
    return f"{shlex.quote(sys.executable)} -m {NAME}"

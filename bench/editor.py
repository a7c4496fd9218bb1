"""`python -m bench.editor`: another program that changes files, one for each line it is sent.

A line is a JSON list: what to do, a path, the text to put there. It answers with a line when the
change is made and nothing of it is left to be written.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def append(path: Path, text: str) -> None:
    """Append a line."""
    with path.open("ab") as file:
        file.write(f"\n{text}\n".encode())


def create(path: Path, text: str) -> None:
    """Make a new file, in a directory that may be new too."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{text}\n", encoding="utf-8")


def replace(path: Path, text: str) -> None:
    """Put another file in its place, as editors do."""
    draft = path.with_name(path.name + ".draft")
    draft.write_bytes(path.read_bytes() + f"\n{text}\n".encode())
    os.replace(draft, path)


def disguise(path: Path, text: str) -> None:
    """Change it in place and leave size and time as they were."""
    status = path.stat()
    with path.open("r+b") as file:
        file.write(text.encode()[: status.st_size])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def move(path: Path, text: str) -> None:
    """Make a directory with a file somewhere else and move it here."""
    aside = path.parent.with_name(path.parent.name + ".aside")
    create(aside / path.name, text)
    os.rename(aside, path.parent)


def delete(path: Path, text: str) -> None:
    """Remove it."""
    path.unlink()


ACTIONS = {action.__name__: action for action in (append, create, replace, disguise, move, delete)}


def main() -> None:
    """Change files until there is nothing more to read."""
    for line in sys.stdin:
        action, path, text = json.loads(line)
        ACTIONS[action](Path(path), text)
        sys.stdout.write("done\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()

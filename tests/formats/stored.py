"""Copies of what earlier versions wrote, as private as the program wants them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FORMATS = sorted(path.name for path in HERE.iterdir() if path.name.isdecimal())


def copied(name: str, part: str, target: Path) -> Path:
    """A part of a stored format, in a directory that only we can write."""
    shutil.copytree(HERE / name / part, target)
    for folder, _, names in os.walk(target):
        os.chmod(folder, 0o700)
        for file in names:
            os.chmod(os.path.join(folder, file), 0o600)
    return target


def held(name: str) -> dict[str, Any]:
    """What the version that wrote a knowledge base read in it."""
    found: dict[str, Any] = json.loads((HERE / name / "kb.json").read_text(encoding="utf-8"))
    return found

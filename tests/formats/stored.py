"""Copies of what earlier versions wrote, as private as the program wants them."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

from flashgrep.notes.store.database import FORMAT

HERE = Path(__file__).parent
FORMATS = sorted(path.name for path in HERE.iterdir() if path.name.isdecimal())
EARLIER = [name for name in FORMATS if int(name) < FORMAT]
"""Those that are migrated; the rest is as this version writes it."""
WITH_INDEX = [name for name in FORMATS if (HERE / name / "index").is_dir()]


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
    return {**found, "suggestions": list(map(_stored_part, found["suggestions"]))}


def _stored_part(suggestion: dict[str, Any]) -> dict[str, Any]:
    """A suggestion without the text around it, which each version chooses anew."""
    return {key: value for key, value in suggestion.items() if key not in ("before", "after")}


def as_stored(described: dict[str, Any], name: str) -> dict[str, Any]:
    """What a knowledge base holds, without the records that this version made for marks in it.

    Each is one more change of its note: the version that it makes stands at the top.
    """
    known = {one for note in held(name)["notes"] for one in note["records"]}
    found: set[str] = set()
    notes = []
    for note in described["notes"]:
        new = {one for one, (value, _) in note["records"].items() if value.get("found")} - known
        kept = {one: record for one, record in note["records"].items() if one not in new}
        versions = note["versions"][1:] if new else note["versions"]
        notes.append({**note, "records": kept, "versions": versions})
        found |= new
    suggestions = [_stored_part(one) for one in described["suggestions"] if one["id"] not in found]
    return {**described, "notes": notes, "suggestions": suggestions}

"""The skill: a Markdown file that teaches an agent these tools, and how it is read.

It begins with front matter (`name`, `description`, `version`). Its compact form is what stands
before the second `## ` heading, without the front matter: the title and the first section.
"""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from flashgrep import limits
from flashgrep.errors import SkillNotFound, SkillUnreadable
from flashgrep.tools.dispatch.caller import content_hash
from flashgrep.workspace import names
from flashgrep.workspace.safe_open import open_named, read_at_most

PACKAGED = "skills/SKILL.md"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n+", re.DOTALL)
_VERSION = re.compile(r"^version:\s*[\"']?([^\"'\s]+)", re.MULTILINE)


@dataclass(frozen=True)
class Skill:
    """A skill as it was read."""

    source: str
    markdown: str
    hash: str
    size: int

    @property
    def version(self) -> str:
        """What its front matter says; empty where it says nothing."""
        front = _FRONT_MATTER.match(self.markdown)
        found = _VERSION.search(front[1]) if front else None
        return found[1] if found else ""

    @property
    def compact(self) -> str:
        """Its title and first section."""
        text = _FRONT_MATTER.sub("", self.markdown)
        headings = [found.start() for found in re.finditer(r"^## ", text, re.MULTILINE)]
        return text[: headings[1]].rstrip() + "\n" if len(headings) > 1 else text


def load_skill(skill_file: str) -> Skill:
    """Read the file given with --skill-file, or else the one of the package."""
    source = skill_file or PACKAGED
    path = Path(skill_file) if skill_file else Path(__file__).parents[2] / PACKAGED
    remedy = _remedy(skill_file)
    try:
        data = _read(path)
    except FileNotFoundError:
        raise SkillNotFound(f"The skill {_shown(source)} does not exist. {remedy}") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise SkillUnreadable(
            f"The skill {_shown(source)} cannot be read: {reason}. {remedy}"
        ) from None
    if len(data) > limits.SKILL_BYTES:
        raise SkillUnreadable(
            f"The skill {_shown(source)} has over {limits.SKILL_BYTES // limits.KIB} KB, more than "
            f"a skill may have. {remedy}"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise SkillUnreadable(f"The skill {_shown(source)} is not UTF-8. {remedy}") from None
    return Skill(
        source=source, markdown=text.replace("\r\n", "\n"), hash=content_hash(data), size=len(data)
    )


def _read(path: Path) -> bytes:
    fd = open_named(path)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError("it is not a regular file")
        return read_at_most(fd, limits.SKILL_BYTES + 1)
    finally:
        os.close(fd)


def _remedy(skill_file: str) -> str:
    if skill_file:
        return (
            "Put a UTF-8 Markdown file there, or start the server without --skill-file to use "
            "the one that comes with it."
        )
    return "Install flashgrep again, or start the server with --skill-file FILE."


def _shown(source: str) -> str:
    return names.shown(os.fsencode(source))

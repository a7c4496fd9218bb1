"""bootstrap_skill: give an agent the guide to these tools, once."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from flashgrep import limits
from flashgrep.errors import (
    FlashgrepError,
    InvalidTrigger,
    SkillNotFound,
    SkillUnreadable,
    TooLarge,
)
from flashgrep.tools.dispatch.call import FOOTER_CHARS, Answer, Call, json_answer, json_text
from flashgrep.tools.dispatch.caller import content_hash
from flashgrep.tools.dispatch.spec import Arguments, Parameter, ToolSpec
from flashgrep.workspace.safe_open import open_named, read_at_most
from flashgrep.workspace.scope import shown_name

# ── the skill ────────────────────────────────────────────────────────────────────────────────────
# The skill: a Markdown file that teaches an agent these tools, and how it is read.
#
# It begins with front matter (`name`, `description`, `version`). Its compact form is what comes
# before the second `## ` heading, without the front matter: the title and the first section.


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

    def refusal(kind: type[FlashgrepError], fault: str) -> FlashgrepError:
        remedy = _OWN_REMEDY if skill_file else _PACKAGED_REMEDY
        return kind(f"The skill {shown_name(os.fsencode(source))} {fault}. {remedy}")

    try:
        data = _read(path)
        if len(data) > limits.SKILL_BYTES:
            most = limits.SKILL_BYTES // limits.KIB
            raise refusal(SkillUnreadable, f"has over {most} KB, more than a skill may have")
        text = data.decode("utf-8")
    except FileNotFoundError:
        raise refusal(SkillNotFound, "does not exist") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise refusal(SkillUnreadable, f"cannot be read: {reason}") from None
    except UnicodeDecodeError:
        raise refusal(SkillUnreadable, "is not UTF-8") from None
    text = text.replace("\r\n", "\n")
    return Skill(source=source, markdown=text, hash=content_hash(data), size=len(data))


def _read(path: Path) -> bytes:
    fd = open_named(path, may_wait=False)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError("it is not a regular file")
        return read_at_most(fd, limits.SKILL_BYTES + 1)
    finally:
        os.close(fd)


_OWN_REMEDY = (
    "Put a UTF-8 Markdown file there, or start the server without --skill-file to use the one that "
    "comes with it."
)
_PACKAGED_REMEDY = "Install flashgrep again, or start the server with --skill-file FILE."


# ── bootstrap skill ──────────────────────────────────────────────────────────────────────────────


CANONICAL = "flashgrep-init"


def bootstrap_skill(call: Call, arguments: Arguments) -> Answer:
    """Give the skill, or say that this caller has it already."""
    _require_trigger(arguments.get("trigger"))
    skill = load_skill(call.settings.skill_file)
    markdown = skill.compact if arguments.get("compact") else skill.markdown
    _require_room(call, markdown)
    is_new = call.caller.introduce(skill.hash)
    injects = is_new or arguments.get("force")
    return json_answer(
        {
            "ok": True,
            "status": "injected" if injects else "already_injected",
            "canonical_trigger": CANONICAL,
            "skill": {
                "source": skill.source,
                "version": skill.version,
                "hash": skill.hash,
                "size": skill.size,
            },
            "skill_markdown": markdown if injects else "",
        }
    )


def _require_trigger(trigger: str) -> None:
    if trigger not in SPEC.names:
        shown = trigger if len(trigger) <= 80 else trigger[:77] + "..."
        raise InvalidTrigger(
            f"trigger {shown!r} asks for nothing; valid triggers: {', '.join(SPEC.names)}",
            {"allowed_triggers": list(SPEC.names)},
        )


def _require_room(call: Call, markdown: str) -> None:
    chars = len(json_text(markdown)) + FOOTER_CHARS
    if call.output_chars and chars > call.output_chars:
        raise TooLarge(
            f"The skill takes {chars:,} characters, more than one answer may hold "
            f"(--max-output-chars {call.output_chars}). Ask for it with compact: true."
        )


SPEC = ToolSpec(
    name="bootstrap_skill",
    title="Learn to use these tools",
    description=(
        "A short guide to using these tools well (which one when, paging, safe writes, what "
        "regular expressions can do), as JSON: status, canonical_trigger, skill, skill_markdown. "
        "Call it once at the start; a second call says already_injected and leaves the text out "
        "unless force is true. compact returns only the essentials."
    ),
    parameters=(
        Parameter("trigger", "string", "Any name of this tool", default=CANONICAL),
        Parameter("compact", "boolean", "Only the essentials", default=False),
        Parameter(
            "force", "boolean", "Return the text even if it was returned before", default=False
        ),
    ),
    handler=bootstrap_skill,
    toolset="index",
    aliases=("flashgrep-init", "flashgrep_init", "fgrep-boot", "fgrep_boot"),
)

"""bootstrap_skill: give an agent the guide to these tools, once."""

from __future__ import annotations

from flashgrep import limits
from flashgrep.errors import InvalidTrigger, TooLarge
from flashgrep.tools.dispatch.answer import Answer, json_answer, json_text
from flashgrep.tools.dispatch.arguments import Arguments
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec
from flashgrep.tools.dispatch.toolbox import Call
from flashgrep.tools.verbs.skill import load_skill

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
    chars = len(json_text(markdown)) + limits.FOOTER_CHARS
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
        "unless force is true. compact gives the essentials only."
    ),
    parameters=(
        Parameter("trigger", "string", "Any name of this tool", default=CANONICAL),
        Parameter("compact", "boolean", "Only the essentials", default=False),
        Parameter("force", "boolean", "Give the text even if it was given before", default=False),
    ),
    handler=bootstrap_skill,
    toolset="index",
    aliases=("flashgrep-init", "flashgrep_init", "fgrep-boot", "fgrep_boot"),
)

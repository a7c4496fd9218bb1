"""`python -m bench.reference`: writes docs/settings.md and docs/tools.md from their tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from flashgrep.settings import SETTINGS, Setting
from flashgrep.tools.catalog import all_tools
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec
from flashgrep.tools.mounts.wording import ON_NOTES

DOCS: Final = Path(__file__).parent.parent / "docs"
_SETTINGS_HEAD: Final = """\
# Settings

Written by `make docs` from `src/flashgrep/settings.py`; a test fails if the two differ.

Each setting is a flag of `flashgrep mcp` and `flashgrep serve` and an environment variable. The
flag wins. For a *repeatable* setting, repeat the flag; in the environment, separate the values
as in `PATH`. A *switch* takes no value as a flag, and `true` or `false` in the environment.
"""
_GROUPS: Final[Sequence[tuple[str, str, Callable[[Setting], bool]]]] = (
    (
        "Per connection",
        "Each connection to a running server may have its own. The server's own restrictions apply "
        "to all of them.",
        lambda row: row.per_connection,
    ),
    (
        "Server",
        "`flashgrep mcp` shares a running `serve` only if these are the same, except the two log "
        "settings.",
        lambda row: not row.per_connection and not row.serve_only,
    ),
    ("`serve` only", "How it is reached.", lambda row: row.serve_only),
)
_TOOLS_HEAD: Final = """\
# Tools

Written by `make docs` from the registry, `src/flashgrep/tools/`; a test fails if the two differ.

A tool is listed in the normal mode, with `--anthropic-compat`, or in both. Both can call it. A
parameter has a name in each mode, and every name is accepted in both. A name in parentheses is
accepted and not listed. Tools of the toolsets `index` and `kb` answer in JSON. They are direct
JSON-RPC methods on the sockets too, like the tools that say so.
"""
_KINDS: Final = {
    "strings": "list of strings",
    "string_or_strings": "string, or list of strings",
    "line_range": "two integers",
    "strings_by_name": "object of strings",
    "objects": "list of objects",
}


def settings_page() -> str:
    """docs/settings.md."""
    parts = [_SETTINGS_HEAD.rstrip()]
    for title, sentence, belongs in _GROUPS:
        rows = [_setting(row) for row in SETTINGS if belongs(row)]
        head = ("flag", "takes", "default", "variable", "meaning")
        parts += [f"## {title}", sentence, _table(head, rows)]
    return "\n\n".join(parts) + "\n"


def _setting(row: Setting) -> Sequence[str]:
    meaning = f"{row.help[0].upper()}{row.help[1:]}."
    takes = "a switch" if row.is_switch else f"{row.takes[0].lower()}{row.takes[1:]}"
    return (
        f"`{f'{row.flag} {row.metavar}'.strip()}`",
        takes + ("; repeatable" if row.repeatable else ""),
        _default(row),
        f"`{row.environment}`",
        f"{meaning} {row.details}".strip(),
    )


def _default(row: Setting) -> str:
    if row.is_switch:
        return "off"
    if row.default in ("", (), None):
        return "none"
    shown = ",".join(row.default) if isinstance(row.default, tuple) else f"{row.default}"
    return f"`{shown}` {row.unit}".strip()


def tools_page() -> str:
    """docs/tools.md."""
    tools = all_tools()
    overview = [
        (f"[`{spec.name}`](#{spec.name})", spec.toolset, _listed(spec), _does(spec), spec.title)
        for spec in tools
    ]
    table = _table(("tool", "toolset", "listed", "does", "title"), overview)
    return "\n\n".join([_TOOLS_HEAD.rstrip(), table, *map(_tool, tools)]) + "\n"


def _listed(spec: ToolSpec) -> str:
    modes = {"normal": spec.normal, "compat": spec.compat}
    return ", ".join(mode for mode, there in modes.items() if there) or "no"


def _does(spec: ToolSpec) -> str:
    return "reads" if spec.read_only else "overwrites"


def _tool(spec: ToolSpec) -> str:
    facts = [f"**{spec.title}.**"]
    if spec.aliases:
        facts.append("Also called " + ", ".join(f"`{name}`" for name in spec.aliases) + ".")
    if spec.role is not None:
        facts.append(f"For those with the role {spec.role.name.lower()} on some notes.")
    if spec.is_direct and not spec.answers_json:
        facts.append("A direct method too.")
    parts = [f"## {spec.name}", " ".join(facts), _quoted(spec.description)]
    on_notes = ON_NOTES.get(spec.name)
    added = on_notes.added if on_notes else ()
    if on_notes:
        parts += ["Where notes are served too, the description adds:", _quoted(on_notes.beside)]
    rows = [
        row
        for parameter in (*spec.parameters, *added)
        for row in _parameter(parameter, is_of_notes=parameter in added)
    ]
    if rows:
        parts.append(_table(("parameter", "compat", "also", "takes", "meaning"), rows))
    return "\n\n".join(parts)


def _parameter(
    parameter: Parameter, prefix: str = "", is_of_notes: bool = False
) -> Iterable[Sequence[str]]:
    compat = parameter.shown(compat=True)
    name = f"{prefix}{parameter.name}"
    meaning = [parameter.help if parameter.help.endswith(".") else f"{parameter.help}."]
    if parameter.default is not None:
        meaning.append(f"Default: `{json.dumps(parameter.default)}`.")
    if is_of_notes:
        meaning.append("Only where notes are.")
    yield (
        _unless_unlisted(f"`{name}`", parameter.listed_normal)
        + (", required" if parameter.required else ""),
        _unless_unlisted(f"`{prefix}{compat}`", parameter.listed_compat),
        ", ".join(
            f"`{other}`" for other in parameter.names if other not in (parameter.name, compat)
        ),
        _takes(parameter),
        " ".join(meaning),
    )
    for inner in parameter.fields:
        yield from _parameter(inner, f"{name}.")


def _unless_unlisted(name: str, is_listed: bool) -> str:
    return name if is_listed else f"({name})"


def _takes(parameter: Parameter) -> str:
    takes = _KINDS.get(parameter.kind, parameter.kind)
    if parameter.choices:
        takes = "one of " + ", ".join(f"`{choice}`" for choice in parameter.choices)
    return takes if parameter.minimum is None else f"{takes}, {parameter.minimum} or more"


def _quoted(text: str) -> str:
    return f"```text\n{text}\n```"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([_cell(text) for text in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


PAGES: Final[Mapping[Path, Callable[[], str]]] = {
    DOCS / "settings.md": settings_page,
    DOCS / "tools.md": tools_page,
}


def main() -> None:
    """Write both pages."""
    for path, page in PAGES.items():
        path.write_text(page(), encoding="utf-8")
        print(f"wrote {path.name}")


if __name__ == "__main__":
    main()

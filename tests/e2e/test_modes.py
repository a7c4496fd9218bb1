"""Own promise: what the two naming modes list and take, and the rules that hold for every tool."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from tests.e2e.agent import Agent, Workspace, agent, text_of
from tests.tools.registry import names_of
from tests.transports.clients import FLASHGREP, environment

INDEX = names_of("index")
NORMAL = ["grep", "glob", "view", "str_replace", "create_file", *INDEX]
COMPAT = ["grep", "glob", "read", "edit", "write", *INDEX]
WRITING = {"str_replace", "create_file", "edit", "write", "write_code", "batch_write_code"}
REPEATABLE = {"create_file", "write"}
TWO_KB = 2_048


@pytest.fixture(scope="module")
def structured(workdir: Path) -> Iterator[Agent]:
    """`--structured`, and without two tools."""
    with agent(workdir, ["--structured", "--disable-tools", "read,create_file"]) as running:
        yield running


@pytest.fixture(params=["normal", "compat"])
def either(request: pytest.FixtureRequest) -> Agent:
    """An agent in each mode."""
    running: Agent = request.getfixturevalue(request.param)
    return running


# ── what is listed, and what can be called ──────────────────────────────────────────────────────


def test_each_mode_lists_its_own_tools(normal: Agent, compat: Agent) -> None:
    assert list(normal.listed()) == NORMAL
    assert list(compat.listed()) == COMPAT


def test_tools_of_the_other_mode_can_be_called(either: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "one\n")
    assert either.text("read", file_path="f.txt") == either.text("view", path="f.txt")
    either.text("edit", file_path="f.txt", old_string="one", new_string="two")
    either.text("str_replace", path="f.txt", old_str="two", new_str="three")
    assert ws.read("f.txt") == "three\n"
    either.text("write", file_path="f.txt", content="four\n")
    either.text("create_file", path="g.txt", content="five\n")
    assert ws.read("f.txt") + ws.read("g.txt") == "four\nfive\n"


def test_an_unknown_tool_is_a_result_that_names_the_nearest(either: Agent) -> None:
    told = either.refused("str_replac", "invalid_params")
    assert "Did you mean str_replace?" in told
    assert told.endswith("Tools: " + ", ".join(either.listed()))


def test_every_tool_has_title_annotations_and_a_short_description(either: Agent) -> None:
    for name, tool in either.listed().items():
        notes = tool.annotations
        assert tool.title
        assert notes is not None
        assert notes.title == tool.title
        assert notes.read_only_hint is (name not in WRITING)
        assert notes.destructive_hint is (name in WRITING)
        assert notes.idempotent_hint is (name not in WRITING or name in REPEATABLE)
        assert notes.open_world_hint is False
        assert 0 < len((tool.description or "").encode()) < TWO_KB
        assert tool.output_schema is None


def test_every_parameter_is_described_and_no_other_is_allowed(either: Agent) -> None:
    for tool in either.listed().values():
        schema = tool.input_schema
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        assert all(row["description"] for row in schema["properties"].values())
        assert set(schema.get("required", ())) <= schema["properties"].keys()


def test_required_parameters_carry_the_names_of_the_mode(normal: Agent, compat: Agent) -> None:
    def required(agent: Agent) -> dict[str, list[str]]:
        return {
            name: tool.input_schema.get("required", []) for name, tool in agent.listed().items()
        }

    shared = {
        **{name: [] for name in ("list_files", "stats", "read_code", "bootstrap_skill")},
        "query": ["text"],
        "get_symbol": ["symbol_name"],
        "get_slice": ["file_path", "start_line", "end_line"],
        "write_code": ["file_path", "start_line", "end_line", "replacement"],
        "batch_write_code": ["operations"],
    }
    in_normal = {
        **shared,
        "grep": ["pattern"],
        "glob": [],
        "view": ["path"],
        "str_replace": ["path", "old_str"],
        "create_file": ["path", "content"],
    }
    in_compat = {
        **shared,
        "grep": ["pattern"],
        "glob": [],
        "read": ["file_path"],
        "edit": ["file_path", "old_string", "new_string"],
        "write": ["file_path", "content"],
    }
    assert required(normal) == required(normal) | in_normal
    assert required(compat) == required(compat) | in_compat


def test_only_matching_is_listed_in_compat_alone(normal: Agent, compat: Agent) -> None:
    assert "-o" in compat.listed()["grep"].input_schema["properties"]
    shown = normal.listed()["grep"].input_schema["properties"]
    assert not {"-o", "only_matching"} & shown.keys()


def test_instructions_are_short_and_name_what_is_reachable(
    normal: Agent, compat: Agent, confined: Agent, ws: Workspace
) -> None:
    for running in (normal, compat, confined):
        told = running.session.instructions or ""
        assert 0 < len(told.encode()) < TWO_KB
        assert f"Working directory (relative paths start here): {ws.root}" in told
    told = confined.session.instructions or ""
    assert f"Only these directories are reachable: {ws.root}" in told
    assert "Not reachable: **/.env" in told


# ── names of parameters ─────────────────────────────────────────────────────────────────────────

SAME: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("grep", {"include": "*.go"}, {"glob": "*.go"}),
    ("grep", {"case_insensitive": True}, {"-i": True}),
    ("grep", {"line_numbers": False}, {"-n": False}),
    ("grep", {"context_before": 1}, {"-B": 1}),
    ("grep", {"context_after": 1}, {"-A": 1}),
    ("grep", {"context": 1}, {"-C": 1}),
    ("grep", {"only_matching": True}, {"-o": True}),
    ("grep", {"path": "sub"}, {"file_path": "sub"}),
    ("glob", {"path": "sub"}, {"file_path": "sub"}),
    ("view", {"path": "a.go"}, {"file_path": "a.go"}),
    ("read", {"path": "a.go"}, {"file_path": "a.go"}),
]
ALWAYS: dict[str, dict[str, Any]] = {
    "grep": {"pattern": "needle", "output_mode": "content"},
    "glob": {"pattern": "*"},
}


@pytest.mark.parametrize(
    ("tool", "ours", "theirs"), SAME, ids=lambda row: "".join(row) if isinstance(row, dict) else row
)
def test_both_sets_of_names_mean_the_same_in_both_modes(
    normal: Agent,
    compat: Agent,
    ws: Workspace,
    tool: str,
    ours: dict[str, Any],
    theirs: dict[str, Any],
) -> None:
    text = "one\nneedle\nthree\nNEEDLE\nfive\n"
    for age, name in enumerate(("a.go", "b.py", "sub/c.go")):
        ws.file(name, text, modified=1_000 + age)
    always = ALWAYS.get(tool, {})
    answers = [
        running.text(tool, **always, **given)
        for running in (normal, compat)
        for given in (ours, theirs)
    ]
    assert answers == [answers[0]] * 4
    if always:
        assert answers[0] != normal.text(tool, **always), "the parameter changes nothing here"


def test_edits_take_both_sets_of_names(either: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "1\n")
    either.text("str_replace", file_path="f.txt", old_string="1", new_string="2")
    either.text("edit", path="f.txt", old_str="2", new_str="3")
    assert ws.read("f.txt") == "3\n"
    either.text("create_file", file_path="f.txt", content="4\n")
    either.text("write", path="f.txt", content="5\n")
    assert ws.read("f.txt") == "5\n"


def test_two_names_of_one_parameter_must_agree(either: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "x\n")
    told = either.refused("grep", "invalid_params", pattern="x", include="*.py", glob="*.js")
    for named in ("include", "glob", "*.py", "*.js"):
        assert named in told
    told = either.refused("grep", "invalid_params", pattern="x", context=1, **{"-C": 2})
    assert "context and -C" in told
    told = either.refused("view", "invalid_params", path="f.txt", file_path="g.txt")
    assert "path and file_path" in told
    assert either.text("grep", pattern="x", include="*.txt", glob="*.txt") == "f.txt"
    assert either.text("grep", pattern="x", context=1, **{"-C": "1"}) == "f.txt"


@pytest.mark.parametrize(
    ("tool", "unknown", "nearest"),
    [
        ("grep", "pattern_", "pattern"),
        ("grep", "caseInsensitive", "case_insensitive"),
        ("grep", "headlimit", "head_limit"),
        ("grep", "outputMode", "output_mode"),
        ("glob", "maxDepth", "max_depth"),
        ("view", "range", "view_range"),
        ("edit", "oldString", "old_string"),
        ("write", "contents", "content"),
    ],
)
def test_an_unknown_parameter_is_refused_with_the_nearest(
    either: Agent, tool: str, unknown: str, nearest: str
) -> None:
    told = either.refused(tool, "invalid_params", **{unknown: "x"})
    assert f"{tool} has no parameter {unknown!r}. Did you mean {nearest!r}?" in told


def test_a_missing_parameter_is_named(either: Agent) -> None:
    assert "pattern" in either.refused("grep", "invalid_params")
    told = either.refused("edit", "invalid_params", file_path="f.txt", old_string="x")
    assert "new_string" in told


def test_numbers_and_booleans_may_be_strings(either: Agent, ws: Workspace) -> None:
    ws.numbered("f.txt", 9, L3="Needle", L7="needle")
    plain = either.text(
        "grep",
        pattern="needle",
        output_mode="content",
        context=1,
        head_limit=1,
        offset=1,
        case_insensitive=True,
    )
    spelled = either.text(
        "grep",
        pattern="needle",
        output_mode="content",
        context="1",
        head_limit="1",
        offset="1.0",
        case_insensitive="true",
    )
    assert spelled == plain == "f.txt-6-line 6\nf.txt:7:needle\nf.txt-8-line 8"
    assert either.text("view", path="f.txt", view_range="[3, 3]") == "     3\tNeedle"
    assert either.text("read", path="f.txt", offset="7", limit="1") == "     7\tneedle"
    assert either.text("glob", pattern="*", include_hidden="False", limit="1") == "f.txt"
    assert either.text("glob", extensions="txt") == "f.txt"
    assert "whole number" in either.refused("grep", "invalid_params", pattern="x", offset="two")
    assert "true or false" in either.refused("grep", "invalid_params", pattern="x", multiline="no")


def test_null_is_the_same_as_absent(either: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "x\n")
    nulls = dict.fromkeys(("path", "include", "type", "head_limit", "context"))
    assert either.text("grep", pattern="x", **nulls) == "f.txt"
    assert "pattern" in either.refused("grep", "invalid_params", pattern=None)


# ── results ─────────────────────────────────────────────────────────────────────────────────────

FAILURES: list[tuple[str, str, dict[str, Any]]] = [
    ("invalid_params", "grep", {"pattern": "x", "head_limit": -1}),
    ("invalid_pattern", "grep", {"pattern": "("}),
    ("not_found", "view", {"path": "missing.txt"}),
    ("not_found", "glob", {"pattern": "*", "path": "missing"}),
    ("access_denied", "view", {"path": ".env"}),
    ("access_denied", "create_file", {"path": "/etc/flashgrep-test", "content": "x"}),
    ("too_large", "read", {"path": "large.txt"}),
    ("not_unique", "str_replace", {"path": "f.txt", "old_str": "x"}),
    ("string_not_found", "str_replace", {"path": "f.txt", "old_str": "y"}),
    ("not_read", "edit", {"path": "f.txt", "old_string": "x", "new_string": "y"}),
]


@pytest.mark.parametrize(("code", "tool", "given"), FAILURES, ids=lambda row: str(row)[:30])
def test_a_failure_is_a_result_with_its_code(
    confined: Agent, ws: Workspace, code: str, tool: str, given: dict[str, Any]
) -> None:
    ws.file(".env", "x\n")
    ws.file("f.txt", "x x\n")
    ws.file("large.txt", "x" * 70_000)
    assert confined.refused(tool, code, **given)


def test_a_file_changed_after_the_read_is_a_conflict_for_write(
    either: Agent, ws: Workspace
) -> None:
    ws.file("f.txt", "one\n")
    either.text("read", file_path="f.txt")
    ws.file("f.txt", "two\n")
    either.refused("write", "conflict", file_path="f.txt", content="three\n")
    assert ws.read("f.txt") == "two\n"


def test_answers_have_no_structured_content_by_default(either: Agent, ws: Workspace) -> None:
    ws.file("f.txt", "x\n")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("grep", {"pattern": "x"}),
        ("glob", {"pattern": "*"}),
        ("view", {"path": "f.txt"}),
        ("grep", {"pattern": "("}),
    ]
    for tool, given in calls:
        assert either.call(tool, **given).structured_content is None


def test_structured_adds_it_beside_the_text(
    structured: Agent, normal: Agent, ws: Workspace
) -> None:
    for age, name in enumerate(("a.txt", "b.txt", "c.txt")):
        ws.file(name, "x\n", modified=1_000 + age)
    given: dict[str, Any] = {"pattern": "*.txt", "limit": 2}
    result = structured.call("glob", **given)
    assert text_of(result) == normal.text("glob", **given)
    assert result.structured_content == {
        "paths": ["c.txt", "b.txt"],
        "total": 3,
        "truncated": True,
        "next_offset": 2,
    }
    result = structured.call("grep", pattern="x", output_mode="content")
    assert result.structured_content == {"text": text_of(result)}
    assert structured.call("grep", pattern="(").structured_content is None


def test_structured_leaves_images_alone(structured: Agent, ws: Workspace) -> None:
    ws.file("dot.png", b"\x89PNG\r\n\x1a\n")
    result = structured.call("view", path="dot.png")
    assert isinstance(result.content[0], types.ImageContent)
    assert result.structured_content is None


# ── start-up ────────────────────────────────────────────────────────────────────────────────────


def test_a_disabled_tool_is_neither_listed_nor_called(structured: Agent, ws: Workspace) -> None:
    assert list(structured.listed()) == ["grep", "glob", "view", "str_replace", *INDEX]
    ws.file("f.txt", "x\n")
    told = structured.refused("create_file", "invalid_params", path="f.txt", content="y")
    assert "Unknown tool: 'create_file'" in told
    assert structured.refused("read", "invalid_params", path="f.txt")
    assert ws.read("f.txt") == "x\n"


START_UP = [
    (["--disable-tools", "grep,gerp"], ["--disable-tools", "'gerp'", *NORMAL, *COMPAT]),
    (["--toolsets", "file"], ["--toolsets", "'file'", "files"]),
    (["--workdir", "/nonexistent/w"], ["--workdir", "'/nonexistent/w'"]),
    (["--allow-dir", "/nonexistent/a"], ["--allow-dir", "'/nonexistent/a'"]),
    (["--deny-dir", "src/[a"], ["--deny-dir", "'src/[a'", "unclosed ["]),
    (["--max-file-size", "huge"], ["--max-file-size", "'huge'", "10MB"]),
    (["--max-output-chars", "-1"], ["--max-output-chars", "'-1'"]),
    (["--require-view-before-edit", "no"], ["'no'", "auto", "true", "false"]),
    (["--no-such-flag"], ["--no-such-flag"]),
]


@pytest.mark.parametrize(("flags", "told"), START_UP, ids=lambda row: row[0])
def test_a_setting_that_cannot_be_ends_the_start_naming_the_valid_values(
    tmp_path: Path, flags: list[str], told: list[str]
) -> None:
    run = subprocess.run(
        [*FLASHGREP, "mcp", *flags],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(tmp_path),
        timeout=120,
        check=False,
    )
    assert run.returncode == 2
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    for part in told:
        assert part in run.stderr

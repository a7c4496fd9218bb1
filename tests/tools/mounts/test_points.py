"""Where arguments lead: to files or notes, and which tools take which."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flashgrep.errors import SettingsError
from flashgrep.notes.home import Home
from flashgrep.tools.dispatch.spec import ToolSpec
from tests.tools.registry import names_of
from tests.tools.workshop import Workshop, workshop, workshop_with_notes

FILES_ONLY: list[tuple[str, dict[str, Any], str]] = [
    ("create_file", {"path": "kb://New.md", "content": "x"}, "do not create them; use edit"),
    ("write", {"path": "kb://Plan.md", "content": "x"}, "use edit"),
    (
        "write_code",
        {"file_path": "kb://Plan.md", "start_line": 1, "end_line": 1, "replacement": ""},
        "use edit",
    ),
    (
        "batch_write_code",
        {
            "operations": [
                {"file_path": "a.txt", "start_line": 1, "end_line": 1, "replacement": ""},
                {"file_path": "kb://Plan.md", "start_line": 1, "end_line": 1, "replacement": ""},
            ]
        },
        "use edit",
    ),
    ("get_slice", {"file_path": "kb://Plan.md", "start_line": 1, "end_line": 1}, "use read"),
    ("read_code", {"file_path": "kb://Plan.md"}, "use read"),
]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop_with_notes(tmp_path) as made:
        made.note("Plan.md", "a note\n")
        made.file("a.txt", "a file\n")
        yield made


@pytest.mark.parametrize(("tool", "given", "told"), FILES_ONLY, ids=[row[0] for row in FILES_ONLY])
def test_a_tool_for_files_refuses_a_note_naming_the_one_to_use(
    shop: Workshop, tool: str, given: dict[str, Any], told: str
) -> None:
    answer = shop.call(tool, **given)
    assert answer.code == "invalid_params"
    assert "is a note" in answer.text
    assert told in answer.text
    assert (shop.root / "a.txt").read_text() == "a file\n"
    assert [path.name for path in shop.root.iterdir()] == ["a.txt"]


def test_a_best_effort_batch_refuses_the_operation_on_a_note_alone(shop: Workshop) -> None:
    operations = [
        {"file_path": path, "start_line": 1, "end_line": 1, "replacement": "new"}
        for path in ("a.txt", "kb://Plan.md")
    ]
    answer = shop.json("batch_write_code", operations=operations, mode="best_effort")
    assert [row["status"] for row in answer["results"]] == ["applied", "failed"]
    assert "kb://Plan.md is a note" in answer["results"][1]["reason"]
    assert (shop.root / "a.txt").read_text() == "new\n"


ON_NOTES: list[tuple[str, dict[str, Any]]] = [
    ("read", {"path": "kb://Plan.md"}),
    ("view", {"path": "kb://Plan.md"}),
    ("grep", {"path": "kb://", "pattern": "x"}),
    ("glob", {"path": "kb://", "pattern": "*"}),
    ("glob", {"pattern": "kb://*.md"}),
    ("edit", {"path": "kb://Plan.md", "old_string": "a", "new_string": "b"}),
    ("str_replace", {"path": "kb://Plan.md", "old_str": "a", "new_str": "b"}),
]


@pytest.mark.parametrize(("tool", "given"), [*ON_NOTES, *[row[:2] for row in FILES_ONLY]])
def test_without_a_knowledge_base_notes_are_unavailable(
    tmp_path: Path, tool: str, given: dict[str, Any]
) -> None:
    with workshop(tmp_path) as shop:
        answer = shop.call(tool, **given)
        assert answer.code == "unavailable"
        assert (
            "flashgrep kb init --kb ~/notes, then start flashgrep serve --kb ~/notes" in answer.text
        )


def test_a_call_without_a_path_means_the_workspace(shop: Workshop) -> None:
    assert shop.text("grep", pattern="a ") == "a.txt"
    assert shop.text("glob", pattern="*") == "a.txt"
    assert shop.text("grep", pattern="a ", path="kb://") == "kb://Plan.md"
    assert shop.text("glob", pattern="*", path="kb://") == "kb://Plan.md"
    assert shop.text("glob", pattern="kb://*") == "kb://Plan.md"
    shop.file("readme.txt", "see kb://Plan.md\n")
    assert shop.text("grep", pattern="kb://Plan") == "readme.txt"


def test_without_a_workspace_it_means_the_notes(tmp_path: Path) -> None:
    with workshop_with_notes(tmp_path, no_workspace=True) as shop:
        shop.note("Work/Plan.md", "a note\n")
        shop.file("a.txt", "a file\n")
        for given in ({}, {"path": "Work"}, {"path": "kb://"}, {"path": "."}, {"path": "Work/"}):
            assert shop.text("grep", pattern="a ", **given) == "Work/Plan.md"
            assert shop.text("glob", pattern="*", **given) == "Work/Plan.md"
        assert "is empty" in shop.refused("grep", "invalid_params", pattern="a", path="")
        assert shop.application.services.index.status().state == "off"


def test_the_knowledge_base_is_no_part_of_the_workspace(tmp_path: Path) -> None:
    Home.create(tmp_path / "work-kb")
    root = tmp_path / "work"
    root.mkdir()
    inside = root / "notes"
    Home.create(inside)
    with workshop(tmp_path, kb=inside) as shop:
        shop.file("a.txt", "SQLite\n")
        assert shop.text("grep", pattern="SQLite") == "a.txt"
        assert shop.text("glob", pattern="**") == "a.txt"
        for path in (inside, inside / "notes.db", inside / "lock"):
            assert shop.call("view", path=str(path)).code == "access_denied"
        shop.refused("create_file", "access_denied", path=str(inside / "x"), content="x")


# ── what is listed ──────────────────────────────────────────────────────────────────────────────

INDEX = " ".join(names_of("index"))
OF_NOTES = "get_links list_my_suggestions reply_comment"
LISTS: list[tuple[dict[str, Any], str]] = [
    ({}, f"grep glob view str_replace create_file read edit {INDEX} {OF_NOTES}"),
    ({"anthropic_compat": True}, f"grep glob read edit write {INDEX} {OF_NOTES}"),
    ({"no_workspace": True}, "grep glob read edit get_links"),
    ({"no_workspace": True, "anthropic_compat": True}, "grep glob read edit get_links"),
    ({"no_workspace": True, "toolsets": ("files",)}, "grep glob read edit"),
    ({"no_workspace": True, "disable_tools": ("edit",)}, "grep glob read get_links"),
    (
        {"toolsets": ("files", "kb")},
        f"grep glob view str_replace create_file read edit {OF_NOTES}",
    ),
    ({"toolsets": ("kb",)}, f"read edit {OF_NOTES}"),
    ({"toolsets": ("files",)}, "grep glob view str_replace create_file"),
]


@pytest.mark.parametrize(("given", "expected"), LISTS, ids=range(len(LISTS)))
def test_what_is_listed_with_notes(tmp_path: Path, given: dict[str, Any], expected: str) -> None:
    with workshop_with_notes(tmp_path, **given) as shop:
        listed = shop.application.toolbox.listed(shop.caller)
        assert " ".join(tool.name for tool in listed) == expected


def test_the_view_of_a_note_is_a_parameter_only_where_notes_are(tmp_path: Path) -> None:
    def views(shop: Workshop) -> set[str]:
        listed = shop.application.toolbox.listed()
        return {tool.name for tool in listed if "view" in tool.input_schema["properties"]}

    with workshop(tmp_path, anthropic_compat=True) as shop:
        assert views(shop) == set()
        assert "has no parameter 'view'" in shop.call("grep", pattern="x", view="raw").text
    with workshop_with_notes(tmp_path) as shop:
        assert views(shop) == {"grep", "read"}


def test_without_a_workspace_parameters_have_claude_codes_names(tmp_path: Path) -> None:
    with workshop_with_notes(tmp_path, no_workspace=True) as shop:
        schemas = {tool.name: tool.input_schema for tool in shop.application.toolbox.listed()}
        assert {"pattern", "path", "output_mode", "-i", "-A", "-B", "-C", "head_limit"} <= set(
            schemas["grep"]["properties"]
        )
        assert schemas["read"]["required"] == ["file_path"]
        assert schemas["edit"]["required"] == ["file_path", "old_string", "new_string"]


@pytest.mark.parametrize("given", [{}, {"no_workspace": True}, {"anthropic_compat": True}])
def test_descriptions_and_instructions_tell_of_notes_and_stay_short(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    with workshop_with_notes(tmp_path, **given) as shop:
        toolbox = shop.application.toolbox
        assert "suggestion" in toolbox.instructions
        assert len(toolbox.instructions.encode()) < 2_048
        for tool in toolbox.listed():
            assert len(tool.description.encode()) < 2_048
            if tool.name in ("grep", "glob", "read", "edit"):
                assert "note" in tool.description.lower()
                assert ("kb://" in tool.description) == ("no_workspace" not in given)
                assert ("gitignore" in tool.description) <= ("no_workspace" not in given)


@pytest.mark.parametrize(
    "given",
    [
        {"read_only": True},
        {"read_only": True, "no_workspace": True},
        {"disable_tools": ("edit", "grep")},
        {"toolsets": ("index", "kb"), "disable_tools": ("glob",)},
        {"toolsets": ("index",)},
    ],
    ids=str,
)
def test_the_instructions_name_no_tool_that_is_not_there(
    tmp_path: Path, given: dict[str, Any]
) -> None:
    with workshop_with_notes(tmp_path, **given) as shop:
        toolbox = shop.application.toolbox
        there = {name for tool in toolbox.listed() for name in (tool.name, "flashgrep")}
        words = set(re.findall(r"[a-z_]+", toolbox.instructions))
        assert words & {"grep", "glob", "edit", "str_replace", "write_code"} <= there


def test_without_notes_nothing_is_said_of_them(tmp_path: Path) -> None:
    with workshop(tmp_path, anthropic_compat=True) as shop:
        toolbox = shop.application.toolbox
        texts = [toolbox.instructions, *(tool.description for tool in toolbox.listed())]
        assert not [text for text in texts if "kb://" in text]


# ── settings ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"no_workspace": True}, "--no-workspace needs --kb PATH"),
        ({"toolsets": ("kb",)}, "kb needs --kb PATH"),
        ({"kb": Path("/no/such/place")}, "--kb: no knowledge base in /no/such/place"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    tmp_path: Path, given: dict[str, Any], told: str
) -> None:
    with pytest.raises(SettingsError, match=told), workshop(tmp_path, **given):
        pass


def test_an_index_without_a_workspace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="index is for a workspace"):
        _open(tmp_path, no_workspace=True, toolsets=("index",))


def test_a_knowledge_base_around_the_workspace_is_refused(tmp_path: Path) -> None:
    Home.create(tmp_path / "kb")
    (tmp_path / "kb" / "work").mkdir()
    with (
        pytest.raises(SettingsError, match=r"--kb: .* holds the workdir"),
        workshop(tmp_path / "kb", kb=tmp_path / "kb"),
    ):
        pass


def _open(tmp_path: Path, **given: Any) -> None:
    with workshop_with_notes(tmp_path, **given):
        pass


def test_what_notes_add_is_told_of_tools_that_are_there() -> None:
    from flashgrep.tools.catalog import all_tools
    from flashgrep.tools.mounts.wording import INSTEAD, ON_NOTES

    rows: dict[str, ToolSpec] = {row.name: row for row in all_tools()}
    assert set(ON_NOTES) == {"grep", "glob", "read", "view", "edit", "str_replace"}
    assert rows.keys() >= ON_NOTES.keys() | INSTEAD.keys()
    for name, wording in ON_NOTES.items():
        told = {*wording.parameters, *wording.defaults, *wording.hidden}
        assert told <= {parameter.name for parameter in rows[name].parameters}

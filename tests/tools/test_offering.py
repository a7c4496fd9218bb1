"""What a server says of its tools: about notes where it has notes, and nothing that is not so."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.notes_desk import NotesDesk, notes_desk

_OF_FILES = re.compile(
    r"working director|\bfiles?\b(?!_path|_with)|\b(js|py|rust)\b|gitignore|node_modules|symlink"
    r"|newest first|byte|encoding",
    re.IGNORECASE,
)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[NotesDesk]:
    with notes_desk(tmp_path, no_workspace=True) as made:
        yield made


def test_a_server_of_notes_alone_describes_notes_and_no_files(alone: NotesDesk) -> None:
    for tool in alone.application.toolbox.listed(alone.caller):
        said = {"title": tool.spec.title, "description": tool.description}
        for name, schema in tool.input_schema["properties"].items():
            said[name] = f"{name} {schema['description']}"
        for what, text in said.items():
            # Two values that callers know by these names, and they are said to be notes.
            plain = text.replace("notes (file)", "").replace('"files_with_matches"', "")
            found = _OF_FILES.search(plain.replace("file_path", ""))
            assert found is None, (tool.name, what, text)


def test_beside_a_workspace_the_same_tools_still_describe_files(tmp_path: Path) -> None:
    with notes_desk(tmp_path) as both:
        told = {tool.name: tool for tool in both.application.toolbox.listed(both.caller)}
        assert "working directory" in json.dumps(told["grep"].input_schema)
        assert "follow_symlinks" in told["glob"].input_schema["properties"]
        assert "kb://" in told["glob"].description


def test_the_order_that_glob_tells_is_the_order_it_has(alone: NotesDesk) -> None:
    """Own promise: sorted by path, whatever was changed last."""
    for path in ("B.md", "C/A.md", "A.md"):
        alone.note(path, "x")
    glob = next(
        tool for tool in alone.application.toolbox.listed(alone.caller) if tool.name == "glob"
    )
    assert glob.input_schema["properties"]["sort_by"]["default"] == "path"
    assert alone.lines("glob", pattern="*") == ["A.md", "B.md", "C/A.md"]
    assert alone.lines("glob", pattern="*", sort_by="modified") == ["A.md", "C/A.md", "B.md"]


def test_what_means_nothing_for_notes_is_not_listed_and_still_accepted(alone: NotesDesk) -> None:
    alone.note("A.md", "x")
    assert alone.lines("glob", pattern="*", respect_gitignore=False, follow_symlinks=True) == [
        "A.md"
    ]


MISSING: list[tuple[str, dict[str, str], str]] = [
    ("grep", {}, "Missing required parameter: pattern"),
    ("glob", {}, "Missing required parameter: pattern (or extensions)"),
    ("read", {}, "Missing required parameter: file_path (path is accepted too)"),
    ("edit", {}, "Missing required parameter: file_path (path is accepted too)"),
    (
        "edit",
        {"file_path": "A.md", "new_string": "x"},
        "Missing required parameter: old_string (old_str is accepted too)",
    ),
    ("get_links", {}, "Missing required parameter: file_path (path is accepted too)"),
]


@pytest.mark.parametrize(("tool", "given", "told"), MISSING)
def test_a_missing_parameter_is_told_in_the_words_of_the_requirement(
    alone: NotesDesk, tool: str, given: dict[str, str], told: str
) -> None:
    answer = alone.call(tool, **given)
    assert answer.code == "invalid_params"
    text = json.loads(answer.text)["error"]["message"] if tool == "get_links" else answer.text
    assert text == told


def test_a_broken_pattern_is_told_in_the_words_of_the_requirement(alone: NotesDesk) -> None:
    told = alone.refused("grep", "invalid_pattern", pattern="(unclosed")
    assert told.startswith("Invalid regex pattern: missing ): (unclosed")
    assert told.count("Invalid regex pattern") == 1

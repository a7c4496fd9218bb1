"""The decisions about the tools of the knowledge base: one test for each.

Through a real client on stdio, against a server of notes alone, in the order of the document. Each
test has notes of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.e2e.agent import Agent
from tests.e2e.notes import alone, edited, filled, raw, visitors
from tests.e2e.scenarios import scenario

NOTES: Final = {
    "Lens/Photosynthesis.md": "# Light\n\nPlants turn light into energy.\nSee [[Biology]].\n",
    "Lens/Biology.md": "# Biology\n\nThe study of life.\nSee [[Photosynthesis]] and [[Gone]].\n",
    "Exact/N.md": "one  two\nOne two\none two\n",
    "Transparent/N.md": "first line\nsecond line\n",
    "Errors/N.md": "same\nsame\n\u201ccurly\u201d\n",
    "Read/N.md": "".join(f"line {number}\n" for number in range(1, 31)),
    "Unread/N.md": "text\n",
    "All/N.md": "cat dog cat\ncat\n",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with alone(tmp_path_factory.mktemp("notes"), NOTES) as running:
        yield running


# ── Mirror Claude Code tools exactly ────────────────────────────────────────────────────────────


@scenario("The knowledge base is the filesystem")
def test_the_knowledge_base_is_the_filesystem(notes: Agent) -> None:
    assert list(notes.listed()) == ["grep", "glob", "read", "edit", "get_links"]
    (found,) = notes.lines("grep", pattern="turn light", path="Lens")
    assert found == "Lens/Photosynthesis.md"
    assert found in notes.lines("glob", pattern="**/*.md")
    assert notes.lines("read", file_path=found)[0] == "     1\t# Light"


@scenario("Parameter names and semantics match Grep")
def test_parameter_names_and_semantics_match_grep(notes: Agent) -> None:
    schema = notes.listed()["grep"].input_schema
    names = {"pattern", "path", "output_mode", "-i", "-n", "-A", "-B", "-C", "head_limit"}
    assert names <= set(schema["properties"])
    assert schema["required"] == ["pattern"]
    folded = {"pattern": "PLANTS", "-i": True}
    assert notes.lines("grep", **folded) == ["Lens/Photosynthesis.md"]
    assert notes.text("grep", pattern="PLANTS") == "No matches found"


@scenario("Returns matching lines with context, file paths, line numbers")
def test_returns_matching_lines_with_context_file_paths_line_numbers(notes: Agent) -> None:
    asked = {"pattern": "study", "output_mode": "content", "-B": 2, "-A": 1}
    assert notes.lines("grep", **asked) == [
        "Lens/Biology.md-1-# Biology",
        "Lens/Biology.md-2-",
        "Lens/Biology.md:3:The study of life.",
        "Lens/Biology.md-4-See [[Photosynthesis]] and [[Gone]].",
    ]


@scenario("Uses file_path, old_string, new_string parameters")
def test_uses_file_path_old_string_new_string_parameters(notes: Agent) -> None:
    schema = notes.listed()["edit"].input_schema
    assert schema["required"] == ["file_path", "old_string", "new_string"]


@scenario("Exact string replacement semantics")
def test_exact_string_replacement_semantics(notes: Agent) -> None:
    edited(notes, "Exact/N.md", "one  two", "1")
    assert raw(notes, "Exact/N.md") == "{--one  two--}{++1++}\nOne two\none two"
    notes.refused(
        "edit", "string_not_found", file_path="Exact/N.md", old_string="one   two", new_string="x"
    )
    edited(notes, "Exact/N.md", "one two", "2")
    assert raw(notes, "Exact/N.md") == "{--one  two--}{++1++}\nOne two\n{--one two--}{++2++}"


@scenario("The CriticMarkup wrapping is transparent to the AI")
def test_the_criticmarkup_wrapping_is_transparent_to_the_ai(notes: Agent) -> None:
    path = "Transparent/N.md"
    told = edited(notes, path, "first", "1st")
    assert "{" not in told
    shown = notes.lines("read", file_path=path)
    assert shown[:2] == ["     1\t1st line", "     2\tsecond line"]
    assert notes.lines("grep", pattern="1st", path=path) == [path]
    assert notes.text("grep", pattern="first", path=path) == "No matches found"
    notes.text("edit", file_path=path, old_string="1st line", new_string="line 1")
    assert raw(notes, path) == "{--first line--}{++line 1++}\nsecond line"


@scenario("Error messages match Claude Code's Edit error patterns")
def test_error_messages_match_claude_code_s_edit_error_patterns(notes: Agent) -> None:
    path = "Errors/N.md"
    notes.text("read", file_path=path)

    def told(code: str, old: str, new: str) -> str:
        return notes.refused("edit", code, file_path=path, old_string=old, new_string=new)

    missing = told("string_not_found", "absent", "x")
    assert "old_string not found in Errors/N.md. Make sure it matches exactly." in missing
    assert "String to replace not found in file." in missing
    twice = told("not_unique", "same", "x")
    assert "old_string is not unique in Errors/N.md (2 occurrences found)" in twice
    assert "Include more surrounding context to make it unique." in twice
    assert "Found 2 matches of the string to replace, but replace_all is false" in twice
    assert "No changes to make" in told("invalid_params", "same", "same")
    assert told("invalid_params", "", "x") == "old_string must not be empty"
    gone = notes.refused(
        "edit", "not_found", file_path="Errors/M.md", old_string="a", new_string="b"
    )
    assert gone.startswith("Document not found: Errors/M.md. File does not exist.")


# ── Tools already built ─────────────────────────────────────────────────────────────────────────


@scenario("read mirrors Claude Code's Read tool")
def test_read_mirrors_claude_code_s_read_tool(notes: Agent) -> None:
    schema = notes.listed()["read"].input_schema
    assert {"file_path", "offset", "limit"} <= set(schema["properties"])
    shown = notes.lines("read", file_path="Read/N.md", offset=9, limit=2)
    assert shown == ["     9\tline 9", "    10\tline 10"]


@scenario("glob mirrors Claude Code's Glob tool")
def test_glob_mirrors_claude_code_s_glob_tool(notes: Agent) -> None:
    schema = notes.listed()["glob"].input_schema
    assert {"pattern", "path"} <= set(schema["properties"])
    assert notes.lines("glob", pattern="Lens/*.md") == ["Lens/Biology.md", "Lens/Photosynthesis.md"]
    inside = notes.lines("glob", pattern="*.md", path="Lens")
    assert inside == ["Lens/Biology.md", "Lens/Photosynthesis.md"]
    assert notes.text("glob", pattern="*.canvas") == "No files found"


@scenario("get_links is knowledge-base-specific")
def test_get_links_is_knowledge_base_specific(notes: Agent) -> None:
    told = json.loads(notes.text("get_links", file_path="Lens/Biology.md"))
    assert [(row["path"], row["line"]) for row in told["outgoing"]] == [
        ("Lens/Photosynthesis.md", 4),
        (None, 4),
    ]
    assert [(row["source"], row["line"]) for row in told["backlinks"]] == [
        ("Lens/Photosynthesis.md", 4)
    ]
    assert [row["target"] for row in told["unresolved"]] == ["Gone"]


# ── Read-before-edit enforcement ────────────────────────────────────────────────────────────────


@scenario("The server tracks which documents each MCP session has read")
def test_the_server_tracks_which_documents_each_mcp_session_has_read(tmp_path: Path) -> None:
    kb = filled(tmp_path / "kb", {"N.md": "text\n", "M.md": "text\n"})
    with visitors(tmp_path / "work", kb, "one", "other") as (one, other):
        one.text("read", file_path="N.md")
        asked = {"old_string": "text", "new_string": "word"}
        other.refused("edit", "not_read", file_path="N.md", **asked)
        one.refused("edit", "not_read", file_path="M.md", **asked)
        one.text("edit", file_path="N.md", **asked)


@scenario("Edits on unread documents are rejected with a clear error")
def test_edits_on_unread_documents_are_rejected_with_a_clear_error(notes: Agent) -> None:
    asked = {"file_path": "Unread/N.md", "old_string": "text", "new_string": "word"}
    told = notes.refused("edit", "not_read", **asked)
    assert "You must read this document before editing it." in told
    assert 'Call the read tool with file_path: "Unread/N.md" first.' in told
    assert "File has not been read yet. Read it first before writing to it." in told
    assert raw(notes, "Unread/N.md") == "text"


# ── Discretion, and what is deferred ────────────────────────────────────────────────────────────


@scenario("Whether to support replace_all")
def test_whether_to_support_replace_all(notes: Agent) -> None:
    path = "All/N.md"
    notes.text("read", file_path=path)
    notes.text("edit", file_path=path, old_string="cat", new_string="cow", replace_all=True)
    assert raw(notes, path) == ("{--cat--}{++cow++} dog {--cat--}{++cow++}\n{--cat--}{++cow++}")


@scenario("Do not include write, delete, rename or batch operations")
def test_do_not_include_write_delete_rename_or_batch_operations(notes: Agent) -> None:
    for tool in ("write", "create_file", "delete", "move", "rename", "batch_write_code"):
        assert tool not in notes.listed()
        told = notes.refused(tool, "invalid_params", file_path="New.md", content="text")
        assert "Unknown tool" in told
    assert notes.text("glob", pattern="New.md") == "No files found"

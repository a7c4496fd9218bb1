"""The patterns, pitfalls and design decisions of the knowledge base's tools: one test for each.

Through a real client on stdio, against a server of notes alone, in the order of the document. Each
test has notes of its own.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from tests.e2e.agent import Agent, agent, text_of
from tests.e2e.notes import alone, edited, filled, raw, visitors
from tests.e2e.scenarios import scenario

NOTES: Final = {
    "Lens/Photosynthesis.md": (
        "Plants\n\nconvert sunlight through photosynthesis.\nx\ny\nphotosynthesis\n"
    ),
    "Lens/Biology 101.md": "About photosynthesis.\n",
    "Other/Notes.md": "nothing\n",
    "Reads/A.md": "text\n",
    "Reads/B.md": "text\n",
    "Edit/N.md": "hello world\n",
    "Signature/N.md": "hello world\n",
    "Recorded/N.md": "a\nb\nc\n",
    "Guards/N.md": "".join(f"word{number:02}\n" for number in range(40)),
    "Delimiters/N.md": "plain\nuse {{-- blade --}} here\n",
    "Wrapped/N.md": "old text and old text again\n",
    "Bytes/N.md": "é日本😀 target e\u0301 \U0001f469\u200d\U0001f467 target2\n",
    "Toctou/N.md": "".join(f"line {number:02} here\n" for number in range(40)),
    "Redos/N.md": "a" * 5_000 + "b\n",
    "Identity/N.md": "text\n",
    "Raw/N.md": "keep old end\n",
    "All/N.md": "cat cat\n",
    "Format/N.md": "keep old end\n",
    "Success/N.md": "one\ntwo\n",
    "Safety/N.md": "alpha beta gamma\n",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with alone(tmp_path_factory.mktemp("notes"), NOTES) as running:
        yield running


def all_at_once(notes: Agent, calls: list[tuple[str, dict[str, Any]]]) -> list[str]:
    """Make all calls together; their texts, in the order of the calls. All must succeed."""

    async def gather() -> list[str]:
        told = [""] * len(calls)

        async def one(at: int, tool: str, arguments: dict[str, Any]) -> None:
            result = await notes.session.call_tool(tool, arguments)
            assert not result.is_error, text_of(result)
            told[at] = text_of(result)

        async with anyio.create_task_group() as tasks:
            for at, (tool, arguments) in enumerate(calls):
                tasks.start_soon(one, at, tool, arguments)
        return told

    return notes.portal.call(gather)


# ── Architecture Patterns ───────────────────────────────────────────────────────────────────────


@scenario("Pattern 1: Session-Scoped Read Tracking")
def test_pattern_1_session_scoped_read_tracking(notes: Agent) -> None:
    asked = {"old_string": "text", "new_string": "word"}
    notes.refused("edit", "not_read", file_path="Reads/A.md", **asked)
    notes.text("read", file_path="Reads/A.md")
    notes.text("edit", file_path="Reads/A.md", **asked)
    notes.refused("edit", "not_read", file_path="Reads/B.md", **asked)


@scenario("Pattern 2: Grep Tool")
def test_pattern_2_grep_tool(notes: Agent) -> None:
    files = ["Lens/Biology 101.md", "Lens/Photosynthesis.md"]
    assert notes.lines("grep", pattern=r"photo\w+sis") == files
    assert notes.lines("grep", pattern="photosynthesis", path="Lens/Biology 101.md") == files[:1]
    assert notes.text("grep", pattern="photosynthesis", path="Other") == "No matches found"
    assert notes.lines("grep", pattern="photosynthesis", head_limit=1)[:-1] == files[:1]
    told = notes.refused("grep", "invalid_pattern", pattern="(unclosed")
    assert "(unclosed" in told


@scenario("Output format in content mode")
def test_output_format_in_content_mode(notes: Agent) -> None:
    """With `--` between groups, as the grep of files has it, context or not."""
    asked = {"pattern": "photosynthesis", "path": "Lens", "output_mode": "content"}
    assert notes.lines("grep", **asked) == [
        "Lens/Biology 101.md:1:About photosynthesis.",
        "--",
        "Lens/Photosynthesis.md:3:convert sunlight through photosynthesis.",
        "--",
        "Lens/Photosynthesis.md:6:photosynthesis",
    ]
    assert notes.lines("grep", **asked, **{"-A": 1})[-4:] == [
        "Lens/Photosynthesis.md:3:convert sunlight through photosynthesis.",
        "Lens/Photosynthesis.md-4-x",
        "--",
        "Lens/Photosynthesis.md:6:photosynthesis",
    ]


@scenario("Output format in files_with_matches mode")
def test_output_format_in_files_with_matches_mode(notes: Agent) -> None:
    asked = {"pattern": "photosynthesis", "output_mode": "files_with_matches"}
    assert notes.lines("grep", **asked) == ["Lens/Biology 101.md", "Lens/Photosynthesis.md"]
    assert notes.lines("grep", pattern="photosynthesis") == notes.lines("grep", **asked)


@scenario("Output format in count mode")
def test_output_format_in_count_mode(notes: Agent) -> None:
    asked = {"pattern": "photosynthesis", "output_mode": "count"}
    assert notes.lines("grep", **asked) == ["Lens/Biology 101.md:1", "Lens/Photosynthesis.md:2"]


@scenario("Pattern 3: Edit Tool")
def test_pattern_3_edit_tool(notes: Agent) -> None:
    edited(notes, "Edit/N.md", "world", "earth")
    assert raw(notes, "Edit/N.md") == "hello {--world--}{++earth++}"
    told = notes.refused(
        "edit", "not_found", file_path="Edit/M.md", old_string="world", new_string="x"
    )
    assert "Document not found: Edit/M.md" in told


@scenario("Pattern 4: Tool Signature Bifurcation")
def test_pattern_4_tool_signature_bifurcation(notes: Agent) -> None:
    """Only read and edit know of reads: a search of the note and its links are no reading."""
    path = "Signature/N.md"
    notes.text("grep", pattern="hello", path=path, output_mode="content")
    notes.text("glob", pattern="Signature/*")
    notes.text("get_links", file_path=path)
    asked = {"file_path": path, "old_string": "world", "new_string": "earth"}
    notes.refused("edit", "not_read", **asked)
    notes.text("read", file_path=path)
    notes.text("edit", **asked)


# ── Anti-Patterns to Avoid ──────────────────────────────────────────────────────────────────────


@scenario("Using tantivy for the grep tool")
def test_using_tantivy_for_the_grep_tool(notes: Agent) -> None:
    """Regular expressions and punctuation count, and the order is that of paths, not of ranks."""
    assert notes.text("grep", pattern=r"sunlight.*sis\.$", output_mode="count") == (
        "Lens/Photosynthesis.md:1"
    )
    assert notes.text("grep", pattern="photosynthesi$") == "No matches found"


@scenario("Forgetting to record reads in the read tool")
def test_forgetting_to_record_reads_in_the_read_tool(notes: Agent) -> None:
    notes.text("read", file_path="Recorded/N.md", offset=3, limit=1)
    asked = {"file_path": "Recorded/N.md", "new_string": "x"}
    told = notes.text("edit", old_string="a", **asked)
    assert "had changed" not in told
    told = notes.text("edit", old_string="b", **asked)
    assert "had changed" not in told


@scenario("Holding guards across Y.Doc mutations")
def test_holding_guards_across_y_doc_mutations(notes: Agent) -> None:
    """Reads, searches and edits of one note at once: all end, and each edit is made once."""
    path = "Guards/N.md"
    notes.text("read", file_path=path)
    calls: list[tuple[str, dict[str, Any]]] = []
    for number in range(20):
        word = f"word{number:02}"
        calls.append(("edit", {"file_path": path, "old_string": word, "new_string": word.upper()}))
        calls.append(("read", {"file_path": path}))
        calls.append(("grep", {"pattern": "word", "path": path}))
        calls.append(("get_links", {"file_path": path}))
    all_at_once(notes, calls)
    lines = raw(notes, path).split("\n")
    assert lines[:20] == [f"{{--word{n:02}--}}{{++WORD{n:02}++}}" for n in range(20)]
    assert lines[20:] == [f"word{n:02}" for n in range(20, 40)]


@scenario("Escaping CriticMarkup delimiters in content")
def test_escaping_criticmarkup_delimiters_in_content(notes: Agent) -> None:
    """What would end a mark early is refused by name, so markup is never malformed."""
    path = "Delimiters/N.md"
    notes.text("read", file_path=path)
    for new in ("a ++} b", "{--", "x {>>note<<}", "{~~a~>b~~}"):
        told = notes.refused(
            "edit", "invalid_params", file_path=path, old_string="plain", new_string=new
        )
        assert "which begins or ends a mark" in told
    before = raw(notes, path)
    assert before == NOTES[path].rstrip("\n")
    notes.text("edit", file_path=path, old_string="plain", new_string="{ + - } {+ -}")
    assert raw(notes, path).startswith("{--plain--}{++{ + - } {+ -}++}\n")


@scenario("Applying edit to CriticMarkup-wrapped text")
def test_applying_edit_to_criticmarkup_wrapped_text(notes: Agent) -> None:
    """Text that a suggestion takes away is no longer found, and marks are never nested."""
    path = "Wrapped/N.md"
    edited(notes, path, "old text and", "new text and")
    told = edited(notes, path, "old text again", "newer")
    assert "replaced 14 characters" in told
    assert raw(notes, path) == (
        "{--old text and--}{++new text and++} {--old text again--}{++newer++}"
    )
    edited(notes, path, "and newer", "or newest")
    assert raw(notes, path) == ("{--old text and old text again--}{++new text or newest++}")


# ── Common Pitfalls ─────────────────────────────────────────────────────────────────────────────


@scenario("Pitfall 1: Byte Offset Mismatch Between Content Read and Y.Doc Mutation")
def test_pitfall_1_byte_offset_mismatch_between_content_read_and_y_doc_mutation(
    notes: Agent,
) -> None:
    path = "Bytes/N.md"
    edited(notes, path, "target2", "ziel\U0001f600")
    edited(notes, path, "e\u0301 \U0001f469\u200d\U0001f467", "家族")
    edited(notes, path, "日本😀", "")
    assert raw(notes, path) == (
        "é{--日本😀--} target {--e\u0301 \U0001f469\u200d\U0001f467--}{++家族++} "
        "{--target2--}{++ziel\U0001f600++}"
    )


@scenario("Pitfall 2: TOCTOU Between Content Read and Y.Doc Edit")
def test_pitfall_2_toctou_between_content_read_and_y_doc_edit(notes: Agent) -> None:
    """Edits that all began from the same text, each moving what the others look for."""
    path = "Toctou/N.md"
    notes.text("read", file_path=path)
    calls = [
        (
            "edit",
            {"file_path": path, "old_string": f"line {n:02} here", "new_string": f"{n} " * (n + 1)},
        )
        for n in reversed(range(40))
    ]
    all_at_once(notes, calls)
    expected = [f"{{--line {n:02} here--}}{{++{f'{n} ' * (n + 1)}++}}" for n in range(40)]
    assert raw(notes, path).split("\n") == expected


@scenario("Pitfall 3: Session ID Not Reaching Tools")
def test_pitfall_3_session_id_not_reaching_tools(tmp_path: Path) -> None:
    """Who calls is known where it matters: reads are each session's, suggestions each client's."""
    kb = filled(tmp_path / "kb", {"N.md": "one two\n"})
    with visitors(tmp_path / "work", kb, "claude-code", "cursor") as (claude, cursor):
        edited(claude, "N.md", "one", "1")
        asked = {"file_path": "N.md", "old_string": "1", "new_string": "I"}
        cursor.refused("edit", "not_read", **asked)
        cursor.text("read", file_path="N.md")
        told = cursor.refused("edit", "conflict", **asked)
        assert "a pending suggestion by claude-code" in told
        claude.text("edit", **asked)
        assert raw(cursor, "N.md") == "{--one--}{++I++} two"


@scenario("Pitfall 4: DashMap Guard Across Mutable Transaction")
def test_pitfall_4_dashmap_guard_across_mutable_transaction(tmp_path: Path) -> None:
    """Two sessions edit two notes crosswise, at once: nobody waits for ever."""
    words = [f"w{number:02}" for number in range(15)]
    kb = filled(tmp_path / "kb", {name: "\n".join(words) + "\n" for name in ("A.md", "B.md")})
    with visitors(tmp_path / "work", kb, "one", "other") as agents:
        for visitor, order in zip(agents, (("A.md", "B.md"), ("B.md", "A.md")), strict=True):
            mine = words[::2] if visitor is agents[0] else words[1::2]
            for path in order:
                visitor.text("read", file_path=path)
            all_at_once(
                visitor,
                [
                    ("edit", {"file_path": path, "old_string": word, "new_string": word.upper()})
                    for word in mine
                    for path in order
                ],
            )
        expected = "\n".join(f"{{--{word}--}}{{++{word.upper()}++}}" for word in words)
        assert raw(agents[0], "A.md") == raw(agents[1], "B.md") == expected


@scenario("Pitfall 5: Regex Denial of Service")
def test_pitfall_5_regex_denial_of_service(notes: Agent) -> None:
    """The pattern takes a backtracking engine for ever on this note; the test's time limit is
    what it must keep."""
    for pattern in ("(a+)+$", "(a|aa)+$", "(a*)*$"):
        assert notes.text("grep", pattern=pattern + "X", path="Redos") == "No matches found"
    assert notes.refused("grep", "invalid_pattern", pattern=r"(a)\1", path="Redos")
    assert notes.refused("grep", "invalid_pattern", pattern="(?=a)", path="Redos")


@scenario("Pitfall 6: Recording Read State for the Wrong Document")
def test_pitfall_6_recording_read_state_for_the_wrong_document(notes: Agent) -> None:
    """However the path is spelled, it is the same document."""
    notes.text("read", file_path="kb://Identity/N.md")
    notes.text("edit", file_path="Identity/N.md", old_string="text", new_string="word")
    notes.text("edit", file_path="KB://Identity/N.md", old_string="word", new_string="sentence")
    assert raw(notes, "Identity/N.md") == "{--text--}{++sentence++}"


# ── Claude Code Tool Schemas ────────────────────────────────────────────────────────────────────


@scenario("Claude Code Edit Tool Schema")
def test_claude_code_edit_tool_schema(notes: Agent) -> None:
    schema = notes.listed()["edit"].input_schema
    kinds = {name: field["type"] for name, field in schema["properties"].items()}
    assert kinds == {
        "file_path": "string",
        "old_string": "string",
        "new_string": "string",
        "replace_all": "boolean",
    }
    assert schema["properties"]["replace_all"]["default"] is False
    assert schema["additionalProperties"] is False


@scenario("Claude Code Grep Tool Schema")
def test_claude_code_grep_tool_schema(notes: Agent) -> None:
    fields = notes.listed()["grep"].input_schema["properties"]
    wanted = [
        "pattern",
        "path",
        "output_mode",
        "-i",
        "-n",
        "-A",
        "-B",
        "-C",
        "multiline",
        "head_limit",
        "glob",
        "type",
    ]
    assert set(wanted) <= set(fields)
    assert set(fields["output_mode"]["enum"]) == {"content", "files_with_matches", "count"}


# ── Design Decisions ────────────────────────────────────────────────────────────────────────────


@scenario("Decision: Grep uses regex on raw content, NOT tantivy")
def test_decision_grep_uses_regex_on_raw_content_not_tantivy(notes: Agent) -> None:
    """By default in the view that read shows, so that its lines and strings can be edited; the raw
    content is searched on request."""
    path = "Raw/N.md"
    edited(notes, path, "old", "new")
    asked = {"path": path, "output_mode": "content"}
    assert notes.text("grep", pattern="keep.*end", **asked) == f"{path}:1:keep new end"
    assert notes.text("grep", pattern=r"\{--old--\}", **asked) == "No matches found"
    found = notes.text("grep", pattern=r"\{--old--\}", view="raw", **asked)
    assert found == f"{path}:1:keep {{--old--}}{{++new++}} end"


@scenario("Decision: No replace_all parameter in v1")
def test_decision_no_replace_all_parameter_in_v1(notes: Agent) -> None:
    """It is there, as Claude Code has it; without it the string must be unique, as decided."""
    asked = {"file_path": "All/N.md", "old_string": "cat", "new_string": "cow"}
    notes.text("read", file_path="All/N.md")
    notes.refused("edit", "not_unique", **asked)
    notes.text("edit", replace_all=True, **asked)
    assert raw(notes, "All/N.md") == "{--cat--}{++cow++} {--cat--}{++cow++}"


@scenario("Decision: read_docs HashSet on McpSession")
def test_decision_read_docs_hashset_on_mcpsession(tmp_path: Path) -> None:
    """What was read ends with the session: the same client in another one reads again."""
    kb = filled(tmp_path / "kb", {"N.md": "one two\n"})
    with visitors(tmp_path / "work", kb, "claude", "claude") as (first, second):
        edited(first, "N.md", "one", "1")
        asked = {"file_path": "N.md", "old_string": "1", "new_string": "I"}
        second.refused("edit", "not_read", **asked)
        second.text("read", file_path="N.md")
        second.text("edit", **asked)


@scenario("Decision: CriticMarkup format is {--old--}{++new++}")
def test_decision_criticmarkup_format_is_old_new(notes: Agent) -> None:
    path = "Format/N.md"
    edited(notes, path, "old", "new")
    assert raw(notes, path) == "keep {--old--}{++new++} end"
    edited(notes, path, " end", "")
    assert raw(notes, path) == "keep {--old--}{++new++}{-- end--}"


@scenario("Decision: Edit success message is simple, not detailed")
def test_decision_edit_success_message_is_simple_not_detailed(notes: Agent) -> None:
    told = edited(notes, "Success/N.md", "two", "2")
    assert told == (
        "Edited Success/N.md: replaced 3 characters. "
        "The change is wrapped in CriticMarkup for human review. Line 2."
    )


# ── Open Questions ──────────────────────────────────────────────────────────────────────────────


@scenario("Obsidian CriticMarkup visibility")
def test_obsidian_criticmarkup_visibility(tmp_path: Path) -> None:
    """Marks are readable as they are; the plugin's metadata is written where it is asked for."""
    kb = filled(tmp_path / "kb", {"N.md": "hello world\n"})
    (tmp_path / "work").mkdir()
    flags = ["--no-workspace", "--kb", str(kb), "--kb-markup", "commentator"]
    with agent(tmp_path / "work", flags) as notes:
        edited(notes, "N.md", "world", "earth")
        told = r'\{"author":"tests","time":\d{10}\}@@'
        marks = rf"hello \{{--{told}world--\}}\{{\+\+{told}earth\+\+\}}"
        assert re.fullmatch(marks, raw(notes, "N.md"))
        assert notes.lines("read", file_path="N.md")[0] == "     1\thello earth"


@scenario("Concurrent edit safety")
def test_concurrent_edit_safety(notes: Agent) -> None:
    """The same word from many calls at once: one suggestion, whatever the order."""
    path = "Safety/N.md"
    notes.text("read", file_path=path)
    asked = {"file_path": path, "old_string": "beta", "new_string": "B"}
    told = all_at_once(notes, [("edit", asked)] * 8)
    assert sum("Edited Safety/N.md: replaced 4 characters." in one for one in told) == 1
    assert raw(notes, path) == "alpha {--beta--}{++B++} gamma"


@scenario("Search index accessor")
def test_search_index_accessor() -> None:
    """grep on notes needs no search index: none is imported with them."""
    program = (
        "import sys, flashgrep.notes.knowledge_base, flashgrep.notes.reading;"
        "print([name for name in sys.modules if name.startswith('flashgrep.index')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

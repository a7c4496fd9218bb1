"""Notes as files through the real program, `flashgrep mcp --kb`, over its stdin and stdout."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import ClientSession
from tests.transports.clients import connect, serving

from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.library import Library

NOTES = {
    "Biology/Photosynthesis.md": "# Photosynthesis\n\nPlants convert sunlight into energy.\n",
    "Biology/Cells.md": "# Cells\n\nSee [[Photosynthesis]] and sunlight.\n",
    "Index.md": "Everything about plants.\n",
}


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    path = tmp_path / "kb"
    Home.create(path)
    notes = KnowledgeBase(path)
    for name, text in NOTES.items():
        notes.ask(partial(Library.create, path=name, text=text, author="ann"))
    notes.close()
    return path


class Talk:
    """A session that asks for texts."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session

    async def text(self, tool: str, **arguments: Any) -> str:
        result = await self.session.call_tool(tool, arguments)
        (content,) = result.content
        assert isinstance(content, types.TextContent)
        return f"error: {content.text}" if result.is_error else content.text


@asynccontextmanager
async def talk(work: Path, *flags: str) -> AsyncIterator[Talk]:
    async with connect("stdio", work, flags) as session:
        yield Talk(session)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    path = tmp_path / "work"
    path.mkdir()
    (path / "plants.txt").write_text("sunlight\n", encoding="utf-8")
    return path


def test_notes_beside_a_workspace(work: Path, kb: Path) -> None:
    async def run() -> None:
        async with talk(work, "--kb", str(kb)) as ask:
            listed = [tool.name for tool in (await ask.session.list_tools()).tools]
            assert {"grep", "glob", "view", "read", "edit", "get_links"} <= set(listed)
            assert "decide_suggestions" not in listed
            assert await ask.text("grep", pattern="sunlight") == "plants.txt"
            assert await ask.text("grep", pattern="sunlight", path="kb://") == (
                "kb://Biology/Cells.md\nkb://Biology/Photosynthesis.md"
            )
            found = await ask.text(
                "grep", pattern="(?i)PLANTS", path="kb://Biology", output_mode="content"
            )
            assert found == (
                "kb://Biology/Photosynthesis.md:3:Plants convert sunlight into energy."
            )
            assert await ask.text("glob", pattern="*.md", path="kb://") == "\n".join(
                f"kb://{name}" for name in sorted(NOTES)
            )
            shown = await ask.text("read", path="kb://Biology/Cells.md", offset=3)
            assert shown == "     3\tSee [[Photosynthesis]] and sunlight."
            missing = await ask.text("read", path="kb://Cells.md")
            assert missing == (
                "error: Document not found: kb://Cells.md. File does not exist. "
                "Did you mean kb://Biology/Cells.md?"
            )
            assert "use edit" in await ask.text("create_file", path="kb://New.md", content="x")

    anyio.run(run)


def test_an_edit_shows_as_a_suggestion_in_read_and_grep(work: Path, kb: Path) -> None:
    async def run() -> None:
        async with talk(work, "--kb", str(kb)) as ask:
            path = "kb://Biology/Cells.md"
            change = {"old_string": "sunlight", "new_string": "light"}
            assert "has not been read yet" in await ask.text("edit", path=path, **change)
            await ask.text("read", path=path)
            assert not (await ask.text("edit", path=path, **change)).startswith("error")
            lines = (await ask.text("read", path=path)).split("\n")
            assert lines[2] == "     3\tSee [[Photosynthesis]] and light."
            assert lines[-2] == "[Pending suggestions]"
            assert lines[-1].endswith('by tests, just now, line 3: "sunlight" -> "light"')
            raw = await ask.text(
                "grep", pattern="light", path=path, view="raw", output_mode="content"
            )
            assert raw == f"{path}:3:See [[Photosynthesis]] and {{--sunlight--}}{{++light++}}."
            assert await ask.text("grep", pattern="sunlight", path=path) == "No matches found"

    anyio.run(run)


def test_notes_alone(work: Path, kb: Path) -> None:
    async def run() -> None:
        async with talk(work, "--kb", str(kb), "--no-workspace") as ask:
            listed = [tool.name for tool in (await ask.session.list_tools()).tools]
            assert listed == ["grep", "glob", "read", "edit", "get_links"]
            assert await ask.text("grep", pattern="sunlight") == (
                "Biology/Cells.md\nBiology/Photosynthesis.md"
            )
            assert await ask.text("glob", pattern="**", path="Biology") == (
                "Biology/Cells.md\nBiology/Photosynthesis.md"
            )
            shown = await ask.text("read", file_path="Index.md")
            assert shown == "     1\tEverything about plants."
            assert "Unknown tool" in await ask.text("create_file", path="x.md", content="x")
            assert not (work / "x.md").exists()

    anyio.run(run)


def test_the_program_says_what_is_wrong_with_a_knowledge_base(work: Path, tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match=r"--kb: no knowledge base in .*kb init"),
        serving(work, ["--kb", str(tmp_path / "none")]),
    ):
        pass

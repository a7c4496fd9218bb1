"""A mount that no verb knows: documents in a dictionary answer every verb through the toolbox."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from flashgrep.errors import NotFound, NotRead, NotUnique, StringNotFound
from flashgrep.mount import Document, Entries, Mount, SearchedTree, StringEdit, Use
from flashgrep.search.result import (
    Report,
    SearchQuestion,
    SearchResult,
)
from flashgrep.search.scan.fair_queue import CancelFlag
from flashgrep.search.scan.texts import TextResult, TextSearch
from flashgrep.tools.catalog import all_tools
from flashgrep.tools.dispatch.call import Answer, Call
from flashgrep.tools.dispatch.caller import Caller, content_hash
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.tools.mounts.files import FilesPoint
from flashgrep.tools.mounts.points import Asked, MountPoint, Mounts
from flashgrep.workspace.find import Chooser, FindRequest, FoundEntry
from tests.tools.workshop import Workshop, workshop

PREFIX = "mem://"


class MemoryDocument(Document):
    """One document, opened."""

    def __init__(self, path: str, data: bytes, caller: Caller) -> None:
        self.name = path
        self.shown = PREFIX + path
        self.head = data[:8000]
        self._data = data
        self._caller = caller

    def whole(self) -> bytes:
        return self._data

    def trailer(self, first: int, room: int) -> str:
        return f"[{self.shown} is kept in memory]"

    def was_shown(self) -> None:
        self._caller.remember(self.shown.encode(), content_hash(self._data))


class Memory(Mount[str]):
    """Documents in a dictionary, for one call."""

    def __init__(self, documents: dict[str, bytes], call: Call) -> None:
        self._documents = documents
        self._call = call

    def resolve(self, given: str | None, use: Use) -> str:
        return (given or "").removeprefix(PREFIX).strip("/")

    def shown(self, path: str) -> str:
        return PREFIX + path

    def is_folder(self, path: str) -> bool:
        return path not in self._documents and bool(self._below(path))

    def outline(self, path: str, chars: int) -> str:
        return "\n".join(sorted(self._below(path)))

    def _below(self, path: str) -> dict[str, bytes]:
        start = f"{path}/" if path else ""
        return {
            name.removeprefix(start): data
            for name, data in self._documents.items()
            if name.startswith(start)
        }

    def list(self, path: str, wanted: FindRequest, by: str) -> Entries:
        entries = [FoundEntry(name, len(data), 0) for name, data in self._below(path).items()]
        above = PREFIX + (f"{path}/" if path else "")
        return Entries(Chooser(wanted).chosen(entries), label=lambda shown: above + shown)

    def search(self, path: str, given: str | None, view: str | None) -> SearchedTree:
        texts = {n: d for n, d in self._documents.items() if (n + "/").startswith(path + "/")}
        texts = texts if path else self._documents

        def search(question: SearchQuestion, cancelled: CancelFlag, report: Report) -> SearchResult:
            pool = self._call.services.search.pool
            search = TextSearch(question.pattern, pool, cancelled)
            return TextResult(search, sorted(texts.items()), question)

        return SearchedTree(
            search,
            label=lambda paths: [PREFIX + path for path in paths],
            label_skipped=self.shown,
            kind="document",
        )

    def _at(self, path: str) -> bytes:
        if path not in self._documents:
            raise NotFound(f"No document {PREFIX}{path}")
        return self._documents[path]

    @contextmanager
    def read(self, path: str, view: str | None = None) -> Iterator[MemoryDocument]:
        yield MemoryDocument(path, self._at(path), self._call.caller)

    def edit(self, path: str, edit: StringEdit) -> str:
        text = self._at(path).decode()
        if edit.needs_read and self._call.caller.seen(self.shown(path).encode()) is None:
            raise NotRead("read it first")
        count = text.count(edit.old)
        if not count:
            raise StringNotFound(f"{edit.word} not found")
        if count > 1 and not edit.replace_all:
            raise NotUnique(f"{edit.word} stands {count} times")
        self._documents[path] = text.replace(edit.old, edit.new).encode()
        return f"{count} replaced in {self.shown(path)}"

    def write(self, path: str, data: bytes, must_be_read: bool) -> bool:
        existed = path in self._documents
        if existed and must_be_read and self._call.caller.seen(self.shown(path).encode()) is None:
            raise NotRead("read it first")
        self._documents[path] = data
        return existed


class MemoryPoint(MountPoint):
    """Where the dictionary is mounted."""

    prefix = PREFIX

    def __init__(self, documents: dict[str, bytes]) -> None:
        self._documents = documents

    def answer(self, asked: Asked, call: Call) -> Answer:
        call.mount = Memory(self._documents, call)
        return asked.run(call)


class MemoryShop(Workshop):
    """A workshop whose toolbox has the dictionary beside the files."""

    def __init__(self, made: Workshop) -> None:
        super().__init__(made.root, made.application)
        self.documents = {"a/one.txt": b"alpha\nbeta\n", "two.txt": b"beta beta\n"}
        mounts = Mounts([FilesPoint(), MemoryPoint(self.documents)])
        application = made.application
        self.toolbox = Toolbox(all_tools(), application.services, application.settings, "", mounts)

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        return anyio.run(self.toolbox.call, tool, arguments, self.caller)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[MemoryShop]:
    with workshop(tmp_path) as made:
        made.file("file.txt", "beta\n")
        yield MemoryShop(made)


def test_grep_searches_it_in_every_mode(shop: MemoryShop) -> None:
    found = shop.text("grep", pattern="beta", path="mem://")
    assert found == "mem://a/one.txt\nmem://two.txt"
    lines = shop.text("grep", pattern="beta", path="mem://a", output_mode="content")
    assert lines == "mem://a/one.txt:2:beta"
    counts = shop.text("grep", pattern="beta", path="mem://two.txt", output_mode="count")
    assert counts == "mem://two.txt:1"
    assert shop.text("grep", pattern="beta") == "file.txt"


def test_glob_finds_in_it_by_path_and_by_pattern(shop: MemoryShop) -> None:
    assert shop.text("glob", pattern="*.txt", path="mem://") == "mem://a/one.txt\nmem://two.txt"
    assert shop.text("glob", pattern="mem://a/*.txt") == "mem://a/one.txt"
    assert shop.text("glob", pattern="*.txt") == "file.txt"


@pytest.mark.parametrize("verb", ["view", "read"])
def test_a_document_is_shown_with_what_its_mount_says_after_it(shop: MemoryShop, verb: str) -> None:
    assert shop.text(verb, path="mem://a/one.txt") == (
        "     1\talpha\n     2\tbeta\n\n[mem://a/one.txt is kept in memory]"
    )
    assert shop.refused(verb, "not_found", path="mem://gone") == "No document mem://gone"


def test_view_shows_a_folder_as_its_mount_does(shop: MemoryShop) -> None:
    assert shop.text("view", path="mem://a") == "one.txt"
    assert "is a directory" in shop.refused(
        "view", "invalid_params", path="mem://a", view_range=[1, 2]
    )


def test_kinds_are_told_by_content_whatever_the_mount(shop: MemoryShop) -> None:
    shop.documents["x.bin"] = b"\0\1\2"
    assert shop.text("read", path="mem://x.bin") == "Binary file (3 bytes)"


def test_str_replace_and_edit_change_it_in_their_own_words(shop: MemoryShop) -> None:
    done = shop.text("str_replace", path="mem://a/one.txt", old_str="alpha", new_str="gamma")
    assert done == "1 replaced in mem://a/one.txt"
    assert shop.documents["a/one.txt"] == b"gamma\nbeta\n"
    asked = {"path": "mem://two.txt", "old_string": "beta", "new_string": "b"}
    shop.refused("edit", "not_read", **asked)
    shop.text("read", path="mem://two.txt")
    assert shop.refused("edit", "not_unique", **asked) == "old_string stands 2 times"
    shop.text("edit", **asked, replace_all=True)
    assert shop.documents["two.txt"] == b"b b\n"


def test_create_file_and_write_make_and_replace_it(shop: MemoryShop) -> None:
    made = shop.text("create_file", path="mem://new.txt", content="x")
    assert made == "File created: mem://new.txt (1 byte)"
    shop.refused("write", "not_read", path="mem://two.txt", content="y")
    shop.text("view", path="mem://two.txt")
    done = shop.text("write", path="mem://two.txt", content="y")
    assert done == "File has been updated: mem://two.txt (1 byte)"
    assert shop.documents["two.txt"] == b"y"
    assert [path.name for path in shop.root.iterdir()] == ["file.txt"]


def test_a_verb_for_files_alone_refuses_it(shop: MemoryShop) -> None:
    told = shop.error(
        "get_slice", "invalid_params", file_path="mem://two.txt", start_line=1, end_line=1
    )
    assert "works on files of the workspace" in told["message"]

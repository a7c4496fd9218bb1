"""list_files: the files a search looks at, in walk order, by pages; stats: the index's figures."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flashgrep import __version__
from flashgrep.index.index import IndexStatus, NoIndex
from flashgrep.mount import Entries
from flashgrep.settings import settings_hash
from flashgrep.workspace.find import FoundEntry
from flashgrep.workspace.globs import NameFilter
from tests.tools.workshop import Workshop, workshop


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path, deny_dir=("**/denied",), no_index=True) as made:
        yield made


class KnownFiles(NoIndex):
    """An index that knows its files."""

    def status(self) -> IndexStatus:
        return IndexStatus("ready", True, False, 1.0, 2, 7, 4096, 1_700_000_000.5, "watching")

    def files(self, keeps: NameFilter | None, stopped: Callable[[], bool]) -> Entries | None:
        names = [os.fsdecode(b"known/\xff"), "known/a.py"]
        found = [FoundEntry(n, 0, 0) for n in names if keeps is None or keeps.keeps(n)]
        return None if stopped() else Entries(found)


def searched(shop: Workshop) -> set[str]:
    return set(shop.text("grep", pattern=".", head_limit=100).split("\n"))


def test_the_files_are_those_grep_looks_at_in_walk_order(shop: Workshop, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep" / "far.py").write_text("x\n")
    shop.files("b.py", "a/z.py", "a.py", "a/b/c.py", ".hidden", "ä.py")
    shop.files(".git/config", "node_modules/x.js", "denied/secret", "build/out.py", ".flashgrep/x")
    shop.file(".gitignore", "build/\n")
    shop.link("link.py", "a/z.py")
    shop.link("to-dir", "a")  # the real directory stands for itself
    shop.link("to-outside", outside)
    shop.link("to-outside-too", outside)  # entered once, at the first link
    shop.link("dangling", "nowhere")
    found = shop.json("list_files")
    assert found == {
        "files": [
            *(".gitignore", ".hidden", "a/b/c.py", "a/z.py", "a.py", "b.py", "link.py"),
            *("to-outside/deep/far.py", "ä.py"),
        ],
        "total": 9,
        "next_offset": None,
    }
    assert set(found["files"]) == searched(shop)


def test_names_that_are_no_text_round_trip(shop: Workshop) -> None:
    shop.file(os.fsdecode(b"odd \xff\n.txt"), "x\n")
    (name,) = shop.json("list_files")["files"]
    assert name == "odd \\xff\\n.txt"
    assert shop.json("get_slice", path=name, start_line=1, end_line=1)["content"] == "x"


PATTERNS = [
    ("*.py", ["a.py", "src/b.py", "src/deep/c.py"]),
    ("src/*.py", ["src/b.py"]),
    ("src/**", ["src/b.py", "src/d.js", "src/deep/c.py"]),
    ("*.{js,ts}", ["src/d.js"]),
    ("nothing", []),
]


@pytest.mark.parametrize(("pattern", "expected"), PATTERNS)
def test_a_pattern_keeps_what_matches(shop: Workshop, pattern: str, expected: list[str]) -> None:
    shop.files("a.py", "src/b.py", "src/d.js", "src/deep/c.py")
    found = shop.json("list_files", pattern=pattern)
    assert (found["files"], found["total"]) == (expected, len(expected))


def test_pages_join_to_the_whole(shop: Workshop) -> None:
    shop.files(*(f"{number:03}.txt" for number in range(25)))
    pages: list[str] = []
    offset: int | None = 0
    while offset is not None:
        found = shop.json("list_files", limit=10, offset=offset)
        assert found["total"] == 25
        assert len(found["files"]) <= 10
        pages += found["files"]
        offset = found["next_offset"]
    assert pages == [f"{number:03}.txt" for number in range(25)]
    assert shop.json("list_files", offset=99) == {"files": [], "total": 25, "next_offset": None}


def test_the_budget_pages_too_and_a_direct_call_has_none(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=1_000, no_index=True) as shop:
        shop.files(*(f"directory/{number:03}.txt" for number in range(200)))
        pages: list[str] = []
        offset: int | None = 0
        while offset is not None:
            answer = shop.call("list_files", offset=offset)
            assert len(answer.text) <= 1_000
            found = json.loads(answer.text)
            pages += found["files"]
            offset = found["next_offset"]
        assert len(pages) == 200
        assert shop.direct("list_files")["files"] == pages


def test_an_index_that_knows_the_files_is_asked(shop: Workshop) -> None:
    shop.files("elsewhere.py")
    shop.application.services.index = KnownFiles()
    assert shop.json("list_files")["files"] == ["known/a.py", "known/\\xff"]
    assert shop.json("list_files", pattern="*.py")["files"] == ["known/a.py"]


# ── stats ───────────────────────────────────────────────────────────────────────────────────────


def test_stats_tell_the_figures_of_the_index(shop: Workshop) -> None:
    shop.application.services.index = KnownFiles()
    assert shop.json("stats") == {
        "total_files": 2,
        "total_chunks": 7,
        "index_size_bytes": 4096,
        "last_update": "2023-11-14T22:13:20Z",
        "state": "ready",
        "grep_ready": True,
        "query_ready": False,
        "progress": 1.0,
        "freshness": "watching",
        "settings_hash": settings_hash(shop.application.settings, __version__),
    }


def test_stats_without_an_index_say_that_it_is_off(shop: Workshop) -> None:
    found = shop.json("stats")
    assert (found["state"], found["last_update"], found["total_files"]) == ("off", None, 0)
    assert found["reason"]

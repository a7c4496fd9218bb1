"""Every searcher gives the same value: the disk, the index and the notes are read alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from flashgrep.index.answer.indexed_search import IndexedScan
from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase, NoteTree
from flashgrep.notes.library import Library
from flashgrep.notes.reading import NoteSearcher
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import Page, SearchQuestion, SearchResult, on_page
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.scan import DiskSearcher
from flashgrep.workspace.scope import Scope
from tests.index.twins import haste, twins

TEXTS = {"a.md": "needle\nhay\nneedle needle\n", "b/c.md": "hay\nneedle\n", "d.md": "hay\n"}
NEEDLE = PatternSpec("needle")

Search = Callable[[SearchQuestion], SearchResult]


def _write(top: Path) -> Path:
    work = top / "work"
    for age, (name, text) in enumerate(reversed(TEXTS.items())):  # not by path from new to old
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(text)
        os.utime(work / name, (1e9 - age, 1e9 - age))
    return work


@contextmanager
def disk(top: Path) -> Iterator[Search]:
    scope = Scope(str(_write(top)))
    engine = DiskSearcher(scope)
    yield lambda question: engine.search(scope.place("."), question, False, lambda *_: None)
    engine.close()
    scope.close()


@contextmanager
def index(top: Path) -> Iterator[Search]:
    _write(top)
    with haste(), twins(top) as pair:
        pair.folded()
        services = pair.indexed.services

        def search(question: SearchQuestion) -> SearchResult:
            place = services.scope.place(".")
            found = services.search.search(place, question, False, lambda *_: None)
            assert isinstance(found, IndexedScan)
            return found

        yield search


@contextmanager
def notes(top: Path) -> Iterator[Search]:
    Home.create(top / "kb")
    kept = KnowledgeBase(top / "kb")
    for path, text in TEXTS.items():
        kept.ask(partial(Library.create, path=path, text=text))
    pool = Pool()
    searcher = NoteSearcher(kept, NoteTree(kept, everywhere("ann", Role.READ)), pool)
    yield lambda question: searcher.search("", question, False, lambda *_: None)
    pool.close()
    kept.close()


@pytest.fixture(params=[disk, index, notes], ids=lambda each: each.__name__)
def search(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Search]:
    with request.param(tmp_path) as made:
        yield made


def test_a_file_has_its_path_and_its_count(search: Search) -> None:
    found = search(SearchQuestion(NEEDLE, "lines")).files()
    assert [(file.path, file.count) for file in found] == [("a.md", 2), ("b/c.md", 1)]
    matches = search(SearchQuestion(NEEDLE, "matches")).files()
    assert [(file.path, file.count) for file in matches] == [("a.md", 3), ("b/c.md", 1)]


def test_where_only_files_are_asked_for_each_counts_as_one(search: Search) -> None:
    found = search(SearchQuestion(NEEDLE, "files"))
    assert [(file.path, file.count) for file in found.files()] == [("a.md", 1), ("b/c.md", 1)]
    assert sorted(file.path for file in found.files("newest")) == ["a.md", "b/c.md"]


def test_a_part_of_the_files_is_read_alone(search: Search) -> None:
    found = search(SearchQuestion(NEEDLE, "lines")).files()
    assert len(found) == 2
    assert found[1].path == "b/c.md"
    assert [file.path for file in found[:1]] == ["a.md"]


def test_a_page_has_the_lines_from_one_match_to_another(search: Search) -> None:
    found = search(SearchQuestion(NEEDLE, "lines"))
    page = Page(on_page(found.files(), 1, 2), before=1)
    assert found.lines(page) == [
        ("a.md", [(2, False, "hay"), (3, True, "needle needle")]),
        ("b/c.md", [(1, False, "hay"), (2, True, "needle")]),
    ]


def test_nothing_is_stale_skipped_or_remarked_where_nothing_happened(search: Search) -> None:
    found = search(SearchQuestion(NEEDLE, "lines", filters=("*.md",)))
    assert found.stale([file.path for file in found.files()]) == []
    assert (found.skipped, found.remarks) == ([], [])


def test_names_that_do_not_pass_a_filter_are_not_found(search: Search) -> None:
    found = search(SearchQuestion(NEEDLE, "lines", filters=(("c*",),)))
    assert [file.path for file in found.files()] == ["b/c.md"]

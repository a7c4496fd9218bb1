"""Each measurement once on a tiny tree: it runs, and its tables have the shape a page needs.

Figures are not looked at: what a time is worth, `make bench` says on a quiet machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from bench.corpus import Corpus
from bench.effort import Effort
from bench.parts import ON_REQUEST, PARTS
from bench.patterns import CLASSES
from bench.report import Section, Table, Target, page, render
from tests.warm import warm_subprocesses

from bench import extremes, kept, processes, served

TINY = Effort(
    rounds=1,
    patterns=1,
    edits=4,
    changes=6,
    symbols=2,
    small_files=5,
    reads=3,
    notes=30,
    many_notes=40,
    minutes=0.01,
    soak_files=20,
    rest_seconds=0.0,
    idle_seconds=0.1,
)
SOURCES = {
    "kernel/power.c": "#define PM_RESUME 1\nint pm_resume(void)\n{\n\treturn -EINVAL;\n}\n",
    "kernel/mutex.c": "/* mutex_lock */\nstatic void mutex_lock_slowpath(void)\n{\n}\n",
    "fs/pipe.c": "/* pipe read and write */\nlong pipe_read(void)\n{\n\treturn -ERESTARTSYS;\n}\n",
    "lib/words.txt": "abcde fghij klmno pqrst uvwxy\n" * 12,
    "lib/table.h": "struct device_ops table_ops = {\n};\n" * 12,
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corpus]:
    """A tree of a few files, and a place for what the bench keeps."""
    top = tmp_path_factory.mktemp("bench")
    for name, text in SOURCES.items():
        path = top / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    before = Path.cwd()
    os.chdir(top)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "QUIET_SECONDS", 0.2)
        patch.setattr(kept, "_LOOK_SECONDS", 0.01)
        patch.setattr(extremes, "CASES", extremes.CASES[1:2])  # the sparse file takes no room
        patch.setattr(extremes, "_WARM_FOLDERS", 1)
        with warm_subprocesses(served):
            yield Corpus(top / "tree", "a tiny tree")
    os.chdir(before)


Measured = Callable[[str], Section]


@pytest.fixture(scope="module")
def measured(corpus: Corpus) -> Measured:
    """A part's section; each is measured once, however many tests look at it."""
    return cache(lambda name: PARTS[name](corpus, TINY))


pytestmark = pytest.mark.thorough

FEW = ("files", "pages", "counts", "edits", "visible", "symbols")
"""What other tests look at too; the rest takes seconds to start, and `make bench` runs it."""
WHOLE = [name for name in PARTS if name != "history"]
"""All but the one that has trees of its own."""
MEASURED = WHOLE if os.environ.get("FLASHGREP_HEAVY") else FEW


@pytest.mark.parametrize("name", MEASURED)
def test_a_part_measures_a_tiny_tree(corpus: Corpus, measured: Measured, name: str) -> None:
    """Own promise: every measurement of the page runs anywhere, and every table is a table."""
    section = measured(name)
    assert section.name == name
    assert section.title
    assert section.tables or section.text
    for table in section.tables:
        assert table.rows, table.title
        assert {len(row) for row in table.rows} == {len(table.columns)}, table.title
    for target in section.targets:
        assert target.what
        assert target.bound
        assert target.figure
    assert str(corpus.root) not in render(section)
    assert f"--only {name}" in render(section)


@pytest.mark.parametrize("name", ["edits", "visible"])
def test_what_was_changed_is_found_and_put_back(
    corpus: Corpus, measured: Measured, name: str
) -> None:
    """Own promise: a change is in the next answer, and the tree is as it was."""
    section = measured(name)
    assert [target.met for target in section.targets] == [True], render(section)
    (copy,) = (path for path in Path(".bench/copy").iterdir() if path.is_dir())
    for tree in (corpus.root, copy):
        assert _texts(tree) == SOURCES


def _texts(tree: Path) -> dict[str, str]:
    """The sources of a tree; a part may have made a git repository of it."""
    files = {path.relative_to(tree): path for path in tree.rglob("*") if path.is_file()}
    return {
        str(name): path.read_text(encoding="utf-8")
        for name, path in files.items()
        if name.parts[0] != ".git"
    }


@pytest.mark.parametrize("name", ["files", "pages", "counts"])
def test_answers_with_the_index_are_those_of_a_scan(measured: Measured, name: str) -> None:
    section = measured(name)
    assert any("byte for byte" in line for line in section.text), section.text
    assert {kind for kind, _ in section.speedups} == set(CLASSES)


def test_every_line_that_names_a_symbol_is_there(measured: Measured) -> None:
    complete = measured("symbols").targets[-1]
    assert complete.met, complete


def test_the_page_says_which_targets_are_missed() -> None:
    """Own promise: losses are shown."""
    section = Section(
        "files",
        "Files",
        tables=[Table("", ["a"], [["1"]])],
        targets=[Target("fast", "at least 2 ×", "1 ×", False), Target("small", "1", "1", True)],
    )
    text = page([section])
    assert "1 of 2 met." in text
    assert "| fast | at least 2 × | 1 × | **missed** |" in text
    assert "| small | 1 | 1 | yes |" in text


def test_what_is_measured_on_request_only_is_a_part() -> None:
    assert set(ON_REQUEST) <= set(PARTS)

"""The ranked index under changes: each change is counted once, and nothing old is held."""

from __future__ import annotations

import gc
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flashgrep.index.answer.view import IndexSnapshot, IndexView
from flashgrep.index.format.segment import Segment
from flashgrep.index.update.compactor import Compactor
from flashgrep.index.update.rescan import NO_RACY_FILES
from flashgrep.ranking.changed_files import ChangedFiles, counted
from flashgrep.ranking.ranking import RankedTree, Ranking
from tests.index.twins import Twins, haste, twins, wait_for

FILES = 30


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("flashgrep.ranking.changed_files.COUNT_SETTLED_NS", 0)
    with haste(ranked=True):
        yield


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each changed file was counted."""
    seen: Counter[str] = Counter()

    def counting(path: str, text: bytes) -> Any:
        seen[path] += 1
        return counted(path, text)

    monkeypatch.setattr("flashgrep.ranking.changed_files.counted", counting)
    return seen


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Ranking waits for this before it begins; it is open until a test closes it."""
    opened = threading.Event()
    opened.set()
    real = RankedTree.update

    def update(tree: RankedTree, *arguments: Any) -> bool:
        opened.wait()
        return real(tree, *arguments)

    monkeypatch.setattr(RankedTree, "update", update)
    yield opened
    opened.set()


@pytest.fixture
def pair(tmp_path: Path, gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> Iterator[Twins]:
    """No file is read again after a second: what is counted is what a test changes."""
    monkeypatch.setattr(Compactor, "racy_files", lambda *_: NO_RACY_FILES)
    write(tmp_path, "horse")
    with twins(tmp_path) as made:
        ranked(made)
        yield made
        gate.set()


def write(top: Path, word: str, numbers: Any = range(FILES)) -> None:
    (top / "work").mkdir(exist_ok=True)
    for number in numbers:
        (top / "work" / f"f{number:02}.py").write_text(f"def {word}_{number}():\n    pass\n")


def ranked(pair: Twins) -> None:
    """Wait until all that happened so far is in the ranked index."""
    pair.folded()
    index = pair.index

    def is_ranked() -> bool:
        segments = index._state.view.snapshot.segments if index._state.view else ()
        return index._ranks._tree.keys == {os.path.basename(each.path) for each in segments}

    wait_for(is_ranked, lambda: f"not ranked: {index.status()}")


def ask(pair: Twins, text: str, **arguments: Any) -> list[str]:
    answer = pair.answer("query", True, {"text": text, "limit": 50, **arguments})[2]
    return [result["file_path"] for result in answer["results"]]


def test_a_changed_file_is_counted_once_however_many_questions_come(
    tmp_path: Path, pair: Twins, counts: Counter[str], gate: threading.Event
) -> None:
    gate.clear()
    write(tmp_path, "zebra", range(8))
    everything = {f"f{number:02}.py" for number in range(8)}
    for _ in range(3):
        assert set(ask(pair, "zebra")) == everything
    assert ask(pair, "zebra", include=["f03.py"]) == ["f03.py"]
    assert set(ask(pair, "zebra", exclude=["f03.py"])) == everything - {"f03.py"}
    pair.folded()  # now they are in a segment, which is not ranked yet
    assert set(ask(pair, "zebra")) == everything
    assert counts == dict.fromkeys(everything, 1)
    write(tmp_path, "quagga", [2])
    assert ask(pair, "quagga") == ["f02.py"]
    assert set(ask(pair, "zebra")) == everything - {"f02.py"}
    assert counts == dict.fromkeys(everything, 1) | {"f02.py": 2}
    gate.set()
    ranked(pair)
    assert set(ask(pair, "zebra")) == everything - {"f02.py"}
    assert sum(counts.values()) == 9
    assert pair.index._ranks._overlay._now.files == 0  # nothing is held of what is ranked


def test_while_nothing_happens_a_question_looks_at_no_file(
    tmp_path: Path, pair: Twins, monkeypatch: pytest.MonkeyPatch, gate: threading.Event
) -> None:
    gate.clear()
    write(tmp_path, "zebra", range(5))
    pair.folded()
    looks: list[int] = []
    ranks = pair.index._ranks
    real = ranks._unranked

    def looking(*arguments: Any) -> Any:
        looks.append(1)
        return real(*arguments)

    monkeypatch.setattr(ranks, "_unranked", looking)
    for _ in range(4):
        assert len(ask(pair, "zebra")) == 5
    assert len(looks) == 1
    write(tmp_path, "zebra", [7])
    assert len(ask(pair, "zebra")) == 6
    assert len(looks) == 2


def test_a_new_directory_that_is_not_watched_yet_is_looked_at_each_time(
    tmp_path: Path, pair: Twins, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.index.update.tree_state.FOLD_QUIET_SECONDS", 3_600.0)
    monkeypatch.setattr("flashgrep.index.update.rescan.FOLD_LATEST_SECONDS", 3_600.0)
    (tmp_path / "work" / "new").mkdir()
    (tmp_path / "work" / "new" / "a.py").write_text("zebra\n")
    assert ask(pair, "zebra") == ["new/a.py"]
    (tmp_path / "work" / "new" / "b.py").write_text("zebra\n")
    assert set(ask(pair, "zebra")) == {"new/a.py", "new/b.py"}
    (tmp_path / "work" / "new" / "a.py").write_text("horse of another colour\n")
    assert ask(pair, "zebra") == ["new/b.py"]


def test_a_question_during_which_the_ranking_changes_is_answered_from_the_new_one(
    tmp_path: Path, pair: Twins, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting may take longer than ranking, on a busy machine: it was not in vain."""
    gate.clear()
    write(tmp_path, "zebra", range(5))
    pair.folded()
    counts: list[str] = []

    def slowly(path: str, text: bytes) -> Any:
        if not counts:
            gate.set()
            ranked(pair)
        counts.append(path)
        return counted(path, text)

    monkeypatch.setattr("flashgrep.ranking.changed_files.counted", slowly)
    found = pair.index.ranked("zebra", lambda path: True, lambda: False)
    assert found is not None
    assert len(found) == len(counts) == 5


def test_counts_are_let_go_when_nobody_asks(
    tmp_path: Path, pair: Twins, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate.clear()
    ranks = pair.index._ranks
    monkeypatch.setattr(ranks._rest_overlay, "_seconds", 0.05)
    write(tmp_path, "zebra", range(5))
    assert len(ask(pair, "zebra")) == 5
    wait_for(lambda: not ranks._overlay._now.files, lambda: "the counts are still held")
    assert len(ask(pair, "zebra")) == 5


def test_too_much_to_count_is_scanned_and_a_filter_makes_it_less(
    tmp_path: Path,
    pair: Twins,
    counts: Counter[str],
    gate: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate.clear()
    monkeypatch.setattr("flashgrep.index.update.ranked_index.UNRANKED_BYTES", 100)
    write(tmp_path, "zebra", range(8))
    assert len(ask(pair, "zebra")) == 8
    counts.clear()  # the scan has counted what it found, for this question alone
    assert ask(pair, "zebra", include=["f03.py"]) == ["f03.py"]
    assert counts == {"f03.py": 1}


HELD = (Segment, IndexSnapshot, IndexView, Ranking, ChangedFiles)


def held() -> Counter[str]:
    """What a server holds that should not grow: objects, descriptors, mapped files, threads."""
    gc.collect()
    found = Counter(type(each).__name__ for each in gc.get_objects() if isinstance(each, HELD))
    found["descriptors"] = len(os.listdir("/proc/self/fd"))
    found["threads"] = len(os.listdir("/proc/self/task"))
    maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    found["mapped"] = sum(".seg" in line or "/ranked/" in line for line in maps.splitlines())
    return found


ALLOWED = {"threads": 2, "descriptors": 12, "mapped": 16}
ALLOWED |= {"IndexView": 1, "IndexSnapshot": 1, "ChangedFiles": 1}
"""What is there at one moment and not at another."""
OF_A_SEGMENT = {"descriptors": 7, "mapped": 7}
"""A segment is one file and its ranking six; how many there are depends on what was merged."""


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_what_is_held_does_not_grow_over_fifty_changes(
    tmp_path: Path, pair: Twins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snapshots, segments, opened rankings, watchers: the old ones go when new ones come."""
    for module in ("ranking.ranking", "index.update.ranked_index"):  # not by waiting, that is
        monkeypatch.setattr(f"flashgrep.{module}.RANKING_IDLE_SECONDS", 3_600.0)
    assert pair.index._state.view is not None
    own = len(pair.index._state.view.snapshot.segments)
    others = max(0, held()["Segment"] - own)  # of tests before this one
    first: Counter[str] = Counter()
    for change in range(50):
        write(tmp_path, f"zebra{change}", [change % FILES])
        assert ask(pair, f"zebra{change}")
        if change % 17 == 15:
            ranked(pair)
            assert ask(pair, f"zebra{change}")  # opens the new ranking
            first = first or held()
    ranked(pair)

    def is_bounded() -> bool:
        now = held()
        segments = len(pair.index._state.view.snapshot.segments) if pair.index._state.view else 0
        is_few = now["Segment"] <= segments + others and now["Ranking"] <= 1
        further = max(0, now["Segment"] - first["Segment"])
        return is_few and all(
            now[what] <= first[what] + more + further * OF_A_SEGMENT.get(what, 0)
            for what, more in ALLOWED.items()
        )

    wait_for(is_bounded, lambda: f"{first} grew to {held()}")


def test_what_links_lead_to_is_found_as_a_scan_finds_it(tmp_path: Path) -> None:
    """A link to a file, in the tree, ignored or elsewhere; a link to a directory elsewhere."""
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    (elsewhere / "deep").mkdir(parents=True)
    (elsewhere / "deep" / "far.py").write_text("def zebra_far():\n    pass\n")
    (elsewhere / "single.py").write_text("def zebra_single():\n    pass\n")
    write(tmp_path, "horse", range(3))
    write(tmp_path, "zebra", [3])
    (work / ".gitignore").write_text("hidden.py\n")
    (work / "hidden.py").write_text("def zebra_hidden():\n    pass\n")
    (work / "alias.py").symlink_to("f03.py")
    (work / "seen.txt").symlink_to("hidden.py")
    (work / "single.py").symlink_to(elsewhere / "single.py")
    (work / "dangling.py").symlink_to("nowhere.py")
    (work / "own").symlink_to(".")
    with haste(ranked=True), twins(tmp_path) as made:
        ranked(made)

        def alike(**arguments: Any) -> set[str]:
            index, scan = made.both("query", True, {"text": "zebra", "limit": 50, **arguments})
            found = [
                {result["file_path"] for result in each[2]["results"]} for each in (index, scan)
            ]
            assert found[0] == found[1]
            return found[1]

        everything = {"f03.py", "alias.py", "seen.txt", "single.py"}
        assert alike() == everything
        assert alike(include=["alias.py"]) == {"alias.py"}
        assert alike(exclude=["alias.py"]) == everything - {"alias.py"}
        (elsewhere / "single.py").write_text("def horse_single():\n    pass\n")
        assert alike() == everything - {"single.py"}
        (work / "later.py").symlink_to("f03.py")
        assert alike() == everything - {"single.py"} | {"later.py"}
        write(tmp_path, "horse", [3])
        assert alike() == {"seen.txt"}
        (work / "linked").symlink_to(elsewhere / "deep")
        assert alike() == {"seen.txt", "linked/far.py"}
        made.folded()
        assert alike() == {"seen.txt", "linked/far.py"}
        found = made.index.ranked("zebra", lambda _: True, lambda: False)
        assert found is not None, "answered by a scan of everything"
        (elsewhere / "deep" / "more").mkdir()
        (elsewhere / "deep" / "more" / "hidden.py").write_text("zebra ignored by name\n")
        (elsewhere / "deep" / "more" / "own.txt").write_text("zebra\n")
        (elsewhere / "deep" / "again").symlink_to(elsewhere / "deep" / "more")
        (work / "second").symlink_to(elsewhere / "deep" / "more")
        assert alike() == {"seen.txt", "linked/far.py", "linked/more/own.txt"}
        (elsewhere / "deep" / ".gitignore").write_text("*.txt\n")
        assert alike() == {"seen.txt", "linked/far.py"}

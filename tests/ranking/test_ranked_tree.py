"""The ranked index: written beside segments, searched as one, as fresh as what changed since."""

from __future__ import annotations

import os
import random
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.index.update.rank_writer import write_ranked
from flashgrep.index.update.writer import write_segment
from flashgrep.ranking.changed_files import Changed, OverlayRanking
from flashgrep.ranking.format import DamagedRanking, RankingManifest, read_manifest, verify
from flashgrep.ranking.question import PIECE_BYTES, RankedFile, RankedQuestion
from flashgrep.ranking.ranking import RankedTree, Ranking
from flashgrep.workspace.scope import Scope

FILES = {
    "net/retry.py": "def retry_upload(job):\n    '''Upload again what failed.'''\n    send(job)\n",
    "net/send.py": "def send(job):\n    open_socket(job.host).write(job.data)\n",
    "net/tests/test_retry.py": "def test_retry_upload():\n    assert retry_upload(job)\n",
    "docs/guide.md": "How to upload a file.\n",
    "core/parser.c": "static int parse_header(struct http *h)\n{\n\treturn h->len;\n}\n",
    "core/parser.h": "int parse_header(struct http *h);\n",
    "empty.txt": "",
}


class Grove:
    """Files on disk, their segments, and the ranked index over them."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "work"
        self.segments = directory / "segments"
        self.ranked = directory / "ranked"
        for made in (self.root, self.segments):
            made.mkdir()
        self.scope = Scope(str(self.root))
        self.tree = RankedTree(str(self.ranked))
        self.names: dict[str, list[str]] = {}

    def segment(self, key: str, files: dict[str, str]) -> None:
        """Write files, and a segment of them."""
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        listed = [(name, os.fsencode(self.root / name)) for name in sorted(files)]
        assert write_segment(self.scope, listed, str(self.segments / key)).left_out == []
        self.names[key] = sorted(files)

    @property
    def paths(self) -> dict[str, str]:
        return {key: str(self.segments / key) for key in self.names}

    def name_of(self, key: str, file: int) -> str | None:
        return self.names[key][file]

    def search(self, text: str, changed: dict[str, str] | None = None) -> list[str] | None:
        """The paths a question finds, best first; changed files count as they are now."""
        now = changed or {}

        def alive(key: str, file: int) -> str | None:
            name = self.names[key][file]
            return None if name in now else name

        found = self.tree.search(text, alive, OverlayRanking().count(_changed(now)))
        return None if found is None else [file.path for file in found]


def _scores(files: list[RankedFile]) -> dict[str, float]:
    return {file.path: file.score for file in files}


def _changed(files: dict[str, str]) -> list[Changed]:
    return [Changed(path, text, text.encode) for path, text in files.items()]


@pytest.fixture
def grove(tmp_path: Path) -> Iterator[Grove]:
    made = Grove(tmp_path)
    yield made
    made.tree.close()
    made.scope.close()


def split(files: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    names = sorted(files)
    return {n: files[n] for n in names[::2]}, {n: files[n] for n in names[1::2]}


def test_the_file_that_answers_comes_first(grove: Grove) -> None:
    grove.segment("a", FILES)
    assert grove.tree.update(grove.paths)
    assert grove.tree.current is not None
    assert grove.tree.keys == {"a"}
    assert read_manifest(str(grove.ranked / "a")).documents == len(FILES)
    assert (grove.search("retry failed upload") or [])[0] == "net/retry.py"
    assert (grove.search("parse http header") or [])[0] == "core/parser.c"
    assert (grove.search("opening sockets") or [])[0] == "net/send.py"
    assert (grove.search("guide") or [])[0] == "docs/guide.md"  # its name alone
    assert grove.search("zebra") == []
    assert grove.search("...") == []


def test_implementations_stand_before_tests_and_declarations(grove: Grove) -> None:
    grove.segment("a", FILES)
    assert grove.tree.update(grove.paths)
    found = grove.search("retry_upload") or []
    assert found.index("net/retry.py") < found.index("net/tests/test_retry.py")
    found = grove.search("parse_header") or []
    assert found.index("core/parser.c") < found.index("core/parser.h")


def test_several_segments_score_as_one(grove: Grove) -> None:
    """Own promise: word frequencies are those of the whole tree, however it is cut."""
    grove.segment("whole", FILES)
    assert grove.tree.update(grove.paths)
    as_one = grove.tree.search("upload header", grove.name_of)
    grove.names.clear()
    for key, files in zip("ab", split(FILES), strict=True):
        grove.segment(key, files)
    assert grove.tree.update(grove.paths)
    in_two = grove.tree.search("upload header", grove.name_of)
    assert as_one
    assert in_two is not None
    assert _scores(in_two) == pytest.approx(_scores(as_one), rel=1e-4)


def test_a_dropped_segment_is_gone_and_a_new_one_is_there(grove: Grove) -> None:
    first, second = split(FILES)
    grove.segment("a", first)
    assert grove.tree.update(grove.paths)
    del grove.names["a"]
    grove.segment("b", second)
    assert grove.tree.update(grove.paths)
    assert os.listdir(grove.ranked) == ["b"]
    assert set(grove.search("upload header parse send retry guide") or []) <= set(second)


def test_nothing_is_written_twice(grove: Grove) -> None:
    grove.segment("a", FILES)
    assert grove.tree.update(grove.paths)
    before = os.stat(grove.ranked / "a").st_ino
    assert grove.tree.update(grove.paths)
    assert os.stat(grove.ranked / "a").st_ino == before


def test_what_did_not_change_is_not_read_again(
    grove: Grove, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small change must not cost what the whole tree does."""
    read: list[str] = []

    def verifying(directory: str, manifest: RankingManifest) -> None:
        read.append(os.path.basename(directory))
        verify(directory, manifest)

    monkeypatch.setattr("flashgrep.ranking.format.verify", verifying)
    for key in "abcd":
        grove.segment(key, {f"{key}.py": "def upload(): pass\n"})
        assert grove.tree.update(grove.paths)
    assert read == ["a", "b", "c", "d"]
    assert len(grove.search("upload") or []) == 4
    os.utime(next((grove.ranked / "b").glob("*.term")))
    assert grove.tree.update(grove.paths)
    assert read[4:] == ["b"]


def test_files_that_the_snapshot_lost_are_not_found(grove: Grove) -> None:
    grove.segment("a", FILES)
    assert grove.tree.update(grove.paths)
    assert grove.tree.search("upload", lambda key, file: None) == []


def test_a_changed_file_counts_as_it_is_now(grove: Grove) -> None:
    grove.segment("a", FILES)
    assert grove.tree.update(grove.paths)
    now = {"net/send.py": "def zebra_crossing():\n    pass\n", "net/retry.py": "pass\n"}
    assert grove.search("zebra", now) == ["net/send.py"]
    assert "net/retry.py" not in (grove.search("upload", now) or [])[:1]
    again = now | {"net/send.py": "nothing\n"}
    assert grove.search("zebra", again) == []


def test_a_changed_file_scores_as_if_it_were_indexed(grove: Grove) -> None:
    """The same formula, counted by us and by tantivy; its lengths are rounded, ours are not."""
    filler = {f"src/m{n}.py": f"def work_{n}(item):\n    return item + {n}\n" for n in range(40)}
    grove.segment("a", FILES | filler)
    assert grove.tree.update(grove.paths)
    indexed = _scores(grove.tree.search("retry upload again", grove.name_of) or [])
    overlay = OverlayRanking().count(_changed(FILES | filler))
    question = RankedQuestion("retry upload again")
    counted = overlay.search(question, 0, 0, lambda field, word: 0)
    assert [file.path for file in counted[:2]] == list(indexed)[:2]
    for file in counted[:3]:
        assert file.score == pytest.approx(indexed[file.path], rel=0.25)


def test_a_large_file_is_found_by_what_stands_at_its_end(grove: Grove) -> None:
    filler = "some filler words here\n" * (3 * PIECE_BYTES // 23)
    grove.segment("a", {"big.txt": filler + "zebra\n", "b.txt": "filler\n", "c.txt": "x\n"})
    assert grove.tree.update(grove.paths)
    assert read_manifest(str(grove.ranked / "a")).documents > 5
    assert grove.search("zebra") == ["big.txt"]
    (found,) = grove.tree.search("zebra", grove.name_of) or []
    assert found.piece == 3  # which is what is read to order it


def test_a_filter_looks_further_down(grove: Grove) -> None:
    many = {f"f{n:04}.py": "upload upload upload\n" for n in range(300)}
    grove.segment("a", many | {"only.c": "one upload among very many other words here\n"})
    assert grove.tree.update(grove.paths)
    ranking = Ranking(str(grove.ranked), ["a"])

    found = ranking.search(
        RankedQuestion("upload"), grove.name_of, 20, lambda path: path.endswith(".c")
    )
    assert [file.path for file in found] == ["only.c"]
    ranking.close()


def test_files_that_changed_since_leave_their_places_to_others(grove: Grove) -> None:
    """After a checkout most of the best documents may be of files as they were."""
    many = {f"f{n:03}.py": "upload\n" * (200 - n) for n in range(120)}
    grove.segment("a", many)
    assert grove.tree.update(grove.paths)
    ranking = Ranking(str(grove.ranked), ["a"])

    def name_of(key: str, file: int) -> str | None:
        return grove.names[key][file] if file % 3 else None

    found = ranking.search(RankedQuestion("upload"), name_of, 30)
    everything = ranking.search(RankedQuestion("upload"), name_of, 1_000)
    assert len(found) == 30
    assert found == everything[:30]
    ranking.close()


# ── damage ──────────────────────────────────────────────────────────────────────────────────────


def test_without_an_update_nothing_can_be_said(grove: Grove) -> None:
    assert grove.tree.current is None
    assert grove.search("upload") is None
    assert not grove.tree.open(["a"])


@pytest.mark.thorough
def test_any_damage_is_noticed_and_written_anew(grove: Grove) -> None:
    grove.segment("a", FILES)
    assert grove.tree.update(grove.paths)
    random.seed(7)
    kinds = sorted(path.suffix for path in (grove.ranked / "a").iterdir())
    for kind in kinds:
        (path,) = (grove.ranked / "a").glob(f"*{kind}")
        data = bytearray(path.read_bytes())
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        path.write_bytes(data)
        with pytest.raises(DamagedRanking):
            Ranking(str(grove.ranked), ["a"])
        assert grove.tree.update(grove.paths)
        assert (grove.search("retry failed upload") or [])[0] == "net/retry.py"


def test_a_file_that_is_missing_or_cut_short_is_noticed(grove: Grove) -> None:
    grove.segment("a", FILES)
    assert grove.tree.update(grove.paths)
    (term,) = (grove.ranked / "a").glob("*.term")
    os.truncate(term, 10)
    assert not grove.tree.open(["a"])
    term.unlink()
    assert not grove.tree.open(["a"])
    assert grove.search("retry failed upload") is None  # scan, then
    assert grove.tree.update(grove.paths)
    assert (grove.search("retry failed upload") or [])[0] == "net/retry.py"


def test_what_others_can_write_is_not_trusted(grove: Grove) -> None:
    grove.segment("a", FILES)
    assert grove.tree.update(grove.paths)
    for name in ("a", "a/manifest.json", f"a/{next((grove.ranked / 'a').glob('*.term')).name}"):
        mode = os.stat(grove.ranked / name).st_mode
        os.chmod(grove.ranked / name, mode | stat.S_IWGRP)
        assert not grove.tree.open(["a"]), name
        os.chmod(grove.ranked / name, mode)
    assert grove.tree.open(["a"])


def test_what_a_crash_left_is_taken_away(grove: Grove) -> None:
    grove.segment("a", FILES)
    (grove.ranked / "a.new").mkdir(parents=True)
    (grove.ranked / "a.new" / "meta.json").write_text("{")
    (grove.ranked / "view-x").mkdir()
    assert grove.tree.update(grove.paths)
    assert os.listdir(grove.ranked) == ["a"]


def test_a_segment_that_cannot_be_read_is_a_failure_not_a_loop(grove: Grove) -> None:
    grove.segment("a", FILES)
    (grove.segments / "b").write_bytes(b"no segment")
    assert not grove.tree.update(grove.paths | {"b": str(grove.segments / "b")})
    assert grove.tree.current is None


def test_a_question_at_the_moment_of_an_update_does_not_close_the_new_one(grove: Grove) -> None:
    first, second = split(FILES)
    grove.segment("a", first)
    assert grove.tree.update(grove.paths)
    keys = grove.tree.keys

    def name_of(key: str, file: int) -> str | None:
        if "a" in grove.names:
            del grove.names["a"]
            grove.segment("a2", first)
            grove.segment("b", second)
            assert grove.tree.update(grove.paths)
        return grove.names[key][file] if key in grove.names else None

    overlay = OverlayRanking().count(_changed({"new.py": "def upload(): pass\n"}))
    grove.tree.search("upload header", name_of, overlay, keys)
    assert grove.tree.current is not None
    assert "net/retry.py" in (grove.search("upload") or [])
    assert grove.tree.search("upload", name_of, overlay, keys) is None  # of what it knows no more


def test_an_update_can_be_stopped(grove: Grove) -> None:
    grove.segment("a", FILES)
    assert not grove.tree.update(grove.paths, stopped=lambda: True)
    assert grove.tree.update(grove.paths)


def test_files_are_private(grove: Grove) -> None:
    grove.segment("a", FILES)
    grove.ranked.mkdir()
    write_ranked(grove.paths["a"], str(grove.ranked), "a")
    assert os.stat(grove.ranked / "a").st_mode & 0o077 == 0

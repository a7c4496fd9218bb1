"""query ranks alike from the index, from changed files and by scanning."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

from flashgrep.index.update.ranked_index import key_of
from tests.index.twins import Twins, twins, wait_for

UPLOAD = "def retry_upload(job):\n    # an upload that failed: retry the upload\n    again(job)\n"
PROSE = "Of an upload that failed, and of a long way to retry it, there is this to say.\n" * 5
TEXTS = {
    "src/uploads.py": UPLOAD * 2 + "x = 1\n" * 20,
    "src/net/queue.py": "class UploadQueue:\n    def push(self):\n        pass\n" + "w = 4\n" * 9,
    "src/parse.py": "def parse(upload):\n    return 1\n" + "y = 2\n" * 10,
    "docs/uploads.md": PROSE,
    "CHANGELOG.md": PROSE * 2,
    "tests/test_uploads.py": UPLOAD * 3,
    "include/jobs.h": "int retry_upload(int job);\n" + "int other(void);\n" * 20,
    "src/other.py": "z = 3\n" * 50,
}
CLEAR = 1.4
"""So many times another's score is more than rounding does in a tree of eight files."""
QUESTIONS = [
    {"text": "retry failed upload"},
    {"text": "upload queue"},
    {"text": "parse upload"},
    {"text": "retry_upload job"},
    {"text": "tests of retry_upload"},
    {"text": "retry upload", "kind": "docs"},
    {"text": "retry upload", "kind": "code"},
]


def write(work: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def is_ranked(pair: Twins) -> bool:
    view = pair.index._state.view
    return view is not None and pair.index._ranks.keys == set(map(key_of, view.snapshot.segments))


def scores(pair: Twins) -> list[tuple[dict[str, float], dict[str, float]]]:
    """For each question the files and their scores, best first, by the index and by a scan."""
    found = []
    for asked in QUESTIONS:
        indexed, scanned = (json.loads(text) for text, _, _ in pair.both("query", False, asked))
        found.append(
            tuple(
                {one["file_path"]: one["score"] for one in answer["results"]}
                for answer in (indexed, scanned)
            )
        )
    return found  # type: ignore[return-value]


def test_scanned_and_changed_files_are_ranked_as_indexed_ones(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    write(work, TEXTS)
    with twins(tmp_path) as pair:
        pair.ready()
        wait_for(lambda: is_ranked(pair), lambda: f"not ranked: {pair.index.status()}")
        first = scores(pair)
        write(work, {name: text + "\n" for name, text in TEXTS.items()})
        changed = scores(pair)
    assert [list(indexed) for indexed, _ in changed] == [list(scanned) for _, scanned in changed]
    for indexed, scanned in first:
        assert len(indexed) > 1
        assert set(indexed) == set(scanned)
        assert next(iter(indexed)) == next(iter(scanned))
        # tantivy's lengths are words, rounded; ours are bytes: what is nearly equal may differ.
        for one, other in permutations(indexed, 2):
            if indexed[one] > CLEAR * indexed[other]:
                assert scanned[one] > scanned[other], (one, other)

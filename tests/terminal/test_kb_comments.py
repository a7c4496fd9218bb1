"""flashgrep kb comments: on notes opened here, and through their server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.terminal.console import Ran, flashgrep
from tests.web.served import make, served

NOTES = {
    "A.md": "one\n{==two==}{>>is \x1b[2J it?<<}{>>yes<<} three{>>end<<}\n",
    "B.md": "plain\n",
}


@pytest.fixture(params=["here", "owned"])
def home(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The same command with and without a server that has the notes open."""
    if request.param == "here":
        make(tmp_path / "kb", NOTES, [])
        yield tmp_path / "kb"
        return
    with served(tmp_path, NOTES):
        yield tmp_path / "kb"


def run(home: Path, *words: str) -> Ran:
    return flashgrep("kb", "comments", *words, "--kb", str(home))


def test_comments_are_listed_with_their_replies(home: Path) -> None:
    listed = run(home)
    assert listed.status == 0
    rows = [line.split("\t") for line in listed.lines]
    assert [(row[1], row[3], row[4]) for row in rows] == [
        ("A.md:2", "start", 'on "two" "is \\u001b[2J it?"'),
        ("", "start", '"yes"'),
        ("A.md:2", "start", '"end"'),
    ]
    assert rows[1][0].startswith("  c_")
    (first, _) = run(home, "--json", "--note", "A.md").json["comments"]
    assert (first["text"], len(first["replies"])) == ("is \x1b[2J it?", 1)


def test_none_is_exit_status_1(home: Path) -> None:
    for words in (("--note", "B.md"), ("--resolved",)):
        nothing = run(home, *words)
        assert (nothing.status, nothing.text) == (1, "")

"""A segment gives back what was written, or says that it is damaged: never anything else."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.segment import BINARY, Segment, path_key
from flashgrep.index.format.segment_set import segment_set
from flashgrep.index.plan.lookup import Candidates
from flashgrep.index.watch.changes import identity
from flashgrep.search.decode import lines_of, searchable_text, text_of
from flashgrep.search.pattern import PatternSpec
from flashgrep.search.result import walk_key
from flashgrep.workspace.text import is_text
from tests.index.disguises import texts
from tests.index.segments import block_bytes, made, piece_text

FLIPS = 10_000 if os.environ.get("FLASHGREP_HEAVY") else 200


def git_id(data: bytes) -> bytes:
    return hashlib.new("sha1", b"blob %d\0" % len(data) + data, usedforsecurity=False).digest()


FILES = {
    "a.txt": b"needle\nhay\n",
    "b/latin": b"na\xc3\xafve \xff needle\r\nend",
    "b/wide": "\ufeffneedle in utf-16\n".encode("utf-16-le"),
    "c\udcff\n": b"strange name\n",
    "empty": b"",
    "large": b"".join(b"line %d of many\n" % n for n in range(5_000)) + b"needle\n",
    "long": b"x" * 70_000 + b"needle" + b"y" * 70_000,
    "noise": b"\x00\x01\x02needle",
}


@settings(max_examples=60, deadline=None)
@given(st.lists(texts(30), max_size=6), st.sampled_from([1, 40, 32 * 1024]))
def test_what_goes_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], block: int
) -> None:
    directory = tmp_path_factory.mktemp("s")
    files = {f"f{at}": data for at, data in enumerate(contents)}
    with block_bytes(block):
        segment = made(directory, files)
    assert segment.all_names() == list(files)
    for at, (name, data) in enumerate(files.items()):
        status = os.stat(directory / "files" / name)
        assert tuple(segment.status[at].tolist()) == identity(status)
        assert segment.name(at) == name
        assert segment.sizes[at] == len(data)
        assert segment.id(at) == git_id(data)
        if not is_text(data[:512]):
            assert segment.flags[at] & BINARY
            continue
        assert segment.text(at) == searchable_text(text_of(data))
        pieces = range(int(segment.first[at]), int(segment.first[at + 1]))
        cut = [piece_text(segment, piece) for piece in pieces]
        assert b"".join(cut) == searchable_text(lines_of(data))
        assert all(piece.endswith(b"\n") for piece in cut)
        assert all(len(piece) <= block or piece.count(b"\n") == 1 for piece in cut)
        numbers = [int(segment.lines[piece]) for piece in pieces]
        assert numbers == [b"".join(cut[:n]).count(b"\n") for n in range(len(cut))]


def test_no_file_at_all(tmp_path: Path) -> None:
    segment = made(tmp_path, {})
    assert segment.files == segment.pieces == segment.blocks == 0
    assert segment.all_names() == []
    assert not len(Candidates(PatternSpec("needle"), segment_set([segment])).pieces)


# ── damage ──────────────────────────────────────────────────────────────────────────────────────


def answers(segment: Segment) -> object:
    """Everything a query can learn from a segment."""
    needle = Candidates(PatternSpec("needle"), segment_set([segment])).pieces.tolist()
    texts = [segment.text(file) for file in range(segment.files)]
    known = segment.sizes.tolist(), segment.flags.tolist(), segment.all_ids()
    return segment.all_names(), known, needle, texts


def test_any_damage_is_noticed_or_harmless(tmp_path: Path) -> None:
    """Issue: ten thousand places at random, flipped or cut: no wrong answer, no death."""
    expected = answers(made(tmp_path, FILES))
    whole = (tmp_path / "one.seg").read_bytes()
    broken = tmp_path / "broken.seg"
    chance, noticed = Random(1), 0
    for _ in range(FLIPS):
        data = bytearray(whole)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        elif chance.random() < 0.5:
            data[chance.randrange(3_000)] ^= 1 << chance.randrange(8)
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        broken.write_bytes(data)
        os.chmod(broken, 0o600)
        try:
            assert answers(Segment(str(broken))) == expected
        except DamagedSegment:
            noticed += 1
    assert noticed > FLIPS / 2


def test_damage_after_the_opening_is_noticed_where_it_is_read(tmp_path: Path) -> None:
    segment = made(tmp_path, FILES)
    large = segment.all_names().index("large")
    place = int(segment.starts[int(segment.first[large]) + 1]) + 5
    with open(segment.path, "r+b") as file:
        file.seek(place)
        file.write(b"\x00")
    assert segment.text(0) == b"needle\nhay\n"
    with pytest.raises(DamagedSegment, match="damaged"):
        segment.text(large)


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_segment_that_others_can_write_is_not_trusted(tmp_path: Path, mode: int) -> None:
    path = made(tmp_path, FILES).path
    os.chmod(path, mode)
    with pytest.raises(DamagedSegment, match="ours"):
        Segment(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_segment_of_another_user_is_not_trusted(tmp_path: Path) -> None:
    path = made(tmp_path, FILES).path
    os.chown(path, 65_534, -1)
    with pytest.raises(DamagedSegment, match="ours"):
        Segment(path)


def test_a_segment_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = made(tmp_path, FILES).path
    finally:
        os.umask(before)
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert sorted(os.listdir(tmp_path)) == ["files", "one.seg"]


@pytest.mark.parametrize("path", ["", "a/b", "a.b/c", "ä/ö", "\udcff/x", "a/\udc80b\u017f"])
def test_the_key_of_a_path_is_its_walk_key(path: str) -> None:
    assert path_key(path) == walk_key(path)
    assert path_key(path.encode("utf-8", "surrogateescape")) == walk_key(path)

"""Generations on disk: one writer, a manifest or nothing, no left-overs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zlib
from pathlib import Path
from random import Random

import pytest

from flashgrep.index.format.header import DamagedSegment
from flashgrep.index.format.manifest import Generation
from flashgrep.index.format.segment import Segment
from flashgrep.index.format.store import Store
from tests.index.segments import made

FLIPS = 2_000 if os.environ.get("FLASHGREP_HEAVY") else 200


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "index")


def segment_in(store: Store, tmp_path: Path, text: bytes = b"x\n") -> Segment:
    path = store.new_path()
    segment = made(tmp_path, {"a": text})
    os.rename(segment.path, path)
    return Segment(path)


def names(store: Store) -> set[str]:
    return set(os.listdir(store.directory))


def forge(store: Store, body: bytes) -> None:
    """A manifest whose checksum is right."""
    (store.directory / "manifest").write_bytes(body + b"\n%08x\n" % zlib.crc32(body))


def test_what_is_committed_is_loaded(store: Store, tmp_path: Path) -> None:
    parts = [segment_in(store, tmp_path, b"%d\n" % n) for n in range(3)]
    before = store.identity()
    updated = store.commit(parts, 2)
    segments, base, when = store.load()
    assert [segment.path for segment in segments] == [part.path for part in parts]
    assert (base, when) == (2, updated)
    assert store.identity() != before


def test_an_empty_directory_holds_an_empty_generation(store: Store) -> None:
    assert store.load() == ([], 0, None)
    assert store.identity() is None


def test_what_the_manifest_does_not_name_is_removed(store: Store, tmp_path: Path) -> None:
    old, kept = segment_in(store, tmp_path), segment_in(store, tmp_path)
    for name in ("ab.seg.new", "cd.seg.pack", "ef.seg"):
        (store.directory / name).write_bytes(b"half")
    store.commit([old, kept], 2)
    store.commit([kept], 1)
    assert names(store) == {"manifest", os.path.basename(kept.path), kept.roster_file}


def test_left_overs_of_a_killed_writer_go_when_the_next_one_begins(
    store: Store, tmp_path: Path
) -> None:
    store.commit([segment_in(store, tmp_path)], 1)
    before = names(store)
    for name in ("ab.seg.new", "cd.seg.pack", "ef.seg"):
        (store.directory / name).write_bytes(b"half")
    again = Store(store.directory)
    assert again.lock()
    again.close()
    assert names(store) == before | {"lock"}


# ── trust ───────────────────────────────────────────────────────────────────────────────────────


def test_any_damage_of_the_manifest_is_noticed_or_harmless(store: Store, tmp_path: Path) -> None:
    store.commit([segment_in(store, tmp_path)], 1)
    whole, expected = (store.directory / "manifest").read_bytes(), store.generation()
    chance = Random(1)
    for _ in range(FLIPS):
        data = bytearray(whole)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        (store.directory / "manifest").write_bytes(data)
        assert store.generation() in (expected, Generation())


NAME = "0" * 32 + ".seg"


@pytest.mark.parametrize(
    "forged", [b"", b"nonsense", b"[]", b"{}", b"null", b'{"format": 3}', b"\xff"]
)
def test_a_forged_manifest_is_no_manifest(store: Store, forged: bytes) -> None:
    forge(store, forged)
    assert store.load() == ([], 0, None)


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "3"},
        {"format": 999},
        {"segments": None},
        {"segments": [5]},
        {"segments": [["5"]]},
        {"segments": [["../../etc/passwd", ""]]},
        {"segments": [["/etc/passwd", ""]]},
        {"segments": [[NAME, "../roster"]]},
        {"base": 2},
        {"base": -1},
        {"base": "x"},
        {"updated": [1]},
        {"store": "somewhere"},
    ],
)
def test_a_manifest_with_a_forged_value_is_no_manifest(
    store: Store, changed: dict[str, object]
) -> None:
    told = {"format": 3, "base": 1, "segments": [[NAME, ""]], "updated": 1.0}
    told |= {"store": "", "workspace": ""}
    forge(store, json.dumps(told).encode())
    assert store.generation().segments == (NAME,)
    forge(store, json.dumps(told | changed).encode())
    assert store.load() == ([], 0, None)


def test_a_segment_that_is_gone_or_damaged_is_set_aside(store: Store, tmp_path: Path) -> None:
    parts = [segment_in(store, tmp_path, b"%d\n" % n) for n in range(4)]
    store.commit(parts, 3)
    os.unlink(parts[0].path)
    with open(parts[3].path, "r+b") as file:
        file.write(b"what")
    segments, base, _ = store.load()
    assert [segment.path for segment in segments] == [parts[1].path, parts[2].path]
    assert base == 2


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777])
def test_a_directory_that_others_can_write_is_not_used(tmp_path: Path, mode: int) -> None:
    (tmp_path / "index").mkdir()
    os.chmod(tmp_path / "index", mode)
    with pytest.raises(DamagedSegment):
        Store(tmp_path / "index")


def test_a_link_in_the_place_of_the_directory_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "index").symlink_to("elsewhere")
    with pytest.raises(DamagedSegment):
        Store(tmp_path / "index")


# ── one writer ──────────────────────────────────────────────────────────────────────────────────

HOLDER = """
import sys
from pathlib import Path
from flashgrep.index.format.store import Store
print(Store(Path(sys.argv[1])).lock(), flush=True)
sys.stdin.read()
"""


def test_one_process_writes_and_another_takes_over_when_it_is_killed(store: Store) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(store.directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"True\n"
        assert not store.lock()
        holder.kill()
        holder.wait()
    assert store.lock()
    assert store.lock()  # and stays it
    store.close()
    other = Store(store.directory)
    assert other.lock()
    other.close()


def test_the_manifest_is_a_line_a_person_can_read(store: Store, tmp_path: Path) -> None:
    store.commit([segment_in(store, tmp_path)], 1)
    body, _, checksum = (store.directory / "manifest").read_bytes().partition(b"\n")
    assert json.loads(body)["base"] == 1
    assert int(checksum, 16) == zlib.crc32(body)
    assert os.stat(store.directory / "manifest").st_mode & 0o777 == 0o600

"""An index that was carried here answers what a scan answers, whatever the file says."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import re
import resource
import socketserver
import struct
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from flashgrep.app import build
from flashgrep.errors import FlashgrepError
from flashgrep.index.format.segment import Segment
from flashgrep.index.index import StartingIndex
from flashgrep.index.transfer import export_index, import_index
from flashgrep.index.update.builders import Builders
from flashgrep.index.update.carried_files import CarriedFile
from flashgrep.settings import Settings
from tests.index.git.repositories import Repo, environment
from tests.index.twins import Twins, haste, twins, wait_for

FLIPS = 2_000 if os.environ.get("FLASHGREP_HEAVY") else 60
KILLS = 100 if os.environ.get("FLASHGREP_HEAVY") else 4
LATEST_KILL_SECONDS = 1.5
FILES = {f"d{at % 5}/f{at:03}.txt": b"needle %d\nhay\n" % at for at in range(120)}
OTHERS = {"crlf.txt": b"needle\r\n", "wide.txt": "needle\n".encode("utf-16"), "x.bin": b"\0needle"}
PLAIN = {**FILES, "empty": b"", "open": b"needle without an end"}


@pytest.fixture(autouse=True)
def quickly(request: pytest.FixtureRequest) -> Iterator[None]:
    with haste(ranked="ranked" in request.node.name):
        yield


class Carried:
    """A repository and its snapshot, and a clone that has none of the index."""

    def __init__(self, top: Path, hash_name: str = "sha1") -> None:
        self.top = top
        self.source = Repo(top / "source" / "work", f"--object-format={hash_name}")
        self.source.commit({**PLAIN, **OTHERS})
        self.environment = {**environment(top), "XDG_CACHE_HOME": str(top / "cache")}
        self.file = top / "snapshot"
        self.source.git("clone", "--quiet", ".", str(top / "clone" / "work"))
        self.clone = Repo(top / "clone" / "work")

    @contextmanager
    def served(self, repo: Repo) -> Iterator[Twins]:
        with twins(repo.top.parent, environment=self.environment) as pair:
            pair.folded()
            yield pair

    def carry_out(self) -> None:
        with self.served(self.source) as pair:
            index = pair.indexed.services.index
            assert isinstance(index, StartingIndex)
            done = export_index(index, pair.indexed.services.scope, str(self.file), ignore)
        assert (done.files, done.left_out) == (len(PLAIN), len(OTHERS))
        assert done.bytes == sum(map(len, PLAIN.values()))

    def carry_in(self, source: str = "") -> None:
        application = build(Settings(workdir=str(self.clone.top)), self.environment)
        try:
            index = application.services.index
            assert isinstance(index, StartingIndex)
            scope = application.services.scope
            import_index(index, scope, source or str(self.file), ignore)
        finally:
            application.close()

    def segments(self) -> list[Path]:
        """Those of the clone."""
        return list(self.top.glob("cache/flashgrep/repositories/work-*/*.seg*"))


def ignore(share: float) -> None:
    assert 0 <= share <= 1


@pytest.fixture(scope="module")
def module_file(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What is exported of the files: made once."""
    with haste():
        carried = Carried(tmp_path_factory.mktemp("carried"))
        carried.carry_out()
    return carried.file.read_bytes()


@pytest.fixture
def carried(tmp_path: Path, module_file: bytes) -> Carried:
    found = Carried(tmp_path)
    found.file.write_bytes(module_file)
    return found


def answers(pair: Twins) -> None:
    before = pair.by_index
    for pattern in ("needle", r"needle \d*7$", "absent|hay", "NEEDLE", "without"):
        pair.agree(pattern=pattern, output_mode="count")
        pair.agree(pattern=pattern, output_mode="content", head_limit=20)
        pair.agree(pattern=pattern + r"\n\w", output_mode="count", multiline=True)
    pair.agree("glob", pattern="**/*")
    assert pair.by_index == before + 15


# ── there and back ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("hash_name", ["sha1", "sha256"])
def test_a_clone_answers_from_what_was_carried_and_reads_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hash_name: str
) -> None:
    carried = Carried(tmp_path, hash_name)
    carried.carry_out()
    carried.clone.settle()
    carried.carry_in()
    read: list[str] = []
    real = Builders.build

    def noted(builders: Builders, jobs: list[object], done: object) -> object:
        read.extend(name for job in jobs for name in job.names)  # type: ignore[attr-defined]
        return real(builders, jobs, done)  # type: ignore[arg-type]

    monkeypatch.setattr(Builders, "build", noted)
    with carried.served(carried.clone) as pair:
        answers(pair)
        assert set(read) == set(OTHERS)
        view = pair.index.view
        assert view is not None
        assert all(len(segment.keys) for segment in view.snapshot.segments)  # none is without grams
        (carried.clone.top / "open").write_bytes(b"needle at last\n")
        answers(pair)
    with carried.served(carried.clone) as pair:
        answers(pair)


def test_a_carried_index_is_ranked(carried: Carried) -> None:
    carried.carry_in()
    with carried.served(carried.clone) as pair:
        status = pair.index.status
        wait_for(lambda: status().query_ready, lambda: f"not ranked: {status()}")
        assert "f007.txt" in pair.answer("query", False, {"text": "needle 7"})[0]


def test_a_clone_that_differs_answers_what_it_holds(carried: Carried) -> None:
    carried.clone.write({"d1/f001.txt": b"other 1\nhay\n", "new": b"needle new\n"})
    os.unlink(carried.clone.top / "d2" / "f002.txt")
    carried.carry_in()
    with carried.served(carried.clone) as pair:
        answers(pair)
        assert pair.agree(pattern="other") == "d1/f001.txt"


@pytest.mark.thorough
def test_an_index_is_fetched_from_a_server(carried: Carried) -> None:
    class Files(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given: object) -> None:
            super().__init__(*given, directory=str(carried.top))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"
        try:
            with pytest.raises(FlashgrepError, match="404"):
                carried.carry_in(f"{place}/nothing")
            carried.carry_in(f"{place}/snapshot")
        finally:
            server.shutdown()
    carried.carry_in(carried.file.as_uri())
    with pytest.raises(FlashgrepError, match="only http, https and file"):
        carried.carry_in("ftp://localhost/x")
    with carried.served(carried.clone) as pair:
        answers(pair)


# ── what lies ───────────────────────────────────────────────────────────────────────────────────


def made(records: list[tuple[bytes, bytes, bytes]], **told: object) -> bytes:
    """A snapshot of names, ids and texts whose checksum is right."""
    total = sum(len(text) for _, _, text in records)
    head = json.dumps({"hash": "sha1", "files": len(records), "bytes": total} | told).encode()
    rows = [struct.pack("<IQ", len(n), len(t)) + i + n + t for n, i, t in records]
    body = b"flashsn1" + struct.pack("<I", len(head)) + head + zlib.compress(b"".join(rows))
    return body + hashlib.sha256(body).digest()


def record(name: bytes, text: bytes = b"needle\n") -> tuple[bytes, bytes, bytes]:
    body = b"blob %d\0" % len(text) + text
    return name, hashlib.new("sha1", body, usedforsecurity=False).digest(), text


LIES: dict[str, Callable[[bytes], bytes]] = {
    "nothing at all": lambda whole: b"",
    "another file": lambda whole: b"PK\x03\x04" + whole,
    "another version": lambda whole: whole.replace(b"flashsn1", b"flashsn2", 1),
    "cut short": lambda whole: whole[: len(whole) // 2],
    "without its end": lambda whole: whole[:-1],
    "with more after its end": lambda whole: whole + b"x",
    "another checksum": lambda whole: whole[:-1] + bytes([whole[-1] ^ 1]),
    "a text that is not the id's": lambda whole: made([(b"a", record(b"a")[1], b"NEEDLE\n")]),
    "an absolute path": lambda whole: made([record(b"/etc/passwd")]),
    "a path that goes up": lambda whole: made([record(b"a/../../b")]),
    "a path in git's own directory": lambda whole: made([record(b"x/.git/config")]),
    "a path with a NUL": lambda whole: made([record(b"a\0b")]),
    "an empty path": lambda whole: made([record(b"")]),
    "the same path twice": lambda whole: made([record(b"a"), record(b"a", b"other\n")]),
    "paths out of order": lambda whole: made([record(b"b"), record(b"a")]),
    "fewer files than it says": lambda whole: made([record(b"a")], files=2),
    "more files than it says": lambda whole: made([record(b"a"), record(b"b")], files=1),
    "more text than it says": lambda whole: made([record(b"a")], bytes=1),
    "a number that is none": lambda whole: made([record(b"a")], files="many"),
    "a number without end": lambda whole: made([record(b"a")], bytes=float("inf")),
    "a negative number": lambda whole: made([record(b"a")], files=-1),
    "an unknown hash": lambda whole: made([record(b"a")], hash="md5"),
    "the ids of another kind of repository": lambda whole: made([], hash="sha256"),
    "more text than fits the disk": lambda whole: made([record(b"a")], bytes=1 << 60),
    "a header without end": lambda whole: b"flashsn1" + struct.pack("<I", 1 << 31) + whole,
}


def test_what_lies_is_refused_with_a_reason_and_leaves_the_index_as_it_was(
    carried: Carried,
) -> None:
    whole = carried.file.read_bytes()
    carried.carry_in()
    before = {path.name: path.read_bytes() for path in carried.segments()}
    assert len(before) == 1
    for name, lie in LIES.items():
        carried.file.write_bytes(lie(whole))
        with pytest.raises(FlashgrepError) as refused:
            carried.carry_in()
        assert len(refused.value.message) > 20, name
        assert {path.name: path.read_bytes() for path in carried.segments()} == before, name
    with carried.served(carried.clone) as pair:
        answers(pair)


ANSWERS = {
    "no answer": b"",
    "no HTTP": b"\0\1garbage\n\n",
    "a line without end": b"HTTP/1.1 200 " + b"x" * 70_000 + b"\r\n\r\n",
    "too many headers": b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 200 + b"\r\n",
    "less than it says": b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nflashsn1",
    "a broken part": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nflas\r\nz\r\n",
    "a page": b"HTTP/1.1 200 OK\r\n\r\n<html>Sign in</html>",
    "a way to itself": b"HTTP/1.1 302 Found\r\nLocation: /x\r\n\r\n",
    "a way to a file": b"HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\n\r\n",
    "a way to FTP": b"HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1:1/x\r\n\r\n",
}
REASONS = {"a way to FTP": "unknown url type: ftp"}


@pytest.mark.parametrize("answer", ANSWERS)
def test_what_a_server_answers_instead_is_told(carried: Carried, answer: str) -> None:
    class Answer(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while self.rfile.readline().strip():
                pass
            self.wfile.write(ANSWERS[answer])

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_address[1]}/x"
        try:
            with pytest.raises(FlashgrepError, match=f"{place}.*{REASONS.get(answer, '')}"):
                carried.carry_in(place)
        finally:
            server.shutdown()
    assert carried.segments() == []


@pytest.mark.parametrize("place", ["http://127.0.0.1:no/x", "http://127.0.0.1/a b", "http://[::1/"])
def test_what_is_no_url_is_told(carried: Carried, place: str) -> None:
    with pytest.raises(FlashgrepError, match=re.escape(place)):
        carried.carry_in(place)


def test_names_that_would_fill_the_disk_are_refused(
    carried: Carried, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are no part of the size that room was asked for."""
    monkeypatch.setattr("flashgrep.index.update.transfer._NAMES_BYTES", 1_000)
    carried.file.write_bytes(made([record(b"%03d" % at + b"x" * 97, b"") for at in range(11)]))
    with pytest.raises(FlashgrepError, match="names"):
        carried.carry_in()
    assert carried.segments() == []


def test_an_export_replaces_a_file_and_nothing_else(carried: Carried) -> None:
    link, pipe = carried.top / "link", carried.top / "pipe"
    carried.file.write_bytes(b"older")
    link.symlink_to(carried.file)
    os.mkfifo(pipe)
    with carried.served(carried.source) as pair:
        index, scope = pair.indexed.services.index, pair.indexed.services.scope
        assert isinstance(index, StartingIndex)
        for refused in (pipe, carried.top):
            with pytest.raises(FlashgrepError, match="not a regular file"):
                export_index(index, scope, str(refused), ignore)
        with largest_file(100), pytest.raises(FlashgrepError, match=f": {carried.file}$"):
            export_index(index, scope, str(carried.file), ignore)
        assert carried.file.read_bytes() == b"older"
        export_index(index, scope, str(link), ignore)
    assert link.is_symlink()
    assert pipe.is_fifo()
    carried.carry_in()


def test_what_is_damaged_anywhere_is_refused(carried: Carried) -> None:
    whole, chance = carried.file.read_bytes(), Random(1)
    for _ in range(FLIPS):
        data = bytearray(whole)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        carried.file.write_bytes(data)
        with pytest.raises(FlashgrepError):
            carried.carry_in()
        assert carried.segments() == []


def test_a_path_that_the_tree_does_not_have_is_never_shown(carried: Carried) -> None:
    carried.file.write_bytes(made([record(b"d1/f001.txt", b"absent\n"), record(b"nowhere.txt")]))
    carried.carry_in()
    with carried.served(carried.clone) as pair:
        answers(pair)
        assert "nowhere" not in pair.agree(pattern="needle")


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No process of ours can write more into one file: the next byte fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(("size", "who"), [(512, "unpacks"), (16_384, "builds")])
def test_a_full_disk_half_way_leaves_nothing(carried: Carried, size: int, who: str) -> None:
    rows = [CarriedFile(name.encode(), bytes(20), text).packed() for name, text in PLAIN.items()]
    assert (sum(map(len, rows)) > size) == (who == "unpacks")
    with largest_file(size), pytest.raises(FlashgrepError, match="too large") as failed:
        carried.carry_in()
    assert who == "builds" or str(carried.top / "cache") in failed.value.message
    assert carried.segments() == []
    carried.carry_in()
    (segment,) = carried.segments()
    assert Segment(str(segment)).files == len(PLAIN)


def test_what_is_cut_into_many_segments_is_all_there(
    carried: Carried, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.index.update.transfer.SEGMENT_FILES", 7)
    carried.carry_in()
    segments = [Segment(str(path)) for path in carried.segments()]
    assert len(segments) == -(-len(PLAIN) // 7)
    assert sum(segment.files for segment in segments) == len(PLAIN)
    with carried.served(carried.clone) as pair:
        answers(pair)


IMPORTER = """
import os, sys
from flashgrep.terminal.carry import carry_in
from flashgrep.settings import Settings
from flashgrep.errors import FlashgrepError
sys.stdin.readline()
try:
    carry_in(Settings(workdir=sys.argv[1]), sys.argv[2])
except FlashgrepError as error:
    print(error.message)
"""


@pytest.mark.thorough
def test_of_two_that_import_at_once_one_does_and_one_is_told(carried: Carried) -> None:
    command = [sys.executable, "-c", IMPORTER, str(carried.clone.top), str(carried.file)]
    given = {**os.environ, "XDG_CACHE_HOME": carried.environment["XDG_CACHE_HOME"]}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    both = [subprocess.Popen(command, env=given, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    for one in both:
        one.stdin.write(b"\n")
        one.stdin.flush()
    told = [one.communicate()[0] for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert all(not text or b"stop it first" in text for text in told)
    assert len(carried.segments()) == 1
    with carried.served(carried.clone) as pair:
        answers(pair)


@pytest.mark.thorough
def test_an_import_killed_at_any_moment_leaves_the_index_as_it_was(carried: Carried) -> None:
    carried.carry_in()
    command = [sys.executable, "-c", IMPORTER, str(carried.clone.top), str(carried.file)]
    given = {**os.environ, "XDG_CACHE_HOME": carried.environment["XDG_CACHE_HOME"]}
    chance, alive = Random(1), 0
    for _ in range(KILLS):
        with subprocess.Popen(command, env=given, stdin=subprocess.PIPE) as one:
            assert one.stdin is not None
            one.stdin.write(b"\n")
            one.stdin.flush()
            time.sleep(chance.random() * LATEST_KILL_SECONDS)  # the moment is what is random
            alive += one.poll() is None
            one.kill()
    assert alive
    with carried.served(carried.clone) as pair:
        answers(pair)
    left = {path.name for path in carried.segments()}
    assert all(name.endswith(".seg") for name in left)
    assert len(left) <= 2, left  # what was carried, and what a segment cannot carry


def test_an_index_in_use_is_not_replaced(carried: Carried) -> None:
    with carried.served(carried.clone), pytest.raises(FlashgrepError, match="stop it first"):
        carried.carry_in()

"""batch_write_code: all files or none, or as many operations as can be; a kill changes nothing."""

from __future__ import annotations

import os
import random
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.errors import Conflict
from flashgrep.tools.change_lines import grouped, plan_all, read_operations, write_all
from flashgrep.tools.dispatch.call import Call
from tests.tools.workshop import Workshop, workshop

KILLS = 100 if os.environ.get("FLASHGREP_HEAVY") else 6


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path, deny_dir=("**/denied",), max_file_size=5_000) as made:
        made.file("a", "a1\na2\na3\na4\n")
        made.file("b", b"b1\r\nb2\r\n")
        made.file("denied/c", "c1\n")
        yield made


def op(path: str, start: int, end: int, replacement: str, **more: Any) -> dict[str, Any]:
    place = {"file_path": path, "start_line": start, "end_line": end}
    return {**place, "replacement": replacement, **more}


def contents(shop: Workshop) -> dict[str, bytes]:
    names = ("a", "b", "denied/c")
    return {name: (shop.root / name).read_bytes() for name in names}


def statuses(results: list[dict[str, Any]]) -> dict[str, str]:
    return {row["id"]: row["status"] for row in results}


EXPECTED_TEXT = {"expected_start_line_text": "no"}
BAD: list[tuple[list[dict[str, Any]], dict[str, str], str, str]] = [
    # operations, what becomes of each, code of the atomic batch, what its message says
    ([op("b", 3, 3, "x")], {"2": "failed"}, "conflict", "which has 2 lines"),
    ([op("none", 1, 1, "x")], {"2": "failed"}, "conflict", "not_found"),
    ([op("denied/c", 1, 1, "x")], {"2": "failed"}, "conflict", "access_denied"),
    ([op("b", 1, 1, "x" * 6_000)], {"2": "failed"}, "conflict", "too_large"),
    (
        [op("b", 1, 1, "x", precondition=EXPECTED_TEXT)],
        {"2": "conflict"},
        "precondition_failed",
        "expected_start_line_text is 'no'",
    ),
    (
        [op("b", 1, 2, "x"), op("./b", 2, 2, "y")],
        {"2": "conflict", "3": "conflict"},
        "conflict",
        "lines 1-2 and 2-2 of one file overlap",
    ),
    (
        [op("b", 3, 3, "x"), op("b", 1, 1, "y", precondition=EXPECTED_TEXT)],
        {"2": "failed", "3": "conflict"},
        "precondition_failed",
        "2 of 3 operations",
    ),
]


def test_all_numbers_refer_to_the_files_as_they_were(shop: Workshop) -> None:
    operations = [
        op("a", 4, 4, "A4\nA4b", id="last"),
        op("a", 1, 1, "", id="first"),
        op("b", 2, 2, "B2\nB3", id="other"),
        op("a", 2, 3, "A23", id="middle"),
    ]
    told = shop.json("batch_write_code", operations=operations)
    assert told == {
        "ok": True,
        "results": [
            {"id": name, "status": "applied", "reason": None}
            for name in ("last", "first", "other", "middle")
        ],
    }
    assert (shop.root / "a").read_text() == "A23\nA4\nA4b\n"
    assert (shop.root / "b").read_bytes() == b"b1\r\nB2\r\nB3\r\n"


@pytest.mark.parametrize(("bad", "expected", "code", "told"), BAD)
@pytest.mark.parametrize("dry_run", [False, True])
def test_an_atomic_batch_with_any_failure_changes_nothing(
    shop: Workshop,
    bad: list[dict[str, Any]],
    expected: dict[str, str],
    code: str,
    told: str,
    dry_run: bool,
) -> None:
    before = contents(shop)
    operations = [op("a", 1, 1, "x"), *bad]
    error = shop.error("batch_write_code", code, operations=operations, dry_run=dry_run)
    assert told in error["message"]
    assert statuses(error["results"]) == {"1": "skipped"} | expected
    assert all(row["reason"] for row in error["results"])
    assert contents(shop) == before


@pytest.mark.parametrize(("bad", "expected", "code", "told"), BAD)
def test_best_effort_applies_the_rest(
    shop: Workshop, bad: list[dict[str, Any]], expected: dict[str, str], code: str, told: str
) -> None:
    before = contents(shop)
    operations = [op("a", 1, 1, "x"), *bad]
    result = shop.json("batch_write_code", operations=operations, mode="best_effort")
    assert result["ok"] is False
    assert statuses(result["results"]) == {"1": "applied"} | expected
    assert contents(shop) == before | {"a": b"x\na2\na3\na4\n"}


def test_best_effort_applies_what_it_can_of_one_file(shop: Workshop) -> None:
    operations = [op("a", 1, 1, "x"), op("a", 9, 9, "y"), op("a", 4, 4, "z")]
    result = shop.json("batch_write_code", operations=operations, mode="best_effort")
    assert statuses(result["results"]) == {"1": "applied", "2": "failed", "3": "applied"}
    assert (shop.root / "a").read_text() == "x\na2\na3\nz\n"


@pytest.mark.parametrize("mode", ["atomic", "best_effort"])
def test_a_dry_run_writes_nothing(shop: Workshop, mode: str) -> None:
    before = contents(shop)
    operations = [op("a", 1, 1, "x"), op("b", 1, 1, "y")]
    result = shop.json("batch_write_code", operations=operations, mode=mode, dry_run=True)
    assert result["ok"] is True
    assert statuses(result["results"]) == {"1": "skipped", "2": "skipped"}
    assert all("dry run" in row["reason"] for row in result["results"])
    assert contents(shop) == before


@pytest.mark.parametrize("mode", ["atomic", "best_effort"])
def test_two_names_of_one_file_are_one_file(shop: Workshop, mode: str) -> None:
    os.link(shop.root / "a", shop.root / "hard")
    shop.link("soft", "a")
    operations = [op("a", 1, 1, "x"), op("hard", 2, 2, "y"), op("soft", 3, 3, "z")]
    shop.json("batch_write_code", operations=operations, mode=mode)
    for name in ("a", "hard", "soft"):
        assert (shop.root / name).read_text() == "x\ny\nz\na4\n"
    overlapping = [op("a", 1, 2, "1"), op("hard", 2, 3, "2")]
    shop.error("batch_write_code", "conflict", operations=overlapping)


REFUSED: list[tuple[dict[str, Any], str, str]] = [
    ({"operations": []}, "invalid_params", "empty"),
    (
        {"operations": [op("a", 1, 1, "x", id="i"), op("b", 1, 1, "x", id="i")]},
        "invalid_params",
        "'i'",
    ),
    ({"operations": [op("a", 2, 1, "x")]}, "invalid_params", "operations[0]: start_line 2"),
    ({"operations": [op("a", 1, 1, "x")] * 1_001}, "too_large", "1,001"),
    ({"operations": [op("a", 1, 1, "x")], "mode": "some"}, "invalid_params", "best_effort"),
]


@pytest.mark.parametrize(("given", "code", "told"), REFUSED, ids=lambda row: str(row)[:20])
def test_a_batch_that_is_none_is_refused(
    shop: Workshop, given: dict[str, Any], code: str, told: str
) -> None:
    before = contents(shop)
    assert told in shop.error("batch_write_code", code, **given)["message"]
    assert contents(shop) == before


def test_a_batch_of_too_many_bytes_is_refused(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BATCH_FILE_BYTES", 30)
    before = contents(shop)
    operations = [op("a", 1, 1, "x"), op("b", 1, 1, "y")]
    shop.error("batch_write_code", "too_large", operations=operations)
    assert contents(shop) == before


def test_written_files_count_as_read_and_refused_ones_do_not(shop: Workshop) -> None:
    operations = [op("a", 1, 1, "x"), op("b", 1, 1, "y")]
    change = {"path": "a", "old_string": "a4", "new_string": "z"}
    failing = [*operations, op("none", 1, 1, "x")]
    shop.error("batch_write_code", "conflict", operations=failing)
    assert shop.call("edit", **change).code == "not_read"
    shop.json("batch_write_code", operations=operations)
    assert shop.call("edit", **change).code is None


@contextmanager
def no_file_over(size: int) -> Iterator[None]:
    """A disk on which larger files cannot be written."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_that_cannot_be_written_undoes_those_before_it(shop: Workshop) -> None:
    before = contents(shop)
    shop.file("c", "c1\nc2\n")
    operations = [op("a", 1, 1, "x"), op("b", 1, 1, "y"), op("c", 1, 1, "z" * 4_000)]
    with no_file_over(3_000):
        error = shop.error("batch_write_code", "conflict", operations=operations)
    assert "File too large" in error["message"]
    assert "Nothing was changed" in error["message"]
    assert contents(shop) == before
    assert (shop.root / "c").read_text() == "c1\nc2\n"
    assert leftovers(shop) == []
    assert shop.call("edit", path="a", old_string="a4", new_string="z").code == "not_read"


def test_a_batch_whose_old_bytes_cannot_be_kept_safe_is_not_begun(shop: Workshop) -> None:
    before = contents(shop)
    operations = [op("a", 1, 1, "x"), op("b", 1, 1, "y")]
    with no_file_over(60):
        shop.error("batch_write_code", "io_error", operations=operations)
    assert contents(shop) == before
    assert leftovers(shop) == []


def test_a_file_that_changes_under_the_batch_undoes_it(shop: Workshop) -> None:
    """Between the plan and the write another program writes to the second file."""
    services, settings = shop.application.services, shop.application.settings
    call = Call(shop.caller, services, settings)
    operations = read_operations(
        [
            op("a", 1, 1, "x", id=None, precondition=None),
            op("b", 1, 1, "y", id=None, precondition=None),
        ]
    )
    files = plan_all(call, grouped(call, operations))
    before = contents(shop)
    (shop.root / "b").write_text("theirs\n")
    with pytest.raises(Conflict, match=r"b changed while the batch was written\. Nothing"):
        write_all(call, files)
    assert contents(shop) == before | {"b": b"theirs\n"}
    assert leftovers(shop) == []


def leftovers(shop: Workshop) -> list[str]:
    """What writes have left behind: notes, and temporary files."""
    notes = [path.name for path in (shop.root.parent / "state" / "recovery").glob("*")]
    return notes + [str(path) for path in shop.root.rglob(".flashgrep-*")]


# ── kills ───────────────────────────────────────────────────────────────────────────────────────

FILES = ("a", "sub/b", "sub/deep/c", "hard", "d")


def write_for_ever(directory: Path, told: int) -> None:
    """Give all files the next number, batch after batch; tell each number once it is promised."""
    with workshop(directory) as shop:
        number = int((shop.root / "a").read_text())
        while True:
            number += 1
            operations = [op(name, 1, 1, str(number)) for name in FILES]
            shop.json("batch_write_code", operations=operations)
            os.write(told, b"%d\n" % number)


@pytest.mark.fault
@pytest.mark.timeout(600)
def test_a_kill_leaves_all_files_of_a_batch_or_none(tmp_path: Path) -> None:
    seed = random.randrange(1 << 30)
    pauses = random.Random(seed)
    with workshop(tmp_path) as shop:
        for name in FILES:
            shop.file(name, "0\n")
        (shop.root / "elsewhere").mkdir()
        os.link(shop.root / "hard", shop.root / "elsewhere" / "other")
    for _ in range(KILLS):
        promised = killed_after(tmp_path, pauses.uniform(0, 0.05))
        with workshop(tmp_path) as shop:  # a start recovers
            numbers = {int((shop.root / name).read_text()) for name in FILES}
            assert len(numbers) == 1, (seed, numbers)
            assert numbers.pop() >= promised, seed
            assert leftovers(shop) == [], seed


def killed_after(directory: Path, seconds: float) -> int:
    """Run `write_for_ever` and kill it some time after its first batch; the last number told."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            write_for_ever(directory, writing)
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as told:
        first = told.readline()
        assert first, "the child died on its own"
        signal.sigtimedwait([], seconds)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        rest = told.read().split(b"\n")
    numbers = [int(line) for line in (first, *rest[:-1]) if line.strip()]
    return numbers[-1]

"""A process that starts loads what it needs: the heavy libraries are for those that use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

HEAVY: Final = frozenset({"mcp", "numpy", "pycrdt", "tantivy", "tree_sitter", "uvicorn"})
NATIVE: Final = ("numpy", "pycrdt", "pydantic_core", "tantivy", "tree_sitter")
"""What has libraries of its own; `pydantic_core` is the SDK's."""

CHILDREN: Final = {
    "flashgrep.search.scan.worker": frozenset[str](),
    "flashgrep.index.answer.search_worker": frozenset[str](),
    "flashgrep.index.watch.listing": frozenset[str](),
    "flashgrep.index.update.builder": frozenset[str](),
    "flashgrep.ranking.symbols": frozenset[str](),
    "flashgrep.index.answer.match": frozenset({"numpy"}),
    "flashgrep.index.update.rank_writer": frozenset({"numpy"}),
}
"""Each process that the server starts, and what it cannot do without from its first moment."""


@pytest.mark.parametrize(("module", "needed"), CHILDREN.items(), ids=CHILDREN.keys())
def test_a_child_process_starts_with_what_it_needs(module: str, needed: frozenset[str]) -> None:
    loaded = _loaded_with(module)
    assert HEAVY & loaded == needed
    assert "subprocess" not in loaded, "it starts nothing"


def test_a_process_that_is_not_for_matching_has_no_matcher() -> None:
    assert "flashgrep.search.match_lines" in _loaded_with("flashgrep.search.scan.worker")
    for module in (name for name in CHILDREN if "match" not in name and "search" not in name):
        assert "flashgrep.search.match_lines" not in _loaded_with(module)


def test_a_tree_begins_to_be_listed_before_most_of_the_server_is_imported() -> None:
    loaded = _loaded_with("flashgrep.cli, flashgrep.ground, flashgrep.index.watch.first_listing")
    assert not HEAVY & loaded
    for late in ("asyncio", "flashgrep.app", "flashgrep.tools", "flashgrep.search.scan"):
        assert late not in loaded


def test_no_thread_of_numpy_spins_beside_the_server() -> None:
    """OpenBLAS starts one for every other core, and each is busy for 0.1 s with waiting."""
    code = (
        "import contextlib, os, sys; from flashgrep.cli import main\n"
        "sys.argv[1:] = ['--version']\n"
        "with contextlib.suppress(SystemExit): main()\n"
        "import numpy; print(len(os.listdir('/proc/self/task')))"
    )
    environment = {key: os.environ[key] for key in os.environ if key != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-P", "-X", "utf8", "-c", code],
        capture_output=True,
        check=True,
        env=environment,
    )
    assert done.stdout.decode().split()[-1] == "1"


def _loaded_with(module: str) -> set[str]:
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-X", "utf8", "-c", code], capture_output=True, check=True
    )
    return set(done.stdout.decode().split())


def test_a_server_without_index_and_notes_loads_neither_nor_the_sdk_for_its_first_answers(
    tmp_path: Path,
) -> None:
    flags = ["--no-index", "--workdir", str(tmp_path), "--state-dir", str(tmp_path / "state")]
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "flashgrep", "mcp", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert server.stdin is not None
        assert server.stdout is not None
        grep = {"name": "grep", "arguments": {"pattern": "x"}}
        asks = {"initialize": params, "ping": {}, "tools/list": {}, "tools/call": grep}
        for method, given in asks.items():
            asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": given}
            server.stdin.write(json.dumps(asked).encode() + b"\n")
            server.stdin.flush()
            assert "result" in json.loads(server.stdout.readline())
        mapped = Path(f"/proc/{server.pid}/maps").read_text(encoding="utf-8")
    finally:
        server.kill()
        server.communicate()
    libraries = {Path(line.split()[-1]).as_posix() for line in mapped.splitlines()}
    heavy = sorted(path for path in libraries if any(f"/{name}" in path for name in NATIVE))
    assert heavy == []
    assert any("re2" in path for path in libraries), "the table is not that of the server"

"""Several editors of one file at once: no edit is lost, no false alarm is raised."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.tools.conftest import Desk

ROUNDS = 2_500 if os.environ.get("FLASHGREP_HEAVY") else 25

CHILD = """
import os, sys
from flashgrep.search.scan.scan import DiskSearcher
from flashgrep.settings import Settings
from flashgrep.tools.verbs.edit import STR_REPLACE
from flashgrep.tools.dispatch.caller import Caller
from flashgrep.tools.dispatch.call import Call, Services
from flashgrep.tools.dispatch.spec import read_arguments
from flashgrep.tools.mounts.files import Files
from flashgrep.workspace.scope import Scope
root, state, word, rounds = sys.argv[1:]
scope = Scope(root)
services = Services(scope, state.encode(), DiskSearcher(scope))
call = Call(Caller("x"), services, Settings(workdir=root))
call.mount = Files(call)
for turn in range(int(rounds)):
    asked = {"path": "a", "old_str": f"{word}={turn};", "new_str": f"{word}={turn + 1};"}
    STR_REPLACE.handler(call, read_arguments(STR_REPLACE, asked))
"""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("linked", [False, True], ids=["by rename", "in place"])
def test_two_processes_lose_no_edit_of_each_others(tmp_path: Path, linked: bool) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    root.mkdir()
    file = root / "a"
    file.write_text("one=0;\n" + "filler\n" * 200 + "two=0;\n")
    if linked:
        os.link(file, root / "b")
    rounds = ROUNDS
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD, str(root), str(state), word, str(rounds)])
        for word in ("one", "two")
    ]
    assert [child.wait() for child in children] == [0, 0]
    assert file.read_text() == f"one={rounds};\n" + "filler\n" * 200 + f"two={rounds};\n"
    assert sorted(os.listdir(root)) == (["a", "b"] if linked else ["a"])
    assert os.listdir(state) == []


def test_threads_of_one_server_lose_no_edit(desk: Desk) -> None:
    words = [f"w{number}" for number in range(8)]
    file = desk.file("a", "".join(f"{word}=0;\n" for word in words))

    def edit(word: str) -> None:
        for turn in range(5):
            desk.text(
                "str_replace",
                path="a",
                old_str=f"{word}={turn};",
                new_str=f"{word}={turn + 1};",
            )

    with ThreadPoolExecutor(len(words)) as threads:
        list(threads.map(edit, words))
    assert file.read_text() == "".join(f"{word}=5;\n" for word in words)

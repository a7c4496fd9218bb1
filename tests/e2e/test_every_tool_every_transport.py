"""Every tool over every transport: one script of calls, and byte for byte the same answers.

The workspace is made anew at the same place for each transport, so nothing needs to be made
equal before it is compared, neither paths nor times.
"""

from __future__ import annotations

import base64
import os
import shutil
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import ClientSession
from tests.transports.clients import connect, join, serving

SERVED = [
    ("http", "legacy"),
    ("http", "modern"),
    ("tcp", "legacy"),
    ("unix", "legacy"),
]
TOOLS = {
    *("grep", "glob", "view", "str_replace", "create_file", "read", "edit", "write"),
    *("get_slice", "read_code", "list_files", "write_code", "batch_write_code"),
    *("bootstrap_skill", "fgrep-boot"),
}
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
FILES: dict[str, bytes] = {
    "main.py": b"import os\n\n\ndef main() -> None:\n    print('hello')  # TODO greet\n",
    "lib/util.py": b"# TODO one\nx = 1\n# TODO two\ny = 2\n",
    "lib/win.txt": b"one\r\ntwo\r\nTODO three\r\n",
    "lib/wide.txt": "\ufeffTODO grün\n".encode("utf-16-le"),
    "lib/long.js": b"var a=1;" * 2000 + b"TODO" + b"var b=2;" * 2000 + b"\n",
    "data.bin": b"TODO\0\1\2" * 100,
    "dot.png": PNG,
    "empty": b"",
    ".gitignore": b"build/\n*.log\n",
    "build/out.py": b"# TODO built\n",
    "noise.log": b"TODO noise\n",
    os.fsdecode(b"odd \xff name.txt"): b"TODO odd\n",
    "denied/secret.txt": b"TODO secret\n",
    "words.txt": "“quoted” word, twice: word\n".encode(),
}
Call = tuple[str, dict[str, Any]]


def _operations(*names: str) -> list[dict[str, Any]]:
    """A first line for each file."""
    line = {"start_line": 1, "end_line": 1, "replacement": "# spliced\n"}
    return [{"file_path": name, "id": name, **line} for name in names]


READS: list[Call] = [
    ("grep", {"pattern": "TODO"}),
    ("grep", {"pattern": "TODO", "output_mode": "content", "context": 1}),
    ("grep", {"pattern": "todo", "-i": True, "output_mode": "count", "glob": "*.py"}),
    ("grep", {"pattern": "TODO \\w+", "output_mode": "content", "-o": True, "type": "py"}),
    ("grep", {"pattern": "x = 1\n# TODO", "multiline": True, "output_mode": "content"}),
    ("grep", {"pattern": "TODO", "path": "lib", "head_limit": 2, "offset": 1}),
    ("grep", {"pattern": "nowhere"}),
    ("grep", {"pattern": "[bad"}),
    ("grep", {"pattern": "TODO", "path": "../x"}),
    ("grep", {"pattern": "TODO", "tpye": "py"}),
    ("grep", {}),
    ("glob", {"pattern": "**/*.py"}),
    ("glob", {"pattern": "*", "sort_by": "size", "limit": 3}),
    ("glob", {"pattern": "lib", "type": "directory"}),
    ("glob", {"pattern": "*.nothing"}),
    ("glob", {"pattern": "*", "path": "main.py"}),
    ("glob", {"pattern": "*", "limit": 0}),
    ("view", {"path": "main.py"}),
    ("view", {"path": "main.py", "view_range": [4, 5]}),
    ("view", {"path": "main.py", "view_range": [50, 60]}),
    ("view", {"path": "lib/long.js"}),
    ("view", {"path": "lib/wide.txt"}),
    ("view", {"path": "dot.png"}),
    ("view", {"path": "data.bin"}),
    ("view", {"path": "empty"}),
    ("view", {"path": "."}),
    ("view", {"path": "main.pyy"}),
    ("view", {"path": "denied/secret.txt"}),
    ("view", {"path": 7}),
    ("read", {"file_path": "lib/util.py", "offset": 2, "limit": 2}),
    ("read", {"file_path": "lib/util.py", "offset": 99}),
    ("read", {"file_path": "dot.png"}),
    ("read", {"file_path": "missing.py"}),
    ("read", {"file_path": "/etc/passwd"}),
    ("get_slice", {"file_path": "lib/util.py", "start_line": 2, "end_line": 99}),
    ("get_slice", {"file_path": "lib/util.py", "start_line": 99, "end_line": 99}),
    ("read_code", {"file_path": "lib/wide.txt"}),
    ("read_code", {"file_path": "main.py", "max_tokens": 5}),
    ("read_code", {"file_path": "denied/secret.txt"}),
    ("list_files", {}),
    ("list_files", {"pattern": "*.py", "limit": 1}),
    ("list_files", {"pattern": "[bad"}),
    ("bootstrap_skill", {"compact": True}),
    ("bootstrap_skill", {"trigger": "x"}),
    ("fgrep-boot", {}),
    ("fgrep-boot", {"compact": "perhaps"}),
    ("nothing", {}),
]
WRITES: list[Call] = [
    ("str_replace", {"path": "main.py", "old_str": "'hello'", "new_str": "'grüße'"}),
    ("str_replace", {"path": "lib/win.txt", "old_str": "one\ntwo", "new_str": "1\n2"}),
    ("str_replace", {"path": "lib/util.py", "old_str": "TODO", "new_str": "DONE"}),
    ("str_replace", {"path": "lib/util.py", "old_str": "TODO", "replace_all": True}),
    ("str_replace", {"path": "lib/util.py", "old_str": "not there", "new_str": ""}),
    ("str_replace", {"path": "denied/secret.txt", "old_str": "TODO", "new_str": "x"}),
    ("edit", {"file_path": "words.txt", "old_string": "twice", "new_string": "thrice"}),
    ("read", {"file_path": "words.txt"}),
    ("edit", {"file_path": "words.txt", "old_string": '"quoted"', "new_string": '"said"'}),
    ("edit", {"file_path": "words.txt", "old_string": "word", "new_string": "term"}),
    ("edit", {"file_path": "words.txt", "old_string": "a", "new_string": "a"}),
    ("create_file", {"path": "new/deep/file.txt", "content": "made\n"}),
    ("create_file", {"path": "new/deep/file.txt", "content": "made again\n"}),
    ("create_file", {"path": "new/deep", "content": "no"}),
    ("create_file", {"path": "../escape.txt", "content": "no"}),
    ("write", {"file_path": "main.py", "content": "over\n"}),
    ("write", {"file_path": "build/out.py", "content": "unread\n"}),
    ("write", {"file_path": "fresh.txt", "content": "first\n"}),
    ("write", {"file_path": "fresh.txt", "content": "second\n"}),
    ("write_code", {"path": "lib/win.txt", "start_line": 1, "end_line": 1, "replacement": "i"}),
    ("write_code", {"path": "lib/win.txt", "start_line": 9, "end_line": 9, "replacement": "i"}),
    ("batch_write_code", {"operations": _operations("main.py", "new/deep/file.txt")}),
    ("batch_write_code", {"operations": _operations("main.py", "none", "denied/secret.txt")}),
    ("grep", {"pattern": "TODO|DONE", "output_mode": "count"}),
]


def _make(workdir: Path) -> None:
    """The same tree each time, times included; a server keeps its own directory."""
    workdir.mkdir(exist_ok=True)
    for entry in workdir.iterdir():
        if entry.name != ".flashgrep":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    for number, (name, data) in enumerate(FILES.items()):
        path = workdir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, ns=(0, 1_700_000_000_000_000_000 + number * 1_000_000_000))


def _files(workdir: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(workdir)): path.read_bytes()
        for path in sorted(workdir.rglob("*"))
        if path.is_file() and ".flashgrep" not in path.parts
    }


async def _answers(opened: AbstractAsyncContextManager[ClientSession]) -> list[Any]:
    async with opened as session:
        answers = []
        for tool, given in READS + WRITES:
            asked = types.CallToolRequestParams(name=tool, arguments=given)
            # Not `call_tool`: it asks for the list again after each call of an unlisted tool.
            request = types.CallToolRequest(params=asked)
            result = await session.send_request(request, types.CallToolResult)
            answers.append((tool, given, _plain(result)))
        return answers


def _plain(result: types.CallToolResult) -> dict[str, Any]:
    """The answer as it came; modern answers name the server in the envelope besides."""
    plain = result.model_dump(mode="json")
    meta = dict(plain["meta"] or {})
    meta.pop("io.modelcontextprotocol/serverInfo", None)
    return plain | {"meta": meta}


@pytest.mark.timeout(600)
def test_every_tool_answers_alike_on_every_transport(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    workdir = tmp_path_factory.mktemp("t") / "ws"
    flags = ["--allow-dir", str(workdir), "--deny-dir", "**/denied"]
    _make(workdir)
    answers = anyio.run(_answers, connect("stdio", workdir, flags))
    files = _files(workdir)
    _check_script(answers, files)
    with serving(workdir, flags) as server:
        for kind, era in SERVED:
            _make(workdir)
            told = anyio.run(_answers, join(server, kind, era))
            for ours, theirs in zip(answers, told, strict=True):
                assert theirs == ours, (kind, era)
            assert _files(workdir) == files, (kind, era)


def _check_script(answers: list[Any], files: dict[str, bytes]) -> None:
    """The script itself is worth comparing: each tool both answers and refuses, and writes."""
    fine = {tool for tool, _, result in answers if not result["is_error"]}
    refused = {tool for tool, _, result in answers if result["is_error"]}
    assert fine == TOOLS
    assert refused == {*TOOLS, "nothing"}
    codes = [result["meta"]["flashgrep/error"] for _, _, result in answers if result["is_error"]]
    assert {"invalid_params", "not_found", "access_denied", "not_read", "not_unique"} <= set(codes)
    assert files["lib/win.txt"] == b"i\r\n2\r\nTODO three\r\n"
    assert files["words.txt"] == "“said” word, twice: word\n".encode()
    assert files["new/deep/file.txt"] == b"# spliced\n"
    assert files["fresh.txt"] == b"second\n"
    assert files["denied/secret.txt"] == FILES["denied/secret.txt"]

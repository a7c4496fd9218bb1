"""A workspace under attack: hostile paths, what stands behind them, and a canary to watch.

`World` makes a workspace, its evil twin and a place outside, full of links that lead out.
`ROWS` are the paths an attacker would try; `{ws}` and `{top}` stand for the real directories.
System files are only ever read: a test that fails must not cost the machine its /etc.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CANARY = "CANARY-7f3a9c"
SECRET = f"BODY {CANARY}\n"

SLICERS = ("get_slice", "read_code")
READERS = ("grep", "glob", "view", "read", *SLICERS)
SPLICERS = ("write_code", "batch_write_code")
EDITORS = ("str_replace", "edit", *SPLICERS)
WRITERS = ("create_file", "write")
EVERY = (*READERS, *EDITORS, *WRITERS)
OF_FILES = ("read", *SLICERS, *EDITORS, *WRITERS)


def arguments(tool: str, path: str) -> dict[str, Any]:
    """A call that would read the canary or change its file, if the path were accepted."""
    given: dict[str, Any] = {"path": path}
    if tool == "grep":
        given |= {"pattern": "CANAR[Y]-.*|BODY", "output_mode": "content"}
    elif tool == "glob":
        given |= {"pattern": "**"}
    elif tool in SLICERS:
        given |= {"start_line": 1, "end_line": 9}
    elif tool in SPLICERS:
        given |= {"start_line": 1, "end_line": 1, "replacement": "PWNED"}
        given = given if tool == "write_code" else {"operations": [given]}
    elif tool in EDITORS:
        given |= {"old_string": "BODY", "new_string": "PWNED"}
    elif tool in WRITERS:
        given |= {"content": "PWNED"}
    return given


@dataclass(frozen=True)
class Row:
    """One hostile path and who must refuse it; `literal` ones are odd but honest new names."""

    why: str
    path: str
    tools: tuple[str, ...] = EVERY
    literal: bool = False


class World:
    """The directories of one attack."""

    def __init__(self, top: Path) -> None:
        self.top = Path(os.path.realpath(top))
        self.ws = self.top / "ws"
        self.outside = self.top / "outside"
        self.evil = self.top / "ws-evil"
        self.denied = self.ws / "denied"
        self.home = self.top / "ws-home"  # where the test clients keep a server's state
        self.home.mkdir()
        for directory in (self.ws / "sub" / "deep", self.outside, self.evil, self.denied):
            directory.mkdir(parents=True)
        (self.ws / "good.txt").write_text("good\n", encoding="utf-8")
        for directory in (self.outside, self.evil, self.denied):
            (directory / "secret.txt").write_text(SECRET, encoding="utf-8")
        self._links()
        self._special_files()

    @property
    def flags(self) -> list[str]:
        confined = ["--allow-dir", str(self.ws), "--deny-dir", "**/denied"]
        return [*confined, "--require-view-before-edit", "false"]

    def _links(self) -> None:
        for name, target in self.links().items():
            path = self.ws / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(target)

    def links(self) -> dict[str, str]:
        """Link in the workspace → target."""
        top = str(self.top)
        links = {
            "l-file": f"{top}/outside/secret.txt",
            "l-file-relative": "../outside/secret.txt",
            "sub/deep/l-file-up": "../../../outside/secret.txt",
            "l-dir": f"{top}/outside",
            "l-dir-relative": "../outside",
            "l-parent": "..",
            "sub/l-top": "../..",
            "l-slash": "/",
            "l-twin": "../ws-evil",
            "l-chain-1": "l-chain-2",
            "l-chain-2": "sub/../l-chain-3",
            "l-chain-3": "l-dir",
            "l-around": "../ws/l-file",
            "l-proc": "/proc/self/root",
            "l-proc-out": f"/proc/self/root{top}/outside",
            "l-cwd": "/proc/self/cwd",
            "l-fd": "/dev/fd/0",
            "l-null": "/dev/null",
            "l-self": "l-self",
            "l-loop-1": "l-loop-2",
            "l-loop-2": "l-loop-1",
            "l-denied": "denied",
            "l-denied-file": "sub/../denied/secret.txt",
            "l-own": ".flashgrep",
            "dangling-dir": f"{top}/outside/made",
        }
        for depth in range(1, 6):
            below = "d/" * (depth - 1)
            links[f"{below}dangling-{depth}"] = "../" * depth + f"outside/made-{depth}"
        return links

    def _special_files(self) -> None:
        os.mkfifo(self.ws / "fifo")
        with socket.socket(socket.AF_UNIX) as listener:
            here = os.open(self.ws, os.O_PATH)  # the path may be longer than a socket's may be
            try:
                listener.bind(f"/proc/self/fd/{here}/socket")
            finally:
                os.close(here)
        if os.geteuid() == 0:
            os.mknod(self.ws / "device", 0o666 | stat.S_IFCHR, os.makedev(1, 5))

    def clean(self) -> None:
        """Take away what literal paths have made, so that the next transport finds none of it."""
        kept = {"good.txt", "sub", "denied", "d", "fifo", "socket", "device", ".flashgrep"}
        kept |= {name.partition("/")[0] for name in self.links()}
        for name in set(os.listdir(self.ws)) - kept:
            path = self.ws / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def path(self, row: Row) -> str:
        return row.path.replace("{ws}", str(self.ws)).replace("{top}", str(self.top))

    def untouchable(self) -> dict[str, str]:
        """Everything no tool may change, by content: outside, the twin, the denied."""
        found = {str(self.top): " ".join(sorted(os.listdir(self.top)))}
        for root in (self.outside, self.evil, self.denied):
            for directory, below, files in os.walk(root):
                found[directory] = " ".join(sorted(below + files))
                for name in files:
                    path = Path(directory, name)
                    found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found


def _dangling(depth: int) -> str:
    return "d/" * (depth - 1) + f"dangling-{depth}"


ROWS = (
    # ── up and out ──────────────────────────────────────────────────────────────────────────────
    Row("up", ".."),
    Row("up, as a directory", "../"),
    Row("up and up", "../.."),
    Row("sibling file", "../outside/secret.txt"),
    Row("sibling directory", "../outside"),
    Row("down and up", "sub/../../outside/secret.txt"),
    Row("down deep and up", "sub/deep/../../../outside/secret.txt"),
    Row("dots and doubled slashes", ".//sub/.//..//./..//outside//secret.txt"),
    Row("up through what is missing", "missing/../../outside/secret.txt"),
    Row("up through a file", "good.txt/../../outside/secret.txt"),
    Row("more ups than there are directories", "../" * 60 + "{top}/outside/secret.txt"),
    Row("new file outside", "../outside/made.txt"),
    Row("new directories outside", "../outside/made/a/b.txt"),
    # ── absolute ────────────────────────────────────────────────────────────────────────────────
    Row("absolute file", "{top}/outside/secret.txt"),
    Row("absolute directory", "{top}/outside"),
    Row("absolute, doubled slash", "//{top}/outside/secret.txt"),
    Row("absolute, up from the workspace", "{ws}/../outside/secret.txt"),
    Row("parent of the workspace", "{top}"),
    Row("root", "/"),
    Row("above the root", "/.."),
    Row("system file", "/etc/passwd", READERS),
    Row("system file from the root's dots", "/../../etc/passwd", READERS),
    # ── the twin: a prefix, not a parent ────────────────────────────────────────────────────────
    Row("twin file", "{ws}-evil/secret.txt"),
    Row("twin directory", "{ws}-evil"),
    Row("twin by relative path", "../ws-evil/secret.txt"),
    Row("twin by dots", "{ws}/../ws-evil/secret.txt"),
    Row("new twin", "{ws}-new/made.txt"),
    # ── links ───────────────────────────────────────────────────────────────────────────────────
    Row("link to a file, absolute", "l-file"),
    Row("link to a file, relative", "l-file-relative"),
    Row("link to a file from below", "sub/deep/l-file-up"),
    Row("link to a directory", "l-dir"),
    Row("through a link to a directory", "l-dir/secret.txt"),
    Row("through a relative link", "l-dir-relative/secret.txt"),
    Row("new file through a link", "l-dir/made.txt"),
    Row("new directory through a link", "l-dir/made/file.txt"),
    Row("link to the parent", "l-parent/outside/secret.txt"),
    Row("link to the parent's parent", "sub/l-top/outside/secret.txt"),
    Row("link to the root", "l-slash{top}/outside/secret.txt"),
    Row("link to the twin", "l-twin/secret.txt"),
    Row("chain of links", "l-chain-1/secret.txt"),
    Row("out, in, and out again", "l-around"),
    Row("up behind a link", "l-dir/../outside/secret.txt"),
    Row("link to itself", "l-self"),
    Row("two links in a circle", "l-loop-1/x"),
    *(Row(f"dangling link, depth {depth}", _dangling(depth)) for depth in range(1, 6)),
    Row("through a dangling link", "dangling-dir/file.txt"),
    # ── the kernel's own doors ──────────────────────────────────────────────────────────────────
    Row("/proc/self/root", "/proc/self/root{top}/outside/secret.txt"),
    Row("/proc/self/cwd", "/proc/self/cwd/../outside/secret.txt"),
    Row("/proc/self/fd", "/proc/self/fd/0"),
    Row("/proc/self/environ", "/proc/self/environ", READERS),
    Row("/proc/self/mem", "/proc/self/mem", READERS),
    Row("/proc/thread-self/root", "/proc/thread-self/root{top}/outside/secret.txt"),
    Row("/dev/fd", "/dev/fd/0"),
    Row("/dev/stdin", "/dev/stdin"),
    Row("/dev/null", "/dev/null"),
    Row("/dev/zero", "/dev/zero"),
    Row("link to /proc/self/root", "l-proc{top}/outside/secret.txt"),
    Row("link through /proc/self/root", "l-proc-out/secret.txt"),
    Row("link to /proc/self/cwd", "l-cwd/../outside/secret.txt"),
    Row("link to /dev/fd", "l-fd"),
    Row("link to a device", "l-null"),
    # ── denied, and our own ─────────────────────────────────────────────────────────────────────
    Row("denied file", "denied/secret.txt"),
    Row("denied directory", "denied"),
    Row("denied by dots", "sub/../denied/secret.txt"),
    Row("denied by absolute path", "{ws}/denied/secret.txt"),
    Row("denied through a link", "l-denied/secret.txt"),
    Row("denied file through a link", "l-denied-file"),
    Row("new file in a denied directory", "denied/made.txt"),
    Row("our socket", ".flashgrep/mcp.sock"),
    Row("our directory", ".flashgrep"),
    Row("our directory through a link", "l-own/mcp.sock"),
    Row("our directory further down", "sub/.flashgrep/made.txt"),
    # ── what no file is called ──────────────────────────────────────────────────────────────────
    Row("empty", ""),
    Row("NUL", "good.txt\0"),
    Row("NUL in front of the way out", "good.txt\0/../../outside/secret.txt"),
    Row("NUL, escaped", "good.txt\\x00"),
    Row("NUL, escaped, hiding a denied name", "denied/secret.txt\\x00"),
    Row("NUL, escaped, hiding a denied directory", "denied\\x00"),
    Row("newline", "good\n.txt"),
    Row("terminal escape", "\x1b]0;pwned\x07good.txt"),
    Row("delete", "good\x7f.txt"),
    Row("tab", "\tgood.txt"),
    Row("name of 300 characters", "x" * 300),
    Row("name of 5,000 characters", "x" * 5000),
    Row("path of 40,000 characters", "a/" * 20_000),
    Row("way out behind 30,000 characters", "./" * 15_000 + "../outside/secret.txt"),
    # ── what is no file ─────────────────────────────────────────────────────────────────────────
    Row("pipe", "fifo"),
    Row("socket", "socket"),
    Row("device", "device" if os.geteuid() == 0 else "fifo"),
    Row("below a pipe", "fifo/x"),
    Row("file with a slash", "good.txt/"),
    Row("file as a directory", "good.txt/made.txt"),
    Row("file as a directory, a dot", "good.txt/."),
    Row("directory for a file", "sub", OF_FILES),
    Row("directory for a file, a slash", "sub/", OF_FILES),
    Row("the workspace for a file", ".", OF_FILES),
    Row("the workspace for a file, absolute", "{ws}", OF_FILES),
    # ── odd, but honest: taken letter by letter ─────────────────────────────────────────────────
    Row("escaped dots", "\\x2e\\x2e/outside/secret.txt", literal=True),
    Row("escaped slash", "..\\x2foutside\\x2fsecret.txt", literal=True),
    Row("percent-encoded dots", "%2e%2e/outside/secret.txt", literal=True),
    Row("percent-encoded slash", "..%2foutside%2fsecret.txt", literal=True),
    Row("percent-encoded twice", "%252e%252e/outside/secret.txt", literal=True),
    Row("percent-encoded NUL", "good.txt%00.png", literal=True),
    Row("overlong percent-encoding", "%c0%ae%c0%ae/outside/secret.txt", literal=True),
    Row("backslashes", "..\\outside\\secret.txt", literal=True),
    Row("drive letter", "C:\\outside\\secret.txt", literal=True),
    Row("network share", "\\\\server\\outside\\secret.txt", literal=True),
    Row("stream name", "good.txt::$DATA", literal=True),
    Row("home", "~/secret.txt", literal=True),
    Row("another's home", "~root/secret.txt", literal=True),
    Row("variable", "$HOME/secret.txt", literal=True),
    Row("command", "$(cat secret.txt)", literal=True),
    Row("address", "file://{top}/outside/secret.txt", literal=True),
    Row("trailing space", "good.txt ", literal=True),
    Row("trailing dot", "good.txt.", literal=True),
    Row("dots and a space", ".. /outside/secret.txt", literal=True),
    Row("three dots", ".../outside/secret.txt", literal=True),
    Row("fullwidth dots", "\uff0e\uff0e/outside/secret.txt", literal=True),
    Row("two-dot leader", "\u2025/outside/secret.txt", literal=True),
    Row("division slash", "..\u2215outside\u2215secret.txt", literal=True),
    Row("fullwidth solidus", "..\uff0foutside\uff0fsecret.txt", literal=True),
    Row("zero width", ".\u200b./outside/secret.txt", literal=True),
    Row("turned around", "..\u202e/outside/secret.txt", literal=True),
    Row("option", "--help", literal=True),
)

"""A tree with everything in it that a search has to get right, grown and edited at random."""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.index.edits import Edit, apply

NAMES = [
    b"a.py",
    b"b.txt",
    b"c.c",
    b"read me.md",
    b"-dash",
    b"upper.PY",
    b".hidden",
    b"\xff\xfe.txt",
    b"new\nline.py",
    "n\u00e4ive.txt".encode(),
    "\u65e5\u672c.md".encode(),
    b"[x].txt",
    b"log",
    b"k" * 200,
    b".gitignore~",
]
DIRECTORIES = [
    b"src",
    b"src.d",
    b"build",
    b"deep",
    b".dot",
    b"node_modules",
    b"sp ace",
    b"\xfe",
    b"doc",
]
RULES = [
    b"*.txt\n",
    b"build/\n",
    b"/build\n!build/keep\n",
    b"*.py\n!a.py\n",
    b"*\n!*/\n!*.md\n",
    b"deep\n",
    b"/src/*\n!/src/deep/\n",
    b"log\n*.c\n",
    b"",
    b"\\[x].txt\n[a-c].*\n",
    b"**/inner\n",
    b"!b.txt\n",
    b".gitignore\n",
]
WORDS = [
    b"kelvin",
    b"Mask",
    b"needle",
    b"Needle",
    b"hay",
    b"1.25.300",
    b"foo(bar)",
    b"aaaa",
    b"x = y;",
    b"end",
    b"_suspend",
    "\u212a".encode(),
    "\u017ftruct".encode(),
    "na\u00efve".encode(),
    "\u65e5\u672c\u8a9e".encode(),
]
ENDS = [b"\n", b"\n", b"\n", b"\n", b"\r\n", b" ", b" ", b"\t", b"\r", b"\n\n"]
_WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
_MARKS = {
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
EPOCH = 1_700_000_000_000_000_000


class Thicket:
    """A tree below `root`; things that links lead to are in `outside`."""

    def __init__(self, top: Path, chance: Random, large: float = 0.02) -> None:
        self.root, self.outside = top / "work", top / "outside"
        self.chance = chance
        self.large = large
        """How many of the files are large."""

    def grow(self) -> None:
        """Make some thirty files of all kinds."""
        for place in (self.root, self.outside, self.outside / "rooms"):
            place.mkdir()
        apply(("write", os.fsencode(self.outside / "far.txt"), self.content()))
        apply(("write", os.fsencode(self.outside / "rooms" / "near.py"), self.content()))
        if self.chance.random() < 0.3:
            apply(("write", os.fsencode(self.root.parent / ".gitignore"), self._rules()))
        for _ in range(8):
            apply(("make_directory", self.new_path(DIRECTORIES)))
        for _ in range(30):
            apply(("write", self.new_path(NAMES), self.content()))
        for _ in range(30):
            apply(self.edit())

    # ── places ──────────────────────────────────────────────────────────────────────────────────

    def entries(self) -> tuple[list[bytes], list[bytes], list[bytes]]:
        """Directories, files and links of the tree as it is."""
        directories, files, links = [os.fsencode(self.root)], [], []
        for at in directories:
            try:
                found = list(os.scandir(at))
            except OSError:
                continue
            for entry in sorted(found, key=lambda entry: entry.name):
                if entry.is_symlink():
                    links.append(entry.path)
                elif entry.is_dir():
                    directories.append(entry.path)
                else:
                    files.append(entry.path)
        return directories, files, links

    def directory(self) -> bytes:
        return self.chance.choice(self.entries()[0])

    def below(self) -> bytes:
        """A directory that is not the root."""
        return self.chance.choice(self.entries()[0][1:] or [self.new_path(DIRECTORIES)])

    def new_path(self, names: list[bytes]) -> bytes:
        return self.directory() + b"/" + self.chance.choice(names)

    def old_path(self) -> bytes:
        """A file, most of the time; sometimes a link or a directory."""
        directories, files, links = self.entries()
        kinds = [files, files, files, files, links, directories[1:]]
        return self.chance.choice(self.chance.choice(kinds) or [self.new_path(NAMES)])

    # ── contents ────────────────────────────────────────────────────────────────────────────────

    def content(self) -> bytes:
        kind = self.chance.random()
        if kind < 0.05:
            return b""
        if kind < 0.1:
            return self.words(8) + b"\x00\x01\x02" + self.words(8)
        if kind < 0.18:
            encoding = self.chance.choice(_WIDE)
            text = self.words(20).decode("utf-8").encode(encoding)
            return _MARKS[encoding] + text + self.chance.choice([b"", b"", b"\xd8"])
        if kind < 0.22:
            return codecs.BOM_UTF8 + self.words(10)
        if kind < 0.27:
            return self.words(5) + b"\xff\xc3(\xed\xa0\x80" + self.words(5)
        if kind < 0.27 + self.large:
            return self.words(4) + b"x" * 40_000 + self.words(4)
        if kind < 0.27 + 2 * self.large:
            return (self.words(12) + b"\n") * self.chance.randrange(300, 700)
        return self.words(self.chance.randrange(30))

    def words(self, count: int) -> bytes:
        """Words, and a line's end here and there; perhaps none at the end."""
        chance = self.chance
        parts = [chance.choice(WORDS) + chance.choice(ENDS) for _ in range(count)]
        return b"".join(parts)

    def _rules(self) -> bytes:
        return b"".join(self.chance.choice(RULES) for _ in range(2))

    # ── edits ───────────────────────────────────────────────────────────────────────────────────

    def edit(self) -> Edit:
        """Some change, as data; it may turn out to be impossible."""
        name = self.chance.choice(list(_EDITS))
        return _EDITS[name](self)

    def target(self) -> bytes:
        """What a link may say: near, far, up and down, in a circle, nowhere."""
        root = os.fsencode(self.root)
        inside = os.path.relpath(self.old_path(), root)
        outside = os.fsencode(self.outside)
        return self.chance.choice(
            [
                inside,
                b"../" + inside,
                os.path.join(root, inside),
                b".",
                b"..",
                b"nowhere",
                self.chance.choice(NAMES),
                self.chance.choice(DIRECTORIES),
                self.chance.choice(DIRECTORIES) + b"/../" + self.chance.choice(NAMES),
                outside + b"/far.txt",
                outside + b"/rooms",
                outside,
                os.path.relpath(outside, root) + b"/far.txt",
                self.chance.choice(NAMES) + b"/",
            ]
        )


def _second_name(tree: Thicket) -> Edit:
    """A hard link to what is outside, or beside the file itself.

    Not to a place that no search looks at: a write through such a name raises no event, and is
    seen only when everything is looked at again, as is one through a memory map.
    """
    path = tree.old_path()
    if tree.chance.random() < 0.3:
        return ("hard_link", tree.new_path(NAMES), os.fsencode(tree.outside / "far.txt"))
    return ("hard_link", os.path.dirname(path) + b"/" + tree.chance.choice(NAMES), path)


def _mode(tree: Thicket) -> Edit:
    path = tree.old_path()
    modes = (0o755, 0o700) if os.path.isdir(path) else (0o644, 0o600, 0o755, 0)
    return ("change_mode", path, tree.chance.choice(modes))


_EDITS: dict[str, Callable[[Thicket], Edit]] = {
    "write": lambda t: ("write", t.old_path(), t.content()),
    "write new": lambda t: ("write", t.new_path(NAMES), t.content()),
    "append": lambda t: ("append", t.old_path(), t.words(3)),
    "overwrite": lambda t: ("overwrite", t.old_path(), t.words(6) + b"needle\n"),
    "truncate": lambda t: ("truncate", t.old_path(), t.chance.randrange(40)),
    "replace": lambda t: ("replace", t.old_path(), t.content()),
    "move": lambda t: ("move", t.old_path(), t.new_path(NAMES)),
    "move away": lambda t: ("move", t.old_path(), os.fsencode(t.outside / "moved")),
    "move in": lambda t: ("move", os.fsencode(t.outside / "moved"), t.new_path(DIRECTORIES)),
    "move directory": lambda t: ("move", t.below(), t.new_path(DIRECTORIES)),
    "exchange": lambda t: ("exchange", t.below(), t.below()),
    "remove": lambda t: ("remove", t.old_path()),
    "make directory": lambda t: ("make_directory", t.new_path(DIRECTORIES)),
    "make tree": lambda t: ("make_tree", t.new_path(DIRECTORIES), t.content()),
    "file for directory": lambda t: ("file_for_directory", t.old_path(), t.content()),
    "symlink": lambda t: ("symlink", t.new_path(NAMES + DIRECTORIES), t.target()),
    "hard link": _second_name,
    "rules": lambda t: ("write", t.directory() + b"/.gitignore", t._rules()),
    "no rules": lambda t: ("remove", t.directory() + b"/.gitignore"),
    "repository": lambda t: ("make_directory", t.directory() + b"/.git"),
    "no repository": lambda t: ("remove", t.directory() + b"/.git"),
    "mode": _mode,
    "touch": lambda t: ("touch", t.old_path(), EPOCH + t.chance.randrange(3)),
    "pipe": lambda t: ("make_pipe", t.new_path(NAMES)),
    "outside": lambda t: ("append", os.fsencode(t.outside / "far.txt"), t.words(3)),
    "outside room": lambda t: ("write", os.fsencode(t.outside / "rooms/near.py"), t.content()),
}  # fmt: skip

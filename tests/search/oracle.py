"""grep as its definition says it: slow, recursive, one file and one line at a time.

It shares with the program only what is tested elsewhere against something independent: RE2 by
line, the ignore rules' line-by-line decision (tested against git), and the sniffing table.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from flashgrep.search.decode import decoded, text_of
from flashgrep.search.match_count import TextMatcher, line_starts, spanned_lines
from flashgrep.search.pattern import PatternSpec, characters_alone, matching_lines
from flashgrep.workspace.ignore_rules import Rules, decide_line_by_line, parse_rules
from flashgrep.workspace.text import is_text


@dataclass
class Oracle:
    """One naive walk."""

    root: Path
    entered: set[str] = field(default_factory=set)
    files: list[tuple[str, Path]] = field(default_factory=list)
    links: list[tuple[str, Path, list[tuple[str, Rules]]]] = field(default_factory=list)

    def walk(self) -> list[tuple[str, Path]]:
        """Every searched file in walk order: shown path and where it is."""
        self.entered.add(os.path.realpath(self.root))
        self._directory("", self.root, [])
        while self.links:
            self.links.sort(key=lambda link: key(link[0]))
            shown, target, rules = self.links.pop(0)
            if not any(_within(str(target), seen) for seen in self.entered):
                self.entered.add(str(target))
                self._directory(shown, target, rules)
        return sorted(self.files, key=lambda file: key(file[0]))

    def _directory(self, shown: str, path: Path, rules: list[tuple[str, Rules]]) -> None:
        ignore = path / ".gitignore"
        if ignore.is_file() and not ignore.is_symlink():
            rules = [*rules, (shown, parse_rules(ignore.read_bytes()))]
        for name in os.listdir(path):
            self._entry(f"{shown}/{name}" if shown else name, path / name, rules)

    def _entry(self, shown: str, path: Path, rules: list[tuple[str, Rules]]) -> None:
        is_directory = path.is_dir() and not path.is_symlink()
        if _ignored(shown, is_directory, rules):
            return
        if path.is_symlink():
            self._link(shown, path, rules)
        elif is_directory:
            noise = path.name in (".git", "node_modules", ".flashgrep")
            if not noise and os.path.realpath(path) not in self.entered:
                self._directory(shown, path, rules)
        elif path.is_file():
            self.files.append((shown, path))

    def _link(self, shown: str, path: Path, rules: list[tuple[str, Rules]]) -> None:
        try:  # strictly: otherwise `gone/../there` would lead there, which the kernel denies
            path.stat()  # realpath takes no notice of a slash behind a link to a file
            target = Path(os.path.realpath(path, strict=True))
        except OSError:
            return
        if target.is_file():
            self.files.append((shown, target))
        elif path.name in (".git", "node_modules"):
            return
        elif target.is_dir() and not _within(str(target), os.path.realpath(self.root)):
            self.links.append((shown, target, rules))


def key(shown: str) -> list[bytes]:
    """Sorts paths depth first, entries by bytes."""
    return [os.fsencode(part) for part in shown.split("/")]


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _ignored(shown: str, is_directory: bool, rules: list[tuple[str, Rules]]) -> bool:
    for where, lines in reversed(rules):
        relative = shown[len(where) + 1 :] if where else shown
        verdict = decide_line_by_line(lines, os.fsencode(relative), is_directory)
        if verdict is not None:
            return verdict
    return False


def counts(root: Path, spec: PatternSpec) -> list[tuple[str, int]]:
    """Files and matching lines, in walk order."""
    found = []
    for shown, path in Oracle(root).walk():
        data = path.read_bytes()
        if not is_text(data[:512]):
            continue
        number = _count(spec, data)
        if number:
            found.append((shown, number))
    return found


def _count(spec: PatternSpec, data: bytes) -> int:
    if not spec.multiline:
        return len(matching_lines(spec, decoded(data)))
    text = characters_alone(text_of(data))
    spans = TextMatcher(spec).spans(text, len(text))
    return len(spanned_lines(spans, line_starts(text)))

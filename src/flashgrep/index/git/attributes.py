"""Which files may differ from their blobs on disk, by git's attributes.

Conversions of line ends only ever add or only ever remove bytes, so a file of its blob's size is
its blob. A `filter` and a `working-tree-encoding` can do anything, and `ident` overwrites an id in
the blob with its own. The attribute files tell which files these may apply to, read generously: if
a pattern could match, it counts as a match.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from flashgrep.index.git.repository import GitRepository, small_file

FILE: Final = b".gitattributes"
_CONVERTING: Final = (b"filter", b"working-tree-encoding", b"ident")
_MARK: Final = b"\xef\xbb\xbf"
"""The UTF-8 byte order mark; git skips it at the start of an attribute or settings file."""
_RULE: Final = re.compile(rb'\s*(?:"((?:[^"\\]|\\.)*)"|(\S+))\s*(.*)', re.DOTALL)
_GLOB: Final = re.compile(rb"[*?\[\\]")
_SECTION: Final = re.compile(rb'\s*\[\s*([\w.-]+)\s*(?:"(?:[^"\\]|\\.)*")?[^\]]*\]?(.*)', re.DOTALL)
_SETTING: Final = re.compile(
    rb"\s*(attributesfile|path|tree)\s*=\s*(.*?)\s*\Z", re.IGNORECASE | re.DOTALL
)
_DEEPEST: Final = 10


class ConvertedFiles:
    """The files that a conversion may apply to."""

    def __init__(self) -> None:
        self._below: dict[bytes, set[bytes]] = {}
        """By directory, the ends of names; the empty end is every file."""

    def __bool__(self) -> bool:
        return bool(self._below)

    def add(self, directory: bytes, pattern: bytes) -> None:
        """Add the files below a directory that a pattern may mean."""
        name = pattern.rstrip(b"/").rpartition(b"/")[2]
        rest = name[1:] if name.startswith(b"*") else name
        end = b"" if _GLOB.search(rest) else rest
        self._below.setdefault(directory, set()).add(end.lower())

    def __contains__(self, path: bytes) -> bool:
        lowered, directory = path.lower(), path
        while directory:
            directory = directory.rpartition(b"/")[0]
            ends = self._below.get(directory)
            if ends is not None and lowered.endswith(tuple(ends)):
                return True
        return False


def converted_files(
    repository: GitRepository,
    directories: Iterable[bytes],
    tracked: Iterable[bytes],
    environment: Mapping[str, str],
) -> ConvertedFiles:
    """The files of a working tree that may not be what their blobs are.

    `directories` are all that hold tracked files; `tracked` are the attribute files among those.
    """
    found = ConvertedFiles()
    texts: list[tuple[bytes, bytes]] = []
    known = {name.rpartition(b"/")[0] for name in tracked}
    for directory in {b"", *directories} | known:
        place = os.path.join(repository.top, directory, FILE)
        if not os.path.lexists(place):
            if directory in known:
                found.add(directory, b"*")  # it was there when the files were checked out
            continue
        own = None if os.path.islink(place) else small_file(place)
        if own is None:
            found.add(directory, b"*")
        else:
            texts.append((directory, own))
    for path in _elsewhere(repository, environment):
        if path is None:
            found.add(b"", b"*")
        elif os.path.lexists(path):
            rules = small_file(path)
            texts.append((b"", b"* filter" if rules is None else rules))
    words = _words(text for _, text in texts)
    for directory, text in texts:
        for pattern, attributes in _rules(text):
            if not pattern.startswith(b"[attr]") and _is_set(attributes, words):
                found.add(directory, pattern)
    return found


def _words(texts: Iterable[bytes]) -> set[bytes]:
    """The attributes that convert, and the macros that set one of them."""
    words = set(_CONVERTING)
    macros = [rule for text in texts for rule in _rules(text) if rule[0].startswith(b"[attr]")]
    for _ in macros:  # a macro may set another
        for pattern, attributes in macros:
            if _is_set(attributes, words):
                words.add(pattern.removeprefix(b"[attr]"))
    return words


def _rules(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Pattern and attributes of each line; what is quoted stays escaped, and is a glob then."""
    for line in _lines(text):
        rule = _RULE.match(line)
        if rule and not line.lstrip().startswith(b"#"):
            yield rule[1] if rule[1] is not None else rule[2], rule[3]


def _lines(text: bytes) -> list[bytes]:
    """As git cuts them: a carriage return alone is a space."""
    return text.removeprefix(_MARK).split(b"\n")


def _is_set(attributes: bytes, words: set[bytes]) -> bool:
    return any(word.partition(b"=")[0] in words for word in attributes.split())


# ── attribute files elsewhere ────────────────────────────────────────────────────────────────────


def _elsewhere(repository: GitRepository, environment: Mapping[str, str]) -> Iterator[bytes | None]:
    """The attribute files that are not in the tree; None where one cannot be found."""
    home = environment.get("HOME", "")
    settings = environment.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    yield os.path.join(repository.common, b"info/attributes")
    yield b"/etc/gitattributes"
    yield os.fsencode(os.path.join(settings, "git/attributes"))
    given = [environment.get(f"GIT_CONFIG_{name}", "") for name in ("SYSTEM", "GLOBAL")]
    configs = [
        *(os.fsencode(path) for path in given if path),
        b"/etc/gitconfig",
        os.fsencode(os.path.join(settings, "git/config")),
        os.fsencode(os.path.join(home, ".gitconfig")),
        os.path.join(repository.common, b"config"),
        os.path.join(repository.private, b"config.worktree"),
    ]
    yield from _configured(configs, os.fsencode(home))


def _configured(configs: list[bytes], home: bytes) -> Iterator[bytes | None]:
    """The attribute files that settings name, or settings that those include."""
    seen: set[bytes] = set()
    for _ in range(_DEEPEST):
        fresh = [path for path in configs if path not in seen]
        configs = []
        for path in fresh:
            seen.add(path)
            if not os.path.lexists(path):
                continue
            text = small_file(path)
            if text is None:
                yield None
                continue
            for place, is_included in _named(text, os.path.dirname(path), home):
                if is_included and place is not None:
                    configs.append(place)
                else:
                    yield place
    if configs:
        yield None


def _named(text: bytes, directory: bytes, home: bytes) -> Iterator[tuple[bytes | None, bool]]:
    """The files that settings name, and whether each holds settings too."""
    section = b""
    for line in _lines(text):
        while header := _SECTION.match(line):
            section, line = header[1].lower(), header[2]
        setting = _SETTING.match(line)
        if setting is None:
            continue
        name = setting[1].lower()
        if name == b"path" and section.startswith(b"include"):
            yield _place(setting[2], home, directory), True
        elif name == b"attributesfile" and section == b"core":
            yield _place(setting[2], home), False
        elif name == b"tree" and section == b"attr":
            yield None, False  # the attributes of a commit, not those of the working tree


def _place(value: bytes, home: bytes, directory: bytes | None = None) -> bytes | None:
    """A path in a setting; None where it says more than a path, or it is not said from where."""
    value = re.sub(rb"\s*[#;].*", b"", value)
    if value.startswith(b'"') and value.endswith(b'"'):
        value = value[1:-1]
    if b'"' in value or b"\\" in value or value.startswith(b"%("):
        return None
    if value.startswith(b"~"):
        return os.path.expanduser(value) if value[1:2] != b"/" else home + value[1:]
    if os.path.isabs(value):
        return value
    return None if directory is None else os.path.join(directory, value)

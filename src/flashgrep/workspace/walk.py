"""Lists one directory as a search sees it, and finds the ignore rules in force there.

A walk is a loop over this, with its own stack: five thousand levels are ordinary. Names are text
with `surrogateescape`, as `os.scandir` gives them for a descriptor; order is by bytes.
"""

from __future__ import annotations

import ctypes
import os
import stat
import sys
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import compress
from typing import Final

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.workspace.ignore_rules import IgnoreChain, Rules, parse_rules
from flashgrep.workspace.safe_open import DIRECTORY, O_PATH, REGULAR, STEP, open_in
from flashgrep.workspace.scope import OWN_DIRECTORY, ResolvedPath, Scope, is_within

NOISE: Final = frozenset({".git", "node_modules"})
OWN: Final = os.fsdecode(OWN_DIRECTORY)
RULE_FILE: Final = ".gitignore"
TEMPORARY_PREFIX: Final = ".flashgrep-"


@dataclass(frozen=True)
class DirectoryListing:
    """The entries of one directory that a walk visits, each kind sorted by bytes."""

    files: list[str]
    directories: list[str]
    links: list[str]
    chain: IgnoreChain
    """The ignore rules in force for this directory's entries."""
    has_rules: bool
    """Whether some of them are in this very directory."""


def list_directory(
    directory: int, path: bytes, chain: IgnoreChain | None, scope: Scope, noise: bool = False
) -> DirectoryListing:
    """List an open directory at the real path `path`. `chain` holds the rules of its parents, or
    None if ignore rules do not count. `noise` keeps `.git` and `node_modules`.
    """
    found = _scan(directory, noise)
    own = read_rules(directory) if chain is not None and RULE_FILE in found[0] else None
    return _listing(found, path, chain, own, scope)


def list_entries(
    directory: int, path: bytes, chain: IgnoreChain, scope: Scope, names: Sequence[str]
) -> DirectoryListing:
    """List an open directory as if it held `names` alone; those that are not there are left out.

    `chain` holds the rules of its parents.
    """
    return _listing(_sorted_out(directory, names), path, chain, read_rules(directory), scope)


def _listing(
    found: tuple[list[str], list[str], list[str]],
    path: bytes,
    chain: IgnoreChain | None,
    own: Rules | None,
    scope: Scope,
) -> DirectoryListing:
    """What a walk visits of the files, directories and links that were found."""
    files, directories, links = found
    if chain is not None:
        chain = chain.with_rules(own) if own else chain
        files, directories, links = _kept(chain, files, directories, links)
    if scope.denies_below(path):
        files = _permitted(scope, path, files)
        directories = _permitted(scope, path, directories)
        links = _permitted(scope, path, links)
    return DirectoryListing(
        files=_without_temporaries(by_bytes(files)),
        directories=by_bytes(directories),
        links=_without_temporaries(by_bytes(links)),
        chain=chain or IgnoreChain(),
        has_rules=bool(own),
    )


def _scan(directory: int, noise: bool) -> tuple[list[str], list[str], list[str]]:
    directories: list[str] = []
    links: list[str] = []
    with os.scandir(directory) as scanned:
        entries = list(scanned)
    # Most entries are files: these are told first, in the one loop that is fastest.
    files = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    if len(files) < len(entries):
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != OWN and (noise or entry.name not in NOISE):
                    directories.append(entry.name)
            elif entry.is_symlink():
                links.append(entry.name)
    return files, directories, links


def _sorted_out(directory: int, names: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    files: list[str] = []
    directories: list[str] = []
    links: list[str] = []
    for name in names:
        try:
            mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode):
            files.append(name)
        elif stat.S_ISDIR(mode):
            if name != OWN and name not in NOISE:
                directories.append(name)
        elif stat.S_ISLNK(mode):
            links.append(name)
    return files, directories, links


def _kept(
    chain: IgnoreChain, files: list[str], directories: list[str], links: list[str]
) -> tuple[list[str], list[str], list[str]]:
    """Those that no rule ignores, asked about all at once: it costs as much for one as for many."""
    if not chain.levels:
        return files, directories, links
    first, past = len(files), len(files) + len(directories)
    names = [*files, *directories, *links]
    kept = chain.keeps(names, lambda at: first <= at < past)
    if all(kept):
        return files, directories, links
    return (
        list(compress(files, kept[:first])),
        list(compress(directories, kept[first:past])),
        list(compress(links, kept[past:])),
    )


def _permitted(scope: Scope, path: bytes, names: list[str]) -> list[str]:
    prefix = path.rstrip(b"/") + b"/"
    return [name for name in names if not scope.denies(prefix + os.fsencode(name))]


def _without_temporaries(files: list[str]) -> list[str]:
    """Leave out the temporary files that a write has beside its target for a millisecond."""
    start = bisect_left(files, TEMPORARY_PREFIX)
    end = start
    while end < len(files) and files[end].startswith(TEMPORARY_PREFIX):
        end += 1
    return files[:start] + files[end:] if end > start else files


def by_bytes(names: list[str]) -> list[str]:
    """Names in the order of their bytes (which is the order of their characters, if all valid)."""
    if "".join(names).isascii():
        names.sort()
    else:
        names.sort(key=os.fsencode)
    return names


def read_rules(directory: int) -> Rules | None:
    """The rules of an open directory's `.gitignore`; None where it has none to read."""
    text = _rule_text(directory)
    return parse_rules(text) if text else None


def _rule_text(directory: int) -> bytes:
    try:
        fd = open_in(RULE_FILE, REGULAR, dir_fd=directory)
    except OSError:
        return b""
    try:
        data = os.read(fd, limits.IGNORE_FILE_BYTES + 1)
    except OSError:
        return b""
    finally:
        os.close(fd)
    return data if len(data) <= limits.IGNORE_FILE_BYTES else b""


def parent_rules(scope: Scope, root: bytes) -> list[tuple[bytes, bytes]]:
    """The rule files above `root` that count for it, top first: directory and text of each.

    They reach up to the repository's top, or the file system's root where there is none. A parent
    outside the allowed directories is not read.
    """
    found = []
    for parent in _parents(scope, root):
        try:  # by STEP: a parent that can be entered need not be listable
            directory = scope.open_real(parent, STEP)
        except OSError:
            continue
        try:
            text = _rule_text(directory)
        finally:
            os.close(directory)
        if text:
            found.append((parent, text))
    found.reverse()
    return found


def chain_above(rules: Sequence[tuple[bytes, bytes]], root: bytes) -> IgnoreChain:
    """The chain of `parent_rules` down to `root`.

    A search may start in an ignored directory: the rules that ignore the root itself, or a parent
    of it, are dropped; all others still apply below it.
    """
    chain = IgnoreChain()
    if not rules:
        return chain
    texts = dict(rules)
    at = rules[0][0].rstrip(b"/")
    for name in root[len(at) + 1 :].split(b"/"):
        text = texts.get(at or b"/")
        chain = chain.with_rules(parse_rules(text) if text else None)
        chain = chain.admitting(name, True).child(name)
        at = at + b"/" + name
    return chain


def _parents(scope: Scope, root: bytes) -> Iterator[bytes]:
    at = root
    while at != b"/" and not _is_repository(scope, at):
        at = os.path.dirname(at)
        if not scope.permits(at):
            return
        yield at


def _is_repository(scope: Scope, path: bytes) -> bool:
    # The entry itself is looked at: as a link it may lead out of the scope, and still says so.
    git = path.rstrip(b"/") + b"/.git"
    if not scope.permits(git):
        return False
    try:
        os.close(scope.open_real(git, O_PATH | os.O_NOFOLLOW))
        return True
    except OSError:
        return False


def statuses_below(scope: Scope, directory: bytes) -> Iterator[os.stat_result]:
    """The status of every file below a directory, ignored or not, as far as it can be read."""
    waiting = [directory]
    while waiting:
        path = waiting.pop()
        with suppress(OSError):
            yield from _statuses(scope, path, waiting)


def _statuses(scope: Scope, path: bytes, waiting: list[bytes]) -> Iterator[os.stat_result]:
    opened = scope.open_real(path, DIRECTORY)
    try:
        with os.scandir(opened) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(os.path.join(path, os.fsencode(entry.name)))
                    continue
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield status
    finally:
        os.close(opened)


# ── ignore rules ─────────────────────────────────────────────────────────────────────────────────
# The ignore rules in force somewhere below a root, from the rule files on the way there.


Ruled = tuple[tuple[str, bytes], ...]
"""Directories on the way that hold rule files: path below the root and real path, top first."""


class RuleChains:
    """Makes chains; a rule file is read once."""

    def __init__(self, scope: Scope, top: IgnoreChain) -> None:
        self._scope = scope
        self._top = top
        self._rules: dict[bytes, Rules | None] = {}
        self._inside: dict[tuple[str, Ruled], IgnoreChain] = {}

    def at(self, shown: str, ruled: Ruled) -> IgnoreChain:
        """The rules in force in a directory, its own not among them."""
        if not shown:
            return self._top
        parent, _, name = shown.rpartition("/")
        known = self._inside.get((parent, ruled))
        if known is None:
            known = self._inside[parent, ruled] = self._down_to(parent, dict(ruled))
        return known.child(os.fsencode(name))

    def _down_to(self, shown: str, places: dict[str, bytes]) -> IgnoreChain:
        """The rules in force for the entries of a directory."""
        chain = self._top
        at = ""
        for name in shown.split("/") if shown else ():
            chain = self._with_own(chain, places.get(at)).child(os.fsencode(name))
            at = f"{at}/{name}" if at else name
        return self._with_own(chain, places.get(at))

    def _with_own(self, chain: IgnoreChain, real: bytes | None) -> IgnoreChain:
        return chain.with_rules(self._rules_at(real) if real else None)

    def _rules_at(self, real: bytes) -> Rules | None:
        if real not in self._rules:
            try:
                directory = self._scope.open_real(real, DIRECTORY)
            except OSError:
                return None
            try:
                self._rules[real] = read_rules(directory)
            finally:
                os.close(directory)
        return self._rules[real]


# ── directories that the kernel makes up ─────────────────────────────────────────────────────────
# Directories that the kernel makes up: `/proc`, `/sys`, `/dev` and their like.
#
# A walk never comes into one by itself, neither through a link nor from the directory above. What
# is there is not stored text: reading it can wait, change something or never end, and
# `/proc/self/fd` leads on to everything this process has open. A caller who names such a place as
# the `path` of a call gets it, and there no link is followed at all.
#
# They are known by their path, and by the number of their file system: one may be mounted anywhere.
# `/dev` itself is often an ordinary memory file system, and `/dev/shm` is a place for files.


REASON: Final = "made up by the kernel; searched only if given as path"
"""The reason reported for a directory that a walk leaves out."""

_PATHS: Final = (b"/proc", b"/sys", b"/dev")
_FILES: Final = b"/dev/shm"
_ANY: Final = O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_MAGIC: Final = frozenset(  # linux/magic.h
    {
        0x9FA0,  # proc
        0x62656572,  # sysfs
        0x1CD1,  # devpts
        0x64626720,  # debugfs
        0x74726163,  # tracefs
        0x73636673,  # securityfs
        0x62656570,  # configfs
        0x27E0EB,  # cgroup
        0x63677270,  # cgroup2
        0xCAFE4A11,  # bpf
        0x42494E4D,  # binfmt_misc
        0x6165676C,  # pstore
        0xDE5E81E4,  # efivarfs
        0x19800202,  # mqueue
        0x6E736673,  # nsfs
        0x65735543,  # fusectl
        0xF97CFF8C,  # selinux
        0x67596969,  # rpc_pipefs
        0x6E667364,  # nfsd
    }
)

_fstatfs = ctypes.CDLL(None, use_errno=True).fstatfs if sys.platform == "linux" else None
_Buffer: Final = ctypes.c_long * 64
"""More than `struct statfs` takes on any machine; `f_type` is its first word."""


def is_made_up(directory: int, path: bytes) -> bool:
    """Whether an open directory or file, whose real path is `path`, is in /proc or the like."""
    return _is_known_path(path) or _magic(directory) in _MAGIC


def is_made_up_place(scope: Scope, path: bytes) -> bool:
    """The same of a real path that is not open; False where nothing is there."""
    if _is_known_path(path):
        return True
    try:
        opened = scope.open(ResolvedPath("", path), _ANY)
    except (OSError, FlashgrepError):
        return False
    try:
        return _magic(opened) in _MAGIC
    finally:
        os.close(opened)


def _is_known_path(path: bytes) -> bool:
    if not path.startswith(_PATHS):  # nearly always, and asked of every directory
        return False
    return any(is_within(path, known) for known in _PATHS) and not is_within(path, _FILES)


def _magic(opened: int) -> int:
    """The number of the file system; 0 where the system does not say."""
    if _fstatfs is None:
        return 0
    buffer = _Buffer()
    if _fstatfs(opened, buffer) != 0:
        return 0
    return buffer[0] & 0xFFFFFFFF

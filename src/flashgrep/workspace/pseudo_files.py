"""Directories that the kernel makes up: `/proc`, `/sys`, `/dev` and their like.

A walk never comes into one by itself, neither through a link nor from the directory above. What
stands there is no text anybody keeps: reading it can wait, change something or never end, and
`/proc/self/fd` leads on to everything this process has open. A caller who names such a place as
the `path` of a call gets it, and there no link is followed at all.

They are known by their path, and by the number of their file system: one may be mounted anywhere.
`/dev` itself is often an ordinary memory file system, and `/dev/shm` is a place for files.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Final

from flashgrep.errors import FlashgrepError
from flashgrep.workspace.safe_open import O_PATH
from flashgrep.workspace.scope import ResolvedPath, Scope, is_within

REASON: Final = "made up by the kernel, entered only where it is named as path"
"""What is told of a place that a walk has left out."""

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
    """Whether an open directory or file, whose real path is `path`, is the kernel's."""
    return _is_known_path(path) or _magic(directory) in _MAGIC


def is_made_up_place(scope: Scope, path: bytes) -> bool:
    """The same of a real path that nobody has opened; False where nothing stands there."""
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
    """The number of the file system; 0 where the system does not tell."""
    if _fstatfs is None:
        return 0
    buffer = _Buffer()
    if _fstatfs(opened, buffer) != 0:
        return 0
    return buffer[0] & 0xFFFFFFFF

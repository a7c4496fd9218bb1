"""Which file systems tell us of every change: those whose changes all pass through this kernel."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

from flashgrep.workspace.scope import is_within

_REMOTE: Final = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "fuse", "gfs2", "glusterfs", "gpfs"}
    | {"lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "smb3", "smbfs", "vboxsf", "virtiofs", "vmhgfs"}
)
_TABLE: Final = "/proc/self/mountinfo"


def remote_mount(root: bytes) -> str:
    """The kind of a file system at or below `root` that others can change unseen; or empty."""
    try:
        with open(_TABLE, "rb") as table:
            mounts = list(_mounts(table.read()))
    except OSError:
        return ""
    here = max((m for m in mounts if is_within(root, m[0])), key=lambda m: len(m[0]), default=None)
    below = [m for m in mounts if is_within(m[0], root)]
    for _, kind in [*([here] if here else []), *below]:
        if kind in _REMOTE or kind.startswith("fuse."):
            return kind
    return ""


def _mounts(table: bytes) -> Iterator[tuple[bytes, str]]:
    """Mount point and file system of each line; spaces in paths are written in octal."""
    for line in table.splitlines():
        place, _, rest = line.partition(b" - ")
        fields = place.split()
        if len(fields) > 4 and rest:
            point = fields[4].decode("unicode_escape", "replace").encode("latin-1", "replace")
            yield os.path.normpath(point), rest.split()[0].decode("ascii", "replace")

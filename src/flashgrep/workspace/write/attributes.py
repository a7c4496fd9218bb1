"""Everything a file has besides its bytes: owner, mode, extended attributes, ACL."""

from __future__ import annotations

import errno
import os
import stat
from typing import Final

_ACL: Final = "system.posix_acl_access"
_KEPT_OR_REFUSED: Final = ("user.", _ACL)
_UNSUPPORTED: Final = (errno.EOPNOTSUPP, errno.ENOSYS)


class CannotKeep(Exception):
    """A new file cannot be given something the old one has; the message names it."""


def copy_attributes(source: int, sink: int, status: os.stat_result) -> None:
    """Give `sink` the owner, attributes and mode of `source`; `CannotKeep` where it is refused.

    In this order: a change of owner clears setuid, and an ACL writes the group bits of the mode.
    """
    _copy_owner(sink, status)
    _copy_extended(source, sink)
    os.fchmod(sink, stat.S_IMODE(status.st_mode))
    if stat.S_IMODE(os.fstat(sink).st_mode) != stat.S_IMODE(status.st_mode):
        raise CannotKeep("mode")


def _copy_owner(sink: int, status: os.stat_result) -> None:
    now = os.fstat(sink)
    if (now.st_uid, now.st_gid) == (status.st_uid, status.st_gid):
        return
    try:
        os.fchown(sink, status.st_uid, status.st_gid)
    except OSError as error:
        raise CannotKeep("owner") from error


def _copy_extended(source: int, sink: int) -> None:
    if not hasattr(os, "listxattr"):
        return
    wanted = _listed(source)
    for name in _listed(sink):
        if name == _ACL and name not in wanted:  # inherited from the directory's default
            os.removexattr(sink, name)
    for name in wanted:
        try:
            os.setxattr(sink, name, os.getxattr(source, name))
        except OSError as error:
            # Labels (security.*, trusted.*) are the system's to give; ours to keep are the rest.
            if name.startswith(_KEPT_OR_REFUSED):
                raise CannotKeep(name) from error


def _listed(fd: int) -> list[str]:
    try:
        return os.listxattr(fd)
    except OSError as error:
        if error.errno in _UNSUPPORTED:
            return []
        raise

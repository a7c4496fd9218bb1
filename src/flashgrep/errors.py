"""Every failure that a caller can see, with its code on the wire.

    FlashgrepError            code, message; becomes a result with isError, never a protocol error
    ├─ InvalidParams          invalid_params       the caller's arguments are wrong
    │  ├─ InvalidPattern      invalid_pattern      the regular expression does not compile
    │  └─ InvalidTrigger      invalid_trigger      not a word that asks for the skill
    ├─ NotFound               not_found            no such file or directory
    ├─ AccessDenied           access_denied        outside the scope, denied, or not authorised
    ├─ TooLarge               too_large            over a limit the message names
    ├─ NotUnique              not_unique           an edit's string occurs more than once
    ├─ StringNotFound         string_not_found     an edit's string does not occur
    ├─ NotRead                not_read             an edit before any read
    ├─ Conflict               conflict             the file changed since it was read
    ├─ PreconditionFailed     precondition_failed  the file is not what the caller expected
    ├─ SkillNotFound          skill_not_found      the skill's file does not exist
    ├─ SkillUnreadable        skill_unreadable     the skill's file cannot be read as text
    ├─ IOFailure              io_error             the operating system refused
    ├─ Cancelled              cancelled            the caller withdrew the call
    ├─ Unavailable            unavailable          the server cannot serve this now
    └─ RemoteFailure          its sender's         a failure that another process answered with
    SettingsError             a start-up error: names the value and the valid ones

A message says what happened, the value, and what to do next. Of one that is too long the middle is
left out, and so in this one place for every tool and method: that is where the value is.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any

from flashgrep import limits


class FlashgrepError(Exception):
    """A failure that the caller gets as a result, with a stable code."""

    code = "io_error"

    def __init__(self, message: str, details: Mapping[str, Any] | None = None) -> None:
        message = _bounded(message)
        super().__init__(message)
        self.message = message
        self.details = dict(details or {})
        """Added to code and message where the answer is JSON."""


def _bounded(message: str) -> str:
    """A message without its middle, if it is too long."""
    missing = len(message) - limits.REFUSAL_CHARS
    if missing <= 0:
        return message
    end = limits.REFUSAL_CHARS // 2
    return f"{message[:end]}... ({missing:,} characters left out) ...{message[-end:]}"


class InvalidParams(FlashgrepError):
    """The caller's arguments are wrong; the message names the value and the remedy."""

    code = "invalid_params"


class InvalidPattern(InvalidParams):
    """A regular expression that RE2 does not accept."""

    code = "invalid_pattern"


class InvalidTrigger(InvalidParams):
    """A word that does not ask for the skill; the message names those that do."""

    code = "invalid_trigger"


class NotFound(FlashgrepError):
    """No such file or directory."""

    code = "not_found"


class AccessDenied(FlashgrepError):
    """Outside the allowed directories, denied by a pattern, or not authorised."""

    code = "access_denied"


class TooLarge(FlashgrepError):
    """Over a limit that the message names."""

    code = "too_large"


class NotUnique(FlashgrepError):
    """An edit's string occurs more than once."""

    code = "not_unique"


class StringNotFound(FlashgrepError):
    """An edit's string does not occur in the file."""

    code = "string_not_found"


class NotRead(FlashgrepError):
    """An edit of a file this caller has not read."""

    code = "not_read"


class Conflict(FlashgrepError):
    """The file changed since this caller read it."""

    code = "conflict"


class PreconditionFailed(FlashgrepError):
    """The file is not what the caller said it must be; nothing was changed."""

    code = "precondition_failed"


class SkillNotFound(FlashgrepError):
    """The file that holds the skill does not exist."""

    code = "skill_not_found"


class SkillUnreadable(FlashgrepError):
    """The file that holds the skill cannot be read as text."""

    code = "skill_unreadable"


class IOFailure(FlashgrepError):
    """The operating system refused."""

    code = "io_error"


class Cancelled(FlashgrepError):
    """The caller withdrew the call."""

    code = "cancelled"


class Unavailable(FlashgrepError):
    """The server cannot serve this now."""

    code = "unavailable"


class RemoteFailure(FlashgrepError):
    """A failure that another process answered with, under the code it gave."""

    code = "unavailable"

    def __init__(
        self,
        message: str,
        code: str,
        details: Mapping[str, Any] | None = None,
        number: int = 0,
    ) -> None:
        super().__init__(message, details)
        self.code = code
        """Empty where the other end is not flashgrep."""
        self.number = number
        """The code of JSON-RPC."""


class SettingsError(Exception):
    """An invalid setting: reported at start-up, with the value and the valid ones."""


_NOT_FOUND = {errno.ENOENT, errno.ENOTDIR}
_DENIED = {errno.EACCES, errno.EPERM}


def from_os_error(error: OSError, shown: str) -> FlashgrepError:
    """Map an operating system error about `shown` to ours; every errno maps to something."""
    if error.errno in _NOT_FOUND:
        return NotFound(f"Path not found: {shown}")
    if error.errno in _DENIED:
        return AccessDenied(f"Permission denied by the operating system: {shown}")
    if error.errno == errno.ENAMETOOLONG:
        return InvalidParams(f"A name in the path is too long for the file system: {shown}")
    reason = os.strerror(error.errno) if error.errno else str(error)
    return IOFailure(f"{reason}: {shown}")

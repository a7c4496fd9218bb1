"""Every failure has a code, and every error of the operating system becomes one of ours."""

from __future__ import annotations

import errno

import pytest

from flashgrep import errors
from flashgrep.errors import FlashgrepError, from_os_error

CODES = {
    "InvalidParams": "invalid_params",
    "InvalidPattern": "invalid_pattern",
    "InvalidTrigger": "invalid_trigger",
    "NotFound": "not_found",
    "AccessDenied": "access_denied",
    "TooLarge": "too_large",
    "NotUnique": "not_unique",
    "StringNotFound": "string_not_found",
    "NotRead": "not_read",
    "Conflict": "conflict",
    "PreconditionFailed": "precondition_failed",
    "SkillNotFound": "skill_not_found",
    "SkillUnreadable": "skill_unreadable",
    "IOFailure": "io_error",
    "Cancelled": "cancelled",
    "Unavailable": "unavailable",
    "RemoteFailure": "unavailable",
}


def test_the_codes_are_those_of_the_contract() -> None:
    found = {
        name: kind.code
        for name, kind in vars(errors).items()
        if isinstance(kind, type)
        and issubclass(kind, FlashgrepError)
        and kind is not FlashgrepError
    }
    assert found == CODES


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_every_error_number_is_told_with_the_name_it_is_about(number: int) -> None:
    ours = from_os_error(OSError(number, "x"), "some/path")
    assert "some/path" in ours.message
    assert ours.code in set(CODES.values())


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOENT, "not_found"),
        (errno.ENOTDIR, "not_found"),
        (errno.EACCES, "access_denied"),
        (errno.EPERM, "access_denied"),
        (errno.ENAMETOOLONG, "invalid_params"),
        (errno.EIO, "io_error"),
        (errno.ENOSPC, "io_error"),
    ],
)
def test_what_a_caller_can_mend_has_a_code_of_its_own(number: int, code: str) -> None:
    assert from_os_error(OSError(number, "x"), "p").code == code

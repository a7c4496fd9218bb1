"""The login name of the user who runs this process."""

from __future__ import annotations

import os
import pwd
from functools import cache
from typing import Final

NAMELESS: Final = "server"
"""A user without a name; containers have them."""


@cache
def login_name() -> str:
    """The login name of our user."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name or NAMELESS
    except KeyError:
        return NAMELESS

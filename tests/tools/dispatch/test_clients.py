"""Which clients take long answers whole: by name, and from the version on that does."""

from __future__ import annotations

import pytest

from flashgrep.tools.dispatch.caller import takes_long_answers

KNOWN = [
    ("claude-code", "2.1.98", True),
    ("claude-code", "2.1.197", True),
    ("claude-code", "2.2.0", True),
    ("claude-code", "10.0.0-beta.1", True),
    ("claude-code", "2.1.97", False),
    ("claude-code", "2.0.300", False),
    ("claude-code", "1.9.99", False),
    ("claude-code", "", False),
    ("claude-code", "latest", False),
    ("claude-code", "2.1", False),
    ("claude-code", "9" * 5_000 + ".1.1", False),
    ("Claude-Code", "2.1.197", False),
    ("cursor-vscode", "9.9.9", False),
    ("", "", False),
]


@pytest.mark.parametrize(("name", "version", "takes"), KNOWN)
def test_a_client_is_known_by_name_and_version(name: str, version: str, takes: bool) -> None:
    assert takes_long_answers(name, version) is takes

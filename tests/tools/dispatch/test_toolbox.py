"""Which tools a server has, and what it says of those it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.workshop import workshop


@pytest.mark.parametrize(
    ("tool", "settings", "told"),
    [
        ("create_file", {"read_only": True}, "This server is read-only: tools that write"),
        ("create_file", {"disable_tools": ("create_file",)}, "This server does not offer it."),
        ("stats", {"toolsets": ("files",)}, "This server does not offer it."),
        ("list_file", {}, "Did you mean list_files?"),
        ("list_file", {"read_only": True}, "Did you mean list_files?"),
        ("xyz", {}, "Tools: grep"),
    ],
)
def test_a_tool_that_is_not_there_is_refused_with_the_reason(
    tmp_path: Path, tool: str, settings: dict[str, object], told: str
) -> None:
    with workshop(tmp_path, **settings) as shop:
        refused = shop.refused(tool, "invalid_params")
    assert refused.startswith(f"Unknown tool: {tool!r}. {told}")
    assert ("Did you mean" in refused) == ("Did you mean" in told)

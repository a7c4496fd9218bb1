"""The generated pages of docs/ say what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.reference import PAGES, settings_page, tools_page

from flashgrep.settings import SETTINGS
from flashgrep.tools.catalog import all_tools


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_generated_page_is_what_its_table_gives(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == PAGES[path](), "run make docs"


def test_every_setting_is_on_the_page_once() -> None:
    page = settings_page()
    for row in SETTINGS:
        assert page.count(f"`{row.environment}`") == 1


def test_every_tool_and_every_name_of_a_parameter_is_on_the_page() -> None:
    page = tools_page()
    for spec in all_tools():
        section = page.partition(f"\n## {spec.name}\n")[2].partition("\n## ")[0]
        for name in (name for parameter in spec.parameters for name in parameter.names):
            assert f"`{name}`" in section

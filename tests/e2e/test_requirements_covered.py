"""Every scenario has its test, and every test of the files of requirements its scenario."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Mapping

import pytest
from tests.e2e import scenarios

DOCUMENTS = (
    pytest.param("test_grep_requirements", scenarios.GREP, id="grep-tool"),
    pytest.param("test_file_requirements", scenarios.FILES, id="file-tools"),
    pytest.param("test_mcp_server_scenarios", scenarios.SERVER, id="mcp-server"),
    pytest.param(
        "test_knowledge_base_decisions", scenarios.NOTES_DECISIONS, id="knowledge-base-decisions"
    ),
    pytest.param(
        "test_knowledge_base_research", scenarios.NOTES_RESEARCH, id="knowledge-base-research"
    ),
)


def carried(module: str) -> dict[str, str | None]:
    """The tests of a file, each with the title it carries."""
    members = vars(importlib.import_module(f"tests.e2e.{module}"))
    tests = {name: test for name, test in members.items() if name.startswith("test_")}
    return {name: getattr(test, "scenario", None) for name, test in tests.items()}


@pytest.mark.parametrize(("module", "document"), DOCUMENTS)
def test_every_scenario_is_carried_by_one_test(
    module: str, document: Mapping[str, tuple[str, ...]]
) -> None:
    titles = [title for group in document.values() for title in group]
    assert Counter(carried(module).values()) == Counter(titles)


@pytest.mark.parametrize(("module", "document"), DOCUMENTS)
def test_every_test_is_named_after_its_scenario(
    module: str, document: Mapping[str, tuple[str, ...]]
) -> None:
    for name, title in carried(module).items():
        assert title is not None, name
        words = title.partition(" (")[0].replace("ImageContent", "image content")
        slug = "".join(c if c.isalnum() else " " for c in words.lower())
        assert name == "test_" + "_".join(slug.split())


def test_the_documents_are_listed_whole() -> None:
    """Counted in the documents: a title lost here would go unnoticed above."""
    documents = (
        scenarios.GREP,
        scenarios.FILES,
        scenarios.SERVER,
        scenarios.NOTES_DECISIONS,
        scenarios.NOTES_RESEARCH,
    )
    counts = [sum(map(len, document.values())) for document in documents]
    assert counts == [69, 25, 23, 14, 28]

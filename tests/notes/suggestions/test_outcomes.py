"""The table of what became of suggestions: what a migration finds, and what is kept of each."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from flashgrep.notes.access.roles import Author, AuthorKind, Role, everywhere
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.review import OwnQuery
from tests.formats.stored import EARLIER, copied, held

ADMIN = everywhere("ann", Role.ADMIN)


@pytest.mark.parametrize("name", EARLIER)
def test_decisions_of_an_older_knowledge_base_are_listed_and_not_told(
    name: str, tmp_path: Path
) -> None:
    with closing(KnowledgeBase(copied(name, "kb", tmp_path / "kb"))) as kb:
        author = Author("tok/claude", AuthorKind.LOCAL)
        found = {one.id: one.state for one in kb.review.own(OwnQuery(), author, ADMIN).suggestions}
        standing = {
            suggestion: {"accept": "accepted", "reject": "rejected"}[action]
            for _, _, suggestion, action, _, _, _, _, undone, _ in held(name)["decisions"]
            if undone is None
        }
        assert standing
        assert standing.items() <= found.items()
        notes = kb.ask(lambda library: library.catalogue.entries())
        assert [kb.review.news(author, note.id) for note in notes] == [([], 0)] * len(notes)

"""What earlier versions stored is opened by this one, with everything in it."""

from __future__ import annotations

import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flashgrep.index.format.header import MAGIC
from flashgrep.index.format.manifest import FORMAT
from flashgrep.index.format.store import Store
from flashgrep.notes.access.tokens import Tokens
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.review.review import DecisionStatus, Query
from flashgrep.notes.review.verdict import Action
from tests.formats.generate import ADMIN, described
from tests.formats.stored import FORMATS, WITH_INDEX, as_stored, copied, held
from tests.index.twins import haste, twins

each_format = pytest.mark.parametrize("name", FORMATS)


@each_format
def test_everything_in_a_stored_knowledge_base_is_there(name: str, tmp_path: Path) -> None:
    kb = KnowledgeBase(copied(name, "kb", tmp_path / "kb"))
    try:
        found, expected = as_stored(json.loads(json.dumps(described(kb))), name), held(name)
    finally:
        kb.close()
    suggestions = {one["id"]: one for one in found["suggestions"]}
    for one in expected["suggestions"]:
        assert suggestions[one["id"]] == one
    parts = {"notes", "decisions", "links", "attachments", "tokens"}
    words = {"words", "comments", "resolved", "news"}  # from format 3 on
    for part in parts | (words & expected.keys()):
        assert found[part] == expected[part], part


@each_format
def test_marks_that_people_typed_in_a_stored_knowledge_base_can_be_decided(
    name: str, tmp_path: Path
) -> None:
    kb = KnowledgeBase(copied(name, "kb", tmp_path / "kb"))
    try:
        found = kb.review.suggestions(Query(limit=1_000), ADMIN).suggestions
        (typed,) = [one for one in found if one.new == "by hand"]
        author = "unknown" if name == "1" else "ann"  # format 1 knew no record of it
        assert (typed.path, typed.author) == ("Garden/Beans.md", author)
        (outcome,) = kb.review.decide([typed.id], Action.ACCEPT, ADMIN)
        assert outcome.status is DecisionStatus.DONE
        assert "Typed by hand, {>>a comment<<}" in kb.read(typed.note).text
    finally:
        kb.close()


@each_format
def test_the_tokens_of_a_stored_knowledge_base_still_let_in(name: str, tmp_path: Path) -> None:
    tokens = Tokens(copied(name, "kb", tmp_path / "kb"))
    expected = held(name)
    roles = {who: role for who, role, _, _ in expected["tokens"]}
    for who, secret in expected["secrets"].items():
        principal = tokens.principal(secret)
        assert principal is not None
        assert principal.grants[0].role.shown == roles[who]


@each_format
def test_decisions_of_a_stored_knowledge_base_can_be_undone(name: str, tmp_path: Path) -> None:
    kb = KnowledgeBase(copied(name, "kb", tmp_path / "kb"))
    try:
        standing = [row for _, row in kb.review.decisions(ADMIN) if not row.is_undone]
        assert {row.action for row in standing} == {Action.ACCEPT, Action.REJECT}
        for row in standing:
            kb.review.undo(row.id, ADMIN)
        texts = {row.note: kb.read(row.note).text for row in standing}
        assert all(f"{{--{row.old}--}}{{++{row.new}++}}" in texts[row.note] for row in standing)
        ids = [row.suggestion for row in standing]
        outcomes = kb.review.decide(ids, Action.ACCEPT, ADMIN)
        assert [one.status for one in outcomes] == ["done"] * len(ids)
    finally:
        kb.close()


def test_what_people_said_in_a_stored_knowledge_base_comes_back_with_the_suggestion(
    tmp_path: Path,
) -> None:
    kb = KnowledgeBase(copied("3", "kb", tmp_path / "kb"))
    try:
        rows = {row.old: row for path, row in kb.review.decisions(ADMIN) if path == "Said.md"}
        refused, edited = rows["Red"], rows["green"]
        assert (refused.reason, refused.outcome) == ("English, please: é", "rejected")
        assert (edited.text, edited.outcome) == ("mint green", "edited")
        assert [one.text for one in refused.comments] == ["Why German?"]
        before = kb.read(edited.note).text
        assert before.startswith("Red, mint green, ")
        kb.review.undo(edited.id, ADMIN)
        kb.review.undo(refused.id, ADMIN)
        text = kb.read(edited.note).text
        assert text.startswith("{--Red--}{++Rot++}{>>Why German?<<}, {--green--}{++grün++}, ")
        said = kb.commenting.on_suggestions([refused.suggestion])[refused.suggestion]
        assert [(one["author"], one["text"]) for one in said] == [("bob", "Why German?")]
    finally:
        kb.close()


# ── an index ────────────────────────────────────────────────────────────────────────────────────


def other_manifest(index: Path, **changed: Any) -> None:
    """Give a stored manifest other values, with a checksum that is right."""
    data = json.loads((index / "manifest").read_bytes().partition(b"\n")[0]) | changed
    body = json.dumps(data).encode()
    (index / "manifest").write_bytes(body + b"\n%08x\n" % zlib.crc32(body))


def other_segments(index: Path, magic: bytes) -> None:
    for segment in index.glob("*.seg"):
        if segment.is_file():
            segment.write_bytes(magic + segment.read_bytes()[len(MAGIC) :])


VARIANTS: dict[str, Callable[[Path], None]] = {
    "as it was stored": lambda index: None,
    "an earlier manifest": lambda index: other_manifest(index, format=FORMAT - 1),
    "a later manifest": lambda index: other_manifest(index, format=FORMAT + 1),
    "another kind of segment": lambda index: other_segments(index, b"flashsg0"),
}


@pytest.mark.parametrize("name", WITH_INDEX)
@pytest.mark.parametrize("variant", VARIANTS)
def test_an_index_of_another_format_is_built_again_and_answers_right(
    name: str, variant: str, tmp_path: Path
) -> None:
    copied(name, "workspace", tmp_path / "work")
    with haste(), twins(tmp_path) as pair:
        pair.folded()
        (index,) = (tmp_path / "state" / "index").iterdir()
    shutil.rmtree(index)
    VARIANTS[variant](copied(name, "index", index))
    with haste(), twins(tmp_path) as pair:
        pair.folded()
        for pattern in ("needle", "line 49[0-9] of", "Größe", "absent"):
            pair.agree(pattern=pattern, output_mode="content")
        assert pair.by_index == 4
    assert Store(index).generation().segments

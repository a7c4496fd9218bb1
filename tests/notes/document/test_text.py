"""The text adapter: Python's own splice is the oracle; and what it rests on in pycrdt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycrdt import Doc, Text

from flashgrep.errors import InvalidParams, Unavailable
from flashgrep.notes.document import text
from flashgrep.notes.document.anchors import Anchors
from flashgrep.notes.document.text import (
    NotText,
    Panicked,
    SharedText,
    TextSplice,
    catching_panics,
    check_offsets,
    ordered,
    spliced,
)
from flashgrep.notes.document.updates import clocks
from tests.notes.texts import any_texts, splices_of


def fresh(content: str) -> tuple[Text, SharedText]:
    doc: Doc[Text] = Doc()
    text = doc.get("contents", type=Text)
    text += content
    return text, SharedText(text)


@given(any_texts, st.data())
def test_a_splice_is_what_python_makes_of_it(content: str, data: st.DataObject) -> None:
    shared = fresh(content)[1]
    for _ in range(3):
        before = shared.read()
        changes = data.draw(splices_of(before))
        assert shared.splice(changes) == spliced(before, ordered(before, changes))
        assert shared.read() == spliced(before, ordered(before, changes))


def test_a_splice_is_one_transaction() -> None:
    text, shared = fresh("one two three")
    seen: list[bytes] = []
    watch = text.doc.observe(lambda event: seen.append(event.update))
    shared.splice([TextSplice(0, 3, "1"), TextSplice(4, 7, "2"), TextSplice(13, 13, "!")])
    assert shared.read() == "1 2 three!"
    assert len(seen) == 1
    text.doc.unobserve(watch)


@pytest.mark.parametrize(
    "changes",
    [
        [TextSplice(0, 1, "x"), TextSplice(2, 9, "y")],
        [TextSplice(0, 1, "\ud83d")],
        [TextSplice(0, 1, "a\r\n")],
        [TextSplice(0, 1, "\0")],
    ],
)
def test_a_refused_splice_changes_nothing(changes: list[TextSplice]) -> None:
    shared = fresh("😀ab")[1]
    with pytest.raises(InvalidParams):
        shared.splice(changes)
    assert shared.read() == "😀ab"


def test_a_text_with_an_embedded_object_is_not_touched() -> None:
    text, shared = fresh("abc")
    text.insert_embed(1, {"image": "x"})
    with pytest.raises(NotText):
        shared.splice([TextSplice(2, 3, "x")])
    assert shared.read() == "abc"


def test_formatting_does_not_move_offsets() -> None:
    text, shared = fresh("abcdef")
    text.format(1, 3, {"bold": True})
    assert shared.splice([TextSplice(5, 6, "F")]) == "abcdeF"


def test_a_panic_is_told_as_a_failure() -> None:
    text, _ = fresh("😀ab")
    with pytest.raises(Panicked, match="nothing was changed"), catching_panics():
        del text[1:4]


def test_other_errors_pass_through_the_panic_guard() -> None:
    with pytest.raises(KeyboardInterrupt), catching_panics():
        raise KeyboardInterrupt


# ── what this rests on: fails when a release of pycrdt behaves differently ──────────────────────


def test_pycrdt_counts_bytes() -> None:
    check_offsets()
    assert len(fresh("é😀x日本")[0]) == 13


def test_an_engine_with_another_unit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_PROBE", "ab")
    monkeypatch.setattr(Text, "__len__", lambda _: 1)
    with pytest.raises(Unavailable, match=r"characters.*pycrdt>="):
        check_offsets()


def test_a_panic_is_no_exception() -> None:
    text, _ = fresh("😀ab")
    with pytest.raises(BaseException, match="remove") as caught:
        del text[1:4]
    assert not isinstance(caught.value, Exception)
    assert type(caught.value).__module__ == "pyo3_runtime"


def test_the_end_of_a_long_text_that_is_not_ascii_can_be_named_at_once() -> None:
    """Counted in what the engine is asked: the way there must not be walked."""
    doc: Doc[Text] = Doc(client_id=7)
    text = doc.get("contents", type=Text)
    SharedText(text).splice([TextSplice(0, 0, "é" * 500 + "++}")])
    anchors = Anchors(text, clocks(doc.get_state()))
    asked = []
    claim = anchors._claim
    anchors._claim = lambda place: asked.append(place) or claim(place)  # type: ignore
    end = anchors.at(502)
    assert anchors.find(end) == 502
    assert len(asked) < 20

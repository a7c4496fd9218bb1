"""A byte that is not valid UTF-8 matches no character, whichever way a text is searched."""

from __future__ import annotations

import mmap
import tempfile
import time
from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flashgrep.search import decode
from flashgrep.search.decode import hide, searchable, searchable_text
from flashgrep.search.pattern import (
    UNANCHORED,
    PatternSpec,
    characters_alone,
    compiled,
    needs_care,
)
from tests.tools.workshop import Workshop, workshop

OPEN = [".", "[^a]", r"\W", r"\D", r"\S", r"\PL", r"\p{Cs}", r"\x{d800}", r"[\x{d000}-\x{e000}]"]
OPEN += [r"[\x{80}-\x{10ffff}]", "(?s).", "[^[:alpha:]]", r"\p{Any}", "a.b", ".{2}"]
CLOSED = ["abc", "한", "a|b+", "[a-z]", r"\bword\b", "(?i)kelvin", r"\d+", "^$", r"\x{1f600}"]

octets = st.sampled_from(
    [bytes([octet]) for octet in (0x61, 0x0A, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2)]
    + [bytes([octet]) for octet in (0xE0, 0xE1, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF4, 0xF5, 0xFF)]
)
texts = st.lists(octets, max_size=24).map(b"".join)


def spans(pattern: str, text: bytes) -> list[tuple[int, int]]:
    """All matches that are not empty."""
    found, at = [], 0
    while at <= len(text):
        first, last = compiled(pattern).Match(UNANCHORED, text, at, len(text))[0]
        if first < 0:
            break
        if last > first:
            found.append((first, last))
        at = max(last, at + 1)
    return found


@settings(max_examples=300, deadline=None)
@given(text=texts, pattern=st.sampled_from(OPEN))
@example(text=b"\xed\xa0\x80", pattern=".")
@example(text=b"\xe0\x80\x80", pattern=".")
@example(text=b"\xf0\x80\x80\x80", pattern="[^a]")
@example(text=b"\xf4\x90\x80\x80", pattern=".")
@example(text=b"\xf4\x8f\xbf\xbf\xed\x9f\xbf", pattern=".")
def test_re2_finds_in_a_searchable_text_what_the_definition_says(text: bytes, pattern: str) -> None:
    assert spans(pattern, searchable_text(text)) == spans(pattern, characters_alone(text))


@given(text=texts)
def test_it_is_shown_as_it_was(text: bytes) -> None:
    assert searchable_text(text).decode("utf-8", "replace") == text.decode("utf-8", "replace")


@given(text=texts, step=st.integers(1, 5))
def test_steps_of_any_size_give_the_same(text: bytes, step: int) -> None:
    expected = searchable_text(text)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(decode, "_STEP", step)
        patched.setattr(decode, "_FEW", step % 3)
        buffer = bytearray(text)
        hide(buffer, 0, len(buffer))
        assert bytes(buffer) == expected
        assert searchable_text(text) == expected


@pytest.mark.parametrize("text", ["plain", "한국어 텍스트", "ไทย हिन्दी", "😀 \U0010ffff", "naïve"])
def test_ordinary_text_is_searched_where_it_stands(text: str) -> None:
    data = text.encode() * 50
    assert searchable(data, 0, len(data)) is data


def test_bytes_of_another_encoding_are_left_where_they_stand() -> None:
    data = "naïve à côté í".encode("latin-1") * 50
    assert searchable(data, 0, len(data)) is data


def test_a_mapped_line_is_searched_in_a_mapped_copy() -> None:
    data = b"x" * 5000 + b"\xed\xa0\x80" + b"\n"
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        with mmap.mmap(file.fileno(), len(data), access=mmap.ACCESS_READ) as mapped:
            copy = searchable(mapped, 0, len(data))
            assert isinstance(copy, mmap.mmap)
            assert copy[:] == searchable_text(data)
            copy.close()


@pytest.mark.parametrize(
    ("pattern", "expected"), [*((p, True) for p in OPEN), *((p, False) for p in CLOSED)]
)
def test_only_patterns_that_may_meet_such_bytes_pay_for_them(pattern: str, expected: bool) -> None:
    assert needs_care(PatternSpec(pattern)) is expected


# ── through the tools ───────────────────────────────────────────────────────────────────────────

BAD = {
    "surrogate": b"\xed\xa0\x80",
    "overlong": b"\xe0\x80\x80",
    "longer": b"\xf0\x8f\xbf\xbf",
    "above": b"\xf4\x90\x80\x80",
}


@pytest.fixture(scope="module", params=["scanning", "indexed"])
def shop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workshop]:
    place = tmp_path_factory.mktemp(request.param)
    with workshop(place, no_index=request.param == "scanning") as made:
        for name, octets in BAD.items():
            made.file(f"{name}.txt", b"<" + octets + b">\n" + octets + b"\n")
        made.file("large.txt", b"filler\n" * 300_000 + b"<" + BAD["above"] + b">\n")
        made.file("good.txt", "<한>\n😀\n".encode())
        if request.param == "indexed":
            made.application.start_index()
            wall = time.monotonic() + 120
            while not made.json("stats")["grep_ready"]:
                assert time.monotonic() < wall
                time.sleep(0.01)
        yield made


@pytest.mark.parametrize("pattern", ["<.>", "<.+>", "<[^a]+>", r"<\W*>", r"^[^\x00-\x7f]"])
@pytest.mark.parametrize("multiline", [False, True])
def test_no_tool_finds_what_is_no_character(shop: Workshop, pattern: str, multiline: bool) -> None:
    for mode in ("files_with_matches", "count", "content"):
        pattern_here = f"(?m){pattern}" if multiline else pattern
        found = shop.text("grep", pattern=pattern_here, output_mode=mode, multiline=multiline)
        assert {line.partition(":")[0] for line in found.split("\n")} == {"good.txt"}


def test_the_ends_of_such_lines_are_found_and_shown(shop: Workshop) -> None:
    lines = shop.lines("grep", pattern="<|.>", output_mode="content", path="surrogate.txt")
    assert lines == ["surrogate.txt:1:<\ufffd\ufffd\ufffd>"]

"""get_symbol: definitions by parsing, references complete."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.tools.dispatch.call import Call
from flashgrep.tools.verbs.get_symbol import Definition, definitions_of
from tests.tools.workshop import Workshop, workshop

POWER = "#include <x.h>\n\nint power_down(struct dev *d)\n{\n\treturn d->off;\n}\n"
HEADER = "int power_down(struct dev *d);\n"
USER = "package x\n\n// power_down is called here\nvar x = power_down\nvar y = power_down_all\n"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path, no_index=True) as made:
        made.file("src/power.c", POWER)
        made.file("src/power.h", HEADER)
        made.file("src/user.go", USER)
        yield made


def places(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(row["file_path"], row["line"]) for row in rows]


def test_a_symbol_is_told_with_its_definition_and_every_line(shop: Workshop) -> None:
    assert shop.json("get_symbol", symbol_name="power_down") == {
        "symbol_name": "power_down",
        "definitions": [
            {
                "file_path": "src/power.c",
                "line": 3,
                "kind": "function",
                "signature": "int power_down(struct dev *d)",
            }
        ],
        "references": [
            {"file_path": "src/power.c", "line": 3, "text": "int power_down(struct dev *d)"},
            {"file_path": "src/power.h", "line": 1, "text": "int power_down(struct dev *d);"},
            {"file_path": "src/user.go", "line": 3, "text": "// power_down is called here"},
            {"file_path": "src/user.go", "line": 4, "text": "var x = power_down"},
        ],
        "total": 4,
        "truncated": False,
        "next_offset": None,
    }


def test_a_name_that_stands_nowhere_has_nothing(shop: Workshop) -> None:
    answer = shop.json("get_symbol", symbol_name="nowhere")
    assert (answer["definitions"], answer["references"], answer["total"]) == ([], [], 0)
    assert (answer["truncated"], answer["next_offset"]) == (False, None)


def test_pages_join_to_the_whole(shop: Workshop) -> None:
    pages: list[tuple[str, int]] = []
    offset: int | None = 0
    while offset is not None:
        answer = shop.json("get_symbol", symbol_name="power_down", limit=3, offset=offset)
        assert answer["total"] == 4
        assert len(answer["definitions"]) == 1
        pages += places(answer["references"])
        offset = answer["next_offset"]
    assert pages == places(shop.json("get_symbol", symbol_name="power_down")["references"])
    past = shop.json("get_symbol", symbol_name="power_down", offset=9)
    assert (past["references"], past["next_offset"]) == ([], None)


def test_implementations_stand_before_tests(shop: Workshop) -> None:
    shop.file("a_tests/x.py", "x = 1\n")
    shop.file("aa/tests/power.py", "def power_up():\n    pass\n")
    shop.file("src/power.py", "class A:\n    def power_up(self):\n        pass\n")
    found = shop.json("get_symbol", symbol_name="power_up")["definitions"]
    assert [(one["file_path"], one["line"], one["kind"]) for one in found] == [
        ("src/power.py", 2, "method"),
        ("aa/tests/power.py", 1, "function"),
    ]


def test_a_constant_of_an_enum_is_a_definition(shop: Workshop) -> None:
    shop.file("src/color.h", "enum color {\n\tRED,\n\tDARK_GREEN,\n};\n")
    shop.file("src/paint.c", "void paint(void)\n{\n\tuse(DARK_GREEN);\n}\n")
    answer = shop.json("get_symbol", symbol_name="DARK_GREEN")
    assert places(answer["definitions"]) == [("src/color.h", 3)]
    assert answer["definitions"][0]["kind"] == "constant"
    assert answer["total"] == 2


def test_it_is_as_fresh_as_the_disk(shop: Workshop) -> None:
    shop.file("src/power.c", "\n\n" + POWER)
    assert places(shop.json("get_symbol", symbol_name="power_down")["definitions"]) == [
        ("src/power.c", 5)
    ]


def test_a_budget_pages_and_a_direct_method_has_none(tmp_path: Path) -> None:
    with workshop(tmp_path, no_index=True, max_output_chars=2_000) as shop:
        shop.file("a.py", "def needle():\n    pass\n" + "needle()\n" * 500)
        answer = shop.call("get_symbol", symbol_name="needle")
        assert len(answer.text) <= 2_000
        assert answer.data is not None
        shown = len(answer.data["references"])
        assert 0 < shown < 501
        assert (answer.data["truncated"], answer.data["next_offset"]) == (True, shown)
        whole = shop.direct("get_symbol", symbol_name="needle")
        assert len(whole["references"]) == whole["total"] == 501
        assert whole["next_offset"] is None


def test_many_definitions_leave_room_and_are_not_repeated_on_every_page(tmp_path: Path) -> None:
    with workshop(tmp_path, no_index=True, max_output_chars=6_000) as shop:
        for number in range(20):
            methods = "".join(
                f"class C{at}:\n    def needle(self, first, second):\n        pass\n"
                for at in range(20)
            )
            shop.file(f"{number:02}.py", methods)
        first = shop.call("get_symbol", symbol_name="needle")
        later = shop.call("get_symbol", symbol_name="needle", offset=100)
        whole = shop.direct("get_symbol", symbol_name="needle")["definitions"]
        assert len(whole) == 400
        pages = [answer.data for answer in (first, later) if answer.data]
        for answer, page in zip((first, later), pages, strict=True):
            assert len(answer.text) <= 6_000
            assert page["definitions"] == whole[: len(page["definitions"])]
            assert len(page["definitions"]) + page["definitions_left_out"] == 400
            assert len(page["references"]) > 10
        assert len(pages[0]["definitions"]) > 4 * len(pages[1]["definitions"]) > 0


def test_lines_beyond_what_is_looked_at_are_told_as_incomplete(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for most, is_incomplete in ((4, False), (3, True)):
        monkeypatch.setattr(limits, "SYMBOL_LINES", most)
        answer = shop.json("get_symbol", symbol_name="power_down")
        assert ("definitions_incomplete" in answer) is is_incomplete


def test_references_are_counted_no_further_than_the_page_needs(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SYMBOL_LINES", 2)
    shop.file("many.txt", "power_down\n" * 20_000)
    whole = shop.direct("get_symbol", symbol_name="power_down")
    assert (len(whole["references"]), whole["total"]) == (20_004, 20_004)
    first = shop.json("get_symbol", symbol_name="power_down", limit=3)
    assert (first["references"], first["total"]) == (whole["references"][:3], None)
    assert (first["truncated"], first["next_offset"]) == (True, 3)
    full = shop.json("get_symbol", symbol_name="power_down")  # as much as the budget holds
    assert full["references"] == whole["references"][: len(full["references"])]
    assert (full["total"], full["truncated"]) == (None, True)


def test_the_last_page_of_references_knows_their_total(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SYMBOL_LINES", 1)
    pages = [
        shop.json("get_symbol", symbol_name="power_down", limit=2, offset=offset)
        for offset in (0, 2, 4)
    ]
    assert [page["total"] for page in pages] == [None, 4, 4]
    assert [page["next_offset"] for page in pages] == [2, None, None]


@pytest.mark.thorough
def test_definitions_in_what_cannot_be_parsed_are_told_as_incomplete(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flashgrep.ranking.symbols._MODULE", "flashgrep.no_such_module")
    answer = shop.json("get_symbol", symbol_name="power_down")
    assert (answer["definitions"], answer["definitions_incomplete"]) == ([], True)
    assert len(answer["references"]) == 4


def test_definitions_beyond_what_is_parsed_are_told_as_incomplete(shop: Workshop) -> None:
    for number in range(limits.SYMBOL_FILES + 1):
        shop.file(f"m{number:03}.py", "def everywhere():\n    pass\n")
    answer = shop.json("get_symbol", symbol_name="everywhere")
    assert len(answer["definitions"]) == limits.SYMBOL_FILES
    assert answer["definitions_incomplete"] is True
    assert answer["total"] == limits.SYMBOL_FILES + 1


def test_definitions_of_gives_them_to_other_tools(shop: Workshop) -> None:
    application = shop.application
    call = Call(shop.caller, application.services, application.settings)
    expected = Definition("src/power.c", 3, "function", "int power_down(struct dev *d)")
    assert definitions_of(call, "power_down") == [expected]


# ── names of every kind ─────────────────────────────────────────────────────────────────────────

REFUSED = [
    {},
    {"symbol_name": ""},
    {"symbol_name": "  "},
    {"symbol_name": "a\nb"},
    {"symbol_name": "a\0b"},
    {"symbol_name": "x" * 10_240},
    {"symbol_name": 5},
    {"symbol_name": "x", "limit": 0},
    {"symbol_name": "x", "offset": -1},
    {"symbol_name": "x", "limit": "few"},
]


@pytest.mark.parametrize("arguments", REFUSED)
def test_what_cannot_be_asked_is_refused(shop: Workshop, arguments: dict[str, Any]) -> None:
    assert shop.error("get_symbol", "invalid_params", **arguments)["message"]


NAMES = [
    "a.*b",
    "(x",
    "[z",
    "\\C",
    "operator+",
    "~Foo",
    "$scope",
    "größe",
    "a b",
    "C++",
    "x?y",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_taken_as_it_stands(shop: Workshop, name: str) -> None:
    shop.file("odd.txt", f"before {name} after\nnothing here\n")
    answer = shop.json("get_symbol", symbol_name=name)
    assert places(answer["references"]) == [("odd.txt", 1)]


LINE = st.text(st.sampled_from("ab_1.é (;\t"), max_size=12)


@given(lines=st.lists(LINE, max_size=12), name=st.text(st.sampled_from("ab_1."), min_size=1))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_references_are_all_lines_with_the_word(
    shop: Workshop, lines: list[str], name: str
) -> None:
    shop.file("gen.txt", "".join(f"{line}\n" for line in lines))
    answer = shop.direct("get_symbol", symbol_name=name)
    found = [row["line"] for row in answer["references"] if row["file_path"] == "gen.txt"]
    before = r"\b" if re.match(r"\w", name) else ""
    after = r"\b" if re.match(r"\w", name[-1]) else ""
    word = re.compile(before + re.escape(name) + after, re.ASCII)
    assert found == [at for at, line in enumerate(lines, 1) if word.search(line)]


def test_one_reference_at_a_time_is_the_smallest_page(shop: Workshop) -> None:
    seen, offset = [], 0
    while offset is not None:
        page = shop.json("get_symbol", symbol_name="power_down", limit=1, offset=offset)
        assert len(page["references"]) == 1
        seen += places(page["references"])
        offset = page["next_offset"]
    everything = shop.json("get_symbol", symbol_name="power_down")
    assert seen == places(everything["references"])
    shop.error("get_symbol", "invalid_params", symbol_name="power_down", limit=0)

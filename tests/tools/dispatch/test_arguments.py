"""Every parameter of every tool against every kind of bad value, generated from the tools' rows.

Own promise: whatever is sent, the answer is a result; a refusal has a code and names the
parameter. A new parameter or tool is covered the moment its row exists.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flashgrep.errors import FlashgrepError, InvalidParams
from flashgrep.notes.access.roles import Role, everywhere
from flashgrep.tools.catalog import all_tools
from flashgrep.tools.dispatch.call import Answer
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec, read_arguments
from tests.tools.workshop import Workshop, workshop_with_notes

CASES = 10_000 if os.environ.get("FLASHGREP_HEAVY") else 75
TOOLS = all_tools()
KEPT = "a line\nanother line\n"
LARGEST = 2**53

# What a tool needs to succeed, in the workshop below, where that is not made from its row (see
# `good`); checked by the first test.
GOOD: dict[str, dict[str, Any]] = {
    "glob": {"pattern": "*"},
    "str_replace": {"path": "f.txt", "old_str": "another", "new_str": "one more"},
    "edit": {"path": "f.txt", "old_string": "another", "new_string": "one more"},
    "create_file": {"path": "new.txt", "content": "x"},
    "write": {"path": "new.txt", "content": "x"},
    "get_slice": {"file_path": "f.txt", "start_line": 1, "end_line": 2},
    "read_code": {"file_path": "f.txt"},
    "batch_write_code": {
        "operations": [
            {"file_path": "f.txt", "start_line": 2, "end_line": 2, "replacement": "x"},
        ]
    },
    "get_links": {"file_path": "kb://Note.md"},
    "decide_suggestions": {"ids": ["s_0"], "action": "accept"},
}
WRITE_CODE = {"file_path": "f.txt", "start_line": 1, "end_line": 1, "replacement": "x"}
BY_KIND: dict[str, Any] = {"string": "line", "integer": 1, "boolean": True, "strings": ["line"]}


def good(spec: ToolSpec) -> dict[str, Any]:
    """Arguments that are right: a file as the path, something plain for what else is required."""
    if spec.name in GOOD:
        return GOOD[spec.name]
    required = [row for row in spec.parameters if row.required]
    paths = [row.name for row in required if {"path", "file_path"} & set(row.names)]
    return {row.name: BY_KIND[row.kind] for row in required} | dict.fromkeys(paths, "f.txt")


# What a parameter needs beside it to mean anything.
BESIDE: dict[tuple[str, str], dict[str, Any]] = {
    ("grep", "view"): {"path": "kb://"},
    ("read", "view"): {"path": "kb://Note.md"},
    ("glob", "sort_order"): {"sort_by": "name"},
    ("read_code", "context_lines"): {"symbol_name": "line", "file_path": None},
    ("read_code", "symbol_name"): {"file_path": None},
}
# Line numbers that must lie in the file, and a page that has a largest size: any number is read,
# not any is answered.
BOUNDED = {
    ("list_suggestions", "limit"),
    ("list_my_suggestions", "limit"),
    ("get_slice", "start_line"),
    ("read_code", "start_line"),
    ("write_code", "start_line"),
    ("write_code", "end_line"),
}

WRONG: dict[str, list[Any]] = {
    "string": [5, 1.5, True, ["x"], {"x": 1}],
    "integer": ["", "two", "1.5", "0x10", "1e3", 1.5, float("inf"), float("nan"), True, [1], {}],
    "boolean": ["", "yes", "1", 0, 1, 1.0, ["true"], {}],
    "strings": [5, True, {"x": 1}, [5], ["x", None], [["x"]], '["x", 5]'],
    "string_or_strings": [5, True, {"x": 1}, [5], ["x", None], [["x"]]],
    "object": [5, True, "x", "[1]", [], [1], ["x"]],
    "objects": [5, True, "x", "{}", {}, [5], ["x"], [None], [[]]],
    "strings_by_name": [5, True, "x", "[1]", [], {"x": 5}, {"x": None}, {"x": ["x"]}],
    "line_range": [5, True, "x", "[1]", {}, [], [1], [1, 2, 3], [1, "x"], [1, 1.5], [None, 2]],
}
OUT_OF_RANGE = [LARGEST + 1, -LARGEST - 1, 10**30, str(10**17), 1e300]

ROWS = [(spec, parameter) for spec in TOOLS for parameter in spec.parameters]


def rows(*kinds: str) -> pytest.MarkDecorator:
    """The parameters of these kinds; all of them, if none is named."""
    wanted = [row for row in ROWS if not kinds or row[1].kind in kinds]
    ids = [f"{spec.name}-{parameter.name}" for spec, parameter in wanted]
    return pytest.mark.parametrize(("spec", "parameter"), wanted, ids=ids)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """Confined: some of the strings below name what lies outside."""
    directory = tmp_path_factory.mktemp("arguments")
    with workshop_with_notes(directory, allow_dir=(str(directory / "work"),)) as made:
        made.caller.principal = everywhere("workshop", Role.WRITE)
        made.note("Note.md", KEPT)
        made.note("Talk.md", "{>>line<<}\n")
        ((comment,), _) = made.notes.commenting.listed(made.caller.principal)
        GOOD["reply_comment"] = {"id": comment["id"], "text": "line"}
        yield made


@pytest.fixture
def shop(shared: Workshop) -> Workshop:
    """One file, read; whatever else an earlier test made is gone."""
    for path in shared.root.iterdir():
        path.unlink()
    shared.file("f.txt", KEPT)
    shared.file("code.py", "def line():\n    pass\n")
    shared.text("read", path="f.txt")
    return shared


def ask(shop: Workshop, spec: ToolSpec, parameter: Parameter, value: Any, name: str = "") -> Any:
    """Call a tool as it should be called, but for one parameter."""
    given = good(spec) | BESIDE.get((spec.name, parameter.name), {})
    given = {key: good for key, good in given.items() if key != parameter.name}
    return shop.call(spec.name, **given, **{name or parameter.name: value})


def told(answer: Answer) -> str:
    """What a refusal says: the text, or the message in it where the text is JSON."""
    if not answer.text.startswith("{"):
        return answer.text
    error = json.loads(answer.text)["error"]
    assert error["code"] == answer.code
    message: str = error["message"]
    return message


def refused(shop: Workshop, spec: ToolSpec, parameter: Parameter, value: Any) -> None:
    """Expect a refusal that names the parameter as the caller did, under each of its names."""
    for name in parameter.names:
        answer = ask(shop, spec, parameter, value, name)
        assert answer.code == "invalid_params", (value, answer)
        assert told(answer).startswith(name), (value, answer)
    assert (shop.root / "f.txt").read_text() == KEPT
    assert not (shop.root / "new.txt").exists()


# ── the table itself ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
def test_the_good_arguments_are_good(shop: Workshop, spec: ToolSpec) -> None:
    assert shop.call(spec.name, **good(spec)).code is None


@rows("integer")
def test_every_number_has_a_smallest_value(spec: ToolSpec, parameter: Parameter) -> None:
    assert parameter.minimum is not None


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
def test_no_name_means_two_parameters(spec: ToolSpec) -> None:
    names = [name for parameter in spec.parameters for name in parameter.names]
    assert len(names) == len(set(names))


# ── wrong types, wrong ranges ───────────────────────────────────────────────────────────────────


@rows()
def test_a_wrong_type_is_refused_by_name(
    shop: Workshop, spec: ToolSpec, parameter: Parameter
) -> None:
    for value in WRONG[parameter.kind]:
        refused(shop, spec, parameter, value)


@rows("integer")
def test_a_number_below_the_smallest_is_refused(
    shop: Workshop, spec: ToolSpec, parameter: Parameter
) -> None:
    assert parameter.minimum is not None
    for value in (parameter.minimum - 1, -1, -(2**31), str(parameter.minimum - 1)):
        refused(shop, spec, parameter, value)


@rows("integer")
def test_zero_the_smallest_and_the_largest_number_are_answered(
    shop: Workshop, spec: ToolSpec, parameter: Parameter
) -> None:
    assert parameter.minimum is not None
    if parameter.minimum > 0:
        refused(shop, spec, parameter, 0)
    for value in (max(0, parameter.minimum), 2**31, 2**32, LARGEST):
        answer = ask(shop, spec, parameter, value)
        if (spec.name, parameter.name) in BOUNDED and value > 2:
            assert answer.code == "invalid_params", value
            assert f"{value}" in told(answer)
        else:
            assert answer.code is None, (value, answer)


@rows("integer")
def test_a_number_beyond_json_is_refused(
    shop: Workshop, spec: ToolSpec, parameter: Parameter
) -> None:
    for value in OUT_OF_RANGE:
        refused(shop, spec, parameter, value)


@rows("line_range")
def test_a_range_out_of_range_is_refused(
    shop: Workshop, spec: ToolSpec, parameter: Parameter
) -> None:
    for value in ([0, 1], [-1, 5], [2, 1], [1, 0], [1, 10**30], [10**30, 10**30]):
        refused(shop, spec, parameter, value)
    assert ask(shop, spec, parameter, [1, LARGEST]).code is None


@rows("string")
def test_a_word_that_is_no_choice_is_refused_with_the_choices(
    shop: Workshop, spec: ToolSpec, parameter: Parameter
) -> None:
    if not parameter.choices:
        return
    for value in ("", "x", parameter.choices[0].upper(), parameter.choices[0] + " "):
        refused(shop, spec, parameter, value)
        text = told(ask(shop, spec, parameter, value))
        assert all(choice in text for choice in parameter.choices)
    for value in parameter.choices:
        assert ask(shop, spec, parameter, value).code is None


# ── strings ─────────────────────────────────────────────────────────────────────────────────────


@rows("string", "strings", "string_or_strings")
def test_a_lone_surrogate_is_refused_by_name(
    shop: Workshop, spec: ToolSpec, parameter: Parameter
) -> None:
    for text in ("\ud800", "a\udcffb", "\udfff\ud800"):
        if parameter.kind != "strings":
            refused(shop, spec, parameter, text)
        if parameter.kind != "string":
            refused(shop, spec, parameter, [text])
            refused(shop, spec, parameter, ["x", text])


HOSTILE = [
    "",
    "\0",
    "a\0b",
    "f.txt\0",
    "\n",
    " ",
    "/",
    "..",
    "~",
    "-",
    "\\",
    "\x7f\x1b[31m",
    "\u202e\ufeff",
    "*" * 500,
    "[" * 500,
    "{" * 500,
    "(" * 500,
    "a" * 20_000,
    "x/" * 5_000,
    "😀" * 2_000,
]


@rows("string", "strings", "string_or_strings")
def test_any_string_gets_an_answer_with_a_known_code(
    shop: Workshop, spec: ToolSpec, parameter: Parameter
) -> None:
    known = {error.code for error in subclasses(FlashgrepError)}
    for text in HOSTILE:
        values = [text] if parameter.kind == "string" else [text, [text], ["*", text], []]
        for value in values:
            answer = ask(shop, spec, parameter, value)
            assert answer.code is None or answer.code in known, (value, answer)
            assert answer.code != "io_error", (value, answer)
            assert answer.text, value


@rows("string")
def test_a_path_is_never_empty_nor_holds_a_nul(
    shop: Workshop, spec: ToolSpec, parameter: Parameter
) -> None:
    if parameter.name not in ("path", "file_path"):
        return
    for value in ("", "\0", "f.txt\0", "f.txt\0.png", "a\nb"):
        answer = ask(shop, spec, parameter, value)
        assert answer.code == "invalid_params", (value, answer)
        assert "path" in answer.text


def subclasses(error: type[FlashgrepError]) -> Iterator[type[FlashgrepError]]:
    yield error
    for below in error.__subclasses__():
        yield from subclasses(below)


# ── whole calls ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
def test_arguments_that_are_no_object_are_refused(spec: ToolSpec) -> None:
    broken: list[Any] = [[], "x", 5, True]
    for arguments in broken:
        with pytest.raises(FlashgrepError, match="must be an object") as told:
            read_arguments(spec, arguments)
        assert told.value.code == "invalid_params"


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
def test_a_missing_required_parameter_is_named(shop: Workshop, spec: ToolSpec) -> None:
    for parameter in spec.parameters:
        if not parameter.required:
            continue
        given = {key: good for key, good in good(spec).items() if key != parameter.name}
        for absent in (given, {**given, parameter.name: None}):
            answer = shop.call(spec.name, **absent)
            assert answer.code == "invalid_params"
            assert all(name in answer.text for name in parameter.names)


@pytest.mark.parametrize("spec", TOOLS, ids=lambda spec: spec.name)
def test_every_odd_name_of_a_parameter_is_refused(shop: Workshop, spec: ToolSpec) -> None:
    for name in ("", "x" * 10_000, "\ud800", "\0", "pattern ", "PATH", "__class__"):
        answer = shop.call(spec.name, **good(spec), **{name: 1})
        assert answer.code == "invalid_params"
        assert f"{spec.name} has no parameter" in told(answer)
        assert len(answer.text) < 2_000


FIELDS = [
    (spec, parameter, field)
    for spec, parameter in ROWS
    for field in parameter.fields
    if field.kind != "object"
]


@pytest.mark.parametrize(
    ("spec", "parameter", "field"), FIELDS, ids=lambda row: row.name if row else ""
)
def test_every_field_of_an_object_is_read_as_strictly(
    shop: Workshop, spec: ToolSpec, parameter: Parameter, field: Parameter
) -> None:
    given = WRITE_CODE if parameter.kind == "objects" else {}
    wrong = [*WRONG[field.kind], *(OUT_OF_RANGE if field.kind == "integer" else ["\ud800"])]
    for value in wrong:
        fields = {**given, field.name: value}
        objects = [fields] if parameter.kind == "objects" else fields
        answer = ask(shop, spec, parameter, objects)
        assert answer.code == "invalid_params", (value, answer)
        at = "[0]" if parameter.kind == "objects" else ""
        assert told(answer).startswith(f"{parameter.name}{at}.{field.name}"), answer
    unknown = {**given, field.name + "_": 1}
    answer = ask(shop, spec, parameter, [unknown] if parameter.kind == "objects" else unknown)
    assert f"Did you mean '{field.name}'?" in told(answer)
    assert (shop.root / "f.txt").read_text() == KEPT


def test_a_field_that_is_needed_is_named(shop: Workshop) -> None:
    answer = shop.call("batch_write_code", operations=[{"file_path": "f.txt"}])
    assert answer.code == "invalid_params"
    assert told(answer) == "Missing required field: operations[0].start_line"
    answer = shop.call("batch_write_code", operations=[{"path": "f.txt", "file_path": "g.txt"}])
    assert "operations[0].path and operations[0].file_path are two names" in told(answer)


def test_objects_may_be_sent_as_json_text(shop: Workshop) -> None:
    given = WRITE_CODE | {"precondition": '{"expected_start_line_text": "a line"}'}
    assert shop.call("write_code", **given).code is None
    batch = json.dumps(GOOD["batch_write_code"]["operations"])
    assert shop.call("batch_write_code", operations=batch).code is None
    assert (shop.root / "f.txt").read_text() == "x\nx\n"


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.text(st.characters(exclude_categories=()), max_size=8)
    | st.sampled_from(["true", "1", "[1,2]", "*", "f.txt", "line", "content"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=4,
)


@settings(
    max_examples=CASES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_arguments_at_all_raise_anything_but_a_refusal(shop: Workshop, data: Any) -> None:
    spec = data.draw(st.sampled_from(TOOLS))
    names = [name for parameter in spec.parameters for name in parameter.names] or ["x"]
    arguments = data.draw(st.dictionaries(st.sampled_from(names) | st.text(max_size=5), JSON))
    try:
        read = read_arguments(spec, arguments)
    except InvalidParams:
        return
    for parameter in spec.parameters:
        value = read.get(parameter.name)
        assert value is not None or not parameter.required
        json.dumps(value).encode("utf-8")
        if isinstance(value, int) and parameter.minimum is not None:
            assert value >= parameter.minimum


def test_the_files_of_this_module_are_where_they_should_be(shared: Workshop) -> None:
    """None of the hostile strings above has written anything outside the workshop."""
    beside = {path.name for path in Path(shared.root).parent.iterdir()}
    assert beside == {"work", "state", "kb"}


def test_a_tool_without_parameters_says_so(shop: Workshop) -> None:
    refused = shop.error("stats", "invalid_params", verbose=True)
    assert refused["message"] == "stats has no parameter 'verbose'. It takes none."


@pytest.mark.parametrize(
    ("tool", "foreign", "meant"),
    [
        ("create_file", "file_text", "content"),
        ("create_file", "new_str", "content"),
        ("write", "text", "content"),
        ("edit", "old_text", "old_string"),
        ("str_replace", "new_text", "new_string"),
        ("grep", "query", "pattern"),
        ("grep", "max_results", "head_limit"),
        ("read", "filename", "file_path"),
        ("get_symbol", "name", "symbol_name"),
        ("glob", "patern", "pattern"),
    ],
)
def test_a_name_that_other_tools_use_is_told_with_what_it_is_here(
    shop: Workshop, tool: str, foreign: str, meant: str
) -> None:
    refused = shop.refused(tool, "invalid_params", **{foreign: "x"})
    assert f"has no parameter '{foreign}'. Did you mean '{meant}'?" in refused

"""A value of any length gets an answer that a client can show, whatever parameter it is for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.errors import FlashgrepError
from flashgrep.tools.catalog import all_tools
from flashgrep.tools.dispatch.spec import Parameter, ToolSpec
from tests.tools.workshop import Workshop, workshop_with_notes

VALUES = ("x" * 300_000, "kb://" + "\\" * 20_000, "/" + "\u00e9" * 9_000, "{" * 5_000)
MOST = 3 * limits.REFUSAL_CHARS
"""Characters of an answer: a refusal, with what JSON adds to each character."""


def plain(parameter: Parameter) -> Any:
    """A value that is short."""
    fields = {each.name: plain(each) for each in parameter.fields if each.required}
    return {
        "string": "x",
        "string_or_strings": "x",
        "integer": 1,
        "boolean": True,
        "strings": ["x"],
        "line_range": [1, 1],
        "object": fields,
        "objects": [fields],
    }[parameter.kind]


def long(parameter: Parameter, value: str) -> Iterator[Any]:
    """Values that hold a long string, at every place that takes one."""
    yield value
    yield [value]
    yield {value: value}
    for field in parameter.fields:
        for each in long(field, value):
            given = {**plain(Parameter("", "object", "", fields=parameter.fields))}
            given[field.name] = each
            yield given if parameter.kind == "object" else [given]


def calls(spec: ToolSpec) -> Iterator[dict[str, Any]]:
    for value in VALUES:
        required = {each.name: plain(each) for each in spec.parameters if each.required}
        yield {**required, value: value}
        for parameter in spec.parameters:
            for each in long(parameter, value):
                yield {**required, parameter.name: each}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    directory = tmp_path_factory.mktemp("shop")
    only_there = (str(directory),)  # a path of 18,000 characters is one that may be made
    with workshop_with_notes(directory, no_index=True, allow_dir=only_there) as made:
        made.note("Note.md", "words\n")
        yield made


@pytest.mark.parametrize("spec", all_tools(), ids=lambda spec: spec.name)
def test_no_parameter_is_repeated_at_any_length(shop: Workshop, spec: ToolSpec) -> None:
    for arguments in calls(spec):
        shop.file("x", "words\n")
        answer = shop.call(spec.name, **arguments)
        assert len(answer.text) < MOST, (answer.text[:100], answer.text[-100:])
        if spec.is_direct:
            assert len(direct(shop, spec.name, arguments)) < MOST


def direct(shop: Workshop, name: str, arguments: dict[str, Any]) -> str:
    try:
        return json.dumps(shop.direct(name, **arguments), ensure_ascii=False)
    except FlashgrepError as error:
        return json.dumps([error.message, error.details], ensure_ascii=False)


def test_the_name_of_a_tool_is_not_either(shop: Workshop) -> None:
    assert len(shop.call("x" * 300_000).text) < MOST


def test_a_long_refusal_keeps_its_ends(tmp_path: Path) -> None:
    with workshop_with_notes(tmp_path) as made:
        told = made.refused("grep", "invalid_params", pattern="x", type="y" * 300_000)
        assert told.startswith("Unknown file type: 'yyy")
        assert told.endswith("xml, yaml, yml, zig")
        assert "characters left out" in told
        told = made.refused("grep", "invalid_params", pattern="x", output_mode="z" * 300_000)
        assert told.endswith("zzz...; valid values: content, files_with_matches, count")
        assert len(told) < 200

"""bootstrap_skill: one guide under five names, once a caller, from the package or a file."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from flashgrep import limits
from flashgrep.tools.catalog import all_tools
from flashgrep.tools.dispatch.caller import content_hash
from flashgrep.tools.verbs import bootstrap_skill
from flashgrep.tools.verbs.bootstrap_skill import SPEC
from tests.tools.workshop import Workshop, workshop

NAMES = ("bootstrap_skill", "flashgrep-init", "flashgrep_init", "fgrep-boot", "fgrep_boot")
PACKAGED = Path(bootstrap_skill.__file__).parents[2] / "skills" / "SKILL.md"
EVERY_NAME = pytest.mark.parametrize("name", NAMES)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Workshop]:
    with workshop(tmp_path) as made:
        yield made


def test_the_skill_comes_with_what_it_is(shop: Workshop) -> None:
    data = PACKAGED.read_bytes()
    assert shop.json("bootstrap_skill") == {
        "ok": True,
        "status": "injected",
        "canonical_trigger": "flashgrep-init",
        "skill": {
            "source": "skills/SKILL.md",
            "version": "1.0.0",
            "hash": content_hash(data),
            "size": len(data),
        },
        "skill_markdown": data.decode(),
    }


@EVERY_NAME
def test_every_name_is_a_tool_a_method_and_a_trigger(shop: Workshop, name: str) -> None:
    by_tool = shop.json(name, force=True)
    assert by_tool["canonical_trigger"] == "flashgrep-init"
    assert shop.direct(name, force=True) == by_tool
    assert shop.json("bootstrap_skill", trigger=name, force=True) == by_tool
    assert name in [tool.name for tool in shop.application.toolbox.listed()]
    assert name in shop.application.toolbox.direct_names()


def test_the_names_stand_in_one_row() -> None:
    assert SPEC.names == NAMES
    assert [spec.name for spec in all_tools()].count("bootstrap_skill") == 1


def test_other_names_have_one_line_and_the_same_parameters(shop: Workshop) -> None:
    listed = {tool.name: tool for tool in shop.application.toolbox.listed()}
    for name in NAMES[1:]:
        assert "bootstrap_skill" in listed[name].description
        assert "\n" not in listed[name].description
        assert len(listed[name].description) < 80
        assert listed[name].input_schema == listed["bootstrap_skill"].input_schema


@EVERY_NAME
def test_a_second_call_leaves_the_text_out(shop: Workshop, name: str) -> None:
    first = shop.json("fgrep-boot")
    again = shop.json(name)
    assert again == first | {"status": "already_injected", "skill_markdown": ""}
    assert shop.json(name, force=True) == first
    assert shop.json(name)["status"] == "already_injected"


def test_each_caller_is_given_it_once(shop: Workshop) -> None:
    shop.json("bootstrap_skill")
    other = shop.application.callers.get("another")
    answer = anyio.run(shop.application.toolbox.call, "bootstrap_skill", {}, other)
    assert '"status":"injected"' in answer.text


@EVERY_NAME
@pytest.mark.parametrize("trigger", ["", "init", "Flashgrep-init", "fgrep-boot ", "x" * 5_000])
def test_any_other_trigger_is_refused_with_the_valid_ones(
    shop: Workshop, name: str, trigger: str
) -> None:
    error = shop.error(name, "invalid_trigger", trigger=trigger)
    assert error["allowed_triggers"] == list(NAMES)
    assert all(valid in error["message"] for valid in NAMES)
    assert len(error["message"]) < 400
    assert shop.json(name)["status"] == "injected"


def test_compact_is_the_first_section(shop: Workshop) -> None:
    full = PACKAGED.read_text(encoding="utf-8")
    compact = shop.json("bootstrap_skill", compact=True)["skill_markdown"]
    assert len(compact) < len(full) / 2
    assert compact in full + "\n"
    assert compact.startswith("# ")
    assert compact.count("\n## ") == 1


# ── another file ────────────────────────────────────────────────────────────────────────────────


def given_file(tmp_path: Path, **given: Any) -> Any:
    with workshop(tmp_path, skill_file=str(tmp_path / "mine.md")) as shop:
        return shop.json("bootstrap_skill", **given)


def test_a_file_of_ones_own_is_given(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_bytes(b"---\r\nname: x\r\nversion: '2.5'\r\n---\r\n\r\n# Mine\r\n")
    told = given_file(tmp_path)
    assert told["skill"]["source"] == str(tmp_path / "mine.md")
    assert told["skill"]["version"] == "2.5"
    assert told["skill_markdown"].endswith("# Mine\n")


@pytest.mark.parametrize("text", ["# no front matter\n", "---\nname: x\n---\ntext\n", "", "---\n"])
def test_a_file_without_a_version_has_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.md").write_text(text)
    assert given_file(tmp_path)["skill"]["version"] == ""
    assert given_file(tmp_path, compact=True)["status"] == "injected"


def test_a_changed_skill_is_given_again(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("# One\n")
    with workshop(tmp_path, skill_file=str(path)) as shop:
        shop.json("bootstrap_skill")
        path.write_text("# Two\n")
        assert shop.json("bootstrap_skill")["skill_markdown"] == "# Two\n"
        assert shop.json("bootstrap_skill")["status"] == "already_injected"


def test_a_skill_may_be_as_large_as_the_limit(tmp_path: Path) -> None:
    (tmp_path / "mine.md").write_bytes(b"## One\n## Two\n".ljust(limits.SKILL_BYTES, b"x"))
    assert given_file(tmp_path, compact=True)["skill"]["size"] == limits.SKILL_BYTES


def unreadable(path: Path, what: str) -> None:
    if what == "directory":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    elif what == "loop":
        path.symlink_to(path)
    else:
        path.write_bytes(
            {"bytes": b"\xff\xfe\x00x", "large": b"x" * (limits.SKILL_BYTES + 1)}[what]
        )


@pytest.mark.parametrize("what", ["directory", "pipe", "loop", "bytes", "large"])
def test_a_file_that_cannot_be_read_is_told_with_the_remedy(tmp_path: Path, what: str) -> None:
    path = tmp_path / "mine.md"
    unreadable(path, what)
    with workshop(tmp_path, skill_file=str(path)) as shop:
        message = shop.error("bootstrap_skill", "skill_unreadable")["message"]
        assert str(path) in message
        assert "--skill-file" in message


def test_a_file_that_is_not_there_is_told_with_the_remedy(tmp_path: Path) -> None:
    with workshop(tmp_path, skill_file=str(tmp_path / "none.md")) as shop:
        message = shop.error("fgrep_boot", "skill_not_found")["message"]
        assert "none.md" in message
        assert "--skill-file" in message


def test_an_answer_too_small_for_the_skill_points_to_compact(tmp_path: Path) -> None:
    with workshop(tmp_path, max_output_chars=4_000) as shop:
        assert "compact" in shop.error("bootstrap_skill", "too_large")["message"]
        assert shop.json("bootstrap_skill", compact=True)["status"] == "injected"
        assert shop.direct("bootstrap_skill", force=True)["skill_markdown"]


# ── names taken away ────────────────────────────────────────────────────────────────────────────


@EVERY_NAME
def test_a_disabled_name_is_gone_and_the_others_stay(tmp_path: Path, name: str) -> None:
    with workshop(tmp_path, disable_tools=(name,)) as shop:
        toolbox = shop.application.toolbox
        left = [other for other in NAMES if other != name]
        assert [tool.name for tool in toolbox.listed() if tool.name in NAMES] == left
        assert [other for other in toolbox.direct_names() if other in NAMES] == left
        assert "Unknown tool" in shop.refused(name, "invalid_params")
        assert shop.json(left[0])["status"] == "injected"


# ── the skill itself ────────────────────────────────────────────────────────────────────────────


def test_the_skill_is_short_and_names_only_what_exists() -> None:
    text = PACKAGED.read_text(encoding="utf-8")
    assert len(text.encode()) < 6 * 1024
    assert re.match(r"---\nname: flashgrep\ndescription: .+\nversion: \d+\.\d+\.\d+\n---\n", text)
    rows = {name: spec for spec in all_tools() for name in spec.names}
    codes = {"not_found", "access_denied", "invalid_pattern", "too_large", "not_unique"}
    codes |= {"string_not_found", "not_read", "conflict", "precondition_failed"}
    fields = {"file_hash", "continuation_start_line", "expected_file_hash"}
    fields |= {"expected_start_line_text", "expected_end_line_text"}
    parameters = {name for spec in rows.values() for row in spec.parameters for name in row.names}
    choices = {word for spec in rows.values() for row in spec.parameters for word in row.choices}
    known = rows.keys() | codes | fields | parameters | choices
    for word in re.findall(r"`([a-z]+(?:_[a-z]+)*)`", text):
        assert word in known, word


def test_the_skill_is_declared_as_part_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())
    shipped = project["tool"]["setuptools"]["package-data"]["flashgrep"]
    assert PACKAGED in [path for glob in shipped for path in PACKAGED.parents[1].glob(glob)]

"""The settings of a connection: sent as text, read strictly, and never wider than the server's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from flashgrep.errors import InvalidParams
from flashgrep.settings import SETTINGS, Settings, read_settings
from flashgrep.transports.lines.join import (
    ROWS,
    narrowed,
    read_sent,
    restrictions,
    sent_settings,
)

GIVEN: dict[str, Any] = {
    "anthropic_compat": True,
    "require_view_before_edit": "true",
    "toolsets": ("files", "kb"),
    "disable_tools": ("write", "fgrep-boot"),
    "read_only": True,
    "structured": True,
    "max_output_chars": 0,
    "call_seconds": 5,
}


def test_they_are_the_settings_that_shape_answers_and_nothing_else() -> None:
    assert set(ROWS) == GIVEN.keys()


def test_nothing_is_sent_of_settings_that_were_not_given() -> None:
    assert sent_settings(Settings()) == {}
    assert sent_settings(read_settings({"deny_dir": ["x"], "log_level": "debug"}, {})) == {}


@pytest.mark.parametrize("name", GIVEN)
def test_what_is_told_is_read_as_it_was(name: str) -> None:
    settings = replace(Settings(), **{name: GIVEN[name]})
    assert getattr(read_sent(sent_settings(settings)), name) == GIVEN[name]
    assert sent_settings(settings).keys() == {name}


def test_a_setting_that_was_given_at_its_default_is_told_too() -> None:
    given = read_settings({"max_output_chars": "45000"}, {"FLASHGREP_READ_ONLY": "false"})
    assert sent_settings(given) == {"max_output_chars": "45000", "read_only": "false"}
    assert read_sent(sent_settings(given)).explicit == {"max_output_chars", "read_only"}


BAD: list[tuple[Any, str]] = [
    (None, "object"),
    ([], "object"),
    ("read_only", "object"),
    ({"read_onyl": "true"}, "read_onyl; those are anthropic_compat"),
    *[({row.name: "x"}, row.name) for row in SETTINGS if not row.per_connection],
    ({"read_only": True}, "read_only must be text, not bool"),
    ({"toolsets": ["files"]}, "toolsets must be text, not list"),
    ({"max_output_chars": None}, "max_output_chars must be text"),
    ({"read_only": "perhaps"}, "--read-only: 'perhaps' is not a switch"),
    ({"toolsets": "all"}, "unknown toolset 'all'"),
    ({"toolsets": ""}, "no toolset named"),
    ({"max_output_chars": "-1"}, "--max-output-chars: '-1' is not a whole number"),
    ({"require_view_before_edit": "never"}, "'never' is not valid"),
]


@pytest.mark.parametrize(("given", "reason"), BAD, ids=[str(row[0])[:40] for row in BAD])
def test_what_is_unknown_or_malformed_is_refused_by_name(given: Any, reason: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        read_sent(given)
    assert reason in refused.value.message


# ── what a connection gets ──────────────────────────────────────────────────────────────────────


def test_how_it_is_answered_is_the_connections_own_choice() -> None:
    server = Settings(anthropic_compat=True, structured=True, max_output_chars=7, workdir="/w")
    kept = narrowed(server, Settings())
    assert (kept.anthropic_compat, kept.structured, kept.max_output_chars) == (False, False, 45_000)
    assert kept.workdir == "/w"
    assert "max_output_chars" not in kept.explicit
    given = narrowed(Settings(), read_sent({"max_output_chars": "5", "anthropic_compat": "true"}))
    assert (given.anthropic_compat, given.max_output_chars) == (True, 5)
    assert "max_output_chars" in given.explicit


RESTRICTED: list[tuple[dict[str, str], dict[str, str], dict[str, Any], list[str]]] = [
    ({"read_only": "true"}, {}, {"read_only": True}, ["--read-only"]),
    ({"read_only": "true"}, {"read_only": "false"}, {"read_only": True}, ["--read-only"]),
    ({}, {"read_only": "true"}, {"read_only": True}, []),
    (
        {"disable_tools": "edit,glob"},
        {"disable_tools": "glob,write"},
        {"disable_tools": ("edit", "glob", "write")},
        ["--disable-tools edit"],
    ),
    ({"toolsets": "files"}, {}, {"toolsets": ("files",)}, ["--toolsets files"]),
    ({}, {"toolsets": "index"}, {"toolsets": ("index",)}, []),
    (
        {"require_view_before_edit": "true"},
        {"require_view_before_edit": "false"},
        {"require_view_before_edit": "true"},
        ["--require-view-before-edit true"],
    ),
    (
        {"require_view_before_edit": "auto"},
        {"require_view_before_edit": "false"},
        {"require_view_before_edit": "auto"},
        ["--require-view-before-edit auto"],
    ),
    (
        {"require_view_before_edit": "false"},
        {"require_view_before_edit": "true"},
        {"require_view_before_edit": "true"},
        [],
    ),
    ({"call_seconds": "9"}, {}, {"call_seconds": 9}, ["--call-seconds 9"]),
    ({"call_seconds": "9"}, {"call_seconds": "0"}, {"call_seconds": 9}, ["--call-seconds 9"]),
    ({"call_seconds": "9"}, {"call_seconds": "5"}, {"call_seconds": 5}, []),
    ({"call_seconds": "0"}, {"call_seconds": "5"}, {"call_seconds": 5}, []),
    # The server was not told anything: what it does by default restricts nobody.
    ({}, {"call_seconds": "90"}, {"call_seconds": 90}, []),
    ({}, {"require_view_before_edit": "false"}, {"require_view_before_edit": "false"}, []),
]


@pytest.mark.parametrize(("server", "asked", "kept", "said"), RESTRICTED)
def test_what_the_server_restricts_a_connection_can_only_narrow(
    server: dict[str, str], asked: dict[str, str], kept: dict[str, Any], said: list[str]
) -> None:
    wanted = read_sent(asked)
    got = narrowed(read_sent(server), wanted)
    assert {name: getattr(got, name) for name in kept} == kept
    assert restrictions(wanted, got) == said


def test_toolsets_that_the_server_has_none_of_are_refused() -> None:
    with pytest.raises(InvalidParams, match=r"toolsets index: .* offers only files"):
        narrowed(read_sent({"toolsets": "files"}), read_sent({"toolsets": "index"}))

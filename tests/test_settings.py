"""Settings: flags over environment over defaults, and every bad value named with its remedy."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from flashgrep import limits
from flashgrep.errors import SettingsError
from flashgrep.settings import (
    SETTINGS,
    Settings,
    closest_variable,
    read_settings,
    unknown_variables,
)


def test_every_row_is_a_field_with_the_same_default() -> None:
    fields = {field.name: field.default for field in dataclasses.fields(Settings)}
    assert {row.name: row.default for row in SETTINGS} == {
        name: default for name, default in fields.items() if name != "explicit"
    }


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("max_file_size", "512", 512),
        ("max_file_size", "64KB", 64 * 1024),
        ("max_file_size", "1.5MB", 1_572_864),
        ("max_file_size", "2 GiB", 2 * 1024**3),
        ("max_output_chars", "0", 0),
        ("anthropic_compat", "TRUE", True),
        ("anthropic_compat", "off", False),
        ("http_port", "0", "none"),
        ("http_port", "none", "none"),
        ("http_port", "auto", "auto"),
        ("tcp_port", "7000", 7000),
        ("require_view_before_edit", "True", "true"),
        ("disable_tools", "view, grep", ("view", "grep")),
        ("log_level", "DEBUG", "debug"),
    ],
)
def test_a_value_is_read_from_the_environment(name: str, text: str, expected: Any) -> None:
    settings = read_settings({}, {f"FLASHGREP_{name.upper()}": text})
    assert getattr(settings, name) == expected
    assert settings.explicit == {name}


@pytest.mark.parametrize(
    ("name", "text", "remedy"),
    [
        ("max_file_size", "ten", "10MB"),
        ("max_file_size", "0", "10MB"),
        ("max_file_size", "-1", "10MB"),
        ("max_output_chars", "-5", "zero or more"),
        ("max_output_chars", "many", "zero or more"),
        ("live_share", "0", "from 1 to"),
        ("http_port", "70000", "65535"),
        ("tcp_port", "http", "auto"),
        ("toolsets", "files,nonsense", "valid: files"),
        ("toolsets", ",", "valid: files"),
        ("require_view_before_edit", "maybe", "auto, true, false"),
        ("anthropic_compat", "perhaps", "true or false"),
        ("log_format", "xml", "text, json"),
        ("workdir", "a\0b", "NUL"),
        ("allow_dir", "", "unset it"),
        ("deny_dir", "", "unset it"),
    ],
)
def test_a_bad_value_is_named_with_where_it_came_from_and_the_remedy(
    name: str, text: str, remedy: str
) -> None:
    variable = f"FLASHGREP_{name.upper()}"
    with pytest.raises(SettingsError) as refused:
        read_settings({}, {variable: text})
    assert variable in str(refused.value)
    assert remedy in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        {"live_connections": "2", "live_share": "3"},
        {"live_share": str(limits.LIVE_CONNECTIONS + 1)},
    ],
)
def test_one_token_cannot_be_given_more_connections_than_there_are(given: dict[str, str]) -> None:
    with pytest.raises(SettingsError, match=r"--live-share is .*--live-connections"):
        read_settings(given, {})


@pytest.mark.parametrize(
    "given", [{"live_connections": "3", "live_share": "3"}, {"live_connections": "2"}]
)
def test_one_token_may_have_all_connections(given: dict[str, str]) -> None:
    settings = read_settings(given, {})
    assert settings.live_connections == int(given["live_connections"])


def test_a_flag_wins_over_the_environment() -> None:
    environment = {"FLASHGREP_WORKDIR": "/elsewhere", "FLASHGREP_ALLOW_DIR": "/a:/b"}
    settings = read_settings({"workdir": "/here"}, environment)
    assert (settings.workdir, settings.allow_dir) == ("/here", ("/a", "/b"))


def test_a_variable_that_is_no_setting_is_noticed() -> None:
    environment = {"FLASHGREP_ALOW_DIR": "/a", "FLASHGREP_HOST": "x", "HOME": "/"}
    assert unknown_variables(environment) == ["FLASHGREP_ALOW_DIR"]
    assert closest_variable("FLASHGREP_ALOW_DIR") == "FLASHGREP_ALLOW_DIR"
    assert closest_variable("FLASHGREP_HTP_PORT") == "FLASHGREP_HTTP_PORT"
    assert closest_variable("FLASHGREP_X") == ""


@pytest.mark.parametrize("row", SETTINGS, ids=lambda row: row.name)
def test_every_setting_says_what_it_does_and_its_variable(row: Any) -> None:
    assert row.help
    assert row.environment in row.described


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("no_auth", "(FLASHGREP_NO_AUTH)"),
        ("kb", "(FLASHGREP_KB)"),
        ("state_dir", "(FLASHGREP_STATE_DIR)"),
        ("allow_dir", "(repeatable; FLASHGREP_ALLOW_DIR)"),
        ("call_seconds", "(default 60; FLASHGREP_CALL_SECONDS)"),
        ("toolsets", "(default files,index,kb; FLASHGREP_TOOLSETS)"),
    ],
)
def test_a_setting_says_its_default_where_it_has_one(name: str, told: str) -> None:
    (row,) = (row for row in SETTINGS if row.name == name)
    assert row.described == f"{row.help} {told}"

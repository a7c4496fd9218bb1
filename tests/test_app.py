"""The composition root: what is joined, what is refused, what a model is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from flashgrep.app import Application, build
from flashgrep.errors import SettingsError
from flashgrep.notes.home import Home
from flashgrep.settings import read_settings
from flashgrep.tools.dispatch.caller import Caller
from tests.tools.registry import names_of


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


def made(place: Path, **given: Any) -> Application:
    cache = {"XDG_CACHE_HOME": str(place.parent / "cache")}
    return build(read_settings({"workdir": str(place), **given}, {}), cache)


NORMAL = "grep glob view str_replace create_file"
COMPAT = "grep glob read edit write"
INDEX = " ".join(names_of("index"))
LISTS: list[tuple[dict[str, Any], str]] = [
    ({}, f"{NORMAL} {INDEX}"),
    ({"anthropic_compat": True}, f"{COMPAT} {INDEX}"),
    ({"toolsets": "files"}, NORMAL),
    ({"toolsets": "index"}, INDEX),
    ({"toolsets": "files", "disable_tools": "view,glob"}, "grep str_replace create_file"),
    (
        {"toolsets": "files", "disable_tools": "edit", "anthropic_compat": True},
        "grep glob read write",
    ),
    ({"toolsets": "files", "disable_tools": "edit"}, NORMAL),
    ({"toolsets": "index", "disable_tools": "fgrep_boot"}, INDEX.replace(" fgrep_boot", "")),
    (
        {"toolsets": "index", "disable_tools": "bootstrap_skill"},
        INDEX.replace(" bootstrap_skill", ""),
    ),
]


@pytest.mark.parametrize(("given", "expected"), LISTS, ids=range(len(LISTS)))
def test_what_is_listed(workdir: Path, given: dict[str, Any], expected: str) -> None:
    application = made(workdir, **given)
    try:
        assert " ".join(tool.name for tool in application.toolbox.listed()) == expected
    finally:
        application.close()


@pytest.mark.parametrize("has_state_dir", [False, True])
def test_the_state_of_other_workspaces_is_out_of_reach_too(
    workdir: Path, tmp_path: Path, has_state_dir: bool
) -> None:
    token = tmp_path / "cache" / "flashgrep" / "other-0123" / "token"
    token.parent.mkdir(parents=True)
    token.write_text("secret\n")
    own = {"state_dir": str(tmp_path / "own")} if has_state_dir else {}
    application = made(workdir, **own)
    caller = application.callers.get("agent")
    try:
        for tool, path in (("view", token), ("glob", token.parent), ("grep", token)):
            arguments = (
                {"path": str(path), "pattern": "**"} if tool != "view" else {"path": str(path)}
            )
            answer = anyio.run(application.toolbox.call, tool, arguments, caller)
            assert answer.code == "access_denied", (tool, answer.text)
        found = anyio.run(
            application.toolbox.call, "grep", {"pattern": "secret", "path": str(tmp_path)}, caller
        )
        assert found.text == "No matches found"
    finally:
        application.close()


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"workdir": "/no/such/place"}, "--workdir.*/no/such/place"),
    ({"allow_dir": ["/no/such/place"]}, "--allow-dir.*/no/such/place"),
    ({"deny_dir": ["[a"]}, "--deny-dir.*unclosed"),
    ({"disable_tools": "grep,gerp"}, "unknown tool 'gerp'; valid: grep, glob"),
]


@pytest.mark.parametrize(("given", "text"), REFUSED, ids=range(len(REFUSED)))
def test_a_setting_that_cannot_be_is_named_with_the_valid_ones(
    workdir: Path, given: dict[str, Any], text: str
) -> None:
    with pytest.raises(SettingsError, match=text):
        made(workdir, **given)


def test_a_state_directory_around_the_workspace_is_refused(workdir: Path) -> None:
    with pytest.raises(SettingsError, match="--state-dir"):
        made(workdir, state_dir=str(workdir.parent))


def test_the_instructions_name_scope_and_stay_short(workdir: Path) -> None:
    allowed = [workdir / f"{number}-{'n' * 200}" for number in range(30)]
    for path in allowed:
        path.mkdir()
    denied = [f"**/{'d' * 100}{number}" for number in range(30)]
    for given in ({}, {"allow_dir": [str(path) for path in allowed], "deny_dir": denied}):
        application = made(workdir, **given)
        text = application.toolbox.instructions
        application.close()
        assert len(text.encode("utf-8")) < 2048
        assert str(workdir) in text
        assert ("Only these directories are reachable" in text) == bool(given)


NO_INDEX: list[tuple[dict[str, Any], str]] = [
    ({"no_index": True}, "switched off"),
    ({"no_workspace": True, "kb": "kb"}, "there is no workspace"),
    ({"allow_dir": ("other",)}, "the working directory is outside --allow-dir, or denied"),
    ({"workdir": "/"}, "the file system's root and a whole home directory are not indexed"),
]


@pytest.mark.parametrize(("given", "reason"), NO_INDEX, ids=[row[1] for row in NO_INDEX])
def test_the_status_says_why_there_is_no_index(
    workdir: Path, given: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(workdir.parent)
    Path("other").mkdir()
    Home.create(Path("kb"))
    application = made(workdir, **given)
    try:
        status = application.services.index.status()
        assert (status.state, status.reason) == ("off", reason)
    finally:
        application.close()


def test_without_a_place_for_state_the_tools_still_write(workdir: Path) -> None:
    (workdir.parent / "cache").write_text("in the way", encoding="utf-8")
    application = made(workdir)
    try:
        assert application.state is None
        reason = "there is no state directory to keep it in"
        assert application.services.index.status().reason == reason
        arguments = {"path": str(workdir / "new"), "content": "x"}
        call = application.toolbox.call
        answer = anyio.run(lambda: call("create_file", arguments, Caller("c")))
        assert not answer.failed, answer.text
        assert (workdir / "new").read_text(encoding="utf-8") == "x"
    finally:
        application.close()


def test_the_state_directory_is_denied_to_the_tools(workdir: Path) -> None:
    application = made(workdir, state_dir=str(workdir / "state"))
    try:
        assert application.state is not None
        application.state.token()
        arguments = {"path": str(application.state.token_path)}
        answer = anyio.run(lambda: application.toolbox.call("view", arguments, Caller("c")))
        assert answer.code == "access_denied"
    finally:
        application.close()

"""flashgrep open, and sign-in links for others: made at a terminal, used at a running server."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from flashgrep.system.login import login_name
from flashgrep.system.state import state_path
from flashgrep.web.sign_in_links import ServerAddress, SignInLinks, announce, holder_of, servers
from tests.terminal.console import Ran, flashgrep
from tests.transports.clients import PATIENCE_SECONDS, Server, serving

FLAGS = ["--no-index", "--tcp-port", "none", "--socket", "none", "--http-port", "auto"]


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the server of `running` is: its cache, and no screen."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "workspace-home" / ".cache"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace" / "deep" / "er").mkdir(parents=True)
    return tmp_path / "workspace"


@pytest.fixture
def running(workspace: Path) -> Iterator[Server]:
    with serving(workspace, FLAGS, ports=False) as server:
        yield server


def printed(ran: Ran) -> str:
    assert ran.status == 0, ran.err
    (line,) = ran.lines
    assert line.startswith("Open: http://")
    return line.removeprefix("Open: ")


def name_behind(link: str) -> str:
    """Who a link signs in."""
    with httpx2.Client(timeout=PATIENCE_SECONDS, trust_env=False) as client:
        answer = client.get(link)
        assert answer.status_code == 303, answer.text
        return str(client.get(link.partition("/sign-in/")[0] + "/api/session").json()["name"])


def test_a_link_for_the_running_server_is_printed_where_there_is_no_screen(
    workspace: Path, running: Server
) -> None:
    link = printed(flashgrep("open", "--workdir", str(workspace)))
    assert link.startswith(f"http://127.0.0.1:{running.http}/sign-in/")
    assert name_behind(link) == login_name()
    other = printed(flashgrep("open", "--workdir", str(workspace / "deep" / "er")))
    assert other != link
    assert name_behind(other) == login_name()


@pytest.mark.thorough
def test_a_browser_is_started_where_there_is_a_screen(
    workspace: Path, running: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, called = tmp_path / "browser", tmp_path / "called"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {called}\n')
    browser.chmod(0o700)
    code = (
        "import webbrowser, sys; "
        f"webbrowser.register('own', None, webbrowser.GenericBrowser({str(browser)!r}), "
        "preferred=True); from flashgrep import cli; sys.exit(cli.main())"
    )
    environment = {**os.environ, "DISPLAY": ":99"}

    def run(*flags: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-P", "-c", code, "open", "--workdir", str(workspace), *flags]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    done = run()
    assert done.stdout == ""
    assert f"opened http://127.0.0.1:{running.http}/" in done.stderr
    assert "/sign-in/" not in done.stderr
    assert name_behind(called.read_text()) == login_name()
    called.unlink()
    assert run("--print").stdout.startswith("Open: ")
    assert not called.exists()


def test_without_a_server_the_failure_says_what_to_do(workspace: Path) -> None:
    ran = flashgrep("open", "--workdir", str(workspace))
    assert ran.status == 2
    assert "no flashgrep serve with pages runs" in ran.err
    assert "--workdir" in ran.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_ended_is_not_found(workspace: Path, number: int) -> None:
    with serving(workspace, FLAGS, ports=False) as server:
        # A server that answers also hears signals.
        name_behind(printed(flashgrep("open", "--workdir", str(workspace))))
        server.stop(number)
        assert flashgrep("open", "--workdir", str(workspace)).status == 2
        if number == signal.SIGTERM:
            log = server.log.read_text(encoding="utf-8")
            assert "flashgrep.transports.signals: stopping on SIGTERM" in log
    with serving(workspace, FLAGS, ports=False) as server:
        link = printed(flashgrep("open", "--workdir", str(workspace)))
        assert f":{server.http}/" in link


def test_of_two_servers_the_newer_is_opened(workspace: Path, running: Server) -> None:
    with serving(workspace, FLAGS, ports=False) as second:
        link = printed(flashgrep("open", "--workdir", str(workspace)))
        assert f":{second.http}/" in link
        # They share what is kept, so the older one takes it as well.
        assert name_behind(link.replace(str(second.http), str(running.http))) == login_name()


def test_a_server_without_pages_is_told_with_the_reason(workspace: Path) -> None:
    flags = ["--no-index", "--tcp-port", "none", "--http-port", "none"]
    with serving(workspace, flags, ports=False) as server:
        ran = flashgrep("open", "--workdir", str(workspace / "deep"))
        assert ran.status == 2
        runs = f"the flashgrep serve of {workspace} (pid {server.process.pid}) runs"
        assert f"{runs}, but its HTTP listener is off: --http-port is none" in ran.err
        with serving(workspace, FLAGS, ports=False) as second:
            assert "already runs here" in second.told[0]
            assert "its HTTP listener is off" in second.told[0]
            assert f":{second.http}/" in printed(flashgrep("open", "--workdir", str(workspace)))


def test_a_second_server_of_a_workspace_says_first_that_one_runs(
    workspace: Path, running: Server
) -> None:
    told = f"a flashgrep serve already runs here (pid {running.process.pid}): "
    with serving(workspace, FLAGS, ports=False) as second:
        assert second.told[0].startswith(told)
        assert second.told[0].endswith(" open opens its pages")
    off = [*FLAGS[:-1], "none"]
    with pytest.raises(RuntimeError, match=re.escape(told)), serving(workspace, off, ports=False):
        pass
    shared = state_path("", os.fsencode(os.path.realpath(workspace)), os.environ)
    elsewhere = [*FLAGS, "--state-dir", str(shared)]
    with serving(workspace / "deep", elsewhere, ports=False) as other:
        assert other.told[0].startswith("flashgrep ")


def test_a_port_that_another_flashgrep_has_is_told_with_what_it_serves(
    workspace: Path, running: Server
) -> None:
    states = Path(os.environ["XDG_CACHE_HOME"]) / "flashgrep"
    assert running.http is not None
    told = f"another flashgrep, serving {os.path.realpath(workspace)}"
    assert holder_of(states, running.http) == told
    assert holder_of(states, running.http + 1) == "another program"
    assert holder_of(states / "none", running.http) == "another program"


def test_with_a_state_directory_of_its_own_the_server_is_found_by_it(
    workspace: Path, tmp_path: Path
) -> None:
    state = str(tmp_path / "state")
    with serving(workspace, [*FLAGS, "--state-dir", state], ports=False):
        assert flashgrep("open", "--workdir", str(workspace)).status == 2
        found = flashgrep("open", "--workdir", str(workspace), "--state-dir", state)
        assert name_behind(printed(found)) == login_name()


def test_where_nobody_signs_in_the_address_itself_is_opened(workspace: Path) -> None:
    with serving(workspace, [*FLAGS, "--no-auth"], ports=False) as server:
        link = printed(flashgrep("open", "--workdir", str(workspace)))
        assert link == f"http://127.0.0.1:{server.http}/"


# ── links for others ────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def kb(tmp_path: Path) -> str:
    home = str(tmp_path / "kb")
    assert flashgrep("kb", "init", "--kb", home).status == 0
    return home


def test_a_person_gets_a_link_and_no_secret(workspace: Path, kb: str) -> None:
    with serving(workspace, [*FLAGS, "--kb", kb], ports=False) as server:
        made = flashgrep("kb", "token", "make", "Ann", "--role", "write", "--link", "--kb", kb)
        link = printed(made)
        assert link.startswith(f"http://127.0.0.1:{server.http}/sign-in/")
        assert "fgkb_" not in made.text + made.err
        assert "it works once, within 7 days" in made.err
        assert name_behind(link) == "Ann"
        again = flashgrep("kb", "token", "link", "Ann", "--json", "--kb", kb)
        assert again.json["token"] is None
        assert name_behind(again.json["link"]) == "Ann"
        with httpx2.Client(timeout=PATIENCE_SECONDS, trust_env=False) as client:
            assert client.get(link).status_code == 403


def test_a_link_without_a_server_is_for_the_usual_address_and_says_so(kb: str) -> None:
    made = flashgrep("kb", "token", "make", "Ann", "--link", "--kb", kb)
    assert printed(made).startswith("http://127.0.0.1:7778/sign-in/")
    assert "no server has" in made.err


def test_a_link_needs_a_token_that_counts(kb: str) -> None:
    missing = flashgrep("kb", "token", "link", "Ann", "--kb", kb)
    assert (missing.status, "there is no token Ann" in missing.err) == (2, True)
    made = flashgrep("kb", "token", "make", "Ann", "--json", "--kb", kb)
    assert made.json["link"] is None
    assert made.json["token"].startswith("fgkb_")


# ── the files ───────────────────────────────────────────────────────────────────────────────────


def test_an_announcement_counts_while_its_server_holds_it(tmp_path: Path) -> None:
    assert servers(tmp_path) == []
    end = announce(tmp_path, ServerAddress("http://one", True))
    other = announce(tmp_path, ServerAddress("http://two", False))
    assert set(servers(tmp_path)) == {
        ServerAddress("http://one", True),
        ServerAddress("http://two", False),
    }
    end()
    assert servers(tmp_path) == [ServerAddress("http://two", False)]
    other()
    assert servers(tmp_path) == []
    (tmp_path / "serving" / "left").write_text('{"format": 1, "address": "http://dead"}')
    assert servers(tmp_path) == []
    announce(tmp_path, ServerAddress("http://three", True))()
    assert os.listdir(tmp_path / "serving") == []


def test_links_are_private_files_that_others_cannot_plant(tmp_path: Path) -> None:
    links = SignInLinks(tmp_path)
    code = links.make(60)
    (name,) = os.listdir(tmp_path / "sign-in")
    path = tmp_path / "sign-in" / name
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert code not in path.read_text()
    path.chmod(0o644)
    assert links.use(code) is None
    path.chmod(0o600)
    path.write_text("{")
    assert links.use(code) is None


def test_expired_links_are_removed_when_the_next_is_made(tmp_path: Path) -> None:
    links = SignInLinks(tmp_path)
    links.make(-1)
    links.make(60)
    assert len(os.listdir(tmp_path / "sign-in")) == 1
    unkept = SignInLinks(None)
    code = unkept.make(60)
    assert unkept.use(code) is not None
    assert unkept.use(code) is None

"""`serve` at its start: addresses, tokens, what is told, what is refused."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from flashgrep.errors import SettingsError
from flashgrep.settings import Settings, read_settings
from flashgrep.system.state import StateDirectory
from flashgrep.tools.dispatch.caller import Callers
from flashgrep.transports.daemon.serve import (
    Host,
    ListenerOff,
    Serving,
    bind_port,
    check_exposure,
    choose_secret,
    resolve_host,
    shown,
)
from tests.transports.program import toolbox

LOOPBACK = resolve_host("127.0.0.1")


@pytest.fixture
def taken() -> int:
    """A port somebody else listens on."""
    holder = socket.create_server(("127.0.0.1", 0))
    _KEPT.append(holder)
    port: int = holder.getsockname()[1]
    return port


_KEPT: list[socket.socket] = []


@pytest.fixture(autouse=True)
def _release() -> object:
    yield
    while _KEPT:
        _KEPT.pop().close()


def settings(**given: object) -> Settings:
    return read_settings(given, {})


def test_a_given_port_that_is_taken_is_an_error_naming_it(taken: int) -> None:
    with pytest.raises(SettingsError, match=f"--http-port {taken} .*in use"):
        bind_port("http_port", settings(http_port=str(taken)), LOOPBACK)


def test_a_default_port_that_is_taken_is_told_and_left_out(
    taken: int, caplog: pytest.LogCaptureFixture
) -> None:
    defaulted = Settings(http_port=taken)
    with pytest.raises(ListenerOff, match=f"^{taken} is taken by another program$"):
        bind_port("http_port", defaulted, LOOPBACK)
    assert f"--http-port {taken}" in caplog.text
    assert "in use" in caplog.text


def test_beside_a_server_of_the_workspace_a_taken_port_is_no_warning(
    taken: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    asked = Settings(http_port=taken, tcp_port="auto", socket=str(tmp_path / "s"))
    serving = Serving.prepare(
        toolbox(asked),
        Callers(),
        asked,
        str(tmp_path),
        None,
        "one runs already",
        lambda port: f"the one who has {port}",
    )
    try:
        told = serving.told
    finally:
        serving.close()
    assert told[0] == "one runs already"
    assert f"  http   off: {taken} is taken by the one who has {taken}" in told
    assert not caplog.records


@pytest.mark.parametrize("off", ["0", "none"])
def test_a_port_can_be_off(off: str) -> None:
    with pytest.raises(ListenerOff, match="--tcp-port is none"):
        bind_port("tcp_port", settings(tcp_port=off), LOOPBACK)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1"])
def test_auto_is_any_free_port(host: str) -> None:
    try:
        listener = bind_port("tcp_port", settings(tcp_port="auto"), resolve_host(host))
    except SettingsError:
        pytest.skip(f"{host} cannot be bound here")
    with listener:
        assert shown(listener).rpartition(":")[2] != "0"
        assert shown(listener).startswith(("127.0.0.1:", "[::1]:"))


def test_a_host_that_does_not_exist_is_an_error_naming_it() -> None:
    with pytest.raises(SettingsError, match="no host"):
        resolve_host("no host")


# --host, what is given → refused with, or None
EXPOSURE: list[tuple[str, dict[str, object], str | None]] = [
    ("127.0.0.1", {}, None),
    ("127.5.5.5", {}, None),
    ("localhost", {}, None),
    ("127.0.0.1", {"no_auth": True}, None),
    ("0.0.0.0", {}, "--token and --allow-dir"),  # noqa: S104
    ("0.0.0.0", {"token": "T"}, "needs --allow-dir"),  # noqa: S104
    ("0.0.0.0", {"allow_dir": ("/",)}, "needs --token"),  # noqa: S104
    ("0.0.0.0", {"token": "T", "allow_dir": ("/",)}, None),  # noqa: S104
    ("::", {}, "--token and --allow-dir"),
    ("10.0.0.1", {"no_auth": True, "allow_dir": ("/",)}, "--no-auth"),
    ("192.0.2.1", {"token": "T"}, "needs --allow-dir"),
]


@pytest.mark.parametrize(("host", "given", "refused"), EXPOSURE, ids=range(len(EXPOSURE)))
def test_other_machines_are_served_only_with_token_and_scope(
    host: str, given: dict[str, object], refused: str | None
) -> None:
    asked = settings(host=host, **given)
    resolved: Host = resolve_host(host)
    if refused is None:
        check_exposure(asked, resolved)
    else:
        with pytest.raises(SettingsError, match=refused):
            check_exposure(asked, resolved)


def test_the_token_is_given_generated_temporary_or_none(tmp_path: Path) -> None:
    state = StateDirectory(tmp_path / "state")
    assert choose_secret(settings(token="T"), state).token == "T"
    assert "T" not in choose_secret(settings(token="T"), state).told.replace("--token", "")
    assert not (tmp_path / "state" / "token").exists()
    assert choose_secret(settings(no_auth=True), state).token is None
    generated = choose_secret(settings(), state)
    assert generated.token == state.token()
    assert str(state.token_path) in generated.told
    temporary = choose_secret(settings(), None)
    assert temporary.token
    assert temporary.token in temporary.told
    with pytest.raises(SettingsError, match="exclude each other"):
        choose_secret(settings(token="T", no_auth=True), state)


def test_what_is_told_names_every_address_and_a_line_to_paste(tmp_path: Path) -> None:
    asked = settings(http_port="auto", tcp_port="auto")
    state = StateDirectory(tmp_path / "state")
    serving = Serving.prepare(toolbox(asked), Callers(), asked, str(tmp_path), state)
    try:
        told = "\n".join(serving.told)
        assert serving.http is not None
        url = f"http://127.0.0.1:{serving.http.getsockname()[1]}/mcp"
        assert url in told
        assert f"tcp    {shown(serving.tcp)}" in told if serving.tcp else False
        assert str(tmp_path / ".flashgrep" / "mcp.sock") in told
        header = f"--header \"Authorization: Bearer $(cat '{state.token_path}')\""
        assert f"claude mcp add --transport http flashgrep {url} {header}" in told
    finally:
        serving.close()


def told_with(place: Path, **given: object) -> list[str]:
    asked = settings(http_port="auto", tcp_port="none", **given)
    state = StateDirectory(place / "state")
    serving = Serving.prepare(toolbox(asked), Callers(), asked, str(place), state)
    try:
        return serving.told
    finally:
        serving.close()


def test_with_a_token_of_the_users_own_the_banner_says_which_variable_to_set(
    tmp_path: Path,
) -> None:
    told = told_with(tmp_path, token="my own secret")
    (at,) = [number for number, line in enumerate(told) if "claude mcp add" in line]
    assert told[at].endswith('"Authorization: Bearer $FLASHGREP_TOKEN"')
    assert told[at + 1].strip() == "set FLASHGREP_TOKEN to that token where you paste this"
    assert "my own secret" not in "\n".join(told)


@pytest.mark.parametrize("given", [{}, {"no_auth": True}])
def test_other_banners_name_no_variable(tmp_path: Path, given: dict[str, object]) -> None:
    assert "FLASHGREP_TOKEN" not in "\n".join(told_with(tmp_path, **given))


@pytest.mark.parametrize("name", ["http", "tcp"])
def test_the_banner_says_that_a_default_port_is_taken_and_what_to_do(
    taken: int, tmp_path: Path, name: str
) -> None:
    ports: dict[str, Any] = {"http_port": "none", "tcp_port": "none", f"{name}_port": taken}
    asked = Settings(**ports)
    serving = Serving.prepare(toolbox(asked), Callers(), asked, str(tmp_path), None)
    try:
        off = [line for line in serving.told if " off: " in line]
    finally:
        serving.close()
    flag = f"--{name}-port"
    remedy = f"choose one with {flag}, or {flag} auto"
    assert off == [f"  {name:<5}  off: {taken} is taken by another program; {remedy}"]


def test_beside_a_server_of_the_workspace_no_listener_at_all_is_told_as_that(
    tmp_path: Path,
) -> None:
    asked = settings(http_port="none", tcp_port="none", socket="none")
    with pytest.raises(SettingsError, match=r"^one runs already$"):
        Serving.prepare(toolbox(asked), Callers(), asked, str(tmp_path), None, "one runs already")


def test_no_listener_at_all_is_an_error(tmp_path: Path) -> None:
    asked = settings(http_port="none", tcp_port="none", socket="none")
    with pytest.raises(SettingsError, match="no listener"):
        Serving.prepare(toolbox(asked), Callers(), asked, str(tmp_path), None)


def test_a_refused_start_leaves_no_socket_behind(taken: int, tmp_path: Path) -> None:
    asked = settings(http_port="auto", tcp_port=str(taken))
    with pytest.raises(SettingsError):
        Serving.prepare(toolbox(asked), Callers(), asked, str(tmp_path), None)
    assert not (tmp_path / ".flashgrep").exists()

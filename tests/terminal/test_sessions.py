"""A command answers the same through a daemon and in its own process, and says so to nobody."""

from __future__ import annotations

import shlex
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from flashgrep.settings import Settings
from flashgrep.terminal.session import Local, Remote, opened
from tests.terminal.conftest import plant
from tests.terminal.console import flashgrep
from tests.transports.clients import Server, serving
from tests.transports.daemon.test_proxy import introduced
from tests.transports.lines.test_join import NO_PORTS, fake

COMMANDS = r"""
grep foo
grep -n -C 1 foo
grep -c foo
grep -l foo src tests
grep -o -t py foo
grep -q foo
grep -q nothere
grep --color always foo
grep -U 'bar\nbaz'
grep foo nope
grep '('
grep --files
grep -g 'src/*.py' foo src
glob '*.py'
glob --sort path '**'
glob --sort path 'src/**' --json
glob -t directory '**' --sort path
glob '*.nothing'
glob
glob '*.py' nope
view a.txt
view a.txt -r 2-3
view src
view nope
slice a.txt:2-3
slice a.txt:2-
slice a.txt:99
slice nope:1
slice a.txt:1 --json
files
files '*.py'
files '*.nothing'
files --json -n 2
symbol foo
symbol foo --json
symbol -d foo
symbol nosuchname
""".strip().splitlines()


RANKED = [["query", "foo"], ["query", "-n", "2", "foo", "bar"], ["query", "nothingofthesort"]]


def _serve(directory: Path, *flags: str) -> AbstractContextManager[Server]:
    return serving(plant(directory / "work"), [*NO_PORTS, *flags], ports=False)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A workspace with a daemon whose index is ready for grep."""
    directory = tmp_path_factory.mktemp("served")
    with _serve(directory, "--anthropic-compat"):
        words = ("stats", "--json", "--workdir", str(directory / "work"))
        while flashgrep(*words).json["state"] == "building":
            pass
        yield directory / "work"


@pytest.fixture
def there(served: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(served)
    return served


@pytest.mark.thorough
@pytest.mark.parametrize("line", COMMANDS)
def test_the_daemon_and_the_process_itself_say_the_same(there: Path, line: str) -> None:
    command, *words = shlex.split(line)
    through, alone = flashgrep(command, *words), flashgrep(command, "--no-daemon", *words)
    assert through == alone


def test_ranked_answers_are_the_same_where_neither_has_an_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _serve(tmp_path, "--no-index"):
        monkeypatch.chdir(tmp_path / "work")
        for words in RANKED:
            assert flashgrep(*words) == flashgrep(*words, "--no-daemon")
            assert flashgrep(*words, "--json") == flashgrep(*words, "--json", "--no-daemon")


@pytest.mark.thorough
@pytest.mark.parametrize("where", [".", "src", "src/deep"])
def test_a_daemon_of_a_directory_above_answers_what_names_paths(
    there: Path, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(there / where)
    with opened(Settings(), True, above=True) as session:
        assert isinstance(session, Remote)
    with opened(Settings(), True) as session:
        assert isinstance(session, Remote) == (where == ".")
    # Not the directory above the workspace: the server keeps its index there, and is writing it.
    above = f"../{there.name}" if where == "." else ".."
    for words in (["grep", "-i", "foo"], ["grep", "-l", "foo", above], ["glob", "*", "--json"]):
        assert flashgrep(*words) == flashgrep(*words, "--no-daemon")


def test_a_scope_is_never_shared_with_a_directory_above(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(there / "src")
    monkeypatch.setenv("FLASHGREP_DENY_DIR", "deep")
    assert "deep" not in flashgrep("grep", "--files").text
    assert "deep" not in flashgrep("grep", "-l", "-i", "foo").text
    with opened(Settings(deny_dir=("deep",)), True, above=True) as session:
        assert isinstance(session, Local)


def test_the_same_relative_scope_means_other_files_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASHGREP_DENY_DIR", "deep")
    monkeypatch.setenv("FLASHGREP_DISABLE_TOOLS", "glob")
    flags = ("--no-index", "--deny-dir", "deep", "--disable-tools", "glob")
    with _serve(tmp_path, *flags):
        monkeypatch.chdir(tmp_path / "work")
        assert "src/deep/e.py" in flashgrep("grep", "-l", "-i", "foo").lines
        # A tool that is taken away from agents is still there for a person.
        assert flashgrep("glob", "d.py").lines == ["tests/d.py"]
        monkeypatch.chdir(tmp_path / "work" / "src")
        assert flashgrep("grep", "-l", "-i", "foo").lines == ["b.py", "c.c"]


def test_other_settings_are_answered_by_the_process_itself(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASHGREP_DENY_DIR", "**/b.py")
    assert flashgrep("grep", "-l", "foo", "src").lines == ["src/c.c"]


def test_a_daemon_that_ends_in_a_call_is_replaced(tree: Path) -> None:
    def die(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.shutdown(socket.SHUT_RDWR)

    with introduced(tree, die):
        assert flashgrep("grep", "-l", "foo", "src").lines == ["src/b.py", "src/c.c"]


def test_a_silent_socket_costs_no_answer(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flashgrep.transports.lines.join.JOIN_SECONDS", 0.05)
    with fake(tree, lambda connection: None):
        ran = flashgrep("grep", "-l", "foo", "src")
    assert (ran.lines, ran.err) == (["src/b.py", "src/c.c"], "")


def test_stats_come_from_the_daemon(there: Path) -> None:
    assert flashgrep("stats", "--json").json["settings_hash"]
    through, alone = flashgrep("stats"), flashgrep("stats", "--no-daemon")
    assert through.status == alone.status == 0
    assert "grep_ready" in through.text

"""One workspace, emptied before each test, and the servers that serve it, each started once."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.agent import Agent, Workspace, agent


@pytest.fixture(scope="session")
def workdir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Below a directory of its own: tests may put things beside it."""
    path = tmp_path_factory.mktemp("e2e") / "workspace"
    path.mkdir()
    return path.resolve()


@pytest.fixture
def ws(workdir: Path) -> Workspace:
    """The workspace, empty."""
    for entry in workdir.iterdir():
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    return Workspace(workdir)


@pytest.fixture
def beside(workdir: Path) -> Iterator[Path]:
    """A directory beside the workspace, gone after the test."""
    path = workdir.parent / "beside"
    path.mkdir()
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def normal_server(workdir: Path) -> Iterator[Agent]:
    with agent(workdir) as running:
        yield running


@pytest.fixture(scope="session")
def compat_server(workdir: Path) -> Iterator[Agent]:
    with agent(workdir, ["--anthropic-compat"]) as running:
        yield running


@pytest.fixture(scope="session")
def confined_server(workdir: Path) -> Iterator[Agent]:
    flags = ["--allow-dir", str(workdir), "--deny-dir", "**/.env", "--max-file-size", "64KB"]
    with agent(workdir, flags) as running:
        yield running


@pytest.fixture
def normal(normal_server: Agent, ws: Workspace) -> Agent:
    """An agent in normal mode."""
    return normal_server


@pytest.fixture
def compat(compat_server: Agent, ws: Workspace) -> Agent:
    """An agent in --anthropic-compat mode."""
    return compat_server


@pytest.fixture
def confined(confined_server: Agent, ws: Workspace) -> Agent:
    """Only the workspace is allowed, `.env` is denied, files have at most 64 KB."""
    return confined_server

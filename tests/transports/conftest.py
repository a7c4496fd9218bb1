"""Running servers that many tests share: each starts once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.transports.clients import TINY, Server, serving


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """No `--token`: a generated one."""
    with serving(_workdir(tmp_path_factory), tools=TINY) as running:
        yield running


@pytest.fixture(scope="session")
def locked_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`--token T`."""
    with serving(_workdir(tmp_path_factory), ["--token", "T"], tools=TINY) as running:
        running.token = "T"
        yield running


@pytest.fixture(scope="session")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`--no-auth`."""
    with serving(_workdir(tmp_path_factory), ["--no-auth"], tools=TINY) as running:
        yield running


def _workdir(factory: pytest.TempPathFactory) -> Path:
    return factory.mktemp("workspace")

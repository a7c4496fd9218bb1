"""One server for all tests; each has notes of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator

import pytest

from tests.web.served import Served, served


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("web"), {}) as running:
        yield running


@pytest.fixture
def note(server: Served, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Makes a note in a folder of the test's own; gives its path."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:80].strip("-")
    folder = f"{name}-{secrets.token_hex(4)}"

    def make(text: str = "", name: str = "Note.md") -> str:
        path = f"{folder}/{name}"
        answer = server.post("/kb/notes", {"path": path, "text": text})
        assert answer.status_code == 201, answer.text
        return path

    return make

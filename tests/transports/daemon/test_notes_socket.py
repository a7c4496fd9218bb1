"""The socket of the notes' owner: it serves, or whoever wants it learns why it does not."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from flashgrep.errors import Unavailable
from flashgrep.notes.administration import Administration
from flashgrep.notes.home import Home
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.settings import Settings
from flashgrep.tools.dispatch.toolbox import Toolbox
from flashgrep.transports.daemon.notes_socket import OwnerSocket
from tests.scarcity import no_more_files, no_more_threads


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[KnowledgeBase]:
    Home.create(tmp_path / "kb")
    opened = KnowledgeBase(tmp_path / "kb")
    yield opened
    opened.close()


def test_a_socket_that_cannot_serve_says_so_and_can_be_made_later(
    notes: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = notes.home.path / "kb.sock"

    def made() -> OwnerSocket:
        services: Any = None  # for a toolbox without tools
        toolbox = Toolbox((), services, Settings(), "")
        return OwnerSocket(path, Administration(notes), toolbox)

    def fails(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr(anyio, "run", fails)
        with pytest.raises(Unavailable, match="Too many"):
            made()
    with no_more_threads(monkeypatch), pytest.raises(Unavailable, match="new thread"):
        made()
    with no_more_files(), pytest.raises(Unavailable, match="Too many"):
        made()
    made().close()

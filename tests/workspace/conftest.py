"""What the tests of the workspace share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashgrep.workspace import safe_open
from tests.workspace.reach import World


@pytest.fixture(params=["openat2", "components"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two ways to open."""
    if request.param == "components":
        monkeypatch.setattr(safe_open, "has_openat2", False)
    elif not safe_open.has_openat2:
        pytest.skip("this kernel has no openat2")
    return str(request.param)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A workspace and its surroundings."""
    made = World(Path(os.path.realpath(tmp_path)))
    yield made
    made.close()

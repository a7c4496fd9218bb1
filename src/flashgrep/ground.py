"""Where a server works and where it keeps its own files: settings in, scope and places out.

Separate from `app`, which imports all of the server: as soon as the place of a large, already
indexed tree is known, its listing starts, and runs while the rest is imported.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from flashgrep import __version__
from flashgrep.errors import SettingsError
from flashgrep.index.git.repository import repository_of
from flashgrep.index.index import Ahead, list_ahead
from flashgrep.settings import Settings
from flashgrep.system.state import (
    StateDirectory,
    repositories_path,
    state_path,
    state_root,
    workspace_id,
)
from flashgrep.workspace.scope import Scope, is_within, shown_name


@dataclass
class Ground:
    """What a server's settings say about the disk."""

    scope: Scope
    state: Path
    """The state directory, whether or not there is one."""
    index: Path | None
    """The directory of the index; None if there is to be none."""
    no_index: str
    """Why there is to be none."""
    shared: Path | None = None
    """Where the trees of the workspace's repository keep segments, if they share them."""
    ahead: Ahead | None = None
    """A listing of the tree that has begun already."""

    def abandon(self) -> None:
        """End what has begun: there will be no server."""
        if self.ahead is not None:
            self.ahead.close()
        self.scope.close()


def ground_of(settings: Settings, environment: Mapping[str, str]) -> Ground:
    """What settings say of the disk, where nothing is made; a `SettingsError` if it cannot be."""
    workdir = os.path.realpath(os.fsencode(settings.workdir))
    state = state_path(settings.state_dir, workdir, environment)
    denied = _denied(settings, state, workdir, environment)
    scope = Scope(settings.workdir, settings.allow_dir, settings.deny_dir, denied)
    reason = _why_no_index(settings, scope)
    if reason:
        return Ground(scope=scope, state=state, index=None, no_index=reason)
    kind = repr((__version__, scope.allowed, scope.denied, scope.always_denied)).encode()
    name = hashlib.blake2b(kind, digest_size=8).hexdigest()
    return Ground(
        scope=scope,
        state=state,
        index=state / "index" / name,
        no_index="",
        shared=None if settings.state_dir else _shared(scope.workdir, environment),
    )


def ground_ahead(settings: Settings, environment: Mapping[str, str]) -> Ground | None:
    """The same, with a listing of the tree that has begun, where that is of use.

    None where something is wrong with the settings: whoever joins the parts will say what.
    """
    try:
        ground = ground_of(settings, environment)
    except SettingsError:
        return None
    try:
        if ground.index is not None and ground.index.is_dir():
            StateDirectory(ground.state)  # nothing is read from one that others may write
            ground.ahead = list_ahead(ground.scope, ground.index, ground.shared)
    except SettingsError:
        ground.scope.close()
        return None
    return ground


def _denied(
    settings: Settings, state: Path, workdir: bytes, environment: Mapping[str, str]
) -> tuple[bytes, ...]:
    """Our own directories: no file tool reaches them, and none of them holds the workdir."""
    own = {"--state-dir": state, **({"--kb": settings.kb} if settings.kb else {})}
    own["XDG_CACHE_HOME"] = state_root(environment)  # other workspaces' tokens too
    denied = {flag: os.path.realpath(os.fsencode(path)) for flag, path in own.items()}
    for flag, path in denied.items():
        if is_within(workdir, path) and not settings.no_workspace:
            raise SettingsError(
                f"{flag}: {shown_name(path)} is denied to the tools and holds the workdir"
            )
    return tuple(denied.values())


def _why_no_index(settings: Settings, scope: Scope) -> str:
    """Why the workspace is not indexed; empty where it is."""
    home = os.path.realpath(os.fsencode(os.path.expanduser("~")))
    if settings.no_workspace:
        return "there is no workspace"
    if settings.no_index:
        return "switched off"
    if not scope.permits(scope.workdir):
        return "the working directory is outside --allow-dir, or denied"
    if scope.workdir in (b"/", home):
        return "the file system's root and a whole home directory are not indexed"
    return ""


def _shared(workdir: bytes, environment: Mapping[str, str]) -> Path | None:
    """Where the trees of the workspace's repository keep segments; None where there is none."""
    repository = repository_of(workdir)
    if repository is None:
        return None
    name = workspace_id(repository.common.removesuffix(b"/.git"))
    return repositories_path(environment) / f"{name}-{__version__}"

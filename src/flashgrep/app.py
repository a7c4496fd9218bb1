"""The composition root: settings in, a working application out. The only place parts are joined."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from flashgrep.errors import FlashgrepError, SettingsError
from flashgrep.ground import Ground, ground_of
from flashgrep.index.git.log import CommitHistory
from flashgrep.index.index import Index, NoIndex, StartingIndex
from flashgrep.search.scan.pool import Pool
from flashgrep.search.scan.scan import DiskSearcher
from flashgrep.settings import Settings
from flashgrep.system.state import (
    StateDirectory,
    StateUnavailable,
    state_path,
    state_root,
)
from flashgrep.tools.catalog import all_tools, instructions, offered
from flashgrep.tools.dispatch.call import Services
from flashgrep.tools.dispatch.caller import Callers
from flashgrep.tools.dispatch.toolbox import CallShares, Toolbox
from flashgrep.tools.mounts.files import FilesPoint
from flashgrep.tools.mounts.points import MountPoint, Mounts, NoNotes
from flashgrep.workspace.scope import Scope, shown_name
from flashgrep.workspace.write.recovery import recover

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase
    from flashgrep.notes.ownership import Ownership

log = logging.getLogger(__name__)


@dataclass
class Application:
    """A server's parts, joined; transports serve it."""

    settings: Settings
    toolbox: Toolbox
    services: Services
    state: StateDirectory | None
    """None where no state can be kept, as in a container with a read-only home."""
    ownership: Ownership | None = None
    """Who owns the notes, if a knowledge base is mounted."""
    callers: Callers = field(default_factory=Callers)

    @property
    def notes(self) -> KnowledgeBase | None:
        """The notes while this process owns them."""
        return self.ownership.notes if self.ownership else None

    @property
    def workdir(self) -> str:
        """The real path of the working directory."""
        return os.fsdecode(self.services.scope.workdir)

    def toolbox_for(self, settings: Settings) -> Toolbox:
        """The tools of a connection with settings of its own; a `SettingsError` where none are."""
        return _toolbox(settings, self.services, self.ownership, self.toolbox.running)

    def start_index(self) -> None:
        """Begin to build the index in the background, if there is to be one."""
        self.services.index.start()

    def close(self) -> None:
        """Stop worker processes and give descriptors back."""
        if self.ownership is not None:
            self.ownership.close()
        self.services.index.close()
        self.services.search.close()
        self.services.symbols.close()
        self.services.scope.close()
        if self.state is None and self.services.recovery_dir:
            shutil.rmtree(self.services.recovery_dir, ignore_errors=True)


def build(
    settings: Settings,
    environment: Mapping[str, str] | None = None,
    keeps_notes: bool = False,
    ground: Ground | None = None,
) -> Application:
    """Join the parts; a setting that cannot be is a `SettingsError` naming it.

    `keeps_notes`: the notes must be this process's own, and stay so. `ground` is that of these
    settings, if it is known already.
    """
    try:
        environment = os.environ if environment is None else environment
        return _build(settings, environment, keeps_notes, ground)
    except BaseException:
        if ground is not None:
            ground.abandon()
        raise


def _build(
    settings: Settings, environment: Mapping[str, str], keeps_notes: bool, ground: Ground | None
) -> Application:
    offered(all_tools(), settings)  # refuses bad settings before anything is made
    ground = ground or ground_of(settings, environment)
    scope = ground.scope
    if not settings.no_workspace and not scope.permits(scope.workdir):
        log.warning(
            "the working directory %s is outside --allow-dir, or denied: calls must name a path",
            shown_name(scope.workdir),
        )
    state = _state(ground.state)
    pool = Pool(module="flashgrep.index.answer.search_worker")
    index = _index(ground, state, pool)
    engine = DiskSearcher(scope, pool, index, settings.verify_index)
    services = Services(
        scope=scope,
        recovery_dir=_recovery(state),
        search=engine,
        index=index,
        commits=CommitHistory(scope.workdir, scope.permits),
    )
    ownership = _own_notes(settings, services, keeps_notes)
    return Application(
        settings=settings,
        toolbox=_toolbox(settings, services, ownership),
        services=services,
        state=state,
        ownership=ownership,
    )


def build_for_terminal(
    settings: Settings, environment: Mapping[str, str] | None = None
) -> Application:
    """The parts that one command at a terminal needs, all tools among them.

    Nothing here writes, so there is no state; an index that nobody keeps fresh would be no help.
    """
    environment = os.environ if environment is None else environment
    workdir = os.path.realpath(os.fsencode(settings.workdir))
    places = [state_path(settings.state_dir, workdir, environment), state_root(environment)]
    own = tuple(os.path.realpath(os.fsencode(place)) for place in places)
    scope = Scope(settings.workdir, settings.allow_dir, settings.deny_dir, own)
    history = CommitHistory(scope.workdir, scope.permits)
    services = Services(scope, b"", DiskSearcher(scope), commits=history)
    return Application(
        settings=settings,
        toolbox=Toolbox(all_tools(), services, settings, ""),
        services=services,
        state=None,
    )


def _toolbox(
    settings: Settings,
    services: Services,
    ownership: Ownership | None,
    running: CallShares | None = None,
) -> Toolbox:
    """The tools that these settings leave, over the parts of a server."""
    specs = offered(all_tools(), settings)
    told = instructions(services.scope, specs, settings)
    return Toolbox(specs, services, settings, told, _mounts(settings, ownership), running)


def _mounts(settings: Settings, ownership: Ownership | None) -> Mounts:
    """What the tools work on: files, notes or both; bare paths lead to the first."""
    notes: MountPoint = NoNotes()
    if ownership is not None:
        from flashgrep.tools.mounts.notes import NotesPoint

        notes = NotesPoint(ownership, settings.no_workspace)
    return Mounts([notes] if settings.no_workspace else [FilesPoint(), notes])


def _own_notes(settings: Settings, services: Services, keeps: bool) -> Ownership | None:
    """Own the notes, or know whom to ask; imported here, because most servers have none."""
    if settings.kb is None:
        return None
    from flashgrep.notes.ownership import Ownership
    from flashgrep.transports.daemon.notes_client import OwnerClient
    from flashgrep.transports.daemon.notes_socket import OwnerCalls

    ownership = Ownership(
        settings.kb.resolve(), OwnerClient, lambda notes: calls.listen(notes), keeps
    )
    calls = OwnerCalls(ownership, settings, lambda own: _toolbox(own, services, ownership))
    try:
        ownership.start()
    except FlashgrepError as error:
        raise SettingsError(f"--kb: {error.message}") from None
    return ownership


def _index(ground: Ground, state: StateDirectory | None, pool: Pool) -> Index:
    """The index of the workspace, or the reason why there is none."""
    if ground.index is None:
        return NoIndex(ground.no_index)
    if state is None:
        return NoIndex("there is no state directory to keep it in")
    return StartingIndex(ground.scope, ground.index, pool, ground.shared, ground.ahead)


def _state(path: Path) -> StateDirectory | None:
    try:
        return StateDirectory(path)
    except StateUnavailable as error:
        log.warning("%s; continuing without it", error)
        return None


def _recovery(state: StateDirectory | None) -> bytes:
    """Where unfinished writes are noted; those an earlier server left are finished first."""
    if state is None:
        return os.fsencode(tempfile.mkdtemp(prefix="flashgrep-"))
    directory = os.fsencode(state.path / "recovery")
    recover(directory)
    return directory

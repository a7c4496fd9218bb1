"""The composition root: settings in, a working application out. The only place parts are joined."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flashgrep import __version__
from flashgrep.errors import SettingsError
from flashgrep.index.starting import StartingIndex
from flashgrep.index.status import NoIndex
from flashgrep.search.engine import Engine
from flashgrep.search.pool import Pool
from flashgrep.settings import Settings
from flashgrep.storage.statedir import StateDirectory, StateUnavailable, state_path
from flashgrep.tools.caller import Callers
from flashgrep.tools.catalog import all_tools
from flashgrep.tools.registry import ToolSpec
from flashgrep.tools.services import Services
from flashgrep.tools.toolbox import Toolbox
from flashgrep.workspace import names
from flashgrep.workspace.recovering import recover
from flashgrep.workspace.scope import Scope

log = logging.getLogger(__name__)

_INSTRUCTION_BYTES = 2_000
_SHOWN_ENTRIES = 8


@dataclass
class Application:
    """A server's parts, joined; transports serve it."""

    settings: Settings
    toolbox: Toolbox
    services: Services
    state: StateDirectory | None
    """None where no state can be kept, as in a container with a read-only home."""
    callers: Callers = field(default_factory=Callers)

    @property
    def workdir(self) -> str:
        """The real path of the working directory."""
        return os.fsdecode(self.services.scope.workdir)

    def start_index(self, is_settled: bool = True) -> None:
        """Begin to build the index in the background, if there is to be one.

        A server that still has to load much of itself says so, and calls `settle` when it has.
        """
        if isinstance(self.services.index, StartingIndex):
            self.services.index.start()
        if is_settled:
            self.settle()

    def settle(self) -> None:
        """The server is ready: the index may use this process as it likes."""
        if isinstance(self.services.index, StartingIndex):
            self.services.index.settle()

    def close(self) -> None:
        """Stop worker processes and give descriptors back."""
        self.services.index.close()
        self.services.search.close()
        self.services.symbols.close()
        self.services.scope.close()
        if self.state is None:
            shutil.rmtree(self.services.recovery_dir, ignore_errors=True)


def build(settings: Settings, environment: Mapping[str, str] | None = None) -> Application:
    """Join the parts; a setting that cannot be is a `SettingsError` naming it."""
    environment = os.environ if environment is None else environment
    specs = offered(all_tools(), settings)
    workdir = os.path.realpath(os.fsencode(settings.workdir))
    path = state_path(settings.state_dir, workdir, environment)
    denied = os.path.realpath(os.fsencode(path))
    scope = Scope(settings.workdir, settings.allow_dir, settings.deny_dir, (denied,))
    if scope.workdir == denied or scope.workdir.startswith(denied.rstrip(b"/") + b"/"):
        raise SettingsError(f"--state-dir: {path} is denied to the tools and holds the workdir")
    if not scope.permits(scope.workdir):
        log.warning(
            "the working directory %s is outside --allow-dir, or denied: calls must name a path",
            names.shown(scope.workdir),
        )
    state = _state(path)
    pool = Pool()
    index = _index(settings, scope, state, pool)
    supplier = index if isinstance(index, StartingIndex) else None
    engine = Engine(scope, pool, supplier, settings.verify_index)
    services = Services(scope, _recovery(state), engine, index)
    toolbox = Toolbox(specs, services, settings, instructions(scope, specs, settings))
    return Application(settings, toolbox, services, state)


def _index(
    settings: Settings, scope: Scope, state: StateDirectory | None, pool: Pool
) -> StartingIndex | NoIndex:
    """The index of the workspace, or the reason why there is none."""
    home = os.path.realpath(os.fsencode(os.path.expanduser("~")))
    if settings.no_index:
        return NoIndex()
    if state is None:
        return NoIndex("there is no state directory to keep it in")
    if not scope.permits(scope.workdir):
        return NoIndex("the working directory is outside --allow-dir, or denied")
    if scope.workdir in (b"/", home):
        return NoIndex("the file system's root and a whole home directory are not indexed")
    kind = repr((__version__, scope.allowed, scope.denied, scope.always_denied)).encode()
    name = hashlib.blake2b(kind, digest_size=8).hexdigest()
    return StartingIndex(scope, state.path / "index" / name, pool)


def _state(path: Path) -> StateDirectory | None:
    try:
        return StateDirectory(path)
    except StateUnavailable as error:
        log.warning("%s; going on without", error)
        return None


def _recovery(state: StateDirectory | None) -> bytes:
    """Where unfinished writes are noted; those an earlier server left are finished first."""
    if state is None:
        return os.fsencode(tempfile.mkdtemp(prefix="flashgrep-"))
    directory = os.fsencode(state.path / "recovery")
    recover(directory)
    return directory


def offered(specs: tuple[ToolSpec, ...], settings: Settings) -> tuple[ToolSpec, ...]:
    """The tools of the enabled toolsets without the disabled ones."""
    known = [name for spec in specs for name in spec.names]
    for name in settings.disable_tools:
        if name not in known:
            raise SettingsError(
                f"--disable-tools: unknown tool {name!r}; valid: {', '.join(known)}"
            )
    of_sets = (spec for spec in specs if spec.toolset in settings.toolsets)
    left = (spec.without(settings.disable_tools) for spec in of_sets)
    return tuple(spec for spec in left if spec is not None)


def instructions(scope: Scope, specs: tuple[ToolSpec, ...], settings: Settings) -> str:
    """What a client tells its model of this server: under 2 KB, essentials first."""
    listed = [spec.name for spec in specs if spec.in_mode(settings.anthropic_compat)]
    lines = [
        f"File tools over one workspace: {', '.join(listed)}.",
        f"Working directory (relative paths start here): {names.shown(scope.workdir)}",
    ]
    if scope.allowed:
        lines.append("Only these directories are reachable: " + _few(scope.allowed))
    if settings.deny_dir:
        lines.append("Not reachable: " + _few([os.fsencode(glob) for glob in settings.deny_dir]))
    lines += [
        "Search with grep (RE2 regular expressions; .gitignore is respected) and find files with "
        "glob instead of running shell commands.",
        "Read a file before changing it. Edits replace exact text, which must stand once.",
        "Long answers say how much is missing and which call continues.",
    ]
    return _cut("\n".join(lines))


def _few(paths: tuple[bytes, ...] | list[bytes]) -> str:
    shown = [names.shown(path) for path in paths[:_SHOWN_ENTRIES]]
    more = len(paths) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _cut(text: str) -> str:
    raw = text.encode("utf-8", "backslashreplace")
    if len(raw) <= _INSTRUCTION_BYTES:
        return raw.decode("utf-8")
    return raw[:_INSTRUCTION_BYTES].decode("utf-8", "ignore") + " ..."

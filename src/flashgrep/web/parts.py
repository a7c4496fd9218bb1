"""The parts of one application from which a server's routes are made, as far as pages show them.

`app` is above this folder, so its parts are handed over rather than imported. Values here load
neither the notes' engine nor the index: a server without them never pays for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flashgrep.settings import Settings
from flashgrep.system.state import StateDirectory
from flashgrep.tools.dispatch.call import Services
from flashgrep.tools.dispatch.caller import Callers
from flashgrep.tools.dispatch.toolbox import Toolbox

if TYPE_CHECKING:
    from flashgrep.notes.knowledge_base import KnowledgeBase


@dataclass(frozen=True, kw_only=True)
class SiteParts:
    """One server, as its routes need it."""

    settings: Settings
    toolbox: Toolbox
    services: Services
    callers: Callers
    state: StateDirectory | None
    """None where no state can be kept."""
    workdir: str
    """The real path of the working directory."""
    notes: KnowledgeBase | None
    """None without --kb."""
    address: str | None = None
    """Where a browser finds the pages, `http://127.0.0.1:7778`; None where HTTP is off."""
    http_off: str = ""
    """Why it is off."""
    secret: str | None = None
    """The server's own token; None with --no-auth."""

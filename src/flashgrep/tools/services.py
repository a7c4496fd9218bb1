"""What handlers reach the world through; `app` builds one per server."""

from __future__ import annotations

from dataclasses import dataclass

from flashgrep.search.engine import Engine
from flashgrep.workspace.scope import Scope


@dataclass
class Services:
    """The reachable files, where unfinished writes are noted, and the search."""

    scope: Scope
    recovery_dir: bytes
    search: Engine

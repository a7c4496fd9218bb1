"""What handlers reach the world through; `app` builds one per server."""

from __future__ import annotations

from dataclasses import dataclass, field

from flashgrep.index.index import Index, NoIndex
from flashgrep.ranking.symbol_parser import SymbolParser
from flashgrep.search.searcher import DiskSearcher
from flashgrep.workspace.scope import Scope


@dataclass
class Services:
    """The reachable files, where unfinished writes are noted, search, index, parser of symbols.

    None of them is exchanged while the server runs.
    """

    scope: Scope
    recovery_dir: bytes
    search: DiskSearcher
    index: Index = field(default_factory=NoIndex)
    symbols: SymbolParser = field(default_factory=SymbolParser)

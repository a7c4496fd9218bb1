"""What handlers reach the world through; `app` builds one per server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from flashgrep.index.index import Index, NoIndex
from flashgrep.index.symbol_parser import SymbolParser
from flashgrep.search.engine import Engine
from flashgrep.workspace.scope import Scope

if TYPE_CHECKING:
    from flashgrep.kb.knowledge_base import KnowledgeBase
    from flashgrep.tools.answer import Answer
    from flashgrep.tools.arguments import Arguments
    from flashgrep.tools.registry import ToolSpec
    from flashgrep.tools.toolbox import Call


class Sharing(Protocol):
    """Answers calls about notes that another process may own."""

    def run(
        self,
        spec: ToolSpec,
        name: str,
        arguments: Mapping[str, Any],
        call: Call,
        values: Arguments,
    ) -> Answer: ...

    def close(self) -> None: ...


@dataclass
class Services:
    """The reachable files, where unfinished writes are noted, search, index, parser of symbols;
    and the notes, where a knowledge base is mounted."""

    scope: Scope
    recovery_dir: bytes
    search: Engine
    index: Index = field(default_factory=NoIndex)
    symbols: SymbolParser = field(default_factory=SymbolParser)
    notes: KnowledgeBase | None = None
    """None where none is mounted, and while another process owns the mounted ones."""
    sharing: Sharing | None = None

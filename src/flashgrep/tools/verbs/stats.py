"""stats: the index's progress, and what this server's answers depend on."""

from __future__ import annotations

from typing import Any

from flashgrep import __version__
from flashgrep.settings import settings_hash
from flashgrep.system.clock import utc
from flashgrep.tools.dispatch.call import Answer, Call, json_answer
from flashgrep.tools.dispatch.spec import Arguments, ToolSpec


def stats(call: Call, arguments: Arguments) -> Answer:
    """Answer the figures of the index."""
    status = call.services.index.status()
    answer: dict[str, Any] = {
        "total_files": status.total_files,
        "total_chunks": status.total_chunks,
        "index_size_bytes": status.index_size_bytes,
        "last_update": None if status.last_update is None else utc(status.last_update),
        "state": status.state,
        "grep_ready": status.grep_ready,
        "query_ready": status.query_ready,
        "progress": status.progress,
        "freshness": status.freshness,
        "settings_hash": settings_hash(call.settings, __version__),
    }
    if status.reason:
        answer["reason"] = status.reason
    return json_answer(answer)


SPEC = ToolSpec(
    name="stats",
    title="Index statistics",
    description=(
        "The state of the index as JSON: total_files, total_chunks, index_size_bytes, last_update "
        "(UTC), state (building, ready or off), grep_ready, query_ready, progress (0 to 1), "
        "freshness, settings_hash. Answers are right in every state; the index only makes them "
        "fast."
    ),
    parameters=(),
    handler=stats,
    toolset="index",
)

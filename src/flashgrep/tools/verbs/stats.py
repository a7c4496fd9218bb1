"""stats: how far the index is, and what this server's answers depend on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from flashgrep import __version__
from flashgrep.index.index import IndexStatus
from flashgrep.settings import Settings, settings_hash
from flashgrep.tools.dispatch.call import Answer, Call, json_answer
from flashgrep.tools.dispatch.spec import Arguments, ToolSpec


def stats(call: Call, arguments: Arguments) -> Answer:
    """Tell the index's figures."""
    return json_answer(described(call.services.index.status(), call.settings))


def described(status: IndexStatus, settings: Settings) -> dict[str, Any]:
    """The state of an index as every answer tells it."""
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
        "settings_hash": settings_hash(settings, __version__),
    }
    if status.reason:
        answer["reason"] = status.reason
    return answer


def utc(seconds: float) -> str:
    """A time as answers tell it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


SPEC = ToolSpec(
    name="stats",
    title="Index statistics",
    description=(
        "The state of the index as JSON: total_files, total_chunks, index_size_bytes, last_update "
        "(UTC), state (building, ready or off), grep_ready, query_ready, progress (0 to 1), "
        "freshness, settings_hash. Answers are right in every state; the index makes them fast."
    ),
    parameters=(),
    handler=stats,
    toolset="index",
)

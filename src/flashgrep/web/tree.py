"""The tree of notes over HTTP, for a page that lists them all.

    GET /kb/tree    → {"notes": [{"path", "changed", "pending"}], "generation"}

The notes are those that the token may read, in the order of a walk: depth first, names by their
bytes. Folders are the common beginnings of paths. `changed` is in milliseconds since 1970,
`pending` counts suggestions, `generation` changes whenever the answer does. The answer has an
`ETag`; for a request with it (`If-None-Match`), an unchanged answer is 304 without a body.

The number and the tag come from what the token sees, not from a counter: a counter would tell a
token that may read a few notes how much happens to the others.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring as quoted
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from flashgrep.notes.access.roles import Grant, Principal
from flashgrep.notes.knowledge_base import KnowledgeBase
from flashgrep.notes.tree import Stamp, TreeMoment, stamp_of, tree_of
from flashgrep.transports.access import Admission
from flashgrep.web.handler import check_query, handler

_KEPT_ANSWERS: Final = 4
"""Answers that are kept until something changes, each of some MB where there are many notes; one
for each set of grants that asked."""
_SAFE_BYTES: Final = 6
"""Of a digest, as many as a number of JavaScript holds exactly."""


@dataclass(frozen=True, slots=True)
class _TreeAnswer:
    stamp: Stamp
    tag: str
    body: bytes


def tree_route(kb: KnowledgeBase) -> Route:
    """GET /kb/tree."""
    return Route("/kb/tree", handler(_Tree(kb).answer), methods=["GET"])


class _Tree:
    """Used by several threads; at worst two of them work out the same answer."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self._kb = kb
        self._answers: dict[tuple[Grant, ...], _TreeAnswer] = {}
        self._guard = threading.Lock()

    def answer(self, request: Request, who: Admission, _: Mapping[str, Any]) -> Response:
        check_query(request, ())
        found = self._current(who.on_notes)
        headers = {"etag": found.tag, "cache-control": "private, no-cache"}
        asked = request.headers.get("if-none-match", "")
        if found.tag in (one.strip().removeprefix("W/") for one in asked.split(",")):
            return Response(status_code=304, headers=headers)
        return Response(found.body, headers=headers, media_type="application/json")

    def _current(self, who: Principal) -> _TreeAnswer:
        known = self._answers.get(who.grants)
        if known is None or known.stamp != stamp_of(self._kb):
            known = _made(tree_of(self._kb, who))
            with self._guard:
                self._answers[who.grants] = known
                while len(self._answers) > _KEPT_ANSWERS:
                    self._answers.pop(next(iter(self._answers)))
        return known


def _made(moment: TreeMoment) -> _TreeAnswer:
    # Texts put together, and no object for each note: of 50,000 those take four times as long.
    changed, pending = moment.changed, moment.pending
    rows = ",".join(
        [
            f'{{"path":{quoted(leaf.path)},"changed":{changed(leaf)},'
            f'"pending":{pending.get(leaf.note, 0)}}}'
            for leaf in moment.leaves
        ]
    )
    data = f'"notes":[{rows}]'.encode()
    digest = hashlib.blake2b(data, digest_size=16).digest()
    generation = int.from_bytes(digest[:_SAFE_BYTES])
    body = b'{"generation":%d,%s}' % (generation, data)
    return _TreeAnswer(moment.stamp, f'"{digest.hex()}"', body)

"""What somebody decides on suggestions: an action, and the words that go with it.

A reason goes with a rejection. A text goes with the acceptance of one suggestion, and replaces what
it inserts. Both are refused where they do not belong. A caller who states the suggestions they saw
decides on those alone: what was changed meanwhile stays pending. The texts of one suggestion may be
given, or the digests of any number.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from flashgrep import limits
from flashgrep.errors import Conflict, InvalidParams
from flashgrep.notes.access.roles import AuthorKind
from flashgrep.notes.document.text import check_characters, with_lf
from flashgrep.notes.markup import critic
from flashgrep.notes.suggestions.pending import proposal_digest


class Action(StrEnum):
    """What becomes of a suggestion."""

    ACCEPT = "accept"
    REJECT = "reject"


class Outcome(StrEnum):
    """What became of a suggestion, in the words that people and agents read."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    EDITED = "edited"
    """Accepted with another text than the one proposed."""


class ProposalChanged(Conflict):
    """The suggestion is no longer what the person saw."""

    def __init__(self, name: str, old: str, new: str, changed: Collection[str]) -> None:
        """`old` and `new` are what it takes away and brings now; `changed` says so."""
        super().__init__(
            f"{name} has changed since you saw it: {' and '.join(changed)}; look at it again"
        )
        self.now = (old, new)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What somebody decides; refused if its parts do not go together."""

    action: Action
    reason: str | None = None
    """Why, for whoever made the suggestion; only with a rejection."""
    text: str | None = None
    """What replaces the text that the suggestion inserts; only when accepting one."""
    source: AuthorKind = AuthorKind.PERSON
    """What kind of author decides: the text is theirs."""
    seen_old: str | None = None
    """What the suggestion deleted when the person saw it; it is decided only if it still does."""
    seen_new: str | None = None
    """What it inserted then."""
    seen: Mapping[str, str] = field(default_factory=dict)
    """By its id, the digest of each suggestion as the person saw it (see `proposal_digest`)."""

    def __post_init__(self) -> None:
        if self.reason is not None and self.action is not Action.REJECT:
            raise InvalidParams("reason goes with reject; accept takes none")
        if self.text is not None and self.action is not Action.ACCEPT:
            raise InvalidParams("text goes with accept, where it takes the place of the new text")
        for name, value, most in (
            ("reason", self.reason, limits.REASON_CHARS),
            ("text", self.text, limits.ACCEPTED_TEXT_CHARS),
        ):
            if value is not None:
                _check_words(name, value, most)
        if self.text is not None and (found := critic.token(self.text)):
            raise InvalidParams(
                f"text contains {found}, which begins or ends a mark; choose a text without it"
            )

    @property
    def is_for_one(self) -> bool:
        """Whether it says something of one suggestion, which no other can share."""
        return any(one is not None for one in (self.text, self.seen_old, self.seen_new))

    def check_ids(self, ids: Collection[str]) -> None:
        """Refuse what goes with one suggestion for any number of them but one.

        Digests are for all or for none: one that is left out would be decided unseen.
        """
        if self.is_for_one and len(ids) != 1:
            name = "text" if self.text is not None else "expected with old or new"
            raise InvalidParams(f"{name} goes with one id, and {len(ids)} were given")
        if self.seen and (odd := self.seen.keys() ^ set(ids)):
            shown = min(odd)[: limits.QUOTED_CHARS]
            raise InvalidParams(
                f"{shown} is in only one of ids and expected; give a digest for each id"
            )

    def check_seen(self, name: str, old: str, new: str) -> None:
        """Refuse a suggestion that takes away or brings something else than the person saw."""
        if self.seen and self.seen.get(name) != proposal_digest(old, new):
            replaced = f"replaces {_quoted(old)} and " if old else ""
            now = f"it {replaced}brings {_quoted(new)} now"
            raise ProposalChanged(name, old, new, [now])
        changed = [
            f"it {verb} {_quoted(now)} now, not {_quoted(seen)}"
            for verb, seen, now in (
                ("replaces", self.seen_old, old),
                ("brings", self.seen_new, new),
            )
            if seen is not None and seen != now
        ]
        if changed:
            raise ProposalChanged(name, old, new, changed)


def verdict_of(given: Verdict | Action) -> Verdict:
    """A verdict; an action alone is one without words."""
    return Verdict(given) if isinstance(given, Action) else given


def verdict_named(
    name: str,
    reason: str | None = None,
    text: str | None = None,
    source: AuthorKind = AuthorKind.PERSON,
    expected: Mapping[str, Any] | None = None,
) -> Verdict:
    """A verdict as people send it; a reason without a word in it is none.

    `expected` is what suggestions were when the person saw them: `old` and `new` of one, or the
    digest of each by its id.
    """
    try:
        action = Action(name)
    except ValueError:
        raise InvalidParams(f"action is {name[:40]!r}; it must be accept or reject") from None
    said = with_lf(reason or "").strip() or None
    seen = dict(expected or {})
    old, new = seen.pop("old", None), seen.pop("new", None)
    texts = [one for one in (old, new) if one is not None]
    if (texts and seen) or not all(isinstance(one, str) for one in (*texts, *seen.values())):
        raise InvalidParams(
            'expected must be {"old": string, "new": string}, either or both, for one id, or '
            "{ID: digest as listed, ...}"
        )
    return Verdict(
        action, reason=said, text=text, source=source, seen_old=old, seen_new=new, seen=seen
    )


def _quoted(text: str) -> str:
    """A text in a message, shortened at its end."""
    shown = text[: limits.SHORT_DIFF_CHARS]
    return f"{shown!r}{'...' if len(text) > len(shown) else ''}"


def _check_words(name: str, value: str, most: int) -> None:
    if len(value) > most:
        raise InvalidParams(f"{name} has {len(value)} characters; it may have at most {most}")
    try:
        check_characters(value)
    except InvalidParams as error:
        raise InvalidParams(f"{name}: {error.message}") from None

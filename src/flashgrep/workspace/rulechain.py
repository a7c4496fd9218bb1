"""The ignore rules in force somewhere below a root, from the rule files on the way there."""

from __future__ import annotations

import os

from flashgrep.workspace.ignore_rules import IgnoreChain, Rules
from flashgrep.workspace.safe_open import DIRECTORY
from flashgrep.workspace.scope import Scope
from flashgrep.workspace.walk import read_rules

Ruled = tuple[tuple[str, bytes], ...]
"""Directories on the way that hold rule files: path below the root and real path, top first."""


class RuleChains:
    """Makes chains; a rule file is read once."""

    def __init__(self, scope: Scope, top: IgnoreChain) -> None:
        self._scope = scope
        self._top = top
        self._rules: dict[bytes, Rules | None] = {}

    def at(self, shown: str, ruled: Ruled) -> IgnoreChain:
        """The rules in force in a directory, its own not among them."""
        chain = self._top
        if not shown:
            return chain
        places = dict(ruled)
        at = ""
        for name in shown.split("/"):
            real = places.get(at)
            chain = chain.with_rules(self._rules_at(real) if real else None)
            chain = chain.child(os.fsencode(name), None)
            at = f"{at}/{name}" if at else name
        return chain

    def _rules_at(self, real: bytes) -> Rules | None:
        if real not in self._rules:
            try:
                directory = self._scope.open_real(real, DIRECTORY)
            except OSError:
                return None
            try:
                self._rules[real] = read_rules(directory)
            finally:
                os.close(directory)
        return self._rules[real]

"""Which mount a call is about, and where it is answered.

A server has a list of mount points; the first takes every path that belongs to no other. A call is
about one of them, found once from its arguments, before it runs. A mount point opens its mount for
the call and runs the verb, or has another process answer the whole call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from flashgrep.errors import InvalidParams, Unavailable

if TYPE_CHECKING:
    from flashgrep.tools.dispatch.call import Answer, Call
    from flashgrep.tools.dispatch.caller import Caller
    from flashgrep.tools.dispatch.spec import Arguments, BriefSearch, Parameter, ToolSpec

NOTES: Final = "kb://"
"""How paths of notes begin where there are files too."""


@dataclass(frozen=True)
class Asked:
    """A verb as it was called."""

    spec: ToolSpec
    name: str
    """Which of the verb's names was used."""
    arguments: Mapping[str, Any]
    """As they came."""
    values: Arguments
    """As they were read."""

    def run(self, call: Call) -> Answer:
        """Run the verb over the call's mount."""
        return self.spec.handler(call, self.values)


class MountPoint(ABC):
    """One mount of a server."""

    prefix: str = ""
    """How its paths begin."""
    toolset: str = ""
    """The toolset that only this mount has; "" for none."""
    is_shared: bool = False
    """Whether calls about it are answered for other servers."""

    def claims(self, given: str) -> bool:
        """Whether a path, or a pattern, is written as its own are."""
        return bool(self.prefix) and given[: len(self.prefix)].lower() == self.prefix

    def check(self, spec: ToolSpec, given: str) -> None:
        """Refuse one of its paths to a verb that does not work on its documents."""
        if spec.toolset == "index":
            raise InvalidParams(
                f"{spec.name} works on files of the workspace, and {given} is none; "
                "use read, edit, grep or glob"
            )

    def check_glob(self, parameter: str, glob: str) -> None:
        """Refuse its prefix in a glob on names: no name begins so."""
        return

    def admit(self, caller: Caller) -> None:
        """Refuse a caller that has no access."""
        return

    def is_brief(self, sought: BriefSearch, call: Call) -> bool:
        """Whether a search is likely over in a moment, without a look at a disk."""
        return False

    @abstractmethod
    def answer(self, asked: Asked, call: Call) -> Answer:
        """Open the mount for a call and run the verb."""


BEGIN_NOTES: Final = (
    "make one with flashgrep kb init --kb ~/notes, then start flashgrep serve --kb ~/notes"
)
"""What to do where notes are missing; the same words everywhere."""


class NoNotes(MountPoint):
    """Stands in for notes on a server without a knowledge base, and says that there is none."""

    prefix = NOTES

    def check(self, spec: ToolSpec, given: str) -> None:
        raise _not_mounted()

    def answer(self, asked: Asked, call: Call) -> Answer:
        raise _not_mounted()


class Mounts:
    """The mounts of a server."""

    def __init__(self, points: Sequence[MountPoint]) -> None:
        """The first takes whatever no other one claims."""
        self._default, *self._others = points

    def led_to(self, spec: ToolSpec, values: Arguments) -> MountPoint:
        """The mount that a call is about; refused where the verb does not work on it."""
        for parameter in spec.parameters:
            if parameter.on_names:
                self._check_globs(parameter, values.get(parameter.name))
        for point in (self._default, *self._others):
            if point.toolset and point.toolset == spec.toolset:
                return point
        points = [self.check(spec, given) for given in _paths(spec, values)]
        return next((point for point in points if point is not self._default), self._default)

    def check(self, spec: ToolSpec, given: str) -> MountPoint:
        """The mount that a path is written for; refused where the verb does not work on it."""
        for point in self._others:
            if point.claims(given):
                point.check(spec, given)
                return point
        return self._default

    def _check_globs(self, parameter: Parameter, globs: str | list[str] | None) -> None:
        for glob in [globs] if isinstance(globs, str) else globs or ():
            for point in (self._default, *self._others):
                if point.claims(glob.removeprefix("!")):
                    point.check_glob(parameter.label, glob)


def _paths(spec: ToolSpec, values: Arguments) -> list[str]:
    """What was given where a path is wanted; else the pattern that says itself where it looks."""
    named = [row for row in spec.parameters if {"path", "file_path"} & set(row.names)]
    for rows in (named, [row for row in spec.parameters if row.leads]):
        given = [value for row in rows if isinstance(value := values.get(row.name), str)]
        if given:
            return given
    return []


def _not_mounted() -> Unavailable:
    return Unavailable(
        f"{NOTES} paths are notes, and this server has no knowledge base; {BEGIN_NOTES}"
    )

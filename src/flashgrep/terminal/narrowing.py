"""Which files `grep` and `files` look at: -g and -t as ripgrep means them.

    -g '*.py'         a name at any depth
    -g 'src/**/*.c'   a path below the working directory
    -g '!tests'       leaves out that name, and, where it is a directory, all below it

An exclusion wins over every inclusion, wherever it stands (in ripgrep the last one given wins).
Where nothing is relative to the working directory, the one who searches filters; otherwise the
paths are filtered here, once they are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flashgrep.errors import InvalidParams
from flashgrep.workspace.globs import NameFilter, globs_of, name_filter

_HIDDEN = ("!.*", "!**/.*/**")


@dataclass(frozen=True)
class Narrowing:
    """The files that are wanted."""

    globs: tuple[str, ...] = ()
    """As `include` takes a list."""
    types: tuple[str, ...] = ()
    """Globs of file types, any of which must match, and those with `!`, none of which may."""

    @classmethod
    def of(
        cls, globs: Sequence[str], types: Sequence[str], types_not: Sequence[str], hidden: bool
    ) -> Narrowing:
        """From the flags; a bad glob or an unknown type is `InvalidParams`."""
        spelled = [each for text in globs for each in _as_include(text)]
        kept = [glob for name in types for glob in globs_of(name)]
        left_out = [f"!{glob}" for name in types_not for glob in globs_of(name)]
        found = cls((*spelled, *(() if hidden else _HIDDEN)), (*kept, *left_out))
        found.filters()  # refused here, before anything is searched
        return found

    def include(self, root_is_workdir: bool) -> dict[str, Any]:
        """The `include` argument of the grep tool, as far as it can do the work."""
        if not self.globs or not self._is_pushed(root_is_workdir):
            return {}
        return {"include": list(self.globs)}

    def rest(self, root_is_workdir: bool) -> list[NameFilter]:
        """What must still be asked of each path, relative to the working directory."""
        return self.filters(with_globs=not self._is_pushed(root_is_workdir))

    def _is_pushed(self, root_is_workdir: bool) -> bool:
        return root_is_workdir or not any("/" in glob for glob in self.globs)

    def filters(self, with_globs: bool = True) -> list[NameFilter]:
        """Everything that must be asked of a path where nobody has asked anything."""
        lists = (self.globs if with_globs else (), self.types)
        return [name_filter(patterns) for patterns in lists if patterns]


def _as_include(text: str) -> list[str]:
    """A glob of -g in the words of `include`."""
    pattern = text.removeprefix("!")
    if not pattern.strip("/"):
        raise InvalidParams(f"-g {text!r} names nothing")
    anchored = "/" in pattern.rstrip("/")
    body = pattern.strip("/")
    if text.startswith("!"):
        below = f"!{body}/**" if anchored else f"!**/{body}/**"
        return [below] if pattern.endswith("/") else [f"!{body}", below]
    return [f"/{body}" if anchored and pattern.startswith("/") else body]

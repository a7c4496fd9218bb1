"""What stands outside the scope, or is denied, changes no answer: neither its text nor its code."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from flashgrep.errors import FlashgrepError
from flashgrep.workspace.scope import Scope
from tests.workspace.reach import World, read

DENY = ("secret", "**/*.env")
HIDDEN = ("outside/dir", "outside/a.env", "ws/secret", "ws/src/x.env")
"""What may or may not exist, below the top."""

NAMES = ".. .. ws src outside dir secret a.py a.env x.env . out door back winding sub"
component = st.sampled_from((*NAMES.split(), ""))
asked = st.tuples(
    st.sampled_from(["", "", "{top}/", "{top}/ws/", "{top}/outside/", "/"]),
    st.lists(component, min_size=1, max_size=7).map("/".join),
).map("".join)
kinds = st.sampled_from(["directory", "file", "link in", "link out", "loop", "link up"])


def build(top: Path) -> None:
    """A workspace with links of its own that lead outside, and back in through outside."""
    (top / "ws" / "src").mkdir(parents=True)
    (top / "outside").mkdir()
    (top / "ws" / "a.py").write_text("text", encoding="utf-8")
    (top / "ws" / "src" / "a.py").write_text("text", encoding="utf-8")
    (top / "ws" / "out").symlink_to("../outside")
    (top / "ws" / "back").symlink_to("../outside/dir/../../ws/a.py")
    (top / "ws" / "src" / "winding").symlink_to("../secret/../a.py")
    (top / "ws" / "door").symlink_to(top / "outside" / "dir")


def make(top: Path, name: str, kind: str) -> None:
    """One of the things that must not be told of."""
    path = top / name
    if kind == "directory":
        (path / "sub").mkdir(parents=True)
        (path / "a.py").write_text("hidden", encoding="utf-8")
    elif kind == "file":
        path.write_text("hidden", encoding="utf-8")
    else:
        targets = {"link out": top / "outside", "loop": path, "link up": top}
        # A link outside that leads into the scope is followed on purpose: /home may be one.
        inside = top / "ws" if name.startswith("ws") else top / "outside"
        path.symlink_to(targets.get(kind, inside))


@contextmanager
def scope_over(top: Path, allow: bool) -> Iterator[Scope]:
    made = Scope(str(top / "ws"), [str(top / "ws")] if allow else [], DENY)
    try:
        yield made
    finally:
        made.close()


def answer(scope: Scope, path: str) -> str:
    try:
        return read(scope, path)
    except FlashgrepError as error:
        return f"{error.code}: {error.message}"


def leads_in(top: Path, path: str) -> bool:
    """Whether a path comes back into the scope by links alone, which are followed on purpose."""
    scope = str(top / "ws")
    at = "/" if path.startswith("/") else scope
    for part in path.split("/"):
        if part == ".." and not is_below(at, scope):
            return False
        at = os.path.realpath(os.path.join(at, part))
    return is_below(at, scope)


def is_below(path: str, scope: str) -> bool:
    return path == scope or path.startswith(scope + "/")


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("allow", [True, False], ids=["allowed and denied", "denied alone"])
@settings(max_examples=60, deadline=None)
@given(path=asked, kind=kinds, hidden=st.sampled_from(HIDDEN))
@example(path="{top}/outside/dir/../../ws/a.py", kind="directory", hidden="outside/dir")
@example(path="{top}/outside/dir/../x", kind="directory", hidden="outside/dir")
@example(path="{top}/outside/dir/sub/../../../ws/a.py", kind="directory", hidden="outside/dir")
@example(path="out/dir/../../ws/a.py", kind="directory", hidden="outside/dir")
@example(path="door/../../ws/a.py", kind="directory", hidden="outside/dir")
@example(path="back", kind="directory", hidden="outside/dir")
@example(path="door", kind="loop", hidden="outside/dir")
@example(path="{top}/outside/dir/../ws/a.py", kind="link up", hidden="outside/dir")
@example(path="{top}/outside/a.env", kind="link out", hidden="outside/a.env")
@example(path="secret/../a.py", kind="directory", hidden="ws/secret")
@example(path="secret/sub/../../a.py", kind="directory", hidden="ws/secret")
@example(path="secret/a.py", kind="link in", hidden="ws/secret")
@example(path="src/winding", kind="directory", hidden="ws/secret")
@example(path="src/x.env/../a.py", kind="directory", hidden="ws/src/x.env")
def test_no_path_tells_whether_a_hidden_thing_exists(
    allow: bool, path: str, kind: str, hidden: str
) -> None:
    if not allow and hidden.startswith("outside/dir"):
        hidden = "ws/secret"  # without --allow-dir nothing is outside
    with tempfile.TemporaryDirectory() as directory:
        top = Path(os.path.realpath(directory))
        build(top)
        with scope_over(top, allow) as scope:
            named = path.format(top=top)
            without = answer(scope, named)
            make(top, hidden, kind)
            if hidden.startswith("outside"):
                assume(not leads_in(top, named))
            assert answer(scope, named) == without


def test_dots_outside_are_refused_without_a_look_at_the_disk(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    scope = world.scope()
    looked: list[object] = []
    for name in ("open", "readlink", "stat", "lstat"):
        monkeypatch.setattr(os, name, counted(looked, getattr(os, name)))
    told = answer(scope, f"{world.outside}/dir/../../ws/a.py")
    assert told.startswith("access_denied: Access denied: ")
    assert "is outside the allowed directories. Allowed: " in told
    assert looked == []


def counted(looked: list[object], call: Callable[..., object]) -> Callable[..., object]:
    def counting(*arguments: object, **options: object) -> object:
        looked.append(arguments)
        return call(*arguments, **options)

    return counting


def test_dots_that_stay_among_what_is_known_work_on(world: World) -> None:
    world.file(world.ws / "a.py")
    scope = world.scope()
    above = f"{world.ws}/../../{world.top.name}/ws/src/../a.py"
    for path in ("../ws/a.py", "src/deep/../../../ws/a.py", above):
        assert read(scope, path) == "text"


def test_dots_work_on_below_a_workspace_that_is_named_by_a_link(world: World) -> None:
    world.file(world.ws / "a.py")
    named = world.top / "name"
    named.symlink_to(world.ws)
    scope = Scope(str(named), [str(named)])
    try:
        assert read(scope, f"{named}/src/../a.py") == "text"
        assert read(scope, f"{named}/a.py") == "text"
    finally:
        scope.close()


def test_a_hidden_directory_can_be_removed_and_made_again(world: World) -> None:
    """The whole of a session: nothing is remembered that would tell."""
    world.file(world.ws / "a.py")
    scope = world.scope()
    path = f"{world.outside}/dir/../../ws/a.py"
    told = set()
    for _ in range(2):
        (world.outside / "dir").mkdir()
        told.add(answer(scope, path))
        shutil.rmtree(world.outside / "dir")
        told.add(answer(scope, path))
    assert len(told) == 1

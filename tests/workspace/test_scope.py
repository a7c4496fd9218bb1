"""What may be reached: allowed, denied, our own directories, links, and odd arguments."""

from __future__ import annotations

import os

import pytest

from flashgrep.errors import AccessDenied, FlashgrepError, InvalidParams, SettingsError
from flashgrep.workspace.scope import Scope, is_within
from tests.workspace.reach import World, code, read

pytestmark = pytest.mark.usefixtures("way")

# ── allow ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path",
    ["a.txt", "./a.txt", "src/../a.txt", "src/deep/../../a.txt", "{ws}/a.txt", "{ws}//a.txt"],
)
def test_a_file_inside_is_read_however_it_is_named(world: World, path: str) -> None:
    world.file(world.ws / "a.txt")
    assert read(world.scope(), path.format(ws=world.ws)) == "text"


@pytest.mark.parametrize(
    "path",
    ["..", "../outside/s", "src/../../outside/s", "{top}/ws-evil/s", "../ws-evil/s", "/", "/etc"],
)
def test_a_path_outside_is_denied_whether_it_exists_or_not(world: World, path: str) -> None:
    scope = world.scope()
    assert code(scope, path.format(top=world.top)) == "access_denied"
    world.file(world.outside / "s")
    world.file(world.evil / "s")
    assert code(scope, path.format(top=world.top)) == "access_denied"


def test_the_refusal_names_the_path_and_what_is_allowed(world: World) -> None:
    with pytest.raises(AccessDenied) as caught:
        world.scope().place("../outside/s")
    assert "../outside/s" in caught.value.message
    assert str(world.ws) in caught.value.message


def test_inside_a_scope_a_broken_path_tells_nothing_of_outside(world: World) -> None:
    world.link("loop", world.outside / "loop")
    (world.outside / "loop").symlink_to("loop")
    world.file(world.outside / "file")
    scope = world.scope()
    told = {code(scope, path) for path in ("loop", "../outside/file/../x", "../outside/no/../x")}
    assert told == {"access_denied"}


def test_a_refusal_says_whether_it_is_our_own_directory(world: World) -> None:
    scope = world.scope("secret")
    with pytest.raises(AccessDenied, match=r"^Access denied: \.flashgrep is kept by flashgrep"):
        scope.place(".flashgrep")
    with pytest.raises(AccessDenied, match="secret matches a pattern of --deny-dir"):
        scope.place("secret")


def test_several_directories_may_be_allowed(world: World) -> None:
    world.file(world.outside / "s", "elsewhere")
    scope = world.scope(allow=(world.ws / "src", world.outside))
    assert read(scope, str(world.outside / "s")) == "elsewhere"
    assert code(scope, str(world.ws / "a.txt")) == "access_denied"


def test_without_allowed_directories_everything_is_reachable(world: World) -> None:
    world.file(world.outside / "s", "elsewhere")
    assert read(world.scope(allow=()), "../outside/s") == "elsewhere"


def test_an_allowed_directory_is_meant_by_its_real_path(world: World) -> None:
    world.file(world.outside / "s", "through")
    (world.top / "door").symlink_to(world.outside)
    scope = world.scope(allow=(world.top / "door",))
    assert read(scope, str(world.outside / "s")) == "through"
    assert read(scope, str(world.top / "door" / "s")) == "through"


def test_an_allowed_directory_must_exist(world: World) -> None:
    for wrong in (world.top / "nowhere", world.file(world.top / "file")):
        with pytest.raises(SettingsError, match="--allow-dir"):
            Scope(str(world.ws), [str(wrong)])


def test_within_is_by_component() -> None:
    assert is_within(b"/ws", b"/ws")
    assert is_within(b"/ws/a", b"/ws")
    assert is_within(b"/anything", b"/")
    assert not is_within(b"/ws-evil/a", b"/ws")
    assert not is_within(b"/w", b"/ws")


# ── deny ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("glob", "path", "denied"),
    [
        ("**/secret", "secret", True),
        ("**/secret", "src/secret", True),
        ("**/secret", "secret/a/b", True),  # an ancestor matches
        ("**/secret", "secrets", False),
        ("**/*.key", "src/my.key", True),
        ("**/*.key", "src/my.keys", False),
        ("src/deep", "src/deep/x", True),  # relative to the working directory
        ("src/deep", "other/src/deep/x", False),
        ("{ws}/src", "src/deep/x", True),
        ("{ws}/src/*", "src/deep/x", True),
        ("{ws}/src/*.txt", "src/deep/x", False),
        ("**", "anything", True),
    ],
)
def test_deny_is_tested_on_the_path_and_every_ancestor(
    world: World, glob: str, path: str, denied: bool
) -> None:
    world.file(world.ws / path)
    scope = world.scope(glob.format(ws=world.ws))
    assert code(scope, path) == ("access_denied" if denied else "read")


@pytest.mark.parametrize(
    "path", ["door/x", "src/deep/../../vault/x", "door-file", "vault/x", "vault", "vault/new/file"]
)
def test_deny_is_tested_on_where_a_path_leads(world: World, path: str) -> None:
    world.file(world.ws / "vault" / "x")
    world.link("door", "vault")
    world.link("door-file", "vault/x")
    assert code(world.scope("**/vault"), path) == "access_denied"


def test_deny_wins_over_allow(world: World) -> None:
    world.file(world.ws / "src" / "x")
    scope = world.scope("**/src", allow=(world.ws, world.ws / "src"))
    assert code(scope, "src/x") == "access_denied"


def test_deny_counts_without_allowed_directories(world: World) -> None:
    world.file(world.outside / "x")
    assert code(world.scope("**/outside", allow=()), "../outside/x") == "access_denied"


def test_no_escape_spells_a_denied_name(world: World) -> None:
    """The kernel ends a name at a NUL: `secret\\x00` would open what `secret` denies."""
    world.file(world.ws / "secret")
    scope = world.scope("**/secret")
    for path in ("secret\\x00", "secret\\x00.txt", "src\\x00/../secret", "secret/."):
        with pytest.raises(FlashgrepError):
            read(scope, path)


def test_a_bad_deny_glob_is_a_start_up_error(world: World) -> None:
    with pytest.raises(SettingsError, match="--deny-dir"):
        world.scope("src/[")


# ── our own ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("allow", [True, False], ids=["scoped", "unscoped"])
@pytest.mark.parametrize(
    "path", [".flashgrep", ".flashgrep/mcp.sock", "src/.flashgrep/x", "state", "state/token"]
)
def test_our_own_directories_are_denied_wherever_they_stand(
    world: World, allow: bool, path: str
) -> None:
    world.file(world.ws / ".flashgrep" / "mcp.sock")
    world.file(world.ws / "src" / ".flashgrep" / "x")
    world.file(world.state / "token")
    scope = world.scope(allow=(world.ws,) if allow else ())
    assert code(scope, path) == "access_denied"


def test_our_own_directories_are_denied_through_links(world: World) -> None:
    world.file(world.state / "token")
    world.link("door", "state")
    assert code(world.scope(), "door/token") == "access_denied"


def test_a_name_that_only_begins_like_ours_is_free(world: World) -> None:
    world.file(world.ws / ".flashgreprc")
    world.file(world.ws / "state-of-things")
    scope = world.scope()
    assert read(scope, ".flashgreprc") == "text"
    assert read(scope, "state-of-things") == "text"


# ── links ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("a.txt", "read"),
        ("src/../a.txt", "read"),
        ("{ws}/a.txt", "read"),
        ("../ws/a.txt", "read"),  # out and in again is in
        ("../outside/s", "access_denied"),
        ("{top}/outside/s", "access_denied"),
        ("../ws-evil/s", "access_denied"),
        ("/proc/self/root{top}/outside/s", "access_denied"),
        ("missing", "not_found"),
        ("../outside/missing", "access_denied"),
        ("link", "access_denied"),  # itself
    ],
)
def test_a_link_is_judged_by_where_it_leads(world: World, target: str, expected: str) -> None:
    for file in (world.ws / "a.txt", world.outside / "s", world.evil / "s"):
        world.file(file)
    world.link("link", target.format(ws=world.ws, top=world.top))
    assert code(world.scope(), "link") == expected


def test_a_name_that_is_not_utf8_is_reached_as_it_is_shown(world: World) -> None:
    (world.ws / os.fsdecode(b"na\xefve\n.txt")).write_text("odd", encoding="utf-8")
    assert read(world.scope(), "na\\xefve\\n.txt") == "odd"


def test_a_backslash_name_is_reached_escaped_or_as_it_is_typed(world: World) -> None:
    world.file(world.ws / "dir\\name", "odd")
    scope = world.scope()
    assert read(scope, "dir\\\\name") == "odd"
    assert read(scope, "dir\\name") == "odd"


# ── arguments ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("path", ["", "a\0b", "a\nb", "\x1b[2J", "x" * 40_000, "a\\x00b"])
def test_a_path_no_file_can_have_is_refused_before_any_look(world: World, path: str) -> None:
    with pytest.raises(InvalidParams, match="path"):
        world.scope().place(path)


def test_a_name_too_long_for_the_file_system_has_acode(world: World) -> None:
    scope = world.scope()
    with pytest.raises(InvalidParams, match="too long"):
        scope.open_parent(scope.place("x" * 300 + "/y"), create=True)
    with pytest.raises(FlashgrepError):
        read(scope, "x" * 300)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.txt/", "not_found"),
        ("a.txt/.", "not_found"),
        ("link/", "not_found"),
        ("a.txt/x", "not_found"),
        ("a.txt/../a.txt", "access_denied"),
        ("src/", "invalid_params"),  # a directory, where a file is wanted
        ("src", "invalid_params"),
        (".", "invalid_params"),
        ("missing/", "not_found"),
    ],
)
def test_a_trailing_slash_means_a_directory(world: World, path: str, expected: str) -> None:
    world.file(world.ws / "a.txt")
    world.link("link", "a.txt")
    assert code(world.scope(), path) == expected

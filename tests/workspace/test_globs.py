"""Globs: the dialect by table, and against a definition that really expands the braces."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.workspace import globs
from flashgrep.workspace.globs import DenyRules, NameFilter, compile_glob

HEAVY = bool(os.environ.get("FLASHGREP_HEAVY"))
pytestmark = pytest.mark.timeout(1_800 if HEAVY else 600)

MATCHES = [
    # pattern            path                 matches
    ("*.py", "a.py", True),
    ("*.py", "a.pyc", False),
    ("*.py", "src/a.py", False),
    ("*.py", ".py", True),
    ("?.c", "é.c", True),
    ("?.c", "ab.c", False),
    ("a?c", "a/c", False),
    ("*.{ts,tsx}", "app.tsx", True),
    ("*.{ts,tsx}", "app.js", False),
    ("{a,b{c,d}}.x", "bd.x", True),
    ("{a,b{c,d}}.x", "b.x", False),
    ("{,x}y", "y", True),
    ("a,b", "a,b", True),
    ("a}", "a}", True),
    ("a/**/b", "a/b", True),
    ("a/**/b", "a/x/y/b", True),
    ("a/**/b", "axb", False),
    ("a/**/**/b", "a/b", True),
    ("**/x", "x", True),
    ("**/x", "a/b/x", True),
    ("**/x", "ax", False),
    ("x/**", "x/a/b", True),
    ("x/**", "x", True),
    ("x/**", "xy", False),
    ("x/", "x/a/b", True),
    ("**", "a/b", True),
    ("a**", "ab", True),
    ("a**", "a/b", False),
    ("a/**b", "a/xb", True),
    ("a/**b", "a/x/b", False),
    ("{a,**}/b", "b", True),
    ("{a,**}/b", "x/y/b", True),
    ("a/{**,b}", "a/x/y", True),
    ("a/{**,b}", "a", True),
    ("{a,b**}/{**,c}", "a", True),
    ("{a,c/d}/{**,b}/x", "c/d/y/z/x", True),
    ("{a/,c}/b", "a/b", True),
    ("{src,test}/**/*.py", "test/x.py", True),
    ("{src/**,lib}/*.py", "src/a/b/x.py", True),
    ("**{/a,b}", "x/y/a", True),
    ("**{/a,b}", "xb", True),
    ("**{/a,b}", "x/b", False),
    ("{a,b/}**", "b/x/y", True),
    ("{a,b/}**", "a/x", False),
    ("[a-c].x", "b.x", True),
    ("[!a-c].x", "b.x", False),
    ("[^a-c].x", "d.x", True),
    ("[!a]", "/", False),
    ("a[+-9]b", "a/b", False),
    ("a[+-9]b", "a1b", True),
    ("[]]", "]", True),
    ("[a-]", "-", True),
    ("[\\]x]", "]", True),
    ("[/]", "/", False),
    ("\\*.py", "*.py", True),
    ("\\*.py", "a.py", False),
    ("\\{a,b\\}", "{a,b}", True),
    ("/a.py", "a.py", True),
    ("./a.py", "a.py", True),
    ("a//./b", "a/b", True),
    ("a\nb", "a\nb", True),
    ("**/b", "a\n/b", True),
    ("*.txt", "caf\udce9.txt", True),
    ("caf?.txt", "caf\udce9.txt", True),
    ("caf?.txt", "caf\udce9\udce8.txt", False),
    ("caf\udce9.txt", "caf\udce9.txt", True),
    ("caf\udce9.txt", "caf\udce8.txt", False),
    ("[!a]", "\udcff", True),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), MATCHES)
def test_a_glob_matches_whole_paths(pattern: str, path: str, expected: bool) -> None:
    assert compile_glob(pattern).matches(path) is expected


@pytest.mark.parametrize(
    ("pattern", "path"), [("*.PY", "a.py"), ("src/[A-C]", "SRC/b"), ("É*", "école")]
)
def test_case_is_compared_unless_told_otherwise(pattern: str, path: str) -> None:
    assert not compile_glob(pattern).matches(path)
    assert compile_glob(pattern, case_sensitive=False).matches(path)


MALFORMED = [
    ("", "is empty"),
    ("a[b", "an unclosed [ at character 2"),
    ("[]", "an unclosed [ at character 1"),
    ("[a\\", "a trailing \\ at character 3"),
    ("x{a,b", "an unclosed { at character 2"),
    ("x{a,{b}", "an unclosed { at character 2"),
    ("abc\\", "a trailing \\ at character 4"),
    ("[z-a]", "a range that runs backwards at character 1"),
    ("../x", "'..' component"),
    ("./", "names no entry"),
    ("a" * (limits.GLOB_CHARS + 1), "the limit is 4,096"),
    ("{" * 40 + "}" * 40, "nested too deep at character 33"),
]


@pytest.mark.parametrize(("pattern", "complaint"), MALFORMED)
def test_a_malformed_glob_is_refused_with_its_place(pattern: str, complaint: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        compile_glob(pattern)
    assert complaint in caught.value.message
    assert repr(pattern)[:50] in caught.value.message
    assert ": " in caught.value.message


def test_nested_braces_do_not_explode() -> None:
    pattern = "{a,b}" * 300 + "{c,{d,{e,f}}}" * 100
    glob = compile_glob(pattern)
    assert glob.matches("ab" * 150 + "f" * 100)
    assert not glob.matches("ab" * 150 + "f" * 99)


# pattern, has_slash, fixed_prefix, max_depth, names_hidden, extensions
FACTS: list[tuple[str, bool, tuple[str, ...], int | None, bool, set[str] | None]] = [
    ("*.py", False, (), 1, False, {"py"}),
    ("*.{ts,tsx}", False, (), 1, False, {"ts", "tsx"}),
    ("*.d.ts", False, (), 1, False, {"ts"}),
    ("*.{test,spec}.{js,ts}", False, (), 1, False, {"js", "ts"}),
    ("*{.py,.pyi}", False, (), 1, False, {"py", "pyi"}),
    ("{*.py,Makefile}", False, (), 1, False, None),
    ("*.[ch]", False, (), 1, False, None),
    ("*.p?", False, (), 1, False, None),
    ("Makefile", False, (), 1, False, None),
    ("*", False, (), 1, False, None),
    ("src/app/*.py", True, ("src", "app"), 3, False, {"py"}),
    ("src/app/main.py", True, ("src", "app"), 3, False, {"py"}),
    ("src/**/*.py", True, ("src",), None, False, {"py"}),
    ("src/**", True, ("src",), None, False, None),
    ("src/", True, ("src",), None, False, None),
    ("/top.md", True, (), 1, False, {"md"}),
    ("a.b/c", True, ("a.b",), 2, False, None),
    ("a**/b", True, (), 2, False, None),
    ("{a,b/c}/d", True, (), 3, False, None),
    ("s{r,x}c/a/b", True, (), 3, False, None),
    (".github/*.yml", True, (".github",), 2, True, {"yml"}),
    (".*", False, (), 1, True, None),
    ("**/.env", True, (), None, True, {"env"}),
    ("{.a,.b}/x", True, (), 2, True, None),
    ("{.a,b}/x", True, (), 2, False, None),
    ("a.b", False, (), 1, False, {"b"}),
]


@pytest.mark.parametrize("row", FACTS, ids=[row[0] for row in FACTS])
def test_what_a_glob_tells_before_the_walk(
    row: tuple[str, bool, tuple[str, ...], int | None, bool, set[str] | None],
) -> None:
    glob = compile_glob(row[0])
    extensions = None if glob.extensions is None else set(glob.extensions)
    told = glob.has_slash, glob.fixed_prefix, glob.max_depth, glob.names_hidden, extensions
    assert told == row[1:]


def test_extensions_fold_with_the_case() -> None:
    assert compile_glob("*.PY", case_sensitive=False).extensions == frozenset({"py"})


FILTERED: list[tuple[str | list[str], str, bool]] = [
    ("*.py", "deep/down/a.py", True),
    ("*.py", "a.js", False),
    ("!a.py", "!a.py", True),
    ("!a.py", "b.py", False),
    ("src/*.py", "src/a.py", True),
    ("src/*.py", "x/src/a.py", False),
    ("/*.py", "a.py", True),
    ("/*.py", "src/a.py", False),
    ("./a.py", "src/a.py", False),
    ("**/x/*.py", "a/x/b.py", True),
    (["*.py", "*.js"], "a/b.js", True),
    (["*.py", "!test_*"], "a/test_b.py", False),
    (["*.py", "!test_*"], "a/b.py", True),
    (["!*.md"], "a/b.py", True),
    (["!*.md"], "a/b.md", False),
    (["!src/gen/**", "*.c"], "src/gen/x/a.c", False),
    (["!src/gen/**", "*.c"], "gen/a.c", True),
    (["\\!x"], "a/!x", True),
    ([], "anything", True),
    (["*.c"], "a/\udce9.c", True),
]


@pytest.mark.parametrize(("patterns", "path", "kept"), FILTERED)
def test_an_include_keeps_by_name_or_by_path(
    patterns: str | list[str], path: str, kept: bool
) -> None:
    names = NameFilter(patterns)
    assert names.keeps(path) is kept


def test_a_bad_pattern_in_a_list_is_named() -> None:
    with pytest.raises(InvalidParams, match=re.escape("The glob '*.{c' has an unclosed {")):
        NameFilter(["*.py", "!*.{c"])


def test_a_list_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidParams, match="the limit is 1,000"):
        NameFilter(["*.py"] * 1_001)


DENIED = [
    # glob              path                          denied, with /home/me as workdir
    ("**/.env", b"/home/me/.env", True),
    ("**/.env", b"/x/.env/deep/file", True),
    ("**/.env", b"/home/me/.envrc", False),
    ("/etc", b"/etc/passwd", True),
    ("/etc", b"/etc", True),
    ("/etc/", b"/etc/passwd", True),
    ("/etc", b"/etcetera", False),
    ("/etc/**", b"/etc/ssl/key", True),
    ("/e*c/p*", b"/etc/passwd", True),
    ("/e*/key", b"/etc/ssl/key", False),
    ("secret", b"/home/me/secret/a", True),
    ("secret", b"/home/secret", False),
    ("./secret", b"/home/me/secret", True),
    ("../you/x", b"/home/you/x/a", True),
    ("*.pem", b"/home/me/a.pem", True),
    ("*.pem", b"/home/me/keys/a.pem", False),
    ("**", b"/home/me/a", True),
    ("**", b"/home/you/a", False),
    ("/", b"/anything", True),
    ("/", b"/", True),
    ("/**", b"/anything/else", True),
    ("/home/{me,you}/x", b"/home/you/x/y", True),
    ("**/caf?", b"/a/caf\xe9/b", True),
    ("**/caf?", b"/a/caf\xc3\xa9/b", True),
    ("**/b", b"/a\xff/b", True),
]


@pytest.mark.parametrize(("glob", "path", "denied"), DENIED)
def test_deny_covers_the_match_and_everything_below(glob: str, path: bytes, denied: bool) -> None:
    assert DenyRules([glob], b"/home/me").denies(path) is denied


def test_deny_rules_add_up() -> None:
    rules = DenyRules(["/etc", "**/.ssh"], b"/home/me")
    assert [rules.denies(p) for p in (b"/etc/x", b"/home/me/.ssh/id", b"/home/me")] == [
        True,
        True,
        False,
    ]
    assert not DenyRules([], b"/").denies(b"/etc")


def test_a_working_directory_with_wildcards_in_its_name_is_taken_literally() -> None:
    rules = DenyRules(["x"], b"/w[ab]{c}*")
    assert rules.denies(b"/w[ab]{c}*/x")
    assert not rules.denies(b"/wa{c}z/x")


def test_a_denied_link_denies_what_it_points_to(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    rules = DenyRules([f"{tmp_path}/link/*.key"], os.fsencode(tmp_path))
    assert rules.denies(os.fsencode(os.path.realpath(real / "a.key")))
    assert not rules.denies(os.fsencode(os.path.realpath(real / "a.txt")))


@pytest.mark.parametrize("glob", ["{/etc,/var}/x", "{**/a,b}", "*/../x", "[", ""])
def test_a_deny_glob_that_would_deny_nothing_is_refused(glob: str) -> None:
    with pytest.raises(InvalidParams):
        DenyRules([glob], b"/home/me")


# ── the slow definition ─────────────────────────────────────────────────────────────────────────


DOUBLE = "\u2042"  # one character for a written `**`: stars that meet across braces are not one


def expanded(pattern: str) -> Iterator[str]:
    """Every pattern the braces stand for, the innermost first."""
    innermost = re.search(r"\{([^{}]*)\}", pattern)
    if innermost is None:
        yield pattern
        return
    for way in innermost[1].split(","):
        yield from expanded(pattern[: innermost.start()] + way + pattern[innermost.end() :])


def components_match(pattern: list[str], path: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == DOUBLE:
        return any(components_match(pattern[1:], path[at:]) for at in range(len(path) + 1))
    if not path or not text_matches(pattern[0], path[0]):
        return False
    return components_match(pattern[1:], path[1:])


def text_matches(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] in ("*", DOUBLE):
        return any(text_matches(pattern[1:], text[at:]) for at in range(len(text) + 1))
    return bool(text) and pattern[0] in ("?", text[0]) and text_matches(pattern[1:], text[1:])


PARTS = ["a", "b", "a", ".a", "*", "**", "?", "/", "/", "**/", "/**/", "{", "{", ",", ",", "}"]


def balanced(parts: list[str]) -> str:
    """A pattern of these parts, with braces that close and none that touch."""
    text, depth = "", 0
    for part in parts:
        if part == "{" and text.endswith("}"):
            text += "b"
        if depth or part not in (",", "}"):
            text += part
            depth += (part == "{") - (part == "}")
    return text + "}" * depth


PATTERNS = st.lists(st.sampled_from(PARTS), min_size=1, max_size=14).map(balanced).filter(bool)
NAMES = ["a", "b", "ab", ".a"]
PATHS = ["/".join(parts) for depth in (1, 2, 3) for parts in product(NAMES, repeat=depth)]


@settings(
    max_examples=10_000 if HEAVY else 150,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(PATTERNS)
def test_a_glob_equals_its_expansions(pattern: str) -> None:
    ways = list(expanded(re.sub(r"\*\*+", DOUBLE, pattern)))
    # An empty alternative beside `**`, and empty components, are corners of their own.
    assume(len(ways) < 200 and not re.search(r"[{,][,}]|[}][},]*[{]", pattern))
    assume(not any(way.startswith("/") or way.endswith("/") or "//" in way for way in ways))
    glob = compile_glob(pattern)
    for path in PATHS:
        wanted = any(components_match(way.split("/"), path.split("/")) for way in ways)
        assert glob.matches(path) is wanted, path


# ── what a list may cost ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("mark", ["", "!"])
def test_a_list_that_is_too_long_is_refused_before_anything_is_compiled(
    mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []
    monkeypatch.setattr(globs, "compile_glob", compiled.append)
    with pytest.raises(InvalidParams, match=r"4,000,000 characters .* limit is 20,000"):
        NameFilter([mark + "{a,b}" * 800] * 1_000)
    assert compiled == []


def test_the_longest_glob_and_the_longest_list_are_accepted() -> None:
    assert NameFilter("{a,b}" * 800).keeps("a" * 800)
    assert NameFilter(["{a,b}" * 800] * 5).keeps("b" * 800)
    assert NameFilter(["*.py"] * 1_000).keeps("d/x.py")

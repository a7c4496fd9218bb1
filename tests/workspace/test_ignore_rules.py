"""Ignore rules: a table to read, git itself as the judge, and the line-by-line definition."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from flashgrep.workspace.ignore_rules import IgnoreChain, Rules, decide_line_by_line, parse_rules

HEAVY = bool(os.environ.get("FLASHGREP_HEAVY"))
pytestmark = pytest.mark.timeout(1_800 if HEAVY else 600)

# rule file, path (a directory's ends in a slash), what the rules say about it
TABLE: list[tuple[bytes, bytes, bool | None]] = [
    (b"*.log", b"a/b.log", True),
    (b"*.log", b"a/b.logs", None),
    (b"dist/", b"dist/", True),
    (b"dist/", b"dist", None),
    (b"dist/", b"a/dist/", True),
    (b"/dist", b"dist", True),
    (b"/dist", b"a/dist", None),
    (b"a/b", b"a/b", True),
    (b"a/b", b"x/a/b", None),
    (b"*.log\n!keep.log", b"keep.log", False),
    (b"!keep.log\n*.log", b"keep.log", True),
    (b"# a comment", b"# a comment", None),
    (b"\\#x", b"#x", True),
    (b"\\!x", b"!x", True),
    (b"a  ", b"a", True),
    (b"a\\  ", b"a ", True),
    (b"a\\\\  ", b"a\\", True),
    (b"a\t", b"a", None),
    (b"a\r\nb\r\n", b"a", True),
    (b"a\r\r\n", b"a\r", True),
    (b"a\r", b"a", True),
    (b"\xef\xbb\xbfa", b"a", True),
    (b"a\0b", b"a", True),
    (b"a\n\n\nb", b"b", True),
    (b"**/x", b"x", True),
    (b"**/x", b"a/b/x", True),
    (b"x/**", b"x/a/b", True),
    (b"x/**", b"x/", None),
    (b"a/**/b", b"a/b", True),
    (b"a/**/b", b"a/x/y/b", True),
    (b"a/***/b", b"a/x/y/b", True),
    (b"a**/b", b"ax/y/b", True),
    (b"a/x**/b", b"a/x/y/b", True),
    (b"a/?**/b", b"a/xy/b", True),
    (b"a/?**/b", b"a/xy/z/b", None),
    (b"a/**\\/b", b"a/x/b", True),
    (b"a/*/b", b"a/x/b", True),
    (b"a/*/b", b"a/x/y/b", None),
    (b"a?b", b"a/b", None),
    (b"[a-c]", b"b", True),
    (b"[!a-c]", b"b", None),
    (b"[^a-c]", b"d", True),
    (b"[]-]", b"]", True),
    (b"[a\\]]", b"]", True),
    (b"[[:alpha:]_]", b"_", True),
    (b"[[:alpha:]]", b"1", None),
    (b"[[:digit:]-z]", b"-", True),
    (b"[[:nonsense:]]", b"n", None),
    (b"[[:a]", b":", True),
    (b"a[/]b", b"a/b", None),
    (b"/a[!x]b", b"a/b", None),
    (b"caf?", b"caf\xe9", True),
    (b"caf?", b"caf\xc3\xa9", None),
    (b"a\\", b"a\\", None),
    (b"a[b\n*.c", b"a[b", None),
    (b"a[b\n*.c", b"x.c", True),
    (b"/", b"a", None),
    (b"!", b"!", None),
    (b"//a", b"a", None),
    (b"\\a\\*", b"a*", True),
    (b"a\nb", b"a\nb", None),
    (b"*", b"a\nb", True),
]


@pytest.mark.parametrize(("data", "path", "verdict"), TABLE)
def test_a_rule_file_decides_as_the_table_says(
    data: bytes, path: bytes, verdict: bool | None
) -> None:
    rules, relative, directory = parse_rules(data), path.rstrip(b"/"), path.endswith(b"/")
    assert rules.decide(relative, directory) is verdict
    assert decide_line_by_line(rules, relative, directory) is verdict


# ── git as the judge ────────────────────────────────────────────────────────────────────────────

Tree = dict[bytes, "Tree | None"]
"""Entries of a directory: a tree for a directory, None for a file."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("judged")
    subprocess.run(["git", "init", "-q", top], check=True)
    return top


def judged_by_git(top: Path, paths: list[bytes]) -> dict[bytes, tuple[bytes, int] | None]:
    """What `git check-ignore` answers: the rule file and the line, or None, for each path.

    `./` before each path, or names that begin with a colon would be pathspec magic.
    """
    isolated = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-c", "core.excludesFile=/dev/null", "check-ignore"]
    done = subprocess.run(
        [*command, "--no-index", "--stdin", "-z", "-v", "-n"],
        input=b"".join(b"./" + path + b"\0" for path in paths),
        capture_output=True,
        cwd=top,
        env={**os.environ, **isolated},
    )
    assert done.returncode in (0, 1), done.stderr
    fields = done.stdout.split(b"\0")[:-1]
    answers: dict[bytes, tuple[bytes, int] | None] = {}
    for at in range(0, len(fields), 4):
        source, line, _, path = fields[at : at + 4]
        answers[path.removeprefix(b"./")] = (source, int(line)) if source else None
    return answers


def judged_by_us(tree: Tree, files: dict[bytes, bytes]) -> dict[bytes, bool]:
    """Walk as a search does, and tell for each path whether it is ignored."""
    answers: dict[bytes, bool] = {}

    def walk(entries: Tree, path: bytes, chain: IgnoreChain, lost: bool) -> None:
        names = sorted(entries)
        kept = chain.keeps(
            [os.fsdecode(n) for n in names], lambda at: entries[names[at]] is not None
        )
        for name, keep in zip(names, kept, strict=True):
            answers[path + name] = lost or not keep
            below = entries[name]
            if below is not None:
                inner = path + name + b"/"
                own = parse_rules(files[inner]) if inner in files else None
                walk(below, inner, chain.child(name).with_rules(own), lost or not keep)

    walk(tree, b"", IgnoreChain().with_rules(parse_rules(files.get(b"", b""))), False)
    return answers


def planted(top: Path, tree: Tree, files: dict[bytes, bytes]) -> None:
    for entry in top.iterdir():
        if entry.name != ".git":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    _plant(os.fsencode(top) + b"/", tree)
    for directory, data in files.items():
        with open(os.fsencode(top) + b"/" + directory + b".gitignore", "wb") as file:
            file.write(data)


def _plant(path: bytes, tree: Tree) -> None:
    for name, below in tree.items():
        if below is None:
            with open(path + name, "wb"):
                pass
        else:
            os.mkdir(path + name)
            _plant(path + name + b"/", below)


NAMES = st.sampled_from(
    [b"a", b"b", b"ab", b"ba", b"aab", b".a", b"A", b"a b", b"x.c", b"-", b"]"]
) | (
    st.binary(min_size=1, max_size=3).filter(
        lambda name: not {0, ord("/")} & set(name) and name not in (b".", b"..")
    )
)
ATOMS = [b"a", b"b", b"ab", b"a", b"x", b".c", b"A", b"\xc3\xa9", b" ", b"*", b"*", b"**", b"?"]
ATOMS += [b"/", b"/", b"/", b"**/", b"/**/", b"/**", b"***", b"\\*", b"\\", b"\\/", b"\\a", b"\\ "]
ATOMS += [
    b"[ab]",
    b"[!a]",
    b"[^b]",
    b"[a-c]",
    b"[]a]",
    b"[!]a]",
    b"[",
    b"]",
    b"[[:alpha:]]",
    b"[a-",
]
ATOMS += [
    b"[[:punct:]x]",
    b"[[:bad:]]",
    b"[[:a]",
    b"[\\]a]",
    b"[c-a]",
    b"[a/b]",
    b"[!-~]",
    b"-",
    b"\r",
]
ATOMS += [b"#", b"!", b"\t", b"\0"]
LINES = st.builds(
    lambda sign, lead, atoms, tail: sign + lead + b"".join(atoms) + tail,
    st.sampled_from([b"", b"", b"", b"!", b"#", b"\\!", b" "]),
    st.sampled_from([b"", b"", b"/", b"**/"]),
    st.lists(st.sampled_from(ATOMS), min_size=1, max_size=5),
    st.sampled_from([b"", b"", b"", b"/", b" ", b"  ", b"\\ ", b"\r"]),
)
PLAIN_LINES = st.builds(
    lambda sign, atoms, tail: sign + b"".join(atoms) + tail,
    st.sampled_from([b"", b"", b"!"]),
    st.lists(
        st.sampled_from([b"a", b"b", b"*", b"/", b"/**/", b"?", b"[ab]"]), min_size=1, max_size=5
    ),
    st.sampled_from([b"", b"", b"/"]),
)
FILES = st.builds(
    lambda bom, lines, end: bom + b"\n".join(lines) + end,
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]),
    st.lists(LINES | PLAIN_LINES, min_size=1, max_size=8),
    st.sampled_from([b"", b"\n", b"\r\n"]),
)
TREES: st.SearchStrategy[Tree] = st.recursive(
    st.dictionaries(NAMES, st.none(), max_size=4),
    lambda below: st.dictionaries(NAMES, st.none() | below, min_size=1, max_size=4),
    max_leaves=6,
)


def directories(tree: Tree, path: bytes = b"") -> Iterator[bytes]:
    yield path
    for name, below in tree.items():
        if below is not None:
            yield from directories(below, path + name + b"/")


@st.composite
def ruled_trees(draw: st.DrawFn) -> tuple[Tree, dict[bytes, bytes]]:
    tree = draw(TREES)
    places = list(directories(tree))
    chosen = draw(st.lists(st.sampled_from(places), unique=True, max_size=3))
    return tree, {place: draw(FILES) for place in dict.fromkeys([b"", *chosen])}


def ignored_by_git(answer: tuple[bytes, int] | None, files: dict[bytes, bytes]) -> bool:
    """A line that speaks ignores, unless it begins with `!`."""
    if answer is None:
        return False
    source, number = answer
    data = files[source.removesuffix(b".gitignore")].removeprefix(b"\xef\xbb\xbf")
    return not data.split(b"\n")[number - 1].startswith(b"!")


@settings(
    max_examples=6_000 if HEAVY else 60,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(ruled=ruled_trees())
def test_trees_are_ignored_as_git_ignores_them(
    repository: Path, ruled: tuple[Tree, dict[bytes, bytes]]
) -> None:
    tree, files = ruled
    planted(repository, tree, files)
    ours = judged_by_us(tree, files)
    judged = judged_by_git(repository, list(ours)) if ours else {}
    theirs = {path: ignored_by_git(judged[path], files) for path in ours}
    event(f"any ignored: {any(ours.values())}")
    assert ours == theirs


POSIX = "alnum alpha blank cntrl digit graph lower print punct space upper xdigit"
CLASSES = "? [!a] [^[:alpha:]] []-z] [+--] [--0] [a-c-z] [z-a] [!z-a] [a-] [\\]] [[:a] [[:bad:]]"


@pytest.mark.parametrize("rule", [f"[[:{name}:]]" for name in POSIX.split()] + CLASSES.split())
def test_every_byte_falls_as_git_has_it(repository: Path, rule: str) -> None:
    names = [bytes([byte]) for byte in range(1, 256) if byte not in b"/."]
    planted(repository, {}, {b"": rule.encode()})
    rules = parse_rules(rule.encode())
    judged = judged_by_git(repository, names)
    assert [rules.decide(name, False) for name in names] == [judged[n] and True for n in names]


# ── the fast forms against the definition ───────────────────────────────────────────────────────

PATHS = st.lists(NAMES, min_size=1, max_size=4).map(b"/".join)


@settings(max_examples=5_000 if HEAVY else 60, deadline=None, print_blob=True)
@given(data=FILES, paths=st.lists(PATHS, min_size=1, max_size=6), directory=st.booleans())
def test_the_fast_decision_is_the_last_matching_line(
    data: bytes, paths: list[bytes], directory: bool
) -> None:
    rules = parse_rules(data)
    for path in paths:
        assert rules.decide(path, directory) == decide_line_by_line(rules, path, directory)


@settings(max_examples=5_000 if HEAVY else 60, deadline=None, print_blob=True)
@given(data=FILES, parent=st.just(b"") | PATHS, names=st.lists(NAMES, unique=True, max_size=8))
def test_untouched_entries_are_those_no_line_speaks_about(
    data: bytes, parent: bytes, names: list[bytes]
) -> None:
    rules = parse_rules(data)
    found = touched(rules, parent, [os.fsdecode(name) for name in names])
    prefix = parent + b"/" if parent else b""
    spoken = [
        at
        for at, name in enumerate(names)
        if any(rules.decide(prefix + name, directory) is not None for directory in (False, True))
    ]
    assert found == spoken


def touched(rules: Rules, parent: bytes, names: list[str]) -> list[int]:
    """Positions of the entries of one directory that some rule could concern."""
    chain = IgnoreChain().with_rules(rules)
    for name in filter(None, parent.split(b"/")):
        chain = chain.child(name)
    joined = os.fsencode("\0" + "\0".join(names) + "\0")
    return [at for level in chain.levels for at in level.touched(names, joined)] if names else []


# ── chains ──────────────────────────────────────────────────────────────────────────────────────


def kept(chain: IgnoreChain, *names: str) -> list[str]:
    """The names a chain keeps; those that end in a slash are directories."""
    bare = [name.rstrip("/") for name in names]
    flags = chain.keeps(bare, lambda at: names[at].endswith("/"))
    return [name for name, keep in zip(names, flags, strict=True) if keep]


def test_deeper_rule_files_win() -> None:
    top = IgnoreChain().with_rules(parse_rules(b"*.log"))
    source = top.child(b"src").with_rules(parse_rules(b"!debug.log"))
    assert kept(top, "debug.log", "a.c") == ["a.c"]
    assert kept(source, "debug.log", "other.log", "a.c") == ["debug.log", "a.c"]
    assert kept(source.child(b"deep"), "debug.log", "other.log") == ["debug.log"]


def test_paths_are_relative_to_their_own_rule_file() -> None:
    top = IgnoreChain().with_rules(parse_rules(b"/a\nsrc/b\nsrc/**/c"))
    source = top.child(b"src").with_rules(parse_rules(b"/d\nx/e"))
    assert kept(top, "a", "b", "c", "d", "src/") == ["b", "c", "d", "src/"]
    assert kept(source, "a", "b", "c", "d", "e") == ["a", "e"]
    below = source.child(b"x")
    assert kept(below, "a", "b", "c", "d", "e") == ["a", "b", "d"]
    assert kept(below.child(b"y"), "d", "e") == ["d", "e"]


def test_only_touched_entries_are_asked_whether_they_are_directories() -> None:
    asked: list[int] = []

    def is_directory(at: int) -> bool:
        asked.append(at)
        return True

    chain = IgnoreChain().with_rules(parse_rules(b"build/"))
    assert chain.keeps(["a", "build", "c"], is_directory) == [True, False, True]
    assert asked == [1]


def test_an_empty_chain_keeps_everything() -> None:
    assert kept(IgnoreChain().child(b"a"), "x", "y/") == ["x", "y/"]
    assert IgnoreChain().with_rules(parse_rules(b"*")).keeps([], lambda _: False) == []


def test_a_deep_tree_does_not_carry_its_path_where_only_names_count() -> None:
    chain = IgnoreChain().with_rules(parse_rules(b"*.o\n/top/x\n"))
    for _ in range(5_000):
        chain = chain.child(b"d" * 200)
    assert len(chain.levels[0].parent) < 1_000
    assert kept(chain, "a.o", "x", "top") == ["x", "top"]


# rule file, the search root's path, what is kept of the entries below it
ADMITTED = [
    (b"build\n*.log", b"build", ["a", "x.log"], ["a"]),
    (b"build/\n*.log", b"build/deep", ["a", "x.log"], ["a"]),
    (b"*\n!*.c", b"sub", ["a", "b.c"], ["a", "b.c"]),
    (b"build/**\n*.log", b"build/x", ["a", "b.log"], ["a"]),
    (b"a*\n!ab\nb", b"ab", ["ax", "b"], []),
    (b"a*\n!ab\nab", b"ab", ["ax", "b"], ["b"]),
]


@pytest.mark.parametrize(("data", "root", "names", "left"), ADMITTED)
def test_rules_that_ignore_the_search_root_are_dropped(
    data: bytes, root: bytes, names: list[str], left: list[str]
) -> None:
    chain = IgnoreChain().with_rules(parse_rules(data))
    for name in root.split(b"/"):
        chain = chain.admitting(name, True).child(name)
    assert kept(chain, *names) == left


def test_a_root_that_a_deeper_file_brings_back_drops_nothing() -> None:
    top = IgnoreChain().with_rules(parse_rules(b"*.d"))
    inner = top.child(b"src").with_rules(parse_rules(b"!x.d")).admitting(b"x.d", True).child(b"x.d")
    assert kept(inner, "y.d", "y") == ["y"]


# ── hostile rule files ──────────────────────────────────────────────────────────────────────────


def test_a_chain_of_double_stars_stays_linear() -> None:
    rules = parse_rules(b"**/a/" * 30 + b"z\n" + b"a*" * 30 + b"z")
    deep = b"/".join([b"a"] * 2_000)
    assert rules.decide(deep, False) is None
    assert rules.decide(deep + b"/z", False) is True
    assert rules.decide(b"a" * 255, False) is None


@pytest.mark.thorough
def test_ten_thousand_rules_are_decided() -> None:
    lines = [b"%s*.x%d" % (b"!" if number % 2 else b"", number) for number in range(5_000)]
    lines += [
        b"%s/d%d/**/f?%d" % (b"!" if number % 3 else b"", number, number) for number in range(5_000)
    ]
    rules = parse_rules(b"\n".join(lines))
    assert len(rules.lines) == 10_000
    assert rules.decide(b"deep/a.x4998", False) is True
    assert rules.decide(b"deep/a.x4999", False) is False
    assert rules.decide(b"d4998/a/b/fx4998", False) is True
    assert rules.decide(b"d4999/a/b/fx4999", False) is False
    assert touched(rules, b"d7/q", [f"f_{n}" for n in range(2_000)] + ["a.x77"]) == [7, 2_000]


@pytest.mark.thorough
def test_a_line_beyond_the_budget_is_left_out_alone() -> None:
    rules: Rules = parse_rules(b"[ab]?" * 200_000 + b"\n*.o")
    assert rules.decide(b"x.o", False) is True
    assert rules.decide(b"a" * 255, False) is None

"""Tells what a file is by its path: code, prose, data; a test, a sample, built, vendored.

A question about code has its words in the changelog, the guide and the bundle too, often more of
them and closer together than in the code itself. So these count less, by a factor for each kind
that applies; implementations come before tests and declarations. If a question asks for such a kind
("tests of …", "changelog …"), its factor is dropped, and `kind` asks for code or docs alone.

The names are conventions of many ecosystems; none comes from a single repository. Factors were
chosen on the history of eleven repositories (docs/design.md): any of them half as large or half as
large again moves NDCG by less than 0.01.
"""

from __future__ import annotations

import re
from collections.abc import Set
from functools import lru_cache
from typing import Final

ANY_KIND: Final = "any"
KINDS: Final = ("code", "docs", ANY_KIND)
"""What a caller can ask for."""

FACTORS: Final = {
    "prose": 0.2,
    "log": 0.4,  # beside that of prose
    "data": 0.25,
    "markup": 0.7,
    "bare": 0.6,
    "built": 0.2,
    "vendored": 0.6,
    "tests": 0.2,
    "samples": 0.6,
    "beside": 0.6,
    "declaring": 0.9,
}

_ENDINGS: Final = {
    "prose": "md markdown mdx mdown rst txt text adoc asciidoc org tex texi texinfo pod rtf man "
    "1 2 3 4 5 6 7 8 9",
    "data": "json jsonl json5 ndjson yaml yml toml ini cfg conf xml csv tsv svg lock sum snap po "
    "pot map properties plist pem crt key dat patch diff log ipynb geojson golden expected out",
    "markup": "html htm xhtml css scss sass less",
    "declaring": "h hh hpp hxx pyi",
}
_KIND_BY_ENDING: Final = {
    ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()
}

# Parts of the path above the name, each taken whole. `deps`, `external` and the like hold sources
# that others wrote, `dist` and the like what a build made of ours.
_DIRECTORIES: Final = {
    "tests": re.compile(
        r"(?:[\w.-]+[-_.])?(?:tests?|testing|selftests?|unittests?|specs?|e2e|mocks?|fixtures?)"
        r"|__(?:tests?|mocks?|snapshots?|fixtures?)__|tests?[-_.][\w.-]+|testdata|playgrounds?"
    ),
    "samples": re.compile(r"samples?|examples?|demos?|tutorials?|benchmarks?|bench|benches"),
    "beside": re.compile(r"docs?|documentation|manuals?|website|wiki|\..+"),
    "built": re.compile(
        r"dist|bundles?|node_modules|bower_components|generated|__generated__|single_include"
        r"|amalgamat\w+"
    ),
    "vendored": re.compile(r"_?vendor(?:ed)?|third[-_]?party|3rd[-_]?party|externals?|extern|deps"),
    "log": re.compile(r"\.?changes|\.?changesets?|changelogs?(?:\.d)?|news(?:fragments)?"),
}
_TEST_NAME: Final = re.compile(
    r"(?:^|[_.-])(?:self)?tests?[_.-]|[._-]spec\.|^conftest\."
    r"|(?-i:[a-z](?:Tests?|Spec|TestCase)\.)",
    re.IGNORECASE,
)
_TEST_PART: Final = re.compile(
    r"^(?:self)?tests?[_.-]|[_.-](?:tests?|spec)(?=\.|$)|(?-i:(?<=[a-z])(?:Tests?|Spec|TestCase)(?=\.|$))",
    re.IGNORECASE,
)
_BUILT_NAME: Final = re.compile(
    r"[.-](?:min|bundle|umd|iife)\.(?:[cm]?js|css)$"
    r"|_pb2(?:_grpc)?\.pyi?$|\.pb\.(?:go|cc|h)$|\.g\.dart$|[._]generated\.\w+$",
    re.IGNORECASE,
)
_LOG_NAME: Final = re.compile(
    r"(?:change[-_]?logs?|changes|history|news|release[-_]?notes|releases|what[-_]?s[-_]?new"
    r"|authors|contributors|maintainers|credits|thanks|licen[cs]e|copying|notice|patents"
    r"|code[-_]of[-_]conduct)(?:[-_.].*)?$",
    re.IGNORECASE,
)
_PROSE_NAME: Final = re.compile(
    r"(?:readme|install|todo|contributing|hacking|security|faq)(?:\..*)?$", re.IGNORECASE
)
_LIST_NAME: Final = re.compile(
    r"(?:requirements|constraints)[\w.-]*\.txt$|CMakeLists\.txt$|package-lock\.json$|go\.(?:mod|sum)$"
    r"|robots\.txt$|\.[^/]+$"
)

# Words of a question that ask for what is demoted otherwise.
_ASKING: Final = {
    "tests": "tests testcase testcases unittest unittests selftest selftests fixtures",
    "prose": "docs documentation readme guide tutorial manual",
    "log": "changelog changelogs",
    "samples": "examples samples demos benchmarks",
    "built": "minified",
    "vendored": "vendored",
}
_ASKED_BY_WORD: Final = {word: kind for kind, words in _ASKING.items() for word in words.split()}
_ALONG: Final = {"prose": {"prose", "beside", "markup"}, "log": {"log", "prose"}}


def asked_kinds(words: Set[str]) -> frozenset[str]:
    """The kinds that a question's words ask for: they are not demoted."""
    named = {_ASKED_BY_WORD[word] for word in words if word in _ASKED_BY_WORD}
    if {"release", "notes"} <= words:
        named.add("log")
    return frozenset().union(*(_ALONG.get(kind, {kind}) for kind in named))


def path_weight(path: str, asked: Set[str] = frozenset()) -> float:
    """What a file's relevance is multiplied by."""
    weight = 1.0
    for kind in path_kinds(path) - asked:
        weight *= FACTORS[kind]
    return weight


def is_of_kind(path: str, kind: str) -> bool:
    """Whether a file is code, or docs; data is neither."""
    if kind == ANY_KIND:
        return True
    kinds = path_kinds(path)
    is_prose = "prose" in kinds or {"markup", "beside"} <= kinds
    return is_prose if kind == "docs" else not is_prose and "data" not in kinds


def path_kinds(path: str) -> frozenset[str]:
    """All that a file is, of what `FACTORS` names; nothing for an implementation."""
    directory, _, name = path.rpartition("/")
    own, around = _kinds_of_name(name), _kinds_of_directory(directory)
    if not around:
        return own
    if "prose" in own:  # a page is prose wherever it lies
        return own | (around - {"beside"})
    return own | (around - {"log"})


@lru_cache(16_384)
def subject_of(name: str) -> str:
    """What a file is about by its name, the same for a test: `test_upload.py`, `upload.c`."""
    bare = _TEST_PART.sub("", name)
    return (bare.partition(".")[0] or bare).lower().strip("_")


@lru_cache(4096)
def _kinds_of_directory(directory: str) -> frozenset[str]:
    names = directory.lower().split("/")
    return frozenset(
        kind
        for kind, pattern in _DIRECTORIES.items()
        if any(pattern.fullmatch(name) for name in names)
    )


@lru_cache(16_384)
def _kinds_of_name(name: str) -> frozenset[str]:
    _, dot, ending = name.rpartition(".")
    kind = _KIND_BY_ENDING.get(ending.lower()) if dot else "bare"
    if _LIST_NAME.match(name) or name.endswith((".d.ts", ".d.mts", ".d.cts")):
        kind = "declaring" if ".d." in name else "data"
    found = {kind} if kind else set()
    if kind in ("prose", "bare", "markup") and _PROSE_NAME.match(name):
        found = {"prose"}
    if kind in ("prose", "bare") and _LOG_NAME.match(name):
        found = {"prose", "log"}
    if _TEST_NAME.search(name):
        found.add("tests")
    if _BUILT_NAME.search(name):
        found.add("built")
    return frozenset(found)

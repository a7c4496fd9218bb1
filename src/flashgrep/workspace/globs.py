"""Our glob dialect, compiled to RE2, and the file types, which are names for globs.

    *        any run of characters inside one component      [a-z]  one of these, never /
    ?        one character, never /                          [!a]   none of these; [^a] too
    **       alone in its component: any number of them      {a,b}  either; braces nest
    x/**     x and everything below it; x/ means the same    \\      takes the next one as it is

    compile_glob   one pattern, matched on whole paths, and what the glob tool asks about it
    NameFilter     the include rule: one pattern, or a list in which ! excludes
    LineGlobs      patterns matched on many paths at once
    DenyRules      --deny-dir: a path is out when it or a directory above it matches

A name that is not UTF-8 reaches us with lone surrogates, one for each bad byte. RE2 cannot see
those, so pattern and path both carry them as private-use characters; `?` then takes one bad byte.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from re2 import _re2

from flashgrep import limits
from flashgrep.errors import InvalidParams
from flashgrep.workspace.glob_syntax import (
    BAD_BYTES,
    CROSSING,
    Alternatives,
    Parsed,
    Wild,
    by_component,
    edges,
    joined,
    literal,
    parse_glob,
    shape_of,
    spelled,
)
from flashgrep.workspace.glob_syntax import GlobShape as GlobShape

_BOTH = _re2.RE2.Anchor.ANCHOR_BOTH
_ANYWHERE = _re2.RE2.Anchor.UNANCHORED
_TAILS = 64


def _compiled(
    sources: Sequence[str],
    shown: str,
    case_sensitive: bool = True,
    before: str = "",
    after: str = "",
) -> Any:
    """Compile alternatives into one expression that is matched whole.

    With something before or after it, each line of a text is one that may be matched.
    """
    options = _re2.RE2.Options()
    options.never_nl = bool(before)
    options.log_errors = False
    options.never_capture = True
    options.dot_nl = True
    options.case_sensitive = case_sensitive
    options.max_mem = limits.RE2_BYTES
    source = "|".join(f"(?:{source})" for source in sources)
    expression = _re2.RE2(f"{before}(?:{source}){after}".encode(), options)
    if not expression.ok():
        raise InvalidParams(f"The glob {shown} is too large: use fewer or shorter patterns")
    return expression


def _subject(path: str) -> bytes:
    """A path as our expressions want it: with a slash at the end, and no lone surrogates."""
    try:
        return f"{path}/".encode()
    except UnicodeEncodeError:
        return f"{path}/".translate(BAD_BYTES).encode("utf-8", "replace")


def _matches(expression: Any, subject: bytes) -> bool:
    found: bool = expression.Match(_BOTH, subject, 0, len(subject))[0][0] == 0
    return found


@dataclass(frozen=True, slots=True)
class Glob:
    """One compiled pattern, with what the glob tool needs to know before it walks.

    fixed_prefix  the leading literal directories, spelled as in the pattern
    max_depth     how many components a match has at most; None when `**` sets no bound
    names_hidden  every match has a component that begins with a dot
    extensions    what every match's name ends with, without the dot; None when not determined
    shape         the same by beginning and end of a path; None where that does not say it all
    """

    pattern: str
    case_sensitive: bool
    has_slash: bool = field(compare=False)
    fixed_prefix: tuple[str, ...] = field(compare=False)
    max_depth: int | None = field(compare=False)
    names_hidden: bool = field(compare=False)
    extensions: frozenset[str] | None = field(compare=False)
    shape: GlobShape | None = field(compare=False, repr=False)
    source: str = field(compare=False, repr=False)
    _expression: Any = field(compare=False, repr=False)

    def matches(self, path: str) -> bool:
        """Match a whole path, relative and with `/`."""
        return _matches(self._expression, _subject(path))


def compile_glob(pattern: str, *, case_sensitive: bool = True) -> Glob:
    """Compile one pattern; a leading `/` or `./` is the root the paths are relative to."""
    parsed = parse_glob(pattern)
    nodes = _clean(parsed, pattern)
    source = spelled(nodes)
    has_slash = _slashes(parsed) > 0
    return Glob(
        pattern,
        case_sensitive,
        has_slash=has_slash,
        fixed_prefix=tuple(_leading_text(nodes).split("/")[:-1]),
        # A literal dot is spelled \x{2e}, so only a crossing ** can leave this in the source.
        max_depth=None if CROSSING in source else _slashes(nodes) + 1,
        names_hidden=_names_hidden(nodes),
        extensions=_extensions(nodes, case_sensitive),
        shape=shape_of(nodes, has_slash) if case_sensitive else None,
        source=source,
        _expression=_compiled([source], repr(pattern), case_sensitive),
    )


class NameFilter:
    """Which files an `include` keeps: at most two calls into RE2 per path, however many
    patterns."""

    def __init__(self, patterns: str | Sequence[str]) -> None:
        """A string is one pattern; a list is several, and `!` excludes there."""
        includes, excludes = [patterns] if isinstance(patterns, str) else [], list[str]()
        for text in () if isinstance(patterns, str) else patterns:
            if text.startswith("!"):
                excludes.append(text[1:])
            else:
                includes.append(text)
        self.includes, self._includes = self._union(includes)
        self.excludes, self._excludes = self._union(excludes)

    def keeps(self, relative_path: str) -> bool:
        """Whether a path, relative to the search root, passes."""
        subject = _subject(relative_path)
        if self._includes is not None and not _matches(self._includes, subject):
            return False
        return self._excludes is None or not _matches(self._excludes, subject)

    def _union(self, patterns: Sequence[str]) -> tuple[list[Glob], Any]:
        if len(patterns) > limits.GLOB_PATTERNS:
            raise InvalidParams(
                f"A list of {len(patterns):,} globs is too long, the limit is"
                f" {limits.GLOB_PATTERNS:,}: join some with braces, as in *.{{ts,tsx}}"
            )
        size = sum(map(len, patterns))
        if len(patterns) > 1 and size > limits.GLOB_LIST_CHARS:
            raise InvalidParams(
                f"A list of globs with {size:,} characters together is too long, the limit is"
                f" {limits.GLOB_LIST_CHARS:,}: use fewer or shorter ones"
            )
        globs = [compile_glob(pattern) for pattern in patterns]
        sources = [anywhere(glob) for glob in globs]
        shown = f"list of {len(sources):,} patterns"
        return globs, _compiled(sources, shown) if sources else None


def anywhere(glob: Glob) -> str:
    """The source of a pattern that is matched on a path whether or not it has a slash."""
    return glob.source if glob.has_slash else f"(?:{CROSSING}/)?(?:{glob.source})"


class LineGlobs:
    """Patterns matched on many paths at once: a text with a path and a slash on each line.

    The paths have to be UTF-8 without a newline.
    """

    def __init__(self, globs: Sequence[Glob], below: str) -> None:
        """Paths are matched by what follows the directory `below`, those elsewhere never."""
        sources, shown = [anywhere(glob) for glob in globs], f"list of {len(globs):,} patterns"
        above = "".join(map(literal, below + "/")) if below else ""
        self._expression = _compiled(
            sources, shown, globs[0].case_sensitive, f"(?m)^(?-i:{above})", "$"
        )

    def ends(self, text: bytes, start: int, end: int) -> list[int]:
        """Where each path that matches ends, between two places that are begins of lines."""
        match, ends = self._expression.Match, []
        while start < end:
            ((begin, at),) = match(_ANYWHERE, text, start, end)
            if begin < 0:
                break
            ends.append(at)
            start = at + 1
        return ends


class DenyRules:
    """The --deny-dir globs: a path is denied when it, or any directory above it, matches one."""

    def __init__(self, globs: Sequence[str], workdir: bytes) -> None:
        self.globs = tuple(globs)
        top = tuple(os.fsdecode(workdir).strip("/"))
        sources: list[str] = []
        for pattern in self.globs:
            nodes = self._absolute(pattern, top)
            sources += [_below(nodes)]
            real = self._resolved(nodes)
            sources += [_below(real)] if real != nodes else []
        self._expression = _compiled(sources, "list of --deny-dir") if sources else None

    def denies(self, path: bytes) -> bool:
        """Test an absolute, resolved path: one call into RE2 covers its ancestors too."""
        if self._expression is None:
            return False
        return _matches(self._expression, _subject(os.fsdecode(path.rstrip(b"/"))))

    def _absolute(self, pattern: str, top: Parsed) -> Parsed:
        """Put the working directory before a relative glob, and resolve `.` and `..`."""
        components = by_component(parse_glob(pattern))
        first = components[0][:1]
        if (
            first
            and isinstance(first[0], Alternatives)
            and {"/", Wild.DOUBLE} & {*edges(first[0], 0)}
        ):
            raise InvalidParams(
                f"The glob {pattern!r} begins with braces that hold absolute paths: give each as a"
                " glob of its own"
            )
        if components[0] == (Wild.DOUBLE,) and len(components) > 1:
            return _clean(joined(components), pattern)
        if components[0]:
            components = by_component(top) + components
        kept: list[Parsed] = []
        for component in components:
            if component == (".", "."):
                _leave(kept, pattern)
            elif component not in ((), (".",)):
                kept.append(component)
        return ("/", *joined(kept))

    def _resolved(self, nodes: Parsed) -> Parsed:
        """Follow the links in the literal beginning: paths are tested after they are resolved."""
        if nodes[0] != "/":
            return nodes
        components = by_component(nodes)[1:]
        plain = 0
        while plain < len(components) and all(isinstance(n, str) for n in components[plain]):
            plain += 1
        text = "/" + "/".join(_leading_text(component) for component in components[:plain])
        real = os.path.realpath(os.fsencode(text)) if "\0" not in text else os.fsencode(text)
        begin = by_component(tuple(os.fsdecode(real).strip("/")))
        return ("/", *joined([part for part in begin + components[plain:] if part]))


def _leave(kept: list[Parsed], pattern: str) -> None:
    if kept and not all(isinstance(node, str) for node in kept[-1]):
        raise InvalidParams(
            f"The glob {pattern!r} has '..' after a wildcard: write the directory that is meant"
        )
    del kept[-1:]


def _below(nodes: Parsed) -> str:
    """A path or anything below it; the root alone covers every path."""
    return spelled(nodes) + CROSSING


# ── what the nodes say ─────────────────────────────────────────────────────────────────────────


def _clean(nodes: Parsed, pattern: str) -> Parsed:
    """Drop empty and `.` components; `..` is refused, since no path we match holds one."""
    components = by_component(nodes)
    if any(component == (".", ".") for component in components):
        raise InvalidParams(
            f"The glob {pattern!r} has a '..' component, which matches nothing: name the directory"
            " as the path and write the pattern relative to it"
        )
    kept = [component for component in components if component not in ((), (".",))]
    if not kept:
        raise InvalidParams(f"The glob {pattern!r} names no entry: use ** for everything below")
    return joined(kept) + (("/",) if not components[-1] else ())


def _leading_text(nodes: Parsed) -> str:
    text: list[str] = []
    for node in nodes:
        if not isinstance(node, str):
            break
        text.append(node)
    return "".join(text)


def _slashes(nodes: Parsed) -> int:
    total = sum(node == "/" for node in nodes)
    groups = (node for node in nodes if isinstance(node, Alternatives))
    return total + sum(max(map(_slashes, group.alternatives)) for group in groups)


def _names_hidden(nodes: Parsed, starts: bool = True) -> bool:
    """Whether every way through the pattern has a component that begins with a literal dot."""
    for node in nodes:
        if node == "." and starts:
            return True
        if isinstance(node, Alternatives) and all(
            _names_hidden(way, starts) for way in node.alternatives
        ):
            return True
        starts = node == "/"
    return False


def _tails(nodes: Parsed) -> set[str] | None:
    """The literal texts a match can end with, each led by what ends it: `/`, or `*` for any."""
    tails = {""}
    for node in reversed(nodes):
        ways = {node} if isinstance(node, str) else {"*"}
        if isinstance(node, Alternatives):
            inner = [_tails(alternative) for alternative in node.alternatives]
            ways = {text for texts in inner if texts is not None for text in texts}
            if None in inner:
                return None
        open_tails = {tail for tail in tails if tail[:1] not in ("*", "/")}
        tails = (tails - open_tails) | {way + tail for way in ways for tail in open_tails}
        if len(tails) > _TAILS:
            return None
    return tails


def _extensions(nodes: Parsed, case_sensitive: bool) -> frozenset[str] | None:
    found: set[str] = set()
    for tail in _tails(nodes) or {""}:
        _, dot, extension = tail.rpartition(".")
        if not dot or not extension or "/" in extension:
            return None
        found.add(extension if case_sensitive else extension.lower())
    return frozenset(found)


# ── file types ───────────────────────────────────────────────────────────────────────────────────
# The file types grep knows: names to globs on the base name.


TYPES: Final[dict[str, tuple[str, ...]]] = {
    "asm": ("*.asm", "*.s", "*.S"),
    "bazel": ("*.bazel", "*.bzl", "BUILD", "WORKSPACE"),
    "c": ("*.c", "*.h"),
    "clojure": ("*.clj", "*.cljc", "*.cljs", "*.cljx"),
    "cmake": ("*.cmake", "CMakeLists.txt"),
    "config": ("*.cfg", "*.conf", "*.config", "*.ini"),
    "cpp": ("*.cpp", "*.cc", "*.cxx", "*.hpp", "*.hh", "*.hxx", "*.h", "*.inl"),
    "cs": ("*.cs",),
    "css": ("*.css", "*.scss"),
    "csv": ("*.csv",),
    "cuda": ("*.cu", "*.cuh"),
    "dart": ("*.dart",),
    "diff": ("*.diff", "*.patch"),
    "docker": ("*Dockerfile*", "*.dockerfile"),
    "elixir": ("*.ex", "*.exs", "*.eex", "*.heex", "*.leex"),
    "elm": ("*.elm",),
    "erlang": ("*.erl", "*.hrl"),
    "fsharp": ("*.fs", "*.fsi", "*.fsx"),
    "go": ("*.go",),
    "gradle": ("*.gradle", "*.gradle.kts", "gradle.properties"),
    "graphql": ("*.graphql", "*.graphqls"),
    "groovy": ("*.groovy",),
    "haskell": ("*.hs", "*.lhs"),
    "html": ("*.html", "*.htm"),
    "java": ("*.java",),
    "jl": ("*.jl",),
    "js": ("*.js", "*.mjs", "*.cjs", "*.jsx"),
    "json": ("*.json",),
    "jupyter": ("*.ipynb",),
    "kotlin": ("*.kt", "*.kts"),
    "less": ("*.less",),
    "lisp": ("*.el", "*.lisp", "*.lsp", "*.scm"),
    "log": ("*.log",),
    "lua": ("*.lua",),
    "make": ("Makefile", "makefile", "GNUmakefile", "*.mk", "*.mak", "Makefile.*"),
    "markdown": ("*.md", "*.markdown", "*.mdx"),
    "nim": ("*.nim", "*.nims"),
    "nix": ("*.nix",),
    "objc": ("*.h", "*.m"),
    "ocaml": ("*.ml", "*.mli", "*.mll", "*.mly"),
    "org": ("*.org",),
    "perl": ("*.pl", "*.pm", "*.t"),
    "php": ("*.php", "*.phtml"),
    "proto": ("*.proto",),
    "ps": ("*.ps1", "*.psm1", "*.psd1"),
    "py": ("*.py", "*.pyi"),
    "r": ("*.r", "*.R", "*.Rmd"),
    "rst": ("*.rst",),
    "ruby": ("*.rb", "*.gemspec", "Gemfile", "Rakefile", "config.ru"),
    "rust": ("*.rs",),
    "sass": ("*.sass", "*.scss"),
    "scala": ("*.scala", "*.sbt"),
    "sh": ("*.sh", "*.bash", "*.zsh", "*.fish", ".bashrc", ".zshrc", ".profile"),
    "sql": ("*.sql", "*.psql"),
    "svelte": ("*.svelte",),
    "swift": ("*.swift",),
    "tex": ("*.tex", "*.sty", "*.cls", "*.bib"),
    "tf": ("*.tf", "*.tfvars"),
    "toml": ("*.toml",),
    "ts": ("*.ts", "*.tsx", "*.mts", "*.cts"),
    "txt": ("*.txt",),
    "vim": ("*.vim", ".vimrc"),
    "vue": ("*.vue",),
    "xml": ("*.xml", "*.xsd", "*.xsl", "*.xslt"),
    "yaml": ("*.yml", "*.yaml"),
    "zig": ("*.zig",),
}
ALIASES: Final = {
    "bash": "sh",
    "csharp": "cs",
    "dockerfile": "docker",
    "golang": "go",
    "hs": "haskell",
    "javascript": "js",
    "julia": "jl",
    "kt": "kotlin",
    "makefile": "make",
    "md": "markdown",
    "powershell": "ps",
    "protobuf": "proto",
    "python": "py",
    "rb": "ruby",
    "rs": "rust",
    "shell": "sh",
    "terraform": "tf",
    "typescript": "ts",
    "yml": "yaml",
}


def globs_of(name: str) -> tuple[str, ...]:
    """The globs of a file type; an unknown one is refused with the valid names."""
    globs = TYPES.get(ALIASES.get(name, name))
    if globs is None:
        valid = ", ".join(sorted({*TYPES, *ALIASES}))
        raise InvalidParams(f"Unknown file type: {name!r}. Valid types: {valid}")
    return globs

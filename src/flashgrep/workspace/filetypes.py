"""The file types grep knows: names to globs on the base name."""

from __future__ import annotations

from typing import Final

from flashgrep.errors import InvalidParams

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

// The file types that the type filter offers; the server knows a few more names for them.

export const TYPES = [
  "asm", "bazel", "c", "clojure", "cmake", "config", "cpp", "cs", "css", "csv", "cuda", "dart", "diff", "docker", "elixir", "elm",
  "erlang", "fsharp", "go", "gradle", "graphql", "groovy", "haskell", "html", "java", "jl", "js", "json", "jupyter", "kotlin", "less",
  "lisp", "log", "lua", "make", "markdown", "nim", "nix", "objc", "ocaml", "org", "perl", "php", "proto", "ps", "py", "r", "rst", "ruby",
  "rust", "sass", "scala", "sh", "sql", "svelte", "swift", "tex", "tf", "toml", "ts", "txt", "vim", "vue", "xml", "yaml", "zig",
];

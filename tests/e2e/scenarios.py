"""Every scenario of the requirement documents, under its requirement, and the tie to its test.

A test carries a scenario's title by `@scenario("…")`; `test_requirements_covered.py` fails when a
title has no test, or a test a title that stands here nowhere. The documents themselves are kept
elsewhere: a changed scenario is changed here by hand, in the same commit as its test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])


def scenario(title: str) -> Callable[[Test], Test]:
    """Tie a test to the scenario with this title."""

    def carry(test: Test) -> Test:
        test.__dict__["scenario"] = title
        return test

    return carry


GREP: Final[Mapping[str, tuple[str, ...]]] = {
    "Search file contents with regex pattern": (
        "Simple literal search",
        "Regex pattern search",
        "Invalid regex pattern",
        "Empty pattern",
    ),
    "Search path defaults to session cwd": (
        "Path omitted defaults to cwd",
        "Relative path resolved against cwd",
        "Absolute path used directly",
        "Path is a single file",
        "Path does not exist",
    ),
    "File filtering via include glob": (
        "Include filter matches",
        "Include filter with no matches",
        "Include filter omitted",
    ),
    "File type filtering via type parameter": (
        "Type filter matches",
        "Compound type filter",
        "Type alias",
        "Invalid type name",
        "Type and include both specified",
    ),
    "Three output modes": (
        "Content mode",
        "Files with matches is the default",
        "Files with matches mode",
        "Count mode",
        "Invalid output mode",
    ),
    "Content mode line number display": (
        "Line numbers shown by default",
        "Line numbers suppressed",
        "Multiple matches in same file",
        "Line numbers ignored outside content mode",
    ),
    "Context lines in content mode": (
        "Before context",
        "After context",
        "Context shorthand",
        "Explicit overrides shorthand",
        "Overlapping context merged",
        "Non-contiguous matches separated within file",
        "Separator between different files",
        "No separator for adjacent matches in same file",
        "Context at file boundaries",
        "Context ignored outside content mode",
    ),
    "Case-insensitive search": (
        "Case-insensitive match",
        "Case-sensitive by default",
    ),
    "Pagination via head_limit and offset": (
        "head_limit truncates results",
        "Unlimited by default",
        "Offset skips results",
        "Offset without head_limit",
        "Offset exceeds total results",
    ),
    "Skip binary files": (
        "Binary file skipped",
        "JSON file searched",
        "Text file searched",
    ),
    "Skip noise directories": (
        ".git directory skipped",
        "node_modules skipped",
        "Nested node_modules skipped",
    ),
    "Respect .gitignore patterns": (
        "Build output ignored",
        "Generated files ignored",
        "Nested gitignore overrides parent",
        "No gitignore file present",
    ),
    "Follow symlinks during traversal": (
        "Symlinked directory searched",
        "Circular symlink detected",
        "Symlinked file searched",
    ),
    "Multiline matching": (
        "Multiline pattern spans lines",
        "Multiline disabled by default",
        "Multiline in files_with_matches mode",
    ),
    "Files with matches sorted by modification time": (
        "Newest files first",
        "Sorting does not affect other modes",
    ),
    "Path scoping enforcement": (
        "Search root outside allow list",
        "Files matching deny pattern skipped",
        "No scoping when no allow-dir set",
    ),
    "Parameter naming conditional on --anthropic-compat": (
        "Normal mode parameter names",
        "Compat mode parameter names",
        "Compat mode schema exposes Claude Code names",
    ),
    "Result paths are relative to search root": (
        "Relative paths in directory search",
        "Single file search path",
    ),
}


FILES: Final[Mapping[str, tuple[str, ...]]] = {
    "View file contents": (
        "Read entire file",
        "Read line range",
        "view_range end clamped to file length",
        "view_range start exceeds file length",
        "Invalid view_range start",
        "Long line truncation",
        "Efficient range reading",
    ),
    "View detects binary files": ("Binary file detected",),
    "View lists directories": (
        "Directory listing",
        "Dotfiles visible except .git",
        "Symlinks indicated in listing",
    ),
    "Replace unique string in file": (
        "Successful unique replacement",
        "String not found",
        "Ambiguous match (multiple occurrences, replace_all false)",
        "Deletion (empty new_str)",
        "Replace all occurrences",
        "Replace all with no match",
    ),
    "Create or overwrite a file": (
        "Create new file",
        "Overwrite existing file",
    ),
    "View returns image files as ImageContent": (
        "PNG file returned as ImageContent",
        "JPEG file returned as ImageContent",
        "Image with wrong extension still detected",
        "SVG file detected by extension",
        "Image file exceeding size limit",
        "Unrecognized binary file still shows size message",
    ),
}


SERVER: Final[Mapping[str, tuple[str, ...]]] = {
    "JSON-RPC protocol": (
        "Accept JSON-RPC requests",
        "Return JSON-RPC responses",
    ),
    "Transport layer": (
        "TCP transport",
        "Unix socket transport",
    ),
    "query method": (
        "Query with text parameter",
        "Query with limit parameter",
    ),
    "get_slice method": (
        "Get specific line range",
        "Handle missing file",
    ),
    "get_symbol method": ("Find symbol by name",),
    "list_files method": ("List all files",),
    "stats method": ("Get index stats",),
    "Minimal responses": ("No full file content by default",),
    "Skill bootstrap MCP method": (
        "Bootstrap method returns structured success response",
        "Bootstrap method validates trigger",
    ),
    "Bootstrap compatibility with existing MCP methods": (
        "Existing tools remain callable after bootstrap support is added",
    ),
    "Bootstrap error handling": ("Skill file load failure returns typed error",),
    "Cross-transport method consistency": (
        "Bootstrap aliases are handled consistently",
        "Existing core methods keep consistent behavior",
    ),
    "Centralized shared handler usage for duplicated MCP logic": (
        "Bootstrap logic is centralized",
        "Tool definition aliases remain synchronized",
    ),
    "Glob MCP contract supports advanced options": (
        "Advanced glob options are accepted",
        "Invalid option combinations return structured errors",
    ),
    "Glob performance remains suitable for large repositories": (
        "Early pruning with excludes and depth",
    ),
}


NOTES_DECISIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Tool design principle: Mirror Claude Code tools exactly": (
        "The knowledge base is the filesystem",
        "Parameter names and semantics match Grep",
        "Returns matching lines with context, file paths, line numbers",
        "Uses file_path, old_string, new_string parameters",
        "Exact string replacement semantics",
        "The CriticMarkup wrapping is transparent to the AI",
        "Error messages match Claude Code's Edit error patterns",
    ),
    "Tools already built follow this pattern": (
        "read mirrors Claude Code's Read tool",
        "glob mirrors Claude Code's Glob tool",
        "get_links is knowledge-base-specific",
    ),
    "Read-before-edit enforcement": (
        "The server tracks which documents each MCP session has read",
        "Edits on unread documents are rejected with a clear error",
    ),
    "Claude's Discretion": ("Whether to support replace_all",),
    "Deferred Ideas": ("Do not include write, delete, rename or batch operations",),
}


NOTES_RESEARCH: Final[Mapping[str, tuple[str, ...]]] = {
    "Architecture Patterns": (
        "Pattern 1: Session-Scoped Read Tracking",
        "Pattern 2: Grep Tool",
        "Output format in content mode",
        "Output format in files_with_matches mode",
        "Output format in count mode",
        "Pattern 3: Edit Tool",
        "Pattern 4: Tool Signature Bifurcation",
    ),
    "Anti-Patterns to Avoid": (
        "Using tantivy for the grep tool",
        "Forgetting to record reads in the read tool",
        "Holding guards across Y.Doc mutations",
        "Escaping CriticMarkup delimiters in content",
        "Applying edit to CriticMarkup-wrapped text",
    ),
    "Common Pitfalls": (
        "Pitfall 1: Byte Offset Mismatch Between Content Read and Y.Doc Mutation",
        "Pitfall 2: TOCTOU Between Content Read and Y.Doc Edit",
        "Pitfall 3: Session ID Not Reaching Tools",
        "Pitfall 4: DashMap Guard Across Mutable Transaction",
        "Pitfall 5: Regex Denial of Service",
        "Pitfall 6: Recording Read State for the Wrong Document",
    ),
    "Claude Code Tool Schemas": (
        "Claude Code Edit Tool Schema",
        "Claude Code Grep Tool Schema",
    ),
    "Design Decisions": (
        "Decision: Grep uses regex on raw content, NOT tantivy",
        "Decision: No replace_all parameter in v1",
        "Decision: read_docs HashSet on McpSession",
        "Decision: CriticMarkup format is {--old--}{++new++}",
        "Decision: Edit success message is simple, not detailed",
    ),
    "Open Questions": (
        "Obsidian CriticMarkup visibility",
        "Concurrent edit safety",
        "Search index accessor",
    ),
}

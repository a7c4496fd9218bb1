"""`python -m bench.conformance`: the MCP project's own suite and Inspector against `serve`.

Both are npm packages that want a newer Node than distributions carry; npx fetches that too. The
exit status is 1 when a scenario fails that needs no fixture (see `fixtures`), or the Inspector
cannot list or call a tool.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.fixtures import CHECKS, NEEDS
from bench.served import FLASHGREP, environment, serving

NODE = "node@22"
SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
VERSIONS = ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")

_SUITE_SECONDS = 300
_INSPECTOR_SECONDS = 120


@dataclass(frozen=True)
class Outcome:
    """One scenario in one protocol version; failed checks by their id."""

    scenario: str
    passed: int
    failed: dict[str, str]

    def lines(self) -> list[str]:
        """The verdict, and why each check failed that no fixture explains."""
        verdict = "pass" if not self.failed else "fail"
        figures = f"({self.passed} passed, {len(self.failed)} failed)"
        needs = NEEDS.get(self.scenario)
        lines = [f"  {verdict}  {self.scenario} {figures}" + (f" needs {needs}" if needs else "")]
        if needs is None:
            for check, reason in self.failed.items():
                why = f"needs {CHECKS[check]}" if check in CHECKS else reason
                lines.append(f"          {check}: {why}")
        return lines

    @property
    def is_defect(self) -> bool:
        return self.scenario not in NEEDS and bool(self.failed.keys() - CHECKS.keys())


def main() -> None:
    """Run everything, print it; the exit status says whether there were defects."""
    with tempfile.TemporaryDirectory(prefix="flashgrep-conformance-") as own:
        workdir = Path(own) / "workdir"
        workdir.mkdir()
        (workdir / "hello.txt").write_text("hello world\n", encoding="utf-8")
        with serving(workdir, "--no-auth", http=True) as server:
            defects = [
                defect
                for version in VERSIONS
                for defect in _suite(server.url, version, Path(own) / version)
            ]
            defects += _inspected("HTTP", [server.url, "--transport", "http"], own)
        stdio = [FLASHGREP, "mcp", "--workdir", str(workdir), "--state-dir", f"{own}/state"]
        defects += _inspected("stdio", stdio, own)
    print("\n".join(["", "defects:", *defects]) if defects else "\nno defects")
    sys.exit(1 if defects else 0)


# ── the suite ───────────────────────────────────────────────────────────────────────────────────


def _suite(url: str, version: str, results: Path) -> list[str]:
    """Run every scenario of one protocol version; give the defects."""
    command = ["server", "--url", url, "--suite", "all", "--spec-version", version]
    done = _npx(SUITE, "conformance", [*command, "--output-dir", str(results)], _SUITE_SECONDS)
    outcomes = [_outcome(file) for file in sorted(results.glob("*/checks.json"))]
    print(f"\n{SUITE} --spec-version {version}")
    if not outcomes:
        print(done.stdout[-2000:] + done.stderr[-2000:])
        return [f"{version}: the suite did not run"]
    for outcome in outcomes:
        print("\n".join(outcome.lines()))
    return [f"{version}: {outcome.scenario}" for outcome in outcomes if outcome.is_defect]


def _outcome(file: Path) -> Outcome:
    """Read a scenario's checks; its folder is named `server-SCENARIO-TIMESTAMP`."""
    checks: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    scenario = "-".join(file.parent.name.removeprefix("server-").split("-")[:-6])
    failed = [check for check in checks if check["status"] == "FAILURE"]
    return Outcome(
        scenario,
        sum(check["status"] == "SUCCESS" for check in checks),
        {check["id"]: str(check.get("errorMessage")) for check in failed},
    )


# ── the Inspector ───────────────────────────────────────────────────────────────────────────────


def _inspected(transport: str, target: list[str], own: str) -> list[str]:
    """List the tools and call grep."""
    print(f"\n{INSPECTOR} --cli over {transport}")
    listed = _inspector(own, *target, "--method", "tools/list", "--strict")
    names = [tool["name"] for tool in listed.get("tools", [])]
    print(f"  tools/list: {', '.join(names)}")
    call = ["--method", "tools/call", "--tool-name", "grep"]
    call += ["--tool-arg", "pattern=hello", "output_mode=content"]
    answer = _inspector(own, *target, *call)
    texts = [part.get("text") for part in answer.get("content", [])]
    print(f"  tools/call grep: {texts}")
    defects = [] if "grep" in names else [f"Inspector over {transport}: tools/list"]
    return defects + ([] if texts == ["hello.txt:1:hello world"] else [f"{transport}: tools/call"])


def _inspector(own: str, *arguments: str) -> dict[str, Any]:
    done = _npx(INSPECTOR, "mcp-inspector", ["--cli", *arguments], _INSPECTOR_SECONDS, own)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError:
        answer = {}
    if done.returncode or not answer:
        print(f"  exit status {done.returncode}: {done.stderr[-2000:]}")
    return answer


def _npx(
    package: str, program: str, arguments: list[str], seconds: float, own: str = ""
) -> subprocess.CompletedProcess[str]:
    kept = {"npm_config_loglevel": "error", "MCP_CATALOG_PATH": f"{own}/catalog.json"}
    return subprocess.run(
        ["npx", "--yes", "-p", NODE, "-p", package, "--", program, *arguments],
        env={**environment(), **kept},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


if __name__ == "__main__":
    main()

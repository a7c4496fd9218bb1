"""`python -m bench.matrix`: the tests under each Python that flashgrep supports and that is here.

Each has its environment in .matrix/, kept for the next time. A Python that is not
installed is skipped, and the summary says so. Arguments go to pytest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")
_ROOT: Final = Path(__file__).parent.parent
_WORKERS: Final = os.environ.get("WORKERS", "2")


def main() -> None:
    """Test under each; fails where one fails."""
    outcomes = {}
    for version in VERSIONS:
        python = interpreter(version)
        outcomes[version] = "skipped: not installed" if python is None else _tested(version, python)
        print(f"Python {version}: {outcomes[version]}", flush=True)
    print("\n".join(["", *(f"Python {version}: {how}" for version, how in outcomes.items())]))
    sys.exit(any(how.startswith("failed") for how in outcomes.values()))


def interpreter(version: str) -> str | None:
    """A program that is this Python: a shim of pyenv may be there without the Python it is for."""
    for candidate in _candidates(version):
        code = "import sys; print('%d.%d' % sys.version_info[:2])"
        asked = subprocess.run([candidate, "-c", code], capture_output=True, text=True, check=False)
        if asked.stdout.strip() == version:
            return candidate
    return None


def _candidates(version: str) -> Iterator[str]:
    found = shutil.which(f"python{version}")
    if found is not None:
        yield found
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(map(str, versions.glob(f"{version}.*/bin/python{version}")), reverse=True)


def _tested(version: str, python: str) -> str:
    environment = _ROOT / ".matrix" / version
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    steps = (
        ("venv", [python, "-m", "venv", str(environment)]),
        ("pip", [*pip, "--upgrade", "pip>=25.1"]),
        (
            "install",
            [*pip, "--editable", ".", "--group", "dev", "--constraint", "requirements-dev.lock"],
        ),
        (
            "tests",
            [str(environment / "bin" / "pytest"), "-n", _WORKERS, "--dist", "loadfile", "-q"],
        ),
    )
    for name, command in steps:
        if subprocess.run(
            [*command, *(sys.argv[1:] if name == "tests" else ())], cwd=_ROOT, check=False
        ).returncode:
            return f"failed: {name}"
    return "passed"


if __name__ == "__main__":
    main()

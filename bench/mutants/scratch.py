"""A copy of the repository with another interpreter, in which a defect does no harm.

The interpreter is a virtual environment without packages: its path has the copy's `src` first, and
then the packages of the one that runs us. So every program a test starts sees the defect too.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Final

_OURS: Final = ("python", "flashgrep", "activate", "Activate", "pip")


class Scratch:
    """One copy, for one defect."""

    def __init__(self, root: Path, place: Path) -> None:
        self._root = root
        self.place = place
        self.repository = place / "r"
        self.python = place / "v" / "bin" / "python"
        self.temporary = place / "t"

    def make(self) -> None:
        """Copy what is under version control, as it is in the working tree."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.temporary.mkdir(parents=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self._root,
            capture_output=True,
            check=True,
        ).stdout
        for name in filter(None, listed.decode().split("\0")):
            source, target = self._root / name, self.repository / name
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
            installed = source.parent / "node_modules"
            if source.name == "package-lock.json" and installed.is_dir():
                (target.parent / "node_modules").symlink_to(installed.resolve())
        self._make_interpreter()

    def _make_interpreter(self) -> None:
        home = self.place / "v"
        venv.EnvBuilder(symlinks=True, with_pip=False).create(home)
        packages = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
        others = [path for path in sys.path if path.endswith("site-packages")]
        paths = [str(self.repository / "src"), *others]
        (packages / "mutant.pth").write_text("\n".join(paths) + "\n", encoding="utf-8")
        for program in Path(sys.executable).parent.iterdir():
            target = home / "bin" / program.name
            if not program.name.startswith(_OURS) and not target.exists():
                target.symlink_to(program)

    def check(self) -> None:
        """Make sure that a program started here is the copy's."""
        told = subprocess.run(
            [str(self.python), "-P", "-c", "import flashgrep; print(flashgrep.__file__)"],
            cwd="/",
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        if not told.startswith(str(self.repository)):
            raise RuntimeError(f"the copy in {self.place} runs {told.strip()} instead of itself")

    def put(self, path: str, text: str) -> None:
        """Change a file of the copy."""
        target = self.repository / path
        target.write_text(text, encoding="utf-8")
        # Python recognizes a stale one by its size and whole seconds: a defect may change neither.
        for compiled in target.parent.glob(f"__pycache__/{target.stem}.*"):
            compiled.unlink()

    def remove(self) -> None:
        """Take it away."""
        shutil.rmtree(self.place, ignore_errors=True)

"""The pages that the package ships: what a build of their sources gives, and nothing else."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "flashgrep" / "web" / "static"
WEB = ROOT / "web"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.thorough
def test_the_shipped_pages_are_a_fresh_build_of_their_sources(tmp_path: Path) -> None:
    if not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("the packages of the pages are missing (npm ci --prefix web)")
    subprocess.run(
        ["node", "build.mjs", str(tmp_path / "static")], cwd=WEB, check=True, capture_output=True
    )
    fresh, shipped = contents(tmp_path / "static"), contents(SHIPPED)
    assert sorted(fresh) == sorted(shipped), "run make web and commit what it writes"
    assert [name for name in fresh if fresh[name] != shipped[name]] == []


@pytest.mark.thorough
def test_the_sources_of_the_pages_have_no_type_errors() -> None:
    if not (WEB / "node_modules" / "typescript").is_dir():
        pytest.skip("the packages of the pages are missing (npm ci --prefix web)")
    checked = subprocess.run(
        ["npm", "run", "--silent", "check"], cwd=WEB, capture_output=True, text=True
    )
    assert checked.returncode == 0, checked.stdout


def test_every_file_that_the_shell_names_is_shipped() -> None:
    manifest = json.loads((SHIPPED / "manifest.json").read_text())
    assert sorted(manifest) == ["app.css", "app.js"]
    assert all((SHIPPED / name).is_file() for name in manifest.values())


def test_each_package_in_the_bundle_has_its_licence() -> None:
    text = (SHIPPED / "NOTICES.txt").read_text()
    for name in ("preact", "yjs", "@codemirror/view", "hast-util-sanitize"):
        assert f"\n{name} " in text


def test_the_pages_name_no_other_host() -> None:
    """No external asset: a page works offline."""
    for path in SHIPPED.glob("*.css"):
        assert "http" not in path.read_text()

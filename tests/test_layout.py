"""The package is one tree, although three of its folders lie beside it (docs/decisions/0001)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parent.parent
LINKED = ("ir", "optimizers", "backends")
MEND = "run: git config core.symlinks true && git checkout -- couler"


@pytest.mark.parametrize("name", LINKED)
def test_link_leads_to_the_folder_beside_the_package(name: str) -> None:
    link = ROOT / "couler" / name
    assert link.is_symlink(), f"couler/{name} is not a symbolic link; {MEND}"
    assert os.readlink(link) == f"../{name}", f"couler/{name} leads elsewhere; {MEND}"
    assert (link / "__init__.py").is_file()


@pytest.mark.parametrize("name", LINKED)
def test_git_stores_a_link_and_not_a_copy(name: str) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    entry = subprocess.run(
        ["git", "ls-files", "--stage", "--", f"couler/{name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert entry.startswith("120000 "), f"couler/{name} is committed as {entry!r}"


@pytest.mark.parametrize("name", LINKED)
def test_folder_is_importable_only_as_part_of_the_package(name: str) -> None:
    def import_from_root(statement: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", statement], cwd=ROOT, capture_output=True, text=True, check=False
        )

    assert import_from_root(f"import couler.{name}").returncode == 0
    past = import_from_root(f"import {name}")
    assert past.returncode == 1
    assert past.stderr.rstrip().endswith(f"ImportError: import couler.{name}, not {name}")


def test_package_is_typed() -> None:
    assert (ROOT / "couler" / "py.typed").is_file()

"""The wheel holds the package as the checkout shows it, and runs without the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.checkout, pytest.mark.timeout(1800)]

ROOT = Path(__file__).resolve().parents[2]
LINKED = ("ir", "optimizers", "backends")
LEAVE_OUT = shutil.ignore_patterns(".git", ".venv", "build", "dist", "__pycache__", ".*_cache")


def run(*command: str | Path, cwd: Path, expect: int = 0) -> str:
    """Run a command away from the checkout's settings and return what it printed."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == expect, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def build(tree: Path, into: Path) -> tuple[Path, Path]:
    """Build the sdist of a tree, and the wheel from that sdist."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", into, tree, cwd=into)
    [sdist] = into.glob("*.tar.gz")
    [wheel] = into.glob("*.whl")
    return sdist, wheel


def files_of_checkout() -> set[str]:
    """Return the files of the package by the names that they have when it is installed."""
    own = [path for path in (ROOT / "couler").rglob("*") if path.is_file()]
    found = {path.relative_to(ROOT) for path in own}
    found = {path for path in found if path.parts[1] not in LINKED}
    for name in LINKED:
        linked = [path for path in (ROOT / name).rglob("*") if path.is_file()]
        found |= {Path("couler", path.relative_to(ROOT)) for path in linked}
    return {path.as_posix() for path in found if "__pycache__" not in path.parts}


def modules_of_checkout() -> set[str]:
    return {name for name in files_of_checkout() if name.endswith(".py")}


def modules_of_wheel(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if name.endswith(".py")}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.mark.slow
def test_wheel_holds_every_module_once_and_nothing_else(built: tuple[Path, Path]) -> None:
    _, wheel = built
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names))
    assert modules_of_wheel(wheel) == modules_of_checkout()
    assert "couler/py.typed" in names
    metadata = {name for name in names if ".dist-info/" in name}
    assert {name.partition("/")[0] for name in set(names) - metadata} == {"couler"}
    assert any(name.endswith("licenses/LICENSE") for name in metadata)


@pytest.mark.slow
def test_wheel_and_sdist_hold_what_is_no_module(built: tuple[Path, Path]) -> None:
    """Scripts and templates are read when a workflow is compiled."""
    sdist, wheel = built
    wanted = {name for name in files_of_checkout() if not name.endswith(".py")}
    assert "couler/backends/airflow/process.sh" in wanted
    with zipfile.ZipFile(wheel) as archive:
        assert wanted <= set(archive.namelist())
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers()}
    linked = re.compile(rf"couler/(?=({'|'.join(LINKED)})/)")
    assert {linked.sub("", name) for name in wanted} <= names


@pytest.mark.slow
def test_sdist_has_no_links_and_the_tests(built: tuple[Path, Path]) -> None:
    sdist, _ = built
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    assert not [member.name for member in members if member.issym() or member.islnk()]
    names = {member.name.partition("/")[2] for member in members}
    assert {"tests/conftest.py", "README.md", "LICENSE", "CHANGELOG.md"} <= names


@pytest.mark.slow
def test_checkout_without_links_builds_the_same_wheel(tmp_path: Path) -> None:
    """Git without `core.symlinks` leaves a text file with the target in the place of a link."""
    tree = tmp_path / "tree"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=LEAVE_OUT)
    for name in LINKED:
        (tree / "couler" / name).unlink()
        (tree / "couler" / name).write_text(f"../{name}", encoding="utf-8")
    into = tmp_path / "dist"
    into.mkdir()
    _, wheel = build(tree, into)
    assert modules_of_wheel(wheel) == modules_of_checkout()


WITH_LATEST = [f"cli/test_{name}.py" for name in ("compile", "run", "submit", "table", "zoo")]
"""Tests of use: the checkout has these versions as well."""

WITH_LOWEST_IN_CI = [
    *("corpus", "llm", "rest", "state"),
    *(f"cli/test_{name}.py" for name in ("app", "compile", "run", "table")),
    *("ir/test_serialize.py", "backends/argo/test_corpus.py"),
]
"""A sample of the next, for CI."""

WITH_LOWEST = [
    *("cli", "corpus", "dsl", "ir", "llm", "locations", "rest", "stages", "state", "store"),
    *(
        f"backends/local/test_{name}.py"
        for name in ("broken_state", "cache", "corpus", "locations", "retry", "run")
    ),
    *("backends/airflow/test_corpus.py", "backends/argo/test_corpus.py"),
]
"""Tests of what calls other packages.

Compilers, passes, pictures, the step zoo and tables of failures call pydantic alone, which tests of
the IR and of the commands try; what the local engine does with processes calls none, and what is
kept of runs elsewhere calls SQLAlchemy by `couler.state` alone.
"""

BESIDES = [f"cli/test_{name}.py" for name in ("generate_text", "schedule", "submit_faults", "tune")]
"""Of these those that take long for what they try of other packages, which others try as well."""


def lowest(requirements: Iterable[str]) -> list[str]:
    """Pin each requirement to its floor: ``click>=8.1,<9`` becomes ``click==8.1``."""
    pinned = []
    for requirement in requirements:
        match = re.fullmatch(r"([a-z0-9-]+)>=([0-9.]+),<[0-9.]+", requirement)
        assert match, f"{requirement!r} has no floor or no cap"
        pinned.append(f"{match[1]}=={match[2]}")
    return pinned


def test_every_core_requirement_has_a_floor_and_a_cap() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert lowest(project["dependencies"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("versions", "tests"),
    [
        pytest.param("latest", WITH_LATEST, id="latest", marks=pytest.mark.longest),
        pytest.param("lowest", WITH_LOWEST_IN_CI, id="lowest", marks=pytest.mark.longest),
        pytest.param("lowest", WITH_LOWEST, id="lowest-all", marks=pytest.mark.nightly),
    ],
)
def test_tests_pass_against_the_installed_wheel(
    built: tuple[Path, Path], versions: str, tests: list[str], tmp_path: Path
) -> None:
    """Some tests pass in an environment that has only the wheel, and nothing of the checkout."""
    sdist, wheel = built
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    pins = lowest(project["dependencies"]) if versions == "lowest" else []
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    elsewhere = tmp_path / "empty"
    elsewhere.mkdir()

    # With the core requirements alone first: nothing that users import may need an extra.
    run(python, "-m", "pip", "install", "--quiet", wheel, *pins, cwd=elsewhere)
    where = run(python, "-c", "import couler; print(couler.__file__)", cwd=elsewhere)
    assert Path(where.strip()).is_relative_to(tmp_path / "venv")
    run(python, "-c", "import couler.ir, couler.optimizers, couler.backends", cwd=elsewhere)
    run(python, "-c", "from couler import *", cwd=elsewhere)

    if versions == "lowest":  # the other major version of the SDK that can be installed
        pins += lowest(extras["llm"])
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[test]", *pins, cwd=elsewhere)
    with tarfile.open(sdist) as archive:
        # An attribute and not an argument: Python before 3.11.4 has no filters.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(tmp_path / "source")
    [source] = (tmp_path / "source").iterdir()
    printed = run(
        python,
        "-m",
        "pytest",
        "-c",
        source / "pyproject.toml",
        "-m",
        "not (airflow or checkout or slow)",
        "-n2",
        "--dist=worksteal",
        *(source / "tests" / name for name in tests),
        *(f"--ignore={source / 'tests' / name}" for name in BESIDES),
        cwd=elsewhere,
    )
    assert re.search(r"\d+ passed", printed)

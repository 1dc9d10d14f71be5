"""What passes make of a workflow, side by side: tests/golden/passes/NAME.md, one for each pass.

A file says how the pass is called and has the workflow before it; `make goldens` writes the
workflow after it and the reason that the pass gives. Neither a new pass nor its golden changes
this file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.ir.serialize import read_yaml, write_yaml
from couler.optimizers.pipeline import Pipeline, read_pass
from tests.support.installed_passes import GOLDENS, own_passes
from tests.support.sample_cluster import sample_cluster
from tests.support.sample_outcome import sample_outcome

FOLDER = GOLDENS
_FILE = re.compile(r"# (?P<pass>.*?)\n.*?```yaml\n(?P<before>.*?)```\n", flags=re.DOTALL)


@pytest.mark.golden
@pytest.mark.parametrize("name", own_passes())
def test_golden(name: str, golden: Callable[[Path, str], None]) -> None:
    path = FOLDER / f"{name}.md"
    match = _FILE.match(path.read_text(encoding="utf-8"))
    assert match is not None, f"{path} is to begin with the pass and a workflow as YAML"
    pass_ = read_pass(match["pass"])
    assert pass_.name == name
    before = read_yaml(match["before"], file=path.name)
    assert write_yaml(before) == match["before"], "the workflow is written as Couler writes it"
    planned, log = Pipeline((pass_,)).run(before, cluster=sample_cluster, tuned=sample_outcome)
    reason = log.records[0].reason
    sources = "".join(
        f"- `{path}` comes from {', '.join(f'`{one}`' for one in sources)}\n"
        for path, sources in log.records[0].sources.items()
        if sources != (path,)
    )
    after = "The same.\n" if planned is before else f"```yaml\n{write_yaml(planned)}```\n"
    text = f"{match[0]}\n## After\n\n{reason}\n{sources and chr(10)}{sources}\n{after}"
    golden(path, text)


def test_every_golden_has_its_pass() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(own_passes())


@pytest.mark.checkout
def test_every_pass_of_the_project_is_installed() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert own_passes() == sorted(project["project"]["entry-points"]["couler.passes"])

"""Results in Python are asked for by the steps of the program, whatever passes made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler import stages
from couler.backends.base import RunOptions
from couler.ir.policies import Cache
from couler.ir.workflow import Workflow
from tests.corpus.build import flow, ref, sh

BOTH = ("merge-common-steps", "roll-loops")


def options(tmp_path: Path) -> RunOptions:
    return RunOptions(home=tmp_path / "home", jobs=2)


def sales() -> Workflow:
    loads = [sh(name, "echo rows", cache=Cache()) for name in ("load", "again")]
    both = sh("both", "true", ref("load"), ref("again"), result=None)
    copies = [sh(f"copy-{n}", '[ "$1" != 1 ]', str(n), result=None) for n in range(3)]
    return flow("sales", *loads, both, *copies)


def test_a_retry_of_another_workflow_has_its_paths(tmp_path: Path) -> None:
    first = stages.run(sales(), options=options(tmp_path), passes=BOTH)
    second = stages.retry(first.run_id, workflow=sales(), options=options(tmp_path))
    assert not second.source_map
    assert second.steps["copy-1"].status == "failed"
    with pytest.raises(KeyError):
        second.steps["copy[1]"]

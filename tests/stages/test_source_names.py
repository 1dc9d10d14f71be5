"""Results in Python are asked for by the steps of the program, whatever passes made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler import stages
from couler.backends.base import RunOptions
from couler.ir.policies import Cache
from couler.ir.source_map import NO_CHANGE
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


def test_results_are_found_by_the_paths_of_the_program(tmp_path: Path) -> None:
    result = stages.run(sales(), options=options(tmp_path), passes=BOTH)
    assert set(result.steps) == {"load", "both", "copy", *(f"copy[{n}]" for n in range(3))}
    assert result.steps["again"] == result.steps["load"]
    assert result.steps["again"].outputs == {"result": "rows"}
    states = [result.steps[f"copy-{n}"].status for n in range(3)]
    assert states == ["succeeded", "failed", "succeeded"]
    assert result.steps["copy-1"].exit_code == 1
    assert "again" in result.steps
    assert "copy-3" not in result.steps
    with pytest.raises(KeyError, match="nothing"):
        result.steps["nothing"]
    assert dict(result.steps)["copy"].status == "failed"
    assert len(result.steps) == 6


def test_a_retry_begins_at_a_step_of_the_program(tmp_path: Path) -> None:
    first = stages.run(sales(), options=options(tmp_path), passes=BOTH)
    planned = stages.plan_retry(first.run_id, options=options(tmp_path), from_step="again")
    assert {step.path: step.verdict for step in planned}["load"] == "runs"
    second = stages.retry(first.run_id, options=options(tmp_path), from_step="copy-0")
    assert second.source_map == first.source_map != NO_CHANGE
    assert {path: one.attempts for path, one in second.steps.items() if "copy[" in path} == {
        "copy[0]": 2,
        "copy[1]": 2,
        "copy[2]": 1,
    }
    assert second.steps["again"].reused


def test_a_retry_of_another_workflow_has_its_paths(tmp_path: Path) -> None:
    first = stages.run(sales(), options=options(tmp_path), passes=BOTH)
    second = stages.retry(first.run_id, workflow=sales(), options=options(tmp_path))
    assert not second.source_map
    assert second.steps["copy-1"].status == "failed"
    with pytest.raises(KeyError):
        second.steps["copy[1]"]


def test_without_such_passes_results_are_as_they_were(tmp_path: Path) -> None:
    result = stages.run(sales(), options=options(tmp_path))
    assert result.source_map is NO_CHANGE
    assert type(result.steps) is dict


def test_who_only_compiles_does_not_pay_for_it() -> None:
    planned = stages.plan(sales(), engine="argo", passes=BOTH)
    stages.compile(planned, "argo")
    assert "source_map" not in vars(planned)
    assert planned.source_map

"""The jobs of the step zoo compile for Airflow."""

from __future__ import annotations

import typing as t

import pytest

import couler
from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.stages.checks import check_engine
from couler.steps import katib, mpi, pytorch, tensorflow, trainer
from couler.steps.registry import ZooStep

STEPS = (pytorch.train, tensorflow.train, mpi.train, trainer.train, katib.run)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name)
def test_the_example_of_a_job(step: ZooStep[t.Any, t.Any]) -> None:
    found: dict[str, t.Any] = {}
    exec(step.example, found)
    [made] = [one for one in found.values() if isinstance(one, couler.Workflow)]
    workflow, backend = resolve_defaults(made.to_ir()), AirflowBackend()
    assert check_engine(workflow, backend, Target()) == ()
    text = backend.compile(workflow, Target()).to_text()
    compile(text, "dag.py", "exec")
    assert "python_callable=run_resource" in text
    assert '"failure": [' in text
    assert ").as_teardown()" in text, "it belongs to the run"

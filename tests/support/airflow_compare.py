"""One workflow under Airflow and on this machine."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from couler.backends.airflow import AirflowBackend
from couler.backends.base import RunOptions, Target
from couler.backends.local import LocalBackend
from couler.ir.defaults import resolve_defaults
from couler.ir.workflow import Workflow
from couler.stages.checks import check_engine
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_runs import LIMIT_S, AirflowRun, Worker

_BACKEND = AirflowBackend()


def assert_same_outcome(
    workflow: Workflow,
    airflow: Worker,
    cluster: FakeCluster | None,
    folder: Path,
    *,
    limit_s: float = LIMIT_S,
) -> AirflowRun:
    """Return a run of Airflow, which gave the statuses and outputs that this machine gives.

    Without a cluster the commands of pods are run as processes, in less time.
    """
    workflow = resolve_defaults(workflow)
    assert check_engine(workflow, _BACKEND, Target()) == ()
    here = LocalBackend().run(workflow, options=RunOptions(home=folder / "home", jobs=4))
    text = _BACKEND.compile(workflow, Target()).to_text()
    has_pods = cluster is not None
    done = airflow.run(text, workflow.name, cluster=cluster, has_pods=has_pods, limit_s=limit_s)
    there = AirflowOutcome(workflow, done.state, done.states, done.xcoms)
    wanted_states = {path: step.status for path, step in here.steps.items()}
    assert without_failed_conditions(there.states, wanted_states) == wanted_states, done.log
    assert there.status == here.status, done.log
    wanted = {path: _as_json(step.outputs) for path, step in here.steps.items() if step.outputs}
    wanted = {path: outputs for path, outputs in wanted.items() if path not in there.inlined}
    found = {path: _as_json(there.outputs.get(path, {})) for path in wanted}
    assert found == wanted, done.log
    assert _as_json(there.run_outputs) == _as_json(here.outputs), done.log
    return done


def without_failed_conditions(there: Mapping[str, str], here: Mapping[str, str]) -> object:
    """Return states without those of rounds that are none.

    Where the condition of a loop cannot be evaluated, Airflow fails the task of the next round.
    """
    return {
        path: state
        for path, state in there.items()
        if path in here or not re.search("@[1-9][0-9]*$", path) or state != "failed"
    }


def _as_json(values: object) -> object:
    return json.loads(json.dumps(values))

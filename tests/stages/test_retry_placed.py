"""A run elsewhere is taken up after its machines have changed: only what runs is placed anew."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from couler.cluster.model import Cluster, Gpus
from couler.errors import InvalidWorkflowError
from couler.ir.policies import Gpu, Resources
from couler.ir.serialize import write_json
from couler.ir.values import Literal
from couler.ir.workflow import Container, Foreach, Step, Workflow
from couler.stages import plan
from couler.stages.submitting import prepare_restart
from couler.state import Database, Journal, begin_session, create_run, find_run, open_database
from couler.state.records import RunRecord, StepStatus
from tests.state.samples import NOON, RUN, STEP
from tests.support.placement import machine

BEFORE = Cluster((machine("c1", "cpu"), machine("g1", "gpu", gpus=Gpus("a100"))))
AFTER = Cluster((machine("c1", "cpu"), machine("n1", "new")))
WITH_GPU = Resources(gpu=Gpu(count=1))


def step(name: str, *after: str, **fields: object) -> Step:
    action = Container(image="busybox", command=("true",))
    return Step.model_validate({"name": name, "action": action, "depends_on": after, **fields})


ITEMS = Foreach(over={"item": Literal(value=(1, 2))})
WORKFLOW = Workflow(
    name="train",
    steps=(
        step("fit", resources=WITH_GPU),
        step("each", "fit", foreach=ITEMS),
        step("tell", "each"),
    ),
)


def record(database: Database, ends: dict[str, StepStatus]) -> RunRecord:
    """Record a run that was placed on the machines of before, and has failed."""
    ran = plan(WORKFLOW, engine="argo", passes=["place"], cluster=BEFORE).workflow
    run = replace(
        RUN,
        id="r1",
        engine="argo",
        workflow_digest="0" * 64,
        status="failed",
        target={"name": None, "fields": {}, "target": {}},
        place={"name": "r1"},
        parameters={},
        logical_date=None,
    )
    create_run(database, run, write_json(ran))
    session = begin_session(database, "r1", pid=1, host="h", started=NOON)
    with Journal(database, "r1", session) as journal:
        for ordinal, (path, status) in enumerate(ends.items()):
            end = NOON + timedelta(seconds=ordinal)
            made = replace(
                STEP, path=path, name=path.partition("[")[0], status=status, finished=end
            )
            journal.step_ended(
                replace(made, outputs={}, ordinal=ordinal, session=session, item=None)
            )
        journal.run_updated(status="failed", finished=NOON)
        journal.flush()
    return find_run(database, "r1")


def test_what_keeps_its_end_needs_no_machine_that_is_left() -> None:
    with open_database("sqlite://") as database:
        run = record(
            database,
            {"fit": "succeeded", "each[0]": "succeeded", "each[1]": "failed", "each": "failed"},
        )
        with pytest.raises(InvalidWorkflowError, match="no machine can run"):
            plan(WORKFLOW, engine="argo", passes=["place"], cluster=AFTER)
        prepared = prepare_restart(
            run, database=database, workflow=WORKFLOW, passes=["place"], cluster=AFTER
        )
        verdicts = {one.path: one.verdict for one in prepared.plan.steps}
        assert verdicts == {
            "fit": "reused",
            "each[0]": "reused",
            "each[1]": "runs",
            "tell": "runs",
        }
        fit, each, tell = prepared.workflow.steps
        assert fit.placement is None
        for one in (each, tell):
            assert one.placement is not None
            assert one.placement.node_selector["couler.io/group"] in ("cpu", "new")
        with pytest.raises(InvalidWorkflowError, match="no machine can run"):
            prepare_restart(
                *(run,),
                database=database,
                workflow=WORKFLOW,
                passes=["place"],
                cluster=AFTER,
                from_step="fit",
            )

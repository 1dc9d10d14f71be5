"""What runs after any end runs after all ends, also where a failure has cut steps off early."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.storage import Mount, NewClaimVolume
from couler.ir.workflow import ExitHandler, Step, Workflow
from couler.stages.checks import check_engine
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    on_completion,
    on_failure,
    or_else,
    param,
    ref,
    sh,
)
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

BACKEND = AirflowBackend()


def chain(count: int, script: str = "true") -> list[Step]:
    """Steps one after another, the last of which does something."""
    names = [f"b{number}" for number in range(1, count + 1)]
    return [
        sh(name, script if name == names[-1] else "true", depends_on=before)
        for name, before in zip(names, ([], *([one] for one in names)), strict=False)
    ]


def handler(*steps: Step, on: str = "failure") -> ExitHandler:
    return ExitHandler.model_validate({"name": "end", "on": on, "steps": steps})


WORKFLOWS = (
    flow(
        "handler-after-a-long-branch",
        sh("a", "exit 1"),
        *chain(8, "echo 7"),
        sh("join", "true", depends_on=["a", "b8"]),
        exit_handlers=[handler(sh("tell", "echo $1", or_else(ref("b8"), "none")))],
    ),
    flow(
        "completion-after-a-long-branch",
        sh("a", "exit 1"),
        *chain(8, "echo 7"),
        sh("join", "true", depends_on=["a", "b8"]),
        sh("clean", "echo $1", or_else(ref("b8"), "none"), depends_on=[on_completion("join")]),
        exit_handlers=[handler(sh("never", "true"))],
    ),
    flow(
        "completion-of-a-group",
        group(
            "work",
            sh("a", "exit 1"),
            *chain(8, "echo 7"),
            sh("join", "true", depends_on=["a", "b8"]),
            sh("next", "true", depends_on=["join"]),
        ),
        sh("clean", "true", depends_on=[on_completion("work")]),
    ),
    flow(
        "skipped-after-what-hides-a-failure",
        sh("a", "exit 1"),
        sh("below", "true", depends_on=["a"]),
        sh("rescue", "true", depends_on=[on_failure("below")]),
        *chain(8),
        sh("join", "echo 1", depends_on=["rescue", "b8"], result="int"),
        sh(
            "never",
            "true",
            depends_on=[on_completion("join")],
            when=compare(or_else(ref("join"), 0), "==", 2),
        ),
    ),
    flow(
        "group-skipped-after-what-hides-a-failure",
        sh("a", "exit 1"),
        sh("b", "echo 1", result="int"),
        sh("rescue", "echo $1", ref("b"), depends_on=[on_failure("a")], result="int"),
        group(
            "never",
            sh("c", "true"),
            sh("d", "true", depends_on=[on_completion("c")]),
            when=compare(or_else(ref("rescue"), 0), "==", 2),
        ),
    ),
    flow(
        "completion-of-items",
        group(
            "each",
            sh("work", "test $1 = 2", param("n")),
            *chain(8),
            sh("join", "true", depends_on=["work", "b8"]),
            inputs=[given("n", item(), "int")],
            foreach=[1, 2],
        ),
        sh("clean", "true", depends_on=[on_completion("each")]),
        exit_handlers=[handler(sh("tell", "true"))],
    ),
)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda one: one.name)
def test_outcome(workflow: Workflow, airflow: Worker, cluster: FakeCluster, tmp_path: Path) -> None:
    done = assert_same_outcome(workflow, airflow, cluster, tmp_path)
    order = [pod.labels["task_id"].rpartition(".")[2] for pod in done.pods]
    last = [name for name in ("clean", "tell") if name in order]
    assert order[len(order) - len(last) :] == last, order


def test_claims_are_deleted_after_all_steps(airflow: Worker, cluster: FakeCluster) -> None:
    mounted = {"mounts": [Mount(volume="work", path="/w")]}
    workflow = flow(
        "claims",
        sh("a", "exit 1", **mounted),
        *chain(8),
        sh("join", "true", depends_on=["a", "b8"]),
        volumes=[NewClaimVolume(name="work", size="1Gi")],
    )
    assert check_engine(workflow, BACKEND, Target()) == ()
    text = BACKEND.compile(workflow, Target()).to_text()
    done = airflow.run(text, "claims", cluster=cluster)
    assert done.state == "failed"
    assert done.states["delete-claims", -1] == "success", done.log
    assert done.log.index("end task task_id=b8 ") < done.log.index(
        "starting task_id=delete-claims "
    )

"""Steps called as tasks of the compiler's own: the outcome is that of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.ir.workflow import ExitHandler, Workflow
from tests.corpus.build import (
    flow,
    given,
    group,
    item,
    on_completion,
    on_failure,
    out,
    param,
    py,
    ref,
    run,
    sh,
)
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

HANDLER = ExitHandler(name="h", on="any", steps=(sh("x", "true"),))

WORKFLOWS = (
    flow(
        "failure-of-a-step-called-needs",
        sh("check-needs", "exit 1"),
        sh("a", "true"),
        sh("b", "true", depends_on=[on_completion("a")]),
    ),
    flow(
        "beside-the-gate-of-another",
        sh("a", "true"),
        sh("b", "true", depends_on=[on_completion("a")]),
        sh("b-needs", "exit 1", depends_on=["a"]),
        sh("end", "true", depends_on=["b"]),
    ),
    flow(
        "gate-with-another-name-fails",
        sh("bad", "exit 1"),
        sh("a", "true", depends_on=["bad"]),
        group(
            "g",
            sh("b-needs", "true"),
            sh("c", "exit 1"),
            sh("d", "true", depends_on=["c"]),
            sh("b", "true", depends_on=[on_completion("b-needs"), on_failure("d")]),
            sh("e", "true", depends_on=[on_failure("c")]),
        ),
        sh("r", "true", depends_on=[on_failure("g")]),
    ),
    flow(
        "failure-inside-of-a-step-called-needs",
        sh("a", "exit 1"),
        group(
            "g",
            sh("w-needs", "exit 1"),
            sh("p", "true"),
            sh("q", "true", depends_on=[on_completion("p")]),
        ),
        sh("z", "true", depends_on=[on_failure("g")]),
    ),
    flow(
        "number-behind-a-name",
        sh("train_1", "exit 1"),
        sh("fix", "true", depends_on=[on_failure("train_1")]),
        sh("train", "true"),
    ),
    flow(
        "number-behind-an-omitted-name",
        sh("bad", "exit 1"),
        sh("a", "true", depends_on=["bad"]),
        sh("a_1", "exit 1"),
        sh("r", "true", depends_on=[on_failure("a")]),
    ),
    flow(
        "name-of-an-item",
        sh("a", "test $1 != 1", item(), foreach=[0, 1], result=None),
        sh("a_1", "true"),
        exit_handlers=[HANDLER],
    ),
    flow(
        "names-of-items-of-items",
        sh("list", "echo '[0, 1]'", result="list"),
        sh("none", "echo '[]'", result="list"),
        sh("a", "test $1 != 1", item(), foreach=ref("list"), result=None),
        sh("a_1", "true", item(), foreach=ref("none"), result=None),
        sh("fix", "true", depends_on=[on_failure("a")]),
        sh("never", "true", depends_on=[on_failure("a_1")]),
    ),
    flow(
        "name-of-an-item-inside",
        group(
            "g",
            sh("w", "test $1 = 1", param("n")),
            sh("w_1", "true"),
            sh("f", "true", depends_on=[on_failure("w")]),
            inputs=[given("n", item(), "int")],
            foreach=[0, 1],
        ),
    ),
    flow(
        "maker-of-items-fails",
        sh("list", "echo no", result="json"),
        sh("a-items", "true"),
        sh("a", "true", item(), foreach=ref("list"), result=None),
        sh("fix", "true", depends_on=[on_failure("a")]),
    ),
    flow(
        "tasks-of-the-run",
        sh("run-status", "echo 1"),
        sh("run-outputs", "echo 2"),
        sh("exit-h", "true"),
        py("leaves", "print(1)"),
        outputs=[out("o", source=ref("run-outputs"))],
        exit_handlers=[
            ExitHandler(name="h", on="any", steps=(sh("when", "echo $1", run("status")),)),
            ExitHandler(name="never", on="failure", steps=(sh("x", "true"),)),
        ],
    ),
)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda one: one.name)
def test_outcome(workflow: Workflow, airflow: Worker, cluster: FakeCluster, tmp_path: Path) -> None:
    assert_same_outcome(workflow, airflow, cluster, tmp_path)

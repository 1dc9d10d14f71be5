"""Outputs of a workflow are evaluated as on this machine, before the exit handlers.

These run if the run has begun.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.storage import ConfigKey
from couler.ir.workflow import ExitHandler, Parameter, Step, Workflow
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    on_failure,
    or_else,
    out,
    param,
    part,
    ref,
    run,
    sh,
    text,
    while_,
)
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

LONG = "head -c 40000 /dev/zero | tr '\\0' x"
NEVER = compare("a", "==", "b")


def handlers(*more: Step) -> list[ExitHandler]:
    """Handlers of any end, which tell the status of the run, and those of one."""
    tell = sh("tell", "echo $1", run("status"))
    return [
        ExitHandler(name="any", on="any", steps=(tell, *more)),
        ExitHandler(name="bad", on="failure", steps=(sh("x", "echo bad"),)),
        ExitHandler(name="good", on="success", steps=(sh("x", "echo good"),)),
    ]


BEFORE_HANDLERS = (
    flow(
        "output-without-a-part",
        sh("slow", "sleep 0.1"),
        sh("a", "echo '{}'"),
        outputs=[out("o", "str", source=part(ref("a"), "k"))],
        exit_handlers=handlers(sh("read", "echo $1", or_else(ref("a"), "none"))),
    ),
    flow(
        "output-after-a-handled-failure",
        sh("a", "exit 1"),
        sh("fix", "echo 1", depends_on=[on_failure("a")]),
        outputs=[out("o", "str", source=part(or_else(ref("fix"), "[]"), "k"))],
        exit_handlers=handlers(),
    ),
    flow(
        "output-of-a-failed-run",
        sh("a", "exit 1"),
        sh("b", "echo '{}'", depends_on=["a"]),
        outputs=[out("o", "str", source=part(ref("b"), "k"))],
        exit_handlers=handlers(),
    ),
    flow(
        "output-too-large",
        sh("a", LONG),
        outputs=[out("o", "str", source=text(ref("a"), ref("a")), default="d")],
        exit_handlers=handlers(),
    ),
    flow(
        "output-list-of-no-numbers",
        sh("each", "echo $1x", item(), result="int", foreach=[1, 2]),
        outputs=[out("o", "list", source=ref("each"))],
        exit_handlers=handlers(),
    ),
    flow(
        "output-that-is-well",
        sh("a", "echo '{\"k\": 1}'"),
        outputs=[out("o", "str", source=part(ref("a"), "k"))],
        exit_handlers=handlers(),
    ),
    flow(
        "output-of-a-run-that-a-handler-fails",
        sh("a", "echo '{\"k\": 1}'"),
        outputs=[out("o", "str", source=part(ref("a"), "k"))],
        exit_handlers=handlers(sh("no", "exit 1")),
    ),
)

DEFAULTS = flow(
    "defaults-of-outputs",
    group(
        "g",
        sh("a", "true"),
        sh("b", "echo b", when=compare(param("p"), "==", "q")),
        inputs=[given("p", param("x"))],
        outputs=[out("o", "str", source=or_else(ref("b"), "of the group"))],
        when=NEVER,
    ),
    sh("each", "echo $1", item(), foreach=[1, 2], when=NEVER),
    group(
        "items",
        sh("y", "echo $1", param("p")),
        inputs=[given("p", item(), "int")],
        outputs=[out("o", "str", source=ref("y"))],
        foreach=[1, 2],
        when=NEVER,
    ),
    sh("loop", "echo 1", loop=while_(compare(last(), "==", "q"), 3), when=NEVER),
    parameters=[Parameter(name="x", default="z")],
    outputs=[
        out("g", "str", source=ref("g", "o"), default="d"),
        out("each", "list", source=ref("each"), default=["d"]),
        out("items", "list", source=ref("items", "o"), default=["d"]),
        out("loop", "str", source=ref("loop"), default="d"),
    ],
)

NO_NUMBERS = flow(
    "outputs-that-are-no-numbers",
    sh("a", "echo abc", result="int"),
    sh("b", "echo 1", result="float"),
    sh("c", "echo '{'", result="json"),
    outputs=[
        out("a", "int", source=ref("a")),
        out("b", "float", source=ref("b")),
        out("c", "json", source=ref("c")),
        out("d", "int", source=text("x", ref("a"))),
    ],
)


@pytest.mark.parametrize(
    "workflow", [*BEFORE_HANDLERS, DEFAULTS, NO_NUMBERS], ids=lambda one: one.name
)
def test_outcome(workflow: Workflow, airflow: Worker, tmp_path: Path) -> None:
    assert_same_outcome(workflow, airflow, None, tmp_path)


def test_a_run_without_a_value_of_a_parameter_has_no_handlers(
    airflow: Worker, cluster: FakeCluster
) -> None:
    workflow = flow(
        "no-value",
        sh("a", "echo $1", param("x")),
        parameters=[Parameter(name="x", config=ConfigKey(config_map="settings", key="x"))],
        exit_handlers=handlers(sh("read", "echo $1", param("x"))),
    )
    text_ = AirflowBackend().compile(workflow, Target()).to_text()
    cluster.config_map("settings", {})
    none = airflow.run(text_, "no-value", cluster=cluster)
    assert none.state == "failed"
    assert not none.pods, none.log
    assert {none.states[f"exit-{name}.when", -1] for name in ("any", "bad", "good")} == {"skipped"}
    given_ = airflow.run(text_, "no-value", cluster=cluster, conf={"x": "1"})
    assert given_.state == "success", given_.log
    assert [given_.states[f"exit-{name}.when", -1] for name in ("any", "bad", "good")] == [
        "success",
        "skipped",
        "success",
    ]

"""Groups and loops that are mapped over a list of the run end as on this machine, item by item."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.ir.defaults import resolve_defaults
from couler.ir.values import Value
from couler.ir.workflow import Step, Workflow
from couler.stages.checks import check_engine
from tests.corpus import Case
from tests.corpus.build import (
    Expected,
    compare,
    flow,
    given,
    group,
    item,
    last,
    on_completion,
    on_failure,
    or_else,
    out,
    param,
    ref,
    sh,
    while_,
)
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support import airflow_table
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_runs import Worker
from tests.support.airflow_target import with_files
from tests.support.local_runs import run_here

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

BACKEND = AirflowBackend()
TARGET = with_files()


def pairs(**fields: t.Any) -> Step:
    """Two steps for each item; the second fails for 2 and is skipped for 1."""
    return group(
        "each",
        sh("double", "echo $(($1 * 2))", param("n"), result="int"),
        sh("odd", 'test "$1" != 2', param("n"), when=compare(param("n"), "!=", 1)),
        inputs=[given("n", item(), "int")],
        outputs=[
            out("double", "int", source=ref("double")),
            out("odd", source=ref("odd"), default=""),
        ],
        foreach=ref("list"),
        **fields,
    )


def numbers() -> Step:
    return sh("list", "echo '[1, 2, 3]'", result="list")


def total(**fields: t.Any) -> Step:
    return sh("total", 'echo "$1"', or_else(ref("each", "double"), "none"), **fields)


COUNT = sh(
    "count",
    'test "$2" != 2 && echo $(($1 + $2))',
    last(initial=0),
    item(),
    result="int",
    foreach=ref("list"),
    loop=while_(compare(last(), "<", 3), max_iterations=4),
)


def each(*steps: Step, said: Value) -> Step:
    """For each item a first step, which fails for 2, and others."""
    return group(
        "each",
        sh("first", "test $1 != 2 && echo $1", param("n")),
        *steps,
        inputs=[given("n", item(), "int")],
        outputs=[out("said", source=said)],
        foreach=ref("list"),
    )


CONDITION = group(
    "large",
    sh("say", "echo large $1", param("m")),
    inputs=[given("m", param("n"), "int")],
    outputs=[out("said", source=ref("say"))],
    when=compare(param("n"), ">", 1),
    depends_on=["first"],
)
ROUNDS = group(
    "grow",
    sh("add", "echo $(($1 + $2))", param("was"), param("step"), result="int"),
    sh("keep", 'echo "$1"', ref("add"), result="int"),
    inputs=[given("was", last(initial=0), "int"), given("step", param("n"), "int")],
    outputs=[out("result", "int", source=ref("keep"))],
    loop=while_(compare(last(), "<", 3), max_iterations=4),
    depends_on=["first"],
)
TELL = sh("tell", 'echo "$1"', or_else(ref("large", "said"), "small"))
RESCUE = sh("rescue", "true", depends_on=[on_failure("each")])
FLOWS = [
    flow("condition-in-items", numbers(), each(CONDITION, TELL, said=ref("tell")), RESCUE),
    flow("rounds-in-items", numbers(), each(ROUNDS, said=ref("grow")), RESCUE),
    flow("item-fails", numbers(), pairs(), total(depends_on=(on_completion("each"),))),
    flow("no-items", numbers(), pairs(when=compare(ref("list"), "==", "no")), total()),
    flow("loop-fails", numbers(), COUNT, sh("after", 'echo "$1"', ref("count"))),
]


@pytest.mark.parametrize("workflow", FLOWS, ids=lambda one: one.name)
def test_outcome(workflow: Workflow, airflow: Worker, cluster: FakeCluster, tmp_path: Path) -> None:
    resolved = resolve_defaults(workflow)
    assert check_engine(resolved, BACKEND, TARGET) == ()
    text = BACKEND.compile(resolved, TARGET).to_text()
    run = airflow.run(text, workflow.name, cluster=cluster, conf={})
    found = AirflowOutcome(resolved, run.state, run.states, run.xcoms)
    case = Case(workflow.name, workflow, Expected("succeeded"), {}, {}, {}, {})
    here = run_here(case, tmp_path / "here")
    assert airflow_table.compare(case, here, found).airflow == "equal", run.log

"""Inputs and outputs of groups are evaluated, whoever reads them: as on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.ir.policies import Foreach
from couler.ir.values import Literal, Template
from couler.ir.workflow import ExitHandler, Output, Step, Suspend, Workflow
from tests.corpus.build import (
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
    part,
    ref,
    sh,
    text,
    while_,
)
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

LONG = "head -c 40000 /dev/zero | tr '\\0' x"


def twice(step: str) -> Template:
    """What a step gave, twice."""
    return Template(parts=(ref(step), ref(step)))


def no_part(name: str, *more: Step, **fields: object) -> Step:
    """A group with an output that cannot be evaluated."""
    outputs = [out("x", "str", source=part(ref("a"), "k"))]
    return group(name, sh("a", "echo '{}'"), *more, outputs=outputs, **fields)


OUTPUTS = flow(
    "outputs-of-groups",
    no_part("unread"),
    sh("below", "true", depends_on=["unread"]),
    no_part("handled"),
    sh("handle", "true", depends_on=[on_failure("handled")]),
    no_part("read"),
    sh("read-it", "echo $1", or_else(ref("read", "x"), "d"), depends_on=[on_completion("read")]),
    no_part("bad", sh("b", "exit 1")),
    sh("read-bad", "echo $1", or_else(ref("bad", "x"), "d"), depends_on=[on_completion("bad")]),
    group(
        "other",
        sh("a", "echo '{}'"),
        sh("never", "echo", when=compare(1, "==", 2)),
        outputs=[out("x", "str", source=or_else(ref("never"), part(ref("a"), "k")))],
    ),
    group("around", no_part("inner"), outputs=[out("x", "str", source=ref("inner", "x"))]),
    group("large", sh("a", LONG), outputs=[out("x", "str", source=twice("a"))]),
    group(
        "large-item",
        sh("a", LONG),
        inputs=[given("i", item(), "int")],
        foreach=[1],
        outputs=[out("x", "str", source=twice("a"))],
    ),
    group("well", sh("a", "echo '{\"k\": 1}'"), outputs=[out("x", source=part(ref("a"), "k"))]),
    sh("read-well", "echo $1", ref("well", "x")),
    sh("no-number", "echo x; test $1 = 1", item(), foreach=[1, 2], result="int"),
    exit_handlers=[
        ExitHandler(
            name="h",
            on="any",
            steps=(
                sh("x", "echo $1", or_else(ref("unread", "x"), "d")),
                sh("y", "echo $1", or_else(ref("no-number"), [7])),
            ),
        )
    ],
)

INPUTS = flow(
    "inputs-of-groups",
    sh("a", "echo '{}'"),
    group("unread", sh("b", "true"), inputs=[given("v", part(ref("a"), "k"))]),
    sh("handle", "true", depends_on=[on_failure("unread")]),
    group(
        "skipped",
        sh("b", "echo $1", param("v"), when=compare(1, "==", 2)),
        inputs=[given("v", part(ref("a"), "k"))],
    ),
    group(
        "not-run",
        sh("b", "true"),
        inputs=[given("v", part(ref("a"), "k"))],
        when=compare(1, "==", 2),
    ),
    sh("list", "echo '[{\"k\": 1}, {}]'", result="list"),
    group(
        "items",
        sh("b", "echo 1"),
        inputs=[given("v", part(item(), "k"))],
        foreach=ref("list"),
        outputs=[out("x", source=ref("b"))],
    ),
    group(
        "known",
        sh("b", "echo 1"),
        inputs=[given("v", part(item(), "k"))],
        foreach=[{"k": 1}, {}],
    ),
    group(
        "row",
        sh("b", "echo $1", param("w")),
        inputs=[given("w", part(ref("list"), 0, "k"))],
    ),
    group(
        "nested",
        group(
            "inner",
            sh("b", "echo $1", param("w")),
            inputs=[given("w", part(param("v"), "k"))],
            outputs=[out("x", source=text(ref("b"), "!"))],
        ),
        sh("c", "echo $1", or_else(ref("inner", "x"), "d"), depends_on=[on_completion("inner")]),
        inputs=[given("v", item(), "json")],
        foreach=ref("list"),
        outputs=[out("y", source=text(ref("c"), "?"))],
    ),
    sh("read-nested", "echo $1", ref("nested", "y")),
    group(
        "rounds",
        sh("b", "echo '{\"k\": 1}'"),
        inputs=[given("v", part(last("x", initial={"k": {"k": 2}}), "k", "k"))],
        outputs=[out("x", "json", source=ref("b"))],
        loop=while_(compare(1, "==", 1), 4),
    ),
)

LARGE = flow("large-output-of-run", sh("a", LONG), outputs=[out("x", "str", source=twice("a"))])

PAUSES = flow(
    "pauses-with-defaults",
    Step(
        name="p",
        action=Suspend(seconds=1),
        foreach=Foreach(over={"item": Literal(value=(1, 2))}),
        outputs=(Output(name="x", default="{{ d }}"), Output(name="n", type="int", default=3)),
    ),
    sh("r", "echo $1 $2", ref("p", "x"), ref("p", "n")),
)


@pytest.mark.parametrize("workflow", [OUTPUTS, INPUTS, LARGE, PAUSES], ids=lambda one: one.name)
def test_what_a_group_must_evaluate(
    workflow: Workflow, airflow: Worker, cluster: FakeCluster, tmp_path: Path
) -> None:
    assert_same_outcome(workflow, airflow, cluster, tmp_path)

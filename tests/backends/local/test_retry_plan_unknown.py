"""Plans of what comes after something that runs: what is known is used, what is not is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.ir.workflow import Workflow
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    last,
    out,
    param,
    ref,
    sh,
    while_,
)
from tests.support.retry_plans import (
    another,
    fill,
    kept,
    retry_as_planned,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_a_round_after_one_that_is_not_reused_runs(home: Path) -> None:
    body = group(
        "g",
        kept("x", "echo $(($1 + 1))", param("n"), result="int"),
        sh("y", "echo $1", ref("x"), result="int"),
        inputs=[given("n", last("n", initial=0), "int")],
        outputs=[out("n", "int", source=ref("x"))],
        loop=while_(compare(last("n"), "<", 2)),
    )
    workflow = flow("w", body)
    fill(workflow, home)
    told = retry_as_planned(another(home), workflow, home)
    assert told.verdicts == {"g@0/x": "cached", "g@0/y": "runs", "g@1/x": "cached", "g@1/y": "runs"}


def test_a_loop_whose_rounds_nobody_can_count_yet(home: Path) -> None:
    def workflow(bound: int) -> Workflow:
        inner = kept(
            "x",
            "echo $(($1 + 1))",
            last(initial=0),
            result="int",
            loop=while_(compare(last(), "<", param("bound"))),
        )
        body = group(
            "g",
            inner,
            inputs=[given("bound", ref("a"), "int")],
            outputs=[out("n", "int", source=ref("x"))],
        )
        return flow(
            "w", sh("a", f"echo {bound}", result="int"), body, kept("z", "true", ref("g", "n"))
        )

    first = fill(workflow(2), home)
    told = retry_as_planned(first, workflow(3), home)
    assert told.verdicts == {"a": "runs", "g/x@0": "cached", "g/x": "runs", "z": "runs"}
    assert [told.result.steps[f"g/x@{n}"].status for n in range(3)] == [
        "cached",
        "cached",
        "succeeded",
    ]

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
    UNKNOWN_INPUTS,
    another,
    fill,
    kept,
    retry_as_planned,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_groups_hand_on_what_is_known(home: Path) -> None:
    def workflow(said: str) -> Workflow:
        inner = group(
            "g",
            kept("fixed", "echo 1"),
            kept("read", "echo $1", param("old")),
            kept("open", "echo $1", param("new")),
            inputs=[given("old", ref("b")), given("new", ref("a"))],
            outputs=[out("known", source=ref("fixed")), out("unknown", source=ref("open"))],
        )
        return flow(
            "w",
            sh("a", f"echo {said}"),
            kept("b", "echo 7"),
            inner,
            kept("known", "echo $1", ref("g", "known")),
            kept("unknown", "echo $1", ref("g", "unknown")),
        )

    told = retry_as_planned(fill(workflow("1"), home), workflow("2"), home)
    assert told.verdicts == {
        "a": "runs",
        "b": "reused",
        "g/fixed": "cached",
        "g/read": "cached",
        "g/open": "runs",
        "known": "cached",
        "unknown": "runs",
    }
    assert told.reasons["unknown"] == f"it depends on g, which runs; cache: {UNKNOWN_INPUTS}"


def test_rounds_of_a_loop(home: Path) -> None:
    def workflow(bound: int) -> Workflow:
        grow = kept(
            "grow",
            "echo $(($1 + 1))",
            last(initial=0),
            result="int",
            loop=while_(compare(last(), "<", bound), 10),
        )
        return flow("w", grow, kept("after", "echo $1", ref("grow")))

    fill(workflow(3), home)
    told = retry_as_planned(another(home), workflow(3), home)
    assert told.verdicts == {f"grow@{n}": "cached" for n in range(3)} | {"after": "cached"}
    told = retry_as_planned(another(home), workflow(5), home)
    assert told.verdicts == {f"grow@{n}": "cached" for n in range(3)} | {
        "grow@3": "runs",
        "after": "runs",
    }
    assert told.reasons["grow@3"] == (
        "it follows round 0, which is cached; cache: there is no entry"
    )
    run = fill(flow("w", workflow(3).steps[0].model_copy(update={"cache": None})), home)
    told = retry_as_planned(run, workflow(3), home)
    assert told.verdicts == {f"grow@{n}": "reused" for n in range(3)} | {"after": "cached"}


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

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
    item,
    last,
    on_completion,
    on_failure,
    or_else,
    out,
    param,
    parameter,
    ref,
    sh,
    while_,
)
from tests.support.retry_plans import (
    UNKNOWN_CONDITION,
    UNKNOWN_INPUTS,
    another,
    fill,
    kept,
    retry_as_planned,
)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def test_items_that_nobody_knows_yet_are_planned_as_a_whole(home: Path) -> None:
    def workflow(script: str) -> Workflow:
        return flow(
            "w",
            sh("list", script, result="list"),
            kept("each", "echo $1", item(), foreach=ref("list")),
            kept("all", "echo $1", ref("each")),
            kept("after", "true", depends_on=["each"]),
        )

    first = fill(workflow("echo '[1,2]'"), home)
    told = retry_as_planned(first, workflow("echo '[1,2,3]'"), home)
    assert told.verdicts == {"list": "runs", "each": "runs", "all": "runs", "after": "cached"}
    assert told.result.steps["each[1]"].status == "cached"


def test_a_condition_that_nobody_knows_yet_is_taken_to_hold(home: Path) -> None:
    def workflow(said: int) -> Workflow:
        when = compare(ref("size"), ">", 3)
        return flow(
            "w",
            sh("size", f"echo {said}", result="int"),
            kept("large", "echo 1", when=when),
            group("inside", kept("x", "echo 2"), sh("y", "true"), when=when),
            kept("each", "echo $1", item(), foreach=[1, 2], when=when),
            kept("reads", "echo $1", or_else(ref("large"), "none")),
            kept("after", "true", depends_on=["large", "inside", "each"]),
        )

    first = fill(workflow(4), home)
    for said in (5, 3):
        told = retry_as_planned(first, workflow(said), home)
        assert told.verdicts == {
            "size": "runs",
            "large": "cached",
            "inside/x": "cached",
            "inside/y": "runs",
            "each[0]": "cached",
            "each[1]": "cached",
            "reads": "runs",
            "after": "cached",
        }
        doubtful = {path for path, why in told.reasons.items() if UNKNOWN_CONDITION in str(why)}
        assert doubtful == {"large", "inside/x", "inside/y", "each[0]", "each[1]"}
        assert told.result.steps["large"].status == ("cached" if said == 5 else "skipped")


def test_a_known_condition_holds_also_behind_what_runs(home: Path) -> None:
    def workflow(said: str) -> Workflow:
        return flow(
            "w",
            sh("a", f"echo {said}"),
            sh("no", "true", when=compare(param("p"), "==", "no"), depends_on=["a"]),
            sh("yes", "true", when=compare(param("p"), "==", "yes"), depends_on=["a"]),
            sh("bad", "true", depends_on=[on_failure("a")]),
            sh("both", "true", depends_on=[on_completion("bad"), on_completion("no")]),
            parameters=[parameter("p", "yes")],
        )

    told = retry_as_planned(fill(workflow("1"), home), workflow("2"), home)
    assert told.verdicts == {
        "a": "runs",
        "no": "skipped",
        "yes": "runs",
        "bad": "skipped",
        "both": "runs",
    }
    assert told.reasons["bad"] == "it needs a failure, and a plan has what runs succeed"


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


def test_outputs_of_items_that_are_groups_are_known_one_by_one(home: Path) -> None:
    def workflow(*words: str) -> Workflow:
        body = group(
            "g",
            kept("fixed", "echo 1"),
            kept("own", "echo $1", param("w")),
            inputs=[given("w", item())],
            outputs=[out("fixed", source=ref("fixed")), out("own", source=ref("own"))],
            foreach=list(words),
        )
        return flow(
            "w",
            body,
            kept("fixed", "echo $1", ref("g", "fixed")),
            kept("own", "echo $1", ref("g", "own")),
        )

    fill(workflow("a", "b"), home)
    told = retry_as_planned(another(home), workflow("a", "c"), home)
    assert told.verdicts == {
        "g[0]/fixed": "cached",
        "g[0]/own": "cached",
        "g[1]/fixed": "cached",
        "g[1]/own": "runs",
        "fixed": "cached",
        "own": "runs",
    }


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

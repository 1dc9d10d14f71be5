"""Reads of what was skipped, failed or is no value: Airflow gives what this machine gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.ir.workflow import ExitHandler, Step, Workflow
from tests.corpus.build import (
    compare,
    first_of,
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
    rng,
    sh,
    text,
    while_,
)
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(4)]

NEVER = compare("a", "==", "b")


def half_failed(**fields: object) -> Step:
    """A group of which one step gives something, and another fails."""
    return group(
        "g",
        sh("ok", "echo '{\"k\":1}'"),
        sh("bad", "exit 1"),
        outputs=[out("x", "str", source=ref("ok"), **fields)],
    )


WORKFLOWS = (
    flow(
        "first-may-fail",
        sh("one", "echo '{\"k\": 3}'"),
        sh("zero", "exit 1"),
        sh(
            "two",
            "echo $1",
            or_else(ref("zero"), part(ref("one"), "k")),
            depends_on=[on_completion("zero")],
        ),
        sh("three", "echo $1", first_of(ref("one"), part("no json", "k"))),
    ),
    flow(
        "loop-of-group-fails",
        sh("start", "true"),
        group(
            "refine",
            sh("say", "echo $(($1+1)); test $1 -lt 1", param("n"), result="int"),
            inputs=[given("n", last("x", initial=0), "int")],
            outputs=[out("x", "int", source=ref("say"))],
            loop=while_(compare(last("x"), "<", 5)),
        ),
        sh(
            "after",
            "echo $1",
            or_else(ref("refine", "x"), 99),
            depends_on=[on_completion("refine")],
        ),
    ),
    flow(
        "handler-reads",
        half_failed(),
        sh("each", "echo $1", item(), foreach=["p", "q"], when=NEVER),
        sh("some", "test $1 = p && echo $1", item(), foreach=["p", "q"]),
        sh("well", "echo $1", item(), foreach=["p", "q"]),
        exit_handlers=[
            ExitHandler(
                name="h",
                on="any",
                steps=(
                    sh("x", "echo $1", or_else(ref("g", "x"), "none")),
                    sh("y", "echo $1", or_else(ref("each"), ["none"])),
                    sh("z", "echo $1", or_else(ref("some"), ["none"])),
                    sh("w", "echo $1", or_else(ref("well"), ["none"])),
                ),
            )
        ],
    ),
    flow(
        "parts-of-what-is-not-there",
        half_failed(),
        sh("each", "echo $1", item(), foreach=["p", "q"], when=NEVER),
        sh(
            "x",
            "echo $1",
            or_else(part(ref("g", "x"), "k"), 9),
            depends_on=[on_completion("g")],
        ),
        sh("y", "echo $1", or_else(part(ref("each"), 0), "none")),
        sh("z", "echo $1", or_else(text("<", ref("each"), ">"), "none")),
    ),
    flow(
        "default-of-failed-group",
        half_failed(default="default"),
        sh("x", "echo $1", ref("g", "x"), depends_on=[on_completion("g")]),
    ),
    flow(
        "default-of-failed-loop",
        sh(
            "l",
            "echo $(($1+1)); test $1 -lt 1",
            last(initial=0),
            result=None,
            outputs=[out("result", "int", default=77)],
            loop=while_(compare(last(), "<", 5), 4),
        ),
        sh("x", "echo $1", ref("l"), depends_on=[on_completion("l")]),
    ),
    flow(
        "group-reads-failed-group",
        group(
            "around",
            half_failed(),
            sh("rescue", "true", depends_on=[on_completion("g")]),
            outputs=[out("x", "str", source=ref("g", "x"), default="default")],
        ),
        sh("x", "echo $1", ref("around", "x")),
        outputs=[out("all", "str", source=ref("around", "x"))],
    ),
    flow(
        "empty-is-not-skipped",
        sh("none", "echo '[]'", result="list"),
        sh("each", "echo $1", item(), foreach=ref("none")),
        sh("say", "echo $1", or_else(ref("each"), [9])),
        sh("known", "echo $1", item(), foreach=[]),
        sh("tell", "echo $1", or_else(ref("known"), [9])),
        sh("never", "echo $1", item(), foreach=ref("none"), when=NEVER),
        sh("ask", "echo $1", or_else(ref("never"), [9])),
    ),
)

JSON = flow(
    "json-as-it-was-written",
    *(
        sh(f"say-{number}", f"echo '{written}'", result="json")
        for number, written in enumerate(('{"k": 2}', "1e2", "[1,  2.50]", '"a b"'))
    ),
    *(
        sh(
            f"read-{number}",
            "echo $1 $2 $3",
            ref(f"say-{number}"),
            or_else(ref(f"say-{number}"), "none"),
            text("<", ref(f"say-{number}"), ">"),
        )
        for number in range(4)
    ),
    outputs=[out("o", source=ref("say-0"))],
)

GUARDED = (
    flow(
        "condition-before-arguments",
        sh("one", "echo hello"),
        sh("two", "echo $1", part(ref("one"), "k"), when=compare(ref("one"), "!=", "hello")),
        sh("n", "echo hello", result="json"),
        sh("three", "echo $1", ref("n"), when=NEVER),
    ),
    flow(
        "gate-before-arguments",
        sh("one", "echo hello"),
        sh("well", "true"),
        sh("two", "echo $1", part(ref("one"), "k"), depends_on=[on_failure("well")]),
    ),
    flow(
        "condition-before-items",
        sh("n", "echo 2", result="int", when=NEVER),
        sh("each", "echo $1", item(), foreach=rng(count=ref("n")), when=NEVER),
    ),
    flow(
        "condition-on-item-before-arguments",
        sh("l", 'echo \'["x","y"]\'', result="list"),
        group(
            "g",
            sh("c", "echo $1", param("n")),
            sh("d", "echo $1", part(param("n"), "k"), when=compare(param("n"), "!=", "x")),
            inputs=[given("n", item(), "str")],
            foreach=["x"],
        ),
    ),
)


@pytest.mark.parametrize("workflow", [*WORKFLOWS, JSON], ids=lambda one: one.name)
def test_what_need_not_be_there(
    workflow: Workflow, airflow: Worker, cluster: FakeCluster, tmp_path: Path
) -> None:
    assert_same_outcome(workflow, airflow, cluster, tmp_path)


@pytest.mark.parametrize("workflow", GUARDED, ids=lambda one: one.name)
def test_what_must_not_be_read(
    workflow: Workflow, airflow: Worker, cluster: FakeCluster, tmp_path: Path
) -> None:
    assert_same_outcome(workflow, airflow, cluster, tmp_path)

"""What the cases of the corpus do not combine: Airflow gives what this machine gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.ir.workflow import ExitHandler, Workflow
from tests.corpus.build import (
    any_of,
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
    run,
    sh,
    while_,
)
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_compare import assert_same_outcome
from tests.support.airflow_runs import Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

NUMBER = given("n", item(), "int")
ENDED = (
    sh("first", "echo 1", result="int"),
    sh("second", "true", depends_on=[on_completion("first")]),
)
SAID = [out("n", "int", source=ref("first"))]
ROUNDS = while_(compare(last("n"), ">", 5), max_iterations=2)


WORKFLOWS = (
    flow(
        "item-handled-inside",
        group(
            "each",
            sh("work", "test $1 != 2", param("n")),
            sh("repair", "echo $1", param("n"), depends_on=[on_failure("work")]),
            inputs=[NUMBER],
            foreach=[1, 2, 3],
        ),
        sh("after", "true", depends_on=["each"]),
    ),
    flow(
        "item-handled-outside",
        group(
            "each",
            sh("work", "test $1 != 2 && echo $1", param("n")),
            sh("next", "echo $1", ref("work")),
            inputs=[NUMBER],
            outputs=[out("said", source=ref("next"))],
            foreach=[1, 2, 3],
        ),
        sh("rescue", "echo rescued", depends_on=[on_failure("each")]),
        sh("never", "true", depends_on=["each"]),
    ),
    flow(
        "groups-of-no-items",
        sh("none", "echo '[]'", result="list"),
        group(
            "each",
            sh("say", "echo $1", param("n")),
            inputs=[given("n", item(), "json")],
            outputs=[out("said", source=ref("say"))],
            foreach=ref("none"),
        ),
        sh("sum", "echo $1", ref("each", "said")),
        group(
            "skipped",
            sh("speak", "echo $1", param("n")),
            inputs=[given("n", item(), "json")],
            outputs=[out("said", source=ref("speak"))],
            foreach=ref("none"),
            when=compare(ref("none"), "==", [1]),
        ),
        sh("default", "echo $1", or_else(ref("skipped", "said"), [9])),
    ),
    flow(
        "completion-in-omitted-group",
        sh("bad", "exit 1"),
        group(
            "work",
            sh("first", "true"),
            sh("second", "true", depends_on=[on_completion("first")]),
            depends_on=["bad"],
        ),
        sh("end", "true", depends_on=[on_completion("work")]),
    ),
    flow(
        "nothing-handles-what-was-omitted",
        sh("bad", "exit 1"),
        sh("good", "true"),
        group("plain", *ENDED, depends_on=["bad"]),
        group("each", *ENDED, outputs=SAID, foreach=[1, 2], depends_on=["bad"]),
        group("loop", *ENDED, outputs=SAID, loop=ROUNDS, depends_on=["bad"]),
        group(
            "around",
            sh("worse", "exit 1"),
            group("inner", *ENDED, depends_on=["worse"]),
            sh("fix", "true", depends_on=[on_failure("inner")]),
        ),
        sh("fix-plain", "true", depends_on=[on_failure("plain")]),
        sh("fix-each", "true", depends_on=[on_failure("each")]),
        sh("fix-loop", "true", depends_on=[on_failure("loop")]),
        sh("fix-any", "true", depends_on=[any_of(on_failure("plain"), on_failure("good"))]),
        sh("read", "echo $1", or_else(ref("each", "n"), "d"), depends_on=[on_completion("each")]),
    ),
    flow(
        "completion-in-skipped-group",
        sh("one", "echo 1", result="int"),
        group(
            "work",
            sh("first", "true"),
            sh("second", "true", depends_on=[on_completion("first")]),
            sh("third", "true", depends_on=[on_failure("first")]),
            when=compare(ref("one"), "==", 2),
        ),
        sh("end", "true", depends_on=[on_completion("work")]),
        sh("after", "true", depends_on=["work"]),
    ),
    flow(
        "condition-in-item",
        group(
            "each",
            group(
                "large",
                sh("say", "echo $1", param("m")),
                inputs=[given("m", param("n"), "int")],
                outputs=[out("said", source=ref("say"))],
                when=compare(param("n"), ">", 1),
            ),
            sh("tell", "echo got $1", or_else(ref("large", "said"), "none")),
            inputs=[NUMBER],
            outputs=[out("told", source=ref("tell"))],
            foreach=[1, 2],
        ),
        sh("sum", "echo $1", ref("each", "told")),
    ),
    flow(
        "loop-in-item-of-the-run",
        sh("list", "echo '[1, 5]'", result="list"),
        group(
            "each",
            sh(
                "grow",
                "echo $(($1 + $2))",
                last(initial=0),
                param("n"),
                result="int",
                loop=while_(compare(last(), "<", 8)),
            ),
            inputs=[NUMBER],
            outputs=[out("size", "int", source=ref("grow"))],
            foreach=ref("list"),
        ),
        sh("sum", "echo $1", ref("each", "size")),
    ),
    flow(
        "loop-that-is-skipped",
        sh("one", "echo 1", result="int"),
        sh(
            "grow",
            "echo $(($1 + 1))",
            last(initial=0),
            result="int",
            loop=while_(compare(last(), "<", 3)),
            when=compare(ref("one"), "==", 2),
        ),
        sh("after", "echo $1", or_else(ref("grow"), 7)),
    ),
    flow(
        "handlers-of-all-kinds",
        sh("bad", "exit 1"),
        sh("below", "true", depends_on=["bad"]),
        sh("side", "echo side"),
        exit_handlers=[
            ExitHandler(
                name="failed",
                on="failure",
                steps=(sh("tell", "echo $1 $2", run("status"), or_else(ref("side"), "no")),),
            ),
            ExitHandler(name="well", on="success", steps=(sh("never", "true"),)),
            ExitHandler(
                name="always",
                on="any",
                steps=(sh("try", "exit 1"), sh("rescue", "true", depends_on=[on_failure("try")])),
            ),
        ],
    ),
)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda one: one.name)
def test_outcome(workflow: Workflow, airflow: Worker, cluster: FakeCluster, tmp_path: Path) -> None:
    assert_same_outcome(workflow, airflow, cluster, tmp_path)

"""Conditions of loops that read more than the round before, under Argo's real controller."""

from __future__ import annotations

import pytest

from couler.ir.workflow import ExitHandler
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    or_else,
    out,
    param,
    parameter,
    ref,
    while_,
)
from tests.support import argo_oracle
from tests.support.argo_bench import Bench

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(2),
]

COUNT = "echo $(($1 + 1))"


def test_the_loop_of_a_step_reads_a_parameter_and_another_step(bench: Bench) -> None:
    workflow = flow(
        "reads",
        bench.step("limit", "echo 3", result="int"),
        bench.step(
            "by-parameter",
            COUNT,
            last(initial=0),
            result="int",
            loop=while_(compare(last(), "<", param("end"))),
        ),
        bench.step(
            "by-step",
            COUNT,
            last(initial=1),
            result="int",
            loop=while_(compare(last(), "<", ref("limit"))),
        ),
        parameters=[parameter("end", 2, "int")],
        outputs=[
            out("a", "int", source=ref("by-parameter")),
            out("b", "int", source=ref("by-step")),
        ],
        exit_handlers=[
            ExitHandler(
                name="tell",
                on="any",
                steps=(bench.step("tell", "true", or_else(ref("by-parameter"), 0)),),
            )
        ],
    )
    assert bench.run(workflow) == [
        "by-parameter 0",
        "by-parameter 1",
        "by-step 1",
        "by-step 2",
        "limit",
        "tell 2",
    ]
    assert bench.run_outputs == {"a": 2, "b": 3}


@pytest.mark.parametrize("inside", ["group", "foreach"])
def test_the_loop_of_a_step_reads_what_is_around_it(bench: Bench, inside: str) -> None:
    if inside == "group":
        loop = while_(compare(last(), "<", param("end")))
        each = group(
            "each",
            bench.step("count", COUNT, last(initial=param("it")), result="int", loop=loop),
            inputs=[given("it", item("it"), "int"), given("end", item("end"), "int")],
            outputs=[out("n", "int", source=ref("count"))],
            foreach={"it": [0, 10], "end": [2, 11]},
        )
        output = "n"
    else:
        loop = while_(compare(last(), "<", item("end")))
        each = bench.step(
            "each",
            COUNT,
            last(initial=item("it")),
            result="int",
            loop=loop,
            foreach={"it": [0, 10], "end": [2, 11]},
        )
        output = "result"
    workflow = flow("around", each, outputs=[out("all", "list", source=ref("each", output))])
    name = "count" if inside == "group" else "each"
    assert bench.run(workflow) == [f"{name} 0", f"{name} 1", f"{name} 10"]
    assert bench.run_outputs == {"all": [2, 11]}

"""Restarts of workflows in parts under Argo's real controller: as those of the flat workflow."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.policies import Part
from couler.ir.workflow import Step, Workflow
from tests.corpus.build import (
    flow,
    group,
    item,
    on_completion,
    on_failure,
    or_else,
    out,
    ref,
)
from tests.support import argo_oracle
from tests.support.argo_bench import Bench

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(4),
]

ONE, TWO, THREE = "123"

Of = t.Callable[..., list[Step]]


def of_groups(part: str, *steps: Step) -> list[Step]:
    return [step.model_copy(update={"part": Part(group=part)}) for step in steps]


def of_runs(part: str, *steps: Step) -> list[Step]:
    return [step.model_copy(update={"part": Part(run=part)}) for step in steps]


@pytest.fixture(params=[of_groups, of_runs])
def of(request: pytest.FixtureRequest) -> Of:
    """Puts steps in parts: groups of one run, or runs of their own."""
    return t.cast("Of", request.param)


def test_a_failed_step_and_what_follows_in_other_parts_run_again(bench: Bench, of: Of) -> None:
    workflow = flow(
        "chain",
        *of(
            ONE,
            bench.step("first", "date +%N"),
            bench.step("bad", f"{bench.mended} && echo $1", ref("first")),
        ),
        *of(
            TWO,
            bench.step("after", 'echo "$1 $2"', ref("bad"), ref("first")),
            bench.step("beside", 'echo "$1"', ref("first")),
        ),
        *of(THREE, bench.step("last", 'echo "$1"', ref("beside"))),
        outputs=[out("said", source=ref("after")), out("beside", source=ref("last"))],
    )
    bench.run(workflow)
    first = bench.outputs["first"]["result"]
    assert bench.status == "failed"
    assert bench.ends("succeeded") == {"first", "beside", "last"}
    bench.mend()
    assert bench.restart("bad", "after") == [f"after {first}", f"bad {first}"]
    assert bench.ends("succeeded") == {"first", "bad", "after", "beside", "last"}
    assert bench.status == "succeeded"
    assert bench.run_outputs == {"said": f"{first} {first}", "beside": first}


def test_steps_of_a_part_that_only_waits_for_what_runs_again_are_kept(bench: Bench, of: Of) -> None:
    workflow = flow(
        "kept",
        *of(ONE, bench.step("good"), bench.step("bad", bench.mended)),
        *of(TWO, bench.step("b", depends_on=["good"])),
        *of(THREE, bench.step("c", depends_on=["b"])),
    )
    bench.run(workflow)
    assert (bench.status, bench.ends("failed")) == ("failed", {"bad"})
    bench.mend()
    assert bench.restart("bad") == ["bad"]
    assert bench.ends("succeeded") == {"good", "bad", "b", "c"}
    assert bench.status == "succeeded"


def test_a_part_of_which_nothing_is_kept_before_one_that_keeps(bench: Bench, of: Of) -> None:
    workflow = flow(
        "between",
        *of(ONE, bench.step("bad", bench.mended)),
        *of(TWO, bench.step("after", depends_on=["bad"]), bench.step("b")),
        *of(THREE, bench.step("c", depends_on=["b"])),
    )
    bench.run(workflow)
    bench.mend()
    assert bench.restart("bad", "after") == ["after", "bad"]
    assert (bench.status, bench.ends("succeeded")) == ("succeeded", {"bad", "after", "b", "c"})


def test_what_was_omitted_or_skipped_behind_another_part_is_looked_at_anew(
    bench: Bench, of: Of
) -> None:
    workflow = flow(
        "anew",
        *of(ONE, bench.step("bad", f"{bench.mended} && echo 1"), bench.step("good")),
        *of(
            TWO,
            bench.step("alarm", depends_on=[on_failure("bad")]),
            bench.step("needs", depends_on=["bad"]),
            bench.step("kept", depends_on=["good"]),
        ),
        *of(
            THREE,
            bench.step(
                "whatever",
                "true",
                or_else(ref("bad"), "none"),
                depends_on=[on_completion("bad"), "kept"],
            ),
        ),
    )
    bench.run(workflow)
    assert bench.ends("omitted") == {"needs"}
    bench.mend()
    assert bench.restart("bad", "alarm", "needs", "whatever") == ["bad", "needs", "whatever 1"]
    assert bench.ends("skipped") == {"alarm"}
    assert bench.ends("succeeded") == {"bad", "good", "needs", "kept", "whatever"}
    assert bench.status == "succeeded"


def test_a_failure_that_stays_fails_the_run_again(bench: Bench, of: Of) -> None:
    workflow = flow(
        "stays",
        *of(ONE, bench.step("bad", bench.mended), bench.step("worse", "exit 3")),
        *of(TWO, bench.step("after", depends_on=["bad"])),
    )
    bench.run(workflow)
    bench.mend()
    assert bench.restart("bad", "after") == ["after", "bad"]
    assert (bench.status, bench.ends("failed")) == ("failed", {"worse"})


def test_parts_of_a_group_and_items_in_parts(bench: Bench) -> None:
    of = of_groups
    inner = [
        *of(
            ONE,
            bench.step(
                "each",
                f'test "$1" != b || {bench.mended} && echo "$1"',
                item(),
                foreach=["a", "b", "c"],
            ),
            bench.step("kept", "date +%N"),
        ),
        *of(TWO, bench.step("all", 'echo "$1 $2"', ref("each"), ref("kept"))),
    ]
    workflow = flow("inside", group("g", *inner, outputs=[out("text", source=ref("all"))]))
    bench.run(workflow)
    assert bench.ends("failed") == {"g", "g/each", "g/each[1]"}
    kept = bench.outputs["g/kept"]["result"]
    bench.mend()
    assert bench.restart("g/each[1]", "g/all") == ['all ["a","b","c"]', "each b"]
    assert bench.outputs["g"]["text"] == f'["a","b","c"] {kept}'
    assert bench.status == "succeeded"


def test_a_run_in_parts_that_was_stopped_goes_on(bench: Bench, of: Of) -> None:
    def workflow(script: str) -> Workflow:
        return flow(
            "stopped",
            *of(ONE, bench.step("good"), bench.step("slow", script, depends_on=["good"])),
            *of(TWO, bench.step("after", depends_on=["slow"])),
        )

    bench.run_and_stop(workflow(f"{bench.mended} || sleep 3600"), when="slow")
    assert bench.ends("succeeded") == {"good"}
    bench.mend()
    assert bench.ran == []
    assert bench.restart("slow", "after") == ["after", "slow"]
    assert bench.status == "succeeded"

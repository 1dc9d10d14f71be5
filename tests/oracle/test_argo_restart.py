"""Restarts under Argo's real controller: what runs again, what stays, and how it ends."""

from __future__ import annotations

import pytest

from couler.backends.argo.status_nodes import with_nodes
from couler.errors import RefusedError
from couler.ir.base import FrozenDict
from couler.ir.pods import StepPod
from couler.ir.policies import Retry
from couler.ir.workflow import ExitHandler, Workflow
from couler.rest.client import RestClient
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
    while_,
)
from tests.support import argo_oracle
from tests.support.argo_bench import Bench

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(3),
]


def test_a_failed_step_and_what_follows_run_again_and_read_what_was_kept(bench: Bench) -> None:
    workflow = flow(
        "chain",
        bench.step("first", "date +%N"),
        bench.step("bad", f"{bench.mended} && echo $1", ref("first")),
        bench.step("after", 'echo "$1 $2"', ref("bad"), ref("first")),
        bench.step("beside"),
        outputs=[out("said", source=ref("after"))],
    )
    bench.run(workflow)
    first = bench.outputs["first"]["result"]
    assert bench.status == "failed"
    bench.mend()
    assert bench.restart("bad", "after") == [f"after {first}", f"bad {first}"]
    assert bench.ends("succeeded") == {"first", "bad", "after", "beside"}
    assert bench.status == "succeeded"
    assert bench.run_outputs == {"said": f"{first} {first}"}


# The controller kills by name, so long after the end of the first pod as this says.
AT_ONCE = StepPod(spec_patch=FrozenDict(terminationGracePeriodSeconds=1))


@pytest.mark.settles
def test_a_step_that_runs_again_is_not_killed_in_the_place_of_the_pod_before(bench: Bench) -> None:
    workflow = flow("killed", bench.step("fit", f"{bench.mended} && sleep 5", pod=AT_ONCE))
    bench.run(workflow)
    bench.mend()
    bench.restart("fit")
    assert bench.states == {"fit": "succeeded"}


@pytest.mark.settles
def test_the_controller_is_done_with_old_pods_before_there_are_new_ones(bench: Bench) -> None:
    """After so many pods its queue, which has `bad` in it by its name, is some 20 s late."""
    many = bench.step("many", "true", foreach=tuple(range(15)))
    bad = bench.step("bad", f"{bench.mended} && sleep 20", depends_on=["many"], pod=AT_ONCE)
    bench.run(flow("late", many, bad))
    bench.mend()
    bench.restart("bad")
    assert bench.states["bad"] == "succeeded"


def test_the_failed_item_of_a_foreach_runs_again_alone(bench: Bench) -> None:
    workflow = flow(
        "items",
        bench.step("list", 'echo \'["a", "bad", "c"]\'', result="list"),
        bench.step(
            "each", f'test "$1" != bad || {bench.mended} && echo "$1"', item(), foreach=ref("list")
        ),
        bench.step("all", 'echo "$1"', ref("each")),
        bench.step("whatever", "true", depends_on=[on_completion("each")]),
    )
    bench.run(workflow)
    assert bench.ends("failed") == {"each", "each[1]"}
    bench.mend()
    assert bench.restart("each[1]", "all", "whatever") == [
        'all ["a","bad","c"]',
        "each bad",
        "whatever",
    ]
    assert not bench.ends("failed")
    assert bench.status == "succeeded"


def test_a_step_in_a_group_in_a_group_runs_again_alone(bench: Bench) -> None:
    workflow = flow(
        "nested",
        bench.step("before", "echo 1"),
        group(
            "outer",
            bench.step("kept", "echo 2"),
            group(
                "inner",
                bench.step("early", "date +%N"),
                bench.step("bad", f"{bench.mended} && echo $1", ref("early")),
                outputs=[out("said", source=ref("bad"))],
            ),
            bench.step("late", "echo $1", ref("inner", "said")),
            outputs=[out("said", source=ref("late"))],
        ),
        bench.step("after", "echo $1", ref("outer", "said")),
    )
    bench.run(workflow)
    early = bench.outputs["outer/inner/early"]["result"]
    bench.mend()
    ran = bench.restart("outer/inner/bad", "outer/late", "after")
    assert ran == [f"after {early}", f"bad {early}", f"late {early}"]
    assert bench.status == "succeeded"
    assert not bench.ends("failed") | bench.ends("omitted")


@pytest.mark.parametrize("kind", ["step", "group"])
def test_a_round_of_a_loop_runs_again_with_those_after_it(bench: Bench, kind: str) -> None:
    script = f'{{ test "$1" -ne 2 || {bench.mended}; }} && echo $(($1 + 1))'
    loop = while_(compare(last("n" if kind == "group" else "result"), "<", 4), 9)
    if kind == "step":
        count = bench.step("count", script, last(initial=0), result="int", loop=loop)
    else:
        count = group(
            "count",
            bench.step("add", script, param("n"), result="int"),
            inputs=[given("n", last("n", initial=0), "int")],
            outputs=[out("n", "int", source=ref("add"))],
            loop=loop,
        )
    name, inner = ("count", "") if kind == "step" else ("add", "/add")
    output = "result" if kind == "step" else "n"
    workflow = flow("rounds", count, bench.step("after", "echo $1", ref("count", output)))
    assert bench.run(workflow) == [f"{name} 0", f"{name} 1", f"{name} 2"]
    assert f"count@2{inner}" in bench.ends("failed")
    bench.mend()
    assert bench.restart(f"count@2{inner}", "after") == sorted(
        [f"{name} 2", f"{name} 3", "after 4"]
    )
    assert bench.status == "succeeded"
    assert {f"count@{number}{inner}" for number in range(4)} <= bench.ends("succeeded")


def test_a_loop_that_reached_its_bound_goes_on_once_the_bound_is_higher(bench: Bench) -> None:
    def counting(bound: int) -> Workflow:
        loop = while_(compare(last(), "<", 4), bound)
        return flow(
            "bound",
            bench.step("count", "echo $(($1 + 1))", last(initial=0), result="int", loop=loop),
            bench.step("after"),
        )

    assert bench.run(counting(2)) == ["after", "count 0", "count 1"]
    assert bench.restart() == []
    assert bench.status == "failed"
    assert bench.restart(workflow=counting(9)) == ["count 2", "count 3"]
    assert bench.status == "succeeded"


def test_a_step_that_met_a_failure_runs_again_with_it(bench: Bench) -> None:
    workflow = flow(
        "handled",
        bench.step("fragile", bench.mended),
        bench.step("repair", depends_on=[on_failure("fragile")]),
        bench.step("bad", bench.mended),
    )
    assert bench.run(workflow) == ["bad", "fragile", "repair"]
    bench.mend()
    assert bench.restart("fragile", "repair", "bad") == ["bad", "fragile"]
    assert bench.ends("skipped") == {"repair"}
    assert bench.status == "succeeded"


def test_a_handled_failure_stays_where_it_is_kept(bench: Bench) -> None:
    workflow = flow(
        "stays",
        bench.step("fragile", bench.mended),
        bench.step("repair", depends_on=[on_failure("fragile")]),
        bench.step("bad", bench.mended),
    )
    bench.run(workflow)
    bench.mend()
    assert bench.restart("bad") == ["bad"]
    assert bench.ends("failed") == {"fragile"}
    assert bench.status == "succeeded"


def test_exit_handlers_run_again_and_read_what_steps_now_give(bench: Bench) -> None:
    def handler(name: str, on: str) -> ExitHandler:
        step = bench.step(f"tell-{name}", "true", or_else(ref("bad"), "nothing"))
        return ExitHandler(name=name, on=on, steps=(step,))  # type: ignore[arg-type]  # a literal

    workflow = flow(
        "exits",
        bench.step("first"),
        bench.step("bad", f"{bench.mended} && echo well", depends_on=["first"]),
        exit_handlers=[
            handler("any", "any"),
            handler("bad", "failure"),
            handler("good", "success"),
        ],
    )
    assert bench.run(workflow) == ["bad", "first", "tell-any nothing", "tell-bad nothing"]
    bench.mend()
    assert bench.restart("bad", "exit:any/tell-any", "exit:bad/tell-bad") == [
        "bad",
        "tell-any well",
        "tell-good well",
    ]
    assert bench.ends("skipped") == {"exit:bad"}
    assert bench.status == "succeeded"


def test_of_exit_handlers_alone_the_failed_one_runs_again(bench: Bench) -> None:
    workflow = flow(
        "exit-fails",
        bench.step("work"),
        exit_handlers=[
            ExitHandler(name="broken", on="any", steps=(bench.step("bad", bench.mended),)),
            ExitHandler(name="fine", on="any", steps=(bench.step("say"),)),
        ],
    )
    assert bench.run(workflow) == ["bad", "say", "work"]
    assert bench.status == "failed"
    bench.mend()
    assert bench.restart("exit:broken/bad") == ["bad"]
    assert bench.status == "succeeded"


def test_changed_added_and_removed_steps(bench: Bench) -> None:
    before = flow(
        "changes",
        bench.step("first", "date +%N"),
        bench.step("changed", "echo old; exit 1", ref("first")),
        bench.step("after", "echo $1", ref("changed")),
        bench.step("removed", "exit 1", depends_on=["first"]),
        bench.step("end", "echo on", depends_on=["first"]),
    )
    after = flow(
        "changes",
        bench.step("first", "date +%N"),
        bench.step("between", "echo $1", ref("first")),
        bench.step("changed", "echo new-$1", ref("between")),
        bench.step("after", "echo $1", ref("changed")),
        bench.step("end", "echo on", depends_on=["first"]),
        bench.step("added", depends_on=["end"]),
    )
    bench.run(before)
    first = bench.outputs["first"]["result"]
    assert bench.restart("changed", "after", "removed", workflow=after) == [
        "added",
        f"after new-{first}",
        f"between {first}",
        f"changed {first}",
    ]
    assert bench.ends("succeeded") == {"first", "between", "changed", "after", "end", "added"}
    assert bench.status == "succeeded"


def test_other_parameters(bench: Bench) -> None:
    workflow = flow(
        "parameters",
        bench.step("first", "echo $1", param("kept")),
        bench.step("bad", 'test "$1" = good', param("wanted")),
        bench.step("maybe", when=compare(param("wanted"), "==", "good")),
        parameters=[parameter("wanted", "bad"), parameter("kept", "x")],
    )
    assert bench.run(workflow) == ["bad bad", "first x"]
    assert bench.ends("skipped") == {"maybe"}
    assert bench.restart("bad", wanted="good") == ["bad good", "maybe"]
    assert bench.status == "succeeded"


def test_what_was_skipped_by_its_condition_stays_so(bench: Bench) -> None:
    workflow = flow(
        "skips",
        bench.step("flag", "echo no"),
        bench.step("maybe", "echo yes", when=compare(ref("flag"), "==", "yes")),
        bench.step("reader", "echo $1", or_else(ref("maybe"), "default")),
        bench.step("otherwise", "echo other", when=compare(ref("flag"), "!=", "yes")),
        bench.step("bad", f"{bench.mended} && echo $1", or_else(ref("maybe"), "none")),
        bench.step("lonely", when=compare(ref("flag"), "==", "yes")),
        group("skipped", bench.step("inside"), when=compare(ref("flag"), "==", "yes")),
    )
    bench.run(workflow)
    skipped = bench.ends("skipped")
    bench.mend()
    assert bench.restart("bad") == ["bad none"]
    assert bench.ends("skipped") == skipped
    assert bench.status == "succeeded"


def test_retries_count_anew_for_steps_and_groups(bench: Bench) -> None:
    tries = f"{bench.folder}/tries"
    flaky = f'echo x >> {tries}; {bench.mended} && test $(wc -l < {tries}) -ge "$1"'
    workflow = flow(
        "retries",
        bench.step("step", flaky, "6", retry=Retry(limit=1)),
        group(
            "work",
            bench.step("kept", "date +%N"),
            bench.step("bad", f"{bench.mended} && echo $1", ref("kept")),
            depends_on=[on_completion("step")],
            retry=Retry(limit=2),
        ),
        bench.step("after", depends_on=["work"]),
    )
    ran = bench.run(workflow)
    assert ran.count("step 6") == 2
    assert ran.count("kept") == 3
    kept = bench.outputs["work/kept"]["result"]
    bench.mend()
    # Its fifth and sixth try: the second of the restart.
    (bench.folder / "tries").write_text("x\n" * 4)
    assert bench.restart("step", "work/bad", "after", workflow=_without_order(workflow)) == [
        "after",
        f"bad {kept}",
        "step 6",
        "step 6",
    ]
    assert bench.status == "succeeded"


def _without_order(workflow: Workflow) -> Workflow:
    """The group does not wait for the step any more, so that it is kept though that runs."""
    step, work, after = workflow.steps
    return workflow.model_copy(
        update={"steps": (step, work.model_copy(update={"depends_on": ()}), after)}
    )


def test_a_cancelled_run_goes_on(bench: Bench) -> None:
    workflow = flow(
        "cancelled",
        bench.step("first"),
        bench.step("slow", f"{bench.mended} || sleep 3600", depends_on=["first"]),
        bench.step("after", depends_on=["slow"]),
    )
    bench.run_and_stop(workflow, when="slow")
    assert bench.status == "cancelled"
    bench.mend()
    assert bench.restart("slow", "after") == ["after", "slow"]
    assert bench.status == "succeeded"


def test_twice(bench: Bench) -> None:
    workflow = flow(
        "twice",
        bench.step("first", "date +%N"),
        bench.step("bad", f"{bench.mended} && echo $1", ref("first")),
        bench.step("after", "echo $1", ref("bad")),
    )
    bench.run(workflow)
    first = bench.outputs["first"]["result"]
    assert bench.restart("bad", "after") == [f"bad {first}"]
    assert bench.status == "failed"
    bench.mend()
    assert bench.restart("bad", "after") == [f"after {first}", f"bad {first}"]
    assert bench.status == "succeeded"


def test_what_waits_for_what_runs_again_cannot_be_kept(bench: Bench) -> None:
    workflow = flow(
        "conflict",
        bench.step("first"),
        bench.step("after", depends_on=["first"]),
        bench.step("bad", "exit 1"),
    )
    bench.run(workflow)
    message = '"after" cannot keep its end, since it waits for "first", which runs again'
    with pytest.raises(RefusedError, match=message):
        bench.restart("first")


def test_a_run_that_goes_on_is_not_restarted(bench: Bench) -> None:
    workflow = flow("goes-on", bench.step("slow", f"{bench.mended} || sleep 3600"))

    def refused() -> None:
        with pytest.raises(RefusedError, match="has not ended, so it cannot be restarted"):
            bench.restart("slow")

    bench.run_and_stop(workflow, when="slow", before=refused)


def test_compressed_nodes_stay_compressed(bench: Bench) -> None:
    workflow = flow(
        "compressed",
        bench.step("first", "date +%N"),
        bench.step("bad", f"{bench.mended} && echo $1", ref("first")),
    )
    bench.run(workflow)
    first = bench.outputs["first"]["result"]
    path = f"/apis/argoproj.io/v1alpha1/namespaces/default/workflows/{bench.name}"
    with RestClient("argo", bench.argo.address, extra="argo") as client:
        found = client.call("GET", path)
        nodes = found["status"].pop("nodes")
        found["status"]["compressedNodes"] = "not empty"
        client.call("PUT", path, send=with_nodes(found, nodes))
    bench.mend()
    assert bench.restart("bad") == [f"bad {first}"]
    assert bench.status == "succeeded"

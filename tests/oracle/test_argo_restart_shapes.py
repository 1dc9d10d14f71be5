"""Restarts under Argo's real controller, for steps that Argo runs in forms of their own."""

from __future__ import annotations

import json

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.base import Target
from couler.errors import RefusedError
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Foreach, Retry
from couler.ir.values import Compare, OwnRef
from couler.ir.workflow import ExitHandler, Hook, StoredWorkflow, Workflow
from couler.rest.client import RestClient
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    on_completion,
    or_else,
    out,
    param,
    parameter,
    ref,
    value,
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


def test_an_item_of_a_foreach_that_exit_handlers_read(bench: Bench) -> None:
    tell = bench.step("tell", "true", or_else(ref("each"), []))
    script = f'test "$1" != bad || {bench.mended} && echo "$1"'
    workflow = flow(
        "read-at-exit",
        bench.step("each", script, item(), foreach=["a", "bad"]),
        exit_handlers=[ExitHandler(name="tell", on="any", steps=(tell,))],
    )
    assert bench.run(workflow) == ["each a", "each bad", "tell []"]
    bench.mend()
    assert bench.restart("each[1]", "exit:tell/tell") == ["each bad", 'tell ["a","bad"]']
    assert bench.status == "succeeded"


def test_a_step_in_an_item_of_a_group(bench: Bench) -> None:
    workflow = flow(
        "items-of-groups",
        group(
            "each",
            bench.step("kept", "echo $1", param("it")),
            bench.step("bad", f'test "$1" != b || {bench.mended} && echo "$1"', ref("kept")),
            inputs=[given("it", item("it"))],
            outputs=[out("said", source=ref("bad"))],
            foreach={"it": ["a", "b", "c"]},
        ),
        bench.step("all", "echo $1", ref("each", "said")),
    )
    bench.run(workflow)
    bench.mend()
    assert bench.restart("each[1]/bad", "all") == ['all ["a","b","c"]', "bad b"]
    assert bench.status == "succeeded"


def test_an_item_of_a_bounded_foreach_with_retries(bench: Bench) -> None:
    each = bench.step(
        "each", f'test "$1" != b || {bench.mended}', item(), retry=Retry(limit=1)
    ).model_copy(update={"foreach": Foreach(over={"item": value(["a", "b"])}, max_parallel=1)})
    workflow = flow("bounded", each, bench.step("after", depends_on=["each"]))
    assert bench.run(workflow) == ["each a", "each b", "each b"]
    bench.mend()
    assert bench.restart("each[1]", "after") == ["after", "each b"]
    assert bench.status == "succeeded"


def test_a_round_in_an_item(bench: Bench) -> None:
    script = f'{{ test "$1" -ne 12 || {bench.mended}; }} && echo $(($1 + 1))'
    workflow = flow(
        "rounds-in-items",
        group(
            "each",
            bench.step(
                "count",
                script,
                last(initial=param("it")),
                result="int",
                loop=while_(compare(last(), "<", 14)),
            ),
            inputs=[given("it", item("it"), "int")],
            outputs=[out("n", "int", source=ref("count"))],
            foreach={"it": [13, 10]},
        ),
        bench.step("all", "echo $1", ref("each", "n")),
    )
    bench.run(workflow)
    assert "each[1]/count@2" in bench.ends("failed")
    bench.mend()
    ran = bench.restart("each[1]/count@2", "all")
    assert ran == ["all [14,14]", "count 12", "count 13"]
    assert bench.status == "succeeded"


@pytest.mark.parametrize("items", ['["a","b"]', '["a","b","c","d"]'])
def test_a_list_of_another_length(bench: Bench, items: str) -> None:
    workflow = flow(
        "lists",
        bench.step("each", "echo $1", item(), foreach=param("items")),
        bench.step("bad", f"{bench.mended} && echo $1", ref("each")),
        parameters=[parameter("items", ["a", "b", "c"], "list")],
    )
    bench.run(workflow)
    bench.mend()
    gone = ["each[2]"] if items == '["a","b"]' else []
    ran = bench.restart("bad", *gone, items=items)
    assert ran == sorted([f"bad {items}", *(["each d"] if not gone else [])])
    assert bench.status == "succeeded"


def test_a_hook_fires_again_with_what_it_looks_at(bench: Bench) -> None:
    ended = Compare(left=OwnRef(fact="status"), op="==", right=value("failed"))
    hook = Hook(when=ended, step=bench.step("alarm"))
    workflow = flow(
        "hooked",
        bench.step("fine", hooks=[Hook(when=ended, step=bench.step("never"))]),
        bench.step("bad", bench.mended, hooks=[hook]),
    )
    assert bench.run(workflow) == ["alarm", "bad", "fine"]
    assert bench.restart("bad") == ["alarm", "bad"]
    bench.mend()
    assert bench.restart("bad") == ["bad"]
    assert bench.status == "succeeded"


def test_a_file_that_was_kept_is_read(bench: Bench) -> None:
    made = "mkdir -p /tmp/o; date +%N > /tmp/o/f; cat /tmp/o/f"
    workflow = flow(
        "files",
        bench.step("make", made, outputs=[out("f", "file", path="/tmp/o/f")]),
        bench.step(
            "use",
            f"{bench.mended} && cat /tmp/i",
            inputs=[given("f", ref("make", "f"), "file", path="/tmp/i")],
        ),
        outputs=[out("made", source=ref("make")), out("read", source=ref("use"))],
    )
    bench.run(workflow)
    bench.mend()
    assert bench.restart("use") == ["use"]
    assert bench.run_outputs["read"] == bench.run_outputs["made"]


def test_a_group_begins_anew_with_what_it_now_takes_in(bench: Bench) -> None:
    workflow = flow(
        "inputs",
        bench.step("source", f"{bench.mended} && echo new || echo old"),
        group(
            "work",
            bench.step("a", "echo $1", param("x")),
            bench.step("b", f"{bench.mended}", ref("a")),
            inputs=[given("x", ref("source"))],
        ),
    )
    assert bench.run(workflow) == ["a old", "b old", "source"]
    bench.mend()
    assert bench.restart("source", "work/a", "work/b") == ["a new", "b new", "source"]
    assert bench.status == "succeeded"


def test_whole_groups_and_loops_can_be_named(bench: Bench) -> None:
    def work(*, skips: bool) -> Workflow:
        return flow(
            "wholes",
            bench.step("flag"),
            group(
                "work",
                bench.step("a"),
                bench.step("b"),
                when=compare(ref("flag"), "!=" if skips else "==", "done"),
            ),
            bench.step("bad", bench.mended),
        )

    bench.run(work(skips=False))
    bench.mend()
    assert bench.restart("work", "bad", workflow=work(skips=True)) == ["bad"]
    assert bench.ends("skipped") == {"work"}
    assert bench.status == "succeeded"


def test_a_step_that_becomes_a_foreach_is_refused_or_runs_again(bench: Bench) -> None:
    def made(*, each: bool) -> Workflow:
        more = {"foreach": ["x", "y"]} if each else {}
        args = [item()] if each else ["x"]
        return flow(
            "reshaped", bench.step("a", "echo $1", *args, **more), bench.step("bad", bench.mended)
        )

    bench.run(made(each=False))
    bench.mend()
    with pytest.raises(RefusedError, match='"a" cannot keep its end, since the workflow as it is'):
        bench.restart("bad", workflow=made(each=True))
    assert bench.restart("a", "bad", workflow=made(each=True)) == ["a x", "a y", "bad"]
    assert bench.status == "succeeded"


def test_what_a_kept_step_gives_is_not_lost_when_another_reads_it_now(bench: Bench) -> None:
    workflow = flow(
        "reads",
        bench.step("a", "date +%N"),
        bench.step("b", "echo $1", ref("a")),
        bench.step("bad", bench.mended),
    )
    bench.run(workflow)
    a = bench.outputs["a"]["result"]
    bench.mend()
    reads = flow(
        "reads",
        bench.step("b", "echo $1", ref("a")),
        bench.step("a", "date +%N"),
        bench.step("bad", f"{bench.mended} && echo $1", ref("a")),
        bench.step("late", "echo $1", ref("a"), depends_on=[on_completion("bad")]),
        outputs=[out("said", source=ref("late"))],
    )
    assert bench.restart("bad", workflow=reads) == [f"bad {a}", f"late {a}"]
    assert bench.run_outputs == {"said": a}


def test_a_stored_template_is_taken_up_as_argo_does(bench: Bench) -> None:
    stored = flow(
        f"stored-{bench.folder.name[:6]}",
        bench.step("first"),
        bench.step("bad", bench.mended, depends_on=["first"]),
        bench.step("after", depends_on=["bad"]),
    )
    target = Target(options={"kind": "WorkflowTemplate"})
    text = ArgoBackend().compile(resolve_defaults(stored), target, format="json").to_text()
    template = json.loads(text)
    template["metadata"]["name"] = "stored"  # the name of one that the linter's cluster has
    with RestClient("argo", bench.argo.address, extra="argo") as client:
        ClusterApi(client, "default").apply(template)
    bench.run(flow("meanwhile", bench.step("x")))  # the controller has seen the template by its end
    runs = Workflow(name="runs-stored", stored=StoredWorkflow(name="stored"))
    assert bench.run(runs) == ["bad", "first"]
    assert bench.status == "failed"
    bench.mend()
    assert bench.restart() == ["after", "bad"]
    assert bench.status == "succeeded"

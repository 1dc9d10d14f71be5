"""Restarts of workflows whose parts have runs of their own, under Argo's real controller."""

from __future__ import annotations

import threading
import typing as t

import pytest

from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.family import children_of
from couler.backends.argo.remote import ArgoRemote
from couler.backends.argo.reset import has_ended
from couler.backends.argo.status_nodes import is_over
from couler.backends.argo.workflow_api import COMPLETED_LABEL
from couler.backends.remote import RemoteRun
from couler.errors import RefusedError
from couler.ir.artifacts import FileSettings, RunFileRemoval
from couler.ir.policies import Part
from couler.ir.walk import StepPath
from couler.ir.workflow import Output, Step, Workflow
from tests.corpus.build import flow, given, on_completion, out, param, parameter, ref
from tests.fakes.kubernetes.store import WORKFLOW_TEMPLATES, WORKFLOWS
from tests.support import argo_oracle
from tests.support.argo_bench import Bench
from tests.support.waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(4),
]

Json = t.Any


def of(run: str, *steps: Step) -> list[Step]:
    return [step.model_copy(update={"part": Part(run=run)}) for step in steps]


def identity(child: Json) -> tuple[str, str, str]:
    metadata = child["metadata"]
    return metadata["uid"], metadata["resourceVersion"], child["status"]["finishedAt"]


def test_children_go_on_in_their_places_and_those_that_succeeded_are_left_alone(
    bench: Bench,
) -> None:
    workflow = flow(
        "places",
        *of("first", bench.step("make", "date +%N")),
        *of(
            "second",
            bench.step("keep", 'echo "$1"; date +%N', ref("make")),
            bench.step("bad", f"{bench.mended} && date +%N", ref("make")),
        ),
        *of(
            "third",
            bench.step("read", 'echo "$1 $2"', ref("bad"), ref("make")),
            bench.step("beside", 'echo "$1"', ref("keep")),
        ),
        outputs=[out("read", source=ref("read")), out("beside", source=ref("beside"))],
    )
    bench.run(workflow)
    before = bench.children
    kept = {path: bench.outputs[path]["result"] for path in ("make", "keep", "beside")}
    bench.mend()
    ran = bench.restart("bad", "read")
    bad = bench.outputs["bad"]["result"]
    assert ran == [f"bad {kept['make']}", f"read {bad}"]
    assert {path: bench.outputs[path]["result"] for path in kept} == kept
    assert bench.run_outputs == {"read": f"{bad} {kept['make']}", "beside": kept["beside"]}
    after = bench.children
    assert identity(after["first"]) == identity(before["first"])
    for one in ("second", "third"):
        assert after[one]["metadata"]["uid"] == before[one]["metadata"]["uid"]
        assert after[one]["status"]["phase"] == "Succeeded"


def test_a_run_is_taken_up_twice(bench: Bench) -> None:
    workflow = flow(
        "twice",
        *of("a", bench.step("good", "date +%N"), bench.step("bad", bench.mended)),
        *of(
            "b",
            bench.step("after", f"test -e {bench.folder}/more", depends_on=["bad"]),
            bench.step("beside", 'echo "$1"', ref("good")),
        ),
        *of("c", bench.step("last", depends_on=["after"])),
    )
    bench.run(workflow)
    assert "c" in bench.children, "a part is begun though nothing in it can be"
    assert bench.restart("bad", "after", "last") == ["bad"]
    assert bench.ends("failed") == {"bad"}
    bench.mend()
    assert bench.restart("bad", "after", "last") == ["after", "bad"]
    assert (bench.ends("failed"), bench.status) == ({"after"}, "failed")
    (bench.folder / "more").touch()
    assert bench.restart("after", "last") == ["after", "last"]
    assert bench.ends("succeeded") == {"good", "bad", "after", "beside", "last"}
    assert bench.status == "succeeded"


def test_a_changed_workflow_goes_on_with_definitions_of_its_own(bench: Bench) -> None:
    def workflow(script: str, *more: Step) -> Workflow:
        return flow(
            "changed",
            *of("a", bench.step("good", "date +%N"), bench.step("bad", script, ref("good"))),
            *of("b", bench.step("after", 'echo "$1"', ref("bad")), *more),
        )

    bench.run(workflow("exit 3"))
    good = bench.outputs["good"]["result"]
    before = {run: one["spec"]["workflowTemplateRef"] for run, one in bench.children.items()}
    new = bench.step("new", 'echo "new $1"', ref("good"))
    ran = bench.restart("bad", "after", workflow=workflow('echo "mended $1"', new))
    assert ran == [f"after mended {good}", f"bad {good}", f"new {good}"]
    assert bench.status == "succeeded"
    assert bench.outputs["good"]["result"] == good
    after = {run: one["spec"]["workflowTemplateRef"] for run, one in bench.children.items()}
    assert all(before[run] != after[run] for run in "ab")


def test_other_parameters_reach_the_children(bench: Bench) -> None:
    workflow = flow(
        "given",
        *of("a", bench.step("good", "date +%N"), bench.step("test", 'test "$1" = yes', param("x"))),
        *of("b", bench.step("after", 'echo "$1"', param("x"), depends_on=["test"])),
        parameters=[parameter("x", "no")],
    )
    bench.run(workflow)
    assert bench.ends("failed") == {"test"}
    assert bench.restart("test", "after", x="yes") == ["after yes", "test yes"]
    assert bench.status == "succeeded"


def test_children_whose_files_go_with_the_run_get_what_is_new_too(bench: Bench) -> None:
    """Argo's controller looks at ended Workflows as well where files of them are to be removed."""
    finalizer = "workflows.argoproj.io/artifact-gc"
    make = bench.step(
        "make",
        'date +%N | tee "$COULER_WORK/note"',
        outputs=[Output(), Output(name="note", type="file", path="note")],
    )
    workflow = flow(
        "removed",
        *of("a", bench.step("test", 'test "$1" = yes', param("x"))),
        *of(
            "b",
            make,
            bench.step("after", 'echo "$1 $2"', param("x"), ref("make"), depends_on=["test"]),
            bench.step("more", depends_on=["test"]),
        ),
        parameters=[parameter("x", "no")],
        files=FileSettings(removal=RunFileRemoval(on="deletion")),
    )
    bench.run(workflow)
    assert finalizer in bench.children["b"]["metadata"]["finalizers"]
    assert bench.restart("test", "after", "more", x="yes") == ["after yes", "more", "test yes"]
    assert bench.status == "succeeded"
    assert finalizer in bench.children["b"]["metadata"]["finalizers"]


def test_files_of_steps_that_are_kept_are_read(bench: Bench) -> None:
    make = bench.step(
        "make",
        'date +%N | tee "$COULER_WORK/note"',
        outputs=[Output(), Output(name="note", type="file", path="note")],
    )
    workflow = flow(
        "files",
        *of("a", make, bench.step("bad", bench.mended)),
        *of(
            "b",
            bench.step(
                "read",
                'cat "$COULER_INPUT_note"',
                inputs=[given("note", ref("make", "note"), "file")],
                depends_on=["bad"],
            ),
        ),
        outputs=[out("read", source=ref("read")), out("made", source=ref("make"))],
    )
    bench.run(workflow)
    bench.mend()
    assert bench.restart("bad", "read") == ["bad", "read"]
    assert bench.run_outputs["read"] == bench.run_outputs["made"] != ""


def test_children_that_ended_with_the_time_of_the_run_go_on(bench: Bench) -> None:
    workflow = flow(
        "late",
        *of(
            "a",
            bench.step("good"),
            bench.step("slow", f"{bench.mended} || sleep 3600", depends_on=["good"]),
        ),
        *of("b", bench.step("after", depends_on=["slow"])),
        timeout_s=3600,
    )

    def end_time(api: ClusterApi) -> None:
        api._patch("Workflow", bench.name, {"spec": {"activeDeadlineSeconds": 0}})

    bench.run_and_stop(workflow, when="slow", stop=end_time)
    assert bench.status == "failed"
    assert bench.ends("succeeded") == {"good"}
    until(lambda: all(map(is_over, bench.children.values())))
    bench.mend()
    assert bench.ran == []
    assert bench.restart("slow", "after") == ["after", "slow"]
    assert bench.status == "succeeded"


def test_a_child_that_others_ended_goes_on(bench: Bench) -> None:
    def stop_child() -> None:
        with bench.api() as api:
            [child] = children_of(api, api.get(bench.name))
            api.stop(child["metadata"]["name"])
            until(lambda: has_ended(api.get(bench.name)))

    workflow = flow(
        "ended",
        *of(
            "a",
            bench.step("good"),
            bench.step("slow", f"{bench.mended} || sleep 3600", depends_on=["good"]),
        ),
        *of("b", bench.step("after", depends_on=[on_completion("slow")])),
    )
    bench.run_and_stop(workflow, when="slow", before=stop_child)
    assert bench.ends("succeeded") == {"good"}
    bench.mend()
    assert bench.ran == []
    assert bench.restart("slow", "after") == ["after", "slow"]
    assert bench.status == "succeeded"


def test_a_child_that_was_put_back_in_vain_goes_on_the_next_time(bench: Bench) -> None:
    slow = f"{{ test -e {bench.folder}/slow && sleep 3600; }}"
    workflow = flow(
        "vain",
        *of(
            "a",
            bench.step("good", "date +%N"),
            bench.step("bad", f"{bench.mended} || {slow}"),
        ),
        *of(
            "b",
            bench.step("after", depends_on=["bad"]),
            bench.step("beside", 'echo "$1"', ref("good")),
        ),
        outputs=[out("beside", source=ref("beside"))],
    )
    bench.run(workflow)
    good = bench.outputs["good"]["result"]
    (bench.folder / "slow").touch()

    def stop_first() -> None:
        with bench.api() as api:
            until(lambda: "bad" in bench._written())
            api.stop(bench.children["a"]["metadata"]["name"])

    ending = threading.Thread(target=stop_first)
    ending.start()
    assert bench.restart("bad", "after") == ["bad"]
    ending.join()
    held = bench.children["b"]
    assert (held["metadata"]["labels"][COMPLETED_LABEL], is_over(held)) == ("true", False)
    assert bench.status == "failed"
    assert bench.ends("succeeded") == {"good", "beside"}
    bench.mend()
    assert bench.restart("bad", "after") == ["after", "bad"]
    assert bench.ends("succeeded") == {"good", "beside", "bad", "after"}
    assert bench.run_outputs == {"beside": good}


def test_a_child_that_is_applied_again_after_its_end_stays_as_it_ended(bench: Bench) -> None:
    """The pod that waits may be lost between the end of its child and its own."""
    bench.run(flow("again", *of("a", bench.step("bad", "exit 3"))))
    before = bench.children["a"]
    with bench.api() as api:
        name = before["metadata"]["name"]
        api._patch("Workflow", name, {"metadata": {"labels": {COMPLETED_LABEL: "false"}}})
        until(lambda: has_ended(api.get(name)))
    after = bench.children["a"]
    assert after["status"]["nodes"] == before["status"]["nodes"]
    assert after["status"]["phase"] == "Failed"
    assert bench.ran == []


def test_logs_cancel_and_delete_after_a_restart(bench: Bench) -> None:
    argo = bench.argo
    kinds = (WORKFLOWS, WORKFLOW_TEMPLATES)
    before = [len(argo.objects(kind)) for kind in kinds]

    def workflow(script: str) -> Workflow:
        return flow(
            "after",
            *of("a", bench.step("good", "echo kept"), bench.step("bad", script)),
            *of("b", bench.step("next", "sleep 3600", depends_on=["bad"])),
        )

    first, second = workflow("exit 3"), workflow("echo well")
    run = bench.submit(first)
    bench.follow(run)
    with bench.api() as api:
        remote = ArgoRemote(api)
        remote.restart(run, bench.order(second, "bad", "next"))
        run = RemoteRun(run.run_id, second, run.place)
        until(lambda: "next" in bench._written())
        assert list(remote.logs(run, StepPath.parse("bad"))) == ["well"]
        assert list(remote.logs(run, StepPath.parse("good"))) == ["kept"]
        remote.cancel(run)
        assert bench.follow(run).status == "cancelled"
        until(lambda: all(map(is_over, bench.children.values())))
        seen = {str(one.path): one.status for one in remote.observe(run).steps}
        assert seen == {"good": "succeeded", "bad": "succeeded", "next": "cancelled"}
        remote.delete(run)
    assert [len(argo.objects(kind)) for kind in kinds] == before


def test_steps_of_the_parent_around_children(bench: Bench) -> None:
    """What stays in the parent keeps its end too, though children before it go on."""
    workflow = flow(
        "around",
        bench.step("first", "date +%N"),
        *of(
            "a",
            bench.step("good", 'echo "$1"', ref("first")),
            bench.step("bad", f"{bench.mended} && echo b", depends_on=["first"]),
        ),
        *of(
            "b",
            bench.step("beside", 'echo "$1"', ref("good")),
            bench.step("next", depends_on=["bad"]),
        ),
        bench.step("kept", 'echo "$1"', ref("beside")),
        bench.step("last", 'echo "$1 $2"', ref("kept"), ref("bad")),
        outputs=[out("last", source=ref("last"))],
    )
    bench.run(workflow)
    first = bench.outputs["first"]["result"]
    assert bench.ends("succeeded") == {"first", "good", "beside", "kept"}
    bench.mend()
    assert bench.restart("bad", "next", "last") == ["bad", f"last {first}", "next"]
    assert bench.run_outputs == {"last": f"{first} b"}
    assert bench.status == "succeeded"


def test_a_step_of_the_parent_before_children_runs_again(bench: Bench) -> None:
    workflow = flow(
        "before",
        bench.step("bad", f"{bench.mended} && echo b"),
        *of("a", bench.step("good", "date +%N"), bench.step("next", 'echo "$1"', ref("bad"))),
        *of(
            "b",
            bench.step("beside", 'echo "$1"', ref("good")),
            bench.step("far", 'echo "$1"', ref("next")),
        ),
    )
    bench.run(workflow)
    assert bench.ends("succeeded") == {"good", "beside"}
    bench.mend()
    assert bench.restart("bad", "next", "far") == ["bad", "far b", "next b"]
    assert bench.status == "succeeded"


@pytest.mark.parametrize("kind", ["run", "group"])
def test_a_part_that_is_kept_cannot_wait_for_a_step_in_none(bench: Bench, kind: str) -> None:
    """Argo does not wait for the end of a task with a node that is there already."""
    own = {"part": Part(**{kind: "a"})}
    workflow = flow(
        "loose",
        bench.step("bad", f"{bench.mended} && echo b"),
        bench.step("good", "date +%N", **own),
        bench.step("next", 'echo "$1"', ref("bad"), **own),
        bench.step("behind", 'echo "$1"', ref("good")),
    )
    bench.run(workflow)
    assert bench.ends("succeeded") == {"good", "behind"}
    with pytest.raises(RefusedError, match=r'p-a cannot keep.*"bad", which is in no part'):
        bench.restart("bad", "next")


@pytest.mark.parametrize("kind", ["run", "group"])
def test_a_restart_is_cancelled_while_parts_wait_for_others(bench: Bench, kind: str) -> None:
    def part(name: str, *steps: Step) -> list[Step]:
        return [step.model_copy(update={"part": Part(**{kind: name})}) for step in steps]

    def workflow(script: str) -> Workflow:
        return flow(
            "stopped",
            *part("a", bench.step("good", "date +%N"), bench.step("bad", script)),
            *part(
                "b",
                bench.step("after", depends_on=["bad"]),
                bench.step("beside", 'echo "$1"', ref("good")),
            ),
            bench.step("kept", 'echo "$1"', ref("beside")),
        )

    first, slow = workflow("exit 3"), workflow("sleep 3600")
    run = bench.submit(first)
    bench.follow(run)
    assert {line.split()[0] for line in bench.ran} == {"bad", "beside", "good", "kept"}
    with bench.api() as api:
        remote = ArgoRemote(api)
        remote.restart(run, bench.order(slow, "bad", "after"))
        run = RemoteRun(run.run_id, slow, run.place)
        until(lambda: "bad" in bench._written())
        remote.cancel(run)
        bench.argo.wait(bench.name)
        seen = {str(one.path): one.status for one in remote.observe(run).steps}
    assert {path for path, state in seen.items() if state == "succeeded"} == {
        "good",
        "beside",
        "kept",
    }

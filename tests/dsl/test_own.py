"""Metrics, hooks and what a step knows of itself, as programs write them."""

from __future__ import annotations

import pytest

import couler
from couler.ir import policies as ir
from couler.ir.policies import Backoff, Retry
from couler.ir.values import And, Compare, Field, ItemRef, Literal, OwnRef, ParamRef, StepRef
from couler.ir.workflow import Job
from tests.support.verification import codes


def idle(name: str, **options: object) -> couler.Value:
    return couler.run_container("busybox", ["true"], step_name=name, **options)  # type: ignore[arg-type]  # any option


def test_metrics() -> None:
    with couler.Workflow(
        "w",
        team="ml",
        metrics=couler.Gauge("took", "Seconds of a run.", couler.own.duration_s),
    ) as wf:
        first = idle("first")
        idle(
            "second",
            metrics=[
                couler.Counter(
                    "failures",
                    "Failed steps.",
                    labels={"of": first, "team": wf.params.team, "kind": "x"},
                    when=couler.own.status == "failed",
                ),
                couler.Histogram("seconds", "Seconds.", couler.own.duration_s, [1, 10]),
            ],
        )
    workflow = wf.to_ir()
    assert wf.diagnostics == ()
    [took] = workflow.metrics
    assert took == ir.Gauge(name="took", help="Seconds of a run.", value=OwnRef(fact="duration_s"))
    failures, seconds = workflow.steps[1].metrics
    assert failures.labels == (
        ir.MetricLabel(name="of", value=StepRef(step="first")),
        ir.MetricLabel(name="team", value=ParamRef(name="team")),
        ir.MetricLabel(name="kind", value="x"),
    )
    assert failures.when == Compare(
        left=OwnRef(fact="status"), op="==", right=Literal(value="failed")
    )
    assert isinstance(seconds, ir.Histogram)
    assert seconds.buckets == (1.0, 10.0)


def test_hooks() -> None:
    @couler.step
    def alert() -> None:
        raise RuntimeError("it runs elsewhere")

    with couler.Workflow("w", channel="ml", hooks={"failed": alert}) as wf:
        idle(
            "train",
            hooks=[
                couler.OnState("running", lambda: idle("tell")),
                couler.OnState(
                    couler.own.status != "running",
                    lambda: couler.http(
                        couler.text("https://example.org/{}", wf.params.channel), step_name="post"
                    ),
                ),
            ],
        )
    workflow = wf.to_ir()
    assert wf.diagnostics == ()
    assert [hook.step.name for hook in workflow.hooks] == ["alert"]
    assert [step.name for step in workflow.steps] == ["train"]
    told, posted = workflow.steps[0].hooks
    assert (told.step.name, posted.step.name) == ("tell", "post")
    assert told.when == Compare(left=OwnRef(fact="status"), op="==", right=Literal(value="running"))


def test_hooks_inside_of_a_group_read_its_inputs() -> None:
    with couler.Workflow("w", channel="ml") as wf, couler.group("g"):
        idle(
            "train",
            hooks={
                "failed": lambda: couler.run_container(
                    "busybox", ["echo", wf.params.channel], step_name="tell"
                )
            },
        )
    [group] = wf.to_ir().steps
    assert [given.name for given in group.inputs] == ["channel"]


@pytest.mark.parametrize(
    ("hooks", "told"),
    [
        ({"done": lambda: idle("x")}, "'done' is no state; there are running, succeeded, failed"),
        ({"failed": lambda: None}, "a hook makes one step, not 0; call one in its function"),
        (3, "3 is no hook; write a couler.OnState, or a dict of functions by state"),
        ([couler.OnState("failed", 3)], "hooks: 3 is no function"),  # type: ignore[arg-type]  # that is the test
    ],
)
def test_what_is_no_hook(hooks: object, told: str) -> None:
    with couler.Workflow("w") as wf:
        idle("a", hooks=hooks)
    [found] = wf.diagnostics
    assert (found.code, found.step) == ("CLR105", "a")
    assert told in found.message


def test_what_is_no_metric() -> None:
    with couler.Workflow("w", metrics="took") as wf:  # type: ignore[arg-type]  # that is the test
        idle("a", metrics=couler.Counter("a", "h", value=object()))
    assert [found.code for found in wf.diagnostics] == ["CLR105", "CLR103"]


def test_requests() -> None:
    with couler.Workflow("w") as wf:
        couler.http(
            "https://example.org",
            "POST",
            body=b"\x00\xff",
            success_condition=(couler.own.status_code < 300)
            & (couler.own.result["state"] == "done")
            & (couler.own.header("X-State") != "old"),
            verify_tls=False,
        )
    action = wf.to_ir().steps[0].action
    assert wf.diagnostics == ()
    assert (action.body_base64, action.body, action.verify_tls) == ("AP8=", None, False)
    assert isinstance(action.success_condition, And)
    assert action.success_condition.items[1].left == Field(
        of=OwnRef(fact="output", name="result"), path=("state",)
    )


def test_a_request_takes_what_its_condition_compares_as_inputs() -> None:
    with couler.Workflow("w", wanted=3) as wf:
        first = idle("a")
        state = couler.own.result == couler.text("is {}", first)
        count = wf.params.wanted <= couler.own.result["n"]
        couler.http("https://example.org", success_condition=state & count, step_name="b")
        couler.map(
            lambda x: couler.http("https://x", success_condition=couler.own.result == x), [1, 2]
        )
    assert codes(wf.to_ir()) == []
    _, step, mapped = wf.to_ir().steps
    assert [(given.name, given.type) for given in step.inputs] == [
        ("expected", "str"),
        ("expected_2", "int"),
    ]
    assert [given.value for given in mapped.inputs] == [ItemRef(name="x")]
    assert step.action.success_condition.items[1].left == OwnRef(fact="input", name="expected_2")


def test_retries_and_schedules() -> None:
    retry = couler.Retry(3, wait="10s", within="5m", on=("transient",), other_node=True)
    schedule = couler.Schedule(
        "* * * * *", min_gap="10m", stop_after_succeeded=7, stop_after_failed=3
    )
    with couler.Workflow("w", schedule=schedule, suspended=True) as wf:
        idle("a", retry=retry)
    workflow = wf.to_ir()
    assert workflow.suspended
    assert workflow.steps[0].retry == Retry(
        limit=3,
        on=("transient",),
        backoff=Backoff(seconds=10, max_duration_s=300),
        other_node=True,
    )
    assert workflow.schedule is not None
    assert workflow.schedule.min_gap_s == 600
    assert (workflow.schedule.stop_after_succeeded, workflow.schedule.stop_after_failed) == (7, 3)


def test_a_bound_without_a_wait_is_told() -> None:
    with couler.Workflow("w") as wf:
        idle("a", retry=couler.Retry(3, within="5m"))
    [found] = wf.diagnostics
    assert found.message.endswith("within bounds the waits of a retry, so it needs a wait")


def test_jobs() -> None:
    with couler.Workflow("w") as wf:
        made = couler.run_container("busybox", ["true"], step_name="a", output=couler.File("/m"))
        patched = couler.run_job(
            {"apiVersion": "v1", "kind": "ConfigMap"},
            action="patch",
            merge_strategy="merge",
            flags=["--validate=false"],
            outputs={"keys": couler.Jq(".data | keys | length")},
            step_name="patch",
        )
        couler.run_job(made, step_name="create")
        couler.run_container("busybox", ["echo", patched.keys], step_name="show")
    workflow = wf.to_ir()
    assert wf.diagnostics == ()
    patch, create = workflow.steps[1], workflow.steps[2]
    assert isinstance(patch.action, Job)
    assert (patch.action.merge_strategy, patch.action.flags) == ("merge", ("--validate=false",))
    assert patch.outputs[0].jq == ".data | keys | length"
    assert isinstance(create.action, Job)
    assert create.action.manifest_from == create.inputs[0].name
    assert create.inputs[0].value == StepRef(step="a", output="m")

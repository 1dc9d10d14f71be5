"""Rules for metrics, hooks and conditions on what a step knows of itself."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.base import FrozenDict
from couler.ir.policies import Backoff, Counter, Gauge, Histogram, Metric, MetricLabel, Retry
from couler.ir.storage import EnvVar
from couler.ir.values import (
    And,
    Compare,
    Condition,
    Field,
    ItemRef,
    Literal,
    OwnRef,
    ParamRef,
    StepRef,
    Template,
    Value,
    ValueType,
)
from couler.ir.workflow import (
    Container,
    Hook,
    Http,
    Input,
    Job,
    Output,
    Step,
    Suspend,
    Workflow,
)
from tests.support.sample_flows import AGAIN, A, echo, flow, group, own_fact as own
from tests.support.verification import codes, only

STATUS = OwnRef(fact="status")
TOOK = OwnRef(fact="duration_s")
NUMBER = Output(name="n", type="int", path="n")


def counter(**fields: t.Any) -> Counter:
    return Counter(**{"name": "c", "help": "h", "value": Literal(value=1), **fields})


def measured(*metrics: Metric, **fields: t.Any) -> list[str]:
    outputs = (NUMBER, Output(name="all", type="json", path="all"))
    return codes(flow(echo("a"), echo("b", outputs=outputs, metrics=metrics, **fields)))


@pytest.mark.parametrize(
    "value",
    [
        Literal(value=0),
        TOOK,
        OwnRef(fact="exit_code"),
        OwnRef(fact="output", name="n"),
        Field(of=OwnRef(fact="output", name="all"), path=("x",)),
        A,
    ],
)
def test_good_values(value: Value) -> None:
    assert measured(counter(value=value)) == []


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (Literal(value=-1), "CLR431"),
        (Literal(value="1"), "CLR431"),
        (Literal(value=True), "CLR431"),
        (STATUS, "CLR431"),
        (OwnRef(fact="output", name="m"), "CLR432"),
        (OwnRef(fact="output", name="result"), "CLR432"),
        (OwnRef(fact="status_code"), "CLR432"),
        (Template(parts=("x", TOOK)), "CLR432"),
        (StepRef(step="c"), "CLR160"),
        (ItemRef(), "CLR163"),
    ],
)
def test_bad_values(value: Value, code: str) -> None:
    assert measured(counter(value=value)) == [code]


@pytest.mark.parametrize(
    "metric",
    [
        counter(name="a-b"),
        counter(help=" "),
        counter(labels=(MetricLabel(name="a-b", value="x"),)),
        Gauge(name="g", help="h", value=Literal(value=-1), realtime=True),
        Histogram(name="g", help="h", value=TOOK, buckets=()),
        Histogram(name="g", help="h", value=TOOK, buckets=(2.0, 1.0)),
    ],
)
def test_bad_metrics(metric: Metric) -> None:
    assert measured(metric) == ["CLR431"]
    assert codes(flow(echo("a"), metrics=(metric,))) == ["CLR431"]


def test_good_metrics() -> None:
    labels = (MetricLabel(name="of", value=A), MetricLabel(name="state", value=STATUS))
    assert measured(counter(labels=labels, when=own("==", "failed"))) == []
    assert measured(Gauge(name="g", help="h", value=TOOK, realtime=True)) == []
    assert measured(Histogram(name="g", help="h", value=TOOK, buckets=(1.0, 2.0))) == []
    twice = (MetricLabel(name="of", value="x"), MetricLabel(name="of", value="y"))
    assert measured(counter(labels=twice)) == ["CLR151"]


def test_metrics_are_of_what_runs() -> None:
    assert codes(flow(group("g", echo("a"), metrics=(counter(),)))) == ["CLR410"]


def test_conditions_compare_own_facts_only() -> None:
    assert measured(counter(when=Compare(left=A, op="==", right=Literal(value="x")))) == ["CLR432"]
    assert measured(counter(when=own("<", 3))) == []  # a status is a text, which reads as anything
    assert measured(counter(when=own("==", "x", "exit_code"))) == ["CLR181"]
    found = only(flow(echo("a", STATUS)))
    assert (found.code, "Only metrics, hooks" in found.message) == ("CLR432", True)


def test_metrics_of_a_workflow_read_the_run() -> None:
    took = counter(value=TOOK, labels=(MetricLabel(name="s", value=STATUS),))
    assert codes(flow(echo("a"), metrics=(took,))) == []
    assert codes(flow(echo("a"), metrics=(counter(value=OwnRef(fact="exit_code")),))) == ["CLR432"]


def hooked(hook: Hook, **fields: t.Any) -> list[str]:
    return codes(flow(echo("x"), echo("a", hooks=(hook,), **fields)))


ON_FAILURE = own("==", "failed")


def test_good_hooks() -> None:
    hook = Hook(when=ON_FAILURE, step=echo("tell"))
    assert hooked(hook) == []
    assert codes(flow(echo("a"), hooks=(hook,))) == []
    inner = Hook(when=ON_FAILURE, step=echo("tell", ParamRef(name="p")))
    given = Input(name="p", value=Literal(value="x"))
    assert codes(flow(group("g", echo("a", hooks=(inner,)), inputs=(given,)))) == []


@pytest.mark.parametrize(
    "step",
    [
        echo("tell", depends_on=("x",)),
        echo("tell", outputs=(NUMBER,)),
        Step(name="tell", action=Suspend()),
        echo("tell", env=(EnvVar(name="X", value=StepRef(step="x")),)),
    ],
)
def test_steps_that_are_no_hooks(step: Step) -> None:
    assert "CLR433" in hooked(Hook(when=ON_FAILURE, step=step))


def test_hooks_are_steps_that_are_checked() -> None:
    bad = Step(name="tell", action=Container(image=""))
    workflow = flow(echo("a", hooks=(Hook(when=ON_FAILURE, step=bad),)))
    found = only(workflow)
    assert (found.code, found.step) == ("CLR408", "a.hooks/tell")
    of_workflow = only(flow(echo("a"), hooks=(Hook(when=ON_FAILURE, step=bad),)))
    assert (of_workflow.code, of_workflow.step) == ("CLR408", "hooks/tell")


def test_hooks_have_names_of_their_own_and_look_at_the_state() -> None:
    twice = (
        Hook(when=ON_FAILURE, step=echo("tell")),
        Hook(when=own("==", "running"), step=echo("tell")),
    )
    assert "CLR151" in codes(flow(echo("a", hooks=twice)))
    assert hooked(Hook(when=own(">", 3, "duration_s"), step=echo("tell"))) == ["CLR432"]
    assert hooked(Hook(when=ON_FAILURE, step=echo("tell")), loop=AGAIN) == ["CLR433"]


def sent(**fields: t.Any) -> list[str]:
    return codes(flow(Step(name="a", action=Http(url="https://x", **fields))))


def both(*items: Condition) -> Condition:
    return And(items=items)


def test_conditions_on_responses() -> None:
    good = both(own("<", 300, "status_code"), own("==", "x", "header", "X-State"))
    assert sent(success_condition=good) == []
    assert sent(success_condition=own("==", "x", "output", "result")) == []
    assert sent(success_condition=own("==", "x", "status")) == ["CLR432"]
    assert sent(success_condition=own("==", "ok", "status_code")) == ["CLR181"]
    assert sent(success_condition=good, success_codes=(200,)) == ["CLR423"]


def test_conditions_on_responses_read_inputs() -> None:
    def compared(left: Value, value: Value = A, value_type: ValueType = "str") -> list[str]:
        body = OwnRef(fact="output", name="result")
        condition = Compare(left=left, op="==", right=body)
        step = Step(
            name="b",
            action=Http(url="https://x", success_condition=condition),
            inputs=(Input(name="v", value=value, type=value_type),),
        )
        return codes(flow(echo("a", outputs=(Output(name="f", type="file", path="f"),)), step))

    given = OwnRef(fact="input", name="v")
    assert compared(given) == []
    assert compared(given, StepRef(step="c")) == ["CLR160"]
    assert compared(given, StepRef(step="a", output="f"), "file") == ["CLR177"]
    assert compared(OwnRef(fact="input", name="w")) == ["CLR410", "CLR432"]
    assert compared(A) == ["CLR410", "CLR432"]
    assert compared(Template(parts=("x", given))) == ["CLR432"]


def test_bodies_of_bytes() -> None:
    assert sent(body_base64="AAH/") == []
    assert sent(body_base64="no base64") == ["CLR423"]
    assert sent(body_base64="AAH/", body="x") == ["CLR423"]


MANIFEST = FrozenDict(apiVersion="v1", kind="ConfigMap")


def did(job: Job, **fields: t.Any) -> list[str]:
    made = echo("x", outputs=(Output(name="file", type="file", path="/f"),))
    return codes(flow(made, Step(name="a", action=job, **fields)))


def test_manifests_from_files() -> None:
    given = (Input(name="m", value=StepRef(step="x", output="file"), type="file"),)
    assert did(Job(manifest_from="m"), inputs=given) == []
    assert did(Job(manifest_from="m")) == ["CLR419"]
    assert did(Job(manifest_from="m", manifest=MANIFEST), inputs=given) == ["CLR419"]
    assert did(Job(manifest=MANIFEST), inputs=given) == ["CLR410"]


def test_actions_on_resources() -> None:
    assert did(Job(manifest=MANIFEST, action="patch", merge_strategy="merge")) == []
    assert did(Job(manifest=MANIFEST, merge_strategy="merge")) == ["CLR419"]
    assert did(Job(manifest=MANIFEST, action="get")) == []
    assert did(Job(manifest=MANIFEST, action="get", success_condition="x")) == []
    owned = Job(manifest=MANIFEST, action="get", set_owner_reference=True)
    assert did(owned) == ["CLR419"]
    both_ways = Output(name="o", jq=".x", json_path="{.x}")
    assert did(Job(manifest=MANIFEST), outputs=(both_ways,)) == ["CLR169"]
    assert codes(flow(echo("a", outputs=(Output(name="o", jq=".x"),)))) == ["CLR169"]


def retried(**fields: t.Any) -> list[str]:
    return codes(flow(echo("a", retry=Retry(limit=2, **fields))))


def test_kinds_and_bounds_of_retries() -> None:
    assert retried(on=("transient",)) == []
    assert retried(on=("transient", "error")) == ["CLR403"]
    assert retried(backoff=Backoff(seconds=5, max_duration_s=60)) == []
    assert retried(backoff=Backoff(seconds=5, max_duration_s=4)) == ["CLR403"]
    other: Workflow = flow(group("g", echo("a"), retry=Retry(limit=1, other_node=True)))
    assert codes(other) == ["CLR410"]

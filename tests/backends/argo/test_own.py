"""Metrics, hooks and conditions on own facts: what is emitted, and what Argo does with it."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.own import response_condition
from couler.backends.argo.tags import quote
from couler.backends.base import Target
from couler.ir.policies import Counter, Gauge, Histogram, MetricLabel
from couler.ir.values import Compare, Condition, Field, Literal, OwnRef, Value, ValueType
from couler.ir.workflow import ContainerSet, Hook, Http, Input, Job, Output, Plugin, Step, Workflow
from tests.corpus.build import flow, group, item, out, param, parameter, ref, sh
from tests.support import argo_oracle, argo_schema
from tests.support.sample_flows import own_fact as own

BACKEND = ArgoBackend()


def emitted(workflow: Workflow) -> dict[str, t.Any]:
    manifest: dict[str, t.Any] = json.loads(
        BACKEND.compile(workflow, Target(), format="json").to_text()
    )
    assert argo_schema.problems(manifest) == []
    return manifest["spec"]  # type: ignore[no-any-return]  # a part of it


def template(spec: dict[str, t.Any], name: str) -> dict[str, t.Any]:
    [found] = [one for one in spec["templates"] if one["name"] == name]
    return found  # type: ignore[no-any-return]  # a part of it


def counter(value: Value, **fields: t.Any) -> Counter:
    return Counter(name="c", help="h", value=value, **fields)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Literal(value=1.5), "1.5"),
        (OwnRef(fact="duration_s"), "{{duration}}"),
        (OwnRef(fact="exit_code"), "{{exitCode}}"),
        (OwnRef(fact="output", name="n-2"), "{{outputs.parameters.n-2}}"),
        (
            Field(of=OwnRef(fact="output", name="n-2"), path=("a", 0)),
            "{{=string(jsonpath(outputs.parameters['n-2'], '$[\\'a\\'][0]'))}}",
        ),
        (ref("a"), "{{=replace(inputs.parameters.metric_c, '\\ufdd0', '{\\u007b')}}"),
    ],
)
def test_values_of_metrics(value: Value, text: str) -> None:
    outputs = [out("n-2", "json", "n.json")]
    spec = emitted(
        flow("w", sh("a", "echo 1"), sh("b", "", outputs=outputs, metrics=[counter(value)]))
    )
    [metric] = template(spec, "b")["metrics"]["prometheus"]
    assert metric == {"name": "c", "help": "h", "counter": {"value": text}}


def test_values_reach_a_metric_of_each_item() -> None:
    label = MetricLabel(name="of", value=item())
    inner = sh("b", "echo $1", ref("a"), metrics=[counter(Literal(value=1), labels=(label,))])
    spec = emitted(
        flow(
            "w",
            sh("a", "echo 1"),
            inner.model_copy(update={"foreach": sh("x", "", foreach=["p", "q"]).foreach}),
            sh("c", "echo $1", ref("b")),
        )
    )
    [wrapper] = [one for one in spec["templates"] if one["name"] == "b-item"]
    [task] = wrapper["dag"]["tasks"]
    assert {"name": "metric_c_of", "value": "{{inputs.parameters.item}}"} in task["arguments"][
        "parameters"
    ]


def test_conditions_on_a_response() -> None:
    def written(condition: Condition) -> str:
        return response_condition(condition, sh("a", "true"), quote)

    assert written(own("<", 300, "status_code")) == "float(response.statusCode) < 300"
    assert written(own("==", "x", "header", "content-type")) == (
        "(len(response.headers['Content-Type']) > 0 ? "
        "response.headers['Content-Type'][0] : '') == 'x'"
    )
    body = Field(of=OwnRef(fact="output", name="result"), path=("a", 0))
    assert written(Compare(left=body, op=">=", right=Literal(value=3))) == (
        "any([toJSON(fromJSON(response.body)['a'][0])], "
        "fromJSON((type(fromJSON(#)) == 'string' ? fromJSON(#) : #)) >= 3)"
    )
    answer = OwnRef(fact="output", name="result")
    code = Compare(left=OwnRef(fact="status_code"), op="==", right=answer)
    assert written(code) == "float(response.statusCode) == (fromJSON(response.body) + 0)"
    same = written(Compare(left=body, op="==", right=Literal(value=None)))
    assert same == "fromJSON(toJSON(fromJSON(response.body)['a'][0])) == nil"


def test_a_condition_on_a_response_reads_inputs() -> None:
    answer = OwnRef(fact="output", name="result")
    good = Compare(left=answer, op="==", right=OwnRef(fact="input", name="v"))

    def sent(name: str, value: Value, value_type: ValueType = "str") -> Step:
        inputs = (Input(name="v", value=value, type=value_type),)
        return Step(name=name, action=Http(url="https://x", success_condition=good), inputs=inputs)

    spec = emitted(
        flow("w", sh("a", "echo 1"), sent("b", ref("a")), sent("c", Literal(value="{{item")))
    )
    assert [template(spec, name)["http"]["successCondition"] for name in "bc"] == [
        "response.body == replace({{=toJson(inputs.parameters.v)}}, '\\ufdd0', '{\\u007b')",
        "response.body == '{\\u007bitem'",
    ]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_argo_runs_hooks_and_takes_metrics(tmp_path: Path) -> None:
    if reason := argo_oracle.available():
        pytest.skip(reason)
    # What runs goes on when all have told of it, which the controller lets them do only by then.
    shared = tmp_path / "shared"
    shared.mkdir()
    told_of = f'echo "$1"; echo >> {shared}/told'
    goes_on = f"until test $(wc -l < {shared}/told) -ge 4; do sleep 0.1; done"
    (shared / "told").touch()
    tell = Hook(when=own("==", "running"), step=sh("tell", told_of, param("p"), result=None))
    after = Hook(when=own("==", "succeeded"), step=sh("after", "echo after", result=None))
    ended = Hook(when=own("==", "failed"), step=sh("never", "echo never", result=None))
    labels = (
        MetricLabel(name="of", value=ref("c")),
        MetricLabel(name="state", value=OwnRef(fact="status")),
    )
    workflow = flow(
        "hooked",
        sh("a", f"{goes_on}; echo $1", item(), foreach=[1, 2], result=None, hooks=[tell, after]),
        group("g", sh("inside", goes_on, result=None), hooks=[tell, ended]),
        sh(
            "b",
            "cd $COULER_WORK; echo 5 > n.txt",
            outputs=[out("n", "int", "n.txt")],
            metrics=[
                counter(Literal(value=1), labels=labels, when=own("==", "succeeded")),
                Gauge(name="n", help="h", value=OwnRef(fact="output", name="n")),
                Gauge(name="code", help="h", value=OwnRef(fact="exit_code")),
                Gauge(name="rt", help="h", value=OwnRef(fact="duration_s"), realtime=True),
                Histogram(name="s", help="h", value=OwnRef(fact="duration_s"), buckets=(1.0, 2.0)),
            ],
        ),
        sh("c", "echo hello"),
        hooks=[tell, after, ended],
        metrics=[
            Gauge(
                name="took",
                help="h",
                value=OwnRef(fact="duration_s"),
                labels=(MetricLabel(name="p", value=param("p")),),
                when=own("==", "succeeded"),
            )
        ],
        parameters=[parameter("p", "x$$y")],
    )
    text = BACKEND.compile(workflow, Target()).to_text()
    run = argo_oracle.run(text, work_dir=tmp_path / "argo", shared=[shared])
    assert run.phase == "Succeeded"
    names = [node.display_name.partition(".hooks.") for node in run.nodes]
    hooked = sorted(name for _, dot, name in names if dot)
    assert hooked == ["after", "after", "after", "tell", "tell", "tell", "tell"]
    told = [pod.stdout for pod in run.pods if "tell" in pod.template]
    assert told == ["x$$y\n"] * 4
    status = t.cast("dict[str, t.Any]", run.workflow["status"])
    assert "MetricsError" not in [one["type"] for one in status["conditions"]]


def test_texts_that_argo_would_read_are_refused() -> None:
    from couler.ir.base import FrozenDict

    label = MetricLabel(name="a", value="{{workflow.name}}")
    labelled = counter(Literal(value=1), labels=(label,))
    plugin = Plugin(name="p", body=FrozenDict(text="{{item}}"))
    manifest = FrozenDict(apiVersion="v1", kind="ConfigMap")
    job = Job(manifest=manifest, flags=("--x={{=1}}",))
    workflow = flow(
        "w",
        sh("a", "true", metrics=[labelled]),
        Step(name="b", action=plugin),
        Step(name="c", action=job),
        metrics=[counter(Literal(value=1)).model_copy(update={"help": "{{=1}}"})],
    )
    assert [one.code for one in BACKEND.check(workflow, Target())] == ["CLR310"] * 4


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_argo_runs_a_container_set(tmp_path: Path) -> None:
    if reason := argo_oracle.available():
        pytest.skip(reason)
    from couler.ir.pods import PodContainer
    from tests.corpus.build import given

    def box(name: str, script: str, *args: Value, **fields: t.Any) -> PodContainer:
        command = ("sh", "-c", script, "sh", *args)
        return PodContainer(name=name, image="busybox", command=command, **fields)

    main = 'cat $COULER_WORK/x "$COULER_INPUT_f"; echo 7 > $COULER_WORK/n; echo $COULER_INPUT_k'
    both = Step(
        name="b",
        action=ContainerSet(
            containers=(
                box("fetch", 'echo "$1" > $COULER_WORK/x', ref("a")),
                box("main", main, depends_on=("fetch",)),
            )
        ),
        inputs=(given("f", ref("a", "f"), "file"), given("k", 3, "int")),
        outputs=(out("n", "int", "n"), Output()),
    )
    files = [out("f", "file", "f.txt")]
    workflow = flow(
        "sets",
        sh("a", "cd $COULER_WORK; echo hi > f.txt; echo '$(x) $$'", outputs=files),
        both,
        sh("c", 'echo "$1|$2"', ref("b"), ref("b", "n")),
    )
    run = argo_oracle.run(BACKEND.compile(workflow, Target()).to_text(), work_dir=tmp_path)
    assert run.phase == "Succeeded"
    assert run.pod("c").stdout == "$(x) $$\nhi\n3|7\n"

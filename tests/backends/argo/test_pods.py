"""What pods, their containers and runs are told, in manifests of Argo."""

from __future__ import annotations

import json
import typing as t

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.cachekey import memo_key
from couler.backends.base import Target
from couler.ir.base import FrozenDict
from couler.ir.cachekey import definition_digest
from couler.ir.pods import ContainerSettings, PodContainer, StepPod
from couler.ir.policies import Cache, Foreach
from couler.ir.storage import EnvVar
from couler.ir.values import Field, ItemRef, Literal, ParamRef, StepRef
from couler.ir.workflow import Parameter, Schedule, Script, Step, Workflow
from tests.support.features.pods import DATABASE
from tests.support.pod_samples import POD_SAMPLES
from tests.support.sample_flows import echo, flow

BACKEND = ArgoBackend()
TAG = "{{workflow.name}}"


def manifest(workflow: Workflow) -> dict[str, t.Any]:
    text = BACKEND.compile(workflow, Target(), format="json").to_text()
    return t.cast("dict[str, t.Any]", json.loads(text))


def template(workflow: Workflow, name: str = "a") -> dict[str, t.Any]:
    [found] = [one for one in manifest(workflow)["spec"]["templates"] if one["name"] == name]
    return t.cast("dict[str, t.Any]", found)


def spec(name: str) -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", manifest(POD_SAMPLES[name])["spec"])


def test_a_container_has_its_settings() -> None:
    found = template(POD_SAMPLES["script-with-all-container-settings"])["script"]
    assert found["ports"] == [
        {
            "name": "http",
            "containerPort": 8080,
            "protocol": "TCP",
            "hostPort": 18080,
            "hostIP": "127.0.0.1",
        },
        {"containerPort": 53, "protocol": "UDP"},
    ]
    assert found["restartPolicyRules"] == [
        {"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}},
        {"action": "Restart", "exitCodes": {"operator": "NotIn", "values": [1, 2]}},
    ]
    assert found["resizePolicy"] == [
        {"resourceName": "cpu", "restartPolicy": "NotRequired"},
        {"resourceName": "memory", "restartPolicy": "RestartContainer"},
    ]
    assert found["volumeDevices"] == [{"name": "blocks", "devicePath": "/dev/xvda"}]
    assert found["startupProbe"] == {"tcpSocket": {"port": 8080}, "failureThreshold": 30}


def test_other_containers_get_values_and_texts_unchanged() -> None:
    found = template(POD_SAMPLES["containers-beside-and-before"])
    [database] = found["sidecars"]
    prepare, greet = found["initContainers"]
    assert (database["name"], prepare["name"], greet["name"]) == ("database", "prepare", "greet")
    assert database["args"][0] == "-c"
    assert database["args"][1] == "{{=replace(inputs.parameters.container_database_2, '$', '$$')}}"
    assert greet["command"][2] == 'echo "$0" > "$COULER_WORK/$$(date +%s)"'
    assert greet["args"][1] == "{$(COULER_BRACE)workflow.name}}"
    assert greet["env"] == [
        {"name": "COULER_BRACE", "value": "{"},
        {"name": "COULER_WORK", "value": "/tmp/couler"},
    ]
    assert {"name": "couler-work", "mountPath": "/tmp/couler"} in found["container"]["volumeMounts"]


def test_a_container_that_does_not_mirror_knows_no_work_folder() -> None:
    alone = DATABASE.model_copy(update={"args": ("$COULER_WORK",)})
    found = template(flow(echo("a", sidecars=(alone,))))
    assert "env" not in found["sidecars"][0]
    assert "volumes" not in found


def test_a_typed_step_shares_a_folder_that_others_name() -> None:
    typed = Script(image="python:3.12-slim", source="pass", function="a")
    beside = PodContainer(name="put", image="busybox", args=("$COULER_WORK/x",), mirror_mounts=True)
    found = template(flow(Step(name="a", action=typed, init_containers=(beside,))))
    mounts = found["script"]["volumeMounts"]
    assert mounts == [{"name": "couler-work", "mountPath": "/tmp/couler"}]


@pytest.mark.parametrize("value", [ItemRef(), Field(of=ItemRef(), path=(0,))])
def test_containers_read_items(value: t.Any) -> None:
    """A part of an item makes a template of its own, through which it reaches the container."""
    reader = DATABASE.model_copy(update={"args": (value,)})
    over = Foreach(over={"item": Literal(value=((1, 2), (3, 4)))})
    text = json.dumps(manifest(flow(echo("a", foreach=over, sidecars=(reader,)))))
    assert "container_db_1" in text
    assert "item" in text


def test_steps_that_differ_in_what_other_containers_read_share_a_template() -> None:
    def reads(name: str, value: t.Any, **fields: t.Any) -> Step:
        reader = DATABASE.model_copy(update={"args": (value,), **fields})
        return echo(name, sidecars=(reader,))

    def templates(*steps: Step) -> int:
        parameters = (Parameter(name="p", default="x"), Parameter(name="q", default="y"))
        return len(manifest(flow(*steps, parameters=parameters))["spec"]["templates"]) - 1

    p, q = ParamRef(name="p"), ParamRef(name="q")
    assert templates(reads("a", p), reads("b", q)) == 2  # few enough to have each its own
    many = [reads(f"s{index}", p if index % 2 else q) for index in range(120)]
    assert templates(*many) == 1
    assert templates(reads("a", p), reads("b", p, image="other")) == 2
    before = echo("c", init_containers=(DATABASE,))
    assert templates(echo("d", sidecars=(DATABASE,)), before) == 2


def test_pods_and_runs() -> None:
    found = spec("pods-of-a-workflow")
    assert found["automountServiceAccountToken"] is False
    assert found["executor"] == {"serviceAccountName": "executor"}
    assert found["podSpecPatch"] == '{"terminationGracePeriodSeconds":5}'
    assert found["podMetadata"] == {"labels": {"team": "ml"}, "annotations": {"note": "a: b"}}
    assert found["hostAliases"] == [{"ip": "10.0.0.1", "hostnames": ["db", "db.example.org"]}]
    runs = spec("runs-with-all-settings")
    assert runs["ttlStrategy"] == {
        "secondsAfterCompletion": 3600,
        "secondsAfterSuccess": 60,
        "secondsAfterFailure": 86400,
    }
    assert runs["workflowMetadata"] == {
        "labels": {"team": "ml"},
        "annotations": {"note": "all of it"},
        "labelsFrom": {
            "database": {"expression": "workflow.parameters.database"},
            "example.org/what": {"expression": "('on-' + workflow.parameters.database)"},
            "run": {"expression": "workflow.name"},
        },
    }
    assert runs["podGC"] == {
        "strategy": "OnWorkflowCompletion",
        "labelSelector": {"matchLabels": {"team": "ml"}},
        "deleteDelayDuration": "30s",
    }


def test_scheduled_runs_have_fixed_labels_from_their_beginning() -> None:
    workflow = POD_SAMPLES["runs-with-all-settings"].model_copy(
        update={"schedule": Schedule(cron=("0 3 * * *",))}
    )
    cron = manifest(workflow)["spec"]
    assert cron["workflowMetadata"] == {
        "labels": {"team": "ml"},
        "annotations": {"note": "all of it"},
    }
    computed = cron["workflowSpec"]["workflowMetadata"]
    assert set(computed) == {"labelsFrom"}
    assert set(computed["labelsFrom"]) == {"database", "example.org/what", "run"}


def test_bounds_of_a_pod() -> None:
    pod = StepPod(timeout_s=90.5, pending_timeout_s=600)
    found = template(flow(echo("a", pod=pod, timeout_s=60)))
    assert (found["timeout"], found["pendingTimeout"]) == ("90500ms", "600s")
    assert found["activeDeadlineSeconds"] == 60


def test_plugins_of_a_run() -> None:
    [found] = spec("plugins")["executorPlugins"]
    assert found["metadata"] == {"name": "hello"}
    assert found["spec"]["sidecar"] == {
        "automountServiceAccountToken": True,
        "container": {
            "name": "hello",
            "image": "example.org/hello:1",
            "ports": [{"containerPort": 4355, "protocol": "TCP"}],
        },
    }


def test_a_display_name_is_that_of_the_template() -> None:
    found = template(POD_SAMPLES["pod-of-a-step"])
    assert found["annotations"] == {"workflows.argoproj.io/display-name": "first.step"}
    assert "metadata" not in found


@pytest.mark.parametrize(
    "fields",
    [
        {
            "container": ContainerSettings(
                lifecycle={"preStop": {"exec": {"command": ["{{item}}"]}}}
            )
        },
        {"pod": StepPod(spec_patch=FrozenDict(hostname=TAG))},
        {
            "sidecars": (
                DATABASE.model_copy(
                    update={
                        "settings": ContainerSettings(
                            liveness_probe={"exec": {"command": ["{{=1}}"]}}
                        )
                    }
                ),
            )
        },
    ],
)
def test_tags_in_objects_of_kubernetes_are_refused(fields: dict[str, t.Any]) -> None:
    [problem] = BACKEND.check(flow(echo("a", **fields)), Target())
    assert problem.code == "CLR310"


def test_the_key_of_a_cached_step_counts_what_other_containers_are_given() -> None:
    cached = echo("a", cache=Cache(), sidecars=(DATABASE,))
    plain = definition_digest(echo("a"), {})
    assert definition_digest(cached, {}) != plain
    other = DATABASE.model_copy(update={"env": (EnvVar(name="A", value="x"),)})
    assert definition_digest(echo("a", sidecars=(other,)), {}) != definition_digest(cached, {})
    settled = DATABASE.model_copy(update={"pull_policy": "Always"})
    assert definition_digest(echo("a", sidecars=(settled,)), {}) == definition_digest(cached, {})
    reads = DATABASE.model_copy(update={"args": (StepRef(step="b"),)})
    step = echo("a", cache=Cache(), sidecars=(reads,), mounts=())
    key = template(flow(echo("b"), step))["memoize"]["key"]
    assert key == memo_key(definition_digest(step, {}), [("container_db_1", None)])

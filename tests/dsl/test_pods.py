"""Settings of pods, as programs write them."""

from __future__ import annotations

import typing as t

import pytest

import couler
from couler.ir import pods as ir
from couler.ir.base import FrozenDict
from couler.ir.policies import Resources
from couler.ir.storage import EmptyVolume, EnvFrom, EnvVar, Mount, SecretKey
from couler.ir.values import ParamRef, StepRef, Template
from tests.dsl.look import box, codes, problems, steps


def test_settings_of_a_container() -> None:
    settings = couler.ContainerSettings(
        ports=[8080, couler.Port(53, "dns", "UDP")],
        readiness_probe={"tcpSocket": {"port": 8080}},
        security_context={"capabilities": {"drop": ["ALL"]}},
        restart_policy="Never",
        restart_on=[42],
        restart_unless=[1, 2],
        resize={"cpu": False, "memory": True},
        tty=True,
        termination_message_policy="FallbackToLogsOnError",
    )
    with couler.Workflow("w") as wf:
        box("a", container=settings)
        couler.run_script("python", source="pass", step_name="b", container=settings)
    assert codes(wf) == []
    found = steps(wf)
    assert found["a"].container == found["b"].container
    assert found["a"].container == ir.ContainerSettings(
        ports=(ir.Port(number=8080), ir.Port(number=53, name="dns", protocol="UDP")),
        readiness_probe=FrozenDict(tcpSocket=FrozenDict(port=8080)),
        security_context=FrozenDict(capabilities=FrozenDict(drop=("ALL",))),
        restart_policy="Never",
        restart_rules=(
            ir.RestartRule(exit_codes=(42,)),
            ir.RestartRule(exit_codes=(1, 2), others=True),
        ),
        resize=(ir.Resize(resource="cpu"), ir.Resize(resource="memory", restart=True)),
        tty=True,
        termination_message_policy="FallbackToLogsOnError",
    )


@couler.step(
    sidecars=[couler.PodContainer("cache", "redis:7", settings=couler.ContainerSettings([6379]))]
)
def train(depth: int) -> int:
    return depth


def test_containers_beside_and_before_a_step() -> None:
    with couler.Workflow("w", size=3) as wf:
        couler.obtain_secret(["password"], name="login")
        first = box("first")
        database = couler.PodContainer(
            "db",
            "postgres:17",
            command="postgres",
            args=["-c", couler.text("max_connections={}", wf.params.size), 5],
            env={"NAME": first},
            env_from=[{"config_map": "site"}],
            secret="login",
            cpu=1,
            memory="1Gi",
            volume_mounts=[couler.VolumeMount("scratch", "/data")],
            mirror_mounts=True,
            working_dir="/srv",
            image_pull_policy="Always",
        )
        box("a", sidecars=[database], init_containers=[couler.PodContainer("wait", "busybox:1.37")])
        train(3)
    assert codes(wf) == ["CLR153"]  # Argo has a container of that name
    found = steps(wf)["a"]
    assert found.sidecars == (
        ir.PodContainer(
            name="db",
            image="postgres:17",
            command=("postgres",),
            args=("-c", Template(parts=("max_connections=", ParamRef(name="size"))), "5"),
            env=(
                EnvVar(name="NAME", value=StepRef(step="first")),
                EnvVar(name="password", secret=SecretKey(secret="login", key="password")),
            ),
            env_from=(EnvFrom(config_map="site"),),
            mounts=(Mount(volume="scratch", path="/data"),),
            mirror_mounts=True,
            resources=Resources(cpu="1", memory="1Gi"),
            working_dir="/srv",
            pull_policy="Always",
        ),
    )
    assert wf.to_ir().volumes == (EmptyVolume(name="scratch"),)
    assert steps(wf)["train"].sidecars[0].settings == ir.ContainerSettings(
        ports=(ir.Port(number=6379),)
    )


def test_the_pod_of_a_step() -> None:
    pod = couler.PodSettings(
        service_account="trainer",
        automount_service_account_token=False,
        executor_service_account="executor",
        host_aliases={"db": "10.0.0.1", "cache": ["10.0.0.1", "fd00::1"]},
        scheduler="volcano",
        security_context={"fsGroup": 2000},
        cpu=2,
        memory="4Gi",
        resource_claims=[{"name": "gpu", "resourceClaimName": "one"}],
        spec_patch={"hostname": "trainer"},
        pending_timeout="10m",
        timeout=3600,
    )
    with couler.Workflow("w") as wf:
        box("a", pod=pod, display_name="the-first")
        couler.run_job({"apiVersion": "v1", "kind": "ConfigMap"}, step_name="b", pod=pod)
    assert codes(wf) == []
    found = steps(wf)
    assert found["a"].display_name == "the-first"
    assert (
        found["a"].pod
        == found["b"].pod
        == ir.StepPod(
            service_account="trainer",
            automount_service_account_token=False,
            executor_service_account="executor",
            host_aliases=(
                ir.HostAlias(ip="10.0.0.1", names=("db", "cache")),
                ir.HostAlias(ip="fd00::1", names=("cache",)),
            ),
            scheduler="volcano",
            security_context=FrozenDict(fsGroup=2000),
            resources=Resources(cpu="2", memory="4Gi"),
            resource_claims=(FrozenDict(name="gpu", resourceClaimName="one"),),
            spec_patch=FrozenDict(hostname="trainer"),
            pending_timeout_s=600,
            timeout_s=3600,
        )
    )


POD = couler.PodSettings(
    service_account="runner",
    image_pull_secrets=["registry"],
    node_selector={"disk": "ssd"},
    tolerations=[couler.Toleration("gpu", operator="Exists")],
    affinity={"nodeAffinity": {}},
    priority_class="high",
    dns_policy="ClusterFirst",
    dns=couler.DnsConfig(searches=["ml.local"]),
    host_network=True,
    labels={"team": "ml"},
    annotations={"note": "x"},
)
RUNS = couler.RunSettings(
    priority=5,
    min_available="50%",
    delete_pods="pod_success",
    delete_pods_with={"team": "ml"},
    delete_pods_after="10m",
    delete_claims="run_completion",
    plugins={
        "hello": couler.PodContainer(
            "hello", "hello:1", env={"A": "x"}, settings=couler.ContainerSettings([4355])
        )
    },
    plugins_with_token=["hello"],
)


def test_pods_and_runs_of_a_workflow() -> None:
    with couler.Workflow(
        "w",
        model="svm",
        keep=couler.Keep("7d", after_success="1h", after_failure=60),
        pod=POD,
        runs=RUNS,
    ) as wf:
        couler.add_toleration(couler.Toleration("batch", value="yes"))
        box("a")
        wf.label_runs({"team": "ml", "model": wf.params.model}, annotations={"note": "x"})
        wf.label_runs({"team": "web"})
    assert codes(wf) == []
    found = wf.to_ir()
    assert found.keep_s == 604800
    assert found.runs == ir.RunSettings(
        priority=5,
        labels=(
            ir.RunLabel(name="team", value="web"),
            ir.RunLabel(name="model", value=ParamRef(name="model")),
        ),
        annotations=FrozenDict(note="x"),
        retention=ir.Retention(after_success_s=3600, after_failure_s=60),
        disruption_budget=ir.DisruptionBudget(min_available="50%"),
        pod_cleanup=ir.PodCleanup(when="pod_success", labels={"team": "ml"}, delay_s=600),
        claim_cleanup="run_completion",
        plugins=(
            ir.ExecutorPlugin(
                name="hello",
                container=ir.PodContainer(
                    name="hello",
                    image="hello:1",
                    env=(EnvVar(name="A", value="x"),),
                    settings=ir.ContainerSettings(ports=(ir.Port(number=4355),)),
                ),
                automount_service_account_token=True,
            ),
        ),
    )
    assert found.pod is not None
    assert [one.key for one in found.pod.tolerations] == ["gpu", "batch"]
    assert found.pod.dns == ir.Dns(policy="ClusterFirst", searches=("ml.local",))
    assert (found.pod.host_network, found.pod.labels) == (True, {"team": "ml"})


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"container": {"ports": [1]}}, "write container=couler.ContainerSettings(...)"),
        ({"container": couler.ContainerSettings(ports=[0])}, "greater than or equal to 1"),
        ({"container": couler.ContainerSettings(ports=["http"])}, "no couler.Port"),  # type: ignore[list-item]
        ({"container": couler.ContainerSettings(lifecycle="x")}, "is no dict"),  # type: ignore[arg-type]
        ({"container": couler.ContainerSettings(resize={"gpu": True})}, "resource"),
        ({"sidecars": couler.PodContainer("a", "b")}, "is no list of couler.PodContainer"),
        ({"sidecars": ["a"]}, "is no couler.PodContainer"),
        ({"sidecars": [couler.PodContainer("a", 3)]}, "image"),  # type: ignore[arg-type]
        ({"sidecars": [couler.PodContainer("a", "b", cpu=[2])]}, "cpu"),
        ({"sidecars": [couler.PodContainer("a", "b", env=3)]}, "is no dict"),  # type: ignore[arg-type]
        ({"pod": "trainer"}, "write pod=couler.PodSettings(...)"),
        ({"pod": couler.PodSettings(labels={"a": "b"})}, "a step has the option labels"),
        ({"pod": couler.PodSettings(host_network=True)}, "is for all pods of a workflow"),
        ({"pod": couler.PodSettings(spec_patch=3)}, "is no dict"),  # type: ignore[arg-type]
    ],
)
def test_wrong_options_are_told_of_with_a_line(options: dict[str, t.Any], what: str) -> None:
    with couler.Workflow("w") as wf:
        box("a", **options)
    [problem] = problems(wf)
    assert (problem.code, problem.step) == ("CLR105", "a")
    assert what in problem.message
    assert problem.source.line


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"pod": 3}, "write pod=couler.PodSettings(...)"),
        ({"pod": couler.PodSettings(tolerations=[3])}, "pod"),  # type: ignore[list-item]
        ({"pod": couler.PodSettings(timeout=60)}, "are for the pod of a step"),
        ({"runs": couler.RunSettings(plugins_with_token=["x"])}, 'there is no plugin "x"'),
        ({"runs": couler.RunSettings(plugins={"x": 3})}, "is no couler.PodContainer"),  # type: ignore[dict-item]
        ({"runs": 3}, "write runs=couler.RunSettings(...)"),
        ({"runs": couler.RunSettings(priority="high")}, "priority"),  # type: ignore[arg-type]
        ({"runs": couler.RunSettings(delete_pods="soon")}, "pod_completion"),  # type: ignore[arg-type]
        ({"runs": couler.RunSettings(delete_pods_after="1m")}, "it is missing"),
        ({"keep": couler.Keep("soon")}, "keep"),
        ({"keep": "soon"}, "keep"),
    ],
)
def test_wrong_settings_of_a_workflow(arguments: dict[str, t.Any], what: str) -> None:
    with couler.Workflow("w", **arguments) as wf:
        box("a")
    [problem] = problems(wf)
    assert problem.code == "CLR105"
    assert what in problem.message


def test_labels_of_runs_are_known_when_they_start() -> None:
    with couler.Workflow("w") as wf:
        wf.label_runs({"a": box("a")})
        wf.label_runs({"b": 3})
    assert codes(wf) == ["CLR105", "CLR443"]

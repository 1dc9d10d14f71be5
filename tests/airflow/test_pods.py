"""The pods that Airflow sends for compiled workflows, field by field."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.capabilities import CAPABILITIES
from couler.backends.base import Target, Unsupported
from couler.ir.base import FrozenDict
from couler.ir.pods import (
    ContainerSettings,
    DisruptionBudget,
    Dns,
    HostAlias,
    PodContainer,
    PodSettings,
    RunSettings,
    StepPod,
)
from couler.ir.policies import Placement, Resources, Toleration
from couler.ir.storage import (
    ClaimVolume,
    ConfigKey,
    ConfigVolume,
    CsiVolume,
    EmptyVolume,
    EnvFrom,
    EnvVar,
    HostVolume,
    Mount,
    NewClaimVolume,
    NfsVolume,
    ProjectedVolume,
    SecretKey,
    SecretVolume,
    SourceVolume,
)
from couler.ir.uses import features
from couler.ir.workflow import Container, ExitHandler, Step, Workflow
from tests.corpus.build import out, part, ref, sh
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.store import SERVICE_ACCOUNTS, Resource
from tests.support import pod_schema
from tests.support.airflow_runs import Worker
from tests.support.feature_samples import FEATURE_SAMPLES
from tests.support.pod_samples import POD_SAMPLES
from tests.support.sample_flows import flow

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

BACKEND = AirflowBackend()
CLAIMS = Resource("", "v1", "persistentvolumeclaims")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets")
_SAMPLES: dict[str, Workflow] = {
    **{str(one): workflow for one, workflow in FEATURE_SAMPLES.items()},
    **POD_SAMPLES,
}
SAMPLES = {
    name: workflow
    for name, workflow in _SAMPLES.items()
    if not any(isinstance(CAPABILITIES[one], Unsupported) for one in features(workflow))
}
SETTINGS = (
    *("container-with-all-settings", "script-with-all-container-settings", "pod-of-a-step"),
    *("containers-beside-and-before", "pods-of-a-workflow", "pod-resources-of-a-step"),
    "volumes-of-all-kinds",
)
AT_ONCE = {"airflow": {"schedule_timeout_seconds": 1, "startup_timeout_seconds": 1}}
"""Overrides for pods that cannot start here: what they are given is all that is looked at."""


def compiled(workflow: Workflow) -> str:
    options = {"files_claim": "files", "io_image": "couler"}
    return BACKEND.compile(workflow, Target(options=options)).to_text()


def soon(workflow: Workflow) -> Workflow:
    steps = [step.model_copy(update={"engine": FrozenDict(AT_ONCE)}) for step in workflow.steps]
    return workflow.model_copy(update={"steps": tuple(steps), "schedule": None})


def make_accounts(cluster: FakeCluster, workflow: Workflow) -> None:
    """Make the service accounts of a workflow, without which there are no pods."""
    settings = [workflow.pod, *(step.pod for step in workflow.steps)]
    for name in {one.service_account for one in settings if one and one.service_account}:
        cluster.create(SERVICE_ACCOUNTS, {"metadata": {"name": name}})


def test_all_samples_load(airflow: Worker) -> None:
    found = {}
    for name, workflow in SAMPLES.items():
        loaded = airflow.load(compiled(workflow))
        if loaded.errors or not loaded.round_trip:
            found[name] = (loaded.errors, loaded.round_trip)
    assert found == {}


@pytest.mark.parametrize("name", SETTINGS)
def test_pods_are_what_kubernetes_takes(airflow: Worker, cluster: FakeCluster, name: str) -> None:
    workflow = soon(POD_SAMPLES[name])
    make_accounts(cluster, workflow)
    airflow.run(compiled(workflow), workflow.name, cluster=cluster)
    pods = cluster.pods()
    assert pods
    assert [problem for pod in pods for problem in pod_schema.problems(pod.found)] == []


def test_settings_arrive(airflow: Worker, cluster: FakeCluster) -> None:
    workflow = soon(POD_SAMPLES["pods-of-a-workflow"])
    make_accounts(cluster, workflow)
    run = airflow.run(compiled(workflow), workflow.name, cluster=cluster)
    (pod,) = run.pods
    spec = pod.found["spec"]
    assert spec["serviceAccountName"] == "trainer"
    assert spec["automountServiceAccountToken"] is False
    assert spec["hostNetwork"] is True
    assert spec["hostAliases"] == [{"ip": "10.0.0.1", "hostnames": ["db", "db.example.org"]}]
    assert spec["imagePullSecrets"] == [{"name": "registry"}]
    assert spec["dnsConfig"] == {"options": [{"name": "ndots", "value": "2"}]}
    assert spec["securityContext"] == {"fsGroup": 2000, "runAsNonRoot": True}
    assert spec["terminationGracePeriodSeconds"] == 5
    assert spec["tolerations"] == [{"key": "gpu", "operator": "Exists"}]
    assert "podAntiAffinity" in spec["affinity"]
    assert pod.labels["team"] == "ml"
    assert pod.found["metadata"]["annotations"]["note"] == "a: b"


class Texts:
    """Hostile texts, each another one."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self) -> str:
        text = (
            f"{len(self.made)} {{{{ ti }}}} {{% x %}} {{# y #}} ${{a}} '\"\\ é\u2028\r\n$$(B) $\n"
        )
        self.made.append(text)
        return text

    def tree(self) -> FrozenDict[str, t.Any]:
        return FrozenDict(a=self(), b=(self(), FrozenDict(c=self())))


def hostile(new: Texts) -> Workflow:
    """A workflow that has a hostile text wherever Kubernetes takes any text."""
    volumes = (
        ClaimVolume(name="claim", claim=new()),
        EmptyVolume(name="empty", size=new()),
        SecretVolume(name="secret", secret=new(), items=FrozenDict(key=new())),
        ConfigVolume(name="config", config_map=new(), items=FrozenDict(key=new())),
        HostVolume(name="host", path=new()),
        NfsVolume(name="nfs", server=new(), path=new()),
        CsiVolume(name="csi", driver=new(), attributes=FrozenDict(a=new()), secret=new()),
        ProjectedVolume(
            name="projected",
            sources=(FrozenDict(secret=FrozenDict(name=new())),),
        ),
        SourceVolume(name="source", source=FrozenDict(image=FrozenDict(reference=new()))),
    )
    settings = ContainerSettings(
        liveness_probe=FrozenDict(exec=FrozenDict(command=(new(),))),
        lifecycle=FrozenDict(preStop=FrozenDict(exec=FrozenDict(command=(new(),)))),
        security_context=FrozenDict(seLinuxOptions=FrozenDict(user=new())),
        termination_message_path=new(),
    )
    mounts = tuple(
        Mount(volume=one.name, path=f"/{one.name}/{new()}", sub_path=new()) for one in volumes
    )
    beside = PodContainer(
        name="beside",
        image=new(),
        command=(new(),),
        args=(new(),),
        env=(EnvVar(name="A", value=new()),),
        env_from=(EnvFrom(config_map=new(), prefix=new()),),
        mounts=mounts,
        resources=Resources(cpu=new(), other=FrozenDict(a=new())),
        working_dir=new(),
        settings=settings,
    )
    step = Step(
        name="a",
        action=Container(image=new(), command=(new(),), args=(new(),)),
        env=(
            EnvVar(name="A", value=new()),
            EnvVar(name="B", secret=SecretKey(secret=new(), key=new())),
            EnvVar(name="c", secret=SecretKey(secret=new(), key=new())),
            EnvVar(name="D", config=ConfigKey(config_map=new(), key=new())),
        ),
        env_from=(EnvFrom(secret=new(), prefix=new()),),
        mounts=mounts,
        resources=Resources(cpu=new(), memory_limit=new(), other=FrozenDict(a=new())),
        placement=Placement(
            node_selector=FrozenDict(a=new()),
            tolerations=(Toleration(key=new(), value=new()),),
            affinity=FrozenDict(
                nodeAffinity=FrozenDict(
                    preferredDuringSchedulingIgnoredDuringExecution=(
                        FrozenDict(
                            weight=1,
                            preference=FrozenDict(
                                matchExpressions=(
                                    FrozenDict(key=new(), operator="In", values=(new(),)),
                                )
                            ),
                        ),
                    )
                )
            ),
            priority_class=new(),
        ),
        annotations=FrozenDict(a=new()),
        container=settings,
        sidecars=(beside,),
        init_containers=(beside.model_copy(update={"name": "before"}),),
        pod=StepPod(
            service_account=new(),
            scheduler=new(),
            host_aliases=(HostAlias(ip=new(), names=(new(),)),),
            resource_claims=(FrozenDict(name=new(), resourceClaimName=new()),),
            security_context=FrozenDict(seLinuxOptions=FrozenDict(user=new())),
            spec_patch=FrozenDict(nodeName=new(), subdomain=new()),
        ),
        display_name=new(),
        engine=FrozenDict(AT_ONCE),
    )
    pod = PodSettings(
        image_pull_secrets=(new(),),
        dns=Dns(policy=new(), nameservers=(new(),), options=FrozenDict(a=new())),
        annotations=FrozenDict(b=new()),
    )
    return flow(step, volumes=volumes, pod=pod)


def for_kubelet(text: str) -> str:
    return text.replace("$", "$$")


def strings(tree: t.Any) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for key, value in tree.items():
            yield key
            yield from strings(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from strings(value)


def test_every_text_of_a_pod_comes_through(airflow: Worker, cluster: FakeCluster) -> None:
    new = Texts()
    workflow = hostile(new)
    shown = workflow.steps[0].display_name
    make_accounts(cluster, workflow)
    run = airflow.run(compiled(workflow), workflow.name, cluster=cluster)
    (pod,) = run.pods
    found = set(strings(pod.found))
    # The kubelet reads commands and variables: there the dollars that it would read are doubled.
    missing = [
        text
        for text in new.made
        if text != shown and not any(one.endswith((text, for_kubelet(text))) for one in found)
    ]
    assert missing == []
    template_words = [one for one in found if "literal(" in one]
    assert template_words == []


def test_who_reads_a_text_decides_on_its_dollars(airflow: Worker, cluster: FakeCluster) -> None:
    new = Texts()
    workflow = hostile(new)
    make_accounts(cluster, workflow)
    run = airflow.run(compiled(workflow), workflow.name, cluster=cluster)
    (pod,) = run.pods
    base = next(one for one in pod.found["spec"]["containers"] if one["name"] == "base")
    action = workflow.steps[0].action
    assert isinstance(action, Container)
    assert base["image"] == action.image
    assert base["args"][-1] == for_kubelet(str(action.args[0]))
    probe = base["livenessProbe"]["exec"]["command"]
    assert probe == [workflow.steps[0].container.liveness_probe["exec"]["command"][0]]


def test_a_claim_is_of_one_run(airflow: Worker, cluster: FakeCluster) -> None:
    mount = (Mount(volume="data", path="/data"),)
    writes = sh("writes", "echo kept > /data/kept", mounts=mount)
    reads = sh("reads", "cat /data/kept", mounts=mount, depends_on=["writes"])
    runs = RunSettings(disruption_budget=DisruptionBudget(max_unavailable=1))
    workflow = flow(writes, reads, volumes=(NewClaimVolume(name="data", size="1Gi"),), runs=runs)
    make_accounts(cluster, workflow)
    run = airflow.run(compiled(workflow), workflow.name, cluster=cluster)
    assert run.state == "success", run.log
    names = {
        volume["persistentVolumeClaim"]["claimName"]
        for pod in run.pods
        for volume in pod.found["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    }
    (name,) = names
    assert (cluster.claim(name) / "kept").read_text() == "kept\n"
    assert run.states["make-claims", -1] == run.states["delete-claims", -1] == "success"
    assert cluster.objects(CLAIMS) == cluster.objects(BUDGETS) == []


FAILING = {
    "step": "exit 3",
    "handler": "true",
    "output": "echo '{}'",
}
"""What fails a run, and what its step does."""


@pytest.mark.parametrize("what", FAILING)
@pytest.mark.parametrize("cleanup", ["run_completion", "run_success"])
def test_claims_after_a_failure(
    airflow: Worker, cluster: FakeCluster, cleanup: str, what: str
) -> None:
    step = sh("a", FAILING[what], result="json", mounts=(Mount(volume="data", path="/data"),))
    handler = ExitHandler(name="h", on="any", steps=(sh("x", "exit 1"),))
    fields: dict[str, t.Any] = {
        "step": {},
        "handler": {"exit_handlers": (handler,)},
        "output": {"outputs": (out("o", source=part(ref("a"), "k")),)},
    }[what]
    runs = RunSettings(claim_cleanup=cleanup)  # type: ignore[arg-type]  # one of its two words
    volumes = (NewClaimVolume(name="data", size="1Gi"),)
    workflow = flow(step, volumes=volumes, runs=runs, **fields)
    make_accounts(cluster, workflow)
    run = airflow.run(compiled(workflow), workflow.name, cluster=cluster)
    assert run.state == "failed"
    kept = cluster.objects(CLAIMS)
    assert len(kept) == (1 if cleanup == "run_success" else 0)
    expected = "skipped" if kept else "success"
    assert run.states["delete-claims", -1] == expected

"""Rules for pods: their containers, their settings, and what engines are told of runs."""

from __future__ import annotations

import typing as t

import pytest
from pydantic import ValidationError

from couler.ir.base import FrozenDict
from couler.ir.pods import (
    ContainerSettings,
    Device,
    DisruptionBudget,
    ExecutorPlugin,
    HostAlias,
    PodCleanup,
    PodContainer,
    PodSettings,
    Port,
    RestartRule,
    RunLabel,
    RunSettings,
    StepPod,
)
from couler.ir.policies import Placement, Resources
from couler.ir.storage import ClaimVolume, EmptyVolume, EnvVar, Mount, SecretKey
from couler.ir.values import ParamRef, RunRef, StepRef
from couler.ir.verify import verify
from couler.ir.workflow import Group, Http, Job, Step, Suspend
from tests.support.argo_samples import POD_SAMPLES
from tests.support.features.pods import DATABASE
from tests.support.features.whole import PLUGIN
from tests.support.sample_flows import A, echo, flow
from tests.support.verification import codes, only


def contains(**fields: t.Any) -> list[str]:
    return codes(flow(echo("a", container=ContainerSettings(**fields))))


def beside(**fields: t.Any) -> list[str]:
    container = PodContainer(**{"name": "db", "image": "postgres:17", **fields})
    return codes(flow(echo("b"), echo("a", sidecars=(container,))))


def pod(**fields: t.Any) -> list[str]:
    found = codes(flow(echo("a", pod=StepPod(**fields))))
    assert codes(flow(echo("a"), pod=PodSettings(**fields))) == found
    return found


def runs(**fields: t.Any) -> list[str]:
    return codes(flow(echo("a"), runs=RunSettings(**fields)))


@pytest.mark.parametrize("name", POD_SAMPLES)
def test_all_that_can_be_told_is_right(name: str) -> None:
    assert verify(POD_SAMPLES[name]) == ()


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"ports": (Port(number=1, name="Http"),)}, "CLR440"),
        ({"ports": (Port(number=1, name="123"),)}, "CLR440"),
        ({"ports": (Port(number=1, name="a-very-long-name"),)}, "CLR440"),
        ({"ports": (Port(number=1, name="a"), Port(number=2, name="a"))}, "CLR440"),
        ({"ports": (Port(number=1, name="a"), Port(number=1, name="b"))}, "CLR440"),
        ({"liveness_probe": {"periodSeconds": 5}}, "CLR440"),
        ({"startup_probe": {"exec": {}, "tcpSocket": {"port": 1}}}, "CLR440"),
        ({"readiness_probe": {"exec": {}, "initialDelay": 3}}, "CLR441"),
        ({"readiness_probe": {"httpGet": {"prot": 80}}}, "CLR441"),
        ({"lifecycle": {"preStart": {}}}, "CLR441"),
        ({"lifecycle": {"preStop": "sleep 1"}}, "CLR444"),
        ({"security_context": {"runAsUsr": 0}}, "CLR441"),
        ({"security_context": {"fsGroup": 0}}, "CLR441"),
        ({"restart_rules": (RestartRule(exit_codes=(1,)),)}, "CLR440"),
        ({"termination_message_path": "log"}, "CLR415"),
        ({"devices": (Device(volume="data", path="/dev/x"),)}, "CLR168"),
    ],
)
def test_settings_of_containers(settings: dict[str, t.Any], code: str) -> None:
    assert contains(**settings) == [code]
    assert beside(settings=ContainerSettings(**settings)) == [code]


def test_devices_are_blocks_of_a_claim() -> None:
    device = ContainerSettings(devices=(Device(volume="data", path="dev/x"),))
    step = echo("a", container=device)
    assert codes(flow(step, volumes=(EmptyVolume(name="data"),))) == ["CLR421", "CLR415"]
    assert codes(flow(step, volumes=(ClaimVolume(name="data", claim="c"),))) == ["CLR415"]


def test_an_unknown_field_has_a_hint() -> None:
    workflow = flow(echo("a", container=ContainerSettings(security_context={"runAsUsr": 0})))
    assert only(workflow).message.endswith(
        'security_context: there is no field "runAsUsr". Did you mean "runAsUser"?'
    )


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"name": "My_DB"}, ["CLR150"]),
        ({"name": "main"}, ["CLR153"]),
        ({"image": ""}, ["CLR408"]),
        ({"command": ("",)}, ["CLR409"]),
        ({"args": ("x" * 140_000,)}, ["CLR502"]),
        ({"args": (StepRef(step="c"),)}, ["CLR160"]),
        ({"args": (StepRef(step="b"), ParamRef(name="p"))}, ["CLR161"]),
        ({"env": (EnvVar(name="1A", value="x"),)}, ["CLR413"]),
        ({"env": (EnvVar(name="A"),)}, ["CLR414"]),
        ({"mounts": (Mount(volume="data", path="/data"),)}, ["CLR168"]),
        ({"working_dir": "here"}, ["CLR415"]),
        ({"resources": Resources(cpu="two")}, ["CLR401"]),
    ],
)
def test_containers_of_pods(fields: dict[str, t.Any], found: list[str]) -> None:
    assert beside(**fields) == found


def test_a_container_reads_what_its_step_can_read() -> None:
    reader = DATABASE.model_copy(update={"args": (A,)})
    found = flow(echo("a"), echo("b", sidecars=(reader,)))
    assert verify(found) == ()
    assert codes(flow(echo("b", init_containers=(reader,)))) == ["CLR160"]


def test_containers_of_a_pod_have_names_of_their_own() -> None:
    assert codes(flow(echo("a", sidecars=(DATABASE,), init_containers=(DATABASE,)))) == ["CLR151"]


@pytest.mark.parametrize("action", [Http(url="https://x"), Suspend(), Group(steps=(echo("b"),))])
@pytest.mark.parametrize(
    "fields",
    [{"pod": StepPod(scheduler="s")}, {"sidecars": (DATABASE,)}, {"init_containers": (DATABASE,)}],
)
def test_what_has_no_pod_is_told_nothing_of_it(action: t.Any, fields: dict[str, t.Any]) -> None:
    assert codes(flow(Step(name="a", action=action, **fields))) == ["CLR410"]


def test_a_job_has_a_pod_and_no_containers() -> None:
    job = Job(manifest=FrozenDict(apiVersion="v1", kind="ConfigMap"))
    assert codes(flow(Step(name="a", action=job, pod=StepPod(service_account="s")))) == []
    assert codes(flow(Step(name="a", action=job, sidecars=(DATABASE,)))) == ["CLR410"]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"service_account": "Me"}, ["CLR411"]),
        ({"executor_service_account": "Me"}, ["CLR411"]),
        ({"automount_service_account_token": False}, ["CLR442"]),
        (
            {"automount_service_account_token": False, "executor_service_account": "executor"},
            [],
        ),
        ({"host_aliases": (HostAlias(ip="here", names=("a",)),)}, ["CLR422"]),
        ({"host_aliases": (HostAlias(ip="10.0.0.1", names=("My Host",)),)}, ["CLR422"]),
        ({"host_aliases": (HostAlias(ip="fd00::1", names=("db.local",)),)}, []),
        ({"scheduler": "My scheduler"}, ["CLR411"]),
        ({"security_context": {"privileged": True}}, ["CLR441"]),
        ({"resources": Resources(memory="much")}, ["CLR401"]),
        ({"resource_claims": ({"resourceClaimName": "gpu"},)}, ["CLR444"]),
        ({"spec_patch": {"hostNetwrk": True}}, ["CLR441"]),
    ],
)
def test_settings_of_pods(fields: dict[str, t.Any], found: list[str]) -> None:
    assert pod(**fields) == found


def test_the_account_of_the_executor_may_be_that_of_the_workflow() -> None:
    step = echo("a", pod=StepPod(automount_service_account_token=False))
    assert codes(flow(step, pod=PodSettings(executor_service_account="executor"))) == []


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"labels": {"a b": "x"}}, "CLR412"),
        ({"annotations": {"a b": "x"}}, "CLR412"),
        ({"priority_class": "High!"}, "CLR411"),
        ({"affinity": {"nodeAfinity": {}}}, "CLR441"),
    ],
)
def test_settings_of_all_pods(fields: dict[str, t.Any], code: str) -> None:
    assert codes(flow(echo("a"), pod=PodSettings(**fields))) == [code]


def test_affinity_of_a_step_has_known_fields() -> None:
    assert codes(flow(echo("a", placement=Placement(affinity={"node": {}})))) == ["CLR441"]


@pytest.mark.parametrize("name", ["x", "two words", "-a", "a" * 64])
def test_display_names(name: str) -> None:
    assert codes(flow(echo("a", display_name=name))) == ["CLR150"]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"disruption_budget": DisruptionBudget()}, ["CLR442"]),
        ({"disruption_budget": DisruptionBudget(min_available=1, max_unavailable=1)}, ["CLR442"]),
        ({"disruption_budget": DisruptionBudget(min_available="half")}, ["CLR442"]),
        ({"disruption_budget": DisruptionBudget(max_unavailable=0)}, []),
        ({"labels": (RunLabel(name="a b", value="x"),)}, ["CLR412"]),
        ({"labels": (RunLabel(name="a", value="x y"),)}, ["CLR412"]),
        ({"labels": (RunLabel(name="a", value="x"), RunLabel(name="a", value="y"))}, ["CLR151"]),
        ({"labels": (RunLabel(name="a", value=A),)}, ["CLR443"]),
        ({"labels": (RunLabel(name="a", value=ParamRef(name="p")),)}, ["CLR161"]),
        ({"labels": (RunLabel(name="a", value=RunRef(field="status")),)}, ["CLR167"]),
        ({"annotations": {"a b": "x"}}, ["CLR412"]),
        ({"pod_cleanup": PodCleanup(when="pod_success", labels={"a": "x y"})}, ["CLR412"]),
    ],
)
def test_settings_of_runs(fields: dict[str, t.Any], found: list[str]) -> None:
    assert runs(**fields) == found


def test_plugins_of_runs() -> None:
    def plugin(**fields: t.Any) -> ExecutorPlugin:
        container = PLUGIN.container.model_copy(update=fields)
        return PLUGIN.model_copy(update={"container": container})

    mount = Mount(volume="data", path="/data")
    assert runs(plugins=(PLUGIN, PLUGIN)) == ["CLR151"]
    assert runs(plugins=(PLUGIN.model_copy(update={"name": "Hello"}),)) == ["CLR411"]
    assert runs(plugins=(plugin(name="Hello"),)) == ["CLR150"]
    assert runs(plugins=(plugin(args=(ParamRef(name="p"),)),)) == ["CLR442"]
    assert runs(plugins=(plugin(mirror_mounts=True),)) == ["CLR442"]
    assert runs(plugins=(plugin(mounts=(mount,)),)) == ["CLR442"]
    assert runs(plugins=(plugin(settings=None),)) == ["CLR440"]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Port(number=0),
        lambda: Port(number=65536),
        lambda: Port(number=1, protocol="HTTP"),
        lambda: ContainerSettings(restart_policy="Sometimes"),
        lambda: RestartRule(exit_codes=()),
        lambda: HostAlias(ip="10.0.0.1", names=()),
        lambda: PodCleanup(when="later"),
        lambda: PodCleanup(when="pod_success", delay_s=-1),
    ],
)
def test_what_no_setting_can_be(wrong: t.Callable[[], object]) -> None:
    with pytest.raises(ValidationError):
        wrong()


def test_what_containers_and_accounts_need() -> None:
    from couler.ir.uses import needs

    secret = EnvVar(name="A", secret=SecretKey(secret="hub", key="token"))
    container = DATABASE.model_copy(update={"env": (secret,)})
    found = needs(
        flow(
            echo("a", sidecars=(container,), pod=StepPod(service_account="trainer")),
            pod=PodSettings(executor_service_account="executor"),
        )
    )
    assert [str(need) for need in found] == [
        'secret "hub" with the keys token must exist',
        'service account "trainer" must exist',
        'service account "executor" must exist',
    ]

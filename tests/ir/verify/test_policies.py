"""Rules for policies, quantities, names of Kubernetes, and what steps run."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.base import FrozenDict
from couler.ir.pods import Dns, PodContainer, PodSettings
from couler.ir.policies import (
    Backoff,
    Cache,
    DatabaseSemaphore,
    Gpu,
    Mutex,
    Placement,
    Resources,
    Retry,
    Semaphore,
    Toleration,
)
from couler.ir.storage import (
    ClaimVolume,
    ConfigKey,
    ConfigVolume,
    EmptyVolume,
    EnvFrom,
    EnvVar,
    HostVolume,
    Mount,
    NewClaimVolume,
    SecretKey,
    SecretVolume,
    Volume,
)
from couler.ir.values import Literal, ParamRef
from couler.ir.workflow import (
    Action,
    Container,
    Defaults,
    Http,
    Input,
    Job,
    Output,
    Schedule,
    Script,
    Step,
    Suspend,
)
from tests.support.sample_flows import AGAIN, echo, flow, group
from tests.support.verification import codes, only


def has(**fields: t.Any) -> list[str]:
    return codes(flow(echo("a", **fields)))


def does(action: Action, **fields: t.Any) -> list[str]:
    return codes(flow(Step(name="a", action=action, **fields)))


@pytest.mark.parametrize(
    ("resources", "code", "what"),
    [
        (Resources(cpu="2 cores"), "CLR401", "is no quantity"),
        (Resources(memory="4GB"), "CLR401", 'Did you mean "4G"?'),
        (Resources(memory="512m"), "CLR401", 'Did you mean "512Mi"?'),
        (Resources(cpu="0"), "CLR401", "not above 0"),
        (Resources(cpu="-1"), "CLR401", "not above 0"),
        (Resources(cpu="0.0001"), "CLR401", "finer than a thousandth"),
        (Resources(disk="1.5"), "CLR401", "fraction of a byte"),
        (Resources(other=FrozenDict({"example.com/tpu": "many"})), "CLR401", "other."),
        (Resources(cpu="2", cpu_limit="1500m"), "CLR402", "above cpu_limit"),
        (Resources(memory="2Gi", memory_limit="2G"), "CLR402", "above memory_limit"),
        (Resources(gpu=Gpu(count=1, resource="gpu")), "CLR420", "nvidia.com/gpu"),
        (Resources(other=FrozenDict(memory="1Gi")), "CLR420", "Use memory"),
        (Resources(other=FrozenDict({"a b": "1"})), "CLR420", "no name of a resource"),
    ],
)
def test_bad_resources(resources: Resources, code: str, what: str) -> None:
    found = only(flow(echo("a", resources=resources)))
    assert found.code == code
    assert what in found.message


@pytest.mark.parametrize(
    "resources",
    [
        Resources(cpu="500m", cpu_limit="1", memory="1.5Gi", memory_limit="2Gi", disk="10G"),
        Resources(cpu="1e-1", memory="1e9"),
        Resources(gpu=Gpu(count=2, type="a100"), other=FrozenDict({"hugepages-2Mi": "4Mi"})),
    ],
)
def test_good_resources(resources: Resources) -> None:
    assert has(resources=resources) == []


@pytest.mark.parametrize(
    ("retry", "code"),
    [
        (Retry(limit=1, on=()), "CLR403"),
        (Retry(limit=1, on=("error",), exit_codes=(1,)), "CLR403"),
        (Retry(limit=1, exit_codes=(0,)), "CLR403"),
        (Retry(limit=1, exit_codes=(256,)), "CLR403"),
        (Retry(limit=1, backoff=Backoff(seconds=60, cap_s=30)), "CLR404"),
    ],
)
def test_retries(retry: Retry, code: str) -> None:
    assert has(retry=retry) == [code]


def test_timeouts() -> None:
    assert codes(flow(echo("a", timeout_s=60), timeout_s=60)) == []
    found = only(flow(echo("a", timeout_s=61), timeout_s=60))
    assert (found.code, found.severity) == ("CLR405", "warning")


@pytest.mark.parametrize("cron", ["0 25 * * *", "@daily", "* * * *", "0 0 31 2 *", "x"])
def test_bad_cron(cron: str) -> None:
    assert codes(flow(echo("a"), schedule=Schedule(cron=(cron,)))) == ["CLR406"]


def test_cron_twice_and_time_zones() -> None:
    twice = Schedule(cron=("0 4 * * *", "0 4 * * *"))
    assert codes(flow(echo("a"), schedule=twice)) == ["CLR406"]
    zone = Schedule(cron=("0 4 * * *",), timezone="Europe/Berlim")
    found = only(flow(echo("a"), schedule=zone))
    assert (found.code, 'Did you mean "Europe/Berlin"?' in found.message) == ("CLR407", True)


@pytest.mark.parametrize("image", ["", "python 3.12", " alpine", "alpine\n"])
def test_images(image: str) -> None:
    assert does(Container(image=image)) == ["CLR408"]
    assert does(Script(image=image, source="print(1)")) == ["CLR408"]


def test_commands() -> None:
    assert does(Container(image="alpine", args=("",))) == []
    assert does(Container(image="alpine", command=("", "-c"))) == ["CLR409"]
    assert does(Container(image="alpine", command=("sh", "-c", ""))) == []
    assert does(Script(image="alpine", source="x", command=())) == ["CLR409"]
    assert does(Script(image="alpine", source="x", command=(" ",))) == ["CLR409"]
    assert does(Script(image="alpine", source=" \n")) == ["CLR424"]


@pytest.mark.parametrize("python", ["python", "python3", "python3.12", "/usr/bin/python3"])
def test_packages_are_for_python(python: str) -> None:
    script = Script(image="x", source="x", packages=("numpy",), command=(python, "-u"))
    assert does(script) == []
    assert does(script.model_copy(update={"command": ("bash",)})) == ["CLR418"]


JOB = Job(manifest=FrozenDict(apiVersion="v1", kind="Job"))
GROUP_FIELDS: list[dict[str, t.Any]] = [
    {"env": (EnvVar(name="X", value="x"),)},
    {"env_from": (EnvFrom(secret="s"),)},
    {"resources": Resources(cpu="1")},
    {"placement": Placement(priority_class="high")},
    {"working_dir": "/srv"},
    {"pull_policy": "Always"},
    {"daemon": True},
    {"mutex": "m"},
    {"locks": (Mutex(name="m"),)},
]


@pytest.mark.parametrize("fields", GROUP_FIELDS, ids=lambda fields: next(iter(fields)))
def test_settings_of_processes_have_no_effect_on_groups(fields: dict[str, t.Any]) -> None:
    found = only(flow(group("g", echo("a"), **fields)))
    assert found.code == "CLR410"
    assert found.message.endswith("has no effect on a group. Give it to the steps inside.")
    assert has(**fields) == []


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        (Container(image="alpine"), {"max_parallel": 2}),
        (Script(image="alpine", source="x"), {"max_parallel": 2}),
        (JOB, {"resources": Resources(cpu="1")}),
        (JOB, {"inputs": (Input(name="x", value=Literal(value=1)),)}),
        (Http(url="https://x"), {"working_dir": "/"}),
        (Suspend(), {"retry": Retry(limit=1)}),
        (Suspend(), {"cache": Cache()}),
        (Suspend(), {"loop": AGAIN}),
    ],
)
def test_settings_without_effect(action: Action, fields: dict[str, t.Any]) -> None:
    assert does(action, **fields) == ["CLR410"]


NAMES: list[dict[str, t.Any]] = [
    {"env": (EnvVar(name="X", secret=SecretKey(secret="My Secret", key="k")),)},
    {"env": (EnvVar(name="X", secret=SecretKey(secret="s", key="a b")),)},
    {"env": (EnvVar(name="X", config=ConfigKey(config_map="My_Map", key="k")),)},
    {"env_from": (EnvFrom(secret="My Secret"),)},
    {"env_from": (EnvFrom(config_map="My_Map"),)},
    {"placement": Placement(priority_class="High")},
    {"mutex": "a b"},
    {"mutex": ""},
    {"cache": Cache(name="-")},
]


@pytest.mark.parametrize("fields", NAMES)
def test_names_of_objects(fields: dict[str, t.Any]) -> None:
    assert has(**fields) == ["CLR411"]


def test_names_of_objects_of_the_workflow() -> None:
    pod = PodSettings(service_account="Runner", image_pull_secrets=("a_b",))
    assert codes(flow(echo("a"), pod=pod)) == ["CLR411"] * 2
    secrets = (SecretKey(secret="hub", key="k"), SecretKey(secret="Hub", key="k"))
    found = only(flow(echo("a"), secrets=secrets))
    assert (found.code, 'Did you mean "hub"?' in found.message) == ("CLR411", True)


@pytest.mark.parametrize(
    "labels",
    [
        {"a b": "x"},
        {"": "x"},
        {"x" * 64: "x"},
        {"A_domain/x": "x"},
        {"a": "b c"},
        {"a": "x" * 64},
        {"a": "-x"},
    ],
)
def test_bad_labels(labels: dict[str, str]) -> None:
    assert has(labels=FrozenDict(labels)) == ["CLR412"]
    assert codes(flow(echo("a"), labels=FrozenDict(labels))) == ["CLR412"]
    assert has(placement=Placement(node_selector=FrozenDict(labels))) == ["CLR412"]


def test_good_labels_and_annotations() -> None:
    assert has(labels=FrozenDict({"example.com/team": "ml", "x": "", "a.b_c": "A-1"})) == []
    assert has(annotations=FrozenDict({"note": "any text {{at}} all"})) == []
    assert has(annotations=FrozenDict({"not a key": "x"})) == ["CLR412"]
    assert has(annotations=FrozenDict({"note": "x" * 300_000})) == ["CLR412"]


def test_sources_of_environment_variables() -> None:
    secret, config = SecretKey(secret="s", key="k"), ConfigKey(config_map="c", key="k")
    assert has(env=(EnvVar(name="X"),)) == ["CLR414"]
    assert has(env=(EnvVar(name="X", value="", secret=secret),)) == ["CLR414"]
    assert has(env=(EnvVar(name="X", secret=secret, config=config),)) == ["CLR414"]
    assert has(env=(EnvVar(name="X", value=""),)) == []
    assert has(env_from=(EnvFrom(),)) == ["CLR414"]
    assert has(env_from=(EnvFrom(secret="s", config_map="c"),)) == ["CLR414"]
    assert has(env_from=(EnvFrom(secret="s", prefix="A="),)) == ["CLR413"]
    assert does(Http(url="https://x", headers=(EnvVar(name="X"),))) == ["CLR414"]


def mounts(*mounts: Mount, **fields: t.Any) -> list[str]:
    volumes = (EmptyVolume(name="v"),)
    return codes(flow(echo("a", mounts=mounts, **fields), volumes=volumes))


def test_paths() -> None:
    assert mounts(Mount(volume="v", path="/data", sub_path="a/b")) == []
    assert mounts(Mount(volume="v", path="data")) == ["CLR415"]
    assert mounts(Mount(volume="v", path="/a:b")) == ["CLR415"]
    assert mounts(Mount(volume="v", path="/data", sub_path="../x")) == ["CLR415"]
    assert codes(flow(echo("a"), volumes=(HostVolume(name="h", path="data"),))) == ["CLR415"]


def test_paths_used_twice() -> None:
    assert mounts(Mount(volume="v", path="/a"), Mount(volume="v", path="/b")) == []
    assert mounts(Mount(volume="v", path="/a"), Mount(volume="v", path="/a/")) == ["CLR416"]
    given = Input(name="x", value=Literal(value="k"), type="file", path="/a")
    assert mounts(Mount(volume="v", path="/a"), inputs=(given,)) == ["CLR416"]
    # A process may write its output where its input was.
    output = Output(name="y", type="file", path="/a")
    assert has(inputs=(given,), outputs=(output,)) == []


@pytest.mark.parametrize(
    "toleration",
    [
        Toleration(key="gpu", operator="Exists", value="x"),
        Toleration(value="x"),
        Toleration(key="gpu", value="x", seconds=3),
        Toleration(key="a b", value="x"),
    ],
)
def test_bad_tolerations(toleration: Toleration) -> None:
    assert has(placement=Placement(tolerations=(toleration,))) == ["CLR417"]
    assert codes(flow(echo("a"), pod=PodSettings(tolerations=(toleration,)))) == ["CLR417"]


def test_jobs() -> None:
    assert does(JOB.model_copy(update={"success_condition": "status.succeeded > 0"})) == []
    deleted = JOB.model_copy(update={"action": "delete", "success_condition": "x"})
    assert does(deleted) == ["CLR419"]
    assert does(Job(manifest=FrozenDict(kind="Job"))) == ["CLR419"]


@pytest.mark.parametrize(
    ("volume", "code"),
    [
        (NewClaimVolume(name="v", size="10 GB"), "CLR401"),
        (NewClaimVolume(name="v", size="1Gi", access_modes=("ReadWriteOnly",)), "CLR421"),
        (NewClaimVolume(name="v", size="1Gi", access_modes=()), "CLR421"),
        (NewClaimVolume(name="v", size="1Gi", storage_class="Fast"), "CLR411"),
        (EmptyVolume(name="v", size="many"), "CLR401"),
        (ClaimVolume(name="v", claim="My Claim"), "CLR411"),
        (SecretVolume(name="v", secret="My Secret"), "CLR411"),
        (ConfigVolume(name="v", config_map="My Map"), "CLR411"),
    ],
)
def test_volumes(volume: Volume, code: str) -> None:
    assert codes(flow(echo("a"), volumes=(volume,))) == [code]


def test_dns() -> None:
    def dns(**fields: t.Any) -> list[str]:
        return codes(flow(echo("a"), pod=PodSettings(dns=Dns(**fields))))

    assert dns(policy="None", nameservers=("1.1.1.1", "2606:4700::1111")) == []
    assert dns(policy="ClusterFrist") == ["CLR422"]
    assert dns(policy="None") == ["CLR422"]
    assert dns(nameservers=("dns.example.org",)) == ["CLR422"]


def test_http() -> None:
    assert does(Http(url="http://example.org:80/a?b=c", success_codes=(200, 404))) == []
    assert does(Http(url=ParamRef(name="x"))) == ["CLR161"]
    assert does(Http(url="example.org")) == ["CLR423"]
    assert does(Http(url="https://")) == ["CLR423"]
    assert does(Http(url="https://x", success_codes=(99,))) == ["CLR423"]
    assert does(Http(url="https://x", headers=(EnvVar(name="a b", value=""),))) == ["CLR423"]
    twice = (EnvVar(name="Accept", value="x"), EnvVar(name="accept", value="y"))
    assert does(Http(url="https://x", headers=twice)) == ["CLR151"]


def test_defaults() -> None:
    defaults = Defaults(
        retry=Retry(limit=1, on=()),
        resources=Resources(cpu="x"),
        env=(EnvVar(name="X"), EnvVar(name="Y", value=ParamRef(name="unknown"))),
    )
    found = codes(flow(echo("a"), defaults=defaults))
    assert found == ["CLR403", "CLR401", "CLR414", "CLR161"]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("x" * 65_536, None),
        ("x" * 65_537, "CLR501"),
        ("ü" * 32_769, "CLR501"),
        (("x" * 65_536,), "CLR501"),
        (FrozenDict(x="x" * 65_536), "CLR501"),
    ],
)
def test_values_too_large_to_travel(value: object, code: str | None) -> None:
    expected = [] if code is None else [code]
    assert codes(flow(echo("a", Literal(value=value)))) == expected


def test_texts_too_long_for_a_process() -> None:
    assert does(Container(image="x", args=("x" * 131_071,))) == []
    assert does(Container(image="x", args=("x" * 131_072,))) == ["CLR502"]
    assert has(env=(EnvVar(name="X", value="ü" * 65_536),)) == ["CLR502"]
    assert has(env=(EnvVar(name="NAME", value="x" * 131_066),)) == []
    assert has(env=(EnvVar(name="NAME", value="x" * 131_067),)) == ["CLR502"]  # NAME= counts


def test_texts_that_are_too_long_together() -> None:
    longest = ("x" * 131_071,)
    assert does(Container(image="x", command=("echo",), args=longest * 15)) == []
    assert does(Container(image="x", command=("echo",), args=longest * 16)) == ["CLR502"]
    many = tuple(EnvVar(name=f"V{number}", value="x" * 1000) for number in range(2100))
    assert has(env=many[:2000]) == []
    assert has(env=many) == ["CLR502"]
    inputs = tuple(
        Input(name=f"i{number}", value=Literal(value="x" * 60_000)) for number in range(36)
    )
    assert has(inputs=inputs[:34]) == []
    assert has(inputs=inputs) == ["CLR502"]


@pytest.mark.parametrize("field", ["sidecars", "init_containers"])
def test_texts_of_another_container_that_are_too_long_together(field: str) -> None:
    def box(count: int) -> PodContainer:
        args = ("x" * 131_071,) * count
        return PodContainer(name="box", image="alpine:3", command=("true",), args=args)

    assert has(**{field: (box(15),)}) == []
    found = only(flow(echo("a", **{field: (box(16),)})))
    assert found.code == "CLR502"
    assert 'of its container "box" are 2,' in found.message


def test_names_of_locks() -> None:
    key = ConfigKey(config_map="limits", key="gpus")
    assert has(locks=(Mutex(name="m"), Mutex(name="n"), Semaphore(limit=key))) == []
    assert has(locks=(Mutex(name="a b"),)) == ["CLR411"]
    assert has(locks=(Mutex(name="m", namespace="A"),)) == ["CLR150"]
    assert has(locks=(DatabaseSemaphore(key=""),)) == ["CLR411"]
    assert has(locks=(Semaphore(limit=ConfigKey(config_map="Limits", key="a b")),)) == [
        "CLR411",
        "CLR411",
    ]
    assert codes(flow(echo("a"), locks=(Mutex(name="a b"),))) == ["CLR411"]


def test_a_step_cannot_wait_for_a_mutex_of_its_workflow() -> None:
    held = (Mutex(name="m"),)
    found = only(flow(group("g", echo("a", mutex="m")), locks=held))
    assert (found.code, found.step) == ("CLR430", "g/a")
    assert codes(flow(echo("a", mutex="n"), locks=held)) == []
    apart = (Mutex(name="m", database=True), Mutex(name="m", namespace="n"))
    assert codes(flow(echo("a", locks=apart), locks=held)) == []


def test_a_step_should_not_wait_for_a_semaphore_of_its_workflow() -> None:
    """It may have places enough, until there are as many runs."""
    key = ConfigKey(config_map="limits", key="two")
    for lock in (Semaphore(limit=key), DatabaseSemaphore(key="two")):
        found = only(flow(echo("a", locks=(lock,)), locks=(lock,)))
        assert (found.code, found.severity, found.step) == ("CLR430", "warning", "a")
    optional = Semaphore(limit=key.model_copy(update={"optional": True}))
    held = (Semaphore(limit=key),)
    assert codes(flow(echo("a", locks=(optional,)), locks=held)) == ["CLR430"]
    assert codes(flow(echo("a", locks=(*held, optional)))) == ["CLR151"]

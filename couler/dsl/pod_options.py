"""What settings of pods are in the IR."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from couler.dsl import objects, units
from couler.dsl.checks import expect, several, shown
from couler.dsl.handles import Value
from couler.dsl.pods import ContainerSettings, Keep, PodContainer, PodSettings, Port, RunSettings
from couler.ir import pods as ir
from couler.ir.base import freeze_json
from couler.ir.diagnostics import did_you_mean
from couler.ir.policies import Resources, Toleration
from couler.ir.values import Text

Fields: t.TypeAlias = dict[str, t.Any]

_FOR_WORKFLOWS = {
    "image_pull_secrets": "",
    "node_selector": "; a step has the option node_selector",
    "tolerations": "; a step has the option tolerations",
    "affinity": "; a step has the option affinity",
    "priority_class": "; a step has the option priority_class",
    "dns_policy": "",
    "dns": "",
    "host_network": "",
    "labels": "; a step has the option labels",
    "annotations": "; a step has the option annotations",
}


def container_settings(given: ContainerSettings) -> ir.ContainerSettings:
    """Return the settings of a container."""
    _expect(given, ContainerSettings, "container")
    rules = [
        ir.RestartRule(exit_codes=tuple(codes), others=others)
        for codes, others in ((given.restart_on, False), (given.restart_unless, True))
        if codes
    ]
    resize = [
        ir.Resize.model_validate({"resource": resource, "restart": restart})
        for resource, restart in (given.resize or {}).items()
    ]
    devices = [
        ir.Device(volume=volume, path=path) for volume, path in (given.devices or {}).items()
    ]
    return ir.ContainerSettings(
        ports=tuple(map(_port, several(given.ports, int | Port, "couler.Port, or its number"))),
        restart_policy=given.restart_policy,
        restart_rules=tuple(rules),
        resize=tuple(resize),
        stdin=given.stdin,
        stdin_once=given.stdin_once,
        tty=given.tty,
        termination_message_path=given.termination_message_path,
        termination_message_policy=given.termination_message_policy,
        devices=tuple(devices),
        **_objects(
            liveness_probe=given.liveness_probe,
            readiness_probe=given.readiness_probe,
            startup_probe=given.startup_probe,
            lifecycle=given.lifecycle,
            security_context=given.security_context,
        ),
    )


def _port(given: int | Port) -> ir.Port:
    port = given if isinstance(given, Port) else Port(given)
    return ir.Port(
        number=port.number,
        name=port.name,
        protocol=port.protocol,
        host_port=port.host_port,
        host_ip=port.host_ip,
    )


def pod_container(
    given: PodContainer,
    words: Callable[[object], tuple[Text, ...]],
    options: Callable[[Fields], Fields],
) -> ir.PodContainer:
    """Return a container of a step's pod."""
    if not isinstance(given, PodContainer):
        raise ValueError(f"{shown(given)} is no couler.PodContainer")
    names = ("env", "env_from", "secret", "cpu", "memory", "disk", "gpu", "resources")
    taken = {name: getattr(given, name) for name in names}
    taken |= {
        "volume_mounts": given.volume_mounts or None,
        "image_pull_policy": given.image_pull_policy,
    }
    made = options({name: value for name, value in taken.items() if value is not None})
    return ir.PodContainer(
        name=given.name,
        image=given.image,
        command=words(given.command),
        args=words(given.args),
        mirror_mounts=given.mirror_mounts,
        working_dir=given.working_dir,
        settings=None if given.settings is None else container_settings(given.settings),
        depends_on=tuple(given.depends_on),
        **made,
    )


def step_pod(given: PodSettings) -> ir.StepPod:
    """Return what the pod of a step is told."""
    _expect(given, PodSettings, "pod")
    plain = PodSettings()
    for name, instead in _FOR_WORKFLOWS.items():
        if getattr(given, name) != getattr(plain, name):
            raise ValueError(f"{name} is for all pods of a workflow{instead}")
    return ir.StepPod(
        **_options(given),
        pending_timeout_s=_seconds(given.pending_timeout),
        timeout_s=_seconds(given.timeout),
    )


def _seconds(given: objects.Duration | None) -> float | None:
    return None if given is None else units.parse_duration(given)


def workflow_pod(given: PodSettings) -> Fields:
    """Return the fields of what all pods of a workflow are told."""
    _expect(given, PodSettings, "pod")
    if given.pending_timeout is not None or given.timeout is not None:
        raise ValueError("pending_timeout and timeout are for the pod of a step")
    found: Fields = {
        **_options(given),
        "image_pull_secrets": tuple(given.image_pull_secrets),
        "tolerations": tuple(
            map(toleration_of, several(given.tolerations, objects.Toleration, TOLERATION))
        ),
        "priority_class": given.priority_class,
        "host_network": given.host_network,
        "node_selector": dict(given.node_selector or {}),
        "labels": dict(given.labels or {}),
        "annotations": dict(given.annotations or {}),
        **_objects(affinity=given.affinity),
    }
    if given.dns is not None or given.dns_policy is not None:
        found["dns"] = dns_of(given.dns_policy, given.dns or objects.DnsConfig())
    checked = ir.PodSettings(**found)
    plain = ir.PodSettings()
    return {name: value for name, value in checked if value != getattr(plain, name)}


def dns_of(policy: str | None, config: objects.DnsConfig) -> ir.Dns:
    """Return settings of name resolution."""
    expect(config, objects.DnsConfig, 'couler.DnsConfig, such as couler.DnsConfig(["10.0.0.1"])')
    options = {
        option.name: "" if option.value is None else str(option.value)
        for option in config.options or ()
    }
    return ir.Dns(
        policy=policy,
        nameservers=tuple(config.nameservers or ()),
        searches=tuple(config.searches or ()),
        options=options,
    )


TOLERATION = 'couler.Toleration, such as couler.Toleration("gpu", operator="Exists")'
"""The form that `toleration_of` reads, for messages."""


def toleration_of(value: objects.Toleration) -> Toleration:
    """Return a toleration of the IR."""
    return Toleration(
        key=value.key,
        effect=value.effect,
        operator=value.operator,
        value=value.value,
        seconds=value.seconds,
    )


def _options(given: PodSettings) -> Fields:
    resources = None
    if given.cpu is not None or given.memory is not None:
        resources = Resources(
            cpu=None if given.cpu is None else units.quantity(given.cpu),
            memory=None if given.memory is None else units.memory(given.memory),
        )
    return {
        "service_account": given.service_account,
        "automount_service_account_token": given.automount_service_account_token,
        "executor_service_account": given.executor_service_account,
        "host_aliases": _aliases(given.host_aliases or {}),
        "scheduler": given.scheduler,
        "resources": resources,
        "resource_claims": tuple(freeze_json(dict(claim)) for claim in given.resource_claims),
        **_objects(security_context=given.security_context, spec_patch=given.spec_patch),
    }


def _aliases(given: Mapping[str, t.Any]) -> tuple[ir.HostAlias, ...]:
    names: dict[str, list[str]] = {}
    for name, addresses in given.items():
        for address in [addresses] if isinstance(addresses, str) else addresses:
            names.setdefault(address, []).append(name)
    return tuple(ir.HostAlias(ip=ip, names=tuple(found)) for ip, found in names.items())


def run_settings(
    given: RunSettings, make_container: Callable[[PodContainer], ir.PodContainer]
) -> Fields:
    """Return the fields of what an engine is told of runs."""
    _expect(given, RunSettings, "runs")
    found: Fields = {"priority": given.priority, "claim_cleanup": given.delete_claims}
    if given.min_available is not None or given.max_unavailable is not None:
        found["disruption_budget"] = ir.DisruptionBudget(
            min_available=given.min_available, max_unavailable=given.max_unavailable
        )
    if given.delete_pods is not None:
        delay = given.delete_pods_after
        found["pod_cleanup"] = ir.PodCleanup(
            when=given.delete_pods,
            labels=dict(given.delete_pods_with or {}),
            delay_s=None if delay is None else round(units.parse_duration(delay)),
        )
    elif given.delete_pods_with is not None or given.delete_pods_after is not None:
        raise ValueError("delete_pods says when pods are deleted; it is missing")
    plugins = given.plugins or {}
    for name in given.plugins_with_token:
        if name not in plugins:
            raise ValueError(f'there is no plugin "{name}".{did_you_mean(name, plugins)}')
    found["plugins"] = tuple(
        ir.ExecutorPlugin(
            name=name,
            container=make_container(container),
            automount_service_account_token=name in given.plugins_with_token,
        )
        for name, container in plugins.items()
    )
    checked = ir.RunSettings(**{k: v for k, v in found.items() if v is not None})
    return {name: getattr(checked, name) for name in checked.model_fields_set}


def retention(given: Keep) -> tuple[int | None, ir.Retention | None]:
    """Return how long runs are kept however they ended, and by how they ended."""
    after, success, failure = (
        None if wait is None else round(units.parse_duration(wait))
        for wait in (given.after, given.after_success, given.after_failure)
    )
    if success is None and failure is None:
        return after, None
    return after, ir.Retention(after_success_s=success, after_failure_s=failure)


def run_labels(
    given: Mapping[str, object], read: Callable[[Value], Text]
) -> tuple[ir.RunLabel, ...]:
    """Return labels of runs, each a text or a value of the workflow."""
    expect(given, Mapping, "dict of names and texts")
    found = []
    for name, value in given.items():
        if isinstance(value, Value):
            found.append(ir.RunLabel(name=name, value=read(value)))
        elif isinstance(value, str):
            found.append(ir.RunLabel(name=name, value=value))
        else:
            raise ValueError(f"the label {name} is {value!r:.60}, neither a text nor a value")
    return tuple(found)


def _objects(**given: Mapping[str, object] | None) -> Fields:
    """Return objects of Kubernetes, without those that are not given."""
    found: Fields = {}
    for name, value in given.items():
        if value is None:
            continue
        if not isinstance(value, Mapping):
            raise ValueError(f"{name}: {shown(value)} is no dict")
        found[name] = freeze_json(dict(value))
    return found


def _expect(given: object, kind: type, option: str) -> None:
    if not isinstance(given, kind):
        raise ValueError(f"{shown(given)} is none; write {option}=couler.{kind.__name__}(...)")

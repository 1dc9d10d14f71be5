"""Rules for pods: their containers, their settings, and what engines are told of runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from couler.ir.pods import (
    ContainerSettings,
    DisruptionBudget,
    ExecutorPlugin,
    HostAlias,
    PodContainer,
    PodOptions,
    PodSettings,
    Port,
    RunSettings,
)
from couler.ir.semantics.values import (
    VALUE_ERRORS,
    RunFacts,
    View,
    as_type,
    from_json,
    resolve_text,
)
from couler.ir.storage import ClaimVolume, EphemeralVolume, NewClaimVolume, SourceVolume
from couler.ir.values import TEXTS, ParamRef, StepRef, walk
from couler.ir.verify.environment import check_container_environment, check_mounts
from couler.ir.verify.names import (
    Add,
    check_address,
    check_annotations,
    check_dns,
    check_label_name,
    check_labels,
    check_object_name,
    check_placement,
    is_subdomain,
    repeated,
)
from couler.ir.verify.objects import check_lifecycle, check_object, check_patch, check_probe
from couler.ir.verify.quantities import check_resources
from couler.ir.verify.scope import ScopeView
from couler.ir.verify.values import Reader
from couler.ir.walk import pod_containers
from couler.ir.workflow import MAIN, ContainerSet, Parameter, Step

_RESERVED = ("main", "init", "wait")
"""Containers that Argo makes in every pod."""

_PORT_NAME = re.compile(r"(?=.*[a-z])[a-z0-9](?:-?[a-z0-9])*")
_PERCENTAGE = re.compile(r"[0-9]{1,3}%")
_DISPLAY_NAME = re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9.]{0,61}[a-zA-Z0-9]")
_BLOCKS = (ClaimVolume, NewClaimVolume, EphemeralVolume, SourceVolume)


def check_step_pod(reader: Reader, step: Step) -> None:
    """Check what a step's pod is told, and the containers in it."""
    add = reader.add
    if step.display_name is not None and _DISPLAY_NAME.fullmatch(step.display_name) is None:
        add(
            "CLR150",
            f'"{step.display_name}" is no display name: 2 to 63 letters, digits, "-" and ".", '
            "beginning and ending with a letter or digit.",
        )
    if step.container is not None:
        _check_container_settings(reader.view, step.container, add)
    if step.pod is not None:
        outer = reader.view.workflow.pod
        _check_options(step.pod, outer, add)
    containers = pod_containers(step)
    for container in containers:
        _check_container(reader, step, container)
    for name in repeated(container.name for container in containers):
        add("CLR151", f'another container has the name "{name}". Rename one.')
    for container in (*step.init_containers, *step.sidecars):
        if container.depends_on:
            add(
                "CLR434",
                f'container "{container.name}" depends on others, but only those of a container '
                "set wait for each other.",
            )


def _check_container(reader: Reader, step: Step, container: PodContainer) -> None:
    name, view = container.name, reader.view

    def add(code: str, message: str) -> None:
        reader.add(code, f'container "{name}": {message}')

    check_label_name(name, "container", reader.add)
    is_main = name == MAIN and isinstance(step.action, ContainerSet)
    if name in _RESERVED and not is_main:
        reader.add(
            "CLR153", f'"{name}" is a container that Argo makes itself. Choose another name.'
        )
    if container.image.split() != [container.image]:
        add("CLR408", f'"{container.image}" is no image such as "postgres:17".')
    if container.command and container.command[0] == "":
        add("CLR409", "the first word of its command is empty. Name a program, or leave it out.")
    check_container_environment(reader, container)
    check_mounts(view, step, container.mounts)
    if container.working_dir is not None and not container.working_dir.startswith("/"):
        add("CLR415", f'working_dir must be an absolute path, not "{container.working_dir}".')
    if container.resources is not None:
        check_resources(container.resources, add)
    if container.settings is not None:
        _check_container_settings(view, container.settings, add)


def _check_container_settings(view: ScopeView, settings: ContainerSettings, add: Add) -> None:
    _check_ports(settings.ports, add)
    for kind in ("liveness_probe", "readiness_probe", "startup_probe"):
        check_probe(getattr(settings, kind), kind, add)
    check_lifecycle(settings.lifecycle, add)
    check_object(settings.security_context, "SecurityContext", "security_context", add)
    if settings.restart_rules and settings.restart_policy is None:
        add("CLR440", "restart_rules need a restart_policy. Name one, such as Never.")
    path = settings.termination_message_path
    if path is not None and not path.startswith("/"):
        add("CLR415", f'termination_message_path must be an absolute path, not "{path}".')
    known = {volume.name: volume for volume in view.workflow.volumes}
    for device in settings.devices:
        volume = known.get(device.volume)
        if volume is None:
            add(
                "CLR168",
                f'its device is the volume "{device.volume}", which the workflow does not declare.'
                f"{view.report.hint(device.volume, known)}",
            )
        elif not isinstance(volume, _BLOCKS):
            add("CLR421", f'the volume "{device.volume}" has no blocks for a device. Use a claim.')
        if not device.path.startswith("/"):
            add("CLR415", f'a device must be at an absolute path, not "{device.path}".')


def _check_ports(ports: Sequence[Port], add: Add) -> None:
    for number, protocol in repeated((port.number, port.protocol) for port in ports):
        add("CLR440", f"the port {number} ({protocol}) is given twice. Remove one.")
    names = [port.name for port in ports if port.name is not None]
    for name in names:
        if len(name) > 15 or _PORT_NAME.fullmatch(name) is None:
            add(
                "CLR440",
                f'"{name}" is no name of a port: at most 15 lower-case letters, digits and '
                '"-" between them, with a letter.',
            )
    for name in repeated(names):
        add("CLR440", f'two ports have the name "{name}". Rename one.')


def check_pod_settings(pod: PodSettings, add: Callable[..., None]) -> None:
    """Check what all pods of a workflow share."""
    _check_options(pod, None, add)
    for secret in pod.image_pull_secrets:
        check_object_name(secret, "secret", add)
    check_placement(pod, add)
    if pod.dns is not None:
        check_dns(pod.dns, add)
    check_labels(pod.labels, "labels", add)
    check_annotations(pod.annotations, add)


def _check_options(pod: PodOptions, outer: PodOptions | None, add: Callable[..., None]) -> None:
    for account in (pod.service_account, pod.executor_service_account):
        check_object_name(account, "service account", add)
    executor = pod.executor_service_account or (outer and outer.executor_service_account)
    if pod.automount_service_account_token is False and executor is None:
        add(
            "CLR442",
            "without the token of its service account a pod cannot tell its results. Name an "
            "executor_service_account, or leave the token.",
        )
    for alias in pod.host_aliases:
        _check_alias(alias, add)
    check_object_name(pod.scheduler, "scheduler", add)
    check_object(pod.security_context, "PodSecurityContext", "security_context", add)
    if pod.resources is not None:
        check_resources(pod.resources, add)
    check_object(pod.resource_claims, ["PodResourceClaim"], "resource_claims", add)
    if pod.spec_patch:
        check_patch(pod.spec_patch, "spec_patch", add)


def _check_alias(alias: HostAlias, add: Add) -> None:
    check_address(alias.ip, "host alias", add)
    for name in alias.names:
        if not is_subdomain(name):
            add(
                "CLR422", f'"{name}" is no name of a host: lower-case letters, digits, "-" and ".".'
            )


def check_runs(runs: RunSettings, add: Add) -> None:
    """Check what an engine is told of runs, apart from values."""
    fixed = {one.name: one.value if isinstance(one.value, str) else "" for one in runs.labels}
    check_labels(fixed, "labels", add)
    if len(fixed) < len(runs.labels):
        add("CLR151", "two labels of runs have one name. Remove one.")
    check_annotations(runs.annotations, add)
    if runs.disruption_budget is not None:
        _check_budget(runs.disruption_budget, add)
    for plugin in runs.plugins:
        check_object_name(plugin.name, "plugin", add)
        _check_plugin(plugin, add)
    for name in repeated(plugin.name for plugin in runs.plugins):
        add("CLR151", f'two plugins have the name "{name}". Rename one.')
    if runs.pod_cleanup is not None:
        check_labels(runs.pod_cleanup.labels, "labels", add)


def _check_plugin(plugin: ExecutorPlugin, add: Add) -> None:
    container = plugin.container
    check_label_name(container.name, "container", add)
    for field, text in TEXTS.visit(container):
        if not isinstance(text, str):
            add(
                "CLR442",
                f'the plugin "{plugin.name}" reads a value of the workflow for {field}, but it '
                "serves all steps of a run. Give it a text.",
            )
    if container.mounts or container.mirror_mounts:
        add("CLR442", f'the plugin "{plugin.name}" mounts volumes, but it runs in no step\'s pod.')
    if container.settings is None or not container.settings.ports:
        add("CLR440", f'the plugin "{plugin.name}" names no port that it listens on. Name one.')


def _check_budget(budget: DisruptionBudget, add: Add) -> None:
    given: Mapping[str, int | str] = {
        name: value for name, value in budget if isinstance(value, int | str)
    }
    if len(given) != 1:
        has = "has both" if given else "has neither"
        add("CLR442", f"the disruption budget {has}. Give either min_available or max_unavailable.")
    for name, value in given.items():
        if isinstance(value, str) and _PERCENTAGE.fullmatch(value) is None:
            add("CLR442", f'{name} is a number or a percentage such as "50%", not "{value}".')


def check_run_labels(view: ScopeView, runs: RunSettings, parameters: Iterable[Parameter]) -> None:
    """Check the labels of runs that are values: they are read when a run starts."""
    reader = Reader(view)
    reader.start(None)
    for label in runs.labels:
        if isinstance(label.value, str):
            continue
        if any(isinstance(value, StepRef) for value in walk(label.value)):
            view.add_to_scope(
                "CLR443",
                f'the label "{label.name}" of the runs reads a step, but it is made when a run '
                "starts. Read parameters and facts of the run only.",
            )
        else:
            reader.text(label.value, f"runs.labels.{label.name}")
    check_label_values(runs, parameters, view.add_to_scope)


def check_label_values(runs: RunSettings, parameters: Iterable[Parameter], add: Add) -> None:
    """Check the labels of runs that parameters make, as far as their values are known."""
    given = {
        one.name: as_type(from_json(one.default), one.type)
        for one in parameters
        if not one.required and one.config is None
    }
    known = View(RunFacts("run", "2026-11-28T00-00-00Z"), parameters=given)
    for label in runs.labels:
        if isinstance(label.value, str):
            continue
        read = [one.name for one in walk(label.value) if isinstance(one, ParamRef)]
        if read and all(name in given for name in read):
            names = ", ".join(read)
            try:
                text = resolve_text(label.value, known)
            except VALUE_ERRORS as error:
                add("CLR412", f'the run label "{label.name}" cannot be made of {names}: {error}.')
            else:
                check_labels({label.name: text}, f"run labels from the parameter {names}", add)

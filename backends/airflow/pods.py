"""What the pod of a step is given besides its command, as arguments of its operator."""

from __future__ import annotations

import math
import re
import typing as t
from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from couler.backends.airflow.connections import (
    connection_value,
    connections,
    is_connection,
)
from couler.backends.airflow.module import Module
from couler.backends.airflow.options import Options
from couler.backends.airflow.overrides import own_arguments
from couler.backends.airflow.policies import seconds
from couler.backends.airflow.python import Code, Expression, call, value_of
from couler.backends.airflow.specs import (
    BASE,
    Tree,
    Write,
    container,
    patched,
    patches,
    pod_spec,
    variable,
)
from couler.backends.airflow.texts import untouched_all, untouched_lines
from couler.ir.code_files import CODE_MOUNT, code_annotations, code_volume, mounts_code
from couler.ir.kubernetes_pods import container_settings, env_from, mount, resources, volume
from couler.ir.pods import PodContainer, PodSettings
from couler.ir.storage import EnvVar, SecretKey
from couler.ir.walk import pod_containers, steps_by_path
from couler.ir.workflow import WORK_DIR, Container, Script, Step, Workflow

_SECRET = "airflow.providers.cncf.kubernetes.secret"
WORK_VOLUME = "couler-work"

_POD_ARGUMENTS = {
    "nodeSelector": "node_selector",
    "tolerations": "tolerations",
    "affinity": "affinity",
    "priorityClassName": "priority_class_name",
    "serviceAccountName": "service_account_name",
    "automountServiceAccountToken": "automount_service_account_token",
    "imagePullSecrets": "image_pull_secrets",
    "schedulerName": "schedulername",
    "hostNetwork": "hostnetwork",
    "securityContext": "security_context",
    "dnsPolicy": "dnspolicy",
    "activeDeadlineSeconds": "active_deadline_seconds",
    "terminationGracePeriodSeconds": "termination_grace_period",
    "runtimeClassName": "runtime_class_name",
}
_CONTAINER_ARGUMENTS = {
    "image": "image",
    "imagePullPolicy": "image_pull_policy",
    "resources": "container_resources",
    "securityContext": "container_security_context",
    "terminationMessagePolicy": "termination_message_policy",
}
"""Fields of a pod, and of its container `base`, that the operator has arguments for."""
_SHARED = {
    "container_resources": "RESOURCES",
    "tolerations": "TOLERATIONS",
    "affinity": "AFFINITY",
    "security_context": "SECURITY_CONTEXT",
    "container_security_context": "CONTAINER_SECURITY_CONTEXT",
    "pod_template_dict": "POD_TEMPLATE",
}
"""Arguments that stand in the file once where several steps have them, and their names there."""
_RENDERED = re.compile(r"literal\(|\{[{%#]")
_SHORT = 60
"""An argument that takes no more letters stands at each step."""


class Pods:
    """Writes what the pods of a workflow are given."""

    def __init__(self, module: Module, workflow: Workflow, options: Options) -> None:
        self._module = module
        self._workflow = workflow
        self._shared = workflow.pod
        self._volumes = {one.name: one for one in workflow.volumes}
        self._gpu_type_label = options.gpu_type_label
        self._connections = connections(options)

    def arguments(self, step: Step, write: Write) -> dict[str, object]:
        """Return the arguments of the operator of a step."""
        spec = self._spec(step, write)
        base, *others = spec.pop("containers")
        given: dict[str, object] = {}
        for tree, names in ((base, _CONTAINER_ARGUMENTS), (spec, _POD_ARGUMENTS)):
            for field, name in names.items():
                if field in tree and not _is_more_than_argument(field, tree[field]):
                    given[name] = self._argument(name, tree.pop(field))
        labels, annotations = self._metadata(step)
        template: Tree = {}
        if step.foreach is None:
            given["labels"] = self._templated(labels)
            given["annotations"] = self._annotations(step, annotations)
        elif labels or annotations or mounts_code(step):  # it is mapped over its argument `labels`
            metadata = {"labels": labels, "annotations": self._annotations(step, annotations)}
            template["metadata"] = {name: one for name, one in metadata.items() if one}
        if spec or others or len(base) > 1:
            template["spec"] = {"containers": [base, *self._beside(step, others)], **spec}
        given["secrets"] = [
            self._secret(one) for one in step.env if self._is_plain_secret(one)
        ] or None
        given["pod_template_dict"] = self._templated(template)
        return {name: one for name, one in given.items() if one is not None}

    @cached_property
    def _uses(self) -> Counter[tuple[str, str]]:
        """How many steps have an argument; those with texts of their own count for none."""
        found: Counter[tuple[str, str]] = Counter()
        for _, step in steps_by_path(self._workflow):
            if isinstance(step.action, Container | Script):
                given = self.arguments(step, lambda _: Code("..."))
                found.update(
                    (name, value_of(given[name]).flat()) for name in _SHARED.keys() & given.keys()
                )
        return found

    def shared(self, given: Mapping[str, object], step: Step) -> dict[str, object]:
        """Return arguments of which those that several steps have stand in the file once."""
        found = dict(given)
        for name, constant in _SHARED.items():
            value = given.get(name)
            if value is None or name in own_arguments(step):
                continue
            expression = value_of(value)
            flat = expression.flat()
            if self._uses[name, flat] > 1 and len(flat) > _SHORT and not _RENDERED.search(flat):
                found[name] = Code(self._module.shared_table(constant, expression))
        return found

    def bounds(self, step: Step) -> dict[str, object]:
        """Return how long the pod of a step may wait, and an attempt with that may take."""
        given: dict[str, object] = {}
        pod = step.pod
        if pod is None:
            return given
        if pod.pending_timeout_s is not None:
            given["schedule_timeout_seconds"] = math.ceil(pod.pending_timeout_s)
        if pod.timeout_s is not None:
            given["execution_timeout"] = seconds(pod.timeout_s, self._module)
            if step.timeout_s is not None:
                given["active_deadline_seconds"] = math.ceil(step.timeout_s)
        return given

    def connection_variables(self, step: Step) -> dict[str, Expression]:
        """Return the variables of a step that come from connections of Airflow."""
        return {
            one.name: self._of_connection(one.secret)
            for one in step.env
            if one.secret is not None and is_connection(one, self._connections)
        }

    def _of_connection(self, entry: SecretKey) -> Expression:
        code = self._module.use_in_templates(connection_value(entry))
        return value_of("{{ " + code + " }}")

    def _spec(self, step: Step, write: Write) -> Tree:
        """Return the whole specification, but for the command of the step."""
        spec = pod_spec(step, self._shared, self._gpu_type_label)
        before = [self._around(one, step, write) for one in step.init_containers]
        if before:
            spec["initContainers"] = before
        beside = [self._around(one, step, write) for one in step.sidecars]
        spec["containers"] = [self._base(step, write), *beside]
        volumes = self._used_volumes(step)
        if mounts_code(step):
            volumes.append(code_volume(self._workflow))
        if volumes:
            spec["volumes"] = volumes
        for patch in patches(step, self._shared):
            spec = patched(spec, patch)
        return spec

    def _base(self, step: Step, write: Write) -> Tree:
        fields: Tree = {
            "imagePullPolicy": step.pull_policy,
            "resources": None if step.resources is None else resources(step.resources),
            "env": [variable(one, write) for one in step.env if self._is_reference(one)],
            "envFrom": [env_from(source) for source in step.env_from],
            "volumeMounts": _mounts(step),
            **container_settings(step.container),
        }
        return {"name": BASE, **{name: value for name, value in fields.items() if value}}

    def _around(self, wanted: PodContainer, step: Step, write: Write) -> Tree:
        tree = container(wanted, write)
        for entry, one in zip(tree.get("env", ()), wanted.env, strict=False):
            if one.secret is not None and is_connection(one, self._connections):
                del entry["valueFrom"]
                entry["value"] = self._of_connection(one.secret)
        if wanted.mirror_mounts:
            known = {one["mountPath"] for one in tree.get("volumeMounts", ())}
            mirrored = [one for one in _mounts(step) if one["mountPath"] not in known]
            tree["volumeMounts"] = [*tree.get("volumeMounts", ()), *mirrored]
            tree["env"] = [{"name": "COULER_WORK", "value": WORK_DIR}, *tree.get("env", ())]
        return tree

    def _used_volumes(self, step: Step) -> list[Tree]:
        names = {one["name"]: None for one in _mounts(step) if one != CODE_MOUNT}
        containers = pod_containers(step)
        for one in containers:
            names.update((mounted.volume, None) for mounted in one.mounts)
        for given in (step.container, *(one.settings for one in containers)):
            names.update((one.volume, None) for one in (given.devices if given else ()))
        found: list[Tree] = []
        for name in names:
            tree: Tree = {"name": name, "emptyDir": {}}
            if name in self._volumes:
                tree = volume(self._volumes[name]) or self._claim_of_run(name)
            found.append(tree)
        return found

    def _claim_of_run(self, name: str) -> Tree:
        code = self._module.use_in_templates(f"run_name(ti, '{name}')")
        claim = value_of("{{ " + code + " }}")
        return {"name": name, "persistentVolumeClaim": {"claimName": claim}}

    def _beside(self, step: Step, others: list[Tree]) -> list[Tree | Expression]:
        """Return the other containers; those that the step names end with it."""
        names = {one.name for one in step.sidecars}
        return [
            call(self._module.use("ends_with_process"), untouched_all(one, self._module))
            if one["name"] in names
            else one
            for one in others
        ]

    def _metadata(self, step: Step) -> tuple[dict[str, str], dict[str, str]]:
        shared = self._shared or PodSettings()
        return {**shared.labels, **step.labels}, {**shared.annotations, **step.annotations}

    def _annotations(self, step: Step, own: dict[str, str]) -> Expression | None:
        """Return the annotations of a pod, with those that hold the workflow's code."""
        if not mounts_code(step):
            return self._templated(own)
        texts = code_annotations(self._workflow).items()
        code = {key: untouched_lines(text, key, self._module) for key, text in texts}
        table = self._module.shared_table("CODE", value_of(code))
        return Code(f"{{**{table}, **{untouched_all(own, self._module).flat()}}}" if own else table)

    def _argument(self, name: str, value: t.Any) -> Expression:
        match name:
            case "node_selector" | "image":
                return untouched_all(value, self._module)
            case "container_resources":
                parts = {key: untouched_all(one, self._module) for key, one in value.items()}
                return self._model("V1ResourceRequirements", parts)
            case "tolerations":
                return value_of([self._model("V1Toleration", one) for one in value])
            case "image_pull_secrets":
                return value_of([self._model("V1LocalObjectReference", one) for one in value])
        return value_of(value)

    def _secret(self, wanted: EnvVar) -> Expression:
        assert wanted.secret is not None
        name = self._module.take(_SECRET, "Secret")
        return call(name, "env", wanted.name, wanted.secret.secret, wanted.secret.key)

    def _is_plain_secret(self, wanted: EnvVar) -> bool:
        """Return whether a variable is what `Secret` makes: always there, named in capitals."""
        secret = wanted.secret
        if secret is None or is_connection(wanted, self._connections):
            return False
        return not secret.optional and wanted.name == wanted.name.upper()

    def _is_reference(self, wanted: EnvVar) -> bool:
        is_other = self._is_plain_secret(wanted) or is_connection(wanted, self._connections)
        return wanted.value is None and not is_other

    def _model(self, name: str, fields: Tree) -> Expression:
        self._module.take("kubernetes.client", "models as k8s")
        renamed = {"tolerationSeconds": "toleration_seconds"}
        given = {renamed.get(key, key): value for key, value in fields.items()}
        return call(f"k8s.{name}", **given)

    def _templated(self, tree: Tree | dict[str, str]) -> Expression | None:
        return untouched_all(tree, self._module) if tree else None


def sees_work_folder(step: Step) -> bool:
    """Return whether other containers of the pod see the work folder of the step."""
    return any(one.mirror_mounts for one in pod_containers(step))


def _mounts(step: Step) -> list[Tree]:
    mounts = [mount(one) for one in step.mounts]
    if sees_work_folder(step):
        mounts.append({"name": WORK_VOLUME, "mountPath": WORK_DIR})
    if mounts_code(step):
        mounts.append(CODE_MOUNT)
    return mounts


def _is_more_than_argument(field: str, value: t.Any) -> bool:
    """Return whether an object has what the operator's own form of it has not."""
    return field == "resources" and bool(value.keys() - {"requests", "limits"})

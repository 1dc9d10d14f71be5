"""What Argo is told of pods as a whole and of the runs of a workflow."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping, Sequence

from couler.backends.argo import pods
from couler.backends.argo.pods import Tree, pod_container
from couler.backends.argo.references import Renderer
from couler.backends.argo.scope import ScopeView
from couler.backends.argo.tags import Tagged
from couler.ir import kubernetes_pods
from couler.ir.pods import ExecutorPlugin, PodCleanup, PodOptions, PodSettings, RunSettings, StepPod
from couler.ir.policies import DatabaseSemaphore, Lock, Mutex, Semaphore
from couler.ir.values import RunRef, thawed, walk
from couler.ir.workflow import Workflow

_NO_SETTINGS = RunSettings.model_construct()


def synchronization(locks: Sequence[Lock]) -> Tree:
    """Return a template's or a workflow's `synchronization`."""
    fields: Tree = {"mutexes": [], "semaphores": []}
    for lock in locks:
        fields["mutexes" if isinstance(lock, Mutex) else "semaphores"].append(_entry(lock))
    return {name: entries for name, entries in fields.items() if entries}


def _entry(lock: Lock) -> Tree:
    entry: Tree
    match lock:
        case Mutex():
            entry = {"name": lock.name}
            if lock.database:
                entry["database"] = True
        case Semaphore():
            key: Tree = {"name": lock.limit.config_map, "key": lock.limit.key}
            if lock.limit.optional:
                key["optional"] = True
            entry = {"configMapKeyRef": key}
        case DatabaseSemaphore():
            entry = {"database": {"key": lock.key}}
        case _:
            t.assert_never(lock)
    if lock.namespace is not None:
        entry["namespace"] = lock.namespace
    return entry


DISPLAY_NAME = "workflows.argoproj.io/display-name"
"""Annotation of a template: what Argo shows in place of the name of a node."""

_POD_GC = {
    "pod_completion": "OnPodCompletion",
    "pod_success": "OnPodSuccess",
    "run_completion": "OnWorkflowCompletion",
    "run_success": "OnWorkflowSuccess",
}


def pod_options(pod: PodOptions) -> Tree:
    """Return the fields that templates and workflows share."""
    account = pod.executor_service_account
    fields: Tree = {
        "serviceAccountName": pod.service_account,
        "executor": None if account is None else {"serviceAccountName": account},
        "hostAliases": [
            {"ip": alias.ip, "hostnames": list(alias.names)} for alias in pod.host_aliases
        ],
        "schedulerName": pod.scheduler,
        "securityContext": thawed(pod.security_context),
        "podResources": None if pod.resources is None else kubernetes_pods.resources(pod.resources),
        "resourceClaims": thawed(pod.resource_claims),
        "podSpecPatch": spec_patch(pod),
    }
    found = kubernetes_pods.given(fields)
    if pod.automount_service_account_token is not None:
        found["automountServiceAccountToken"] = pod.automount_service_account_token
    return found


def step_pod(pod: StepPod) -> Tree:
    """Return what a template says of the pods of its steps."""
    waits = (("pendingTimeout", pod.pending_timeout_s), ("timeout", pod.timeout_s))
    bounds = {name: pods.duration(bound) for name, bound in waits if bound is not None}
    return {**pod_options(pod), **bounds}


def spec_patch(pod: PodOptions) -> str | None:
    """Return the patch of the specification of pods as the text that Argo takes."""
    if not pod.spec_patch:
        return None
    return json.dumps(thawed(pod.spec_patch), ensure_ascii=False, separators=(",", ":"))


def pod_settings(pod: PodSettings) -> Tree:
    """Return what the spec of a workflow says of all its pods."""
    fields: Tree = {
        "imagePullSecrets": [{"name": name} for name in pod.image_pull_secrets],
        "nodeSelector": dict(pod.node_selector),
        "tolerations": [kubernetes_pods.toleration(accepted) for accepted in pod.tolerations],
        "affinity": thawed(pod.affinity),
        "podPriorityClassName": pod.priority_class,
        "hostNetwork": pod.host_network,
        "podMetadata": pods.metadata(pod.labels.items(), pod.annotations.items()),
        **(kubernetes_pods.dns(pod.dns) if pod.dns is not None else {}),
    }
    return {**pod_options(pod), **kubernetes_pods.given(fields)}


def scheduled_metadata(workflow: Workflow) -> Tree:
    """Return the labels and annotations that scheduled runs have from their beginning."""
    runs = workflow.runs or _NO_SETTINGS
    fixed = [(one.name, one.value) for one in runs.labels if isinstance(one.value, str)]
    return pods.metadata(fixed, runs.annotations.items())


def run_settings(workflow: Workflow, *, in_schedule: bool = False) -> Tree:
    """Return what the spec of a workflow says of its runs."""
    runs = workflow.runs or _NO_SETTINGS
    retention: Mapping[str, int | None] = {"secondsAfterCompletion": workflow.keep_s}
    if runs.retention is not None:
        retention = {
            **retention,
            "secondsAfterSuccess": runs.retention.after_success_s,
            "secondsAfterFailure": runs.retention.after_failure_s,
        }
    budget = runs.disruption_budget
    fields: Tree = {
        "ttlStrategy": _said(retention),
        "priority": runs.priority,
        "podDisruptionBudget": None
        if budget is None
        else _said(
            {"minAvailable": budget.min_available, "maxUnavailable": budget.max_unavailable}
        ),
        "podGC": None if runs.pod_cleanup is None else _pod_gc(runs.pod_cleanup),
        "volumeClaimGC": None
        if runs.claim_cleanup is None
        else {"strategy": _POD_GC[runs.claim_cleanup]},
        "workflowMetadata": _run_metadata(workflow, runs, in_schedule=in_schedule),
        "executorPlugins": [_plugin(plugin) for plugin in runs.plugins],
    }
    return {name: value for name, value in fields.items() if value not in (None, {}, [])}


def _plugin(plugin: ExecutorPlugin) -> Tree:
    sidecar = {
        "automountServiceAccountToken": plugin.automount_service_account_token,
        "container": pod_container(plugin.container, lambda name: name, None),
    }
    return {"metadata": {"name": plugin.name}, "spec": {"sidecar": kubernetes_pods.given(sidecar)}}


def _pod_gc(cleanup: PodCleanup) -> Tree:
    tree: Tree = {"strategy": _POD_GC[cleanup.when]}
    if cleanup.labels:
        tree["labelSelector"] = {"matchLabels": dict(cleanup.labels)}
    if cleanup.delay_s is not None:
        tree["deleteDelayDuration"] = pods.duration(cleanup.delay_s)
    return tree


def _run_metadata(workflow: Workflow, runs: RunSettings, *, in_schedule: bool) -> Tree:
    renderer = Renderer(ScopeView.of_workflow(workflow), {}, "")
    labels: Tree = {}
    computed: Tree = {}
    for label in runs.labels:
        if isinstance(label.value, str):
            labels[label.name] = label.value
        else:
            text = renderer.expression(label.value)
            if RunRef(field="logical_date") in walk(label.value):  # no label holds a ":"
                # Here, unlike in templates, the time is an object of its formats.
                text = text.replace("creationTimestamp", "creationTimestamp.RFC3339")
                text = f"replace({text}, ':', '-')"
            computed[label.name] = {"expression": Tagged(text)}
    fields: Tree = {"labelsFrom": computed}
    if not in_schedule:
        fields.update(labels=labels, annotations=dict(runs.annotations))
    return kubernetes_pods.given(fields)


def _said(fields: Mapping[str, t.Any]) -> Tree:
    return {name: value for name, value in fields.items() if value is not None}

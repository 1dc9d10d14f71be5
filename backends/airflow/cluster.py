"""Functions that DAG files carry for resources of the cluster: what jobs create and wait for.

What `runtime` says of its functions holds for these as well. A resource is found again by labels
that name the attempt, so that a worker need not live as long as it does.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from couler.backends.airflow.runtime import text
from couler.backends.airflow.worker import cluster_namespace

if TYPE_CHECKING:
    from airflow.providers.cncf.kubernetes.hooks.kubernetes import KubernetesHook
    from airflow.providers.cncf.kubernetes.pod_generator import make_safe_label_value
    from airflow.sdk import PokeReturnValue

MODULES: dict[str, tuple[str, ...]] = {
    "airflow.providers.cncf.kubernetes.hooks.kubernetes": ("KubernetesHook",),
    "airflow.providers.cncf.kubernetes.pod_generator": ("make_safe_label_value",),
    "airflow.sdk": ("PokeReturnValue",),
    "datetime": ("UTC", "datetime"),
    "json": (),
    "typing": ("Any",),
}
"""Where the names come from that the functions use."""


def run_resource(
    ti: Any,
    manifest: dict[str, Any],
    json_at: list[list[Any]] | None = None,
    success: list[list[str]] | None = None,
    failure: list[list[str]] | None = None,
    outputs: dict[str, list[Any]] | None = None,
    limit_s: float | None = None,
    task_reschedule_count: int = 0,
) -> PokeReturnValue:
    """Create a resource, once for an attempt; tell whether it has ended, and its outputs."""
    read_json(manifest, json_at or [])
    path = path_of(manifest)
    labels = labels_of(ti) | {"try_number": str(ti.try_number)}
    found = ask_cluster("GET", path, labels=labels)["items"]
    if found:
        resource = found[0]
    elif task_reschedule_count:
        raise LookupError("the resource was deleted before its end")
    else:
        metadata = manifest.setdefault("metadata", {})
        metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
        resource = ask_cluster("POST", path, manifest)
    name, began = resource["metadata"]["name"], resource["metadata"].get("creationTimestamp")
    if has_ended(resource, success or [], failure or []):
        return PokeReturnValue(True, outputs_of(resource, outputs or {}))
    age = datetime.now(UTC) - datetime.fromisoformat(began) if began else None
    if limit_s is not None and age is not None and age.total_seconds() > limit_s:
        ask_cluster("DELETE", f"{path}/{name}", {"propagationPolicy": "Background"})
        raise RuntimeError(f"{name} did not end within {limit_s} s")
    return PokeReturnValue(False)


def change_resource(
    ti: Any,
    action: str,
    manifest: dict[str, Any],
    json_at: list[list[Any]] | None = None,
    success: list[list[str]] | None = None,
    failure: list[list[str]] | None = None,
    outputs: dict[str, list[Any]] | None = None,
    patch: str = "strategic-merge-patch",
    limit_s: float | None = None,
    task_reschedule_count: int = 0,
) -> PokeReturnValue:
    """Read, change or delete a resource, once; tell whether it has ended, and its outputs."""
    read_json(manifest, json_at or [])
    path = f"{path_of(manifest)}/{manifest['metadata']['name']}"
    is_first = not task_reschedule_count
    began = ti.get_first_reschedule_date({"task_reschedule_count": task_reschedule_count})
    if limit_s and began and (datetime.now(UTC) - began).total_seconds() > limit_s:
        raise RuntimeError(f"{path} did not end within {limit_s} s")
    if action == "delete":
        if is_first:
            ask_cluster("DELETE", path, {"propagationPolicy": "Background"}, absent_ok=True)
        return PokeReturnValue(ask_cluster("GET", path, absent_ok=True) is None)
    if is_first and action == "apply":
        path_of_fields = f"{path}?fieldManager=airflow&force=true"
        ask_cluster("PATCH", path_of_fields, manifest, content="application/apply-patch+yaml")
    elif is_first and action == "patch":
        ask_cluster("PATCH", path, manifest, content=f"application/{patch}+json")
    elif is_first and action == "replace":
        known = ask_cluster("GET", path)["metadata"]["resourceVersion"]
        manifest["metadata"].setdefault("resourceVersion", known)
        ask_cluster("PUT", path, manifest)
    resource = ask_cluster("GET", path)
    if not has_ended(resource, success or [], failure or []):
        return PokeReturnValue(False)
    return PokeReturnValue(True, outputs_of(resource, outputs or {}))


def delete_resources(ti: Any, created: dict[str, dict[str, Any]]) -> None:
    """Delete what tasks of this run have created, as it belongs to the run."""
    for task, manifest in created.items():
        path, labels = path_of(manifest), labels_of(ti, task)
        for one in ask_cluster("GET", path, labels=labels)["items"]:
            place = f"{path}/{one['metadata']['name']}"
            ask_cluster("DELETE", place, {"propagationPolicy": "Background"}, absent_ok=True)


def labels_of(ti: Any, task: str = "") -> dict[str, str]:
    """Return what tells the resources of a task from others; without a task of this instance."""
    labels = {"dag_id": ti.dag_id, "run_id": ti.run_id, "task_id": task or ti.task_id}
    if not task and ti.map_index >= 0:
        labels["map_index"] = str(ti.map_index)
    return {name: make_safe_label_value(value) for name, value in labels.items()}


def path_of(manifest: dict[str, Any]) -> str:
    """Return where the cluster has the resources of a kind, in the namespace of a manifest."""
    version, kind = manifest["apiVersion"], manifest["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    for one in ask_cluster("GET", root)["resources"]:
        if one["kind"] == kind and "/" not in one["name"]:
            if not one["namespaced"]:
                return f"{root}/{one['name']}"
            namespace = manifest.get("metadata", {}).get("namespace") or cluster_namespace()
            return f"{root}/namespaces/{namespace}/{one['name']}"
    raise LookupError(f"the cluster has no {kind} of {version}")


def ask_cluster(
    method: str,
    path: str,
    body: Any = None,
    content: str = "application/json",
    absent_ok: bool = False,
    labels: dict[str, str] | None = None,
) -> Any:
    """Ask the API of Kubernetes; None for what is absent, if that is no error."""
    selector = ",".join(f"{name}={value}" for name, value in (labels or {}).items())
    try:
        answer = KubernetesHook().api_client.call_api(
            path,
            method,
            query_params=[("labelSelector", selector)] if selector else [],
            header_params={"Accept": "application/json", "Content-Type": content},
            body=body,
            auth_settings=["BearerToken"],
            _preload_content=False,
            _return_http_data_only=True,
        )
    except Exception as error:
        if absent_ok and getattr(error, "status", 0) == 404:
            return None
        raise
    return json.loads(answer.data)


def read_json(manifest: Any, places: list[list[Any]]) -> None:
    """Put JSON in the places of its text."""
    for *path, last in places:
        inner = manifest
        for key in path:
            inner = inner[key]
        inner[last] = json.loads(inner[last])


def has_ended(resource: Any, success: list[list[str]], failure: list[list[str]]) -> bool:
    """Return whether all parts of a condition hold; fail if one of the other does."""
    for part in failure:
        if fits(resource, *part):
            raise RuntimeError(f"{resource['metadata']['name']} has failed: {' '.join(part)}")
    return all(fits(resource, *part) for part in success)


def fits(found: Any, path: str, sign: str, *values: str) -> bool:
    """Return whether a field of a resource is as a part of a condition says."""
    for key in path.split("."):
        if isinstance(found, list):
            found = dict(enumerate(found)).get(int(key)) if key.isdigit() else None
        else:
            found = found.get(key) if isinstance(found, dict) else None
    if sign in ("is", "!"):
        return (found is not None) == (sign == "is")
    if found is None:
        return sign == "notin"
    if sign in ("in", "notin"):
        return (text(found) in values) == (sign == "in")
    if not text(found).lstrip("-").isdigit():
        return False
    return int(text(found)) > int(values[0]) if sign == ">" else int(text(found)) < int(values[0])


def outputs_of(resource: Any, paths: dict[str, list[Any]]) -> dict[str, str]:
    """Return the fields at paths as text, as kubectl writes them: none for what is absent."""
    outputs = {}
    for name, path in paths.items():
        found = [resource]
        for step in path:
            found = [inner for one in found for inner in entries(one, step)]
        outputs[name] = " ".join(map(text, found))
        if len(outputs[name].encode()) > 65536:
            raise ValueError(f"the output {name} takes more than 65536 bytes")
    return outputs


def entries(value: Any, step: Any) -> list[Any]:
    """Return what lies at a key or place; at [] all, at [keys, sign, value] some of a list."""
    if isinstance(step, list):
        inner = list(value.values()) if isinstance(value, dict) else value
        inner = inner if isinstance(inner, list) else []
        return [one for one in inner if not step or is_chosen(one, *step)]
    if isinstance(value, list):
        fits_in = isinstance(step, int) and -len(value) <= step < len(value)
        return [value[step]] if fits_in else []
    return [value[step]] if isinstance(value, dict) and step in value else []


def is_chosen(value: Any, keys: list[str], sign: str, wanted: Any) -> bool:
    """Return whether a field of an entry is, or is not, a value."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value is not None and (value == wanted) == (sign == "==")

"""Functions that DAG files carry for resources of the cluster: what jobs create and wait for."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from couler.backends.airflow.worker import cluster_namespace
from couler.ir.semantics.wire import decode, encode
from couler.ir.yaml_writer import dump_as_json

if TYPE_CHECKING:
    from airflow.providers.cncf.kubernetes.hooks.kubernetes import KubernetesHook
    from airflow.providers.cncf.kubernetes.pod_generator import make_safe_label_value
    from airflow.sdk import PokeReturnValue
    from urllib3.exceptions import HTTPError

MODULES: dict[str, tuple[str, ...]] = {
    "airflow.providers.cncf.kubernetes.hooks.kubernetes": ("KubernetesHook",),
    "airflow.providers.cncf.kubernetes.pod_generator": ("make_safe_label_value",),
    "airflow.sdk": ("PokeReturnValue",),
    "collections.abc": ("Callable",),
    "datetime": ("UTC", "datetime"),
    "hashlib": (),
    "json": (),
    "time": (),
    "typing": ("Any",),
    "urllib3.exceptions": ("HTTPError",),
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
    goals = success or [], failure or []
    try:
        if task_reschedule_count:
            found = ask_cluster("GET", path_of(manifest), labels=attempt_of(ti))["items"]
        else:
            found = [patiently(create_resource, ti, manifest, *goals)]
        if not found:
            raise LookupError("the resource was deleted before its end")
        resource = found[0]
        if has_ended(resource, *goals):
            return PokeReturnValue(True, outputs_of(resource, outputs or {}))
        name, began = resource["metadata"]["name"], resource["metadata"].get("creationTimestamp")
        if is_late(datetime.fromisoformat(began) if began else None, limit_s):
            place = f"{path_of(manifest)}/{name}"
            patiently(
                ask_cluster, "DELETE", place, {"propagationPolicy": "Background"}, none_on=404
            )
            raise RuntimeError(f"{name} did not end within {limit_s} s")
    except ConnectionError as error:
        if not task_reschedule_count:
            raise
        if is_late(first_look(ti, task_reschedule_count), limit_s):
            raise RuntimeError(f"the resource did not end within {limit_s} s") from error
    return PokeReturnValue(False)


def create_resource(
    ti: Any, manifest: dict[str, Any], success: list[list[str]], failure: list[list[str]]
) -> Any:
    """Return the resource of this attempt, new or known; delete those before that still go on."""
    path, metadata = path_of(manifest), manifest.setdefault("metadata", {})
    task, attempt = labels_of(ti), attempt_of(ti)
    metadata["labels"] = {**(metadata.get("labels") or {}), **attempt}
    if metadata.get("generateName") and not metadata.get("name"):  # the same at the next try
        sign = hashlib.sha256(json.dumps(attempt).encode()).hexdigest()[:8]
        metadata["name"] = metadata["generateName"][:55] + sign
    name = metadata.get("name")
    for one in ask_cluster("GET", path, labels=task)["items"]:
        if attempt.items() <= one["metadata"]["labels"].items():
            return one
        its_name, bad = one["metadata"]["name"], any(fits(one, *part) for part in failure)
        if its_name == name or not (bad or has_ended(one, success, [])):
            place = f"{path}/{its_name}"
            ask_cluster("DELETE", place, {"propagationPolicy": "Background"}, none_on=404)
    made = ask_cluster("POST", path, manifest, none_on=409)
    if made is None:
        made = ask_cluster("GET", f"{path}/{name}", none_on=404)
        known = {} if made is None else made["metadata"]
        labels = known.get("labels") or {}
        if attempt.items() <= labels.items():
            return made
        if made is None or known.get("deletionTimestamp") or task.items() <= labels.items():
            raise ConnectionError(f"{name} cannot be created while another is being deleted")
        raise ValueError(f"there is a {manifest['kind']} {name} already that is not of this task")
    return made


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
    if is_late(first_look(ti, task_reschedule_count), limit_s):
        raise RuntimeError(f"{manifest['metadata']['name']} did not end within {limit_s} s")
    if not task_reschedule_count:
        patiently(make_change, action, manifest, patch)
    try:
        place = f"{path_of(manifest)}/{manifest['metadata']['name']}"
        resource = ask_cluster("GET", place, none_on=404 if action == "delete" else 0)
    except ConnectionError:
        return PokeReturnValue(False)
    if action == "delete":
        return PokeReturnValue(resource is None)
    if not has_ended(resource, success or [], failure or []):
        return PokeReturnValue(False)
    return PokeReturnValue(True, outputs_of(resource, outputs or {}))


def make_change(action: str, manifest: dict[str, Any], patch: str) -> None:
    """Change or delete a resource."""
    place = f"{path_of(manifest)}/{manifest['metadata']['name']}"
    if action == "delete":
        ask_cluster("DELETE", place, {"propagationPolicy": "Background"}, none_on=404)
    elif action == "apply":
        place = f"{place}?fieldManager=airflow&force=true"
        content = "application/apply-patch+yaml; charset=utf-8"
        ask_cluster("PATCH", place, dump_as_json(manifest).encode(), content=content)
    elif action == "patch":
        ask_cluster("PATCH", place, manifest, content=f"application/{patch}+json")
    elif action == "replace":
        known = ask_cluster("GET", place)["metadata"]["resourceVersion"]
        metadata = {"resourceVersion": known, **manifest["metadata"]}
        conflict = 409 if metadata["resourceVersion"] == known else 0
        if ask_cluster("PUT", place, {**manifest, "metadata": metadata}, none_on=conflict) is None:
            raise ConnectionError(f"{place} was changed meanwhile")


def delete_resources(ti: Any, created: dict[str, dict[str, Any]]) -> None:
    """Delete what tasks of this run have created, as it belongs to the run."""
    for task, manifest in created.items():
        path, labels = patiently(path_of, manifest), labels_of(ti, task)
        for one in patiently(ask_cluster, "GET", path, labels=labels)["items"]:
            place = f"{path}/{one['metadata']['name']}"
            body = {"propagationPolicy": "Background"}
            patiently(ask_cluster, "DELETE", place, body, none_on=404)


def patiently(ask: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Ask again, for some minutes, while the cluster cannot answer."""
    for pause_s in (1, 4, 15, 30, 60, 60, 60):
        try:
            return ask(*args, **options)
        except ConnectionError:
            time.sleep(pause_s)
    return ask(*args, **options)


def first_look(ti: Any, task_reschedule_count: int) -> datetime | None:
    """Return when this attempt was first put off, if it was."""
    began: datetime | None = ti.get_first_reschedule_date(
        {"task_reschedule_count": task_reschedule_count}
    )
    return began


def is_late(began: datetime | None, limit_s: float | None) -> bool:
    """Return whether more time than a limit has gone by."""
    if began is None or limit_s is None:
        return False
    return (datetime.now(UTC) - began).total_seconds() > limit_s


def attempt_of(ti: Any) -> dict[str, str]:
    """Return what tells the resource of this attempt from others."""
    return labels_of(ti) | {"try_number": str(ti.try_number)}


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
    none_on: int = 0,
    labels: dict[str, str] | None = None,
) -> Any:
    """Ask the API of Kubernetes; None at a status, a ConnectionError where it cannot answer now."""
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
            _request_timeout=90,
        )
        read = json.loads(answer.data)
    except Exception as error:
        status = getattr(error, "status", None) or 0
        if none_on and status == none_on:
            return None
        if status == 429 or status >= 500 or isinstance(error, HTTPError):
            raise ConnectionError(f"{method} {path}: {error}") from error
        raise
    return read


def read_json(manifest: Any, places: list[list[Any]]) -> None:
    """Put JSON in the places of its text."""
    for *path, last in places:
        inner = manifest
        for key in path:
            inner = inner[key]
        inner[last] = decode(inner[last])


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
        return (encode(found) in values) == (sign == "in")
    text = encode(found)
    if not text.lstrip("-").isdigit():
        return False
    return int(text) > int(values[0]) if sign == ">" else int(text) < int(values[0])


def outputs_of(resource: Any, paths: dict[str, list[Any]]) -> dict[str, str]:
    """Return the fields at paths as text, as kubectl writes them: none for what is absent."""
    outputs = {}
    for name, path in paths.items():
        found = [resource]
        for step in path:
            found = [inner for one in found for inner in entries(one, step)]
        outputs[name] = " ".join(map(encode, found))
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

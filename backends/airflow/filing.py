"""Functions that DAG files carry for steps with files and for those with a cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from couler.backends.airflow.runtime import process

if TYPE_CHECKING:
    from airflow.sdk.definitions.template import literal
    from kubernetes.client import models as k8s

IO_IMAGE = ""
FILES = ""
CACHE = ""
"""Stand for what a file defines: an image with Couler, and the texts of `files.sh`, `cache.sh`."""

MODULES: dict[str, tuple[str, ...]] = {
    "airflow.sdk.definitions.template": ("literal",),
    "collections.abc": ("Sequence",),
    "hashlib": (),
    "json": (),
    "kubernetes.client": ("models as k8s",),
    "typing": ("Any",),
}
"""Where the names come from that the functions use."""


def process_with_files(
    command: list[Any],
    *,
    before: Sequence[list[Any]] = (),
    after: Sequence[list[Any]] = (),
    outputs: Sequence[str] = (),
    beside: Sequence[str] = (),
    claim: str | None = None,
) -> dict[str, Any]:
    """Return what a pod needs to run a command by FILES, which takes files and keeps them."""
    kept_at = [[] if line[4:] else [f"{{{{ place(ti, '{line[2]}') }}}}"] for line in after]
    told = [*before, *([*line, *at] for line, at in zip(after, kept_at, strict=True))]
    words = [word for line in told for word in (str(len(line)), *map(word_of, line))]
    wrapped = ["/couler/busybox", "sh", "-c", "{{ FILES }}", "couler", *words, "--", *command]
    kept = [
        f"{name}{'?' if kind.endswith('?') else ''}=/couler/keys/{name}"
        for verb, kind, name, *_ in after
        if verb == "keep" and name
    ]
    fields = process(wrapped, [*outputs, *kept], [*beside])
    return fields if claim is None else with_volume(fields, claim)


def with_volume(fields: dict[str, Any], claim: str) -> dict[str, Any]:
    """Add the volume that keeps files."""
    source = k8s.V1PersistentVolumeClaimVolumeSource(claim_name=claim)
    fields["volumes"].append(k8s.V1Volume(name="files", persistent_volume_claim=source))
    mount = k8s.V1VolumeMount(name="files", mount_path="/couler/files")
    fields["volume_mounts"].append(mount)
    return fields


def word_of(given: Any) -> Any:
    """Return a word for FILES: what is no text as JSON, past Jinja and the kubelet."""
    if not isinstance(given, dict):
        return given
    return literal(json.dumps(given).replace("$", "$$"))


def with_helper(
    fields: dict[str, Any],
    *,
    repository: dict[str, Any] | str | None = None,
    secrets: Sequence[list[Any]] = (),
) -> dict[str, Any]:
    """Add a helper that fetches files and puts them, for as long as the process runs."""
    helper = k8s.V1Container(
        name="couler-io",
        image=IO_IMAGE,
        command=["python", "-m", "couler.io", "serve", "/couler/io"],
        env=helper_env(repository, secrets),
        restart_policy="Always",
        volume_mounts=fields["volume_mounts"],
    )
    fields["init_containers"].append(helper)
    return fields


def helper_env(repository: dict[str, Any] | str | None, secrets: Sequence[list[Any]]) -> list[Any]:
    """Return the variables by which couler.io knows its repository, and entries of secrets."""
    env = []
    if repository is not None:
        named = repository if isinstance(repository, str) else json.dumps(repository)
        env.append(k8s.V1EnvVar(name="COULER_REPOSITORY", value=named.replace("$", "$$")))
    for name, secret, key, *optional in secrets:
        entry = k8s.V1SecretKeySelector(name=secret, key=key, optional=bool(optional))
        env.append(k8s.V1EnvVar(name=name, value_from=k8s.V1EnvVarSource(secret_key_ref=entry)))
    return env


def files_below(
    location: dict[str, Any],
    words: list[Any],
    *,
    secrets: Sequence[list[Any]] = (),
    claim: str | None = None,
    folder: str | None = None,
) -> dict[str, Any]:
    """Return what a pod needs to list the files below a location."""
    fields: dict[str, Any] = {
        "cmds": ["python", "-m", "couler.io", "list", "/airflow/xcom/return.json"],
        "arguments": [word_of(location), *words],
        "env_vars": helper_env(folder, secrets),
        "do_xcom_push": True,
    }
    if claim is not None:
        source = k8s.V1PersistentVolumeClaimVolumeSource(claim_name=claim, read_only=True)
        fields["volumes"] = [k8s.V1Volume(name="files", persistent_volume_claim=source)]
        mount = k8s.V1VolumeMount(name="files", mount_path="/couler/files", read_only=True)
        fields["volume_mounts"] = [mount]
    return fields


def place(ti: Any, name: str, root: str = "") -> str:
    """Return where an output of a task is kept."""
    parts = [root, ti.dag_id, ti.run_id, ti.task_id, str(ti.map_index), name]
    return "/".join(part for part in parts if part not in ("", "-1"))


def lines(value: str | None) -> str:
    """Return a list of locations, each on a line of its own; "-" stands for none."""
    return "\n".join(one or "-" for one in json.loads(value or "[]"))


def with_cache(
    fields: dict[str, Any],
    folder: str,
    digests: Sequence[str],
    *,
    max_age_s: int | None = None,
    files: Sequence[str] = (),
    claim: str | None = None,
) -> dict[str, Any]:
    """Have the wrapper of a process run by CACHE, which takes the outputs of an entry instead."""
    words = [folder, "".join(digests), "" if max_age_s is None else str(max_age_s), *files]
    cached = {
        **fields,
        "cmds": ["/couler/busybox", "sh", "-c", "{{ CACHE }}", "couler"],
        "arguments": [*words, "--", *fields["cmds"], *fields["arguments"]],
        "do_xcom_push": True,
    }
    return cached if claim is None else with_volume(cached, claim)


def sha256(text: str | None) -> str:
    """Return the digest of a text; of none that of an empty one."""
    return hashlib.sha256((text or "").encode()).hexdigest()


def place_of_try(ti: Any, name: str, root: str = "") -> str:
    """Return where an output is kept, by each try elsewhere: what a cache knows stays as it is."""
    return f"{place(ti, name, root)}/{ti.try_number}"

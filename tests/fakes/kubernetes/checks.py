"""What the API server refuses of objects: the mistakes that a compiler could make."""

from __future__ import annotations

import json
import re

import yaml

from couler.ir.verify.objects import fields_of
from tests.fakes.kubernetes.store import ApiError, Json

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")

_MAX_ANNOTATIONS = 256 * 1024
MAX_BODY = 3 * 1024 * 1024
MAX_OBJECT = 1536 * 1024


def check_metadata(kind: str, sent: Json) -> None:
    """Refuse an object whose name is no subdomain of RFC 1123, or with a label that can be none.

    Raises
    ------
    ApiError
        As a cluster words it.
    """
    metadata = sent.get("metadata") or {}
    name = metadata.get("name") or f"{metadata.get('generateName', '')}x"
    if not _SUBDOMAIN.fullmatch(name):
        raise _invalid(f"metadata.name: Invalid value: {name!r}", kind)
    labels, annotations = (
        {key: one for key, one in (metadata.get(field) or {}).items() if one is not None}
        for field in ("labels", "annotations")  # a patch removes what it has no value for
    )
    for key, value in labels.items():
        _check_string(value, "metadata.labels")
        if not _VALUE.fullmatch(value):
            raise _invalid(f"metadata.labels: Invalid value: {value!r} of {key}", kind)
    for value in annotations.values():
        _check_string(value, "metadata.annotations")
    if sum(map(len, annotations.values())) > _MAX_ANNOTATIONS:
        many = f"may not be more than {_MAX_ANNOTATIONS} bytes"
        raise _invalid(f"metadata.annotations: Too long: {many}", kind)


def check_size(sent: Json) -> None:
    """Refuse an object that etcd does not store."""
    if len(json.dumps(sent, separators=(",", ":"))) > MAX_OBJECT:
        raise ApiError(500, "", "etcdserver: request is too large")


def read_yaml(body: bytes) -> Json:
    """Read what is applied, as the server's reader of YAML does: goyaml is a port of libyaml."""
    try:
        found: Json = yaml.load(body, yaml.CSafeLoader)
    except yaml.YAMLError as error:
        if isinstance(error, yaml.reader.ReaderError):
            problem = "control characters are not allowed"
        else:
            problem = str(getattr(error, "problem", error))
        reason = f"error decoding YAML: error converting YAML to JSON: yaml: {problem}"
        raise ApiError(400, "BadRequest", reason) from error
    return found


def without_unknown(value: object, kind: object, path: str, unknown: list[str]) -> object:
    """Return a value without the fields that its kind has not; add their paths to `unknown`."""
    if isinstance(kind, list) and isinstance(value, list):
        return [
            without_unknown(one, kind[0], f"{path}[{at}]", unknown) for at, one in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    if isinstance(kind, dict) and "*" in kind:
        fields = dict.fromkeys(value, kind["*"])
    elif isinstance(kind, str) and kind[0].isupper():
        fields = dict(fields_of(kind))
    else:
        return value
    unknown += [f"{path}.{name}" for name in value if name not in fields]
    return {
        name: without_unknown(one, fields[name], f"{path}.{name}", unknown)
        for name, one in value.items()
        if name in fields
    }


def check_pod(pod: Json) -> None:
    """Refuse a pod as a cluster would.

    Raises
    ------
    ApiError
        A value has a type that it cannot have, or a name is none.
    """
    spec = pod.get("spec") or {}
    if not spec.get("containers"):
        raise _invalid("spec.containers: Required value")
    volumes = {one["name"] for one in spec.get("volumes") or ()}
    names: set[str] = set()
    for container in (*(spec.get("initContainers") or ()), *spec["containers"]):
        _check_container(container, volumes, names)


def _check_container(container: Json, volumes: set[str], names: set[str]) -> None:
    name = container.get("name", "")
    if not _LABEL.fullmatch(name):
        raise _invalid(f"spec.containers.name: Invalid value: {name!r}")
    if name in names:
        raise _invalid(f"spec.containers.name: Duplicate value: {name!r}")
    names.add(name)
    if not container.get("image"):
        raise _invalid(f"spec.containers[{name}].image: Required value")
    for field in ("command", "args"):
        value = container.get(field)
        if value is not None and not isinstance(value, list):
            raise _wrong_type(f"spec.containers.{field}", value)
        for one in value or ():
            _check_string(one, f"spec.containers.{field}")
    for entry in container.get("env") or ():
        if entry.get("value") is not None:
            _check_string(entry["value"], "spec.containers.env.value")
    for mount in container.get("volumeMounts") or ():
        if mount["name"] not in volumes:
            raise _invalid(f"spec.containers.volumeMounts.name: Not found: {mount['name']!r}")


def _check_string(value: object, field: str) -> None:
    if not isinstance(value, str):
        raise _wrong_type(field, value)


def _wrong_type(field: str, value: object) -> ApiError:
    words = {bool: "bool", int: "number", float: "number", dict: "object", list: "array"}
    word = words.get(type(value), "value")
    return ApiError(
        400,
        "BadRequest",
        'Pod in version "v1" cannot be handled as a Pod: '
        f"json: cannot unmarshal {word} into Go struct field {field} of type string",
    )


def _invalid(message: str, kind: str = "Pod") -> ApiError:
    return ApiError(422, "Invalid", f"{kind} is invalid: {message}")

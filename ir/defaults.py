"""Rewrites before an engine sees a workflow: defaults, storages of a target, local forms."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from pydantic import ValidationError

from couler.errors import EngineOptionError
from couler.ir.artifacts import LOCATIONS, STORED, Location
from couler.ir.diagnostics import did_you_mean
from couler.ir.storage import ConfigKey, EnvVar, SecretKey
from couler.ir.traversal import Traversal
from couler.ir.walk import all_steps, implied_dependencies, map_steps
from couler.ir.workflow import (
    Container,
    ContainerSet,
    Defaults,
    Http,
    Job,
    LocalForm,
    Plugin,
    Script,
    Step,
    Workflow,
)


def resolve_defaults(workflow: Workflow) -> Workflow:
    """Return the workflow with its defaults merged into every step, and none left to merge."""
    defaults = workflow.defaults
    if defaults is None:
        return workflow
    whole = workflow.model_copy(update={"defaults": None})
    return map_steps(whole, lambda step: _resolve(step, defaults))


def _resolve(step: Step, defaults: Defaults) -> Step:
    action = step.action
    update: dict[str, t.Any] = {}
    if isinstance(action, Container | Script | Job | Http | ContainerSet | Plugin):
        for field in ("retry", "timeout_s"):
            if getattr(step, field) is None:
                update[field] = getattr(defaults, field)
    if isinstance(action, Job) and action.local is not None:
        form = action.local
        merged: dict[str, t.Any] = {"env": _with_defaults(form.env, defaults)}
        if form.resources is None:
            merged["resources"] = defaults.resources
        local = form.model_copy(update=merged)
        update["action"] = action.model_copy(update={"local": local})
    if isinstance(action, Container | Script):
        for field in ("resources", "placement", "pull_policy"):
            if getattr(step, field) is None:
                update[field] = getattr(defaults, field)
        update["env"] = _with_defaults(step.env, defaults)
    return step.model_copy(update=update) if update else step


def _with_defaults(own: tuple[EnvVar, ...], defaults: Defaults) -> tuple[EnvVar, ...]:
    names = {variable.name for variable in own}
    return (*(variable for variable in defaults.env if variable.name not in names), *own)


Storages: t.TypeAlias = Mapping[str, Mapping[str, t.Any]]
"""Fields of locations by their kind, such as `{"s3": {"bucket": "data"}}`."""

_KEYS: dict[type[SecretKey | ConfigKey], str] = {
    SecretKey: "secret/key or { secret = ..., key = ... }",
    ConfigKey: "config-map/key or { config_map = ..., key = ... }",
}
"""How entries are named in settings."""

_LETS_IN = frozenset(
    (
        *("access_key", "secret_key", "session_token", "role_arn", "use_sdk_credentials"),
        *("account_key", "service_account_key", "user"),
        *(name for name in LOCATIONS["hdfs"].model_fields if name.startswith("kerberos_")),
    )
)
"""By what a storage lets in: a location that says its own way takes none of these."""

_TEXTS = {"key", "path", "blob", "security_token", "kind"}


def fill_locations(workflow: Workflow, storages: Storages) -> Workflow:
    """Return a workflow whose locations have what is stated of their kind of storage."""
    stated = {kind: read_storage(kind, fields) for kind, fields in storages.items()}

    def fill(_: str, location: Location) -> Location:
        storage = stated.get(location.kind)
        return location if storage is None else _filled(location, storage)

    return _FILES.map(workflow, fill) if stated else workflow


_FILES: Traversal[Location] = Traversal(*LOCATIONS.values(), enters=("steps", "hooks", "local"))


def read_storage(kind: str, fields: Mapping[str, t.Any]) -> Location:
    """Return a location without a key that has the fields of a storage."""
    if kind not in STORED:
        raise EngineOptionError(
            f"there is no storage {kind!r} to state; there are: {', '.join(STORED)}."
            f"{did_you_mean(kind, STORED)}"
        )
    cls = LOCATIONS[kind]
    known = [name for name in cls.model_fields if name not in _TEXTS]
    read: dict[str, t.Any] = {}
    for name, value in fields.items():
        if name not in known:
            raise EngineOptionError(
                f"the storage {kind} has no {name!r}; it has: {', '.join(known)}."
                f"{did_you_mean(name, known)}"
            )
        read[name] = _value(cls, name, value)
    for name, value in read.items():
        for key, shown in _KEYS.items():
            is_key = isinstance(value, Mapping | key)
            if key.__name__ in str(cls.model_fields[name].annotation) and not is_key:
                raise EngineOptionError(f"the storage {kind}: {name} is no entry: write {shown}")
    blank = {name: "" for name in ("key", "path", "blob") if name in cls.model_fields}
    try:
        return cls.model_validate({**blank, **read})
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in problem["loc"])
        raise EngineOptionError(f"the storage {kind}: {place}: {problem['msg']}") from error


def _value(cls: type[Location], name: str, value: t.Any) -> t.Any:
    """Return the value of a field that was given as in a settings file, or as text."""
    annotation = str(cls.model_fields[name].annotation)
    for key in (SecretKey, ConfigKey):
        if key.__name__ in annotation and isinstance(value, str) and "/" in value:
            owner, _, entry = value.partition("/")
            first = "secret" if key is SecretKey else "config_map"
            return key.model_validate({first: owner, "key": entry})
    if isinstance(value, str) and "bool" in annotation and value in ("true", "false"):
        return value == "true"
    if isinstance(value, str) and "int" in annotation and value.isdigit():
        return int(value)
    if isinstance(value, str) and "tuple" in annotation:
        return tuple(part.strip() for part in value.split(","))
    return tuple(value) if isinstance(value, list) else value


def _filled(location: Location, storage: Location) -> Location:
    for name in ("endpoint", "addresses", "name"):  # another bucket is still that storage
        own = getattr(location, name, None)
        if own and own != getattr(storage, name):
            return location
    fields = type(location).model_fields
    says_how = any(getattr(location, name) for name in _LETS_IN & fields.keys())
    update = {
        name: getattr(storage, name)
        for name, field in fields.items()
        if name not in _TEXTS
        and not (says_how and name in _LETS_IN)
        and getattr(location, name) == field.get_default()
        and getattr(storage, name) != field.get_default()
    }
    return location.model_copy(update=update) if update else location


def local_form(step: Step) -> LocalForm | None:
    """Return what runs in place of a step's job on an engine without a cluster, if anything."""
    return step.action.local if isinstance(step.action, Job) else None


def use_local_forms(workflow: Workflow) -> Workflow:
    """Return the workflow with the local forms of its jobs in their place."""
    return _map_jobs(workflow, as_process)


def leave_out_local_forms(workflow: Workflow) -> Workflow:
    """Return the workflow with jobs that have no local form."""
    return _map_jobs(workflow, _as_job)


def _map_jobs(workflow: Workflow, change: Callable[[Step], Step]) -> Workflow:
    has_jobs = any(type(step.action) is Job for step in all_steps(workflow))
    return map_steps(workflow, change) if has_jobs else workflow


def as_process(step: Step) -> Step:
    """Return the step that runs the local form of a job; any other step as it is."""
    form = local_form(step)
    if form is None:
        return step
    process = step.model_copy(
        update={
            "action": form.action,
            "inputs": form.inputs,
            "outputs": form.outputs,
            "env": form.env,
            "resources": form.resources,
            "working_dir": form.working_dir,
        }
    )
    return _waiting_as(step, process)


def _as_job(step: Step) -> Step:
    if local_form(step) is None:
        return step
    alone = step.model_copy(update={"action": step.action.model_copy(update={"local": None})})
    return _waiting_as(step, alone)


def _waiting_as(step: Step, changed: Step) -> Step:
    """Return a changed step that waits for all that the step reads from."""
    kept = set(implied_dependencies(changed))
    edges = [name for name in implied_dependencies(step) if name not in kept]
    return (
        changed.model_copy(update={"depends_on": (*step.depends_on, *edges)}) if edges else changed
    )

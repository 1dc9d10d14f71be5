"""What the options of steps are in the IR."""

from __future__ import annotations

import functools
import os
import typing as t
from collections.abc import Callable, Mapping

from couler.dsl import objects, pod_options, pods, units
from couler.dsl._context import current
from couler.dsl.amounts import read_resources
from couler.dsl.checks import (
    OptionError,
    attempt,
    attempt_each,
    expect,
    positive,
    several,
    shown,
    texts_by_name,
    warn_of_engines,
)
from couler.dsl.environment import ENV_FROM, env_from_of, env_of, text_of, without_quotes
from couler.dsl.handles import Value
from couler.dsl.hooks import read_hooks
from couler.dsl.locks import Mutex, read_locks
from couler.dsl.metrics import read_metrics
from couler.dsl.step_options import ImagePullPolicy, StepOptions
from couler.ir import policies, storage
from couler.ir.base import FrozenDict, freeze_json
from couler.ir.diagnostics import did_you_mean
from couler.ir.pods import PodContainer

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder
    from couler.dsl.scope import Scope


_RESOURCES = ("cpu", "memory", "disk", "gpu", "resources")
_CONTAINERS = ("sidecars", "init_containers")
_ARGUMENTS = (
    "image",
    "command",
    "args",
    "source",
    "input",
    "output",
    "packages",
    "step_name",
    "name",
)
"""Arguments that only some kinds of steps have."""


def step_fields(builder: Builder, options: Mapping[str, t.Any], step: str) -> dict[str, t.Any]:
    """Return the fields of the IR's step that options stand for; report those that are wrong."""
    given = {name: value for name, value in options.items() if value is not None}
    fields: dict[str, t.Any] = {}
    for name, value in given.items():
        if name in _TOGETHER:
            continue
        make = _MAKERS.get(name)
        if make is None:
            builder.report("CLR104", f'step "{step}": {_no_option(name)}', step=step)
            continue
        attempt(builder, name, functools.partial(make, builder, fields, value), step)
    if any(name in given for name in _RESOURCES):
        resources = read_resources(builder, given, step)
        if resources is not None:
            fields["resources"] = resources
    if any(name in given for name in _PLACEMENT):
        placed = attempt_each(builder, _PLACEMENT, given, step)
        fields["placement"] = policies.Placement(**placed)
    for name in _CONTAINERS:
        if name in given:
            fields[name] = read_containers(builder, name, given[name], step)
    return fields


def _no_option(name: str) -> str:
    if name in _ARGUMENTS:
        return f'there is no option "{name}" of steps of this kind'
    known = (*StepOptions.__annotations__, *_ARGUMENTS)
    return f'there is no option "{name}".{did_you_mean(name, known)}'


def retry_of(value: object) -> policies.Retry:
    """Return a retry policy of the IR; a limit of 0 is for never."""
    if isinstance(value, objects.Retry):
        backoff = None
        if value.wait is not None:
            backoff = policies.Backoff(
                seconds=units.parse_duration(value.wait),
                factor=float(value.factor),
                cap_s=None if value.cap is None else units.parse_duration(value.cap),
                max_duration_s=None if value.within is None else units.parse_duration(value.within),
            )
        elif value.within is not None:
            raise OptionError("within bounds the waits of a retry, so it needs a wait")
        return policies.Retry(
            limit=value.limit,
            on=tuple(value.on),
            backoff=backoff,
            exit_codes=tuple(value.exit_codes),
            other_node=value.other_node,
        )
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise OptionError(f"{value!r} is no number of retries; write retry=3 or couler.Retry(3)")
    return policies.Retry(limit=value)


def _add_env(builder: Builder, fields: dict[str, t.Any], env: t.Any) -> None:
    if builder.implicit and isinstance(env, Mapping):
        env = without_quotes(env)
    fields["env"] = (*fields.get("env", ()), *env_of(env))


def _add_env_from(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
    fields["env_from"] = tuple(map(env_from_of, several(value, Mapping, ENV_FROM)))


def _add_secrets(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
    variables = [
        storage.EnvVar(name=key, secret=storage.SecretKey(secret=secret.name, key=key))
        for name in several(value, str, "name of a secret, as couler.create_secret returns it")
        for secret in [builder.secret(name)]
        for key in secret.keys
    ]
    fields["env"] = (*fields.get("env", ()), *variables)


def _add_mounts(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
    mounts = []
    wanted = 'couler.VolumeMount, such as couler.VolumeMount("data", "/data")'
    for mount in several(value, objects.VolumeMount, wanted):
        expect(mount.name, str, "name of a volume")
        builder.need_volume(mount.name)
        mounts.append(
            storage.Mount(
                volume=mount.name,
                path=mount.mount_path,
                sub_path=mount.sub_path,
                read_only=mount.read_only,
            )
        )
    fields["mounts"] = tuple(mounts)


def _add_retry(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
    policy = retry_of(value)
    defaults = builder.fields.get("defaults")
    stands_against = defaults is not None and defaults.retry is not None
    if policy.limit or stands_against:  # without a default, no retry is what a step has anyway
        fields["retry"] = policy


def _add_cache(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
    if value is False:
        return
    if value is True:
        fields["cache"] = policies.Cache()
        return
    if isinstance(value, str):
        fields["cache"] = policies.Cache(max_age_s=_max_age(value))
        return
    expect(value, objects.Cache, "couler.Cache; write cache=True, cache='7d', or a couler.Cache")
    fields["cache"] = policies.Cache(
        name=value.name,
        salt=None if value.key is None else text_of(value.key),
        max_age_s=units.parse_duration(value.max_age) if value.max_age else None,
    )


def _max_age(text: str) -> float:
    try:
        return units.parse_duration(text)
    except ValueError as error:
        raise OptionError(f"{error}, or cache=True") from None


def _add_pull_policy(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
    name = value.value if isinstance(value, ImagePullPolicy) else value
    if not isinstance(name, str) or not ImagePullPolicy.valid(name):
        raise OptionError(f"{name!r} is none of {', '.join(ImagePullPolicy.values())}")
    fields["pull_policy"] = name


def _add_daemon(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
    expect(value, bool, "bool; write daemon=True")
    if value:
        fields["daemon"] = True


def _add_engine(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
    fields["engine"] = FrozenDict({n: _json_map(own) for n, own in _json_map(value).items()})
    warn_of_engines(builder, value)


def _add_logs(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
    from couler.dsl.builder import current_scope
    from couler.dsl.located import logs_of

    fields["logs"] = logs_of(current_scope(), value)


def _ignore(name: str, instead: str = "") -> Callable[[Builder, dict[str, t.Any], t.Any], None]:
    message = f"{name} has no effect on any engine{instead}"

    def warn(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
        builder.report("CLR106", message, severity="warning")

    return warn


def _field(
    name: str, convert: Callable[[t.Any], t.Any]
) -> Callable[[Builder, dict[str, t.Any], t.Any], None]:
    def put(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
        fields[name] = convert(value)

    return put


def read_containers(builder: Builder, what: str, given: object, step: str) -> t.Any:
    """Return the containers of a pod that a list is; report what is none."""

    def options(wanted: Mapping[str, t.Any]) -> dict[str, t.Any]:
        return step_fields(builder, wanted, step)

    if not isinstance(given, list | tuple):
        message = f"{shown(given)} is no list of couler.PodContainer"
        builder.report("CLR105", f'step "{step}": {what}: {message}', step=step)
        return ()
    made = [
        attempt(
            builder,
            what,
            functools.partial(pod_options.pod_container, one, _words, options),
            step,
        )
        for one in given
    ]
    return tuple(one for one in made if one is not None)


def plugin_container(builder: Builder, given: pods.PodContainer) -> PodContainer:
    """Return the container of a plugin; it has the options of other containers of pods."""
    return pod_options.pod_container(
        given, _words, lambda wanted: step_fields(builder, wanted, given.name)
    )


def _words(given: object) -> tuple[t.Any, ...]:
    if given is None:
        return ()
    return tuple(map(text_of, given if isinstance(given, list | tuple) else (given,)))


def _in_scope(
    name: str, read: Callable[[Scope, t.Any], t.Any]
) -> Callable[[Builder, dict[str, t.Any], t.Any], None]:
    """Put what is read where the step is made: its values can be those of the steps there."""

    def put(builder: Builder, fields: dict[str, t.Any], value: t.Any) -> None:
        fields[name] = read(current().scope or builder.root, value)

    return put


def _whole(value: t.Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise OptionError(f"{shown(value)} is no whole number")
    return value


def _tolerations(value: object) -> tuple[policies.Toleration, ...]:
    given = several(value, objects.Toleration, pod_options.TOLERATION)
    return tuple(map(pod_options.toleration_of, given))


def _profile(value: t.Any) -> policies.Profile:
    if isinstance(value, policies.Profile):
        return value
    expect(value, Mapping, 'dict of estimates, such as {"seconds": 90}')
    for name in value:
        if name not in policies.Profile.model_fields:
            hint = did_you_mean(str(name), policies.Profile.model_fields)
            raise OptionError(f'there is no estimate "{name}".{hint}')
    return policies.Profile(**value)


def _text_map(value: object) -> FrozenDict:
    return FrozenDict(texts_by_name(value))


def _text(value: object) -> str:
    """Return a text that is known when the workflow is built."""
    if isinstance(value, Value):
        raise OptionError(f"{value!r} is known only when the workflow runs")
    if isinstance(value, os.PathLike):
        return str(value)
    if not isinstance(value, str):
        raise OptionError(f"{shown(value)} is no text")
    return str(value)


def _mutex(value: object) -> str:
    if isinstance(value, Mutex):
        raise OptionError("mutex is the name alone; write locks=couler.Mutex(...)")
    return _text(value)


def _json_map(value: t.Any, wanted: str = "dict") -> t.Any:
    expect(value, Mapping, wanted)
    return freeze_json(dict(value))


_MAKERS: dict[str, Callable[[Builder, dict[str, t.Any], t.Any], None]] = {
    "env": _add_env,
    "env_from": _add_env_from,
    "secret": _add_secrets,
    "secrets": _add_secrets,
    "retry": _add_retry,
    "timeout": _field("timeout_s", units.parse_duration),
    "cache": _add_cache,
    "working_dir": _field("working_dir", _text),
    "image_pull_policy": _add_pull_policy,
    "daemon": _add_daemon,
    "volume_mounts": _add_mounts,
    "labels": _field("labels", _text_map),
    "annotations": _field("annotations", _text_map),
    "container": _field("container", pod_options.container_settings),
    "pod": _field("pod", pod_options.step_pod),
    "display_name": _field("display_name", _text),
    "keep_logs": _add_logs,
    "mutex": _field("mutex", _mutex),
    "locks": _field("locks", read_locks),
    "metrics": _in_scope("metrics", read_metrics),
    "hooks": _in_scope("hooks", read_hooks),
    "max_parallel": _field("max_parallel", positive),
    "parallelism": _ignore("parallelism", "; max_parallel bounds a map, a group or a workflow"),
    "profile": _field("profile", _profile),
    "engine": _add_engine,
    "pool": _ignore("pool"),
    "enable_ulogfs": lambda builder, fields, value: None,  # the ancestor's default was True
}


_PLACEMENT: dict[str, Callable[[t.Any], object]] = {
    "node_selector": texts_by_name,
    "tolerations": _tolerations,
    "affinity": lambda value: _json_map(value, "dict, as Kubernetes writes an affinity"),
    "priority_class": _text,
    "priority": _whole,
}
_TOGETHER = frozenset((*_RESOURCES, *_PLACEMENT, *_CONTAINERS))

"""What steps have in common that can share a template: all but their texts."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.backends.argo.large import way_of_arguments, way_of_script
from couler.backends.argo.resources import value_names
from couler.ir.actions import ContainerSet
from couler.ir.artifacts import without_texts
from couler.ir.cachekey import definition_digest
from couler.ir.listing import ListFiles
from couler.ir.pods import PodContainer, map_container_texts
from couler.ir.storage import Volume
from couler.ir.values import Text
from couler.ir.walk import pod_containers
from couler.ir.workflow import Container, Http, Input, Job, Output, Script, Step


def shape_key(
    step: Step, hostile: tuple[tuple[int, str], ...], gathers: bool, volumes: Mapping[str, Volume]
) -> t.Any:
    """Return what all steps have in common that can share a template."""
    action = step.action
    what: t.Any = action
    if isinstance(action, Container):
        way = way_of_arguments(action.args)
        what = (action.image, _fixed_words(action.command), len(action.args), way)
    elif isinstance(action, Script):
        what = (action, way_of_script(step, action))
    elif isinstance(action, ContainerSet):
        what = action.model_copy(update={"containers": ()})  # they are among those of the pod
    elif isinstance(action, Http):
        headers = tuple((h.name, h.secret, h.config) for h in action.headers)
        fixed = action.model_copy(update={"url": "", "headers": (), "body": None})
        what = (fixed, headers, action.body is None)
    elif isinstance(action, ListFiles):
        what = action.model_copy(update={"at": without_texts(action.at)})
    elif isinstance(action, Job):
        names = value_names(action)
        places = tuple(
            (given.path, given.type, name) for given, name in zip(action.values, names, strict=True)
        )
        what = (action.model_copy(update={"values": ()}), places)
    special = step.gives(_SETTINGS) or isinstance(action, ContainerSet)
    settings = _settings_key(step, volumes) if special else _NO_SETTINGS
    return (what, hostile, gathers, settings)


_SETTINGS = frozenset(
    (
        "inputs",
        "outputs",
        "env",
        "env_from",
        "mounts",
        "retry",
        "timeout_s",
        "cache",
        "resources",
        "placement",
        "working_dir",
        "pull_policy",
        "container",
        "init_containers",
        "sidecars",
        "pod",
        "display_name",
        "mutex",
        "locks",
        "metrics",
        "daemon",
        "labels",
        "annotations",
        "engine",
        "logs",
    )
)
"""The fields of a step, besides its action, that its template shows."""


def _settings_key(step: Step, volumes: Mapping[str, Volume]) -> tuple[t.Any, ...]:
    cache = step.cache and (
        step.cache.name,
        step.cache.max_age_s,
        definition_digest(step, volumes),
    )
    return (
        tuple(map(_input_key, step.inputs)) if step.inputs else (),
        tuple(map(_output_key, step.outputs)) if step.outputs else (),
        tuple((v.name, v.secret, v.config, v.value is None) for v in step.env) if step.env else (),
        step.env_from,
        step.mounts,
        step.retry,
        step.timeout_s,
        cache,
        step.resources,
        step.placement,
        step.working_dir,
        step.pull_policy,
        step.container,
        tuple(map(_fixed_texts, pod_containers(step))),
        len(step.sidecars),
        step.pod,
        step.display_name,
        step.mutex,
        step.locks,
        step.metrics,
        step.daemon,
        step.labels or None,
        step.annotations or None,
        step.engine or None,
        step.logs and (step.logs.keep, without_texts(step.logs.at)),
    )


def _fixed_texts(container: PodContainer) -> PodContainer:
    return map_container_texts(container, lambda text, _: text if isinstance(text, str) else "")


def _input_key(given: Input) -> t.Any:
    at = without_texts(given.at)
    if at is None and not (given.optional or given.mode is not None):
        return (given.name, given.type, given.path, given.many)
    return given.model_copy(update={"value": None, "at": at})


def _output_key(output: Output) -> Output:
    if output.at is None:
        return output
    return output.model_copy(update={"at": without_texts(output.at)})


def _fixed_words(words: tuple[Text, ...]) -> tuple[str | None, ...]:
    if all_plain(words):
        return t.cast("tuple[str, ...]", words)
    return tuple(word if isinstance(word, str) else None for word in words)


def all_plain(words: tuple[Text, ...]) -> bool:
    """Return whether no word is a value."""
    return {*map(type, words)} <= {str}


_NO_SETTINGS = _settings_key(
    Step.model_construct(name="any", action=Container.model_construct(image="any")), {}
)
"""Equal to the key of a step that was given settings, but none other than the defaults."""

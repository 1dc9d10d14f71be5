"""Which steps can share a pod, and with which others."""

from __future__ import annotations

import itertools
import json
import typing as t
from collections.abc import Iterator, Mapping

from couler.ir.policies import AnyOf, Dependency
from couler.ir.semantics import Kind, kind_of
from couler.ir.values import (
    FirstOf,
    ItemRef,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    StepRef,
    Value,
    children,
    is_file,
    walk,
)
from couler.ir.workflow import WORK_DIR, Container, Input, Output, Script, Step

PYTHONS = ("python", "python3")
"""Words by which a step runs Python."""

SHARED = (
    "when",
    "mounts",
    "env_from",
    "placement",
    "pull_policy",
    "container",
    "pod",
    "labels",
    "annotations",
    "part",
)
"""Fields that are equal for all steps of a group, and those of the step that stands for it."""

_WORDS = {
    "when": "the condition",
    "mounts": "the volumes",
    "env_from": "the variables from elsewhere",
    "pull_policy": "the pull policy",
    "container": "settings of the container",
    "pod": "settings of the pod",
    "part": "the part",
}


class Kinds(t.NamedTuple):
    """The types of what can be read in a scope."""

    parameters: Mapping[str, Kind]
    steps: Mapping[str, Step]

    def is_certain(self, value: StepRef | ParamRef) -> bool:
        """Return whether what is read is of its type, which typed steps look to."""
        is_typed = isinstance(value, StepRef) and self.steps[value.step].is_function
        return is_typed or self.of_value(value).type == "str"

    def of_value(self, value: Value) -> Kind:
        """Return the type of a value that is read directly."""
        return kind_of(value, None, self.steps, self.parameters)


def program_of(step: Step) -> str | None:
    """Return the word by which a process is begun; None if that is only known when it runs."""
    action = step.action
    if isinstance(action, Script):
        return action.command[0]
    if isinstance(action, Container) and action.command and isinstance(action.command[0], str):
        return action.command[0]
    return None


def key_of(step: Step) -> dict[str, str]:
    """Return what steps must have in common to share a pod, besides an image."""
    program = program_of(step)
    gpu = None if step.resources is None else step.resources.gpu
    shared = step.model_dump(mode="json", include=set(SHARED))
    packages = sorted(step.action.packages) if isinstance(step.action, Script) else []
    python = program if program in PYTHONS else PYTHONS[0]
    kind = None if gpu is None else [gpu.type, gpu.resource]
    known = step.profile
    computes = [known.model] if known is not None and known.operations is not None else None
    found = {
        **{_WORDS.get(field, field): value for field, value in shared.items()},
        "packages": packages,
        "the word for Python": python,
        "the kind of GPU": kind,
        "the kind of model that they compute": computes,
    }
    return {what: json.dumps(value, sort_keys=True) for what, value in found.items()}


def why_not(step: Step, kinds: Kinds, apart: frozenset[str], *, strict: bool) -> str | None:
    """Return why a step cannot share a pod with any other, None if it can."""
    action = step.action
    if not isinstance(action, Container | Script):
        return f"it runs no process of its own: it is of the kind {action.kind}"
    if isinstance(action, Container) and not action.command:
        return "it states no command, so that the entry point of its image runs"
    reasons = itertools.chain(
        _policies(step),
        _edges(step, apart),
        _files(step.inputs, step.outputs),
        _values(step, kinds, strict),
    )
    return next(reasons, None)


def _policies(step: Step) -> Iterator[str]:
    """Yield what a step has that belongs to a pod of its own."""
    for name, what in (
        ("foreach", "it is a foreach"),
        ("loop", "it is a loop"),
        ("cache", "it has a cache"),
        ("daemon", "it is a daemon"),
        ("hooks", "it has hooks"),
        ("metrics", "it has metrics"),
        ("sidecars", "it has other containers in its pod"),
        ("init_containers", "it has other containers in its pod"),
        ("mutex", "it holds a lock"),
        ("locks", "it holds a lock"),
        ("logs", "it says where its log is kept"),
        ("display_name", "it has a name to be shown"),
        ("engine", "it has overrides for an engine"),
    ):
        if getattr(step, name):
            yield what
    if step.pod is not None and (step.pod.timeout_s or step.pod.pending_timeout_s):
        yield "its pod has a time limit"
    if step.retry is not None and step.retry.other_node:
        yield "each of its attempts wants another node"
    if step.resources is not None and step.resources.other:
        yield "it asks for resources of other kinds"
    place = step.working_dir or ""
    if place.startswith(WORK_DIR) or ".." in place.split("/"):
        yield f"it works in {place}"


def _edges(step: Step, apart: frozenset[str]) -> Iterator[str]:
    if step.name in apart:
        yield "others ask for its failure or its end, and not for its success alone"
    if any(isinstance(entry, Dependency | AnyOf) for entry in step.depends_on):
        yield "it asks for the failure or the end of others, and not for their success alone"


def _files(inputs: tuple[Input, ...], outputs: tuple[Output, ...]) -> Iterator[str]:
    both: tuple[Input | Output, ...] = (*inputs, *outputs)
    for one in both:
        if one.at is not None or one.archive is not None:
            yield f'"{one.name}" lies outside of the workflow'
        if one.path is not None and (one.path.startswith("/") or ".." in one.path.split("/")):
            yield f'"{one.name}" lies at {one.path}, which is not in its own folder'
    for output in outputs:
        if output.removal is not None:
            yield f'its output "{output.name}" is removed at a time of its own'


def _values(step: Step, kinds: Kinds, strict: bool) -> Iterator[str]:
    direct = {id(given.value) for given in step.inputs if is_file(given.type)}
    for given in step.inputs:
        if is_file(given.type) and not _is_plain_file(given, kinds):
            yield f'its input "{given.name}" is chosen among several files'
    inside = step if step.when is None else step.model_copy(update={"when": None})
    for value in children(inside):  # the condition is that of the group, unchanged
        if id(value) not in direct:
            yield from _parts(value, kinds, strict)


def _is_plain_file(given: Input, kinds: Kinds) -> bool:
    value = given.value
    return (
        isinstance(value, StepRef | ParamRef)
        and kinds.of_value(value) == Kind(given.type, given.many)
        and not (isinstance(value, ParamRef) and given.optional)
    )


def _parts(value: Value, kinds: Kinds, strict: bool) -> Iterator[str]:
    for part in walk(value):
        if isinstance(part, ItemRef | RoundRef | OwnRef | Range):
            yield f"it reads a value of the kind {part.kind}"
        elif isinstance(part, StepRef | ParamRef):
            kind = kinds.of_value(part)
            if is_file(kind.type):
                yield "it reads a file otherwise than as an input"
            elif kind.many and strict and not kinds.is_certain(part):
                yield (
                    f"it reads a list of {kind.type}, and an item that is none fails it alone, as "
                    "only typed steps look at what they give"
                )
        elif isinstance(part, OrElse | FirstOf):
            read = {one.step for one in walk(part) if isinstance(one, StepRef)}
            nested = [one for one in walk(part) if one.kind in ("field", "range")]
            if len(read) > 1:
                yield "it reads the first of several steps"
            elif nested and strict:
                yield "it reads a part of a value with a default, which may fail it alone"

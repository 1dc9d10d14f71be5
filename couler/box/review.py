"""What a user should look at before a workflow runs that somebody else has written."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from couler.ir.values import ParamRef, StepRef, Value
from couler.ir.walk import predecessors, steps_by_path
from couler.ir.workflow import Container, Script, Step, Workflow

_POWERS = {
    "at": "files outside of the workflow",
    "automount_service_account_token": "the token of the account",
    "collection": "a template of the cluster",
    "devices": "devices of the machine",
    "engine": "settings merged into the engine's manifest",
    "executor_service_account": "account of the cluster",
    "host_aliases": "names of hosts",
    "host_network": "the network of the machine",
    "host_port": "a port of the machine",
    "image_pull_secrets": "secrets for images",
    "init_containers": "containers before it",
    "manifest": "an object that is made on the cluster",
    "plugins": "plugins of the engine",
    "secret": "a secret",
    "secrets": "secrets",
    "security_context": "privileges",
    "service_account": "account of the cluster",
    "sidecars": "containers beside it",
    "spec_patch": "settings merged into pods",
    "stored": "a workflow of the cluster",
    "url": "a request",
}
"""Fields of the IR by which a workflow reaches beyond its own steps and files."""

_VOLUMES = frozenset({"claim", "csi", "host", "nfs", "projected", "secret", "source"})
"""Kinds of volumes that hold what was there before the run."""

_MOST_SHOWN = 300


@dataclass(frozen=True, slots=True)
class ReviewedStep:
    """One step, as far as it is to be looked at."""

    path: str
    kind: str
    after: tuple[str, ...]
    image: str | None
    command: tuple[str, ...]
    source: str | None
    packages: tuple[str, ...]
    line: int | None


@dataclass(frozen=True, slots=True)
class Review:
    """What a workflow would run, and what it would reach."""

    name: str
    steps: tuple[ReviewedStep, ...]
    images: tuple[str, ...]
    reaches: tuple[str, ...]


def review(workflow: Workflow) -> Review:
    """Return what a user should look at before a workflow runs."""
    own = workflow.model_dump(mode="json", exclude_defaults=True)
    for name in ("steps", "exit_handlers", "hooks"):
        own.pop(name, None)
    found = [_Found("the workflow", own)]
    steps = []
    for path, step in steps_by_path(workflow):
        tree = step.model_dump(mode="json", exclude_defaults=True, exclude={"hooks"})
        if step.action.kind == "group":
            tree.pop("action")
        found.append(_Found(f'step "{path}"', tree))
        steps.append(_reviewed(path, step))
    images = dict.fromkeys(image for one in found for image in _images(one.tree))
    reaches = dict.fromkeys(text for one in found for text in _reaches(one))
    return Review(workflow.name, tuple(steps), tuple(images), tuple(reaches))


class _Found(t.NamedTuple):
    where: str
    tree: t.Any


def _reviewed(path: str, step: Step) -> ReviewedStep:
    action = step.action
    command: tuple[str, ...] = ()
    source: str | None = None
    packages: tuple[str, ...] = ()
    if isinstance(action, Container):
        command = tuple(map(_word, (*action.command, *action.args)))
    elif isinstance(action, Script):
        command, packages = action.command, action.packages
        source = action.source
    return ReviewedStep(
        path=path,
        kind=action.kind,
        after=predecessors(step),
        image=getattr(action, "image", None),
        command=command,
        source=source,
        packages=packages,
        line=None if step.source is None else step.source.line,
    )


def _word(word: str | Value) -> str:
    if isinstance(word, str):
        return word
    if isinstance(word, StepRef):
        return f"<{word.step}.{word.output}>"
    return f"<{word.name}>" if isinstance(word, ParamRef) else f"<{word.kind}>"


def _images(tree: object) -> Iterator[str]:
    for name, value in _fields(tree):
        if name == "image" and isinstance(value, str):
            yield value


def _reaches(found: _Found) -> Iterator[str]:
    for name, value in _fields(found.tree):
        what = _POWERS.get(name)
        if what is not None and value not in (None, "", [], {}, False):
            yield f"{found.where}: {what}: {_shown(value)}"
        if name == "volumes" and isinstance(value, list):
            for volume in value:
                if isinstance(volume, Mapping) and volume.get("kind") in _VOLUMES:
                    yield f"{found.where}: a volume: {_shown(volume)}"


def _fields(tree: object) -> Iterator[tuple[str, object]]:
    """Yield every field of a tree with its name, outer before inner."""
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, dict):
            yield from one.items()
            waiting += one.values()


def _shown(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]} ..."

"""The other containers of a step's pod as processes of this machine: which they are."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator, Mapping

from couler.ir.pods import PodContainer
from couler.ir.values import TEXTS, Text
from couler.ir.walk import pod_containers
from couler.ir.workflow import Container, Step


class Companion(t.NamedTuple):
    """A container before or beside that of a step, with its values."""

    name: str
    step: Step
    """A step that runs the same as the container."""
    words: tuple[str, ...]
    texts: Mapping[str, str]
    """Environment variables that are given as values."""
    mirrors: bool
    """It sees the work folder of the step."""
    is_beside: bool


def companion_steps(step: Step) -> Iterator[Step]:
    """Yield a step that runs the same, for each container before or beside that of a step."""
    for container in pod_containers(step):
        yield _as_step(step, container)


def companions(step: Step, resolve: Callable[[Text], str]) -> tuple[Companion, ...]:
    """Return the containers before and beside that of a step, in the order of their start."""
    return tuple(
        _companion(step, container, resolve, is_beside=is_beside)
        for containers, is_beside in ((step.init_containers, False), (step.sidecars, True))
        for container in containers
    )


def _companion(
    step: Step, container: PodContainer, resolve: Callable[[Text], str], *, is_beside: bool
) -> Companion:
    known = TEXTS.map(container, lambda _, text: resolve(text))
    return Companion(
        name=container.name,
        step=_as_step(step, container),
        words=tuple(str(word) for word in (*known.command, *known.args)),
        texts={one.name: str(one.value) for one in known.env if one.value is not None},
        mirrors=container.mirror_mounts,
        is_beside=is_beside,
    )


def _as_step(step: Step, container: PodContainer) -> Step:
    mirrored = step.mounts if container.mirror_mounts else ()
    return Step(
        name=step.name,
        action=Container(image=container.image, command=container.command, args=container.args),
        env=container.env,
        env_from=container.env_from,
        mounts=(*container.mounts, *mirrored),
        resources=container.resources,
        working_dir=container.working_dir,
        pull_policy=container.pull_policy,
        source=step.source,
    )


def ports_beside(step: Step) -> tuple[int, ...]:
    """The ports that a step and its sidecars listen on, each once, if it has any beside it."""
    if not step.sidecars:
        return ()
    settings = (step.container, *(one.settings for one in step.sidecars))
    ports = (port.number for one in settings if one is not None for port in one.ports)
    return tuple(dict.fromkeys(ports))

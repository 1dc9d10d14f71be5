"""What the pod of a step asks of a machine, by the rules of Kubernetes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from couler.ir.pods import PodSettings, StepPod
from couler.ir.policies import Gpu, Placement, Resources
from couler.ir.quantity import parse_quantity
from couler.ir.workflow import Container, ContainerSet, Script, Step

ARCHITECTURE_LABEL = "kubernetes.io/arch"
HOSTNAME_LABEL = "kubernetes.io/hostname"
OS_LABEL = "kubernetes.io/os"


@dataclass(frozen=True, slots=True)
class PodNeeds:
    """What all containers of a pod ask for together."""

    cpu: float = 0.0
    memory_bytes: int = 0
    gpus: int = 0
    gpu_type: str | None = None
    gpu_resource: str | None = None
    others: tuple[str, ...] = ()


def needs_of(step: Step, settings: PodSettings | None = None) -> PodNeeds:
    """Return what the pod of a step asks for."""
    # Kubernetes documentation, "Init Containers", section "Resource sharing within containers".
    main: list[Resources | None] = [step.resources]
    if isinstance(step.action, ContainerSet):
        main = [one.resources for one in step.action.containers]
    beside = [*main, *(one.resources for one in step.sidecars)]
    before = [one.resources for one in step.init_containers]
    own = step.pod or StepPod()
    pod = own.resources or (None if settings is None else settings.resources)

    def most(read: Callable[[Resources], float]) -> float:
        together = sum(map(read, filter(None, beside)))
        first = max(map(read, filter(None, before)), default=0.0)
        stated = 0.0 if pod is None else read(pod)
        return stated or max(together, first)

    gpus = [one.gpu for one in (*beside, *before, pod) if one is not None and one.gpu is not None]
    return PodNeeds(
        cpu=most(lambda one: _amount(one.cpu, one.cpu_limit)),
        memory_bytes=math.ceil(most(lambda one: _amount(one.memory, one.memory_limit))),
        gpus=int(most(lambda one: 0 if one.gpu is None else one.gpu.count)),
        gpu_type=_first(gpus, lambda gpu: gpu.type),
        gpu_resource=_first(gpus, lambda gpu: gpu.resource),
        others=_others([*beside, *before, pod]),
    )


def effective_placement(step: Step, settings: PodSettings | None = None) -> Placement:
    """Where the pod of a step may run: what the step says stands before all pods' settings."""
    own = step.placement or Placement()
    if settings is None:
        return own
    return own.model_copy(
        update={
            "node_selector": own.node_selector or settings.node_selector,
            "tolerations": own.tolerations or settings.tolerations,
            "affinity": own.affinity or settings.affinity,
            "priority_class": own.priority_class or settings.priority_class,
        }
    )


def runs_in_a_pod(step: Step) -> bool:
    """Return whether a step runs in a pod of its own, whose place it can say."""
    return isinstance(step.action, Container | Script | ContainerSet)


def _amount(request: str | None, limit: str | None) -> float:
    text = limit if request is None else request
    return 0.0 if text is None else float(parse_quantity(text))


def _first(gpus: Sequence[Gpu], read: Callable[[Gpu], str | None]) -> str | None:
    return next((value for gpu in gpus if (value := read(gpu)) is not None), None)


def _others(asked: Iterable[Resources | None]) -> tuple[str, ...]:
    given = (one for one in asked if one is not None)
    return tuple(dict.fromkeys(name for one in given for name in one.other))

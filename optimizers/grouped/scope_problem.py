"""The grouping problem of a scope: its steps as operators, and the images that can run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from couler.ir.graph import Graph
from couler.ir.workflow import Container, Script, Step
from couler.optimizers.grouped.lowering import definition_bytes
from couler.optimizers.grouped.needs import cpu_of, gpus_of, memory_of, operator_of
from couler.optimizers.grouped.sharing import PYTHONS, Kinds, key_of, program_of, why_not
from couler.optimizers.grouping.problem import Costs, Edge, Image, Limits, Operator, Problem

_PYTHON = "python"

RUNNER_BYTES = 28 << 10
"""At least what the runner takes in the script of a group."""

GUESSED_S = 60.0
"""At least so long steps are taken to run of which that is not known."""


@dataclass(frozen=True)
class Images:
    """Images, and what programs they hold."""

    declared: Mapping[str, frozenset[str]] = field(default_factory=dict)
    with_python: frozenset[str] = frozenset()

    def tags_of(self, image: str) -> frozenset[str]:
        """Return what an image has; one that is not declared has itself."""
        found = self.declared.get(image, frozenset({f"image {image}"}))
        is_python = image in self.with_python or _is_python(image)
        return found | {_PYTHON} if is_python else found

    def needs_of(self, image: str) -> frozenset[str]:
        """Return what an image must have to take the place of another one in a group."""
        return self.tags_of(image) | {_PYTHON}


@dataclass(frozen=True)
class ScopeProblem:
    """What of a scope the methods are given."""

    problem: Problem
    images: Mapping[str, str]
    refused: Mapping[str, str]
    sizes: Mapping[str, int]
    script_bytes: int
    apart: frozenset[str] = frozenset()
    keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def scope_problem(
    steps: Sequence[Step],
    kinds: Kinds,
    apart: frozenset[str],
    images: Images,
    *,
    costs: Costs,
    limits: Limits,
    script_bytes: int,
    strict: bool,
    is_stated: bool = False,
) -> ScopeProblem:
    """Return the grouping problem of a scope, of the steps that can share a pod at all."""
    refused: dict[str, str] = {}
    sizes: dict[str, int] = {}
    room = max(0, script_bytes - RUNNER_BYTES)
    graph = Graph.of(steps)
    classes: dict[tuple[tuple[str, str], ...], int] = {}
    guess_s = guessed_seconds(steps)
    keys: dict[str, Mapping[str, str]] = {}
    operators: list[Operator] = []
    wanted: dict[tuple[int, str], None] = {}
    for step in steps:
        why = why_not(step, kinds, apart, strict=strict) or _over(step, limits)
        if why is None:
            size = definition_bytes(step, graph.predecessors[step.name], kinds)
            sizes[step.name] = size
            if size > room:
                why = f"it takes {size:,} bytes in a script, and a group has {room:,}"
        if why is not None:
            refused[step.name] = why
            continue
        image = _image_of(step)
        needs = images.needs_of(image)
        usable = [one for one in (image, *images.declared) if needs <= images.tags_of(one)]
        if not usable:
            refused[step.name] = _no_python(image, images)
            continue
        keys[step.name] = key_of(step)
        number = classes.setdefault(tuple(keys[step.name].items()), len(classes))
        wanted.update(((number, one), None) for one in usable)
        operators.append(operator_of(step, limits, guess_s=guess_s, tags=needs | {f"pod {number}"}))
    named = {f"{image} ({number})": (number, image) for number, image in wanted}
    made = tuple(
        Image(name, images.tags_of(image) | {f"pod {number}"})
        for name, (number, image) in named.items()
    )
    given = {step.name: (step.profile and step.profile.output_bytes) or 0 for step in steps}
    there = {one.name for one in operators}
    edges = tuple(
        Edge(before, name, given[before])
        for name in graph.predecessors
        for before in dict.fromkeys(graph.predecessors[name])
        if name in there and before in there
    )
    if not is_stated and all(
        one.is_guess and not (one.cpu or one.memory_bytes or one.gpus) for one in operators
    ):
        costs = replace(costs, per_lost_s=0.0)  # nothing is known to be lost
    problem = Problem(tuple(operators), made, edges, costs, limits, "batch")
    stands_for = {name: image for name, (_, image) in named.items()}
    return ScopeProblem(problem, stands_for, refused, sizes, room, apart, keys)


def guessed_seconds(steps: Sequence[Step]) -> float:
    """Return how long steps are taken to run of which that is not known: longer than all others."""
    known = [one.profile.seconds or 0.0 for one in steps if one.profile is not None]
    return max(GUESSED_S, sum(known))


def _image_of(step: Step) -> str:
    assert isinstance(step.action, Container | Script), "other steps are refused"
    return step.action.image


def _is_python(image: str) -> bool:
    """Return whether an image is one of those that Python's own project makes."""
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return name in PYTHONS


def _no_python(image: str, images: Images) -> str:
    if image in images.declared:
        return f"no declared image has Python and all that {image} has"
    return (
        f"it is not known whether {image} has Python, which runs the steps of a group; if it has, "
        f'say images=["{image} = python"]'
    )


def _over(step: Step, limits: Limits) -> str | None:
    for what, amount, limit in (
        ("cpu", cpu_of(step), limits.cpu),
        ("bytes of memory", memory_of(step), limits.memory_bytes),
        ("GPUs", gpus_of(step), limits.gpus),
    ):
        if limit is not None and amount > limit:
            return f"it asks for {amount:g} {what}, and a pod of a group has {limit:g}"
    return None


def images_of(steps: Sequence[Step], declared: Mapping[str, frozenset[str]]) -> Images:
    """Return what is known of images: what is declared, and in which of them steps run Python."""
    seen = frozenset(
        step.action.image
        for step in steps
        if isinstance(step.action, Container | Script) and program_of(step) in PYTHONS
    )
    return Images(declared, seen)

"""Which steps of a scope are put together: the problem for the methods, and what is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from couler.ir.graph import Graph
from couler.ir.workflow import Container, Script, Step
from couler.optimizers.grouped.closing import closed_sets
from couler.optimizers.grouped.needs import cpu_of, gpus_of, memory_of
from couler.optimizers.grouped.sharing import PYTHONS, Kinds, key_of, program_of, why_not
from couler.optimizers.grouping import (
    Costs,
    Edge,
    Grouping,
    Image,
    Limits,
    Operator,
    Problem,
    Solution,
    group_operators,
    price,
)
from couler.optimizers.grouping.convex import split_by_level
from couler.optimizers.grouping.solution import assemble_members

__all__ = ["Choice", "Images", "ScopeProblem", "choose", "images_of", "scope_problem"]

_PYTHON = "python"


@dataclass(frozen=True)
class Images:
    """What images have.

    Attributes
    ----------
    declared
        Tags by image.
    with_python
        Images of which it is known otherwise that they have Python: steps run it there.
    """

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
    """What of a scope the methods are given.

    Attributes
    ----------
    problem
        Operators are called as the steps.
    images
        For each image of the problem the image that it stands for.
    refused
        Why steps are no part of it.
    """

    problem: Problem
    images: Mapping[str, str]
    refused: Mapping[str, str]


@dataclass(frozen=True)
class Choice:
    """Groups of two steps or more.

    Attributes
    ----------
    groups
        Each its image and its steps, in a topological order.
    before, after
        What the costs say of no groups and of these.
    bound
        A cost that no grouping is below, which need not keep failures; None if the method has none.
    """

    groups: tuple[tuple[str, tuple[str, ...]], ...]
    before: float
    after: float
    bound: float | None


def scope_problem(
    steps: Sequence[Step],
    kinds: Kinds,
    apart: frozenset[str],
    images: Images,
    *,
    costs: Costs,
    limits: Limits,
    strict: bool,
) -> ScopeProblem:
    """Return the grouping problem of a scope, of the steps that can share a pod at all."""
    refused: dict[str, str] = {}
    classes: dict[str, int] = {}
    operators: list[Operator] = []
    wanted: dict[tuple[int, str], None] = {}
    for step in steps:
        why = why_not(step, kinds, apart, strict=strict) or _over(step, limits)
        if why is not None:
            refused[step.name] = why
            continue
        image = _image_of(step)
        needs = images.needs_of(image)
        usable = [one for one in (image, *images.declared) if needs <= images.tags_of(one)]
        if not usable:
            refused[step.name] = _no_python(image, images)
            continue
        number = classes.setdefault(key_of(step), len(classes))
        wanted.update(((number, one), None) for one in usable)
        operators.append(
            Operator(
                step.name,
                needs | {f"pod {number}"},
                cpu=cpu_of(step),
                memory_bytes=memory_of(step),
                gpus=gpus_of(step),
                seconds=(step.profile and step.profile.seconds) or 0.0,
            )
        )
    named = {f"{image} ({number})": (number, image) for number, image in wanted}
    made = tuple(
        Image(name, images.tags_of(image) | {f"pod {number}"})
        for name, (number, image) in named.items()
    )
    graph = Graph.of(steps)
    sizes = {step.name: (step.profile and step.profile.output_bytes) or 0 for step in steps}
    there = {one.name for one in operators}
    edges = tuple(
        Edge(before, name, sizes[before])
        for name in graph.predecessors
        for before in dict.fromkeys(graph.predecessors[name])
        if name in there and before in there
    )
    problem = Problem(tuple(operators), made, edges, costs, limits, "batch")
    return ScopeProblem(problem, {name: image for name, (_, image) in named.items()}, refused)


def choose(
    given: ScopeProblem,
    graph: Graph,
    read: frozenset[str],
    *,
    method: str | None,
    most: int | None,
    strict: bool,
) -> Choice:
    """Return the groups of a scope.

    Parameters
    ----------
    given
        Its problem.
    graph
        The scope.
    read
        Steps that are read from outside of the scope.
    method
        One of `couler.optimizers.grouping.METHODS`; None for the default one.
    most
        Most steps in a group; None for any number.
    strict
        Whether groups must be closed (`couler.optimizers.grouped.closing`). They are then the
        largest closed sets within the groups of the method.
    """
    problem = given.problem
    alone = price(problem, _grouping(problem, ())).total
    solution = group_operators(problem, method)
    sets = _sets(solution, problem, graph, read, strict)
    chosen: list[tuple[str, ...]] = []
    for members in sets:
        pieces = _cut(members, most, graph, read, strict)
        chosen += (some for some in pieces if _saves(problem, some))
    grouping = _grouping(problem, chosen)
    after = price(problem, grouping).total
    if after > alone:  # what is lost as less runs in parallel is no sum over groups
        grouping, after = _grouping(problem, ()), alone
    groups = tuple(
        (given.images[group.image], group.operators)
        for group in grouping
        if len(group.operators) > 1
    )
    return Choice(groups, alone, after, solution.bound)


def _sets(
    solution: Solution, problem: Problem, graph: Graph, read: frozenset[str], strict: bool
) -> list[tuple[str, ...]]:
    many = [group.operators for group in solution.grouping if len(group.operators) > 1]
    if strict:
        return [found for members in many for found in closed_sets(graph, members, read)]
    # Steps that are no part of the problem can wait between those of a group.
    names = list(graph.predecessors)
    whole = Problem(
        tuple(map(Operator, names)),
        (Image(""),),
        tuple(Edge(one, name) for name in names for one in dict.fromkeys(graph.predecessors[name])),
        mode="batch",
    )
    inside = {name for members in many for name in members}
    groups = [*many, *((name,) for name in names if name not in inside)]
    apart = split_by_level(whole, [[whole.index[name] for name in some] for some in groups])
    return [tuple(names[node] for node in some) for some in apart if len(some) > 1]


def _cut(
    members: tuple[str, ...], most: int | None, graph: Graph, read: frozenset[str], strict: bool
) -> list[tuple[str, ...]]:
    """Return a set in pieces of at most so many steps: stretches of its order."""
    if most is None or len(members) <= most:
        return [members]
    pieces = [members[at : at + most] for at in range(0, len(members), most)]
    if strict:
        pieces = [one for piece in pieces for one in closed_sets(graph, piece, read)]
    return [one for one in pieces if len(one) > 1]


def _saves(problem: Problem, members: tuple[str, ...]) -> bool:
    """Return whether a group by itself costs less than its steps apart."""
    together = price(problem, _grouping(problem, [members])).total
    return together < price(problem, _grouping(problem, ())).total


def _grouping(problem: Problem, sets: Sequence[tuple[str, ...]]) -> Grouping:
    inside = {name for members in sets for name in members}
    members = [[problem.index[name] for name in some] for some in sets]
    members += [[problem.index[one.name]] for one in problem.operators if one.name not in inside]
    return assemble_members(problem, members)


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

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

__all__ = [
    "RUNNER_BYTES",
    "Choice",
    "Images",
    "ScopeProblem",
    "choose",
    "images_of",
    "scope_problem",
]

_PYTHON = "python"

RUNNER_BYTES = 24 << 10
"""At least what the runner takes in the script of a group."""

_WRITTEN = {"name", "action", "inputs", "outputs", "env", "retry"}
"""The fields of a step that its definition is made of."""


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
    sizes
        About how many bytes each of the others takes in the script of a group.
    script_bytes
        How many all of a group may take.
    """

    problem: Problem
    images: Mapping[str, str]
    refused: Mapping[str, str]
    sizes: Mapping[str, int]
    script_bytes: int


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
    script_bytes: int,
    strict: bool,
) -> ScopeProblem:
    """Return the grouping problem of a scope, of the steps that can share a pod at all."""
    refused: dict[str, str] = {}
    sizes: dict[str, int] = {}
    room = max(0, script_bytes - RUNNER_BYTES)
    classes: dict[str, int] = {}
    operators: list[Operator] = []
    wanted: dict[tuple[int, str], None] = {}
    for step in steps:
        why = why_not(step, kinds, apart, strict=strict) or _over(step, limits)
        sizes[step.name] = size = len(step.model_dump_json(include=_WRITTEN, exclude_defaults=True))
        if why is None and size > room:
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
    given = {step.name: (step.profile and step.profile.output_bytes) or 0 for step in steps}
    there = {one.name for one in operators}
    edges = tuple(
        Edge(before, name, given[before])
        for name in graph.predecessors
        for before in dict.fromkeys(graph.predecessors[name])
        if name in there and before in there
    )
    problem = Problem(tuple(operators), made, edges, costs, limits, "batch")
    stands_for = {name: image for name, (_, image) in named.items()}
    return ScopeProblem(problem, stands_for, refused, sizes, room)


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
    solution = group_operators(problem, method)
    sets = _sets(solution, problem, graph, read, strict)
    pieces = [piece for some in sets for piece in _cut(some, given, most, graph, read, strict)]
    chosen = _worth(problem, pieces)
    grouping = _grouping(problem, chosen)
    groups = tuple(
        (given.images[group.image], group.operators)
        for group in grouping
        if len(group.operators) > 1
    )
    before, after = (price(problem, one).total for one in (_grouping(problem, ()), grouping))
    return Choice(groups, before, after, solution.bound)


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
    members: tuple[str, ...],
    given: ScopeProblem,
    most: int | None,
    graph: Graph,
    read: frozenset[str],
    strict: bool,
) -> list[tuple[str, ...]]:
    """Return a set in pieces that are not too large: stretches of its order."""
    pieces: list[list[str]] = [[]]
    left = given.script_bytes
    for name in members:
        if pieces[-1] and (len(pieces[-1]) == most or given.sizes[name] > left):
            pieces.append([])
            left = given.script_bytes
        pieces[-1].append(name)
        left -= given.sizes[name]
    if len(pieces) == 1:
        return [members]
    found = [tuple(piece) for piece in pieces]
    if strict:
        found = [one for piece in found for one in closed_sets(graph, piece, read)]
    return [one for one in found if len(one) > 1]


def _worth(problem: Problem, sets: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return the sets that cost less as groups than as steps apart."""
    costs = problem.costs
    befores: dict[int, list[tuple[int, float]]] = {}
    for before, after, weight in problem.pairs:
        befores.setdefault(after, []).append((before, weight))
    found: list[tuple[str, ...]] = []
    for members in sets:
        inside = {problem.index[name] for name in members}
        apart, mask = 0.0, -1
        for node in inside:
            mask &= problem.masks[node]
            apart += problem.image_costs[problem.cheapest_image(problem.masks[node])]
        edges = sum(
            weight
            for node in inside
            for before, weight in befores.get(node, ())
            if before in inside
        )
        together = problem.image_costs[problem.cheapest_image(mask)]
        if together < apart + (costs.inter - costs.intra) * edges:
            found.append(members)
    if not costs.per_lost_s:
        return found
    kept: list[tuple[str, ...]] = []  # what is lost is no sum over groups
    least = price(problem, _grouping(problem, ())).total
    for members in found:
        cost = price(problem, _grouping(problem, [*kept, members])).total
        if cost < least:
            kept.append(members)
            least = cost
    return kept


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

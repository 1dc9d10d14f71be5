"""A grouping problem as a planning task in PDDL, and a plan as a grouping."""
# Automated Planning for Optimal Data Pipeline Instantiation, sections 4 and 5.2: domain and
# problem, and actions whose costs are those of links and groups. The paper prints neither; these
# are ours.

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

from couler.errors import GroupingError
from couler.optimizers.grouping.greedy import made_convex
from couler.optimizers.grouping.problem import Grouping, Problem
from couler.optimizers.grouping.solution import assemble, check

__all__ = ["Plan", "domain_text", "grouping_of_plan", "problem_text", "read_plan"]

Plan = tuple[tuple[str, ...], ...]
"""Actions in order: each its name and then its objects."""

DOMAIN = """\
(define (domain operator-grouping)
  (:requirements :typing :equality :action-costs)
  (:types operator image moment)
  (:predicates
    (now ?t - moment)
    (next ?t ?then - moment)
    (places ?t - moment ?o - operator)
    (links ?t - moment ?from ?to - operator)
    (runs ?i - image ?o - operator)
    (unused ?i - image)
    (used ?i - image)
    (in ?o - operator ?i - image))
  (:functions
    (group-cost ?i - image) - number
    (intra-cost ?from ?to - operator) - number
    (inter-cost ?from ?to - operator) - number
    (total-cost) - number)

  (:action open-group
    :parameters (?i - image)
    :precondition (unused ?i)
    :effect (and (not (unused ?i)) (used ?i) (increase (total-cost) (group-cost ?i))))

  (:action put-operator
    :parameters (?t ?then - moment ?o - operator ?i - image)
    :precondition (and (now ?t) (next ?t ?then) (places ?t ?o) (used ?i) (runs ?i ?o))
    :effect (and (not (now ?t)) (now ?then) (in ?o ?i)))

  (:action link-inside
    :parameters (?t ?then - moment ?from ?to - operator ?i - image)
    :precondition (and (now ?t) (next ?t ?then) (links ?t ?from ?to) (in ?from ?i) (in ?to ?i))
    :effect (and (not (now ?t)) (now ?then) (increase (total-cost) (intra-cost ?from ?to))))

  (:action link-across
    :parameters (?t ?then - moment ?from ?to - operator ?i ?j - image)
    :precondition (and (now ?t) (next ?t ?then) (links ?t ?from ?to) (in ?from ?i) (in ?to ?j)
      (not (= ?i ?j)))
    :effect (and (not (now ?t)) (now ?then) (increase (total-cost) (inter-cost ?from ?to))))
)
"""


def domain_text() -> str:
    """Return the domain: it is the same for all problems."""
    return DOMAIN


def problem_text(problem: Problem) -> str:
    """Return a problem of the domain."""
    wrong = []
    if problem.held:
        wrong.append("limits of memory or GPUs can be reached")
    if problem.costs.per_lost_s:
        wrong.append("lost seconds cost")
    if wrong:
        raise GroupingError("the planning task cannot express this problem", wrong)
    scale = cost_scale(problem)
    moments = list(_moments(problem))
    lines = ["(define (problem grouping)", "  (:domain operator-grouping)", "  (:objects"]
    lines += [
        f"    o{number} - operator ; {json.dumps(one.name)}"
        for number, one in enumerate(problem.operators)
    ]
    lines += [
        f"    i{image} - image ; {json.dumps(problem.images[image].name)}"
        for image in problem.useful_images
    ]
    lines.append(f"    {' '.join(f't{at}' for at in range(len(moments) + 1))} - moment)")
    lines += ["  (:init", "    (now t0)", "    (= (total-cost) 0)"]
    for at, (kind, *some) in enumerate(moments):
        lines.append(f"    (next t{at} t{at + 1}) ({kind} t{at} {' '.join(some)})")
    for image in problem.useful_images:
        cost = whole(problem.image_costs[image], scale)
        lines.append(f"    (unused i{image}) (= (group-cost i{image}) {cost})")
    for number, mask in enumerate(problem.masks):
        runs = [
            f"(runs i{image} o{number})" for image in problem.useful_images if mask >> image & 1
        ]
        lines.append(f"    {' '.join(runs)}")
    for before, after, weight in problem.pairs:
        intra = whole(problem.costs.intra * weight, scale)
        inter = whole(problem.costs.inter * weight, scale)
        ends = f"o{before} o{after}"
        lines.append(f"    (= (intra-cost {ends}) {intra}) (= (inter-cost {ends}) {inter})")
    lines[-1] += ")"
    lines += [f"  (:goal (now t{len(moments)}))", "  (:metric minimize (total-cost)))"]
    lines.append(f"; costs are multiplied by {scale}")
    return "\n".join(lines) + "\n"


def _moments(problem: Problem) -> Iterable[tuple[str, ...]]:
    """Yield what happens at each step: an operator in its turn, and then its incoming edges."""
    for node in problem.order:
        yield "places", f"o{node}"
        for before in sorted(problem.predecessors[node], key=problem.rank.__getitem__):
            yield "links", f"o{before}", f"o{node}"


def cost_scale(problem: Problem) -> int:
    """Return what makes all costs whole, at most 10,000."""
    costs = problem.costs
    values = [problem.image_costs[image] for image in problem.useful_images]
    values += [each * weight for *_, weight in problem.pairs for each in (costs.intra, costs.inter)]
    scale = 1
    for value in values:
        denominator = Fraction(value).limit_denominator(10_000).denominator
        scale = min(10_000, scale * denominator // _gcd(scale, denominator))
    return scale


def _gcd(one: int, other: int) -> int:
    while other:
        one, other = other, one % other
    return one


def whole(value: float, scale: int) -> int:
    """Return a cost as it stands in the planning task."""
    return round(value * scale)


def read_plan(text: str) -> Plan:
    r"""Read a plan as planners print it: an action in parentheses a line, `;` for comments."""
    actions, wrong = [], []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.partition(";")[0].strip()
        if not bare:
            continue
        found = re.fullmatch(r"(?:[\d.]+:\s*)?\(\s*([^()]+?)\s*\)(?:\s*\[[\d.]*\])?", bare)
        if found is None:
            wrong.append(f"line {number} is no action: {bare}")
        else:
            actions.append(tuple(found[1].lower().split()))
    if wrong:
        raise GroupingError("this is no plan", wrong)
    return tuple(actions)


def grouping_of_plan(problem: Problem, plan: Sequence[Sequence[str]]) -> Grouping:
    """Return the grouping that a plan makes; in batch mode what waits in a circle is split."""
    members: dict[int, list[int]] = {}
    wrong = []
    for action in plan:
        if action[0] != "put-operator":
            continue
        found = re.fullmatch(r"o(\d+) i(\d+)", " ".join(action[3:]))
        node, image = (int(found[1]), int(found[2])) if found else (-1, -1)
        if not (0 <= node < len(problem.operators) and 0 <= image < len(problem.images)):
            wrong.append(f"({' '.join(action)}) names no operator or image of the problem")
        else:
            members.setdefault(image, []).append(node)
    placed = sorted(node for some in members.values() for node in some)
    if placed != list(range(len(problem.operators))):
        wrong.append(f"{len(placed)} operators are put, of {len(problem.operators)}")
    if wrong:
        raise GroupingError("the plan does not make a grouping", wrong)
    image_of = {node: image for image, some in members.items() for node in some}
    groups = made_convex(problem, list(members.values()))
    grouping = assemble(problem, [(image_of[some[0]], some) for some in groups])
    check(problem, grouping)
    return grouping

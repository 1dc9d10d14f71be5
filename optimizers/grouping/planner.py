"""Grouping by a planner, as in the paper: the PDDL task, and the process that solves it."""
# Automated Planning for Optimal Data Pipeline Instantiation, sections 4 and 5.2: domain and
# problem, and actions whose costs are those of links and groups. The paper prints neither; these
# are ours.

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from couler.errors import ConfigurationError, EngineError, GroupingError
from couler.optimizers.grouping.greedy import greedy_groups, made_convex
from couler.optimizers.grouping.problem import Grouping, Problem
from couler.optimizers.grouping.solution import Solution, assemble, assemble_members, check, price

ENGINES = ("enhsp", "enhsp-opt", "enhsp-any", "fast-downward", "fast-downward-opt")
"""What unified-planning calls the planners that can be asked; `-opt` ones prove their plans."""

PROGRAM = Path(__file__).with_name("planner_program.py")
"""It runs under any Python that has unified-planning, which need not be this one or have Couler."""

MISSING = 3
"""How the program ends where unified-planning or the planner is missing."""


# Automated Planning for Optimal Data Pipeline Instantiation, section 5.2.
@dataclass(frozen=True, slots=True)
class PlannedGroups:
    """The grouping of a plan that ENHSP or Fast Downward makes, through unified-planning."""

    engine: str = "enhsp-opt"
    seconds: float = 60.0
    python: str | None = None

    def solve(self, problem: Problem) -> Solution:
        """Return the grouping; with a bound if the planner proves its plans."""
        if not problem.operators:
            return Solution((), 0.0, 0.0)
        found = run_planner(
            domain_text(), problem_text(problem), self.engine, self.seconds, self.python
        )
        if found is None:
            grouping = assemble_members(problem, made_convex(problem, greedy_groups(problem)))
            return Solution(grouping, price(problem, grouping).total)
        plan, is_proved = found
        grouping = grouping_of_plan(problem, plan)
        cost = price(problem, grouping).total
        if not is_proved:
            return Solution(grouping, cost)
        # The plan is the best for groups that may wait in a circle, and rounded costs.
        terms = 2 * len(problem.edges) + len(problem.images)
        bound = plan_cost(problem, plan) - (0.5 * terms / cost_scale(problem)) * _is_rounded(
            problem
        )
        return Solution(grouping, cost, bound)


def plan_cost(problem: Problem, plan: Plan) -> float:
    """Return what the actions of a plan cost, in the unit of the problem."""
    weights = {(f"o{one}", f"o{other}"): weight for one, other, weight in problem.pairs}
    total = 0.0
    for name, *some in plan:
        if name == "open-group":
            total += problem.image_costs[int(some[0][1:])]
        elif name == "link-inside":
            total += problem.costs.intra * weights[some[2], some[3]]
        elif name == "link-across":
            total += problem.costs.inter * weights[some[2], some[3]]
    return total


def _is_rounded(problem: Problem) -> bool:
    scale, costs = cost_scale(problem), problem.costs
    values = [problem.image_costs[image] for image in problem.useful_images]
    values += [each * weight for *_, weight in problem.pairs for each in (costs.intra, costs.inter)]
    return any(abs(value * scale - round(value * scale)) > 1e-9 for value in values)


def run_planner(
    domain: str, problem: str, engine: str, seconds: float, python: str | None = None
) -> tuple[Plan, bool] | None:
    """Solve a planning task in another process."""
    if engine not in ENGINES:
        raise ConfigurationError(
            f'grouping: there is no planner "{engine}"; choose of {", ".join(ENGINES)}'
        )
    with tempfile.TemporaryDirectory(prefix="couler-planning-") as folder:
        for name, text in (("domain.pddl", domain), ("problem.pddl", problem)):
            Path(folder, name).write_text(text, encoding="utf-8")
        # Isolated: no folder of ours is on its path, where names might hide its own modules.
        command = [python or sys.executable, "-I", str(PROGRAM), folder, engine, str(seconds)]
        try:
            ended = _output(command, seconds + STARTING_S)
        except FileNotFoundError as error:
            raise ConfigurationError(f"grouping: there is no Python at {python}") from error
        if ended is None:
            return None
        code, errors = ended
        if code == MISSING:
            raise ConfigurationError(
                f"grouping with {engine} needs an extra: pip install 'couler[planning]' "
                f"({errors.strip().splitlines()[-1]})"
            )
        answer = Path(folder, "plan.json")
        if code or not answer.exists():
            last = errors.strip().splitlines()[-1:] or ["it says nothing"]
            raise EngineError(f"grouping: {engine} failed with exit code {code}: {last[0]}")
        found = json.loads(answer.read_text(encoding="utf-8"))
    if found["plan"] is None:
        if found["status"] == "TIMEOUT":
            return None
        raise EngineError(f"grouping: {engine} found no plan: {found['status']}")
    return tuple(map(tuple, found["plan"])), found["status"] == "SOLVED_OPTIMALLY"


STARTING_S = 15.0
"""How long unified-planning may take to begin, beyond what the planner is given."""


def _output(command: list[str], seconds: float) -> tuple[int, str] | None:
    """Return how a command ends and its errors; None if it, and what it began, had to be ended."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            _, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            # Java runs below Python and would live on.
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return None
        return process.returncode, errors


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
        scale = min(10_000, math.lcm(scale, denominator))
    return scale


def whole(value: float, scale: int) -> int:
    """Return a cost as it stands in the planning task."""
    return round(value * scale)


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

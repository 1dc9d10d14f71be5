"""Grouping by a planner, as the paper does it: the planning task is solved by another process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from couler.errors import ConfigurationError, EngineError
from couler.optimizers.grouping.greedy import greedy_groups, made_convex
from couler.optimizers.grouping.pddl import (
    Plan,
    cost_scale,
    domain_text,
    grouping_of_plan,
    problem_text,
)
from couler.optimizers.grouping.problem import Problem
from couler.optimizers.grouping.solution import Solution, assemble_members, price

__all__ = ["ENGINES", "PlannedGroups", "run_planner"]

ENGINES = ("enhsp", "enhsp-opt", "enhsp-any", "fast-downward", "fast-downward-opt")
"""What unified-planning calls the planners that can be asked; `-opt` ones prove their plans."""

PROGRAM = Path(__file__).with_name("planner_program.py")
"""It runs under any Python that has unified-planning, which need not be this one or have Couler."""

MISSING = 3
"""How the program ends where unified-planning or the planner is missing."""


@dataclass(frozen=True, slots=True)
class PlannedGroups:
    """The grouping of a plan that ENHSP or Fast Downward makes, through unified-planning."""

    # Automated Planning for Optimal Data Pipeline Instantiation, section 5.2.

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

"""Solves a planning task with unified-planning: run as a program, by a Python that has it."""

import json
import sys
from pathlib import Path


def main(folder: str, engine: str, seconds: str) -> int:
    """Solve the task; return the exit code."""
    try:
        from unified_planning.engines import PlanGenerationResultStatus as Status
        from unified_planning.exceptions import UPNoRequestedEngineAvailableException
        from unified_planning.io import PDDLReader
        from unified_planning.shortcuts import OneshotPlanner, get_environment
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    get_environment().credits_stream = None
    here = Path(folder)
    task = PDDLReader().parse_problem(str(here / "domain.pddl"), str(here / "problem.pddl"))
    try:
        planner = OneshotPlanner(name=engine)
    except (UPNoRequestedEngineAvailableException, ImportError) as error:
        sys.stderr.write(f"{engine} is not installed: {type(error).__name__}\n")
        return 3
    with planner:
        result = planner.solve(task, timeout=float(seconds))
    plan = None
    if result.plan is not None:
        plan = [
            [action.action.name, *(str(one) for one in action.actual_parameters)]
            for action in result.plan.actions
        ]
    status = result.status.name
    if plan is None and result.status == Status.UNSOLVABLE_INCOMPLETELY:
        status = "TIMEOUT"
    (here / "plan.json").write_text(json.dumps({"status": status, "plan": plan}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

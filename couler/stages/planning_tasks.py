"""A plan's grouping of steps as tasks for a planner, in PDDL."""

from __future__ import annotations

from couler.errors import GroupingError
from couler.optimizers.grouping.planner import domain_text, problem_text
from couler.optimizers.passes.group import Group
from couler.stages.planning import Plan


def planning_tasks(plan: Plan) -> dict[str, str]:
    """Return the planning tasks of the pass `group`, by the names of files for them.

    Parameters
    ----------
    plan
        With the pass, whose options count, and the workflow before it; without, the pass has its
        default options, and the workflow is that of the plan.

    Returns
    -------
    dict of str to str
        `domain.pddl`, `problem.pddl` for the workflow's own steps, and `problem.g.pddl` for those
        of the group `g`, as far as steps there can share a pod.

    Raises
    ------
    GroupingError
        No steps can share a pod, or PDDL cannot express what the options ask for.
    """
    record = next((one for one in plan.log.records if one.name == Group.name), None)
    chosen = Group() if record is None else Group(**record.options)
    problems = chosen.problems(plan.workflow if record is None else record.before)
    texts = {
        ".".join(filter(None, ("problem", *path.split("/"), "pddl"))): problem_text(given.problem)
        for path, given in problems.items()
        if given.problem.operators
    }
    if not texts:
        raise GroupingError(
            "there is no planning task",
            [f'no step of "{plan.workflow.name}" can share a pod; the pass group says why'],
        )
    return {"domain.pddl": domain_text(), **texts}

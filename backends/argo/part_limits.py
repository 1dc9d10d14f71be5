"""What a step cannot have on Argo in a part, whether or not that has a run of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from couler.ir.diagnostics import Diagnostic
from couler.ir.walk import predecessors, scopes
from couler.ir.wire import dump_json
from couler.ir.workflow import Workflow

_OTHER_TASKS = re.compile(r"\{\{=?[^}]*\btasks\b")


def check_groups(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield the daemons that end with their group before others need them."""
    for scope in scopes(workflow):
        groups = {
            step.name: step.part.group
            for step in scope.steps
            if step.daemon and step.part is not None and step.part.group is not None
        }
        if not groups:
            continue
        for step in scope.steps:
            own = None if step.part is None else step.part.group
            for name in predecessors(step):
                group = groups.get(name)
                if group is not None and group != own:
                    del groups[name]
                    [daemon] = [one for one in scope.steps if one.name == name]
                    path = scope.path_of(daemon)
                    yield Diagnostic(
                        "CLR324",
                        f'argo: step "{path}" is a daemon, and ends with the group "{group}" of '
                        f'its part, before "{step.name}" needs it. Put both into one group.',
                        step=path,
                        source=daemon.source,
                    )


def check_overrides(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield the steps of divided scopes whose overrides name tasks."""
    for scope in scopes(workflow):
        overridden = [step for step in scope.steps if step.engine]
        if not overridden or all(step.part is None for step in scope.steps):
            continue
        for step in overridden:
            task = step.engine.get("argo", {}).get("task", {})
            named = [key for key in ("depends", "dependencies") if key in task]
            if named or _OTHER_TASKS.search(dump_json(task)):
                path = scope.path_of(step)
                yield Diagnostic(
                    "CLR324",
                    f'argo: the scope of step "{path}" is in parts, and what is merged into the '
                    "step's task names other tasks, which may be in another template. State it by "
                    "the step's own fields, or plan without the pass that makes parts.",
                    step=path,
                    source=step.source,
                )

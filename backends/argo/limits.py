"""Limits of Argo on objects, and what a part with a run of its own cannot have there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from couler.backends.argo.lower import steps_read_at_exit
from couler.backends.argo.parts import has_runs
from couler.ir.diagnostics import Diagnostic
from couler.ir.sizes import Limits
from couler.ir.walk import Scope, predecessors, scopes
from couler.ir.workflow import Output, Step, Workflow

MAX_TEMPLATES = 200
MAX_TASKS = 200
MAX_PARAMETERS = 500
MAX_BYTES = 1024 * 1024
"""Largest object that Argo's controller stores, as JSON (`MAX_WORKFLOW_SIZE`)."""

STATUS_BYTES = 81
"""What the controller adds to the object for one node, compressed."""

MAX_DEPTH = 100
"""Deepest nesting of templates that the controller follows."""

# Estimates with which parts are made; what they come to is then measured (`footprint`).
LIMITS: Mapping[str, Limits] = {
    "argo": Limits(
        scope_steps=MAX_TASKS,
        run_bytes=MAX_BYTES,
        run_definitions=MAX_TEMPLATES,
        takes_runs=True,
        steps_in_scope=3,  # the first task, what looks at leaves and what fails the scope
        steps_in_part=2,  # what looks at leaves, and the end
        steps_per_wait=1,
        # A template and its task, what ends it, and the nodes of these.
        bytes_per_part=1000,
        # A gate with its node and a value that it lets through, and by half what gives them out: on
        # steps with names of ten characters.
        bytes_per_wait=240,
        bytes_per_end=100,  # the letter of a step's end, where it is made and looked at
        # What a child's definition has around its part: its entry, and some eighty arguments and
        # outputs.
        bytes_per_run=16 * 1024,
        definitions_per_run=2,  # its entry, and the body of that
        definitions_of_parts=3,  # of the tasks that run nothing (`part_helpers`)
        values_per_part=MAX_PARAMETERS,  # and how others ended besides
        parts_are_barriers=True,  # a part is a task, and a task waits for whole tasks
        bounded_parts_in_turn=True,  # the tasks of a part count as one (`dags`)
    ),
    # It counts nothing, and may store larger objects than a default installation.
    "argo-minimal-crd": Limits(parts_are_barriers=True, bounded_parts_in_turn=True),
}
"""What one run takes, by the name of the profile."""


_READ_AT_EXIT = "exit handlers read outputs of them"
_REMOVED = "files of them are removed when the run has ended"
_NEEDED = "such steps need them as daemons"


def stays_in_first_run(workflow: Workflow) -> dict[str, str]:
    """Return the steps of the workflow's own scope that can have no run but the first, and why."""
    files = workflow.files
    if files is not None and files.removal is not None and files.removal.on == "completion":
        return dict.fromkeys((step.name for step in workflow.steps), _REMOVED)
    own = {step.name: step for step in workflow.steps}
    found = {name: _READ_AT_EXIT for name in steps_read_at_exit(workflow) if name in own}
    for scope in scopes(workflow):
        for step in scope.steps if scope.handler is None else ():
            if any(_is_removed_early(output) for output in step.outputs):
                name = _outermost(scope, step)
                if name in own:
                    found.setdefault(name, _REMOVED)
    for name in tuple(found):
        for before in predecessors(own[name]):
            if before in own and own[before].daemon:
                found.setdefault(before, _NEEDED)
    return found


def _outermost(scope: Scope, step: Step) -> str:
    """Return the step of the workflow's own scope that a step is in, or whose hook it is."""
    return scope.path[0].partition(".")[0] if scope.path else step.name


def _is_removed_early(output: Output) -> bool:
    return output.removal is not None and output.removal.on == "completion"


def check_runs(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield what would mean something else in a run of its own, in time linear in the steps."""
    if not has_runs(workflow):
        return
    run_of = {step.name: None if step.part is None else step.part.run for step in workflow.steps}
    files = workflow.files
    if files is not None and files.removal is not None and files.removal.on == "completion":
        yield Diagnostic(
            "CLR324",
            "argo: the files of the run are removed when it has ended, and Argo would remove those "
            "of a part with a run of its own when that has ended, before others read them. Remove "
            "them on deletion, or plan without runs of parts.",
            source=workflow.source,
        )
    for name in steps_read_at_exit(workflow):
        if run_of.get(name) is not None:
            [step] = [one for one in workflow.steps if one.name == name]
            what = "an exit handler reads outputs of it, which Argo hands on within one run only"
            yield _refused(step, name, what)
    for scope in scopes(workflow):
        if scope.handler is not None:
            continue
        for step in scope.steps:
            if run_of.get(_outermost(scope, step)) is not None:
                yield from _check_files(step, scope.path_of(step))
    yield from _check_daemons(workflow, run_of)


def _check_files(step: Step, path: str) -> Iterator[Diagnostic]:
    for output in step.outputs:
        if _is_removed_early(output):
            what = f'its file "{output.name}" is removed when that run has ended, not the whole'
            yield _refused(step, path, what)


def _check_daemons(workflow: Workflow, run_of: dict[str, str | None]) -> Iterator[Diagnostic]:
    daemons = {step.name: step for step in workflow.steps if step.daemon}
    if not daemons:
        return
    for step in workflow.steps:
        for name in predecessors(step):
            run = run_of.get(name)
            if name in daemons and run is not None and run != run_of[step.name]:
                what = f'it is a daemon, and ends with that run, before "{step.name}" needs it'
                yield _refused(daemons.pop(name), name, what)


def _refused(step: Step, path: str, what: str) -> Diagnostic:
    return Diagnostic(
        "CLR324",
        f'argo: step "{path}" is in a part with a run of its own, but {what}. Take the step out of '
        "that part, or plan without runs of parts.",
        step=path,
        source=step.source,
    )

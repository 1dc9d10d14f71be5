"""Steps that other steps can stand for: jobs without local forms, container sets as pods."""

from __future__ import annotations

from couler.backends.airflow.files import are_copied, has_files
from couler.backends.airflow.pods import sees_work_folder
from couler.ir.code_files import take_archive
from couler.ir.defaults import leave_out_local_forms
from couler.ir.glue import takes_text, with_scripts
from couler.ir.pods import PodContainer
from couler.ir.walk import map_steps
from couler.ir.workflow import MAIN, Container, ContainerSet, Script, Step, Workflow


def lowered(workflow: Workflow, *, has_claim: bool = False) -> Workflow:
    """Return the workflow as Airflow runs it, with steps of the same names in the same places."""
    workflow = map_steps(take_archive(leave_out_local_forms(workflow)), _lowered)
    return with_scripts(
        workflow, lambda step: "xcom" if _can_be_direct(step, has_claim=has_claim) else "files"
    )


def is_direct(step: Step) -> bool:
    """Return whether the pod of a lowered step runs its function without the wrapper."""
    return isinstance(step.action, Script) and takes_text(step.action.command[-1])


def _can_be_direct(step: Step, *, has_claim: bool) -> bool:
    """Return whether a function can do itself what the wrapper of processes does."""
    action = step.action
    if not isinstance(action, Script) or not action.runs_function:
        return False
    if has_files(step) and not (has_claim and are_copied(step)):
        return False
    needs_wrapper = (step.sidecars, step.cache, step.working_dir)
    path = None if step.container is None else step.container.termination_message_path
    return not any(needs_wrapper) and path is None and not sees_work_folder(step)


def order(containers: ContainerSet) -> tuple[list[PodContainer], PodContainer] | None:
    """Return the containers that run one after another before the last, and the last."""
    by_name = {one.name: one for one in containers.containers}
    last = by_name.get(MAIN)
    if last is None:
        waited_for = {name for one in containers.containers for name in one.depends_on}
        ends = [one for one in containers.containers if one.name not in waited_for]
        if len(ends) != 1:
            return None
        [last] = ends
    before: dict[str, PodContainer] = {}

    def add(one: PodContainer) -> None:
        for name in one.depends_on:
            add(by_name[name])
        before[one.name] = one

    add(last)
    return (list(before.values())[:-1], last) if len(before) == len(by_name) else None


def _as_pod(step: Step, before: list[PodContainer], last: PodContainer) -> Step:
    """Return the step whose process is the last container, and whose pod runs the others before."""
    shared = [one.model_copy(update={"depends_on": (), "mirror_mounts": True}) for one in before]
    return step.model_copy(
        update={
            "action": Container(image=last.image, command=last.command, args=last.args),
            "init_containers": (*step.init_containers, *shared),
            "env": last.env,
            "env_from": last.env_from,
            "mounts": (*step.mounts, *last.mounts),
            "resources": last.resources,
            "working_dir": last.working_dir,
            "pull_policy": last.pull_policy,
            "container": last.settings,
        }
    )


def _lowered(step: Step) -> Step:
    ordered = order(step.action) if isinstance(step.action, ContainerSet) else None
    return step if ordered is None else _as_pod(step, *ordered)

"""What Airflow would refuse of pods, schedules and settings, or would do in another way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from couler.backends.airflow.overrides import instead, kind_asked, known_arguments, own_arguments
from couler.backends.airflow.settings import CLEANUPS, tags
from couler.backends.airflow.specs import BASE, patches
from couler.backends.airflow.tasks import is_wrapped
from couler.ir.diagnostics import Diagnostic
from couler.ir.pods import PodSettings
from couler.ir.policies import Mutex, locks_of
from couler.ir.storage import NewClaimVolume
from couler.ir.walk import pod_containers, scopes
from couler.ir.workflow import Container, Script, Step, Workflow

RESERVED_CODE = "CLR371"
COMMAND_CODE = "CLR372"
SCHEDULE_CODE = "CLR373"
TAG_CODE = "CLR374"
CLEANUP_CODE = "CLR375"
PATCH_CODE = "CLR376"
OVERRIDE_CODE = "CLR377"

_CONTAINERS = (BASE, "couler", "couler-io", "airflow-xcom-sidecar")
_VOLUMES = ("couler", "couler-code", "couler-work", "files", "xcom")
_FOLDERS = ("/couler", "/airflow/xcom")
_LABELS = (
    *("dag_id", "task_id", "run_id", "map_index", "try_number", "airflow_version"),
    *("kubernetes_pod_operator", "airflow_kpo_in_cluster", "already_checked"),
)
_LONGEST_TAG = 100

Add = Callable[[str, str], Diagnostic]
"""Returns a diagnostic of a step or of the workflow, by its code and its message."""


def check_pods(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield what pods cannot be given, and what runs cannot be told."""
    yield from _check_workflow(workflow)
    for scope in scopes(workflow):
        for step in scope.steps:
            yield from _check_step(step, scope.path_of(step), workflow)


def _check_workflow(workflow: Workflow) -> Iterator[Diagnostic]:
    def add(code: str, message: str) -> Diagnostic:
        return Diagnostic(code, f"airflow: the workflow {message}", source=workflow.source)

    schedule, runs = workflow.schedule, workflow.runs
    if schedule is not None and schedule.concurrency == "replace":
        yield add(
            SCHEDULE_CODE,
            "ends a run that still goes on when the next is due, which Airflow's scheduler does "
            'not. Write concurrency="forbid" or "allow".',
        )
    if schedule is not None and schedule.concurrency == "forbid":
        message = (
            "lets no time start while a run goes on, but of the times that pass meanwhile Airflow "
            "starts the last when the run has ended. Make sure that a late run does no harm."
        )
        yield replace(add(SCHEDULE_CODE, message), severity="warning")
    if schedule is not None and schedule.starting_deadline_s is not None:
        yield add(
            SCHEDULE_CODE,
            "has a schedule with a starting deadline, which Airflow's scheduler does not know: it "
            "starts the last time that it has missed, and none before. Leave the deadline out.",
        )
    for tag in tags(workflow):
        if len(tag) > _LONGEST_TAG:
            yield add(
                TAG_CODE,
                f'has the label "{tag[:40]}...", which takes {len(tag)} characters as a tag; '
                f"Airflow takes {_LONGEST_TAG}. Shorten it.",
            )
    cleanup = None if runs is None else runs.pod_cleanup
    if cleanup is not None and (
        cleanup.when not in CLEANUPS or cleanup.labels or cleanup.delay_s is not None
    ):
        yield add(
            CLEANUP_CODE,
            "deletes pods at the end of a run, by their labels or after a delay; Airflow deletes a "
            'pod when its task ends. Write no more than when="pod_completion" or '
            '"pod_success".',
        )
    makes_claims = any(isinstance(one, NewClaimVolume) for one in workflow.volumes)
    made = [
        *(("make-claims", "delete-claims") if makes_claims else ()),
        *(("make-budget", "delete-budget") if runs and runs.disruption_budget else ()),
    ]
    for step in workflow.steps:
        if step.name in made:
            yield add(
                RESERVED_CODE,
                f'has the step "{step.name}", and makes and deletes objects of its runs by tasks '
                "of such names. Choose another.",
            )
    yield from _check_overrides(workflow, add)


def _check_step(step: Step, path: str, workflow: Workflow) -> Iterator[Diagnostic]:
    def add(code: str, message: str) -> Diagnostic:
        return Diagnostic(code, f'airflow: step "{path}" {message}', path, step.source)

    if isinstance(step.action, Container | Script):
        yield from _check_names(step, workflow.pod, add)
        yield from _check_commands(step, add)
        for patch in patches(step, workflow.pod):
            yield from _check_patch(patch, step, add)
    yield from _check_overrides(step, add)


def _check_names(step: Step, shared: PodSettings | None, add: Add) -> Iterator[Diagnostic]:
    containers = pod_containers(step)
    mounts = [*step.mounts, *(mount for one in containers for mount in one.mounts)]
    labels = {**(PodSettings() if shared is None else shared).labels, **step.labels}
    taken = [f'the container "{one.name}"' for one in containers if one.name in _CONTAINERS]
    taken += [f'the volume "{one.volume}"' for one in mounts if one.volume in _VOLUMES]
    taken += [f'the folder "{one.path}"' for one in mounts if _lies_in(one.path, _FOLDERS)]
    taken += [f'the label "{name}"' for name in labels if name in _LABELS]
    for what in dict.fromkeys(taken):
        yield add(
            RESERVED_CODE,
            f"has {what} in its pod, and pods of Airflow have one of their own. Choose another.",
        )


def _check_commands(step: Step, add: Add) -> Iterator[Diagnostic]:
    action = step.action
    for one in step.sidecars:
        if not one.command:
            yield add(
                COMMAND_CODE,
                f'has the container "{one.name}" beside it without a command. It is run by a '
                "wrapper, which ends it with the step and sees how it ends, and that must know "
                "what the image runs. State its command.",
            )
    if isinstance(action, Container) and not action.command and is_wrapped(step):
        yield add(
            COMMAND_CODE,
            "has no command, but inputs, outputs, a folder, or containers beside it or before it "
            "in a set. It is run by a wrapper, which sees to these, and that must know what the "
            "image runs. State its command.",
        )


def _check_patch(patch: dict[str, object], step: Step, add: Add) -> Iterator[Diagnostic]:
    given = patch.get("containers")
    containers = given if isinstance(given, list) else []
    base: dict[str, object] = next((one for one in containers if one["name"] == BASE), {})
    written = {variable.name for variable in step.env if variable.value is not None}
    env = base.get("env")
    names = [one["name"] for one in env] if isinstance(env, list) else []
    found = [f"`{field}` of its container" for field in ("args", "command") if field in base]
    found += [f"its variable {name}" for name in names if name in written]
    found += ["`restartPolicy`"] if "restartPolicy" in patch else []
    for what in found:
        yield add(
            PATCH_CODE,
            f"has a patch of its pod that changes {what}, which Airflow's operator sets after "
            "it. Change the step instead.",
        )


def _check_overrides(owner: Step | Workflow, add: Add) -> Iterator[Diagnostic]:
    known = known_arguments(owner)
    whose = "DAGs" if isinstance(owner, Workflow) else "its operator"
    mapped = isinstance(owner, Step) and owner.foreach is not None
    for name, value in own_arguments(owner).items():
        wanted = kind_asked(name, value)
        if name not in known:
            yield add(
                OVERRIDE_CODE,
                f'has "{name}" among its overrides for airflow, where {whose} can have no such '
                f"argument.{instead(name, known)}",
            )
        elif wanted is not None:
            yield add(
                OVERRIDE_CODE,
                f'has {value!r:.60} for "{name}" among its overrides for airflow, which takes '
                f"{wanted}.",
            )
        elif name == "pool" and isinstance(owner, Step) and _other_locks(owner, value):
            yield add(
                OVERRIDE_CODE,
                f'has the pool "{value}" among its overrides for airflow, and the mutex '
                f'"{_other_locks(owner, value)[0]}", which is a pool as well: a task has one. '
                "Leave one of them out.",
            )
        elif name == "labels" and mapped:
            yield add(
                OVERRIDE_CODE,
                'has "labels" among its overrides for airflow, but its operator is mapped over '
                "them. Write them as labels of the step.",
            )


def _other_locks(step: Step, pool: object) -> list[str]:
    """Return the mutexes of a step that are another pool."""
    names = [lock.name for lock in locks_of(step) if isinstance(lock, Mutex)]
    return [name for name in names if name != pool]


def _lies_in(path: str, folders: tuple[str, ...]) -> bool:
    return any(path == one or path.startswith(f"{one}/") for one in folders)

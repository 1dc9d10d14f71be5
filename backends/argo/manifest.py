"""Whole manifests: Workflow, WorkflowTemplate and CronWorkflow, with helper templates."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from couler.backends.argo import files, pods
from couler.backends.argo.common import with_defaults, write_fixed_arguments
from couler.backends.argo.dags import Scopes, hooks
from couler.backends.argo.leaves import Leaves, holes_of_metrics, merge, overrides_of
from couler.backends.argo.lower import bounded_alone, lower, steps_read_at_exit
from couler.backends.argo.memoization import DEFAULT_MAPS, map_name
from couler.backends.argo.names import Names, TemplateNames
from couler.backends.argo.parts import (
    ENDS_TEMPLATE,
    FAILS_TEMPLATE,
    VERDICT_TEMPLATE,
    ends_template,
)
from couler.backends.argo.pods import Tree
from couler.backends.argo.processes import hands_on
from couler.backends.argo.references import Renderer
from couler.backends.argo.runs import (
    pod_settings,
    run_settings,
    scheduled_metadata,
    synchronization,
)
from couler.backends.argo.scope import ScopeView
from couler.backends.argo.tags import Tagged, json_literal, tag, variable, wire_text
from couler.backends.argo.templates import DESCRIPTION, TemplateOptions
from couler.errors import EngineOptionError
from couler.ir.cachekey import repository_mark
from couler.ir.code_files import code_annotations, code_volume
from couler.ir.defaults import leave_out_local_forms
from couler.ir.glue import with_scripts
from couler.ir.kubernetes_pods import claim_template, volume
from couler.ir.storage import NewClaimVolume
from couler.ir.values import StepRef, Value
from couler.ir.walk import (
    all_steps,
    output_references,
    references,
)
from couler.ir.workflow import (
    ExitHandler,
    Group,
    Output,
    Parameter,
    Schedule,
    Step,
    StoredWorkflow,
    Workflow,
)
from couler.ir.yaml_writer import dump_as_json

if t.TYPE_CHECKING:
    from couler.backends.argo.child_runs import RunPart

API_VERSION = "argoproj.io/v1alpha1"
KINDS = ("Workflow", "WorkflowTemplate", "CronWorkflow")

ENTRYPOINT = "main"
ON_EXIT = "on-exit"


class ManifestOptions(t.NamedTuple):
    """Settings of a manifest, from the target."""

    kind: str | None = None
    """One of `KINDS`; None for a CronWorkflow where there is a schedule, else a Workflow."""
    namespace: str | None = None
    helper_image: str = "busybox:1.37"
    """Image with a shell, for the task that fails a loop over its bound."""
    gpu_type_label: str = pods.GPU_TYPE_LABEL
    memo_maps: int = DEFAULT_MAPS
    """How many config maps hold the entries of cached steps: 1, 16 or 256."""
    image: str = ""
    """Name of the images that `couler image` describes; their tags are added."""
    code: str = ""
    """How modules of the project come to steps: `couler.ir.code_files.place_code` reads it."""
    repository: str | None = None
    """Where the engine keeps files, as the user's machine reaches it; None if that is not said."""


@dataclass(frozen=True)
class Manifest:
    """A manifest, and what its tree does not show."""

    tree: Tree
    depth: int
    """How many templates deep it nests at run time."""
    owners: Mapping[str, Step]
    """The templates by name, each with the first of the steps that use it."""
    definitions: tuple[Tree, ...] = ()
    """The WorkflowTemplates of parts with runs of their own, which must be there before it."""

    @property
    def spec(self) -> Tree:
        """The spec of the workflow, which a CronWorkflow has inside of its own."""
        spec: Tree = self.tree["spec"]
        return t.cast("Tree", spec.get("workflowSpec", spec))

    @property
    def specs(self) -> Iterator[Tree]:
        """The specs of the workflow, and of the runs of its parts."""
        yield self.spec
        for definition in self.definitions:
            yield definition["spec"]

    @cached_property
    def json(self) -> str:
        """The manifest as compact JSON: what the API takes and what is stored."""
        return dump_as_json(self.tree)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """All objects as compact JSON, the workflow last."""
        return (*map(dump_as_json, self.definitions), self.json)


def manifest(workflow: Workflow, options: ManifestOptions) -> Manifest:
    """Return the manifest of a verified workflow whose defaults are resolved."""
    kind = options.kind or ("Workflow" if workflow.schedule is None else "CronWorkflow")
    head: Tree = {"apiVersion": API_VERSION, "kind": kind, "metadata": {}}
    if kind == "Workflow":
        head["metadata"]["generateName"] = f"{workflow.name}-"
    else:
        head["metadata"]["name"] = workflow.name
    if options.namespace is not None:
        head["metadata"]["namespace"] = options.namespace
    head["metadata"].update(_metadata(workflow))
    if workflow.stored is not None and kind == "WorkflowTemplate":
        raise EngineOptionError(
            f'argo: the workflow "{workflow.name}" runs a template that is stored already. Choose '
            "another kind."
        )
    body = _NO_BODY if workflow.stored is not None else _body(workflow, options)
    # The workflow's own spec, wherever it stands: the same override fits all kinds.
    own = _spec(workflow, in_schedule=kind == "CronWorkflow")
    if body.hooks:
        own["hooks"] = body.hooks
    if workflow.stored is None:
        own.update(with_defaults(body.templates))
    spec = merge(own, overrides_of(workflow, "spec"))
    definitions: tuple[Tree, ...] = ()
    if body.runs:
        from couler.backends.argo.child_runs import divide

        divided = divide(spec, body.runs, name=workflow.name, namespace=options.namespace)
        spec, definitions = divided
    if kind == "CronWorkflow":
        if workflow.schedule is None:
            raise EngineOptionError(
                f'argo: the workflow "{workflow.name}" has no schedule, which a CronWorkflow '
                "needs. Give it one, or choose another kind."
            )
        cron = _schedule(workflow.schedule)
        scheduled = scheduled_metadata(workflow)
        if scheduled:
            cron["workflowMetadata"] = scheduled
        cron = merge(cron, overrides_of(workflow, "cron"))
        head["spec"] = {**cron, "workflowSpec": spec}
    else:
        head["spec"] = spec
    head["metadata"] = merge(head["metadata"], overrides_of(workflow, "metadata"))
    return Manifest(head, body.depth, body.owners, definitions)


def _metadata(workflow: Workflow) -> Tree:
    annotations = dict(workflow.annotations)
    if workflow.description is not None:
        annotations.setdefault(DESCRIPTION, workflow.description)
    return pods.metadata(workflow.labels.items(), annotations.items())


def _schedule(schedule: Schedule) -> Tree:
    policies = {"allow": "Allow", "forbid": "Forbid", "replace": "Replace"}
    fields: Tree = {
        "schedules": list(schedule.cron),
        "timezone": schedule.timezone,
        "concurrencyPolicy": policies[schedule.concurrency],
        "startingDeadlineSeconds": schedule.starting_deadline_s,
        "suspend": schedule.suspended or None,
        "when": _gap(schedule),
        "stopStrategy": _stop(schedule),
        "successfulJobsHistoryLimit": schedule.keep_succeeded,
        "failedJobsHistoryLimit": schedule.keep_failed,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _gap(schedule: Schedule) -> str | None:
    if schedule.min_gap_s is None:
        return None
    last = "cronworkflow.lastScheduledTime"
    return tag(f"{last} == nil || (now() - {last}).Seconds() >= {json_literal(schedule.min_gap_s)}")


def _stop(schedule: Schedule) -> Tree | None:
    bounds = (
        ("succeeded", schedule.stop_after_succeeded),
        ("failed", schedule.stop_after_failed),
    )
    terms = [f"cronworkflow.{name} >= {count}" for name, count in bounds if count is not None]
    return {"expression": " || ".join(terms)} if terms else None


def _spec(workflow: Workflow, *, in_schedule: bool) -> Tree:
    spec: Tree = {"entrypoint": ENTRYPOINT}
    if workflow.stored is not None:
        spec = {"workflowTemplateRef": _stored(workflow.stored)}
    if workflow.exit_handlers:
        spec["onExit"] = ON_EXIT
    if workflow.parameters:
        spec["arguments"] = {"parameters": [_parameter(given) for given in workflow.parameters]}
    fields: Tree = {
        "parallelism": workflow.max_parallel,
        "activeDeadlineSeconds": workflow.timeout_s and math.ceil(workflow.timeout_s),
        "synchronization": synchronization(workflow.locks),
        "suspend": workflow.suspended,
        "metrics": _metrics(workflow),
        "volumes": [entry for one in workflow.volumes if (entry := volume(one))],
        "volumeClaimTemplates": [
            claim_template(one) for one in workflow.volumes if isinstance(one, NewClaimVolume)
        ],
    }
    if workflow.files is not None:
        spec.update(files.settings(workflow.files))
    spec.update((name, value) for name, value in fields.items() if value)
    spec.update(run_settings(workflow, in_schedule=in_schedule))
    if workflow.pod is not None:
        spec.update(pod_settings(workflow.pod))
    if workflow.code and workflow.code_at is None:
        metadata = spec.setdefault("podMetadata", {})
        metadata["annotations"] = {
            **metadata.get("annotations", {}),
            **{key: Tagged(text) for key, text in code_annotations(workflow).items()},
        }
        spec["volumes"] = [*spec.get("volumes", ()), code_volume(workflow)]
    return spec


def _stored(stored: StoredWorkflow) -> Tree:
    tree: Tree = {"name": stored.name}
    return {**tree, "clusterScope": True} if stored.cluster_wide else tree


def _metrics(workflow: Workflow) -> Tree | None:
    if not workflow.metrics:
        return None
    from couler.backends.argo.metrics import metrics
    from couler.backends.argo.own import facts_of_run

    view = ScopeView.of_workflow(workflow)
    renderer = Renderer(view, {}, "")
    holes = {hole.name: hole.text for hole in holes_of_metrics(workflow.metrics)}
    return metrics(workflow.metrics, facts_of_run(), lambda name: renderer.text(holes[name]))


def _parameter(given: Parameter) -> Tree:
    tree: Tree = {"name": given.name}
    if given.config is not None:
        key: Tree = {"name": given.config.config_map, "key": given.config.key}
        tree["valueFrom"] = {"configMapKeyRef": key}
        if given.default is not None:
            tree["valueFrom"]["default"] = wire_text(given.default, given.type)
    elif not given.required:
        tree["value"] = (
            wire_text(given.default, given.type) if given.default is not None else "null"
        )
        if given.default is None and given.type == "str":
            tree["value"] = ""
    if given.choices:
        tree["enum"] = [wire_text(choice, given.type) for choice in given.choices]
    if given.description is not None:
        tree["description"] = given.description
    return tree


class _Body(t.NamedTuple):
    """What comes of the steps of a workflow."""

    templates: list[Tree]
    depth: int
    hooks: Tree
    owners: Mapping[str, Step]
    runs: tuple[RunPart, ...] = ()


def _repository(workflow: Workflow, options: ManifestOptions) -> str | None:
    """Return what tells apart the repositories that entries of cached steps have their files in."""
    chosen = None if workflow.files is None else workflow.files.repository
    named = "" if chosen is None else f"{chosen.config_map or ''}/{chosen.key or ''}"
    return repository_mark(options.repository, named)


_NO_BODY = _Body([], 1, {}, {})
"""Of a workflow that is stored elsewhere."""


def _body(workflow: Workflow, options: ManifestOptions) -> _Body:
    workflow = with_copies(leave_out_local_forms(workflow))
    bounded = bounded_alone(workflow)
    workflow = with_scripts(lower(workflow), hands_on)
    kept = frozenset(steps_read_at_exit(workflow))
    names = TemplateNames()
    entrypoint = names.take(ENTRYPOINT)
    on_exit = names.take(ON_EXIT) if workflow.exit_handlers else ON_EXIT
    volumes = {volume.name: volume for volume in workflow.volumes}
    leaves = Leaves(
        TemplateOptions(
            options.gpu_type_label,
            volumes,
            map_name(workflow.name),
            options.memo_maps,
            _repository(workflow, options),
            workflow.code_at,
        )
    )
    scopes = Scopes(leaves, names, kept)
    view = ScopeView.of_workflow(workflow)
    depth = scopes.collect(view, workflow.steps)
    for hook in workflow.hooks:
        leaves.add(hook.step, view)
    for handler in workflow.exit_handlers:
        inner = view.of_handler(handler.steps)
        depth = max(depth, 1 + scopes.collect(inner, handler.steps))
    leaves.name_all(names)
    scopes.name_groups()
    handler_names = {handler.name: names.take(handler.name) for handler in workflow.exit_handlers}
    scopes.emit(
        view,
        workflow.steps,
        entrypoint,
        outputs=workflow.outputs,
        parallelism=None if bounded is None else bounded.most,
        is_followed=bool(workflow.exit_handlers or workflow.hooks),
    )
    if workflow.exit_handlers:
        scopes.templates.append(_on_exit(workflow.exit_handlers, on_exit, handler_names))
    for handler in workflow.exit_handlers:
        scopes.emit(view.of_handler(handler.steps), handler.steps, handler_names[handler.name])
    own_hooks: Tree = {}
    if workflow.hooks:
        own_hooks = hooks(workflow.hooks, "workflow.status", Renderer(view, {}, ""), leaves)
    templates = [*scopes.templates, *leaves.templates()]
    write_fixed_arguments(templates, own_hooks)
    if scopes.is_divided:
        templates += helper_templates()
    elif scopes.checks_outputs:
        templates.append(ends_template())
    if scopes.loop_names:
        from couler.backends.argo.loops import limit_template

        templates.append(limit_template(options.helper_image))
    owners = {**dict(scopes.owners()), **dict(leaves.owners())}
    return _Body(templates, depth, own_hooks, owners, tuple(scopes.runs))


def _on_exit(handlers: tuple[ExitHandler, ...], name: str, templates: dict[str, str]) -> Tree:
    conditions = {
        "success": Tagged("{{workflow.status}} == Succeeded"),
        "failure": Tagged("{{workflow.status}} != Succeeded"),
    }
    tasks: list[Tree] = []
    names = Names()
    for handler in handlers:
        task: Tree = {"name": names.take(handler.name), "template": templates[handler.name]}
        if handler.on in conditions:
            task["when"] = conditions[handler.on]
        tasks.append(task)
    return {"name": name, "dag": {"failFast": False, "tasks": tasks}}


def helper_templates() -> list[Tree]:
    """Return the templates of the tasks that divided scopes have besides their steps."""
    end = "inputs.parameters.end"
    is_error = f"{end} contains 'r' && !({end} contains 'a')"
    # A task that was skipped goes before the one that fails: what follows hangs below it.
    error = {
        "name": "error",
        "template": ENDS_TEMPLATE,
        "when": tag(f"{is_error} ? 'a step ended in an error' : 'false'"),
    }
    failure = {
        "name": "failure",
        "template": FAILS_TEMPLATE,
        "when": tag(f"{end} != '' && !({is_error})"),
        "arguments": {"parameters": [{"name": "when", "value": "a step failed"}]},
    }
    fails = {
        "name": "fails",
        "template": ENDS_TEMPLATE,
        "when": variable("inputs.parameters.when"),
    }
    return [
        ends_template(),
        {
            "name": VERDICT_TEMPLATE,
            "inputs": {"parameters": [{"name": "end"}]},
            "dag": {"failFast": False, "tasks": [error, failure]},
        },
        {
            "name": FAILS_TEMPLATE,
            "inputs": {"parameters": [{"name": "when"}]},
            "steps": [[fails]],
        },
    ]


COPY = "couler_kept_"
"""How the name of an output begins that is put at a location besides the repository."""


def with_copies(workflow: Workflow) -> Workflow:
    """Return a workflow in which outputs at locations are kept in the repository, if read."""
    if not any(output.at is not None for step in all_steps(workflow) for output in step.outputs):
        return workflow
    read_outside = [
        reference
        for handler in workflow.exit_handlers
        for step in handler.steps
        for reference in references(step)
    ]
    read_outside += [read for hook in workflow.hooks for read in references(hook.step)]
    given_out = [output.value for output in workflow.outputs]
    handlers = tuple(
        handler.model_copy(update={"steps": _scope(handler.steps, (), ())})
        for handler in workflow.exit_handlers
    )
    steps = _scope(workflow.steps, given_out, read_outside)
    return workflow.model_copy(update={"steps": steps, "exit_handlers": handlers})


def _scope(
    steps: tuple[Step, ...], given_out: Iterable[Value | None], read_outside: Iterable[StepRef]
) -> tuple[Step, ...]:
    reads = {(reference.step, reference.output) for reference in read_outside}
    for step in steps:
        for reader in (step, *(hook.step for hook in step.hooks)):
            reads |= {(reference.step, reference.output) for reference in references(reader)}
    for value in given_out:
        reads |= {(reference.step, reference.output) for reference in output_references(value)}
    return tuple(_with_copies(_inside(step), reads) for step in steps)


def _inside(step: Step) -> Step:
    if not isinstance(step.action, Group):
        return step
    inner = _scope(step.action.steps, [output.value for output in step.outputs], ())
    return step.model_copy(update={"action": step.action.model_copy(update={"steps": inner})})


def _with_copies(step: Step, reads: set[tuple[str, str]]) -> Step:
    outputs = tuple(
        one
        for output in step.outputs
        for one in _copies(output, is_read=(step.name, output.name) in reads)
    )
    return step if outputs == step.outputs else step.model_copy(update={"outputs": outputs})


def _copies(output: Output, *, is_read: bool) -> Iterator[Output]:
    if output.at is None or not is_read:
        yield output
        return
    yield output.model_copy(update={"at": None, "archive": None})
    yield output.model_copy(update={"name": f"{COPY}{output.name}"})

"""The fields of a whole workflow: parameters, schedule, defaults, exit handlers, and the result."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Mapping

from couler.dsl._context import entered_scope
from couler.dsl.builder import Builder
from couler.dsl.checks import (
    advice,
    attempt,
    checked_mapping,
    checked_text,
    fitting,
    shown,
    warn_of_engines,
)
from couler.dsl.handles import StepHandle, Value
from couler.dsl.scope import Scope
from couler.dsl.types import (
    STR,
    TypeSpec,
    UnsupportedTypeError,
    is_json,
    json_form,
    spec_of,
    spec_of_value,
)
from couler.ir import pods as ir_pods, workflow as ir
from couler.ir.storage import SecretKey

if t.TYPE_CHECKING:
    from couler.dsl import objects
    from couler.dsl.pods import Keep, PodSettings, RunSettings

Status: t.TypeAlias = t.Literal["success", "failure", "any"]

_DEFAULTABLE = ("retry", "timeout_s", "resources", "placement", "pull_policy", "env")


def set_fields(builder: Builder, **fields: object) -> None:
    """Set fields of the workflow; None leaves one as it is."""
    builder.fields.update(fitting(builder, ir.Workflow, fields, name="w"))
    if fields.get("engine"):
        warn_of_engines(builder, fields["engine"])


def set_stored(builder: Builder, template: object, cluster_wide: object) -> None:
    """Let a workflow that the engine has run in place of steps."""
    stored = {"name": template, "cluster_wide": cluster_wide}
    found = attempt(builder, "from_template", lambda: ir.StoredWorkflow.model_validate(stored))
    builder.fields["stored"] = found or ir.StoredWorkflow(name="unknown")


def set_pod(builder: Builder, **fields: object) -> None:
    """Set fields of what all pods of the workflow share; None leaves one as it is."""
    builder.pod.update(fitting(builder, ir_pods.PodSettings, fields))


def set_files(builder: Builder, files: object) -> None:
    """Set where the workflow's files are kept; None leaves it as it is."""
    if files is None:
        return
    from couler.dsl.located import settings_of

    found = attempt(builder, "file_settings", lambda: settings_of(files))
    if found is not None:
        builder.fields["files"] = found


def set_name(builder: Builder, name: object) -> None:
    """Name the workflow."""
    if isinstance(name, str):
        builder.name = name
        return
    builder.report("CLR105", f"name: {name!r:.60} is no text")
    builder.name = builder.name or "workflow"


def set_duration(builder: Builder, field: str, option: str, value: object) -> None:
    """Set a field that is a duration; report a wrong one."""
    if value is None:
        return
    from couler.dsl import units

    seconds = attempt(builder, option, lambda: units.parse_duration(value))
    if seconds is not None:
        builder.fields[field] = seconds


def set_keep(builder: Builder, option: str, value: objects.Duration | Keep | None) -> None:
    """Set how long runs are kept; report what is no duration."""
    if value is None:
        return
    from couler.dsl import pod_options
    from couler.dsl.pods import Keep

    keep = value if isinstance(value, Keep) else Keep(value)
    found = attempt(builder, option, lambda: pod_options.retention(keep))
    if found is None:
        return
    after, by_outcome = found
    if after is not None:
        builder.fields["keep_s"] = after
    if by_outcome is not None:
        builder.runs["retention"] = by_outcome


def set_pods_and_runs(builder: Builder, pod: PodSettings | None, runs: RunSettings | None) -> None:
    """Set what all pods of the workflow and its runs are told; report what is wrong."""
    if pod is None and runs is None:
        return
    from couler.dsl import pod_options

    if pod is not None:
        builder.pod.update(attempt(builder, "pod", lambda: pod_options.workflow_pod(pod)) or {})
    if runs is not None:
        from couler.dsl.options import plugin_container

        make = functools.partial(plugin_container, builder)
        found = attempt(builder, "runs", lambda: pod_options.run_settings(runs, make))
        builder.runs.update(found or {})


def label_runs(
    builder: Builder, labels: Mapping[str, object], annotations: Mapping[str, str] | None
) -> None:
    """Give every run labels and annotations."""
    from couler.dsl import pod_options

    root = builder.root
    found = attempt(builder, "label_runs", lambda: pod_options.run_labels(labels, root.resolve))
    known = {label.name: label for label in builder.runs.get("labels", ())}
    known.update({label.name: label for label in found or ()})
    if known:
        builder.runs["labels"] = tuple(known.values())
    if annotations is not None:
        builder.runs.update(fitting(builder, ir_pods.RunSettings, {"annotations": annotations}))


def set_read(
    builder: Builder, field: str, value: object, read: t.Callable[[t.Any], object]
) -> None:
    """Set a field to what is read of an argument; report a wrong one."""
    made = attempt(builder, field, lambda: read(value))
    if made is not None:
        builder.fields[field] = made


def set_schedule(builder: Builder, schedule: str | objects.Schedule) -> None:
    """Make the workflow run by itself."""
    found = attempt(builder, "schedule", lambda: _schedule(schedule))
    if found is not None:
        builder.fields["schedule"] = found


def _schedule(given: str | objects.Schedule) -> ir.Schedule:
    from couler.dsl import objects, units

    if not isinstance(given, str | objects.Schedule):
        raise ValueError(f"{given!r:.60} is no cron expression; write one, or a couler.Schedule")
    schedule = objects.Schedule(given) if isinstance(given, str) else given
    cron = (schedule.cron,) if isinstance(schedule.cron, str) else tuple(schedule.cron)
    deadline = schedule.starting_deadline
    return ir.Schedule(
        cron=cron,
        timezone=schedule.timezone,
        concurrency=schedule.concurrency,
        starting_deadline_s=None if deadline is None else round(units.parse_duration(deadline)),
        suspended=schedule.suspended,
        keep_succeeded=schedule.keep_succeeded,
        keep_failed=schedule.keep_failed,
        min_gap_s=None if schedule.min_gap is None else units.parse_duration(schedule.min_gap),
        stop_after_succeeded=schedule.stop_after_succeeded,
        stop_after_failed=schedule.stop_after_failed,
    )


def set_defaults(builder: Builder, options: object) -> None:
    """Set options of every step that does not state its own."""
    rest = {**checked_mapping(builder, "defaults", options)}
    image = rest.pop("image", None)
    if image is not None:
        builder.default_image = checked_text(builder, "image", image, "defaults")
    packages = rest.pop("packages", None)
    if packages is not None:
        from couler.dsl.requirements import packages_of

        builder.default_packages = packages_of(builder, packages, "defaults")
    builder.default_cache = rest.pop("cache", None)
    if not rest:
        return
    from couler.dsl.options import step_fields

    with entered_scope(builder.root):
        fields = step_fields(builder, rest, "defaults")
    if any(not isinstance(one.value, str | None) for one in fields.get("env", ())):
        builder.report("CLR105", "defaults: env: values of the workflow are for single steps")
        del fields["env"]
    for name in sorted(fields.keys() - set(_DEFAULTABLE)):
        builder.report("CLR105", f"defaults: {name} cannot be given to all steps at once")
        del fields[name]
    if fields:
        builder.fields["defaults"] = ir.Defaults(**fields)


def add_parameter(builder: Builder, name: object, value: object) -> None:
    """Declare a parameter by its default, its type, or a `Parameter`."""
    from couler.dsl import objects

    if isinstance(value, objects.Parameter):
        given = value
    elif isinstance(value, type) or t.get_origin(value) is not None:
        given = objects.Parameter(type=value, required=True)
    elif value is None:
        given = objects.Parameter(type=object)
    else:
        given = objects.Parameter(value)
    spec = _parameter_spec(builder, name, given)
    if not isinstance(name, str):
        builder.report("CLR105", f"parameter {name!r:.60}: a name is a text")
        return
    default = None if given.default is None else json_form(given.default)
    if not is_json(default):
        builder.report(
            "CLR103",
            f"the default of the parameter {name}, {shown(default)}, has no JSON form; "
            f"{advice(default)}",
        )
        default = None
    builder.specs[name] = spec
    made = attempt(
        builder,
        f"parameter {name}",
        lambda: ir.Parameter(
            name=name,
            type=spec.wire,
            default=default,
            required=given.required,
            choices=tuple(json_form(choice) for choice in given.choices),
            description=given.description,
            config=given.config,
            nullable_text=spec.label == "str | None",
        ),
    )
    builder.parameters[name] = made or ir.Parameter(name=name, type=spec.wire, default=default)


def _parameter_spec(builder: Builder, name: object, given: objects.Parameter) -> TypeSpec:
    if given.type is None:
        return STR if given.default is None else spec_of_value(json_form(given.default))
    try:
        return spec_of(given.type)
    except UnsupportedTypeError as error:
        builder.report("CLR108", f"parameter {name}: {error}")
        return STR


def add_output(builder: Builder, name: object, value: object) -> None:
    """Give a value of the workflow out as its result."""
    if not isinstance(name, str) or not isinstance(value, Value):
        builder.report(
            "CLR139",
            f"the output {name!r:.60} must be a value of the workflow, not {shown(value)}; "
            'write wf.output("name", value)',
        )
        return
    if name in builder.outputs:
        builder.report("CLR139", f'the output "{name}" is given twice; give each a name of its own')
    whole = value._whole() if isinstance(value, StepHandle) else None
    given = value if whole is None else whole
    resolved = builder.root.resolve(given)
    builder.outputs[name] = ir.Output(name=name, type=given._spec.wire, value=resolved)


def add_handler(
    builder: Builder, name: str, status: Status, make: object, *args: object, **kwargs: object
) -> None:
    """Make the steps that run when the run has ended."""
    from couler.dsl._callbacks import call_program

    if not callable(make):
        builder.report(
            "CLR105",
            f"exit handler: {shown(make)} is no function; write wf.on_exit(function), "
            "without a call",
        )
        return
    if status not in t.get_args(Status):
        choices = ", ".join(f'"{one}"' for one in t.get_args(Status))
        builder.report("CLR138", f"exit handler {name}: {status!r:.60} is none of {choices}")
        return
    scope = Scope(builder, builder.root)
    with builder.root.names_kept(), entered_scope(scope):
        call_program(f"exit handler {name}", functools.partial(make, *args, **kwargs))
    if not scope.drafts:
        builder.report("CLR128", f"the exit handler {name} makes no step")
        return
    taken = {one for one, _, _ in builder.handlers}
    unique = name
    count = 1
    while unique in taken:
        count += 1
        unique = f"{name}-{count}"
    builder.handlers.append((unique, status, scope))


def _warn_of_parameters(builder: Builder) -> None:
    """Warn of parameters that nothing reads, and whose names are nearly those of options."""
    for name in builder.parameters.keys() - builder.parameters_read:
        import difflib

        near = difflib.get_close_matches(name, builder.options, n=1, cutoff=0.8)
        if near:
            builder.report(
                "CLR106",
                f'nothing reads the parameter "{name}". Did you mean the option "{near[0]}"?',
                source=builder.source,
                severity="warning",
            )


def build_workflow(builder: Builder) -> ir.Workflow:
    """Return the workflow of the IR."""
    builder.report_unopened()
    _warn_of_parameters(builder)
    pod = ir_pods.PodSettings(**builder.pod) if builder.pod else None
    named = {secret.name: secret for secret in builder.secrets.values() if secret.keys}
    fields: dict[str, t.Any] = dict(builder.fields)
    if builder.parameters:
        fields["parameters"] = tuple(builder.parameters.values())
    if builder.outputs:
        fields["outputs"] = tuple(builder.outputs.values())
    if builder.handlers:
        fields["exit_handlers"] = tuple(
            ir.ExitHandler(name=name, on=status, steps=scope.build())
            for name, status, scope in builder.handlers
        )
    if "code" in vars(builder) and (code := builder.code.files()):  # it has scripts
        fields["code"] = code
    volumes = builder.all_volumes()
    if volumes:
        fields["volumes"] = volumes
    if pod is not None:
        fields["pod"] = pod
    if builder.runs:
        fields["runs"] = ir_pods.RunSettings(**builder.runs)
    if named:
        fields["secrets"] = tuple(
            SecretKey(secret=secret.name, key=key)
            for secret in named.values()
            for key in secret.keys
        )
    return ir.Workflow(
        name=builder.name, steps=builder.root.build(), source=builder.source, **fields
    )

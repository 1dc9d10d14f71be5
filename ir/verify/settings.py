"""Rules for the workflow as a whole: parameters, schedule, defaults, volumes and pods."""

from __future__ import annotations

from couler.ir.schedule import check_cron, check_timezone
from couler.ir.storage import ConfigKey
from couler.ir.verify.environment import (
    check_config_key,
    check_one_source,
    check_secret_key,
    check_variable_names,
    check_volume,
)
from couler.ir.verify.files import check_file_settings
from couler.ir.verify.kubernetes import (
    check_annotations,
    check_labels,
    check_placement,
)
from couler.ir.verify.locks import check_locks
from couler.ir.verify.names import Add, check_value_names, check_workflow_name
from couler.ir.verify.pods import check_pod_settings, check_runs
from couler.ir.verify.policies import retry_problems
from couler.ir.verify.quantities import check_resources
from couler.ir.verify.report import Order, Report
from couler.ir.verify.scope import ScopeView
from couler.ir.verify.values import Reader, show
from couler.ir.wire import MAX_VALUE_BYTES, encode, matches
from couler.ir.workflow import Defaults, Parameter, Schedule, Workflow

_FIRST: Order = (-1,)


def check_settings(workflow: Workflow, report: Report) -> None:
    """Check all of a workflow but its steps and outputs."""

    def add(code: str, message: str) -> None:
        report.add(code, f"workflow: {message}", order=_FIRST, source=workflow.source)

    check_workflow_name(workflow.name, scheduled=workflow.schedule is not None, add=add)
    check_value_names((p.name for p in workflow.parameters), "parameter", add)
    for parameter in workflow.parameters:
        _check_parameter(parameter, add)
    if workflow.schedule is not None:
        _check_schedule(workflow.schedule, add)
        for parameter in workflow.parameters:
            if parameter.required:
                add(
                    "CLR186",
                    f'the parameter "{parameter.name}" is required, but nobody gives a value to '
                    "the runs of a schedule. Give it a default.",
                )
    if workflow.defaults is not None:
        _check_defaults(workflow.defaults, add)
    seen: set[str] = set()
    for volume in workflow.volumes:
        check_volume(volume, add)
        if volume.name in seen:
            add("CLR151", f'the volume "{volume.name}" is declared twice. Remove one.')
        seen.add(volume.name)
    if workflow.files is not None:
        check_file_settings(workflow.files, add)
    if workflow.pod is not None:
        check_pod_settings(workflow.pod, add)
    if workflow.runs is not None:
        check_runs(workflow.runs, add)
    for key in workflow.secrets:
        check_secret_key(key, add)
    check_locks(workflow.locks, add)
    check_labels(workflow.labels, "labels", add)
    check_annotations(workflow.annotations, add)


def _check_parameter(parameter: Parameter, add: Add) -> None:
    name, declared = parameter.name, parameter.type
    default = parameter.default
    if parameter.config is not None:
        _check_entry(parameter, parameter.config, add)
    if parameter.required:
        if default is not None:
            add(
                "CLR183",
                f'the parameter "{name}" is required, so its default is never used. Remove one.',
            )
    elif default is None and parameter.config is not None:
        pass
    elif not matches(default, declared):
        if default is None:
            mend = "Give it a default, or make it required."
            add("CLR183", f'the parameter "{name}" has no default and is not required. {mend}')
        else:
            add(
                "CLR183",
                f'the parameter "{name}" is declared {declared}, but its default is '
                f"{show(default)}.",
            )
    elif parameter.choices and not _is_among(default, parameter.choices):
        choices = ", ".join(map(show, parameter.choices))
        add(
            "CLR183",
            f'the default of the parameter "{name}" is {show(default)}, which is none of its '
            f"choices: {choices}.",
        )
    for choice in parameter.choices:
        if not matches(choice, declared):
            add(
                "CLR183",
                f'the parameter "{name}" is declared {declared}, but one of its choices is '
                f"{show(choice)}.",
            )
    if default is not None and len(encode(default).encode()) > MAX_VALUE_BYTES:
        add(
            "CLR501",
            f'the default of the parameter "{name}" is over {MAX_VALUE_BYTES:,} bytes. '
            "Give it as a file.",
        )


def _check_entry(parameter: Parameter, key: ConfigKey, add: Add) -> None:
    check_config_key(key, add)
    problem: str | None = None
    if parameter.required:
        problem = "is required, so its entry of a config map is never read. Remove one"
    elif key.optional:
        problem = "takes an entry that is optional. Give it a default for want of the entry"
    elif parameter.choices:
        problem = "has choices, but an entry of a config map is not compared with them. Remove one"
    if problem is not None:
        add("CLR183", f'the parameter "{parameter.name}" {problem}.')


def _is_among(value: object, choices: tuple[object, ...]) -> bool:
    return any(value == choice and type(value) is type(choice) for choice in choices)


def _check_schedule(schedule: Schedule, add: Add) -> None:
    for expression in schedule.cron:
        try:
            check_cron(expression)
        except ValueError as error:
            add("CLR406", _sentence(error))
    if len(set(schedule.cron)) != len(schedule.cron):
        add("CLR406", "a cron expression is given twice. Remove one.")
    try:
        check_timezone(schedule.timezone)
    except ValueError as error:
        add("CLR407", _sentence(error))


def _check_defaults(defaults: Defaults, add: Add) -> None:
    if defaults.retry is not None:
        for code, message in retry_problems(defaults.retry):
            add(code, f"defaults: {message}")
    if defaults.resources is not None:
        check_resources(defaults.resources, add)
    if defaults.placement is not None:
        check_placement(defaults.placement, add)
    check_variable_names(defaults.env, add)
    for variable in defaults.env:
        check_one_source(variable, f"defaults.env.{variable.name}", add)


def check_default_values(view: ScopeView, defaults: Defaults) -> None:
    """Check the values of a workflow's default environment."""
    reader = Reader(view)
    for variable in defaults.env:
        if variable.value is not None and not isinstance(variable.value, str):
            reader.text(variable.value, f"defaults.env.{variable.name}")


def _sentence(error: ValueError) -> str:
    text = str(error)
    return text if text.endswith((".", "?")) else f"{text}."

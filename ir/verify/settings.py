"""Rules for settings of a workflow, its schedule, and policies, loops and locks of steps."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from couler.ir.diagnostics import Severity, did_you_mean
from couler.ir.policies import (
    Cache,
    DatabaseSemaphore,
    Foreach,
    Lock,
    Loop,
    Mutex,
    Retry,
    Semaphore,
    lock_identity,
    locks_of,
)
from couler.ir.semantics import Kind
from couler.ir.semantics.wire import MAX_VALUE_BYTES, encode, matches
from couler.ir.storage import ConfigKey
from couler.ir.values import Literal, Range, literal_type
from couler.ir.verify.files import check_file_settings
from couler.ir.verify.names import (
    MAX_ROUNDS,
    Add,
    check_annotations,
    check_label_name,
    check_labels,
    check_placement,
    check_value_names,
    check_workflow_name,
    repeated,
)
from couler.ir.verify.scope import Order, Report, ScopeView
from couler.ir.verify.values import Reader, show
from couler.ir.workflow import Defaults, Group, Http, Parameter, Schedule, Step, Suspend, Workflow

_ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS = ("minute", "hour", "day of month", "month", "day of week")
_PROBE = datetime(2024, 1, 1, tzinfo=UTC)


def check_cron(expression: str) -> None:
    """Refuse a cron expression that some engine would refuse or read in another way."""
    from cronsim import CronSim, CronSimError

    text = expression.strip()
    if text.startswith("@"):
        instead = _ALIASES.get(text.lower())
        hint = f' Write "{instead}".' if instead else did_you_mean(text, _ALIASES)
        raise ValueError(f'"{expression}" is a name that not every engine knows.{hint}')
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ValueError(
            f'"{expression}" has {len(fields)} fields; cron has five: {", ".join(_FIELDS)}'
        )
    day, weekday = fields[2].upper(), fields[4].upper()
    if re.search("[LW#?]", day) or re.search(r"[#?]|\dL", weekday):
        raise ValueError(f'"{expression}" uses L, W, # or ?, which not every engine knows')
    if re.search(r"(^|[-,])7", weekday):
        raise ValueError(f'"{expression}" has 7 for Sunday, which not every engine knows: write 0')
    try:
        next(CronSim(text, _PROBE))
    except CronSimError as error:
        problem = str(error).replace("Bad", "bad").replace("-of-", " of ")
        raise ValueError(f'"{expression}" is no cron expression: {problem}') from error
    except StopIteration as error:
        raise ValueError(f'"{expression}" never comes true') from error


def check_timezone(name: str) -> None:
    """Refuse a name that is no time zone of the IANA database."""
    import zoneinfo

    try:
        zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError) as error:
        known = zoneinfo.available_timezones()
        if known:
            hint = did_you_mean(name, sorted(known)) or ' Write one such as "UTC".'
            raise ValueError(f'"{name}" is no time zone.{hint}') from error


def check_foreach(reader: Reader, foreach: Foreach) -> None:
    """Check the lists of a foreach."""
    from couler.ir.ranges import known_items

    check_value_names(foreach.over, "item", reader.add)
    lengths: dict[str, int] = {}
    for name, items in foreach.over.items():
        field = f"foreach.{name}"
        if isinstance(items, Range):
            reader.kind(items, field)
            if (known := known_items(items)) is not None:
                lengths[name] = len(known)
            continue
        if isinstance(items, Literal):
            # Each item travels, the list does not.
            if isinstance(items.value, tuple):
                lengths[name] = len(items.value)
                for item in items.value:
                    reader.kind(Literal.model_construct(value=item), field)
                continue
            kind = Kind(literal_type(items.value))
            if kind.type == "str":
                kind = Kind("dict")
        else:
            kind = reader.kind(items, field)
        if not kind.many and kind.type not in ("list", "json", "str"):
            reader.add(
                "CLR180",
                f"{field} is {kind}, not a list. Give a list, or read an output that is one.",
            )
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        reader.add("CLR182", f"its lists differ in length: {sizes}. Make them equally long.")


def check_step_loop(reader: Reader, step: Step, loop: Loop) -> None:
    """Check a step's loop."""
    from couler.ir.verify.conditions import check_loop

    if isinstance(step.action, Suspend):
        return  # it has no outputs: reported as without effect
    if step.daemon:
        reader.add("CLR223", "a daemon does not end, so there is no second round of its loop.")
        return
    check_loop(reader, loop.condition)
    if loop.max_iterations > MAX_ROUNDS:
        reader.add(
            "CLR505",
            f"max_iterations is {loop.max_iterations:,}; at most {MAX_ROUNDS:,} rounds are run.",
        )


def check_policies(reader: Reader, step: Step) -> None:
    """Check the policies of a step that its action has no part in."""
    view, add = reader.view, reader.add
    if step.retry is not None:
        for code, message in retry_problems(step.retry):
            view.add(code, step, message, "warning" if code == "CLR404" else "error")
        if step.retry.other_node and isinstance(step.action, Group | Http):
            what = "a group" if isinstance(step.action, Group) else "an HTTP request"
            add("CLR410", f"other_node of its retry has no effect on {what}. Remove it.")
    if step.timeout_s is not None:
        whole = view.workflow.timeout_s
        if whole is not None and step.timeout_s > whole:
            view.add(
                "CLR405",
                step,
                f"its timeout of {step.timeout_s:g} s is above the workflow's, {whole:g} s, which "
                "ends it first.",
                "warning",
            )
    if step.resources is not None:
        from couler.ir.verify.quantities import check_resources

        check_resources(step.resources, add)
    if step.placement is not None:
        check_placement(step.placement, add)
    if step.labels:
        check_labels(step.labels, "labels", add)
    if step.annotations:
        check_annotations(step.annotations, add)
    if step.mutex is not None or step.locks:
        check_step_locks(view, step)
    if step.cache is not None:
        _check_cache(reader, step.cache)


def _check_cache(reader: Reader, cache: Cache) -> None:
    if cache.name is not None:
        check_lock_name(cache.name, "cache", reader.add)


def retry_problems(retry: Retry) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a retry, as code and message."""
    if not retry.on:
        yield "CLR403", "its retry is on no kind of failure. Name failure, error or both."
    if "transient" in retry.on and len(set(retry.on)) > 1:
        told = "its retry is on transient errors and on others"
        yield "CLR403", f"{told}. Errors include these; name transient alone for these only."
    if retry.exit_codes and "failure" not in retry.on:
        yield (
            "CLR403",
            "its retry names exit codes, but is on errors only, which have none. Add failure.",
        )
    for code in retry.exit_codes:
        if not 1 <= code <= 255:
            yield (
                "CLR403",
                f"its retry names the exit code {code}; a failed process ends with 1 to 255.",
            )
    backoff = retry.backoff
    if backoff is not None and backoff.cap_s is not None and backoff.cap_s < backoff.seconds:
        waits = (
            f"its retry waits {backoff.seconds:g} s at first, but the cap is {backoff.cap_s:g} s"
        )
        yield "CLR404", f"{waits}, so every wait is the cap."
    if backoff is not None and (backoff.max_duration_s or backoff.seconds) < backoff.seconds:
        told = f"its retry waits {backoff.seconds:g} s at first"
        bound = f"{backoff.max_duration_s:g} s that all attempts have together"
        yield "CLR403", f"{told}, which is beyond the {bound}."


_NAME = re.compile(r"[a-zA-Z0-9](?:[-._a-zA-Z0-9]{0,251}[a-zA-Z0-9])?")


def check_locks(locks: Sequence[Lock], add: Add) -> None:
    """Check the locks of a step or of a workflow."""
    for lock in locks:
        from couler.ir.verify.environment import check_config_key

        match lock:
            case Mutex():
                check_lock_name(lock.name, "mutex", add)
            case Semaphore():
                check_config_key(lock.limit, add)
            case DatabaseSemaphore():
                check_lock_name(lock.key, "semaphore", add)
            case _:
                t.assert_never(lock)
        if lock.namespace is not None:
            check_label_name(lock.namespace, "namespace", add)
    for lock in repeated(locks, key=lock_identity):
        add("CLR151", f"{show_lock(lock)} is named twice. Remove one.")


def check_lock_name(name: str, what: str, add: Add) -> None:
    """Check the name of a lock or of a cache."""
    if _NAME.fullmatch(name) is None:
        add(
            "CLR411",
            f'"{name}" is no name of a {what}: letters, digits, "-", "_" and "." between them, '
            "at most 253 characters.",
        )


def check_step_locks(view: ScopeView, step: Step) -> None:
    """Check the locks of a step: their names, and that the workflow does not hold one of them."""
    add = view.adder(step)

    locks = locks_of(step)
    check_locks(locks, add)
    if not view.workflow.locks:
        return
    held = set(map(lock_identity, view.workflow.locks))
    for lock in locks:
        if lock_identity(lock) in held:
            _report_held(view, step, lock)


def _report_held(view: ScopeView, step: Step, lock: Lock) -> None:
    what = f"it waits for {show_lock(lock)},"
    mend = "Leave one of the two out."
    if isinstance(lock, Mutex):
        view.add("CLR430", step, f"{what} which the workflow itself holds until its end. {mend}")
        return
    view.add(  # only the engine knows how many places there are
        "CLR430",
        step,
        f"{what} of which the workflow itself holds a place until its end: as soon as runs hold "
        f"all places, the steps of all of them wait for ever. {mend}",
        "warning",
    )


def show_lock(lock: Lock) -> str:
    """Return a lock in words."""
    match lock:
        case Mutex():
            return f'the mutex "{lock.name}"'
        case Semaphore():
            return f'the semaphore "{lock.limit.key}" of the config map "{lock.limit.config_map}"'
        case DatabaseSemaphore():
            return f'the semaphore "{lock.key}"'
    t.assert_never(lock)


_FIRST: Order = (-1,)


def check_settings(workflow: Workflow, report: Report) -> None:
    """Check all of a workflow but its steps and outputs."""

    def add(code: str, message: str, severity: Severity = "error") -> None:
        report.add(
            code,
            f"workflow: {message}",
            order=_FIRST,
            source=workflow.source,
            severity=severity,
        )

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
    for volume in workflow.volumes:
        from couler.ir.verify.environment import check_volume

        check_volume(volume, add)
    for name in repeated(volume.name for volume in workflow.volumes):
        add("CLR151", f'the volume "{name}" is declared twice. Remove one.')
    if workflow.files is not None:
        check_file_settings(workflow.files, add)
    if workflow.pod is not None:
        from couler.ir.verify.pods import check_pod_settings

        check_pod_settings(workflow.pod, add)
    if workflow.runs is not None:
        from couler.ir.verify.pods import check_runs

        check_runs(workflow.runs, add)
    for key in workflow.secrets:
        from couler.ir.verify.environment import check_secret_key

        check_secret_key(key, add)
    for path in {one.path for one in workflow.code if {"", ".", ".."} & {*one.path.split("/")}}:
        add("CLR415", f'code: the path "{path}" is none below a folder, such as "shop/area.py".')
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
    from couler.ir.verify.environment import check_config_key

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
    from couler.ir.verify.environment import check_one_source, check_variable_names
    from couler.ir.verify.quantities import check_resources

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

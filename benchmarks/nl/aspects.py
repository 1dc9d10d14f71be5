"""What of a step counts when workflows are compared, and what it comes to."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from benchmarks.nl.reading import place_in_work
from couler.errors import ConfigurationError
from couler.ir.artifacts import ListFiles
from couler.ir.policies import Mutex, locks_of
from couler.ir.quantity import parse_quantity
from couler.ir.walk import all_steps
from couler.ir.workflow import (
    Container,
    ContainerSet,
    Group,
    Http,
    Job,
    Plugin,
    Script,
    Step,
    Suspend,
    TemplateCall,
    Workflow,
)

ALWAYS = frozenset(
    ("kinds", "images", "commands", "sources", "data", "parameters", "gpu", "cache", "texts")
)
"""Aspects that count whether or not the reference states something of them."""

ON_REQUEST = frozenset(("literals", "packages"))
"""Aspects that count only where an item asks for them."""

_PLAIN_IMAGE = re.compile(r"python:3\.\d+-slim")


@dataclass(frozen=True)
class Aspects:
    """The aspects that count in one comparison."""

    names: frozenset[str]
    any_kind: bool = False

    def __contains__(self, name: str) -> bool:
        return name in self.names


def aspects_for(
    reference: Workflow,
    *,
    any_kind: bool = False,
    ignore: Iterable[str] = (),
    also: Iterable[str] = (),
) -> Aspects:
    """Return what counts when answers are compared with a reference."""
    for name in (*ignore, *also):
        if name not in KNOWN:
            raise ConfigurationError(f'there is no aspect "{name}"; there are: {", ".join(KNOWN)}')
    steps = list(all_steps(reference))
    stated = {name for name, of in OF_STEPS.items() if any(of(step) is not None for step in steps)}
    stated |= {name for name, of in OF_WORKFLOWS.items() if of(reference) is not None}
    if reference.schedule is not None:
        stated |= {name for name, of in OF_SCHEDULES.items() if of(reference.schedule) is not None}
    if any_kind:
        ignore = (*ignore, "images", "commands", "sources", "typed image")
    names = (ALWAYS | stated | set(also)) - ON_REQUEST | set(also)
    return Aspects(frozenset(names - set(ignore)), any_kind)


def kind_of(step: Step, aspects: Aspects) -> str:
    """Return the kind of a step as people call it."""
    kind = _kind(step)
    if aspects.any_kind and kind in ("container", "script", "Python step"):
        return "process"
    return kind


def _kind(step: Step) -> str:
    match step.action:
        case Script(function=function):
            return "script" if function is None else "Python step"
        case Container():
            return "container"
        case Job():
            return "job"
        case Http():
            return "request"
        case Suspend():
            return "pause"
        case ListFiles():
            return "list of files"
        case ContainerSet():
            return "container set"
        case TemplateCall():
            return "call of a template"
        case Plugin():
            return "plugin"
        case Group():
            return "group"
    t.assert_never(step.action)


def amount(text: str | None) -> Hashable:
    """Return an amount of Kubernetes such that equal amounts are equal."""
    return None if text is None else parse_quantity(text).normalize()


def _resource(name: str) -> Callable[[Step], Hashable]:
    return lambda step: step.resources and amount(getattr(step.resources, name))


def _typed_image(step: Step) -> Hashable:
    action = step.action
    if not isinstance(action, Script) or action.function is None:
        return None
    return None if _PLAIN_IMAGE.fullmatch(action.image) else action.image


def _retry(step: Step) -> Hashable:
    retry = step.retry
    if retry is None or retry.limit == 0:
        return None
    backoff = retry.backoff
    waits = backoff and (backoff.seconds, backoff.cap_s, backoff.seconds and backoff.factor)
    return retry.limit, waits, tuple(sorted(retry.exit_codes))


def _gpu(step: Step) -> Hashable:
    gpu = step.resources and step.resources.gpu
    return gpu and (gpu.count, gpu.type)


def _env(step: Step) -> Hashable:
    """Return the variables but for values of the workflow, which are among the data."""
    found = [
        (one.name, one.value if isinstance(one.value, str) else None, _dump(one.config))
        for one in step.env
        if one.secret is None
    ]
    return tuple(sorted(found, key=repr)) or None


def _secrets(step: Step) -> Hashable:
    keys = [(one.name, one.secret.secret, one.secret.key) for one in step.env if one.secret]
    wholes = [("", one.secret, one.prefix) for one in step.env_from if one.secret]
    return tuple(sorted((*keys, *wholes))) or None


def _placement(step: Step) -> Hashable:
    where = step.placement
    if where is None:
        return None
    tolerated = frozenset(map(_dump, where.tolerations))
    return frozenset(where.node_selector.items()), tolerated, where.affinity, where.priority_class


def _locks(step: Step) -> Hashable:
    named = [one.name if isinstance(one, Mutex) else _dump(one) for one in locks_of(step)]
    return frozenset(named) or None


def _mounts(step: Step) -> Hashable:
    return frozenset((one.volume, one.path) for one in step.mounts) or None


def _files(step: Step) -> Hashable:
    """Return the places outside of the workflow that files come from and go to."""
    is_typed = isinstance(step.action, Script) and step.action.function is not None
    found = [("in", _dump(one.at), "") for one in step.inputs if one.at is not None]
    found += [
        ("out", _dump(one.at), "" if is_typed or one.path is None else place_in_work(one.path))
        for one in step.outputs
        if one.at is not None
    ]
    return tuple(sorted(found, key=repr)) or None


def _packages(step: Step) -> Hashable:
    return (frozenset(step.action.packages) or None) if isinstance(step.action, Script) else None


def _cache(step: Step) -> Hashable:
    return step.cache and (step.cache.name, step.cache.max_age_s)


def _dump(node: t.Any) -> str | None:
    return None if node is None else node.model_dump_json(exclude_defaults=True)


OF_STEPS: dict[str, Callable[[Step], Hashable]] = {
    "typed image": _typed_image,
    "retry": _retry,
    "timeout": lambda step: step.timeout_s,
    "cache": _cache,
    "cpu": _resource("cpu"),
    "memory": _resource("memory"),
    "disk": _resource("disk"),
    "gpu": _gpu,
    "env": _env,
    "secrets": _secrets,
    "mounts": _mounts,
    "files": _files,
    "placement": _placement,
    "locks": _locks,
    "packages": _packages,
    "max_parallel": lambda step: (step.foreach and step.foreach.max_parallel) or step.max_parallel,
    "labels": lambda step: frozenset(step.labels.items()) or None,
    "working_dir": lambda step: step.working_dir,
    "daemon": lambda step: step.daemon or None,
}
"""What each aspect of steps comes to; None where a step states nothing."""

OF_WORKFLOWS: dict[str, Callable[[Workflow], Hashable]] = {
    "time limit of the run": lambda flow: flow.timeout_s,
    "steps at a time": lambda flow: flow.max_parallel,
    "how long runs are kept": lambda flow: flow.keep_s,
    "labels of the workflow": lambda flow: frozenset(flow.labels.items()) or None,
    "locks of the run": lambda flow: frozenset(map(_dump, flow.locks)) or None,
    "volumes": lambda flow: frozenset(map(_dump, flow.volumes)) or None,
}
"""Aspects of workflows; None where one states nothing."""

OF_SCHEDULES: dict[str, Callable[[t.Any], Hashable]] = {
    "time zone": lambda schedule: None if schedule.timezone == "UTC" else schedule.timezone,
    "runs at a time": lambda plan: None if plan.concurrency == "allow" else plan.concurrency,
    "starting deadline": lambda schedule: schedule.starting_deadline_s,
    "kept runs": lambda plan: (
        None
        if plan.keep_succeeded is plan.keep_failed is None
        else (plan.keep_succeeded, plan.keep_failed)
    ),
}
"""Aspects of schedules; None where one states nothing."""

KNOWN = (*sorted(ALWAYS | ON_REQUEST | {*OF_STEPS, *OF_WORKFLOWS, *OF_SCHEDULES}),)
"""The names of all aspects."""

_MACROS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()  # noqa: SIM905  # one line
_NAMES = {
    **{name: str(number) for number, name in enumerate(_DAYS)},
    **{name: str(number) for number, name in enumerate(_MONTHS, 1)},
}


def cron_text(cron: str) -> str:
    """Return a schedule with names as numbers and without what says nothing."""
    text = " ".join(_MACROS.get(cron.strip().lower(), cron).split())
    text = re.sub(r"[A-Za-z]{3}", lambda found: _NAMES.get(found[0].upper(), found[0]), text)
    text = re.sub(r"\b0+(?=\d)", "", text).replace("*/1 ", "* ")
    return re.sub(r" 7$", " 0", text)

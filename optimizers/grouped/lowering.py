"""Steps of a group as one step, whose script runs them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from couler.ir.evaluation.outputs import default_of, outputs_of
from couler.ir.grouped import GROUPED
from couler.ir.policies import Retry
from couler.ir.storage import EnvVar
from couler.ir.wire import is_file
from couler.ir.workflow import Container, Output, Script, Step
from couler.optimizers.grouped.needs import PodNeeds, pod_needs
from couler.optimizers.grouped.reading import Reading
from couler.optimizers.grouped.script import literal, script_of
from couler.optimizers.grouped.sharing import PYTHONS, SHARED, Kinds, program_of
from couler.optimizers.grouping import Limits

__all__ = ["Grouped", "definition_bytes", "lower"]


@dataclass(frozen=True)
class Grouped:
    """A step that stands for others."""

    step: Step
    outputs: Mapping[tuple[str, str], str]


def lower(
    name: str,
    image: str,
    steps: Sequence[Step],
    after: Mapping[str, Sequence[str]],
    *,
    kinds: Kinds,
    read: frozenset[str],
    read_outside: Sequence[tuple[str, str]],
    limits: Limits,
) -> Grouped:
    """Return the step that stands for some steps of a scope."""
    members = [step.name for step in steps]
    needs = pod_needs(steps, after, limits)
    python = next((one for one in map(program_of, steps) if one in PYTHONS), PYTHONS[0])
    reading = Reading(members, kinds)
    hidden: list[EnvVar] = []
    given = {step.name: outputs_of(step, is_read=step.name in read) for step in steps}
    names = _output_names(read_outside)
    outputs = [
        (step, _handed_on(_output(given[step], output), names[step, output], number))
        for number, (step, output) in enumerate(read_outside)
    ]
    group: dict[str, t.Any] = {"name": name}
    if needs.at_once is not None:
        group["max_parallel"] = needs.at_once
    if needs.room:
        group["room"] = dict(needs.room)
    group["steps"] = [
        _definition(step, after[step.name], given[step.name], reading, hidden, python, needs)
        for step in steps
    ]
    group["outputs"] = [
        {"step": step, "output": output, "path": made.path}
        for (step, output), (_, made) in zip(read_outside, outputs, strict=True)
    ]
    packages = [one.action.packages for one in steps if isinstance(one.action, Script)]
    step = Step(
        name=name,
        action=Script(
            image=image,
            source=script_of(group, f"Runs {len(steps)} steps in one pod: {', '.join(members)}."),
            command=(python,),
            packages=packages[0] if packages else (),  # they are equal
        ),
        depends_on=_waits(steps, members, program_order=False),
        program_order=_waits(steps, members, program_order=True),
        retry=_retry(steps),
        inputs=tuple(reading.inputs),
        outputs=tuple(made for _, made in outputs),
        env=tuple(hidden),
        resources=needs.resources,
        profile=needs.profile,
        source=steps[0].source,
        origin=GROUPED,
        **{field: getattr(steps[0], field) for field in SHARED if getattr(steps[0], field)},
    )
    return Grouped(step, names)


def definition_bytes(step: Step, befores: Sequence[str], kinds: Kinds) -> int:
    """Return at most how many bytes a step takes in the script of a group."""
    alone = PodNeeds(None, None, {}, {step.name: dict.fromkeys(("cpu", "memory", "gpu"), 2.0**40)})
    outputs = outputs_of(step, is_read=True)
    python = program_of(step) or PYTHONS[0]
    made = _definition(step, befores, outputs, Reading((), kinds), [], python, alone)
    handed_on = (len(output.name) + len(step.name) + 60 for output in outputs)
    return len(literal(made, 2).encode()) + sum(handed_on)


def _definition(
    step: Step,
    after: Sequence[str],
    outputs: Sequence[Output],
    reading: Reading,
    hidden: list[EnvVar],
    python: str,
    needs: PodNeeds,
) -> dict[str, t.Any]:
    """Return a step as the runner reads it, only with what it has."""
    action = step.action
    found: dict[str, t.Any] = {"name": step.name, "after": list(after)}
    if isinstance(action, Script):
        found["words"] = list(action.command)
        found["script"] = action.source
    elif isinstance(action, Container):
        found["words"] = [reading.text(word) for word in (*action.command, *action.args)]
    if program_of(step) in (python, None):
        found["python"] = python
    inputs = [_input(one, reading) for one in step.inputs]
    variables = [_variable(one, reading, hidden) for one in step.env]
    listed = {
        "inputs": inputs,
        "env": variables,
        "outputs": [_given_out(one) for one in outputs],
        "retry": None if step.retry is None else _retry_definition(step.retry),
        "timeout_s": step.timeout_s,
        "directory": step.working_dir,
        "needs": dict(needs.steps.get(step.name, {})),
    }
    return found | {key: value for key, value in listed.items() if value}


def _input(given: t.Any, reading: Reading) -> dict[str, t.Any]:
    found: dict[str, t.Any] = {"name": given.name, "type": given.type}
    found["value"] = reading.file(given) if is_file(given.type) else reading.value(given.value)
    for field in ("path", "optional", "many", "mode", "recurse_mode"):
        if getattr(given, field) not in (None, False):
            found[field] = getattr(given, field)
    return found


def _variable(variable: EnvVar, reading: Reading, hidden: list[EnvVar]) -> dict[str, t.Any]:
    if variable.value is not None:
        return {"name": variable.name, "value": reading.text(variable.value)}
    name = f"GROUPED_ENV_{len(hidden)}"  # no other step of the pod is given it
    hidden.append(variable.model_copy(update={"name": name}))
    return {"name": variable.name, "hidden": name}


def _given_out(output: Output) -> dict[str, t.Any]:
    found: dict[str, t.Any] = {"name": output.name, "type": output.type}
    if output.path is not None:
        found["path"] = output.path
        if output.default is not None:
            found["default"] = default_of(output).text
    if output.optional:
        found["optional"] = True
    return found


def _retry_definition(retry: Retry) -> dict[str, t.Any] | None:
    if not retry.limit:
        return None
    found: dict[str, t.Any] = {"limit": retry.limit, "on": list(retry.on)}
    if retry.exit_codes:
        found["exit_codes"] = list(retry.exit_codes)
    if retry.backoff is not None:
        found |= retry.backoff.model_dump(exclude_none=True)
    return found


def _retry(steps: Sequence[Step]) -> Retry | None:
    """Return how often a pod that is lost is made anew: as often as each of its steps would be."""
    policies = [step.retry for step in steps]
    if any(
        one is None or not one.limit or one.exit_codes or "error" not in one.on for one in policies
    ):
        return None
    least = min((one for one in policies if one is not None), key=lambda one: one.limit)
    return Retry(limit=least.limit, on=("error",), backoff=least.backoff)


def _waits(
    steps: Sequence[Step], members: Sequence[str], *, program_order: bool
) -> tuple[str, ...]:
    """Return what a group waits for outside, or of that what only the order of the program asks."""
    found: dict[str, bool] = {}
    for step in steps:
        for entry in step.depends_on:
            if isinstance(entry, str) and entry not in members:
                found[entry] = found.get(entry, True) and entry in step.program_order
    return tuple(name for name, is_order in found.items() if is_order or not program_order)


def _output(outputs: Sequence[Output], name: str) -> Output:
    return next(one for one in outputs if one.name == name)


def _handed_on(output: Output, name: str, number: int) -> Output:
    return output.model_copy(update={"name": name, "path": f"outputs/{number}"})


def _output_names(read: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return a name for each output that others read: its own, or with that of its step."""
    taken: set[str] = set()
    found = {}
    for step, output in read:
        name = output
        while name in taken:
            name = f"{step}-{name}"
        taken.add(name)
        found[step, output] = name
    return found

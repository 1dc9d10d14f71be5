"""Steps of a group as one step: what they read, and the script that runs them."""

from __future__ import annotations

import ast
import functools
import inspect
import typing as t
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from couler.ir.cachekey import text_digest
from couler.ir.glue import run_text, script_parts
from couler.ir.grouped import DEFINITION, GROUPED
from couler.ir.policies import Retry, retry_policy
from couler.ir.semantics import retries, wire
from couler.ir.semantics.outputs import default_of, outputs_of
from couler.ir.semantics.values import from_json
from couler.ir.storage import EnvVar
from couler.ir.values import (
    Field,
    FirstOf,
    Literal,
    OrElse,
    ParamRef,
    RunRef,
    StepRef,
    Template,
    Text,
    Value,
    ValueType,
    children,
    is_file,
    walk,
)
from couler.ir.workflow import Container, Input, Output, Script, Step
from couler.optimizers.grouped import run_attempts, run_group
from couler.optimizers.grouped.needs import PodNeeds, pod_needs
from couler.optimizers.grouped.sharing import PYTHONS, SHARED, Kinds, program_of
from couler.optimizers.grouping.problem import Limits


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
    runs = sorted({one["run"] for one in group["steps"] if "run" in one})
    every = frozenset({"files"}.union(*(_script_parts(step)[1] for step in steps)))
    group["run"] = {way: run_text(every if way == "here" else every | {"chdir"}) for way in runs}
    group["outputs"] = [
        {"step": step, "output": output, "path": made.path}
        for (step, output), (_, made) in zip(read_outside, outputs, strict=True)
    ]
    scripts = [one.action for one in steps if isinstance(one.action, Script)]
    step = Step(
        name=name,
        action=Script(
            image=image,
            source=script_of(group, f"Runs {len(steps)} steps in one pod: {', '.join(members)}."),
            command=(python,),
            packages=scripts[0].packages if scripts else (),  # they are equal
            built=all(one.built for one in scripts) and bool(scripts),
            files=tuple(sorted({path for one in scripts for path in one.files})),
            code=_code_of(group, scripts),
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


def _code_of(group: dict[str, t.Any], scripts: Sequence[Script]) -> str:
    """Return the digest of what the authors of steps wrote: the scripts have more than that."""
    steps = [{**one, "script": ""} for one in group["steps"]]
    return text_digest(
        repr([{**group, "steps": steps, "run": {}}, [one.code or one.source for one in scripts]])
    )


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
        found["script"] = _script_parts(step)[0]
        if action.runs_function and action.call is not None:
            found["run"] = "here" if action.call.stay else "work"
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
        "retry": retry_policy(step.retry),
        "timeout_s": step.timeout_s,
        "directory": step.working_dir,
        "needs": dict(needs.steps.get(step.name, {})),
    }
    return found | {key: value for key, value in listed.items() if value}


def _script_parts(step: Step) -> tuple[str, frozenset[str]]:
    """Return the script of a step, and the helpers that it calls."""
    if not isinstance(step.action, Script):
        return "", frozenset()
    return script_parts(step.action, tuple(one.name for one in step.inputs))


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


Definition: t.TypeAlias = "str | dict[str, t.Any]"
"""A value as `couler.optimizers.grouped.run_attempts` reads it."""


class Reading:
    """Takes values of steps down, and collects the inputs that these need."""

    def __init__(self, members: Collection[str], kinds: Kinds) -> None:
        self._members = members
        self._kinds = kinds
        self._names: dict[str, str] = {}
        self.inputs: list[Input] = []

    def text(self, text: Text) -> Definition:
        """Return a text or value as the pod reads it."""
        return text if isinstance(text, str) else self.value(text)

    def file(self, given: Input) -> Definition:
        """Return where the pod finds the file of an input."""
        assert given.value is not None, "what lies outside of the workflow is refused"
        if isinstance(given.value, StepRef) and given.value.step in self._members:
            return self.value(given.value)
        return self._given(given.value, given.type, optional=given.optional, many=given.many)

    def value(self, value: Value) -> Definition:
        """Return a value as the pod reads it."""
        match value:
            case Literal():
                stored = from_json(value.value)
                return stored.text if stored.type == "str" else {"json": stored.text}
            case StepRef() if value.step in self._members:
                return {"step": value.step, "output": value.output}
            case StepRef() | ParamRef() | RunRef():
                return self._given(value, self._kinds.of_value(value).wire)
            case Field():
                return {"field": self.value(value.of), "path": list(value.path)}
            case Template():
                return {"template": [self.text(part) for part in value.parts]}
            case OrElse() | FirstOf():
                read = {one.step for one in walk(value) if isinstance(one, StepRef)}
                if not read.issubset(self._members):
                    return self._given(value, "json")
                return {"first": [self.value(option) for option in children(value)]}
        raise TypeError(f"a value of the kind {value.kind} is no part of a group")

    def _given(
        self, value: Value, kind: ValueType, *, optional: bool = False, many: bool = False
    ) -> Definition:
        key = f"{optional} {many} {kind} {value.model_dump_json()}"
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"in_{len(self.inputs)}"
            made = Input(name=name, value=value, type=kind, optional=optional, many=many)
            self.inputs.append(made)
        return {"given": name, "type": kind}


_MODULES = (wire, retries, run_attempts, run_group)
_ERRORS = """\
class EvaluationError(Exception):
    pass


class MissingOutputError(EvaluationError):
    pass


WireError = EvaluationError"""
"""The errors of `couler.errors` that the modules raise, without what only users see."""
_OWN = "couler."
_WIDTH = 100
_READ_BY_ENGINES = (("{{", "{\\u007b"), ("$", "\\u0024"))
"""What engines read in texts, and how a literal of Python writes it."""


def script_of(group: Mapping[str, t.Any], title: str) -> str:
    """Return a script of the standard library alone that runs a group."""
    return (
        f"# {title}\nfrom __future__ import annotations\n\n{_runner()}\n\n"
        f"{DEFINITION} = {literal(group)}\n\nraise SystemExit(run_group({DEFINITION}))\n"
    )


def literal(value: object, indent: int = 0) -> str:
    r"""Return a JSON value as a literal of Python, over several lines where one is too short."""
    inner = " " * (indent + 1)
    if isinstance(value, str):
        lines = value.splitlines(keepends=True)
        if len(lines) < 2:
            return _text(value)
        return "(\n" + "".join(f"{inner}{_text(line)}\n" for line in lines) + " " * indent + ")"
    if isinstance(value, Mapping):
        entries = [f"{_text(key)}: {literal(one, indent + 1)}" for key, one in value.items()]
        return _laid_out("{", entries, "}", indent)
    if isinstance(value, list | tuple):
        entries = [literal(one, indent + 1) for one in value]
        return _laid_out("[", entries, "]", indent)
    return repr(value)


def _laid_out(start: str, entries: Sequence[str], end: str, indent: int) -> str:
    flat = start + ", ".join(entries) + end
    if len(flat) + indent < _WIDTH and "\n" not in flat:
        return flat
    inner = " " * (indent + 1)
    return f"{start}\n" + "".join(f"{inner}{one},\n" for one in entries) + " " * indent + end


def _text(text: str) -> str:
    written = repr(text)
    for read, kept in _READ_BY_ENGINES:
        written = written.replace(read, kept)
    return written


@functools.cache
def _runner() -> str:
    """Return what the modules of the runner define, their imports first."""
    imports = sorted(
        {line for module in _MODULES for line in _imports(module)},
        key=lambda line: (line.startswith("from "), line),
    )
    return "\n".join([*imports, "", "", "\n\n\n".join([_ERRORS, *map(_definitions, _MODULES)])])


def _imports(module: ModuleType) -> Iterator[str]:
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith((_OWN, "__")):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield ast.unparse(node)


def _definitions(module: ModuleType) -> str:
    """Return a module's text from its first definition on, without docstrings."""
    source = inspect.getsource(module)
    lines = source.splitlines()
    tree = ast.parse(source)
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            body = node.body
            for index, one in enumerate(body):
                if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                    left_out.update(range(one.lineno, (one.end_lineno or 0) + 1))
                    if len(body) == 1:
                        lines[one.lineno - 1] = " " * one.col_offset + "pass"
                        left_out.discard(one.lineno)
                    elif index == 0 and not lines[one.end_lineno or 0].strip():
                        left_out.add((one.end_lineno or 0) + 1)
    first = next(
        node.lineno for node in tree.body[1:] if not isinstance(node, ast.Import | ast.ImportFrom)
    )
    kept = [line for at, line in enumerate(lines, 1) if at >= first and at not in left_out]
    return "\n".join(kept).strip("\n")

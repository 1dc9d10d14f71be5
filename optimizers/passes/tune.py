"""Hyperparameters of a training step, filled by what tuning chose."""

from __future__ import annotations

import ast
import json
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from couler.errors import EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.ir.policies import Profile
from couler.ir.rewrite import map_scopes
from couler.ir.semantics.wire import matches
from couler.ir.values import Literal, ParamRef, ValueType, is_file, is_same
from couler.ir.walk import Scope, scopes
from couler.ir.workflow import Input, Script, Step, Workflow
from couler.optimizers.base import PassContext, TunedParameters

_KINDS = ("model", "train")
"""Kinds of parameters of the programs of the zoo: inputs whose names begin so, and with `_`."""


@dataclass(frozen=True)
class Tune:
    """Fill the hyperparameters of a training step by an outcome of `couler tune`.

    Before: any verified workflow. After: the step has the values that were chosen, as literals. A
    parameter that the program sets stays as it is, unless `override` is true; with it, literals and
    parameters of the workflow give way, but never values that other steps make. What the step does
    not have is refused, with the nearest name. Without an outcome nothing is done.

    Where something of the program stays, the step trains with a mixture that was never predicted,
    and the reason says so. A parameter whose condition (`when` of the space) does not hold with
    what stays is not filled. `operations` of the step's profile are dropped once it changes: they
    were those of other hyperparameters.

    A step has the parameters that are its inputs; the arguments of its function, where it is a
    typed one; and any that its program takes, where it is a training step of the zoo.

    Preserved: the graph, and all but the values that are filled; that another model is trained is
    what is asked for. So the pass is no part of the default pipeline.

    O(n) for n steps.

    Attributes
    ----------
    outcome
        The file that `couler tune -o` wrote; None for none.
    step
        Path of the step; None for the only one that trains by its profile.
    override
        Whether values that the program sets are replaced.

    References
    ----------
    The Couler paper, section IV-C: hyperparameters of training pipelines are found automatically.

    Examples
    --------
    >>> from couler.ir.policies import Profile
    >>> fit = Step(
    ...     name="fit", action=Script(image="python", source="def fit(rate=0.1): ...",
    ...     function="fit"), profile=Profile(task="training"))
    >>> context = PassContext(tuned=lambda _: TunedParameters({"rate": 0.05}, "best of 12"))
    >>> tuned = Tune(outcome="tuned.yaml").run(Workflow(name="w", steps=(fit,)), context)
    >>> [(one.name, one.value.value) for one in tuned.steps[0].inputs]
    [('rate', 0.05)]
    >>> context.step_reasons["fit"]
    'rate is 0.05: best of 12.'
    """

    name: t.ClassVar[str] = "tune"
    outcome: str | None = None
    step: str | None = None
    override: bool = False

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with the hyperparameters that were chosen.

        Raises
        ------
        EngineOptionError
            There is no such step, several could be meant, or it has no such parameter.
        TuningError
            The outcome cannot be read.
        """
        if self.outcome is None:
            context.explain("No outcome of tuning is given, as in tune{outcome=tuned.yaml}.")
            return workflow
        if context.tuned is None:
            context.explain("Nobody can be asked for outcomes of tuning.")
            return workflow
        chosen = context.tuned(self.outcome)
        path = self._path(workflow)

        def change(scope: Scope) -> tuple[Step, ...]:
            return tuple(
                self._filled(step, path, chosen, context) if scope.path_of(step) == path else step
                for step in scope.steps
            )

        return map_scopes(workflow, change)

    def _path(self, workflow: Workflow) -> str:
        """Return the path of the step that is meant."""
        steps = {scope.path_of(step): step for scope in scopes(workflow) for step in scope.steps}
        if self.step is not None:
            if self.step not in steps:
                raise EngineOptionError(
                    f'{self.name}: there is no step "{self.step}".{did_you_mean(self.step, steps)}'
                )
            return self.step
        training = [
            path
            for path, step in steps.items()
            if step.profile is not None and step.profile.task == "training"
        ]
        if len(training) != 1:
            told = "none does"
            if training:
                told = f"{len(training)} do: {', '.join(training[:10])}"
            raise EngineOptionError(
                f"{self.name}: by its profile one step is to train, and {told}. Give step=PATH"
            )
        return training[0]

    def _filled(self, step: Step, path: str, chosen: TunedParameters, context: PassContext) -> Step:
        slots = _slots(step)
        _refuse_unknown(self.name, path, chosen.parameters, slots)
        inputs = {one.name: one for one in step.inputs}
        held: dict[str, t.Any] = {}  # what the step has then, as far as that is known before a run
        mixed: list[str] = []
        for parameter, value in chosen.parameters.items():
            name = slots.names.get(parameter, f"{slots.others}{parameter}")
            old = inputs.get(name)
            kept = None if old is None else self._why_kept(old, value)
            if old is not None and kept is not None:
                if isinstance(old.value, Literal):
                    held[parameter] = old.value.value
                if parameter not in held or not is_same(held[parameter], value):
                    mixed.append(parameter)
                context.explain(f"{parameter} stays: {kept}.", step=path)
                continue
            if (broken := _broken(chosen.conditions.get(parameter, {}), held)) is not None:
                context.explain(f"{parameter} is not filled: {broken}.", step=path)
                continue
            held[parameter] = value
            if old is None:
                type_ = _type_of(value) if parameter in slots.names else "json"
                inputs[name] = Input(name=name, value=Literal(value=value), type=type_)
                change = f"{parameter} is {_text(value)}"
            else:
                if not matches(value, old.type):
                    raise EngineOptionError(
                        f'{self.name}: the parameter "{parameter}" of the step "{path}" is '
                        f"{old.type}, and {_text(value)} was chosen. Correct the search space"
                    )
                inputs[name] = old.model_copy(update={"value": Literal(value=value)})
                change = f"{parameter} {_shown(old)} -> {_text(value)}"
            context.explain(f"{change}: {chosen.why}.", step=path)
        made = tuple(inputs.values())
        changed = sum(one not in step.inputs for one in made)
        context.explain(_summary(path, changed, len(chosen.parameters), self.override))
        if not changed:
            return step
        if mixed:
            told = f"{', '.join(mixed)} of the program with the others of the outcome"
            context.explain(f"This mixture was never predicted nor trained: {told}.")
        return step.model_copy(update={"inputs": made, "profile": _profile(step, path, context)})

    def _why_kept(self, old: Input, value: object) -> str | None:
        """Return why what the program says of a parameter stays, or None."""
        if isinstance(old.value, Literal):
            if old.value.value == value and type(old.value.value) is type(value):
                return f"it is {_text(value)} already"
            return None if self.override else f"the program sets {_shown(old)}"
        if isinstance(old.value, ParamRef):
            if self.override:
                return None
            return f"it is the parameter {old.value.name}; give -p {old.value.name}={_text(value)}"
        return "a value of the run sets it"


class _Slots(t.NamedTuple):
    """Where the parameters of a step are."""

    names: Mapping[str, str]
    """By parameter, the name of its input."""
    others: str | None
    """How inputs of further parameters begin; None where there are no others."""


def _slots(step: Step) -> _Slots:
    prefixes = tuple(f"{kind}_" for kind in _open_kinds(step))
    names = {one: one for one in _arguments(step)}
    for one in step.inputs:
        prefix = next((begin for begin in prefixes if one.name.startswith(begin)), None)
        if prefix is not None:
            names[one.name.removeprefix(prefix)] = one.name
        elif not prefixes and one.at is None and not is_file(one.type):
            names[one.name] = one.name
    return _Slots(names, prefixes[0] if prefixes else None)


def _open_kinds(step: Step) -> tuple[str, ...]:
    """The kinds of parameters that a training program of the zoo takes, whatever they are."""
    action = step.action
    if not isinstance(action, Script) or "def parameters(kind" not in action.source:
        return ()
    called = {
        node.args[0].value
        for node in ast.walk(_tree(action.source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "parameters"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }
    return tuple(kind for kind in _KINDS if kind in called)


def _arguments(step: Step) -> Iterator[str]:
    """Yield the arguments of a typed step's function, each an input if it is given."""
    action = step.action
    if not isinstance(action, Script) or action.function is None:
        return
    for node in _tree(action.source).body:
        if isinstance(node, ast.FunctionDef) and node.name == action.function:
            arguments = node.args
            for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                yield one.arg


def _broken(condition: Mapping[str, Sequence[t.Any]], held: Mapping[str, t.Any]) -> str | None:
    """Return why a parameter is not there with what the step has, or None."""
    for other, wanted in condition.items():
        if other in held and any(is_same(held[other], one) for one in wanted):
            continue
        told = ", ".join(map(_text, wanted))
        has = _text(held[other]) if other in held else "not known before the run, or not there"
        return f"it is only there when {other} is one of {told}, and {other} is {has}"
    return None


def _profile(step: Step, path: str, context: PassContext) -> Profile | None:
    """Return the profile without what was known of other hyperparameters."""
    profile = step.profile
    if profile is None or profile.operations is None:
        return profile
    context.explain(
        f"The profile's operations ({profile.operations:.4g}) are dropped: they were those of "
        "other hyperparameters.",
        step=path,
    )
    return profile.model_copy(update={"operations": None})


def _type_of(value: object) -> ValueType:
    """Return the type of an argument's value; text travels as it is, and all else as JSON."""
    return "str" if isinstance(value, str) else "json"


def _tree(source: str) -> ast.Module:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError):  # of another language
        return ast.Module([], [])


def _refuse_unknown(name: str, path: str, parameters: Mapping[str, t.Any], slots: _Slots) -> None:
    if slots.others is not None:
        return
    unknown = [one for one in parameters if one not in slots.names]
    if unknown:
        has = ", ".join(slots.names) or "none"
        raise EngineOptionError(
            f'{name}: the step "{path}" has no parameter "{unknown[0]}"; it has: {has}.'
            f"{did_you_mean(unknown[0], slots.names)}"
        )


def _shown(one: Input) -> str:
    if isinstance(one.value, Literal):
        return _text(one.value.value)
    return f"the parameter {one.value.name}" if isinstance(one.value, ParamRef) else "a value"


def _text(value: object) -> str:
    """Return a value as `-p` takes it: text as it is, all else as compact JSON."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=list)


def _summary(path: str, changed: int, chosen: int, override: bool) -> str:
    kept = chosen - changed
    hint = "" if override or not kept else ". With override=true it takes all that it can"
    stays = f", {kept} {'stays' if kept == 1 else 'stay'} as set" if kept else ""
    return f"{changed} of {chosen} hyperparameters of {path} are filled{stays}{hint}."

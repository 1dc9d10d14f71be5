"""Loops as a template that calls itself."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.backends.argo.files import AT
from couler.backends.argo.pods import Tree
from couler.backends.argo.references import Renderer
from couler.backends.argo.scope import ScopeView, travels_as, value_of
from couler.backends.argo.tags import Tagged, member, tag, variable
from couler.ir.values import Literal, ParamRef, RoundRef, StepRef, Value, map_children, walk
from couler.ir.workflow import Input, Output, Step

ROUND = "couler_round"
"""Parameter of a loop's template: the number of its first round, from 0."""

LIMIT_TEMPLATE = "couler-loop-limit"


class LoopPlan(t.NamedTuple):
    """How the rounds of a loop lie on levels."""

    rounds: int
    """Rounds on one level."""
    levels: int
    """Levels of nesting that the loop takes."""

    @classmethod
    def within(cls, max_iterations: int, levels: int) -> LoopPlan:
        """Return the plan with the fewest rounds a level that fits into some levels."""
        rounds = -(-max_iterations // levels)
        return cls(rounds, -(-max_iterations // rounds))


def limit_template(image: str) -> Tree:
    """Return the template of the task that fails a loop which did not end."""
    message = "the condition still holds after {{inputs.parameters.rounds}} rounds (max_iterations)"
    return {
        "name": LIMIT_TEMPLATE,
        "inputs": {"parameters": [{"name": "rounds"}]},
        "container": {
            "image": image,
            "command": ["sh", "-c", Tagged(f"echo '{message}' >&2; exit 1")],
        },
    }


class LoopTemplate:
    """The template of a loop."""

    def __init__(
        self,
        step: Step,
        name: str,
        body: str,
        plan: LoopPlan,
        inputs: Sequence[str],
        inside: ScopeView,
    ) -> None:
        assert step.loop is not None
        self._step = step
        self._loop = step.loop
        self._name = name
        self._body = body
        self._plan = plan
        self._inputs = inputs
        self._tasks = [f"round-{number + 1}" for number in range(plan.rounds)]
        # Seen from the rounds, the loop's inputs are parameters and each round a step.
        rounds = {
            task: step.model_copy(update={"name": task, "foreach": None, "loop": None})
            for task in self._tasks
        }
        self._view = inside._replace(steps=rounds)
        self._renderer = Renderer(self._view, {task: task for task in self._tasks}, "")

    def build(self) -> Tree:
        """Return the template."""
        tasks = [self._round(number) for number in range(self._plan.rounds)]
        tasks += [self._again(), self._limit()]
        parameters = [{"name": name} for name in (*self._inputs, ROUND)]
        template: Tree = {"name": self._name, "inputs": {"parameters": parameters}}
        if self._step.outputs:
            outputs = [self._output(output) for output in self._step.outputs]
            template["outputs"] = {"parameters": outputs}
        template["dag"] = {"failFast": False, "tasks": tasks}
        return template

    # rounds ----------------------------------------------------------------------------------

    def _round(self, number: int) -> Tree:
        task: Tree = {"name": self._tasks[number], "template": self._body}
        if number > 0:
            task["depends"] = self._tasks[number - 1]
            task["when"] = tag(f"{self._goes_on(number - 1)} && {self._is_allowed(number)}")
        parameters = self._arguments(number)
        for parameter in parameters:
            if parameter["name"] == AT:
                parameter["value"] = Tagged(parameter["value"] + "/r" + tag(self._number(number)))
        if parameters:
            task["arguments"] = {"parameters": parameters}
        return task

    def _arguments(self, number: int) -> list[Tree]:
        """Return what a round of this level, or the first of the next, takes in."""
        given = {one.name: self._value(one, number) for one in self._step.inputs}
        return [
            {"name": name, "value": given.get(name) or variable(f"inputs.parameters.{name}")}
            for name in self._inputs
        ]

    def _value(self, given: Input, number: int) -> str:
        """Return what the round before made, or else what the level was given."""
        value = value_of(given)
        if number and any(isinstance(inner, RoundRef) for inner in walk(value)):
            value = _with_round(value, self._tasks[number - 1])
        else:
            value = ParamRef(name=given.name)
        is_encoded = given.name in self._view.encoded
        return self._renderer.text(value, None, travels_as(given), encoded=is_encoded)

    def _number(self, number: int) -> str:
        """The round of the whole loop, from 0."""
        first = f"int(inputs.parameters.{ROUND})"
        return f"string({first} + {number})" if number else f"inputs.parameters.{ROUND}"

    def _is_allowed(self, number: int) -> str:
        """Whether a round of this level, or the first of the next, is within the bound."""
        first = f"int(inputs.parameters.{ROUND})"
        return f"{first} + {number} < {self._loop.max_iterations}"

    def _goes_on(self, number: int) -> str:
        """Whether a round has run and the condition holds on its outputs."""
        ran = f"{member('tasks', self._tasks[number], 'status')} == 'Succeeded'"
        condition = map_children(
            self._loop.condition, lambda value: _with_round(value, self._tasks[number])
        )
        return f"{ran} && ({self._renderer.condition(condition)})"

    # after the rounds ------------------------------------------------------------------------

    def _again(self) -> Tree:
        last = self._plan.rounds - 1
        parameters = self._arguments(self._plan.rounds)
        parameters.append({"name": ROUND, "value": tag(self._number(self._plan.rounds))})
        return {
            "name": "again",
            "template": self._name,
            "depends": self._tasks[last],
            "when": tag(f"{self._goes_on(last)} && {self._is_allowed(last + 1)}"),
            "arguments": {"parameters": parameters},
        }

    def _limit(self) -> Tree:
        bound = self._loop.max_iterations
        at_bound = [
            f"({self._goes_on(number)} && int(inputs.parameters.{ROUND}) + {number + 1} == {bound})"
            for number in range(self._plan.rounds)
        ]
        return {
            "name": "limit",
            "template": LIMIT_TEMPLATE,
            "depends": " && ".join(self._tasks),
            "when": tag(" || ".join(at_bound)),
            "arguments": {"parameters": [{"name": "rounds", "value": str(bound)}]},
        }

    def _output(self, output: Output) -> Tree:
        """The output of the last round that ran: of the next levels, else of this one."""
        name = output.name
        again = member("tasks.again", "outputs", "parameters", name, optional=True)
        text = again
        for task in reversed(self._tasks[1:]):
            here = member(member("tasks", task), "outputs", "parameters", name, optional=True)
            text += f" ?? {here}"
        text += f" ?? {member(member('tasks', self._tasks[0]), 'outputs', 'parameters', name)}"
        return {"name": name, "valueFrom": {"expression": Tagged(text)}}


def _with_round(value: Value, task: str) -> Value:
    """Return a value that reads a task's outputs where it read the previous round's."""
    if isinstance(value, RoundRef):
        return StepRef(step=task, output=value.output)
    return map_children(value, lambda inner: _with_round(inner, task))


def initial(value: Value) -> Value:
    """Return what a value is in the first round."""
    if isinstance(value, RoundRef):
        return initial(value.initial) if value.initial is not None else Literal(value="")
    return map_children(value, initial)

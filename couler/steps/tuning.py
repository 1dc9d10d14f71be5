"""What an experiment of Katib tunes: hyperparameters, what they range over, the metric."""

from __future__ import annotations

import difflib
import math
import re
import typing as t
from collections.abc import Callable, Mapping, Sequence
from typing import Required  # pydantic reads no others before Python 3.12

from pydantic import ConfigDict
from typing_extensions import TypedDict

from couler.dsl.handles import Value
from couler.dsl.jobs import as_text
from couler.ir.values import ValueType
from couler.ir.workflow import Output
from couler.steps.pods import Tree

ALGORITHMS = (
    "bayesianoptimization",
    "cmaes",
    "darts",
    "enas",
    "grid",
    "hyperband",
    "multivariate-tpe",
    "pbt",
    "random",
    "sobol",
    "tpe",
)
"""Those that come with Katib; a cluster can have others."""

EARLY_STOPPING = ("medianstop",)

BEST = "{.status.currentOptimalTrial"

_NAME = re.compile(r"-{0,2}[A-Za-z0-9][\w.-]*")
_TYPES: dict[str, ValueType] = {"double": "float", "int": "int"}

Report: t.TypeAlias = Callable[[str], None]
"""Takes what is wrong with a step."""


class TuningParameter(TypedDict):
    """A hyperparameter that is tuned: its name, type and range."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]  # as pydantic reads it

    name: str
    type: t.Literal["double", "int", "categorical", "discrete"]
    range: Sequence[object]
    """The least and the greatest value, and for a grid the step; or, of the other types, all."""


class Objective(TypedDict, total=False):
    """What is optimised: a metric that trials print, and how."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]  # as pydantic reads it

    type: Required[t.Literal["maximize", "minimize"]]
    metric_name: Required[str]
    goal: float
    additional_metric_names: Sequence[str]


class Tuned:
    """A hyperparameter that is tuned, in the forms that Katib asks for."""

    def __init__(self, given: TuningParameter) -> None:
        self.given = given
        self.name = given["name"].lstrip("-")
        """Of the trial's parameter."""

    @property
    def output(self) -> str:
        """Name of the output that is its best value."""
        return "best_" + re.sub(r"\W+", "_", self.name)

    @property
    def mark(self) -> str:
        """What stands for it in the resource of a trial."""
        return f"${{trialParameters.{self.name}}}"

    @property
    def word(self) -> str:
        """The argument of a trial's command."""
        return f"--{self.name}={self.mark}"

    @property
    def reference(self) -> Tree:
        """The parameter of a trial."""
        return {"name": self.name, "reference": self.given["name"]}

    @property
    def tree(self) -> Tree:
        """The parameter of the experiment."""
        values = [as_text(value) for value in self.given["range"]]
        space: Tree = {"list": values}
        if self.given["type"] in _TYPES:
            space = dict(zip(("min", "max", "step"), values, strict=False))
        return {
            "name": self.given["name"],
            "parameterType": self.given["type"],
            "feasibleSpace": space,
        }

    @property
    def best(self) -> Output:
        """The output that is its best value."""
        path = f'{BEST}.parameterAssignments[?(@.name=="{self.given["name"]}")].value}}'
        value_type = _TYPES.get(self.given["type"], "str")
        return Output(name=self.output, json_path=path, type=value_type)


def check_tuned(
    parameters: Sequence[Tuned], algorithm: object, taken: Mapping[str, object], report: Report
) -> list[Tuned]:
    """Return what can be tuned; report the rest."""
    if not parameters:
        report('the argument "tuning_params" names no hyperparameter')
    right: list[Tuned] = []
    names: dict[str, str] = {}
    outputs: dict[str, str] = {}
    for one in parameters:
        name = one.given["name"]
        if not _NAME.fullmatch(name):
            report(f'"{name}" is no name of a hyperparameter: letters, digits, "_", "-" and "."')
        elif one.output in taken:
            report(f'the best value of "{name}" would be {one.output}, which is another output')
        elif name in names.values():
            report(f'"{name}" is tuned twice')
        elif one.name in names or one.output in outputs:
            other = names.get(one.name) or outputs[one.output]
            report(f'"{other}" and "{name}" differ too little: both are {one.output}')
        else:
            names[one.name] = outputs[one.output] = name
            problem = _range_problem(one.given)
            if problem is not None:
                report(f'the range of "{name}": {problem}')
            elif algorithm == "grid" and _needs_step(one.given):
                report(f'the range of "{name}": a grid needs the step of a double as third value')
            else:
                right.append(one)
    return right


def _needs_step(given: TuningParameter) -> bool:
    return given["type"] == "double" and len(given["range"]) == 2


def _range_problem(given: TuningParameter) -> str | None:
    """Return what is wrong with a range; a value of the workflow is known only when it runs."""
    kind, values = given["type"], given["range"]
    if kind != "categorical":
        for value in values:
            if not isinstance(value, Value) and _number(value, whole=kind == "int") is None:
                return f"{value!r} is no {'whole ' if kind == 'int' else ''}number"
    known = [value for value in values if not isinstance(value, Value)]
    if kind not in _TYPES:
        texts = [str(as_text(value)) for value in known]
        twice = next((one for one in texts if texts.count(one) > 1), None)
        if not values:
            return "it has no values"
        return None if twice is None else f"{twice} is there twice"
    if len(values) not in (2, 3):
        return "it is not its least and its greatest value, with the step as third where needed"
    if len(known) < len(values):
        return None
    least, greatest, *step = (_number(value) or 0.0 for value in known)
    if not least < greatest:
        return f"{known[0]} is not below {known[1]}"
    if step and not 0 < step[0] <= greatest - least:
        return f"the step {known[2]} is not above 0 and within it"
    return None


def _number(value: object, *, whole: bool = False) -> float | None:
    """Return the number that a value is or tells, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    if not math.isfinite(found) or (whole and not re.fullmatch(r"[+-]?\d+", str(value).strip())):
        return None
    return found


def check_objective(given: Objective, report: Report) -> None:
    """Check the metric."""
    metric = given["metric_name"]
    if not re.fullmatch(r'[^\s"\\]+', metric):
        report(f'objective: "{metric}" is no name of a metric, as metric_name must be')
    elif metric in given.get("additional_metric_names", ()):
        report(f'objective: "{metric}" is the metric, and so no additional one')
    if not math.isfinite(given.get("goal", 0)):
        report(f"objective: the goal {given['goal']} is no number")


def check_algorithm(argument: str, name: object, known: Sequence[str], report: Report) -> None:
    """Check the name of an algorithm; one like none that Katib has is the cluster's own."""
    if not isinstance(name, str) or name in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        report(f'{argument}: Katib has no "{name}". Did you mean "{near[0]}"?')


def check_counts(parallel: object, most: object, failed: object, report: Report) -> None:
    """Check how many trials there are; those known only when the workflow runs are not checked."""
    for name, count, least in (
        ("parallel_trial_count", parallel, 1),
        ("max_trial_count", most, 1),
        ("max_failed_trial_count", failed, 0),
    ):
        if isinstance(count, int) and count < least:
            report(f"{name} is {count}; it must be at least {least}")
        elif isinstance(count, int) and isinstance(most, int) and count > most > 0:
            report(f"{name} is {count}, above max_trial_count, which is {most}")

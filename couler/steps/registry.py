"""Steps of the zoo: functions that make steps, with a name, a version and a checked signature."""

from __future__ import annotations

import functools
import inspect
import typing as t
from collections.abc import Callable
from importlib.metadata import EntryPoint

from couler.dsl._nodes import UNKNOWN_VALUE
from couler.dsl.builder import Builder, current_scope
from couler.dsl.handles import Expression, StepHandle
from couler.dsl.scope import Draft, Returns
from couler.dsl.types import UNKNOWN, TypeSpec
from couler.errors import ConfigurationError
from couler.ir import values
from couler.ir.diagnostics import did_you_mean
from couler.ir.workflow import Container
from couler.plugins import broken_plugin, distribution_of, find_plugins, load_plugin
from couler.steps.parameters import Parameters, sections

P = t.ParamSpec("P")
R = t.TypeVar("R")

GROUP = "couler.steps"


class ZooStep(t.Generic[P, R]):
    """A function that makes a step, as the zoo knows it."""

    def __init__(
        self, function: Callable[P, R], name: str, version: str, prefix: str | None = None
    ) -> None:
        self.fn: Callable[P, R] = function
        self.name = name
        self.version = version
        told = sections(inspect.getdoc(function) or "")
        self.summary = told[""].partition("\n")[0]
        self.example = doctest_code(told.get("Examples", ""))
        self.returns = _described(told.get("Returns", ""))
        self._prefix = prefix
        functools.update_wrapper(self, function)

    @functools.cached_property
    def parameters(self) -> Parameters:
        """What it takes; its annotations are read at the first use."""
        return Parameters(self.fn, self._prefix)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Add the step to the current scope and return its handle."""
        scope = current_scope()
        builder = scope.builder
        given, problems = self.parameters.bind(args, kwargs)
        if problems:
            # The function would stumble over what is missing, and tell the same mistake again.
            named = given.get("step_name")
            step = named if isinstance(named, str) and named else None
            where = f'step "{self.name}"' if step is None else f'step "{step}" ({self.name})'
            for problem in problems:
                message = f"{where}: {problem.message}"
                builder.report(problem.code, message, step=step or self.name)
            return t.cast(R, self._missed(builder, step))
        with builder.called_at(builder.here()):
            return t.cast("Callable[..., R]", self.fn)(**given)

    def _missed(self, builder: Builder, name: str | None) -> StepHandle:
        """Return what stands for a step that cannot be made, which has been reported."""
        scope = current_scope()
        action = Container(image="unknown", command=("true",))
        draft = Draft(scope, action, Returns(specs={}), builder.here())
        return _MissedStep(scope.add(draft, name or self.name.replace(".", "-")))

    def __repr__(self) -> str:
        return f"<couler zoo step {self.name} {self.version}>"


class _MissedStep(StepHandle):
    """Fits wherever a step or a value is asked for, so that its mistake is told once."""

    __slots__ = ()

    def _ir(self) -> values.Value:
        return UNKNOWN_VALUE

    @property
    def _spec(self) -> TypeSpec:
        return UNKNOWN

    def __getattr__(self, name: str) -> t.Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Expression(self._home, UNKNOWN_VALUE, UNKNOWN, name)


def zoo_step(
    name: str, *, version: str = "1", extra: str | None = None
) -> Callable[[Callable[P, R]], ZooStep[P, R]]:
    """Make a step of the zoo of a function that makes steps."""
    return lambda function: ZooStep(function, name, version, extra)


def _described(text: str) -> str:
    """Return what a section of a docstring says, without the type above it."""
    return " ".join(line.strip() for line in text.splitlines() if line.startswith(" "))


def doctest_code(text: str) -> str:
    """Return an example of a docstring as a program."""
    lines = [
        line[4:]
        for line in text.splitlines()
        if line.startswith((">>> ", "... ")) or line in (">>>", "...")
    ]
    return "\n".join(lines)


def step_names() -> tuple[str, ...]:
    """Return the names of all installed steps of the zoo; none is loaded."""
    return tuple(find_plugins(GROUP))


def get_step(name: str) -> ZooStep[..., t.Any]:
    """Load a step of the zoo by its name."""
    entry = _entry(name)
    loaded = load_plugin(entry)
    if not isinstance(loaded, ZooStep):
        raise broken_plugin(entry, f"{loaded!r:.60} is no step made by couler.steps.zoo_step")
    if loaded.name != name:
        raise broken_plugin(entry, f'it calls itself "{loaded.name}"')
    return loaded


def origin(name: str) -> str:
    """Return the distribution that a step of the zoo comes from."""
    return distribution_of(_entry(name))


def _entry(name: str) -> EntryPoint:
    plugins = find_plugins(GROUP)
    if name not in plugins:
        known = ", ".join(plugins) or "none"
        raise ConfigurationError(
            f'there is no step "{name}" in the zoo; there are: {known}.'
            f"{did_you_mean(name, plugins)}"
        )
    return plugins[name]

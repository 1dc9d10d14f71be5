"""Hooks, as programs write them: steps that run when a step or the run comes into a state."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from couler.dsl._callbacks import call_program
from couler.dsl._context import entered_scope
from couler.dsl.checks import shown
from couler.dsl.conditions import Condition, as_test
from couler.dsl.scope import Scope
from couler.ir.workflow import Hook

State: t.TypeAlias = t.Literal["running", "succeeded", "failed"]


@dataclass(frozen=True, slots=True)
class OnState:
    """Run a step when another one, or the run, comes into a state.

    Attributes
    ----------
    state
        `running`, `succeeded` or `failed`, or a condition such as
        `couler.own.status != "running"`.
    make
        Makes the step: a typed step without arguments, or a function that calls one.
    """

    state: State | Condition
    make: Callable[[], object]


AnyHook: t.TypeAlias = OnState | Mapping[State, Callable[[], object]]


def read_hooks(scope: Scope, given: object) -> tuple[Hook, ...]:
    """Return the hooks of the IR that an argument `hooks` stands for."""
    if isinstance(given, Mapping):
        entries: list[object] = [OnState(state, make) for state, make in given.items()]
    else:
        entries = list(given) if isinstance(given, list | tuple) else [given]
    return tuple(_hook(scope, entry) for entry in entries)


def _hook(scope: Scope, given: object) -> Hook:
    if not isinstance(given, OnState):
        raise ValueError(
            f"{shown(given)} is no hook; write a couler.OnState, or a dict of functions by state"
        )
    inner = Scope(scope.builder, scope)
    with entered_scope(inner):
        call_program("hooks", given.make)
    steps = inner.build()
    if len(steps) != 1:
        raise ValueError(f"a hook makes one step, not {len(steps)}; call one in its function")
    return Hook(when=_condition(scope, given.state), step=steps[0])


def _condition(scope: Scope, state: object) -> t.Any:
    from couler.dsl.own import own

    if isinstance(state, str):
        if state not in t.get_args(State):
            choices = ", ".join(t.get_args(State))
            raise ValueError(f"{state!r} is no state; there are {choices}")
        return as_test(own.status == state)._build(scope.resolve)
    return as_test(state)._build(scope.resolve)

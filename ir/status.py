"""When a step may start and how a scope ends (docs/semantics.md, sections 3 and 4)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.ir.graph import Graph
from couler.ir.policies import AnyOf, Dependency
from couler.ir.walk import implied_dependencies
from couler.ir.workflow import Step

State: t.TypeAlias = t.Literal["succeeded", "cached", "failed", "skipped", "omitted"]

_RAN: tuple[State, ...] = ("succeeded", "cached", "failed")


class Refusal(t.NamedTuple):
    """Why a step does not start."""

    state: t.Literal["omitted", "skipped"]
    reason: str


def refuse_start(step: Step, states: Mapping[str, State]) -> Refusal | None:
    """Return how a step ends without running, by the ends of the steps that it waits for."""
    skipped: Refusal | None = None
    for entry in (*step.depends_on, *implied_dependencies(step)):
        options = entry.options if isinstance(entry, AnyOf) else (entry,)
        if any(_is_met(option, states) for option in options):
            continue
        reason = " or ".join(_explain(option, states) for option in options)
        if not any(_asks_for_failure(option) for option in options):
            return Refusal("omitted", f"it needs {reason or 'one of no ends'}")
        skipped = Refusal("skipped", f"it needs {reason}")
    return skipped


def failed_branches(graph: Graph, states: Mapping[str, State]) -> frozenset[str]:
    """Return the steps whose branch is failed."""
    failed: set[str] = set()
    for name in graph.topological_order:
        if states[name] in _RAN:
            is_failed = states[name] == "failed"
        else:
            is_failed = not failed.isdisjoint(graph.predecessors[name])
        if is_failed:
            failed.add(name)
    return frozenset(failed)


def failed_leaves(graph: Graph, states: Mapping[str, State]) -> tuple[str, ...]:
    """Return the leaves whose branch is failed; a scope fails if and only if there are any."""
    failed = failed_branches(graph, states)
    return tuple(name for name in graph.leaves if name in failed)


def _is_met(option: str | Dependency, states: Mapping[str, State]) -> bool:
    if isinstance(option, Dependency):
        state = states[option.step]
        return option.on == "completion" or state == "failed"
    return option not in states or states[option] in ("succeeded", "cached", "skipped")


def _asks_for_failure(option: str | Dependency) -> bool:
    return isinstance(option, Dependency) and option.on == "failure"


def _explain(option: str | Dependency, states: Mapping[str, State]) -> str:
    wanted, name = (
        ("failure", option.step) if isinstance(option, Dependency) else ("success", option)
    )
    state = states[name]
    ended = f"was {state}" if state in ("cached", "skipped", "omitted") else state
    return f"the {wanted} of {name}, which {ended}"

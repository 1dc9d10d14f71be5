"""When a step may start and how a scope ends (docs/semantics.md, sections 3 and 4)."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.ir.graph import Graph
from couler.ir.policies import AnyOf, Dependency
from couler.ir.walk import implied_dependencies
from couler.ir.workflow import Step

State: t.TypeAlias = t.Literal["succeeded", "cached", "failed", "cancelled", "skipped", "omitted"]

CANCELLED = "the run was cancelled"

FAILED: t.Final = ("failed", "cancelled")
"""Ends of a step that ran, and not well."""


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


def failed_steps(graph: Graph, states: Mapping[str, State]) -> tuple[str, ...]:
    """Return the steps whose failure fails a scope; it fails if and only if there are any."""
    left, seen, failed = list(graph.leaves), set(graph.leaves), set[str]()
    while left:
        name = left.pop()
        if states[name] in FAILED:
            failed.add(name)
        elif states[name] in ("skipped", "omitted"):  # then its branch is that of those before
            new = set(graph.predecessors[name]) - seen
            seen |= new
            left += new
    return tuple(name for name in graph.topological_order if name in failed)


def _is_met(option: str | Dependency, states: Mapping[str, State]) -> bool:
    if isinstance(option, Dependency):
        state = states[option.step]
        return option.on == "completion" or state in FAILED
    return option not in states or states[option] in ("succeeded", "cached", "skipped")


def _asks_for_failure(option: str | Dependency) -> bool:
    return isinstance(option, Dependency) and option.on == "failure"


def _explain(option: str | Dependency, states: Mapping[str, State]) -> str:
    wanted, name = (
        ("failure", option.step) if isinstance(option, Dependency) else ("success", option)
    )
    state = states[name]
    ended = state if state in ("succeeded", "failed") else f"was {state}"
    return f"the {wanted} of {name}, which {ended}"

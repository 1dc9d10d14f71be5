"""What is the same at every look at a run: its workflow as Airflow runs it, and its scopes."""

from __future__ import annotations

import typing as t

from couler.backends.airflow.lower import lowered
from couler.backends.airflow.outputs import declare_results
from couler.ir.graph import Graph
from couler.ir.workflow import Step, Workflow


class Shape(t.NamedTuple):
    """A scope."""

    graph: Graph
    steps: tuple[Step, ...]
    """Each after those that it waits for."""
    names: frozenset[str]


class RunShape:
    """A workflow as Airflow runs it."""

    def __init__(self, workflow: Workflow) -> None:
        self.workflow = declare_results(lowered(workflow))
        self._scopes: dict[int, tuple[tuple[Step, ...], Shape]] = {}

    def of(self, steps: tuple[Step, ...]) -> Shape:
        """Return a scope; it is looked for once."""
        known = self._scopes.get(id(steps))
        if known is None:
            by_name, graph = {step.name: step for step in steps}, Graph.of(steps)
            ordered = tuple(by_name[name] for name in graph.topological_order)
            # The steps are kept as well, so that no others can come to be in their place.
            known = self._scopes[id(steps)] = steps, Shape(graph, ordered, frozenset(by_name))
        return known[1]

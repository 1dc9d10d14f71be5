"""Explicit graphs of the ancestor's style: paths of functions, and dependencies by name."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Sequence

from couler.dsl._callbacks import call_program
from couler.dsl._context import ProgramError
from couler.dsl.builder import current_scope
from couler.dsl.checks import shown
from couler.dsl.depends import DependsError, parse_depends
from couler.dsl.handles import OutputHandle
from couler.dsl.scope import Draft, Scope

R = t.TypeVar("R")


class Nodes:
    """The steps of a `dag`, by their names: the same name is the same step in all its paths."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._known: dict[tuple[str, int], Draft] = {}
        self._met: dict[str, int] = {}
        self._results: dict[int, tuple[Callable[..., object], list[Draft]]] = {}

    def find(self, draft: Draft, base: str) -> Draft | None:
        """Return the step that a function of another path has made under this name."""
        count = self._met[base] = self._met.get(base, 0) + 1
        known = self._known.get((base, count))
        if known is None:
            self._known[base, count] = draft
            return None
        if (known.action, known.inputs) != (draft.action, draft.inputs) and known.body is None:
            self._scope.builder.report(
                "CLR130",
                f'dag: two different steps are called "{base}"; give one another step_name',
                step=known.name,
            )
        return known

    def visit(self, function: Callable[[], object]) -> list[Draft]:
        """Make the steps of a function, or find those that another path has made by it."""
        seen = self._results.get(id(function))
        if seen is not None:
            return seen[1]
        self._met = {}
        with self._scope.recording() as made:
            call_program("couler.dag", function)
        steps = list(dict.fromkeys(made))
        self._results[id(function)] = (function, steps)  # kept, so that its id stays its own
        return steps


def dag(dependency_graph: Sequence[Sequence[Callable[[], object]]]) -> None:
    """Make steps that run along paths of a graph.

    Parameters
    ----------
    dependency_graph
        Paths: lists of functions that make steps, each of which waits for those of the function
        before it. The same `step_name` in several paths is the same step.

    Raises
    ------
    DefinitionError
        It is no list of lists of functions.

    Examples
    --------
    >>> import couler
    >>> def job(name):
    ...     return couler.run_container("busybox", ["echo"], args=[name], name=name)
    >>> with couler.Workflow("diamond") as wf:
    ...     couler.dag([
    ...         [lambda: job("a"), lambda: job("b"), lambda: job("d")],
    ...         [lambda: job("a"), lambda: job("c"), lambda: job("d")],
    ...     ])
    >>> [(step.name, step.depends_on) for step in wf.to_ir().steps]
    [('a', ()), ('b', ('a',)), ('d', ('b', 'c')), ('c', ('a',))]
    """
    if not isinstance(dependency_graph, list | tuple):
        raise ProgramError("CLR133", "couler.dag takes a list of lists of functions")
    scope = current_scope()
    scope.is_graph = True
    outer = scope.nodes
    scope.nodes = nodes = Nodes(scope)
    try:
        for path in dependency_graph:
            before: list[Draft] = []
            for function in path if isinstance(path, list | tuple) else [path]:
                if not callable(function):
                    raise ProgramError(
                        "CLR133",
                        f"couler.dag: {shown(function)} is no function; write lambda: ... around "
                        "the call that makes the step",
                    )
                steps = nodes.visit(function)
                for step in steps:
                    for other in before:
                        if other is not step and other.scope is step.scope:
                            step.wait_for(other)
                before = steps or before
    finally:
        scope.nodes = outer


def set_dependencies(
    step_function: Callable[[], R],
    dependencies: str | Sequence[str] | None = None,
    *,
    pass_outputs: bool | None = None,
) -> R:
    """Make the steps of a function wait for steps that are named, before or after this call.

    Parameters
    ----------
    step_function
        Makes the steps.
    dependencies
        Names of steps that must succeed; or a text such as `"a && (b.Failed || c.Succeeded)"`.
    pass_outputs
        Append the declared outputs of steps that a list names to the arguments of the steps. By
        default that is done unless `config_workflow(pass_outputs=False)` was called.

    Returns
    -------
    object
        What the function returned.

    Examples
    --------
    >>> import couler
    >>> def job(name):
    ...     return couler.run_container("busybox", ["echo"], args=[name], name=name)
    >>> with couler.Workflow("chain") as wf:
    ...     first = couler.set_dependencies(lambda: job("second"), ["first"])
    ...     second = couler.set_dependencies(lambda: job("first"))
    >>> wf.to_ir().steps[0].depends_on
    ('first',)
    """
    if not callable(step_function):
        raise ProgramError(
            "CLR133",
            f"set_dependencies: {shown(step_function)} is no function; write lambda: ... around "
            "the call that makes the step",
        )
    scope = current_scope()
    scope.is_graph = True
    with scope.recording() as made:
        result = call_program("set_dependencies", step_function)
    if dependencies is None:
        return result
    if isinstance(dependencies, str):
        try:
            parsed = parse_depends(dependencies)
        except DependsError as error:
            scope.builder.report(error.code, f"set_dependencies: {error}")
            return result
        for draft in made:
            draft.depends = [*draft.depends, *parsed]
        return result
    if not isinstance(dependencies, list | tuple | set | frozenset):
        scope.builder.report(
            "CLR131",
            f"set_dependencies: {shown(dependencies)} is neither a list of names of steps nor a "
            "text",
        )
        return result
    names = tuple(
        name._draft.name if isinstance(name, OutputHandle) else str(name)
        for name in t.cast("Sequence[object]", dependencies)
    )
    passes = scope.builder.pass_outputs if pass_outputs is None else pass_outputs
    for draft in made:
        draft.depends = [*draft.depends, *names]
        if passes:
            draft.pass_from = (*draft.pass_from, *names)
    return result

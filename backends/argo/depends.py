"""Start rules as Argo's `depends` logic (docs/semantics.md, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from couler.ir.policies import AnyOf, Dependency
from couler.ir.walk import implied_dependencies
from couler.ir.workflow import Step

ENDED = ("Succeeded", "Skipped", "Daemoned", "Failed", "Errored", "Omitted")


def depends(step: Step, steps: Mapping[str, Step], task: Callable[[str], str]) -> str:
    """Return the `depends` of a step's task; empty for a step that waits for none.

    Parameters
    ----------
    step
        Any step.
    steps
        The steps of its scope by name.
    task
        Gives the name of a step's task.
    """
    clauses = [_clause(entry, steps, task) for entry in step.depends_on]
    clauses += [_success(name, steps, task) for name in implied_dependencies(step) if name in steps]
    return " && ".join(dict.fromkeys(clauses))


def _clause(
    entry: str | Dependency | AnyOf, steps: Mapping[str, Step], task: Callable[[str], str]
) -> str:
    if isinstance(entry, str):
        return _success(entry, steps, task)
    if isinstance(entry, AnyOf):
        options = (_clause(option, steps, task) for option in entry.options)
        return "(" + " || ".join(options) + ")"
    name = task(entry.step)
    if entry.on == "failure":
        return f"({name}.Failed || {name}.Errored)"
    return "(" + " || ".join(f"{name}.{state}" for state in ENDED) + ")"


def _success(name: str, steps: Mapping[str, Step], task: Callable[[str], str]) -> str:
    """Met by success and by a skip.

    A step that asked for a failure and met none is skipped, but Argo calls it omitted, as it does
    one whose needs did not succeed; what tells them apart is whether those needs are met.
    """
    asks_for_failure = any(not _is_success(entry) for entry in steps[name].depends_on)
    if not asks_for_failure:
        return task(name)
    needs = [_clause(entry, steps, task) for entry in steps[name].depends_on if _is_success(entry)]
    needs += [
        _success(other, steps, task)
        for other in implied_dependencies(steps[name])
        if other in steps
    ]
    omitted = " && ".join([f"{task(name)}.Omitted", *needs])
    if needs:
        omitted = f"({omitted})"
    states = " || ".join(f"{task(name)}.{state}" for state in ("Succeeded", "Skipped", "Daemoned"))
    return f"({states} || {omitted})"


def _is_success(entry: str | Dependency | AnyOf) -> bool:
    if isinstance(entry, AnyOf):
        return all(isinstance(option, str) for option in entry.options)
    return isinstance(entry, str)

"""Places of instances in a run: what they are in, and what a user means by a name."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from couler.errors import StepNotFoundError
from couler.ir.diagnostics import did_you_mean
from couler.ir.graph import Graph
from couler.ir.grouped import inner_names
from couler.ir.semantics.outputs import Instance
from couler.ir.semantics.status import State, failed_steps
from couler.ir.source_map import NO_CHANGE, HasStatus, SourceMap
from couler.ir.walk import HANDLER_PREFIX, PathPart, StepPath, without_places
from couler.ir.workflow import Group, Step, Workflow

_LISTED = 10
"""How many of the steps that failed are named."""


def around(path: StepPath) -> Iterator[StepPath]:
    """Yield what an instance is in, from the outside in: groups, foreachs, items, loops."""
    for depth, part in enumerate(path):
        outer = path[:depth]
        for shape in dict.fromkeys((PathPart(part.name), part._replace(round=None), part)):
            found = StepPath((*outer, shape))
            if found != path:
                yield found


def failure_text(workflow: Workflow, ends: Mapping[str, HasStatus]) -> str | None:
    """Return which steps made a run fail, the innermost, without those that others handled."""
    failed = defaultdict[StepPath, list[StepPath]](list)
    for path in (StepPath.parse(text) for text, end in ends.items() if end.status == "failed"):
        failed[path.parent / path[-1].name].append(path)
    causes = _causes(workflow.steps, StepPath(), ends, failed)
    for handler in workflow.exit_handlers:
        for path in failed[StepPath() / f"{HANDLER_PREFIX}{handler.name}"]:
            causes += _causes(handler.steps, path, ends, failed) or [path]
    more = f" and {len(causes) - _LISTED} more" if len(causes) > _LISTED else ""
    return f"failed: {', '.join(map(str, causes[:_LISTED]))}{more}" if causes else None


def _causes(
    steps: tuple[Step, ...],
    scope: StepPath,
    ends: Mapping[str, HasStatus],
    failed: defaultdict[StepPath, list[StepPath]],
) -> list[StepPath]:
    """Return the innermost instances whose failure failed a scope."""
    states: dict[str, State] = {}
    found: dict[str, list[StepPath]] = {}
    for step in steps:
        name, path = step.name, scope / step.name
        inner = step.action.steps if isinstance(step.action, Group) else ()
        if Instance(step, path, ()).is_shown:
            states[name] = t.cast(
                "State", ends[str(path)].status if str(path) in ends else "omitted"
            )
            outer = {whole for one in failed[path] for whole in around(one)}
            found[name] = [
                cause
                for one in failed[path]
                if one not in outer
                for cause in _causes(inner, one, ends, failed)
                or [it for beside in inner_names(step) for it in failed[scope / beside]]
                or [one]
            ]
        else:
            found[name] = _causes(inner, scope, ends, failed)
            has_run = any(str(it) in ends for it, _ in _steps_below(inner, scope))
            states[name] = "failed" if found[name] else "succeeded" if has_run else "omitted"
    return [cause for name in failed_steps(Graph.of(steps), states) for cause in found[name]]


def covers(outer: StepPath, path: StepPath) -> bool:
    """Return whether a path is another one or inside of it; what has no item stands for all."""
    return len(path) >= len(outer) and all(
        part.name == wanted.name
        and wanted.item in (None, part.item)
        and wanted.round in (None, part.round)
        for wanted, part in zip(outer, path, strict=False)
    )


def shown_steps(workflow: Workflow) -> dict[StepPath, Step | None]:
    """Return a workflow's steps by their paths as users see them, without items and rounds."""
    found: dict[StepPath, Step | None] = dict(_steps_below(workflow.steps, StepPath()))
    for handler in workflow.exit_handlers:
        path = StepPath((PathPart(HANDLER_PREFIX + handler.name),))
        found[path] = None
        found.update(_steps_below(handler.steps, path))
    return found


def _steps_below(steps: Iterable[Step], path: StepPath) -> Iterator[tuple[StepPath, Step]]:
    for step in steps:
        instance = Instance(step, path / step.name, ())
        at = instance.path if instance.is_shown else path
        if instance.is_shown:
            yield at, step
        if isinstance(step.action, Group):
            yield from _steps_below(step.action.steps, at)


def find_places(
    workflow: Workflow, text: str, source_map: SourceMap = NO_CHANGE
) -> tuple[StepPath, ...]:
    """Return the paths of what a user names: a path, or the name of steps at any depth."""
    paths = tuple(shown_steps(workflow))
    asked = _asked(text)
    if asked and without_places(asked) in paths:
        return (asked,)
    if found := source_map.find(text):
        return found
    found = tuple(path for path in paths if path[-1].name == text)
    found += tuple(path for path in source_map.named(text) if path not in found)
    if not found:
        raise _none(workflow, text, paths, source_map)
    return found


def find_place(workflow: Workflow, text: str, source_map: SourceMap) -> str:
    """Return the path in the run of what a user gives the path of."""
    if not source_map or without_places(_asked(text)) in shown_steps(workflow):
        return text
    if text in source_map.removed:
        raise _none(workflow, text, (), source_map)
    found = source_map.find(text)
    if len(found) > 1:
        raise StepNotFoundError(
            f'the step "{text}" of the program is several of the run: '
            f"{', '.join(map(str, found))}. Name one of them"
        )
    return str(found[0]) if found else text


def refuse_unknown(workflow: Workflow, text: str, source_map: SourceMap = NO_CHANGE) -> None:
    """Refuse what is no path of a step of a workflow."""
    paths = tuple(shown_steps(workflow))
    if without_places(_asked(text)) in paths:
        return
    inside = [str(path) for path in paths if path[-1].name == text]
    inside += [str(path) for path in source_map.named(text)]
    if inside:
        raise StepNotFoundError(
            f'the workflow "{workflow.name}" has the step "{text}" inside of others: '
            f"{', '.join(inside)}"
        )
    raise _none(workflow, text, paths, source_map, with_names=False)


def _asked(text: str) -> StepPath:
    try:
        return StepPath.parse(text)
    except ValueError:
        return StepPath()


def _none(
    workflow: Workflow,
    text: str,
    paths: Iterable[StepPath],
    source_map: SourceMap,
    *,
    with_names: bool = True,
) -> StepNotFoundError:
    if text in source_map.removed:
        return StepNotFoundError(f'the step "{text}" is not in the run: {source_map.removed[text]}')
    known = [*map(str, paths), *source_map.steps]
    if with_names:
        known += [path.rpartition("/")[2] for path in known]
    hint = did_you_mean(text, dict.fromkeys(known))
    return StepNotFoundError(f'the workflow "{workflow.name}" has no step "{text}".{hint}')

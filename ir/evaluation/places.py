"""Places of instances in a run: what they are in, and what a user means by a name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from couler.errors import StepNotFoundError
from couler.ir.diagnostics import did_you_mean
from couler.ir.evaluation.instances import Instance
from couler.ir.paths import HANDLER_PREFIX, PathPart, StepPath
from couler.ir.workflow import Group, Step, Workflow


def around(path: StepPath) -> Iterator[StepPath]:
    """Yield what an instance is in, from the outside in: groups, foreachs, items, loops.

    Examples
    --------
    >>> [str(one) for one in around(StepPath.parse("g/m[2]@1"))]
    ['g', 'g/m', 'g/m[2]']
    """
    for depth, part in enumerate(path):
        outer = path[:depth]
        for shape in dict.fromkeys((PathPart(part.name), part._replace(round=None), part)):
            found = StepPath((*outer, shape))
            if found != path:
                yield found


def covers(outer: StepPath, path: StepPath) -> bool:
    """Return whether a path is another one or inside of it; what has no item stands for all.

    Examples
    --------
    >>> covers(StepPath.parse("m/fit"), StepPath.parse("m[2]/fit@1"))
    True
    >>> covers(StepPath.parse("m[1]"), StepPath.parse("m[2]/fit@1"))
    False
    """
    return len(path) >= len(outer) and all(
        part.name == wanted.name
        and wanted.item in (None, part.item)
        and wanted.round in (None, part.round)
        for wanted, part in zip(outer, path, strict=False)
    )


def without_places(path: StepPath) -> StepPath:
    """Return a path without items and rounds."""
    return StepPath(PathPart(part.name) for part in path)


def shown_steps(workflow: Workflow) -> dict[StepPath, Step | None]:
    """Return a workflow's steps by their paths as users see them, without items and rounds.

    Exit handlers are among them, as no step.
    """
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


def find_places(workflow: Workflow, text: str) -> tuple[StepPath, ...]:
    """Return the paths of what a user names: a path, or the name of steps at any depth.

    Raises
    ------
    StepNotFoundError
        There is no such step; the message names the nearest.
    """
    paths = tuple(shown_steps(workflow))
    asked = _asked(text)
    if asked and without_places(asked) in paths:
        return (asked,)
    found = tuple(path for path in paths if path[-1].name == text)
    if not found:
        raise _none(workflow, text, [*map(str, paths), *(path[-1].name for path in paths)])
    return found


def refuse_unknown(workflow: Workflow, text: str) -> None:
    """Refuse what is no path of a step of a workflow.

    Raises
    ------
    StepNotFoundError
        The message names the nearest, or the paths of steps of that name.
    """
    paths = tuple(shown_steps(workflow))
    if without_places(_asked(text)) in paths:
        return
    inside = [str(path) for path in paths if path[-1].name == text]
    if inside:
        raise StepNotFoundError(
            f'the workflow "{workflow.name}" has the step "{text}" inside of others: '
            f"{', '.join(inside)}"
        )
    raise _none(workflow, text, map(str, paths))


def _asked(text: str) -> StepPath:
    try:
        return StepPath.parse(text)
    except ValueError:
        return StepPath()


def _none(workflow: Workflow, text: str, known: Iterable[str]) -> StepNotFoundError:
    hint = did_you_mean(text, dict.fromkeys(known))
    return StepNotFoundError(f'the workflow "{workflow.name}" has no step "{text}".{hint}')

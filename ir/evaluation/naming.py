"""What of a workflow a user names: a step by its path, or by its name wherever it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from couler.errors import StateError
from couler.ir import workflow as ir
from couler.ir.diagnostics import did_you_mean
from couler.ir.paths import HANDLER_PREFIX, PathPart, StepPath


def named_paths(workflow: ir.Workflow, text: str) -> tuple[StepPath, ...]:
    """Return the paths that a user means.

    Parameters
    ----------
    workflow
        The workflow.
    text
        A path, in which what has no item or round stands for all of them; or a name of steps at
        any depth.

    Raises
    ------
    StateError
        There is no such step.

    Examples
    --------
    >>> from couler.ir.workflow import Container, Step, Workflow
    >>> fit = Step(name="fit", action=Container(image="busybox", command=("true",)))
    >>> [str(path) for path in named_paths(Workflow(name="w", steps=(fit,)), "fit[2]")]
    ['fit[2]']
    """
    paths = list(_shown_paths(workflow))
    try:
        asked = StepPath.parse(text)
    except ValueError:
        asked = StepPath()
    if asked and StepPath(PathPart(part.name) for part in asked) in paths:
        return (asked,)
    found = tuple(path for path in paths if path[-1].name == text)
    if not found:
        known = dict.fromkeys([*map(str, paths), *(path[-1].name for path in paths)])
        hint = did_you_mean(text, known)
        raise StateError(f'the workflow "{workflow.name}" has no step "{text}".{hint}')
    return found


def covers(outer: StepPath, path: StepPath) -> bool:
    """Return whether a path is another one or inside of it; what has no item stands for all.

    Examples
    --------
    >>> each = StepPath.parse("each")
    >>> covers(each, StepPath.parse("each[3]/fit")), covers(StepPath.parse("each[2]"), each)
    (True, False)
    """
    return len(path) >= len(outer) and all(
        part.name == around.name
        and around.item in (None, part.item)
        and around.round in (None, part.round)
        for around, part in zip(outer, path, strict=False)
    )


def _shown_paths(workflow: ir.Workflow) -> Iterator[StepPath]:
    """Yield the paths of a workflow's steps, without items and rounds, as users see them."""
    yield from _paths_below(workflow.steps, StepPath())
    for handler in workflow.exit_handlers:
        path = StepPath((PathPart(HANDLER_PREFIX + handler.name),))
        yield path
        yield from _paths_below(handler.steps, path)


def _paths_below(steps: Iterable[ir.Step], path: StepPath) -> Iterator[StepPath]:
    for step in steps:
        is_hidden = isinstance(step.action, ir.Group) and step.action.transparent
        inner = path if is_hidden else path / step.name
        if not is_hidden:
            yield inner
        if isinstance(step.action, ir.Group):
            yield from _paths_below(step.action.steps, inner)

"""Order: steps that wait for others, and for how these end."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Iterator

from couler.dsl._context import ProgramError, current
from couler.dsl.handles import OutputHandle

if t.TYPE_CHECKING:
    from couler.dsl.scope import Draft, Outcome


class Ending:
    """How a step must end for another to start; made by `failure`, `completion` and `any_of`."""

    __slots__ = ("options",)

    def __init__(self, *options: tuple[Draft, Outcome]) -> None:
        self.options = options

    def __rshift__(self, after: t.Any) -> t.Any:
        chain(self, after)
        return after


def chain(*steps: t.Any) -> None:
    """Make steps wait for one another, as `a >> b >> c` does.

    Parameters
    ----------
    steps
        Handles or lists of handles; each waits for all of those before it.
    """
    for before, after in itertools.pairwise(steps):
        for last in _drafts(after):
            for options in _endings(before):
                _connect(options, last)


def failure(step: t.Any) -> Ending:
    """Wait for a step to fail: `failure(train) >> alert`."""
    return Ending(*((draft, "failure") for draft in _drafts(_one(step))))


def completion(step: t.Any) -> Ending:
    """Wait for a step to end in any way: `completion(train) >> clean`."""
    return Ending(*((draft, "completion") for draft in _drafts(_one(step))))


def any_of(*steps: t.Any) -> Ending:
    """Wait for one of several steps or endings: `any_of(a, failure(b)) >> c`."""
    return Ending(*(option for step in steps for options in _endings(step) for option in options))


def _endings(steps: t.Any) -> Iterator[tuple[tuple[Draft, Outcome], ...]]:
    if isinstance(steps, Ending):
        yield steps.options
    elif isinstance(steps, OutputHandle):
        yield ((steps._draft, "success"),)
    elif isinstance(steps, list | tuple):
        for step in steps:
            yield from _endings(step)
    else:
        _refuse_edge(steps)


def _drafts(steps: t.Any) -> Iterator[Draft]:
    if isinstance(steps, OutputHandle):
        yield steps._draft
    elif isinstance(steps, list | tuple):
        for step in steps:
            yield from _drafts(step)
    else:
        _refuse_edge(steps)


def _one(step: object) -> object:
    if not isinstance(step, OutputHandle):
        _refuse_edge(step)
        return ()
    return step


def _refuse_edge(step: object) -> None:
    builder = current().scope
    message = f"only steps can wait for steps, not {step!r:.60}"
    if builder is None:
        raise ProgramError("CLR116", message)
    builder.builder.report("CLR116", message)


def _connect(options: tuple[tuple[Draft, Outcome], ...], after: Draft) -> None:
    """Add an edge; between scopes it joins the groups that lie side by side."""
    if len(options) == 1:
        before, outcome = options[0]
        if before.scope is after.scope:
            after.wait_for(before if outcome == "success" else options)
            return
    around = list(after.scope.outwards())
    lifted = []
    for before, outcome in options:
        while before.scope not in around:
            owner = before.scope.owner
            if owner is None:
                before.scope.builder.report(
                    "CLR118", f'step "{before.name}" belongs to another workflow', step=after.name
                )
                return
            before.scope.is_pinned = True
            before = owner
        lifted.append((before, outcome))
    meeting = max((around.index(before.scope) for before, _ in lifted), default=0)
    for scope in around[:meeting]:
        assert scope.owner is not None
        after = scope.owner
    if any(before is after for before, _ in lifted):
        after.scope.builder.report(
            "CLR117", f'step "{after.name}" cannot wait for a step inside itself', step=after.name
        )
        return
    is_plain = len(lifted) == 1 and lifted[0][1] == "success"
    after.wait_for(lifted[0][0] if is_plain else tuple(lifted))

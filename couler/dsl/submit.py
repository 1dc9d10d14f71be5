"""Handing a workflow over: to an engine, to a submitter, or to the command line."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

from couler.dsl._context import ProgramError, current, set_scope, set_settings
from couler.dsl.workflow import Workflow
from couler.ir.diagnostics import Diagnostic


@t.runtime_checkable
class Submitter(t.Protocol):
    """Anything that takes a workflow: what `couler.run` is given.

    A program, or a package of a third party, has one as soon as it has a class with this method.
    `workflow.to_ir()` is the workflow as data, `workflow.compile(engine)` what an engine takes.

    Examples
    --------
    >>> import couler
    >>> class Printer:
    ...     def submit(self, workflow):
    ...         print([step.name for step in workflow.to_ir().steps])
    >>> _ = couler.run_container("busybox", ["true"], name="hello")
    >>> couler.run(Printer())
    ['hello']
    """

    def submit(self, workflow: Workflow, /) -> object:
        """Take a workflow; what is returned is what `couler.run` returns."""
        ...


def found_so_far(workflows: Iterable[Workflow]) -> tuple[Diagnostic, ...]:
    """Return what was found wrong in workflows, and in the one that is being built."""
    builders = [workflow._builder for workflow in workflows]
    scope = current().scope
    if scope is not None:  # one outside of any block may have no step yet
        builders.append(scope.builder)
    return tuple(one for builder in dict.fromkeys(builders) for one in builder.diagnostics)


def run(submitter: object = None) -> t.Any:
    """Hand over the workflow that the program has built outside of any `with Workflow`.

    Afterwards the program begins anew, also if the submitter raises.

    Parameters
    ----------
    submitter
        An object, or a class without arguments, with a method `submit(workflow)`. By default the
        one of `set_default_submitter`; without one, the workflow runs on this machine.

    Returns
    -------
    object
        What the submitter returns. None under `couler compile` and the like, which take the
        workflow in place of the submitter.

    Raises
    ------
    DefinitionError
        The program has made no step, or the submitter has no method `submit`.
    """
    context = current()
    workflow = _implicit()
    set_scope(None)
    if workflow is None:
        raise ProgramError(
            "CLR135",
            "couler.run: there is no step to run. Steps made in a `with couler.Workflow` "
            "block are run by the method run() of that workflow",
        )
    if context.collected is not None:
        return None
    chosen = submitter if submitter is not None else context.settings.submitter
    if chosen is None:
        return workflow.run()
    if isinstance(chosen, type):
        chosen = chosen()
    if not isinstance(chosen, Submitter):
        raise ProgramError(
            "CLR135",
            f"couler.run: {chosen!r:.60} is no submitter; it needs a method submit(workflow)",
        )
    return chosen.submit(workflow)


def set_default_submitter(submitter: object) -> None:
    """Set the submitter that `couler.run()` uses if it is given none."""
    set_settings(current().settings._replace(submitter=submitter))


def _implicit() -> Workflow | None:
    """Return the workflow that the program builds outside of any block, if it has steps."""
    scope = current().scope
    if scope is None or not scope.builder.implicit:
        return None
    workflow = scope.builder.workflow
    return workflow if scope.builder.root.drafts else None

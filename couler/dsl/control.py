"""Which steps run: conditions on steps, groups, and the merge of branches."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Sequence

from couler.dsl._callbacks import call_program
from couler.dsl._context import Block, ProgramError, current, entered_scope
from couler.dsl.builder import current_scope
from couler.dsl.checks import name_step
from couler.dsl.conditions import Condition, as_test
from couler.dsl.handles import (
    Defaulted,
    Expression,
    StepHandle,
    Value,
    as_value,
    home_of,
    resolve_in,
    spec_of_argument,
)
from couler.dsl.options import step_fields
from couler.dsl.scope import Draft, Scope, new_group
from couler.dsl.step_options import StepOptions
from couler.dsl.types import JSON, STR, one_of
from couler.ir import values

R = t.TypeVar("R")


class When(Block, t.Generic[R]):
    """A branch: the steps made in its `with` block run where its condition holds.

    Attributes
    ----------
    result
        What the function of the branch returned; None for a block.
    """

    def __init__(self, condition: Condition, result: R) -> None:
        self.result = result
        self._condition = condition

    @t.overload
    def otherwise(self) -> When[None]: ...

    @t.overload
    def otherwise(self, function: Callable[[], R]) -> When[R]: ...

    def otherwise(self, function: Callable[[], t.Any] | None = None) -> When[t.Any]:
        """Return the branch for where the condition does not hold."""
        _forget(self)
        if function is None:
            return when(~self._condition)
        return when(~self._condition, function)

    def __enter__(self) -> When[R]:
        scope = current_scope()
        scope.builder.unopened.pop(id(self), None)
        known = self._condition._known()
        if known is not True:
            key = _position(self._condition)
            condition = self._condition._build(scope.resolve)
            self._open(scope.under(condition, key))
        return self


def _forget(branch: When[t.Any]) -> None:
    """Expect no `with` block of a branch any more."""
    scope = current().scope
    if scope is not None:
        scope.builder.unopened.pop(id(branch), None)


def _position(condition: Condition) -> object:
    """Return what the conditions on the same outputs have in common."""
    return ("when", frozenset((value._home, value._ir()) for value in condition._values()))


@t.overload
def when(condition: Condition | bool | object) -> When[None]: ...


@t.overload
def when(condition: Condition | bool | object, function: Callable[[], R]) -> When[R]: ...


def when(condition: object, function: Callable[[], t.Any] | None = None) -> When[t.Any]:
    """Make steps run only where a condition holds.

    Parameters
    ----------
    condition
        A comparison of values of the workflow. One of plain Python values is decided now.
    function
        Makes the steps. Without it, the steps are those of the `with` block.

    Returns
    -------
    When
        The branch, for `with` and `.otherwise()`; `.result` is what the function returned.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("branches", size=3) as wf:
    ...     with couler.when(wf.params.size > 2) as large:
    ...         big = couler.run_container("busybox", ["true"], name="big")
    ...     with large.otherwise():
    ...         small = couler.run_container("busybox", ["true"], name="small")
    >>> [step.when.kind for step in wf.to_ir().steps]
    ['compare', 'not']
    """
    branch: When[t.Any] = When(as_test(condition), None)
    if function is None:
        scope = current().scope
        if scope is not None:
            scope.builder.expect_block(branch, "couler.when(...) without a function")
        return branch
    if branch._condition._known() is False:
        return branch
    with branch:
        branch.result = call_program("couler.when", function)
    return branch


def first_of(*options: t.Any) -> t.Any:
    """Return the first of several values whose step ran: the merge of the branches of a `when`.

    Parameters
    ----------
    options
        Values of the workflow, of the same type; the last may be a plain default.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("branches", size=3) as wf:
    ...     with couler.when(wf.params.size > 2) as large:
    ...         big = couler.run_container("busybox", ["echo", "big"])
    ...     with large.otherwise():
    ...         small = couler.run_container("busybox", ["echo", "small"])
    ...     wf.output("which", couler.first_of(big, small))
    """
    specs = [spec_of_argument(option) for option in options]
    spec = one_of(specs) if specs else JSON
    name = next((option._hint() for option in options if isinstance(option, Value)), "value")
    home = home_of(options)
    value = values.FirstOf(options=tuple(resolve_in(home, option) for option in options))
    has_default = bool(options) and not isinstance(options[-1], Value)
    return (Defaulted if has_default else Expression)(home, value, spec, name)


def text(template: str, *values_: object, **named: object) -> t.Any:
    """Return text with values of the workflow in it.

    Parameters
    ----------
    template
        As for `str.format`: `{}` and `{name}`; `{{` and `}}` stand for single braces.
    values_, named
        What to put in; each as it travels: text as it is, other values as JSON.

    Raises
    ------
    DefinitionError
        The template is no text, or its holes and the values do not fit together.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("greeting", person="you") as wf:
    ...     hello = couler.run_container(
    ...         "busybox", ["echo"], args=[couler.text("hello {}!", wf.params.person)])
    """
    given: dict[str, object] = {**{str(i): one for i, one in enumerate(values_)}, **named}
    unused = dict(given)
    parts: list[str | values.Value] = []
    count = 0
    for plain, name, spec, conversion in _fields_of(template):
        if plain:
            parts.append(plain)
        if name is None:
            continue
        if name == "":
            name, count = str(count), count + 1
        if name not in given and name.isdigit():
            raise ProgramError("CLR134", f"couler.text: there is no value for {{{name}}}")
        if spec or conversion or name not in given:
            raise ProgramError(
                "CLR134",
                f"couler.text: {{{name}}} must be the position or name of a value, without a "
                "format. Double the braces that are to stay",
            )
        unused.pop(name, None)
        parts.append(as_value(given[name]))
    if unused:
        raise ProgramError(
            "CLR134",
            f"couler.text: no hole of the template takes {next(iter(unused.values()))!r:.60}. "
            "Write {} where it is to stand",
        )
    return Expression(home_of(()), values.Template(parts=tuple(parts)), STR, "text")


def _fields_of(template: object) -> list[tuple[str, str | None, str | None, str | None]]:
    """Return the pieces of a template: plain text, and what its hole says."""
    import string

    if not isinstance(template, str):
        raise ProgramError(
            "CLR134",
            f"couler.text: the template is {template!r:.60} and no text. Write the text first, and "
            'then what to put in: couler.text("{}", value)',
        )
    try:
        return list(string.Formatter().parse(template))
    except ValueError as error:
        raise ProgramError(
            "CLR134", f"couler.text: {error}. Double the braces that are to stay"
        ) from error


def or_else(value: R, default: R) -> R:
    """Return a value, or a default where the step that makes it did not run.

    The same as `value.or_else(default)`, for type checkers that take a handle for the value.

    Parameters
    ----------
    value
        A value of the workflow.
    default
        A JSON value or another value of the workflow.
    """
    return t.cast(R, value.or_else(default)) if isinstance(value, Value) else value


class GroupBlock(Block, StepHandle):
    """A group while its block is open, and its step afterwards."""

    def __init__(self, draft: Draft, inner: Scope) -> None:
        super().__init__(draft)
        self._inner = inner

    def __enter__(self) -> GroupBlock:
        self._open(entered_scope(self._inner))
        return self


def group(name: str, **options: t.Unpack[StepOptions]) -> GroupBlock:
    """Make the steps of a `with` block one step: a nested graph.

    The block can read values from outside, and its values can be read outside.

    Parameters
    ----------
    name
        Name of the group.
    options
        `retry`, `timeout`, `max_parallel`, `labels` and the like, for the group as a whole.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("nested") as wf:
    ...     with couler.group("prepare") as prepare:
    ...         fetch = couler.run_container("busybox", ["date"], name="fetch")
    ...     show = couler.run_container("busybox", ["echo"], args=[fetch], name="show")
    >>> [step.name for step in wf.to_ir().steps]
    ['prepare', 'show']
    """
    scope = current_scope()
    name = name_step(scope.builder, "group", name)
    draft, inner = new_group(scope)
    if options:
        draft.options = step_fields(scope.builder, options, name)
    scope.add(draft, name)
    return GroupBlock(draft, inner)


def concurrent(function_list: Sequence[Callable[[], R]], subtasks: bool = False) -> list[R]:
    """Run what several functions make side by side.

    Parameters
    ----------
    function_list
        Functions without arguments that make steps.
    subtasks
        Put the steps of each function into a group of its own.

    Returns
    -------
    list
        What the functions returned, in their order.
    """
    if not isinstance(function_list, list | tuple):
        raise ProgramError(
            "CLR133",
            "couler.concurrent takes a list of functions, such as "
            "[lambda: train(1), lambda: train(2)]",
        )
    scope = current_scope()
    position = object()
    results: list[R] = []
    for function in function_list:
        with scope.branch(position):
            if subtasks:
                name = getattr(function, "__name__", "<lambda>")
                with group("task" if name.startswith("<") else name):
                    results.append(call_program("couler.concurrent", function))
            else:
                results.append(call_program("couler.concurrent", function))
    return results

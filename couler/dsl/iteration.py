"""Steps that run for each item of a list."""

from __future__ import annotations

import inspect
import typing as t
from collections.abc import Callable, Mapping, Sequence

from couler.dsl._callbacks import call_program
from couler.dsl._context import ProgramError, current
from couler.dsl._nodes import UNKNOWN_VALUE
from couler.dsl.arguments import make_inputs, report_type
from couler.dsl.bodies import lift, only_step, outside, run_body
from couler.dsl.builder import current_scope
from couler.dsl.checks import checked_count, shown
from couler.dsl.handles import Expression, OutputHandle, StepHandle, Value, literal
from couler.dsl.ranges import from_range
from couler.dsl.scope import Scope, free_among, new_group
from couler.dsl.types import INT, JSON, UNKNOWN, TypeSpec, json_form, spec_of_value
from couler.ir import values
from couler.ir.policies import Foreach
from couler.ir.ranges import known_items

if t.TYPE_CHECKING:
    from couler.dsl.step import TypedStep

R = t.TypeVar("R")


class Items(t.NamedTuple):
    """A list to iterate over."""

    value: values.Value
    spec: TypeSpec
    """Type of one item."""
    length: int | None
    """If it is known while the workflow is built."""
    plain: Sequence[object] | None
    """The items, if they are known."""


_UNKNOWN_ITEMS = Items(UNKNOWN_VALUE, UNKNOWN, None, None)
"""Stand for a list that was reported as wrong."""


def read_items(scope: Scope, given: object) -> Items:
    """Return the items of an argument of `map`; report one that is no list."""
    if isinstance(given, Value):
        value = scope.bring(given)
        spec = value._spec
        if spec.wire not in ("list", "json") and not spec.is_untyped:
            scope.builder.report(
                "CLR127", f"{given!r} is {spec.label} and no list, so map cannot go over it"
            )
            return _UNKNOWN_ITEMS
        made = value._ir()
        item = spec if spec is UNKNOWN else spec.item or JSON
        known = known_items(made)
        if known is not None:
            return Items(made, item, len(known), known)
        length = value._draft.length if isinstance(value, OutputHandle) else None
        return Items(made, item, length, None)
    if isinstance(given, range) and given.step == 1:
        return Items(from_range(given), INT, max(given.stop - given.start, 0), given)
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__"):
        scope.builder.report(
            "CLR127",
            f"{shown(given)} is no list, so map cannot go over it; "
            "arguments that are the same for every item are fixed by partial()",
        )
        return _UNKNOWN_ITEMS
    if isinstance(given, set | frozenset):
        scope.builder.report(
            "CLR127", f"{shown(given)} has no order, so map cannot go over it; write sorted(...)"
        )
        return _UNKNOWN_ITEMS
    items = list(t.cast("t.Iterable[object]", given))
    specs = {spec_of_value(json_form(item)) for item in items}
    spec = specs.pop() if len(specs) == 1 else JSON
    return Items(literal(items), spec, len(items), items)


def level(scope: Scope, what: str, lists: dict[str, Items]) -> int | None:
    """Return the number of items, if it is known; report and cut lists that differ."""
    lengths = {name: one.length for name, one in lists.items() if one.length is not None}
    if not lengths:
        return None
    shortest = min(lengths.values())
    if max(lengths.values()) > shortest:
        shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        scope.builder.report("CLR126", f"{what}: the lists must be equally long, but {shown}")
        for name, one in lists.items():
            if one.plain is not None:  # or verification would tell of it once more
                plain = list(one.plain[:shortest])
                lists[name] = Items(literal(plain), one.spec, shortest, plain)
    return shortest


def map(  # named as the ancestor's
    function: Callable[..., R], *lists: object, max_parallel: int | None = None
) -> R | list[R]:
    """Run what a function makes once for each item of one or more lists.

    Parameters
    ----------
    function
        Is called once, with a handle to an item of each list; makes the steps.
    lists
        Lists, ranges, tuples, or values of the workflow that are lists; all as long.
    max_parallel
        How many items run at the same time; None for no bound.

    Returns
    -------
    list
        A handle to the list of what the function returns, in the order of the items.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("squares") as wf:
    ...     sizes = couler.map(
    ...         lambda n: couler.run_container("busybox", ["expr", n, "*", n], name="square"),
    ...         range(3))
    ...     total = couler.run_container("busybox", ["echo"], args=[sizes], name="total")
    >>> [(step.name, step.foreach is not None) for step in wf.to_ir().steps]
    [('square', True), ('total', False)]
    """
    scope = current_scope()
    if not lists:
        raise ProgramError("CLR127", "couler.map needs a function and at least one list")
    _check_function(function)
    if any(_holds_values(one) for one in lists):
        return _unrolled(scope, "map", function, lists)
    group, inner = new_group(scope)
    names = _item_names(function, len(lists))
    items = {name: read_items(scope, given) for name, given in zip(names, lists, strict=True)}
    handles = []
    for name, one in items.items():
        item = values.ItemRef(name=name)
        inner.add_input(name, item, one.spec)
        handles.append(Expression(inner, values.ParamRef(name=name), one.spec, name))
    result = run_body(inner, lambda: call_program("couler.map", function, *handles))
    if not inner.drafts:
        scope.builder.report("CLR128", "couler.map: the function makes no step")
        return t.cast(R, result)
    length = level(scope, "couler.map", items)
    foreach = Foreach(
        over={name: one.value for name, one in items.items()},
        max_parallel=checked_count(scope.builder, "couler.map: max_parallel", max_parallel),
    )
    single = only_step(inner, result)
    step = group if single is None else single
    step.foreach, step.length = foreach, length
    if single is not None:
        lift(single, scope, group, {})
        return t.cast("list[R]", StepHandle(single) if result is None else result)
    scope.add(group, body_name(function, "map"))
    return t.cast("list[R]", outside(result, group, inner))


def _check_function(given: object) -> None:
    if not callable(given):
        raise ProgramError(
            "CLR127",
            f"couler.map calls a function with every item, but {shown(given)} is no function; "
            "write the function first, and without a call: couler.map(train, [1, 2])",
        )


def body_name(function: object, fallback: str) -> str:
    """Return the name of the group that a function makes."""
    name = getattr(function, "__name__", "<lambda>")
    return fallback if name.startswith("<") else str(name)


def _item_names(function: Callable[..., object], count: int) -> list[str]:
    """Return names for the items: those of the function's parameters where it has them."""
    try:
        parameters = [
            one.name
            for one in inspect.signature(function).parameters.values()
            if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):  # built in, without a signature
        parameters = []
    names: list[str] = []
    for index in range(count):
        base = parameters[index] if index < len(parameters) else "item"
        names.append(free_among(set(names), base))
    return names


def map_typed(
    step: TypedStep[..., t.Any],
    fixed: Mapping[str, object],
    lists: tuple[object, ...],
    named: Mapping[str, object],
    max_parallel: int | None,
) -> object:
    """Make one instance of a typed step for each item."""
    if current().scope is None:
        raise ProgramError(
            "CLR119",
            f"{step._name}.map(...) makes steps, but no workflow is open; "
            "outside of one, call the function",
        )
    scope = current_scope()
    builder, signature = scope.builder, step._signature
    fixed = step._known_names(builder, fixed, named)
    rest = [name for name in signature.arguments if name not in fixed]
    over = dict(zip(rest, lists, strict=False))
    over.update(step._known_names(builder, named, {*fixed, *over}))
    if len(lists) > len(rest):
        builder.report(
            "CLR102", f'step "{step._name}" has {len(rest)} arguments to map over', step=step._name
        )
    known = step._bind(builder, (), {**fixed, **over})
    over = {name: value for name, value in over.items() if name in known}
    if not over:
        builder.report("CLR127", f'step "{step._name}": map needs a list', step=step._name)
        return step._make(scope, known, complete=True)
    step._check_complete(builder, known)
    if any(_holds_values(value) for value in over.values()):
        return _unrolled(
            scope,
            f'step "{step._name}"',
            lambda *row: step(**fixed, **dict(zip(over, row, strict=True))),
            tuple(over.values()),
        )
    draft = step._draft(scope)
    items = {
        name: _UNKNOWN_ITEMS
        if signature.arguments[name].spec is UNKNOWN
        else read_items(scope, value)
        for name, value in over.items()
    }
    draft.length = level(scope, f'step "{step._name}"', items)
    foreach: dict[str, values.Value] = {}
    given: dict[str, object] = {name: value for name, value in known.items() if name not in over}
    for name, one in items.items():
        argument = signature.arguments[name]
        wrong = next((v for v in one.plain or () if not argument.spec.accepts(v)), None)
        if wrong is not None:
            report_type(scope, step._name, name, argument.spec, wrong)
            foreach[name] = UNKNOWN_VALUE  # still one instance for each item
            continue
        foreach[name] = one.value
        spec = argument.spec if one.plain is not None else one.spec
        given[name] = Expression(scope, values.ItemRef(name=name), spec, name)
    draft.inputs = make_inputs(scope, step._name, signature.arguments, given)
    if foreach:
        bound = checked_count(builder, f'step "{step._name}": max_parallel', max_parallel)
        draft.foreach = Foreach(over=foreach, max_parallel=bound)
    return StepHandle(scope.add(draft, step._name))


def _holds_values(given: object) -> bool:
    return isinstance(given, list | tuple) and any(isinstance(item, Value) for item in given)


def _unrolled(
    scope: Scope, what: str, function: Callable[..., t.Any], lists: tuple[object, ...]
) -> list[t.Any]:
    """Call a function for each item of lists that hold handles: a step each, in one position."""
    known = [isinstance(one, list | tuple | range) for one in lists]
    if not all(known):
        scope.builder.report(
            "CLR127",
            f"{what}: a list that holds values of the workflow cannot be joined with one that is "
            "known only when the workflow runs",
        )
        return []
    columns = [list(t.cast("t.Iterable[object]", one)) for one in lists]
    if len({len(column) for column in columns}) > 1:
        lengths = ", ".join(str(len(column)) for column in columns)
        scope.builder.report(
            "CLR126", f"{what}: the lists must be equally long, but have {lengths} items"
        )
    position = object()
    results = []
    for row in zip(*columns, strict=False):
        with scope.branch(position):
            results.append(call_program(what, function, *row))
    return results

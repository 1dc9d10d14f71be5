"""Steps that run several times: for each item of a list, or while a condition holds."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.dsl._context import current
from couler.dsl.arguments import make_inputs, report_type
from couler.dsl.builder import current_scope
from couler.dsl.handles import Expression, OutputHandle, StepHandle, Value, literal
from couler.dsl.scope import Scope
from couler.dsl.types import JSON, TypeSpec, json_form, spec_of_value
from couler.errors import DefinitionError
from couler.ir import values
from couler.ir.policies import Foreach

if t.TYPE_CHECKING:
    from couler.dsl.step import TypedStep


class Items(t.NamedTuple):
    """A list to iterate over."""

    value: values.Value
    spec: TypeSpec
    """Type of one item."""
    length: int | None
    """If it is known while the workflow is built."""
    plain: t.Sequence[object] | None
    """The items, if they are known."""


def read_items(scope: Scope, name: str, given: object) -> Items:
    """Return the items of an argument of `map`; report one that is no list."""
    if isinstance(given, Value):
        spec = given._spec
        if spec.wire not in ("list", "json"):
            scope.builder.report(
                "CLR127", f"{given!r} is {spec.label} and no list, so map cannot go over it"
            )
        length = given._draft.length if isinstance(given, OutputHandle) else None
        return Items(scope.resolve(given), spec.item or JSON, length, None)
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__"):
        scope.builder.report(
            "CLR127",
            f"{given!r:.60} is no list, so map cannot go over it; "
            "arguments that are the same for every item are fixed by partial()",
        )
        return Items(values.Literal(value=()), JSON, None, None)
    items = list(t.cast("t.Iterable[object]", given))
    specs = {spec_of_value(json_form(item)) for item in items}
    spec = specs.pop() if len(specs) == 1 else JSON
    return Items(literal(items), spec, len(items), items)


def check_lengths(scope: Scope, what: str, lists: Mapping[str, Items]) -> int | None:
    """Return the number of items, if it is known; report lists that differ."""
    lengths = {name: one.length for name, one in lists.items() if one.length is not None}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        scope.builder.report("CLR126", f"{what}: the lists must be equally long, but {shown}")
    return next(iter(lengths.values()), None)


def map_typed(
    step: TypedStep[..., t.Any],
    fixed: Mapping[str, object],
    lists: tuple[object, ...],
    named: Mapping[str, object],
    max_parallel: int | None,
) -> object:
    """Make one instance of a typed step for each item."""
    if current().scope is None:
        raise DefinitionError(
            f"CLR119 {step._name}.map(...) makes steps, but no workflow is open; "
            "outside of one, call the function"
        )
    scope = current_scope()
    builder, signature = scope.builder, step._signature
    rest = [name for name in signature.arguments if name not in fixed]
    over = {**dict(zip(rest, lists, strict=False)), **named}
    if len(lists) > len(rest):
        builder.report(
            "CLR102", f'step "{step._name}" has {len(rest)} arguments to map over', step=step._name
        )
    known = step._bind(builder, (), {**fixed, **over})
    over = {name: value for name, value in over.items() if name in known}
    step._check_complete(builder, known)
    if not over:
        builder.report("CLR127", f'step "{step._name}": map needs a list', step=step._name)
        return step._make(scope, known)
    if any(_holds_values(value) for value in over.values()):
        return _unrolled(scope, step, fixed, over)
    draft = step._draft(scope)
    items = {name: read_items(scope, name, value) for name, value in over.items()}
    draft.length = check_lengths(scope, f'step "{step._name}"', items)
    foreach: dict[str, values.Value] = {}
    given: dict[str, object] = {name: value for name, value in known.items() if name not in over}
    for name, one in items.items():
        argument = signature.arguments[name]
        wrong = next((v for v in one.plain or () if not argument.spec.accepts(v)), None)
        if wrong is not None:
            report_type(scope, step._name, name, argument.spec, wrong)
            continue
        foreach[name] = one.value
        spec = argument.spec if one.plain is not None else one.spec
        given[name] = Expression(scope, values.ItemRef(name=name), spec, name)
    draft.inputs, raw = make_inputs(scope, step._name, signature.arguments, given)
    if raw:
        draft.mark_text(raw)
    if foreach:
        draft.foreach = Foreach(over=foreach, max_parallel=max_parallel)
    return StepHandle(scope.add(draft, step._name))


def _holds_values(given: object) -> bool:
    return isinstance(given, list | tuple) and any(isinstance(item, Value) for item in given)


def _unrolled(
    scope: Scope,
    step: TypedStep[..., t.Any],
    fixed: Mapping[str, object],
    over: Mapping[str, object],
) -> list[object]:
    """Call a step for each item of lists that hold handles: one step each, in one position."""
    columns = {name: list(t.cast("t.Iterable[object]", value)) for name, value in over.items()}
    if len({len(column) for column in columns.values()}) > 1:
        scope.builder.report(
            "CLR126", f'step "{step._name}": the lists must be equally long', step=step._name
        )
    results = []
    position = object()
    for row in zip(*columns.values(), strict=False):
        with scope.branch(position):
            results.append(step(**fixed, **dict(zip(columns, row, strict=True))))
    return results

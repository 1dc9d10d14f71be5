"""The body of a map or loop: the steps that a function makes, as one step or as a group."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from couler.dsl._context import entered_scope
from couler.dsl._nodes import make_step
from couler.dsl.handles import OutputHandle, ProcessHandle, StepHandle, Value
from couler.dsl.scope import Draft, Scope
from couler.dsl.types import TypeSpec, list_of
from couler.ir import values as ir


def run_body(inner: Scope, function: Callable[[], object]) -> object:
    """Make the steps of a body, and return what its function returned."""
    with entered_scope(inner):
        return function()


def only_step(inner: Scope, result: object) -> Draft | None:
    """Return the step that the body is, if it is one step and nothing needs a group around it."""
    if len(inner.drafts) != 1 or inner.is_pinned:
        return None
    draft = inner.drafts[0]
    if draft.when is not None or draft.foreach is not None or draft.loop is not None:
        return None
    if draft.options and "hooks" in draft.options:  # those are of the step, not of its items
        return None
    return draft if _are_outputs(result, draft, inner) else None


def is_inside(value: Value, inner: Scope) -> bool:
    """Return whether a value belongs to a scope, or to one inside it."""
    return value._home is not None and inner in value._home.outwards()


def _are_outputs(result: object, draft: Draft, inner: Scope) -> bool:
    """Return whether every value of a body's scope is an output of its only step."""
    if isinstance(result, OutputHandle) and result._draft is draft:
        return True
    if isinstance(result, Value):
        return not is_inside(result, inner)
    if isinstance(result, list | tuple):
        return all(_are_outputs(one, draft, inner) for one in result)
    if isinstance(result, dict):
        return all(_are_outputs(one, draft, inner) for one in result.values())
    return True


def lift(draft: Draft, scope: Scope, group: Draft, given: Mapping[str, ir.Value]) -> Draft:
    """Move the only step of a body out of its group, into the scope around."""
    inputs: dict[str, ir.Value] = {
        one.name: one.value for one in group.inputs if one.value is not None
    }
    inputs.update(given)
    draft.scope = scope
    if draft.body is not None:
        draft.body.parent = scope
    draft.edges = group.edges
    options = draft.options or {}
    parts = {"inputs": tuple(draft.inputs), "outputs": draft.outputs, "action": draft.action}
    made = make_step({"name": draft.name, **parts, **options})
    step = ir.map_children(made, lambda value: replace_params(value, inputs))
    draft.action, draft.inputs, draft.outputs = step.action, step.inputs, step.outputs
    draft.options = {name: getattr(step, name) for name in options}
    return scope.add(draft, draft.name)


def replace_params(value: ir.Value, given: Mapping[str, ir.Value]) -> ir.Value:
    """Return a value with the inputs of a group replaced by other values."""
    if isinstance(value, ir.ParamRef):
        return given.get(value.name, value)
    if isinstance(value, ir.Field):
        return _field(replace_params(value.of, given), value.path)
    return ir.map_children(value, lambda inner: replace_params(inner, given))


def _field(of: ir.Value, path: tuple[str | int, ...]) -> ir.Field:
    if isinstance(of, ir.Field):
        return ir.Field(of=of.of, path=(*of.path, *path))
    return ir.Field(of=of, path=path)


def outside(result: object, group: Draft, inner: Scope) -> t.Any:
    """Return what the function of a body returned, as handles for the scope around the group."""
    if result is None:
        return StepHandle(group)
    if isinstance(result, Value):
        return LiftedHandle(group, inner, result) if is_inside(result, inner) else result
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(outside(one, group, inner) for one in result))
    if isinstance(result, list | tuple):
        return type(result)(outside(one, group, inner) for one in result)
    if isinstance(result, dict):
        return {key: outside(one, group, inner) for key, one in result.items()}
    return result


class LiftedHandle(OutputHandle):
    """A value inside a map or loop, for the scope around; it is given out when it is read."""

    __slots__ = ("_inner", "_value")

    def __init__(self, group: Draft, inner: Scope, value: Value) -> None:
        self._draft = group
        self._output = ""
        self._inner = inner
        self._value = value

    def _ir(self) -> ir.Value:
        return self._draft.ref(self._inner.export_name(self._inner.bring(self._value)))

    @property
    def _spec(self) -> TypeSpec:
        spec = self._value._spec
        return spec if self._draft.foreach is None else list_of(spec, gathered=True)

    def _hint(self) -> str:
        return f"{self._draft.name}_{self._value._hint()}"

    def _lift(self, value: object) -> object:
        return LiftedHandle(self._draft, self._inner, value) if isinstance(value, Value) else value

    def __getattr__(self, name: str) -> t.Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self._lift(getattr(self._value, name))

    def __getitem__(self, key: str | int) -> t.Any:
        if isinstance(self._value, ProcessHandle):
            return self._lift(self._value[key])
        return super().__getitem__(key)

    def _parts(self) -> dict[str, Value] | None:
        parts = self._value._parts()
        if parts is None:
            return None
        return {name: LiftedHandle(self._draft, self._inner, one) for name, one in parts.items()}

    def _listed(self) -> list[t.Any] | None:
        listed = self._value._listed()
        return None if listed is None else [self._lift(one) for one in listed]

    def _items(self) -> list[t.Any] | None:
        items = self._value._items()
        return None if items is None else [self._lift(one) for one in items]

    def __repr__(self) -> str:
        return f"<couler value {self._draft.name}/{self._value!r:.80}>"

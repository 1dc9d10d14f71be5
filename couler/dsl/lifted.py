"""Values of the body of a map, loop or branch, as the program around it sees them."""

from __future__ import annotations

import typing as t

from couler.dsl.handles import OutputHandle, ProcessHandle, Value
from couler.dsl.types import TypeSpec, list_of
from couler.ir import values as ir

if t.TYPE_CHECKING:
    from couler.dsl.drafts import Draft
    from couler.dsl.scope import Scope


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

"""The frozen base model of the IR and the JSON values that it holds."""

from __future__ import annotations

import math
import sys
import typing as t

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    GetCoreSchemaHandler,
    SerializerFunctionWrapHandler,
    WithJsonSchema,
    model_serializer,
)
from pydantic_core import core_schema


class FrozenDict(dict[str, t.Any]):
    """A dict that cannot be changed after it was made, and so can be hashed.

    Examples
    --------
    >>> labels = FrozenDict(team="ml")
    >>> labels["team"]
    'ml'
    >>> labels["team"] = "web"
    Traceback (most recent call last):
    TypeError: FrozenDict cannot be changed; make a new one
    """

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> t.NoReturn:
        raise TypeError("FrozenDict cannot be changed; make a new one")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]  # dict declares it as None
        return hash(frozenset(self.items()))

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: t.Any, _handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(cls, core_schema.dict_schema())

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, t.Any]]]:
        return (FrozenDict, (dict(self),))


def freeze_json(value: object) -> t.Any:
    """Return `value` with lists as tuples and dicts as `FrozenDict`, all the way down."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} has no JSON form; use null or a string")
        return value
    if isinstance(value, list | tuple):
        return tuple(freeze_json(item) for item in value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise ValueError(f"a JSON object needs text keys, not {key!r}")
        return FrozenDict({key: freeze_json(item) for key, item in value.items()})
    raise ValueError(f"{type(value).__name__} has no JSON form")


Json = t.Annotated[t.Any, BeforeValidator(freeze_json), WithJsonSchema({})]
"""Any JSON value; stored with tuples and frozen dicts."""

TextMap = t.Annotated[dict[str, str], AfterValidator(FrozenDict)]
"""A map from text to text (labels, node selectors); frozen."""

JsonMap = t.Annotated[
    dict[str, t.Any], AfterValidator(freeze_json), WithJsonSchema({"type": "object"})
]
"""A JSON object that the IR passes on without looking inside (an escape hatch); frozen."""

EngineMap = t.Annotated[dict[str, JsonMap], AfterValidator(FrozenDict)]
"""A JSON object for each of some engines, merged into what the engine is given; frozen."""


class Node(BaseModel):
    """Base of everything in the IR: immutable, exact about types, closed to unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @classmethod
    def model_rebuild(cls, **options: t.Any) -> bool | None:
        """Build the model, at its first use, with the names of its own module."""
        # By default pydantic prefers names of the module that happens to use it first.
        options["_types_namespace"] = vars(sys.modules[cls.__module__])
        return super().model_rebuild(**options)


class Variant(Node):
    """Base of the members of a closed union, told apart by `kind`.

    The tag is written even where defaults are left out, so that it can be read back.
    """

    kind: str

    @model_serializer(mode="wrap")
    def _keep_kind(self, handler: SerializerFunctionWrapHandler) -> dict[str, t.Any]:
        return {"kind": self.kind, **handler(self)}

"""Data cards: what is known of a data set before anything reads it."""
# Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), section 5.3,
# and the code that was published with it.

from __future__ import annotations

import math
import re
import typing as t
from collections.abc import Mapping

from pydantic import AfterValidator, Field as ModelField, Strict, ValidationError, model_validator

from couler.config_files import Table, problems_of
from couler.errors import EstimateError
from couler.ir.base import FrozenDict
from couler.ir.diagnostics import did_you_mean
from couler.ir.wording import counted
from couler.operations.variant import Variant, check_variant

_KIB = 1024
_NORMALISED_BYTES = 8
"""Of a pixel as a float64, which normalising makes of it."""

_ITEM_BYTES: Mapping[str, int] = FrozenDict(
    {
        "bool": 1,
        **{f"{kind}{bits}": bits // 8 for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
        **{f"float{bits}": bits // 8 for bits in (16, 32, 64)},
        "complex64": 8,
        "complex128": 16,
        "datetime64": 8,
        "timedelta64": 8,
        "object": 8,
    }
)
_TEXT = re.compile(r"(?P<kind>[SU])(?P<length>[1-9][0-9]*)")


def item_bytes(dtype: str) -> int:
    """Return the bytes that a value of a NumPy type takes."""
    if dtype in _ITEM_BYTES:
        return _ITEM_BYTES[dtype]
    text = _TEXT.fullmatch(dtype)
    if text is None:
        raise EstimateError(f'there is no type "{dtype}".{did_you_mean(dtype, _ITEM_BYTES)}')
    return int(text["length"]) * (4 if text["kind"] == "U" else 1)


def _type_of_values(dtype: str) -> str:
    item_bytes(dtype)
    return dtype


_Count = t.Annotated[int, Strict(), ModelField(ge=1)]
_Share = t.Annotated[float, Strict(), ModelField(ge=0, le=1)]
_Type = t.Annotated[str, AfterValidator(_type_of_values)]


class _Card(Table):
    """What all data cards have."""

    samples: _Count
    name: str = ""
    train_fraction: _Share = 0.8
    test_fraction: _Share = 0.2

    def __init__(self, /, **fields: t.Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            problems = [text for _, text in problems_of(type(self), error)]
            where = f'data card "{fields["name"]}"' if fields.get("name") else "data card"
            told = f"{where}: {counted(len(problems), 'problem')}"
            raise EstimateError(told, problems) from error

    @model_validator(mode="after")
    def _check_shares(self) -> t.Self:
        shares = self.train_fraction + self.test_fraction
        if shares > 1 + 1e-9:
            raise ValueError(
                f"train_fraction and test_fraction are {shares:.6g} together; they are at most 1"
            )
        return self

    @property
    def train_samples(self) -> int:
        """How many are trained on: the fraction, rounded down."""
        return _share(self.samples, self.train_fraction)

    @property
    def test_samples(self) -> int:
        """How many are predicted to judge the model: the fraction, rounded down."""
        return _share(self.samples, self.test_fraction)


class TabularCard(_Card):
    """A table."""

    columns: t.Annotated[dict[_Type, _Count], ModelField(min_length=1), AfterValidator(FrozenDict)]
    features: _Count | None = None
    type: t.ClassVar[str] = "tabular"

    @model_validator(mode="after")
    def _check_features(self) -> t.Self:
        count = sum(self.columns.values())
        if self.features is None and count < 2:
            raise ValueError(
                "columns has the label alone. Add the others, or say how many features there are"
            )
        if self.features is not None and self.features > count:
            raise ValueError(f"features is {self.features}, but there are {count} columns")
        return self

    @property
    def features_per_sample(self) -> int:
        """How many values of a sample models learn from (`m`)."""
        return sum(self.columns.values()) - 1 if self.features is None else self.features

    def memory_bytes(self, *, variant: Variant = "paper") -> int:
        """Return the memory of all samples, in bytes: `n x sum(item bytes x columns)`."""
        check_variant(variant)
        row = sum(item_bytes(dtype) * count for dtype, count in self.columns.items())
        taken = self.samples * row
        return taken if variant == "paper" else taken // _KIB * _KIB


class ImageCard(_Card):
    """Images of one size."""

    width: _Count
    height: _Count
    channels: _Count = 3
    dtype: _Type = "uint8"
    normalised: bool = False
    disk_bytes: _Count | None = None
    type: t.ClassVar[str] = "image"

    @property
    def features_per_sample(self) -> int:
        """How many values of a sample models learn from: `w h c`."""
        return self.width * self.height * self.channels

    def memory_bytes(self, *, variant: Variant = "paper") -> int:
        """Return the memory of all images, in bytes."""
        check_variant(variant)
        if variant == "paper":
            each = item_bytes(self.dtype) if self.normalised else _NORMALISED_BYTES
            return self.samples * self.features_per_sample * each
        if self.disk_bytes is None:
            raise EstimateError(
                "the published code takes the size of the files for the memory of images. "
                'Set disk_bytes, or take the variant "paper"'
            )
        on_disk = math.ceil(self.disk_bytes / _KIB) * _KIB
        return on_disk if self.normalised else on_disk * _NORMALISED_BYTES


DataCard: t.TypeAlias = TabularCard | ImageCard
"""What is known of a data set."""


def _share(samples: int, fraction: float) -> int:
    """Return a share of the samples, rounded down; a product that is whole stays so."""
    return math.floor(round(samples * fraction, 6))

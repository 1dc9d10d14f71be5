"""Data cards: what is known of a data set before anything reads it."""
# Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), section 5.3,
# and the code that was published with it.

from __future__ import annotations

import math
import re
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from couler.errors import EstimateError
from couler.ir.base import FrozenDict
from couler.ir.diagnostics import did_you_mean
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


@dataclass(frozen=True, kw_only=True)
class _Card:
    """What all data cards have."""

    samples: int
    name: str = ""
    train_fraction: float = 0.8
    test_fraction: float = 0.2

    def __post_init__(self) -> None:
        """Check the card."""
        where = f'data card "{self.name}"' if self.name else "data card"
        raise_problems(where, problems_of_fields(type(self), vars(self)))

    @property
    def train_samples(self) -> int:
        """How many are trained on: the fraction, rounded down."""
        return _share(self.samples, self.train_fraction)

    @property
    def test_samples(self) -> int:
        """How many are predicted to judge the model: the fraction, rounded down."""
        return _share(self.samples, self.test_fraction)


@dataclass(frozen=True, kw_only=True)
class TabularCard(_Card):
    """A table."""

    columns: Mapping[str, int]
    features: int | None = None
    type: t.ClassVar[str] = "tabular"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "columns", FrozenDict(self.columns))

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


@dataclass(frozen=True, kw_only=True)
class ImageCard(_Card):
    """Images of one size."""

    width: int
    height: int
    channels: int = 3
    dtype: str = "uint8"
    normalised: bool = False
    disk_bytes: int | None = None
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


def problems_of_fields(kind: type, given: Mapping[str, object]) -> list[str]:
    """Return what is wrong with the fields of a card, each in a sentence."""
    found = [
        f"{name} {problem}"
        for name, value in given.items()
        for problem in _FIELDS.get(name, _nothing)(value)
    ]
    return found or [*_problems_together(kind, given)]


def raise_problems(where: str, problems: Sequence[str]) -> None:
    """Raise what is wrong with a card, if anything is."""
    if problems:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        raise EstimateError(f"{where}: {count}", problems)


def _problems_together(kind: type, given: Mapping[str, t.Any]) -> Iterator[str]:
    """Yield what is wrong with fields that are right each by itself."""
    shares = given.get("train_fraction", 0.8) + given.get("test_fraction", 0.2)
    if shares > 1 + 1e-9:
        yield f"train_fraction and test_fraction are {shares:.6g} together; they are at most 1"
    columns, features = given.get("columns"), given.get("features")
    if kind is not TabularCard or columns is None:
        return
    count = sum(columns.values())
    if features is None and count < 2:
        yield "columns has the label alone. Add the others, or say how many features there are"
    elif features is not None and features > count:
        yield f"features is {features}, but there are {count} columns"


def _share(samples: int, fraction: float) -> int:
    """Return a share of the samples, rounded down; a product that is whole stays so."""
    return math.floor(round(samples * fraction, 6))


def _nothing(_value: object) -> Iterator[str]:
    return iter(())


def _count(value: object) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        yield f"is {value!r}; it must be a whole number above 0"


def _count_if_known(value: object) -> Iterator[str]:
    return iter(()) if value is None else _count(value)


def _fraction(value: object) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        yield f"is {value!r}; it must be a number from 0 to 1"


def _text(value: object) -> Iterator[str]:
    if not isinstance(value, str):
        yield f"is {value!r}; it must be a text"


def _flag(value: object) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"is {value!r}; it must be true or false"


def _dtype(value: object) -> Iterator[str]:
    try:
        item_bytes(str(value))
    except EstimateError as error:
        yield f"is no type of NumPy: {error}"


def _columns(value: object) -> Iterator[str]:
    if not isinstance(value, Mapping) or not value:
        yield f"is {value!r}; it must tell how many columns there are of each type"
        return
    for dtype, count in value.items():
        yield from (f"{dtype} {problem}" for problem in _count(count))
        try:
            item_bytes(str(dtype))
        except EstimateError as error:
            yield f"has what is no type of NumPy: {error}"


_FIELDS: Mapping[str, Callable[[object], Iterator[str]]] = FrozenDict(
    samples=_count,
    name=_text,
    train_fraction=_fraction,
    test_fraction=_fraction,
    columns=_columns,
    features=_count_if_known,
    width=_count,
    height=_count,
    channels=_count,
    dtype=_dtype,
    normalised=_flag,
    disk_bytes=_count_if_known,
)

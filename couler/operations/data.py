"""Data cards: what is known of a data set before anything reads it.

References
----------
Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), section 5.3,
and the code that was published with it.
"""

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

__all__ = [
    "DataCard",
    "ImageCard",
    "TabularCard",
    "item_bytes",
    "problems_of_fields",
    "raise_problems",
]

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
    """Return the bytes that a value of a NumPy type takes.

    Parameters
    ----------
    dtype
        Its name, such as `float64`; `U12` and `S12` are texts of 12 characters and of 12 bytes.
        `object` is a pointer: what it points to is not counted.

    Raises
    ------
    EstimateError
        There is no such type.

    Examples
    --------
    >>> [item_bytes(dtype) for dtype in ("uint8", "float64", "object", "U3")]
    [1, 8, 8, 12]
    """
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
        """Check the card.

        Raises
        ------
        EstimateError
            With all problems of the card.
        """
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
    """A table.

    Attributes
    ----------
    samples
        `n`, its rows.
    columns
        How many columns there are of each NumPy type, the label among them.
    features
        `m`, how many columns models learn from; None for all but one, the label.
    name
        What the data set is called; may be empty.
    train_fraction, test_fraction
        Shares of the samples that are trained on, and predicted to judge the model; from 0, and
        together at most 1.

    Raises
    ------
    EstimateError
        With all problems of the card.

    Examples
    --------
    >>> card = TabularCard(samples=30_000, columns={"int64": 12, "float64": 13})
    >>> card.features_per_sample, card.train_samples, card.test_samples, card.memory_bytes()
    (24, 24000, 6000, 6000000)
    """

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
        """Return the memory of all samples, in bytes: `n x sum(item bytes x columns)`.

        Parameters
        ----------
        variant
            `published-code` counts whole KiB, rounded down.

        Raises
        ------
        EstimateError
            The variant is none.
        """
        check_variant(variant)
        row = sum(item_bytes(dtype) * count for dtype, count in self.columns.items())
        taken = self.samples * row
        return taken if variant == "paper" else taken // _KIB * _KIB


@dataclass(frozen=True, kw_only=True)
class ImageCard(_Card):
    """Images of one size.

    Attributes
    ----------
    samples
        `n`, how many.
    width, height, channels
        `w`, `h` and `c` of each, at least 1.
    dtype
        The NumPy type of a channel of a pixel.
    normalised
        Whether the pixels are what models learn from. If not, normalising makes a float64 of
        each: 8 bytes for 1 of `uint8`.
    disk_bytes
        What the files take; None if that is not known.
    name, train_fraction, test_fraction
        As for a `TabularCard`.

    Raises
    ------
    EstimateError
        With all problems of the card.

    Examples
    --------
    >>> card = ImageCard(samples=60_000, width=32, height=32)
    >>> card.features_per_sample, card.memory_bytes()
    (3072, 1474560000)
    """

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
        """Return the memory of all images, in bytes.

        Parameters
        ----------
        variant
            `paper`: `n w h c` times the bytes of a value, which are 8 where the pixels are yet to
            be normalised, whatever their type is. `published-code`: the whole KiB that the files
            take, times 8 where the pixels are yet to be normalised. That is too little where files
            are compressed, and fits no type but `uint8`.

        Raises
        ------
        EstimateError
            The variant is none, or is `published-code` and `disk_bytes` is not known.
        """
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
    """Return what is wrong with the fields of a card, each in a sentence.

    Parameters
    ----------
    kind
        `TabularCard` or `ImageCard`.
    given
        Fields by name; those that are missing are not looked at.
    """
    found = [
        f"{name} {problem}"
        for name, value in given.items()
        for problem in _FIELDS.get(name, _nothing)(value)
    ]
    return found or [*_problems_together(kind, given)]


def raise_problems(where: str, problems: Sequence[str]) -> None:
    """Raise what is wrong with a card, if anything is.

    Raises
    ------
    EstimateError
        With all problems.
    """
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

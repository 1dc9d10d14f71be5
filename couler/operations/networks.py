"""Floating-point operations of neural networks, by their layers."""
# Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), section 5.2,
# Table 3, and the code that was published with it.

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass

from couler.errors import EstimateError
from couler.operations.variant import Variant, check_variant

Shape: t.TypeAlias = tuple[int, ...]
"""`(width, height, channels)` of an image, or `(units,)`."""

_PER_MULTIPLY_ADD = 2.0


class Layer(t.Protocol):
    """A layer of a network."""

    def output_shape(self, shape: Shape) -> Shape:
        """Return the shape that comes out where one goes in."""
        ...

    def multiply_adds(self, shape: Shape, *, variant: Variant = "paper") -> float:
        """Return the multiply-adds of one sample of a shape, forwards."""
        ...


@dataclass(frozen=True, slots=True)
class Dense:
    """A fully connected layer."""

    units: int

    def __post_init__(self) -> None:
        _check_positive("dense", units=self.units)

    def output_shape(self, shape: Shape) -> Shape:
        """Return `(units,)`."""
        if len(shape) != 1:
            raise EstimateError(
                f"a dense layer takes a list of values, not the shape {shape}. "
                "Put Flatten() before it"
            )
        return (self.units,)

    def multiply_adds(self, shape: Shape, *, variant: Variant = "paper") -> float:
        """Return the multiply-adds of one sample, forwards."""
        self.output_shape(shape)
        return float(shape[0] * self.units + self.units)


@dataclass(frozen=True, slots=True)
class Convolution:
    """A two-dimensional convolution."""

    filters: int
    kernel: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    padding: t.Literal["valid", "same"] = "valid"

    def __post_init__(self) -> None:
        _check_positive("convolution", filters=self.filters)
        _check_positive("convolution", kernel=min(self.kernel), stride=min(self.stride))
        if self.padding not in ("valid", "same"):
            raise EstimateError(
                f'convolution: the padding is "{self.padding}", not "valid" or "same"'
            )

    def output_shape(self, shape: Shape) -> Shape:
        """Return width and height by kernel, stride and padding, and a channel for each filter."""
        return (*_slid("convolution", shape, self.kernel, self.stride, self.padding), self.filters)

    def multiply_adds(self, shape: Shape, *, variant: Variant = "paper") -> float:
        """Return the multiply-adds of one sample, forwards."""
        width, height, channels = self.output_shape(shape)
        count = float(math.prod(self.kernel) * shape[2] * width * height * channels)
        return count if variant == "paper" else count / self.stride[0] ** 2


@dataclass(frozen=True, slots=True)
class MaxPooling:
    """The largest values of windows of an image."""

    size: tuple[int, int] = (2, 2)
    stride: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        _check_positive("max-pooling", size=min(self.size), stride=min(self.stride or (1, 1)))

    def output_shape(self, shape: Shape) -> Shape:
        """Return width and height by size and stride, and the channels as they are."""
        slid = _slid("max-pooling", shape, self.size, self.stride or self.size, "valid")
        return (*slid, shape[2])

    def multiply_adds(self, shape: Shape, *, variant: Variant = "paper") -> float:
        """Return the multiply-adds of one sample, forwards."""
        width, height, channels = self.output_shape(shape)
        if variant == "paper":
            return 0.0
        return float(math.prod(self.size) * channels * width * height)


@dataclass(frozen=True, slots=True)
class Flatten:
    """All values of an image as one list; it takes nothing."""

    def output_shape(self, shape: Shape) -> Shape:
        """Return `(units,)` with the product of the shape."""
        return (math.prod(shape),)

    def multiply_adds(self, shape: Shape, *, variant: Variant = "paper") -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True, slots=True)
class NeuralNetwork:
    """A neural network that is trained by back-propagation."""

    input_shape: Shape
    layers: tuple[Layer, ...]
    epochs: int = 1
    backward_ratio: float = 2.0

    def __post_init__(self) -> None:
        """Check that the layers fit together."""
        _check_positive("neural network", epochs=self.epochs, layers=len(self.layers))
        _check_positive("neural network", input_shape=min(self.input_shape, default=0))
        if not self.backward_ratio >= 0:
            raise EstimateError(
                f"neural network: backward_ratio is {self.backward_ratio}; it must be at least 0"
            )
        for _ in self._shaped():
            pass

    @property
    def kind(self) -> str:
        """`convolutional-network` where it has a convolution, else `dense-network`."""
        is_convolutional = any(isinstance(layer, Convolution) for layer in self.layers)
        return "convolutional-network" if is_convolutional else "dense-network"

    def forward(self, *, variant: Variant = "paper") -> float:
        """Return the operations of one sample, forwards (`O_f`)."""
        check_variant(variant)
        count = sum(layer.multiply_adds(shape, variant=variant) for layer, shape in self._shaped())
        if variant == "published-code":
            count = float(int(count))
        return _PER_MULTIPLY_ADD * count

    def training(self, samples: int, features: int, *, variant: Variant = "paper") -> float:
        """Return the operations of training: see `Model`."""
        _check_positive(self.kind, samples=samples)
        passes = self.epochs * samples
        return (1.0 + self.backward_ratio) * self.forward(variant=variant) * passes

    def evaluation(
        self, samples: int, features: int, *, trained_on: int, variant: Variant = "paper"
    ) -> float:
        """Return the operations of predicting: see `Model`."""
        _check_positive(self.kind, samples=samples)
        return self.forward(variant=variant) * samples

    def _shaped(self) -> Iterator[tuple[Layer, Shape]]:
        """Yield each layer with the shape that goes into it."""
        shape = self.input_shape
        for number, layer in enumerate(self.layers, 1):
            try:
                following = layer.output_shape(shape)
            except EstimateError as error:
                raise EstimateError(f"neural network: layer {number}: {error}") from error
            yield layer, shape
            shape = following


def _slid(
    what: str, shape: Shape, window: tuple[int, int], stride: tuple[int, int], padding: str
) -> tuple[int, int]:
    """Return how often a window finds a place in an image, in width and in height."""
    if len(shape) != 3:
        raise EstimateError(
            f"{what} takes an image of (width, height, channels), not the shape {shape}"
        )
    places = [
        math.ceil(size / step) if padding == "same" else (size - wide) // step + 1
        for size, wide, step in zip(shape, window, stride, strict=False)
    ]
    if min(places) < 1:
        raise EstimateError(
            f"{what}: a window of {window[0]} by {window[1]} does not fit into "
            f"{shape[0]} by {shape[1]}"
        )
    return places[0], places[1]


def _check_positive(what: str, **numbers: int) -> None:
    for name, number in numbers.items():
        if number < 1:
            raise EstimateError(f"{what}: {name} is {number}; it must be at least 1")

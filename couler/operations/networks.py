"""Floating-point operations of neural networks, by their layers.

A multiply-add counts as 2 operations. Layers are given in order; the shape that comes out of one is
that which goes into the next. Shapes of images are `(width, height, channels)`, others `(units,)`.
What stands for itself is not counted and need not be given: activations, dropout, normalisation.

References
----------
Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), section 5.2,
Table 3, and the code that was published with it.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterator
from dataclasses import dataclass

from couler.errors import EstimateError
from couler.operations.variant import Variant, check_variant

__all__ = ["Convolution", "Dense", "Flatten", "Layer", "MaxPooling", "NeuralNetwork", "Shape"]

Shape: t.TypeAlias = tuple[int, ...]
"""`(width, height, channels)` of an image, or `(units,)`."""

_PER_MULTIPLY_ADD = 2.0


class Layer(t.Protocol):
    """A layer of a network."""

    def output_shape(self, shape: Shape) -> Shape:
        """Return the shape that comes out where one goes in.

        Raises
        ------
        EstimateError
            The layer cannot take it.
        """
        ...

    def multiply_adds(self, shape: Shape, *, variant: Variant = "paper") -> float:
        """Return the multiply-adds of one sample of a shape, forwards.

        Raises
        ------
        EstimateError
            The layer cannot take the shape.
        """
        ...


@dataclass(frozen=True, slots=True)
class Dense:
    """A fully connected layer.

    Attributes
    ----------
    units
        How many values come out.

    Notes
    -----
    `n_in n_out + n_out` multiply-adds: the weights and the bias. Both variants agree.

    Examples
    --------
    >>> Dense(128).multiply_adds((784,))
    100480.0
    """

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
    """A two-dimensional convolution.

    Attributes
    ----------
    filters
        How many channels come out.
    kernel
        Width and height of the kernel.
    stride
        Steps of the kernel, in width and in height.
    padding
        `valid`: the kernel stays inside the image. `same`: with stride 1 the image keeps its size.

    Notes
    -----
    `K_w K_h C_in W_out H_out C_out` multiply-adds: the kernel, once for each value that comes out.
    The paper and the code leave out the bias, which a dense layer has.

    `published-code` divides by the square of the (first) stride, and rounds what all layers take
    down. But a stride has its effect in `W_out H_out` already: the division counts it twice. With
    stride 1, which all networks of the paper have, the two agree.

    Examples
    --------
    >>> Convolution(32).output_shape((28, 28, 1)), Convolution(32).multiply_adds((28, 28, 1))
    ((26, 26, 32), 194688.0)
    >>> [Convolution(8, stride=(2, 2)).multiply_adds((9, 9, 1), variant=way)
    ...  for way in ("paper", "published-code")]
    [1152.0, 288.0]
    """

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
    """The largest values of windows of an image.

    Attributes
    ----------
    size
        Width and height of a window.
    stride
        Steps of the window; None for its size.

    Notes
    -----
    None is counted, as the paper says ("typically negligible"). `published-code` counts
    `K_w K_h C_in W_out H_out`, as if each value were multiplied and added.

    Examples
    --------
    >>> MaxPooling().output_shape((13, 13, 64))
    (6, 6, 64)
    >>> [MaxPooling().multiply_adds((13, 13, 64), variant=way)
    ...  for way in ("paper", "published-code")]
    [0.0, 9216.0]
    """

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
    """All values of an image as one list; it takes nothing.

    Examples
    --------
    >>> Flatten().output_shape((5, 5, 64))
    (1600,)
    """

    def output_shape(self, shape: Shape) -> Shape:
        """Return `(units,)` with the product of the shape."""
        return (math.prod(shape),)

    def multiply_adds(self, shape: Shape, *, variant: Variant = "paper") -> float:
        """Return 0."""
        return 0.0


@dataclass(frozen=True, slots=True)
class NeuralNetwork:
    """A neural network that is trained by back-propagation.

    Attributes
    ----------
    input_shape
        Of one sample.
    layers
        In order.
    epochs
        Passes over the training data.
    backward_ratio
        `R`, what a pass backwards takes of one forwards.

    Notes
    -----
    `O_f`, a pass forwards, is twice the sum of the multiply-adds of all layers.
    Training: `(O_f + O_b) N_p = (1 + R) O_f epochs n`, with `O_b = R O_f`: backwards, each layer
    finds the gradient of its weights and that of its inputs, so `R = 2`. Evaluation: `O_f n`. The
    number of features is not used: the shape of the input tells it.

    Examples
    --------
    >>> network = NeuralNetwork((784,), (Dense(128), Dense(10)), epochs=10)
    >>> network.forward()
    203540.0
    >>> network.training(56000, 784), network.evaluation(14000, 784, trained_on=56000)
    (341947200000.0, 2849560000.0)
    """

    input_shape: Shape
    layers: tuple[Layer, ...]
    epochs: int = 1
    backward_ratio: float = 2.0

    def __post_init__(self) -> None:
        """Check that the layers fit together.

        Raises
        ------
        EstimateError
            A layer cannot take what comes out of the one before, or a number is too small.
        """
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
        """Return the operations of one sample, forwards (`O_f`).

        Raises
        ------
        EstimateError
            The variant is none.
        """
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

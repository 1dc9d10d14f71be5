"""Floating-point operations of networks by hand."""

from __future__ import annotations

import pytest

from couler.errors import EstimateError
from couler.operations.networks import (
    Convolution,
    Dense,
    Flatten,
    Layer,
    MaxPooling,
    NeuralNetwork,
    Shape,
)
from couler.operations.variant import Variant

CODE: Variant = "published-code"


@pytest.mark.parametrize(
    ("layer", "shape", "out", "multiply_adds"),
    [
        (Dense(5), (3,), (5,), 3 * 5 + 5),
        (Flatten(), (4, 5, 2), (40,), 0),
        (Convolution(32), (28, 28, 1), (26, 26, 32), 9 * 1 * 26 * 26 * 32),
        (Convolution(64), (13, 13, 32), (11, 11, 64), 9 * 32 * 11 * 11 * 64),
        (Convolution(2, kernel=(5, 3)), (10, 8, 3), (6, 6, 2), 15 * 3 * 36 * 2),
        (Convolution(2, padding="same"), (10, 8, 3), (10, 8, 2), 9 * 3 * 80 * 2),
        (Convolution(2, stride=(2, 2)), (9, 7, 3), (4, 3, 2), 9 * 3 * 12 * 2),
        (Convolution(2, stride=(2, 2), padding="same"), (9, 7, 3), (5, 4, 2), 9 * 3 * 20 * 2),
        (MaxPooling(), (13, 13, 64), (6, 6, 64), 0),
        (MaxPooling((3, 3), stride=(2, 2)), (9, 7, 4), (4, 3, 4), 0),
    ],
)
def test_layers_by_hand(layer: Layer, shape: Shape, out: Shape, multiply_adds: float) -> None:
    assert layer.output_shape(shape) == out
    assert layer.multiply_adds(shape) == multiply_adds


def test_the_published_code_counts_strides_twice_and_pooling() -> None:
    convolution = Convolution(2, stride=(3, 3))
    assert convolution.multiply_adds((9, 9, 1)) == 9 * 9 * 2
    assert convolution.multiply_adds((9, 9, 1), variant=CODE) == 9 * 2
    assert MaxPooling().multiply_adds((4, 4, 8), variant=CODE) == 4 * 8 * 4


def test_a_network_by_hand() -> None:
    """10 x 10 pixels: 8 x 8 x 4 after the convolution, 4 x 4 x 4 after pooling, then 64 to 3."""
    layers = (Convolution(4), MaxPooling(), Flatten(), Dense(3))
    network = NeuralNetwork((10, 10, 1), layers, epochs=5)
    multiply_adds = 9 * 8 * 8 * 4 + (64 * 3 + 3)
    assert network.kind == "convolutional-network"
    assert network.forward() == 2 * multiply_adds
    assert network.forward(variant=CODE) == 2 * (multiply_adds + 4 * 4 * 4 * 4)
    assert network.training(100, 100) == 3 * 2 * multiply_adds * 5 * 100
    assert network.evaluation(100, 100, trained_on=9) == 2 * multiply_adds * 100


def test_the_published_code_rounds_the_sum_of_all_layers_down() -> None:
    layers = (Convolution(1, kernel=(1, 1), stride=(2, 2)), Flatten(), Dense(1))
    network = NeuralNetwork((3, 1, 1), layers)
    assert network.forward(variant=CODE) == 2 * int(2 / 4 + 3)


@pytest.mark.parametrize(
    ("shape", "layers", "message"),
    [
        (
            (8, 8, 1),
            (Convolution(2), Dense(3)),
            r"layer 2: a dense layer .* Put Flatten\(\) before",
        ),
        ((64,), (Convolution(2),), "layer 1: convolution takes an image"),
        ((2, 8, 1), (Convolution(2),), "a window of 3 by 3 does not fit into 2 by 8"),
        ((4, 4, 1), (MaxPooling(), MaxPooling(), MaxPooling()), "layer 3: max-pooling: a window"),
        ((4,), (), "layers is 0"),
        ((), (Dense(1),), "input_shape is 0"),
    ],
)
def test_layers_that_do_not_fit(shape: Shape, layers: tuple[Layer, ...], message: str) -> None:
    with pytest.raises(EstimateError, match=message):
        NeuralNetwork(shape, layers)


def test_numbers_that_cannot_be() -> None:
    with pytest.raises(EstimateError, match="dense: units is 0"):
        Dense(0)
    with pytest.raises(EstimateError, match="convolution: stride is 0"):
        Convolution(1, stride=(1, 0))
    with pytest.raises(EstimateError, match='the padding is "full"'):
        Convolution(1, padding="full")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(EstimateError, match="epochs is 0"):
        NeuralNetwork((4,), (Dense(1),), epochs=0)
    with pytest.raises(EstimateError, match="backward_ratio is -1"):
        NeuralNetwork((4,), (Dense(1),), backward_ratio=-1)

"""The 18 pipelines of the placement paper (Table 6), and the orders in which they come (Table 7).

The tables' figures are lost from the paper. What is here is in the repository that was published
with it (pedro535/ml-pipeline-placement, commit 184aa3e): the `metadata.json` of each pipeline,
`run_single.sh` and `run_multiple.sh`. Each pipeline prepares its data, trains on 80 % of the
samples and evaluates on 20 %, one after the other.

Ours is only what that leaves open: UNSW_NB15 and KDD have no types of columns in all versions of
their files; all columns take 8 bytes here, which gives the sizes that the repository reports.
How much the files of images take on disk is in no file.

References
----------
Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), section 6.
"""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from couler.operations.data import DataCard, ImageCard, TabularCard
from couler.operations.models import (
    DecisionTree,
    KernelSvm,
    LinearSvm,
    LogisticRegression,
    Model,
    RandomForest,
)
from couler.operations.networks import Convolution, Dense, Flatten, MaxPooling, NeuralNetwork
from couler.operations.pipeline import PipelineOperations, pipeline_operations
from couler.operations.variant import Variant


@dataclass(frozen=True)
class DataSet:
    """A set of data, as it is before and after it is prepared."""

    original: DataCard
    prepared: DataCard


@dataclass(frozen=True)
class Pipeline:
    """One row of Table 6."""

    name: str
    """The data set, and the model as the paper abbreviates it."""
    data: DataSet
    model: Model

    @property
    def abbreviation(self) -> str:
        """Of the model: LR, DT, RF, SVM, DNN or CNN."""
        return self.name.rpartition(" ")[2]

    def operations(self, variant: Variant = "paper") -> PipelineOperations:
        """Return what its three tasks take."""
        return pipeline_operations(
            self.data.original, self.model, prepared=self.data.prepared, variant=variant
        )


def _table(name: str, samples: int, columns: Mapping[str, int], features: int) -> TabularCard:
    return TabularCard(name=name, samples=samples, columns=columns, features=features)


def _images(name: str, samples: int, size: int, channels: int) -> DataSet:
    card = ImageCard(name=name, samples=samples, width=size, height=size, channels=channels)
    return DataSet(card, card)


def _as_it_is(card: TabularCard) -> DataSet:
    return DataSet(card, card)


def _convolutions(*filters: int) -> tuple[Convolution | MaxPooling, ...]:
    return tuple(layer for count in filters for layer in (Convolution(count), MaxPooling()))


WINE = _as_it_is(_table("wine_quality", 4_898, {"int64": 1, "float64": 11}, 11))
CREDIT = DataSet(
    _table("credit_card", 30_000, {"int64": 12, "float64": 13}, 24),
    _table("credit_card", 30_000, {"int64": 11, "float64": 13}, 23),
)
ADULT = DataSet(
    _table("adult_income", 48_842, {"int64": 6, "object": 9}, 14),
    _table("adult_income", 74_218, {"int64": 10, "float64": 3}, 12),
)
UNSW = DataSet(
    _table("UNSW_NB15", 257_673, {"float64": 43}, 43),
    _table("UNSW_NB15", 257_673, {"float64": 43}, 41),
)
KDD = _as_it_is(_table("kddcup99", 494_021, {"float64": 42}, 41))
MNIST = _images("MNIST", 70_000, 28, 1)
FASHION = _images("FASHION_MNIST", 70_000, 28, 1)
CIFAR = _images("CIFAR_10", 60_000, 32, 3)
CITRUS = _images("citrus_leaves", 594, 256, 3)

_DIGITS = NeuralNetwork((784,), (Dense(128), Dense(10)), epochs=10)
_UNSW_LAYERS = (Dense(128), Dense(96), Dense(64), Dense(2))

PIPELINES: Mapping[str, Pipeline] = MappingProxyType(
    {
        one.name: one
        for one in (
            Pipeline("wine_quality DT", WINE, DecisionTree(max_depth=10)),
            Pipeline("wine_quality LR", WINE, LogisticRegression(100)),
            Pipeline("credit_card DT", CREDIT, DecisionTree(max_depth=10)),
            Pipeline("adult_income DT", ADULT, DecisionTree(max_depth=10)),
            Pipeline("credit_card LR", CREDIT, LogisticRegression(100)),
            Pipeline("adult_income LR", ADULT, LogisticRegression(100)),
            Pipeline("credit_card RF", CREDIT, RandomForest(100)),
            Pipeline("UNSW_NB15 SVM", UNSW, LinearSvm(1000)),
            Pipeline("UNSW_NB15 RF", UNSW, RandomForest(100, max_depth=20)),
            Pipeline("kddcup99 SVM", KDD, LinearSvm(1000)),
            Pipeline("kddcup99 RF", KDD, RandomForest(100, max_depth=20)),
            # Its first layer takes 42 values, though the file says 41 features.
            Pipeline("UNSW_NB15 DNN", UNSW, NeuralNetwork((42,), _UNSW_LAYERS, epochs=10)),
            Pipeline("MNIST DNN", MNIST, _DIGITS),
            Pipeline("FASHION_MNIST DNN", FASHION, _DIGITS),
            Pipeline("credit_card SVM", CREDIT, KernelSvm()),
            Pipeline(
                "CIFAR_10 CNN",
                CIFAR,
                NeuralNetwork(
                    (32, 32, 3),
                    (*_convolutions(32, 64, 128), Flatten(), Dense(128), Dense(10)),
                    epochs=5,
                ),
            ),
            Pipeline(
                "FASHION_MNIST CNN",
                FASHION,
                NeuralNetwork(
                    (28, 28, 1),
                    (*_convolutions(32, 64), Flatten(), Dense(128), Dense(10)),
                    epochs=10,
                ),
            ),
            Pipeline(
                "citrus_leaves CNN",
                CITRUS,
                NeuralNetwork(
                    (256, 256, 3),
                    (*_convolutions(32, 64, 128), Flatten(), Dense(128), Dense(4)),
                    epochs=10,
                ),
            ),
        )
    }
)
"""By name, the shortest first by the operations of the published code."""


class Arrival(t.NamedTuple):
    """Pipelines that come at the same time, in this order."""

    at_s: float
    """Seconds after the first."""
    pipelines: tuple[Pipeline, ...]


def _arrival(at_s: float, *names: str) -> Arrival:
    return Arrival(at_s, tuple(PIPELINES[name] for name in names))


SCENARIO_1 = (
    _arrival(
        0.0,
        "UNSW_NB15 RF",
        "credit_card LR",
        "CIFAR_10 CNN",
        "adult_income LR",
        "adult_income DT",
        "kddcup99 RF",
        "UNSW_NB15 SVM",
        "credit_card DT",
        "kddcup99 SVM",
        "MNIST DNN",
    ),
)
"""Ten at once: two of each type of model, where DNN and CNN are one type."""

SCENARIO_2 = (
    _arrival(
        0.0,
        "kddcup99 RF",
        "adult_income DT",
        "credit_card LR",
        "credit_card SVM",
        "MNIST DNN",
        "CIFAR_10 CNN",
    ),
    _arrival(
        240.0,
        "FASHION_MNIST CNN",
        "wine_quality DT",
        "kddcup99 SVM",
        "adult_income LR",
        "UNSW_NB15 RF",
        "UNSW_NB15 DNN",
    ),
    _arrival(
        480.0,
        "FASHION_MNIST DNN",
        "UNSW_NB15 SVM",
        "wine_quality LR",
        "credit_card DT",
        "citrus_leaves CNN",
        "credit_card RF",
    ),
)
"""All, in three groups, four minutes apart."""

"""Operations of the three tasks of a pipeline that makes one model of one data set."""
# Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), sections
# 4.2.1 and 5.2, and the code that was published with it.

from __future__ import annotations

import typing as t

from couler.operations.data import DataCard
from couler.operations.models import Model
from couler.operations.variant import Variant


class PipelineOperations(t.NamedTuple):
    """The operations of each task."""

    preprocessing: float
    training: float
    evaluation: float

    @property
    def total(self) -> float:
        """Those of all, the length by which the paper puts the shortest pipeline first."""
        return self.preprocessing + self.training + self.evaluation


def preprocessing_operations(card: DataCard) -> float:
    """Return the operations of preparing a data set: one for each value."""
    return float(card.samples * card.features_per_sample)


def pipeline_operations(
    original: DataCard,
    model: Model,
    *,
    prepared: DataCard | None = None,
    variant: Variant = "paper",
) -> PipelineOperations:
    """Return the operations of preparing data, and of training and evaluating a model by them."""
    data = original if prepared is None else prepared
    features, trained_on = data.features_per_sample, data.train_samples
    return PipelineOperations(
        preprocessing=preprocessing_operations(original),
        training=model.training(trained_on, features, variant=variant),
        evaluation=model.evaluation(
            data.test_samples, features, trained_on=trained_on, variant=variant
        ),
    )

"""Operations of the three tasks of a pipeline that makes one model of one data set.

References
----------
Optimising ML Pipeline Execution via Smart Task Placement (Electronics 14(13), 2025), sections 4.2.1
and 5.2, and the code that was published with it.
"""

from __future__ import annotations

import typing as t

from couler.operations.data import DataCard
from couler.operations.models import Model
from couler.operations.variant import Variant

__all__ = ["PipelineOperations", "pipeline_operations", "preprocessing_operations"]


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
    """Return the operations of preparing a data set: one for each value.

    Parameters
    ----------
    card
        The data as they are before.

    Notes
    -----
    `n m` for a table, `n w h c` for images. The paper gives no formula; it is that of its code, and
    both variants agree.

    Examples
    --------
    >>> from couler.operations.data import ImageCard, TabularCard
    >>> preprocessing_operations(TabularCard(samples=100, columns={"float64": 11}))
    1000.0
    >>> preprocessing_operations(ImageCard(samples=10, width=4, height=5))
    600.0
    """
    return float(card.samples * card.features_per_sample)


def pipeline_operations(
    original: DataCard,
    model: Model,
    *,
    prepared: DataCard | None = None,
    variant: Variant = "paper",
) -> PipelineOperations:
    """Return the operations of preparing data, and of training and evaluating a model by them.

    Parameters
    ----------
    original
        The data as they are before.
    model
        The model.
    prepared
        The data as the model is given them; None for the same. Its fractions count.
    variant
        The reading of the paper.

    Raises
    ------
    EstimateError
        Nothing is left to train on or to predict, or the variant has no figure for the model.

    Examples
    --------
    >>> from couler.operations.data import TabularCard
    >>> from couler.operations.models import DecisionTree
    >>> wine = TabularCard(samples=4898, columns={"float64": 11, "int64": 1})
    >>> found = pipeline_operations(wine, DecisionTree(max_depth=10), variant="published-code")
    >>> found
    PipelineOperations(preprocessing=53878.0, training=514413.0, evaluation=9790.0)
    >>> found.total
    578081.0
    """
    data = original if prepared is None else prepared
    features, trained_on = data.features_per_sample, data.train_samples
    return PipelineOperations(
        preprocessing=preprocessing_operations(original),
        training=model.training(trained_on, features, variant=variant),
        evaluation=model.evaluation(
            data.test_samples, features, trained_on=trained_on, variant=variant
        ),
    )

"""Training with LightGBM in one process, on this machine and on a cluster alike."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.dsl.handles import ProcessHandle
from couler.packages import default_image
from couler.steps.dataset import Dataset
from couler.steps.fitting import FitOptions, fit
from couler.steps.known import LIGHTGBM
from couler.steps.parameters import STATIC
from couler.steps.registry import zoo_step


@zoo_step("lightgbm.train")
def train(
    datasource: t.Annotated[Dataset, STATIC],
    model_params: t.Annotated[Mapping[str, object] | None, STATIC] = None,
    train_params: t.Annotated[Mapping[str, object] | None, STATIC] = None,
    image: str | None = None,
    *,
    model_path: t.Annotated[str, STATIC] = "model.txt",
    scoring: str | None = None,
    **options: t.Unpack[FitOptions],
) -> ProcessHandle:
    """Train boosted trees with LightGBM.

    Parameters
    ----------
    datasource
        The data: a `couler.Dataset`, which is a file, a table of a database or a set of
        scikit-learn.
    model_params
        Parameters of the booster, such as `{"num_leaves": 63}`; values can be those of the
        workflow.
    train_params
        `num_boost_round` (or `num_iterations`) and further parameters of the booster.
    model_path
        Name of the file that the model is written to, in LightGBM's text form.
    image
        Where it runs on a cluster; by default a Python, into which the packages are installed.
    scoring
        What judges the model on the rows held out: a metric of LightGBM, such as `auc`; by default
        the share of right classes, or R squared.
    options
        The other options of `FitOptions`.

    Returns
    -------
    ProcessHandle
        The step: `model` (a file), which is its value, `score` (of the rows held out; where there
        are none, there is none) and `metrics` (a dict by name).

    Examples
    --------
    >>> import couler
    >>> from couler.steps import lightgbm
    >>> with couler.Workflow("wines") as wf:
    ...     trained = lightgbm.train(
    ...         couler.Dataset(name="wine"), train_params={"num_iterations": 50}
    ...     )
    ...     wf.output("accuracy", trained.score)
    """
    return fit(
        "lightgbm-train",
        program="fit_lightgbm.py",
        dataset=datasource,
        model_params=model_params,
        train_params=train_params,
        model_path=model_path,
        scoring=scoring,
        image=image,
        needs=("lightgbm",),
        known=LIGHTGBM,
        # LightGBM needs OpenMP of the image, which the slim ones have not.
        own_image=default_image().removesuffix("-slim"),
        options=options,
    )


class LightGBMEstimator:
    """Parameters of LightGBM that are set one after another, and then trained with."""

    def __init__(self, **hyperparameters: object) -> None:
        self.model_path = "model.txt"
        self.hyperparameters: dict[str, object] = dict(hyperparameters)

    def set_hyperparameters(self, **hyperparameters: object) -> None:
        """Set parameters of LightGBM; those that were set before stay."""
        self.hyperparameters.update(hyperparameters)

    def fit(self, dataset: Dataset, **options: t.Any) -> ProcessHandle:
        """Make a step that trains; the options are those of `train`."""
        given = {"model_path": self.model_path, **options}
        return train(dataset, self.hyperparameters, **given)

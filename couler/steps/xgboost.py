"""Training with XGBoost in one process, on this machine and on a cluster alike."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.dsl.handles import ProcessHandle
from couler.steps.dataset import Dataset
from couler.steps.fitting import FitOptions, fit
from couler.steps.known import XGBOOST
from couler.steps.parameters import STATIC
from couler.steps.registry import zoo_step


@zoo_step("xgboost.train")
def train(
    datasource: t.Annotated[Dataset, STATIC],
    model_params: t.Annotated[Mapping[str, object] | None, STATIC] = None,
    train_params: t.Annotated[Mapping[str, object] | None, STATIC] = None,
    image: str | None = None,
    *,
    model_path: t.Annotated[str, STATIC] = "model.json",
    scoring: str | None = None,
    **options: t.Unpack[FitOptions],
) -> ProcessHandle:
    """Train boosted trees with XGBoost.

    Parameters
    ----------
    datasource
        The data: a `couler.Dataset`, which is a file, a table of a database or a set of
        scikit-learn.
    model_params
        Parameters of the booster, such as `{"objective": "binary:logistic"}`; values can be those
        of the workflow.
    train_params
        `num_boost_round`, `early_stopping_rounds` and further parameters of the booster.
    model_path
        Name of the file that the model is written to, in XGBoost's JSON or, as `.ubj`, binary form.
    image
        Where it runs on a cluster; by default a Python, into which the packages are installed.
    scoring
        What judges the model on the rows held out: a metric of XGBoost, such as `auc`; by default
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
    >>> from couler.steps import xgboost
    >>> with couler.Workflow("tumours", depth=3) as wf:
    ...     trained = xgboost.train(
    ...         couler.Dataset(name="breast_cancer"),
    ...         model_params={"objective": "binary:logistic", "max_depth": wf.params.depth},
    ...         train_params={"num_boost_round": 20},
    ...     )
    ...     wf.output("accuracy", trained.score)
    """
    return fit(
        "xgboost-train",
        program="fit_xgboost.py",
        dataset=datasource,
        model_params=model_params,
        train_params=train_params,
        model_path=model_path,
        scoring=scoring,
        image=image,
        needs=("xgboost-cpu",),
        known=XGBOOST,
        options=options,
    )

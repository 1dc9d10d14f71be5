"""Training of scikit-learn's estimators, on this machine and on a cluster alike."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.dsl.handles import ProcessHandle
from couler.steps.dataset import Dataset
from couler.steps.expected_work import expected_profile
from couler.steps.fitting import FitOptions, fit
from couler.steps.known import SKLEARN
from couler.steps.parameters import STATIC
from couler.steps.registry import zoo_step


@zoo_step("sklearn.train")
def train(
    estimator: str,
    datasource: t.Annotated[Dataset, STATIC],
    hyperparameters: t.Annotated[Mapping[str, object] | None, STATIC] = None,
    image: str | None = None,
    *,
    model_path: t.Annotated[str, STATIC] = "model.joblib",
    scoring: str | None = None,
    scale: t.Annotated[bool, STATIC] = False,
    **options: t.Unpack[FitOptions],
) -> ProcessHandle:
    """Train an estimator of scikit-learn.

    Parameters
    ----------
    estimator
        Its name, such as `RandomForestClassifier`, or its path, such as `sklearn.svm.SVC`; can be
        a value of the workflow.
    datasource
        The data: a `couler.Dataset`, which is a file, a table of a database or a set of
        scikit-learn.
    hyperparameters
        Arguments of the estimator; values can be those of the workflow.
    model_path
        Name of the file that the model is written to, for `joblib.load`.
    image
        Where it runs on a cluster; by default a Python, into which the packages are installed.
    scoring
        What judges the model on the rows held out: a scorer of scikit-learn, such as `f1_macro`; by
        default the share of right classes, or R squared. What is neither a classifier nor
        a regressor needs one.
    scale
        Whether columns are brought to mean 0 and variance 1 before, by the rows trained on: neural
        networks and support vectors want that. The model that is written does it, too.
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
    >>> from couler.steps import sklearn
    >>> with couler.Workflow("compare") as wf:
    ...     data = couler.Dataset(name="iris")
    ...     models = couler.map(
    ...         lambda kind: sklearn.train(kind, data, memory="1Gi"), ["SVC", "GaussianNB"]
    ...     )
    ...     wf.output("scores", models.score)
    """
    return fit(
        "sklearn-train",
        program="fit_sklearn.py",
        dataset=datasource,
        model_params=hyperparameters,
        model_path=model_path,
        scoring=scoring,
        image=image,
        needs=("scikit-learn",),
        known=SKLEARN,
        more={"estimator": estimator, **({"scale": True} if scale else {})},
        profile=expected_profile(estimator, hyperparameters, datasource),
        options=options,
    )

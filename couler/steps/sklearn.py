"""Training of scikit-learn's estimators, on this machine and on a cluster alike."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from couler.dsl.handles import ProcessHandle
from couler.dsl.objects import Cache, Duration, Gpu, Retry, Toleration
from couler.steps.dataset import Dataset
from couler.steps.fitting import fit
from couler.steps.parameters import STATIC
from couler.steps.pods import Amount
from couler.steps.registry import zoo_step


@zoo_step("sklearn.train")
def train(
    estimator: str,
    datasource: t.Annotated[Dataset, STATIC],
    hyperparameters: t.Annotated[Mapping[str, object] | None, STATIC] = None,
    image: str | None = None,
    *,
    model_path: t.Annotated[str, STATIC] = "model.joblib",
    packages: Sequence[str] | None = None,
    resources: Mapping[str, object] | None = None,
    cpu: Amount | None = None,
    memory: Amount | None = None,
    gpu: int | Gpu | None = None,
    env: Mapping[str, object] | None = None,
    secret: str | Sequence[str] | None = None,
    node_selector: Mapping[str, str] | None = None,
    tolerations: Sequence[Toleration] | None = None,
    timeout: Duration | None = None,
    retry: int | Retry | None = None,
    cache: bool | Cache | None = None,
    step_name: str | None = None,
) -> ProcessHandle:
    """Train an estimator of scikit-learn.

    Parameters
    ----------
    estimator
        Its name, such as `RandomForestClassifier`, or its path, such as `sklearn.svm.SVC`; can be
        a value of the workflow.
    datasource
        The data.
    hyperparameters
        Arguments of the estimator; values can be those of the workflow.
    model_path
        Name of the file that the model is written to, for `joblib.load`.
    image
        Where it runs on a cluster; by default a Python, into which the packages are installed.
    packages
        What is installed before; by default what is needed, or nothing where an image is given.
    resources, cpu, memory, gpu, env, secret, node_selector, tolerations, timeout, retry, cache, \
    step_name
        As for `run_container`.

    Returns
    -------
    ProcessHandle
        The step: `model` (a file), which is its value, `score` (of the rows held out: the share of
        right classes, or R squared) and `metrics` (a dict by name).

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
        train_params=None,
        model_file=model_path,
        image=image,
        packages=packages,
        needs=("scikit-learn",),
        step_name=step_name,
        more={"estimator": estimator},
        options={
            "resources": resources,
            "cpu": cpu,
            "memory": memory,
            "gpu": gpu,
            "env": env,
            "secret": secret,
            "node_selector": node_selector,
            "tolerations": tolerations,
            "timeout": timeout,
            "retry": retry,
            "cache": cache,
        },
    )

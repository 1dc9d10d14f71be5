"""Training with XGBoost in one process, on this machine and on a cluster alike."""

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


@zoo_step("xgboost.train")
def train(
    datasource: t.Annotated[Dataset, STATIC],
    model_params: t.Annotated[Mapping[str, object] | None, STATIC] = None,
    train_params: t.Annotated[Mapping[str, object] | None, STATIC] = None,
    image: str | None = None,
    *,
    model_path: t.Annotated[str, STATIC] = "model.json",
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
    """Train boosted trees with XGBoost.

    Parameters
    ----------
    datasource
        The data.
    model_params
        Parameters of the booster, such as `{"objective": "binary:logistic"}`; values can be those
        of the workflow.
    train_params
        `num_boost_round`, `early_stopping_rounds` and further parameters of the booster.
    model_path
        Name of the file that the model is written to, in XGBoost's JSON or, as `.ubj`, binary form.
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
        model_file=model_path,
        image=image,
        packages=packages,
        needs=("xgboost-cpu",),
        step_name=step_name,
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

"""Training with TensorFlow on a cluster: a TFJob of Kubeflow's training operator."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.dsl.handles import ProcessHandle
from couler.dsl.objects import Duration
from couler.steps.parameters import STATIC
from couler.steps.pods import ResourceForm
from couler.steps.registry import zoo_step
from couler.steps.replicas import Role, TrainingJob
from couler.steps.training import (
    CleanPodPolicy,
    Local,
    ReplicaOptions,
    RestartPolicy,
    begin_training,
)

JOB = TrainingJob(
    kind="TFJob",
    specs="tfReplicaSpecs",
    container="tensorflow",
    roles=(
        Role("Chief", "num_chiefs"),
        Role("PS", "num_ps"),
        Role("Worker", "num_workers"),
        Role("Evaluator", "num_evaluators"),
    ),
    deciding=("Chief", "Worker"),
    alone="Worker",
)


@zoo_step("tensorflow.train", extra="input_")
def train(
    image: str | None = None,
    command: str | Sequence[object] | None = None,
    secret: str | Sequence[str] | None = None,
    no_chief: t.Annotated[bool, STATIC] = True,
    chief_image: str | None = None,
    chief_resources: ResourceForm | None = None,
    chief_restart_policy: RestartPolicy = "Never",
    chief_command: str | Sequence[object] | None = None,
    num_ps: t.Annotated[int, STATIC] = 0,
    ps_image: str | None = None,
    ps_resources: ResourceForm | None = None,
    ps_restart_policy: RestartPolicy = "Never",
    ps_command: str | Sequence[object] | None = None,
    num_workers: t.Annotated[int, STATIC] = 0,
    worker_image: str | None = None,
    worker_resources: ResourceForm | None = None,
    worker_restart_policy: RestartPolicy = "Never",
    worker_command: str | Sequence[object] | None = None,
    num_evaluators: t.Annotated[int, STATIC] = 0,
    evaluator_image: str | None = None,
    evaluator_resources: ResourceForm | None = None,
    evaluator_restart_policy: RestartPolicy = "Never",
    evaluator_command: str | Sequence[object] | None = None,
    clean_pod_policy: CleanPodPolicy = "Running",
    timeout: Duration | None = None,
    *,
    local: Local = True,
    **options: t.Unpack[ReplicaOptions],
) -> ProcessHandle:
    """Train with TensorFlow: a TFJob (kubeflow.org/v1).

    Parameters
    ----------
    image, command
        Of every replica that has none of its own. A command that is one text is split into words,
        or run by a shell if it needs one.
    secret
        Secrets that exist; their keys are variables of the environment.
    no_chief
        There is no chief; worker 0 is it.
    chief_image, chief_resources, chief_restart_policy, chief_command
        Of the chief.
    num_ps, ps_image, ps_resources, ps_restart_policy, ps_command
        Parameter servers.
    num_workers, worker_image, worker_resources, worker_restart_policy, worker_command
        Workers.
    num_evaluators, evaluator_image, evaluator_resources, evaluator_restart_policy, \
    evaluator_command
        Evaluators.
    clean_pod_policy
        Which pods are removed when the job has ended.
    timeout
        As for `run_container`; the job ends with the step's time as well.
    local
        What runs on an engine without a cluster: True for the worker's command alone, False for
        nothing, or a `LocalForm` or function.
    options
        The other options of `ReplicaOptions`.
    input_*
        Hyperparameters as keywords: `input_batch_size=100` is `--batch_size=100`.

    Returns
    -------
    ProcessHandle
        The step: `job_name`, `job_id`, `job_obj`, `started`, `ended`, and `model_path` if it is
        stated, which then is the value of the step; else that is the job's name.

    Examples
    --------
    >>> import couler
    >>> from couler.steps import tensorflow
    >>> with couler.Workflow("wide-and-deep", batch_size=100) as wf:
    ...     model = tensorflow.train(
    ...         image="wide-deep-model:v1.0",
    ...         command="python /train_model.py",
    ...         num_ps=1,
    ...         num_workers=2,
    ...         worker_resources="cpu=2,memory=4096",
    ...         input_batch_size=wf.params.batch_size,
    ...     )
    """
    given = {**locals(), "num_chiefs": 0 if no_chief else 1}
    return JOB.make(begin_training("tensorflow-train", given))

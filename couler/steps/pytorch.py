"""Training with PyTorch on a cluster: a PyTorchJob of Kubeflow's training operator."""

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

ALONE = {
    "WORLD_SIZE": "1",
    "RANK": "0",
    "LOCAL_RANK": "0",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}
"""Environment of a program that is the only member of its group."""

JOB = TrainingJob(
    kind="PyTorchJob",
    specs="pytorchReplicaSpecs",
    container="pytorch",
    roles=(Role("Master"), Role("Worker", "num_workers")),
    deciding=("Master",),
    alone="Master",
    alone_env=ALONE,
)


@zoo_step("pytorch.train", extra="input_")
def train(
    image: str | None = None,
    command: str | Sequence[object] | None = None,
    secret: str | Sequence[str] | None = None,
    master_image: str | None = None,
    master_resources: ResourceForm | None = None,
    master_restart_policy: RestartPolicy = "Never",
    master_command: str | Sequence[object] | None = None,
    num_workers: t.Annotated[int, STATIC] = 0,
    worker_image: str | None = None,
    worker_resources: ResourceForm | None = None,
    worker_restart_policy: RestartPolicy = "Never",
    worker_command: str | Sequence[object] | None = None,
    clean_pod_policy: CleanPodPolicy = "Running",
    timeout: Duration | None = None,
    *,
    local: Local = True,
    **options: t.Unpack[ReplicaOptions],
) -> ProcessHandle:
    """Train with PyTorch: a PyTorchJob (kubeflow.org/v1) of a master and workers.

    Parameters
    ----------
    image, command
        Of every replica that has none of its own. A command that is one text is split into words,
        or run by a shell if it needs one.
    secret
        Secrets that exist; their keys are variables of the environment.
    master_image, master_resources, master_restart_policy, master_command
        Of the master, with whose end the job ends.
    num_workers, worker_image, worker_resources, worker_restart_policy, worker_command
        Workers besides the master.
    clean_pod_policy
        Which pods are removed when the job has ended.
    timeout
        As for `run_container`; the job ends with the step's time as well.
    local
        What runs on an engine without a cluster: True for the master's command alone, False for
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
    >>> from couler.steps import pytorch
    >>> with couler.Workflow("digits", rate=0.01) as wf:
    ...     model = pytorch.train(
    ...         image="pytorch/pytorch:2.6.0-cuda12.4-cudnn9-runtime",
    ...         command=["python", "/srv/train.py"],
    ...         num_workers=3,
    ...         gpu=1,
    ...         hyperparameters={"rate": wf.params.rate},
    ...         model_path=couler.text("s3://models/{}/", wf.run_facts.id),
    ...     )
    ...     couler.run_container("example.org/evaluate:1", args=[model.model_path])
    <couler step evaluate>
    """
    return JOB.make(begin_training("pytorch-train", locals()))

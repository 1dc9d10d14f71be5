"""Training with MPI on a cluster: an MPIJob of Kubeflow's MPI operator."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.dsl.handles import ProcessHandle
from couler.dsl.objects import Duration
from couler.steps.parameters import STATIC
from couler.steps.pods import ResourceForm, first_given
from couler.steps.registry import zoo_step
from couler.steps.replicas import Role, TrainingJob
from couler.steps.training import (
    CleanPodPolicy,
    Local,
    ReplicaOptions,
    RestartPolicy,
    begin_training,
    check_least,
)

JOB = TrainingJob(
    kind="MPIJob",
    api_version="kubeflow.org/v2beta1",
    specs="mpiReplicaSpecs",
    container="mpi",
    roles=(Role("Launcher"), Role("Worker", "num_workers", takes_args=False)),
    deciding=("Launcher",),
)


@zoo_step("mpi.train", extra="input_")
def train(
    image: str | None = None,
    command: str | Sequence[object] | None = None,
    secret: str | Sequence[str] | None = None,
    launcher_image: str | None = None,
    launcher_resources: ResourceForm | None = None,
    launcher_restart_policy: RestartPolicy = "Never",
    launcher_command: str | Sequence[object] | None = None,
    num_workers: t.Annotated[int, STATIC] = 1,
    worker_image: str | None = None,
    worker_resources: ResourceForm | None = None,
    worker_restart_policy: RestartPolicy = "Never",
    worker_command: str | Sequence[object] | None = None,
    clean_pod_policy: CleanPodPolicy = "Running",
    timeout: Duration | None = None,
    *,
    slots_per_worker: int = 1,
    implementation: t.Literal["OpenMPI", "Intel", "MPICH"] = "OpenMPI",
    ssh_auth_mount_path: str | None = None,
    backoff_limit: t.Annotated[int, STATIC] = 6,
    local: Local = False,
    **options: t.Unpack[ReplicaOptions],
) -> ProcessHandle:
    """Train with MPI: an MPIJob (kubeflow.org/v2beta1) of a launcher and workers.

    Parameters
    ----------
    image
        Of the launcher and the workers that have none of their own.
    command
        Of the launcher, such as `["mpirun", "-n", "2", "python", "train.py"]`; the workers run
        the image's own entry point, which must be an SSH server, unless `worker_command` is given.
    secret
        Secrets that exist; their keys are variables of the environment.
    launcher_image, launcher_resources, launcher_restart_policy, launcher_command
        Of the launcher, with whose end the job ends.
    num_workers, worker_image, worker_resources, worker_restart_policy, worker_command
        Workers.
    clean_pod_policy
        Which pods are removed when the job has ended.
    timeout
        As for `run_container`; the job ends with the step's time as well.
    slots_per_worker
        Processes that a worker takes.
    implementation
        Of MPI, in the image.
    ssh_auth_mount_path
        Where the image looks for SSH keys; by default in `/root/.ssh`.
    backoff_limit
        How often the launcher is tried again, as the workers may not be ready.
    local
        What runs on an engine without a cluster: a `LocalForm` or function; False for
        nothing. The launcher's command is for several machines, so there is no default.
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
    >>> from couler.steps import mpi
    >>> with couler.Workflow("pi") as wf:
    ...     job = mpi.train(
    ...         image="mpioperator/mpi-pi:openmpi",
    ...         command=["mpirun", "-n", "2", "/home/mpiuser/pi"],
    ...         num_workers=2,
    ...         ssh_auth_mount_path="/home/mpiuser/.ssh",
    ...     )
    """
    own = {"command": None, "launcher_command": first_given(launcher_command, command)}
    draft = begin_training("mpi-train", {**locals(), **own})
    if local is True:
        draft.report(
            "local=True: the launcher starts programs on several machines. Give a couler.LocalForm "
            "with what runs here"
        )
    check_least(draft, 1, slots_per_worker=slots_per_worker)
    check_least(draft, 0, backoff_limit=backoff_limit)
    # The launcher is tried again in new pods, each of which counts.
    tries = max(0, backoff_limit) if launcher_restart_policy == "Never" else 0
    return JOB.make(
        draft,
        first={"slotsPerWorker": slots_per_worker, "mpiImplementation": implementation},
        last={} if ssh_auth_mount_path is None else {"sshAuthMountPath": ssh_auth_mount_path},
        policy={"backoffLimit": backoff_limit},
        may_fail={"Launcher": tries},
    )

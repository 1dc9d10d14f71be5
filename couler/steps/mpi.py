"""Training with MPI on a cluster: an MPIJob of Kubeflow's MPI operator."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from couler.dsl.handles import ProcessHandle
from couler.dsl.objects import Cache, Duration, Gpu, Retry, Toleration, VolumeMount
from couler.steps.parameters import STATIC
from couler.steps.pods import (
    Amount,
    PodOptions,
    ResourceForm,
    first_given,
    hyperparameter_words,
    named_inputs,
)
from couler.steps.registry import zoo_step
from couler.steps.replicas import Replica, ended, replica_specs
from couler.steps.training import (
    CleanPodPolicy,
    JobKind,
    JobOptions,
    Local,
    RestartPolicy,
    check_least,
    current_builder,
    make_job,
    run_policy,
    with_model_path,
)
from couler.steps.training import (
    step_name as name_of,
)

CONTAINER = "mpi"


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
    args: Sequence[object] = (),
    env: Mapping[str, object] | None = None,
    hyperparameters: Mapping[str, object] | None = None,
    model_path: str | None = None,
    resources: ResourceForm | None = None,
    cpu: Amount | None = None,
    memory: Amount | None = None,
    gpu: int | Gpu | None = None,
    volume_mounts: Sequence[VolumeMount] = (),
    node_selector: Mapping[str, str] | None = None,
    tolerations: Sequence[Toleration] = (),
    pod_labels: Mapping[str, str] | None = None,
    pod_annotations: Mapping[str, str] | None = None,
    step_name: str | None = None,
    retry: int | Retry | None = None,
    cache: bool | Cache | None = None,
    local: Local = False,
    success_condition: str | None = None,
    failure_condition: str | None = None,
    set_owner_reference: t.Annotated[bool, STATIC] = True,
    **inputs: object,
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
    slots_per_worker
        Processes that a worker takes.
    implementation
        Of MPI, in the image.
    ssh_auth_mount_path
        Where the image looks for SSH keys; by default in `/root/.ssh`.
    backoff_limit
        How often the launcher is tried again, as the workers may not be ready.
    args
        Arguments of the launcher's command: text, numbers and values of the workflow.
    env
        Environment of every replica: text, values of the workflow, `SecretKey` and `ConfigKey`.
    hyperparameters
        Further arguments by name, each given as `--name=value`.
    model_path
        Where the program writes the model; it finds it as `$MODEL_PATH`, and the step gives it out
        as `model_path`.
    resources, cpu, memory, gpu
        Of every replica that has none of its own: a dict as for `run_container`, a text such as
        `"cpu=0.5,memory=1024,gpu=1"`, or single amounts.
    volume_mounts
        Where the replicas see volumes of the workflow.
    node_selector, tolerations
        The nodes that the replicas can run on.
    pod_labels, pod_annotations
        Of the replicas' pods.
    step_name, timeout, retry, cache
        As for `run_container`; the job ends with the step's time as well.
    local
        What runs on an engine without a cluster: a `LocalForm` or function; False for
        nothing. The launcher's command is for several machines, so there is no default.
    success_condition, failure_condition
        When the job has ended, in place of what follows from its replicas.
    set_owner_reference
        The cluster removes the job together with the run.
    inputs
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
    builder = current_builder()
    name = name_of(builder, "mpi-train", step_name)
    pods = PodOptions(
        step=name,
        image=image,
        command=None,
        args=[
            *args,
            *hyperparameter_words(builder, name, hyperparameters or {}, named_inputs(inputs)),
        ],
        env=with_model_path(builder, name, env, model_path),
        secret=secret,
        resources=resources,
        cpu=cpu,
        memory=memory,
        gpu=gpu,
        volume_mounts=volume_mounts,
        node_selector=node_selector,
        tolerations=tolerations,
        pod_labels=pod_labels,
        pod_annotations=pod_annotations,
    )
    options = JobOptions(
        name=name,
        timeout=timeout,
        retry=retry,
        cache=cache,
        local=local,
        model_path=model_path,
        success_condition=success_condition,
        failure_condition=failure_condition,
        set_owner_reference=set_owner_reference,
    )
    if local is True:
        builder.report(
            "CLR105",
            f'step "{name}": local=True: the launcher starts programs on several machines. Give a '
            "couler.LocalForm with what runs here",
            step=name,
        )
    check_least(builder, name, 1, slots_per_worker=slots_per_worker)
    check_least(builder, name, 0, backoff_limit=backoff_limit)
    replicas = [
        Replica(
            "Launcher",
            1,
            launcher_image,
            first_given(launcher_command, command),
            launcher_resources,
            launcher_restart_policy,
        ),
        Replica(
            "Worker",
            num_workers,
            worker_image,
            worker_command,
            worker_resources,
            worker_restart_policy,
            takes_args=False,
        ),
    ]
    # The launcher is tried again in new pods, each of which counts.
    tries = max(0, backoff_limit) if launcher_restart_policy == "Never" else 0
    success, failure = ended(
        builder, name, replicas, deciding=("Launcher",), may_fail={"Launcher": tries}
    )
    spec: dict[str, object] = {
        "slotsPerWorker": slots_per_worker,
        "mpiImplementation": implementation,
        "runPolicy": run_policy(clean_pod_policy, timeout, backoffLimit=backoff_limit),
        "mpiReplicaSpecs": replica_specs(builder, pods, CONTAINER, replicas),
    }
    if ssh_auth_mount_path is not None:
        spec["sshAuthMountPath"] = ssh_auth_mount_path
    kind = JobKind(
        manifest={"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob", "spec": spec},
        success_condition=success,
        failure_condition=failure,
    )
    return make_job(kind, options)

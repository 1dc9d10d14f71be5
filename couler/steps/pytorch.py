"""Training with PyTorch on a cluster: a PyTorchJob of Kubeflow's training operator."""

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
    current_builder,
    make_job,
    run_policy,
    single_process,
    with_model_path,
)
from couler.steps.training import (
    step_name as name_of,
)

CONTAINER = "pytorch"
"""Name of the container that the operator looks for."""

ALONE = {
    "WORLD_SIZE": "1",
    "RANK": "0",
    "LOCAL_RANK": "0",
    "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "29500",
}
"""Environment of a program that is the only member of its group."""


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
    local: Local = True,
    success_condition: str | None = None,
    failure_condition: str | None = None,
    set_owner_reference: t.Annotated[bool, STATIC] = True,
    **inputs: object,
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
    args
        Arguments of every replica's command: text, numbers and values of the workflow.
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
        What runs on an engine without a cluster: True for the master's command alone, False for
        nothing, or a `LocalForm` or function.
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
    builder = current_builder()
    name = name_of(builder, "pytorch-train", step_name)
    pods = PodOptions(
        step=name,
        image=image,
        command=command,
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
    replicas = [
        Replica("Master", 1, master_image, master_command, master_resources, master_restart_policy),
        Replica(
            "Worker",
            num_workers,
            worker_image,
            worker_command,
            worker_resources,
            worker_restart_policy,
        ),
    ]
    success, failure = ended(builder, name, replicas, deciding=("Master",))
    kind = JobKind(
        manifest={
            "apiVersion": "kubeflow.org/v1",
            "kind": "PyTorchJob",
            "spec": {
                "runPolicy": run_policy(clean_pod_policy, timeout),
                "pytorchReplicaSpecs": replica_specs(builder, pods, CONTAINER, replicas),
            },
        },
        success_condition=success,
        failure_condition=failure,
        local=single_process(
            builder,
            pods,
            command=first_given(master_command, command),
            env=ALONE,
            model_path=model_path,
        ),
    )
    return make_job(kind, options)

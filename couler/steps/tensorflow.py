"""Training with TensorFlow on a cluster: a TFJob of Kubeflow's training operator."""

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

CONTAINER = "tensorflow"
"""Name of the container that the operator looks for."""


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
        What runs on an engine without a cluster: True for the worker's command alone, False for
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
    builder = current_builder()
    name = name_of(builder, "tensorflow-train", step_name)
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
        Replica(
            "Chief",
            0 if no_chief else 1,
            chief_image,
            chief_command,
            chief_resources,
            chief_restart_policy,
        ),
        Replica("PS", num_ps, ps_image, ps_command, ps_resources, ps_restart_policy),
        Replica(
            "Worker",
            num_workers,
            worker_image,
            worker_command,
            worker_resources,
            worker_restart_policy,
        ),
        Replica(
            "Evaluator",
            num_evaluators,
            evaluator_image,
            evaluator_command,
            evaluator_resources,
            evaluator_restart_policy,
        ),
    ]
    success, failure = ended(builder, name, replicas, deciding=("Chief", "Worker"))
    kind = JobKind(
        manifest={
            "apiVersion": "kubeflow.org/v1",
            "kind": "TFJob",
            "spec": {
                "runPolicy": run_policy(clean_pod_policy, timeout),
                "tfReplicaSpecs": replica_specs(builder, pods, CONTAINER, replicas),
            },
        },
        success_condition=success,
        failure_condition=failure,
        local=single_process(
            builder,
            pods,
            command=first_given(worker_command, command),
            env={},
            model_path=model_path,
        ),
    )
    return make_job(kind, options)

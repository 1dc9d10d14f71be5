"""Training by a runtime of the cluster: a TrainJob of Kubeflow Trainer."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Mapping, Sequence

from couler.dsl.builder import Builder
from couler.dsl.handles import ProcessHandle
from couler.dsl.objects import Cache, Duration, Gpu, Retry, Toleration, VolumeMount
from couler.ir.workflow import Output
from couler.steps.parameters import STATIC
from couler.steps.pod_checks import check_objects, check_pod
from couler.steps.pods import (
    Amount,
    PodOptions,
    ResourceForm,
    Tree,
    environment,
    hyperparameter_words,
    mounts,
    named_inputs,
    placement,
    pod_args,
    pod_command,
    pod_volumes,
    present,
    read_resources,
    resource_tree,
)
from couler.steps.pytorch import ALONE
from couler.steps.registry import zoo_step
from couler.steps.training import (
    JobKind,
    JobOptions,
    Local,
    check_least,
    condition_anywhere,
    current_builder,
    make_job,
    run_policy,
    single_process,
    with_model_path,
)
from couler.steps.training import step_name as name_of

NODE = "node"
"""Name of the training job, and of its container, in the runtimes that come with Trainer."""

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://.+|/.*")

_REASON = '{.status.conditions[?(@.type=="Complete")].reason}'

MANAGER = "couler.dev/steps"
"""Owner of the patches of the runtime."""


@zoo_step("trainer.train", extra="input_")
def train(
    runtime: str = "torch-distributed",
    image: str | None = None,
    command: str | Sequence[object] | None = None,
    num_nodes: int = 1,
    secret: str | Sequence[str] | None = None,
    timeout: Duration | None = None,
    *,
    namespaced: bool = False,
    procs_per_node: int | None = None,
    dataset_uri: str | None = None,
    dataset_secret: str | None = None,
    pretrained_uri: str | None = None,
    pretrained_secret: str | None = None,
    queue: t.Annotated[str | None, STATIC] = None,
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
    step_name: str | None = None,
    retry: int | Retry | None = None,
    cache: bool | Cache | None = None,
    local: Local = True,
    success_condition: str | None = None,
    failure_condition: str | None = None,
    set_owner_reference: t.Annotated[bool, STATIC] = True,
    **inputs: object,
) -> ProcessHandle:
    """Train by a runtime of the cluster: a TrainJob (trainer.kubeflow.org/v1alpha1).

    Parameters
    ----------
    runtime
        Name of the training runtime: what is run, and how the nodes find each other.
    image, command
        In place of the runtime's own.
    num_nodes
        How many nodes train.
    secret
        Secrets that exist; their keys are variables of the environment. Each must be named with
        its keys before, by `couler.obtain_secret`.
    timeout
        Of every attempt; the job ends with it as well.
    namespaced
        The runtime is a TrainingRuntime of the namespace, not a ClusterTrainingRuntime.
    procs_per_node
        Processes of a node, where the runtime takes it.
    dataset_uri, dataset_secret
        Where the data is fetched from before, and the secret that opens it.
    pretrained_uri, pretrained_secret
        Where a pretrained model is fetched from before, and the secret that opens it.
    queue
        Name of a Kueue queue that admits the job.
    args
        Arguments of the command: text, numbers and values of the workflow.
    env
        Environment of the nodes: text, values of the workflow, `SecretKey` and `ConfigKey`.
    hyperparameters
        Further arguments by name, each given as `--name=value`.
    model_path
        Where the program writes the model; it finds it as `$MODEL_PATH`, and the step gives it out
        as `model_path`.
    resources, cpu, memory, gpu
        Of a node: a dict as for `run_container`, a text such as `"cpu=0.5,memory=1024,gpu=1"`, or
        single amounts.
    volume_mounts, node_selector, tolerations
        Of the nodes' pods, as patches of the runtime; Trainer knows them from 2.2 on.
    step_name, retry, cache
        As for `run_container`.
    local
        What runs on an engine without a cluster: True for the command alone, if there is one, False
        for nothing, or a `LocalForm` or function.
    success_condition, failure_condition
        When the job has ended, in place of what follows from its conditions.
    set_owner_reference
        The cluster removes the job together with the run.
    inputs
        Hyperparameters as keywords: `input_batch_size=100` is `--batch_size=100`.

    Notes
    -----
    A TrainJob tells its end by its conditions alone: it has no time of completion, and the counts
    of its jobs do not decide (of a runtime of MPI, only the launcher does). It has failed once
    `Failed` is anywhere among them. That it is complete can be asked only of one place in the list,
    as all parts of a success condition must hold: the first, or with a `queue` the second, behind
    `Suspended`. Where something else suspends jobs, such as a Kueue that manages those without
    a queue, say `success_condition="status.conditions.1.type == Complete"`.

    Returns
    -------
    ProcessHandle
        The step: `job_name`, `job_id`, `job_obj`, `reason`, and `model_path` if it is stated, which
        then is the value of the step; else that is the job's name.

    Examples
    --------
    >>> import couler
    >>> from couler.steps import trainer
    >>> with couler.Workflow("fine-tune", nodes=2) as wf:
    ...     job = trainer.train(
    ...         "torch-distributed",
    ...         image="example.org/fine-tune:1",
    ...         command=["torchrun", "/srv/train.py"],
    ...         num_nodes=wf.params.nodes,
    ...         gpu=4,
    ...         dataset_uri="hf://tatsu-lab/alpaca",
    ...     )
    """
    builder = current_builder()
    name = name_of(builder, "trainer-train", step_name)
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
        labels={} if queue is None else {"kueue.x-k8s.io/queue-name": queue},
    )
    check_pod(builder, pods, image, command)
    check_objects(builder, name, "training runtime", runtime)
    check_objects(builder, name, "queue", queue)
    check_objects(builder, name, "secret", dataset_secret, pretrained_secret)
    check_least(builder, name, 1, num_nodes=num_nodes, procs_per_node=procs_per_node)
    if isinstance(dataset_uri, str) and not _URI.fullmatch(dataset_uri):
        message = (
            f'step "{name}": dataset_uri: "{dataset_uri}" is no URI; write such as '
            f"hf://{dataset_uri}, s3://{dataset_uri} or an absolute path"
        )
        builder.report("CLR105", message, step=name)
    reference = {
        "apiGroup": "trainer.kubeflow.org",
        "kind": "TrainingRuntime" if namespaced else "ClusterTrainingRuntime",
        "name": runtime,
    }
    spec: Tree = {
        "runtimeRef": reference,
        "initializer": present(
            {
                "dataset": _fetched(dataset_uri, dataset_secret),
                "model": _fetched(pretrained_uri, pretrained_secret),
            }
        ),
        "trainer": _trainer(builder, pods, num_nodes, procs_per_node),
        "runtimePatches": _patches(builder, pods),
        **run_policy(None, timeout),
    }
    # A queue suspends the job first, which is its first condition and stays in the list.
    last = 0 if queue is None else 1
    kind = JobKind(
        manifest={
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "spec": present(spec),
        },
        success_condition=f"status.conditions.{last}.type == Complete",
        failure_condition=condition_anywhere("Failed", 3),
        status={},
        outputs={"reason": Output(name="reason", json_path=_REASON)},
        local=single_process(builder, pods, command=command, env=ALONE, model_path=model_path),
    )
    return make_job(kind, options)


def _fetched(uri: object, secret: object) -> Tree | None:
    if uri is None:
        return None
    return {"storageUri": uri, **({} if secret is None else {"secretRef": {"name": secret}})}


def _trainer(builder: Builder, pods: PodOptions, num_nodes: object, procs: object) -> Tree:
    variables = environment(builder, pods)
    for source in variables.get("envFrom", ()):
        secret = source["secretRef"]["name"]
        builder.report(
            "CLR105",
            f'step "{pods.step}": a TrainJob takes single keys of a secret, and those of '
            f'"{secret}" are not known. Name them by couler.obtain_secret([...], name="{secret}")',
            step=pods.step,
        )
    return present(
        {
            "image": pods.image,
            "command": pod_command(builder, pods, pods.command, pods.args),
            "args": pod_args(pods.args),
            "env": variables.get("env"),
            "numNodes": num_nodes,
            "resourcesPerNode": resource_tree(read_resources(builder, pods)),
            "numProcPerNode": procs,
        }
    )


def _patches(builder: Builder, pods: PodOptions) -> list[Tree]:
    """Return what is changed in the pods of the runtime."""
    seen = mounts(pods)
    spec = present(
        {
            "volumes": pod_volumes(builder, pods),
            "containers": [{"name": NODE, "volumeMounts": seen}] if seen else None,
            **placement(pods, read_resources(builder, pods)),
        }
    )
    if not spec:
        return []
    job = {"name": NODE, "template": {"spec": {"template": {"spec": spec}}}}
    runtime = {"template": {"spec": {"replicatedJobs": [job]}}}
    return [{"manager": MANAGER, "trainingRuntimeSpec": runtime}]

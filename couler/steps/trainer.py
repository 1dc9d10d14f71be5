"""Training by a runtime of the cluster: a TrainJob of Kubeflow Trainer."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Sequence

from couler.dsl.handles import ProcessHandle
from couler.dsl.objects import Duration
from couler.ir.workflow import Output
from couler.steps.parameters import STATIC
from couler.steps.pods import (
    JobDraft,
    Tree,
    check_objects,
    check_pod,
    environment,
    mounts,
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
    Local,
    TrainingOptions,
    begin_training,
    check_least,
    condition_anywhere,
    make_job,
    run_policy,
    single_process,
)

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
    local: Local = True,
    **options: t.Unpack[TrainingOptions],
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
    local
        What runs on an engine without a cluster: True for the command alone, if there is one, False
        for nothing, or a `LocalForm` or function.
    volume_mounts, node_selector, tolerations
        Of the nodes' pods, as patches of the runtime; Trainer knows them from 2.2 on.
    options
        The other options of `TrainingOptions`.
    input_*
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
    draft = begin_training("trainer-train", locals())
    check_pod(draft, image, command)
    check_objects(draft, "training runtime", runtime)
    check_objects(draft, "queue", queue)
    check_objects(draft, "secret", dataset_secret, pretrained_secret)
    check_least(draft, 1, num_nodes=num_nodes, procs_per_node=procs_per_node)
    if isinstance(dataset_uri, str) and not _URI.fullmatch(dataset_uri):
        draft.report(
            f'dataset_uri: "{dataset_uri}" is no URI; write such as hf://{dataset_uri}, '
            f"s3://{dataset_uri} or an absolute path"
        )
    reference = {
        "apiGroup": "trainer.kubeflow.org",
        "kind": "TrainingRuntime" if namespaced else "ClusterTrainingRuntime",
        "name": runtime,
    }
    fetched = {
        "dataset": _fetched(dataset_uri, dataset_secret),
        "model": _fetched(pretrained_uri, pretrained_secret),
    }
    spec: Tree = {
        "runtimeRef": reference,
        "initializer": present(fetched),
        "trainer": _trainer(draft),
        "runtimePatches": _patches(draft),
        **run_policy(draft),
    }
    # A queue suspends the job first, which is its first condition and stays in the list.
    last = 0 if queue is None else 1
    return make_job(
        draft,
        {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob"},
        present(spec),
        (f"status.conditions.{last}.type == Complete", condition_anywhere("Failed", 3)),
        outputs={"reason": Output(name="reason", json_path=_REASON)},
        local=single_process(draft, command, ALONE),
        labels={} if queue is None else {"kueue.x-k8s.io/queue-name": queue},
    )


def _fetched(uri: object, secret: object) -> Tree | None:
    if uri is None:
        return None
    return {"storageUri": uri, **({} if secret is None else {"secretRef": {"name": secret}})}


def _trainer(draft: JobDraft) -> Tree:
    variables = environment(draft)
    for source in variables.get("envFrom", ()):
        secret = source["secretRef"]["name"]
        draft.report(
            f'a TrainJob takes single keys of a secret, and those of "{secret}" are not known. '
            f'Name them by couler.obtain_secret([...], name="{secret}")'
        )
    return present(
        {
            "image": draft.given["image"],
            "command": pod_command(draft, draft.given["command"], draft.args),
            "args": pod_args(draft.args),
            "env": variables.get("env"),
            "numNodes": draft.given["num_nodes"],
            "resourcesPerNode": resource_tree(read_resources(draft)),
            "numProcPerNode": draft.given["procs_per_node"],
        }
    )


def _patches(draft: JobDraft) -> list[Tree]:
    """Return what is changed in the pods of the runtime."""
    seen = mounts(draft)
    spec = present(
        {
            "volumes": pod_volumes(draft),
            "containers": [{"name": NODE, "volumeMounts": seen}] if seen else None,
            **placement(draft, read_resources(draft)),
        }
    )
    if not spec:
        return []
    job = {"name": NODE, "template": {"spec": {"template": {"spec": spec}}}}
    runtime = {"template": {"spec": {"replicatedJobs": [job]}}}
    return [{"manager": MANAGER, "trainingRuntimeSpec": runtime}]

"""What the steps have in common that create a training job of the cluster and wait for its end."""

from __future__ import annotations

import contextlib
import math
import re
import typing as t
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from couler.cluster.elastic import ANNOTATION, Elastic
from couler.dsl import objects, units
from couler.dsl.builder import current_scope
from couler.dsl.checks import name_step
from couler.dsl.handles import ProcessHandle
from couler.dsl.jobs import as_text, offer, run_job
from couler.ir.workflow import Output
from couler.steps.commands import CommandError, command_words
from couler.steps.parameters import STATIC
from couler.steps.pods import (
    JobDraft,
    ResourceForm,
    Tree,
    ZooOptions,
    hyperparameter_words,
    local_environment,
    named_inputs,
)

CleanPodPolicy: t.TypeAlias = t.Literal["Running", "All", "None"]
"""Which pods the operator removes when the job has ended."""

RestartPolicy: t.TypeAlias = t.Literal["Never", "OnFailure"]
"""What happens to a container that fails: the job fails, or it starts anew in its pod."""

Local: t.TypeAlias = bool | objects.LocalForm | Callable[[], object]
"""What runs on an engine without a cluster: True for the job's own command, False for nothing."""

MODEL_PATH = "MODEL_PATH"
"""Environment variable that tells a program where to write the model."""

_ANNOTATION = "couler/model-path"
STATUS: Mapping[str, Output] = {
    "started": Output(name="started", json_path="{.status.startTime}"),
    "ended": Output(name="ended", json_path="{.status.completionTime}"),
}
_TELL_NAME = 'printf %s "$JOB_NAME" > job_name; '
_TELL_PATH = 'printf %s "$MODEL_PATH" > model_path; '


class ClusterJobOptions(ZooOptions, total=False):
    """Options of every job of the zoo.

    Attributes
    ----------
    args
        Arguments of the command: text, numbers and values of the workflow.
    cpu, memory, gpu, resources
        Of a pod that has none of its own: a dict as for `run_container`, a text such as
        `"cpu=0.5,memory=1024,gpu=1"`, or single amounts.
    volume_mounts
        Where the pods see volumes of the workflow.
    set_owner_reference
        Whether the cluster removes the job together with the run, as it does by default.
    """

    args: Sequence[object] | None
    resources: ResourceForm | None
    volume_mounts: Sequence[objects.VolumeMount] | None
    set_owner_reference: t.Annotated[bool | None, STATIC]


class TrainingOptions(ClusterJobOptions, total=False):
    """Options of every job of the zoo that trains a model.

    Attributes
    ----------
    hyperparameters
        Further arguments by name, each given as `--name=value`.
    model_path
        Where the program writes the model; it finds it as `$MODEL_PATH`, and the step gives it out
        as `model_path`.
    success_condition, failure_condition
        When the job has ended, in place of what follows from its status.
    """

    hyperparameters: Mapping[str, object] | None
    model_path: str | None
    success_condition: str | None
    failure_condition: str | None


class ReplicaOptions(TrainingOptions, total=False):
    """Options of every job of the zoo that has replicas.

    Attributes
    ----------
    pod_labels, pod_annotations
        Of the replicas' pods.
    elastic
        The work and value of a job whose number of workers can change, for `couler cluster plan`.
    """

    pod_labels: Mapping[str, str] | None
    pod_annotations: Mapping[str, str] | None
    elastic: t.Annotated[Elastic | None, STATIC]


def begin_job(kind: str, arguments: Mapping[str, t.Any]) -> JobDraft:
    """Begin the step of a job, by the arguments of the function that makes it."""
    given = {**arguments, **arguments["options"]}
    builder = current_scope().builder
    # The step is called as it is told, as the calling function, or as the kind of job.
    name = name_step(builder, builder.locate(kind)[0], given.get("step_name"))
    return JobDraft(builder, name, given)


def begin_training(kind: str, arguments: Mapping[str, t.Any]) -> JobDraft:
    """Begin the step of a job that trains: its pods have hyperparameters and a model's path."""
    draft = begin_job(kind, arguments)
    given = draft.given
    sources = given.get("hyperparameters") or {}, named_inputs(given)
    args = [*(given.get("args") or ()), *hyperparameter_words(draft, *sources)]
    env, model_path = dict(given.get("env") or {}), given.get("model_path")
    if model_path is not None:
        if MODEL_PATH in env:
            draft.report(f"both model_path and env say what {MODEL_PATH} is. Remove one")
        env[MODEL_PATH] = model_path
    return replace(draft, args=args, env=env)


def make_job(
    draft: JobDraft,
    head: Mapping[str, str],
    spec: Tree,
    ends: tuple[str, str],
    *,
    outputs: Mapping[str, Output] = STATUS,
    main: str | None = None,
    local: objects.LocalForm | None = None,
    labels: Mapping[str, str] | None = None,
) -> ProcessHandle:
    """Create a job and wait for its end.

    `head` is its apiVersion and kind, `ends` the conditions of its success and its failure, `local`
    what runs by default in its place on an engine without a cluster.
    """
    given = draft.given
    metadata: Tree = {"generateName": f"{resource_name(draft.name)}-"}
    if labels:
        metadata["labels"] = labels
    annotations: Tree = {}
    if given.get("elastic") is not None:
        annotations[ANNOTATION] = given["elastic"].to_annotation()
    if given.get("model_path") is not None:
        annotations[_ANNOTATION] = as_text(given["model_path"])
        place = "{.metadata.annotations.couler/model-path}"
        outputs = {**outputs, "model_path": Output(name="model_path", json_path=place)}
        main = main or "model_path"
    if annotations:
        metadata["annotations"] = annotations
    wanted = given["local"]
    job = run_job(
        {**head, "metadata": metadata, "spec": spec},
        given.get("success_condition") or ends[0],
        given.get("failure_condition") or ends[1],
        timeout=given.get("timeout"),
        retry=given.get("retry"),
        cache=given.get("cache"),
        step_name=draft.name,
        set_owner_reference=given.get("set_owner_reference") is not False,
        local=local if wanted is True else wanted or None,
    )
    return offer(job, outputs, main)


def condition_anywhere(type_: str, most: int = 6) -> str:
    """Return a failure condition: a condition of a type is in the resource's list of conditions."""
    return ",".join(f"status.conditions.{place}.type == {type_}" for place in range(most))


def single_process(
    draft: JobDraft, command: object, env: Mapping[str, str]
) -> objects.LocalForm | None:
    """Return a local form that runs a program alone, as the only member of its group."""
    words: list[object] = []
    with contextlib.suppress(CommandError):  # told with the pods' own
        words = command_words(command, draft.args)
    if not words:
        return None
    script, output = _TELL_NAME, {"job_name": "job_name"}
    if draft.given.get("model_path") is not None:
        script += _TELL_PATH
        output["model_path"] = "model_path"
    return objects.LocalForm(
        command=["sh", "-c", f'{script}exec "$@"', "sh", *words],
        args=list(draft.args),
        output=output,
        env={**local_environment(draft), **env, "JOB_NAME": resource_name(draft.name)},
        working_dir=".",
    )


def check_least(draft: JobDraft, least: int, **counts: object) -> None:
    """Report counts that are too small; those known only when the workflow runs are not checked."""
    for name, count in counts.items():
        if isinstance(count, int) and count < least:
            draft.report(f"{name} is {count}; it must be at least {least}")


def run_policy(draft: JobDraft, **more: object) -> Tree:
    """Return `runPolicy`; the operator ends the job when the step's time is over."""
    clean, timeout = draft.given.get("clean_pod_policy"), draft.given.get("timeout")
    policy: Tree = {"cleanPodPolicy": clean} if clean else {}
    if timeout is not None:
        with contextlib.suppress(ValueError):  # told with the step's other options
            policy["activeDeadlineSeconds"] = math.ceil(units.parse_duration(timeout))
    return {**policy, **more}


def resource_name(step: str) -> str:
    """Return a name that Kubernetes takes, with room for what it and operators append."""
    name = re.sub("[^a-z0-9]+", "-", step.lower()).strip("-")[:40].rstrip("-")
    return name if name[:1].isalpha() else f"job-{name}".rstrip("-")

"""What the steps have in common that create a training job of the cluster and wait for its end."""

from __future__ import annotations

import contextlib
import math
import re
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from couler.dsl import objects, units
from couler.dsl.builder import Builder, current_scope
from couler.dsl.checks import name_step
from couler.dsl.handles import ProcessHandle
from couler.dsl.jobs import as_text, offer, run_job
from couler.ir.workflow import Output
from couler.steps.commands import CommandError, command_words
from couler.steps.pods import PodOptions, Tree, local_environment

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


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """How a job's step runs, whatever the job is."""

    name: str
    """Of the step."""
    timeout: objects.Duration | None = None
    retry: int | objects.Retry | None = None
    cache: bool | str | objects.Cache | None = None
    local: Local = True
    model_path: object = None
    success_condition: str | None = None
    failure_condition: str | None = None
    set_owner_reference: bool = True
    """The cluster removes the job together with the run."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of the job."""


@dataclass(frozen=True, kw_only=True)
class JobKind:
    """What is particular to a kind of job."""

    manifest: Tree
    success_condition: str
    failure_condition: str
    status: Mapping[str, Output] = field(default_factory=lambda: STATUS)
    """The fields of its status that many kinds have."""
    outputs: Mapping[str, Output] = field(default_factory=dict)
    main: str | None = None
    local: objects.LocalForm | None = None
    """Runs by default in its place on an engine without a cluster."""


def step_name(builder: Builder, kind: str, *given: object) -> str:
    """Return the name of a step: the given one, that of the calling function, or its kind."""
    return name_step(builder, builder.locate(kind)[0], *given)


def make_job(kind: JobKind, options: JobOptions) -> ProcessHandle:
    """Create a job and wait for its end."""
    manifest = {**kind.manifest}
    metadata: Tree = {"generateName": f"{resource_name(options.name)}-"}
    if options.labels:
        metadata["labels"] = dict(options.labels)
    outputs = {**kind.status, **kind.outputs}
    main = kind.main
    if options.model_path is not None:
        metadata["annotations"] = {_ANNOTATION: as_text(options.model_path)}
        place = "{.metadata.annotations.couler/model-path}"
        outputs["model_path"] = Output(name="model_path", json_path=place)
        main = main or "model_path"
    head = {key: manifest.pop(key) for key in ("apiVersion", "kind")}
    job = run_job(
        {**head, "metadata": metadata, **manifest},
        options.success_condition or kind.success_condition,
        options.failure_condition or kind.failure_condition,
        timeout=options.timeout,
        retry=options.retry,
        cache=options.cache,
        step_name=options.name,
        set_owner_reference=options.set_owner_reference,
        local=_local_form(kind, options),
    )
    return offer(job, outputs, main)


def condition_anywhere(type_: str, most: int = 6) -> str:
    """Return a failure condition: a condition of a type is in the resource's list of conditions."""
    return ",".join(f"status.conditions.{place}.type == {type_}" for place in range(most))


def _local_form(
    kind: JobKind, options: JobOptions
) -> objects.LocalForm | Callable[[], object] | None:
    if options.local is True:
        return kind.local
    return None if options.local is False else options.local


def single_process(
    builder: Builder,
    options: PodOptions,
    *,
    command: object,
    env: Mapping[str, str],
    model_path: object = None,
) -> objects.LocalForm | None:
    """Return a local form that runs a program alone, as the only member of its group."""
    words: list[object] = []
    with contextlib.suppress(CommandError):  # told with the pods' own
        words = command_words(command, options.args)
    if not words:
        return None
    script, output = _TELL_NAME, {"job_name": "job_name"}
    if model_path is not None:
        script += _TELL_PATH
        output["model_path"] = "model_path"
    return objects.LocalForm(
        command=["sh", "-c", f'{script}exec "$@"', "sh", *words],
        args=list(options.args),
        output=output,
        env={**local_environment(builder, options), **env, "JOB_NAME": resource_name(options.step)},
        working_dir=".",
    )


def with_model_path(
    builder: Builder, step: str, env: Mapping[str, object] | None, model_path: object
) -> dict[str, object]:
    """Return an environment that also tells where the model is to be written."""
    found = dict(env or {})
    if model_path is None:
        return found
    if MODEL_PATH in found:
        message = f'step "{step}": both model_path and env say what {MODEL_PATH} is. Remove one'
        builder.report("CLR105", message, step=step)
    return {**found, MODEL_PATH: model_path}


def check_least(builder: Builder, step: str, least: int, **counts: object) -> None:
    """Report counts that are too small; those known only when the workflow runs are not checked."""
    for name, count in counts.items():
        if isinstance(count, int) and count < least:
            message = f'step "{step}": {name} is {count}; it must be at least {least}'
            builder.report("CLR105", message, step=step)


def run_policy(
    clean_pod_policy: CleanPodPolicy | None, timeout: objects.Duration | None, **more: object
) -> Tree:
    """Return `runPolicy`; the operator ends the job when the step's time is over."""
    policy: Tree = {"cleanPodPolicy": clean_pod_policy} if clean_pod_policy else {}
    if timeout is not None:
        with contextlib.suppress(ValueError):  # told with the step's other options
            policy["activeDeadlineSeconds"] = math.ceil(units.parse_duration(timeout))
    return {**policy, **{name: value for name, value in more.items() if value is not None}}


def resource_name(step: str) -> str:
    """Return a name that Kubernetes takes, with room for what it and operators append."""
    name = re.sub("[^a-z0-9]+", "-", step.lower()).strip("-")[:40].rstrip("-")
    return name if name[:1].isalpha() else f"job-{name}".rstrip("-")


def current_builder() -> Builder:
    """Return the workflow that the program is building."""
    return current_scope().builder

"""Steps that create a resource of the cluster and wait for its end."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from couler.dsl import objects
from couler.dsl._context import ProgramError
from couler.dsl.artifacts import read_outputs
from couler.dsl.builder import Builder
from couler.dsl.checks import (
    attempt,
    checked_mapping,
    checked_text,
    checked_texts,
    shown,
)
from couler.dsl.control import text
from couler.dsl.environment import text_of, without_quotes
from couler.dsl.handles import ProcessHandle, Value
from couler.dsl.options import step_fields
from couler.dsl.processes import PRINTS, begin_step, finish, make_script
from couler.dsl.scope import Draft, Returns
from couler.dsl.shipping import makes_steps
from couler.dsl.step_options import PodOptions
from couler.dsl.types import is_json, spec_of_wire
from couler.dsl.words import add_files, words_of
from couler.ir.values import ManifestValue, Path, place_text, split
from couler.ir.workflow import Container, Job, LocalForm, Output, Script
from couler.packages import default_image

if t.TYPE_CHECKING:
    from couler.dsl.scope import Scope

_TEXT = spec_of_wire("str")
_JOB = Returns(
    specs={"job_name": _TEXT, "job_id": _TEXT, "job_obj": spec_of_wire("json")},
    main="job_name",
    on_read={
        "job_name": Output(name="job_name", json_path="{.metadata.name}"),
        "job_id": Output(name="job_id", json_path="{.metadata.uid}"),
        "job_obj": Output(name="job_obj", json_path="{@}", type="json"),
    },
)

_ANY_MANIFEST = {"apiVersion": "v1", "kind": "Unknown"}
"""Stands for one that was reported as wrong."""


def run_job(
    manifest: str | Mapping[str, object] | Value | None = None,
    success_condition: str | None = None,
    failure_condition: str | None = None,
    timeout: objects.Duration | None = None,
    retry: int | objects.Retry | None = None,
    step_name: str | None = None,
    pool: str | None = None,
    env: Mapping[str, object] | None = None,
    action: t.Literal["get", "create", "apply", "replace", "patch", "delete"] = "create",
    set_owner_reference: bool = True,
    cache: bool | str | objects.Cache | None = None,
    *,
    name: str | None = None,
    outputs: Mapping[str, str | Jq] | None = None,
    local: objects.LocalForm | Callable[[], object] | None = None,
    flags: Sequence[str] = (),
    merge_strategy: t.Literal["strategic", "merge", "json"] | None = None,
    **options: t.Unpack[PodOptions],
) -> ProcessHandle:
    """Create a resource of the cluster, such as a training job, and wait for its end.

    Parameters
    ----------
    manifest
        The resource, as a dict or as YAML, or a file of another step that holds it. In a dict,
        values of the workflow can stand wherever a value can; each keeps its type, so
        `couler.text("{}", value)` makes text of a number.
    success_condition, failure_condition
        When it has ended: conditions on its fields, such as `status.succeeded > 0`.
    timeout, retry, step_name, name, cache
        As for `run_container`.
    env
        Added to the manifest, at `spec.env`.
    action
        What to do with the resource.
    set_owner_reference
        The cluster removes the resource together with the run.
    pool
        Kept for programs of the ancestor.
    outputs
        Fields of the resource that are outputs of the step, each by a JSONPath such as
        `{.status.phase}` or a filter of jq, such as `couler.Jq(".status.conditions | length")`.
    local
        What runs in its place on an engine without a cluster, as one process: a `LocalForm`, or
        a Python function without arguments that does the work itself. It makes no steps: for a
        command in an image write `couler.LocalForm(command=["train.sh"], image="busybox")`.
    flags
        Further arguments of `kubectl`, such as `["--validate=false"]`.
    merge_strategy
        How a patch is put into the resource: `strategic`, `merge` or `json`.
    options
        The other options of `StepOptions` that do not need a process.

    Returns
    -------
    ProcessHandle
        The step; its outputs are `job_name`, `job_id`, `job_obj` and those of `outputs`.

    Raises
    ------
    DefinitionError
        There is no manifest.

    Examples
    --------
    >>> import couler
    >>> pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}
    >>> job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "main-"},
    ...        "spec": {"template": {"spec": pod}}}
    >>> with couler.Workflow("jobs") as wf:
    ...     done = couler.run_job(
    ...         job, success_condition="status.succeeded > 0", outputs={"phase": "{.status.phase}"})
    ...     wf.output("phase", done.phase)
    """
    if manifest is None:
        raise ProgramError("CLR141", "couler.run_job needs a manifest: a dict or YAML")
    if isinstance(flags, str):
        flags = (flags,)
    given = {**options, "timeout": timeout, "retry": retry, "pool": pool, "cache": cache}
    scope, base, draft = begin_step("job", step_name, name)
    builder = scope.builder
    draft.give(_returns(builder, outputs, base))
    source = None
    tree: dict[str, t.Any] = {}
    values: tuple[ManifestValue, ...] = ()
    if isinstance(manifest, Value) and manifest._spec.is_file:
        source = _manifest_file(draft, manifest, base)
    else:
        tree, values = _read_manifest(scope, manifest, env, base)
    form = _local_form(draft, local, base)
    made = attempt(
        builder,
        "run_job",
        lambda: Job(
            manifest=tree,
            values=values,
            manifest_from=source,
            action=action,
            flags=tuple(flags),
            merge_strategy=merge_strategy,
            success_condition=success_condition,
            failure_condition=failure_condition,
            set_owner_reference=set_owner_reference,
            local=form,
        ),
        base,
    )
    draft.action = made or Job(manifest=tree)
    return finish(scope, draft, base, None, given)


@dataclass(frozen=True, slots=True)
class Jq:
    """A filter of jq over the resource of a job, whose result is an output."""

    filter: str


def _manifest_file(draft: Draft, manifest: Value, step: str) -> str | None:
    """Give a job the file that holds its manifest, and return the name of the input."""
    add_files(draft.scope, draft, manifest, step)
    return draft.inputs[-1].name if draft.inputs else None


def offer(job: ProcessHandle, outputs: Mapping[str, Output], main: str | None) -> ProcessHandle:
    """Return a job that gives more fields of its resource, each declared if something reads it."""
    draft = job._draft
    given = draft.returns
    draft.returns = given._replace(
        specs={**{name: spec_of_wire(one.type) for name, one in outputs.items()}, **given.specs},
        on_read={**given.on_read, **outputs},
        main=main or given.main,
    )
    return ProcessHandle(draft)


def _returns(builder: Builder, outputs: Mapping[str, str | Jq] | None, step: str) -> Returns:
    """Return what a job gives: fields of its resource, those that every job has and its own."""
    own: dict[str, Output] = {}
    for name, path in checked_mapping(builder, "outputs", outputs, step).items():
        if name in _JOB.specs:
            builder.report(
                "CLR105",
                f'step "{step}": outputs: every job has an output "{name}". Choose another name',
                step=step,
            )
        if isinstance(path, Jq):
            own[name] = Output(name=name, jq=checked_text(builder, "outputs", path.filter, step))
        else:
            own[name] = Output(name=name, json_path=checked_text(builder, "outputs", path, step))
    specs = {**dict.fromkeys(own, _TEXT), **_JOB.specs}
    return Returns(tuple(own.values()), specs, _JOB.main, on_read=_JOB.on_read)


_LOCAL = (
    "What runs in place of the job is one process: write a function that does the work itself, or "
    'couler.LocalForm(command=["train.sh"], image="busybox")'
)


def _local_form(job: Draft, form: object, step: str) -> LocalForm | None:
    """Return what runs in place of a job, or None."""
    if form is None:
        return None
    builder = job.scope.builder
    if callable(form):
        form = objects.LocalForm(form)
    if not isinstance(form, objects.LocalForm):
        builder.report(
            "CLR105",
            f'step "{step}": local: {shown(form)} is neither a couler.LocalForm nor a '
            f"function. {_LOCAL}",
            step=step,
        )
        return None
    if makes_steps(form.source):
        builder.report(
            "CLR105",
            f'step "{step}": local: a function that makes steps is none. {_LOCAL}',
            step=step,
        )
        return None
    process = Draft(job.scope, None, PRINTS, job.source)
    if form.input is not None:
        add_files(job.scope, process, form.input, step, form.working_dir)
    returns = PRINTS if form.output is None else read_outputs(job.scope, form.output, step)
    options = {name: getattr(form, name) for name in ("env", "cpu", "memory", "gpu", "working_dir")}
    return LocalForm(
        action=_local_action(process, form, step),
        inputs=tuple(process.inputs),
        outputs=returns.outputs,
        **step_fields(builder, options, step),
    )


def _local_action(process: Draft, form: objects.LocalForm, step: str) -> Container | Script:
    builder = process.scope.builder
    image = form.image or builder.default_image or default_image()
    if form.source is not None:
        words = checked_texts(builder, "local.command", form.command, step) or ("python",)
        return make_script(
            process,
            step,
            form.source,
            image=image,
            command=words,
            args=form.args,
            packages=form.packages,
        )
    if not form.command:
        builder.report(
            "CLR141",
            f'step "{step}": its local form has neither a source nor a command',
            step=step,
        )
    return Container(
        image=checked_text(builder, "local.image", image, step),
        command=words_of(process.scope, process, form.command),
        args=words_of(process.scope, process, form.args),
    )


_READ_FILE = " Read the file: pathlib.Path(...).read_text()"


def _is_path(manifest: object) -> bool:
    if isinstance(manifest, os.PathLike):
        return True
    return isinstance(manifest, str) and manifest.endswith((".yaml", ".yml", ".json"))


class _Manifest(t.NamedTuple):
    """A manifest, and what is put into it."""

    tree: dict[str, t.Any]
    values: tuple[ManifestValue, ...] = ()


def _read_manifest(
    scope: Scope,
    manifest: object,
    env: Mapping[str, object] | None,
    step: str,
) -> _Manifest:
    """Return a manifest without the values of the workflow in it, and those values."""
    builder = scope.builder
    tree: t.Any = manifest
    if isinstance(manifest, str):
        import yaml

        try:
            tree = yaml.safe_load(manifest)
        except yaml.YAMLError as error:
            builder.report("CLR136", f'step "{step}": its manifest is no YAML: {error}', step=step)
            return _Manifest(dict(_ANY_MANIFEST))
    if env and isinstance(tree, Mapping):
        given = tree
        added = without_quotes(env) if builder.implicit else env
        tree = attempt(builder, "env", lambda: _with_env(given, added), step) or given
    tree, handles = split(tree, lambda one: isinstance(one, Value))
    if not isinstance(tree, dict) or not is_json(tree):
        builder.report(
            "CLR136",
            f'step "{step}": its manifest must be one object of JSON values, in which values of '
            f"the workflow may stand, not {shown(manifest)}.{_READ_FILE * _is_path(manifest)}",
            step=step,
        )
        return _Manifest(dict(_ANY_MANIFEST))
    return _Manifest(tree, tuple(_manifest_values(scope, handles, step)))


def _manifest_values(
    scope: Scope, handles: list[tuple[Path, Value]], step: str
) -> Iterator[ManifestValue]:
    for path, handle in handles:
        value = scope.bring(handle)
        wire = value._spec.wire
        if wire == "file" or wire == "directory":
            scope.builder.report(
                "CLR177",
                f'step "{step}": manifest.{place_text(path)}: {handle!r} is a {wire}, of which a '
                "resource of the cluster knows nothing. Mount a volume, or pass a value",
                step=step,
            )
            continue
        yield ManifestValue(path=path, value=value._ir(), type=wire)


def _with_env(tree: Mapping[str, t.Any], env: Mapping[str, object]) -> dict[str, t.Any]:
    spec = dict(tree.get("spec") or {})
    variables = [{"name": name, "value": as_text(value)} for name, value in env.items()]
    spec["env"] = [*spec.get("env", ()), *variables]
    return {**tree, "spec": spec}


def as_text(value: object) -> t.Any:
    """Return what stands for a value as text in a manifest: a text, or a value of that type."""
    if isinstance(value, Value):
        return value if value._spec.wire == "str" else text("{}", value)
    return text_of(value)

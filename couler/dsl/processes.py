"""Steps that run a container, a script or a job of the cluster."""

from __future__ import annotations

import os
import re
import typing as t
from collections.abc import Callable, Mapping, Sequence

from couler.dsl import objects
from couler.dsl._nodes import make_container
from couler.dsl._problems import ProgramError
from couler.dsl.artifacts import Artifact, read_outputs
from couler.dsl.builder import Builder, current_scope
from couler.dsl.checks import attempt, checked_text, checked_texts, name_step
from couler.dsl.drafts import Draft, Returns
from couler.dsl.handles import OutputHandle, ProcessHandle, Value, literal
from couler.dsl.options import ImagePullPolicy, step_fields, text_of
from couler.dsl.scope import free_among
from couler.dsl.shipping import default_image, python_preamble
from couler.dsl.types import PRINTED, is_json, spec_of_wire
from couler.ir.workflow import STDOUT, Input, Job, Output, Script

if t.TYPE_CHECKING:
    from couler.dsl.scope import Scope

PRINTS = Returns((), {STDOUT: PRINTED}, main=STDOUT)
"""What a process gives out that declares no outputs: its standard output."""

INPUT_FOLDER = "/tmp/couler/inputs"
"""Where a container finds the files that its arguments name."""

_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*")
_SHELL = re.compile(r"(?:.*/)?(?:sh|bash|dash|ash|ksh|zsh)")

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

Secrets: t.TypeAlias = str | Sequence[str]


def run_container(
    image: str | None = None,
    command: str | Sequence[object] | None = None,
    args: object = None,
    output: object = None,
    input: object = None,
    env: Mapping[str, object] | None = None,
    env_from: t.Any = None,
    secret: Secrets | None = None,
    resources: Mapping[str, object] | None = None,
    timeout: objects.Duration | None = None,
    retry: int | objects.Retry | None = None,
    step_name: str | None = None,
    image_pull_policy: ImagePullPolicy | str | None = None,
    pool: str | None = None,
    enable_ulogfs: bool = True,
    daemon: bool = False,
    volume_mounts: Sequence[objects.VolumeMount] | None = None,
    working_dir: str | None = None,
    node_selector: Mapping[str, str] | None = None,
    cache: bool | objects.Cache | None = None,
    parallelism: int | None = None,
    *,
    name: str | None = None,
    **options: t.Any,
) -> ProcessHandle:
    """Run a command in an image.

    Parameters
    ----------
    image
        The image; by default that of the workflow's defaults.
    command
        The program and its first arguments; without it the image's own entry point runs.
    args
        Arguments: text, numbers, values of the workflow, or one of them. A file of another step
        becomes the path where it lies.
    output
        What the process writes to files: an artifact, a path, a `File`, a list of them, or a
        dict of them by name. What it prints can be read in any case, as `result`.
    input
        Files of other steps that it finds at the paths where those wrote them.
    env, env_from, secret
        Environment: a dict; pods' `envFrom` entries; secrets, every key of which is a variable.
    resources
        Requests that are limits as well, such as `{"cpu": 1, "memory": "1Gi"}`.
    timeout
        Of every attempt: seconds, or text such as `"20m"`.
    retry
        How often to try again, or a `Retry`; 0 for never, whatever the workflow's defaults say.
    step_name, name
        Name of the step; by default that of the calling function, or of the image.
    image_pull_policy, daemon, volume_mounts, working_dir, node_selector
        As in a pod.
    cache
        Take the outputs of an earlier run with the same inputs: True, or a `Cache`.
    parallelism, pool, enable_ulogfs
        Kept for programs of the ancestor.
    options
        The other options of `StepOptions`, such as `cpu`, `memory`, `gpu` and `labels`.

    Returns
    -------
    ProcessHandle
        The step, what it gives, and the list of its outputs.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("hello") as wf:
    ...     greet = couler.run_container("busybox", ["echo", "hello"], step_name="greet")
    ...     shout = couler.run_container("busybox", ["echo"], args=[greet], step_name="shout")
    >>> wf.to_ir().steps[1].action.args
    (StepRef(kind='step', step='greet', output='result'),)
    """
    if not (
        (env is None and env_from is None and secret is None and resources is None)
        and (timeout is None and retry is None and cache is None and image_pull_policy is None)
        and (volume_mounts is None and working_dir is None and node_selector is None)
        and (parallelism is None and pool is None and not daemon)
    ):
        options.update(
            env=env,
            env_from=env_from,
            secret=secret,
            resources=resources,
            timeout=timeout,
            retry=retry,
            cache=cache,
            image_pull_policy=image_pull_policy,
            volume_mounts=volume_mounts,
            working_dir=working_dir,
            node_selector=node_selector,
            parallelism=parallelism,
            pool=pool,
            daemon=daemon or None,
        )
    scope = current_scope()
    builder = scope.builder
    if image is None:
        image = builder.default_image or ""
    own_name, source = builder.locate(image)
    base = name_step(builder, own_name, step_name, name)
    draft = Draft(scope, None, PRINTS, source)
    if input is not None:
        add_files(scope, draft, input, base)
    draft.action = make_container(
        checked_text(builder, "image", image, base),
        _words(scope, draft, command),
        _words(scope, draft, args),
    )
    return _finish(scope, draft, base, output, options)


def run_script(
    image: str | None = None,
    command: str | Sequence[str] | None = None,
    source: str | Callable[..., object] | None = None,
    args: object = None,
    output: object = None,
    input: object = None,
    env: Mapping[str, object] | None = None,
    secret: Secrets | None = None,
    resources: Mapping[str, object] | None = None,
    timeout: objects.Duration | None = None,
    retry: int | objects.Retry | None = None,
    step_name: str | None = None,
    image_pull_policy: ImagePullPolicy | str | None = None,
    pool: str | None = None,
    enable_ulogfs: bool = True,
    daemon: bool = False,
    volume_mounts: Sequence[objects.VolumeMount] | None = None,
    working_dir: str | None = None,
    node_selector: Mapping[str, str] | None = None,
    cache: bool | objects.Cache | None = None,
    *,
    name: str | None = None,
    packages: Sequence[str] = (),
    **options: t.Any,
) -> ProcessHandle:
    """Run a script: text for an interpreter, or a Python function without arguments.

    What the function needs it imports in its body; for one that takes and returns values use
    `couler.step`.

    Parameters
    ----------
    image
        The image; by default that of the workflow's defaults, or the Python of this program.
    command
        The interpreter; `python` by default.
    source
        The script.
    args
        Arguments of the script, as it finds them in `sys.argv[1:]` or `"$1"`: text, numbers,
        files and other values of the workflow.
    name, packages
        Name of the step; packages that the script imports.
    output, input, env, secret, resources, timeout, retry, step_name, image_pull_policy, pool, \
    enable_ulogfs, daemon, volume_mounts, working_dir, node_selector, cache, options
        As for `run_container`.

    Returns
    -------
    ProcessHandle
        The step, what it gives, and the list of its outputs. Its value is the first declared
        output, or what the script prints.

    Raises
    ------
    DefinitionError
        There is no source.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("today") as wf:
    ...     day = couler.run_script("busybox", "sh", "date +%A", step_name="day")
    >>> wf.to_ir().steps[0].action.command
    ('sh',)
    """
    if source is None:
        raise ProgramError("CLR141", "couler.run_script needs a source: a text or a function")
    options.update(
        env=env,
        secret=secret,
        resources=resources,
        timeout=timeout,
        retry=retry,
        image_pull_policy=image_pull_policy,
        pool=pool,
        daemon=daemon or None,
        volume_mounts=volume_mounts,
        working_dir=working_dir,
        node_selector=node_selector,
        cache=cache,
    )
    scope = current_scope()
    builder = scope.builder
    if image is None:
        image = builder.default_image or default_image()
    function = getattr(source, "fn", source)
    own_name, place = builder.locate(image, getattr(function, "__name__", None))
    base = name_step(builder, own_name, step_name, name)
    draft = Draft(scope, None, PRINTS, place)
    if input is not None:
        add_files(scope, draft, input, base)
    words = checked_texts(builder, "command", command, base) or ("python",)
    count = _add_arguments(scope, draft, args)
    text = builder.script(function, base) if callable(function) else str(function)
    draft.action = Script(
        image=checked_text(builder, "image", image, base),
        source=_with_arguments(builder, text, words, count, base),
        command=words,
        packages=checked_texts(builder, "packages", packages, base),
    )
    return _finish(scope, draft, base, output, options)


def run_job(
    manifest: str | Mapping[str, object] | None = None,
    success_condition: str | None = None,
    failure_condition: str | None = None,
    timeout: objects.Duration | None = None,
    retry: int | objects.Retry | None = None,
    step_name: str | None = None,
    pool: str | None = None,
    env: Mapping[str, object] | None = None,
    action: t.Literal["create", "apply", "replace", "patch", "delete"] = "create",
    set_owner_reference: bool = True,
    cache: bool | objects.Cache | None = None,
    *,
    name: str | None = None,
    **options: t.Any,
) -> ProcessHandle:
    """Create a resource of the cluster, such as a training job, and wait for its end.

    Parameters
    ----------
    manifest
        The resource, as a dict or as YAML.
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
    options
        The other options of `StepOptions` that do not need a process.

    Returns
    -------
    ProcessHandle
        The step; its outputs are `job_name`, `job_id` and `job_obj`.

    Raises
    ------
    DefinitionError
        There is no manifest.
    """
    if manifest is None:
        raise ProgramError("CLR141", "couler.run_job needs a manifest: a dict or YAML")
    options.update(timeout=timeout, retry=retry, pool=pool, cache=cache)
    scope = current_scope()
    builder = scope.builder
    own_name, place = builder.locate("job")
    base = name_step(builder, own_name, step_name, name)
    draft = Draft(scope, None, _JOB, place)
    tree = _manifest(builder, manifest, env, base)
    made = attempt(
        builder,
        "run_job",
        lambda: Job(
            manifest=tree,
            action=action,
            success_condition=success_condition,
            failure_condition=failure_condition,
            set_owner_reference=set_owner_reference,
        ),
        base,
    )
    draft.action = made or Job(manifest=tree)
    return _finish(scope, draft, base, None, options)


def _finish(
    scope: Scope, draft: Draft, base: str, output: object, options: Mapping[str, t.Any]
) -> ProcessHandle:
    if output is not None:
        draft.returns = read_outputs(scope.builder, output, base)
        draft.outputs = draft.returns.outputs
    if options:
        draft.options = step_fields(scope.builder, options, base)
    return ProcessHandle(scope.add(draft, base))


def _words(scope: Scope, draft: Draft, given: object) -> tuple[t.Any, ...]:
    """Return words of a command line: text, and values of the workflow."""
    if given is None:
        return ()
    if type(given) is not list and not isinstance(given, list | tuple):
        given = (given,)
    words: list[t.Any] = []
    for word in given:
        if type(word) is str:
            words.append(word)
        elif isinstance(word, Value):
            words.append(_value_word(scope, draft, word))
        elif isinstance(word, list | tuple):  # the outputs of another step, as a list
            words += _words(scope, draft, word)
        else:
            words.append(_plain_word(word))
    return tuple(words)


def _plain_word(word: object) -> str:
    """Return a word that is known as text; report one that has no JSON form."""
    return str(text_of(word if isinstance(word, str) else literal(word).value))


def _value_word(scope: Scope, draft: Draft, word: Value) -> t.Any:
    value = word if word._home is scope else scope.bring(word)
    if value._spec.wire not in ("file", "directory"):
        return value._ir()
    return _add_file(draft, value._hint(), value, _path_of(word))


def _path_of(value: Value) -> str | None:
    """Return the absolute path where a step writes a file, if it is one."""
    if isinstance(value, OutputHandle):
        for output in value._draft.outputs:
            if output.name == value._output and output.path and output.path.startswith("/"):
                return output.path
    return None


def _add_file(draft: Draft, hint: str, value: Value, path: str | None) -> str:
    """Give a container a file of another step, and return the path where it finds it."""
    taken = {one.name for one in draft.inputs}
    name = free_among(taken, re.sub(r"\W+", "_", hint))
    path = path or f"{INPUT_FOLDER}/{name}"
    draft.inputs = (
        *draft.inputs,
        Input(name=name, value=value._ir(), type=value._spec.wire, path=path),
    )
    return path


def add_files(scope: Scope, draft: Draft, given: object, step: str) -> None:
    """Give a process files of other steps, as its argument `input` names them."""
    if isinstance(given, Mapping):
        entries = [(str(name), value) for name, value in given.items()]
    else:
        items = given if isinstance(given, list | tuple) else [given]
        entries = [("", item) for item in items]
    for key, item in entries:
        if isinstance(item, Artifact):
            continue  # the ancestor repeated the producer's declaration; it names no step
        value = scope.bring(item) if isinstance(item, Value) else None
        if value is None or not value._spec.is_file:
            scope.builder.report(
                "CLR105", f'step "{step}": input: {item!r:.60} is no file of a step', step=step
            )
            continue
        path = key if "/" in key else _path_of(item)
        _add_file(draft, os.path.basename(key) or value._hint(), value, path)


def _add_arguments(scope: Scope, draft: Draft, args: object) -> int:
    """Give a script its arguments as inputs, and return how many there are."""
    if args is None:
        return 0
    count = 0
    for arg in args if isinstance(args, list | tuple) else (args,):
        if isinstance(arg, Value):
            value = scope.bring(arg)
            wire = value._spec.wire if value._spec.is_file else "str"
            given = Input(name=f"arg_{count}", value=value._ir(), type=wire)
        else:
            given = Input(name=f"arg_{count}", value=literal(_plain_word(arg)))
        draft.inputs = (*draft.inputs, given)
        count += 1
    return count


def _with_arguments(
    builder: Builder, text: str, command: tuple[str, ...], count: int, step: str
) -> str:
    """Return a script that finds its inputs `arg_0`, `arg_1` ... where arguments are found."""
    if count == 0:
        return text
    program = command[0] if command else ""
    if _PYTHON.fullmatch(program):
        names = ", ".join(f'"COULER_INPUT_arg_{index}"' for index in range(count))
        return python_preamble(
            text, f"import os, sys; sys.argv[1:] = [os.environ[name] for name in ({names},)]\n"
        )
    if _SHELL.fullmatch(program):
        words = " ".join(f'"$COULER_INPUT_arg_{index}"' for index in range(count))
        return f"set -- {words}\n{text}"
    builder.report(
        "CLR137",
        f'step "{step}": arguments can be given to scripts of Python and of shells, not of '
        f"{program}; the script can read them as COULER_INPUT_arg_0 and so on",
        step=step,
    )
    return text


def _manifest(
    builder: Builder,
    manifest: str | Mapping[str, object],
    env: Mapping[str, object] | None,
    step: str,
) -> dict[str, t.Any]:
    """Return a manifest as a dict; report one that cannot be read."""
    tree: t.Any = manifest
    if isinstance(manifest, str):
        import yaml

        try:
            tree = yaml.safe_load(manifest)
        except yaml.YAMLError as error:
            builder.report("CLR136", f'step "{step}": its manifest is no YAML: {error}', step=step)
            return dict(_ANY_MANIFEST)
    if not isinstance(tree, Mapping) or not is_json(tree):
        builder.report("CLR136", f'step "{step}": its manifest must be one object', step=step)
        return dict(_ANY_MANIFEST)
    if not env:
        return dict(tree)
    filled = attempt(builder, "env", lambda: _with_env(tree, env), step)
    return dict(filled or tree)


def _with_env(tree: Mapping[str, t.Any], env: Mapping[str, object]) -> dict[str, t.Any]:
    spec = dict(tree.get("spec") or {})
    variables = [{"name": key, "value": text_of(value)} for key, value in env.items()]
    spec["env"] = [*spec.get("env", ()), *variables]
    return {**tree, "spec": spec}

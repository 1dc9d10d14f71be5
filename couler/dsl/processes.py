"""Steps that run a container, a script or a job of the cluster."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping, Sequence

from couler.dsl._context import ProgramError, caller_frame
from couler.dsl._nodes import make_container
from couler.dsl.builder import current_scope
from couler.dsl.checks import checked_text, checked_texts, name_step
from couler.dsl.handles import ProcessHandle
from couler.dsl.scope import Draft, Returns
from couler.dsl.types import PRINTED
from couler.dsl.words import add_arguments, add_files, command_of, with_arguments, words_of
from couler.ir.workflow import STDOUT, Script

if t.TYPE_CHECKING:
    from couler.dsl import objects
    from couler.dsl.scope import Scope
    from couler.dsl.step_options import ImagePullPolicy, PodOptions, ScriptOptions

PRINTS = Returns((), {STDOUT: PRINTED}, main=STDOUT)
"""What a process gives out that declares no outputs: its standard output."""

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
    cache: bool | str | objects.Cache | None = None,
    parallelism: int | None = None,
    *,
    name: str | None = None,
    **options: t.Unpack[PodOptions],
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
        dict of them by name. A location, such as `S3Artifact`, is where a file is put besides.
        What it prints can be read in any case, as `result`.
    input
        Files of other steps that it finds at the paths where those wrote them, and files from
        outside of the workflow, such as an `S3Artifact` or a `GitArtifact`. The keys of a dict are
        the paths, relative to the working directory unless absolute.
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
        Take the outputs of an earlier run with the same inputs: True, how old they may be, such as
        "7d", or a `Cache`.
    parallelism, pool, enable_ulogfs
        Kept for programs of the ancestor.
    options
        The other options of `couler.dsl.step_options.StepOptions`: `cpu`, `memory`, `disk`,
        `gpu`, `labels`, `annotations`, `display_name`, `tolerations`, `affinity`, `priority_class`,
        `container`, `sidecars`, `init_containers`, `pod`, `keep_logs`, `mutex`, `locks`, `metrics`,
        `hooks`, `profile` and `engine`.

    Returns
    -------
    ProcessHandle
        The step, what it gives, and the list of its outputs.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("hello") as wf:
    ...     greet = couler.run_container("busybox", ["echo", "hello"], name="greet")
    ...     shout = couler.run_container("busybox", ["echo"], args=[greet], name="shout")
    >>> wf.to_ir().steps[1].action.args
    (StepRef(kind='step', step='greet', output='result'),)
    """
    given = t.cast("dict[str, t.Any]", options)
    if not (
        (env is None and env_from is None and secret is None and resources is None)
        and (timeout is None and retry is None and cache is None and image_pull_policy is None)
        and (volume_mounts is None and working_dir is None and node_selector is None)
        and (parallelism is None and pool is None and not daemon)
    ):
        given.update(
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
    if image is None:
        image = current_scope().builder.default_image or ""
    scope, base, draft = begin_step(image, step_name, name)
    if input is not None:
        add_files(scope, draft, input, base, working_dir)
    draft.action = make_container(
        checked_text(scope.builder, "image", image, base),
        command_of(scope, draft, command, base),
        words_of(scope, draft, args),
    )
    return finish(scope, draft, base, output, given)


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
    cache: bool | str | objects.Cache | None = None,
    *,
    name: str | None = None,
    packages: Sequence[str] = (),
    **options: t.Unpack[ScriptOptions],
) -> ProcessHandle:
    """Run a script: text for an interpreter, or a Python function without arguments.

    A `functools.partial` gives a function arguments that the program knows. The function travels
    with what it uses of its file; for one that takes and returns values use `couler.step`.

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
    ...     day = couler.run_script("busybox", "sh", "date +%A", name="day")
    >>> wf.to_ir().steps[0].action.command
    ('sh',)
    """
    from couler.packages import default_image

    if source is None:
        raise ProgramError("CLR141", "couler.run_script needs a source: a text or a function")
    given = t.cast("dict[str, t.Any]", options)
    given.update(
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
    if image is None:
        image = current_scope().builder.default_image or default_image()
    function = getattr(source, "fn", source)
    function_name = getattr(getattr(function, "func", function), "__name__", None)
    scope, base, draft = begin_step(image, step_name, name, function=function_name)
    if input is not None:
        add_files(scope, draft, input, base, working_dir)
    words = checked_texts(scope.builder, "command", command, base) or ("python",)
    draft.action = make_script(
        draft, base, source, image=image, command=words, args=args, packages=packages
    )
    return finish(scope, draft, base, output, given)


def begin_step(
    default: object, *names: object, function: str | None = None
) -> tuple[Scope, str, Draft]:
    """Return the scope of the program's call, the step's name, and a draft without an action."""
    scope = current_scope()
    own_name, source = scope.builder.locate(default, function)
    base = name_step(scope.builder, own_name, *names)
    return scope, base, Draft(scope, None, PRINTS, source)


def make_script(
    draft: Draft,
    step: str,
    source: str | Callable[..., object],
    *,
    image: str,
    command: tuple[str, ...],
    args: object,
    packages: Sequence[str],
) -> Script:
    """Return a script that finds its arguments; they become inputs of the draft."""
    builder = draft.scope.builder
    count = add_arguments(draft.scope, draft, args)
    function = getattr(source, "fn", source)
    if callable(function):
        text = builder.script(function, step)
    else:
        text = checked_text(builder, "source", function, step)
    from couler.dsl.requirements import packages_of

    names = packages_of(builder, packages, step) or builder.default_packages
    script = Script(
        image=checked_text(builder, "image", image, step),
        source=with_arguments(builder, text, command, count, step),
        command=command,
        packages=names,
    )
    return builder.code.take(script, "", step, caller_frame().f_code.co_filename)


def finish(
    scope: Scope, draft: Draft, base: str, output: object, options: Mapping[str, t.Any]
) -> ProcessHandle:
    """Add a step with its outputs and options to a scope, and return its handle."""
    if output is not None:
        from couler.dsl.artifacts import read_outputs

        draft.give(read_outputs(scope, output, base))
    cache = scope.builder.default_cache
    if cache is not None and options.get("cache") is None and not options.get("daemon"):
        options = {**options, "cache": cache}
    if options:
        from couler.dsl.options import step_fields

        draft.options = step_fields(scope.builder, options, base)
    added = scope.add(draft, base)
    if output is not None:
        from couler.dsl.artifacts import remember_places

        remember_places(added, output)
    return ProcessHandle(added)

"""Steps without a process of their own: HTTP requests, pauses and lists of files."""

from __future__ import annotations

import base64
import typing as t
from collections.abc import Mapping, Sequence

from couler.dsl import objects, units
from couler.dsl.checks import OptionError, attempt, checked_mapping
from couler.dsl.conditions import Condition, as_test
from couler.dsl.environment import env_of, text_of
from couler.dsl.handles import StepHandle, Value, as_value, literal
from couler.dsl.located import location_of
from couler.dsl.locations import LocatedFile
from couler.dsl.options import step_fields
from couler.dsl.processes import begin_step
from couler.dsl.scope import Returns, free_among, make_input
from couler.dsl.step_options import TaskOptions
from couler.dsl.types import STR, TypeSpec, UnsupportedTypeError, list_of, spec_of, spec_of_value
from couler.ir import values as ir
from couler.ir.artifacts import ListFiles, S3Location
from couler.ir.policies import is_own
from couler.ir.workflow import STDOUT, Http, Input, Output, Suspend

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder

Method: t.TypeAlias = t.Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]

_ANY_URL = "http://unknown"
"""Stands for a request that was reported as wrong."""


def http(
    url: object,
    method: Method = "GET",
    headers: Mapping[str, object] | None = None,
    body: object = None,
    success_codes: int | Sequence[int] = (),
    timeout: objects.Duration | None = None,
    retry: int | objects.Retry | None = None,
    step_name: str | None = None,
    cache: bool | str | objects.Cache | None = None,
    *,
    name: str | None = None,
    success_condition: Condition | None = None,
    verify_tls: bool = True,
    **options: t.Unpack[TaskOptions],
) -> StepHandle:
    """Make an HTTP request; its value is the body of the response, as text.

    Parameters
    ----------
    url
        Where to: text, or a value of the workflow such as `couler.text("http://{}/", host)`.
    method
        `GET`, `POST`, `PUT`, `PATCH`, `DELETE` or `HEAD`.
    headers
        Text, values of the workflow, or entries of secrets, by name.
    body
        Text, bytes or a value of the workflow, sent as it is; any other JSON value, sent as JSON.
    success_codes
        Statuses with which the step succeeds; without any, those from 200 to 299.
    timeout, retry, cache
        As for `couler.run_container`.
    step_name, name
        Name of the step; by default that of the calling function, or `http`.
    success_condition
        In place of `success_codes`: a condition on `couler.own.status_code`, `couler.own.result`
        (the body), parts of it, and `couler.own.header("X-Name")`; it compares them with plain
        values and values of the workflow.
    verify_tls
        Check the certificate of the server.
    options
        The other options of `StepOptions` that need no process, such as `labels` and `mutex`.

    Returns
    -------
    StepHandle
        The step; its value, `result`, is the body of the response, and `answer["key"]` a part of
        one that is JSON.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("notify", host="example.org") as wf:
    ...     found = couler.http(couler.text("https://{}/scores", wf.params.host), name="find")
    ...     told = couler.http(
    ...         "https://example.org/hook", "POST", {"X-Kind": "scores"}, body=found,
    ...         success_codes=[200, 202], retry=2, name="tell")
    >>> [step.action.method for step in wf.to_ir().steps]
    ['GET', 'POST']
    """
    given = {**options, "timeout": timeout, "retry": retry, "cache": cache}
    scope, base, draft = begin_step("http", step_name, name)
    builder = scope.builder
    inputs: list[Input] = []

    def operand(value: Value) -> ir.Value:
        resolved = scope.resolve(value)
        if is_own(resolved):
            return resolved
        name = free_among([one.name for one in inputs], "expected")
        inputs.append(make_input(name, resolved, value._spec))
        return ir.OwnRef(fact="input", name=name)

    codes = success_codes if isinstance(success_codes, list | tuple) else (success_codes,)
    made = attempt(
        builder,
        "http",
        lambda: Http(
            url=as_value(url) if isinstance(url, Value) else str(url),
            method=t.cast(Method, str(method).upper()),
            headers=tuple(env_of(headers or {})),
            body=None if isinstance(body, bytes) else _body(body),
            body_base64=base64.b64encode(body).decode() if isinstance(body, bytes) else None,
            success_codes=tuple(codes),
            success_condition=None
            if success_condition is None
            else as_test(success_condition)._build(operand),
            verify_tls=verify_tls,
        ),
        base,
    )
    draft.action = made or Http(url=_ANY_URL)
    draft.inputs = inputs if made else ()
    draft.options = step_fields(builder, given, base)
    return StepHandle(scope.add(draft, base))


def _body(body: object) -> t.Any:
    if body is None or isinstance(body, str | Value):
        return None if body is None else text_of(body)
    return text_of(literal(body).value)


def suspend(
    seconds: objects.Duration | None = None,
    step_name: str | None = None,
    *,
    message: str | None = None,
    timeout: objects.Duration | None = None,
    outputs: Mapping[str, object] | None = None,
    name: str | None = None,
    **options: t.Unpack[TaskOptions],
) -> StepHandle:
    """Wait some time, or until a person lets the run go on.

    Parameters
    ----------
    seconds
        How long: seconds (> 0), or text such as `"10m"`; None for until a person resumes the
        run, which is for engines that can be told to (see `couler engines`).
    step_name, name
        Name of the step; by default that of the calling function, or `suspend`.
    message
        For the person: what to look at before going on.
    timeout
        Fail after so long: seconds, or text such as `"2d"`.
    outputs
        Values that the person enters, each with a type, or with a default.
    options
        The other options of `StepOptions` that need no process, such as `labels`.

    Returns
    -------
    StepHandle
        The step, for `>>` and conditions on how it ends; its values are those of `outputs`.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("release") as wf:
    ...     build = couler.run_container("busybox", ["true"], name="build")
    ...     approval = couler.suspend(name="approval", message="Release this?")
    ...     publish = couler.run_container("busybox", ["true"], name="publish")
    ...     build >> approval >> couler.suspend("10m", name="cool-down") >> publish
    <couler step publish>
    """
    given = {**options, "timeout": timeout}
    scope, base, draft = begin_step("suspend", step_name, name)
    builder = scope.builder
    draft.action = _pause(builder, seconds, message, base)
    draft.give(_entered(builder, outputs, base))
    draft.options = step_fields(builder, given, base)
    return StepHandle(scope.add(draft, base))


def _pause(
    builder: Builder, seconds: objects.Duration | None, message: str | None, step: str
) -> Suspend:
    """Return what a pause does; report a wrong length or message."""
    made = attempt(
        builder,
        "suspend",
        lambda: Suspend(
            seconds=None if seconds is None else units.parse_duration(seconds), message=message
        ),
        step,
    )
    return made or Suspend(seconds=1)


def _entered(builder: Builder, outputs: Mapping[str, object] | None, step: str) -> Returns:
    """Return what a person enters: values with a type, or with a default."""
    specs: dict[str, TypeSpec] = {}
    made: list[Output] = []
    for name, given in checked_mapping(builder, "outputs", outputs, step).items():
        default: object = None
        try:
            if isinstance(given, type) or t.get_origin(given) is not None:
                spec = spec_of(given)
            else:
                default = literal(given).value
                spec = spec_of_value(default)
        except UnsupportedTypeError as error:
            builder.report("CLR108", f'step "{step}": outputs: {name}: {error}', step=step)
            spec = STR
        specs[name] = spec
        made.append(Output(name=name, type=spec.wire, default=default))
    return Returns(tuple(made), specs, main=next(iter(specs), None))


_KEYS = Returns((Output(name=STDOUT, type="list"),), {STDOUT: list_of(STR)}, main=STDOUT)
_UNKNOWN = ListFiles(at=S3Location(key="unknown"))
"""Stands for a list that was reported as wrong."""


def list_files(
    location: object,
    pattern: str | None = None,
    timeout: objects.Duration | None = None,
    retry: int | objects.Retry | None = None,
    step_name: str | None = None,
    *,
    name: str | None = None,
    **options: t.Any,
) -> StepHandle:
    """List the files below a location, without fetching them.

    Parameters
    ----------
    location
        Such as `couler.S3Artifact(bucket="data", key="in")`; texts may be values of the workflow.
    pattern
        Which files: their paths below the location. `*` stands for any text without `/`, `?` for
        one character, `[0-9]` for one of these, `**/` for any folders. None for all of them.
    timeout, retry
        As for `couler.run_container`.
    step_name, name
        Name of the step; by default that of the calling function, or `list-files`.
    options
        The other options of `StepOptions` that need no process, such as `labels`.

    Returns
    -------
    StepHandle
        The step; its value is the sorted list of their keys, from the root of the bucket, which
        `couler.map` takes.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("tables") as wf:
    ...     keys = couler.list_files(couler.S3Artifact(bucket="data", key="in"), "**/*.csv")
    ...     rows = couler.map(
    ...         lambda key: couler.run_container(
    ...             "busybox", ["wc", "-l", "table.csv"], name="count",
    ...             input=couler.S3Artifact("table.csv", bucket="data", key=key)),
    ...         keys)
    >>> [step.action.kind for step in wf.to_ir().steps]
    ['list_files', 'container']
    """
    options.update(timeout=timeout, retry=retry)
    scope, base, draft = begin_step("list-files", step_name, name)
    draft.give(_KEYS)

    def action() -> ListFiles:
        if not isinstance(location, LocatedFile):
            told = f"{location!r:.60} is no location, such as couler.S3Artifact"
            raise OptionError(told)
        if location.archive or location.optional or location.mode or location.removal:
            raise OptionError("files that are listed are not fetched; name only where they are")
        return ListFiles(at=location_of(scope, location), pattern=pattern)

    draft.action = attempt(scope.builder, "list_files", action, base) or _UNKNOWN
    draft.options = step_fields(scope.builder, options, base)
    return StepHandle(scope.add(draft, base))

"""Workflows as programs write them."""

from __future__ import annotations

import functools
import inspect
import os
import typing as t
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType, TracebackType

from couler.dsl import assembly
from couler.dsl._context import Block, ProgramError, caller_frame, current, entered_scope
from couler.dsl.builder import Builder
from couler.dsl.checks import checked_mapping
from couler.dsl.handles import Expression
from couler.dsl.scope import Scope
from couler.dsl.types import JSON, STR, TypeSpec
from couler.ir import values, workflow as ir
from couler.ir.diagnostics import Diagnostic
from couler.ir.imports import first_paragraph

if t.TYPE_CHECKING:
    from couler import stages
    from couler.backends.base import Artifact
    from couler.dsl import objects
    from couler.dsl.hooks import AnyHook, OnState
    from couler.dsl.locations import FileSettings
    from couler.dsl.locks import AnyLock
    from couler.dsl.metrics import AnyMetric
    from couler.dsl.pods import Keep, PodSettings, RunSettings
    from couler.dsl.step_options import StepOptions

    class DefaultOptions(StepOptions, total=False):
        """Options that a workflow gives to all its steps, and what processes run in."""

        image: str | None
        packages: str | Sequence[str] | None
        cache: bool | str | objects.Cache | None


class StepDefaults:
    """Options for every step of a workflow that does not state its own.

    Parameters
    ----------
    options
        The image, packages, cache, retries, timeout, environment, pull policy, resources and
        placement, named as in a step. A step says `cache=False` to have none.

    Examples
    --------
    >>> import couler
    >>> defaults = couler.StepDefaults(image="python:3.12-slim", retry=2, memory="1Gi")
    """

    def __init__(self, **options: t.Unpack[DefaultOptions]) -> None:
        self.options: dict[str, t.Any] = dict(options)


def _docstring() -> str | None:
    """Return the first paragraph of the docstring of the module whose own lines are running."""
    frame = caller_frame()
    file = os.path.abspath(frame.f_code.co_filename)
    if frame.f_code.co_name != "<module>" or file != frame.f_globals.get("__file__"):  # a notebook
        return None
    return first_paragraph(frame.f_globals.get("__doc__"))


class Parameters:
    """The parameters of a workflow, as attributes or by `[name]`."""

    def __init__(self, specs: Mapping[str, TypeSpec], scope: Scope) -> None:
        self._specs = specs
        self._scope = scope

    def __getitem__(self, name: str) -> t.Any:
        self._scope.builder.parameters_read.add(name)
        spec = self._specs.get(name, JSON)  # verification reports a name that is unknown
        return Expression(self._scope, values.ParamRef(name=name), spec, name)

    def __getattr__(self, name: str) -> t.Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __dir__(self) -> list[str]:
        return sorted(self._specs)


class RunFacts:
    """What a run knows of itself: `id`, `logical_date` and, in exit handlers, `status`."""

    @property
    def id(self) -> t.Any:
        """The engine's name of the run."""
        return Expression(None, values.RunRef(field="id"), STR, "run_id")

    @property
    def logical_date(self) -> t.Any:
        """The time that the run stands for, in ISO 8601 and UTC."""
        return Expression(None, values.RunRef(field="logical_date"), STR, "logical_date")

    @property
    def status(self) -> t.Any:
        """`succeeded` or `failed`; for exit handlers only."""
        return Expression(None, values.RunRef(field="status"), STR, "status")


class Workflow(Block):
    """A workflow; the steps made in its `with` block are its steps.

    In the block only data, `>>` and conditions order the steps.

    Parameters
    ----------
    name
        Lower-case letters, digits and `-`.
    defaults
        Options for every step that does not state its own.
    schedule
        A cron expression, or a `Schedule`; None for a workflow that is started by hand.
    labels, annotations
        Put on the workflow by engines that know them.
    max_parallel
        How many steps run at the same time.
    timeout
        Bound of the whole run: seconds, or text such as `"2h"`.
    keep
        How long after its end the engine keeps the run: seconds, text such as `"7d"`, or a `Keep`.
    description
        For people; by default the first paragraph of the docstring of the module whose own lines
        make the workflow.
    service_account
        Account of the cluster that the steps run as.
    locks
        Held from the start of the run to its end: a `couler.Mutex` or `couler.Semaphore`, or a
        list of them.
    pod
        What all pods are told.
    runs
        What an engine of a cluster is told of the runs.
    metrics
        Given when the run ends; their facts are those of the run.
    hooks
        Steps that run when the run comes into a state.
    suspended
        A run waits for a person before its first step.
    file_settings
        Where its files are kept, and for how long.
    engine
        Settings for single engines, put into what they are given as they are.
    params
        Parameters whose names are those of other arguments here.
    parameters
        Names of parameters with their defaults, with a type for a parameter that every run must
        give, or with a `Parameter`.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("greeting", person="you") as wf:
    ...     hello = couler.run_container("busybox", ["echo", wf.params.person], name="hello")
    >>> [step.name for step in wf.to_ir().steps]
    ['hello']
    """

    def __init__(
        self,
        name: str,
        *,
        defaults: StepDefaults | None = None,
        schedule: str | objects.Schedule | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        max_parallel: int | None = None,
        timeout: objects.Duration | None = None,
        keep: objects.Duration | Keep | None = None,
        description: str | None = None,
        service_account: str | None = None,
        locks: AnyLock | Sequence[AnyLock] | None = None,
        pod: PodSettings | None = None,
        runs: RunSettings | None = None,
        metrics: AnyMetric | Sequence[AnyMetric] | None = None,
        hooks: AnyHook | Sequence[OnState] | None = None,
        suspended: bool = False,
        file_settings: FileSettings | None = None,
        engine: Mapping[str, object] | None = None,
        params: Mapping[str, object] | None = None,
        **parameters: object,
    ) -> None:
        context = current()
        outer = None if context.scope is None else context.scope.builder
        self._builder = builder = Builder(ordered=False, outer=outer)
        builder.workflow = self
        builder.options = _OPTIONS
        builder.source = builder.here()
        assembly.set_name(builder, name)
        assembly.set_fields(
            builder,
            labels=labels,
            annotations=annotations,
            max_parallel=max_parallel,
            description=_docstring() if description is None else description,
            engine=engine,
        )
        assembly.set_duration(builder, "timeout_s", "timeout", timeout)
        assembly.set_keep(builder, "keep", keep)
        assembly.set_pods_and_runs(builder, pod, runs)
        assembly.set_pod(builder, service_account=service_account)
        if locks is not None:
            from couler.dsl.locks import read_locks

            assembly.set_read(builder, "locks", locks, read_locks)
        if suspended:
            assembly.set_fields(builder, suspended=suspended)
        assembly.set_files(builder, file_settings)
        if schedule is not None:
            assembly.set_schedule(builder, schedule)
        assembly.set_defaults(builder, getattr(defaults, "options", defaults))
        for key, value in {**checked_mapping(builder, "params", params), **parameters}.items():
            assembly.add_parameter(builder, key, value)
        root = builder.root
        if metrics is not None:
            from couler.dsl.metrics import read_metrics

            assembly.set_read(builder, "metrics", metrics, functools.partial(read_metrics, root))
        if hooks is not None:
            from couler.dsl.hooks import read_hooks

            assembly.set_read(builder, "hooks", hooks, functools.partial(read_hooks, root))
        if context.collected is not None:
            context.collected.append(self)

    @classmethod
    def from_template(
        cls,
        template: str,
        parameters: Mapping[str, object] | None = None,
        *,
        cluster_wide: bool = False,
        name: str | None = None,
        **settings: t.Any,
    ) -> Workflow:
        """Return a workflow that runs one which the cluster keeps under a name.

        Parameters
        ----------
        template
            Its name: on Argo that of a WorkflowTemplate.
        parameters
            The values that it is given, by name; as those of a workflow.
        cluster_wide
            It is one of all namespaces, on Argo a ClusterWorkflowTemplate.
        name
            Of the workflow; by default that of the template.
        settings
            Further arguments of `Workflow`, such as `schedule`, `labels` and `timeout`.

        Examples
        --------
        >>> import couler
        >>> nightly = couler.Workflow.from_template("train", {"rate": 0.1}, schedule="0 3 * * *")
        >>> nightly.to_ir().stored.name
        'train'
        """
        made = cls(name or template, params=parameters, **settings)
        assembly.set_stored(made._builder, template, cluster_wide)
        return made

    @classmethod
    def _implicit(cls, name: str) -> Workflow:
        """Return the workflow that a program is which opens none."""
        workflow = cls.__new__(cls)
        workflow._builder = Builder(ordered=True)
        workflow._builder.name = name
        workflow._builder.workflow = workflow
        workflow._builder.source = workflow._builder.here()
        settings = current().settings
        if settings.service_account is not None:
            workflow._builder.pod["service_account"] = settings.service_account
        return workflow

    @property
    def name(self) -> str:
        """Name of the workflow."""
        return self._builder.name

    @property
    def params(self) -> Parameters:
        """The parameters, as values of the workflow."""
        return Parameters(self._builder.specs, self._builder.root)

    @property
    def run_facts(self) -> RunFacts:
        """What a run knows of itself: its id, its date and its status."""
        return RunFacts()

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What was found wrong while the workflow was built, in program order."""
        return self._builder.diagnostics

    def __enter__(self) -> Workflow:
        if self._block is not None:
            raise ProgramError(
                "CLR140", f'the workflow "{self.name}" is open already; its blocks cannot be nested'
            )
        self._open(entered_scope(self._builder.root))
        self._builder.block = caller_frame().f_code
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._builder.block = None
        super().__exit__(kind, error, trace)

    def on_exit(
        self,
        handler: Callable[..., object],
        *args: object,
        status: assembly.Status = "any",
        name: str | None = None,
        **kwargs: object,
    ) -> None:
        """Run steps when the run has ended.

        Parameters
        ----------
        handler
            Makes the steps: a typed step, or a function that calls steps.
        args, kwargs
            Arguments for it.
        status
            Run them after `success`, after `failure`, or after `any` end.
        name
            Name of the handler; that of the function by default.
        """
        base = str(name or getattr(handler, "__name__", "<lambda>"))
        if base.startswith("<"):
            base = f"on-{status}"
        assembly.add_handler(self._builder, base, status, handler, *args, **kwargs)

    def output(self, name: str, value: object) -> None:
        """Give a value out as a result of the workflow.

        Parameters
        ----------
        name
            Name of the result.
        value
            A handle, or a part of one.
        """
        assembly.add_output(self._builder, name, value)

    def label_runs(
        self, labels: Mapping[str, object], *, annotations: Mapping[str, str] | None = None
    ) -> None:
        """Give every run labels and annotations by which an engine of a cluster shows it.

        Parameters
        ----------
        labels
            Texts, or values that are known when a run starts: parameters, and facts of the run.
            A time has `-` in place of each `:`, which no label holds.
        annotations
            Texts.
        """
        assembly.label_runs(self._builder, labels, annotations)

    def to_ir(self) -> ir.Workflow:
        """Return the workflow as IR; see `diagnostics` for what was found wrong with it."""
        return assembly.build_workflow(self._builder)

    def reveal_secrets(self) -> dict[str, dict[str, str]]:
        """Return the values of `create_secret`, by name and key, for a run in this process."""
        return self._builder.reveal_secrets()

    def plan(self, engine: str | None = None, **options: t.Any) -> stages.Plan:
        """Check the workflow and run the passes over it; see `couler.stages.plan`."""
        return t.cast("stages.Plan", _stages().plan(self, engine=engine, **options))

    def compile(self, engine: str, **options: t.Any) -> Artifact:
        """Turn the workflow into files for an engine; see `couler.stages.compile`."""
        return t.cast("Artifact", _stages().compile(self, engine, **options))

    def run(self, **options: t.Any) -> stages.RunResult | None:
        """Run the workflow on this machine; see `couler.stages.run`.

        Under `couler compile` and the like, which run the program to get at its workflows,
        nothing runs and None comes back.
        """
        if current().collected is not None:
            return None
        return t.cast("stages.RunResult", _stages().run(self, **options))

    def show(self, as_: str = "tree") -> str:
        """Return a picture of the workflow: `tree`, `mermaid`, `dot`, `svg` or `json`."""
        return t.cast(str, _stages().show(self, as_))

    def _repr_svg_(self) -> str:
        return self.show("svg")

    def __rich_repr__(self) -> t.Iterator[tuple[str, object]]:
        yield "name", self.name
        yield "parameters", list(self._builder.parameters)
        yield "steps", list(self._builder.root.names())

    def __repr__(self) -> str:
        from couler.ir.wording import counted

        steps = counted(len(self._builder.root.drafts), "step")
        return f"<couler workflow {self.name}, {steps}>"


_OPTIONS = tuple(
    name
    for name, one in inspect.signature(Workflow).parameters.items()
    if one.kind is one.KEYWORD_ONLY
)


def _stages() -> ModuleType:
    from couler import stages

    return stages

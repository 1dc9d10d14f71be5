"""Verification on any engine: all rules together, and those for parts, metrics and hooks."""

from __future__ import annotations

import itertools
import re
import typing as t
from collections.abc import Iterable, Mapping

from couler.ir.defaults import as_process
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import Counter, Gauge, Histogram, Metric, Part, Resources
from couler.ir.semantics import Kind
from couler.ir.values import AS_TEXT, Field, Literal, OwnRef, ParamRef, RunRef, Value, is_file, walk
from couler.ir.verify.actions import (
    check_action,
    check_inputs,
    check_local_outputs,
    check_output_defaults,
    check_outputs_of_process,
)
from couler.ir.verify.files import check_files, check_optional_reads, check_scope_outputs
from couler.ir.verify.flow import check_cycles, check_dependencies, check_outputs
from couler.ir.verify.names import (
    MAX_DEPTH,
    SURELY_SHORT,
    check_handler_name,
    check_label_name,
    check_step_names,
    check_value_names,
    check_word,
    check_words,
    repeated,
)
from couler.ir.verify.scope import Order, Report, ScopeView
from couler.ir.verify.settings import (
    check_default_values,
    check_foreach,
    check_policies,
    check_settings,
    check_step_loop,
)
from couler.ir.verify.values import Reader
from couler.ir.walk import (
    HANDLER_PREFIX,
    HOOKS,
    pod_containers,
    predecessors,
    step_values,
    steps_by_path,
    unsendable,
)
from couler.ir.workflow import Group, Hook, Job, LocalForm, Step, Suspend, Workflow

_Part: t.TypeAlias = tuple[t.Literal["run", "group", "step"], str]
"""A part, or a step that is one by itself."""


def check_parts(view: ScopeView) -> None:
    """Check the parts of a scope that has some, in time linear in its steps and edges."""
    from couler.ir.graph import Graph

    parts = {name: step.part for name, step in view.steps.items() if step.part is not None}
    _check_names(view, parts)
    _check_nesting(view, parts)
    order = {name: predecessors(step) for name, step in view.steps.items()}
    if len(Graph(order).topological_order) < len(order):
        return  # the steps themselves wait for each other, which has its own message
    outer: dict[str, _Part] = {}
    groups: dict[str, _Part] = {}
    runs: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, part in parts.items():
        if part.group is not None:
            outer[name] = groups[name] = ("group", part.group)
        if part.run is not None:
            outer[name] = ("run", part.run)
            runs.setdefault(part.run, {})[name] = order[name]
    _check_circle(view, outer, order)
    for within in runs.values():
        _check_circle(view, groups, within)


def _check_names(view: ScopeView, parts: Mapping[str, Part]) -> None:
    seen: set[str] = set()
    for name, part in parts.items():
        for given in (part.run, part.group):
            if given is None or given in seen:
                continue
            seen.add(given)
            check_label_name(given, "part", view.adder(view.steps[name]))


def _check_nesting(view: ScopeView, parts: Mapping[str, Part]) -> None:
    first: dict[str, tuple[str, str | None]] = {}
    in_workflow = view.owner is None and view.handler is None
    for name, part in parts.items():
        if part.run is not None and not in_workflow:
            view.add(
                "CLR209",
                view.steps[name],
                f'its part has a run of its own, "{part.run}", which only steps of the workflow\'s '
                "own scope have. Give it a group instead.",
            )
            return
        if part.group is None:
            continue
        other, run = first.setdefault(part.group, (name, part.run))
        if run != part.run:
            view.add(
                "CLR209",
                view.steps[name],
                f'its group "{part.group}" belongs to {_run(part.run)}, but in the step "{other}" '
                f"to {_run(run)}. Give the groups of different runs different names.",
            )
            return


def _run(name: str | None) -> str:
    return "the run of the workflow" if name is None else f'the run "{name}"'


def _check_circle(
    view: ScopeView, part_of: Mapping[str, _Part], order: Mapping[str, tuple[str, ...]]
) -> None:
    """Report one circle of parts that stand beside each other."""
    from couler.ir.graph import Graph

    nodes: dict[str, _Part] = {name: part_of.get(name, ("step", name)) for name in order}
    edges: dict[str, dict[str, None]] = {}
    labels: dict[_Part, str] = {}
    for name, node in nodes.items():
        label = labels.setdefault(node, name)  # a part goes by the first of its steps
        waits = edges.setdefault(label, {})
        for before in order[name]:
            other = nodes.get(before)
            if other is not None and other != node:
                waits[labels.setdefault(other, before)] = None
    circle = Graph(edges).find_cycle()
    if circle:
        told = " -> ".join(f'{kind} "{part}"' for kind, part in map(nodes.__getitem__, circle))
        view.add(
            "CLR208",
            view.steps[circle[0]],
            f"its part waits for itself: {told}. Put what is on this way into one part.",
        )


_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def check_metrics(reader: Reader, metrics: Iterable[Metric], facts: Mapping[str, Kind]) -> None:
    """Check the metrics of a step or of a workflow, which read facts of it."""
    from couler.ir.verify.conditions import check_own_condition

    for metric in metrics:
        field = f"metrics.{metric.name}"
        for problem in _problems(metric):
            reader.add("CLR431", f"{field} {problem}.")
        with reader.reading(facts):
            _check_number(reader, metric.value, field)
            _check_labels(reader, metric, field)
        if metric.when is not None:
            check_own_condition(reader, metric.when, f"{field}.when", facts)


def _problems(metric: Metric) -> t.Iterator[str]:
    if _NAME.fullmatch(metric.name) is None:
        yield 'has a name with other characters than letters, digits and "_"'
    if not metric.help.strip():
        yield "has no help. Say what it counts"
    match metric:
        case Counter():
            if isinstance(metric.value, Literal) and _is_negative(metric.value.value):
                yield "counts down, but a counter only grows. Use a gauge"
        case Gauge():
            if metric.realtime and metric.value != OwnRef(fact="duration_s"):
                yield (
                    "is given while the step runs, when only its duration is known. Take "
                    "duration_s, or leave realtime out"
                )
        case Histogram():
            if not metric.buckets:
                yield "has no buckets. Name their bounds"
            if any(after <= before for before, after in itertools.pairwise(metric.buckets)):
                yield "has buckets whose bounds do not grow"
        case _:
            t.assert_never(metric)


def _is_negative(value: object) -> bool:
    return isinstance(value, int | float) and value < 0


def _check_number(reader: Reader, value: Value, field: str) -> None:
    kind = reader.kind(value, field)
    if isinstance(value, Literal) and isinstance(value.value, str):
        reader.add("CLR431", f'{field} has the text "{value.value}" as its value, not a number.')
    elif kind.family not in ("number", "str", "json") or value == OwnRef(fact="status"):
        what = "status" if isinstance(value, OwnRef) else str(kind)
        reader.add("CLR431", f"{field} has a value of type {what}, not a number.")
    _check_shape(reader, value, field)


def _check_labels(reader: Reader, metric: Metric, field: str) -> None:
    for label in metric.labels:
        if _NAME.fullmatch(label.name) is None:
            reader.add(
                "CLR431",
                f'{field} has a label "{label.name}": a name has letters, digits and "_" only.',
            )
        if not isinstance(label.value, str):
            place = f"{field}.{label.name}"
            kind = reader.kind(label.value, place)
            if is_file(kind.type):
                reader.not_a_file(kind, place)
            _check_shape(reader, label.value, place)
    for name in repeated(label.name for label in metric.labels):
        reader.add("CLR151", f'{field} has the label "{name}" twice. Remove one.')


def _check_shape(reader: Reader, value: Value, field: str) -> None:
    """Refuse facts of the step within other values than parts of them."""
    inner = value.of if isinstance(value, Field) else value
    if isinstance(inner, OwnRef):
        return
    if any(isinstance(part, OwnRef) for part in walk(value)):
        reader.add(
            "CLR432",
            f"{field} mixes a fact of the step with other values. Give each a label of its own.",
        )


_WITHOUT_PLACE = ("depends_on", "when", "foreach", "loop", "outputs", "hooks", "daemon")
"""Fields that a step has no use for as a hook: nothing waits for it and nothing reads it."""


def check_hooks(reader: Reader, hooks: Iterable[Hook]) -> None:
    """Check the hooks of a step or of a workflow; their steps are checked by themselves."""
    from couler.ir.verify.conditions import STATUS, check_own_condition

    hooks = tuple(hooks)
    if reader.step is not None and reader.step.loop is not None:
        reader.add("CLR433", "it has hooks and a loop. Give the hooks to a step in a group.")
    check_value_names((hook.step.name for hook in hooks), "hook", reader.add)
    for hook in hooks:
        name = hook.step.name
        check_own_condition(reader, hook.when, f"hooks.{name}", STATUS)
        for field in _WITHOUT_PLACE:
            if getattr(hook.step, field):
                reader.add("CLR433", f'the hook "{name}" has {field}, which has no meaning there.')
        if isinstance(hook.step.action, Group | Suspend):
            reader.add("CLR433", f'the hook "{name}" is a {hook.step.action.kind}. Run something.')
        for field, text in step_values(hook.step):
            if not isinstance(text, str) and not all(
                isinstance(value, Literal | ParamRef)
                or (isinstance(value, RunRef) and value.field != "status")
                for value in walk(text)
            ):
                reader.add(
                    "CLR433",
                    f'{field} of the hook "{name}" reads something that need not be there when the '
                    "hook runs. Read parameters and plain values.",
                )


__all__ = ["verify"]


def verify(workflow: Workflow) -> tuple[Diagnostic, ...]:
    """Return all problems of a workflow that no engine could mend, in program order."""
    report = Report()
    if unsendable(workflow) is not None:
        _check_sendable(workflow, report)
        return report.in_program_order()
    check_settings(workflow, report)
    parameters = {p.name: Kind(p.type) for p in workflow.parameters}
    domains = {p.name: p.choices for p in workflow.parameters if p.choices}
    view = ScopeView(report, workflow, workflow.steps, parameters=parameters, domains=domains)
    if workflow.defaults is not None:
        check_default_values(view, workflow.defaults)
    if workflow.stored is None:
        _check_scope(view, depth=0)
    else:
        from couler.ir.verify.cluster import check_stored

        check_stored(view, workflow, workflow.stored)
    check_value_names((o.name for o in workflow.outputs), "output", view.add_to_scope)
    check_outputs(view, workflow.outputs)
    if workflow.runs is not None:
        from couler.ir.verify.pods import check_run_labels

        check_run_labels(view, workflow.runs, workflow.parameters)
    if workflow.metrics or workflow.hooks:
        _check_own(workflow, view)
    check_scope_outputs(view, workflow.outputs)
    check_optional_reads(view, workflow.outputs)
    _check_handlers(workflow, view)
    if report.places:
        from couler.ir.verify.places import check_places

        check_places(workflow, report)
    return report.in_program_order()


def _check_sendable(workflow: Workflow, report: Report) -> None:
    """Refuse texts that no process and no file can be given, wherever they are."""
    rest = (value for name, value in workflow if name not in ("steps", "exit_handlers"))
    problem = unsendable(*rest)
    if problem is not None:
        report.add("CLR103", f"workflow: {problem}.", order=(), source=workflow.source)
    for at, (path, step) in enumerate(steps_by_path(workflow)):
        is_group = isinstance(step.action, Group)  # the steps in it come by themselves
        fields = (value for name, value in step if not (is_group and name == "action"))
        problem = unsendable(*fields)
        if problem is not None:
            told = f'step "{path}": {problem}.'
            report.add("CLR103", told, order=(at,), step=path, source=step.source)


def _check_own(workflow: Workflow, view: ScopeView) -> None:
    """Check the metrics and hooks of the workflow itself."""
    from couler.ir.verify.conditions import OF_RUN

    reader = Reader(view)
    reader.start(None)
    check_metrics(reader, workflow.metrics, OF_RUN)
    check_hooks(reader, workflow.hooks)
    _check_hook_steps(view, workflow.hooks, f"{HOOKS}/", (len(workflow.steps),))


def _check_hook_steps(view: ScopeView, hooks: tuple[Hook, ...], prefix: str, order: Order) -> None:
    inner = ScopeView(
        view.report,
        view.workflow,
        tuple(hook.step for hook in hooks),
        parameters=view.parameters,
        domains=view.domains,
        prefix=prefix,
        order=order,
        handler=view.handler,
    )
    check_step_names(inner)
    reader = Reader(inner)
    for step in inner.all_steps:
        _check_step(reader, step)


def _check_handlers(workflow: Workflow, main: ScopeView) -> None:
    seen: set[str] = set()
    for index, handler in enumerate(workflow.exit_handlers):
        view = ScopeView(
            main.report,
            workflow,
            handler.steps,
            parameters=main.parameters,
            prefix=f"{HANDLER_PREFIX}{handler.name}/",
            domains=main.domains,
            order=(len(workflow.steps) + 1 + index,),
            handler=handler.name,
            outer=main.steps,
        )
        check_handler_name(handler.name, view.add_to_scope)
        if handler.name in seen:
            view.add_to_scope("CLR151", "another exit handler has this name. Rename one.")
        seen.add(handler.name)
        _check_scope(view, depth=0)
        check_optional_reads(view, ())


def _check_scope(view: ScopeView, depth: int) -> None:
    if not view.all_steps:
        view.add_to_scope("CLR201", "it has no steps, so there is nothing to run. Add one.")
        return
    check_step_names(view)
    reader = Reader(view)
    for step in view.all_steps:
        _check_step(reader, step)
    if reader.waits_for_later_step:
        check_cycles(view)
    if any(step.part is not None for step in view.all_steps):
        check_parts(view)
    for step in view.all_steps:
        action = step.action
        if type(action) is Group:  # an isinstance that says no takes longer
            _check_group(view, step, action, depth + 1)


def _check_step(reader: Reader, step: Step) -> None:
    view = reader.view
    reader.start(step, check_dependencies(reader, step) if step.depends_on else _NONE)
    if step.when is not None:
        from couler.ir.verify.conditions import check_when

        check_when(reader, step.when)
    if step.foreach is not None:
        check_foreach(reader, step.foreach)
    if step.loop is not None:
        check_step_loop(reader, step, step.loop)
    _check_texts(reader, step)
    _check_content(reader, step)
    check_policies(reader, step)
    if step.metrics:
        from couler.ir.verify.conditions import facts_of

        check_metrics(reader, step.metrics, facts_of(step))
    if step.hooks:
        check_hooks(reader, step.hooks)
        order = (*view.order, view.position[step.name])
        _check_hook_steps(view, step.hooks, f"{view.path(step)}.{HOOKS}/", order)
    if type(step.action) is Job and step.action.local is not None:
        from couler.ir.verify.quantities import check_resources

        process = as_process(step)
        _check_texts(reader, step.action.local)
        check_local_outputs(view, step, process)
        _check_content(reader, process)
        check_resources(process.resources or Resources(), reader.add)


_NONE: Mapping[str, str] = {}


def _check_content(reader: Reader, step: Step) -> None:
    """Check what a step runs, and what it takes in and gives out."""
    view = reader.view
    if step.inputs:
        check_value_names((given.name for given in step.inputs), "input", reader.add)
        check_inputs(reader, step)
    if step.outputs:
        check_value_names((output.name for output in step.outputs), "output", reader.add)
        check_output_defaults(view, step)
        if not isinstance(step.action, Group):
            check_outputs_of_process(view, step)
    if step.env or step.env_from:
        from couler.ir.verify.environment import check_environment

        check_environment(reader, step)
    check_words(view, step)
    if step.inputs or step.outputs or step.logs is not None:
        check_files(reader, step)
    check_action(reader, step)
    if step.container or step.pod or step.display_name is not None or pod_containers(step):
        from couler.ir.verify.pods import check_step_pod

        check_step_pod(reader, step)
    if step.mounts or step.inputs:
        from couler.ir.verify.environment import check_paths

        check_paths(view, step)


def _check_texts(reader: Reader, node: Step | LocalForm) -> None:
    """Check what is read as text, wherever it is."""
    for field, text in AS_TEXT.visit(node):
        if type(text) is not str:
            reader.text(t.cast("Value", text), field)
        elif len(text) > SURELY_SHORT and ".at." not in field:  # files may be larger
            assert reader.step is not None, "texts are those of steps"
            check_word(reader.view, reader.step, field, text)


def _check_group(outer: ScopeView, step: Step, group: Group, depth: int) -> None:
    view = ScopeView(
        outer.report,
        outer.workflow,
        group.steps,
        parameters={given.name: Kind(given.type, given.many) for given in step.inputs},
        domains={},
        prefix=f"{outer.path(step)}/",
        order=(*outer.order, outer.position[step.name]),
        owner=step,
        handler=outer.handler,
    )
    if depth > MAX_DEPTH:
        view.add_to_scope("CLR504", f"it is {depth} groups deep; at most {MAX_DEPTH} are nested.")
        return
    _check_scope(view, depth)
    check_outputs(view, step.outputs)
    check_optional_reads(view, step.outputs)

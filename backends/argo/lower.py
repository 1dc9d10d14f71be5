"""Rewriting of steps that Argo cannot express as one task into groups that it can."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Sequence

from couler.backends.argo.scope import ScopeView, is_folder, travels_as, value_of
from couler.ir.policies import Foreach, Loop
from couler.ir.values import (
    AS_TEXT,
    ROUNDS,
    TEXTS,
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Text,
    Value,
    ValueType,
    children,
    is_file,
    map_children,
    walk,
)
from couler.ir.walk import all_steps, map_steps, output_references, references, step_values
from couler.ir.workflow import (
    STDOUT,
    Group,
    Input,
    Job,
    Output,
    Step,
    Workflow,
)


def may_not_begin(step: Step) -> bool:
    """Whether Argo evaluates more than texts it was given, where it begins a lowered step."""
    from couler.ir.ranges import is_known

    if step.foreach is not None and not all(map(is_known, step.foreach.over.values())):
        return True
    return step.loop is not None and any(
        not isinstance(value, RoundRef) and any(isinstance(one, RoundRef) for one in walk(value))
        for _, value in step_values(step)
    )


ORIGIN = "argo"


def lower(workflow: Workflow) -> Workflow:
    """Return an equal workflow whose foreaches and loops Argo can express."""
    kept = steps_read_at_exit(workflow)
    if not kept and all(_is_plain(step) for step in all_steps(workflow)):
        return workflow
    if (bounded := bounded_alone(workflow)) is not None:
        unlimited = bounded.step.model_copy(update={"foreach": Foreach(over=bounded.over)})
        flat = tuple(unlimited if one is bounded.step else one for one in workflow.steps)
        workflow = workflow.model_copy(update={"steps": flat})
    workflow = map_steps(workflow, _with_lists)
    view = ScopeView.of_workflow(workflow)
    reads = _reads(workflow.steps, [output.value for output in workflow.outputs])
    for step, outputs in kept.items():
        reads.setdefault(step, set()).update(outputs)
    steps = _lower_scope(workflow.steps, view, reads, kept)
    handlers = tuple(
        handler.model_copy(
            update={
                "steps": _lower_scope(
                    handler.steps, view.of_handler(handler.steps), _reads(handler.steps, ()), ()
                )
            }
        )
        for handler in workflow.exit_handlers
    )
    if steps == workflow.steps and handlers == workflow.exit_handlers:
        return workflow
    return workflow.model_copy(update={"steps": steps, "exit_handlers": handlers})


class BoundedForeach(t.NamedTuple):
    """A foreach whose bound can be that of the template that it is in."""

    step: Step
    over: dict[str, Value]
    most: int


def bounded_alone(workflow: Workflow) -> BoundedForeach | None:
    """Return the foreach of a workflow that nothing runs beside, if its bound hinders no others."""
    found = [
        BoundedForeach(step, foreach.over, foreach.max_parallel)
        for step in workflow.steps
        if (foreach := step.foreach) is not None and foreach.max_parallel is not None
    ]
    if len(found) != 1 or any(map(_may_take_more, workflow.steps)):
        return None
    from couler.ir.graph import Graph

    [only] = found
    graph, name = Graph.of(workflow.steps), only.step.name
    before, after = graph.ancestors(name), Graph(graph.successors).ancestors(name)
    is_alone = len(before) + len(after) + 1 == len(workflow.steps)
    return only if is_alone and max(len(before), len(after)) <= only.most else None


def _may_take_more(step: Step) -> bool:
    """Whether a step can be more than one node of its template, or one after it has ended."""
    is_unbounded = step.foreach is not None and step.foreach.max_parallel is None
    return is_unbounded or step.daemon or bool(step.hooks or step.part)


def steps_read_at_exit(workflow: Workflow) -> dict[str, set[str]]:
    """Return for each step outside of exit handlers the names of its outputs that they read."""
    found: dict[str, set[str]] = {}
    for handler in workflow.exit_handlers:
        own = {step.name for step in handler.steps}
        for step in handler.steps:
            for reference in references(step):
                if reference.step not in own:
                    found.setdefault(reference.step, set()).add(reference.output)
    return found


def _with_lists(step: Step) -> Step:
    """Return a group that takes lists of files, not their folders, for each foreach in it."""
    if not isinstance(step.action, Group):
        return step
    folders = {one.name: one for one in step.inputs if is_folder(one)}
    taken = {one.name for one in step.inputs}
    lists: dict[str, Input] = {}

    def listed(value: Value | None) -> Value | None:
        if not isinstance(value, ParamRef) or value.name not in folders:
            return value
        name = f"{value.name}_list"
        while name in taken:
            name += "_"
        lists[value.name] = Input(name=name, value=folders[value.name].value, type="list")
        return ParamRef(name=name)

    def inside(one: Step) -> Step:
        update: dict[str, t.Any] = {}
        if one.foreach is not None:
            over = {name: listed(items) for name, items in one.foreach.over.items()}
            update["foreach"] = one.foreach.model_copy(update={"over": over})
        if isinstance(one.action, Group):
            update["inputs"] = tuple(
                given.model_copy(update={"value": listed(given.value)})
                if given.type == "list"
                else given
                for given in one.inputs
            )
        return one.model_copy(update=update)

    steps = tuple(map(inside, step.action.steps)) if folders else ()
    if not lists:
        return step
    read = {
        one.name
        for inner in steps
        for value in children(inner)
        for one in walk(value)
        if isinstance(one, ParamRef)
    }
    kept = [one for one in step.inputs if one.name not in lists or one.name in read]
    action = step.action.model_copy(update={"steps": steps})
    return step.model_copy(update={"action": action, "inputs": (*kept, *lists.values())})


def _reads(steps: Sequence[Step], outputs: Sequence[Value | None]) -> dict[str, set[str]]:
    """Return for each step the names of its outputs that something reads."""
    reads: dict[str, set[str]] = {}
    for step in steps:
        for reference in references(step):
            reads.setdefault(reference.step, set()).add(reference.output)
        if step.loop is not None:
            for _, value in ROUNDS.visit(step):
                reads.setdefault(step.name, set()).add(value.output)
    for output in outputs:
        for reference in output_references(output):
            reads.setdefault(reference.step, set()).add(reference.output)
    return reads


def _lower_scope(
    steps: tuple[Step, ...], view: ScopeView, reads: dict[str, set[str]], kept: Collection[str]
) -> tuple[Step, ...]:
    if all(_is_plain(step) and step.name not in kept for step in steps):
        return steps
    return tuple(
        _lower_step(step, view, reads.get(step.name, set()), keep=step.name in kept)
        for step in steps
    )


def _is_plain(step: Step) -> bool:
    return step.foreach is None and step.loop is None and not isinstance(step.action, Group)


def _lower_step(step: Step, view: ScopeView, read: set[str], *, keep: bool) -> Step:
    lowered = _lower_iteration(step, view, read)
    if not keep:
        return lowered
    if may_not_begin(lowered):
        lowered = _enclose(lowered, view, read, around=())
    return _enclose(lowered, view, read, around=())


def _lower_iteration(step: Step, view: ScopeView, read: set[str]) -> Step:
    if isinstance(step.action, Group):
        inside = view.inside(step, step.action)
        reads = _reads(step.action.steps, [output.value for output in step.outputs])
        inner = _lower_scope(step.action.steps, inside, reads, ())
        step = step.model_copy(update={"action": step.action.model_copy(update={"steps": inner})})
    if step.foreach is not None and step.foreach.max_parallel is not None:
        limit = step.foreach.max_parallel
        unlimited = Foreach(over=step.foreach.over)
        step = step.model_copy(update={"foreach": unlimited})
        bounded = _lower_iteration(step, view, read)
        return _enclose(bounded, view, read, around=()).model_copy(update={"max_parallel": limit})
    step = _with_own_condition(step, view)
    if step.foreach is not None and (step.loop is not None or step.hooks):
        step = _enclose(step, view, read, around=("foreach",))
        return _lower_iteration(step, view, read)
    if isinstance(step.action, Group):
        if step.foreach is not None and any(_holds_item(value_of(given)) for given in step.inputs):
            return _enclose(step, view, read, around=("foreach",))
        return step
    if step.loop is not None:
        return _enclose(step, view, read, around=("loop",))
    if step.foreach is not None and not _can_fan_out(step, read):
        return _enclose(step, view, read, around=("foreach",))
    return step


def _can_fan_out(step: Step, read: set[str]) -> bool:
    """Whether Argo can run and gather the items of a process by itself."""
    gives_files = any(is_file(output.type) for output in step.outputs)
    if gives_files and (step.cache is not None or not step.is_function):
        return False
    if any(_holds_item(value) for value in children(step)):
        return False
    return not read or step.is_function


def _holds_item(value: Value) -> bool:
    """Whether an item is a part of a value."""
    if isinstance(value, ItemRef):
        return False
    return any(isinstance(inner, ItemRef) for inner in walk(value))


Around: t.TypeAlias = t.Literal["foreach", "loop"]


def _with_own_condition(step: Step, view: ScopeView) -> Step:
    """Return a loop whose condition reads rounds, literals and inputs of the step only."""
    if step.loop is None:
        return step
    taken = {given.name for given in step.inputs}
    added: list[Input] = []

    def own(value: Value) -> Value:
        if isinstance(value, Literal | RoundRef) or _is_global(value):
            return value
        if any(isinstance(inner, RoundRef) for inner in walk(value)):
            return map_children(value, own)
        name = f"condition_{len(added) + 1}"
        while name in taken:
            name += "_"
        added.append(Input(name=name, value=value, type=view.type_of(value, step)))
        return ParamRef(name=name)

    condition = map_children(step.loop.condition, own)
    if not added:
        return step
    loop = step.loop.model_copy(update={"condition": condition})
    return step.model_copy(update={"loop": loop, "inputs": (*step.inputs, *added)})


def _enclose(step: Step, view: ScopeView, read: set[str], around: tuple[Around, ...]) -> Step:
    """Return a transparent group around a step; `around` names what moves to the group."""
    stays: tuple[type[ItemRef | RoundRef], ...] = tuple(
        kind for name, kind in (("foreach", ItemRef), ("loop", RoundRef)) if name not in around
    )
    capture = _Capture(step, view, stays)
    inner = _replace_values(step, capture)
    declared = {output.name: output for output in step.outputs}
    if STDOUT in read and STDOUT not in declared:
        declared[STDOUT] = Output()
    outputs = tuple(
        _shown(step, output, around) for name, output in declared.items() if name in read
    )
    moved: dict[str, t.Any] = {"depends_on": (), "when": None, "part": None, "origin": ORIGIN}
    moved["foreach"] = None if "foreach" in around else capture.foreach(step.foreach)
    # What moves is lowered again, or is a loop of the group: it cannot read the inputs of the step.
    loop = _with_condition_of(step.loop, inner.inputs) if around else step.loop
    moved["loop"] = None if "loop" in around else loop
    return Step(
        name=step.name,
        action=Group(steps=(inner.model_copy(update=moved),), transparent=True),
        depends_on=step.depends_on,
        when=step.when,
        foreach=step.foreach if "foreach" in around else None,
        loop=loop if "loop" in around else None,
        inputs=tuple(capture.inputs),
        outputs=outputs,
        part=step.part,
        source=step.source,
        origin=ORIGIN,
    )


def _with_condition_of(loop: Loop | None, inputs: Sequence[Input]) -> Loop | None:
    """Return a loop whose condition reads what its step's inputs are given, not the inputs."""
    if loop is None:
        return None
    given = {one.name: value_of(one) for one in inputs}

    def outside(value: Value) -> Value:
        if isinstance(value, ParamRef):
            return given.get(value.name, value)
        return map_children(value, outside)

    return loop.model_copy(update={"condition": map_children(loop.condition, outside)})


def _shown(step: Step, output: Output, around: tuple[Around, ...]) -> Output:
    """Return the output of a group around a step that stands for one of the step."""
    is_list = step.foreach is not None and "foreach" not in around
    value_type: ValueType = "list" if is_list else output.type
    return Output(
        name=output.name,
        type=value_type,
        value=StepRef(step=step.name, output=output.name),
        default=None if is_list else output.default,  # a foreach that did not run has no list
    )


class _Capture:
    """Takes the values that a step reads into the inputs of a group around it."""

    def __init__(
        self, step: Step, view: ScopeView, stays: tuple[type[ItemRef | RoundRef], ...]
    ) -> None:
        self.inputs: list[Input] = []
        self._step = step
        self._view = view
        self._stays = stays
        self._names: dict[str, Value] = {}

    def value(
        self, value: Value, name: str, want: ValueType = "str", *, folder: bool = False
    ) -> Value:
        """Return what the inner step reads instead of a value."""
        if _is_global(value):
            return value
        if any(isinstance(inner, self._stays) for inner in walk(value)) or _holds_item(value):
            return map_children(value, lambda inner: self.value(inner, name))
        return self._input(value, name, want, folder=folder)

    def foreach(self, foreach: Foreach | None) -> Foreach | None:
        """Return a foreach that stays with the inner step, over lists that the group takes in."""
        if foreach is None:
            return None
        over = {name: self._list(items, name) for name, items in foreach.over.items()}
        return foreach.model_copy(update={"over": over})

    def _list(self, items: Value, name: str) -> Value:
        if isinstance(items, Range):
            return map_children(items, lambda end: self.value(end, name, "int"))
        return self.value(items, name, "list")

    def _input(self, value: Value, name: str, want: ValueType, *, folder: bool = False) -> ParamRef:
        have: ValueType = "file" if folder else self._view.type_of(value, self._step)
        if isinstance(value, ItemRef) and have == "str":
            have = want
        wanted = _name_of(value) or name
        unique, count = wanted, 1
        while unique in self._names and self._names[unique] != value:
            count += 1
            unique = f"{wanted}_{count}"
        if unique not in self._names:
            self._names[unique] = value
            self.inputs.append(Input(name=unique, value=value, type=have, many=folder))
        return ParamRef(name=unique)


def _is_global(value: Value) -> bool:
    """Whether a value reads the same inside of a group as outside."""
    return all(
        isinstance(inner, Literal | RunRef | OwnRef | Template | Field | OrElse | FirstOf)
        for inner in walk(value)
    )


def _name_of(value: Value) -> str | None:
    match value:
        case ParamRef() | ItemRef():
            return value.name.replace("-", "_")
        case StepRef():
            output = "" if value.output == STDOUT else f"_{value.output}"
            return f"{value.step}{output}".replace("-", "_")
        case RoundRef():
            return f"last_{value.output}".replace("-", "_")
    return None


_HINTS = {"command": "word", "args": "arg"}
"""How inputs are named for values in fields of these names; for others as the field."""


def _replace_values(step: Step, capture: _Capture) -> Step:
    """Return a step that reads everything through a capture."""

    def captured(field: str, text: Text) -> Text:
        last = field.rpartition(".")[2]
        name = _HINTS.get(last, last.lower())
        return text if isinstance(text, str) else capture.value(text, name)

    inputs = tuple(
        given if given.at is not None else _captured_input(given, capture) for given in step.inputs
    )
    made = AS_TEXT.map(step.model_copy(update={"inputs": inputs}), captured)
    update: dict[str, t.Any] = {}
    action = made.action
    if isinstance(action, Job):
        values = tuple(
            given.model_copy(update={"value": capture.value(given.value, "value", given.type)})
            for given in action.values
        )
        update["action"] = action.model_copy(update={"values": values})
    if step.metrics:
        update["metrics"] = tuple(
            TEXTS.map(metric, captured, metric.name) for metric in step.metrics
        )
    if step.hooks:
        update["hooks"] = tuple(
            hook.model_copy(update={"step": _replace_values(hook.step, capture)})
            for hook in step.hooks
        )
    return made.model_copy(update=update)


def _captured_input(given: Input, capture: _Capture) -> Input:
    want = travels_as(given)
    value = capture.value(value_of(given), given.name, want, folder=is_folder(given))
    return given.model_copy(update={"value": value})

"""Scopes as DAG templates: tasks, their order, their arguments, fan-out and loops."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet

from couler.backends.argo import pods
from couler.backends.argo.files import (
    AT,
    INDEX,
    can_be_empty,
    empty_folder_argument,
    empty_folder_input,
    file_outputs,
    is_item_wrapper,
    keeps_files,
    unwrapped,
)
from couler.backends.argo.json_text import raw_json
from couler.backends.argo.leaves import Hole, Leaves, merge, overrides_of
from couler.backends.argo.names import Names
from couler.backends.argo.parts import is_divided, task_names
from couler.backends.argo.pods import Tree
from couler.backends.argo.references import (
    OutputRenderer,
    Renderer,
    global_name,
    inputs_read,
)
from couler.backends.argo.scope import ScopeView, is_folder, travels_as, value_of
from couler.backends.argo.tags import Tagged, tag, variable
from couler.backends.argo.templates import key_parameter
from couler.ir.policies import AnyOf, Dependency
from couler.ir.values import ParamRef, StepRef, is_file
from couler.ir.walk import implied_dependencies, predecessors
from couler.ir.workflow import Group, Hook, Input, Output, Step, TemplateCall

if t.TYPE_CHECKING:
    from couler.backends.argo.child_runs import RunPart
    from couler.backends.argo.loops import LoopPlan
    from couler.backends.argo.part_dags import ScopeTemplates

ROOT_LOCATION = variable("workflow.name")
LOOP_LEVELS = 60
"""Levels of nesting that all loops on one chain may take together; Argo allows 100 in all."""

INNER_LOCATION = variable(f"inputs.parameters.{AT}")


class Scopes:
    """Emits the DAG template of every scope."""

    def __init__(self, leaves: Leaves, names: Names, kept_steps: frozenset[str]) -> None:
        self._leaves = leaves
        self._names = names
        self._kept_steps = kept_steps
        self._groups: list[Step] = []
        self._group_names: dict[int, str] = {}
        self.loop_names: dict[int, str] = {}
        self._plans: dict[int, LoopPlan] = {}
        self._no_files: dict[int, frozenset[str]] = {}
        """By groups: the inputs that can be folders without files."""
        self.templates: list[Tree] = []
        self._tells_kinds = False
        """Whether a group around is tried again after failures or errors alone."""
        self.runs: list[RunPart] = []
        """The parts that are to have runs of their own."""
        self.is_divided = False
        """Whether a scope is divided into parts, which takes templates that run nothing."""
        self.checks_outputs = False
        """Whether a task checks the outputs of a scope, which takes one of them."""

    def collect(self, view: ScopeView, steps: Iterable[Step], *, loops_around: int = 0) -> int:
        """Take in the steps of a scope and of all groups in it, before anything is emitted."""
        depth = 1
        for step in steps:
            if isinstance(step.action, Group):
                self._groups.append(step)
                inside, levels_of_loop = loops_around, 0
                if step.loop is not None:
                    inside += 1
                    levels = LOOP_LEVELS // (inside + _loops_below(step.action.steps))
                    from couler.backends.argo.loops import LoopPlan

                    bound = step.loop.max_iterations
                    plan = LoopPlan.within(bound, max(levels, 1))
                    self._plans[id(step)] = plan
                    levels_of_loop = plan.levels
                self._no_files[id(step)] = frozenset(
                    given.name for given in step.inputs if self._can_be_empty(given, view)
                )
                inner = view.inside(step, step.action)
                below = self.collect(inner, step.action.steps, loops_around=inside)
                depth = max(depth, below + levels_of_loop)
            else:
                gathers = step.foreach is not None and step.is_function
                self._leaves.add(step, view, gathers=gathers)
            for hook in step.hooks:
                self._leaves.add(hook.step, view)
        return depth + 1

    def name_groups(self) -> None:
        """Choose the names of the groups' templates, those of processes being taken."""
        for step in self._groups:
            self._group_names[id(step)] = self._names.take(step.name + _suffix(step))
            if step.loop is not None:
                self.loop_names[id(step)] = self._names.take(f"{step.name}-loop")

    def owners(self) -> Iterator[tuple[str, Step]]:
        """Yield the names of the templates of groups and loops, each with the step."""
        for step in self._groups:
            for names in (self._group_names, self.loop_names):
                if id(step) in names:
                    yield names[id(step)], step

    def emit(
        self,
        view: ScopeView,
        steps: Sequence[Step],
        name: str,
        *,
        inputs: Sequence[str] = (),
        outputs: Sequence[Output] = (),
        gathers: bool = False,
        parallelism: int | None = None,
        kept: Mapping[str, str] | None = None,
        is_followed: bool = True,
    ) -> None:
        """Add the template of a scope, then those of the groups in it."""
        location = ROOT_LOCATION if view.owner is None else INNER_LOCATION
        nodes: t.Literal["tasks", "steps"] = "tasks" if kept is None else "steps"
        divided: ScopeTemplates | None = None
        if is_divided(steps):
            from couler.backends.argo.divided_scope import DividedScope
            from couler.backends.argo.part_dags import ScopeTemplates

            given = inputs if view.owner is not None else ()
            divided = ScopeTemplates(
                DividedScope(
                    view,
                    steps,
                    location,
                    given,
                    self._names,
                    self._task,
                    tells_kinds=self._tells_kinds,
                )
            )
            tasks, after_all = divided.tasks(), divided.after_all
            renderer: Renderer = divided.renderer()
            shown: Renderer = divided.outputs()
        else:
            names, _ = task_names(tuple(view.steps.values()))
            renderer = Renderer(view, names, location, nodes)
            rules = StartRules(view.steps, names)
            after_all = rules.after_all
            shown = OutputRenderer(view, names, location, nodes)
            tasks = [self._task(step, names[step.name], rules, renderer) for step in steps]
        template: Tree = {"name": name}
        given_out = [_output(one, shown, gathers=gathers, kept=kept) for one in outputs]
        if view.owner is None:  # Argo gives the parameters of the workflow to the entrypoint
            inputs = [*inputs, *inputs_read(given_out)]
        taken_in: Tree = {}
        if inputs:
            taken_in["parameters"] = [{"name": one} for one in inputs]
        taken_in |= empty_folder_input(tasks)
        if taken_in:
            template["inputs"] = taken_in
        if outputs:
            template["outputs"] = {"parameters": given_out}
        if parallelism is not None:
            # All of the tasks of a part count as one: one part at a time keeps the bound.
            template["parallelism"] = parallelism if divided is None else 1
        if view.owner is not None and view.owner.retry is not None and view.owner.retry.limit:
            template["retryStrategy"] = pods.retry_strategy(view.owner.retry)
        if is_followed and kept is None:
            from couler.backends.argo.output_checks import check_task

            check = check_task(outputs, after_all, renderer)
            if check is not None:
                tasks.append(check)
                self.checks_outputs = True
        if kept is None:
            template["dag"] = {"failFast": False, "tasks": tasks}
        else:
            template["steps"] = [[task] for task in tasks]
        parts = [] if divided is None else divided.parts(parallelism)
        self.is_divided |= bool(parts)
        self.runs += [] if divided is None else divided.runs()
        self.templates.append(merge(template, overrides_of(view.owner, "template")))
        self.templates += parts
        for step in steps:
            if isinstance(step.action, Group):
                self._emit_group(step, step.action, view)

    def _emit_group(self, step: Step, group: Group, view: ScopeView) -> None:
        inside = view.inside(step, group)
        inputs = [given.name for given in step.inputs]
        if keeps_files(step):
            inputs.append(AT)
            if is_item_wrapper(step):
                inputs.append(INDEX)
        if step.loop is not None:
            from couler.backends.argo.loops import LoopTemplate

            loop = LoopTemplate(
                step,
                self.loop_names[id(step)],
                self._group_names[id(step)],
                self._plans[id(step)],
                inputs,
                inside,
            )
            self.templates.append(loop.build())
        told_around = self._tells_kinds
        self._tells_kinds |= _tells_kinds(step)
        self.emit(
            inside,
            group.steps,
            self._group_names[id(step)],
            inputs=inputs,
            outputs=step.outputs,
            gathers=step.foreach is not None,
            parallelism=step.max_parallel,
            kept=self._kept_names(step, view),
        )
        self._tells_kinds = told_around

    def _kept_names(self, step: Step, view: ScopeView) -> dict[str, str] | None:
        in_workflow = view.owner is None and not view.outer
        if not in_workflow or step.name not in self._kept_steps:
            return None
        return {
            output.name: global_name(StepRef(step=step.name, output=output.name))
            for output in step.outputs
        }

    def _task(self, step: Step, name: str, rules: StartRules, renderer: Renderer) -> Tree:
        task: Tree = {"name": name}
        task.update(self._template_of(step))
        order = rules.depends(step)
        if order:
            task["depends"] = order
        if step.when is not None:
            task["when"] = tag(renderer.condition(step.when))
        if step.foreach is not None:
            from couler.backends.argo.items import fan_out

            task.update(fan_out(step, step.foreach, renderer))
        arguments: Tree = {}
        parameters = self._arguments(step, renderer)
        if parameters:
            if task.get("withParam") == "[]":  # Argo evaluates what no item will read
                parameters = [{**given, "value": ""} for given in parameters]
            arguments["parameters"] = parameters
        if isinstance(step.action, TemplateCall):
            artifacts = [
                {"name": given.name, "s3": {"key": _argument(given, step, renderer)}}
                for given in step.inputs
                if is_file(given.type)
            ]
            if artifacts:
                arguments["artifacts"] = artifacts
        elif not isinstance(step.action, Group):
            instead = list(self._without_files(step, renderer))
            if instead:
                arguments["artifacts"] = instead
        if arguments:
            task["arguments"] = arguments
        if step.hooks:
            task["hooks"] = hooks(step.hooks, renderer.status_of(step), renderer, self._leaves)
        if step.engine:
            return merge(task, overrides_of(step, "task"))
        return task

    def _without_files(self, step: Step, renderer: Renderer) -> Iterator[Tree]:
        """Yield what stands for the folders of a process that can be without files."""
        for given in step.inputs:
            value = given.value
            if self._can_be_empty(given, renderer.view) and isinstance(value, ParamRef | StepRef):
                yield empty_folder_argument(given.name, renderer.has_no_files(value))

    def _can_be_empty(self, given: Input, view: ScopeView) -> bool:
        inherited = self._no_files.get(id(view.owner), frozenset())
        return is_folder(given) and can_be_empty(given.value, view, inherited)

    def _template_of(self, step: Step) -> Tree:
        if not isinstance(step.action, Group):
            return self._leaves.template_of(step)
        names = self._group_names if step.loop is None else self.loop_names
        return {"template": names[id(step)]}

    def _arguments(self, step: Step, renderer: Renderer) -> list[Tree]:
        if not isinstance(step.action, Group):
            parameters = [
                {"name": hole.name, "value": _argument(hole, step, renderer)}
                for hole in self._leaves.arguments(step)
            ]
            for output in file_outputs(step) if step.outputs else ():
                place = renderer.location_of(StepRef(step=step.name, output=output.name))
                if step.foreach is not None:
                    place = Tagged(f"{place}/{renderer.index(step)}")
                parameters.append({"name": key_parameter(output), "value": place})
            return parameters
        parameters = [
            {"name": given.name, "value": self._input(given, step, renderer)}
            for given in step.inputs
        ]
        if keeps_files(step):
            place = Tagged(renderer.location)
            around = renderer.view.owner
            if around is not None and is_item_wrapper(around):
                place = Tagged(f"{place}/{variable(f'inputs.parameters.{INDEX}')}")
            elif unwrapped(step) is step:  # else its step has its name, and its place
                place = Tagged(f"{place}/{step.name}")
            if is_item_wrapper(step):
                index = {"name": INDEX, "value": renderer.index(step)}
                parameters += [{"name": AT, "value": place}, index]
            else:
                if step.foreach is not None:
                    place = Tagged(f"{place}/{renderer.index(step)}")
                parameters.append({"name": AT, "value": place})
        if step.loop is not None:
            from couler.backends.argo.loops import ROUND

            parameters.append({"name": ROUND, "value": "0"})
        return parameters

    def _input(self, given: Input, step: Step, renderer: Renderer) -> str:
        """What a group is given; of a folder without files what tells it that."""
        if isinstance(given.value, StepRef) and self._can_be_empty(given, renderer.view):
            return renderer.folder_of(given.value)
        return _argument(given, step, renderer)


def _argument(given: Hole | Input, step: Step, renderer: Renderer) -> str:
    if not isinstance(given, Hole):
        kind = travels_as(given)
        is_encoded = renderer.view.is_encoded(step, value_of(given), kind)
        given = Hole(given.name, value_of(given), kind, is_folder(given), is_encoded)
    value = given.text
    if given.is_folder and isinstance(value, StepRef):
        return renderer.location_of(value)
    if isinstance(value, str):
        return value
    if step.loop is not None:
        from couler.backends.argo.loops import initial

        value = initial(value)
    return renderer.text(value, step, given.type, encoded=given.is_encoded)


def _tells_kinds(step: Step) -> bool:
    retry = step.retry
    return retry is not None and retry.limit > 0 and not {"failure", "error"} <= {*retry.on}


def _suffix(step: Step) -> str:
    """What tells the template of a group that was made here from that of the step in it."""
    if not isinstance(step.action, Group) or not step.action.transparent:
        return ""
    if step.loop is not None:
        return "-round"
    return "-item" if step.foreach is not None else "-group"


def _loops_below(steps: Iterable[Step]) -> int:
    """The number of loops on the deepest chain of loops within steps."""
    return max(
        (
            (step.loop is not None) + _loops_below(step.action.steps)
            for step in steps
            if isinstance(step.action, Group)
        ),
        default=0,
    )


def _output(
    output: Output, renderer: Renderer, *, gathers: bool, kept: Mapping[str, str] | None
) -> Tree:
    from couler.backends.argo.output_checks import shown_value

    value = shown_value(output, renderer.view)
    expression = renderer.expression_as(value, None, output.type)
    if gathers:
        is_text = output.type == "str" or is_file(output.type)
        inner = raw_json(expression) if is_text else expression
        expression = f"toJson({inner})"
    tree: Tree = {"name": output.name, "valueFrom": {"expression": Tagged(expression)}}
    if kept is not None:
        tree["globalName"] = kept[output.name]
    return tree


AT_END = "exit"
"""Name of the one hook that Argo runs without an expression, so no other can have it."""


def hooks(given: Sequence[Hook], status: str, renderer: Renderer, leaves: Leaves) -> Tree:
    """Return the `hooks` of a task or of a workflow."""
    from couler.backends.argo.own import state_condition

    tree: Tree = {}
    taken = {hook.step.name for hook in given}
    for hook in given:
        entry: Tree = {
            "expression": state_condition(hook.when, status),
            **leaves.template_of(hook.step),
        }
        parameters = [
            {"name": hole.name, "value": _argument(hole, hook.step, renderer)}
            for hole in leaves.arguments(hook.step)
        ]
        if parameters:
            entry["arguments"] = {"parameters": parameters}
        name = hook.step.name
        while name == AT_END or (name != hook.step.name and name in taken):
            name += "-hook"
        tree[name] = entry
    return tree


ENDED = ("Succeeded", "Skipped", "Daemoned", "Failed", "Errored", "Omitted")


class StartRules:
    """Writes the `depends` of the steps of one scope."""

    def __init__(self, steps: Mapping[str, Step], task_names: Mapping[str, str]) -> None:
        self._steps = steps
        self._task_names = task_names
        self._asks_for_failure = self._asking(steps)
        self._read_by = functools.cache(lambda name: implied_dependencies(steps[name]))

    def _asking(self, steps: Mapping[str, Step]) -> AbstractSet[str]:
        """The steps that Argo may call omitted when they are skipped."""
        return {
            name
            for name, step in steps.items()
            if step.depends_on and any(not is_success(entry) for entry in step.depends_on)
        }

    def depends(self, step: Step) -> str:
        """Return the `depends` of a step's task; empty for a step that waits for none."""
        entries = [*step.depends_on]
        if read := self._read_by(step.name):
            entries += [name for name in read if name in self._steps]
        if len(entries) < 2:
            return self._clause(entries[0]) if entries else ""
        # A step that is skipped fails the run if it waits for one that was skipped below a failure.
        if step.when is None and step.foreach is None and step.name not in self._asks_for_failure:
            needed = [one for one in entries if isinstance(one, str) and self._says_all(one)]
            said: set[str | Dependency | AnyOf] = set()
            for one in needed:
                said.update(self._steps[one].depends_on, self._read_by(one))
            entries = [one for one in entries if one not in said]
        return " && ".join(dict.fromkeys(filter(None, map(self._clause, entries))))

    def _says_all(self, name: str) -> bool:
        """Whether the success of a step tells of that of all steps that it needs."""
        return name in self._steps and name not in self._asks_for_failure

    def after_all(self) -> str:
        """Return the `depends` of a task that runs when all steps of the scope have ended well."""
        waited_for = {name for step in self._steps.values() for name in predecessors(step)}
        return " && ".join(self._success(name) for name in self._steps if name not in waited_for)

    def _clause(self, entry: str | Dependency | AnyOf) -> str:
        if isinstance(entry, str):
            return self._success(entry)
        if isinstance(entry, AnyOf):
            return self._any_of([self._clause(option) for option in entry.options])
        return self._failure(entry.step) if entry.on == "failure" else self._end(entry.step)

    def _any_of(self, clauses: Sequence[str]) -> str:
        return "(" + " || ".join(clauses) + ")"

    def _failure(self, name: str) -> str:
        task = self._task_names[name]
        return f"({task}.Failed || {task}.Errored)"

    def _end(self, name: str) -> str:
        task = self._task_names[name]
        return "(" + " || ".join(f"{task}.{state}" for state in ENDED) + ")"

    def _success(self, name: str) -> str:
        """Met by success and by a skip."""
        task = self._task_names[name]
        if name not in self._asks_for_failure:
            return task
        step = self._steps[name]
        needs = [self._clause(entry) for entry in step.depends_on if is_success(entry)]
        needs += [
            self._success(other) for other in implied_dependencies(step) if other in self._steps
        ]
        omitted = " && ".join([f"{task}.Omitted", *needs])
        if needs:
            omitted = f"({omitted})"
        states = " || ".join(f"{task}.{state}" for state in ("Succeeded", "Skipped", "Daemoned"))
        return f"({states} || {omitted})"


def strictly_needed(step: Step) -> list[str]:
    """Return the steps whose success a step needs, whatever else it waits for."""
    named = [entry for entry in step.depends_on if isinstance(entry, str)]
    return [*named, *implied_dependencies(step)]


def is_success(entry: str | Dependency | AnyOf) -> bool:
    """Return whether an entry of `depends_on` asks for nothing but successes."""
    if isinstance(entry, str):  # most are, and an isinstance that says no takes longer
        return True
    return isinstance(entry, AnyOf) and all(isinstance(option, str) for option in entry.options)

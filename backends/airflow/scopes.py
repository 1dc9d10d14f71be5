"""Scopes as blocks of tasks: the operators, the groups, and the edges between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from couler.backends.airflow.module import Module
from couler.backends.airflow.outputs import run_outputs
from couler.backends.airflow.python import (
    Call,
    Chain,
    Code,
    block,
    call,
    edge,
    statement,
    value_of,
    variables_of,
)
from couler.backends.airflow.quoting import quoted
from couler.backends.airflow.reading import Read, Scope, is_static, item_rows, last_steps, task_name
from couler.backends.airflow.tasks import Place, Tasks
from couler.ir.policies import AnyOf, Dependency, Foreach
from couler.ir.walk import implied_dependencies
from couler.ir.workflow import Group, Step, Workflow

_PYTHON = "airflow.providers.standard.operators.python"


class Scopes:
    """Writes the tasks of a DAG file, scope by scope.

    Parameters
    ----------
    module
        Takes what the tasks need.
    tasks
        Writes the operators.
    """

    def __init__(self, module: Module, tasks: Tasks) -> None:
        self._module = module
        self._tasks = tasks
        self._variables: dict[str, dict[str, str]] = {}

    def lines(
        self,
        scope: Scope,
        steps: Sequence[Step],
        *,
        indent: int,
        conditions: tuple[str, ...] = (),
        first: str | None = None,
    ) -> list[str]:
        """Return the lines of a scope.

        Parameters
        ----------
        scope
            What its steps can read.
        steps
            Its steps, in program order.
        indent
            Levels of indentation.
        conditions
            Ids of the tasks that stand for the conditions around it.
        first
            The variable of the task that all of them wait for, if there is one.
        """
        names = self.name_steps(scope, steps)
        lines: list[str] = []
        edges: list[str] = []
        waiting = set(names.values())
        for step in steps:
            known = len(edges)
            before, needs = self._before(step, names, scope)
            name = names[step.name]
            gates = conditions
            if needs:
                gate_id = f"{task_name(step.name)}-needs"
                gate = self._module.name(f"{name}_needs")
                lines.append(self._gate(gate, gate_id, needs, indent))
                watched = [names[one] for one in needs.watched]
                edges.append(edge(watched, gate, indent=indent))
                before.append(gate)
                gates = (*conditions, f"{scope.prefix}{gate_id}")
            if first is not None:
                before.append(first)
            place = Place(scope, waits=bool(before), conditions=gates)
            lines += self._step(step, name, place, indent)
            if before:
                dynamic = step.foreach is not None and not is_static(step.foreach)
                edges.append(edge(before, f"{name}_items" if dynamic else name, indent=indent))
            # An edge stands below its later task; Airflow reads ten thousand at the end slowly.
            waiting.discard(name)
            if not any(waiting.intersection(variables_of(line)) for line in edges[known:]):
                lines += edges[known:]
                del edges[known:]
        return [*lines, *edges]

    def name_steps(self, scope: Scope, steps: Sequence[Step]) -> dict[str, str]:
        """Return the variables of the steps of a scope, always the same."""
        known = self._variables.get(scope.prefix)
        if known is None:
            known = {
                one.name: self._module.name(f"{scope.prefix}{one.name}", one.name) for one in steps
            }
            self._variables[scope.prefix] = known
        return known

    def end(self, workflow: Workflow, scope: Scope, *, indent: int) -> list[str]:
        """Return the lines of what comes after the steps: exit handlers, state, outputs."""
        names = self.name_steps(scope, workflow.steps)
        ends = [names[one] for one in last_steps(workflow.steps)]
        lines = self._exits(workflow, scope, ends, indent)
        if workflow.outputs:
            made = run_outputs(workflow, scope, self._module)
            last = self._module.name("run_outputs")
            before = ["run_status"] if lines else ends
            lines.append(statement(last, made, indent=indent))
            lines.append(edge(before, last, indent=indent))
        return lines

    def _exits(self, workflow: Workflow, scope: Scope, ends: list[str], indent: int) -> list[str]:
        """Return the lines of the exit handlers, and of what gives the run its state.

        Airflow looks at the last tasks only: one that was skipped below a failure, or that ran
        after it, would hide the failure.
        """
        if not (workflow.exit_handlers or any(map(_waits_otherwise, workflow.steps))):
            return []
        leaves = self._module.table("leaves", scope.all_leaves(workflow.steps))
        assert leaves == "LEAVES"
        lines: list[str] = []
        exits: list[str] = []
        exit_leaves: list[str] = []
        for handler in workflow.exit_handlers:
            name = self._module.name(f"exit_{handler.name}")
            prefix = f"exit-{task_name(handler.name)}"
            inner = Scope(
                {one.name: one for one in handler.steps}, f"{prefix}.", scope.params, scope
            )
            gate = self._module.name(f"{name}_when", "when")
            failed = "run_failed(ti, LEAVES)"
            code = {"failure": failed, "success": f"not {failed}", "any": "True"}[handler.on]
            condition = self._module.condition(f"when_{name}", code)
            made = call(
                self._module.take(_PYTHON, "PythonOperator"),
                task_id="when",
                python_callable=Code(self._module.use("passed")),
                trigger_rule="all_done",
                pre_execute=call(self._module.use("run_if"), Code(condition)),
            )
            group = call(self._module.take("airflow.sdk", "TaskGroup"), prefix)
            lines.append(block(group, name, indent=indent))
            lines.append(statement(gate, made, indent=indent + 1))
            lines += self.lines(
                inner,
                handler.steps,
                indent=indent + 1,
                conditions=(f"{prefix}.when",),
                first=gate,
            )
            lines.append(edge(ends, name, indent=indent))
            exits.append(name)
            exit_leaves += inner.all_leaves(handler.steps)
        status = call(
            self._module.take(_PYTHON, "PythonOperator"),
            task_id="run-status",
            python_callable=Code(self._module.use("check_end")),
            op_args=[[*scope.all_leaves(workflow.steps), *exit_leaves]],
            trigger_rule="all_done",
        )
        lines.append(statement("run_status", status, indent=indent))
        lines.append(edge([*ends, *exits], "run_status", indent=indent))
        return lines

    def _step(self, step: Step, name: str, place: Place, indent: int) -> list[str]:
        if not isinstance(step.action, Group) and step.foreach is not None:
            return self._each(step, step.foreach, name, place, indent)
        if not isinstance(step.action, Group):
            made = self._tasks.operator(step, task_name(step.name), place)
            return [statement(name, made, indent=indent)]
        made = call(self._module.take("airflow.sdk", "TaskGroup"), task_name(step.name))
        head = block(made, name, indent=indent)
        inner = place.scope.inside(step, step.action)
        lines, conditions, first = [head], place.conditions, None
        if step.when is not None or place.conditions:
            first = self._module.name(f"{name}_when", "when")
            gate = call(
                self._module.take(_PYTHON, "PythonOperator"),
                task_id="when",
                python_callable=Code(self._module.use("passed")),
                trigger_rule="none_failed" if place.waits else None,
                pre_execute=self._tasks.start(step, place),
            )
            lines.append(statement(first, gate, indent=indent + 1))
            conditions = (*conditions, f"{inner.prefix}when")
        lines += self.lines(
            inner, step.action.steps, indent=indent + 1, conditions=conditions, first=first
        )
        return lines

    def _each(
        self, step: Step, foreach: Foreach, name: str, place: Place, indent: int
    ) -> list[str]:
        """Return the task of a step that runs once an item, after one that makes the items."""
        lines: list[str] = []
        if is_static(foreach):
            where = self._module.table(f"{name}_items", item_rows(foreach))
            over = Code(f"{self._module.use('labels')}(len({where}))")
        else:
            task_id = f"{task_name(step.name)}-items"
            maker = self._module.name(f"{name}_items")
            where, over = quoted(f"{place.scope.prefix}{task_id}"), Code(f"{maker}.output")
            fields = self._tasks.policies(step.model_copy(update={"retry": None}), place)
            lists = {
                key: self._tasks.list_of(one, place.scope) for key, one in foreach.over.items()
            }
            made = call(
                self._module.take(_PYTHON, "PythonOperator"),
                task_id=task_id,
                python_callable=Code(self._module.use("make_rows")),
                op_kwargs={"lists": lists},
                **fields,
            )
            lines.append(statement(maker, made, indent=indent))
            step = step.model_copy(update={"when": None})
        items = {key: _item(where, key) for key in foreach.over}
        inner = replace(place, scope=replace(place.scope, items=items))
        task = self._tasks.operator(step, task_name(step.name), inner)
        mapped = Chain(task, self._tasks.expansion(step.action, over))
        return [*lines, statement(name, mapped, indent=indent)]

    def _before(self, step: Step, names: dict[str, str], scope: Scope) -> tuple[list[str], Needs]:
        before: dict[str, None] = {}
        needs = Needs()
        for entry in step.depends_on:
            if isinstance(entry, str):
                before[names[entry]] = None
                continue
            options = entry.options if isinstance(entry, AnyOf) else (entry,)
            needs.append([self._alternative(one, scope) for one in options])
            needs.watched += [one.step if isinstance(one, Dependency) else one for one in options]
        for name in implied_dependencies(step):
            if name in names:
                before[names[name]] = None
        return list(before), needs

    def _alternative(self, option: str | Dependency, scope: Scope) -> list[object]:
        name = option.step if isinstance(option, Dependency) else option
        way = option.on if isinstance(option, Dependency) else "success"
        return [way, scope.task(name), scope.leaves(scope.steps[name])]

    def _gate(self, name: str, task_id: str, needs: Needs, indent: int) -> str:
        made: Call = call(
            self._module.take(_PYTHON, "PythonOperator"),
            task_id=task_id,
            python_callable=Code(self._module.use("open_gate")),
            op_args=value_of(list(needs)),
            trigger_rule="all_done",
        )
        return statement(name, made, indent=indent)


class Needs(list[list[list[object]]]):
    """What a gate asks for: all of them, each by one of its alternatives."""

    def __init__(self) -> None:
        super().__init__()
        self.watched: list[str] = []


def _item(where: str, name: str) -> Read:
    key = "" if name == "item" else f", {quoted(name)}"
    return Read(f"item(ti, {where}{key})", json=f"item_as_json(ti, {where}{key})")


def _waits_otherwise(step: Step) -> bool:
    """Return whether a step waits for another end than a success, or one inside it does."""
    inside = step.action.steps if isinstance(step.action, Group) else ()
    return any(not isinstance(entry, str) for entry in step.depends_on) or any(
        map(_waits_otherwise, inside)
    )

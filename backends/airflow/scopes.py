"""Scopes as blocks of tasks: the operators, the groups, and the edges between them."""

from __future__ import annotations

from collections.abc import Sequence

from couler.backends.airflow.ends import RUN_STATUS, has_status
from couler.backends.airflow.iterations import Iterations
from couler.backends.airflow.module import Module
from couler.backends.airflow.operators import PYTHON
from couler.backends.airflow.outputs import CHECK_OUTPUTS, check_outputs, run_outputs
from couler.backends.airflow.parameters import RUN_PARAMETERS
from couler.backends.airflow.parts import PartIds, laid_out
from couler.backends.airflow.places import (
    Spot,
    ends_in_any_case,
    exit_groups,
    last_steps,
    makes_lists,
    own_name,
    readable,
    task_name,
    waits_otherwise,
)
from couler.backends.airflow.python import (
    Call,
    Code,
    Expression,
    Listing,
    block,
    call,
    edge,
    quoted,
    statement,
    value_of,
)
from couler.backends.airflow.reading import Scope
from couler.backends.airflow.tasks import NO_GATE, Gate, Place, Tasks
from couler.ir.policies import AnyOf, Dependency
from couler.ir.semantics.wire import encode
from couler.ir.walk import implied_dependencies, predecessors
from couler.ir.workflow import ExitHandler, Group, Step, Workflow


class Scopes:
    """Writes the tasks of a DAG file, scope by scope."""

    def __init__(self, module: Module, tasks: Tasks, parts: PartIds) -> None:
        self._module = module
        self._tasks = tasks
        self._parts = parts
        self._iterations = Iterations(self, module, tasks)
        self._variables: dict[str, dict[str, str]] = {}
        self._last: dict[str, str] = {}

    def lines(
        self,
        scope: Scope,
        steps: Sequence[Step],
        *,
        indent: int,
        gate: Gate = NO_GATE,
    ) -> list[str]:
        """Return the lines of a scope."""
        names = self.name_steps(scope, steps)
        lines: list[str] = []
        edges: list[tuple[Sequence[str], str]] = []
        waiting = {last for name in names.values() for last in (name, self.last(name))}
        around = indent
        for step, opens, depth in laid_out(steps, {} if scope.prefix else self._parts):
            indent = around + depth
            for level, group_id in enumerate(opens, indent - len(opens)):
                lines.append(self._part(group_id, level))
            known = len(edges)
            before, needs = self._before(step, names, scope)
            name = names[step.name]
            opened = gate.looked_at
            if needs:
                needs_id = scope.spot(step).own_name("needs")
                variable = self._module.name(f"{name}_needs")
                start = self._tasks.skip(None, gate.places)
                lines.append(self._needs(variable, needs_id, needs, start, indent))
                watched = [self.last(names[one]) for one in needs.watched]
                edges.append(([*watched, *gate.before], variable))
                before.append(variable)
                opened = (scope.spot(step).own("needs"),)
            if gate.can_skip or needs or not before:
                before += gate.before
            place = Place(scope, bool(before), opened, rule=gate.rule)
            lines += self._step(step, name, place, indent)
            if makes_lists(step):
                lines += self._lists(step, name, scope, indent)
            if before:
                edges.append((before, self._iterations.makers.get(name, name)))
            # An edge stands below its later task; Airflow reads ten thousand at the end slowly.
            waiting -= {name, self.last(name)}
            new = edges[known:]
            if not any(later in waiting or waiting.intersection(one) for one, later in new):
                lines += (edge(*one, indent=indent) for one in new)
                del edges[known:]
        return [*lines, *(edge(*one, indent=around) for one in edges)]

    def _part(self, group_id: str, indent: int) -> str:
        """Return the head of the block of a part; its tasks have the ids that they have outside."""
        task_group = self._module.take("airflow.sdk", "TaskGroup")
        return block(call(task_group, group_id, prefix_group_id=False), "", indent=indent)

    def name_steps(self, scope: Scope, steps: Sequence[Step]) -> dict[str, str]:
        """Return the variables of the steps of a scope, always the same."""
        known = self._variables.get(scope.prefix)
        if known is None:
            head = readable(scope.prefix)
            known = {one.name: self._module.name(f"{head}{one.name}", one.name) for one in steps}
            self._variables[scope.prefix] = known
            for one in filter(makes_lists, steps):
                name = known[one.name]
                self._last[name] = self._module.name(f"{name}_lists")
        return known

    def last(self, variable: str) -> str:
        """Return the variable of the task with which a step ends."""
        return self._last.get(variable, variable)

    def _lists(self, step: Step, name: str, scope: Scope, indent: int) -> list[str]:
        """Return the lines of the task that fails if what the items gave is too large in all."""
        place, rows = scope.gathered_from(step)
        defaults = {
            one.name: self._tasks.as_it_is(encode(one.default, one.type))
            for one in step.outputs
            if one.default is not None
        }
        kinds = {one.name: one.type for one in step.outputs}
        check, given = "check_lists", [place, rows, kinds, *([defaults] if defaults else [])]
        if scope.lists_are_plain(step):
            spot = scope.spot(step)
            check, given = "check_sizes", [place, spot.maker if spot.has_maker else "", kinds]
        made = call(
            self._module.take(PYTHON, "PythonOperator"),
            task_id=scope.spot(step).own_name("lists"),
            python_callable=Code(self._module.use(check)),
            op_args=given,
        )
        last = self.last(name)
        return [statement(last, made, indent=indent), edge([name], last, indent=indent)]

    def end(self, workflow: Workflow, scope: Scope, *, indent: int) -> list[str]:
        """Return the lines of what comes after the steps: exit handlers, state, outputs."""
        names = self.name_steps(scope, workflow.steps)
        before = [self.last(names[one]) for one in last_steps(workflow.steps)]
        leaves, lines, checked = scope.all_leaves(workflow.steps), list[str](), None
        if workflow.exit_handlers and scope.has_doubts(workflow.outputs):
            checked = own_name(CHECK_OUTPUTS, workflow)
            made = check_outputs(workflow, scope, self._module)
            before, lines = self._behind(before, "check_outputs", made, indent)
            leaves = [checked]
        before, more = self._exits(workflow, scope, before, leaves, indent)
        lines += more
        if workflow.outputs:
            made = run_outputs(workflow, scope, self._module, checked)
            lines += self._behind(before, "run_outputs", made, indent)[1]
        return lines

    def _behind(
        self, before: list[str], wanted: str, made: Call, indent: int
    ) -> tuple[list[str], list[str]]:
        """Return the variable of a task behind others, and the lines that make it."""
        name = self._module.name(wanted)
        return [name], [statement(name, made, indent=indent), edge(before, name, indent=indent)]

    def _exits(
        self, workflow: Workflow, scope: Scope, ends: list[str], leaves: list[str], indent: int
    ) -> tuple[list[str], list[str]]:
        """Return the last tasks of all, and the lines of exit handlers and the state of the run."""
        if not has_status(workflow):
            return ends, []
        self._module.end_with(leaves)
        groups = exit_groups(workflow)
        lines: list[str] = []
        exits: list[str] = []
        exit_leaves: list[str] = []
        for handler in workflow.exit_handlers:
            name = self._module.name(f"exit_{handler.name}")
            prefix, gate_id = groups[handler.name], own_name("when", handler)
            inner = Scope(
                {one.name: one for one in handler.steps}, f"{prefix}.", scope.params, scope
            )
            gate = self._module.name(f"{name}_when")
            code = self._when_fits(handler, workflow)
            condition = self._module.condition(f"when_{name}", code) if code else None
            made = call(
                self._module.take(PYTHON, "PythonOperator"),
                task_id=gate_id,
                python_callable=Code(self._module.use("passed")),
                trigger_rule="all_done",
                pre_execute=self._tasks.skip(condition, ()),
            )
            group = call(self._module.take("airflow.sdk", "TaskGroup"), prefix)
            lines.append(block(group, name, indent=indent))
            lines.append(statement(gate, made, indent=indent + 1))
            lines += self.lines(
                inner,
                handler.steps,
                indent=indent + 1,
                gate=Gate(gate, f"{prefix}.{gate_id}", can_skip=condition is not None),
            )
            lines.append(edge(ends, name, indent=indent))
            exits.append(name)
            exit_leaves += inner.all_leaves(handler.steps)
        all_leaves = Listing((Code("*LEAVES"), *map(value_of, exit_leaves)))
        status = call(
            self._module.take(PYTHON, "PythonOperator"),
            task_id=own_name(RUN_STATUS, workflow),
            python_callable=Code(self._module.use("check_end")),
            op_args=[all_leaves if exit_leaves else Code("LEAVES")],
            trigger_rule="all_done",
        )
        last, more = self._behind([*ends, *exits], "run_status", status, indent)
        return last, lines + more

    def _when_fits(self, handler: ExitHandler, workflow: Workflow) -> str:
        """Return the expression for whether a handler runs; empty if it always does."""
        failed, parts = "run_failed(ti, LEAVES)", list[str]()
        if handler.on != "any":
            parts.append(failed if handler.on == "failure" else f"not {failed}")
        if handler.on != "success" and any(one.config for one in workflow.parameters):
            reader = quoted(own_name(RUN_PARAMETERS, workflow))
            parts.append(f'ended_so(ti, "success", {reader}, [{reader}])')
        return " and ".join(parts)

    def _step(self, step: Step, name: str, place: Place, indent: int) -> list[str]:
        spot = place.scope.spot(step)
        if spot.is_iterated:
            return self._iterations.lines(spot, name, place, indent)
        if not isinstance(step.action, Group) and step.foreach is not None:
            return self._iterations.mapped(spot, step.foreach, name, place, indent)
        if not isinstance(step.action, Group):
            made = self._tasks.operator(step, task_name(step.name), place)
            return [statement(name, made, indent=indent)]
        group = call(self._module.take("airflow.sdk", "TaskGroup"), task_name(step.name))
        lines = [block(group, name, indent=indent)]
        start = self._tasks.start(step, place)
        if (
            start is None
            and place.rule is None
            and not (place.waits and any(map(_asks_for_more, step.action.steps)))
        ):
            return lines + self.item(spot, place, name, NO_GATE, indent + 1)
        return lines + self.gated(spot, place, name, start, indent + 1)

    def item(self, spot: Spot, place: Place, name: str, gate: Gate, indent: int) -> list[str]:
        """Return the lines inside of a group that runs where its gate is open."""
        if not place.scope.refusable(spot.step):
            return self.group(spot, place.scope, name, indent, gate=gate)
        start = self._tasks.skip(None, gate.looked_at)
        return self.gated(spot, place, name, start, indent, outer=gate)

    def gated(
        self,
        spot: Spot,
        place: Place,
        name: str,
        start: Expression | None,
        indent: int,
        *,
        outer: Gate | None = None,
    ) -> list[str]:
        """Return the lines inside of a group, the first of them for a task that can skip it."""
        assert isinstance(spot.step.action, Group)
        gate_id = spot.gate.rpartition(".")[2]
        variable = self._module.name(f"{name}_when")
        is_looked_at = place.scope.is_late_inside(spot.step)
        can_skip = outer is None or outer.can_skip
        gate = Gate(variable, spot.gate, can_skip=can_skip, is_looked_at=is_looked_at)
        codes = place.scope.refusable(spot.step)
        inputs = self._module.outputs(f"{name}_inputs", codes) if codes else None
        lines = [self.when(variable, gate_id, start, place, indent, inputs)]
        if outer is not None and outer.before:
            lines.append(edge(outer.before, variable, indent=indent))
        return [*lines, *self.group(spot, place.scope, name, indent, gate=gate)]

    def group(
        self,
        spot: Spot,
        around: Scope,
        name: str,
        indent: int,
        *,
        gate: Gate = NO_GATE,
    ) -> list[str]:
        """Return the lines of the steps of a group, and of the task that gives its outputs."""
        step = spot.step
        assert isinstance(step.action, Group)
        inner = around.inside(step, step.action)
        steps = step.action.steps
        lines = self.lines(inner, steps, indent=indent, gate=gate)
        if not spot.has_end:
            return lines
        codes = {one.name: inner.given(one) for one in step.outputs if one.value is not None}
        rule, check, start = gate.rule, "", self._tasks.skip(None, gate.looked_at)
        if ends_in_any_case(step):
            leaves = value_of(inner.all_leaves(steps)).flat()
            rule, check = "all_done", f"check_end({leaves}, ti)"
            start = self._tasks.skip(None, gate.places)
        end = self._module.name(f"{name}_end")
        made = call(
            self._module.take(PYTHON, "PythonOperator"),
            task_id=own_name("end", step.action),
            python_callable=Code(self._module.outputs(f"{name}_outputs", codes, check)),
            trigger_rule=rule,
            pre_execute=start,
        )
        names = self.name_steps(inner, steps)
        before = [*(self.last(names[one]) for one in last_steps(steps)), *gate.before]
        return [*lines, statement(end, made, indent=indent), edge(before, end, indent=indent)]

    def when(
        self,
        name: str,
        task_id: str,
        start: Expression | None,
        place: Place,
        indent: int,
        inputs: str | None = None,
    ) -> str:
        """Return the line of a task for a condition, or for what evaluates inputs by a function."""
        gate = call(
            self._module.take(PYTHON, "PythonOperator"),
            task_id=task_id,
            python_callable=Code(inputs or self._module.use("passed")),
            trigger_rule=place.rule,
            pre_execute=start,
            do_xcom_push=False if inputs else None,
        )
        return statement(name, gate, indent=indent)

    def _before(self, step: Step, names: dict[str, str], scope: Scope) -> tuple[list[str], Needs]:
        before: dict[str, None] = {}
        needs = Needs()
        for entry in step.depends_on:
            if isinstance(entry, str):
                before[self.last(names[entry])] = None
                continue
            options = entry.options if isinstance(entry, AnyOf) else (entry,)
            needs.append([self._alternative(one, scope) for one in options])
            needs.watched += [one.step if isinstance(one, Dependency) else one for one in options]
        for name in implied_dependencies(step):
            if name in names:
                before[self.last(names[name])] = None
        return list(before), needs

    def _alternative(self, option: str | Dependency, scope: Scope) -> list[object]:
        name = option.step if isinstance(option, Dependency) else option
        way = option.on if isinstance(option, Dependency) else "success"
        step = scope.steps[name]
        spot, leaves = scope.spot(step), scope.leaves(step)
        is_asked = (spot.is_plain and spot.has_maker) or (
            ends_in_any_case(step) and predecessors(step)
        )
        return [way, spot.base, leaves, *([spot.first] if is_asked else [])]

    def _needs(
        self, name: str, task_id: str, needs: Needs, start: Expression | None, indent: int
    ) -> str:
        made: Call = call(
            self._module.take(PYTHON, "PythonOperator"),
            task_id=task_id,
            python_callable=Code(self._module.use("open_gate")),
            op_args=value_of(list(needs)),
            trigger_rule="all_done",
            pre_execute=start,
        )
        return statement(name, made, indent=indent)


def _asks_for_more(step: Step) -> bool:
    """Return whether tasks of a step ask more of those before them than that none has failed."""
    inside = step.action.steps if isinstance(step.action, Group) else ()
    return waits_otherwise(step) or step.loop is not None or any(map(_asks_for_more, inside))


class Needs(list[list[list[object]]]):
    """What a gate asks for: all of them, each by one of its alternatives."""

    def __init__(self) -> None:
        super().__init__()
        self.watched: list[str] = []

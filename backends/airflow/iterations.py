"""Items of a foreach and rounds of a loop as tasks: mapped, or unrolled by a loop of Python."""

from __future__ import annotations

import typing as t
from dataclasses import replace

from couler.backends.airflow.literals import item_rows
from couler.backends.airflow.module import Module
from couler.backends.airflow.operators import PYTHON
from couler.backends.airflow.places import Spot, is_dynamic, item_count, task_name
from couler.backends.airflow.python import (
    INDENT,
    Call,
    Chain,
    Choice,
    Code,
    Expression,
    block,
    call,
    edge,
    quoted,
    statement,
)
from couler.backends.airflow.reading import Read, Scope
from couler.backends.airflow.tasks import NO_GATE, Gate, Place, Tasks
from couler.ir.policies import Foreach, Loop
from couler.ir.ranges import known_items
from couler.ir.values import Value, ValueType
from couler.ir.workflow import Group, Step

if t.TYPE_CHECKING:
    from couler.backends.airflow.scopes import Scopes

NEXT_ROUND = "all_success"
"""The trigger rule of what comes after rounds: it is skipped if one of them was."""


_WHY_LABELS = "# What is expanded is a label; each task reads its item by its map index."
"""Airflow expands whole fields only, and an item may be a part of one."""


class Iterations:
    """Writes the tasks of steps that run once an item, or round by round."""

    def __init__(self, scopes: Scopes, module: Module, tasks: Tasks) -> None:
        self._scopes = scopes
        self._module = module
        self._tasks = tasks
        self.makers: dict[str, str] = {}
        """For variables of mapped tasks those of the tasks that make their items."""

    def mapped(
        self, spot: Spot, foreach: Foreach, name: str, place: Place, indent: int
    ) -> list[str]:
        """Return the lines of a process that is one mapped task, after one that makes its items."""
        lines: list[str] = []
        if not spot.has_maker and (rows := self._tasks.variables_of_items(spot.step, place.scope)):
            return [self._mapped_variables(rows, spot, name, place, indent)]
        if spot.has_maker:
            maker = self.makers[name] = self._module.name(f"{name}_items")
            task_id = spot.maker[len(place.scope.prefix) :]
            lines.append(self._maker(maker, task_id, spot.step, foreach, place, indent))
            where, over = quoted(spot.maker), Code(f"{maker}.output")
            place = replace(place, is_decided=True, conditions=(), rule=None)
        else:
            where = self._module.table(f"{name}_items", item_rows(foreach))
            labels = f'{{"couler-item": str(index)}} for index in range(len({where}))'
            over = Code(f"[{labels}]")
        scope = replace(place.scope, items=_items(foreach, where, place.scope))
        place = replace(place, scope=scope, is_mapped=True)
        task = self._tasks.operator(spot.step, task_name(spot.step.name), place)
        made = Chain(task, self._tasks.expansion(spot.step.action, over))
        lines.append(f"{INDENT * indent}{_WHY_LABELS}")
        return [*lines, statement(name, made, indent=indent)]

    def _mapped_variables(
        self, rows: list[dict[str, Expression]], spot: Spot, name: str, place: Place, indent: int
    ) -> str:
        """Return the line of a mapped task whose items differ in variables alone."""
        flat = [{key: one.flat() for key, one in row.items()} for row in rows]
        own = [key for key in rows[0] if len({row[key] for row in flat}) > 1] or [*rows[0]]
        items: list[object] = [{key: one[key] for key in own} for one in rows]
        each = "**one"
        if len(own) == 1:
            items, each = [one[own[0]] for one in rows], f"{quoted(own[0])}: one"
        where = self._module.table(f"{name}_items", items)
        shared = {key: one for key, one in rows[0].items() if key not in own}
        of_all = f"**{self._module.table(f'{name}_variables', shared)}, " if shared else ""
        over = Code(f"[{{{of_all}{each}}} for one in {where}]")
        place = replace(place, scope=self._tasks.scope_of_item(spot.step, place.scope, 0))
        place = replace(place, is_mapped=True)
        task = self._tasks.operator(spot.step, task_name(spot.step.name), place)
        rest = tuple(one for one in task.keywords if one[0] != "env_vars")
        made = Chain(replace(task, keywords=rest), call("expand", env_vars=over))
        return statement(name, made, indent=indent)

    def lines(self, spot: Spot, name: str, place: Place, indent: int) -> list[str]:
        """Return the lines of a step whose items or rounds are groups of tasks, or unrolled."""
        step, scope = spot.step, place.scope
        lines = [block(self._group(task_name(step.name)), name, indent=indent)]
        indent += 1
        start = self._tasks.start(step, place)
        gate = NO_GATE
        if step.foreach is not None and spot.has_maker:
            # Without items there are no tasks to skip.
            gate = Gate(self._module.name(f"{name}_items"), spot.maker)
            lines.append(self._maker(gate.before[0], "items", step, step.foreach, place, indent))
            if not is_dynamic(step.foreach):
                return lines
        elif start is not None or place.waits:
            variable, is_late = self._module.name(f"{name}_when"), scope.is_late
            gate = Gate(variable, spot.first, can_skip=True, is_looked_at=is_late)
            lines.append(self._scopes.when(gate.before[0], "when", start, place, indent))
        inside = replace(place, conditions=gate.looked_at, is_decided=True, rule=gate.rule)
        if step.foreach is None:
            return [*lines, *self._rounds(spot, inside, name, gate, indent)]
        if is_dynamic(step.foreach):
            where = quoted(spot.maker)
        else:
            where = self._module.table(f"{name}_items", item_rows(step.foreach))
        is_unrolled = spot.items == "unrolled"
        number = f'own_number(ti, "{spot.item}")' if is_unrolled else "ti.map_index"
        items = _items(step.foreach, where, scope, number)
        inside = replace(inside, scope=replace(scope, items=items))
        if spot.items == "mapped":
            return lines + self._mapped_group(spot, inside, name, gate, indent)
        return lines + self._unrolled(spot, inside, name, gate, indent)

    def _mapped_group(
        self, spot: Spot, inside: Place, name: str, gate: Gate, indent: int
    ) -> list[str]:
        assert spot.step.foreach is not None
        head, number = INDENT * indent, self._module.name("number")
        function = self._module.name(f"{name}_item")
        decorator = self._module.take("airflow.sdk", "task_group")
        lines = [
            f'\n{head}@{decorator}(group_id="item")',
            f"{head}def {function}({number}: int) -> None:",
        ]
        if is_dynamic(spot.step.foreach):
            over = f"{gate.variable}.output"
        else:
            over = f"[*range({item_count(spot.step.foreach)})]"
        lines += self._item(spot, inside, name, gate, indent + 1)
        return [*lines, f"\n{head}{function}.expand({number}={over})"]

    def _unrolled(self, spot: Spot, inside: Place, name: str, gate: Gate, indent: int) -> list[str]:
        assert spot.step.foreach is not None
        number = self._module.name("number")
        head = INDENT * indent
        lines = [f"{head}for {number} in range({item_count(spot.step.foreach)}):"]
        item_id = Code(f'f"item_{{{number}}}"')
        if isinstance(spot.step.action, Group) or spot.step.loop is not None:
            lines.append(block(self._group(item_id), "", indent=indent + 1))
            return lines + self._item(spot, inside, name, gate, indent + 2)
        made = self._tasks.operator(spot.step, item_id, inside)
        if gate.variable is None:
            return [*lines, statement("", made, indent=indent + 1)]
        task = self._module.name(f"{name}_item")
        lines.append(statement(task, made, indent=indent + 1))
        lines.append(edge(gate.before, task, indent=indent + 1))
        return lines

    def _group(self, group_id: str | Code) -> Call:
        return call(self._module.take("airflow.sdk", "TaskGroup"), group_id)

    def _item(self, spot: Spot, inside: Place, name: str, gate: Gate, indent: int) -> list[str]:
        """Return the lines of one item."""
        if spot.step.loop is not None:
            return self._rounds(spot, inside, name, gate, indent)
        return self._scopes.item(spot, inside, name, gate, indent)

    def _rounds(self, spot: Spot, inside: Place, name: str, gate: Gate, indent: int) -> list[str]:
        """Return the lines of a loop: its rounds one after another, and what ends it."""
        step, loop = spot.step, spot.step.loop
        assert loop is not None
        rounds, number = self._module.name(f"{name}_rounds", "rounds"), self._module.name("number")
        again = self._again(spot, loop, inside.scope, name)
        scope = replace(inside.scope, loop=spot)
        later = self._module.skip_unless(again)
        start = Choice(later, Code(number), Code("None"))
        head = INDENT * indent
        lines = [
            f"{head}{rounds} = [{', '.join(gate.before)}]",
            f"{head}for {number} in range({loop.max_iterations}):",
        ]
        round_id = Code(f'f"round_{{{number}}}"')
        task = self._module.name(f"{name}_round")
        if isinstance(step.action, Group):
            lines.append(block(self._group(round_id), task, indent=indent + 1))
            place = replace(inside, scope=scope, rule=NEXT_ROUND)
            lines += self._scopes.gated(spot, place, task, start, indent + 2)
        else:
            may_start = f"(own_number(ti, {quoted(spot.round)}) == 0 or {again}(ti, params))"
            place = replace(inside, scope=scope, start=start, may_start=may_start, rule=NEXT_ROUND)
            made = self._tasks.operator(step, round_id, place)
            lines.append(statement(task, made, indent=indent + 1))
        before = f"{self._module.use('before')}({rounds})"
        lines.append(edge([before], task, indent=indent + 1))
        lines.append(f"{head}{INDENT}{rounds}.append({task})")
        bound = self._module.name(f"{name}_bound", spot.bound)
        made = call(
            self._module.take(PYTHON, "PythonOperator"),
            task_id=spot.bound,
            python_callable=Code(self._module.use("reached_bound")),
            op_args=[loop.max_iterations],
            trigger_rule=NEXT_ROUND,
            pre_execute=later,
        )
        lines.append(statement(bound, made, indent=indent))
        lines.append(edge([before], bound, indent=indent))
        if spot.items is not None:
            end = self._module.name(f"{name}_end")
            lines.append(self._end(spot, end, name, gate, indent))
            lines.append(edge([f"*{rounds}", bound], end, indent=indent))
        return lines

    def _again(self, spot: Spot, loop: Loop, scope: Scope, name: str) -> str:
        """Return the name of the condition on which there is one more round."""
        after = replace(scope, loop=spot, is_after_round=True)
        return self._module.condition(f"{name}_again", after.condition(loop.condition))

    def _end(self, spot: Spot, end: str, name: str, gate: Gate, indent: int) -> str:
        """Return the task that gives the outputs of an item: those of its last round."""
        codes = {one.name: spot.last_round_code(one.name) for one in spot.step.outputs}
        made = call(
            self._module.take(PYTHON, "PythonOperator"),
            task_id="end",
            python_callable=Code(self._module.outputs(f"{name}_outputs", codes)),
            trigger_rule=gate.rule,
            pre_execute=self._tasks.skip(None, gate.looked_at),
        )
        return statement(end, made, indent=indent)

    def _maker(
        self, name: str, task_id: str, step: Step, foreach: Foreach, place: Place, indent: int
    ) -> str:
        """Return the task that makes the items; it stands for the condition of the step as well."""
        make = "make_plain_rows" if _item_types(foreach, place.scope) else "make_rows"
        with self._tasks.runs_if(step, place):
            lists = {
                # As text, as a text in JSON can hold a list.
                key: self._tasks.read(one, "str", place.scope)
                for key, one in foreach.over.items()
            }
        made = call(
            self._module.take(PYTHON, "PythonOperator"),
            task_id=task_id,
            python_callable=Code(self._module.use(make)),
            op_kwargs={"lists": lists},
            trigger_rule=place.rule,
            pre_execute=self._tasks.start(step, place),
        )
        return statement(name, made, indent=indent)


def _item_types(foreach: Foreach, scope: Scope) -> dict[str, ValueType]:
    """Return what the items of each list are; nothing if of one it is not known."""
    types = {name: scope.items_of(one) for name, one in foreach.over.items()}
    known = {name: one for name, one in types.items() if one is not None}
    return known if len(known) == len(types) else {}


def _items(
    foreach: Foreach, where: str, scope: Scope, number: str = "ti.map_index"
) -> dict[str, Read]:
    """Return what reads the items of lists before the DAG, or of the rows that a task has made."""
    types = _item_types(foreach, scope)
    return {
        name: _item(f"{_rows(where)}[{number}][{quoted(name)}]", one, scope, types.get(name))
        if where[0] == '"'
        else _known_item(f"{where}[{number}][{quoted(name)}]", one, scope)
        for name, one in foreach.over.items()
    }


def _rows(where: str) -> str:
    is_near = "#" in where
    return f'pull(ti, {where}, "rows")' if is_near else f'ti.xcom_pull({where}, key="rows")'


def _item(code: str, items: Value, scope: Scope, kind: ValueType | None) -> Read:
    if kind is not None:
        return Read(code, kind)
    return Read(f"to_text({code})", json=code, is_plain=scope.read(items).is_clean)


def _known_item(code: str, items: Value, scope: Scope) -> Read:
    known = known_items(items)
    is_shown = known is not None and all(type(one) in (str, int) for one in known)
    return Read(
        f"encode({code})",
        json=f"dump_json({code})",
        alone=code if is_shown else None,
        is_plain=scope.read(items).is_clean,
    )
